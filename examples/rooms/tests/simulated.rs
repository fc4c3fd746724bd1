//! Networks of servers in virtual time: whole machines, simulated connections and faults by seed.

mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base::Seed;
use netsim::{Effect, Fault, HostId, Scope};
use rooms::Shape;
use world::World;

/// Enough for the overlay to notice a dead link, to find another path, and to announce interest.
const RECOVERY: Duration = Duration::from_secs(20);
/// Enough for interest and messages to cross the network when nothing is broken.
const CALM: Duration = Duration::from_secs(2);

/// A chain of five servers with a branch: 0 - 1 - 2 - 3, and 1 - 4.
const TREE: [(u32, u32); 4] = [(1, 0), (2, 1), (3, 2), (4, 1)];
/// A ring of four.
const RING: [(u32, u32); 4] = [(1, 0), (2, 1), (3, 2), (3, 0)];
/// A mesh of five, whose servers know only the first one.
const MESH: [(u32, u32); 4] = [(1, 0), (2, 0), (3, 0), (4, 0)];

#[test]
fn messages_arrive_once_at_exactly_the_members_of_their_room() {
    for (shape, edges) in [(Shape::Tree, &TREE[..]), (Shape::RedundantTree, &RING), (Shape::Mesh, &MESH)] {
        for seed in 0..6 {
            let mut faults = vec![Fault::new(Scope::All, Effect::Fragment(7)).with_chance(100_000)];
            // Where there is a choice of paths, the overlay leaves one that has become slower, and messages
            // under way may be lost.
            if shape != Shape::RedundantTree {
                let up_to = Duration::from_millis(30);
                faults.push(Fault::new(Scope::All, Effect::Delay(Duration::ZERO..=up_to)));
            }
            wander(World::new(Seed(seed), shape, edges, faults), Seed(seed));
        }
    }
}

/// Members come, talk and go at random. After every change of the members of rooms the network has time
/// to announce it.
fn wander(mut world: World, seed: Seed) {
    world.run(CALM);
    let rooms = ["kitchen", "garden", "cellar"];
    let members: Vec<_> =
        (0..2 * world.servers()).map(|number| world.member(number % world.servers())).collect();
    let mut inside: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    let (mut expected, mut said) = (BTreeMap::<usize, Vec<String>>::new(), 0);
    for step in 0..40 {
        let draw = |what: &str, among: usize| (seed.split_index(step).split(what).0 % among as u64) as usize;
        let (who, room) = (draw("who", members.len()), rooms[draw("room", rooms.len())]);
        if inside.entry(who).or_default().remove(room) {
            world.line(members[who], &format!("leave {room}"));
        } else {
            inside.entry(who).or_default().insert(room);
            world.line(members[who], &format!("enter {room}"));
        }
        world.run(CALM);
        // Several at once, from different servers.
        for (who, member) in members.iter().enumerate() {
            for room in inside.get(&who).into_iter().flatten() {
                said += 1;
                world.line(*member, &format!("say {room} number {said}"));
                for (other, _) in
                    inside.iter().filter(|(other, in_them)| **other != who && in_them.contains(room))
                {
                    let line = format!("{room}: {} says number {said}", world.name(*member));
                    expected.entry(*other).or_default().push(line);
                }
            }
        }
        world.run(CALM);
    }
    assert!(said > 100, "{said}");
    for (who, member) in members.iter().enumerate() {
        let mut got = world.said(*member);
        got.sort();
        let mut expected = expected.remove(&who).unwrap_or_default();
        expected.sort();
        assert_eq!(got, expected, "at {}", world.name(*member));
        for room in inside.get(&who).into_iter().flatten() {
            let names = inside.iter().filter(|(_, in_them)| in_them.contains(room));
            let mut names: Vec<_> = names.map(|(other, _)| world.name(members[*other])).collect();
            names.sort();
            world.line(*member, &format!("who {room}"));
            assert_eq!(world.last(*member), format!("{room}: here are {}", names.join(", ")));
        }
    }
}

#[test]
fn links_that_lead_to_no_member_carry_nothing() {
    for (shape, edges) in [(Shape::Tree, &TREE[..]), (Shape::Mesh, &MESH)] {
        let mut world = World::new(Seed(1), shape, edges, Vec::new());
        world.run(CALM);
        let [a, c, d] = [0, 2, 3].map(|server| world.member(server));
        world.line(a, "enter kitchen");
        world.line(c, "enter kitchen");
        world.line(d, "enter garden");
        world.run(CALM);
        for number in 0..50 {
            world.line(a, &format!("say kitchen number {number}"));
        }
        world.run(CALM);
        assert_eq!((world.said(c).len(), world.said(d).len()), (50, 0));
        for ((from, to), sent) in world.sent() {
            let on_the_way = match shape {
                Shape::Mesh => [(0, 2), (2, 0)].contains(&(from, to)),
                _ => [(0, 1), (1, 2), (2, 1), (1, 0)].contains(&(from, to)),
            };
            assert_eq!(sent > 0, on_the_way, "{shape:?}: {sent} messages from {from} to {to}");
        }
    }
}

#[test]
fn nothing_arrives_twice_while_links_break_and_everything_arrives_afterwards() {
    for (shape, edges) in [(Shape::Tree, &TREE[..]), (Shape::RedundantTree, &RING), (Shape::Mesh, &MESH)] {
        for seed in 0..4 {
            let mut world = World::new(Seed(seed), shape, edges, Vec::new());
            world.run(CALM);
            let members: Vec<_> = (0..world.servers()).map(|server| world.member(server)).collect();
            for member in &members {
                world.line(*member, "enter kitchen");
            }
            world.run(CALM);
            let rule = world.network().add_rule(Fault::new(Scope::All, Effect::Cut).with_chance(20_000));
            for number in 0..60 {
                for member in &members {
                    world.line(*member, &format!("say kitchen during {number}"));
                }
                world.run(Duration::from_millis(250));
            }
            assert!(world.network().stats().broken_connections > 10, "the seed breaks links");
            world.network().remove_rule(rule);
            world.run(RECOVERY);
            for member in &members {
                world.line(*member, "say kitchen after");
            }
            world.run(CALM);
            for member in &members {
                let said = world.said(*member);
                let once: BTreeSet<_> = said.iter().collect();
                assert_eq!(once.len(), said.len(), "twice at {}", world.name(*member));
                let after = said.iter().filter(|line| line.ends_with("says after")).count();
                assert_eq!(after, members.len() - 1, "at {} ({shape:?}, seed {seed})", world.name(*member));
            }
        }
    }
}

#[test]
fn a_partition_parts_the_members_and_its_end_brings_them_together() {
    for (shape, edges) in [(Shape::Tree, &TREE[..]), (Shape::Mesh, &MESH)] {
        let mut world = World::new(Seed(3), shape, edges, Vec::new());
        world.run(CALM);
        let [a, b, d] = [0, 1, 3].map(|server| world.member(server));
        for member in [a, b, d] {
            world.line(member, "enter kitchen");
        }
        world.run(CALM);
        let rule = world
            .network()
            .add_rule(Fault::new(Scope::Parting(vec![HostId(0), HostId(1), HostId(4)]), Effect::Stall));
        world.run(RECOVERY);
        assert!(
            world.lines(a).contains(&format!("kitchen: {} is lost", world.name(d))),
            "{:?}",
            world.lines(a)
        );
        world.line(a, "say kitchen here");
        world.line(d, "say kitchen there");
        world.run(CALM);
        assert_eq!(world.said(b), [format!("kitchen: {} says here", world.name(a))]);
        assert_eq!((world.said(a).len(), world.said(d).len()), (0, 0));
        world.network().remove_rule(rule);
        world.run(RECOVERY);
        assert_eq!(world.last(a), format!("kitchen: {} is here", world.name(d)));
        world.line(d, "say kitchen together");
        world.run(CALM);
        for member in [a, b] {
            assert_eq!(world.last(member), format!("kitchen: {} says together", world.name(d)));
        }
    }
}

#[test]
fn a_dead_server_is_bypassed_where_another_path_exists() {
    // Of a tree the two parts are separate; a spare link or a mesh joins them.
    let cases = [
        (Shape::Tree, &TREE[..], 1, false),
        (Shape::RedundantTree, &RING, 1, true),
        (Shape::Mesh, &MESH, 0, true),
    ];
    for (shape, edges, dead, survives) in cases {
        for seed in 0..4 {
            let mut world = World::new(Seed(seed), shape, edges, Vec::new());
            world.run(CALM);
            let living: Vec<u32> = (0..4).filter(|server| *server != dead).collect();
            let (first, last) = (world.member(living[0]), world.member(living[1]));
            let lost = world.member(dead);
            for member in [first, last, lost] {
                world.line(member, "enter kitchen");
            }
            world.run(CALM);
            world.network().kill(HostId(dead));
            world.run(RECOVERY);
            world.line(first, "say kitchen still there?");
            world.run(CALM);
            let expected = format!("kitchen: {} says still there?", world.name(first));
            assert_eq!(world.said(last).contains(&expected), survives, "{shape:?}, seed {seed}");
            assert!(world.lines(first).contains(&format!("kitchen: {} is lost", world.name(lost))));
        }
    }
}

#[test]
fn two_servers_of_a_mesh_that_cannot_connect_use_a_tunnel() {
    let between = Scope::Between(HostId(1), HostId(2));
    let mut world = World::new(Seed(5), Shape::Mesh, &MESH, vec![Fault::new(between, Effect::Cut)]);
    world.run(RECOVERY);
    let [a, b] = [1, 2].map(|server| world.member(server));
    world.line(a, "enter kitchen");
    world.line(b, "enter kitchen");
    world.run(CALM);
    world.line(a, "say kitchen by another way");
    world.run(CALM);
    assert_eq!(world.said(b), [format!("kitchen: {} says by another way", world.name(a))]);
}

#[test]
fn a_run_repeats_with_its_seed() {
    let run = |seed| {
        let faults = vec![Fault::new(Scope::All, Effect::Cut).with_chance(5_000)];
        let mut world = World::new(Seed(seed), Shape::Mesh, &MESH, faults);
        let [a, b] = [1, 2].map(|server| world.member(server));
        world.line(a, "enter kitchen");
        world.line(b, "enter kitchen");
        world.run(RECOVERY);
        (world.digest(), world.lines(a).to_vec())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}
