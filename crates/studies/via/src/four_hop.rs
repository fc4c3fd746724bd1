//! Table 1: latency over four hops, by stages, beside the paper's simulation and its measurement.

use netmodel::stage::{Paper, Stage, TABLE_1, fixed, unloaded, via_measured, via_simulated};
use serde_json::json;

use console::exit::{Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::Table;

/// The maximum difference to the paper's model, in percent.
const OF_SIMULATED_MAX_PERCENT: f64 = 3.0;

struct Row {
    paper: Paper,
    /// The latency by the profile fitted to the paper's model.
    model_us: f64,
    /// The latency by the profile fitted to the paper's hardware.
    hardware_us: f64,
}

impl Row {
    fn new(paper: Paper) -> Self {
        let us = |stages: &[Stage]| unloaded(stages, paper.size_bytes).as_micros();
        Self { paper, model_us: us(&via_simulated()), hardware_us: us(&via_measured()) }
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

    /// Whether the model is close to the paper's model, and no further from the hardware than the
    /// paper states for its own model, to the printed digit.
    fn passes(&self) -> bool {
        let [simulated, measured, _] = self.differences();
        simulated < OF_SIMULATED_MAX_PERCENT
            && (measured * 10.0).round() / 10.0 <= self.paper.difference_percent
    }
}

fn off(value: f64, reference: f64) -> f64 {
    100.0 * (value / reference - 1.0).abs()
}

/// Rounds as the paper prints latencies: one decimal below 100 µs, none above.
fn printed(us: f64) -> f64 {
    if us < 100.0 { (us * 10.0).round() / 10.0 } else { us.round() }
}

/// Computes and compares.
pub(super) fn run(json: &JsonFlag) -> Outcome {
    let rows: Vec<Row> = TABLE_1.into_iter().map(Row::new).collect();
    let mut report = Report::new("sim via-four-hop", 1);
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
    let three = |value: f64| (value * 1e3).round() / 1e3;
    for row in &rows {
        let (paper, [simulated, measured, hardware]) = (row.paper, row.differences());
        report.row(json!({
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
    let notes = [
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
            worst(0),
            if passed { "those of" } else { "not all within" },
        ),
    ];
    if !json.takes_stdout() {
        say(table.text());
        notes.iter().for_each(say);
    }
    notes.into_iter().for_each(|note| report.note(note));
    json.write(&report)?;
    Ok(if passed { Status::Done } else { Status::BadNews })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_within_its_limits() {
        for paper in TABLE_1 {
            let row = Row::new(paper);
            assert!(row.passes(), "{paper:?}: {:?}", row.differences());
        }
    }
}
