//! Connections: two byte streams, each in order and complete, until they end or break.

use super::{Event, HostEvent, HostId, LinkId, Network};
use crate::fault::{Arrival, Fate, PacketKind, RuleId};
use base::Moment;
use bytes::Bytes;
use std::collections::VecDeque;

/// Bytes that arrive together over a line with a rate. A receiver would otherwise hear nothing while
/// hundreds of kilobytes that were sent at once cross a slow line, and take the line for dead.
const PART_BYTES: usize = 16 << 10;

base::id! {
    /// A connection of a network.
    pub struct ConnId(u32) as "conn";
    /// One end of a connection. The opener's number is even, the acceptor's is the next odd one.
    pub struct SocketId(u32) as "sock";
}

impl SocketId {
    /// The connection of this end.
    pub const fn conn(self) -> ConnId {
        ConnId(self.0 >> 1)
    }

    /// The other end.
    #[must_use]
    pub const fn peer(self) -> SocketId {
        SocketId(self.0 ^ 1)
    }

    /// True for the end of the host that requested the connection.
    pub const fn is_opener(self) -> bool {
        self.0 & 1 == 0
    }
}

/// The reason why a connection broke.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BreakReason {
    /// The other host reset it.
    Reset,
    /// A rule cut it.
    Cut,
    /// No host accepts connections there.
    Refused,
}

/// The reason why bytes cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SendError {
    /// This end was closed or reset by its own host.
    #[error("this end of the connection is closed")]
    Closed,
    /// The connection broke.
    #[error("the connection is broken")]
    Broken,
}

/// One end of a connection, and the direction that leads away from it.
#[derive(Debug)]
pub(super) struct Socket {
    host: HostId,
    port: u16,
    state: State,
    /// False while the owner does not read.
    reading: bool,
    /// The end of the peer's stream has been delivered.
    ended: bool,
    pub(super) out: Direction,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The owner does not know yet that it is open.
    Opening,
    Open,
    /// Both hosts closed it, or the owner reset it.
    Closed,
    Broken,
}

#[derive(Debug)]
pub(super) struct Direction {
    link: LinkId,
    /// Segments in flight, and arrived ones that are unread, oldest first.
    segments: VecDeque<Segment>,
    /// Number of `segments` that have arrived while the receiver did not read.
    unread: usize,
    last_arrival: Moment,
    /// Stalled segments, which are not in flight yet.
    pub(super) held: VecDeque<Segment>,
    /// The rule that stalls it.
    pub(super) held_by: Option<RuleId>,
    /// Bytes sent and not yet delivered.
    in_flight: usize,
    /// The sender has filled the window and is to receive a `Writable`.
    full: bool,
    /// The sender has closed this direction.
    ended: bool,
    /// The connection is cut, and the sender does not know it yet.
    cut: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Segment {
    Open,
    Bytes(Bytes),
    End,
    Reset(BreakReason),
}

impl Segment {
    fn len(&self) -> usize {
        match self {
            Segment::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }
}

impl Network {
    /// Requests a connection. Both hosts learn of it by [`HostEvent::Opened`]; if the other host is
    /// down, this one learns of it by [`HostEvent::Broken`]. Bytes that are sent earlier arrive
    /// after the opening.
    pub fn connect(&mut self, from: HostId, to: HostId, port: u16) -> SocketId {
        let opener = SocketId(u32::try_from(self.sockets.len()).expect("fewer than 2^31 connections"));
        for (from, to) in [(from, to), (to, from)] {
            let link = self.link_id(from, to);
            self.sockets.push(Socket::new(from, port, link));
        }
        self.stats.connections += 1;
        self.host_mut(from).sockets.insert(opener);
        self.submit(opener, Segment::Open);
        opener
    }

    /// Sends bytes on a connection. They are accepted regardless of the [room](Network::room): a
    /// sender that respects back-pressure checks it before.
    ///
    /// # Errors
    /// [`SendError`]: this end is closed, or its host knows that the connection is broken. (Bytes
    /// sent on a connection that broke without the host's knowledge are lost, as with TCP.)
    pub fn send(&mut self, socket: SocketId, bytes: Bytes) -> Result<(), SendError> {
        let window = self.options.stream_window;
        let state = self.socket_mut(socket);
        match state.state {
            State::Broken => return Err(SendError::Broken),
            State::Closed => return Err(SendError::Closed),
            State::Opening | State::Open if state.out.ended => return Err(SendError::Closed),
            State::Opening | State::Open if state.out.cut || bytes.is_empty() => return Ok(()),
            State::Opening | State::Open => {}
        }
        state.out.in_flight += bytes.len();
        state.out.full |= state.out.in_flight >= window;
        self.stats.stream_sent_bytes += bytes.len() as u64;
        self.submit(socket, Segment::Bytes(bytes));
        Ok(())
    }

    /// Bytes that can be sent before the window of this direction is full. A host that fills the
    /// window receives [`HostEvent::Writable`] once there is room again.
    pub fn room(&self, socket: SocketId) -> usize {
        self.options.stream_window.saturating_sub(self.socket(socket).out.in_flight)
    }

    /// Closes this direction: the peer receives [`HostEvent::Ended`] after all bytes. Bytes from
    /// the peer still arrive. The connection is gone once both directions are closed.
    pub fn close(&mut self, socket: SocketId) {
        let state = self.socket_mut(socket);
        if state.out.ended || !state.is_alive() {
            return;
        }
        state.out.ended = true;
        if state.ended {
            self.bury(socket, State::Closed);
        }
        self.submit(socket, Segment::End);
    }

    /// Resets the connection. This host receives no more events of it; the peer receives
    /// [`HostEvent::Broken`] after the bytes in flight.
    pub fn reset(&mut self, socket: SocketId) {
        if !self.socket(socket).is_alive() {
            return;
        }
        self.socket_mut(socket).out.ended = true;
        self.bury(socket, State::Closed);
        if !self.socket(socket).out.cut {
            self.stats.broken_connections += 1;
            self.submit(socket, Segment::Reset(BreakReason::Reset));
        }
    }

    /// Sets whether the host reads from this socket. While it does not, everything waits and counts
    /// against the sender's window.
    pub fn set_reading(&mut self, socket: SocketId, reading: bool) {
        let now = self.now;
        let state = self.socket_mut(socket);
        if reading && !state.reading {
            self.queue.push(now, Event::Reading(socket));
        }
        self.socket_mut(socket).reading = reading;
    }

    /// The host of this end.
    pub fn host_of(&self, socket: SocketId) -> HostId {
        self.socket(socket).host
    }

    /// True while the host may still receive events of this socket.
    pub fn is_alive(&self, socket: SocketId) -> bool {
        self.socket(socket).is_alive()
    }

    /// Puts a segment on the link, unless a rule prevents it.
    pub(super) fn submit(&mut self, socket: SocketId, segment: Segment) {
        let (from, to) = (self.socket(socket).host, self.socket(socket.peer()).host);
        let out = &mut self.socket_mut(socket).out;
        let reset = matches!(segment, Segment::Reset(_));
        if out.cut && !reset {
            return;
        }
        if out.held_by.is_some() {
            out.held.push_back(segment);
            return;
        }
        let link = out.link;
        let conn = socket.conn();
        let nothing = Bytes::new();
        let (kind, bytes) = match &segment {
            Segment::Open => (PacketKind::Open(conn), &nothing),
            Segment::Bytes(bytes) => (PacketKind::Bytes(conn), bytes),
            Segment::End => (PacketKind::End(conn), &nothing),
            Segment::Reset(_) => (PacketKind::Reset(conn), &nothing),
        };
        match self.judge(link, from, to, kind, bytes) {
            Fate::Arrives(arrival) => self.transmit(socket, segment, arrival),
            Fate::Stalled(rule) => {
                self.stats.stalls += 1;
                self.stalled.insert(socket);
                let out = &mut self.socket_mut(socket).out;
                out.held_by = Some(rule);
                out.held.push_back(segment);
            }
            Fate::Cut(_) if reset => self.transmit(socket, segment, Arrival::default()),
            Fate::Cut(after) => self.cut(socket, bytes.slice(..after)),
            Fate::Dropped => unreachable!("no rule drops a part of a stream"),
        }
    }

    /// Breaks the connection after `last` bytes in this direction.
    fn cut(&mut self, socket: SocketId, last: Bytes) {
        self.stats.cuts += 1;
        self.stats.broken_connections += 1;
        if !last.is_empty() {
            self.transmit(socket, Segment::Bytes(last), Arrival::default());
        }
        for end in [socket, socket.peer()] {
            let out = &mut self.socket_mut(end).out;
            if std::mem::replace(&mut out.cut, true) {
                continue;
            }
            if out.held_by.is_some() {
                out.held.push_back(Segment::Reset(BreakReason::Cut));
            } else {
                self.transmit(end, Segment::Reset(BreakReason::Cut), Arrival::default());
            }
        }
    }

    /// Puts a segment on its line. A line with a rate delivers the parts of a long one as they leave it.
    fn transmit(&mut self, socket: SocketId, mut segment: Segment, arrival: Arrival) {
        let link = self.socket(socket).out.link;
        if let Segment::Bytes(bytes) = &mut segment
            && self.link_mut(link).has_rate()
        {
            while bytes.len() > PART_BYTES {
                let part = Segment::Bytes(bytes.split_to(PART_BYTES));
                self.transmit_part(socket, part, arrival);
            }
        }
        self.transmit_part(socket, segment, arrival);
    }

    fn transmit_part(&mut self, socket: SocketId, segment: Segment, arrival: Arrival) {
        let now = self.now;
        let link = self.socket(socket).out.link;
        let arrives = self.link_mut(link).depart(now, segment.len()) + arrival.delay;
        let out = &mut self.socket_mut(socket).out;
        let arrives = arrives.max(out.last_arrival);
        out.last_arrival = arrives;
        let mut rest = segment;
        if let (Segment::Bytes(bytes), Some(size)) = (&mut rest, arrival.fragment) {
            while bytes.len() > size {
                self.send_off(socket, Segment::Bytes(bytes.split_to(size)), arrives);
            }
        }
        self.send_off(socket, rest, arrives);
    }

    fn send_off(&mut self, socket: SocketId, segment: Segment, arrives: Moment) {
        self.socket_mut(socket).out.segments.push_back(segment);
        self.queue.push(arrives, Event::Arrival(socket));
    }

    /// Handles the arrival of the oldest segment in flight from `sender`.
    pub(super) fn arrive(&mut self, sender: SocketId) -> Option<(HostId, HostEvent)> {
        self.socket_mut(sender).out.unread += 1;
        self.deliver(sender)
    }

    /// Delivers the next waiting segment to the owner of `receiver`, one per event.
    pub(super) fn read_on(&mut self, receiver: SocketId) -> Option<(HostId, HostEvent)> {
        let delivery = self.deliver(receiver.peer());
        if self.socket(receiver).reading && self.socket(receiver.peer()).out.unread > 0 {
            self.queue.push(self.now, Event::Reading(receiver));
        }
        delivery
    }

    /// Delivers the oldest segment that has arrived from `sender`, if the receiver reads.
    fn deliver(&mut self, sender: SocketId) -> Option<(HostId, HostEvent)> {
        let receiver = sender.peer();
        if !self.socket(receiver).reading && self.socket(receiver).is_alive() {
            return None;
        }
        let out = &mut self.socket_mut(sender).out;
        out.unread = out.unread.checked_sub(1)?;
        let segment = out.segments.pop_front()?;
        self.free_window(sender, segment.len());
        let host = self.socket(receiver).host;
        if !self.socket(receiver).is_alive() {
            return None;
        }
        if !self.host(host).up && matches!(segment, Segment::Open) {
            self.refuse(receiver);
            return None;
        }
        self.receive(receiver, segment).map(|event| (host, event))
    }

    fn receive(&mut self, receiver: SocketId, segment: Segment) -> Option<HostEvent> {
        match segment {
            Segment::Open => {
                let accepted = !receiver.is_opener();
                let socket = self.socket_mut(receiver);
                socket.state = State::Open;
                let (host, port) = (socket.host, socket.port);
                let peer = self.socket(receiver.peer()).host;
                if accepted {
                    self.host_mut(host).sockets.insert(receiver);
                    self.submit(receiver, Segment::Open);
                }
                Some(HostEvent::Opened { socket: receiver, peer, port, accepted })
            }
            Segment::Bytes(bytes) => {
                self.stats.stream_received_bytes += bytes.len() as u64;
                Some(HostEvent::Received { socket: receiver, bytes })
            }
            Segment::End => {
                let socket = self.socket_mut(receiver);
                socket.ended = true;
                if socket.out.ended {
                    self.bury(receiver, State::Closed);
                }
                Some(HostEvent::Ended { socket: receiver })
            }
            Segment::Reset(reason) => {
                // An acceptor that never learned of the connection does not learn of its end.
                let known = receiver.is_opener() || self.socket(receiver).state == State::Open;
                self.bury(receiver, State::Broken);
                known.then_some(HostEvent::Broken { socket: receiver, reason })
            }
        }
    }

    /// A host that is down has no connections. It answers an opening with a refusal.
    fn refuse(&mut self, receiver: SocketId) {
        self.socket_mut(receiver).out.ended = true;
        self.bury(receiver, State::Closed);
        self.stats.broken_connections += 1;
        self.submit(receiver, Segment::Reset(BreakReason::Refused));
    }

    fn free_window(&mut self, sender: SocketId, octets: usize) {
        let window = self.options.stream_window;
        let back = self.socket(sender.peer()).out.link;
        let now = self.now;
        let out = &mut self.socket_mut(sender).out;
        out.in_flight = out.in_flight.saturating_sub(octets);
        if out.full && out.in_flight < window {
            out.full = false;
            let heard = now + self.link_mut(back).spec.delay;
            self.queue.push(heard, Event::Writable(sender));
        }
    }

    pub(super) fn tell_writable(&mut self, socket: SocketId) -> Option<(HostId, HostEvent)> {
        let state = self.socket(socket);
        let tell = state.is_alive() && !state.out.ended && self.room(socket) > 0;
        tell.then_some((state.host, HostEvent::Writable { socket }))
    }

    /// Ends the socket: its host receives no more events of it.
    fn bury(&mut self, socket: SocketId, state: State) {
        let dead = self.socket_mut(socket);
        dead.state = state;
        let host = dead.host;
        self.host_mut(host).sockets.remove(&socket);
    }

    fn socket(&self, socket: SocketId) -> &Socket {
        self.sockets.get(socket.0 as usize).expect("sockets are of this network")
    }

    pub(super) fn socket_mut(&mut self, socket: SocketId) -> &mut Socket {
        self.sockets.get_mut(socket.0 as usize).expect("sockets are of this network")
    }
}

impl Socket {
    fn new(host: HostId, port: u16, link: LinkId) -> Self {
        let out = Direction {
            link,
            segments: VecDeque::new(),
            unread: 0,
            last_arrival: Moment::ZERO,
            held: VecDeque::new(),
            held_by: None,
            in_flight: 0,
            full: false,
            ended: false,
            cut: false,
        };
        Self { host, port, state: State::Opening, reading: true, ended: false, out }
    }

    fn is_alive(&self) -> bool {
        matches!(self.state, State::Opening | State::Open)
    }
}
