//! `meshrti bench pairs`: rtiperf of the MeshRouter paper over real nodes, beside the simulation of the
//! same nodes and federates.

mod network;
mod output;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use base::Seed;
use bench::cores::Awake;
use bench::federation::Running;
use console::exit::{Failure, Outcome, Status};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use experiment::parallel::in_parallel;
use experiment::sheet::{FilesFlag, publish};
use experiment::{RunFlags, SeedFlag, Settings, interrupt};
use hostsim::{Federation, HostModel};
use router_study::routers::Shape;
use router_study::routers::flood::Partners;
use serde_json::json;

use self::network::{Between, Network};
use self::output::Row;
use super::hosts;
use super::plan::live_plan;
use crate::bench::size::parse_numbered;
use crate::bench::{failure, launcher};

/// The name of the subcommand.
const NAME: &str = "bench pairs";
/// Nodes of the paper's trees below the root: figure 11, and section 4.1 with figure 9.
const LAYERS: [usize; 3] = [2, 4, 16];
const FLOOD_LAYERS: [usize; 3] = [2, 5, 20];
/// Pairs of the paper: section 4.2 and section 4.1.
const PAIRS: usize = 48;
const FLOOD_PAIRS: usize = 50;
/// Sizes of updates, in bytes: the paper's range.
const SIZES: [usize; 10] = [8, 64, 256, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Bytes that a pair sends at most in a flood, so that large updates do not take minutes, and how many
/// updates it sends at least.
const FLOOD_BYTES: usize = 16 << 20;
const FLOOD_UPDATES_MIN: usize = 20;

/// Pairs of federates over a tree and over a mesh of nodes: rtiperf of the MeshRouter paper.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench pairs                                            the paper's 48 pairs over 23 nodes and over 16
  meshrti bench pairs --live --sim --hosts hosts.toml            beside what the simulator says
  meshrti bench pairs --layers 2,4 --pairs 8 --hops 0,1,2        smaller
  meshrti bench pairs --flood                                    as fast as they can (figure 9)

In each pair one federate updates, and the other one answers each reflect by an update with the same payload. All pairs \
do so at the same time, each in a federation execution of its own, with a process for each federate and each node. The \
nodes are a tree, or a full mesh of triads in place of the leaves of that tree. N hops: the lowest common node of both \
federates is N layers above their own. As in the paper, the mean of each pair is one value, the largest ones are left \
out, and the table has mean and standard deviation of the rest.")]
pub(crate) struct PairsArgs {
    /// Topologies of the nodes
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "tree,mesh")]
    topology: Vec<Topology>,
    /// Nodes in each layer of the tree below its root [default: 2,4,16, with --flood 2,5,20]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    layers: Option<Vec<usize>>,
    /// Pairs of federates [default: 48, with --flood 50]
    #[arg(long, value_name = "N")]
    pairs: Option<NonZeroUsize>,
    /// Layers between the node of a federate and the lowest common node with its partner
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "0,2,3",
        conflicts_with = "flood"
    )]
    hops: Vec<usize>,
    /// Bytes in an update [default: 8 to 1M; with --flood at least 16]
    #[arg(long = "size", value_name = "BYTES,...", value_delimiter = ',', value_parser = parse_numbered)]
    sizes: Option<Vec<usize>>,
    /// Exchanges of each size, there and back
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    exchanges: u32,
    /// Exchanges before these that are not counted
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warm_up: u32,
    /// Pairs with the largest means that are left out
    #[arg(long, value_name = "N", default_value_t = 2)]
    discard_largest: usize,
    /// Updates as fast as they can, in one direction, in place of exchanges
    #[arg(long)]
    flood: bool,
    /// With --flood: partners on both sides of the root, or drawn at random
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "anywhere,across")]
    partners: Vec<Side>,
    /// With --flood: updates of a pair, but at most 16 MiB and at least 20 updates
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    updates: u32,
    /// With real processes; the default unless there is --sim
    #[arg(long)]
    live: bool,
    /// As the simulator says; with --live beside it
    #[arg(long)]
    sim: bool,
    /// The host model of the simulator, such as `sim calibrate` writes
    #[arg(long, value_name = "FILE", requires = "sim")]
    hosts: Option<PathBuf>,
    /// Keep idle cores awake meanwhile, as calibrate does (Linux, as administrator)
    #[arg(long)]
    awake: bool,
    #[command(flatten)]
    seed: SeedFlag,
    #[command(flatten)]
    files: FilesFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// The names of topologies.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Topology {
    Tree,
    Mesh,
}

/// The names of [`Partners`].
#[derive(Clone, Copy, clap::ValueEnum)]
enum Side {
    Across,
    Anywhere,
}

/// A network of nodes with the pairs at it, and the sizes that they use one after another.
struct Cell {
    network: Network,
    /// One for each size.
    federations: Vec<Federation>,
}

/// Measures, simulates, or both.
pub(crate) async fn run_pairs(args: &PairsArgs) -> Outcome {
    let settings = Settings::new(NAME, RunFlags::from(args.seed), &args.json).with_files(&args.files);
    let wrong = |why: String| Failure::wrong_use(why);
    let hosts = hosts::read_or_example(args.hosts.as_deref()).map_err(wrong)?;
    let cells = args.cells(hosts).map_err(wrong)?;
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    if args.live || !args.sim {
        let _awake = args.awake.then(Awake::keep).transpose().map_err(|error| {
            Failure::bad_news(format_args!("--awake: the system does not let us keep cores awake: {error}"))
        })?;
        let mut progress = Progress::new("pairs");
        let all = cells.iter().map(|cell| cell.federations.len() as u64).sum();
        let mut progressed = 0;
        for cell in &cells {
            // A network that fails ends only its own part.
            let begun = progressed;
            let measured = cell.measure(args, &mut rows, |done| progress.at(begun + done, all)).await;
            failures.extend(measured.err().map(|failure| cell.failure(&failure)));
            progressed += cell.federations.len() as u64;
            progress.at(progressed, all);
        }
    }
    if args.sim {
        simulate(&cells, args, &mut rows)?;
    }
    output::compare(&mut rows);
    let mut report = Report::new(NAME, 1);
    report.seed(settings.seed);
    report.summary(json!({
        "layers": args.layers(), "pairs": args.pairs(), "flood": args.flood, "exchanges": args.exchanges,
    }));
    let sheet = if args.flood { output::floods(&rows) } else { output::exchanges(&rows) };
    let mut notes = output::notes(args, &rows);
    let has_failed = !failures.is_empty();
    notes.append(&mut failures);
    publish(&settings, &mut report, &[sheet], &output::pictures(&rows), &notes)?;
    Ok(if has_failed { Status::BadNews } else { interrupt::status() })
}

impl PairsArgs {
    fn layers(&self) -> Vec<usize> {
        let default = if self.flood { FLOOD_LAYERS } else { LAYERS };
        self.layers.clone().unwrap_or_else(|| default.to_vec())
    }

    fn pairs(&self) -> usize {
        self.pairs.map_or(if self.flood { FLOOD_PAIRS } else { PAIRS }, NonZeroUsize::get)
    }

    fn sizes(&self) -> Vec<usize> {
        let least = if self.flood { hostsim::SIZE_BYTES_MIN as usize } else { SIZES[0] };
        self.sizes.clone().unwrap_or_else(|| SIZES.map(|size| size.max(least)).to_vec())
    }

    fn task(&self, size: usize) -> hostsim::Task {
        if self.flood {
            let most = (FLOOD_BYTES / size).max(FLOOD_UPDATES_MIN);
            let count = self.updates.min(u32::try_from(most).unwrap_or(u32::MAX));
            return hostsim::Task::Flood { count, subscribers: 1 };
        }
        hostsim::Task::RoundTrips { count: self.exchanges, warm_up: self.warm_up }
    }

    /// All networks, in the order of the table.
    ///
    /// # Errors
    /// The setting that does not fit, with the reason.
    fn cells(&self, hosts: HostModel) -> Result<Vec<Cell>, String> {
        let hops = self.hops.iter().map(|hops| Between::Hops(*hops));
        let partners = self.partners.iter().map(|side| {
            Between::Partners(match side {
                Side::Across => Partners::Across,
                Side::Anywhere => Partners::Anywhere,
            })
        });
        let between: Vec<Between> = if self.flood { partners.collect() } else { hops.collect() };
        let mut cells = Vec::new();
        for between in between {
            for topology in &self.topology {
                let shape = match topology {
                    Topology::Tree => Shape::Tree,
                    Topology::Mesh => Shape::Mesh,
                };
                let seed = Seed(self.seed.seed);
                let network = Network::new(shape, &self.layers(), self.pairs(), between, seed)?;
                let federation = |size: &usize| network.federation(self.task(*size), *size, hosts, seed);
                let federations = self.sizes().iter().map(federation).collect::<Result<_, _>>()?;
                cells.push(Cell { network, federations });
            }
        }
        Ok(cells)
    }
}

impl Cell {
    /// A note that its live part failed, and why.
    fn failure(&self, failure: &Failure) -> String {
        let (nodes, between) = (self.network.shape.name(), output::between(self.network.between));
        let reason = failure.to_string();
        let reason = reason.trim_start_matches("error: ").trim_end();
        format!(
            "failed: live, {nodes}, {between}: {reason}; sizes that were measured before are in the table"
        )
    }

    /// Starts nodes and federates, and lets them do their work with one size after another. `done`
    /// gets how many sizes are done.
    async fn measure(
        &self,
        args: &PairsArgs,
        rows: &mut Vec<Row>,
        mut done: impl FnMut(u64),
    ) -> Result<(), Failure> {
        let plans = self
            .federations
            .iter()
            .map(|federation| live_plan(federation, &[]))
            .collect::<Result<Vec<_>, _>>();
        let plans = plans.map_err(Failure::bad_news)?;
        let Some(first) = plans.first() else { return Ok(()) };
        done(0);
        let mut running = Box::pin(Running::start(&launcher()?, first)).await.map_err(failure)?;
        for ((at, plan), federation) in (1..).zip(&plans).zip(&self.federations) {
            let work = &plan.work[0];
            running.change(|own| (own.task, own.size) = (work.task.clone(), work.size));
            let measured = Box::pin(running.run()).await.map_err(failure)?;
            let figures = measured.done.iter().filter_map(|done| done.mean_us.or(done.per_s));
            rows.push(Row::new(true, &self.network, federation, figures.collect(), args));
            done(at);
        }
        Ok(())
    }
}

/// Simulates all networks with all sizes.
fn simulate(cells: &[Cell], args: &PairsArgs, rows: &mut Vec<Row>) -> Result<(), Failure> {
    let all: Vec<(&Network, &Federation)> = cells
        .iter()
        .flat_map(|cell| cell.federations.iter().map(|federation| (&cell.network, federation)))
        .collect();
    interrupt::watch();
    let reports = in_parallel(None, all.len(), 1, |index, ticker| {
        let report = super::simulate(all[index].1, |_| ());
        ticker.tick();
        report
    })?;
    for ((network, federation), report) in all.into_iter().zip(reports) {
        let of = |done: &hostsim::Done| if args.flood { Some(done.per_s()) } else { done.mean_us() };
        let figures = report.done.iter().filter_map(of).collect();
        rows.push(Row::new(false, network, federation, figures, args));
    }
    Ok(())
}
