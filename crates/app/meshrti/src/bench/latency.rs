//! `meshrti bench latency`.

use std::fmt::Write as _;

use bench::Server;
use bench::exchange::way::Kind;
use bench::latency::{Latency, Plan, measure};

use super::suite::ping::loop_of;
use super::suite::{OutputFlags, WayFlags, finish, latency_rows, method};
use super::{Target, failure, launcher, size};
use console::exit::{Failure, Outcome, say};
use console::progress::Progress;
use console::table::{Table, figure};

/// Round trips between two federates: update, reflect, update, reflect.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench latency
  meshrti bench latency --size 16 --objects 10,100000     the cost of objects that exist
  meshrti bench latency --against paper --size 128 --ddm off,one-region
  meshrti bench latency --server tcp://sim-host --beside tls://sim-host

BMLatency of the RTI benchmark suite: a federate updates an object with data and a time stamp, a federate in another \
process answers each reflect by an update with the same values: two hops each way through the server. One way is half \
of that. The floor is as many octets through a relay. All take turns in slices, so that noise meets all of them.")]
pub(super) struct Args {
    /// Bytes of data in an update
    #[arg(long = "size", value_name = "BYTES", value_delimiter = ',', value_parser = size::parse_data,
        default_values = ["1", "16", "128", "1k", "4k", "16k", "64k", "256k", "1M"])]
    sizes: Vec<usize>,
    /// Round trips of each size
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
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
    /// An emulated line of a link of the floor, such as `delay=33ms`: once for each link on the path, as the nodes have it
    #[arg(long, value_name = "OPTIONS")]
    floor_line: Vec<wan::LineSpec>,
    /// Send so many updates per second, answered or not
    #[arg(long, value_name = "PER_SECOND", value_parser = size::parse_rate)]
    rate: Option<f64>,
    #[command(flatten)]
    way: WayFlags,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    output: OutputFlags,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let launcher = launcher()?;
    let server = args.way.server(&args.target, &launcher).await?;
    let mut objects = args.objects.clone();
    objects.sort_unstable();
    let plan = Plan {
        ways: args.way.ways(&[Kind::Update], &args.sizes)?,
        federates: args.way.federates(),
        samples: args.samples,
        warm_up: args.warm_up,
        slices: args.slices,
        rate_per_s: args.rate,
        patience: args.way.patience,
        lines: args.floor_line.clone(),
        ..Plan::new(args.sizes.clone(), objects)
    };
    if args.floor_line.len() > server.links() {
        return Err(Failure::wrong_use(format_args!(
            "--floor-line is given {} times, and {} on the path between the federates",
            args.floor_line.len(),
            counted_links(server.links())
        )));
    }
    let mut progress = Progress::new("latency");
    let mut beside = Vec::new();
    for urls in &args.beside {
        beside.push(another(urls).await.with_edition(args.target.fom_edition));
    }
    let measured = measure(&launcher, &server, &beside, &plan, |done, all| progress.at(done, all));
    let results = Box::pin(measured).await.map_err(failure)?;
    drop(progress);
    if !args.output.json.takes_stdout() && !beside.is_empty() {
        say(comparison(&results, (beside.len() + 1) * plan.ways.len()));
    }
    let rows = latency_rows("latency", &args.target, &plan, &results);
    let mut description = loop_of(args.rate).to_owned();
    if !args.floor_line.is_empty() {
        let lines: Vec<String> = args.floor_line.iter().map(ToString::to_string).collect();
        let _ = write!(description, " Links of the floor cross emulated lines: {}.", lines.join("; "));
    }
    let method = method(&description, args.warm_up, args.slices);
    finish("bench latency", &args.target, &args.output, &method, &rows)
}

fn counted_links(links: usize) -> String {
    match links {
        0 => "no link is".to_owned(),
        1 => "one link is".to_owned(),
        links => format!("{links} links are"),
    }
}

/// A server at one URL, or two nodes.
async fn another(urls: &str) -> Server {
    match urls.split_once(',') {
        Some((near, far)) => Server::between(near, far).await,
        None => Server::at(urls),
    }
}

/// The round trips beside the first of `servers` servers and ways, which had their turns in the same run.
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
