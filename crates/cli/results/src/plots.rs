//! Plots as in the papers' figures.

use std::collections::BTreeSet;

use plot::{Axis, Chart, Mark, Series};

use crate::papers;
use crate::schema::{Results, Row};

/// The most curves in one plot of distributions: with more none can be told apart.
const CURVES_MAX: usize = 8;

/// A plot that has something to show: its title and its SVG text.
pub(crate) struct Plot {
    pub(crate) title: &'static str,
    pub(crate) svg: String,
}

/// The plots of some files, each with a name.
pub(crate) fn all(files: &[(String, Results)]) -> Vec<Plot> {
    let mut plots = vec![
        drawn("Round trip over number of objects", &mass(files)),
        drawn("Answers per second over number of objects", &answers(files)),
        drawn("Latency of updates over size", &latency(files)),
        drawn("Interactions over size", &ping(files)),
    ];
    for (test, title) in [
        ("mass", "Distribution of round trips: mass objects"),
        ("latency", "Distribution of round trips: updates of 128 bytes"),
        ("ping", "Distribution of round trips: interactions"),
    ] {
        plots.push(drawn(title, &cdf(files, test, title)));
    }
    plots.into_iter().flatten().collect()
}

/// `None` if there is nothing to show.
fn drawn(title: &'static str, chart: &Chart) -> Option<Plot> {
    chart.svg().ok().map(|svg| Plot { title, svg })
}

/// The rows of a test, in groups that make one curve each, with the curve's name.
fn curves<'a>(
    files: &'a [(String, Results)],
    test: &str,
    word: impl Fn(&Row) -> String,
) -> Vec<(String, Vec<&'a Row>)> {
    let mut curves: Vec<(String, Vec<&Row>)> = Vec::new();
    for (file, results) in files {
        for row in results.rows.iter().filter(|row| row.test == test && row.samples > 0) {
            let name = if files.len() > 1 { format!("{file}: {}", word(row)) } else { word(row) };
            match curves.iter_mut().find(|(other, _)| *other == name) {
                Some((_, rows)) => rows.push(row),
                None => curves.push((name, vec![row])),
            }
        }
    }
    curves
}

/// The points of a curve. A case that was measured several times, in several cells of a matrix, counts
/// once.
fn points(rows: &[&Row], x: impl Fn(&Row) -> f64, key: &str, scale: f64) -> Vec<(f64, f64)> {
    let mut points: Vec<_> = rows.iter().filter_map(|row| Some((x(row), row.figure(key)? * scale))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by_key(|point| point.0);
    points
}

/// Without the curves that have one point, unless all have.
fn without_single_points(curves: Vec<(String, Vec<(f64, f64)>)>) -> Vec<(String, Vec<(f64, f64)>)> {
    let is_curve = |(_, points): &(String, Vec<(f64, f64)>)| points.len() > 1;
    let any = curves.iter().any(is_curve);
    curves.into_iter().filter(|curve| !any || is_curve(curve)).collect()
}

/// The settings of a row that are not the usual ones, in words.
fn unusual(row: &Row) -> impl Iterator<Item = String> {
    let encoding = (row.encoding != "opaque").then(|| row.encoding.clone());
    let bundling = (row.bundling != "on").then(|| "no bundling".to_owned());
    let producers = (row.producers > 1).then(|| format!("{} producers", row.producers));
    let consumers = (row.consumers > 1).then(|| format!("{} consumers", row.consumers));
    let line = row.line.as_ref().map(|line| format!("behind {line}"));
    [encoding, bundling, producers, consumers, line].into_iter().flatten()
}

/// The name of a curve of the mass object test.
fn mass_words(row: &Row) -> String {
    let usual = [row.ddm.clone(), format!("{} under way", row.in_flight)];
    usual.into_iter().chain(unusual(row)).collect::<Vec<_>>().join(", ")
}

fn mass(files: &[(String, Results)]) -> Chart {
    let mut chart = Chart::new(
        "Round trip over number of objects",
        Axis::log("objects of each federate"),
        Axis::log("mean round trip, ms"),
    )
    .with_subtitle("Mass object test; the paper's curve is Table 1 of Lorenzo et al. 2001");
    for (name, rows) in curves(files, "mass", mass_words) {
        chart.add(Series::new(&name, Mark::Dots, points(&rows, |row| row.objects as f64, "mean_us", 1e-3)));
    }
    if files.iter().any(|(_, results)| results.rows.iter().any(|row| row.test == "mass")) {
        let paper = papers::MASS.map(|row| (row.objects as f64, row.mean_ms));
        chart.add(Series::new("RTI 1.3NG, 2001", Mark::Dashed, paper));
    }
    chart
}

fn answers(files: &[(String, Results)]) -> Chart {
    let mut chart = Chart::new(
        "Answers per second over number of objects",
        Axis::log("objects of each federate"),
        Axis::log("answers per second"),
    )
    .with_subtitle("Mass object test");
    for (name, rows) in curves(files, "mass", mass_words) {
        let points = points(&rows, |row| row.objects as f64, "answers_per_s", 1.0);
        chart.add(Series::new(&name, Mark::Dots, points));
    }
    chart
}

fn latency(files: &[(String, Results)]) -> Chart {
    let mut chart = Chart::new(
        "Latency of updates over size",
        Axis::log("size, bytes"),
        Axis::log("mean time of one way, us"),
    )
    .with_subtitle(
        "Half of a round trip; the paper's values are the least of Table 2 of Lorenzo et al. 2001",
    );
    let named = curves(files, "latency", |row| {
        let mut words = vec![row.ddm.clone(), row.transport.clone(), row.order.clone()];
        words.extend((row.objects > 0).then(|| format!("{} objects", row.objects)));
        words.extend(unusual(row));
        words.extend(row.rate_per_s.map(|rate| format!("{rate}/s")));
        words.join(", ")
    });
    let sized = |rows: &[&Row]| points(rows, |row| row.size_bytes as f64, "one_way_mean_us", 1.0);
    let named = named.into_iter().map(|(name, rows)| (name, sized(&rows)));
    for (name, points) in without_single_points(named.collect()) {
        chart.add(Series::new(&name, Mark::Dots, points));
    }
    if files.iter().any(|(_, results)| results.rows.iter().any(|row| row.test == "latency")) {
        let least = |value: fn(&papers::BmLatency) -> f64| {
            papers::BM_LATENCY.iter().map(value).fold(f64::INFINITY, f64::min) * 1e3
        };
        let values = [least(|row| row.without_ddm_ms), least(|row| row.with_ddm_ms)];
        for (name, value) in ["RTI 1.3NG 2001, no DDM", "RTI 1.3NG 2001, DDM"].into_iter().zip(values) {
            chart.add(Series::new(name, Mark::Points, [(128.0, value)]));
        }
    }
    chart
}

fn ping(files: &[(String, Results)]) -> Chart {
    let mut chart =
        Chart::new("Interactions over size", Axis::log("size, bytes"), Axis::log("mean round trip, us"))
            .with_subtitle("HLA Ping, and updates beside it");
    let word = |row: &Row| format!("{}, {}, {}", row.kind, row.ddm, row.transport);
    for (name, rows) in curves(files, "ping", word) {
        chart.add(Series::new(&name, Mark::Dots, points(&rows, |row| row.size_bytes as f64, "mean_us", 1.0)));
    }
    chart
}

/// The distribution functions of the rows of a test: those of 128 bytes, or of the least size.
fn cdf(files: &[(String, Results)], test: &str, title: &str) -> Chart {
    let axes = (Axis::log("round trip, us"), Axis::linear("share of round trips").from(0.0).to(1.0));
    let mut chart = Chart::new(title, axes.0, axes.1).with_subtitle("All runs together");
    let rows = files.iter().flat_map(|(_, results)| &results.rows).filter(|row| row.test == test);
    let sizes: Vec<u64> = rows.map(|row| row.size_bytes).collect();
    let size = if sizes.contains(&128) { Some(128) } else { sizes.into_iter().min() };
    let named = curves(files, test, |row| {
        let case = row.case().to_string();
        case.strip_prefix(&format!("{test}, ")).or(case.strip_prefix(test)).unwrap_or(&case).trim().to_owned()
    });
    let shown = named.iter().flat_map(|(name, rows)| rows.iter().map(move |row| (name, row)));
    let shown = shown.filter(|(_, row)| Some(row.size_bytes) == size && !row.runs.is_empty());
    let mut names = BTreeSet::new();
    for (name, row) in shown.filter(|(name, _)| names.insert(*name)).take(CURVES_MAX) {
        chart.add(Series::new(name, Mark::Steps, shares(row)));
    }
    chart
}

/// Points of the distribution function of a row.
fn shares(row: &Row) -> Vec<(f64, f64)> {
    let rounds = row.all_runs();
    let steps = (0..=100).map(|percent| f64::from(percent) / 100.0).chain([0.999, 1.0]);
    let mut shares: Vec<_> = steps.map(|share| (rounds.quantile_us(share), share)).collect();
    shares.sort_by(|a, b| a.1.total_cmp(&b.1));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tests::{results, row};

    #[test]
    fn each_test_has_its_plots_and_nothing_has_none() {
        let of = |rows| vec![("a".to_owned(), results(rows))];
        let titles = |rows| all(&of(rows)).iter().map(|plot| plot.title).collect::<Vec<_>>();
        assert!(titles(Vec::new()).is_empty());
        assert_eq!(
            titles(vec![row("ping", 0, 128, &[100])]),
            ["Interactions over size", "Distribution of round trips: interactions"]
        );
        let mass = titles(vec![row("mass", 100, 128, &[100]), row("mass", 1_000, 128, &[100])]);
        assert_eq!(mass, ["Round trip over number of objects", "Distribution of round trips: mass objects"]);
    }

    #[test]
    fn a_case_that_was_measured_twice_counts_once() {
        let rows: Vec<_> =
            [(16, 100), (128, 110), (128, 900)].map(|(size, us)| row("latency", 0, size, &[us])).into();
        let files = vec![("a".to_owned(), results(rows))];
        let named = curves(&files, "latency", |_| "one".to_owned());
        let [(_, rows)] = &named[..] else { panic!("one curve") };
        assert_eq!(points(rows, |row| row.size_bytes as f64, "mean_us", 1.0).len(), rows.len().min(2));
        let single = ("single".to_owned(), vec![(1.0, 1.0)]);
        let curve = ("curve".to_owned(), vec![(1.0, 1.0), (2.0, 2.0)]);
        assert_eq!(without_single_points(vec![single.clone(), curve.clone()]), [curve]);
        assert_eq!(without_single_points(vec![single.clone()]), [single]);
    }
}
