//! `meshrti bench objects`.

use bench::phases::Outcome;
use serde_json::{Value, json};
use workload::phases::Plan;

use super::Target;
use super::phases::{Run, SimFlags, by, canary_figures, run_at, table, with_canary};
use console::exit::{Outcome as Exit, Status, say};
use console::report::{JsonFlag, Report};
use console::table::figure;

/// Very many objects of one federate, and what the others notice.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench objects
  meshrti bench objects --objects 1000000
  meshrti bench objects --live --sim --hosts hosts.toml      and what the simulator says of the same federates

A canary exchanges round trips with an echo all the time. Meanwhile one federate registers its objects, another one \
subscribes late, discovers all of them and gets their values, the owner resigns and deletes them, a second owner does the \
same and is then lost, and a third owner ceases to publish them. The worst round trip of a phase tells how long the phase \
held others up. With several nodes the late federate is at the last one, and the others are at the first.")]
pub(super) struct Args {
    /// Objects of the one federate
    #[arg(long, default_value_t = 100_000)]
    objects: u32,
    #[command(flatten)]
    phases: SimFlags,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Exit {
    let mut report = Report::new("bench objects", 1);
    let plan = Plan::Objects { objects: args.objects };
    let runs = run_at(&args.target, &args.phases, plan, &mut report).await?;
    if !args.json.takes_stdout() {
        let heads = ["", "phase", "objects", "s", "canary p50 us", "p99 us", "max us"];
        say(table(&runs, heads, line));
    }
    for run in &runs {
        run.outcomes.iter().for_each(|outcome| report.row(row(run, outcome)));
    }
    args.json.write(&report)?;
    Ok(Status::Done)
}

fn row(run: &Run, outcome: &Outcome) -> Value {
    let row = json!({
        "phase": outcome.name,
        "objects": outcome.count,
        "seconds": outcome.took.as_secs_f64(),
    });
    with_canary(row, run.live, &outcome.canary)
}

fn line(run: &Run, outcome: &Outcome) -> [String; 7] {
    let [p50, p99, max] = canary_figures(&outcome.canary);
    let seconds = figure(outcome.took.as_secs_f64());
    [by(run.live), outcome.name.to_owned(), outcome.count.to_string(), seconds, p50, p99, max]
}
