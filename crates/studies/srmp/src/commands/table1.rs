//! Table 1 of the paper: our figures, its figures, the expected ones, and whether limits hold.

use base::stats;
use std::time::{Duration, Instant};

use crate::group::Report as Group;
use crate::group::table1::{BESIDE_FITTED, Check, HOSTS, OBJECTS, PAPER, Preset, RUN, kbit_per_s};
use serde_json::{Value, json};
use workload::Workload;
use workload::analysis::Forecast;

use super::{in_parallel, status, stopped_note};
use console::exit::{Failure, Outcome, say};
use console::report::Report;
use console::table::{Table, figure};
use experiment::{Settings, interrupt, seed_of};

/// A reading, with its runs and the checks on them.
struct Reading {
    preset: Preset,
    runs: Vec<Group>,
    checks: Vec<Check>,
    /// Runs with other round-trip times, where that of the reading is fitted.
    beside: Vec<(Duration, Group)>,
}

/// A quantity: its name, the measured figure, the paper's, and the expected one.
type Line = (&'static str, f64, Option<f64>, Option<f64>);

impl Reading {
    fn mean(&self, value: impl Fn(&Group) -> f64) -> f64 {
        stats::mean(self.runs.iter().map(value))
    }

    fn passes(&self) -> bool {
        self.checks.iter().all(Check::passes)
    }

    fn lines(&self, forecast: &Forecast) -> Vec<Line> {
        let repairs = self.preset.expected_repairs() * forecast.mode1.mean;
        let rate = (forecast.mode0.mean + forecast.mode1.mean) * 2.0 / RUN.as_secs_f64();
        vec![
            ("mode 0 sent", self.mean(mode0), Some(PAPER.mode0), Some(forecast.mode0.mean)),
            ("mode 1 sent", self.mean(mode1), Some(PAPER.mode1), Some(forecast.mode1.mean)),
            ("retransmissions", self.mean(repaired), Some(PAPER.retransmissions), Some(repairs)),
            ("NACKs", self.mean(|run| run.totals.nacks as f64), None, None),
            ("mode 0 delivered, %", self.mean(|run| 100.0 * (1.0 - self.preset.loss(run))), None, Some(95.0)),
            ("final values held, %", self.mean(|run| 100.0 * finals(run)), None, Some(100.0)),
            ("kbit/s, messages", self.mean(kbit_per_s), Some(PAPER.kbit_per_s), Some(rate)),
            ("kbit/s, UDP payload", self.mean(|run| kbit(run.sent.udp_bytes)), None, None),
            ("kbit/s, with IP", self.mean(|run| kbit(run.sent.ip_bytes)), None, None),
            ("recovery p50, ms", self.mean(|run| recovery_ms(run, 0.5)), None, None),
            ("recovery p99, ms", self.mean(|run| recovery_ms(run, 0.99)), None, None),
        ]
    }

    fn to_value(&self, forecast: &Forecast) -> Value {
        let failed: Vec<&str> =
            self.checks.iter().filter(|check| !check.passes()).map(|check| check.test).collect();
        let four = |value: f64| (value * 1e4).round() / 1e4;
        json!({
            "preset": self.preset.name(),
            "runs": self.runs.len(),
            "mode0_sent": four(self.mean(mode0)),
            "paper_mode0_sent": PAPER.mode0,
            "expected_mode0_sent": four(forecast.mode0.mean),
            "mode1_sent": four(self.mean(mode1)),
            "paper_mode1_sent": PAPER.mode1,
            "expected_mode1_sent": four(forecast.mode1.mean),
            "retransmissions": four(self.mean(repaired)),
            "paper_retransmissions": PAPER.retransmissions,
            "expected_retransmissions": four(self.preset.expected_repairs() * forecast.mode1.mean),
            "nacks": four(self.mean(|run| run.totals.nacks as f64)),
            "delivered_ratio": four(self.mean(finals)),
            "mode0_delivered_ratio": four(self.mean(|run| 1.0 - self.preset.loss(run))),
            "kbit_per_s": four(self.mean(kbit_per_s)),
            "paper_kbit_per_s": PAPER.kbit_per_s,
            "ip_kbit_per_s": four(self.mean(|run| kbit(run.sent.ip_bytes))),
            "recovery_p50_s": four(self.mean(|run| recovery_ms(run, 0.5)) / 1e3),
            "recovery_p99_s": four(self.mean(|run| recovery_ms(run, 0.99)) / 1e3),
            "passed": self.passes(),
            "failed": failed.join(" "),
        })
    }

    fn text(&self, forecast: &Forecast) -> String {
        let or_dash = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
        let mut figures = Table::new(["", "measured", "paper", "expected"]);
        for (what, measured, paper, expected) in self.lines(forecast) {
            figures.line([what.to_owned(), figure(measured), or_dash(paper), or_dash(expected)]);
        }
        let mut limits = Table::new(["limit", "of", "measured", "at least", "at most", ""]);
        for check in &self.checks {
            limits.line([
                check.test.to_owned(),
                check.what.to_owned(),
                precise(check.measured),
                precise(check.limits.0),
                precise(check.limits.1),
                verdict(check.passes()).to_owned(),
            ]);
        }
        let text = format!(
            "{} ({} runs)\n{}\n\n{}",
            self.preset.name(),
            self.runs.len(),
            figures.text(),
            limits.text()
        );
        if self.beside.is_empty() {
            return text;
        }
        let mut fitted = Table::new(["round trip", "retransmissions", "expected", "paper"]);
        for (round_trip, retransmissions, expected) in self.by_round_trip(forecast) {
            fitted.line([
                format!("{} ms", round_trip.as_millis()),
                figure(retransmissions),
                figure(expected),
                figure(PAPER.retransmissions),
            ]);
        }
        format!("{text}\n\n{FITTED}\n{}", fitted.text())
    }

    /// Round-trip times, with the retransmissions measured and expected. Empty unless that of the
    /// reading is fitted.
    fn by_round_trip(&self, forecast: &Forecast) -> Vec<(Duration, f64, f64)> {
        let expected = |round_trip| self.preset.expected_repairs_at(round_trip) * forecast.mode1.mean;
        let own = (self.preset.round_trip(), self.mean(repaired));
        let beside = self.beside.iter().map(|(round_trip, run)| (*round_trip, repaired(run)));
        let mut lines: Vec<_> = beside.collect();
        if !lines.is_empty() {
            lines.push(own);
        }
        lines.sort_by_key(|(round_trip, _)| *round_trip);
        lines.into_iter().map(|(round_trip, measured)| (round_trip, measured, expected(round_trip))).collect()
    }
}

fn mode0(run: &Group) -> f64 {
    run.totals.mode0_sent as f64
}

fn mode1(run: &Group) -> f64 {
    run.totals.mode1_sent as f64
}

fn repaired(run: &Group) -> f64 {
    run.totals.retransmissions as f64
}

fn finals(run: &Group) -> f64 {
    run.finals.1 as f64 / run.finals.0.max(1) as f64
}

/// Octets of a run in kbit/s.
fn kbit(bytes: u64) -> f64 {
    bytes as f64 * 8e-3 / RUN.as_secs_f64()
}

fn recovery_ms(run: &Group, quantile: f64) -> f64 {
    run.totals.recovery(quantile).as_secs_f64() * 1e3
}

/// Formats a number, with four decimals where they matter.
fn precise(value: f64) -> String {
    if value.abs() >= 100.0 || value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.4}") }
}

fn verdict(passes: bool) -> &'static str {
    if passes { "pass" } else { "FAIL" }
}

const FITTED: &str =
    "The paper does not give its round trip. 150 ms are fitted: chosen so that this reading meets 2,220.";

/// The note when the user stopped it after some runs had ended, but before all of the first
/// reading, without which its limits mean nothing.
const NO_READING: &str = "stopped by the user before all runs of a reading had ended: there are no figures";

/// Runs the readings, as far as the user lets it. Returns also whether any run ended.
fn simulate(settings: &Settings, presets: &[Preset]) -> Result<(Vec<Reading>, bool), Failure> {
    let replications = usize::from(settings.replications);
    // The first run of each reading is repeated, to check that one seed gives one run.
    let each = replications + 1;
    let own = presets.len() * each;
    let beside = if presets.contains(&Preset::NoHoldoff) { &BESIDE_FITTED[..] } else { &[] };
    let mut runs = in_parallel(settings, own + beside.len(), |index| match index.checked_sub(own) {
        None => presets[index / each].run(seed_of(settings, index % each % replications), interrupt::goes_on),
        Some(other) => Preset::NoHoldoff.run_at(beside[other], seed_of(settings, 0), interrupt::goes_on),
    })?;
    let ended = !runs.is_empty();
    let mut others = runs.split_off(own.min(runs.len()));
    let mut readings = Vec::new();
    for preset in presets {
        if runs.len() < each {
            break; // stopped by the user
        }
        let mut own: Vec<Group> = runs.drain(..each).collect();
        let again = own.pop();
        let checks = preset.checks(&own, again.as_ref());
        let beside = match preset {
            Preset::NoHoldoff => beside.iter().copied().zip(others.drain(..)).collect(),
            _ => Vec::new(),
        };
        readings.push(Reading { preset: *preset, runs: own, checks, beside });
    }
    Ok((readings, ended))
}

/// Runs the readings and compares.
pub(super) fn run(settings: &Settings, name: &str, presets: &[Preset]) -> Outcome {
    let begun = Instant::now();
    let replications = usize::from(settings.replications);
    let each = replications + 1;
    let (readings, ended) = simulate(settings, presets)?;
    let is_fitted = presets.contains(&Preset::NoHoldoff);
    let class = &Workload::table1(HOSTS * OBJECTS).classes[0];
    let forecast = Forecast::of(class, RUN).expect("the preset is a chain");
    let wall_s = begun.elapsed().as_secs_f64();
    let mut report = Report::new("sim table1", 1);
    report.seed(settings.seed);
    readings.iter().for_each(|reading| report.row(reading.to_value(&forecast)));
    report
        .note("four hosts of 15 objects, 1800 s, 5 % loss; 250 bytes a message; mode 0 not limited in rate");
    report.note(
        "retransmissions of the paper fit losses at objects and missing hold-off alike; see docs/srmp.md",
    );
    report.summary(json!({
        "scenario": name,
        "replications": replications,
        "wall_s": wall_s,
        "by_fitted_round_trip": readings.iter().flat_map(|reading| {
            reading.by_round_trip(&forecast).into_iter().map(|(round_trip, measured, expected)| json!({
                "preset": reading.preset.name(),
                "round_trip_ms": round_trip.as_millis() as u64,
                "retransmissions": measured,
                "expected_retransmissions": (expected * 10.0).round() / 10.0,
                "paper_retransmissions": PAPER.retransmissions,
            }))
        }).collect::<Vec<_>>(),
        "checks": readings.iter().flat_map(|reading| reading.checks.iter().map(|check| json!({
            "preset": reading.preset.name(),
            "test": check.test,
            "what": check.what,
            "measured": check.measured,
            "at_least": check.limits.0,
            "at_most": check.limits.1,
            "passed": check.passes(),
        }))).collect::<Vec<_>>(),
    }));
    if is_fitted {
        report.note(FITTED);
    }
    let stopped =
        stopped_note(ended).map(|note| if ended && readings.is_empty() { NO_READING } else { note });
    stopped.into_iter().for_each(|note| report.note(note));
    if !settings.json.takes_stdout() {
        tell(&readings, &forecast, each, wall_s);
        stopped.into_iter().for_each(say);
    }
    settings.json.write(&report)?;
    Ok(status(readings.iter().all(Reading::passes)))
}

/// Prints the readings for people, each with `each` runs.
fn tell(readings: &[Reading], forecast: &Forecast, each: usize, wall_s: f64) {
    if readings.is_empty() {
        return;
    }
    let texts: Vec<String> = readings.iter().map(|reading| reading.text(forecast)).collect();
    say(texts.join("\n\n"));
    let events: u64 = readings.iter().flat_map(|reading| &reading.runs).map(|run| run.events).sum();
    let beside: Vec<&Group> =
        readings.iter().flat_map(|reading| &reading.beside).map(|(_, run)| run).collect();
    let events = events + beside.iter().map(|run| run.events).sum::<u64>();
    let runs = readings.len() * each + beside.len();
    say(format_args!("\n{runs} runs of half an hour, {events} events counted, in {wall_s:.1} s"));
}
