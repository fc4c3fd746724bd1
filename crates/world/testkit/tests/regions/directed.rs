//! Scenarios in which the home of an instance and the owner of its attributes are at different
//! nodes.

use crate::calls::{Act, attributes, module};
use crate::mirror::Place;
use crate::nodes::Trial;
use base::Seed;
use hla::handle::{ObjectInstanceHandle, RegionHandle};
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::{Draw, FaultKind, Options, Shape, Timing};

/// The federates of the scenarios, each at a node of its own.
const HOME: usize = 0;
const MS: Duration = Duration::from_millis(1);
/// Longer than a federate's call takes, shorter than any message between nodes.
const ANSWERED: Duration = Duration::from_micros(500);

/// Three nodes, all linked, with one federate each.
fn trial() -> Trial {
    let shape = Shape::of_edges(3, &[(0, 1), (0, 2), (1, 2)]);
    let mut options = Options::quiet(Seed(7), shape, 3);
    options.module = Some(module("UnconditionallyDivestAttributes"));
    options.spares = 0;
    options.timing = Timing { node: Duration::from_secs(3), ..Timing::USUAL };
    options.sites = vec![MS; 3];
    Trial::of_options(options, vec![0, 1, 2], Draw::new(Seed(7), "directed"))
}

fn passes(run: impl FnOnce(&mut Trial) -> Result<(), String>) {
    let mut trial = trial();
    let result = run(&mut trial);
    trial.explained(result).unwrap_or_else(|failure| panic!("{failure}"));
}

impl Trial {
    /// Makes a call, and waits until everything that it causes has happened.
    fn do_one(&mut self, at: usize, act: Act) -> Result<(), String> {
        self.act(at, act)?;
        self.settle()
    }

    /// A new region with the only dimension that has no default range.
    fn region(&mut self, at: usize, bounds: (u32, u32)) -> Result<RegionHandle, String> {
        self.do_one(at, Act::Create(BTreeSet::from([0])))?;
        // It has been given bounds at random.
        self.settle()?;
        let region = *self.mirror.feds[at].regions.keys().next_back().ok_or("no region")?;
        self.move_to(at, region, bounds)?;
        self.settle()?;
        Ok(region)
    }

    /// Moves a region. Nothing has reached other nodes yet.
    fn move_to(&mut self, at: usize, region: RegionHandle, bounds: (u32, u32)) -> Result<(), String> {
        self.act(at, Act::SetBounds(region, 0, bounds))?;
        self.pass(ANSWERED)?;
        self.act(at, Act::Commit(BTreeSet::from([region])))?;
        self.pass(ANSWERED)
    }

    /// An instance at home at node 0, of which nobody owns an attribute but the privilege to delete.
    fn unowned(&mut self) -> Result<ObjectInstanceHandle, String> {
        self.do_one(HOME, Act::Register(0, BTreeSet::new()))?;
        let instance = *self.mirror.instances.keys().next_back().ok_or("no instance")?;
        Ok(instance)
    }

    /// `owner` acquires attribute 0 of a new instance at home at node 0, and has associated it with
    /// the region before, `watcher` subscribes it with another one. Both know the instance only
    /// if they must.
    fn transferred(
        &mut self,
        (owner, bounds): (usize, (u32, u32)),
        (watcher, wanted): (usize, (u32, u32)),
    ) -> Result<(Place, RegionHandle), String> {
        self.prepare()?;
        self.do_one(owner, Act::Subscribe(0, attributes(0).collect()))?;
        let instance = self.unowned()?;
        self.do_one(HOME, Act::Divest(instance, attributes(0).collect()))?;
        let region = self.region(owner, bounds)?;
        let other = self.region(watcher, wanted)?;
        self.do_one(watcher, Act::SubscribeWith(0, BTreeSet::from([(0, other)])))?;
        self.do_one(owner, Act::Associate(instance, BTreeSet::from([(0, region)])))?;
        self.act(owner, Act::AcquireIfAvailable(instance, BTreeSet::from([0])))?;
        self.judge(None)?;
        assert_eq!(self.mirror.owner((instance, 0)), Some(owner));
        Ok(((instance, 0), region))
    }

    fn updates_at(&self, at: usize, place: Place) -> usize {
        self.received.reflected.get(&(at, place)).map_or(0, Vec::len)
    }
}

/// A federate has associated an attribute before it acquires it. Nobody sees the attribute in any
/// other regions, not even until the home of the instance knows of the association.
#[test]
fn a_new_owner_brings_its_regions() {
    passes(|trial| {
        let (place, _) = trial.transferred((1, (4, 6)), (2, (0, 2)))?;
        assert!(!trial.mirror.feds[2].known.contains_key(&place.0));
        Ok(())
    });
}

/// Two federates ask the home of an instance at once, each with its node's first request of that kind.
/// Both nodes hear both answers.
#[test]
fn each_federate_gets_its_own_answer() {
    passes(|trial| {
        trial.prepare()?;
        for at in 1..3 {
            trial.do_one(at, Act::Subscribe(0, attributes(0).collect()))?;
        }
        let instance = trial.unowned()?;
        trial.do_one(HOME, Act::Divest(instance, attributes(0).collect()))?;
        for at in 1..3 {
            trial.do_one(at, Act::AcquireIfAvailable(instance, BTreeSet::from([at - 1])))?;
        }
        trial.do_one(HOME, Act::Acquire(instance, attributes(0).collect()))?;
        for at in 1..3 {
            trial.act(at, Act::DivestIfWanted(instance, BTreeSet::from([at - 1])))?;
        }
        trial.settle()?;
        trial.judge(None)?;
        for attribute in attributes(0) {
            assert_eq!(trial.mirror.owner((instance, attribute)), Some(HOME));
        }
        Ok(())
    });
}

/// An owner moves its regions and updates at once. The update arrives before the home's decision
/// does, and reaches those whom its own regions concern.
#[test]
fn updates_carry_regions_that_the_home_does_not_know_yet() {
    passes(|trial| {
        let (place, region) = trial.transferred((1, (0, 2)), (2, (0, 2)))?;
        let late = trial.cluster.add_rule(FaultKind::Slow(0, 1, 300 * MS));
        for (bounds, due) in [((4, 6), 0), ((1, 3), 1), ((2, 4), 0)] {
            trial.received = Default::default();
            trial.move_to(1, region, bounds)?;
            trial.act(1, Act::Update(place.0, BTreeSet::from([0])))?;
            trial.pass(100 * MS)?;
            assert_eq!(trial.updates_at(2, place), due, "{bounds:?}");
        }
        trial.cluster.network_mut().remove_rule(late);
        trial.judge(None)
    });
}

/// A node that follows the instances of a class later learns their regions from the snapshot.
#[test]
fn a_late_follower_learns_the_regions() {
    passes(|trial| {
        trial.prepare()?;
        let region = trial.region(HOME, (0, 2))?;
        trial.do_one(HOME, Act::Register(0, BTreeSet::from([(0, region), (1, region)])))?;
        let place = (*trial.mirror.instances.keys().next().ok_or("no instance")?, 0);
        for (at, bounds, knows) in [(1, (4, 6), false), (2, (1, 3), true)] {
            let before = trial.knowledge();
            let wanted = trial.region(at, bounds)?;
            trial.act(at, Act::SubscribeWith(0, BTreeSet::from([(0, wanted)])))?;
            trial.judge(Some(&before))?;
            assert_eq!(trial.mirror.feds[at].known.contains_key(&place.0), knows);
        }
        Ok(())
    });
}

/// The owner of an attribute moves its regions right before the home of the instance dies: the home
/// does not hear of it (`lost_at`: the home), or tells one of the other nodes only. The new home
/// learns it from the owner's node, or already knows it there.
#[test]
fn the_regions_of_an_owner_outlive_the_home() {
    for (owner, watcher) in [(1, 2), (2, 1)] {
        for lost_at in [HOME, owner, watcher] {
            passes(|trial| {
                let (place, region) = trial.transferred((owner, (4, 6)), (watcher, (0, 2)))?;
                let link = match lost_at {
                    HOME => (owner, HOME),
                    _ => (HOME, lost_at),
                };
                let rule = trial.cluster.add_rule(FaultKind::OneWay(link.0, link.1));
                trial.move_to(owner, region, (1, 3))?;
                trial.pass(20 * MS)?;
                trial.kill(HOME);
                trial.cluster.network_mut().remove_rule(rule);
                trial.settled = Duration::from_secs(20);
                trial.judge(None)?;
                let knows = trial.mirror.feds[watcher].known.contains_key(&place.0);
                assert!(knows, "owner {owner}, lost at {lost_at}");
                let before = trial.knowledge();
                trial.move_to(owner, region, (4, 6))?;
                trial.judge(Some(&before))
            });
        }
    }
}

/// As before, but the regions leave those of the watcher: it must not discover anything by old ones.
#[test]
fn regions_that_have_left_do_not_come_back_with_a_new_home() {
    for (owner, watcher) in [(1, 2), (2, 1)] {
        for lost_at in [HOME, owner, watcher] {
            passes(|trial| {
                let (_, region) = trial.transferred((owner, (4, 6)), (watcher, (0, 2)))?;
                let link = match lost_at {
                    HOME => (owner, HOME),
                    _ => (HOME, lost_at),
                };
                let rule = trial.cluster.add_rule(FaultKind::OneWay(link.0, link.1));
                trial.move_to(owner, region, (6, 8))?;
                trial.pass(20 * MS)?;
                trial.kill(HOME);
                trial.cluster.network_mut().remove_rule(rule);
                trial.settled = Duration::from_secs(20);
                trial.judge(None)?;
                // The former place of the region is empty now.
                let before: Vec<_> = trial.knowledge();
                let wanted = trial.region(watcher, (4, 6))?;
                trial.act(watcher, Act::SubscribeWith(0, BTreeSet::from([(0, wanted)])))?;
                trial.judge(Some(&before))
            });
        }
    }
}
