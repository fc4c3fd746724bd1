//! `meshrti bench fanout`.

use bench::fanout::{Fanout, Plan, measure};
use serde_json::{Value, json};

use super::floods::{Fan, FloodFlags, SimulatedFlood, error_percent, simulate};
use super::{Target, failure, launcher, size};
use console::exit::{Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure, or_dash};

/// One update to many subscribers, against as many single updates.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench fanout
  meshrti bench fanout --subscribers 10 --size 1k
  meshrti bench fanout --sim --hosts hosts.toml       and what the simulator says of the same federates

The subscribers are federates in one process of their own. It gets the same number of reflects in both cases: once from \
updates that every subscriber wants, once from updates that only one wants. A ratio of 1 would mean that an update to \
all costs as much as single updates to each.")]
pub(super) struct Args {
    /// Subscribing federates
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    subscribers: u16,
    /// Payload
    #[arg(long, value_name = "BYTES", value_parser = size::parse, default_value = "100")]
    size: usize,
    /// Updates to all of them
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    updates: u64,
    /// Slices in which fan-out and single updates take turns
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
    let mut report = Report::new("bench fanout", 1);
    let launcher = launcher()?;
    let server = args.target.server(&launcher).await?;
    let plan = Plan {
        size: args.size,
        subscribers: usize::from(args.subscribers),
        updates: args.updates,
        slices: args.slices,
    };
    let mut progress = Progress::new("fanout");
    let fanout = Box::pin(measure(&launcher, &server, &plan, |done, all| progress.at(done, all)))
        .await
        .map_err(failure)?;
    drop(progress);
    let fan = Fan::Out { subscribers: args.subscribers, updates: args.updates };
    // All federates are at the first node.
    let simulated = simulate(&args.simulation, fan, args.size, 0)?;
    if !args.json.takes_stdout() {
        say(table(&fanout));
        simulated.iter().for_each(|simulated| say(simulated_table(&fanout, simulated)));
    }
    report.row(with_simulated(row(&fanout), &fanout, simulated));
    report.note(args.target.note());
    args.json.write(&report)?;
    Ok(Status::Done)
}

pub(super) fn row(fanout: &Fanout) -> Value {
    json!({
        "size_bytes": fanout.size_bytes,
        "subscribers": fanout.subscribers,
        "updates": fanout.updates,
        "fanout_us": fanout.fanout_s * 1e6,
        "single_us": fanout.single_s * 1e6,
        "fanout_ratio": fanout.ratio(),
        "server_cpu_fanout_us": fanout.server_cpu_s.map(|(fanout, _)| fanout * 1e6),
        "server_cpu_single_us": fanout.server_cpu_s.map(|(_, single)| single * 1e6),
        "server_cpu_ratio": fanout.server_cpu_ratio(),
    })
}

/// A row with the simulator's figures, which are `null` unless it was asked for them.
fn with_simulated(mut row: Value, fanout: &Fanout, simulated: Option<[SimulatedFlood; 2]>) -> Value {
    let micros = simulated.map(|floods| floods.map(|flood| 1e6 / flood.per_s));
    row["simulated_fanout_us"] = json!(micros.map(|[all, _]| all));
    row["simulated_single_us"] = json!(micros.map(|[_, one]| one));
    let subscribers = fanout.subscribers as f64;
    row["simulated_fanout_ratio"] = json!(micros.map(|[all, one]| all / (one * subscribers)));
    row["simulated_server_cpu_fanout_us"] = json!(simulated.map(|[all, _]| all.nodes_cpu_us));
    row["simulated_server_cpu_single_us"] = json!(simulated.map(|[_, one]| one.nodes_cpu_us));
    row
}

fn simulated_table(fanout: &Fanout, [all, one]: &[SimulatedFlood; 2]) -> String {
    let heads = [
        "simulated µs to all",
        "error %",
        "µs to one",
        "error %",
        "ratio to singles",
        "server CPU µs to all",
        "to one",
    ];
    let mut table = Table::new(heads);
    let [to_all, to_one] = [all, one].map(|flood| 1e6 / flood.per_s);
    table.line([
        figure(to_all),
        error_percent(to_all, fanout.fanout_s * 1e6),
        figure(to_one),
        error_percent(to_one, fanout.single_s * 1e6),
        figure(to_all / (to_one * fanout.subscribers as f64)),
        figure(all.nodes_cpu_us),
        figure(one.nodes_cpu_us),
    ]);
    table.text()
}

pub(super) fn table(fanout: &Fanout) -> String {
    let mut table = Table::new([
        "payload",
        "subscribers",
        "updates",
        "µs to all",
        "µs to one",
        "ratio to singles",
        "server CPU µs to all",
        "to one",
        "ratio to singles",
    ]);
    table.line([
        size::name(fanout.size_bytes),
        fanout.subscribers.to_string(),
        fanout.updates.to_string(),
        figure(fanout.fanout_s * 1e6),
        figure(fanout.single_s * 1e6),
        figure(fanout.ratio()),
        or_dash(fanout.server_cpu_s.map(|(fanout, _)| fanout * 1e6)),
        or_dash(fanout.server_cpu_s.map(|(_, single)| single * 1e6)),
        or_dash(fanout.server_cpu_ratio()),
    ]);
    table.text()
}
