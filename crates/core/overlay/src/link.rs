//! One link: its stage, the frames that wait for it, and the state of its other end.

use crate::TargetId;
use crate::queue::FairQueue;
use crate::wire::Greeting;
use base::{Moment, NodeKey};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How many of the last round trips are kept; the shortest one counts.
const ROUND_TRIPS: usize = 8;
/// Round trips that differ by less than this are not announced.
const RTT_NEWS_MICROS: u32 = 2_000;

/// The stage of a link. The initiator calls, the acceptor answers, the initiator accepts.
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
    /// The link closes as soon as it has taken the last frames.
    Closing,
}

/// State of a link in `poll_ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    Idle,
    Listed,
    Named,
}

/// The agreement of both ends to use a link as a path for channel frames. Each side numbers its
/// consent; the path is up when each knows that the other knows. Since links keep order, no frame
/// of an earlier agreement arrives after a new agreement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    /// Number of this side's consent; 0: none.
    pub(crate) mine: u32,
    /// The last number of the other side.
    pub(crate) theirs: u32,
    /// The number of this side that the other one knows.
    pub(crate) theirs_seen: u32,
    last: u32,
}

impl Path {
    /// Gives or withdraws this side's consent. Returns whether the other side must be told.
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

    /// Gives a new consent in place of the present one, so that the path begins anew.
    pub(crate) fn renew(&mut self) {
        self.want(false);
        self.want(true);
    }

    /// Handles the numbers of the other side. Returns whether an answer is due.
    pub(crate) fn handle(&mut self, mine: u32, seen: u32) -> bool {
        let news = self.theirs != mine;
        self.theirs = mine;
        self.theirs_seen = seen;
        news
    }

    /// Whether this side has given no consent and the other side knows.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.mine == 0 && self.theirs_seen == 0
    }

    pub(crate) fn is_up(&self) -> bool {
        self.mine != 0 && self.theirs != 0 && self.theirs_seen == self.mine
    }
}

#[derive(Debug)]
pub(crate) struct Link {
    /// The target that the link was made for; then this node is the initiator.
    pub(crate) target: Option<TargetId>,
    pub(crate) stage: Stage,
    pub(crate) peer: Option<Greeting>,
    /// The names that the peer has proven to have; `None`: nothing proves who it is.
    pub(crate) proven: Option<Vec<String>>,
    /// Terms of the initiator.
    pub(crate) terms: Bytes,
    /// Greeting, acceptance and refusal that wait to be sent.
    pub(crate) out: VecDeque<Bytes>,
    pub(crate) ping_due: bool,
    pub(crate) pong_due: Option<u32>,
    pub(crate) path_due: bool,
    pub(crate) digest_due: bool,
    /// The other end has sent its digest.
    pub(crate) digest_seen: bool,
    /// Summaries of the other end's map and of this node's, when they last differed.
    pub(crate) differs: Option<(u64, u64)>,
    /// The other end has been sent a digest because of that difference.
    pub(crate) compared: bool,
    /// Earliest moment at which entries of other nodes may go over the link again.
    pub(crate) entries_at: Moment,
    /// Nodes whose entries are to be sent; true: even if the other end should get them elsewhere.
    pub(crate) dirty: BTreeMap<NodeKey, bool>,
    /// Sequence numbers of the entries that the other end is known to have.
    pub(crate) advertised: BTreeMap<NodeKey, u64>,
    pub(crate) urgent: FairQueue,
    pub(crate) bulk: FairQueue,
    /// Entries and urgent unicasts take turns: whether entries are next.
    pub(crate) entries_next: bool,
    pub(crate) ready: Ready,
    pub(crate) last_heard: Moment,
    /// The longest time that nothing may be heard on this link.
    pub(crate) silence_max: Duration,
    /// When something other than an answer to a keep-alive was last sent.
    pub(crate) last_sent: Moment,
    /// When the last keep-alive was sent.
    pub(crate) last_ping: Moment,
    pub(crate) up_since: Moment,
    pub(crate) path: Path,
    /// Whether it was reported as the path of the neighbour.
    pub(crate) path_reported: bool,
    /// Epoch of the tunnel that carries the path when this node gives its consent to the link; 0:
    /// none. The path moves here only from a tunnel that both ends name; otherwise it begins anew.
    pub(crate) from_tunnel: u32,
    /// The epoch that the other end named.
    pub(crate) their_tunnel: u32,
    /// The path of the other end has moved here, too, or has begun here.
    pub(crate) is_theirs: bool,
    /// No traffic needs it: the path of the neighbour moves to a tunnel, and the link closes.
    pub(crate) retiring: bool,
    /// The sequence number of the other end's entry when the link came up. Its links in this entry
    /// and in earlier ones are older than this link.
    pub(crate) sequence_before: u64,
    /// An entry that the other end made since the link came up names this node as a neighbour.
    pub(crate) confirmed: bool,
    pub(crate) close_reason: String,
    rtts: VecDeque<u32>,
    /// The round trip that this node advertises, in microseconds.
    pub(crate) rtt_advertised: Option<u32>,
    /// Token and moment of the last ping.
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
            proven: None,
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
            advertised: BTreeMap::new(),
            urgent: FairQueue::default(),
            bulk: FairQueue::default(),
            entries_next: true,
            ready: Ready::Idle,
            last_heard: now,
            silence_max: Duration::MAX,
            last_sent: now,
            last_ping: now,
            up_since: now,
            path: Path::default(),
            path_reported: false,
            from_tunnel: 0,
            their_tunnel: 0,
            is_theirs: false,
            retiring: false,
            sequence_before: 0,
            confirmed: false,
            close_reason: String::new(),
            rtts: VecDeque::new(),
            rtt_advertised: None,
            asked: None,
            token: 0,
            sent_frames: 0,
            received_frames: 0,
        }
    }

    /// The time from when the link came up to the last frame that was heard.
    pub(crate) fn heard_for(&self) -> Duration {
        self.last_heard.since(self.up_since)
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
        // The least of several: queues only add to a round trip, and the path is to be measured.
        self.rtts.iter().copied().min().unwrap_or(0)
    }

    /// The round trip to advertise, in microseconds: the advertised one, until the measured one is
    /// more than double or less than half of it, by [`RTT_NEWS_MICROS`] at least.
    pub(crate) fn rtt_to_advertise(&self) -> u32 {
        let rtt = self.rtt_micros();
        match self.rtt_advertised {
            Some(advertised) => {
                let wide = |small: u32, large: u32| {
                    u64::from(large) > 2 * u64::from(small) + u64::from(RTT_NEWS_MICROS)
                };
                // A new cost makes every node compute its routes again. Only a doubling or halving
                // is worth that.
                if wide(advertised, rtt) || wide(rtt, advertised) { rtt } else { advertised }
            }
            None => rtt,
        }
    }

    /// Discards everything that waits to be sent, since the link is going away.
    pub(crate) fn clear(&mut self) {
        self.ping_due = false;
        self.pong_due = None;
        self.path_due = false;
        self.digest_due = false;
        self.dirty.clear();
        self.advertised.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Two ends change their minds at will, over a link that keeps order. While an end has the
        /// path, all data that arrive belong to the present agreement. Data meet an end without the
        /// path only when that end changed its mind. In the end both have the path or neither.
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
        assert_eq!(link.rtt_to_advertise(), 30_000);
        link.rtt_advertised = Some(30_000);
        link.measured(Duration::from_millis(25));
        assert_eq!(link.rtt_to_advertise(), 30_000);
        link.measured(Duration::from_millis(5));
        assert_eq!(link.rtt_to_advertise(), 5_000);
        for _ in 0..ROUND_TRIPS {
            link.measured(Duration::from_millis(90));
        }
        assert_eq!(link.rtt_to_advertise(), 90_000);
    }
}
