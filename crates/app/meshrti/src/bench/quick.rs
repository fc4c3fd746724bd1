//! `meshrti bench quick`: a short run of everything.

use std::time::Duration;

use bench::{latency, memory, throughput};
use results::grids::{self, Grid};
use serde_json::{Value, json};
use workload::phases::{Fan, Floods};

use super::{Target, failure, launcher};
use console::exit::{Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};

/// A short run of everything.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench quick
  meshrti bench quick --json quick.json
  meshrti bench quick --scale 0.1

With --server the memory benchmark is left out: it needs a server of its own.")]
pub(super) struct Args {
    /// How much of everything: 2 is twice as much
    #[arg(long, default_value_t = 1.0, value_parser = scale)]
    scale: f64,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(scale) if (0.001..=1_000.0).contains(&scale) => Ok(scale),
        _ => Err(format!("`{text}` is no scale: expected a number from 0.001 to 1000")),
    }
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench quick", 1);
    let scaled = |count: u64| ((count as f64 * args.scale) as u64).max(1);
    let launcher = launcher()?;
    let server = args.target.server(&launcher).await?;
    let show = |title: &str, table: String| {
        if !args.json.takes_stdout() {
            say(format_args!("{title}\n{table}\n"));
        }
    };
    let mut progress = Progress::new("latency");
    let plan = latency::Plan {
        samples: scaled(10_000),
        warm_up: scaled(200),
        ..latency::Plan::new(vec![16, 1 << 10, 64 << 10], vec![0, scaled(10_000) as usize])
    };
    let latencies =
        Box::pin(latency::measure(&launcher, &server, &[], &plan, |done, all| progress.at(done, all)));
    let latencies = latencies.await.map_err(failure)?;
    drop(progress);
    let rows = super::suite::latency_rows("latency", &args.target, &plan, &latencies);
    let grids = grids::latency(&rows, false);
    show("Round trips: update, reflect, update, reflect", grids.iter().map(Grid::text).collect());
    rows.iter().for_each(|row| report.row(named("latency", json!(row))));

    let mut progress = Progress::new("throughput");
    let plan = throughput::Plan { sizes: vec![100], updates: scaled(1_000_000), slices: 5 };
    let floods = Box::pin(throughput::measure(&launcher, &server, &plan, |done, all| progress.at(done, all)));
    let floods = floods.await.map_err(failure)?;
    drop(progress);
    show("A flood of reliable updates", super::throughput::table(&floods));
    floods.iter().for_each(|flood| report.row(named("throughput", super::throughput::row(flood))));

    let updates = u32::try_from(scaled(2_000)).unwrap_or(u32::MAX);
    let floods = Floods { fan: Fan::Out { subscribers: 100 }, updates, slices: 2.min(updates), size: 100 };
    let fanout = super::floods::run_one(&launcher, &server, floods).await?;
    show("One update to many subscribers", super::fanout::table(std::slice::from_ref(&fanout)));
    report.row(named("fanout", super::fanout::row(&fanout)));

    if args.target.server.is_none() {
        let plan = memory::Plan {
            federates: scaled(200) as usize,
            objects: scaled(50_000) as usize,
            idle: Duration::from_secs(1),
            edition: args.target.fom_edition,
        };
        let memory = Box::pin(memory::measure(&launcher, &plan)).await.map_err(failure)?;
        show("What costs nothing per update", super::memory::table(&memory));
        report.row(named("memory", super::memory::row(&memory)));
    }
    report.note(args.target.note());
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// Adds the name of the benchmark to a row.
fn named(benchmark: &str, mut row: Value) -> Value {
    row["benchmark"] = json!(benchmark);
    row
}
