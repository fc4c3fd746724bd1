//! `meshrti sim region-scale`: whole nodes, each interested in an area of the world, and the octets
//! between them for each update that a node wants.

use std::time::Instant;

use base::Seed;
use experiment::SeedFlag;
use serde_json::{Value, json};
use testkit::areas::{self, Report as Outcomes, Settings};

use console::exit::{Failure, Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};

/// The name of the scenario.
const NAME: &str = "region-scale";

/// The longest warm-up without regions, in seconds: long enough for the first messages of all streams.
const WARM_UP_WITHOUT_MAX: u16 = 20;

/// Options of region-scale.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti sim region-scale
  meshrti sim region-scale --nodes 8,16,32 --entities 100
  meshrti sim region-scale --cell-m 5000      # update regions that move less often

The world grows with the nodes: a square with --area-km2 for each. Each node has a federate with entities, which are \
updated once a second, and whose update region is the cell of a grid in which they are. Each federate subscribes a \
box. The same updates without regions, which then all nodes want, are the measure of what an update costs.
Exit status: 1 if a wanted update costs more than --ratio-max times as many octets as one without regions.")]
pub(super) struct Args {
    /// Numbers of nodes, one run for each
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [8, 16], value_parser = clap::value_parser!(u16).range(2..=200))]
    nodes: Vec<u16>,
    /// Entities at each node
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..))]
    entities: u16,
    /// The world's area for each node, in square kilometres
    #[arg(long, value_name = "KM2", default_value_t = 625, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    area_km2: u32,
    /// The side of the box that a node is interested in, in metres
    #[arg(long, value_name = "M", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    interest_m: u32,
    /// The side of the cell that is an entity's update region, in metres
    #[arg(long, value_name = "M", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    cell_m: u32,
    /// The speed of entities, in metres per second
    #[arg(long, value_name = "M/S", default_value_t = 15, value_parser = clap::value_parser!(u32).range(..=1_000))]
    speed: u32,
    /// Octets of the value of an update
    #[arg(long, value_name = "BYTES", default_value_t = 128, value_parser = clap::value_parser!(u16).range(16..))]
    bytes: u16,
    /// Time before, in virtual seconds. A node is told of the first move of each region out of its sight, and then of no other
    #[arg(long, value_name = "S", default_value_t = 120, value_parser = clap::value_parser!(u16).range(..=3_600))]
    warm_up: u16,
    /// Measured time, in virtual seconds
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=3_600))]
    seconds: u16,
    /// The limit on the ratio of octets per wanted update
    #[arg(long, value_name = "RATIO", default_value_t = 1.5)]
    ratio_max: f64,
    #[command(flatten)]
    seed: SeedFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// A network and its results, with regions and without.
struct Run {
    nodes: u16,
    seconds: u16,
    with: Outcomes,
    without: Outcomes,
}

impl Run {
    fn bytes_per_update(outcomes: &Outcomes) -> f64 {
        outcomes.bytes as f64 / outcomes.received.max(1) as f64
    }

    fn ratio(&self) -> f64 {
        Self::bytes_per_update(&self.with) / Self::bytes_per_update(&self.without).max(1.0)
    }

    fn bytes_per_node_and_second(&self, outcomes: &Outcomes) -> f64 {
        outcomes.bytes as f64 / f64::from(self.nodes) / f64::from(self.seconds)
    }
}

impl Args {
    fn settings(&self, nodes: u16, interest: Option<u32>) -> Settings {
        let world = (f64::from(self.area_km2) * f64::from(nodes)).sqrt() * 1_000.0;
        Settings {
            nodes: nodes.into(),
            entities: self.entities.into(),
            world: world as u32,
            interest,
            cell: self.cell_m,
            speed: self.speed,
            value_bytes: self.bytes.into(),
            warm_up: interest.map_or(self.warm_up.min(WARM_UP_WITHOUT_MAX), |_| self.warm_up).into(),
            seconds: self.seconds.into(),
            seed: Seed(self.seed.seed),
        }
    }

    fn run(&self, nodes: u16, mut progress: impl FnMut(usize, usize)) -> Result<Run, String> {
        let with = self.settings(nodes, Some(self.interest_m));
        let with = areas::run(&with, |done, all| progress(done, 2 * all))?;
        let without = areas::run(&self.settings(nodes, None), |done, all| progress(all + done, 2 * all))?;
        Ok(Run { nodes, seconds: self.seconds, with, without })
    }
}

/// Runs the scenario.
pub(super) fn run(args: &Args) -> Outcome {
    let begun = Instant::now();
    let mut progress = Progress::new("sim");
    let mut runs = Vec::new();
    for &nodes in &args.nodes {
        let (before, networks) = (runs.len(), args.nodes.len());
        let run = args.run(nodes, |done, all| {
            progress.at((before * all + done) as u64, (networks * all) as u64);
        });
        runs.push(run.map_err(|why| Failure::bad_news(format_args!("{NAME}: {why}")))?);
    }
    drop(progress);
    let wall_s = begun.elapsed().as_secs_f64();
    let mut report = Report::new("sim region-scale", 1);
    report.seed(args.seed.seed);
    runs.iter().for_each(|run| report.row(row(run)));
    report.summary(json!({
        "scenario": NAME,
        "entities_per_node": args.entities,
        "area_km2_per_node": args.area_km2,
        "interest_m": args.interest_m,
        "cell_m": args.cell_m,
        "warm_up_s": args.warm_up,
        "wall_s": wall_s,
    }));
    report.note(COUNTED);
    if !args.json.takes_stdout() {
        say(table(&runs));
        say(format_args!("{COUNTED}; {wall_s:.1} s"));
    }
    args.json.write(&report)?;
    let within = runs.iter().all(|run| run.ratio() <= args.ratio_max);
    Ok(if within { Status::Done } else { Status::BadNews })
}

const COUNTED: &str = "octets of frames between nodes, signs of life and the log aside; \
                       an update is wanted if its region overlaps the box of the node that receives it";

fn row(run: &Run) -> Value {
    let of = |outcomes: &Outcomes| {
        json!({
            "updates": outcomes.updates,
            "regions_moved": outcomes.moves,
            "wanted": outcomes.received,
            "bytes": outcomes.bytes,
            "bytes_per_wanted": Run::bytes_per_update(outcomes),
            "bytes_per_node_and_s": run.bytes_per_node_and_second(outcomes),
        })
    };
    json!({
        "nodes": run.nodes,
        "with_regions": of(&run.with),
        "without": of(&run.without),
        "ratio": run.ratio(),
    })
}

fn table(runs: &[Run]) -> String {
    let mut table = Table::new([
        "nodes",
        "updates",
        "regions moved",
        "wanted",
        "bytes per wanted",
        "without regions",
        "ratio",
        "kB/s per node",
        "without regions",
    ]);
    for run in runs {
        let kilobytes = |outcomes| figure(run.bytes_per_node_and_second(outcomes) / 1_000.0);
        table.line([
            run.nodes.to_string(),
            run.with.updates.to_string(),
            run.with.moves.to_string(),
            run.with.received.to_string(),
            format!("{:.0}", Run::bytes_per_update(&run.with)),
            format!("{:.0}", Run::bytes_per_update(&run.without)),
            format!("{:.2}", run.ratio()),
            kilobytes(&run.with),
            kilobytes(&run.without),
        ]);
    }
    table.text()
}
