//! Letters from one node to one other: each exactly once, in order.
//!
//! The fabric below may lose, repeat and reorder frames. Letters are numbered from 1, acknowledged
//! cumulatively, and sent again until they are.

use base::Moment;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::encoding::{decode_varint, encode_varint};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A frame takes in letters up to this size; a longer letter goes alone.
const FRAME_BYTES: usize = 60 << 10;
/// Bytes on their way and not yet acknowledged.
const WINDOW_BYTES: usize = 2 << 20;
/// Bytes of letters that the receiver keeps which are not opened yet, or which came too early; what comes
/// beyond is not acknowledged.
const INBOX_BYTES_MAX: usize = 16 << 20;
/// Memory that a kept letter costs beside its octets.
const LETTER_OVERHEAD: usize = 64;
/// An acknowledgement waits this long for a letter of the other direction to go with.
const ACK_WAIT: Duration = Duration::from_millis(20);
/// First wait for an acknowledgement; doubled with each time in vain.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(5);

/// What is wrong with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SessionError;

/// One end of the exchange with one other node.
#[derive(Debug)]
pub(crate) struct Session {
    /// Letters that are not acknowledged, the first of which has number `first`.
    unacked: VecDeque<Bytes>,
    first: u64,
    /// Number of the first letter to be sent (again).
    unsent: u64,
    queued_bytes: usize,
    in_flight: usize,
    retry_at: Option<Moment>,
    retry_wait: Duration,
    /// Number of the next letter to be received.
    expected: u64,
    early: BTreeMap<u64, Bytes>,
    inbox: VecDeque<Bytes>,
    inbox_bytes: usize,
    ack_at: Option<Moment>,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            unacked: VecDeque::new(),
            first: 1,
            unsent: 1,
            queued_bytes: 0,
            in_flight: 0,
            retry_at: None,
            retry_wait: RETRY_FIRST,
            expected: 1,
            early: BTreeMap::new(),
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            ack_at: None,
        }
    }
}

impl Session {
    /// Puts a letter into the queue.
    pub(crate) fn send(&mut self, letter: Bytes) {
        self.queued_bytes += letter.len();
        self.unacked.push_back(letter);
    }

    /// Bytes of letters that are not acknowledged.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// The next frame for the other node, if there is reason to send one.
    pub(crate) fn poll_frame(&mut self, now: Moment) -> Option<Bytes> {
        if self.retry_at.is_some_and(|at| at <= now) {
            self.unsent = self.first;
            self.in_flight = 0;
            self.retry_wait = (self.retry_wait * 2).min(RETRY_MAX);
            self.retry_at = None;
        }
        let has_letters = self.unsent < self.end() && self.in_flight < WINDOW_BYTES;
        if !has_letters && self.ack_at.is_none_or(|at| at > now) {
            return None;
        }
        self.ack_at = None;
        let mut frame = BytesMut::new();
        encode_varint(self.expected, &mut frame);
        encode_varint(self.unsent, &mut frame);
        while has_letters && self.in_flight < WINDOW_BYTES {
            let Some(letter) = self.unacked.get((self.unsent - self.first) as usize) else { break };
            if frame.len() > 24 && frame.len() + letter.len() > FRAME_BYTES {
                break;
            }
            encode_varint(letter.len() as u64, &mut frame);
            frame.put_slice(letter);
            self.in_flight += letter.len().max(1);
            self.unsent += 1;
        }
        if has_letters && self.retry_at.is_none() {
            self.retry_at = Some(now + self.retry_wait);
        }
        Some(frame.freeze())
    }

    /// When [`Session::poll_frame`] will have something, if nothing else happens.
    pub(crate) fn timeout(&self) -> Option<Moment> {
        [self.retry_at, self.ack_at].into_iter().flatten().min()
    }

    /// The way to the other node may have changed: what is unacknowledged goes again soon.
    pub(crate) fn hurry(&mut self, now: Moment) {
        if self.retry_at.is_some() {
            self.retry_wait = RETRY_FIRST / 2;
            self.retry_at = Some(now + ACK_WAIT);
        }
    }

    /// A frame came.
    ///
    /// # Errors
    /// It is no frame; letters before the fault were taken.
    pub(crate) fn receive(&mut self, now: Moment, mut frame: Bytes) -> Result<(), SessionError> {
        let ack = decode_varint(&mut frame).map_err(|_| SessionError)?;
        let mut number = decode_varint(&mut frame).map_err(|_| SessionError)?;
        if ack > self.end() {
            return Err(SessionError);
        }
        self.acknowledged(now, ack);
        while frame.has_remaining() {
            let length = decode_varint(&mut frame).map_err(|_| SessionError)?;
            let length = usize::try_from(length).ok().filter(|&length| length <= frame.len());
            let letter = frame.split_to(length.ok_or(SessionError)?);
            self.ack_at.get_or_insert(now + ACK_WAIT);
            self.take(number, letter);
            number = number.checked_add(1).ok_or(SessionError)?;
        }
        Ok(())
    }

    /// The letter to be opened next, which stays.
    pub(crate) fn peek(&self) -> Option<&Bytes> {
        self.inbox.front()
    }

    /// The letter to be opened next.
    pub(crate) fn open(&mut self) -> Option<Bytes> {
        let letter = self.inbox.pop_front()?;
        self.inbox_bytes -= letter.len() + LETTER_OVERHEAD;
        Some(letter)
    }

    /// Number of the letter after the last one queued.
    fn end(&self) -> u64 {
        self.first + self.unacked.len() as u64
    }

    fn acknowledged(&mut self, now: Moment, ack: u64) {
        let mut progress = false;
        while self.first < ack {
            let Some(letter) = self.unacked.pop_front() else { break };
            self.queued_bytes -= letter.len();
            if self.first < self.unsent {
                self.in_flight = self.in_flight.saturating_sub(letter.len().max(1));
            }
            self.first += 1;
            progress = true;
        }
        self.unsent = self.unsent.max(self.first);
        if progress {
            self.retry_wait = RETRY_FIRST;
            self.retry_at = (self.first < self.unsent).then(|| now + RETRY_FIRST);
        }
    }

    fn take(&mut self, number: u64, letter: Bytes) {
        if number < self.expected || self.early.contains_key(&number) {
            return;
        }
        let full = self.inbox_bytes + letter.len() > INBOX_BYTES_MAX;
        if full && (number != self.expected || !self.inbox.is_empty()) {
            return;
        }
        self.inbox_bytes += letter.len() + LETTER_OVERHEAD;
        self.early.insert(number, letter);
        while let Some(letter) = self.early.remove(&self.expected) {
            self.inbox.push_back(letter);
            self.expected += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_acknowledged_is_not_sent_again_and_then_there_is_silence() {
        let (mut a, mut b) = (Session::default(), Session::default());
        let mut now = Moment::from_secs(1);
        a.send(Bytes::from_static(b"one"));
        a.send(Bytes::from_static(b"two"));
        let frame = a.poll_frame(now).unwrap();
        assert_eq!(a.poll_frame(now), None, "both letters in one frame");
        b.receive(now, frame.clone()).unwrap();
        b.receive(now, frame).unwrap();
        assert_eq!((b.open(), b.open(), b.open()), (Some("one".into()), Some("two".into()), None));
        assert_eq!(b.poll_frame(now), None, "the acknowledgement waits for company");
        now = b.timeout().unwrap();
        a.receive(now, b.poll_frame(now).unwrap()).unwrap();
        assert_eq!((a.timeout(), b.timeout(), a.queued_bytes()), (None, None, 0));
    }

    #[test]
    fn hostile_frames_are_refused() {
        for frame in [
            &b""[..],
            b"\x01",
            b"\x09\x01",
            b"\x01\x01\x05abc",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            assert_eq!(
                Session::default().receive(Moment::ZERO, Bytes::from_static(frame)),
                Err(SessionError)
            );
        }
    }

    proptest! {
        #[test]
        fn exactly_once_in_order_whatever_the_fabric_does(
            sizes in proptest::collection::vec(0usize..90_000, 0..40),
            fates in proptest::collection::vec(proptest::collection::vec(1u64..900, 0..3), 1..60),
        ) {
            let mut ends = [Session::default(), Session::default()];
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
                        // In the end the fabric is sound.
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
                    while let Some(letter) = ends[to].open() {
                        got[to].push(letter.len());
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
