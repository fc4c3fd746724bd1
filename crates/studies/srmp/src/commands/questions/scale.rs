//! Question 1: rising numbers of receivers.

use std::time::Duration;

use crate::group::scale::{self, Figures};
use crate::group::{Group, Report as Run};
use plot::{Axis, Chart, Mark, Series};

use super::{Findings, mean, replicate};
use console::exit::Failure;
use experiment::sheet::{Picture, Sheet, number};
use experiment::{Settings, interrupt};

/// The numbers of receivers of the runs. Runs with more than the user wants are left out.
const RECEIVERS: [u32; 7] = [4, 10, 30, 100, 300, 1_000, 10_000];

pub(super) fn run(settings: &Settings, run: Duration, most: u32) -> Result<Findings, Failure> {
    let mut counts: Vec<u32> = RECEIVERS.into_iter().filter(|count| *count < most).collect();
    counts.push(most);
    let runs = replicate(settings, &counts, |receivers, seed| {
        Group::new(scale::reference(*receivers, run), seed)?.run(interrupt::goes_on)
    })?;
    let title = format!(
        "Receivers: 4 sources of 15 objects, sites of 50; 1 % loss at each site and 5 % at each host, 100 ms there and back, {} s",
        run.as_secs()
    );
    let mut sheet = Sheet::new(
        "receivers",
        title,
        &[
            ("receivers", "receivers"),
            ("lost", "lost messages"),
            ("nacks_per_loss", "NACKs at source per loss"),
            ("nacks_per_loss_ci95", "±"),
            ("repairs_over_least_ratio", "repairs over least"),
            ("recovery_p50_ms", "recovery p50, ms"),
            ("recovery_p99_ms", "p99, ms"),
            ("control_percent", "control, %"),
            ("feedback_percent", "reports, %"),
            ("finals_percent", "final, %"),
        ],
    );
    let mut lines: [Vec<(f64, f64)>; 5] = Default::default();
    for (&receivers, runs) in counts.iter().zip(&runs) {
        let of =
            |figure: &dyn Fn(&Figures) -> f64| mean(runs, |run: &Run| figure(&Figures::of(receivers, run))).0;
        let (nacks, spread) = mean(runs, |run: &Run| Figures::of(receivers, run).nacks_per_loss);
        let values = [
            nacks,
            of(&|figures| figures.recovery[0] * 1e3),
            of(&|figures| figures.recovery[1] * 1e3),
            of(&|figures| figures.control * 100.0),
            of(&|figures| figures.feedback * 100.0),
        ];
        for (line, value) in lines.iter_mut().zip(values) {
            line.push((f64::from(receivers), value));
        }
        sheet.row(vec![
            receivers.into(),
            number(mean(runs, |run: &Run| run.lost as f64).0),
            number(nacks),
            spread.map_or(serde_json::Value::Null, number),
            number(of(&|figures| figures.repairs_over_least)),
            number(values[1]),
            number(values[2]),
            number(values[3]),
            number(values[4]),
            number(of(&|figures| figures.finals * 100.0)),
        ]);
    }
    let [nacks, half, most, control, reports] = lines;
    let subtitle = "4 sources, sites of 50; each site loses 1 %, each host 5 % more; round trips of 100 ms";
    let mut asked = Chart::new(
        "Who asks, and what it costs, over the number of receivers",
        Axis::log("receivers"),
        Axis::linear("NACKs per loss; share of bytes in %").from(0.0),
    )
    .with_subtitle(subtitle);
    asked.add(Series::new("NACKs at a source per loss", Mark::Dots, nacks));
    asked.add(Series::new("control bytes, %", Mark::Dots, control));
    asked.add(Series::new("of these, reports, %", Mark::Dots, reports));
    let mut took = Chart::new(
        "From the detection of a loss to the data, over the number of receivers",
        Axis::log("receivers"),
        Axis::log("time, ms"),
    )
    .with_subtitle(subtitle);
    took.add(Series::new("99 % within", Mark::Dots, most));
    took.add(Series::new("half within", Mark::Dots, half));
    took.limit("one round trip", 100.0);
    Ok(Findings {
        sheets: vec![sheet],
        pictures: vec![Picture::chart("srmp-q1-cost", &asked), Picture::chart("srmp-q1-recovery", &took)],
        notes: vec![
            "Flat groups: every loss is repaired by its source, for all. --receivers 10000 for more."
                .to_owned(),
        ],
    })
}
