//! `meshrti bench fanout`.

use serde_json::{Value, json};
use workload::phases::Fan;

use super::floods::{Flags, Measured, floods, run_all};
use super::phases::{by, text};
use super::size;
use console::exit::{Failure, Outcome, Status, say};
use console::report::Report;
use console::table::{Table, figure};

/// Reflects of a flood, at most: a federate counts them in 32 bits.
const REFLECTS_MAX: u64 = 1_000_000_000;

/// One update to many subscribers, against as many single updates.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench fanout
  meshrti bench fanout --subscribers 10 --size 1k
  meshrti bench fanout --nodes 3                             subscribers two links away from the publisher
  meshrti bench fanout --live --sim --hosts hosts.toml       and what the simulator says of the same federates

The subscribers are federates in one process. One more, in another process, gets as many single updates as all of them \
got reflects. A ratio of 1 would mean that an update to all costs as much as single updates to each.")]
pub(super) struct Args {
    /// Subscribing federates
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    subscribers: u16,
    /// Updates to all of them
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    updates: u32,
    #[command(flatten)]
    flags: Flags,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench fanout", 1);
    let plan = floods(&args.flags, Fan::Out { subscribers: args.subscribers.into() }, args.updates);
    if plan.singles() > REFLECTS_MAX {
        let why = format!(
            "{} updates to {} subscribers are {} reflects, and may be {REFLECTS_MAX} at most",
            args.updates,
            args.subscribers,
            plan.singles()
        );
        return Err(Failure::wrong_use(why));
    }
    let runs = run_all(&args.flags, &[plan], &mut report).await?;
    if !args.flags.json.takes_stdout() {
        say(table(&runs));
    }
    runs.iter().for_each(|run| report.row(row(run)));
    args.flags.json.write(&report)?;
    Ok(Status::Done)
}

fn subscribers(run: &Measured) -> u32 {
    match run.figures.floods.fan {
        Fan::Out { subscribers } => subscribers,
        Fan::In { .. } => 1,
    }
}

pub(super) fn row(run: &Measured) -> Value {
    let Measured { live, figures } = run;
    let ([to_all_us, to_one_us], [all_cpu_us, one_cpu_us]) =
        (figures.update_s.map(|seconds| seconds * 1e6), run.server_cpu_us());
    json!({
        "live": live,
        "size_bytes": figures.floods.size,
        "subscribers": subscribers(run),
        "updates": figures.floods.updates,
        "fanout_us": to_all_us,
        "single_us": to_one_us,
        "fanout_ratio": figures.time_ratio(),
        "server_cpu_fanout_us": all_cpu_us,
        "server_cpu_single_us": one_cpu_us,
        "server_cpu_ratio": figures.server_cpu_ratio(),
    })
}

pub(super) fn table(runs: &[Measured]) -> String {
    let mut table = Table::new([
        "",
        "payload",
        "subscribers",
        "updates",
        "µs to all",
        "µs to one",
        "ratio to singles",
        "server CPU µs to all",
        "to one",
        "ratio to singles",
    ]);
    for run in runs {
        let figures = &run.figures;
        let [to_all, to_one] = figures.update_s.map(|seconds| figure(seconds * 1e6));
        let [cpu_to_all, cpu_to_one, cpu_ratio] = run.server_cpu_figures();
        table.line([
            by(run.live),
            size::name(figures.floods.size as usize),
            subscribers(run).to_string(),
            figures.floods.updates.to_string(),
            to_all,
            to_one,
            figure(figures.time_ratio()),
            cpu_to_all,
            cpu_to_one,
            cpu_ratio,
        ]);
    }
    text(table, runs.iter().all(|run| run.live))
}
