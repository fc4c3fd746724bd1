//! Table 1: latency over four hops, beside the paper's simulation and its measurement: by the formula
//! of a chain of stages, and by simulating two hosts and the switches between them, idle and under
//! load.

use base::Seed;
use netmodel::simulation::Outcome as Simulated;
use netmodel::stage::{Paper, Stage, TABLE_1, fixed, unloaded, via_measured, via_simulated};
use netmodel::study::four_hop::{Sending, expected_wait_us, run as simulate};
use serde_json::{Value, json};

use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::Table;

/// Shares of the time for which the slowest stage is busy, and the number of messages that are sent.
const LOADS: [f64; 2] = [0.5, 0.9];
const MESSAGES: u32 = 50_000;
/// The maximum difference between the formula and the simulation of a message alone, in µs.
const OF_FORMULA_MAX_US: f64 = 1e-3;
/// The maximum difference to the paper's model, in percent.
const OF_SIMULATED_MAX_PERCENT: f64 = 3.0;

struct Row {
    paper: Paper,
    /// The latency by the profile fitted to the paper's model.
    model_us: f64,
    /// The latency by the profile fitted to the paper's hardware.
    hardware_us: f64,
    /// The simulated latency of a message alone.
    simulated_us: f64,
    /// By load: the simulation, and the mean latency by M/D/1.
    loaded: Vec<(Simulated, f64)>,
}

impl Row {
    fn new(paper: Paper, seed: Seed) -> Result<Self, Failure> {
        let bytes = paper.size_bytes;
        let us = |stages: &[Stage]| unloaded(stages, bytes).as_micros();
        let run = |sending| simulate(bytes, sending, seed).map_err(Failure::bad_news);
        let model_us = us(&via_simulated());
        let loaded =
            |load| Ok((run(Sending::Load(load, MESSAGES))?, model_us + expected_wait_us(bytes, load)));
        Ok(Self {
            paper,
            model_us,
            hardware_us: us(&via_measured()),
            simulated_us: run(Sending::Alone)?.latency.summary.mean_us(),
            loaded: LOADS.into_iter().map(loaded).collect::<Result<_, Failure>>()?,
        })
    }

    /// The runs under load, for a report.
    fn loads(&self) -> Vec<Value> {
        self.loaded.iter().zip(LOADS).map(|((ran, expected), load)| json!({
            "load": load,
            "mean_us": three(ran.latency.summary.mean_us()),
            "expected_us": three(*expected),
            "p99_us": three(ran.latency.histogram.quantile(0.99) * 1e-6),
            "stage_waits_us": ran.stages.iter().map(|stage| three(stage.mean_wait_us())).collect::<Vec<_>>(),
        })).collect()
    }

    /// Relative differences in percent: of the model to the paper's model, of the model to the
    /// paper's hardware, and of the hardware profile to that hardware.
    fn differences(&self) -> [f64; 3] {
        [
            off(self.model_us, self.paper.simulated_us),
            off(printed(self.model_us), self.paper.measured_us),
            off(self.hardware_us, self.paper.measured_us),
        ]
    }

    /// Whether the simulation of a message alone gives what the formula does, and the model is close to the paper's model, and no further from the hardware than the
    /// paper states for its own model, to the printed digit.
    fn passes(&self) -> bool {
        let [simulated, measured, _] = self.differences();
        (self.simulated_us - self.model_us).abs() < OF_FORMULA_MAX_US
            && simulated < OF_SIMULATED_MAX_PERCENT
            && (measured * 10.0).round() / 10.0 <= self.paper.difference_percent
    }
}

/// Rounds to three decimals.
fn three(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn off(value: f64, reference: f64) -> f64 {
    100.0 * (value / reference - 1.0).abs()
}

/// Rounds as the paper prints latencies: one decimal below 100 µs, none above.
fn printed(us: f64) -> f64 {
    if us < 100.0 { (us * 10.0).round() / 10.0 } else { us.round() }
}

/// Computes and compares.
pub(super) fn run(seed: u64, json: &JsonFlag) -> Outcome {
    let rows = TABLE_1.into_iter().map(|paper| Row::new(paper, Seed(seed)));
    let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
    let mut report = Report::new("sim via-four-hop", 1);
    report.seed(seed);
    let mut table = Table::new([
        "bytes",
        "model µs",
        "paper, simulated",
        "off %",
        "paper, measured",
        "off %",
        "paper's own %",
        "via-meas µs",
        "off %",
    ]);
    for row in &rows {
        let (paper, [simulated, measured, hardware]) = (row.paper, row.differences());
        report.row(json!({
            "simulated_us": three(row.simulated_us),
            "loads": row.loads(),
            "size_bytes": paper.size_bytes,
            "model_us": three(row.model_us),
            "paper_simulated_us": paper.simulated_us,
            "paper_measured_us": paper.measured_us,
            "model_to_simulated_percent": three(simulated),
            "model_to_measured_percent": three(measured),
            "paper_to_measured_percent": paper.difference_percent,
            "via_meas_us": three(row.hardware_us),
            "via_meas_to_measured_percent": three(hardware),
            "passed": row.passes(),
        }));
        table.line([
            paper.size_bytes.to_string(),
            format!("{:.2}", row.model_us),
            paper.simulated_us.to_string(),
            format!("{simulated:.2}"),
            paper.measured_us.to_string(),
            format!("{measured:.1}"),
            format!("{:.1}", paper.difference_percent),
            format!("{:.2}", row.hardware_us),
            format!("{hardware:.1}"),
        ]);
    }
    let worst = |at: usize| rows.iter().map(|row| row.differences()[at]).fold(0.0, f64::max);
    let passed = rows.iter().all(Row::passes);
    report.summary(json!({
        "worst_to_simulated_percent": three(worst(0)),
        "worst_to_measured_percent": three(worst(1)),
        "via_meas_worst_to_measured_percent": three(worst(2)),
        "passed": passed,
    }));
    let notes = notes(worst(0), passed);
    if !json.takes_stdout() {
        say(table.text());
        say(format_args!("\n{}\n{}\n", SIMULATED, loads(&rows)));
        notes.iter().for_each(say);
    }
    notes.into_iter().for_each(|note| report.note(note));
    json.write(&report)?;
    Ok(if passed { Status::Done } else { Status::BadNews })
}

/// Notes on the table, with the worst difference to the paper's simulation in percent.
fn notes(worst: f64, passed: bool) -> [String; 4] {
    [
        format!(
            "model: profile via-sim, fitted to the paper's simulated column; fixed stages {}, then 1000 Mbit/s until 415 bytes of \
             tokens are spent, then 856 Mbit/s; up to 4 bytes travel in the descriptor",
            fixed(&via_simulated())
        ),
        format!(
            "via-meas: fitted to the measured column; fixed stages {}, 9.676 ns per byte",
            fixed(&via_measured())
        ),
        "the fits have as many parameters as the table has bends: agreement shows that stages can say what the paper says, and no more"
            .to_owned(),
        format!(
            "worst difference to the paper's simulation {:.2} % (limit {OF_SIMULATED_MAX_PERCENT} %); differences to its measurement \
             are {} the paper's own at its digits",
            worst,
            if passed { "those of" } else { "not all within" },
        ),
    ]
}

const SIMULATED: &str = "Two hosts as chains of queues and five switches, simulated: a message alone, and messages of a Poisson process \
     that keeps the slowest stage (or the bus) busy for a share of the time. Expected: that and the waiting time of M/D/1 at the slowest \
     stage; the tokens of the bus make messages of a kilobyte or so wait less.";

/// The simulated latencies.
fn loads(rows: &[Row]) -> String {
    let mut table = Table::new([
        "bytes",
        "formula µs",
        "alone",
        "50 % mean",
        "expected",
        "p99",
        "90 % mean",
        "expected",
        "p99",
    ]);
    for row in rows {
        let mut line = [const { String::new() }; 9];
        line[0] = row.paper.size_bytes.to_string();
        line[1] = format!("{:.2}", row.model_us);
        line[2] = format!("{:.2}", row.simulated_us);
        let figures = row.loaded.iter().flat_map(|(ran, expected)| {
            [ran.latency.summary.mean_us(), *expected, ran.latency.histogram.quantile(0.99) * 1e-6]
        });
        for (cell, figure) in line[3..].iter_mut().zip(figures) {
            *cell = format!("{figure:.1}");
        }
        table.line(line);
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_within_its_limits() {
        for paper in TABLE_1 {
            let row = Row::new(paper, Seed(1)).expect("it runs");
            assert!(row.passes(), "{paper:?}: {:?}", row.differences());
        }
    }
}
