//! `meshrti bench floor`.

use bench::floor::Floor;
use bench::message_bytes;
use console::rounds::Rounds;
use serde_json::json;

use super::{failure, launcher, size};
use console::exit::{Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};

/// The bare network by itself: a relay that passes bytes on.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench floor
  meshrti bench floor --size 100 --samples 100000

Two processes and a relay process between them, all with blocking threads and TCP_NODELAY: round trips of two hops each \
way, and a flood one way. A message has as many bytes as an update or a reflect of that payload has on the wire.")]
pub(super) struct Args {
    /// Payloads
    #[arg(long = "size", value_name = "BYTES", value_delimiter = ',', value_parser = size::parse,
        default_values = ["16", "64", "256", "1k", "4k", "16k", "64k"])]
    sizes: Vec<usize>,
    /// Round trips of each size
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Round trips of each size before those that are counted
    #[arg(long, default_value_t = 200)]
    warm_up: u64,
    /// Bytes of the flood of each size
    #[arg(long, value_name = "BYTES", default_value = "1073741824")]
    flood: u64,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench floor", 1);
    let mut floor = Floor::start(&launcher()?, 0, &[]).await.map_err(failure)?;
    let mut table = Table::new([
        "payload",
        "message",
        "samples",
        "min µs",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "messages/s",
        "Mbit/s",
    ]);
    let mut progress = Progress::new("floor");
    for (done, &payload) in args.sizes.iter().enumerate() {
        progress.at(done as u64, args.sizes.len() as u64);
        let bytes = message_bytes(payload);
        let rounds: Rounds =
            floor.rounds(payload, bytes, args.warm_up, args.samples).await.map_err(failure)?;
        let count = (args.flood / bytes as u64).max(1);
        let per_s = count as f64 / floor.flood(bytes, count).await.map_err(failure)?.as_secs_f64();
        let mbit_per_s = per_s * bytes as f64 * 8e-6;
        let mut row = rounds.row(None);
        row["message_bytes"] = json!(bytes);
        row["per_s"] = json!(per_s);
        row["mbit_per_s"] = json!(mbit_per_s);
        let cell = |key: &str| figure(row[key].as_f64().unwrap_or(f64::NAN));
        table.line([
            size::name(payload),
            bytes.to_string(),
            rounds.samples().to_string(),
            cell("min_us"),
            cell("p50_us"),
            cell("p90_us"),
            cell("p99_us"),
            cell("p999_us"),
            cell("max_us"),
            cell("per_s"),
            cell("mbit_per_s"),
        ]);
        report.row(row);
    }
    drop(progress);
    if !args.json.takes_stdout() {
        say(table.text());
    }
    report
        .note("round trips of two hops each way, and a flood one way, through a relay that passes bytes on");
    args.json.write(&report)?;
    Ok(Status::Done)
}
