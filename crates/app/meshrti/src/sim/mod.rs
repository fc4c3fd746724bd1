//! `meshrti sim`: simulate a network of routers, a group of SRMP members, or a cluster. Each
//! scenario is a subcommand with its own options; the studies of papers are libraries.

mod csv;
mod federation;
mod file;
mod grants;
mod interest;
mod list;
mod network;
mod pool;
mod region;

use clap::Subcommand;

use console::exit::Outcome;
pub(crate) use federation::{
    LiveArgs, PairsArgs, RecordArgs, ReplayArgs, SimFlags, SoakArgs, TrafficArgs, run_live, run_pairs,
    run_record, run_replay, run_soak, run_traffic,
};
pub(crate) use file::{kind_of, options_hint, with_kind};

/// Simulate a network of routers, of SRMP members, or of a cluster, before building it.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    subcommand_value_name = "SCENARIO",
    subcommand_help_heading = "Scenarios",
    override_usage = "meshrti sim <SCENARIO> [OPTIONS]\n       meshrti sim <FILE> [OPTIONS]",
    after_help = "\
Examples:
  meshrti sim juo --show > mine.toml           the text of a built-in scenario, to be changed
  meshrti sim mine.toml --replications 5       your own, with the options of its kind

Routers and group members are those of the server. A scenario and a seed give the same figures."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    scenario: Scenario,
}

/// The scenarios, and what else there is to simulations.
#[derive(Subcommand)]
enum Scenario {
    /// List the scenarios
    List(list::Args),
    /// A network by itself, from a scenario file
    Network(network::Args),
    /// Whole nodes and federates on simulated computers, from a scenario file
    Federation(federation::Args),
    #[command(flatten)]
    Routers(router_study::Command),
    #[command(flatten)]
    Via(via_study::Command),
    #[command(flatten)]
    Srmp(srmp_study::Command),
    /// Whole nodes with federates: frames that a change of interest costs
    InterestScale(interest::Args),
    /// Whole nodes with federates in logical time: messages that a grant costs
    GrantScale(grants::Args),
    /// Whole nodes interested in areas: octets that a wanted update costs
    RegionScale(region::Args),
    /// Measure what messages cost on this machine, and fit a host model
    Calibrate(federation::calibrate::Args),
    /// Combine reports of one scenario with different seeds
    Pool(pool::Args),
}

/// Runs the scenario.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.scenario {
        Scenario::List(args) => list::run(args),
        Scenario::Network(args) => network::run(args),
        Scenario::Federation(args) => federation::run(args),
        Scenario::Routers(command) => command.run(),
        Scenario::Via(command) => command.run(),
        Scenario::Srmp(command) => command.run(),
        Scenario::InterestScale(args) => interest::run(args),
        Scenario::GrantScale(args) => grants::run(args),
        Scenario::RegionScale(args) => region::run(args),
        Scenario::Calibrate(args) => federation::calibrate::run(args),
        Scenario::Pool(args) => pool::run(args),
    }
}
