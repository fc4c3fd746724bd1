//! A process of a router network on a simulated host: one router, or the three of a triad.

use super::RunError;
use super::federate::Federate;
use super::message::{Letter, Mailbox};
use crate::HostId;
use crate::cluster::{Input, Message, Process};
use base::Moment;
use router::{ClientId, ClientKind, Event, MemoryPipe, Router, pump};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A client of one of the routers here: the router's index, and its id there.
pub(super) type Place = (usize, ClientId);

/// The routers of one process, and the federate behind them if there is one.
#[derive(Debug, Default)]
pub(super) struct Station {
    pub(super) routers: Vec<Router<Letter, Mailbox>>,
    pub(super) pipes: Vec<MemoryPipe>,
    /// Processor time for each parcel that crosses a memory pipe.
    pub(super) pipe_work: Duration,
    /// The clients behind links, by the channel that frames for them come on.
    pub(super) inward: Vec<Place>,
    /// Where their frames go, and on which channel.
    pub(super) outward: BTreeMap<Place, (HostId, u32)>,
    pub(super) federate: Option<Federate>,
    /// Clients whose pipes are not drained.
    pub(super) ready: VecDeque<Place>,
}

impl Station {
    /// Drains the routers' events and lists the clients that have frames.
    pub(super) fn collect(&mut self) -> Result<(), RunError> {
        for (index, router) in self.routers.iter_mut().enumerate() {
            while let Some(event) = router.poll_event() {
                match event {
                    Event::Lost { client, why } | Event::Removed { client, why } => {
                        return Err(RunError::LinkLost {
                            router: router.config().origin.router,
                            client,
                            why,
                        });
                    }
                    Event::Overflow { client, .. } => {
                        return Err(RunError::Overflow { router: router.config().origin.router, client });
                    }
                    // Links are up, the network is eager: nobody holds anybody back.
                    _ => {}
                }
            }
            while let Some(client) = router.poll_ready() {
                if router.kind(client) == Some(ClientKind::Link) {
                    self.ready.push_back((index, client));
                }
            }
        }
        Ok(())
    }
}

impl Process for Station {
    type Error = RunError;

    fn handle(&mut self, now: Moment, input: Input) -> Result<Duration, RunError> {
        match input {
            Input::Message(message) => {
                let (router, client) = self.inward[message.channel as usize];
                let _congested =
                    self.routers[router].handle_frame(now, client, message.bytes).map_err(RunError::Frame)?;
            }
            Input::Timeout => {
                for router in &mut self.routers {
                    if router.poll_timeout().is_some_and(|at| at <= now) {
                        router.handle_timeout(now);
                    }
                }
            }
        }
        let moved = pump(now, &mut self.routers, &self.pipes).map_err(RunError::Frame)?;
        if let Some(federate) = &mut self.federate {
            federate.act(now, &mut self.routers[0])?;
        }
        self.collect()?;
        Ok(self.pipe_work.saturating_mul(u32::try_from(moved).unwrap_or(u32::MAX)))
    }

    fn poll_message(&mut self, now: Moment) -> Option<Message> {
        while let Some(&place) = self.ready.front() {
            let (router, client) = place;
            if let Some(bytes) = self.routers[router].poll_frame(now, client) {
                let &(host, channel) = self.outward.get(&place)?;
                return Some(Message { host, channel, bytes });
            }
            self.ready.pop_front();
        }
        None
    }

    fn poll_timeout(&self) -> Option<Moment> {
        let routers = self.routers.iter().filter_map(Router::poll_timeout);
        routers.chain(self.federate.as_ref().and_then(Federate::poll_timeout)).min()
    }
}
