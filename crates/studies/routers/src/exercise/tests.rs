//! Compares exercises with counts that need no network.

use super::grid::View;
use super::*;
use crate::routers::PipeConfig;
use netsim::cluster::{Cost, Ethernet, HostSpec};

fn hardware(per_message: Duration) -> Hardware {
    let cost = Cost { per_message, per_byte_ps: 0 };
    let host = HostSpec { receive: cost, send: cost };
    Hardware {
        ethernet: Ethernet::GIGABIT,
        router: host,
        federate: HostSpec::default(),
        memory_pipe: Duration::ZERO,
        pipe: PipeConfig::default(),
    }
}

/// 40 simulators at 8 leaf routers, 400 entities.
fn small(joined: Joined) -> Exercise {
    Exercise {
        joined,
        sites: vec![Site { name: "HERE".to_owned(), simulators: 40 }],
        lines: Vec::new(),
        simulators_per_router: 5,
        routers_per_router: 4,
        population: Population {
            entities: 400,
            update_bytes: 144,
            moving_share: 0.5,
            moving_interval: Duration::from_millis(250),
            heartbeat: Duration::from_secs(1),
            cells_per_s: 0.0,
            entities_per_cell: 2.0,
            unit_cells: 2.0,
            sight_cells: 1,
            placement: Placement::Scattered,
        },
        hardware: hardware(Duration::from_micros(15)),
        on_demand: OnDemand::default(),
        settle: Duration::from_millis(200),
        window: Duration::from_secs(2),
        seed: Seed(1),
    }
}

fn go(exercise: &Exercise) -> Outcome {
    run(exercise, |_| true).expect("it can be run")
}

fn level(outcome: &Outcome, duty: Duty) -> &Level {
    outcome.levels.iter().find(|level| level.duty == duty).expect("there are such hosts")
}

/// Updates that each simulator must receive, found by checking all entities against all views.
/// `updates` gives the updates of each entity of a simulator, of whose entities so many are there, and
/// so many of these move.
pub(super) fn received_of_each(
    exercise: &Exercise,
    updates: impl Fn(usize, (usize, usize)) -> Vec<f64>,
) -> Vec<f64> {
    let (population, seed) = (&exercise.population, exercise.seed);
    let grid = population.grid();
    let simulators = exercise.simulators();
    let units = population.units(simulators, seed);
    let parts: Vec<_> = (0..simulators)
        .map(|n| {
            let (entities, moving) = population.entities_of(n, simulators, units[n], seed);
            let updates = updates(n, (entities.len(), moving));
            (entities, updates)
        })
        .collect();
    let views = parts.iter().map(|(entities, _)| {
        let mut view = View::default();
        let seen = entities.iter().flat_map(|entity| grid.around(entity.cell, population.sight_cells));
        view.change(std::iter::empty(), seen, |_, _| ());
        view
    });
    let received = |(viewer, view): (usize, View)| {
        let others = parts.iter().enumerate().filter(|(owner, _)| *owner != viewer);
        let seen = others.flat_map(|(_, (entities, updates))| {
            entities
                .iter()
                .zip(updates)
                .filter(|(entity, _)| view.sees(entity.cell))
                .map(|(_, updates)| updates)
        });
        seen.sum()
    };
    views.enumerate().map(received).collect()
}

/// Updates per second that each simulator must receive.
fn expected(exercise: &Exercise) -> Vec<f64> {
    let population = &exercise.population;
    received_of_each(exercise, |_, (entities, moving)| {
        let rate = |index: usize| {
            let period = if index < moving { population.moving_interval } else { population.heartbeat };
            1.0 / period.as_secs_f64()
        };
        (0..entities).map(rate).collect()
    })
}

#[test]
fn everybody_gets_what_is_near_and_nothing_else() {
    for joined in [Joined::Tree, Joined::Mesh] {
        let exercise = small(joined);
        let expected = expected(&exercise);
        let outcome = go(&exercise);
        let (sum, most) = (expected.iter().sum::<f64>(), expected.iter().copied().fold(0.0, f64::max));
        assert!(sum > 4_000.0, "neighbours see each other: {sum}");
        // The window is a whole number of rounds, so that only messages in flight at either end can
        // differ.
        assert!((outcome.deliveries_per_s - sum).abs() <= 1.0, "{joined:?}: {outcome:?}");
        assert!((outcome.client.received.max - most).abs() <= 1.0);
        assert_eq!(outcome.updates_per_s, exercise.population.updates_per_s());
        assert_eq!((outcome.stray, outcome.interest_changes_per_s), (0.0, 0.0));
        assert_eq!(outcome.counted, exercise.window);
        assert!(!outcome.is_overloaded(), "{:?}", outcome.busiest());
    }
}

#[test]
fn a_processor_is_busy_for_what_its_messages_cost() {
    let (tree, mesh) = (go(&small(Joined::Tree)), go(&small(Joined::Mesh)));
    for (outcome, duty) in [(&tree, Duty::Root), (&tree, Duty::Leaf), (&mesh, Duty::Triad)] {
        let Level { processor, messages_per_s, .. } = level(outcome, duty);
        let cost = messages_per_s.mean * 15e-6;
        // Signs of life add to this where there is little traffic, and a frame sometimes has two
        // messages.
        assert!(
            (0.95 * cost..1.05 * cost + 1e-3).contains(&processor.mean),
            "{duty:?}: {processor:?} {cost}"
        );
    }
    // Two links within a leaf router, three between triads; up to six in the tree, which has two
    // levels above its leaves.
    assert!((2.0..3.0).contains(&mesh.links_crossed), "{}", mesh.links_crossed);
    assert!((4.0..6.0).contains(&tree.links_crossed), "{}", tree.links_crossed);
}

#[test]
fn interest_follows_entities_that_move() {
    let mut exercise = small(Joined::Mesh);
    exercise.population.cells_per_s = 0.5;
    let outcome = go(&exercise);
    assert!(outcome.interest_changes_per_s > 50.0, "{}", outcome.interest_changes_per_s);
    assert!(level(&outcome, Duty::Triad).interest_per_s.mean > 50.0);
    assert!(outcome.stray < 0.01, "{}", outcome.stray);
    // About as many as without movement: the grid is as full as before.
    let still = go(&small(Joined::Mesh));
    assert!((outcome.deliveries_per_s / still.deliveries_per_s - 1.0).abs() < 0.3);
}

#[test]
fn a_tree_that_gets_too_much_is_called_so_and_the_mesh_still_holds() {
    let slow = |joined| Exercise { hardware: hardware(Duration::from_micros(500)), ..small(joined) };
    let (tree, mesh) = (go(&slow(Joined::Tree)), go(&slow(Joined::Mesh)));
    assert!(tree.is_overloaded());
    assert!(tree.busiest().utilisation > 0.98 && tree.busiest().growth > 0.05, "{:?}", tree.busiest());
    assert!(!mesh.is_overloaded(), "{:?}", mesh.busiest());
    // Its latencies show the queues, not the network.
    assert!(tree.all_latency().quantile(0.5) > 20.0 * mesh.all_latency().quantile(0.5));
}

pub(super) fn wan(joined: Joined) -> Exercise {
    let site = |name: &str, simulators| Site { name: name.to_owned(), simulators };
    let line = |a, b, ms| Lines {
        between: (a, b),
        line: Line { rate: 100_000_000, delay: Duration::from_millis(ms) },
    };
    Exercise {
        sites: vec![site("NORFOLK", 16), site("SAN-DIEGO", 14), site("MAUI", 10)],
        lines: vec![line(0, 1, 33), line(0, 2, 55), line(1, 2, 25)],
        ..small(joined)
    }
}

#[test]
fn a_tree_goes_by_its_root_and_a_mesh_does_not() {
    let p50_ms = |outcome: &Outcome, from: usize, to: usize| outcome.latency[from][to].quantile(0.5) / 1e3;
    let tree = go(&wan(Joined::Tree));
    let line = |outcome: &Outcome, from, to| {
        outcome.lines.iter().find(|line| (line.from, line.to) == (from, to)).expect("there is a line").clone()
    };
    assert!((88.0..90.0).contains(&p50_ms(&tree, 1, 2)), "{}", p50_ms(&tree, 1, 2));
    assert_eq!((line(&tree, 1, 2).messages_per_s, line(&tree, 2, 1).mbit_per_s), (0.0, 0.0));
    let (flat, sites) = (go(&wan(Joined::Mesh)), go(&wan(Joined::MeshOfSites)));
    for mesh in [&flat, &sites] {
        assert!((25.0..27.0).contains(&p50_ms(mesh, 1, 2)), "{}", p50_ms(mesh, 1, 2));
        assert!((33.0..35.0).contains(&p50_ms(mesh, 0, 1)));
        assert!(line(mesh, 1, 2).mbit_per_s > 0.0);
        // The bits that a line carries determine its busy time.
        let load = line(mesh, 0, 1);
        assert!((load.way.utilisation - load.mbit_per_s / 100.0).abs() < 1e-9);
        assert!((mesh.deliveries_per_s / tree.deliveries_per_s - 1.0).abs() < 0.01);
    }
    // In a flat mesh each leaf router that wants an update receives it over the line separately;
    // with a triad per site the site receives it once.
    assert!(line(&flat, 1, 0).messages_per_s > 1.2 * line(&sites, 1, 0).messages_per_s);
}

#[test]
fn a_run_is_a_function_of_its_seed_and_can_be_stopped() {
    let exercise = small(Joined::Mesh);
    assert_eq!(go(&exercise), go(&exercise));
    assert_ne!(go(&exercise).digest, go(&Exercise { seed: Seed(2), ..exercise.clone() }).digest);
    let mut told = Vec::new();
    let part = run(&exercise, |share| {
        told.push(share);
        share < 0.8
    });
    let part = part.expect("it can be run");
    assert!(told.is_sorted() && told.last().is_some_and(|last| (0.8..0.95).contains(last)));
    assert!((1.0..1.5).contains(&part.counted.as_secs_f64()), "{:?}", part.counted);
    assert!((part.updates_per_s / exercise.population.updates_per_s() - 1.0).abs() < 0.1);
    let early = run(&exercise, |_| false).expect("it can be run");
    assert_eq!((early.counted, early.updates_per_s, early.is_overloaded()), (Duration::ZERO, 0.0, false));
}

#[test]
fn memory_is_foreseen_by_what_there_is() {
    let of = |exercise: &Exercise| exercise.memory_bytes().expect("it can be");
    let (tree, mesh) = (of(&small(Joined::Tree)), of(&small(Joined::Mesh)));
    let more = |change: &dyn Fn(&mut Exercise)| {
        let mut exercise = small(Joined::Mesh);
        change(&mut exercise);
        of(&exercise)
    };
    assert_eq!(more(&|exercise| exercise.population.entities = 1_400) - mesh, 1_000 * 100);
    // Six leaf routers in place of eight have 26 fewer links between them.
    assert_eq!(mesh - more(&|exercise| exercise.simulators_per_router = 7), 26 * 40_000 + 2 * 60_000);
    let long = |seconds| of(&Exercise { window: Duration::from_secs(seconds), ..small(Joined::Tree) });
    assert!(tree < long(9) && long(10) == long(3_600), "a tree may have to keep what it cannot carry");
}

#[test]
fn impossible_settings_are_refused_with_the_reason() {
    let say = |exercise: Exercise| run(&exercise, |_| true).unwrap_err().to_string();
    let with = |change: &dyn Fn(&mut Exercise)| {
        let mut exercise = wan(Joined::MeshOfSites);
        change(&mut exercise);
        say(exercise)
    };
    assert_eq!(
        with(&|exercise| _ = exercise.lines.pop()),
        "there is no line between SAN-DIEGO and MAUI, whose routers are linked in a mesh-of-sites"
    );
    assert_eq!(
        with(&|exercise| exercise.population.moving_share = 1.5),
        "the share of entities that move must be from 0 to 1, not 1.5"
    );
    assert_eq!(
        with(&|exercise| exercise.population.update_bytes = 13),
        "the bytes of an update must be from 14 to 8192, not 13"
    );
    assert_eq!(
        with(&|exercise| exercise.routers_per_router = 1),
        "the number of routers per router must be from 2 to 20000, not 1"
    );
    let mut huge = small(Joined::Mesh);
    huge.sites[0].simulators = 20_000;
    huge.simulators_per_router = 1;
    assert_eq!(
        say(huge),
        "the number of triads, one for so many simulators must be from 1 to 1024, not 20000"
    );
    let slow = Exercise { hardware: hardware(Duration::from_secs(1)), ..small(Joined::Tree) };
    assert!(say(slow).contains("interest is not known everywhere"));
}
