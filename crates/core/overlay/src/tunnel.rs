//! One end of a tunnel: it carries channel frames to a node without a link, in order and without
//! loss, as unicasts over other nodes. If no acknowledgement comes, it resends all frames from the
//! first unacknowledged one on.
//!
//! Of the two ends the one with the larger key opens the tunnel. Each opening has a new epoch;
//! frames of an old epoch are ignored.

use crate::wire::tunnel::TunnelMessage;
use base::Moment;
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes counted for a frame in flight in addition to its own.
const FRAME_BYTES: usize = 64;
/// The wait before a repetition doubles at most this many times.
const REPEATS_DOUBLING: u32 = 4;

/// The stage of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// This end has sent an opening, and the other one has not answered.
    Opening,
    /// This end waits for the other one to open the tunnel.
    Wanted,
    /// Frames go both ways.
    Up,
}

#[derive(Debug)]
pub(crate) struct Tunnel {
    pub(crate) stage: Stage,
    pub(crate) epoch: u32,
    /// Whether this node initiated the link that the tunnel replaces.
    pub(crate) initiator: bool,
    pub(crate) terms: Bytes,
    /// Number of the first frame of `unacknowledged`.
    first: u64,
    unacknowledged: VecDeque<(u8, Bytes)>,
    bytes: usize,
    /// It is the path of the neighbour. A tunnel that was replaced by a link stays for what the other
    /// end still sends through it.
    pub(crate) carries: bool,
    /// The path moves here from a link, and keeps its state if both ends agree on that.
    pub(crate) moves: bool,
    /// A frame was turned away: report when there is room.
    pub(crate) owed: bool,
    pub(crate) last_progress: Moment,
    /// Number of repetitions since the last progress.
    pub(crate) repeats: u32,
    /// Number of the next frame from the other end.
    wanted: u64,
}

impl Tunnel {
    pub(crate) fn new(now: Moment, stage: Stage, epoch: u32, initiator: bool, terms: Bytes) -> Self {
        Self {
            stage,
            epoch,
            initiator,
            terms,
            first: 0,
            unacknowledged: VecDeque::new(),
            bytes: 0,
            carries: false,
            moves: false,
            owed: false,
            last_progress: now,
            repeats: 0,
            wanted: 0,
        }
    }

    /// Whether there is room for one more frame.
    pub(crate) fn has_room(&self, bytes_max: usize) -> bool {
        self.stage == Stage::Up && (self.bytes < bytes_max || self.unacknowledged.is_empty())
    }

    /// Takes a frame. The caller has checked that there is room.
    pub(crate) fn push(&mut self, now: Moment, channel: u8, frame: Bytes) -> TunnelMessage {
        if self.unacknowledged.is_empty() {
            self.last_progress = now;
            self.repeats = 0;
        }
        let number = self.first + self.unacknowledged.len() as u64;
        self.bytes += frame.len() + FRAME_BYTES;
        self.unacknowledged.push_back((channel, frame.clone()));
        TunnelMessage::Data { epoch: self.epoch, number, channel, frame }
    }

    /// The moment at which everything is sent again if nothing is acknowledged. The wait doubles
    /// each time, so that repetitions do not choke a slow path.
    pub(crate) fn repeat_at(&self, retry: Duration) -> Moment {
        self.last_progress + retry * (1 << self.repeats.min(REPEATS_DOUBLING))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.unacknowledged.is_empty()
    }

    /// All frames that the other end has not acknowledged.
    pub(crate) fn resend(&self) -> Vec<TunnelMessage> {
        let epoch = self.epoch;
        let data = |(number, (channel, frame)): (u64, &(u8, Bytes))| TunnelMessage::Data {
            epoch,
            number,
            channel: *channel,
            frame: frame.clone(),
        };
        (self.first..).zip(&self.unacknowledged).map(data).collect()
    }

    /// The other end has all frames before `next`. Returns whether that is news. Numbers that were
    /// never sent are ignored.
    pub(crate) fn acknowledge(&mut self, now: Moment, next: u64) -> bool {
        let end = self.first + self.unacknowledged.len() as u64;
        if next <= self.first || next > end {
            return false;
        }
        while self.first < next {
            if let Some((_, frame)) = self.unacknowledged.pop_front() {
                self.bytes -= frame.len() + FRAME_BYTES;
            }
            self.first += 1;
        }
        self.last_progress = now;
        self.repeats = 0;
        true
    }

    /// Whether this is the next frame. Other frames are not taken; the sender repeats them in
    /// order.
    pub(crate) fn take(&mut self, number: u64) -> bool {
        let next = number == self.wanted;
        self.wanted += u64::from(next);
        next
    }

    pub(crate) fn ack(&self) -> TunnelMessage {
        TunnelMessage::Ack { epoch: self.epoch, next: self.wanted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn up() -> Tunnel {
        Tunnel::new(Moment::ZERO, Stage::Up, 1, true, Bytes::new())
    }

    proptest! {
        /// Whatever gets lost on the way, all frames that arrive were sent, in order and once.
        #[test]
        fn frames_arrive_in_order_and_once(steps in prop::collection::vec((0u8..4, any::<bool>()), 0..200)) {
            let (mut a, mut b) = (up(), up());
            let (mut sent, mut got) = (0u8, Vec::new());
            let mut transit = VecDeque::new();
            let mut back = VecDeque::new();
            for (step, lost) in steps.into_iter().chain(std::iter::repeat_n((9, false), 3)) {
                match step {
                    0 if a.has_room(400) => {
                        let message = a.push(Moment::ZERO, 1, Bytes::from(vec![sent]));
                        sent = sent.wrapping_add(1);
                        if !lost {
                            transit.push_back(message);
                        }
                    }
                    1 => transit.extend(a.resend()),
                    2 if lost => back.clear(),
                    _ => {
                        if step == 9 {
                            transit.extend(a.resend());
                        }
                        for message in transit.drain(..) {
                            if let TunnelMessage::Data { number, frame, .. } = message
                                && b.take(number)
                            {
                                got.push(frame[0]);
                            }
                            back.push_back(b.ack());
                        }
                        for message in back.drain(..) {
                            if let TunnelMessage::Ack { next, .. } = message {
                                a.acknowledge(Moment::ZERO, next);
                            }
                        }
                    }
                }
            }
            prop_assert_eq!(got, (0..sent).collect::<Vec<_>>());
            prop_assert!(a.is_idle());
            prop_assert_eq!(a.bytes, 0);
        }
    }

    #[test]
    fn a_window_bounds_what_is_under_way_and_absurd_acknowledgements_count_for_nothing() {
        let mut tunnel = up();
        assert!(tunnel.has_room(100));
        tunnel.push(Moment::ZERO, 1, Bytes::from(vec![0; 500]));
        assert!(!tunnel.has_room(100));
        assert!(!tunnel.acknowledge(Moment::ZERO, 2));
        assert!(!tunnel.acknowledge(Moment::ZERO, 0));
        assert!(tunnel.acknowledge(Moment::ZERO, 1) && tunnel.has_room(100));
    }
}
