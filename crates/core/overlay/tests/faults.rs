//! Seeded runs: cuts, heals, crashes, restarts and joins at random over random topologies. At the
//! end part or all of the network is healed, and every node must know the truth.

mod common;

use base::{Rng, Seed};
use common::{Failure, Net, url};
use overlay::{Config, TopologyKind};
use proptest::prelude::*;
use std::time::Duration;

fn redundant(_: usize, config: &mut Config) {
    config.redundancy = true;
    config.network = 7;
    config.timing.forget_after = Duration::from_secs(20);
}

fn plain(_: usize, config: &mut Config) {
    config.network = 7;
    config.timing.forget_after = Duration::from_secs(20);
}

struct Dice(Rng);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        use rand_core::RngCore;
        (self.0.next_u64() % n as u64) as usize
    }
}

/// One run; returns the net when all is quiet.
fn run(seed: Seed, kind: TopologyKind, steps: usize) -> Net {
    let mut dice = Dice(seed.split("faults").rng());
    let nodes = 3 + dice.below(5);
    let tweak = if kind == TopologyKind::Mesh { plain } else { redundant };
    let mut net = Net::new(seed, tweak);
    for node in 0..nodes {
        // Connected to an earlier node and, at times, to any others.
        let mut targets = Vec::new();
        if node > 0 {
            targets.push(url(dice.below(node)));
        }
        if kind == TopologyKind::Graph && dice.below(2) == 0 {
            targets.push(url(dice.below(nodes)));
        }
        targets.retain(|target| *target != url(node));
        targets.dedup();
        net.add(kind, targets);
    }
    let mut down = Vec::new();
    for _ in 0..steps {
        let failure = [Failure::Loud, Failure::Silent, Failure::OneWay][dice.below(3)];
        let (a, b) = (dice.below(nodes), dice.below(nodes));
        match dice.below(8) {
            0..=2 if a != b => net.cut(a, b, failure),
            3 | 4 => net.heal(a, b),
            5 if net.live().len() > 2 && net.nodes[a].is_some() => {
                let failure = if failure == Failure::Loud { Failure::Loud } else { Failure::Silent };
                down.push((a, net.crash(a, failure)));
            }
            6 | 7 if !down.is_empty() => {
                let (index, config) = down.swap_remove(dice.below(down.len()));
                net.restart(index, config);
            }
            _ => {}
        }
        net.run_for(Duration::from_millis(dice.below(1_500) as u64));
    }
    if dice.below(3) > 0 {
        for a in 0..nodes {
            (0..a).for_each(|b| net.heal(a, b));
        }
        for (index, config) in down {
            net.restart(index, config);
        }
    }
    // The longest wait of a target, twice, and the longest silence.
    net.run_for(Duration::from_secs(16));
    net
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn graphs_converge_to_the_truth(seed: u64, steps in 0usize..25) {
        let mut net = run(Seed(seed), TopologyKind::Graph, steps);
        net.check_trees();
    }

    #[test]
    fn meshes_converge_to_the_truth(seed: u64, steps in 0usize..25) {
        let mut net = run(Seed(seed), TopologyKind::Mesh, steps);
        net.check_mesh();
    }
}
