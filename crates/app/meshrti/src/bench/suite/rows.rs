//! Measured cases as rows of results.

use std::collections::BTreeMap;

use bench::exchange::way::Way;
use bench::exchange::{Federates, InFlight, harness_us};
use bench::latency::{Latency, Plan};
use bench::mass::{self, Mass};
use results::{Outcome, Row};

use crate::bench::Target;

/// A row without figures.
fn row(test: &str, (way, federates): (Way, Federates), target: &Target, failure: Option<&String>) -> Row {
    let outcome = match failure {
        None => Outcome::Measured,
        Some(_) if way.is_missing(target.fom_edition).is_some() => Outcome::NotInStandard,
        Some(_) => Outcome::Failed,
    };
    Row {
        test: test.to_owned(),
        kind: way.kind.word().to_owned(),
        ddm: way.ddm.word().to_owned(),
        transport: way.transport.word().to_owned(),
        order: way.order.word().to_owned(),
        encoding: way.encoding.word().to_owned(),
        bundling: way.bundling.word().to_owned(),
        producers: federates.producers as u64,
        consumers: federates.consumers as u64,
        objects: 0,
        size_bytes: 0,
        in_flight: "1".to_owned(),
        rate_per_s: None,
        links: target.links(),
        line: None,
        server: target.server.clone(),
        fom_edition: target.fom_edition.year(),
        outcome,
        reason: failure.cloned(),
        samples: 0,
        lost: 0,
        figures: BTreeMap::new(),
        runs: Vec::new(),
    }
}

/// Rows of a test that could not begin.
pub(super) fn failed_rows(
    test: &str,
    (ways, federates): (&[Way], Federates),
    target: &Target,
    reason: &str,
) -> Vec<Row> {
    ways.iter().map(|way| row(test, (*way, federates), target, Some(&reason.to_owned()))).collect()
}

/// Rows of round trips of one message at a time, or of an open loop.
pub(in crate::bench) fn latency_rows(
    test: &str,
    target: &Target,
    plan: &Plan,
    results: &[Latency],
) -> Vec<Row> {
    let of = |latency: &Latency| {
        let mut row = row(test, (latency.way, plan.federates), target, latency.failure.as_ref());
        row.links = latency.links as u64;
        row.line.clone_from(&latency.line);
        row.objects = latency.objects as u64;
        row.size_bytes = latency.rounds.size_bytes() as u64;
        row.lost = latency.lost;
        if let Some(rate) = plan.rate_per_s {
            row.rate_per_s = Some(rate);
            "open".clone_into(&mut row.in_flight);
        }
        if row.server.is_some() {
            row.server = Some(latency.server.clone());
        }
        row.add_runs(&latency.slices, Some(&latency.floor));
        row.set("server_cpu_us", latency.server_cpu_s.map(|seconds| seconds * 1e6));
        let harness = harness_us(latency.rounds.size_bytes());
        row.set("harness_ratio", row.figure("mean_us").map(|mean| harness / mean));
        row
    };
    results.iter().map(of).collect()
}

/// Rows of the mass object test.
pub(in crate::bench) fn mass_rows(target: &Target, plan: &mass::Plan, results: &[Mass]) -> Vec<Row> {
    let harness = harness_us(plan.size);
    let of = |mass: &Mass| {
        let mut row = row("mass", (mass.way, plan.federates), target, mass.failure.as_ref());
        row.links = mass.links as u64;
        row.line.clone_from(&mass.line);
        row.objects = mass.objects as u64;
        row.size_bytes = plan.size as u64;
        row.lost = mass.lost;
        row.in_flight = match mass.in_flight {
            InFlight::Messages(number) => number.to_string(),
            InFlight::Sweep => "sweep".to_owned(),
        };
        row.add_runs(&mass.runs, mass.floor.as_ref());
        row.set("floor_mean_us", mass.floor.as_ref().map(console::rounds::Rounds::mean_us));
        let answers_per_s = base::stats::median(mass.answers_per_s.clone());
        row.set("answers_per_s", answers_per_s);
        row.set("setup_s", (row.samples > 0).then_some(mass.setup_s));
        row.set("pair_bytes", mass.pair_bytes);
        row.set("server_cpu_us", mass.server_cpu_s.map(|seconds| seconds * 1e6));
        // Of the time in which one answer comes, not of that of a round trip, which is mostly spent in
        // queues.
        row.set("harness_ratio", answers_per_s.map(|rate| harness * rate / 1e6));
        row
    };
    results.iter().map(of).collect()
}
