//! `meshrti bench save`.

use bench::Server;
use bench::saves::{Phase, Saves, measure};
use serde_json::{Value, json};
use std::time::Duration;

use super::{failure, launcher};
use console::exit::{Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};

/// A federation that is saved and restored, and what others notice.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench save
  meshrti bench save --objects 1000000
  meshrti bench save --server localhost

Two federates save their federation and restore it: an owner of objects, and one that has discovered all of them. A \
canary in another federation exchanges round trips with an echo all the time; its worst one tells how long a phase held \
others up. The floor is the time to write a file as long as the image to the same disk and to sync it.")]
pub(super) struct Args {
    /// Objects of the federation
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    /// Measure the server at HOST or HOST:PORT, not one of its own
    #[arg(long, value_name = "HOST")]
    server: Option<String>,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench save", 1);
    let server = args.server.as_deref().map(Server::at);
    let saves = Box::pin(measure(&launcher()?, server, args.objects)).await.map_err(failure)?;
    if !args.json.takes_stdout() {
        say(table(args.objects, &saves));
    }
    saves.phases.iter().for_each(|phase| report.row(row(args.objects, phase, &saves)));
    report.note("the federates have no state of their own to save");
    args.json.write(&report)?;
    Ok(Status::Done)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn row(objects: usize, phase: &Phase, saves: &Saves) -> Value {
    json!({
        "phase": phase.name,
        "objects": objects,
        "seconds": phase.took.as_secs_f64(),
        "image_bytes": saves.image_bytes,
        "floor_s": saves.floor.map(|floor| floor.as_secs_f64()),
        "canary_samples": phase.canary.samples(),
        "canary_p50_us": phase.canary.quantile_us(0.5),
        "canary_p99_us": phase.canary.quantile_us(0.99),
        "canary_max_us": phase.canary.max_us(),
    })
}

fn table(objects: usize, saves: &Saves) -> String {
    let heads = ["phase", "objects", "ms", "image MB", "floor ms", "canary p50 us", "p99 us", "max us"];
    let mut table = Table::new(heads);
    for phase in &saves.phases {
        table.line([
            phase.name.to_owned(),
            objects.to_string(),
            figure(milliseconds(phase.took)),
            saves.image_bytes.map_or_else(String::new, |bytes| figure(bytes as f64 / 1e6)),
            saves.floor.map_or_else(String::new, |floor| figure(milliseconds(floor))),
            figure(phase.canary.quantile_us(0.5)),
            figure(phase.canary.quantile_us(0.99)),
            figure(phase.canary.max_us()),
        ]);
    }
    table.text()
}
