//! `meshrti bench joins`.

use std::time::Duration;

use bench::phases::Outcome;
use serde_json::{Value, json};
use workload::phases::Plan;

use super::Target;
use super::phases::{Run, SimFlags, by, canary_figures, run_at, table, with_canary};
use console::exit::{Outcome as Exit, Status, say};
use console::report::{JsonFlag, Report};
use console::rounds::Rounds;
use console::table::figure;

/// Very many federates that join and leave at once, and what others notice.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench joins
  meshrti bench joins --federates 5000 --within 10s
  meshrti bench joins --live --sim --hosts hosts.toml      and what the simulator says of the same federates
  MESHRTI_AUTHORITY=authority.pem meshrti bench joins --server tls://sim-host

All federates are in one process. They connect evenly within a time, join, resign and disconnect, and do so once more. \
A canary exchanges round trips with an echo all the time: its longest one of a phase tells how long others waited.")]
pub(super) struct Args {
    /// Federates
    #[arg(long, default_value_t = 1_000)]
    federates: u32,
    /// Time between the connection of the first and that of the last
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration)]
    within: Duration,
    #[command(flatten)]
    phases: SimFlags,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Exit {
    let mut report = Report::new("bench joins", 1);
    let plan = Plan::Joins { federates: args.federates, within: args.within };
    let runs = run_at(&args.target, &args.phases, plan, &mut report).await?;
    if !args.json.takes_stdout() {
        say(table(&runs, HEADS, line));
    }
    for run in &runs {
        run.outcomes.iter().for_each(|outcome| report.row(row(run, outcome)));
    }
    report.note("all federates of a phase are in one process, whose work is part of their times");
    args.json.write(&report)?;
    Ok(Status::Done)
}

fn row(run: &Run, outcome: &Outcome) -> Value {
    let row = json!({
        "phase": outcome.name,
        "federates": outcome.count,
        "seconds": outcome.took.as_secs_f64(),
        "each_p50_ms": millis(&outcome.each, 0.5),
        "each_p99_ms": millis(&outcome.each, 0.99),
        "each_max_ms": millis(&outcome.each, 1.0),
    });
    with_canary(row, run.live, &outcome.canary)
}

fn millis(rounds: &Rounds, quantile: f64) -> f64 {
    rounds.quantile_us(quantile) / 1e3
}

const HEADS: [&str; 10] =
    ["", "phase", "federates", "s", "each p50 ms", "p99 ms", "max ms", "canary p50 us", "p99 us", "max us"];

fn line(run: &Run, outcome: &Outcome) -> [String; 10] {
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|quantile| figure(millis(&outcome.each, quantile)));
    let [canary_p50, canary_p99, canary_max] = canary_figures(&outcome.canary);
    let seconds = figure(outcome.took.as_secs_f64());
    let count = outcome.count.to_string();
    [by(run.live), outcome.name.to_owned(), count, seconds, p50, p99, max, canary_p50, canary_p99, canary_max]
}
