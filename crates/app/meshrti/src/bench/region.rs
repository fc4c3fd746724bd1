//! `meshrti bench region`.

use bench::phases::{Outcome, floor};
use bench::region::{Mode, ModeCosts, Plan as Turns, measure};
use console::rounds::Rounds;
use serde_json::{Value, json};
use workload::phases::{Plan, SIDE, Scene};

use super::phases::{Run, SimFlags, by, note_simulation, run_live, simulate, text};
use super::{Target, failure, launcher, ratio, size};
use console::exit::{Outcome as Exit, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure, or_dash};

/// Round trips of the floor of moves.
const FLOOR_SAMPLES: u64 = 2_000;

/// Updates with and without regions, and regions that move.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench region
  meshrti bench region --objects 100000 --moves 1000 --subscribers 10 --side 1
  meshrti bench region --nodes 2 --json
  meshrti bench region --nodes 16 --sim        a simulated walk

First one federate updates objects without regions, with one region for all, with a region for each, while it holds \
very many regions, and while these are in use for other objects. These take turns. The subscriber gets every update.

Then objects and subscribers walk over the square, which is all that is simulated: the host model has no costs of \
regions. Each object has a point for update region, each subscriber a box around itself. In each step they move their \
regions, with two Set Range Bounds and a Commit Region Modifications: objects one after the other, subscribers a \
millisecond apart. Then each object is updated, which must reach those in whose box it is, and nobody else.")]
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
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: u32,
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
    runs: SimFlags,
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

pub(super) async fn run(args: &Args) -> Exit {
    let mut report = Report::new("bench region", 1);
    let scene = Scene {
        objects: args.objects,
        subscribers: args.subscribers.into(),
        side: (args.side / 100.0 * f64::from(SIDE)) as u32,
        moves: args.moves.unwrap_or(args.objects),
    };
    let size = u32::try_from(args.size).unwrap_or(u32::MAX);
    let plan = Plan::Regions { scene, steps: args.steps, size };
    let mut walks = Vec::new();
    if args.runs.is_live() {
        let launcher = launcher()?;
        let server = args.target.server(&launcher).await?;
        let turns = Turns {
            objects: args.objects as usize,
            regions: args.regions as usize,
            size: args.size,
            updates: args.updates,
            samples: args.samples,
            slices: args.slices,
        };
        let mut progress = Progress::new("updates");
        let of_slice = |done, all| progress.at(done, all);
        let (modes, round_trips) =
            Box::pin(measure(&launcher, &server, &turns, of_slice)).await.map_err(failure)?;
        drop(progress);
        for costs in &modes {
            report.row(row_of_mode(&turns, costs, &modes[0], &round_trips));
        }
        if !args.json.takes_stdout() {
            say(format_args!("{}\n", table_of_modes(&turns, &modes, &round_trips)));
        }
        let floor = Box::pin(floor(&launcher, &server, 0, FLOOR_SAMPLES)).await.map_err(failure)?;
        walks.push(Walk { run: run_live(&launcher, &server, plan).await?, floor: Some(floor) });
        report.note(args.target.note());
    }
    let simulated = simulate(&args.runs, plan, args.target.nodes())?;
    walks.extend(simulated.map(|run| Walk { run, floor: None }));
    note_simulation(&mut report, &args.runs);
    if !args.json.takes_stdout() {
        say(table_of_walks(&walks, args.steps));
    }
    report.summary(summary(args, &walks));
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// Objects and subscribers that have walked.
struct Walk {
    run: Run,
    /// Round trips through the relay, of messages without a payload; not in a simulated run.
    floor: Option<Rounds>,
}

impl Walk {
    /// The moves of objects, those of subscribers, all updates, and the reflects.
    fn phases(&self) -> [&Outcome; 4] {
        let [objects, subscribers, update, see] = &self.run.outcomes[..] else {
            unreachable!("the plan has four phases with names");
        };
        [objects, subscribers, update, see]
    }

    /// The number of updates.
    fn updates(&self, steps: u32) -> u64 {
        u64::from(self.phases()[2].count) * u64::from(steps)
    }
}

/// The use of regions in the words of a table.
fn name(plan: &Turns, mode: Mode) -> String {
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

fn row_of_mode(plan: &Turns, costs: &ModeCosts, off: &ModeCosts, floor: &Rounds) -> Value {
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

fn table_of_modes(plan: &Turns, modes: &[ModeCosts], floor: &Rounds) -> String {
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

fn table_of_walks(walks: &[Walk], steps: u32) -> String {
    let heads = ["", "a region moves", "moves", "p50 us", "p99 us", "floor p50 us", "CPU us"];
    let (mut table, mut reached) = (Table::new(heads), String::new());
    for walk in walks {
        let [objects, subscribers, update, see] = walk.phases();
        let mut line = |name: String, moves: &Outcome| {
            table.line([
                by(walk.run.live),
                name,
                moves.each.samples().to_string(),
                figure(moves.each.quantile_us(0.5)),
                figure(moves.each.quantile_us(0.99)),
                or_dash(walk.floor.as_ref().map(|floor| floor.quantile_us(0.5))),
                or_dash(cpu_us(moves)),
            ]);
        };
        line(format!("object, {} subscribers", subscribers.count), objects);
        line(format!("subscriber, {} objects", update.count), subscribers);
        let counts = see.counts;
        let text = format!(
            "\n{} {}updates reached {} of the {} subscribers that a perfect filter chooses, {} others",
            walk.updates(steps),
            if walk.run.live { "" } else { "simulated " },
            counts.reached,
            counts.expected,
            counts.surplus
        );
        reached.push_str(&text);
    }
    format!("{}{reached}", text(table, walks.iter().all(|walk| walk.run.live)))
}

/// Processor time of the nodes for a move, in microseconds.
fn cpu_us(moves: &Outcome) -> Option<f64> {
    let count = moves.each.samples();
    moves.nodes_cpu.filter(|_| count > 0).map(|cpu| cpu.as_secs_f64() / count as f64 * 1e6)
}

/// The live walk, and a simulated one beside it under a key of its own.
fn summary(args: &Args, walks: &[Walk]) -> Value {
    let mut summary = json!({});
    for walk in walks {
        match walk.run.live {
            true => summary = figures(args, walk),
            false => summary["simulated"] = figures(args, walk),
        }
    }
    summary
}

fn figures(args: &Args, walk: &Walk) -> Value {
    let [objects, subscribers, _, see] = walk.phases();
    let moves = |moves: &Outcome| {
        json!({
            "moves": moves.each.samples(),
            "p50_us": moves.each.quantile_us(0.5),
            "p99_us": moves.each.quantile_us(0.99),
            "server_cpu_us": cpu_us(moves),
        })
    };
    let counts = see.counts;
    let share = if counts.expected == 0 { 1.0 } else { counts.reached as f64 / counts.expected as f64 };
    json!({
        "objects": args.objects,
        "subscribers": args.subscribers,
        "side_share": args.side / 100.0,
        "steps": args.steps,
        "object_moves": moves(objects),
        "subscriber_moves": moves(subscribers),
        "floor_p50_us": walk.floor.as_ref().map(|floor| floor.quantile_us(0.5)),
        "updates": walk.updates(args.steps),
        "expected": counts.expected,
        "reached": counts.reached,
        "reached_share": share,
        "surplus": counts.surplus,
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
