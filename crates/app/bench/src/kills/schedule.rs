//! The schedule of kills, drawn from a seed.

use std::time::Duration;

use base::{Rng, Seed};

use super::below;

/// Smallest number of nodes of which two may be dead at the same time.
const NODES_FOR_TWO: usize = 5;
/// Percentage of kills that hit the current leader; and (`PAIRS_PERCENT`) percentage of kills that
/// are followed by another one before the node is back.
const LEADERS_PERCENT: u64 = 30;
const PAIRS_PERCENT: u64 = 20;

/// A node to kill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Victim {
    /// This node, or the next one if it is dead.
    Node(usize),
    /// The current leader.
    Leader,
}

/// One round: a node dies, perhaps another one too, and both come back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Round {
    /// Wait before the round, after all nodes are members again.
    pub(crate) pause: Duration,
    pub(crate) victim: Victim,
    /// A second node, with the time after the first kill.
    pub(crate) second: Option<(Duration, Victim)>,
    /// Time from the last kill to the restart.
    pub(crate) down: Duration,
}

/// Rounds with `kills` kills of `nodes` nodes, never more than a minority dead.
pub(crate) fn rounds(seed: Seed, nodes: usize, kills: usize) -> Vec<Round> {
    let mut rng = seed.split("kills").rng();
    let mut rounds = Vec::new();
    let mut left = kills;
    while left > 0 {
        let round = round(&mut rng, nodes, left);
        left -= if round.second.is_some() { 2 } else { 1 };
        rounds.push(round);
    }
    rounds
}

fn round(rng: &mut Rng, nodes: usize, left: usize) -> Round {
    let pause = millis(rng, 500, 2_000);
    let victim = victim(rng, nodes);
    let pair = below(rng, 100) < PAIRS_PERCENT && left > 1 && nodes >= NODES_FOR_TWO;
    let second = pair.then(|| (millis(rng, 0, 1_500), self::victim(rng, nodes)));
    Round { pause, victim, second, down: millis(rng, 200, 3_000) }
}

fn victim(rng: &mut Rng, nodes: usize) -> Victim {
    let leader = below(rng, 100) < LEADERS_PERCENT;
    let node = below(rng, nodes as u64) as usize;
    if leader { Victim::Leader } else { Victim::Node(node) }
}

fn millis(rng: &mut Rng, least: u64, most: u64) -> Duration {
    Duration::from_millis(least + below(rng, most - least + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_kills_as_asked_for_and_the_same_for_a_seed() {
        for kills in [0, 1, 7, 50] {
            let rounds = rounds(Seed(3), 6, kills);
            let count: usize = rounds.iter().map(|round| 1 + usize::from(round.second.is_some())).sum();
            assert_eq!(count, kills);
            assert_eq!(rounds, super::rounds(Seed(3), 6, kills));
        }
        assert_ne!(rounds(Seed(3), 6, 50), rounds(Seed(4), 6, 50));
        assert!(rounds(Seed(3), 6, 50).iter().any(|round| round.second.is_some()));
        assert!(rounds(Seed(3), 6, 50).iter().any(|round| round.victim == Victim::Leader));
    }

    #[test]
    fn few_nodes_die_one_at_a_time() {
        assert!(rounds(Seed(3), 4, 50).iter().all(|round| round.second.is_none()));
    }
}
