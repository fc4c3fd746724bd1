//! `meshrti bench joins`.

use std::time::Duration;

use bench::joins::{Phase, Plan, measure};
use serde_json::{Value, json};

use super::{Target, failure, launcher};
use console::exit::{Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::rounds::Rounds;
use console::table::{Table, figure};

/// Very many federates that join and leave at once, and what others notice.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench joins
  meshrti bench joins --federates 5000 --within 10s
  MESHRTI_AUTHORITY=authority.pem meshrti bench joins --server tls://sim-host

All federates are in one process. They connect evenly within a time, join, resign and disconnect, and do so once more. \
A canary exchanges round trips with an echo all the time: its longest one of a phase tells how long others waited.")]
pub(super) struct Args {
    /// Federates
    #[arg(long, default_value_t = 1_000)]
    federates: usize,
    /// Time between the connection of the first and that of the last
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration)]
    within: Duration,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench joins", 1);
    let launcher = launcher()?;
    let server = args.target.server(&launcher).await?;
    let plan = Plan { federates: args.federates, within: args.within };
    let progress = |phase: &str| tracing::info!(phase, "begins");
    let phases = Box::pin(measure(&launcher, &server, &plan, progress)).await.map_err(failure)?;
    if !args.json.takes_stdout() {
        say(table(&phases));
    }
    phases.iter().for_each(|phase| report.row(row(phase)));
    report.note(args.target.note());
    report.note("all federates of a phase are in one process, whose work is part of their times");
    args.json.write(&report)?;
    Ok(Status::Done)
}

fn row(phase: &Phase) -> Value {
    json!({
        "phase": phase.name,
        "federates": phase.federates,
        "seconds": phase.took.as_secs_f64(),
        "each_p50_ms": millis(&phase.each, 0.5),
        "each_p99_ms": millis(&phase.each, 0.99),
        "each_max_ms": phase.each.max_us() / 1e3,
        "canary_samples": phase.canary.samples(),
        "canary_p50_us": phase.canary.quantile_us(0.5),
        "canary_p99_us": phase.canary.quantile_us(0.99),
        "canary_max_us": phase.canary.max_us(),
    })
}

fn millis(rounds: &Rounds, quantile: f64) -> f64 {
    rounds.quantile_us(quantile) / 1e3
}

fn table(phases: &[Phase]) -> String {
    let mut table = Table::new([
        "phase",
        "federates",
        "s",
        "each p50 ms",
        "p99 ms",
        "max ms",
        "canary p50 us",
        "p99 us",
        "max us",
    ]);
    for phase in phases {
        table.line([
            phase.name.to_owned(),
            phase.federates.to_string(),
            figure(phase.took.as_secs_f64()),
            figure(millis(&phase.each, 0.5)),
            figure(millis(&phase.each, 0.99)),
            figure(phase.each.max_us() / 1e3),
            figure(phase.canary.quantile_us(0.5)),
            figure(phase.canary.quantile_us(0.99)),
            figure(phase.canary.max_us()),
        ]);
    }
    table.text()
}
