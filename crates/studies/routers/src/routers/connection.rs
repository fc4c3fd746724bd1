//! Connections between the hosts of a cluster, for the links of an overlay. A connection is up after
//! a round trip, keeps the order of its frames, and loses none, as TCP over the lossless lines of a
//! cluster would. Its segments pay for processors and lines like all other messages.

use netsim::HostId;
use netsim::cluster::Message;
use overlay::{LinkId, TargetId};
use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

/// The purpose of a segment, as the flags of TCP give it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// The initiator asks for a connection.
    Open,
    /// The acceptor has taken it.
    Opened,
    /// A frame.
    Data,
    /// The sender has closed the connection, and sends and takes nothing more.
    Close,
}

const KINDS: [Kind; 4] = [Kind::Open, Kind::Opened, Kind::Data, Kind::Close];

/// One end of a connection, and the name of the connection at this host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct End {
    /// The host at the other end.
    peer: HostId,
    /// Whether this host is the initiator.
    initiator: bool,
    /// The number that the initiator gave the connection.
    number: u32,
}

/// Set in the channels of segments, and in no other.
const SEGMENT: u32 = 1 << 31;
/// Set where the sender is the initiator.
const BY_INITIATOR: u32 = 1 << 30;
/// Position of the kind.
const KIND_SHIFT: u32 = 28;
/// Numbers of connections are below this.
const NUMBERS: u32 = 1 << KIND_SHIFT;

impl End {
    /// The channel of a segment from this end: it says what the ports and flags of TCP say, whose
    /// bytes the framing of the cluster accounts for.
    fn channel(self, kind: Kind) -> u32 {
        let sender = if self.initiator { BY_INITIATOR } else { 0 };
        SEGMENT | sender | (kind as u32) << KIND_SHIFT | self.number
    }

    /// The end to which a segment came, and its kind.
    fn of(from: HostId, channel: u32) -> (Self, Kind) {
        let end =
            Self { peer: from, initiator: channel & BY_INITIATOR == 0, number: channel & (NUMBERS - 1) };
        (end, KINDS[(channel >> KIND_SHIFT & 3) as usize])
    }
}

/// Something that has happened to a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// It is up. `target`: this host asked for it.
    Up { link: LinkId, target: Option<TargetId> },
    /// A frame has come.
    Frame { link: LinkId, frame: Bytes },
    /// The other end has closed it.
    Down { link: LinkId },
}

/// The connections of one host.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// Connections that this host has asked for.
    initiated: u32,
    /// Links that this host has had.
    links: u64,
    /// Connections that the other host has not taken yet.
    asked: BTreeMap<End, TargetId>,
    ends: BTreeMap<LinkId, End>,
    by_end: BTreeMap<End, LinkId>,
    outbox: VecDeque<Message>,
}

impl Connections {
    /// Whether a message from the cluster is a segment.
    pub(super) fn is_segment(message: &Message) -> bool {
        message.channel & SEGMENT != 0
    }

    /// Asks for a connection to a host.
    pub(super) fn connect(&mut self, peer: HostId, target: TargetId) {
        let end = End { peer, initiator: true, number: self.initiated % NUMBERS };
        self.initiated += 1;
        self.asked.insert(end, target);
        self.put(end, Kind::Open, Bytes::new());
    }

    /// Takes a segment. `None`: it belongs to a connection that this host has closed.
    pub(super) fn handle(&mut self, segment: Message) -> Option<Arrival> {
        let (end, kind) = End::of(segment.host, segment.channel);
        match kind {
            Kind::Open => {
                self.put(end, Kind::Opened, Bytes::new());
                Some(Arrival::Up { link: self.add(end), target: None })
            }
            Kind::Opened => {
                let target = self.asked.remove(&end)?;
                Some(Arrival::Up { link: self.add(end), target: Some(target) })
            }
            Kind::Data => {
                let link = *self.by_end.get(&end)?;
                Some(Arrival::Frame { link, frame: segment.bytes })
            }
            Kind::Close => {
                let link = self.by_end.remove(&end)?;
                self.ends.remove(&link);
                Some(Arrival::Down { link })
            }
        }
    }

    fn add(&mut self, end: End) -> LinkId {
        let link = LinkId(self.links);
        self.links += 1;
        self.ends.insert(link, end);
        self.by_end.insert(end, link);
        link
    }

    /// Sends a frame. Returns whether the connection is up.
    pub(super) fn send(&mut self, link: LinkId, frame: Bytes) -> bool {
        let end = self.ends.get(&link).copied();
        if let Some(end) = end {
            self.put(end, Kind::Data, frame);
        }
        end.is_some()
    }

    /// Closes a connection after the frames sent so far.
    pub(super) fn close(&mut self, link: LinkId) {
        if let Some(end) = self.ends.remove(&link) {
            self.by_end.remove(&end);
            self.put(end, Kind::Close, Bytes::new());
        }
    }

    fn put(&mut self, end: End, kind: Kind, bytes: Bytes) {
        self.outbox.push_back(Message { host: end.peer, channel: end.channel(kind), bytes });
    }

    /// The next segment to send.
    pub(super) fn poll_message(&mut self) -> Option<Message> {
        self.outbox.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carries the segments of host `from` to host `to`.
    fn carry(ends: &mut [Connections; 2], from: usize) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        while let Some(message) = ends[from].poll_message() {
            assert!(Connections::is_segment(&message));
            assert_eq!(message.host, HostId(1 - from as u32));
            let message = Message { host: HostId(from as u32), ..message };
            arrivals.extend(ends[1 - from].handle(message));
        }
        arrivals
    }

    #[test]
    fn a_connection_is_up_after_a_round_trip_and_keeps_order_until_it_is_closed() {
        let mut ends = [Connections::default(), Connections::default()];
        let (target, link) = (TargetId(7), LinkId(0));
        ends[0].connect(HostId(1), target);
        assert!(!ends[0].send(link, Bytes::from_static(b"early")), "it is not up yet");
        assert_eq!(carry(&mut ends, 0), [Arrival::Up { link, target: None }]);
        assert!(ends[1].send(link, Bytes::from_static(b"a")) && ends[1].send(link, Bytes::from_static(b"b")));
        let frame = |bytes| Arrival::Frame { link, frame: Bytes::from_static(bytes) };
        assert_eq!(
            carry(&mut ends, 1),
            [Arrival::Up { link, target: Some(target) }, frame(b"a"), frame(b"b")]
        );
        assert!(ends[0].send(link, Bytes::from_static(b"last")));
        ends[0].close(link);
        assert!(!ends[0].send(link, Bytes::from_static(b"late")));
        // The other end still sends; nothing of that arrives.
        assert!(ends[1].send(link, Bytes::from_static(b"c")));
        assert_eq!(carry(&mut ends, 1), []);
        assert_eq!(carry(&mut ends, 0), [frame(b"last"), Arrival::Down { link }]);
    }

    #[test]
    fn two_hosts_may_connect_to_each_other_at_once() {
        let mut ends = [Connections::default(), Connections::default()];
        ends[0].connect(HostId(1), TargetId(0));
        ends[1].connect(HostId(0), TargetId(5));
        assert_eq!(carry(&mut ends, 0), [Arrival::Up { link: LinkId(0), target: None }]);
        // Its own request was sent first, then the answer.
        assert_eq!(
            carry(&mut ends, 1),
            [
                Arrival::Up { link: LinkId(0), target: None },
                Arrival::Up { link: LinkId(1), target: Some(TargetId(0)) }
            ]
        );
        assert_eq!(carry(&mut ends, 0), [Arrival::Up { link: LinkId(1), target: Some(TargetId(5)) }]);
        // Host 0's link 1 is host 1's link 0.
        assert!(ends[0].send(LinkId(1), Bytes::from_static(b"x")));
        assert_eq!(
            carry(&mut ends, 0),
            [Arrival::Frame { link: LinkId(0), frame: Bytes::from_static(b"x") }]
        );
    }
}
