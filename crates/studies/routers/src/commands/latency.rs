//! `meshrti sim router-latency`: one exchange at a time over a tree of three levels and over a mesh
//! (MeshRouter paper, section 4, before 4.1).

use crate::routers::{Layout, Outcome, Run, Shape, Start, run};
use base::Seed;
use console::exit::{Failure, Outcome as Done, Status};
use console::report::{JsonFlag, Report};
use experiment::parallel::in_parallel;
use experiment::sheet::{FilesFlag, Sheet, number, publish};
use experiment::stats::micros;
use experiment::{RunFlags, SeedFlag, Settings, interrupt};
use serde_json::{Value, json};
use std::num::NonZeroUsize;
use std::time::Duration;

use super::built_in::TREE_VS_MESH;
use super::routers::hardware_of;

/// The name of the subcommand.
const NAME: &str = "router-latency";
/// The longest time between looks that can be set.
const LOOK_US_MAX: u64 = 60_000_000;

/// Options of router-latency.
#[derive(clap::Args)]
pub struct LatencyArgs {
    /// Routers below the root of the tree, below each of these, ...; the mesh has a triad for each leaf
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', default_value = "4,4")]
    fan_outs: Vec<usize>,
    /// Federates at each leaf router
    #[arg(long, value_name = "N", default_value_t = 5)]
    federates: usize,
    /// Sizes of messages, in bytes
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', default_value = "128,1024")]
    sizes: Vec<usize>,
    /// Longest times until a federate looks for messages, in µs
    #[arg(long, value_name = "US,...", value_delimiter = ',', default_value = "0,100,1000",
          value_parser = clap::value_parser!(u64).range(..=LOOK_US_MAX))]
    looks: Vec<u64>,
    /// Exchanges at each distance
    #[arg(long, value_name = "N", default_value_t = 500)]
    exchanges: u32,
    #[command(flatten)]
    seed: SeedFlag,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    files: FilesFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// Mean and standard deviation of round-trip times, in µs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    mean: f64,
    std: f64,
}

impl Times {
    /// The times of the single pair of a run.
    fn of(outcome: &Outcome) -> Self {
        let first = |times: &[Vec<Duration>]| times.first().and_then(|pair| pair.first()).copied();
        let us = |times| first(times).map_or(f64::NAN, micros);
        Self { mean: us(&outcome.means), std: us(&outcome.spreads) }
    }

    /// The times of a mixture: each part with its share of all exchanges.
    fn mixed(parts: impl Iterator<Item = (f64, Times)> + Clone) -> Self {
        let mean: f64 = parts.clone().map(|(share, times)| share * times.mean).sum();
        let apart = |(share, times): (f64, Times)| share * (times.std.powi(2) + (times.mean - mean).powi(2));
        Self { mean, std: parts.map(apart).sum::<f64>().sqrt() }
    }
}

/// A line of the table: a distance, or all distances together.
struct Row {
    look_us: u64,
    size: usize,
    hops: Option<usize>,
    share: f64,
    /// Links that a message crosses; none for all distances together.
    links: [Option<u8>; 2],
    /// On the tree and on the mesh.
    times: [Times; 2],
}

impl Row {
    /// Mean on the tree over mean on the mesh.
    fn ratio(&self) -> f64 {
        self.times[0].mean / self.times[1].mean
    }

    /// Whether the error bars overlap: means with one standard deviation either way, which are the
    /// bars of the paper's figures 13 and 14.
    fn is_within_error(&self) -> bool {
        let [tree, mesh] = self.times;
        (tree.mean - mesh.mean).abs() <= tree.std + mesh.std
    }
}

/// The topologies, in the order of columns.
const SHAPES: [Shape; 2] = [Shape::Tree, Shape::Mesh];

impl LatencyArgs {
    /// Measures all distances, and reports.
    ///
    /// # Errors
    /// Wrong options, a network that breaks down, files that cannot be written, or an interruption.
    pub(super) fn run(&self) -> Done {
        let flags = RunFlags { seed: self.seed, replications: 1, jobs: self.jobs };
        let settings = Settings::new(NAME, flags, &self.json).with_files(&self.files);
        let runs = self.runs().map_err(|why| settings.wrong(why))?;
        let shares = self.layout().shares().map_err(|error| settings.wrong(error))?;
        interrupt::watch();
        let outcomes = in_parallel(self.jobs, runs.len(), 1, |index, ticker| {
            let one = &runs[index];
            let outcome = run(one).map_err(|error| {
                let (shape, hops) = (one.shape.name(), one.hops);
                Failure::bad_news(format_args!("{NAME}: {shape}, {hops} hops: {error}"))
            });
            ticker.tick();
            outcome
        })?;
        let rows = rows(&shares, &runs, &outcomes);
        let any = || rows.iter().filter(|row| row.hops.is_none());
        let passed = any().all(|row| row.ratio() >= 1.0);
        let events: u64 = outcomes.iter().map(|outcome| outcome.events).sum();
        let mut report = Report::new("sim router-latency", 1);
        report.seed(settings.seed);
        report.summary(json!({
            "scenario": NAME, "fan_outs": self.fan_outs, "federates_per_leaf": self.federates,
            "exchanges": self.exchanges, "events": events, "passed": passed,
        }));
        publish(&settings, &mut report, &[sheet(&rows)], &[], &notes(&rows))?;
        if interrupt::is_stopped() {
            return Ok(interrupt::status());
        }
        Ok(if passed { Status::Done } else { Status::BadNews })
    }

    fn layout(&self) -> Layout {
        Layout { fan_outs: self.fan_outs.clone(), federates_per_leaf: self.federates }
    }

    /// A run for each look, size, distance and topology, in this order.
    fn runs(&self) -> Result<Vec<Run>, String> {
        let hardware = hardware_of(TREE_VS_MESH)?;
        let mut runs = Vec::new();
        for &look in &self.looks {
            for &size in &self.sizes {
                for hops in 0..=self.fan_outs.len() {
                    for shape in SHAPES {
                        runs.push(Run {
                            shape,
                            layout: self.layout(),
                            hardware: hardware.clone(),
                            hops,
                            pairs: 1,
                            sizes: vec![size],
                            exchanges: self.exchanges,
                            look: Duration::from_micros(look),
                            piece_bytes_max: usize::MAX,
                            start: Start::default(),
                            seed: Seed(self.seed.seed),
                        });
                    }
                }
            }
        }
        Ok(runs)
    }
}

/// The lines of all runs that have ended: by distance, and below them all distances together.
fn rows(shares: &[f64], runs: &[Run], outcomes: &[Outcome]) -> Vec<Row> {
    let both: Vec<_> = runs.chunks(2).zip(outcomes.chunks_exact(2)).collect();
    let mut rows = Vec::new();
    for case in both.chunks_exact(shares.len()) {
        let look_us = u64::try_from(case[0].0[0].look.as_micros()).unwrap_or(u64::MAX);
        let size = case[0].0[0].sizes[0];
        let of = |index: usize| case.iter().map(move |(_, outcomes)| Times::of(&outcomes[index]));
        let any = [0, 1].map(|index| Times::mixed(shares.iter().copied().zip(of(index))));
        for (hops, ((_, outcomes), share)) in case.iter().zip(shares).enumerate() {
            let links = [0, 1].map(|index| Some(outcomes[index].links));
            let times = [0, 1].map(|index| Times::of(&outcomes[index]));
            rows.push(Row { look_us, size, hops: Some(hops), share: *share, links, times });
        }
        rows.push(Row { look_us, size, hops: None, share: 1.0, links: [None; 2], times: any });
    }
    rows
}

fn sheet(rows: &[Row]) -> Sheet {
    let columns = [
        ("look_us", "looks within, µs"),
        ("size_bytes", "bytes"),
        ("hops", "hops"),
        ("share_percent", "of pairs, %"),
        ("tree_links", "links, tree"),
        ("mesh_links", "mesh"),
        ("tree_us", "tree, µs"),
        ("tree_std_us", "±"),
        ("mesh_us", "mesh, µs"),
        ("mesh_std_us", "±"),
        ("ratio", "tree / mesh"),
        ("within_error", "within error"),
        ("paper_within_error", "paper"),
    ];
    let mut sheet = Sheet::new("latency", "Time there and back of one exchange at a time", &columns);
    let yes = |is| if is { "yes" } else { "no" };
    let count = |links: Option<u8>| links.map_or(Value::Null, Value::from);
    for row in rows {
        let [tree, mesh] = row.times;
        sheet.row(vec![
            row.look_us.into(),
            row.size.into(),
            row.hops.map_or_else(|| "any".to_owned(), |hops| hops.to_string()).into(),
            number(row.share * 100.0),
            count(row.links[0]),
            count(row.links[1]),
            number(tree.mean),
            number(tree.std),
            number(mesh.mean),
            number(mesh.std),
            number(row.ratio()),
            yes(row.is_within_error()).into(),
            if row.hops.is_none() { "yes".into() } else { Value::Null },
        ]);
    }
    sheet
}

fn notes(rows: &[Row]) -> Vec<String> {
    let mut notes = vec![
        "the paper (section 4, a tree of three levels, five federates at a router, four routers at a router): the mesh \"slightly better\" than \
         either tree, \"within the measured error\"; it prints no figures, sizes or number of exchanges, and does not say what the error is"
            .to_owned(),
        "±: one standard deviation of exchanges; within error: the bars of tree and mesh overlap. \"any\" is any two federates, with the \
         shares of their distances"
            .to_owned(),
    ];
    let mut looks: Vec<u64> = rows.iter().map(|row| row.look_us).collect();
    looks.dedup();
    for look in looks {
        let any: Vec<&Row> = rows.iter().filter(|row| row.look_us == look && row.hops.is_none()).collect();
        let ratios = any.iter().map(|row| row.ratio());
        let (min, max) = ratios.fold((f64::MAX, 0.0f64), |(min, max), r| (min.min(r), max.max(r)));
        let within = any.iter().filter(|row| row.is_within_error()).count();
        let how = match look {
            0 => "federates that take messages at once".to_owned(),
            look => format!("federates that look for messages within {look} µs"),
        };
        notes.push(format!(
            "{how}: any two take {min:.2} to {max:.2} times as long on the tree; within the error for {within} of {} sizes",
            any.len()
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixture_has_the_variance_within_and_between_its_parts() {
        let parts = [(0.25, Times { mean: 10.0, std: 2.0 }), (0.75, Times { mean: 30.0, std: 0.0 })];
        let mixed = Times::mixed(parts.into_iter());
        assert!((mixed.mean - 25.0).abs() < 1e-12);
        let expected: f64 = 0.25 * (4.0 + 225.0) + 0.75 * 25.0;
        assert!((mixed.std - expected.sqrt()).abs() < 1e-12, "{mixed:?}");
    }

    #[test]
    fn error_bars_overlap_or_do_not() {
        let row = |tree, mesh| Row {
            look_us: 0,
            size: 1,
            hops: None,
            share: 1.0,
            links: [None; 2],
            times: [Times { mean: tree, std: 3.0 }, Times { mean: mesh, std: 2.0 }],
        };
        assert!(row(15.0, 10.0).is_within_error());
        assert!(!row(15.1, 10.0).is_within_error());
        assert!((row(15.0, 10.0).ratio() - 1.5).abs() < 1e-12);
    }
}
