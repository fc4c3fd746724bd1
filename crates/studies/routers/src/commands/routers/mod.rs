//! Networks of routers under the load of pairs of federates: scenario files, and Table 1 of the paper.

mod charts;
mod claims;
mod figures;
mod file;
mod output;
mod reading;
mod table1;
mod work;

use std::time::Instant;

use crate::routers::Hardware;
use base::Seed;
use serde_json::json;

use console::exit::{Failure, Outcome, Status, say};
use console::report::Report;
use experiment::parallel::threads;
use experiment::sheet::write_files;
use experiment::{Settings, interrupt};
use file::Scenario;

pub(super) use figures::FiguresArgs;
pub(super) use reading::Reading;
pub(super) use table1::run_table1 as table1;

/// The hosts and links of a scenario.
///
/// # Errors
/// The mistake in the text.
pub(super) fn hardware_of(text: &str) -> Result<Hardware, String> {
    Scenario::parse(text)?.hardware()
}

/// A run that failed, for people.
fn failed(scenario: &str, failed: &work::Failed) -> Failure {
    let (run, error) = (&failed.run, &failed.error);
    let (shape, hops, pairs) = (run.shape.name(), run.hops, run.pairs);
    Failure::bad_news(format_args!("scenario {scenario}: {shape}, {hops} hops, {pairs} pairs: {error}"))
}

/// Reads a scenario, simulates it, and reports.
pub(super) fn run(settings: &Settings, show: bool, name: &str, text: &str) -> Outcome {
    let Some(scenario) = settings.read_or_show(show, text, Scenario::parse)? else { return Ok(Status::Done) };
    let begun = Instant::now();
    let points = scenario.points().map_err(|why| settings.wrong(why))?;
    let replications = usize::from(settings.replications);
    let all = points.len() * replications;
    interrupt::watch();
    let done = work::run_all(points, Seed(settings.seed), replications, settings.jobs);
    let done = done.map_err(|error| failed(&settings.scenario, &error))?;
    let (wall_s, jobs) = (begun.elapsed().as_secs_f64(), threads(settings.jobs, all));
    let mut report = Report::new("sim router-tree-vs-mesh", 1);
    report.seed(settings.seed);
    let results = output::results(&scenario, &done);
    results.rows.iter().for_each(|row| report.row(row.to_value()));
    report.note(format!("scenario {name}: {}", scenario.title));
    report.note("times are there and back; speed-up is the mean of the tree over that of the mesh");
    output::notes(&scenario, &results).into_iter().for_each(|note| report.note(note));
    let runs: usize = done.iter().map(|done| done.outcomes.len()).sum();
    let stopped = interrupt::is_stopped()
        .then(|| format!("stopped by the user: {runs} of {all} runs; figures are of these"));
    stopped.iter().for_each(|note| report.note(note.clone()));
    let events: u64 = done.iter().flat_map(|done| &done.outcomes).map(|outcome| outcome.events).sum();
    report.summary(json!({
        "scenario": name,
        "replications": replications,
        "jobs": jobs,
        "wall_s": wall_s,
        "events": events,
        "events_per_s": events as f64 / wall_s,
        "distributions": results.distributions.iter().map(output::Distribution::to_value).collect::<Vec<_>>(),
    }));
    if !settings.json.takes_stdout() {
        say(output::text(&scenario, &results));
        say(format_args!("{events} events in {wall_s:.1} s on {jobs} threads"));
        stopped.iter().for_each(say);
    }
    write_files(settings, &charts::sheets(&scenario, &results), &charts::pictures(&scenario, &results))?;
    settings.json.write(&report)?;
    Ok(interrupt::status())
}
