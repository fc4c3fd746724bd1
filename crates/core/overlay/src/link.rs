//! One link: how far it is, what waits for it, what its other end knows.

use crate::TargetId;
use crate::queue::FairQueue;
use crate::wire::Greeting;
use base::{Moment, NodeKey};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Round trips that are remembered; the shortest of them counts.
const ROUND_TRIPS: usize = 8;
/// Differences of round trips below this are no news.
const RTT_NEWS_MICROS: u32 = 2_000;

/// How far a link is. The initiator calls, the acceptor answers, the initiator accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The initiator sent its greeting.
    Called,
    /// The acceptor waits for a greeting.
    Waiting,
    /// The acceptor sent its greeting.
    Answered,
    /// Both ends accepted.
    Up,
    /// It is closed as soon as it took the last frames.
    Closing,
}

/// Where `poll_ready` stands with a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    Idle,
    Listed,
    Told,
}

/// The agreement of both ends to use a link as a path for channel frames. Each side numbers its willingness; the path
/// is up when each knows that the other one knows. Since links keep order, no frame of an
/// earlier agreement comes after a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    /// Number of this side's willingness; 0: not willing.
    pub(crate) mine: u32,
    /// The last number of the other side.
    pub(crate) theirs: u32,
    /// The number of this side that the other one knows.
    pub(crate) theirs_seen: u32,
    last: u32,
}

impl Path {
    /// Sets this side's willingness; says whether that is to be told.
    pub(crate) fn want(&mut self, want: bool) -> bool {
        if want == (self.mine != 0) {
            return false;
        }
        if want {
            self.last = self.last.wrapping_add(1).max(1);
        }
        self.mine = if want { self.last } else { 0 };
        true
    }

    /// What the other side says; says whether an answer is due.
    pub(crate) fn handle(&mut self, mine: u32, seen: u32) -> bool {
        let news = self.theirs != mine;
        self.theirs = mine;
        self.theirs_seen = seen;
        news
    }

    pub(crate) fn is_up(&self) -> bool {
        self.mine != 0 && self.theirs != 0 && self.theirs_seen == self.mine
    }
}

#[derive(Debug)]
pub(crate) struct Link {
    /// The target that it was made for: this node is the initiator.
    pub(crate) target: Option<TargetId>,
    pub(crate) stage: Stage,
    pub(crate) peer: Option<Greeting>,
    /// Terms that the initiator gave.
    pub(crate) terms: Bytes,
    /// Greeting, acceptance, refusal.
    pub(crate) out: VecDeque<Bytes>,
    pub(crate) ping_due: bool,
    pub(crate) pong_due: Option<u32>,
    pub(crate) path_due: bool,
    pub(crate) digest_due: bool,
    /// The other end said what it has.
    pub(crate) digest_seen: bool,
    /// The other end's summary of its map and this node's, when they last differed.
    pub(crate) differs: Option<(u64, u64)>,
    /// The other end was told what is here on account of that difference.
    pub(crate) compared: bool,
    /// When news of others may go over the link again.
    pub(crate) entries_at: Moment,
    /// Nodes whose entries are to be sent; true: even when the other end should hear of them elsewhere.
    pub(crate) dirty: BTreeMap<NodeKey, bool>,
    /// Sequences of entries that the other end has, as far as this one knows.
    pub(crate) told: BTreeMap<NodeKey, u64>,
    pub(crate) urgent: FairQueue,
    pub(crate) bulk: FairQueue,
    /// Entries and urgent unicasts take turns.
    pub(crate) entries_next: bool,
    pub(crate) ready: Ready,
    pub(crate) last_heard: Moment,
    /// When something but an answer to a keep-alive was sent.
    pub(crate) last_sent: Moment,
    /// When the last keep-alive was sent.
    pub(crate) last_ping: Moment,
    pub(crate) up_since: Moment,
    pub(crate) path: Path,
    /// Was `PathUp` said?
    pub(crate) path_told: bool,
    /// The number of the other end's entry that was known when the link came up: what that one and earlier ones say of
    /// links was before this link.
    pub(crate) sequence_before: u64,
    /// The entry of the other end, made since the link is up, names this node as a neighbour.
    pub(crate) confirmed: bool,
    pub(crate) close_reason: String,
    rtts: VecDeque<u32>,
    /// The round trip that this node advertises.
    pub(crate) rtt_told: Option<u32>,
    /// Token and moment of the last question.
    pub(crate) asked: Option<(u32, Moment)>,
    pub(crate) token: u32,
    pub(crate) sent_frames: u64,
    pub(crate) received_frames: u64,
}

impl Link {
    pub(crate) fn new(now: Moment, target: Option<TargetId>, terms: Bytes) -> Self {
        Self {
            target,
            stage: if target.is_some() { Stage::Called } else { Stage::Waiting },
            peer: None,
            terms,
            out: VecDeque::new(),
            ping_due: false,
            pong_due: None,
            path_due: false,
            digest_due: false,
            digest_seen: false,
            differs: None,
            compared: false,
            entries_at: now,
            dirty: BTreeMap::new(),
            told: BTreeMap::new(),
            urgent: FairQueue::default(),
            bulk: FairQueue::default(),
            entries_next: true,
            ready: Ready::Idle,
            last_heard: now,
            last_sent: now,
            last_ping: now,
            up_since: now,
            path: Path::default(),
            path_told: false,
            sequence_before: 0,
            confirmed: false,
            close_reason: String::new(),
            rtts: VecDeque::new(),
            rtt_told: None,
            asked: None,
            token: 0,
            sent_frames: 0,
            received_frames: 0,
        }
    }

    pub(crate) fn peer_key(&self) -> Option<NodeKey> {
        self.peer.as_ref().map(|peer| peer.key)
    }

    pub(crate) fn is_initiator(&self) -> bool {
        self.target.is_some()
    }

    pub(crate) fn measured(&mut self, rtt: Duration) {
        if self.rtts.len() == ROUND_TRIPS {
            self.rtts.pop_front();
        }
        self.rtts.push_back(u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX));
    }

    /// The shortest of the last round trips, in microseconds; 0 before the first.
    pub(crate) fn rtt_micros(&self) -> u32 {
        self.rtts.iter().copied().min().unwrap_or(0)
    }

    /// What to advertise as round trip: what was told, until it is off by more than its half or double.
    pub(crate) fn rtt_to_tell(&self) -> u32 {
        let rtt = self.rtt_micros();
        match self.rtt_told {
            Some(told) => {
                let wide = |small: u32, large: u32| {
                    u64::from(large) > 2 * u64::from(small) + u64::from(RTT_NEWS_MICROS)
                };
                if wide(told, rtt) || wide(rtt, told) { rtt } else { told }
            }
            None => rtt,
        }
    }

    /// Nothing that waits is worth anything any more.
    pub(crate) fn clear(&mut self) {
        self.ping_due = false;
        self.pong_due = None;
        self.path_due = false;
        self.digest_due = false;
        self.dirty.clear();
        self.told.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Two ends change their minds at will, over a link that keeps order. While an end has the path, all that
        /// comes is of the present agreement; and what the other sends meets an end without the path
        /// only when that end changed its mind. In the end both have it or neither.
        #[test]
        fn both_ends_agree_and_nothing_old_comes_late(steps in prop::collection::vec((0usize..2, 0u8..4), 0..150)) {
            #[derive(Clone, Copy)]
            enum Item { Path(u32, u32), Data(u32, u32) }
            let mut ends = [Path::default(), Path::default()];
            let mut ways: [VecDeque<Item>; 2] = [VecDeque::new(), VecDeque::new()];
            let finish = (0..12).map(|i| (i % 2, 9u8));
            for (end, step) in steps.into_iter().chain(finish) {
                if step <= 1 {
                    if ends[end].want(step == 1) {
                        ways[end].push_back(Item::Path(ends[end].mine, ends[end].theirs));
                    }
                } else {
                    let take = if step == 9 { ways[1 - end].len() } else { 1 };
                    for item in ways[1 - end].drain(..take.min(ways[1 - end].len())).collect::<Vec<_>>() {
                        let path = &mut ends[end];
                        match item {
                            Item::Path(mine, seen) => {
                                if path.handle(mine, seen) {
                                    ways[end].push_back(Item::Path(path.mine, path.theirs));
                                }
                            }
                            Item::Data(mine, theirs) if path.is_up() => {
                                prop_assert_eq!((mine, theirs), (path.theirs, path.mine));
                            }
                            Item::Data(_, theirs) => prop_assert_ne!(theirs, path.mine),
                        }
                    }
                }
                if ends[end].is_up() {
                    ways[end].push_back(Item::Data(ends[end].mine, ends[end].theirs));
                }
            }
            let agreed = ends[0].mine != 0 && ends[1].mine != 0;
            prop_assert_eq!(ends[0].is_up(), agreed);
            prop_assert_eq!(ends[1].is_up(), agreed);
        }
    }

    #[test]
    fn a_round_trip_is_told_again_when_it_changed_much() {
        let mut link = Link::new(Moment::ZERO, None, Bytes::new());
        link.measured(Duration::from_millis(30));
        assert_eq!(link.rtt_to_tell(), 30_000);
        link.rtt_told = Some(30_000);
        link.measured(Duration::from_millis(25));
        assert_eq!(link.rtt_to_tell(), 30_000);
        link.measured(Duration::from_millis(5));
        assert_eq!(link.rtt_to_tell(), 5_000);
        for _ in 0..ROUND_TRIPS {
            link.measured(Duration::from_millis(90));
        }
        assert_eq!(link.rtt_to_tell(), 90_000);
    }
}
