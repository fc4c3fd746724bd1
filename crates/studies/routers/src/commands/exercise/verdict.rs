//! Conclusions from the figures, as sentences: which loads are bounded, and where a network is
//! overloaded.

use crate::exercise::Joined;

use super::comparison;
use super::file::Scenario;
use super::results::{Done, Ran, routers};
use console::table::figure;

/// All conclusions.
pub(super) fn notes(scenario: &Scenario, ran: &Ran) -> Vec<String> {
    let mut notes = Vec::new();
    for joined in ran.topologies() {
        let counted: Vec<&Done> = ran.of_topology(joined).filter(|done| done.is_counted()).collect();
        notes.extend(bounds(joined, &counted));
        notes.extend(limit(joined, &counted));
        notes.extend(counted.iter().filter_map(|done| {
            let why = done.broken()?;
            Some(format!("{}, {} entities: it broke down: {why}", joined.name(), done.entities()))
        }));
    }
    notes.extend(comparison::notes(scenario, ran));
    if ran.0.iter().any(Done::is_overloaded) {
        notes.push(
            "OVERLOADED: a part is always at work and its queue grows, for a processor at least as fast as said; latencies then depend on how \
             long one looks, and are not given; what is received is less than it should be"
                .to_owned(),
        );
    }
    notes
}

/// The loads of clients and routers, from the smallest to the largest exercise with the same number
/// of entities per simulator.
fn bounds(joined: Joined, counted: &[&Done]) -> Option<String> {
    let per_client = |done: &Done| done.entities() as f64 / done.point.exercise.simulators() as f64;
    let first = *counted.first()?;
    let alike = counted
        .iter()
        .filter(|done| (per_client(done) / per_client(first) - 1.0).abs() < 0.05 && !done.is_overloaded());
    let last = *alike.max_by_key(|done| done.entities())?;
    if last.entities() == first.entities() {
        return None;
    }
    let from_to = |of: &dyn Fn(&Done) -> f64| format!("{} to {}", figure(of(first)), figure(of(last)));
    let received = from_to(&|done| done.mean(|outcome| outcome.client.received.mean));
    let carried = from_to(&Done::router_messages_per_s);
    let interest = from_to(&|done| {
        done.mean(|outcome| routers(outcome).map(|level| level.interest_per_s.mean).fold(0.0, f64::max))
    });
    Some(format!(
        "{}: from {} to {} entities (x {:.1}), {:.1} at each simulator: a client receives {received} updates/s, the router with most to do \
         carries {carried} messages/s, and routers say what is wanted {interest} times/s",
        joined.name(),
        first.entities(),
        last.entities(),
        last.entities() as f64 / first.entities() as f64,
        per_client(first),
    ))
}

/// The largest size that the network sustains, among the simulated ones.
fn limit(joined: Joined, counted: &[&Done]) -> Option<String> {
    let holds = counted.iter().filter(|done| !done.is_overloaded()).max_by_key(|done| done.entities());
    let breaks = counted.iter().filter(|done| done.is_overloaded()).min_by_key(|done| done.entities());
    let name = joined.name();
    let most = |done: &Done| {
        let busiest = done.busiest();
        format!("{} at {:.0} %", busiest.name, busiest.utilisation * 100.0)
    };
    let full = |done: &Done| {
        let at = done.entities() as f64 / done.busiest().utilisation.max(1e-9);
        format!("in proportion to its load it would be full at {} entities", figure(at))
    };
    match (holds, breaks) {
        (Some(holds), Some(breaks)) => Some(format!(
            "{name}: holds {} entities ({}; {}), and breaks at {} ({}, its queue {:.2} s longer each second)",
            holds.entities(),
            most(holds),
            full(holds),
            breaks.entities(),
            most(breaks),
            breaks.busiest().growth,
        )),
        (Some(holds), None) => Some(format!("{name}: holds {} entities ({})", holds.entities(), most(holds))),
        (None, Some(breaks)) => Some(format!(
            "{name}: breaks at {} entities already ({}, its queue {:.2} s longer each second)",
            breaks.entities(),
            most(breaks),
            breaks.busiest().growth,
        )),
        (None, None) => None,
    }
}
