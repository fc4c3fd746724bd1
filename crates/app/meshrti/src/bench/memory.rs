//! `meshrti bench memory`.

use std::time::Duration;

use bench::memory::{ATTRIBUTES, Memory, Plan, measure};
use hla::fom::Edition;
use serde_json::{Value, json};

use super::{failure, launcher};
use console::exit::{Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::{Table, figure, or_dash};

/// Memory and processor time of the server for idle federates and registered objects.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench memory
  meshrti bench memory --federates 100 --objects 1000000

Joined federates that do nothing, then registered objects of a class with 40 attributes; memory is what the system says \
is in RAM (VmRSS), so it needs Linux. Many federates need many open files in two processes: see `ulimit -n`.")]
pub(super) struct Args {
    /// Idle federates
    #[arg(long, default_value_t = 1_000)]
    federates: usize,
    /// Registered objects
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    /// How long the idle server is watched
    #[arg(long, default_value = "2s", value_parser = humantime::parse_duration)]
    idle: Duration,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench memory", 1);
    let (federates, objects, idle) = (args.federates, args.objects, args.idle);
    let plan = Plan { federates, objects, idle, edition: Edition::Hla2025 };
    let memory = Box::pin(measure(&launcher()?, &plan)).await.map_err(failure)?;
    if !args.json.takes_stdout() {
        say(table(&memory));
    }
    report.row(row(&memory));
    report.note("memory of the server in RAM, and what it grows by");
    args.json.write(&report)?;
    Ok(Status::Done)
}

pub(super) fn row(memory: &Memory) -> Value {
    json!({
        "federates": memory.federates,
        "objects": memory.objects,
        "attributes": ATTRIBUTES,
        "empty_bytes": memory.empty_bytes,
        "federate_bytes": memory.federate_bytes,
        "object_bytes": memory.object_bytes,
        "idle_cpu_ratio": memory.idle_cpu,
    })
}

pub(super) fn table(memory: &Memory) -> String {
    let mut table = Table::new([
        "federates",
        "objects",
        "server KiB",
        "KiB per idle federate",
        "bytes per object",
        "idle CPU %",
    ]);
    table.line([
        memory.federates.to_string(),
        memory.objects.to_string(),
        figure(memory.empty_bytes as f64 / 1024.0),
        figure(memory.federate_bytes / 1024.0),
        figure(memory.object_bytes),
        or_dash(memory.idle_cpu.map(|part| part * 100.0)),
    ]);
    table.text()
}
