//! `meshrti bench kills`.

use base::stats::quantile;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bench::Launcher;
use bench::kills::{Micros, Outcome, Plan, Recovery, Shape, measure};
use serde_json::{Value, json};

use super::{failure, launcher};
use console::exit::{Failure, Outcome as Exit, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};

/// The maximum number of violations printed. All are counted.
const SHOWN: usize = 20;

/// Kill nodes while federates talk: was anything lost, and how long does it take to go on?
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench kills
  meshrti bench kills --nodes 6 --federates 30 --kills 50 --seed 7 --json kills.json
  meshrti bench kills --topology graph --logs ./kills

Nodes and federates are processes of their own. Nodes are killed without a word (SIGKILL), never more than a minority at a time, \
and started again; a federate whose node is gone rejoins at another one. Each federate writes down what it sends \
and hears. At the end the logs, and nothing else, are judged by what the guide promises (docs/guide/failures.md).
Exit status: 0 nothing was lost, 1 something was, or the run was not possible. In that case the logs are kept.")]
pub(super) struct Args {
    /// Nodes
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(3..=64))]
    nodes: u16,
    /// Federates
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(2..=1000))]
    federates: u16,
    /// Kills
    #[arg(long, default_value_t = 50)]
    kills: u16,
    /// Which kills, and when
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How the nodes are joined
    #[arg(long, value_enum, default_value_t = Topology::Mesh)]
    topology: Topology,
    /// Wait between two messages of a federate
    #[arg(long, default_value = "100ms", value_parser = humantime::parse_duration)]
    every: Duration,
    /// The longest time that anything that is promised may take
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    grace: Duration,
    /// A new folder for the logs, which are then kept in any case
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
    #[command(flatten)]
    json: JsonFlag,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Topology {
    /// A link between any two nodes
    Mesh,
    /// A ring with chords, with redundancy
    Graph,
    /// Two nodes below each; those with none below are killed
    Tree,
}

pub(super) async fn run(args: &Args) -> Exit {
    let mut report = Report::new("bench kills", 1);
    report.seed(args.seed);
    let (folder, kept) = folder(args.logs.as_deref(), args.seed)?;
    let plan = Plan {
        nodes: args.nodes.into(),
        federates: args.federates.into(),
        kills: args.kills.into(),
        seed: args.seed,
        shape: match args.topology {
            Topology::Mesh => Shape::Mesh,
            Topology::Graph => Shape::Graph,
            Topology::Tree => Shape::Tree,
        },
        every: args.every,
        grace: args.grace,
        folder: folder.clone(),
    };
    let mut progress = Progress::new("kills");
    let (nodes, federates) = (nodes_launcher()?, launcher()?);
    let outcome = Box::pin(measure(&nodes, &federates, &plan, |done, all| progress.at(done, all)));
    let outcome = outcome.await.map_err(failure)?;
    drop(progress);
    if !args.json.takes_stdout() {
        print(&outcome);
    }
    outcome.recoveries.iter().for_each(|recovery| report.row(row(recovery)));
    report.summary(summary(&plan, &outcome));
    report.note("times are from the kill on, and of the pair or federate that waited longest");
    report.note("nodes, federates and the judge on this machine, over loopback");
    args.json.write(&report)?;
    let is_sound = outcome.verdict.violations.is_empty();
    if is_sound && !kept {
        // The logs are in the system's folder for temporary files, where leftovers do no harm.
        let _ = std::fs::remove_dir_all(&folder);
        return Ok(Status::Done);
    }
    if !args.json.takes_stdout() {
        say(format_args!("logs: {}", folder.display()));
    }
    Ok(if is_sound { Status::Done } else { Status::BadNews })
}

/// A launcher that starts nodes as processes of this program, with logging.
fn nodes_launcher() -> Result<Launcher, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::bad_news(format_args!("this program cannot find itself: {error}")))?;
    Ok(Launcher::new(program, ["bench", "role"]))
}

/// Returns an empty folder, and whether to keep it.
fn folder(wanted: Option<&Path>, seed: u64) -> Result<(PathBuf, bool), Failure> {
    let kept = wanted.is_some();
    let path = wanted.map_or_else(
        || std::env::temp_dir().join(format!("meshrti-kills-{}-{seed}", std::process::id())),
        Path::to_owned,
    );
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("")))
        .and_then(|()| std::fs::create_dir(&path))
        .map_err(|error| Failure::bad_news(format_args!("{}: {error}", path.display())))?;
    let path = path.canonicalize().unwrap_or(path);
    Ok((path, kept))
}

fn print(outcome: &Outcome) {
    say(kills(&outcome.recoveries));
    say(format_args!("\n{}", times(outcome)));
    let verdict = &outcome.verdict;
    say(format_args!(
        "\n{} messages sent; {} delivered, {} of them promised; {} sessions; {} discoveries and removals due",
        outcome.sent, verdict.delivered, verdict.promised, verdict.sessions, verdict.objects
    ));
    match verdict.violations.len() {
        0 => say("nothing that was promised was lost"),
        count => say(format_args!("{count} violations of what was promised:")),
    }
    for violation in verdict.violations.iter().take(SHOWN) {
        say(format_args!("  {violation}"));
    }
}

/// A line for each kill.
fn kills(recoveries: &[Recovery]) -> String {
    let mut table = Table::new([
        "at s",
        "node",
        "lost",
        "others",
        "delivered ms",
        "slowest ms",
        "rejoined ms",
        "heard ms",
        "hears ms",
        "removed ms",
    ]);
    for recovery in recoveries {
        table.line([
            format!("{:.1}", recovery.at as f64 / 1e6),
            recovery.node.to_string(),
            recovery.lost.to_string(),
            recovery.survivors.to_string(),
            millis(recovery.delivered),
            millis(recovery.slowest),
            millis(recovery.rejoined),
            millis(recovery.heard),
            millis(recovery.hears),
            millis(recovery.removed),
        ]);
    }
    table.text()
}

fn millis(time: Option<Micros>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| figure(time as f64 / 1e3))
}

/// A figure of a recovery: its key in reports, its name in tables, and its value.
type Figure = (&'static str, &'static str, fn(&Recovery) -> Option<Micros>);

const FIGURES: [Figure; 7] = [
    ("recovered_ms", "everybody hears everybody again", Recovery::recovered),
    ("delivered_ms", "survivors hear each other", |recovery| recovery.delivered),
    ("slowest_ms", "slowest message among survivors", |recovery| recovery.slowest),
    ("rejoined_ms", "lost federates are joined elsewhere", |recovery| recovery.rejoined),
    ("heard_ms", "survivors hear them", |recovery| recovery.heard),
    ("hears_ms", "they hear survivors", |recovery| recovery.hears),
    ("removed_ms", "their objects are removed everywhere", |recovery| recovery.removed),
];

/// Median, 90th percentile and maximum of each figure.
fn times(outcome: &Outcome) -> String {
    let mut table = Table::new(["", "kills", "median ms", "p90 ms", "max ms"]);
    for (_, name, figure_of) in FIGURES {
        let sorted = sorted(&outcome.recoveries, figure_of);
        table.line([
            name.to_owned(),
            sorted.len().to_string(),
            millis(quantile(&sorted, 0.5)),
            millis(quantile(&sorted, 0.9)),
            millis(quantile(&sorted, 1.0)),
        ]);
    }
    let mut whole: Vec<Micros> = outcome.whole.iter().map(|time| time.as_micros() as Micros).collect();
    whole.sort_unstable();
    table.line([
        "restarted nodes are members, and vote".to_owned(),
        whole.len().to_string(),
        millis(quantile(&whole, 0.5)),
        millis(quantile(&whole, 0.9)),
        millis(quantile(&whole, 1.0)),
    ]);
    table.text()
}

fn sorted(recoveries: &[Recovery], figure_of: fn(&Recovery) -> Option<Micros>) -> Vec<Micros> {
    let mut sorted: Vec<Micros> = recoveries.iter().filter_map(figure_of).collect();
    sorted.sort_unstable();
    sorted
}

fn row(recovery: &Recovery) -> Value {
    let mut row = json!({
        "at_s": recovery.at as f64 / 1e6,
        "node": recovery.node,
        "lost_federates": recovery.lost,
        "surviving_federates": recovery.survivors,
    });
    for (key, _, figure_of) in FIGURES {
        row[key] = json!(figure_of(recovery).map(|time| time as f64 / 1e3));
    }
    row
}

fn summary(plan: &Plan, outcome: &Outcome) -> Value {
    let verdict = &outcome.verdict;
    let mut summary = json!({
        "nodes": plan.nodes,
        "federates": plan.federates,
        "topology": plan.shape.name(),
        "kills": outcome.recoveries.len(),
        "took_s": outcome.took.as_secs_f64(),
        "sent_messages": outcome.sent,
        "delivered_messages": verdict.delivered,
        "promised_messages": verdict.promised,
        "sessions": verdict.sessions,
        "violation_count": verdict.violations.len(),
        "violations": verdict.violations.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>(),
    });
    for (key, _, figure_of) in FIGURES {
        let sorted = sorted(&outcome.recoveries, figure_of);
        for (name, share) in [("median", 0.5), ("p90", 0.9), ("max", 1.0)] {
            summary[format!("{name}_{key}")] = json!(quantile(&sorted, share).map(|time| time as f64 / 1e3));
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_for_logs_is_new() {
        let path = std::env::temp_dir().join(format!("meshrti-kills-test-{}", std::process::id()));
        let (made, kept) = folder(Some(&path), 1).unwrap();
        assert!(kept && made.is_dir());
        assert!(folder(Some(&path), 1).is_err());
        std::fs::remove_dir(&made).unwrap();
    }
}
