//! `meshrti sim router-floods`: updates that pairs of federates send as fast as they can, over a
//! tree and over a mesh (MeshRouter paper, figure 9).

use crate::routers::Shape;
use crate::routers::flood::{Flood, FloodOutcome, Partners, run};
use base::Seed;
use console::exit::{Failure, Outcome};
use console::report::{JsonFlag, Report};
use experiment::parallel::in_parallel;
use experiment::sheet::{FilesFlag, Picture, Sheet, maybe, number, publish};
use experiment::{RunFlags, SeedFlag, Settings, interrupt};
use plot::{Axis, Chart, Mark, Series};
use serde_json::json;
use std::num::NonZeroUsize;

use super::built_in::TREE_VS_MESH;
use super::routers::hardware_of;

/// The name of the subcommand.
const NAME: &str = "router-floods";
/// The ratio of the paper: "more (~ one half order of magnitude) updates".
const PAPER_RATIO: f64 = 3.162_277_660_168_379_5;

/// Options of router-floods.
#[derive(clap::Args)]
pub struct FloodsArgs {
    /// Pairs of federates
    #[arg(long, value_name = "N", default_value_t = 50)]
    pairs: usize,
    /// Routers in each layer of the tree below its root; the mesh has a triad for each of the last
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', default_value = "2,5,20")]
    layers: Vec<usize>,
    /// Sizes of updates, in bytes
    #[arg(
        long,
        value_name = "BYTES,...",
        value_delimiter = ',',
        default_value = "8,64,512,1024,4096,16384,65536,262144,1000000"
    )]
    sizes: Vec<usize>,
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

/// A row: a flood and its outcome.
struct Row {
    flood: Flood,
    outcome: FloodOutcome,
}

/// All that two rows must share for the ratio of mesh to tree.
type Key = (Partners, bool, usize);

impl Row {
    fn key(&self) -> Key {
        (self.flood.partners, self.flood.bundles, self.flood.size)
    }

    fn mean(&self) -> f64 {
        self.outcome.rates.iter().sum::<f64>() / self.outcome.rates.len().max(1) as f64
    }
}

impl FloodsArgs {
    /// Floods all networks, and reports.
    ///
    /// # Errors
    /// Wrong options, a network that breaks down, files that cannot be written, or an interruption.
    pub(super) fn run(&self) -> Outcome {
        let runs = RunFlags { seed: self.seed, replications: 1, jobs: self.jobs };
        let settings = Settings::new(NAME, runs, &self.json).with_files(&self.files);
        let floods = self.floods().map_err(|why| settings.wrong(why))?;
        interrupt::watch();
        let outcomes = in_parallel(self.jobs, floods.len(), 1, |index, ticker| {
            let flood = &floods[index];
            let outcome = run(flood).map_err(|error| {
                let (shape, size) = (flood.shape.name(), flood.size);
                Failure::bad_news(format_args!("{NAME}: {shape}, {size} bytes: {error}"))
            });
            ticker.tick();
            outcome
        })?;
        let rows: Vec<Row> =
            floods.into_iter().zip(outcomes).map(|(flood, outcome)| Row { flood, outcome }).collect();
        let mut report = Report::new("sim router-floods", 1);
        report.seed(settings.seed);
        let events: u64 = rows.iter().map(|row| row.outcome.events).sum();
        report.summary(json!({
            "scenario": NAME, "pairs": self.pairs, "layers": self.layers, "events": events,
            "paper_ratio": PAPER_RATIO,
        }));
        publish(&settings, &mut report, &[sheet(&rows)], &pictures(&rows), &self.notes(&rows))?;
        Ok(interrupt::status())
    }

    fn floods(&self) -> Result<Vec<Flood>, String> {
        let hardware = hardware_of(TREE_VS_MESH)?;
        let mut floods = Vec::new();
        for partners in [Partners::Anywhere, Partners::Across] {
            for bundles in [false, true] {
                for shape in [Shape::Tree, Shape::Mesh] {
                    for &size in &self.sizes {
                        floods.push(Flood {
                            shape,
                            layers: self.layers.clone(),
                            pairs: self.pairs,
                            partners,
                            hardware: hardware.clone(),
                            size,
                            bundles,
                            seed: Seed(self.seed.seed),
                        });
                    }
                }
            }
        }
        Ok(floods)
    }

    fn notes(&self, rows: &[Row]) -> Vec<String> {
        let mut notes = vec![format!(
            "{} pairs; a sender has at most 64 KiB, or two updates, on their way. The paper's tree has 1, 2, 5 and 20 routers, its mesh 20 \
             triads; it does not say who the partners are",
            self.pairs
        )];
        for partners in [Partners::Anywhere, Partners::Across] {
            for bundles in [false, true] {
                let of =
                    rows.iter().filter(|row| (row.flood.partners, row.flood.bundles) == (partners, bundles));
                let ratios: Vec<f64> = of.filter_map(|row| ratio(rows, row)).collect();
                if ratios.is_empty() {
                    continue;
                }
                let logs: f64 = ratios.iter().map(|ratio| libm::log(*ratio)).sum();
                let (min, max) = ratios.iter().fold((f64::MAX, 0.0f64), |(a, b), r| (a.min(*r), b.max(*r)));
                notes.push(format!(
                    "partners {}, {}: the mesh delivers {:.1} times as many updates as the tree (geometric mean over sizes; {min:.1} to \
                     {max:.1}); the paper says about half an order of magnitude ({PAPER_RATIO:.1})",
                    partners.name(),
                    frames(bundles),
                    libm::exp(logs / ratios.len() as f64),
                ));
            }
        }
        notes
    }
}

fn frames(bundles: bool) -> &'static str {
    if bundles { "bundled" } else { "one in a frame" }
}

/// How many times as many updates the mesh delivers as the tree; `None` for rows of the tree.
fn ratio(rows: &[Row], mesh: &Row) -> Option<f64> {
    if mesh.flood.shape != Shape::Mesh {
        return None;
    }
    let tree = rows.iter().find(|row| row.flood.shape == Shape::Tree && row.key() == mesh.key())?;
    Some(mesh.mean() / tree.mean())
}

fn sheet(rows: &[Row]) -> Sheet {
    let columns = [
        ("topology", "routers"),
        ("partners", "partners"),
        ("updates", "updates"),
        ("size_bytes", "bytes"),
        ("updates_per_s", "updates/s, a pair"),
        ("min_per_s", "slowest"),
        ("max_per_s", "fastest"),
        ("mb_per_s", "MB/s, all"),
        ("ratio", "mesh to tree"),
        ("busiest", "busiest part"),
        ("utilisation_ratio", "at work"),
    ];
    let mut sheet =
        Sheet::new("floods", "Updates that pairs deliver when they send as fast as they can", &columns);
    for row in rows {
        let Row { flood, outcome } = row;
        let ends = outcome.rates.iter().fold((f64::MAX, 0.0f64), |(a, b), rate| (a.min(*rate), b.max(*rate)));
        sheet.row(vec![
            flood.shape.name().into(),
            flood.partners.name().into(),
            frames(flood.bundles).into(),
            flood.size.into(),
            number(row.mean()),
            number(ends.0),
            number(ends.1),
            number(outcome.rates.iter().sum::<f64>() * flood.size as f64 / 1e6),
            maybe(ratio(rows, row)),
            outcome.busiest.part.clone().into(),
            number(outcome.busiest.utilisation),
        ]);
    }
    sheet
}

/// Figure 9: a chart for each choice of partners and frames.
fn pictures(rows: &[Row]) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for partners in [Partners::Anywhere, Partners::Across] {
        for bundles in [false, true] {
            let title = format!("Partners {}, updates {}", partners.name(), frames(bundles));
            let mut chart = Chart::new(&title, Axis::log("update, bytes"), Axis::log("updates/s, a pair"));
            for (shape, mark) in [(Shape::Mesh, Mark::Dots), (Shape::Tree, Mark::Dashed)] {
                let is_of = |row: &&Row| {
                    let flood = &row.flood;
                    (flood.shape, flood.partners, flood.bundles) == (shape, partners, bundles)
                };
                let points = rows.iter().filter(is_of).map(|row| (row.flood.size as f64, row.mean()));
                chart.add(Series::new(shape.name(), mark, points.collect::<Vec<_>>()));
            }
            let name = if bundles { "bundled" } else { "single" };
            pictures.push(Picture::chart(format!("floods-{}-{name}", partners.name()), &chart));
        }
    }
    pictures
}
