//! `meshrti sim grant-scale`: whole nodes with federates in logical time, and the messages between
//! the nodes for each grant.

use std::time::Instant;

use base::Seed;
use experiment::SeedFlag;
use serde_json::{Value, json};
use testkit::grants::{self, Report as Outcomes, Settings, Workload};

use console::exit::{Failure, Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};

/// The name of the scenario.
const NAME: &str = "grant-scale";

/// Options of grant-scale.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti sim grant-scale
  meshrti sim grant-scale --nodes 10 --far 5      # five more nodes whose federates are far ahead or idle

Two workloads: `lock-step` (Time Advance Request; a federate at each node sends a message to all other nodes in each \
step) and `events` (Next Message Request; one message of a hundred leaves the node of its sender).
Exit status: 1 if the greatest network needs more messages per grant than --ratio-max times the smallest.")]
pub(super) struct Args {
    /// Numbers of nodes with federates that advance, one run for each
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [10, 100], value_parser = clap::value_parser!(u16).range(2..=1_000))]
    nodes: Vec<u16>,
    /// Federates at each of them
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    federates: u16,
    /// The logical time up to which they advance, in steps
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: u32,
    /// More nodes, with a federate each that is far ahead or idle
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1_000))]
    far: u16,
    /// The limit on the ratio of messages per grant
    #[arg(long, value_name = "RATIO", default_value_t = 1.2)]
    ratio_max: f64,
    #[command(flatten)]
    seed: SeedFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// A run and its results.
struct Run {
    workload: &'static str,
    nodes: u16,
    outcomes: Outcomes,
}

impl Run {
    fn messages_per_grant(&self) -> f64 {
        self.outcomes.control.messages as f64 / self.outcomes.grants.max(1) as f64
    }

    fn bytes_per_grant(&self) -> f64 {
        self.outcomes.control.bytes as f64 / self.outcomes.grants.max(1) as f64
    }
}

/// Runs the scenario.
pub(super) fn run(args: &Args) -> Outcome {
    let begun = Instant::now();
    let mut progress = Progress::new("sim");
    let mut runs = Vec::new();
    for (workload, name) in [(Workload::LockStep, "lock-step"), (Workload::Events, "events")] {
        for &nodes in &args.nodes {
            progress.at(runs.len() as u64, 2 * args.nodes.len() as u64);
            let settings = Settings {
                workload,
                nodes: nodes.into(),
                federates: args.federates.into(),
                steps: args.steps,
                far: args.far.into(),
                seed: Seed(args.seed.seed),
            };
            let outcomes = grants::run(&settings);
            let outcomes = outcomes.map_err(|why| Failure::bad_news(format_args!("{NAME}: {why}")))?;
            runs.push(Run { workload: name, nodes, outcomes });
        }
    }
    drop(progress);
    let ratios = ratios(&runs);
    let wall_s = begun.elapsed().as_secs_f64();
    let mut report = Report::new("sim grant-scale", 1);
    report.seed(args.seed.seed);
    runs.iter().for_each(|run| report.row(row(run)));
    let ratio = |&(workload, ratio): &(&str, f64)| json!({ "workload": workload, "ratio": ratio });
    report.summary(json!({
        "scenario": NAME,
        "federates_per_node": args.federates,
        "steps": args.steps,
        "far_nodes": args.far,
        "ratios": ratios.iter().map(ratio).collect::<Vec<_>>(),
        "wall_s": wall_s,
    }));
    report.note(COUNTED);
    if !args.json.takes_stdout() {
        say(table(&runs));
        for (workload, ratio) in &ratios {
            say(format_args!("{workload}: messages per grant, greatest to smallest network: {ratio:.2}"));
        }
        say(format_args!("{COUNTED}; {wall_s:.1} s"));
    }
    args.json.write(&report)?;
    let within = ratios.iter().all(|&(_, ratio)| ratio <= args.ratio_max);
    Ok(if within { Status::Done } else { Status::BadNews })
}

const COUNTED: &str = "messages of time management between nodes, and the octets of their bodies";

/// For each workload, the messages per grant with the most nodes over those with the fewest.
fn ratios(runs: &[Run]) -> Vec<(&'static str, f64)> {
    let of = |workload: &'static str| {
        let runs = runs.iter().filter(|run| run.workload == workload);
        let (few, many) = (runs.clone().min_by_key(|run| run.nodes)?, runs.max_by_key(|run| run.nodes)?);
        let is_comparable = few.nodes < many.nodes && few.outcomes.control.messages > 0;
        is_comparable.then(|| (workload, many.messages_per_grant() / few.messages_per_grant()))
    };
    ["lock-step", "events"].into_iter().filter_map(of).collect()
}

fn row(run: &Run) -> Value {
    let Outcomes { grants, received, control, of_far, took } = run.outcomes;
    json!({
        "workload": run.workload,
        "nodes": run.nodes,
        "grants": grants,
        "received": received,
        "messages": control.messages,
        "messages_per_grant": run.messages_per_grant(),
        "sent_bytes": control.bytes,
        "bytes_per_grant": run.bytes_per_grant(),
        "far_messages": of_far.messages,
        "took_s": took.as_secs_f64(),
    })
}

fn table(runs: &[Run]) -> String {
    let mut table = Table::new([
        "workload",
        "nodes",
        "grants",
        "received",
        "messages",
        "per grant",
        "bytes per grant",
        "by far nodes",
        "virtual s",
    ]);
    for run in runs {
        let Outcomes { grants, received, control, of_far, took } = run.outcomes;
        table.line([
            run.workload.to_owned(),
            run.nodes.to_string(),
            grants.to_string(),
            received.to_string(),
            control.messages.to_string(),
            format!("{:.3}", run.messages_per_grant()),
            figure(run.bytes_per_grant()),
            of_far.messages.to_string(),
            format!("{:.3}", took.as_secs_f64()),
        ]);
    }
    table.text()
}
