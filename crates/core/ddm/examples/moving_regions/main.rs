//! Moving regions in worlds of one to four dimensions: how long does a step of matching take?
//!
//! ```sh
//! cargo run --release -p meshrti-ddm --example moving_regions            # a million regions
//! cargo run --release -p meshrti-ddm --example moving_regions -- --quick # ten thousand: a smoke test
//! ```
//!
//! A step moves 5 % of both populations. Times are processor time where the system tells it, and the
//! least of several steps: a busy machine disturbs them least. Each world is stepped by three programs,
//! on one core, in one run:
//!
//! - **ddm**: `ddm::Matching`, from the queueing of the changes to the sorted pairs: `new` within the
//!   first steps, and `worn` after every region has moved once on average.
//! - **rstar**: an R*-tree for each population. A moved region is compared with the tree of the other
//!   population and then removed from its own and inserted again. Its pairs are not sorted.
//! - **sweep**: all pairs from scratch, by the sort-based algorithm of Raczy, Tan and Yu ("A
//!   Sort-Based DDM Matching Algorithm for HLA", 2005) in the first dimension. The pairs that overlap
//!   there are filtered by the others. It is left out where there are more than ten thousand million.
//!
//! The programs must agree on the pairs gained and lost, and with the sweep on all pairs.
//!
//! Worlds: **uniform**; **clustered**, half of all regions in 50 bell-shaped clusters; **roads**, all
//! regions on the edges of a random geometric graph, along which they move. The extents of regions
//! differ by a factor of four, and are such that an update region overlaps 4 subscription regions of
//! half a million on average, and 1 of ten thousand. A moved region moves by up to half its extent in
//! each dimension; in **leaps** it is uniform, and moves anywhere.
#![cfg_attr(not(unix), expect(clippy::disallowed_methods, reason = "a benchmark reads the clock"))]
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod baselines;
mod worlds;

use baselines::{RStar, sweep};
use ddm::{Matching, Population, Range};
use std::time::Duration;
use worlds::{Kind, World};

/// The step after which every region has moved once on average.
const WORN: usize = 20;
const BOTH: [Population; 2] = [Population::Update, Population::Subscription];

/// Sizes of one run.
struct Plan {
    /// Update regions and subscription regions.
    populations: Vec<[usize; 2]>,
    /// Steps that rstar takes, too, and all steps.
    steps: [usize; 2],
    sweep_max: u64,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = words.iter().any(|word| word == "--quick");
    let only = words.iter().find(|word| !word.starts_with("--"));
    let plan = if is_quick {
        Plan { populations: vec![[5_000, 5_000], [10_000, 100]], steps: [3, 25], sweep_max: 100_000_000 }
    } else {
        Plan {
            populations: vec![[500_000, 500_000], [1_000_000, 10_000]],
            steps: [4, 30],
            sweep_max: 10_000_000_000,
        }
    };
    println!(
        "{:<9} {:>2} {:>9} {:>9} {:>8} {:>8} {:>7} {:>7} {:>6} {:>9} {:>6} {:>9} {:>6}",
        "world",
        "d",
        "updates",
        "subscr.",
        "pairs",
        "changed",
        "new ms",
        "worn ms",
        "B/reg",
        "rstar ms",
        "ratio",
        "sweep ms",
        "ratio"
    );
    for sizes in &plan.populations {
        for kind in [Kind::Uniform, Kind::Clustered, Kind::Roads, Kind::Leaps] {
            if only.is_none_or(|only| only == kind.name()) {
                measure::<1, 2>(&plan, kind, *sizes);
                measure::<2, 2>(&plan, kind, *sizes);
                measure::<3, 3>(&plan, kind, *sizes);
                measure::<4, 4>(&plan, kind, *sizes);
            }
        }
    }
}

/// A step as one of the programs sees it: its time, and the pairs gained and lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pairs {
    gained: usize,
    lost: usize,
}

/// One line of the table.
fn measure<const D: usize, const R: usize>(plan: &Plan, kind: Kind, sizes: [usize; 2]) {
    let mut world = World::<D>::new(kind, sizes);
    let mut matching = Matching::new(D).expect("few dimensions");
    for population in BOTH {
        for (id, region) in world.regions(population).iter().enumerate() {
            matching.insert(population, id as u32, &ranges(region)).expect("a new region");
        }
    }
    let started = now();
    let mut pairs = matching.commit(usize::MAX).gained.len();
    let filled = now() - started;
    // rstar takes two dimensions at least, and flat boxes make its tree a list.
    let mut rstar = (D > 1).then(|| RStar::<D, R>::new(&world));
    let [mut new, mut worn, mut theirs] = [Duration::MAX; 3];
    let mut changed = 0;
    let [compared, steps] = plan.steps;
    for step in 0..steps {
        let moves = world.step();
        let started = now();
        for (population, id, region) in &moves {
            matching.modify(*population, *id, &ranges(region)).expect("a region");
        }
        let commit = matching.commit(usize::MAX);
        let time = now() - started;
        match step {
            _ if step < compared => new = new.min(time),
            _ if step >= WORN => worn = worn.min(time),
            _ => {}
        }
        let found = Pairs { gained: commit.gained.len(), lost: commit.lost.len() };
        pairs = pairs + found.gained - found.lost;
        changed = found.gained + found.lost;
        if let Some(rstar) = rstar.as_mut().filter(|_| step < compared) {
            let started = now();
            let (gained, lost) = rstar.step(&moves);
            theirs = theirs.min(now() - started);
            assert_eq!(found, Pairs { gained, lost }, "ddm and rstar agree");
        }
    }
    let sizes = world.sizes();
    print!(
        "{:<9} {D:>2} {:>9} {:>9} {pairs:>8} {changed:>8} {:>7.1} {:>7.1} {:>6.1} {:>9.1} {:>6.1}",
        kind.name(),
        sizes[0],
        sizes[1],
        millis(new),
        millis(worn),
        matching.bytes() as f64 / (sizes[0] + sizes[1]) as f64,
        if rstar.is_some() { millis(theirs) } else { f64::NAN },
        if rstar.is_some() { millis(theirs) / millis(new) } else { f64::NAN },
    );
    let started = now();
    match sweep(&world, plan.sweep_max) {
        Some(all) => {
            let time = now() - started;
            assert_eq!(all, pairs, "ddm and the sweep agree");
            println!(
                " {:>9.1} {:>6.1}   filled in {:.0} ms",
                millis(time),
                millis(time) / millis(new),
                millis(filled)
            );
        }
        None => println!(" {:>9} {:>6}   filled in {:.0} ms", "-", "-", millis(filled)),
    }
}

fn ranges<const D: usize>(region: &[[u32; 2]; D]) -> [Range; D] {
    region.map(|[lower, upper]| Range::new(lower, upper).expect("it has values"))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The processor time that this thread has used.
#[cfg(unix)]
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// The time since the first call.
#[cfg(not(unix))]
fn now() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}
