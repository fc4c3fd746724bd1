//! The latency suite: what its commands share.

pub(super) mod compare;
pub(super) mod mass;
pub(super) mod matrix;
pub(super) mod ping;
pub(super) mod report;
mod rows;

use std::time::Duration;

use bench::exchange::way::{Bundling, Ddm, Encoding, Kind, Order, Transport, Way};
use bench::exchange::{Federates, harness_us};
use bench::{Launcher, Server};
use results::grids::{self, Grid};
use results::schema::Method;
use results::{Outcome as RowOutcome, Row};

use super::{Target, failure};
use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, load};

pub(super) use rows::{latency_rows, mass_rows};

/// The payload for which the cost of the measuring code is told: that of the paper.
const PAPER_BYTES: usize = 128;
/// The share of a round trip that the measuring code may take before a note says so.
const HARNESS_MAX: f64 = 0.1;
/// The distance between the means of the slowest and the fastest run, relative to their median, above
/// which a note tells of noise.
const SPREAD_MAX: f64 = 0.25;

/// How messages travel. The values of a list take turns.
#[derive(clap::Args)]
pub(super) struct WayFlags {
    /// Regions: off, one-region for all objects, region-per-object
    #[arg(long, value_name = "USE,...", value_delimiter = ',', default_value = "off")]
    ddm: Vec<Ddm>,
    /// reliable, best-effort
    #[arg(long, value_name = "TYPE,...", value_delimiter = ',', default_value = "reliable")]
    transport: Vec<Transport>,
    /// receive, timestamp (all regulate and are constrained)
    #[arg(long, value_name = "ORDER,...", value_delimiter = ',', default_value = "receive")]
    order: Vec<Order>,
    /// Data: opaque, or integers: big-endian, little-endian
    #[arg(long, value_name = "TYPE,...", value_delimiter = ',', default_value = "opaque")]
    encoding: Vec<Encoding>,
    /// Messages of a federate leave together: on, off
    #[arg(long, value_name = "USE,...", value_delimiter = ',', default_value = "on")]
    bundling: Vec<Bundling>,
    /// Federates that send messages and measure
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    producers: u16,
    /// Federates that answer each message
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    consumers: u16,
    /// Emulated line to answering federates: `delay=8ms,rate=155Mbit/s`
    #[arg(long, value_name = "OPTIONS")]
    line: Option<wan::LineSpec>,
    /// Longest silence of a server that may still mean work
    #[arg(long, default_value = "60s", value_parser = humantime::parse_duration)]
    pub(super) patience: Duration,
}

impl WayFlags {
    /// All combinations with these kinds of messages, whose data have these sizes.
    pub(super) fn ways(&self, kinds: &[Kind], sizes: &[usize]) -> Result<Vec<Way>, Failure> {
        let mut ways = Vec::new();
        for &kind in kinds {
            for &bundling in &self.bundling {
                for &encoding in &self.encoding {
                    for &order in &self.order {
                        for &transport in &self.transport {
                            let of = |&ddm: &Ddm| Way { kind, ddm, transport, order, encoding, bundling };
                            ways.extend(self.ddm.iter().map(of));
                        }
                    }
                }
            }
        }
        match sizes.iter().find(|size| ways.iter().any(|way| !way.encoding.fits(**size))) {
            Some(size) => Err(Failure::wrong_use(format_args!(
                "{size} bytes are no integers of 32 bits: with --encoding sizes are multiples of 4"
            ))),
            None => Ok(ways),
        }
    }

    /// The federates that ask, and those that answer.
    pub(super) fn federates(&self) -> Federates {
        Federates { producers: self.producers.into(), consumers: self.consumers.into() }
    }

    /// The server, behind the emulated line if there is one.
    pub(super) async fn server(&self, target: &Target, launcher: &Launcher) -> Result<Server, Failure> {
        behind(target.server(launcher).await?, self.line.as_ref(), launcher).await
    }
}

/// The server, behind an emulated line if there is one.
async fn behind(
    server: Server,
    line: Option<&wan::LineSpec>,
    launcher: &Launcher,
) -> Result<Server, Failure> {
    match line {
        None => Ok(server),
        Some(line) => server.behind(launcher, line).await.map_err(failure),
    }
}

/// Figures that results are shown beside, and the file for them.
#[derive(clap::Args)]
pub(super) struct OutputFlags {
    /// Show published figures beside ours
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) against: Option<Against>,
    #[command(flatten)]
    pub(super) json: JsonFlag,
}

/// Published figures.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Against {
    /// "RTI Latency Testing over the Defense Research and Engineering Network", 2001
    Paper,
}

/// How rows of a command were measured.
pub(super) fn method(description: &str, warm_up: u64, runs: u64) -> Method {
    Method {
        description: description.to_owned(),
        warm_up,
        runs,
        clock: "the monotonic clock of the measuring process; no time is taken from another one's".to_owned(),
        harness_us: harness_us(PAPER_BYTES),
    }
}

/// Shows rows and writes the report.
pub(super) fn finish(
    command: &'static str,
    target: &Target,
    output: &OutputFlags,
    method: &Method,
    rows: &[Row],
) -> Outcome {
    let mut report = results::schema::report(command, &command_line(), method, rows);
    let notes = notes(target, method, rows);
    notes.iter().for_each(|note| report.note(note));
    let failures = grids::failures(rows);
    if !output.json.takes_stdout() {
        let against_paper = output.against == Some(Against::Paper);
        let mut shown = grids::mass(rows, against_paper);
        shown.extend(grids::latency(rows, against_paper));
        shown.extend(grids::ping(rows, against_paper));
        shown.extend(failures);
        show(&shown);
        notes.iter().for_each(|note| say(format_args!("note: {note}")));
    }
    output.json.write(&report)?;
    let has_failed = rows.iter().any(|row| row.outcome == RowOutcome::Failed);
    Ok(if has_failed { Status::BadNews } else { Status::Done })
}

pub(super) fn show(grids: &[Grid]) {
    let texts: Vec<_> = grids.iter().map(Grid::text).collect();
    say(texts.join("\n\n"));
}

/// The command as it was typed, without the path of the program.
pub(super) fn command_line() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("meshrti".to_owned()).chain(words).collect()
}

/// Facts that a reader has to know about these figures.
fn notes(target: &Target, method: &Method, rows: &[Row]) -> Vec<String> {
    let mut notes = vec![target.note()];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 3 {
        notes.push(format!(
            "two federates and a server share {cores} cores; with a core for each, times are shorter"
        ));
    }
    if let Some(load) = load().filter(|load| *load > cores as f64 + 1.0) {
        notes.push(format!("noise: {load} processes wanted to run in the last minute, on {cores} cores"));
    }
    if cfg!(debug_assertions) {
        notes.push("this is a test build: a release build is several times as fast".to_owned());
    }
    let spread = |row: &&Row| {
        let ends = row.figure("run_max_mean_us").zip(row.figure("run_min_mean_us"));
        let median = row.figure("run_median_mean_us").filter(|median| *median > 0.0);
        ends.zip(median).is_some_and(|((most, least), median)| (most - least) / median > SPREAD_MAX)
    };
    let noisy = rows.iter().filter(spread).count();
    if noisy > 0 {
        notes.push(format!(
            "noise: in {noisy} of {} cases the means of runs differ by more than {:.0} %",
            rows.len(),
            SPREAD_MAX * 100.0
        ));
    }
    let share = rows.iter().filter_map(|row| row.figure("harness_ratio")).fold(0.0, f64::max);
    if share > HARNESS_MAX {
        notes.push(format!(
            "the measuring code takes {:.2} us for a round trip, up to {:.0} % of what it measures",
            method.harness_us,
            share * 100.0
        ));
    }
    notes
}
