//! `meshrti bench fanin`.

use serde_json::{Value, json};
use workload::phases::Fan;

use super::floods::{Flags, Measured, floods, run_all};
use super::phases::{by, text};
use super::size;
use console::exit::{Outcome, Status, say};
use console::report::Report;
use console::table::{Table, figure, or_dash};

/// Many publishers that update as fast as they can, and one subscriber.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench fanin
  meshrti bench fanin --publishers 5,50 --size 1k
  meshrti bench fanin --live --sim --hosts hosts.toml       and what the simulator says of the same federates

Each publisher is a federate in a process of its own, and so is the subscriber. It gets the same number of reflects in \
both cases: once from all publishers together, once from one alone. The fairness is Jain's index of the rates at which \
the server takes the updates of each publisher: 1 if all are equal.")]
pub(super) struct Args {
    /// Publishing federates; several numbers are measured one after another
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values = ["2", "10", "50"],
        value_parser = clap::value_parser!(u16).range(1..=1_000))]
    publishers: Vec<u16>,
    /// Updates of all publishers together
    #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    updates: u32,
    #[command(flatten)]
    flags: Flags,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench fanin", 1);
    let mut cases = args.publishers.clone();
    cases.sort_unstable();
    cases.dedup();
    let plan =
        |publishers: &u16| floods(&args.flags, Fan::In { publishers: (*publishers).into() }, args.updates);
    let plans: Vec<_> = cases.iter().map(plan).collect();
    let runs = run_all(&args.flags, &plans, &mut report).await?;
    if !args.flags.json.takes_stdout() {
        say(table(&runs));
    }
    runs.iter().for_each(|run| report.row(row(run)));
    args.flags.json.write(&report)?;
    Ok(Status::Done)
}

fn publishers(run: &Measured) -> usize {
    run.figures.of_each_per_s.len()
}

/// The rates of the slowest and of the fastest publisher.
fn ends(run: &Measured) -> [Option<f64>; 2] {
    let rates = &run.figures.of_each_per_s;
    [rates.first().copied(), rates.last().copied()]
}

fn row(run: &Measured) -> Value {
    let Measured { live, figures } = run;
    let [slowest, fastest] = ends(run);
    let ([many_per_s, one_per_s], [many_cpu_us, one_cpu_us]) = (figures.per_s(), run.server_cpu_us());
    json!({
        "live": live,
        "size_bytes": figures.floods.size,
        "publishers": publishers(run),
        "updates": figures.floods.updates,
        "updates_per_s": many_per_s,
        "single_updates_per_s": one_per_s,
        "fanin_ratio": many_per_s / one_per_s,
        "server_cpu_us": many_cpu_us,
        "server_cpu_single_us": one_cpu_us,
        "server_cpu_ratio": figures.server_cpu_ratio(),
        "slowest_per_s": slowest,
        "fastest_per_s": fastest,
        "fairness_ratio": figures.fairness(),
    })
}

fn table(runs: &[Measured]) -> String {
    let mut table = Table::new([
        "",
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
    for run in runs {
        let figures = &run.figures;
        let ([many_per_s, one_per_s], [slowest, fastest]) = (figures.per_s(), ends(run));
        let [cpu, cpu_of_one, cpu_ratio] = run.server_cpu_figures();
        table.line([
            by(run.live),
            publishers(run).to_string(),
            size::name(figures.floods.size as usize),
            figure(many_per_s),
            figure(one_per_s),
            figure(many_per_s / one_per_s),
            cpu,
            cpu_of_one,
            cpu_ratio,
            or_dash(slowest),
            or_dash(fastest),
            figure(figures.fairness()),
        ]);
    }
    text(table, runs.iter().all(|run| run.live))
}
