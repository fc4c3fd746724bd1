//! `meshrti sim`: simulate a network of routers, a group of SRMP members, or a cluster.

mod built_in;
mod course;
pub(crate) mod federation;
mod file;
mod interest;
mod interrupt;
mod network;
mod output;
mod parallel;
mod pool;
mod ran;
mod sheet;
mod srmp;
mod stats;
mod usage;
mod via;
mod work;

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use base::Seed;
use serde_json::json;

use crate::bench::progress::Progress;
use crate::bench::table::Table;
use crate::exit::{Failure, Outcome, Status, say};
use crate::report::{JsonFlag, Report};
use built_in::BUILT_IN;
use file::Scenario;

/// Simulate a network of routers, of SRMP members, or of a cluster, before building it.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  meshrti sim list                                   what there is
  meshrti sim router-tree-vs-mesh                    the built-in scenario of that name
  meshrti sim router-tree-vs-mesh --show > mine.toml its text, to be changed
  meshrti sim mine.toml --replications 5             your own, five times with different chance
  meshrti sim router-tree-vs-mesh --json out.json    with a report for machines
  meshrti sim srmp-table1                            the evaluation of the SRMP paper, in three readings
  meshrti sim srmp-goals --receivers 1000            what a large group of SRMP members costs and takes
  meshrti sim interest-scale --nodes 100             whole nodes: what a change of interest costs
  meshrti sim via-four-hop                           a host's stages beside the table of the VIA paper
  meshrti sim via-torus                              its cluster of 1024 hosts
  meshrti sim examples/simulations/fat-tree.toml     a network by itself, from a file
  meshrti sim mine.toml --plots charts --csv tables  latencies over time, their distribution, how busy links are
  meshrti sim via-torus --trace torus.json           messages on their way, to be opened in Perfetto
  meshrti sim calibrate --hosts hosts.toml           what messages cost on this machine, as a host model
  meshrti sim examples/simulations/federation.toml   whole nodes and federates on computers with such costs
  meshrti sim pool seed-*.json                       reports with different seeds as one
  meshrti sim srmp-queueing --plots charts           the paper's check by queues, with charts

Routers, and members of groups, are those of the server, byte for byte; hosts, links and time are simulated. The same scenario and seed give
the same figures on every machine, whatever the number of jobs."
)]
pub(crate) struct Args {
    /// Name of a built-in scenario, a scenario file, `calibrate`, `pool` or `list`
    #[arg(value_name = "SCENARIO")]
    scenario: String,
    /// pool: reports of one scenario with different seeds, as --json wrote them
    #[arg(value_name = "REPORT")]
    reports: Vec<std::path::PathBuf>,
    /// Where chance comes from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs with different chance, pooled
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    replications: u16,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print the scenario instead of running it
    #[arg(long)]
    show: bool,
    /// Receivers of srmp-scale, srmp-goals and, at most, srmp-q1 [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(netsim::srmp::scale::RECEIVERS_MAX)))]
    receivers: Option<u32>,
    /// Simulated length of each run of srmp-queueing and the other experiments with SRMP
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(10..=86_400))]
    seconds: Option<u32>,
    /// Write messages on their way to FILE, for Perfetto (ui.perfetto.dev): networks and via-torus
    #[arg(long, value_name = "FILE")]
    trace: Option<std::path::PathBuf>,
    #[command(flatten)]
    files: sheet::FilesFlag,
    #[command(flatten)]
    interest: interest::Options,
    #[command(flatten)]
    via: via::Flags,
    #[command(flatten)]
    federation: federation::HostOptions,
    #[command(flatten)]
    json: JsonFlag,
}

pub(crate) use network::kind_of;

pub(crate) fn run(args: &Args) -> Outcome {
    if args.scenario == "list" {
        return list(args);
    }
    if args.scenario == pool::NAME {
        return pool::run(args);
    }
    pool::refuse_reports(args)?;
    refuse_files(args)?;
    interest::refuse_flags(args, &args.scenario)?;
    if args.scenario == federation::calibrate::NAME {
        via::refuse_flags(args, &args.scenario)?;
        return federation::calibrate::run(args);
    }
    if is_built_in(&args.scenario) {
        federation::refuse_flags(args, &args.scenario)?;
    }
    if args.scenario == interest::NAME {
        return interest::run(args);
    }
    if let Some(scenario) = via::find(&args.scenario) {
        return via::run(args, scenario);
    }
    via::refuse_flags(args, &args.scenario)?;
    if let Some(scenario) = srmp::find(&args.scenario) {
        return srmp::run(args, scenario);
    }
    if args.receivers.is_some() {
        return Err(Failure::wrong_use(
            "--receivers: only srmp-scale, srmp-goals and srmp-q1 have receivers",
        ));
    }
    let (name, text) = find(&args.scenario)?;
    match network::kind_of(&text).as_deref() {
        Some("network") => {
            federation::refuse_flags(args, &args.scenario)?;
            return network::run(args, &name, &text);
        }
        Some(federation::KIND) => return federation::run(args, &name, &text),
        None | Some("router-networks") if args.files.is_given() || args.trace.is_some() => {
            return Err(Failure::wrong_use(format_args!(
                "scenario {}: --csv, --plots and --trace are for scenarios with `kind = \"network\"`",
                args.scenario
            )));
        }
        None | Some("router-networks") => federation::refuse_flags(args, &args.scenario)?,
        Some(other) => {
            return Err(Failure::wrong_use(format_args!(
                "scenario {}: unknown kind `{other}`, expected `network`, `federation` or `router-networks`",
                args.scenario
            )));
        }
    }
    let scenario = Scenario::parse(&text)
        .map_err(|why| Failure::wrong_use(format_args!("scenario {}: {why}", args.scenario)))?;
    if args.show {
        say(text.trim_end());
        return Ok(Status::Done);
    }
    simulate(args, &name, &scenario)
}

/// Fails when files are wanted that a scenario does not have.
fn refuse_files(args: &Args) -> Result<(), Failure> {
    let name = &args.scenario;
    let is_network = via::has_course(name) || !is_built_in(name);
    if args.seconds.is_some() && !srmp::is_experiment(name) {
        return Err(Failure::wrong_use(format_args!("{name}: --seconds is for {}", srmp::EXPERIMENTS)));
    }
    if args.files.is_given() && !srmp::is_experiment(name) && !is_network {
        let what = format_args!(
            "{name}: --csv and --plots are for networks from files, via-torus, {}",
            srmp::EXPERIMENTS
        );
        return Err(Failure::wrong_use(what));
    }
    if args.trace.is_some() && !is_network {
        return Err(Failure::wrong_use(format_args!(
            "{name}: --trace is for networks from files and via-torus"
        )));
    }
    Ok(())
}

/// Whether a name is that of a scenario, and not of a file.
fn is_built_in(name: &str) -> bool {
    name == interest::NAME
        || name == federation::calibrate::NAME
        || via::find(name).is_some()
        || srmp::find(name).is_some()
        || BUILT_IN.iter().any(|built_in| built_in.name == name)
}

fn list(args: &Args) -> Outcome {
    let mut report = Report::new("sim list", 1);
    let mut table = Table::new(["scenario", "what it is"]);
    for built_in in BUILT_IN {
        let scenario = Scenario::parse(built_in.text)
            .map_err(|why| Failure::bad_news(format_args!("scenario {}: {why}", built_in.name)))?;
        report.row(json!({ "scenario": built_in.name, "title": scenario.title }));
        table.line([built_in.name.to_owned(), scenario.title]);
    }
    let interest =
        [(interest::NAME, interest::TITLE), (federation::calibrate::NAME, federation::calibrate::TITLE)];
    let srmp = srmp::SCENARIOS.iter().map(|scenario| (scenario.name, scenario.title));
    let srmp = interest.into_iter().chain(srmp);
    for (name, title) in srmp.chain(via::SCENARIOS.iter().map(|scenario| (scenario.name, scenario.title))) {
        report.row(json!({ "scenario": name, "title": title }));
        table.line([name.to_owned(), title.to_owned()]);
    }
    if !args.json.takes_stdout() {
        say(table.text());
    }
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// The name of a scenario, for reports, and its text.
fn find(wanted: &str) -> Result<(String, String), Failure> {
    if let Some(built_in) = BUILT_IN.iter().find(|built_in| built_in.name == wanted) {
        return Ok((wanted.to_owned(), built_in.text.to_owned()));
    }
    let text = std::fs::read_to_string(wanted).map_err(|error| {
        Failure::wrong_use(format_args!(
            "{wanted}: no built-in scenario, and as a file it cannot be read: {error}"
        ))
        .hint("`meshrti sim list` names the built-in ones")
    })?;
    let name =
        Path::new(wanted).file_stem().map_or(wanted.into(), |stem| stem.to_string_lossy().into_owned());
    Ok((name, text))
}

fn simulate(args: &Args, name: &str, scenario: &Scenario) -> Outcome {
    let begun = Instant::now();
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let mut progress = Progress::new("sim");
    let replications = usize::from(args.replications);
    let done = work::run_all(scenario.points(), Seed(args.seed), replications, jobs, |done, all| {
        progress.at(done, all);
    });
    drop(progress);
    let done = done.map_err(|failed| {
        let (run, error) = (&failed.run, &failed.error);
        let (shape, hops, pairs) = (run.shape.name(), run.hops, run.pairs);
        let what = format_args!("scenario {}: {shape}, {hops} hops, {pairs} pairs: {error}", args.scenario);
        Failure::bad_news(what)
    })?;
    let wall_s = begun.elapsed().as_secs_f64();
    let mut report = Report::new("sim router-tree-vs-mesh", 1);
    report.seed(args.seed);
    let results = output::results(scenario, &done);
    results.rows.iter().for_each(|row| report.row(row.to_value()));
    report.note(format!("scenario {name}: {}", scenario.title));
    report.note("times are there and back; speed-up is the mean of the tree over that of the mesh");
    output::notes(scenario, &results).into_iter().for_each(|note| report.note(note));
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
    if !args.json.takes_stdout() {
        say(output::text(scenario, &results));
        say(format_args!("{events} events in {wall_s:.1} s on {jobs} threads"));
    }
    args.json.write(&report)?;
    Ok(Status::Done)
}
