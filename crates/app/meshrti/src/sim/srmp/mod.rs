//! `meshrti sim table1` and its like: groups of SRMP members.

mod goals;
mod table1;

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::Seed;
use netsim::srmp::GroupError;
use netsim::srmp::table1::Preset;

use super::Args;
use crate::bench::progress::Progress;
use crate::exit::{Failure, Outcome};

/// Receivers without another wish.
const RECEIVERS: u32 = 1_000;

/// A scenario that goes by a name.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    what: What,
}

/// What is done.
#[derive(Clone, Copy)]
enum What {
    Table1(&'static [Preset]),
    Scale,
    Goals,
}

/// All of them.
pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "table1",
        title: "Table 1 of the SRMP paper: losses at daemons, our suppression",
        what: What::Table1(&[Preset::Honest]),
    },
    Scenario {
        name: "table1-object-loss",
        title: "Table 1 of the SRMP paper, read so that each object loses by itself",
        what: What::Table1(&[Preset::ObjectLoss]),
    },
    Scenario {
        name: "table1-no-holdoff",
        title: "Table 1 of the SRMP paper, read so that nobody waits for a repair under way",
        what: What::Table1(&[Preset::NoHoldoff]),
    },
    Scenario {
        name: "srmp-table1",
        title: "Table 1 of the SRMP paper, the three readings side by side",
        what: What::Table1(&Preset::ALL),
    },
    Scenario {
        name: "srmp-scale",
        title: "many SRMP receivers: who asks, what is repaired, how long it takes",
        what: What::Scale,
    },
    Scenario {
        name: "srmp-goals",
        title: "what a group of SRMP members is to reach, and what it does",
        what: What::Goals,
    },
];

/// The scenario of that name.
pub(super) fn find(wanted: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == wanted)
}

/// Runs it.
pub(super) fn run(args: &Args, scenario: &'static Scenario) -> Outcome {
    if args.show {
        return Err(Failure::wrong_use(format_args!("{}: there is no file to show", scenario.name)));
    }
    if args.receivers.is_some() && matches!(scenario.what, What::Table1(_)) {
        return Err(Failure::wrong_use("--receivers: Table 1 has four hosts"));
    }
    let receivers = args.receivers.unwrap_or(RECEIVERS);
    match scenario.what {
        What::Table1(presets) => table1::run(args, scenario.name, presets),
        What::Scale => goals::scale(args, receivers),
        What::Goals => goals::goals(args, receivers),
    }
}

/// The seed of a replication. The first is that of the command.
fn seed_of(args: &Args, replication: usize) -> Seed {
    if replication == 0 { Seed(args.seed) } else { Seed(args.seed).split_index(replication as u64) }
}

/// Does `count` runs on as many threads as are wanted; results are in order, whatever that number is.
///
/// # Errors
/// That of the first run, in order, which fails.
fn in_parallel<T: Send>(
    args: &Args,
    count: usize,
    work: impl Fn(usize) -> Result<T, GroupError> + Sync,
) -> Result<Vec<T>, Failure> {
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let progress = Mutex::new((Progress::new("sim"), 0));
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let result = work(index);
                    let mut progress = progress.lock().expect("no thread panics while it holds this");
                    progress.1 += 1;
                    let done = progress.1;
                    progress.0.at(done, count as u64);
                    results.lock().expect("no thread panics while it holds this").push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panics while it holds this");
    results.sort_by_key(|(index, _)| *index);
    let results: Result<Vec<T>, GroupError> = results.into_iter().map(|(_, result)| result).collect();
    results.map_err(|error| Failure::bad_news(format_args!("the group cannot run: {error}")))
}
