//! Faults drawn from a seed: as long as a majority of the voters lives, the group must recover.

use std::time::Duration;

use base::{Moment, NodeKey};
use consensus::Role;

use crate::world::{FaultProfile, World};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Longest calm that the network gets after the faults.
const CALM_WITHIN: Duration = ms(20_000);

/// The world's record of its own faults.
#[derive(Default)]
pub(crate) struct Faults {
    /// When nodes notice that others are gone or cut off.
    notice: Option<Moment>,
    heal: Option<Moment>,
    split_noticed: bool,
    /// When nodes next look for nodes that are present and not members.
    greet_at: Moment,
}

impl Faults {
    /// Some seconds of faults.
    pub(crate) fn run(&mut self, world: &mut World, seconds: u64) {
        let end = world.now + Duration::from_secs(seconds);
        while world.now < end && !world.over {
            let step = ms(20 + world.below(150));
            world.run_until(world.now + step);
            self.work(world);
            self.fault_plan(world);
            self.notice(world);
        }
    }

    /// Ends all faults: no node is stopped or cut off any longer, and no message is lost.
    pub(crate) fn calm(&mut self, world: &mut World) -> Duration {
        world.faults = FaultProfile { delay_min: 1, delay_max: 5, ..FaultProfile::default() };
        self.heal_now(world);
        let start = world.now;
        while !world.is_calm() && !world.over {
            assert!(world.now.since(start) < CALM_WITHIN, "no calm: {}", describe(world));
            world.run_until(world.now + ms(50));
            self.notice = Some(world.now);
            self.notice(world);
        }
        world.now.since(start)
    }

    fn work(&mut self, world: &mut World) {
        let keys: Vec<NodeKey> = world.nodes.keys().copied().collect();
        for key in keys {
            if world.chance(250) {
                for _ in 0..=world.below(4) {
                    let filler =
                        if world.chance(30) { 20_000 } else { usize::try_from(world.below(100)).unwrap() };
                    world.propose(key, filler);
                }
            }
        }
    }

    fn fault_plan(&mut self, world: &mut World) {
        let some = world.nodes.keys().copied().collect::<Vec<_>>();
        let node = some[usize::try_from(world.below(some.len() as u64)).unwrap()];
        match world.below(40) {
            0 | 1 if world.nodes.len() < 7 => {
                world.join();
            }
            2 => self.kill(world, node),
            3 => {
                if let Some(leader) = world.leader() {
                    self.kill(world, leader);
                }
            }
            4 if self.heal.is_none() => self.split(world),
            5 if world.nodes.len() > 2 && !world.nodes[&node].leaving => {
                world.nodes.get_mut(&node).unwrap().leaving = true;
                let now = world.now;
                world.call(node, |consensus| consensus.remove(now, node));
                self.notice = Some(now + ms(500));
            }
            6 => {
                let until = world.now + ms(100 + world.below(1_500));
                world.nodes.get_mut(&node).unwrap().paused = until;
            }
            7 => {
                let delay_max = 5 + world.below(120);
                let (loss, doubling) = (world.below(200), world.below(100));
                world.faults = FaultProfile { loss, doubling, delay_min: 1, delay_max };
            }
            _ => {}
        }
    }

    /// Kills a node for good if the others can do without it: all of them live, agree, and have
    /// done so for a while.
    fn kill(&mut self, world: &mut World, key: NodeKey) {
        let members = world.members();
        let agreed = world.nodes.iter().all(|(key, node)| {
            !members.contains_key(key) || node.leaving || *node.consensus.members() == members
        });
        let leaving = world.nodes.values().any(|node| node.leaving);
        let alive = members.keys().all(|key| world.nodes.contains_key(key));
        let settled = world.now.since(world.moved) > ms(1_500) && self.heal.is_none() && !leaving;
        let voters = members.values().filter(|role| **role == Role::Voter).count();
        let spare = members.get(&key) != Some(&Role::Voter) || voters > 2;
        if agreed && alive && settled && spare && world.nodes.len() > 1 {
            world.kill(key);
            self.notice = Some(world.now + ms(200 + world.below(600)));
        }
    }

    fn split(&mut self, world: &mut World) {
        let keys: Vec<NodeKey> = world.nodes.keys().copied().collect();
        for key in keys {
            let side = u8::from(world.chance(400));
            world.nodes.get_mut(&key).unwrap().side = side;
        }
        self.heal = Some(world.now + ms(200 + world.below(6_000)));
        self.split_noticed = false;
    }

    fn heal_now(&mut self, world: &mut World) {
        let Some(_) = self.heal.take() else { return };
        let keys: Vec<NodeKey> = world.nodes.keys().copied().collect();
        world.nodes.values_mut().for_each(|node| node.side = 0);
        self.greet(world, &keys);
    }

    /// Every node requests that every present node is a member.
    fn greet(&mut self, world: &mut World, keys: &[NodeKey]) {
        let now = world.now;
        for key in keys {
            for other in keys.iter().filter(|other| *other != key) {
                if !world.is_cut(*key, *other) {
                    world.call(*key, |consensus| consensus.add(now, *other));
                }
            }
        }
    }

    /// Nodes notice that others are gone and request their removal, as their kernels would.
    fn notice(&mut self, world: &mut World) {
        let (now, keys) = (world.now, world.nodes.keys().copied().collect::<Vec<_>>());
        if self.heal.is_some_and(|heal| now >= heal) {
            self.heal_now(world);
        }
        if let Some(heal) = self.heal
            && !self.split_noticed
            && heal.since(now) < ms(3_000)
        {
            // Both sides believe the other one dead.
            self.split_noticed = true;
            let sides: Vec<u8> = keys.iter().map(|key| world.nodes[key].side).collect();
            for (a, side_a) in keys.iter().zip(&sides) {
                for (b, side_b) in keys.iter().zip(&sides) {
                    if side_a != side_b {
                        world.call(*a, |consensus| consensus.remove(now, *b));
                    }
                }
            }
        }
        if now >= self.greet_at {
            self.greet_at = now + ms(1_000);
            self.greet(world, &keys);
        }
        if self.notice.is_some_and(|at| now >= at) {
            self.notice = None;
            let dead: Vec<NodeKey> = world.dead.iter().copied().collect();
            for key in &keys {
                for gone in &dead {
                    world.call(*key, |consensus| consensus.remove(now, *gone));
                }
            }
        }
    }
}

fn describe(world: &World) -> String {
    let mut text = format!("{} entries, dead {:?}\n", world.oracle.len(), world.dead);
    for (key, node) in &world.nodes {
        text += &format!(
            "{key}: proposed {} of which {}, applied {}, leaving {}, quorum {}: {:?}\n",
            node.proposed,
            world.oracle.last_of(*key),
            node.applied.count,
            node.leaving,
            node.consensus.has_quorum(),
            node.consensus
        );
    }
    text
}
