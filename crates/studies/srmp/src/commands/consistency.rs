//! Tests whether all members have all final values, in spite of losses, cuts and deaths.

use std::time::{Duration, Instant};

use crate::group::Report as Run;
use crate::group::consistency::{self, Ordeal};
use serde_json::json;

use super::{in_parallel, tell};
use console::exit::Outcome;
use console::report::Report;
use experiment::sheet::{Sheet, number};
use experiment::{Settings, interrupt, seed_of};

/// `srmp-consistency`.
pub(super) fn run(settings: &Settings, time: Duration) -> Outcome {
    let begun = Instant::now();
    let time = time.max(consistency::RUN_MIN);
    let runs = in_parallel(settings, usize::from(settings.replications), |index| {
        let seed = seed_of(settings, index);
        consistency::run(time, seed, interrupt::goes_on).map(|run| (seed.0, run))
    })?;
    let mut sheet = Sheet::new(
        "consistency",
        format!(
            "4 sources of 15 objects and 9 sites of 4 receivers, with loggers, {} s; each minute a site is cut off for up to 40 s, three hosts \
             and the logger of a region die for up to 15 s",
            time.as_secs()
        ),
        &[
            ("seed", "seed"),
            ("loss_percent", "lines lose, %"),
            ("in", "in"),
            ("cuts", "cuts"),
            ("deaths", "deaths"),
            ("region_deaths", "of region loggers"),
            ("elections", "elections"),
            ("mode1_sent", "mode 1"),
            ("recoveries", "recoveries"),
            ("recovery_p99_ms", "p99, ms"),
            ("stale_s_per_hour", "stale, s/h"),
            ("finals", "final values"),
            ("missing", "missing"),
        ],
    );
    for (seed, run) in &runs {
        sheet.row(row(*seed, run));
    }
    let mut report = Report::new("sim srmp-consistency", 1);
    report.seed(settings.seed);
    report.summary(json!({
        "scenario": "srmp-consistency",
        "replications": settings.replications,
        "wall_s": begun.elapsed().as_secs_f64(),
    }));
    let notes = vec!["Final values are those that each host must have of each source's objects two minutes after the last message.".to_owned()];
    let all = runs.iter().all(|(_, (_, run))| run.finals.0 == run.finals.1);
    let complete = (!runs.is_empty()).then_some(all);
    tell(settings, &mut report, (vec![sheet], Vec::new()), notes, complete)
}

fn row(seed: u64, (ordeal, run): &(Ordeal, Run)) -> Vec<serde_json::Value> {
    let setup = &ordeal.setup;
    vec![
        seed.to_string().into(),
        number(ordeal.loss * 100.0),
        if ordeal.in_bursts { "bursts" } else { "single" }.into(),
        setup.layout.cuts.len().into(),
        (setup.crashes.len() as u64 + run.region_deaths).into(),
        run.region_deaths.into(),
        run.totals.activations.into(),
        run.totals.mode1_sent.into(),
        run.totals.recovery.count().into(),
        number(run.totals.recovery(0.99).as_secs_f64() * 1e3),
        number(run.stale_seconds_per_hour),
        run.finals.0.into(),
        (run.finals.0 - run.finals.1).into(),
    ]
}
