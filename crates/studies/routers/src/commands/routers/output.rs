//! Results, for people and for machines.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::routers::Shape;
use serde_json::{Value, json};

use super::file::Scenario;
use super::work::Done;
use base::stats::ci95;
use console::size;
use console::table::{Table, figure, or_dash};
use experiment::stats::{Summary, histogram, micros, sum_up};

/// All results that are shown.
pub(super) struct Results {
    pub(super) rows: Vec<Row>,
    pub(super) distributions: Vec<Distribution>,
}

/// One line of the tables.
pub(super) struct Row {
    pub(super) study: usize,
    study_name: String,
    pub(super) shape: Shape,
    pub(super) hops: usize,
    pub(super) size: usize,
    pub(super) pairs: usize,
    pub(super) links: u8,
    pub(super) times: Summary,
    ci95: Option<f64>,
    /// The mean of the tree over that of the mesh.
    pub(super) speedup: Option<f64>,
    pub(super) busiest: String,
    pub(super) utilisation: f64,
}

/// The distribution of the times of the pairs.
pub(super) struct Distribution {
    pub(super) study: usize,
    pub(super) shape: Shape,
    pub(super) hops: usize,
    pub(super) size: usize,
    pub(super) pairs: usize,
    bins: Vec<(f64, usize)>,
    /// The mean times of all pairs in µs, in order.
    pub(super) times: Vec<f64>,
}

/// The key by which rows are compared: all except the topology.
type Key = (usize, usize, usize, usize);

impl Row {
    fn key(&self) -> Key {
        (self.study, self.hops, self.size, self.pairs)
    }

    /// The paper's B: bytes of a message over its mean round-trip time, in 10^6 bytes per second.
    pub(super) fn bandwidth_mb_per_s(&self) -> f64 {
        self.size as f64 / self.times.mean
    }

    /// The row of the report. Times have a resolution of 10 ns, ratios have four digits.
    pub(super) fn to_value(&self) -> Value {
        let us = |value: f64| (value * 100.0).round() / 100.0;
        let ratio = |value: f64| (value * 1e4).round() / 1e4;
        json!({
            "study": self.study_name,
            "topology": self.shape.name(),
            "hops": self.hops,
            "size_bytes": self.size,
            "pairs": self.pairs,
            "mean_us": us(self.times.mean),
            "std_us": us(self.times.std),
            "links": self.links,
            "ci95_us": self.ci95.map(us),
            "min_us": us(self.times.min),
            "p50_us": us(self.times.p50),
            "max_us": us(self.times.max),
            "speedup_ratio": self.speedup.map(ratio),
            "bandwidth_mb_per_s": ratio(self.bandwidth_mb_per_s()),
            "bimodality_ratio": ratio(self.times.bimodality),
            "slow_ratio": ratio(self.times.split.slow_share),
            "slow_over_fast_ratio": ratio(self.times.split.slow_over_fast),
            "bimodal": self.times.is_bimodal(),
            "busiest": self.busiest,
            "utilisation_ratio": ratio(self.utilisation),
        })
    }
}

impl Distribution {
    pub(super) fn to_value(&self) -> Value {
        json!({
            "topology": self.shape.name(),
            "hops": self.hops,
            "size_bytes": self.size,
            "pairs": self.pairs,
            "from_us": self.bins.iter().map(|(from, _)| from).collect::<Vec<_>>(),
            "counts": self.bins.iter().map(|(_, count)| count).collect::<Vec<_>>(),
        })
    }
}

/// Summarises all runs.
pub(super) fn results(scenario: &Scenario, done: &[Done]) -> Results {
    let mut results = Results { rows: Vec::new(), distributions: Vec::new() };
    for done in done {
        for (index, &size) in done.point.run.sizes.iter().enumerate() {
            let study = &scenario.studies[done.point.study];
            let times: Vec<Vec<Duration>> = done
                .outcomes
                .iter()
                .map(|outcome| outcome.means.iter().map(|means| means[index]).collect())
                .collect();
            results.rows.push(row(scenario, done, size, &times));
            if study.histogram_of_bytes.contains(&size) {
                let mut sorted: Vec<f64> = times.iter().flatten().copied().map(micros).collect();
                sorted.sort_by(f64::total_cmp);
                results.distributions.push(Distribution {
                    study: done.point.study,
                    shape: done.point.run.shape,
                    hops: done.point.run.hops,
                    size,
                    pairs: done.point.run.pairs,
                    bins: histogram(&times.concat()),
                    times: sorted,
                });
            }
        }
    }
    let of = |shape| results.rows.iter().filter(move |row| row.shape == shape);
    let trees: BTreeMap<Key, f64> = of(Shape::Tree).map(|row| (row.key(), row.times.mean)).collect();
    for row in results.rows.iter_mut().filter(|row| row.shape == Shape::Mesh) {
        row.speedup = trees.get(&row.key()).map(|tree| tree / row.times.mean);
    }
    results
}

fn row(scenario: &Scenario, done: &Done, size: usize, times: &[Vec<Duration>]) -> Row {
    let (study, run) = (&scenario.studies[done.point.study], &done.point.run);
    let means: Vec<f64> =
        times.iter().map(|times| sum_up(std::slice::from_ref(times), study.discard_largest).mean).collect();
    let busiest = done.outcomes.iter().map(|outcome| &outcome.busiest);
    let busiest = busiest.max_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
    Row {
        study: done.point.study,
        study_name: study.name.clone(),
        shape: run.shape,
        hops: run.hops,
        size,
        pairs: run.pairs,
        links: done.outcomes.first().map_or(0, |outcome| outcome.links),
        times: sum_up(times, study.discard_largest),
        ci95: ci95(&means),
        speedup: None,
        busiest: busiest.map_or_else(String::new, |busy| busy.part.clone()),
        utilisation: busiest.map_or(0.0, |busy| busy.utilisation),
    }
}

/// Conclusions from the rows, as sentences.
pub(super) fn notes(scenario: &Scenario, results: &Results) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, study) in scenario.studies.iter().enumerate() {
        let rows = || results.rows.iter().filter(move |row| row.study == index);
        let mut hops: Vec<usize> = rows().map(|row| row.hops).collect();
        hops.dedup();
        hops.sort_unstable();
        hops.dedup();
        for hops in hops {
            let speedups = rows().filter(|row| row.hops == hops).filter_map(|row| row.speedup);
            let (min, max) = speedups.fold((f64::MAX, 0.0f64), |(min, max), s| (min.min(s), max.max(s)));
            if max > 0.0 {
                notes.push(format!(
                    "{}: {hops}-hop exchanges are {min:.2} to {max:.2} times as fast on the mesh as on the tree",
                    study.name
                ));
            }
        }
    }
    for distribution in &results.distributions {
        let same = |row: &&Row| {
            row.key() == (distribution.study, distribution.hops, distribution.size, distribution.pairs)
                && row.shape == distribution.shape
        };
        if let Some(row) = results.rows.iter().find(same) {
            notes.push(distribution_note(row));
        }
    }
    notes
}

fn distribution_note(row: &Row) -> String {
    let (split, bimodality) = (row.times.split, row.times.bimodality);
    let what = if row.times.is_bimodal() { "two groups" } else { "one group" };
    format!(
        "{}: {}, {} hops, {} bytes: {what} (best split: {:.0} % of the pairs are {:.1} times as slow as the others; \
         bimodality coefficient {bimodality:.2}, 0.56 is uniform)",
        row.study_name,
        row.shape.name(),
        row.hops,
        row.size,
        split.slow_share * 100.0,
        split.slow_over_fast,
    )
}

/// All results as text.
pub(super) fn text(scenario: &Scenario, results: &Results) -> String {
    let mut parts = vec![scenario.title.clone()];
    for (index, study) in scenario.studies.iter().enumerate() {
        let mut table = Table::new([
            "topology",
            "hops",
            "links",
            "pairs",
            "payload",
            "mean µs",
            "std µs",
            "±95 %",
            "min",
            "max",
            "speed-up",
            "busiest part",
            "at work",
        ]);
        for row in results.rows.iter().filter(|row| row.study == index) {
            table.line([
                row.shape.name().to_owned(),
                row.hops.to_string(),
                row.links.to_string(),
                row.pairs.to_string(),
                size::name(row.size),
                figure(row.times.mean),
                figure(row.times.std),
                or_dash(row.ci95),
                figure(row.times.min),
                figure(row.times.max),
                or_dash(row.speedup),
                row.busiest.clone(),
                format!("{:.0} %", row.utilisation * 100.0),
            ]);
        }
        parts.push(format!("{}\n{}", study.name, table.text()));
    }
    parts.extend(results.distributions.iter().map(|distribution| picture(scenario, distribution)));
    parts.push(notes(scenario, results).join("\n"));
    parts.join("\n\n")
}

/// A histogram in characters.
fn picture(scenario: &Scenario, distribution: &Distribution) -> String {
    const WIDTH: usize = 48;
    let most = distribution.bins.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let head = format!(
        "{}: pairs by mean time, {}, {} hops, {} bytes",
        scenario.studies[distribution.study].name,
        distribution.shape.name(),
        distribution.hops,
        distribution.size
    );
    let lines = distribution.bins.iter().map(|(from, count)| {
        let bar = "#".repeat((count * WIDTH).div_ceil(most));
        format!("{:>9} µs {count:>4} {bar}", figure(*from)).trim_end().to_owned()
    });
    std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
}
