//! The `meshrti` command: one file per subcommand.
//!
//! A subcommand is a module with `Args` (a [`clap::Args`]) and `run(&Args) -> Outcome`. To add one,
//! write the module and add a line to [`Command`] and one to [`Command::run`]. Subcommands share
//! [`exit`] (outcomes, printing, running async work) and [`report`] (`--json`).

mod bench;
mod demo;
mod exit;
mod fom;
mod logging;
mod mpi;
mod network;
mod open_files;
mod ping;
mod report;
mod serve;
mod sim;
mod srmp;
mod status;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::Outcome;

/// An open HLA 4 run-time infrastructure (RTI).
#[derive(Parser)]
#[command(name = "meshrti", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    verbosity: logging::Verbosity,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  meshrti demo                     see it work
  meshrti serve                    an RTI on port 15164 that federates can join
  meshrti status                   what runs on it
  meshrti ping sim-host:15164      whether it answers, and how fast
  meshrti bench quick              how fast it is
  meshrti fom check *.xml          whether FOM modules fit together
  meshrti sim list                 what can be simulated
  meshrti srmp recv                hear a multicast group

Exit status: 0 done, 1 bad news, 2 wrong use, 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    /// Show an RTI at work: embedded server, a few federates, a live table
    Demo(demo::Args),
    /// Run a node that federates can join
    Serve(Box<serve::Args>),
    /// See to what a node keeps of its network: reset
    Network(network::Args),
    /// Say what runs on a server: federations and their members
    Status(status::Args),
    /// Say whether a server answers, and how fast
    Ping(ping::Args),
    /// Measure a server against the floor of the bare network
    Bench(bench::Args),
    /// Check and merge FOM modules
    Fom(fom::Args),
    /// Simulate a network of routers before building it
    Sim(Box<sim::Args>),
    /// Use the multicast protocol SRMP by itself: send, recv
    Srmp(srmp::Args),
}

impl Command {
    /// The log level without flags: the events of a server for its operator, and only warnings and
    /// errors for subcommands that print tables.
    const fn default_level(&self) -> &'static str {
        match self {
            Command::Demo(_) | Command::Bench(_) | Command::Sim(_) | Command::Srmp(_) => "warn",
            _ => "info",
        }
    }

    fn run(&self, verbosity: &logging::Verbosity) -> Outcome {
        match self {
            Command::Demo(args) => demo::run(args, verbosity.is_quiet()),
            Command::Serve(args) => serve::run(args),
            Command::Network(args) => network::run(args),
            Command::Status(args) => status::run(args),
            Command::Ping(args) => ping::run(args),
            Command::Bench(args) => bench::run(args),
            Command::Fom(args) => fom::run(args),
            Command::Sim(args) => sim::run(args),
            Command::Srmp(args) => srmp::run(args),
        }
    }
}

/// The C library's allocator uses atomic operations as soon as a process has two threads, and
/// messages are allocated by the thousand before the first one is freed. See
/// docs/decisions/0006-allocator.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse(); // wrong use ends here, with status 2
    let started = logging::init(&cli.verbosity, cli.command.default_level());
    exit::report(started.and_then(|()| cli.command.run(&cli.verbosity)))
}
