//! `meshrti bench region`.

use bench::region::{Measured, Mode, ModeCosts, Moves, Plan, Walk, measure};
use console::rounds::Rounds;
use serde_json::{Value, json};

use super::{Target, failure, launcher, ratio, size};
use console::exit::{Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure, or_dash};

/// Updates with and without regions, and regions that move.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench region
  meshrti bench region --objects 100000 --moves 1000 --subscribers 10 --side 1
  meshrti bench region --nodes 2 --json

First one federate updates objects without regions, with one region for all, with a region for each, while it holds \
very many regions, and while these are in use for other objects. These take turns, and each figure is also printed as \
a multiple of that without regions. The subscriber sees the whole square, so that it gets every update.

Then objects and subscribers walk over the square. Each object has a point for update region, each subscriber a box \
around itself. In each step they move their regions, and every object is updated. Each update must reach those in whose \
box its object is, and nobody else. A move is two Set Range Bounds and a Commit Region Modifications.")]
pub(super) struct Args {
    /// Objects that are updated, and that walk
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    objects: u32,
    /// Federates that walk and subscribe to what is near
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    subscribers: u16,
    /// Side of the box around a subscriber, as a percentage of that of the square
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent)]
    side: f64,
    /// Objects that move in each step [default: all]
    #[arg(long, value_name = "COUNT")]
    moves: Option<u32>,
    /// Steps of the walk
    #[arg(long, default_value_t = 50)]
    steps: u64,
    /// Regions that the federate holds
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=500_000))]
    regions: u32,
    /// Payload
    #[arg(long, value_name = "BYTES", value_parser = size::parse_numbered, default_value = "100")]
    size: usize,
    /// Updates with each use of regions
    #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..))]
    updates: u64,
    /// Round trips with each use of regions
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Slices in which they take turns
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    slices: u64,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(percent) if (0.001..=200.0).contains(&percent) => Ok(percent),
        _ => Err(format!("`{text}` is no side: expected a percentage from 0.001 to 200")),
    }
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench region", 1);
    let launcher = launcher()?;
    let server = args.target.server(&launcher).await?;
    let plan = Plan {
        objects: args.objects as usize,
        subscribers: args.subscribers.into(),
        side: args.side / 100.0,
        moves: args.moves.unwrap_or(args.objects) as usize,
        steps: args.steps,
        regions: args.regions as usize,
        size: args.size,
        updates: args.updates,
        samples: args.samples,
        slices: args.slices,
    };
    let mut progress = Progress::new("regions");
    let measured = Box::pin(measure(&launcher, &server, &plan, |done, all| progress.at(done, all)))
        .await
        .map_err(failure)?;
    drop(progress);
    let Measured { modes, floor, walk } = &measured;
    if !args.json.takes_stdout() {
        say(format_args!("{}\n", table_of_modes(&plan, modes, floor)));
        say(table_of_walk(&plan, walk));
    }
    for costs in modes {
        report.row(row_of_mode(&plan, costs, &modes[0], floor));
    }
    report.summary(summary(&plan, walk));
    report.note(args.target.note());
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// The use of regions in the words of a table.
fn name(plan: &Plan, mode: Mode) -> String {
    match mode {
        Mode::Off => "off".to_owned(),
        Mode::OneForAll => "one for all".to_owned(),
        Mode::OneEach => "one each".to_owned(),
        Mode::Held => format!("{} held", plan.regions),
        Mode::InUse => format!("{} in use", plan.regions),
    }
}

/// The same for programs.
fn key(mode: Mode) -> &'static str {
    match mode {
        Mode::Off => "off",
        Mode::OneForAll => "one_for_all",
        Mode::OneEach => "one_each",
        Mode::Held => "held",
        Mode::InUse => "in_use",
    }
}

fn row_of_mode(plan: &Plan, costs: &ModeCosts, off: &ModeCosts, floor: &Rounds) -> Value {
    let quantile = |costs: &ModeCosts, quantile| costs.rounds.quantile_us(quantile);
    let of_rounds = |q| ratio(Some(quantile(costs, q)), Some(quantile(off, q)));
    json!({
        "mode": key(costs.mode),
        "objects": plan.objects,
        "regions": plan.regions,
        "size_bytes": plan.size,
        "updates": plan.updates,
        "updates_per_s": 1.0 / costs.update_s,
        "update_ratio": costs.update_s / off.update_s,
        "server_cpu_us": costs.cpu_s.map(|seconds| seconds * 1e6),
        "server_cpu_ratio": ratio(costs.cpu_s, off.cpu_s),
        "samples": costs.rounds.samples(),
        "p50_us": quantile(costs, 0.5),
        "p50_ratio": of_rounds(0.5),
        "p99_us": quantile(costs, 0.99),
        "p99_ratio": of_rounds(0.99),
        "floor_p50_us": floor.quantile_us(0.5),
        "floor_p99_us": floor.quantile_us(0.99),
    })
}

fn table_of_modes(plan: &Plan, modes: &[ModeCosts], floor: &Rounds) -> String {
    let mut table =
        Table::new(["regions", "updates/s", "cost", "CPU us", "× off", "p50 us", "× off", "p99 us", "× off"]);
    for costs in modes {
        let row = row_of_mode(plan, costs, &modes[0], floor);
        let cell = |key: &str| or_dash(row[key].as_f64());
        table.line([
            name(plan, costs.mode),
            cell("updates_per_s"),
            cell("update_ratio"),
            cell("server_cpu_us"),
            cell("server_cpu_ratio"),
            cell("p50_us"),
            cell("p50_ratio"),
            cell("p99_us"),
            cell("p99_ratio"),
        ]);
    }
    let [p50, p99] = [0.5, 0.99].map(|quantile| figure(floor.quantile_us(quantile)));
    format!("{}\nround trips of the floor: p50 {p50} us, p99 {p99} us", table.text())
}

fn table_of_walk(plan: &Plan, walk: &Walk) -> String {
    let mut table = Table::new(["a region moves", "moves", "p50 us", "p99 us", "floor p50 us", "CPU us"]);
    let mut line = |name: String, moves: &Moves| {
        table.line([
            name,
            moves.rounds.samples().to_string(),
            figure(moves.rounds.quantile_us(0.5)),
            figure(moves.rounds.quantile_us(0.99)),
            figure(walk.floor.quantile_us(0.5)),
            or_dash(moves.cpu_s.map(|seconds| seconds * 1e6)),
        ]);
    };
    line(format!("object, {} subscribers", plan.subscribers), &walk.objects);
    line(format!("subscriber, {} objects", plan.objects), &walk.subscribers);
    format!(
        "{}\n{} updates reached {} of the {} subscribers that a perfect filter chooses, {} others",
        table.text(),
        walk.updates,
        walk.reached,
        walk.expected,
        walk.surplus
    )
}

fn summary(plan: &Plan, walk: &Walk) -> Value {
    let moves = |moves: &Moves| {
        json!({
            "moves": moves.rounds.samples(),
            "p50_us": moves.rounds.quantile_us(0.5),
            "p99_us": moves.rounds.quantile_us(0.99),
            "server_cpu_us": moves.cpu_s.map(|seconds| seconds * 1e6),
        })
    };
    json!({
        "objects": plan.objects,
        "subscribers": plan.subscribers,
        "side_share": plan.side,
        "steps": plan.steps,
        "object_moves": moves(&walk.objects),
        "subscriber_moves": moves(&walk.subscribers),
        "floor_p50_us": walk.floor.quantile_us(0.5),
        "updates": walk.updates,
        "expected": walk.expected,
        "reached": walk.reached,
        "reached_share": walk.share(),
        "surplus": walk.surplus,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_percentages() {
        assert_eq!(percent("12.5"), Ok(12.5));
        assert!(percent("0").is_err());
        assert!(percent("much").is_err());
    }
}
