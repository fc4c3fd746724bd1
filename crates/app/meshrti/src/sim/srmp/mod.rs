//! `meshrti sim table1` and its like: groups of SRMP members.

mod consistency;
mod goals;
mod questions;
mod queueing;
mod table1;
mod tcp;

use std::time::Duration;

use netsim::queueing::QueueError;
use netsim::srmp::GroupError;
use netsim::srmp::table1::Preset;
use netsim::transports::TransportError;

use questions::Question;

use super::sheet::{Picture, Sheet, publish};
use super::{Args, interrupt, parallel};
use crate::exit::{Failure, Outcome, Status};
use crate::report::Report;

/// The scenarios with tables as files, charts, and their own length.
pub(super) const EXPERIMENTS: &str = "srmp-queueing, srmp-tcp, srmp-consistency and srmp-q1 to srmp-q5";

/// The default number of receivers.
const RECEIVERS: u32 = 1_000;

/// A built-in scenario.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    what: What,
}

/// The work of a scenario.
#[derive(Clone, Copy)]
enum What {
    Table1(&'static [Preset]),
    Scale,
    Goals,
    Consistency,
    Queueing,
    Tcp,
    Question(Question),
}

/// All scenarios of SRMP.
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
    Scenario {
        name: "srmp-consistency",
        title: "whether all have all final values: losses, cuts, and the deaths of members, sources and loggers",
        what: What::Consistency,
    },
    Scenario {
        name: "srmp-queueing",
        title: "the paper's check by queues: Jackson network and M/M/c, in formulas and simulated",
        what: What::Queueing,
    },
    Scenario {
        name: "srmp-tcp",
        title: "SRMP, TCP meshes (modelled), hybrids and bare multicast: one trace, the same lines",
        what: What::Tcp,
    },
    Scenario {
        name: "srmp-q1",
        title: "the paper's question 1: how SRMP scales with the number of receivers",
        what: What::Question(Question::Scale),
    },
    Scenario {
        name: "srmp-q2",
        title: "the paper's question 2: what limits SRMP: data elements of a host, hosts that send",
        what: What::Question(Question::Limits),
    },
    Scenario {
        name: "srmp-q3",
        title: "the paper's question 3: how SRMP protects a line that becomes slow, alone and beside TCP",
        what: What::Question(Question::Congestion),
    },
    Scenario {
        name: "srmp-q4",
        title: "the paper's question 4: when SRMP fails: loss, bursts, partitions, too many reliable messages",
        what: What::Question(Question::Failure),
    },
    Scenario {
        name: "srmp-q5",
        title: "the paper's question 5: how well SRMP's congestion control does: steps, deaths, unlike receivers, overload",
        what: What::Question(Question::Control),
    },
];

/// The scenario with this name.
pub(super) fn find(wanted: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == wanted)
}

/// Whether this scenario is one of [`EXPERIMENTS`].
pub(super) fn is_experiment(wanted: &str) -> bool {
    let is_one =
        |what: What| matches!(what, What::Consistency | What::Queueing | What::Tcp | What::Question(_));
    find(wanted).is_some_and(|scenario| is_one(scenario.what))
}

/// The failure when `--receivers` is given to a scenario without it.
pub(super) fn no_receivers() -> Failure {
    Failure::wrong_use("--receivers: only srmp-scale, srmp-goals and srmp-q1 have receivers")
}

/// Runs the scenario.
pub(super) fn run(args: &Args, scenario: &'static Scenario) -> Outcome {
    if args.show {
        return Err(Failure::wrong_use(format_args!("{}: there is no file to show", scenario.name)));
    }
    if args.receivers.is_some() && matches!(scenario.what, What::Table1(_)) {
        return Err(Failure::wrong_use("--receivers: Table 1 has four hosts"));
    }
    let has_receivers = matches!(scenario.what, What::Scale | What::Goals | What::Question(Question::Scale));
    if args.receivers.is_some() && !has_receivers {
        return Err(no_receivers());
    }
    let seconds = |usual: u32| Duration::from_secs(args.seconds.unwrap_or(usual).into());
    let receivers = args.receivers.unwrap_or(RECEIVERS);
    interrupt::watch();
    match scenario.what {
        What::Table1(presets) => table1::run(args, scenario.name, presets),
        What::Scale => goals::scale(args, receivers),
        What::Goals => goals::goals(args, receivers),
        What::Consistency => consistency::run(args, seconds(1_800)),
        What::Queueing => queueing::run(args, seconds(1_800)),
        What::Tcp => tcp::run(args, seconds(300)),
        What::Question(question) => questions::run(args, question),
    }
}

/// The reason why a run has no result.
trait RunError: std::fmt::Display + Send {
    /// Whether the run was stopped, which is not a failure.
    fn is_stopped(&self) -> bool;
}

impl RunError for GroupError {
    fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped)
    }
}

impl RunError for TransportError {
    fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped)
    }
}

impl RunError for QueueError {
    fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped)
    }
}

/// The result of a run, or `None` if it was stopped.
fn unless_stopped<T, E: RunError>(result: Result<T, E>) -> Result<Option<T>, E> {
    match result {
        Err(error) if error.is_stopped() => Ok(None),
        result => result.map(Some),
    }
}

/// Does `count` runs on `--jobs` threads. Results are in order, for any number of threads. If the
/// user stops it, which runs learn from [`interrupt::goes_on`], returns the results of the first
/// runs up to the first unfinished one: later results would have the wrong index. Empty if it was
/// stopped before.
///
/// # Errors
/// The error of the first failing run in order.
fn in_parallel<T: Send, E: RunError>(
    args: &Args,
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, Failure> {
    if interrupt::is_stopped() {
        return Ok(Vec::new());
    }
    let results = parallel::in_parallel(args.jobs, count, 1, |index, ticker| {
        let result = unless_stopped(work(index));
        ticker.tick();
        result
    });
    let results =
        results.map_err(|error| Failure::bad_news(format_args!("the simulation cannot run: {error}")))?;
    Ok(results.into_iter().map_while(std::convert::identity).collect())
}

/// Publishes the results, or a part of them if the user stopped it. `good` tells whether limits
/// hold; `None` if no finished run could decide that.
fn tell(
    args: &Args,
    report: &mut Report,
    (mut sheets, mut pictures): (Vec<Sheet>, Vec<Picture>),
    mut notes: Vec<String>,
    good: Option<bool>,
) -> Outcome {
    if let Some(note) = stopped_note(good.is_some()) {
        sheets.retain(|sheet| !sheet.is_empty());
        pictures.retain(Picture::is_drawn);
        if sheets.is_empty() {
            notes.clear(); // notes are about tables
        }
        notes.push(note.to_owned());
    }
    publish(args, report, &sheets, &pictures, &notes)?;
    Ok(status(good.unwrap_or(true)))
}

/// The value of `good` for tables without limits.
fn good_if_any(sheets: &[Sheet]) -> Option<bool> {
    sheets.iter().any(|sheet| !sheet.is_empty()).then_some(true)
}

/// The note when the user stopped it. `ended` tells whether the first run had ended before.
fn stopped_note(ended: bool) -> Option<&'static str> {
    let note = if ended { STOPPED } else { STOPPED_AT_ONCE };
    interrupt::is_stopped().then_some(note)
}

const STOPPED: &str = "stopped by the user: figures are of the runs that had ended";
const STOPPED_AT_ONCE: &str =
    "stopped by the user before the first run had ended: there are no figures of runs";

/// The status of a command: by whether its limits hold, and by whether it was stopped.
fn status(good: bool) -> Status {
    match interrupt::status() {
        Status::Done if !good => Status::BadNews,
        status => status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_run_gives_nothing_and_one_that_fails_its_error() {
        assert_eq!(unless_stopped(Ok::<_, GroupError>(1)).ok(), Some(Some(1)));
        assert_eq!(unless_stopped(Err::<u8, _>(GroupError::Stopped)).ok(), Some(None));
        assert_eq!(unless_stopped(Err::<u8, _>(TransportError::Stopped)).ok(), Some(None));
        assert_eq!(unless_stopped(Err::<u8, _>(QueueError::Stopped)), Ok(None));
        assert_eq!(unless_stopped(Err::<u8, _>(QueueError::Closed)), Err(QueueError::Closed));
    }
}
