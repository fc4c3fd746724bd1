//! Random cases are worth their time only if they reach everything, and if equal cases run equally.

use crate::run::Run;
use crate::twin::{self, Kind};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;

#[test]
fn equal_cases_run_equally() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..20 {
        let case = twin::case(Kind::Timely).new_tree(&mut runner).expect("a case").current();
        assert_eq!(Run::unsaved(&case).log, Run::unsaved(&case).log);
    }
}

/// The kind of a callback, or the exception of an operation that was refused.
fn kinds(line: &str) -> Vec<String> {
    if let Some(callback) = line.strip_prefix("  ") {
        let callback = callback.split_once(' ').map_or("", |(_, callback)| callback);
        let kind = callback.split('(').next().unwrap_or_default();
        let order = [", TSO as RO", ", TSO"].into_iter().find(|order| callback.contains(order));
        return vec![kind.to_owned(), format!("{kind}{}", order.unwrap_or(", RO"))];
    }
    let (call, answer) = line.rsplit_once(" -> ").unwrap_or(("", ""));
    let call: Vec<&str> = call.split(|sign: char| !sign.is_alphanumeric()).take(4).skip(2).collect();
    let answer = if answer.starts_with("Err(") { answer } else { "done" };
    vec![format!("{} {answer}", call.join("."))]
}

#[test]
fn the_cases_reach_every_kind_of_callback() {
    let mut runner = TestRunner::deterministic();
    let mut reached = BTreeMap::<String, u32>::new();
    for _ in 0..300 {
        let case = twin::case(Kind::Timely).new_tree(&mut runner).expect("a case").current();
        for kind in Run::unsaved(&case).log.iter().flat_map(|line| kinds(line)) {
            *reached.entry(kind).or_default() += 1;
        }
    }
    let all = "acquired announce cancelled confirm confirmTransportation constrained directed discover \
               flushed granted inScope interactionsOff interactionsOn members notOwned notRegistered \
               notReserved notReservedAll offered outOfScope owned provide receive reflect registered \
               regulating release remove reportTransportation requestRetraction reserved reservedAll \
               startRegistration stopRegistration synchronized unavailable updatesOff updatesOn";
    let found = reached.keys().filter(|kind| kind.chars().all(char::is_alphabetic));
    assert_eq!(found.map(String::as_str).collect::<Vec<_>>().join(" "), all);
    let orders = ["directed, TSO", "receive, TSO", "reflect, TSO", "remove, TSO", "receive, TSO as RO"];
    for kind in all.split(' ').chain(orders) {
        assert!(reached.get(kind).is_some_and(|count| *count >= 5), "{kind}: {reached:#?}");
    }
}
