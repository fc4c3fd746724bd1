//! Large groups.

use std::time::{Duration, Instant};

use crate::group::scale::{self, Figures, Goal};
use crate::group::{Group, Report as Run};
use serde_json::{Value, json};

use super::{in_parallel, status, stopped_note};
use console::exit::{Outcome, say};
use console::report::Report;
use console::table::{Table, figure};
use experiment::{Settings, interrupt, seed_of};

/// The time for which the objects of the large group send.
const RUN: Duration = Duration::from_secs(60);
/// The length of runs of small groups.
const LONG: Duration = Duration::from_secs(1_800);

fn row(receivers: u32, replication: usize, run: &Run) -> Value {
    let figures = Figures::of(receivers, run);
    let four = |value: f64| (value * 1e4).round() / 1e4;
    json!({
        "receivers": receivers,
        "replication": replication,
        "mode0_sent": run.totals.mode0_sent,
        "mode1_sent": run.totals.mode1_sent,
        "lost": run.lost,
        "nacks": run.totals.nacks,
        "nacks_at_source": run.totals.nacks_at_source,
        "nacks_per_loss": four(figures.nacks_per_loss),
        "retransmissions": run.totals.retransmissions,
        "copies": run.totals.copies,
        "repairs_per_message": four(figures.repairs_per_message),
        "least_repairs_per_message": four(scale::least_repairs(receivers)),
        "repairs_over_least_ratio": four(figures.repairs_over_least),
        "recovery_p50_s": four(figures.recovery[0]),
        "recovery_p99_s": four(figures.recovery[1]),
        "control_ratio": four(figures.control),
        "feedback_ratio": four(figures.feedback),
        "delivered_ratio": four(figures.finals),
        "kbit_per_s": four(run.sent.ip_bytes as f64 * 8e-3 / RUN.as_secs_f64()),
        "events": run.events,
    })
}

/// `srmp-scale`.
pub(super) fn scale(settings: &Settings, receivers: u32) -> Outcome {
    let begun = Instant::now();
    let replications = usize::from(settings.replications);
    let runs = in_parallel(settings, replications, |index| {
        Group::new(scale::reference(receivers, RUN), seed_of(settings, index))?.run(interrupt::goes_on)
    })?;
    let mut report = Report::new("sim srmp-scale", 1);
    report.seed(settings.seed);
    let mut table = Table::new([
        "receivers",
        "mode 1",
        "NACKs at source",
        "per loss",
        "repairs",
        "copies",
        "over least",
        "p50 ms",
        "p99 ms",
        "control",
        "reports",
        "final values",
    ]);
    for (index, run) in runs.iter().enumerate() {
        report.row(row(receivers, index, run));
        let figures = Figures::of(receivers, run);
        table.line([
            receivers.to_string(),
            run.totals.mode1_sent.to_string(),
            run.totals.nacks_at_source.to_string(),
            figure(figures.nacks_per_loss),
            run.totals.retransmissions.to_string(),
            run.totals.copies.to_string(),
            figure(figures.repairs_over_least),
            figure(figures.recovery[0] * 1e3),
            figure(figures.recovery[1] * 1e3),
            percent(figures.control),
            percent(figures.feedback),
            percent(figures.finals),
        ]);
    }
    report.note(REFERENCE);
    let stopped = stopped_note(!runs.is_empty());
    stopped.into_iter().for_each(|note| report.note(note));
    let wall_s = begun.elapsed().as_secs_f64();
    report.summary(json!({ "scenario": "srmp-scale", "replications": replications, "wall_s": wall_s }));
    if !settings.json.takes_stdout() {
        if !runs.is_empty() {
            say(table.text());
            say(format_args!("\n{REFERENCE}; {wall_s:.1} s"));
        }
        stopped.into_iter().for_each(say);
    }
    settings.json.write(&report)?;
    let complete = runs.iter().all(|run| run.finals.0 == run.finals.1);
    Ok(status(complete))
}

const REFERENCE: &str = "4 sources of 15 objects for 60 s, sites of 50 receivers, 1 % loss at each site and 5 % at each host, \
                         100 ms round trips, no loggers";

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `srmp-goals`.
pub(super) fn goals(settings: &Settings, receivers: u32) -> Outcome {
    let begun = Instant::now();
    let goals = in_parallel(settings, 1, |_| {
        scale::goals(receivers, RUN, LONG, seed_of(settings, 0), interrupt::goes_on)
    })?;
    let goals: Vec<Goal> = goals.into_iter().flatten().collect();
    let mut report = Report::new("sim srmp-goals", 1);
    report.seed(settings.seed);
    let mut table = Table::new(["goal", "of", "goal at most", "must at most", "measured", "verdict"]);
    let or_dash = |limit: Option<f64>| limit.map_or_else(|| "-".to_owned(), figure);
    for goal in &goals {
        report.row(json!({
            "goal": goal.goal,
            "what": goal.what,
            "wanted": goal.wanted,
            "must": goal.must,
            "measured": (goal.measured * 1e4).round() / 1e4,
            "verdict": goal.verdict(),
        }));
        table.line([
            goal.goal.to_owned(),
            goal.what.to_owned(),
            or_dash(goal.wanted),
            or_dash(goal.must),
            format!("{:.3}", goal.measured),
            goal.verdict().to_owned(),
        ]);
    }
    report.note(format!("{receivers} receivers: {REFERENCE}"));
    let stopped = stopped_note(!goals.is_empty());
    stopped.into_iter().for_each(|note| report.note(note));
    let wall_s = begun.elapsed().as_secs_f64();
    report.summary(json!({ "scenario": "srmp-goals", "receivers": receivers, "wall_s": wall_s }));
    if !settings.json.takes_stdout() {
        if !goals.is_empty() {
            say(table.text());
            say(format_args!("\n{receivers} receivers: {REFERENCE}; {wall_s:.1} s"));
        }
        stopped.into_iter().for_each(say);
    }
    settings.json.write(&report)?;
    let musts = goals.iter().filter(|goal| goal.must.is_some());
    let all = musts.into_iter().all(|goal| goal.verdict() != "missed");
    Ok(status(all))
}
