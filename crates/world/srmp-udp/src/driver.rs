//! The task between the protocol and the sockets.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use base::Moment;
use bytes::Bytes;
use srmp::{Channel, Destination};
use tokio::time::Sleep;
use wan::Line;

use super::HostConfig;
use super::host::Shared;
use super::outbox::Outbox;
use super::receive::Receiver;
use super::sockets::Sockets;
use super::stats::IoCounters;

/// How long a leaving member waits for datagrams on an emulated line.
const GOOD_BYE: Duration = Duration::from_secs(1);
/// How long the task sleeps when nothing is due.
const LONG: Duration = Duration::from_secs(3_600);

/// A datagram that was received.
type Incoming = (SocketAddr, Channel, Bytes);

/// Passes datagrams and time to the protocol, and its output to the network.
#[derive(Debug)]
pub(super) struct Driver {
    shared: Arc<Shared>,
    sockets: Sockets,
    receiver: Receiver,
    outbox: Outbox,
    inbox: Vec<Incoming>,
    incoming: Option<Line<Incoming>>,
    outgoing: Option<Line<(SocketAddr, Bytes)>>,
    io: IoCounters,
    /// Bytes of the headers of IP and UDP.
    overhead: usize,
    /// The time until which farewell datagrams may be under way.
    ends: Option<Moment>,
}

/// The result of one pass over the protocol.
struct Look {
    next: Option<Moment>,
    /// More datagrams may be sent at once.
    has_more: bool,
    /// The application has so many unread events that nothing more may be received.
    is_stuffed: bool,
    is_over: bool,
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>, sockets: Sockets, config: &HostConfig) -> Self {
        let outgoing = config.outgoing.clone().map(|line| Line::new(line, config.seed.split("outgoing")));
        let incoming = config.incoming.clone().map(|line| Line::new(line, config.seed.split("incoming")));
        Self {
            shared,
            receiver: Receiver::new(),
            outbox: Outbox::new(sockets.to_site, (config.site_ttl, config.ttl)),
            inbox: Vec::new(),
            incoming,
            outgoing,
            io: IoCounters::default(),
            overhead: if sockets.to_group.is_ipv4() { 28 } else { 48 },
            ends: None,
            sockets,
        }
    }

    /// Runs until the application leaves the group.
    pub(super) async fn run(mut self) {
        let mut timer = Box::pin(tokio::time::sleep(LONG));
        loop {
            let look = self.look();
            self.outbox.send(&self.sockets.unicast, &mut self.io);
            let is_sent = self.outbox.is_empty();
            if look.is_over && is_sent {
                return;
            }
            if look.has_more && is_sent {
                tokio::task::yield_now().await;
                continue;
            }
            if self.wait(&look, timer.as_mut()).await {
                self.receive();
                // Sockets that are always ready must not keep other tasks of this thread from
                // running.
                tokio::task::yield_now().await;
            }
        }
    }

    /// Passes the received datagrams and the present to the protocol, and takes its output.
    fn look(&mut self) -> Look {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        let now = shared.clock.now();
        for (from, channel, datagram) in self.inbox.drain(..) {
            state.endpoint.handle_datagram(now, from, channel, &datagram);
        }
        if let Some(line) = &mut self.incoming {
            while let Some((from, channel, datagram)) = line.poll(now) {
                state.endpoint.handle_datagram(now, from, channel, &datagram);
            }
        }
        if state.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            state.endpoint.handle_timeout(now);
        }
        // Bytes that the socket has not accepted yet go first.
        let mut is_empty = false;
        if self.outbox.is_empty() {
            is_empty = self.fill(&mut state.endpoint, now);
        }
        self.io.emulated_losses = lost(self.incoming.as_ref()) + lost(self.outgoing.as_ref());
        self.io.events_dropped = state.io.events_dropped;
        state.io = self.io;
        if state.collect_events() {
            shared.events_ready.notify_one();
        }
        shared.moved.notify_waiters();
        let lines = [
            self.incoming.as_ref().and_then(Line::poll_timeout),
            self.outgoing.as_ref().and_then(Line::poll_timeout),
            state.endpoint.poll_timeout(),
        ];
        let is_leaving = state.is_leaving;
        let is_stuffed = state.is_stuffed();
        drop(state);
        Look {
            next: lines.into_iter().flatten().min(),
            has_more: !is_empty,
            is_stuffed,
            is_over: is_leaving && is_empty && self.has_said_good_bye(now),
        }
    }

    /// Takes datagrams to send. Returns false when there may be more.
    fn fill(&mut self, endpoint: &mut srmp::Endpoint, now: Moment) -> bool {
        let segments = self.sockets.unicast.state.max_gso_segments();
        while !self.outbox.is_full() {
            let Some(transmit) = endpoint.poll_transmit(now) else {
                self.take_arrived(now, segments);
                return true;
            };
            let to = match transmit.to {
                Destination::Group => self.sockets.to_group,
                // The protocol knows whether there is a site's group. Without one it sends nothing
                // there.
                Destination::Site => self.sockets.to_site.unwrap_or(self.sockets.to_group),
                Destination::Unicast(address) => address,
            };
            match &mut self.outgoing {
                Some(line) => {
                    let bytes = transmit.datagram.len() + self.overhead;
                    let _ = line.offer(now, (to, transmit.datagram), bytes); // the line counts its drops
                }
                None => self.outbox.push(to, &transmit.datagram, segments),
            }
        }
        false
    }

    /// Takes datagrams that have reached the end of the emulated line.
    fn take_arrived(&mut self, now: Moment, segments: usize) {
        let Some(line) = &mut self.outgoing else { return };
        while let Some((to, datagram)) = line.poll(now) {
            self.outbox.push(to, &datagram, segments);
        }
    }

    fn has_said_good_bye(&mut self, now: Moment) -> bool {
        let ends = *self.ends.get_or_insert(now + GOOD_BYE);
        now >= ends || self.outgoing.as_ref().is_none_or(|line| line.in_flight() == 0)
    }

    /// Waits for work. Returns true when a socket may be readable.
    async fn wait(&self, look: &Look, mut timer: Pin<&mut Sleep>) -> bool {
        let reads = !look.is_stuffed;
        let next = look.next.into_iter().chain(self.ends).min();
        if let Some(at) = next.and_then(|next| self.shared.clock.instant(next)) {
            timer.as_mut().reset(at);
        }
        tokio::select! {
            () = self.shared.wake.notified() => false,
            _ = self.sockets.group.socket.readable(), if reads => true,
            _ = self.sockets.unicast.socket.readable(), if reads => true,
            () = self.sockets.site_readable(), if reads => true,
            _ = self.sockets.unicast.socket.writable(), if !self.outbox.is_empty() => false,
            () = timer, if next.is_some() => false,
        }
    }

    /// Reads each socket with one system call.
    fn receive(&mut self) {
        let Self { sockets, receiver, inbox, incoming, shared, io, overhead, .. } = self;
        let site = sockets.site.as_ref().map(|site| (site, Channel::Site));
        let all = [(&sockets.unicast, Channel::Unicast), (&sockets.group, Channel::Group)];
        for (socket, channel) in all.into_iter().chain(site) {
            receiver.receive(socket, io, |from, datagram| match incoming {
                Some(line) => {
                    let bytes = datagram.len() + *overhead;
                    let _ = line.offer(shared.clock.now(), (from, channel, datagram), bytes); // the line counts its drops
                }
                None => inbox.push((from, channel, datagram)),
            });
        }
    }
}

impl Drop for Driver {
    /// The host has ended, because it left the group or its runtime stopped.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.io = IoCounters { events_dropped: state.io.events_dropped, ..self.io };
        state.is_over = true;
        drop(state);
        self.shared.events_ready.notify_one();
        self.shared.moved.notify_waiters();
    }
}

fn lost<T: Clone>(line: Option<&Line<T>>) -> u64 {
    let counters = line.map(Line::counters);
    counters.map_or(0, |counters| counters.lost + counters.overflowed + counters.cut)
}
