//! The file of a matrix, and its cells.

use std::fmt;

use bench::exchange::way::{Bundling, Ddm, Encoding, Kind, Order, Transport, Way};
use bench::exchange::{Federates, InFlight};
use bench::{latency, mass};
use serde::{Deserialize, Serialize};
use wan::LineSpec;

use crate::bench::size;

/// The most cells of a matrix: each is a file.
const CELLS_MAX: usize = 999;

/// A test of the suite.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Test {
    Mass,
    Latency,
    Ping,
}

impl Test {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Mass => "mass",
            Self::Latency => "latency",
            Self::Ping => "ping",
        }
    }

    pub(super) const fn command(self) -> &'static str {
        match self {
            Self::Mass => "bench mass",
            Self::Latency => "bench latency",
            Self::Ping => "bench ping",
        }
    }
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Matrix {
    pub(super) title: String,
    #[serde(rename = "cells")]
    blocks: Vec<Block>,
}

/// A block of cells: one for each combination of an entry of `objects`, of `sizes`, of `rates`, of `producers`, of
/// `consumers` and of `lines`. The other lists take turns within a cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    test: Test,
    #[serde(default)]
    objects: Vec<usize>,
    #[serde(default = "paper_size")]
    sizes: Vec<String>,
    #[serde(default)]
    rates: Vec<f64>,
    #[serde(default = "default_in_flight")]
    in_flight: Vec<String>,
    #[serde(default)]
    kinds: Vec<String>,
    #[serde(default = "off")]
    ddm: Vec<String>,
    #[serde(default = "reliable")]
    transport: Vec<String>,
    #[serde(default = "receive")]
    order: Vec<String>,
    #[serde(default = "opaque")]
    encoding: Vec<String>,
    #[serde(default = "on")]
    bundling: Vec<String>,
    #[serde(default = "one")]
    producers: Vec<usize>,
    #[serde(default = "one")]
    consumers: Vec<usize>,
    /// Emulated lines between the server and the federates that answer; an empty one is none.
    #[serde(default = "no_line")]
    lines: Vec<String>,
    #[serde(default = "thousand")]
    samples: u64,
    #[serde(default = "hundred")]
    warm_up: u64,
    #[serde(default = "ten")]
    runs: u64,
}

fn paper_size() -> Vec<String> {
    vec!["128".to_owned()]
}

fn default_in_flight() -> Vec<String> {
    vec!["100".to_owned()]
}

fn off() -> Vec<String> {
    vec![Ddm::Off.word().to_owned()]
}

fn reliable() -> Vec<String> {
    vec![Transport::Reliable.word().to_owned()]
}

fn receive() -> Vec<String> {
    vec![Order::Receive.word().to_owned()]
}

fn opaque() -> Vec<String> {
    vec![Encoding::Opaque.word().to_owned()]
}

fn on() -> Vec<String> {
    vec![Bundling::On.word().to_owned()]
}

fn one() -> Vec<usize> {
    vec![1]
}

fn no_line() -> Vec<String> {
    vec![String::new()]
}

const fn thousand() -> u64 {
    1_000
}

const fn hundred() -> u64 {
    100
}

const fn ten() -> u64 {
    10
}

/// A cell: what its file of results is of.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Cell {
    pub(super) test: Test,
    objects: usize,
    size_bytes: usize,
    pub(super) rate: Option<f64>,
    /// Not there where there is one, as in results of earlier versions.
    #[serde(skip_serializing_if = "is_one")]
    producers: usize,
    consumers: usize,
    /// Not there where there is none, as in results of earlier versions.
    #[serde(skip_serializing_if = "String::is_empty")]
    line: String,
    in_flight: Vec<String>,
    ways: Vec<String>,
    samples: u64,
    pub(super) warm_up: u64,
    pub(super) runs: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
fn is_one(number: &usize) -> bool {
    *number == 1
}

/// The reason why a file is no matrix.
#[derive(Debug)]
pub(super) struct FileError(String);

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Matrix {
    /// Reads a file, and checks every value in it.
    pub(super) fn read(text: &str) -> Result<Self, FileError> {
        let matrix: Self = toml::from_str(text).map_err(|error| FileError(error.to_string()))?;
        for (at, block) in (1..).zip(&matrix.blocks) {
            block.check().map_err(|error| FileError(format!("cells {at}: {error}")))?;
        }
        match matrix.cells().len() {
            0 => Err(FileError("it has no cells".to_owned())),
            cells if cells > CELLS_MAX => {
                Err(FileError(format!("it has {cells} cells, more than {CELLS_MAX}")))
            }
            _ => Ok(matrix),
        }
    }

    /// The cells, in the order of the file.
    pub(super) fn cells(&self) -> Vec<Cell> {
        self.blocks.iter().flat_map(Block::cells).collect()
    }
}

impl Block {
    fn check(&self) -> Result<(), String> {
        self.sizes.iter().try_for_each(|text| size::parse_data(text).map(drop))?;
        self.rates.iter().try_for_each(|rate| size::parse_rate(&rate.to_string()).map(drop))?;
        self.in_flight.iter().try_for_each(|text| crate::bench::suite::mass::in_flight(text).map(drop))?;
        for line in self.lines.iter().filter(|line| !line.is_empty()) {
            line.parse::<LineSpec>().map_err(|error| format!("`lines` has `{line}`: {error}"))?;
        }
        self.kinds.iter().try_for_each(|text| text.parse::<Kind>().map(drop))?;
        self.ddm.iter().try_for_each(|text| text.parse::<Ddm>().map(drop))?;
        self.transport.iter().try_for_each(|text| text.parse::<Transport>().map(drop))?;
        self.order.iter().try_for_each(|text| text.parse::<Order>().map(drop))?;
        self.encoding.iter().try_for_each(|text| text.parse::<Encoding>().map(drop))?;
        self.bundling.iter().try_for_each(|text| text.parse::<Bundling>().map(drop))?;
        let is_opaque = self.encoding.iter().all(|word| word == Encoding::Opaque.word());
        if !is_opaque && self.size_bytes().iter().any(|size| !Encoding::BigEndian.fits(*size)) {
            return Err("integers of 32 bits need sizes that are multiples of 4".to_owned());
        }
        for (key, counts) in [("producers", &self.producers), ("consumers", &self.consumers)] {
            if !counts.iter().all(|count| (1..=100).contains(count)) {
                return Err(format!("`{key}` are 1 to 100"));
            }
        }
        if self.samples == 0 || self.runs == 0 {
            return Err("`samples` and `runs` are at least 1".to_owned());
        }
        if self.test == Test::Mass && (self.objects.is_empty() || self.objects.contains(&0)) {
            return Err("`mass` needs `objects`, each at least 1".to_owned());
        }
        match (self.test, self.rates.is_empty(), self.kinds.is_empty()) {
            (Test::Mass, false, _) => Err("`mass` has no `rates`: its loop is closed".to_owned()),
            (Test::Mass | Test::Latency, _, false) => Err("only `ping` has `kinds`".to_owned()),
            _ => Ok(()),
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let objects = if self.objects.is_empty() { &[0][..] } else { &self.objects };
        let rates: Vec<Option<f64>> = match self.rates.is_empty() {
            true => vec![None],
            false => self.rates.iter().copied().map(Some).collect(),
        };
        let mut settings = Vec::new();
        for &objects in objects {
            for size_bytes in self.size_bytes() {
                for &rate in &rates {
                    for line in &self.lines {
                        for &producers in &self.producers {
                            let of = |&consumers: &usize| {
                                (objects, size_bytes, rate, Federates { producers, consumers }, line.clone())
                            };
                            settings.extend(self.consumers.iter().map(of));
                        }
                    }
                }
            }
        }
        let cell = |(objects, size_bytes, rate, federates, line): (_, _, _, Federates, _)| Cell {
            test: self.test,
            objects,
            size_bytes,
            rate,
            producers: federates.producers,
            consumers: federates.consumers,
            line,
            in_flight: if self.test == Test::Mass { self.in_flight.clone() } else { Vec::new() },
            ways: self.ways(),
            samples: self.samples,
            warm_up: self.warm_up,
            runs: self.runs,
        };
        settings.into_iter().map(cell).collect()
    }

    /// The sizes, which [`Block::check`] has checked.
    fn size_bytes(&self) -> Vec<usize> {
        self.sizes.iter().filter_map(|size| size::parse_data(size).ok()).collect()
    }

    /// The words of all combinations of how messages travel.
    fn ways(&self) -> Vec<String> {
        let kinds = match self.kinds.is_empty() {
            true => {
                vec![if self.test == Test::Ping { Kind::Interaction } else { Kind::Update }.word().to_owned()]
            }
            false => self.kinds.clone(),
        };
        let mut ways = Vec::new();
        for kind in &kinds {
            for bundling in &self.bundling {
                let end = if bundling == Bundling::On.word() { "" } else { "/unbundled" };
                for encoding in &self.encoding {
                    for order in &self.order {
                        for transport in &self.transport {
                            let way = |ddm| format!("{kind}/{ddm}/{transport}/{order}/{encoding}{end}");
                            ways.extend(self.ddm.iter().map(way));
                        }
                    }
                }
            }
        }
        ways
    }
}

impl Cell {
    /// The end of the name of its file.
    pub(super) fn name(&self) -> String {
        let mut name = format!("{}-{}B", self.test.word(), self.size_bytes);
        if self.objects > 0 {
            name.push_str(&format!("-{}-objects", self.objects));
        }
        if self.producers > 1 {
            name.push_str(&format!("-{}-producers", self.producers));
        }
        if self.consumers > 1 {
            name.push_str(&format!("-{}-consumers", self.consumers));
        }
        if let Some(rate) = self.rate {
            name.push_str(&format!("-{rate}-per-s"));
        }
        if !self.line.is_empty() {
            name.push_str("-line");
        }
        name
    }

    /// Roughly how much there is to do, in round trips.
    pub(super) fn work(&self) -> u64 {
        let cases = (self.ways.len() * self.in_flight.len().max(1)) as u64;
        let sweeps = self.in_flight.iter().filter(|text| *text == "sweep").count() as u64;
        let kib = 1 + (self.size_bytes >> 14) as u64;
        let rounds = self.runs * self.samples * cases + self.runs * sweeps * self.objects as u64;
        rounds * kib * self.consumers as u64 + 4 * (self.objects * self.ways.len()) as u64
    }

    /// The federates that ask, and those that answer.
    pub(super) fn federates(&self) -> Federates {
        Federates { producers: self.producers, consumers: self.consumers }
    }

    /// The emulated line, which [`Block::check`] has checked.
    pub(super) fn line(&self) -> Option<LineSpec> {
        self.line.parse().ok().filter(|_| !self.line.is_empty())
    }

    /// How messages travel.
    pub(super) fn ways(&self) -> Vec<Way> {
        self.ways.iter().filter_map(|word| word.parse().ok()).collect()
    }

    pub(super) fn mass_plan(&self) -> mass::Plan {
        let in_flight = self.in_flight.iter().map(|text| crate::bench::suite::mass::in_flight(text));
        mass::Plan {
            ways: self.ways(),
            federates: self.federates(),
            objects: vec![self.objects],
            in_flight: in_flight.map(|parsed| parsed.unwrap_or(InFlight::Sweep)).collect(),
            size: self.size_bytes,
            samples: self.samples,
            warm_up: self.warm_up,
            runs: self.runs,
            patience: std::time::Duration::from_secs(60),
        }
    }

    /// `samples` are of a run, as in the mass object test.
    pub(super) fn latency_plan(&self) -> latency::Plan {
        latency::Plan {
            ways: self.ways(),
            federates: self.federates(),
            samples: self.samples * self.runs,
            warm_up: self.warm_up,
            slices: self.runs,
            rate_per_s: self.rate,
            ..latency::Plan::new(vec![self.size_bytes], vec![self.objects])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_of_the_paper_has_its_tables() {
        let matrix = Matrix::read(include_str!("../paper.toml")).expect("it is well-formed");
        let cells = matrix.cells();
        let names: Vec<String> = cells.iter().map(Cell::name).collect();
        for name in ["mass-128B-100-objects", "mass-128B-1500-objects", "latency-1048576B", "ping-128B"] {
            assert!(names.iter().any(|found| found == name), "{name} in {names:?}");
        }
        assert!(cells.iter().all(|cell| cell.ways().len() == cell.ways.len() && cell.work() > 0));
    }

    /// Results from before there were lines are those of a cell without one.
    #[test]
    fn a_cell_without_a_line_does_not_speak_of_it() {
        let text = "title = \"t\"\n[[cells]]\ntest = \"ping\"\nlines = [\"\", \"delay=8ms\"]\nruns = 2";
        let cells = Matrix::read(text).expect("it is well-formed").cells();
        assert_eq!(cells.iter().map(Cell::name).collect::<Vec<_>>(), ["ping-128B", "ping-128B-line"]);
        let lines: Vec<_> = cells.iter().map(|cell| serde_json::json!(cell).get("line").cloned()).collect();
        assert_eq!(lines, [None, Some("delay=8ms".into())]);
        assert_eq!(cells[0].line(), None);
        assert_eq!(cells[1].line().expect("it has one").delay.as_millis(), 8);
    }

    #[test]
    fn a_wrong_value_is_told_with_its_place() {
        let error = |cells: &str| {
            let text = format!("title = \"t\"\n[[cells]]\n{cells}");
            Matrix::read(&text).expect_err(cells).to_string()
        };
        assert!(error("test = \"mass\"").starts_with("cells 1: `mass` needs `objects`"));
        assert!(error("test = \"latency\"\nsizes = [\"0\"]").contains("too small"));
        assert!(error("test = \"ping\"\nddm = [\"on\"]").contains("`on` is none of off"));
        assert!(error("test = \"latency\"\nkinds = [\"update\"]").contains("only `ping`"));
        assert!(error("test = \"mass\"\nobjects = [1]\nrates = [5]").contains("no `rates`"));
        assert!(error("test = \"latency\"\nsise = 1").contains("unknown field `sise`"));
        assert!(
            error("test = \"latency\"\nencoding = [\"big-endian\"]\nsizes = [\"6\"]")
                .contains("multiples of 4")
        );
        assert!(error("test = \"latency\"\nconsumers = [0]").contains("`consumers` are 1 to 100"));
        assert!(error("test = \"latency\"\nproducers = [101]").contains("`producers` are 1 to 100"));
        assert!(error("test = \"latency\"\nbundling = [\"of\"]").contains("`of` is none of on, off"));
        assert!(error("test = \"latency\"\nruns = 0").contains("at least 1"));
        let line = error("test = \"latency\"\nlines = [\"\", \"delay=soon\"]");
        assert!(line.contains("`lines` has `delay=soon`"), "{line}");
        assert!(Matrix::read("title = \"t\"\ncells = []").unwrap_err().to_string().contains("no cells"));
    }
}
