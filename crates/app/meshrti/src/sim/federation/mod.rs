//! Scenario files of whole federations: nodes and federates as processes of simulated computers, or of this machine.

mod between;
pub(super) mod calibrate;
mod cases;
mod file;
mod groups;
mod hosts;
mod live;
mod of_all;
mod pairs;
mod plan;
mod recording;
mod results;
mod rounds;
mod workloads;

use std::path::{Path, PathBuf};

use hostsim::{Federation, RunError};
use serde_json::json;

use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};
use experiment::parallel::in_parallel;
use experiment::settings::read_scenario;
use experiment::{RunFlags, Settings, interrupt, seed_of};
use file::Scenario;

pub(crate) use live::{LiveArgs, run_live};
pub(crate) use pairs::{PairsArgs, run_pairs};
pub(crate) use workloads::{
    RecordArgs, ReplayArgs, SimFlags, SoakArgs, TrafficArgs, run_record, run_replay, run_soak, run_traffic,
};

/// The value of `kind` in files of such scenarios.
pub(super) const KIND: &str = "federation";

/// Options of federations.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti sim calibrate --hosts hosts.toml                                 the costs of this machine
  meshrti sim examples/simulations/federation.toml --hosts hosts.toml      a federation on such computers
  meshrti bench federation mine.toml --live --sim --hosts hosts.toml       beside real processes")]
pub(super) struct Args {
    /// The scenario file
    #[arg(value_name = "FILE")]
    file: String,
    /// The host model to use, in place of that of the file
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Print the scenario instead of running it
    #[arg(long)]
    show: bool,
    #[command(flatten)]
    runs: RunFlags,
    #[command(flatten)]
    json: JsonFlag,
}

/// The number of progress steps of a run.
const STEPS: u64 = 200;

/// Reads a scenario, simulates it, and reports.
pub(super) fn run(args: &Args) -> Outcome {
    let settings = &Settings::new(&args.file, args.runs, &args.json);
    let (name, text) = &read_scenario(&args.file)?;
    let scenario = settings.read_or_show(args.show, text, Scenario::parse)?;
    let Some(scenario) = scenario else { return Ok(Status::Done) };
    let federation = scenario.federation(folder_of(&args.file), args.hosts.as_deref(), seed_of(settings, 0));
    let federation = federation.map_err(|why| settings.wrong(why))?;
    interrupt::watch();
    let replications = usize::from(settings.replications);
    let outcomes = in_parallel(settings.jobs, replications, STEPS, |replication, ticker| {
        let federation = Federation { seed: seed_of(settings, replication), ..federation.clone() };
        let mut told = 0;
        simulate(&federation, |share| {
            let now = (share * STEPS as f64) as u64;
            (told..now).for_each(|_| ticker.tick());
            told = told.max(now);
        })
    })?;
    let mut report = Report::new("sim federation", 1);
    report.seed(settings.seed);
    let rows = results::rows(name, &federation, &outcomes);
    let mut notes = results::notes(&scenario.title, &federation, &outcomes);
    notes.extend(results::notes_of_all(&federation, &outcomes, scenario.discard_largest));
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
