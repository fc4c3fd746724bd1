//! A process of a router network on a simulated host: one router, the three of a triad, or one with
//! an application.

use super::RunError;
use super::cross_links::CrossLinks;
use base::Moment;
use netsim::HostId;
use netsim::cluster::{Input, Message, Process};
use router::{ClientId, ClientKind, Event, MemoryPipe, Router, pump};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A client of a router in this process: the router's index, and the client's id there.
pub(crate) type Place = (usize, ClientId);

/// An application behind the single router of its process.
pub(crate) trait Application {
    /// The type of its messages.
    type Message: router::Message;
    /// The type of its interest.
    type Interest: router::Interest<Topic = <Self::Message as router::Message>::Topic>;

    /// Handles received messages and submits new ones.
    fn act(&mut self, now: Moment, router: &mut RouterOf<Self>) -> Result<(), RunError>;

    /// Moment of its next action without input.
    fn poll_timeout(&self) -> Option<Moment>;
}

/// The router of an application.
pub(crate) type RouterOf<A> = Router<<A as Application>::Message, <A as Application>::Interest>;

/// The routers of one process, and the application behind them, if any.
pub(crate) struct Station<A: Application> {
    pub(crate) routers: Vec<RouterOf<A>>,
    pub(super) pipes: Vec<MemoryPipe>,
    /// Processor time for each parcel that crosses a memory pipe.
    pub(super) pipe_work: Duration,
    /// Link clients, by the channel that their frames arrive on.
    pub(super) inward: Vec<Place>,
    /// The destination of their frames: host and channel.
    pub(super) outward: BTreeMap<Place, (HostId, u32)>,
    pub(crate) application: Option<A>,
    /// Clients whose pipes may have frames to send.
    pub(super) ready: VecDeque<Place>,
    /// The links of a triad that an overlay makes; `None` if all links are wired.
    pub(crate) cross_links: Option<CrossLinks>,
}

impl<A: Application> Station<A> {
    /// A process without routers.
    pub(super) fn new(pipe_work: Duration) -> Self {
        Self {
            routers: Vec::new(),
            pipes: Vec::new(),
            pipe_work,
            inward: Vec::new(),
            outward: BTreeMap::new(),
            application: None,
            ready: VecDeque::new(),
            cross_links: None,
        }
    }

    /// Handles the routers' events and lists the clients that have frames to send.
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
                    // All links are up, and the network accepts every frame: no back-pressure
                    // occurs.
                    _ => {}
                }
            }
            while let Some(client) = router.poll_ready() {
                let place = (index, client);
                if router.kind(client) != Some(ClientKind::Link) {
                    continue;
                }
                match self.cross_links.as_mut().filter(|links| links.owns(place)) {
                    Some(links) => links.set_ready(place),
                    None => self.ready.push_back(place),
                }
            }
        }
        Ok(())
    }

    /// Moves what waits between the routers of this process, and handles their events. Returns the
    /// number of parcels that crossed memory pipes.
    fn pump(&mut self, now: Moment) -> Result<usize, RunError> {
        let moved = pump(now, &mut self.routers, &self.pipes).map_err(RunError::Frame)?;
        if let Some(application) = &mut self.application {
            application.act(now, &mut self.routers[0])?;
        }
        self.collect()?;
        Ok(moved)
    }

    /// Lets the overlay and the routers work until neither has anything for the other. Returns the
    /// number of parcels that crossed memory pipes.
    fn run_cross_links(&mut self, now: Moment) -> Result<usize, RunError> {
        let mut moved = 0;
        while let Some(links) = &mut self.cross_links
            && links.run(now, &mut self.routers)?
        {
            moved += self.pump(now)?;
        }
        Ok(moved)
    }
}

impl<A: Application> Process for Station<A> {
    type Error = RunError;

    fn handle(&mut self, now: Moment, input: Input) -> Result<Duration, RunError> {
        match (input, &mut self.cross_links) {
            (Input::Message(message), Some(links)) if CrossLinks::takes(&message) => {
                links.handle(now, &mut self.routers, message)?;
            }
            (Input::Message(message), _) => {
                let (router, client) = self.inward[message.channel as usize];
                let _congested =
                    self.routers[router].handle_frame(now, client, message.bytes).map_err(RunError::Frame)?;
            }
            (Input::Timeout, links) => {
                if let Some(links) = links {
                    links.handle_timeout(now);
                }
                for router in &mut self.routers {
                    if router.poll_timeout().is_some_and(|at| at <= now) {
                        router.handle_timeout(now);
                    }
                }
            }
        }
        let moved = self.pump(now)? + self.run_cross_links(now)?;
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
        // After the links within the site, as where all links are wired.
        self.cross_links.as_mut().and_then(CrossLinks::poll_message)
    }

    fn poll_timeout(&self) -> Option<Moment> {
        let routers = self.routers.iter().filter_map(Router::poll_timeout);
        let application = self.application.as_ref().and_then(A::poll_timeout);
        routers.chain(application).chain(self.cross_links.as_ref().and_then(CrossLinks::poll_timeout)).min()
    }
}
