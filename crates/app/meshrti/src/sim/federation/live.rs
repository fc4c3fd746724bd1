//! `meshrti bench federation`: a scenario of the simulator with real processes on this machine,
//! beside the simulator's prediction.

use std::path::PathBuf;

use base::Seed;
use bench::cores::Awake;
use bench::federation::{Measured, measure};
use bench::namespaces::Namespace;
use hostsim::{Carried, Federation, Report as Simulated};
use serde_json::{Value, json};

use super::file::Scenario;
use super::folder_of;
use super::of_all::{self, OfAll};
use super::plan::live_plan;
use super::results::size_bytes;
use crate::bench::{failure, launcher};
use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::size;
use console::table::{Table, figure, or_dash};

/// A federation from a scenario file of the simulator: nodes and federates as processes on this machine.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench federation examples/simulations/federation.toml          what this machine does
  meshrti bench federation mine.toml --sim --hosts hosts.toml            and what the simulator says of it
  meshrti sim calibrate --hosts hosts.toml                               where the host model comes from
  meshrti bench federation mine.toml --live --namespaces a=10.78.0.1,b=10.78.0.2
                                                                         with `placement = \"by-node\"`")]
pub(crate) struct LiveArgs {
    /// A scenario file with `kind = "federation"`
    #[arg(value_name = "FILE")]
    scenario: String,
    /// With real processes; the default unless there is --sim
    #[arg(long)]
    live: bool,
    /// As the simulator says; with --live beside it
    #[arg(long)]
    sim: bool,
    /// Keep idle cores awake meanwhile, as calibrate does (Linux, as administrator)
    #[arg(long)]
    awake: bool,
    /// The host model of the simulator, in place of that of the file
    #[arg(long, value_name = "FILE", requires = "sim")]
    hosts: Option<PathBuf>,
    /// Network namespaces that stand for the computers of the nodes, which `examples/srmp/namespaces.sh` makes
    #[arg(long, value_name = "NAME=ADDRESS", value_delimiter = ',', requires = "live")]
    namespaces: Vec<Namespace>,
    #[command(flatten)]
    json: JsonFlag,
}

/// Measures, simulates, or both.
pub(crate) async fn run_live(args: &LiveArgs) -> Outcome {
    let wrong = |why: String| Failure::wrong_use(format_args!("scenario {}: {why}", args.scenario));
    let text = std::fs::read_to_string(&args.scenario)
        .map_err(|error| wrong(format!("it cannot be read: {error}")))?;
    if crate::sim::kind_of(&text).as_deref() != Some(super::KIND) {
        return Err(wrong(format!("its kind is not `{}`", super::KIND)));
    }
    let scenario = Scenario::parse(&text).map_err(wrong)?;
    let folder = folder_of(&args.scenario);
    let federation = scenario.federation(folder, args.hosts.as_deref(), Seed(1)).map_err(wrong)?;
    let measured = if args.live || !args.sim {
        let _awake = args.awake.then(Awake::keep).transpose().map_err(|error| {
            Failure::bad_news(format_args!("--awake: the system does not let us keep cores awake: {error}"))
        })?;
        let plan = live_plan(&federation, &args.namespaces).map_err(wrong)?;
        Some(Box::pin(measure(&launcher()?, &plan)).await.map_err(failure)?)
    } else {
        None
    };
    let simulated = if args.sim { Some(super::simulate(&federation, |_| ())?) } else { None };
    let mut lines = lines(&federation, measured.as_ref(), simulated.as_ref());
    lines.extend(lines_of_all(&federation, measured.as_ref(), simulated.as_ref(), scenario.discard_largest));
    let mut report = Report::new("bench federation", 1);
    lines.iter().for_each(|line| report.row(line.row()));
    report.note(scenario.title.clone());
    if !args.json.takes_stdout() {
        say(table(&lines));
        say(&scenario.title);
    }
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// One figure of one task, or of the groups that nodes share.
struct Line {
    task: Option<usize>,
    what: &'static str,
    /// `None` if updates have different sizes.
    size_bytes: Option<u32>,
    measured: Option<f64>,
    simulated: Option<f64>,
}

fn lines(federation: &Federation, measured: Option<&Measured>, simulated: Option<&Simulated>) -> Vec<Line> {
    let mut lines = Vec::new();
    for (task, work) in federation.work.iter().enumerate() {
        let live = measured.map(|measured| &measured.done[task]);
        let sim = simulated.map(|simulated| &simulated.done[task]);
        let mut line = |what, measured, simulated| {
            lines.push(Line {
                task: Some(task + 1),
                what,
                size_bytes: size_bytes(work),
                measured,
                simulated,
            });
        };
        if work.task.is_scripted() {
            let reflects = live.and_then(|done| done.reflects).map(|count| count as f64);
            line("reflects", reflects, sim.map(|done| done.reflects as f64));
        }
        if work.task.is_flood() {
            line("reflects_per_s", live.and_then(|done| done.per_s), sim.map(hostsim::Done::per_s));
            continue;
        }
        for (at, (what, share)) in
            [("p50_us", 0.5), ("p90_us", 0.9), ("p99_us", 0.99)].into_iter().enumerate()
        {
            let live = live.and_then(|done| Some(done.quantiles_us?[at]));
            line(what, live, sim.and_then(|done| done.quantile_us(share)));
        }
    }
    if federation.multicast.is_some() {
        lines.extend(lines_of_groups(measured, simulated));
    }
    lines
}

/// Mean and standard deviation over all tasks of the same kind and size.
fn lines_of_all(
    federation: &Federation,
    measured: Option<&Measured>,
    simulated: Option<&Simulated>,
    discard_largest: usize,
) -> Vec<Line> {
    let line = |group: OfAll| {
        let live = measured
            .and_then(|measured| group.of(|task| measured.done[task].mean_us.or(measured.done[task].per_s)));
        let sim = simulated.and_then(|simulated| {
            group.of(|task| {
                let done = &simulated.done[task];
                if done.work.task.is_flood() { Some(done.per_s()) } else { done.mean_us() }
            })
        });
        let std = if group.what == "mean_us" { "std_us" } else { "std_per_s" };
        [(group.what, 0), (std, 1)].map(|(what, at)| Line {
            task: None,
            what,
            size_bytes: Some(group.size_bytes),
            measured: live.map(|both| both[at]),
            simulated: sim.map(|both| both[at]),
        })
    };
    of_all::groups(&federation.work, discard_largest).into_iter().flat_map(line).collect()
}

/// The traffic of groups, and that of links.
fn lines_of_groups(measured: Option<&Measured>, simulated: Option<&Simulated>) -> [Line; 8] {
    let live = measured.and_then(|measured| measured.counts).map(|counts| {
        [
            counts.frames,
            counts.datagrams,
            counts.bytes,
            counts.lost_datagrams,
            counts.repaired_frames,
            counts.recovered_frames,
            counts.asked_again,
            counts.link_bytes,
        ]
    });
    let sim = simulated.and_then(|simulated| {
        let Carried { groups, lost_datagrams, asked_again } = simulated.carried?;
        Some([
            groups.sent_frames,
            groups.sent_datagrams,
            groups.sent_bytes,
            lost_datagrams,
            groups.repaired_frames,
            groups.recovered_frames,
            asked_again,
            simulated.link_bytes,
        ])
    });
    let names = [
        "group_frames",
        "group_datagrams",
        "group_bytes",
        "lost_datagrams",
        "repaired_frames",
        "recovered_frames",
        "asked_again",
        "link_bytes",
    ];
    std::array::from_fn(|place| Line {
        task: None,
        what: names[place],
        size_bytes: None,
        measured: live.map(|all| all[place] as f64),
        simulated: sim.map(|all| all[place] as f64),
    })
}

impl Line {
    fn error_ratio(&self) -> Option<f64> {
        let both = self.simulated.zip(self.measured).filter(|(_, measured)| *measured > 0.0);
        both.map(|(simulated, measured)| simulated / measured - 1.0)
    }

    fn row(&self) -> Value {
        json!({
            "task": self.task,
            "what": self.what,
            "size_bytes": self.size_bytes,
            "measured": self.measured,
            "simulated": self.simulated,
            "error_ratio": self.error_ratio(),
        })
    }
}

fn table(lines: &[Line]) -> String {
    let mut table = Table::new(["task", "payload", "what", "measured", "simulated", "error %"]);
    for line in lines {
        table.line([
            line.task.map_or_else(|| "all".to_owned(), |task| task.to_string()),
            line.size_bytes.map_or_else(|| "-".to_owned(), |bytes| size::name(bytes as usize)),
            line.what.to_owned(),
            or_dash(line.measured),
            or_dash(line.simulated),
            line.error_ratio().map_or_else(|| "-".to_owned(), |error| figure(100.0 * error)),
        ]);
    }
    table.text()
}
