//! The interface for the application.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Moment;
use bytes::Bytes;
use srmp::frames::Sending;
use srmp::model::{DataId, MemberId, StreamKey};
use srmp::{Endpoint, Peer, SendError, Ticket};
use tokio::sync::Notify;

use super::driver::Driver;
use super::events::{EventQueue, SrmpEvents};
use super::sockets::Sockets;
use super::stats::IoCounters;
use super::{HostConfig, OpenError};
use crate::clock::Clock;

/// The state shared by the application and the driver.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) clock: Clock,
    /// Signals the driver that it has work.
    pub(super) wake: Notify,
    /// Signals the application that there are events.
    pub(super) events_ready: Notify,
    /// Signals that messages were handed to the network, or that the host has ended.
    pub(super) moved: Notify,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) endpoint: Endpoint,
    pub(super) events: EventQueue,
    pub(super) io: IoCounters,
    pub(super) is_leaving: bool,
    pub(super) is_over: bool,
    pub(super) tells_sent: bool,
    events_max: usize,
    events_bytes_max: usize,
    /// Number of mode 0 messages that were given to the endpoint.
    offered: u64,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Only the application can have panicked, in `inspect` or `change`. The endpoint is as
        // sound as the application left it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(super) fn is_stuffed(&self) -> bool {
        self.events.is_stuffed(self.events_max, self.events_bytes_max)
    }

    /// Moves events of the endpoint into the application's queue. Returns true if there is anything
    /// to read.
    pub(super) fn collect_events(&mut self) -> bool {
        while let Some(event) = self.endpoint.poll_event() {
            if !self.tells_sent && matches!(event, srmp::Event::Sent { .. }) {
                continue;
            }
            if !self.events.push(event, self.events_max, self.events_bytes_max) {
                self.io.events_dropped += 1;
            }
        }
        !self.events.is_empty()
    }

    /// Number of messages of modes 0 and 1 that wait to be handed to the network.
    fn backlog(&self) -> u64 {
        let counters = self.endpoint.counters();
        let shaper = counters.shaper;
        let dropped = shaper.random + shaper.superseded + shaper.overflow + shaper.stale;
        let gone = counters.endpoint.sent.mode0 + counters.endpoint.mode0_conflated + dropped;
        self.offered.saturating_sub(gone) + self.endpoint.reliable_waiting() as u64
    }
}

/// A member of a group on a real network. Dropping it leaves the group.
///
/// Its methods do not wait for the network. A task of the runtime in which the host was opened
/// sends the messages.
#[derive(Debug)]
pub struct SrmpHost {
    shared: Arc<Shared>,
    group: SocketAddr,
    local: SocketAddr,
}

impl SrmpHost {
    /// Joins a group. The member announces itself at once.
    ///
    /// # Errors
    /// The group, the interface, the port or the settings of the protocol are invalid. Then nothing
    /// has been sent.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O and time enabled.
    pub fn open(mut config: HostConfig) -> Result<(Self, SrmpEvents), OpenError> {
        let sockets = Sockets::open(&config)?;
        let (group, local) = (config.group, sockets.local);
        let mut protocol = std::mem::replace(
            &mut config.protocol,
            srmp::Config::new(srmp::model::Profile::V3, MemberId::NOBODY),
        );
        if protocol.group.is_empty() {
            // The text excludes the number of the interface, which differs between machines.
            protocol.group = SocketAddr::new(group.ip(), group.port()).to_string();
        }
        let clock = Clock::start();
        let endpoint = Endpoint::new(protocol, config.seed.split("protocol"), clock.now())?;
        let state = State {
            endpoint,
            events: EventQueue::default(),
            io: IoCounters::default(),
            is_leaving: false,
            is_over: false,
            tells_sent: config.tells_sent,
            events_max: config.events_max.max(1),
            events_bytes_max: config.events_bytes_max.max(1),
            offered: 0,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            clock,
            wake: Notify::new(),
            events_ready: Notify::new(),
            moved: Notify::new(),
        });
        let driver = Driver::new(Arc::clone(&shared), sockets, &config);
        tokio::spawn(driver.run());
        let events = SrmpEvents { shared: Arc::clone(&shared), taken: Default::default() };
        Ok((Self { shared, group, local }, events))
    }

    /// Sends a best-effort message to the group: see [`Endpoint::send_mode0`].
    ///
    /// # Errors
    /// Those of the protocol.
    pub fn send0(&self, stream: Option<StreamKey>, priority: u8, body: Bytes) -> Result<Ticket, SendError> {
        self.send(|state, now| {
            let ticket = state.endpoint.send_mode0(now, stream, priority, body)?;
            state.offered += 1;
            Ok(ticket)
        })
    }

    /// Sends a new version of a data element to the group: see [`Endpoint::send_mode1`].
    ///
    /// # Errors
    /// Those of the protocol.
    pub fn send1(&self, data: DataId, body: Bytes, urgent: bool) -> Result<Ticket, SendError> {
        self.send(|state, now| state.endpoint.send_mode1(now, data, body, urgent))
    }

    /// Sends a message to one member until it is acknowledged: see [`Endpoint::send_mode2`].
    ///
    /// # Errors
    /// Those of the protocol.
    pub fn send2(&self, to: Peer, data: DataId, body: Bytes) -> Result<Ticket, SendError> {
        self.send(|state, now| state.endpoint.send_mode2(now, to, data, body))
    }

    fn send(
        &self,
        send: impl FnOnce(&mut State, Moment) -> Result<Ticket, SendError>,
    ) -> Result<Ticket, SendError> {
        let sent = send(&mut self.shared.lock(), self.shared.clock.now());
        if sent.is_ok() {
            self.shared.wake.notify_one();
        }
        sent
    }

    /// Checks whether a group can be joined with these settings, as far as the system shows it
    /// without joining for long. Nothing is sent.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O enabled.
    pub fn check(config: &HostConfig) -> Result<(), OpenError> {
        Sockets::open(config).map(drop)
    }

    /// Number of mode 0 messages, and of pieces of mode 1 messages, that wait to be sent.
    pub fn waiting(&self) -> u64 {
        self.shared.lock().backlog()
    }

    /// Waits until at most `waiting` messages [wait](Self::waiting) to be sent, or the host has
    /// ended. An application that sends more than the group's rate carries, and wants nothing
    /// dropped, calls this before sending.
    pub async fn room(&self, waiting: u64) {
        self.until(|state| state.backlog() <= waiting).await;
    }

    /// Leaves the group, and waits until the group was told. Waiting messages are no longer sent.
    pub async fn leave(self) {
        self.begin_to_leave();
        self.until(|_| false).await;
    }

    /// Waits until `is_so` returns true, or the host has ended.
    async fn until(&self, mut is_so: impl FnMut(&State) -> bool) {
        loop {
            let moved = self.shared.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            {
                let state = self.shared.lock();
                if state.is_over || is_so(&state) {
                    return;
                }
            }
            moved.await;
        }
    }

    /// Gives read access to the protocol: counters, members, rates.
    pub fn inspect<T>(&self, look: impl FnOnce(&Endpoint) -> T) -> T {
        look(&self.shared.lock().endpoint)
    }

    /// Gives access to settings of the protocol that can be changed: interest, keys.
    pub fn change<T>(&self, change: impl FnOnce(&mut Endpoint) -> T) -> T {
        let result = change(&mut self.shared.lock().endpoint);
        self.shared.wake.notify_one();
        result
    }

    /// The counters of the sockets.
    pub fn io(&self) -> IoCounters {
        self.shared.lock().io
    }

    /// The identity of this member.
    pub fn member(&self) -> MemberId {
        self.inspect(Endpoint::member)
    }

    /// The group.
    pub fn group(&self) -> SocketAddr {
        self.group
    }

    /// The address of this member, from which it sends everything.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    fn begin_to_leave(&self) {
        let mut state = self.shared.lock();
        let now = self.shared.clock.now();
        state.endpoint.leave(now);
        state.is_leaving = true;
        drop(state);
        self.shared.wake.notify_one();
    }
}

impl Sending for &SrmpHost {
    fn mode0(&mut self, body: Bytes) -> Result<Ticket, SendError> {
        self.send0(None, 0, body)
    }

    fn mode1(&mut self, data: DataId, body: Bytes) -> Result<Ticket, SendError> {
        self.send1(data, body, false)
    }

    fn mode2(&mut self, to: MemberId, data: DataId, body: Bytes) -> Result<Ticket, SendError> {
        self.send2(Peer::Member(to), data, body)
    }
}

impl Drop for SrmpHost {
    fn drop(&mut self) {
        self.begin_to_leave();
    }
}
