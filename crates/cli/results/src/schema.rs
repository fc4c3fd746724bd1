//! A file of results: one JSON object, version 1 of its schema.
//!
//! A row is flat; units stand in its keys. `histograms` has the times of each run of a row, so that
//! nothing that was measured is lost.

use std::collections::BTreeMap;

use console::report::Report;
use console::rounds::Rounds;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The name and version of the schema.
pub const SCHEMA: &str = "meshrti.bench.results/1";

/// The end of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All samples are there.
    Measured,
    /// Something failed; `reason` says what. Figures are those of what came before, if anything did.
    Failed,
    /// The standard has no such service.
    NotInStandard,
}

/// One case of a test, and its figures. Times are of whole round trips unless a key says otherwise.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// `mass`, `latency` or `ping`.
    pub test: String,
    /// `update`, `interaction` or `directed`.
    pub kind: String,
    /// `off`, `one-region` or `region-per-object`.
    pub ddm: String,
    /// `reliable` or `best-effort`.
    pub transport: String,
    /// `receive` or `timestamp`.
    pub order: String,
    /// `opaque`, `big-endian` or `little-endian`: what the data are.
    pub encoding: String,
    /// `on` if messages of a federate leave together, `off` if each is written by itself.
    #[serde(default = "on")]
    pub bundling: String,
    /// Federates that send messages and measure.
    #[serde(default = "one")]
    pub producers: u64,
    /// Federates that answer each message.
    pub consumers: u64,
    /// Objects of each federate, besides the one that `latency` updates.
    pub objects: u64,
    /// Bytes of data in a message, besides its time stamp of 16 bytes.
    pub size_bytes: u64,
    /// Messages under way at a time: a number, `sweep` for one for each object, or `open` for a fixed
    /// rate.
    pub in_flight: String,
    /// Messages sent per second in an open loop.
    pub rate_per_s: Option<f64>,
    /// Links between nodes that a message crosses.
    pub links: u64,
    /// The emulated line between the server and the federates that answer.
    #[serde(default)]
    pub line: Option<String>,
    /// The address of the server, if the benchmark did not start it.
    pub server: Option<String>,
    /// The edition of the FOM modules that the server gets, as a year.
    #[serde(default = "edition_2025")]
    pub fom_edition: u32,
    /// The end of the measurement.
    pub outcome: Outcome,
    /// The reason why it failed.
    pub reason: Option<String>,
    /// Round trips.
    pub samples: u64,
    /// Messages without an answer.
    pub lost: u64,
    /// Figures with their units in their names; a figure that is not there was not measured.
    #[serde(flatten)]
    pub figures: BTreeMap<String, Option<f64>>,
    /// The round trips of each run: nanoseconds and count.
    #[serde(skip)]
    pub runs: Vec<Vec<(u64, u64)>>,
}

// Rows of earlier versions lack some settings, which then were these.

fn on() -> String {
    "on".to_owned()
}

fn one() -> u64 {
    1
}

fn edition_2025() -> u32 {
    2025
}

impl Row {
    /// A figure.
    #[must_use]
    pub fn figure(&self, key: &str) -> Option<f64> {
        self.figures.get(key).copied().flatten()
    }

    /// Adds the figures of these runs, and beside them those of the floor.
    pub fn add_runs(&mut self, runs: &[Rounds], floor: Option<&Rounds>) {
        let mut all = Rounds::new(self.size_bytes as usize);
        runs.iter().for_each(|run| all.add(run));
        self.samples = all.samples();
        if self.samples == 0 {
            return;
        }
        let floor = floor.filter(|floor| floor.samples() > 0);
        if let Value::Object(figures) = all.row(floor) {
            let figures =
                figures.into_iter().filter(|(key, _)| !["size_bytes", "samples"].contains(&&key[..]));
            self.figures.extend(figures.map(|(key, value)| (key, value.as_f64())));
        }
        self.set("one_way_mean_us", self.figure("mean_us").map(|mean| mean / 2.0));
        let means: Vec<f64> = runs.iter().map(Rounds::mean_us).collect();
        self.set("run_median_mean_us", base::stats::median(means.clone()));
        self.set("run_min_mean_us", means.iter().copied().reduce(f64::min));
        self.set("run_max_mean_us", means.iter().copied().reduce(f64::max));
        self.runs = runs.iter().map(|run| run.bins().collect()).collect();
    }

    /// Sets a figure.
    pub fn set(&mut self, key: &str, value: Option<f64>) {
        self.figures.insert(key.to_owned(), value.filter(|value| value.is_finite()));
    }

    /// The settings, by which a row of one file is found in another one. The server is none of them:
    /// one may compare two.
    #[must_use]
    pub fn case(&self) -> Case {
        Case {
            test: self.test.clone(),
            kind: self.kind.clone(),
            ddm: self.ddm.clone(),
            transport: self.transport.clone(),
            order: self.order.clone(),
            encoding: self.encoding.clone(),
            bundling: self.bundling.clone(),
            producers: self.producers,
            consumers: self.consumers,
            objects: self.objects,
            size_bytes: self.size_bytes,
            in_flight: self.in_flight.clone(),
            rate_per_s: self.rate_per_s.map(|rate| rate.to_string()).unwrap_or_default(),
            links: self.links,
            line: self.line.clone().unwrap_or_default(),
        }
    }

    /// The mean of each run, in microseconds.
    #[must_use]
    pub fn run_means_us(&self) -> Vec<f64> {
        self.runs.iter().map(|bins| rounds_of(bins).mean_us()).collect()
    }

    /// All runs together.
    #[must_use]
    pub fn all_runs(&self) -> Rounds {
        let mut all = Rounds::new(self.size_bytes as usize);
        self.runs.iter().for_each(|bins| all.add(&rounds_of(bins)));
        all
    }
}

/// The settings of a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Case {
    test: String,
    kind: String,
    ddm: String,
    transport: String,
    order: String,
    encoding: String,
    bundling: String,
    producers: u64,
    consumers: u64,
    objects: u64,
    size_bytes: u64,
    in_flight: String,
    rate_per_s: String,
    links: u64,
    line: String,
}

/// In words, for people; settings that most rows share are left out.
impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.test)?;
        if self.kind != "update" {
            write!(f, " {}", self.kind)?;
        }
        write!(f, ", {} B", self.size_bytes)?;
        if self.objects > 0 {
            write!(f, ", {} objects", self.objects)?;
        }
        if self.ddm != "off" {
            write!(f, ", {}", self.ddm)?;
        }
        for (word, usual) in
            [(&self.transport, "reliable"), (&self.order, "receive"), (&self.encoding, "opaque")]
        {
            if word != usual {
                write!(f, ", {word}")?;
            }
        }
        if self.bundling != "on" {
            write!(f, ", no bundling")?;
        }
        if self.producers > 1 {
            write!(f, ", {} producers", self.producers)?;
        }
        if self.consumers > 1 {
            write!(f, ", {} consumers", self.consumers)?;
        }
        match &self.in_flight[..] {
            "1" => {}
            "sweep" => write!(f, ", sweeps")?,
            "open" => write!(f, ", {}/s", self.rate_per_s)?,
            number => write!(f, ", {number} under way")?,
        }
        if self.links > 0 {
            write!(f, ", {} links", self.links)?;
        }
        if !self.line.is_empty() {
            write!(f, ", behind {}", self.line)?;
        }
        Ok(())
    }
}

fn rounds_of(bins: &[(u64, u64)]) -> Rounds {
    let mut rounds = Rounds::new(0);
    bins.iter().for_each(|(nanos, count)| rounds.add_many(*nanos, *count));
    rounds
}

/// How the rows were measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Method {
    /// The procedure, in sentences.
    pub description: String,
    /// Messages before each case that are not counted.
    pub warm_up: u64,
    /// Runs of each case.
    pub runs: u64,
    /// The clock.
    pub clock: String,
    /// Time that the measuring code itself takes for a round trip of 128 bytes, in microseconds.
    pub harness_us: f64,
}

/// The histograms of the runs of a row.
#[derive(Serialize, Deserialize)]
struct Histograms {
    /// The row, from 0.
    row: usize,
    /// For each run the bins that are not empty: the least time in nanoseconds, and the count.
    runs_ns: Vec<Vec<(u64, u64)>>,
}

/// The machine on which a benchmark ran.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// The operating system.
    pub os: Option<String>,
    /// The architecture.
    pub arch: Option<String>,
    /// Processors that the benchmark could use.
    pub cores: Option<u64>,
    /// Their numbers, such as `0-1`: fewer than the machine has if the benchmark was pinned.
    #[serde(default)]
    pub affinity: Option<String>,
    /// The name of the processor.
    pub cpu: Option<String>,
    /// Its third-level cache.
    pub l3_bytes: Option<u64>,
    /// The release of the kernel.
    pub kernel: Option<String>,
    /// Main memory.
    pub memory_bytes: Option<u64>,
    /// How the system chooses the frequency of its processors.
    pub governor: Option<String>,
    /// Processes that wanted to run when the benchmark began, in the mean of a minute.
    pub load: Option<f64>,
}

/// A file of results.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: String,
    /// For example `bench mass`.
    pub command: String,
    /// The exact command.
    pub command_line: Vec<String>,
    /// The version of MeshRTI.
    pub version: String,
    /// The commit from which it was built.
    pub commit: String,
    /// The machine.
    pub machine: Machine,
    /// The moment when it began, in UTC.
    pub started: String,
    /// How it was measured.
    pub method: Method,
    /// The cases.
    pub rows: Vec<Row>,
    /// Notes for people.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The reason why a file cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is no JSON, or lacks something.
    #[error("it is no file of results: {0}")]
    Malformed(String),
    /// It has another schema.
    #[error("its schema is `{0}`, and this program reads `{SCHEMA}`")]
    Schema(String),
}

impl Results {
    /// Reads a file.
    ///
    /// # Errors
    /// It is malformed, or has another schema.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let malformed = |error: serde_json::Error| ReadError::Malformed(error.to_string());
        let value: Value = serde_json::from_str(text).map_err(malformed)?;
        match value.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => {}
            Some(other) => return Err(ReadError::Schema(other.to_owned())),
            None => return Err(ReadError::Malformed("it has no `schema`".to_owned())),
        }
        let histograms = value.get("histograms").cloned().unwrap_or_else(|| json!([]));
        let mut results: Self = serde_json::from_value(value).map_err(malformed)?;
        let histograms: Vec<Histograms> = serde_json::from_value(histograms).map_err(malformed)?;
        for Histograms { row, runs_ns } in histograms {
            let rows = results.rows.len();
            let none = || ReadError::Malformed(format!("a histogram is of row {row} of {rows}"));
            results.rows.get_mut(row).ok_or_else(none)?.runs = runs_ns;
        }
        Ok(results)
    }
}

/// A report with this schema: its rows, their histograms, the method and the exact command.
///
/// # Panics
/// Never: rows are JSON objects.
#[must_use]
pub fn report(command: &'static str, command_line: &[String], method: &Method, rows: &[Row]) -> Report {
    let mut report = Report::new(command, 1).with_schema(SCHEMA);
    report.section("command_line", json!(command_line));
    report.section("method", json!(method));
    let histograms = rows.iter().enumerate().filter(|(_, row)| !row.runs.is_empty());
    let histograms: Vec<_> =
        histograms.map(|(at, row)| Histograms { row: at, runs_ns: row.runs.clone() }).collect();
    report.section("histograms", json!(histograms));
    rows.iter().for_each(|row| report.row(json!(row)));
    report
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::time::Duration;

    /// A row with runs that have these means.
    pub(crate) fn row(test: &str, objects: u64, size_bytes: u64, means_us: &[u64]) -> Row {
        let mut row = Row {
            test: test.to_owned(),
            kind: if test == "ping" { "interaction" } else { "update" }.to_owned(),
            ddm: "off".to_owned(),
            transport: "reliable".to_owned(),
            order: "receive".to_owned(),
            encoding: "opaque".to_owned(),
            bundling: "on".to_owned(),
            producers: 1,
            consumers: 1,
            objects,
            size_bytes,
            in_flight: if test == "mass" { "100" } else { "1" }.to_owned(),
            rate_per_s: None,
            links: 0,
            line: None,
            server: None,
            fom_edition: 2025,
            outcome: Outcome::Measured,
            reason: None,
            samples: 0,
            lost: 0,
            figures: BTreeMap::new(),
            runs: Vec::new(),
        };
        let runs: Vec<Rounds> = means_us
            .iter()
            .map(|mean| {
                let mut rounds = Rounds::new(size_bytes as usize);
                [mean - mean / 10, *mean, mean + mean / 10]
                    .iter()
                    .for_each(|us| rounds.record(Duration::from_micros(*us)));
                rounds
            })
            .collect();
        row.add_runs(&runs, None);
        row
    }

    pub(crate) fn results(rows: impl Into<Vec<Row>>) -> Results {
        let rows = rows.into();
        let method = Method {
            description: "As in a test.".to_owned(),
            warm_up: 10,
            runs: 3,
            clock: "monotonic".to_owned(),
            harness_us: 0.25,
        };
        let words = ["meshrti", "bench", "mass"].map(str::to_owned);
        let text = report("bench mass", &words, &method, &rows).to_value().to_string();
        let mut results = Results::read(&text).expect("it was just written");
        results.started = "2026-11-27T12:00:00Z".to_owned();
        results.commit = "0123456".to_owned();
        results.version = "0.1.0".to_owned();
        results.machine = Machine {
            os: Some("linux".to_owned()),
            arch: Some("x86_64".to_owned()),
            cores: Some(2),
            cpu: Some("A <processor> & more".to_owned()),
            l3_bytes: Some(32 << 20),
            kernel: Some("6.18".to_owned()),
            memory_bytes: Some(8 << 30),
            governor: None,
            affinity: None,
            load: Some(0.5),
        };
        results
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let mut rows = vec![row("mass", 100, 128, &[100, 110]), row("latency", 0, 16, &[50])];
        rows[1].outcome = Outcome::Failed;
        rows[1].reason = Some("it hung".to_owned());
        assert_eq!(results(rows.clone()).rows, rows);
    }

    /// Results of earlier versions have neither.
    #[test]
    fn a_row_without_producers_and_bundling_has_one_and_bundles() {
        let written = row("ping", 0, 128, &[9]);
        let mut value = json!(written);
        let fields = value.as_object_mut().expect("a row is an object");
        assert!(fields.remove("producers").is_some() && fields.remove("bundling").is_some());
        let read: Row = serde_json::from_value(value).expect("an earlier row");
        assert_eq!(read.case(), written.case());
    }

    #[test]
    fn a_row_of_an_earlier_version_is_of_2025() {
        let old = row("mass", 100, 128, &[100]);
        let mut value = json!(old);
        let fields = value.as_object_mut().expect("a row is an object");
        assert_eq!(fields.remove("fom_edition"), Some(json!(2025)));
        let read: Row = serde_json::from_value(value).expect("it is a row");
        assert_eq!(read.fom_edition, 2025);
        let new = Row { fom_edition: 2010, ..old };
        let read: Row = serde_json::from_value(json!(new)).expect("it is a row");
        assert_eq!(read.fom_edition, 2010);
    }

    #[test]
    fn the_figures_are_of_all_runs() {
        let row = row("mass", 100, 128, &[100, 110, 300]);
        assert_eq!(row.samples, 9);
        assert!((row.figure("mean_us").unwrap() - 170.0).abs() < 0.5);
        assert!((row.figure("one_way_mean_us").unwrap() - 85.0).abs() < 0.5);
        assert!((row.figure("run_median_mean_us").unwrap() - 110.0).abs() < 0.2);
        assert!((row.figure("run_max_mean_us").unwrap() - 300.0).abs() < 0.5);
        assert_eq!(row.figure("floor_p50_us"), None);
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        assert!(matches!(Results::read("{"), Err(ReadError::Malformed(_))));
        assert!(Results::read("[]").unwrap_err().to_string().contains("no `schema`"));
        let error = Results::read(r#"{"schema": "meshrti.bench.results/2"}"#).unwrap_err();
        assert_eq!(error, ReadError::Schema("meshrti.bench.results/2".to_owned()));
        let lacking = format!(r#"{{"schema": "{SCHEMA}"}}"#);
        assert!(Results::read(&lacking).unwrap_err().to_string().contains("missing field"));
    }

    #[test]
    fn a_case_is_named_by_what_is_unusual() {
        assert_eq!(row("mass", 100, 128, &[9]).case().to_string(), "mass, 128 B, 100 objects, 100 under way");
        let mut ping = row("ping", 0, 64, &[9]);
        ping.transport = "best-effort".to_owned();
        assert_eq!(ping.case().to_string(), "ping interaction, 64 B, best-effort");
        ping.bundling = "off".to_owned();
        ping.producers = 3;
        assert_eq!(ping.case().to_string(), "ping interaction, 64 B, best-effort, no bundling, 3 producers");
    }
}
