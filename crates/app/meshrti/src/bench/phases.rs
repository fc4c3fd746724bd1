//! The common parts of the commands whose federates go through phases.

use bench::phases::{Outcome, measure};
use bench::{Launcher, Server};
use console::report::Report;
use console::rounds::Rounds;
use console::table::{Table, or_dash};
use serde_json::{Value, json};
use workload::phases::Plan;

use super::{Target, failure, launcher};
use console::exit::Failure;
use console::progress::Progress;

#[cfg(feature = "sim")]
pub(super) use crate::sim::SimFlags;

/// This program has no simulator: everything is live.
#[cfg(not(feature = "sim"))]
#[derive(clap::Args)]
pub(super) struct SimFlags {}

#[cfg(not(feature = "sim"))]
impl SimFlags {
    #[allow(clippy::unused_self)] // with a simulator it looks
    pub(super) fn is_live(&self) -> bool {
        true
    }

    #[allow(clippy::unused_self)] // with a simulator it looks
    fn seed(&self) -> Option<u64> {
        None
    }
}

/// The phases of a run, live or simulated.
pub(super) struct Run {
    pub(super) live: bool,
    pub(super) outcomes: Vec<Outcome>,
    /// Octets of saved federation executions, as far as one knows.
    pub(super) saved_bytes: Option<u64>,
}

/// Goes through the phases of a plan with real processes.
pub(super) async fn run_live(launcher: &Launcher, server: &Server, plan: Plan) -> Result<Run, Failure> {
    let mut progress = Progress::new(plan.name());
    let of_phase = |done, all, phase: Option<&str>| {
        if let Some(phase) = phase {
            tracing::info!(phase, "begins");
        }
        progress.at(done as u64, all as u64);
    };
    let outcomes = Box::pin(measure(launcher, server, plan, of_phase)).await.map_err(failure)?;
    Ok(Run { live: true, outcomes, saved_bytes: None })
}

/// Goes through them at the target, live or simulated or both, and notes how.
pub(super) async fn run_at(
    target: &Target,
    flags: &SimFlags,
    plan: Plan,
    report: &mut Report,
) -> Result<Vec<Run>, Failure> {
    let mut runs = Vec::new();
    if flags.is_live() {
        let launcher = launcher()?;
        let server = target.server(&launcher).await?;
        runs.push(run_live(&launcher, &server, plan).await?);
        report.note(target.note());
    }
    runs.extend(simulate(flags, plan, target.nodes())?);
    note_simulation(report, flags);
    Ok(runs)
}

/// Goes through them at so many simulated nodes; `None` unless the flags ask for it.
#[cfg(feature = "sim")]
pub(super) fn simulate(flags: &SimFlags, plan: Plan, nodes: u16) -> Result<Option<Run>, Failure> {
    let times = |times: &[std::time::Duration]| {
        let mut rounds = Rounds::new(0);
        times.iter().for_each(|time| rounds.record(*time));
        rounds
    };
    let run = |report: hostsim::PlanReport| {
        let outcome = |phase: &hostsim::PhaseReport| Outcome {
            name: phase.name,
            count: phase.count,
            took: phase.took,
            each: times(&phase.times),
            of_groups: phase.of_groups.clone(),
            counts: phase.counts,
            nodes_cpu: Some(phase.nodes),
            canary: times(&phase.canary),
        };
        let outcomes = bench::phases::by_name(report.phases.iter().map(outcome));
        Run { live: false, outcomes, saved_bytes: Some(report.saved_bytes) }
    };
    Ok(flags.simulate(plan, nodes)?.map(run))
}

/// Nothing: this program has no simulator.
#[cfg(not(feature = "sim"))]
#[allow(clippy::unnecessary_wraps)] // with a simulator it may fail
pub(super) fn simulate(_flags: &SimFlags, _plan: Plan, _nodes: u16) -> Result<Option<Run>, Failure> {
    Ok(None)
}

/// Notes how a simulated run came about.
pub(super) fn note_simulation(report: &mut Report, flags: &SimFlags) {
    if let Some(seed) = flags.seed() {
        report.seed(seed);
        report.note(
            "simulated: the host model has the costs of calls, callbacks, messages and bytes, and none for what a \
             service costs beyond that, nor for the disk",
        );
    }
}

/// The median, 99 % and the longest round trip of the canary, in microseconds; `None` if there was none, as in
/// a phase that is shorter than the pause between two.
fn canary_us(canary: &Rounds) -> [Option<f64>; 3] {
    let figures = [canary.quantile_us(0.5), canary.quantile_us(0.99), canary.max_us()];
    figures.map(|figure| (canary.samples() > 0).then_some(figure))
}

/// A row with the keys of the canary.
pub(super) fn with_canary(mut row: Value, live: bool, canary: &Rounds) -> Value {
    let [p50, p99, max] = canary_us(canary);
    row["live"] = json!(live);
    row["canary_samples"] = json!(canary.samples());
    row["canary_p50_us"] = json!(p50);
    row["canary_p99_us"] = json!(p99);
    row["canary_max_us"] = json!(max);
    row
}

/// The same figures in a table.
pub(super) fn canary_figures(canary: &Rounds) -> [String; 3] {
    canary_us(canary).map(or_dash)
}

/// The first cell of the lines of a run.
pub(super) fn by(live: bool) -> String {
    if live { "live" } else { "sim" }.to_owned()
}

/// A table with a line for each phase. The first column is [`by`], which is left out if all is live.
pub(super) fn table<const N: usize>(
    runs: &[Run],
    heads: [&str; N],
    line: impl Fn(&Run, &Outcome) -> [String; N],
) -> String {
    let mut table = Table::new(heads);
    for run in runs {
        run.outcomes.iter().for_each(|outcome| table.line(line(run, outcome)));
    }
    text(table, runs.iter().all(|run| run.live))
}

/// The table as text, without the first column if all is live.
pub(super) fn text(table: Table, all_live: bool) -> String {
    if all_live { table.without_first_column() } else { table }.text()
}
