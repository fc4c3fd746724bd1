//! `meshrti bench objects`.

use bench::objects::{Phase, measure};
use serde_json::{Value, json};

use super::{failure, launcher};
use console::exit::{Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};

/// Very many objects of one federate, and what the other federates notice.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench objects
  meshrti bench objects --objects 1000000

A canary exchanges round trips with an echo all the time. Meanwhile one federate registers its objects, another one \
subscribes late and discovers all of them, the owner resigns and deletes them, a second owner does the same and is then \
lost, and a third owner ceases to publish them. The worst round trip of a phase tells how long the phase held others up.")]
pub(super) struct Args {
    /// Objects of the one federate
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench objects", 1);
    let progress = |phase: &str| tracing::info!(phase, "begins");
    let phases = Box::pin(measure(&launcher()?, args.objects, progress)).await.map_err(failure)?;
    if !args.json.takes_stdout() {
        say(table(&phases));
    }
    phases.iter().for_each(|phase| report.row(row(phase)));
    report
        .note("server, canary, echo, owner and subscriber on this machine, one process each, over loopback");
    args.json.write(&report)?;
    Ok(Status::Done)
}

fn row(phase: &Phase) -> Value {
    json!({
        "phase": phase.name,
        "objects": phase.objects,
        "seconds": phase.took.as_secs_f64(),
        "canary_samples": phase.canary.samples(),
        "canary_p50_us": phase.canary.quantile_us(0.5),
        "canary_p99_us": phase.canary.quantile_us(0.99),
        "canary_max_us": phase.canary.max_us(),
    })
}

fn table(phases: &[Phase]) -> String {
    let mut table = Table::new(["phase", "objects", "s", "canary p50 us", "p99 us", "max us"]);
    for phase in phases {
        table.line([
            phase.name.to_owned(),
            phase.objects.to_string(),
            figure(phase.took.as_secs_f64()),
            figure(phase.canary.quantile_us(0.5)),
            figure(phase.canary.quantile_us(0.99)),
            figure(phase.canary.max_us()),
        ]);
    }
    table.text()
}
