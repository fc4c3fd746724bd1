//! `meshrti sim`: simulate a network of routers, a group of SRMP members, or a cluster.

mod built_in;
mod course;
mod exercise;
pub(crate) mod federation;
mod hardware;
mod interest;
mod interrupt;
mod network;
mod parallel;
mod pool;
mod ran;
mod routers;
mod sheet;
mod srmp;
mod stats;
mod usage;
mod via;

use std::num::NonZeroUsize;
use std::path::Path;

use base::Seed;
use serde_json::json;

use crate::bench::table::Table;
use crate::exit::{Failure, Outcome, Status, say};
use crate::report::{JsonFlag, Report};
use built_in::BUILT_IN;

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
  meshrti sim router-table1                          links that messages cross, beside the paper's table
  meshrti sim juo                                    simulators at sites over a WAN, as a tree and as a mesh
  meshrti sim sfexpress --plots charts               50,000 and 100,000 vehicles on 1,904 processors
  meshrti sim million --nodes 420 --seconds 1        a million entities, or a part of them
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
    /// Simulated length of each run of exercises, of srmp-queueing and of the other experiments with SRMP
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: Option<u32>,
    /// Write messages on their way to FILE, for Perfetto (ui.perfetto.dev): networks and via-torus
    #[arg(long, value_name = "FILE")]
    trace: Option<std::path::PathBuf>,
    #[command(flatten)]
    files: sheet::FilesFlag,
    #[command(flatten)]
    interest: interest::Options,
    #[command(flatten)]
    exercise: exercise::ExerciseFlags,
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
    if args.scenario == federation::calibrate::NAME {
        refuse_options_of_others(args, Some(Options::Federation))?;
        return federation::calibrate::run(args);
    }
    if args.scenario == interest::NAME {
        refuse_options_of_others(args, Some(Options::Interest))?;
        return interest::run(args);
    }
    if let Some(scenario) = via::find(&args.scenario) {
        refuse_options_of_others(args, scenario.options())?;
        return via::run(args, scenario);
    }
    if let Some(scenario) = srmp::find(&args.scenario) {
        refuse_options_of_others(args, Some(Options::Srmp))?;
        return srmp::run(args, scenario);
    }
    if args.scenario == routers::TABLE_1 {
        refuse_options_of_others(args, None)?;
        return routers::table1(args);
    }
    run_file(args)
}

/// Options that only scenarios of one kind have.
#[derive(Clone, Copy, PartialEq)]
enum Options {
    Interest,
    Torus,
    Srmp,
    Exercise,
    Federation,
}

/// Fails if the user gives options of another kind of scenario.
fn refuse_options_of_others(args: &Args, own: Option<Options>) -> Result<(), Failure> {
    let other = |options: Options| own != Some(options);
    if other(Options::Interest) {
        interest::refuse_options(args, !other(Options::Exercise))?;
    }
    if other(Options::Torus) {
        refuse(args, &args.via, via::OPTIONS_FOR)?;
    }
    if other(Options::Srmp) && args.receivers.is_some() {
        return Err(srmp::no_receivers());
    }
    if other(Options::Exercise) {
        refuse(args, &args.exercise, exercise::OPTIONS_FOR)?;
    }
    if other(Options::Federation) {
        refuse(args, &args.federation, federation::OPTIONS_FOR)?;
    }
    Ok(())
}

/// Fails if any of these options is given.
fn refuse<T: Default + PartialEq>(args: &Args, options: &T, why: &str) -> Result<(), Failure> {
    if *options == T::default() {
        return Ok(());
    }
    Err(Failure::wrong_use(format_args!("{}: {why}", args.scenario)))
}

/// Runs a scenario from a file, or one that is built in as a file.
fn run_file(args: &Args) -> Outcome {
    let (name, text) = find(&args.scenario)?;
    let kind = network::kind_of(&text);
    let kind = kind.as_deref().unwrap_or("router-networks");
    let own = match kind {
        "exercise" => Some(Options::Exercise),
        federation::KIND => Some(Options::Federation),
        _ => None,
    };
    refuse_options_of_others(args, own)?;
    if kind != "network" && args.trace.is_some() {
        return Err(wrong(args, "--trace is for networks from files and via-torus"));
    }
    if kind != "exercise" && args.seconds.is_some() {
        return Err(wrong(args, format_args!("--seconds is for {}", seconds_for())));
    }
    match kind {
        "exercise" => exercise::run(args, &name, &text),
        "network" => network::run(args, &name, &text),
        federation::KIND => federation::run(args, &name, &text),
        "router-networks" => routers::run(args, &name, &text),
        other => Err(wrong(
            args,
            format_args!(
                "unknown kind `{other}`, expected `network`, `federation`, `router-networks` or `exercise`"
            ),
        )),
    }
}

/// A failure about a scenario, or about its use.
fn wrong(args: &Args, why: impl std::fmt::Display) -> Failure {
    Failure::wrong_use(format_args!("scenario {}: {why}", args.scenario))
}

/// Parses the text of a scenario. With `--show`, prints the text instead and returns `None`.
fn read_or_show<S>(
    args: &Args,
    text: &str,
    parse: impl FnOnce(&str) -> Result<S, String>,
) -> Result<Option<S>, Failure> {
    let scenario = parse(text).map_err(|why| wrong(args, why))?;
    if args.show {
        say(text.trim_end());
        return Ok(None);
    }
    Ok(Some(scenario))
}

/// The seed of a replication. The first is that of the command.
fn seed_of(args: &Args, replication: usize) -> Seed {
    if replication == 0 { Seed(args.seed) } else { Seed(args.seed).split_index(replication as u64) }
}

/// The list of scenarios that have `--seconds`.
fn seconds_for() -> String {
    format!("scenarios with `kind = \"exercise\"` and {}", srmp::EXPERIMENTS)
}

/// Fails if the user wants files that the scenario does not write.
fn refuse_files(args: &Args) -> Result<(), Failure> {
    let name = &args.scenario;
    // The kind of a scenario file is only known after reading it.
    let is_file = is_from_file(name);
    let is_experiment = srmp::is_experiment(name);
    if args.seconds.is_some() && !is_experiment && !is_file {
        return Err(Failure::wrong_use(format_args!("{name}: --seconds is for {}", seconds_for())));
    }
    if args.seconds.is_some_and(|seconds| seconds < 10) && is_experiment {
        return Err(Failure::wrong_use(format_args!("{name}: --seconds must be 10 or more")));
    }
    let has_files = is_experiment || is_file || via::has_course(name) || name == routers::TABLE_1;
    if args.files.is_given() && !has_files {
        let what = format_args!(
            "{name}: --csv and --plots are for scenarios from files, {}, via-torus, {}",
            routers::TABLE_1,
            srmp::EXPERIMENTS
        );
        return Err(Failure::wrong_use(what));
    }
    if args.trace.is_some() && !via::has_course(name) && !is_file {
        return Err(Failure::wrong_use(format_args!(
            "{name}: --trace is for networks from files and via-torus"
        )));
    }
    Ok(())
}

/// Whether a scenario is a file, or is built in as a file.
fn is_from_file(name: &str) -> bool {
    !is_built_in(name) || BUILT_IN.iter().any(|built_in| built_in.name == name)
}

/// Whether a name is that of a built-in scenario, and not of a file.
fn is_built_in(name: &str) -> bool {
    name == interest::NAME
        || name == federation::calibrate::NAME
        || name == routers::TABLE_1
        || via::find(name).is_some()
        || srmp::find(name).is_some()
        || BUILT_IN.iter().any(|built_in| built_in.name == name)
}

fn list(args: &Args) -> Outcome {
    let mut report = Report::new("sim list", 1);
    let mut table = Table::new(["scenario", "what it is"]);
    for built_in in BUILT_IN {
        let title = built_in.title();
        report.row(json!({ "scenario": built_in.name, "title": title }));
        table.line([built_in.name.to_owned(), title]);
    }
    let interest = [
        (routers::TABLE_1, routers::TABLE_1_TITLE),
        (interest::NAME, interest::TITLE),
        (federation::calibrate::NAME, federation::calibrate::TITLE),
    ];
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
