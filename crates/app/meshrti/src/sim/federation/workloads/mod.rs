//! Workloads as commands: the traffic of a workload model, recorded traffic, and either of them for hours.
//! Each is a task of a federation, which real processes and simulated ones do alike.

mod phases;
mod record;
mod replay;
mod soak;
mod traffic;

use std::path::{Path, PathBuf};

use base::Seed;
use bench::federation::{self as live, Running};
use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::{Table, figure, or_dash};
use experiment::SeedFlag;
use hostsim::{Federation, HostModel, Recording, SIZE_BYTES_MIN, Task, Work};
use serde_json::{Value, json};
use workload::Workload;

use super::hosts;
use super::plan::live_plan;
use crate::bench::{Target, failure, launcher};

pub(crate) use record::{RecordArgs, run_record};
pub(crate) use replay::{ReplayArgs, run_replay};
pub(crate) use soak::{SoakArgs, run_soak};
pub(crate) use traffic::{TrafficArgs, run_traffic};

/// Whether a workload runs with real processes, simulated, or both.
#[derive(clap::Args)]
pub(crate) struct SimFlags {
    /// With real processes; the default unless there is --sim
    #[arg(long)]
    live: bool,
    /// As the simulator says; with --live beside it
    #[arg(long, conflicts_with = "server")]
    sim: bool,
    /// The host model of the simulator, such as `sim calibrate` writes
    #[arg(long, value_name = "FILE", requires = "sim")]
    hosts: Option<PathBuf>,
    #[command(flatten)]
    seed: SeedFlag,
}

impl SimFlags {
    pub(crate) fn is_live(&self) -> bool {
        self.live || !self.sim
    }

    /// The seed of what is simulated, if anything is.
    pub(crate) fn seed(&self) -> Option<u64> {
        self.sim.then_some(self.seed.seed)
    }

    /// The host model of the file, or the example.
    ///
    /// # Errors
    /// The file is no host model.
    fn host_model(&self) -> Result<HostModel, Failure> {
        hosts::read_or_example(self.hosts.as_deref()).map_err(Failure::wrong_use)
    }
}

/// Where a workload runs.
#[derive(clap::Args)]
pub(super) struct RunFlags {
    /// Federates that subscribe to everything, in one process at the last node
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    subscribers: u32,
    #[command(flatten)]
    runs: SimFlags,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

/// The updates of one federate.
enum Traffic {
    /// The objects of a workload, for so long.
    Drawn(Workload, std::time::Duration),
    /// Those of a recording.
    Recorded(Recording),
}

impl RunFlags {
    /// A chain of nodes on one computer, with the federate that updates at the first one and the
    /// subscribers at the last one.
    ///
    /// # Errors
    /// A setting out of range, or no host model.
    fn federation(&self, traffic: Traffic) -> Result<Federation, Failure> {
        let subscribers = self.subscribers;
        let (mut workloads, mut recordings) = (Vec::new(), Vec::new());
        let task = match traffic {
            Traffic::Drawn(workload, run) => {
                workloads.push(workload);
                Task::Entities { workload: 0, run, subscribers }
            }
            Traffic::Recorded(recording) => {
                recordings.push(recording);
                Task::Replay { recording: 0, subscribers }
            }
        };
        let last = self.target.last_node();
        let work = Work { task, size_bytes: SIZE_BYTES_MIN, from: 0, to: vec![last] };
        let federation = Federation {
            workloads,
            recordings,
            ..Federation::chain(last + 1, self.runs.host_model()?, vec![work], Seed(self.runs.seed.seed))
        };
        federation.check().map_err(Failure::wrong_use)?;
        Ok(federation)
    }

    /// Starts federates, and the server unless one is given.
    async fn start(&self, federation: &Federation) -> Result<Running, Failure> {
        let plan = live_plan(federation, &[]).map_err(Failure::wrong_use)?;
        let launcher = launcher()?;
        let server = self.target.server(&launcher).await?;
        Box::pin(Running::on(&launcher, server, &plan)).await.map_err(failure)
    }

    /// Does the traffic of a federation once, live or simulated or both, and reports it as `command`.
    async fn run(&self, command: &'static str, federation: &Federation, note: &str) -> Outcome {
        let mut figures = Vec::new();
        if self.runs.is_live() {
            let mut running = self.start(federation).await?;
            let measured = Box::pin(running.run()).await.map_err(failure)?;
            figures.push(Figures::live(federation, &measured)?);
        }
        if self.runs.sim {
            figures.push(Figures::simulated(&super::simulate(federation, |_| ())?));
        }
        let mut report = Report::new(command, 1);
        report.seed(self.runs.seed.seed);
        figures.iter().for_each(|figures| report.row(figures.row()));
        report.note(note);
        if self.runs.is_live() {
            report.note(self.target.note());
        }
        if !self.json.takes_stdout() {
            say(table(&figures));
            say(note);
        }
        self.json.write(&report)?;
        Ok(Status::Done)
    }
}

/// The figures of a run.
struct Figures {
    live: bool,
    updates: u64,
    /// Reflects of all subscribers, and how many there are without loss.
    reflects: u64,
    expected: u64,
    /// From an update to its reflects: 50, 90 and 99 %.
    quantiles_us: Option<[f64; 3]>,
    /// Processor time of all nodes for an update, if they were started for the run.
    nodes_cpu_us: Option<f64>,
}

impl Figures {
    fn live(federation: &Federation, measured: &live::Measured) -> Result<Self, Failure> {
        let updates = federation.script(0).map_err(Failure::wrong_use)?.len() as u64;
        let done = &measured.done[0];
        let seconds: Option<f64> = measured.nodes_cpu_s.iter().copied().sum();
        Ok(Self {
            live: true,
            updates,
            reflects: done.reflects.unwrap_or(0),
            expected: updates * u64::from(federation.work[0].task.subscribers()),
            quantiles_us: done.quantiles_us,
            // The sum of nothing is zero: there are no nodes of ours.
            nodes_cpu_us: seconds
                .filter(|_| !measured.nodes_cpu_s.is_empty())
                .map(|seconds| seconds * 1e6 / updates.max(1) as f64),
        })
    }

    fn simulated(report: &hostsim::Report) -> Self {
        let done = &report.done[0];
        let subscribers = u64::from(done.work.task.subscribers()).max(1);
        let updates = done.expected / subscribers;
        let quantiles = [0.5, 0.9, 0.99].map(|share| done.quantile_us(share));
        let nanos: f64 = report.nodes_ns.iter().sum();
        Self {
            live: false,
            updates,
            reflects: done.reflects,
            expected: done.expected,
            quantiles_us: if let [Some(p50), Some(p90), Some(p99)] = quantiles {
                Some([p50, p90, p99])
            } else {
                None
            },
            nodes_cpu_us: Some(nanos / 1e3 / updates.max(1) as f64),
        }
    }

    fn quantile_us(&self, at: usize) -> Option<f64> {
        self.quantiles_us.map(|quantiles| quantiles[at])
    }

    /// Reflects that did not come, all of them of best effort.
    fn lost(&self) -> u64 {
        self.expected.saturating_sub(self.reflects)
    }

    fn row(&self) -> Value {
        json!({
            "live": self.live,
            "updates": self.updates,
            "reflects": self.reflects,
            "lost": self.lost(),
            "p50_us": self.quantile_us(0),
            "p90_us": self.quantile_us(1),
            "p99_us": self.quantile_us(2),
            "nodes_cpu_us": self.nodes_cpu_us,
        })
    }
}

fn by(live: bool) -> &'static str {
    if live { "live" } else { "sim" }
}

fn table(figures: &[Figures]) -> String {
    let mut table =
        Table::new(["", "updates", "reflects", "lost", "p50 µs", "p90", "p99", "node CPU µs/update"]);
    for figures in figures {
        table.line([
            by(figures.live).to_owned(),
            figures.updates.to_string(),
            figures.reflects.to_string(),
            figures.lost().to_string(),
            or_dash(figures.quantile_us(0)),
            or_dash(figures.quantile_us(1)),
            or_dash(figures.quantile_us(2)),
            or_dash(figures.nodes_cpu_us),
        ]);
    }
    table.text()
}

/// Reads a workload, as scenario files do, with a default number of objects for presets.
fn read_workload(name: &str, objects: Option<u32>) -> Result<Workload, Failure> {
    const OBJECTS: u32 = 200;
    let is_preset = ["table1", "full4"].contains(&name);
    let objects = objects.or(is_preset.then_some(OBJECTS));
    crate::sim::network::workload(name, ("the command", "--objects", objects), Path::new(""))
        .map_err(Failure::wrong_use)
}

/// The number of objects, and the number and mean size of updates, in words.
fn in_words(federation: &Federation) -> Result<String, Failure> {
    let script = federation.script(0).map_err(Failure::wrong_use)?;
    let bytes: u64 = script.iter().map(|update| u64::from(update.size_bytes)).sum();
    let reliable = script.iter().filter(|update| update.reliable).count();
    let count = script.len().max(1) as f64;
    Ok(format!(
        "{} objects, {} updates of {} bytes on average, {} % of them reliable",
        federation.objects(0),
        script.len(),
        figure(bytes as f64 / count),
        figure(100.0 * reliable as f64 / count)
    ))
}
