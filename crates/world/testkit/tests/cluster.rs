//! Federations over many nodes, in every topology, while links and nodes fail.
#![allow(clippy::print_stderr)] // the figures are for runs of many seeds by hand

use std::collections::BTreeMap;
use testkit::{Kind, Setup, check_seeds};

fn check(kind: Kind, seeds: u64) {
    let name = Setup::Many(kind).name();
    let outcomes = check_seeds(Setup::Many(kind), seeds);
    let runs = outcomes.len() as u64;
    let mut checked: BTreeMap<&str, u64> = BTreeMap::new();
    for (what, times) in outcomes.values().flat_map(|outcome| &outcome.checked) {
        *checked.entry(what).or_default() += times;
    }
    let answers: u64 = outcomes.values().map(|outcome| outcome.answers).sum();
    let callbacks: u64 = outcomes.values().map(|outcome| outcome.callbacks).sum();
    let lost: u64 = outcomes.values().map(|outcome| outcome.lost_nodes).sum();
    let paused: Vec<u64> =
        outcomes.values().map(|outcome| outcome.paused).filter(|paused| *paused > 0).collect();
    let moved: u64 = outcomes.values().map(|outcome| outcome.moved_paths).sum();
    let created = outcomes.values().filter(|outcome| outcome.networks > 1).count() as u64;
    let (pausing, paused) = (paused.len() as u64, paused.iter().sum::<u64>());
    let (shared, directed) = outcomes.values().fold((0, 0), |(shared, directed), outcome| {
        (shared + outcome.multicast.0, directed + outcome.multicast.1)
    });
    eprintln!(
        "{name}: {runs} runs, {answers} answers, {callbacks} callbacks, {lost} nodes lost, \
         {paused} times a federate was held back in {pausing} runs, {created} runs with two networks, \
         {shared} messages to groups and {directed} to single members of them, {moved} paths moved, \
         checked {checked:?}"
    );
    if runs >= 20 {
        assert!(answers > 50 * runs && callbacks > 10 * runs, "the federates do next to nothing");
        assert!(lost * 10 > runs, "hardly a node is lost");
        // About one run in a hundred each; the creator of a mesh has links of its own, and looks
        // for a network before it creates one.
        let many = runs >= 300;
        assert!(!many || (pausing > 2 && paused > 20), "hardly a federate is held back");
        assert!(!many || kind == Kind::Mesh || created > 0, "no creator yielded");
        // Of 1,000 runs, between 43 and 179 messages went to single members of groups.
        assert!(!many || (shared > runs && directed > runs / 50), "hardly anything goes through groups");
        assert!(!many || kind != Kind::Mesh || moved > runs / 2, "hardly a path moves");
        for what in ["exactly_once", "order", "known_class", "handles", "names", "members", "final_state"] {
            assert!(checked.get(what).is_some_and(|times| *times > runs), "{what} looks at next to nothing");
        }
    }
}

#[test]
fn tree() {
    check(Kind::Tree, 500);
}

#[test]
fn mesh() {
    check(Kind::Mesh, 500);
}

#[test]
fn hypercube() {
    check(Kind::Hypercube, 400);
}

#[test]
fn graph() {
    check(Kind::Graph, 600);
}
