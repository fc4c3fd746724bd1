//! The common parts of `meshrti bench fanin` and `fanout`.

use bench::floods::Figures;
use bench::{Launcher, Server};
use console::exit::Failure;
use console::report::{JsonFlag, Report};
use console::table::or_dash;
use workload::phases::{Floods, Plan};

use super::phases::{Run, SimFlags, note_simulation, run_live, simulate};
use super::size;
use super::{Target, failure, launcher};

/// The options of floods.
#[derive(clap::Args)]
pub(super) struct Flags {
    /// Payload
    #[arg(long, value_name = "BYTES", value_parser = size::parse, default_value = "100")]
    size: usize,
    /// Slices in which floods of many federates and of one take turns
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    slices: u32,
    #[command(flatten)]
    runs: SimFlags,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub(super) json: JsonFlag,
}

/// The floods of a run.
pub(super) struct Measured {
    pub(super) live: bool,
    pub(super) figures: Figures,
}

impl Measured {
    /// The figures of a run.
    ///
    /// # Errors
    /// An update was lost or came twice.
    pub(super) fn of(floods: Floods, run: &Run) -> Result<Self, Failure> {
        Ok(Self { live: run.live, figures: Figures::of(floods, &run.outcomes).map_err(failure)? })
    }

    /// Processor time of the server for an update, in microseconds: of many federates, and of one.
    pub(super) fn server_cpu_us(&self) -> [Option<f64>; 2] {
        self.figures.server_cpu_s.map(|seconds| seconds.map(|seconds| seconds * 1e6))
    }

    /// The cells of a table for the server's processor time: the same two, and their ratio.
    pub(super) fn server_cpu_figures(&self) -> [String; 3] {
        let [many, one] = self.server_cpu_us();
        [many, one, self.figures.server_cpu_ratio()].map(or_dash)
    }
}

/// Floods with so many updates, but for the federates.
pub(super) fn floods(flags: &Flags, fan: workload::phases::Fan, updates: u32) -> Floods {
    let size = u32::try_from(flags.size).unwrap_or(u32::MAX);
    Floods { fan, updates, slices: flags.slices.min(updates), size }
}

/// Goes through the floods at the target, live or simulated or both, and notes how.
pub(super) async fn run_all(
    flags: &Flags,
    all: &[Floods],
    report: &mut Report,
) -> Result<Vec<Measured>, Failure> {
    let mut measured = Vec::new();
    if flags.runs.is_live() {
        let launcher = launcher()?;
        let server = flags.target.server(&launcher).await?;
        for floods in all {
            measured.push(run_one(&launcher, &server, *floods).await?);
        }
        report.note(flags.target.note());
    }
    for floods in all {
        let run = simulate(&flags.runs, Plan::Floods(*floods), flags.target.nodes())?;
        measured.extend(run.map(|run| Measured::of(*floods, &run)).transpose()?);
    }
    note_simulation(report, &flags.runs);
    Ok(measured)
}

/// Goes through them with real processes.
pub(super) async fn run_one(
    launcher: &Launcher,
    server: &Server,
    floods: Floods,
) -> Result<Measured, Failure> {
    Measured::of(floods, &run_live(launcher, server, Plan::Floods(floods)).await?)
}
