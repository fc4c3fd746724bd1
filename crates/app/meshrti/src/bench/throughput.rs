//! `meshrti bench throughput`.

use bench::throughput::{Plan, Throughput, measure};
use serde_json::{Value, json};

use super::{Target, failure, launcher, size};
use console::exit::{Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure, or_dash};

/// One federate floods, one counts.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench throughput
  meshrti bench throughput --size 16,100,1k --updates 5000000
  meshrti bench throughput --server sim-host:15164 --json

Reliable updates of one object, sent by one federate without waiting for each, reflected to one federate in another \
process. Every one has to arrive, else the benchmark fails. The floor is a flood of messages of the same length through \
a relay process that does not look at them.

Processor time is in µs per update: of the server, all nodes together, of the two federates, and of the busiest process of \
all, which limits the rate on a machine with a core for each.")]
pub(super) struct Args {
    /// Payloads
    #[arg(long = "size", value_name = "BYTES", value_delimiter = ',', value_parser = size::parse, default_value = "100")]
    sizes: Vec<usize>,
    /// Updates of each size
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    updates: u64,
    /// Slices in which server and floor take turns
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    slices: u64,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench throughput", 1);
    let launcher = launcher()?;
    let server = args.target.server(&launcher).await?;
    let plan = Plan { sizes: args.sizes.clone(), updates: args.updates, slices: args.slices };
    let mut progress = Progress::new("throughput");
    let results = Box::pin(measure(&launcher, &server, &plan, |done, all| progress.at(done, all)))
        .await
        .map_err(failure)?;
    drop(progress);
    if !args.json.takes_stdout() {
        say(table(&results));
    }
    results.iter().for_each(|throughput| report.row(row(throughput)));
    report.note(args.target.note());
    report.note("reliable updates of one attribute; all of them arrived");
    args.json.write(&report)?;
    Ok(Status::Done)
}

pub(super) fn row(throughput: &Throughput) -> Value {
    let [server, publisher, subscriber] = throughput.cpu_s.map(|cpu_s| cpu_s.map(|seconds| seconds * 1e6));
    json!({
        "size_bytes": throughput.size_bytes,
        "sent": throughput.sent,
        "received": throughput.received,
        "received_per_s": throughput.received_per_s,
        "floor_per_s": throughput.floor_per_s,
        "throughput_ratio": throughput.ratio(),
        "server_cpu_us": server,
        "publisher_cpu_us": publisher,
        "subscriber_cpu_us": subscriber,
        "busiest_cpu_us": throughput.busiest_cpu_s.map(|seconds| seconds * 1e6),
    })
}

pub(super) fn table(results: &[Throughput]) -> String {
    let mut table = Table::new([
        "payload",
        "sent",
        "received",
        "received/s",
        "floor/s",
        "ratio",
        "server CPU µs",
        "publisher",
        "subscriber",
        "busiest",
    ]);
    for throughput in results {
        let micros = |cpu_s: Option<f64>| or_dash(cpu_s.map(|seconds| seconds * 1e6));
        table.line([
            size::name(throughput.size_bytes),
            throughput.sent.to_string(),
            throughput.received.to_string(),
            figure(throughput.received_per_s),
            figure(throughput.floor_per_s),
            figure(throughput.ratio()),
            micros(throughput.cpu_s[0]),
            micros(throughput.cpu_s[1]),
            micros(throughput.cpu_s[2]),
            micros(throughput.busiest_cpu_s),
        ]);
    }
    table.text()
}
