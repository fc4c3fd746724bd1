//! Scenario files of whole federations: nodes and federates as processes of simulated computers, or of this machine.

pub(crate) mod calibrate;
mod cases;
mod file;
mod groups;
mod hosts;
mod live;
mod plan;
mod results;

use std::path::{Path, PathBuf};

use hostsim::{Federation, RunError};
use serde_json::json;

use super::parallel::in_parallel;
use super::{Args, interrupt, read_or_show, seed_of, wrong};
use crate::exit::{Failure, Outcome, Status, say};
use crate::report::Report;
use file::Scenario;

pub(crate) use live::{LiveArgs, run_live};

/// The value of `kind` in files of such scenarios.
pub(super) const KIND: &str = "federation";

/// Options of federations and of calibrating.
#[derive(clap::Args, Clone, PartialEq, Default)]
#[command(next_help_heading = "Options of federations and calibrate")]
pub(super) struct HostOptions {
    /// The host model: for a federation the one to use, for calibrate where to write it
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// calibrate: measure everything so often, and take the best of each [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=99))]
    rounds: Option<u8>,
}

/// The message that says which scenarios have these options.
pub(super) const OPTIONS_FOR: &str = "--hosts and --rounds are for federations and calibrate";

/// The number of progress steps of a run.
const STEPS: u64 = 200;

/// Reads a scenario, simulates it, and reports.
pub(super) fn run(args: &Args, name: &str, text: &str) -> Outcome {
    if args.federation.rounds.is_some() {
        return Err(wrong(args, "--rounds is for calibrate"));
    }
    if args.files.is_given() {
        return Err(wrong(args, "--csv and --plots are not for federations"));
    }
    let Some(scenario) = read_or_show(args, text, Scenario::parse)? else { return Ok(Status::Done) };
    let model = args.federation.hosts.as_deref();
    let federation = scenario.federation(folder_of(&args.scenario), model, seed_of(args, 0));
    let federation = federation.map_err(|why| wrong(args, why))?;
    interrupt::watch();
    let replications = usize::from(args.replications);
    let outcomes = in_parallel(args.jobs, replications, STEPS, |replication, ticker| {
        let federation = Federation { seed: seed_of(args, replication), ..federation.clone() };
        let mut told = 0;
        simulate(&federation, |share| {
            let now = (share * STEPS as f64) as u64;
            (told..now).for_each(|_| ticker.tick());
            told = told.max(now);
        })
    })?;
    let mut report = Report::new("sim federation", 1);
    report.seed(args.seed);
    let rows = results::rows(name, &federation, &outcomes);
    let mut notes = results::notes(&scenario.title, &federation, &outcomes);
    if outcomes.len() < replications {
        notes.push(format!("stopped: {} of {replications} replications", outcomes.len()));
    } else if interrupt::is_stopped() {
        notes.push("stopped: figures are of what was simulated until then".to_owned());
    }
    if !args.json.takes_stdout() {
        say(results::table(&federation, &outcomes));
        groups::table(&federation, &outcomes).into_iter().for_each(say);
        notes.iter().for_each(say);
    }
    rows.into_iter().for_each(|row| report.row(row));
    notes.into_iter().for_each(|note| report.note(note));
    let mut summary = json!({
        "nodes": federation.nodes,
        "joined": federation.joined.name(),
        "replications": outcomes.len(),
        "events": outcomes.iter().map(|outcome| outcome.events).sum::<u64>(),
    });
    if let Some(multicast) = groups::summary(&federation, &outcomes) {
        summary["multicast"] = multicast;
    }
    report.summary(summary);
    args.json.write(&report)?;
    Ok(interrupt::status())
}

/// The folder that paths in a scenario are relative to.
fn folder_of(scenario: &str) -> &Path {
    Path::new(scenario).parent().unwrap_or(Path::new(""))
}

/// One run, until it ends or the user stops it.
fn simulate(federation: &Federation, mut progress: impl FnMut(f64)) -> Result<hostsim::Report, Failure> {
    let outcome = hostsim::run(federation, |share| {
        progress(share);
        !interrupt::is_stopped()
    });
    outcome.map_err(|why: RunError| Failure::bad_news(format_args!("the simulation came to nothing: {why}")))
}
