//! Peer messages from one node to one other: each exactly once, in order.
//!
//! The network below may lose, repeat and reorder frames. Messages are numbered from 1,
//! acknowledged cumulatively, and sent again until they are acknowledged. Two nodes have a session
//! for each [`Lane`], so that urgent messages never wait behind bulk.

use base::Moment;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::encoding::{decode_varint, encode_varint};
use router::WireError;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A frame collects messages up to this size. A longer message goes alone. Links and UDP datagrams
/// carry 64 KiB.
const FRAME_BYTES: usize = 60 << 10;
/// Maximum unacknowledged bytes in flight. They keep a link of 1 Gbit/s with a round trip of 16 ms
/// busy.
const WINDOW_BYTES: usize = 2 << 20;
/// Bytes of received messages that have not been taken yet or arrived early. Messages beyond it are
/// not acknowledged.
const INBOX_BYTES_MAX: usize = 16 << 20;
/// Memory of a kept message in addition to its octets.
const MESSAGE_OVERHEAD: usize = 64;
/// The wait for an acknowledgement before a round trip was measured. The initial RTO of RFC 6298 is
/// a second, but nodes of one network are nearer to each other than two arbitrary hosts.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(5);

/// Selects one of the two sessions between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Lane {
    /// Short messages that another node waits for.
    Urgent,
    /// All other messages. Those about streams and their instances keep their order, whatever their
    /// size.
    Bulk,
}

impl Lane {
    /// The lane of a frame.
    ///
    /// # Errors
    /// The octets are not a frame.
    pub(crate) fn of_frame(frame: &[u8]) -> Result<Self, WireError> {
        match frame.first() {
            Some(0) => Ok(Lane::Urgent),
            Some(1) => Ok(Lane::Bulk),
            Some(other) => Err(WireError(format!("{other} is no lane (0 to 1)"))),
            None => Err(WireError("a frame is not empty".to_owned())),
        }
    }

    /// How long an acknowledgement waits for a message in the other direction to carry it.
    const fn ack_wait(self) -> Duration {
        match self {
            Lane::Urgent => Duration::from_millis(2),
            Lane::Bulk => Duration::from_millis(20),
        }
    }

    /// The minimum wait for an acknowledgement: the delay of the acknowledgement itself, and as
    /// long again for its transit.
    const fn retry_min(self) -> Duration {
        match self {
            Lane::Urgent => Duration::from_millis(4),
            Lane::Bulk => Duration::from_millis(40),
        }
    }
}

/// Round trip time and its variation, smoothed as in RFC 6298, section 2.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    smoothed: Duration,
    variation: Duration,
}

impl RoundTrip {
    fn first(sample: Duration) -> Self {
        Self { smoothed: sample, variation: sample / 2 }
    }

    fn add(&mut self, sample: Duration) {
        let error = self.smoothed.abs_diff(sample);
        self.variation = (self.variation * 3 + error) / 4;
        self.smoothed = (self.smoothed * 7 + sample) / 8;
    }
}

/// A malformed frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SessionError;

/// One end of the exchange with one other node.
#[derive(Debug)]
pub(crate) struct Session {
    lane: Lane,
    /// Unacknowledged messages. The first one has number `first`.
    unacked: VecDeque<Bytes>,
    first: u64,
    /// Number of the first message that must be sent, possibly again.
    unsent: u64,
    queued_bytes: usize,
    in_flight: usize,
    retry_at: Option<Moment>,
    /// Doubled with each unsuccessful transmission.
    retry_wait: Duration,
    round_trip: Option<RoundTrip>,
    /// A message that was sent once, and the time. Its acknowledgement measures the round trip. A
    /// message that was sent twice measures nothing, because it is unknown which transmission was
    /// acknowledged (Karn's algorithm).
    timed: Option<(u64, Moment)>,
    /// The highest number ever sent.
    sent_once: u64,
    /// Number of the next message to be received.
    expected: u64,
    early: BTreeMap<u64, Bytes>,
    inbox: VecDeque<Bytes>,
    inbox_bytes: usize,
    ack_at: Option<Moment>,
}

impl Session {
    pub(crate) fn new(lane: Lane) -> Self {
        Self {
            lane,
            unacked: VecDeque::new(),
            first: 1,
            unsent: 1,
            queued_bytes: 0,
            in_flight: 0,
            retry_at: None,
            retry_wait: RETRY_FIRST,
            round_trip: None,
            timed: None,
            sent_once: 0,
            expected: 1,
            early: BTreeMap::new(),
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            ack_at: None,
        }
    }

    /// Queues a message.
    pub(crate) fn send(&mut self, message: Bytes) {
        self.queued_bytes += message.len();
        self.unacked.push_back(message);
    }

    /// Bytes of unacknowledged messages.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// The next frame for the other node, if there is reason to send one.
    pub(crate) fn poll_frame(&mut self, now: Moment) -> Option<Bytes> {
        if self.retry_at.is_some_and(|at| at <= now) {
            // Go back to the first unacknowledged message: frames are rarely lost, so selective
            // acknowledgements would save little.
            self.unsent = self.first;
            self.in_flight = 0;
            self.retry_wait = (self.retry_wait * 2).min(RETRY_MAX);
            self.retry_at = None;
            self.timed = None;
        }
        // A window in octets, and not in messages: a single message may take a whole frame.
        let has_messages = self.unsent < self.end() && self.in_flight < WINDOW_BYTES;
        if !has_messages && self.ack_at.is_none_or(|at| at > now) {
            return None;
        }
        self.ack_at = None;
        let mut frame = BytesMut::new();
        frame.put_u8(match self.lane {
            Lane::Urgent => 0,
            Lane::Bulk => 1,
        });
        encode_varint(self.expected, &mut frame);
        encode_varint(self.unsent, &mut frame);
        while has_messages && self.in_flight < WINDOW_BYTES {
            let Some(message) = self.unacked.get((self.unsent - self.first) as usize) else { break };
            // The head of a frame has at most 21 octets, so a longer frame already has a message.
            if frame.len() > 25 && frame.len() + message.len() > FRAME_BYTES {
                break;
            }
            encode_varint(message.len() as u64, &mut frame);
            frame.put_slice(message);
            // Empty messages count too: the window would otherwise admit any number of them.
            self.in_flight += message.len().max(1);
            if self.timed.is_none() && self.unsent > self.sent_once {
                self.timed = Some((self.unsent, now));
            }
            self.sent_once = self.sent_once.max(self.unsent);
            self.unsent += 1;
        }
        if has_messages && self.retry_at.is_none() {
            self.retry_at = Some(now + self.retry_wait);
        }
        Some(frame.freeze())
    }

    /// When [`Session::poll_frame`] will have a frame, if nothing else happens.
    pub(crate) fn timeout(&self) -> Option<Moment> {
        [self.retry_at, self.ack_at].into_iter().flatten().min()
    }

    /// Makes unacknowledged messages go again soon, because the path to the other node may have
    /// changed.
    pub(crate) fn retry_now(&mut self, now: Moment) {
        if self.retry_at.is_some() {
            // Half of it, because the wait doubles when the retry is sent.
            self.retry_wait = self.first_wait() / 2;
            self.retry_at = Some(now + self.lane.ack_wait());
        }
    }

    /// The first wait for an acknowledgement: RFC 6298, 2.3, with the lane's own minimum.
    fn first_wait(&self) -> Duration {
        self.round_trip.map_or(RETRY_FIRST, |trip| {
            (trip.smoothed + trip.variation * 4).clamp(self.lane.retry_min(), RETRY_MAX)
        })
    }

    /// Handles a frame.
    ///
    /// # Errors
    /// The frame is malformed. Messages before the fault were accepted.
    pub(crate) fn receive(&mut self, now: Moment, mut frame: Bytes) -> Result<(), SessionError> {
        if !frame.has_remaining() {
            return Err(SessionError);
        }
        frame.advance(1);
        let ack = decode_varint(&mut frame).map_err(|_| SessionError)?;
        let mut number = decode_varint(&mut frame).map_err(|_| SessionError)?;
        // Nobody can have received a message that was never queued.
        if ack > self.end() {
            return Err(SessionError);
        }
        self.acknowledged(now, ack);
        while frame.has_remaining() {
            let length = decode_varint(&mut frame).map_err(|_| SessionError)?;
            let length = usize::try_from(length).ok().filter(|&length| length <= frame.len());
            let message = frame.split_to(length.ok_or(SessionError)?);
            // The earliest deadline stands: later messages must not postpone the acknowledgement of
            // the first.
            self.ack_at.get_or_insert(now + self.lane.ack_wait());
            self.take(number, message);
            number = number.checked_add(1).ok_or(SessionError)?;
        }
        Ok(())
    }

    /// The next received message, without removing it.
    pub(crate) fn peek(&self) -> Option<&Bytes> {
        self.inbox.front()
    }

    /// The next received message.
    pub(crate) fn open(&mut self) -> Option<Bytes> {
        let message = self.inbox.pop_front()?;
        self.inbox_bytes -= message.len() + MESSAGE_OVERHEAD;
        Some(message)
    }

    /// Number of the message after the last one queued.
    fn end(&self) -> u64 {
        self.first + self.unacked.len() as u64
    }

    fn acknowledged(&mut self, now: Moment, ack: u64) {
        let mut progress = false;
        while self.first < ack {
            let Some(message) = self.unacked.pop_front() else { break };
            self.queued_bytes -= message.len();
            if self.first < self.unsent {
                self.in_flight = self.in_flight.saturating_sub(message.len().max(1));
            }
            self.first += 1;
            progress = true;
        }
        // After a retry began, the acknowledgement of the first transmission may overtake it.
        self.unsent = self.unsent.max(self.first);
        if let Some((number, at)) = self.timed
            && number < ack
        {
            self.timed = None;
            let sample = now.since(at);
            match &mut self.round_trip {
                Some(trip) => trip.add(sample),
                none => *none = Some(RoundTrip::first(sample)),
            }
        }
        if progress {
            self.retry_wait = self.first_wait();
            self.retry_at = (self.first < self.unsent).then(|| now + self.retry_wait);
        }
    }

    fn take(&mut self, number: u64, message: Bytes) {
        if number < self.expected || self.early.contains_key(&number) {
            return;
        }
        let full = self.inbox_bytes + message.len() > INBOX_BYTES_MAX;
        // The next message is taken even if there is no room, provided that nothing waits:
        // otherwise a message longer than the limit would stop the session for ever.
        if full && (number != self.expected || !self.inbox.is_empty()) {
            return;
        }
        self.inbox_bytes += message.len() + MESSAGE_OVERHEAD;
        self.early.insert(number, message);
        while let Some(message) = self.early.remove(&self.expected) {
            self.inbox.push_back(message);
            self.expected += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn session() -> Session {
        Session::new(Lane::Bulk)
    }

    #[test]
    fn acknowledged_messages_are_not_sent_again_and_silence_follows() {
        let (mut a, mut b) = (session(), session());
        let mut now = Moment::from_secs(1);
        a.send(Bytes::from_static(b"one"));
        a.send(Bytes::from_static(b"two"));
        let frame = a.poll_frame(now).unwrap();
        assert_eq!(a.poll_frame(now), None, "both messages in one frame");
        b.receive(now, frame.clone()).unwrap();
        b.receive(now, frame).unwrap();
        assert_eq!((b.open(), b.open(), b.open()), (Some("one".into()), Some("two".into()), None));
        assert_eq!(b.poll_frame(now), None, "the acknowledgement waits for company");
        now = b.timeout().unwrap();
        a.receive(now, b.poll_frame(now).unwrap()).unwrap();
        assert_eq!((a.timeout(), b.timeout(), a.queued_bytes()), (None, None, 0));
    }

    /// Loses the first transmission of a message. Returns the time until the second one.
    fn wait_after_loss(lane: Lane, delay: Duration) -> Duration {
        let (mut a, mut b) = (Session::new(lane), Session::new(lane));
        let mut now = Moment::from_secs(1);
        for _ in 0..20 {
            a.send(Bytes::from_static(b"one"));
            let frame = a.poll_frame(now).unwrap();
            b.receive(now + delay, frame).unwrap();
            let ack = b.timeout().unwrap();
            now = ack + delay;
            a.receive(now, b.poll_frame(ack).unwrap()).unwrap();
        }
        a.send(Bytes::from_static(b"lost"));
        assert!(a.poll_frame(now).is_some());
        let again = a.timeout().unwrap();
        assert!(a.poll_frame(again).is_some());
        again.since(now)
    }

    #[test]
    fn lost_messages_are_sent_again_after_a_few_round_trips() {
        for millis in [1, 5, 50] {
            let delay = Duration::from_millis(millis);
            for lane in [Lane::Urgent, Lane::Bulk] {
                let (wait, trip) = (wait_after_loss(lane, delay), delay * 2 + lane.ack_wait());
                assert!(
                    wait >= trip && wait <= trip * 3,
                    "{lane:?}: {wait:?} where a round trip takes {trip:?}"
                );
            }
        }
    }

    #[test]
    fn a_message_that_was_sent_twice_measures_no_round_trip() {
        let mut a = session();
        let now = Moment::from_secs(1);
        a.send(Bytes::from_static(b"one"));
        assert!(a.poll_frame(now).is_some());
        let again = a.timeout().unwrap();
        assert!(a.poll_frame(again).is_some());
        a.receive(again, Bytes::from_static(b"\x01\x02\x01")).unwrap();
        assert!(a.round_trip.is_none());
    }

    #[test]
    fn hostile_frames_are_refused() {
        for frame in [
            &b""[..],
            b"\x01",
            b"\x01\x01",
            b"\x01\x09\x01",
            b"\x01\x01\x01\x05abc",
            b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            assert_eq!(session().receive(Moment::ZERO, Bytes::from_static(frame)), Err(SessionError));
        }
    }

    proptest! {
        #[test]
        fn exactly_once_in_order_whatever_the_fabric_does(
            sizes in proptest::collection::vec(0usize..90_000, 0..40),
            fates in proptest::collection::vec(proptest::collection::vec(1u64..900, 0..3), 1..60),
        ) {
            let mut ends = [session(), session()];
            let mut now = Moment::ZERO;
            let mut air: Vec<(Moment, usize, Bytes)> = Vec::new();
            let mut got = [Vec::new(), Vec::new()];
            let mut fate = fates.iter().cycle();
            for (at, &size) in sizes.iter().enumerate() {
                ends[at % 2].send(Bytes::from(vec![at as u8; size]));
            }
            for round in 0..20_000 {
                for (from, end) in ends.iter_mut().enumerate() {
                    while let Some(frame) = end.poll_frame(now) {
                        // In the end the network is sound.
                        let sound = vec![3];
                        for delay in if round < 200 { fate.next().unwrap() } else { &sound } {
                            air.push((now + Duration::from_millis(*delay), 1 - from, frame.clone()));
                        }
                    }
                }
                let next = air.iter().map(|(at, ..)| *at).chain(ends.iter().filter_map(Session::timeout)).min();
                let Some(next) = next else { break };
                now = now.max(next);
                let (due, later) = air.into_iter().partition(|(at, ..)| *at <= now);
                air = later;
                for (_, to, frame) in due {
                    ends[to].receive(now, frame).unwrap();
                    while let Some(message) = ends[to].open() {
                        got[to].push(message.len());
                    }
                }
            }
            prop_assert_eq!(ends.iter().filter_map(Session::timeout).count(), 0, "silence");
            let to = |end: usize| sizes.iter().copied().skip(1 - end).step_by(2).collect::<Vec<_>>();
            prop_assert_eq!(&got[0], &to(0));
            prop_assert_eq!(&got[1], &to(1));
        }
    }
}
