//! The proposer's side: the proposals of this node that it has not yet seen committed, and how many
//! of them the leader has.

use std::collections::VecDeque;
use std::time::Duration;

use base::{Moment, NodeKey};
use bytes::Bytes;

use crate::config::{Config, PENDING_MAX};

/// The wait before sending again doubles this many times at most.
pub(crate) const DOUBLINGS: u32 = 4;

/// The reason why a proposal was not taken. Nothing of it will be committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProposeError {
    /// The body is longer than [`Config::entry_bytes_max`].
    #[error("proposal of {len} bytes, the limit is {limit}")]
    TooLarge {
        /// Its length in bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// As many proposals wait to be committed as the limits allow.
    #[error("{waiting} proposals wait to be committed already, with {bytes} bytes")]
    Full {
        /// Number of waiting proposals.
        waiting: usize,
        /// Bytes of these proposals.
        bytes: usize,
    },
    /// The node was removed from the group.
    #[error("this node was removed from its group")]
    Removed,
}

/// Proposals in the order of their serials, which are `first`, `first + 1` and so on.
#[derive(Debug)]
pub(crate) struct Proposals {
    queue: VecDeque<Bytes>,
    bytes: usize,
    first: u64,
    /// The leader that the fields below concern, and its term.
    to: Option<(NodeKey, u64)>,
    /// Serials below this are in that leader's log. `first <= acked <= sent`.
    acked: u64,
    /// Serials below this were sent to it.
    sent: u64,
    /// Bytes of the proposals from `acked` to `sent`.
    flight: usize,
    retry_at: Moment,
    retries: u32,
}

impl Proposals {
    pub(crate) fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            bytes: 0,
            first: 1,
            to: None,
            acked: 1,
            sent: 1,
            flight: 0,
            retry_at: Moment::MAX,
            retries: 0,
        }
    }

    /// Serial of the next proposal.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.queue.len() as u64
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, body: Bytes, config: &Config) -> Result<u64, ProposeError> {
        let (len, limit) = (body.len(), config.entry_bytes_max);
        if len > limit {
            return Err(ProposeError::TooLarge { len, limit });
        }
        if self.queue.len() >= PENDING_MAX || self.bytes.saturating_add(len) > config.pending_bytes_max {
            return Err(ProposeError::Full { waiting: self.queue.len(), bytes: self.bytes });
        }
        let serial = self.next();
        self.bytes += len;
        self.queue.push_back(body);
        Ok(serial)
    }

    fn get(&self, serial: u64) -> Option<&Bytes> {
        self.queue.get(usize::try_from(serial.checked_sub(self.first)?).ok()?)
    }

    /// Removes the proposals below `next`, which are committed.
    pub(crate) fn committed(&mut self, next: u64) {
        let next = next.min(self.next());
        self.acked(next);
        while self.first < next {
            let Some(gone) = self.queue.pop_front() else { break };
            self.bytes -= gone.len();
            self.first += 1;
        }
    }

    /// Handles the leader's report that all proposals below `next` are in its log.
    pub(crate) fn answered(&mut self, now: Moment, next: u64, first_wait: Duration) {
        self.acked(next);
        // The path to the leader works again. Proposals that the leader lacks need not wait as long
        // as they did before.
        self.retries = 0;
        self.retry_at = self.retry_at.min(now + first_wait);
    }

    /// All proposals below `next` are in the log of the leader.
    pub(crate) fn acked(&mut self, next: u64) {
        let next = next.min(self.next());
        // Progress shows that the path works: the next loss is again retried soon.
        if next > self.acked {
            self.retries = 0;
        }
        while self.acked < next {
            if self.acked < self.sent {
                self.flight -= self.get(self.acked).map_or(0, Bytes::len);
            }
            self.acked += 1;
        }
        self.sent = self.sent.max(self.acked);
    }

    /// Sets the leader. A new one may have none of the proposals that another one had. Returns
    /// whether it is another leader.
    pub(crate) fn set_leader(&mut self, to: Option<(NodeKey, u64)>) -> bool {
        if self.to == to {
            return false;
        }
        self.to = to;
        // A new leader may lack all that its predecessor acknowledged. The serial numbers still
        // ensure exactly once.
        self.acked = self.first;
        self.sent = self.first;
        self.flight = 0;
        self.retries = 0;
        true
    }

    /// The proposals of the next message to the leader, and the serial of the first.
    pub(crate) fn next_batch(&mut self, now: Moment, config: &Config) -> Option<(u64, Vec<Bytes>)> {
        let first = self.sent;
        let (mut some, mut size) = (Vec::new(), 0usize);
        while let Some(body) = self.get(self.sent) {
            let len = body.len();
            let fits = self.flight.saturating_add(len) <= config.window_bytes
                && size.saturating_add(len) <= config.message_bytes;
            // A proposal over the window goes alone, when nothing else is under way. It would never
            // go otherwise.
            if !fits && (self.flight > 0 || !some.is_empty()) {
                break;
            }
            some.push(body.clone());
            size += len;
            self.flight += len;
            self.sent += 1;
        }
        if some.is_empty() {
            return None;
        }
        self.set_retry(now, config.retry);
        Some((first, some))
    }

    /// The next proposal and its serial, for a leader that is this node itself.
    pub(crate) fn next_one(&self) -> Option<(u64, Bytes)> {
        self.get(self.sent).map(|body| (self.sent, body.clone()))
    }

    /// Marks proposals that the leader has not acknowledged in time as unsent.
    pub(crate) fn retry(&mut self, now: Moment, first_wait: Duration) {
        if self.acked < self.sent && now >= self.retry_at {
            self.sent = self.acked;
            self.flight = 0;
            self.retries = (self.retries + 1).min(DOUBLINGS);
            self.set_retry(now, first_wait);
        }
    }

    fn set_retry(&mut self, now: Moment, first_wait: Duration) {
        self.retry_at = now + first_wait.saturating_mul(1 << self.retries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn config() -> Config {
        Config {
            entry_bytes_max: 10,
            pending_bytes_max: 30,
            window_bytes: 8,
            message_bytes: 4,
            ..Config::default()
        }
    }

    fn body(len: usize) -> Bytes {
        Bytes::from(vec![7; len])
    }

    #[test]
    fn limits_are_said() {
        let mut some = Proposals::new();
        assert_eq!(some.push(body(11), &config()), Err(ProposeError::TooLarge { len: 11, limit: 10 }));
        for serial in 1..=3 {
            assert_eq!(some.push(body(10), &config()), Ok(serial));
        }
        assert_eq!(some.push(body(1), &config()), Err(ProposeError::Full { waiting: 3, bytes: 30 }));
        some.committed(3);
        assert_eq!(some.push(body(1), &config()), Ok(4));
    }

    #[test]
    fn a_window_is_sent_and_sent_again_until_it_is_taken() {
        let mut some = Proposals::new();
        for len in [2, 2, 3, 9, 1] {
            some.push(body(len), &config()).unwrap();
        }
        let firsts = |some: &mut Proposals, now| {
            std::iter::from_fn(|| some.next_batch(now, &config()))
                .map(|(first, b)| (first, b.len()))
                .collect::<Vec<_>>()
        };
        some.set_leader(Some((NodeKey(1), 1)));
        assert_eq!(firsts(&mut some, Moment::ZERO), [(1, 2), (3, 1)]);
        some.retry(Moment::from_millis(1), config().retry);
        assert_eq!(firsts(&mut some, Moment::ZERO), []);
        some.retry(Moment::from_secs(1), config().retry);
        assert_eq!(firsts(&mut some, Moment::from_secs(1)), [(1, 2), (3, 1)]);
        some.acked(4);
        assert_eq!(firsts(&mut some, Moment::from_secs(1)), [(4, 1)], "longer than the window: alone");
        some.set_leader(Some((NodeKey(1), 2)));
        assert_eq!(firsts(&mut some, Moment::from_secs(1)), [(1, 2), (3, 1)], "a new term restarts");
    }

    #[test]
    fn an_answer_ends_the_long_waits_of_a_leader_that_was_away() {
        let mut some = Proposals::new();
        some.push(body(2), &config()).unwrap();
        some.set_leader(Some((NodeKey(1), 1)));
        let mut now = Moment::ZERO;
        assert!(some.next_batch(now, &config()).is_some());
        for _ in 0..4 {
            now = some.retry_at;
            some.retry(now, config().retry);
            assert!(some.next_batch(now, &config()).is_some());
        }
        assert!(some.retry_at > now + 8 * config().retry);
        some.answered(now, 1, config().retry);
        assert_eq!(some.retry_at, now + config().retry);
    }

    proptest! {
        #[test]
        fn counts_stay_true(steps in proptest::collection::vec((0u8..6, 0u64..12), 0..80)) {
            let mut some = Proposals::new();
            for (i, (step, n)) in steps.into_iter().enumerate() {
                let now = Moment::from_millis(100 * i as u64);
                match step {
                    0 | 1 => { let _ = some.push(body(usize::try_from(n).unwrap()), &config()); }
                    2 => some.committed(n),
                    3 => some.acked(n),
                    4 => { some.set_leader(Some((NodeKey(1), n))); }
                    _ => some.retry(now, config().retry),
                }
                let _ = some.next_batch(now, &config());
                prop_assert!(some.first <= some.acked && some.acked <= some.sent && some.sent <= some.next());
                prop_assert_eq!(some.bytes, some.queue.iter().map(Bytes::len).sum::<usize>());
                let flight: usize = (some.acked..some.sent).filter_map(|s| some.get(s)).map(Bytes::len).sum();
                prop_assert_eq!(some.flight, flight);
            }
        }
    }
}
