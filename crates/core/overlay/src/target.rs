//! Targets: the nodes that this node connects to, and the waits between attempts.

use crate::config::{Backoff, Target};
use crate::{LinkId, TargetId};
use base::{NodeKey, Seed};
use std::collections::BTreeMap;
use std::time::Duration;

/// Ids of targets that the overlay made itself start here.
const LEARNED_FROM: u32 = 1 << 31;

/// The phase of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The next attempt is scheduled.
    Waiting,
    /// The world was asked to connect.
    Connecting,
    /// There is a link.
    Linked(LinkId),
    /// Another link to this node exists, so the target needs none.
    Covered(NodeKey),
}

#[derive(Debug)]
pub(crate) struct TargetState {
    pub(crate) target: Target,
    /// The node that the target is for, if the overlay made the target.
    pub(crate) learned: Option<NodeKey>,
    pub(crate) stage: Stage,
    /// Attempts since its link was last up for a while.
    pub(crate) attempts: u32,
    /// The node that was last found there.
    pub(crate) peer: Option<NodeKey>,
    pub(crate) last_error: Option<String>,
}

/// All targets of a node.
#[derive(Debug)]
pub(crate) struct Targets {
    states: BTreeMap<TargetId, TargetState>,
    next_learned: u32,
    next_given: u32,
    seed: Seed,
    draws: u64,
}

impl Targets {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { states: BTreeMap::new(), next_learned: LEARNED_FROM, next_given: 0, seed, draws: 0 }
    }

    pub(crate) fn add(&mut self, target: Target, learned: Option<NodeKey>) -> TargetId {
        let next = if learned.is_some() { &mut self.next_learned } else { &mut self.next_given };
        let id = TargetId(*next);
        *next = next.wrapping_add(1);
        let stage = Stage::Waiting;
        let state = TargetState { target, learned, stage, attempts: 0, peer: learned, last_error: None };
        self.states.insert(id, state);
        id
    }

    pub(crate) fn get(&self, id: TargetId) -> Option<&TargetState> {
        self.states.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: TargetId) -> Option<&mut TargetState> {
        self.states.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (TargetId, &TargetState)> {
        self.states.iter().map(|(id, state)| (*id, state))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (TargetId, &mut TargetState)> {
        self.states.iter_mut().map(|(id, state)| (*id, state))
    }

    pub(crate) fn remove(&mut self, id: TargetId) {
        self.states.remove(&id);
    }

    /// Whether some target is meant for that node.
    pub(crate) fn is_for(&self, key: NodeKey) -> bool {
        self.states.values().any(|state| state.peer == Some(key))
    }

    /// Whether some configured target is meant for a node of that name.
    pub(crate) fn is_for_name(&self, name: &str) -> bool {
        let given = |state: &TargetState| state.learned.is_none();
        self.states.values().any(|state| given(state) && state.target.name.as_deref() == Some(name))
    }

    /// Targets that are covered by another link to `key`.
    pub(crate) fn covered_by(&self, key: NodeKey) -> Vec<TargetId> {
        self.iter().filter(|(_, state)| state.stage == Stage::Covered(key)).map(|(id, _)| id).collect()
    }

    /// The wait before the next attempt, after the attempts so far.
    pub(crate) fn wait(&mut self, id: TargetId, backoff: &Backoff) -> Duration {
        let attempts = self.get(id).map_or(0, |state| state.attempts);
        let times = 2u32.saturating_pow(attempts.saturating_sub(1));
        let wait = backoff.first.saturating_mul(times).min(backoff.max);
        self.draws += 1;
        // A share between 0 and jitter_percent, in 1/65536 of a percent.
        let share = (self.seed.split_index(self.draws).0 & 0xffff) * u64::from(backoff.jitter_percent);
        let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        let jitter = u128::from(nanos) * u128::from(share) / (100 << 16);
        wait + Duration::from_nanos(u64::try_from(jitter).unwrap_or(u64::MAX))
    }

    /// Starts an attempt. Returns the URL to connect to; `None`: the target is not waiting.
    pub(crate) fn attempt(&mut self, id: TargetId) -> Option<String> {
        let state = self.states.get_mut(&id)?;
        if state.stage != Stage::Waiting {
            return None;
        }
        state.stage = Stage::Connecting;
        state.attempts = state.attempts.saturating_add(1);
        Some(state.target.url.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(seed: u64) -> Vec<Duration> {
        let mut targets = Targets::new(Seed(seed));
        let id = targets.add(Target::default(), None);
        let wait = |_| {
            targets.attempt(id).expect("it waits");
            targets.get_mut(id).expect("there").stage = Stage::Waiting;
            targets.wait(id, &Backoff::default())
        };
        (0..12).map(wait).collect()
    }

    #[test]
    fn waits_double_up_to_the_limit_with_bounded_jitter_and_repeat_with_the_seed() {
        for (i, wait) in waits(7).into_iter().enumerate() {
            let plain = Duration::from_millis(50 << i).min(Duration::from_secs(5));
            assert!(plain <= wait && wait <= plain * 6 / 5, "attempt {i}: {wait:?}");
        }
        assert_eq!(waits(7), waits(7));
        assert_ne!(waits(7), waits(8));
    }

    #[test]
    fn learned_targets_have_ids_of_their_own() {
        let mut targets = Targets::new(Seed(1));
        let given = targets.add(Target::default(), None);
        let learned = targets.add(Target::default(), Some(NodeKey(5)));
        assert_eq!((given, learned), (TargetId(0), TargetId(1 << 31)));
        assert!(targets.is_for(NodeKey(5)) && !targets.is_for(NodeKey(6)));
        targets.get_mut(given).expect("there").stage = Stage::Covered(NodeKey(5));
        assert_eq!(targets.covered_by(NodeKey(5)), [given]);
        targets.remove(learned);
        assert!(!targets.is_for(NodeKey(5)));
    }
}
