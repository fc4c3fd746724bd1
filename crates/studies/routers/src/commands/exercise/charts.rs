//! Charts of figures that grow with an exercise and of those that do not, of latencies, and of
//! lines between sites.

use plot::{Axis, Chart, Mark, Series};

use super::file::Scenario;
use super::results::{Done, Ran, at_site, routers};
use experiment::sheet::Picture;

/// All charts for which there is data.
pub(super) fn pictures(scenario: &Scenario, ran: &Ran) -> Vec<Picture> {
    let mut pictures = Vec::new();
    let sizes = |joined| ran.of_topology(joined).filter(|done| done.is_counted()).count();
    if ran.topologies().into_iter().any(|joined| sizes(joined) > 1) {
        let busy = |done: &Done| done.busiest().load() * 100.0;
        let mut load = over_size(
            scenario,
            ran,
            "The part that has most to do",
            "at work, % (more: its queue grows)",
            &busy,
        );
        load.limit("full", 100.0);
        pictures.push(Picture::chart("busiest", &load));
        let received = |done: &Done| done.mean(|outcome| outcome.client.received.mean);
        let chart = over_size(scenario, ran, "What a client receives", "updates/s", &received);
        pictures.push(Picture::chart("client", &chart));
        let chart = over_size(
            scenario,
            ran,
            "The router that carries most",
            "messages/s",
            &Done::router_messages_per_s,
        );
        pictures.push(Picture::chart("router", &chart));
        let interest = |done: &Done| {
            done.mean(|outcome| routers(outcome).map(|level| level.interest_per_s.mean).fold(0.0, f64::max))
        };
        if ran.0.iter().any(|done| done.is_counted() && interest(done) > 0.0) {
            let chart =
                over_size(scenario, ran, "What routers say of interest", "records/s of a router", &interest);
            pictures.push(Picture::chart("interest", &chart));
        }
    }
    if ran.0.iter().any(|done| done.is_counted() && !done.is_overloaded()) {
        pictures.push(Picture::chart("latency-cdf", &latency(scenario, ran)));
    }
    if scenario.has_sites() && ran.0.iter().any(Done::is_counted) {
        pictures.push(Picture::chart("sites", &sites(scenario, ran)));
    }
    pictures
}

fn over_size(scenario: &Scenario, ran: &Ran, title: &str, unit: &str, of: &dyn Fn(&Done) -> f64) -> Chart {
    let mut chart = Chart::new(title, Axis::log("entities"), Axis::log(unit)).with_subtitle(&scenario.title);
    for joined in ran.topologies() {
        let done = ran.of_topology(joined).filter(|done| done.is_counted());
        let points = done.map(|done| (done.entities() as f64, of(done))).filter(|(_, value)| *value > 0.0);
        chart.add(Series::new(joined.name(), Mark::Dots, points));
    }
    chart
}

/// The latencies in the largest exercise that each topology sustains.
fn latency(scenario: &Scenario, ran: &Ran) -> Chart {
    let axis = Axis::linear("share of updates").from(0.0).to(1.0);
    let mut chart = Chart::new("From an update to those who see it", Axis::log("ms"), axis)
        .with_subtitle(&scenario.title);
    for joined in ran.topologies() {
        let held = ran.of_topology(joined).filter(|done| done.is_counted() && !done.is_overloaded());
        if let Some(done) = held.max_by_key(|done| done.entities()) {
            let name = format!("{}, {} entities", joined.name(), done.entities());
            chart.add(Series::new(&name, Mark::Steps, done.latency_steps()));
        }
    }
    chart
}

/// The traffic of each site's lines, in the largest exercise of each topology.
fn sites(scenario: &Scenario, ran: &Ran) -> Chart {
    let names = scenario.sites();
    let list = names.iter().enumerate().map(|(at, name)| format!("{} {name}", at + 1));
    let axis = format!("site: {}", list.collect::<Vec<_>>().join(", "));
    let mut chart = Chart::new(
        "What sites carry over their lines, in and out",
        Axis::linear(&axis).from(0.5).to(names.len() as f64 + 0.5),
        Axis::linear("Mbit/s").from(0.0),
    )
    .with_subtitle(&scenario.title);
    for joined in ran.topologies() {
        if let Some(done) = ran.of_topology(joined).filter(|done| done.is_counted()).last() {
            let points = (0..names.len()).map(|site| ((site + 1) as f64, at_site(done, site)));
            chart.add(Series::new(joined.name(), Mark::Points, points));
        }
    }
    chart
}
