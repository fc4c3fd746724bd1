//! Each service group of one node against the reference model, and all of them over faulty
//! connections.
#![allow(clippy::print_stderr)] // the figures are for runs of many seeds by hand

use std::collections::BTreeSet;
use testkit::{Group, Outcome, Setup, check_seeds};

/// Runs the seeds of `group`, and checks that the runs were not trivial.
fn check(group: Group, seeds: u64) {
    let setup = Setup::One(group);
    let outcomes = check_seeds(setup, seeds);
    let sum = |of: fn(&Outcome) -> u64| outcomes.values().map(of).sum::<u64>();
    let (name, runs) = (setup.name(), outcomes.len() as u64);
    let (answers, callbacks) = (sum(|o| o.answers), sum(|o| o.callbacks));
    let (resumes, killed, dropped) = (sum(|o| o.resumes), sum(|o| o.killed), sum(|o| o.dropped));
    eprintln!(
        "{name}: {runs} runs, {answers} answers, {callbacks} callbacks, {resumes} resumes, {killed} killed, \
         {dropped} dropped"
    );
    if runs >= 20 {
        assert!(answers > 50 * runs && callbacks > 10 * runs, "the federates do next to nothing");
        // Runs in which no federate lives to get an answer may be alike.
        let alive = || outcomes.values().filter(|outcome| outcome.answers > 0);
        let (different, lived) =
            (alive().map(|outcome| outcome.digest.value()).collect::<BTreeSet<_>>().len(), alive().count());
        assert_eq!(different, lived, "different seeds make different runs");
        assert!(lived as u64 * 10 > runs * 9, "{lived} of {runs} runs in which somebody gets an answer");
    }
}

/// Federation management and synchronization points (clause 4).
#[test]
fn federation() {
    check(Group::Federation, 150);
}

/// Declaration management and its advisories (clause 5).
#[test]
fn declaration() {
    check(Group::Declaration, 200);
}

/// Object management (clause 6).
#[test]
fn object() {
    check(Group::Object, 200);
}

/// Data distribution management (clause 9), with the services that it narrows.
#[test]
fn distribution() {
    check(Group::Distribution, 200);
}

/// Support services (clause 10) against the object model and the tables.
#[test]
fn support() {
    check(Group::Support, 80);
}

/// All services over faulty connections: cuts, stalls, slow readers, deaths. Sessions lose nothing,
/// and lost federates are resigned.
#[test]
fn session() {
    check(Group::Session, 200);
}
