//! The studies of the VIA paper (a cluster of 1024 hosts on a torus), beside its figures, and traffic
//! of real networks for simulations.

mod four_hop;
mod options;
mod torus;
mod trace;

use console::exit::Outcome;
use console::report::JsonFlag;
use experiment::sheet::FilesFlag;
use experiment::{RunFlags, SeedFlag, Settings};

/// The subcommands of `meshrti sim`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// VIA paper, Table 1: two hosts and five switches, idle and under load
    ViaFourHop(FourHopArgs),
    /// VIA paper: 1024 hosts on a torus of 16 by 16 switches, as fluid flows
    ViaTorus(Box<TorusArgs>),
    /// Turn a capture of packets into a trace that network files replay
    TraceFrom(trace::Args),
}

impl Command {
    /// Runs the study.
    ///
    /// # Errors
    /// Options that do not agree, files that cannot be written, or an interruption.
    pub fn run(&self) -> Outcome {
        match self {
            Self::ViaFourHop(args) => four_hop::run(args.seed.seed, &args.json),
            Self::ViaTorus(args) => torus::run(
                &Settings::new("via-torus", args.runs, &args.json)
                    .with_files(&args.files)
                    .with_trace(args.trace.as_deref()),
                &args.flags,
            ),
            Self::TraceFrom(args) => trace::run(args),
        }
    }
}

/// Options of via-four-hop.
#[derive(clap::Args)]
pub struct FourHopArgs {
    #[command(flatten)]
    seed: SeedFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// Options of via-torus.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti sim via-torus                            the cluster of the paper
  meshrti sim via-torus --readings                 all readings of its text, one after the other
  meshrti sim via-torus --torus 8x8x8 --hops 6     another torus
  meshrti sim via-torus --host-model stages        hosts as queues, beside hosts that take a constant time
  meshrti sim via-torus --trace torus.json         messages on their way, to be opened in Perfetto")]
pub struct TorusArgs {
    #[command(flatten)]
    flags: options::Flags,
    #[command(flatten)]
    runs: RunFlags,
    /// Write messages on their way to FILE, for Perfetto (ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    trace: Option<std::path::PathBuf>,
    #[command(flatten)]
    files: FilesFlag,
    #[command(flatten)]
    json: JsonFlag,
}
