//! The subcommands of `meshrti sim` for groups of SRMP members.

mod consistency;
mod goals;
mod questions;
mod queueing;
mod sendings;
mod table1;
mod tcp;

use std::time::Duration;

use console::exit::{Failure, Outcome, Status};
use console::report::{JsonFlag, Report};
use experiment::sheet::{FilesFlag, Picture, Sheet, publish};
use experiment::{RunFlags, SeedFlag, Settings, interrupt, parallel};

use crate::group::table1::Preset;
use crate::group::{GroupError, scale};
use crate::queueing::QueueError;
use crate::transports::TransportError;
use questions::Question;

/// The subcommands of `meshrti sim`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// SRMP paper, Table 1: losses at daemons, our suppression
    #[command(hide = true)] // a reading by itself; srmp-table1 has all three
    Table1(Table1Args),
    /// SRMP paper, Table 1, read so that each object loses by itself
    #[command(hide = true)] // a reading by itself; srmp-table1 has all three
    Table1ObjectLoss(Table1Args),
    /// SRMP paper, Table 1, read so that nobody waits for a repair under way
    #[command(hide = true)] // a reading by itself; srmp-table1 has all three
    Table1NoHoldoff(Table1Args),
    /// SRMP paper, Table 1: the three readings side by side
    SrmpTable1(Table1Args),
    /// Many SRMP receivers: requests, repairs, and how long they take
    SrmpScale(ScaleArgs),
    /// The goals of a large group of SRMP members, and what it reaches
    SrmpGoals(GoalsArgs),
    /// Whether all members get all final values, whatever is lost, cut or dies
    SrmpConsistency(ExperimentArgs<1_800>),
    /// How often an SRMP source sends each reliable message, beside a live run
    SrmpSendings(ExperimentArgs<30>),
    /// SRMP paper's check by queues: Jackson network and M/M/c, simulated
    SrmpQueueing(ExperimentArgs<1_800>),
    /// SRMP, TCP meshes (modelled), hybrids and bare multicast on the same lines
    SrmpTcp(ExperimentArgs<300>),
    /// Question 1: how SRMP scales with the number of receivers
    SrmpQ1(ReceiversArgs<60>),
    /// Question 2: what limits SRMP: data elements of a host, hosts that send
    SrmpQ2(ExperimentArgs<120>),
    /// Question 3: how SRMP protects a line that becomes slow, beside TCP
    SrmpQ3(ExperimentArgs<300>),
    /// Question 4: when SRMP fails: loss, bursts, partitions, too much
    SrmpQ4(ExperimentArgs<300>),
    /// Question 5: how well SRMP's congestion control does
    SrmpQ5(ExperimentArgs<300>),
}

/// Options of the readings of Table 1.
#[derive(clap::Args)]
pub struct Table1Args {
    #[command(flatten)]
    runs: RunFlags,
    #[command(flatten)]
    json: JsonFlag,
}

/// Options of srmp-scale.
#[derive(clap::Args)]
pub struct ScaleArgs {
    #[command(flatten)]
    receivers: ReceiversFlag,
    #[command(flatten)]
    runs: RunFlags,
    #[command(flatten)]
    json: JsonFlag,
}

/// Options of srmp-goals.
#[derive(clap::Args)]
pub struct GoalsArgs {
    #[command(flatten)]
    receivers: ReceiversFlag,
    #[command(flatten)]
    seed: SeedFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// The number of receivers.
#[derive(clap::Args)]
struct ReceiversFlag {
    /// Receivers; at most so many where a study has several groups
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=i64::from(scale::RECEIVERS_MAX)))]
    receivers: u32,
}

/// Options of experiments with runs of `SECONDS` by default.
#[derive(clap::Args)]
pub struct ExperimentArgs<const SECONDS: u32> {
    // Not `default_value_t`: clap keeps that value in a static, which all `SECONDS` would share.
    #[arg(long, value_name = "S", help = format!("Simulated seconds of each run [default: {SECONDS}]"),
          value_parser = clap::value_parser!(u32).range(10..=86_400))]
    seconds: Option<u32>,
    #[command(flatten)]
    runs: RunFlags,
    #[command(flatten)]
    files: FilesFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// Options of experiments with groups of several sizes.
#[derive(clap::Args)]
pub struct ReceiversArgs<const SECONDS: u32> {
    #[command(flatten)]
    receivers: ReceiversFlag,
    #[command(flatten)]
    experiment: ExperimentArgs<SECONDS>,
}

impl<const SECONDS: u32> ExperimentArgs<SECONDS> {
    fn settings(&self, name: &str) -> Settings {
        Settings::new(name, self.runs, &self.json).with_files(&self.files)
    }

    fn run(&self) -> Duration {
        Duration::from_secs(self.seconds.unwrap_or(SECONDS).into())
    }

    fn ask(&self, question: Question) -> Outcome {
        questions::run(&self.settings(question.name()), question, self.run())
    }
}

impl Table1Args {
    fn run(&self, name: &str, presets: &[Preset]) -> Outcome {
        table1::run(&Settings::new(name, self.runs, &self.json), name, presets)
    }
}

impl Command {
    /// Runs the study.
    ///
    /// # Errors
    /// Files that cannot be written, a run that fails, or an interruption.
    pub fn run(&self) -> Outcome {
        interrupt::watch();
        match self {
            Self::Table1(args) => args.run("table1", &[Preset::Honest]),
            Self::Table1ObjectLoss(args) => args.run("table1-object-loss", &[Preset::ObjectLoss]),
            Self::Table1NoHoldoff(args) => args.run("table1-no-holdoff", &[Preset::NoHoldoff]),
            Self::SrmpTable1(args) => args.run("srmp-table1", &Preset::ALL),
            Self::SrmpScale(ScaleArgs { receivers, runs, json }) => {
                goals::scale(&Settings::new("srmp-scale", *runs, json), receivers.receivers)
            }
            Self::SrmpGoals(GoalsArgs { receivers, seed, json }) => {
                goals::goals(&Settings::new("srmp-goals", *seed, json), receivers.receivers)
            }
            Self::SrmpConsistency(args) => consistency::run(&args.settings("srmp-consistency"), args.run()),
            Self::SrmpSendings(args) => sendings::run(&args.settings("srmp-sendings"), args.run()),
            Self::SrmpQueueing(args) => queueing::run(&args.settings("srmp-queueing"), args.run()),
            Self::SrmpTcp(args) => tcp::run(&args.settings("srmp-tcp"), args.run()),
            Self::SrmpQ1(ReceiversArgs { receivers, experiment }) => {
                experiment.ask(Question::Scale { receivers: receivers.receivers })
            }
            Self::SrmpQ2(args) => args.ask(Question::Limits),
            Self::SrmpQ3(args) => args.ask(Question::Congestion),
            Self::SrmpQ4(args) => args.ask(Question::Failure),
            Self::SrmpQ5(args) => args.ask(Question::Control),
        }
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
    settings: &Settings,
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, Failure> {
    if interrupt::is_stopped() {
        return Ok(Vec::new());
    }
    let results = parallel::in_parallel(settings.jobs, count, 1, |index, ticker| {
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
    settings: &Settings,
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
    publish(settings, report, &sheets, &pictures, &notes)?;
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

    #[derive(clap::Parser)]
    struct Both {
        #[command(subcommand)]
        command: Command,
    }

    #[test]
    fn each_experiment_lasts_as_long_as_it_says() {
        use clap::Parser;
        let parsed = |words: &[&str]| {
            let words = std::iter::once("sim").chain(words.iter().copied());
            Both::try_parse_from(words).map(|both| both.command)
        };
        let Ok(Command::SrmpQueueing(long)) = parsed(&["srmp-queueing"]) else { panic!("srmp-queueing") };
        let Ok(Command::SrmpSendings(short)) = parsed(&["srmp-sendings"]) else { panic!("srmp-sendings") };
        let Ok(Command::SrmpTcp(given)) = parsed(&["srmp-tcp", "--seconds", "20"]) else {
            panic!("srmp-tcp")
        };
        assert_eq!([long.run(), short.run(), given.run()].map(|run| run.as_secs()), [1_800, 30, 20]);
        assert!(parsed(&["srmp-tcp", "--seconds", "9"]).is_err());
    }

    #[test]
    fn a_stopped_run_gives_nothing_and_one_that_fails_its_error() {
        assert_eq!(unless_stopped(Ok::<_, GroupError>(1)).ok(), Some(Some(1)));
        assert_eq!(unless_stopped(Err::<u8, _>(GroupError::Stopped)).ok(), Some(None));
        assert_eq!(unless_stopped(Err::<u8, _>(TransportError::Stopped)).ok(), Some(None));
        assert_eq!(unless_stopped(Err::<u8, _>(QueueError::Stopped)), Ok(None));
        assert_eq!(unless_stopped(Err::<u8, _>(QueueError::Closed)), Err(QueueError::Closed));
    }
}
