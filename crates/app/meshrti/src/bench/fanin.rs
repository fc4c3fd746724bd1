//! `meshrti bench fanin`.

use bench::fanin::{FanIn, Plan, measure};
use serde_json::{Value, json};

use super::floods::{Fan, FloodFlags, SimulatedFlood, error_percent, simulate};
use super::{Target, failure, launcher, size};
use console::exit::{Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure, or_dash};

/// Many publishers that update as fast as they can, and one subscriber.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench fanin
  meshrti bench fanin --publishers 5,50 --size 1k
  meshrti bench fanin --sim --hosts hosts.toml        and what the simulator says of the same federates

Each publisher is a federate in a process of its own, and so is the subscriber. It gets the same number of reflects in \
both cases: once from all publishers together, once from one alone. The fairness is Jain's index of the rates at which \
the server takes the updates of each publisher: 1 if all are equal.")]
pub(super) struct Args {
    /// Publishing federates; several numbers are measured one after another
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values = ["2", "10", "50"],
        value_parser = clap::value_parser!(u16).range(1..=1_000))]
    publishers: Vec<u16>,
    /// Payload
    #[arg(long, value_name = "BYTES", value_parser = size::parse, default_value = "100")]
    size: usize,
    /// Updates of all publishers together
    #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..))]
    updates: u64,
    /// Slices in which many publishers and one take turns
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    slices: u64,
    #[command(flatten)]
    simulation: FloodFlags,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench fanin", 1);
    let launcher = launcher()?;
    let server = args.target.server(&launcher).await?;
    let mut progress = Progress::new("fan-in");
    let mut results = Vec::new();
    let mut cases = args.publishers.clone();
    cases.sort_unstable();
    cases.dedup();
    for (at, publishers) in (0..).zip(&cases) {
        let plan = Plan {
            size: args.size,
            publishers: usize::from(*publishers),
            updates: args.updates,
            slices: args.slices,
        };
        let number = cases.len() as u64;
        let measured =
            measure(&launcher, &server, &plan, |done, all| progress.at(at * all + done, number * all));
        results.push(Box::pin(measured).await.map_err(failure)?);
    }
    drop(progress);
    let mut simulated = Vec::new();
    for publishers in cases {
        let fan = Fan::In { publishers, updates: args.updates };
        simulated.push(simulate(&args.simulation, fan, args.size, args.target.last_node())?);
    }
    if !args.json.takes_stdout() {
        say(table(&results));
        if simulated.iter().any(Option::is_some) {
            say(simulated_table(&results, &simulated));
        }
    }
    results.iter().zip(&simulated).for_each(|(fan_in, simulated)| report.row(row(fan_in, *simulated)));
    report.note(args.target.note());
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// The rates of the slowest and of the fastest publisher.
fn ends(fan_in: &FanIn) -> [Option<f64>; 2] {
    [fan_in.of_each_per_s.first().copied(), fan_in.of_each_per_s.last().copied()]
}

fn row(fan_in: &FanIn, simulated: Option<[SimulatedFlood; 2]>) -> Value {
    let micros = |seconds: Option<f64>| seconds.map(|seconds| seconds * 1e6);
    let [slowest, fastest] = ends(fan_in);
    json!({
        "size_bytes": fan_in.size_bytes,
        "publishers": fan_in.publishers,
        "updates": fan_in.updates,
        "updates_per_s": fan_in.per_s[0],
        "single_updates_per_s": fan_in.per_s[1],
        "fanin_ratio": fan_in.ratio(),
        "server_cpu_us": micros(fan_in.server_cpu_s[0]),
        "server_cpu_single_us": micros(fan_in.server_cpu_s[1]),
        "server_cpu_ratio": fan_in.server_cpu_ratio(),
        "slowest_per_s": slowest,
        "fastest_per_s": fastest,
        "fairness_ratio": fan_in.fairness(),
        "simulated_updates_per_s": simulated.map(|[many, _]| many.per_s),
        "simulated_single_updates_per_s": simulated.map(|[_, one]| one.per_s),
        "simulated_fanin_ratio": simulated.map(|[many, one]| many.per_s / one.per_s),
        "simulated_server_cpu_us": simulated.map(|[many, _]| many.nodes_cpu_us),
        "simulated_server_cpu_single_us": simulated.map(|[_, one]| one.nodes_cpu_us),
    })
}

fn simulated_table(results: &[FanIn], simulated: &[Option<[SimulatedFlood; 2]>]) -> String {
    let mut table = Table::new([
        "publishers",
        "simulated updates/s",
        "error %",
        "of one alone",
        "error %",
        "ratio",
        "server CPU µs",
        "of one alone",
    ]);
    for (fan_in, simulated) in results.iter().zip(simulated) {
        let Some([many, one]) = simulated else { continue };
        let [of_many, of_one] = fan_in.per_s;
        table.line([
            fan_in.publishers.to_string(),
            figure(many.per_s),
            error_percent(many.per_s, of_many),
            figure(one.per_s),
            error_percent(one.per_s, of_one),
            figure(many.per_s / one.per_s),
            figure(many.nodes_cpu_us),
            figure(one.nodes_cpu_us),
        ]);
    }
    table.text()
}

fn table(results: &[FanIn]) -> String {
    let mut table = Table::new([
        "publishers",
        "payload",
        "updates/s",
        "of one alone",
        "ratio",
        "server CPU µs",
        "of one alone",
        "ratio",
        "slowest/s",
        "fastest/s",
        "fairness",
    ]);
    for fan_in in results {
        let [slowest, fastest] = ends(fan_in);
        let micros = |seconds: Option<f64>| or_dash(seconds.map(|seconds| seconds * 1e6));
        table.line([
            fan_in.publishers.to_string(),
            size::name(fan_in.size_bytes),
            figure(fan_in.per_s[0]),
            figure(fan_in.per_s[1]),
            figure(fan_in.ratio()),
            micros(fan_in.server_cpu_s[0]),
            micros(fan_in.server_cpu_s[1]),
            or_dash(fan_in.server_cpu_ratio()),
            or_dash(slowest),
            or_dash(fastest),
            figure(fan_in.fairness()),
        ]);
    }
    table.text()
}
