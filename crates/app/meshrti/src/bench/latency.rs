//! `meshrti bench latency`.

use bench::Server;
use bench::latency::{Latency, Plan, measure};
use serde_json::{Value, json};

use super::{Target, failure, launcher, size};
use console::exit::{Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure, or_dash};

/// Round trips between two federates: update, reflect, update, reflect.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench latency
  meshrti bench latency --size 16,1k --samples 50000
  meshrti bench latency --size 16 --objects 10,100000     whether objects that merely exist cost anything
  meshrti bench latency --nodes 2                         from a federate at one node to one at another
  meshrti bench latency --server sim-host:15164 --json
  meshrti bench latency --server tcp://sim-host --beside tls://sim-host    the price of encryption

A federate updates an object, a federate in another process answers each reflect by an update with the same payload: two \
hops each way through the server. The floor is the same number of bytes through a relay process that only passes them \
on. Both take turns in slices, so that noise of the machine meets both. Times are of whole round trips.")]
pub(super) struct Args {
    /// Payloads
    #[arg(long = "size", value_name = "BYTES", value_delimiter = ',', value_parser = size::parse_numbered,
        default_values = ["16", "64", "256", "1k", "4k", "16k", "64k"])]
    sizes: Vec<usize>,
    /// Round trips of each size
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Round trips before each slice that are not counted
    #[arg(long, default_value_t = 200)]
    warm_up: u64,
    /// Slices in which server and floor take turns
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    slices: u64,
    /// Other objects of the same class that exist, known to both federates; several numbers are measured one after another
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "0")]
    objects: Vec<usize>,
    /// Another server that takes turns with the first, such as another address of it; NEAR,FAR for two nodes
    #[arg(long, value_name = "URL[,FAR]")]
    beside: Vec<String>,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench latency", 1);
    let launcher = launcher()?;
    let server = args.target.server(&launcher).await?;
    let mut objects = args.objects.clone();
    objects.sort_unstable();
    let plan = Plan {
        sizes: args.sizes.clone(),
        samples: args.samples,
        warm_up: args.warm_up,
        slices: args.slices,
        objects,
    };
    let mut progress = Progress::new("latency");
    let beside: Vec<Server> = args.beside.iter().map(|urls| another(urls)).collect();
    let measured = measure(&launcher, &server, &beside, &plan, |done, all| progress.at(done, all));
    let results = Box::pin(measured).await.map_err(failure)?;
    drop(progress);
    if !args.json.takes_stdout() {
        say(table(&results));
        if !beside.is_empty() {
            say(comparison(&results, beside.len() + 1));
        }
    }
    results.iter().for_each(|latency| report.row(row(latency)));
    report.note(args.target.note());
    let hops = server.links() + 2;
    report.note(format!("round trips of {hops} hops each way; the floor takes turns with the server"));
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// A server at one URL, or two nodes.
fn another(urls: &str) -> Server {
    match urls.split_once(',') {
        Some((near, far)) => Server::between(near, far),
        None => Server::at(urls),
    }
}

/// The round trips beside those at the first of `servers` servers, which had their turns in the same run.
fn comparison(results: &[Latency], servers: usize) -> String {
    let mut table =
        Table::new(["payload", "objects", "server", "p50 µs", "p99", "p50 to first", "p99 to first"]);
    for of_size in results.chunks(servers) {
        let Some(first) = of_size.first() else { continue };
        for latency in of_size {
            let us = |quantile| latency.rounds.quantile_us(quantile);
            let ratio = |quantile| us(quantile) / first.rounds.quantile_us(quantile);
            table.line([
                size::name(latency.rounds.size_bytes()),
                latency.objects.to_string(),
                latency.server.clone(),
                figure(us(0.5)),
                figure(us(0.99)),
                figure(ratio(0.5)),
                figure(ratio(0.99)),
            ]);
        }
    }
    table.text()
}

pub(super) fn row(latency: &Latency) -> Value {
    let mut row = latency.rounds.row(Some(&latency.floor));
    row["server"] = json!(latency.server);
    row["objects"] = json!(latency.objects);
    row["server_cpu_us"] = json!(latency.server_cpu_s.map(|seconds| seconds * 1e6));
    row
}

pub(super) fn table(results: &[Latency]) -> String {
    let mut table = Table::new([
        "payload",
        "objects",
        "samples",
        "min µs",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "floor p50",
        "floor p99",
        "p50 ratio",
        "p99 ratio",
        "server CPU µs",
    ]);
    for latency in results {
        let row = row(latency);
        let cell = |key: &str| or_dash(row[key].as_f64());
        table.line([
            size::name(latency.rounds.size_bytes()),
            latency.objects.to_string(),
            figure(latency.rounds.samples() as f64).trim_end_matches(".00").to_owned(),
            cell("min_us"),
            cell("p50_us"),
            cell("p90_us"),
            cell("p99_us"),
            cell("p999_us"),
            cell("max_us"),
            cell("floor_p50_us"),
            cell("floor_p99_us"),
            cell("p50_ratio"),
            cell("p99_ratio"),
            cell("server_cpu_us"),
        ]);
    }
    table.text()
}
