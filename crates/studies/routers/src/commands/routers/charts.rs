//! The paper's figures 13 to 19: as charts, and as tables for files.

use std::collections::BTreeMap;

use crate::routers::Shape;
use plot::{Axis, Chart, Mark, Series};

use super::file::Scenario;
use super::output::{Distribution, Results, Row};
use experiment::sheet::{Picture, Sheet, maybe, number};

/// Rows of pairs that use the same size at the same time, by levels between partners.
type Curves<'a> = BTreeMap<usize, Vec<&'a Row>>;

/// The curves of a topology and a number of pairs.
fn curves<'a>(scenario: &Scenario, results: &'a Results, shape: Shape, pairs: usize) -> Curves<'a> {
    let mut curves = Curves::new();
    for row in results.rows.iter().filter(|row| row.shape == shape && row.pairs == pairs) {
        if scenario.studies[row.study].in_step() {
            curves.entry(row.hops).or_default().push(row);
        }
    }
    for rows in curves.values_mut() {
        rows.sort_by_key(|row| row.size);
        rows.dedup_by_key(|row| row.size);
    }
    curves
}

fn numbers_of_pairs(results: &Results) -> Vec<usize> {
    let mut all: Vec<usize> = results.rows.iter().map(|row| row.pairs).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn size_axis() -> Axis {
    Axis::log("message, bytes")
}

/// All charts for which the results have data.
pub(super) fn pictures(scenario: &Scenario, results: &Results) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for pairs in numbers_of_pairs(results) {
        let of = |shape| curves(scenario, results, shape, pairs);
        let (tree, mesh) = (of(Shape::Tree), of(Shape::Mesh));
        let name = |chart: &str| {
            if numbers_of_pairs(results).len() > 1 {
                format!("{chart}-{pairs}-pairs")
            } else {
                chart.to_owned()
            }
        };
        let subtitle = format!("{}; {pairs} pairs at work", scenario.title);
        for (shape, curves) in [(Shape::Tree, &tree), (Shape::Mesh, &mesh)] {
            if !curves.is_empty() {
                let chart = times(shape, curves).with_subtitle(&subtitle);
                pictures.push(Picture::chart(name(&format!("times-{}", shape.name())), &chart));
            }
        }
        if mesh.values().flatten().any(|row| row.speedup.is_some()) {
            for (file, axis) in [
                ("ratio", Axis::log("mean time on the tree / on the mesh")),
                ("ratio-linear", Axis::linear("mean time on the tree / on the mesh").from(0.0)),
            ] {
                let chart = ratio(&mesh, axis).with_subtitle(&subtitle);
                pictures.push(Picture::chart(name(file), &chart));
            }
        }
        if !tree.is_empty() || !mesh.is_empty() {
            let chart = bandwidth(&tree, &mesh).with_subtitle(&subtitle);
            pictures.push(Picture::chart(name("bandwidth"), &chart));
        }
    }
    pictures.extend(distributions(scenario, results));
    pictures
}

/// Figures 13 and 14.
fn times(shape: Shape, curves: &Curves<'_>) -> Chart {
    let title = format!("Mean time there and back, {}", shape.name());
    let mut chart = Chart::new(&title, size_axis(), Axis::log("µs"));
    for (hops, rows) in curves {
        let points = rows.iter().map(|row| (row.size as f64, row.times.mean));
        let spreads = rows.iter().map(|row| row.times.std);
        chart.add(Series::new(&hops_name(*hops), Mark::Dots, points).with_spreads(spreads));
    }
    chart
}

/// Figures 15 and 16.
fn ratio(mesh: &Curves<'_>, axis: Axis) -> Chart {
    let mut chart = Chart::new("How much faster the mesh is", size_axis(), axis);
    for (hops, rows) in mesh {
        let points = rows.iter().filter_map(|row| Some((row.size as f64, row.speedup?)));
        chart.add(Series::new(&hops_name(*hops), Mark::Dots, points));
    }
    chart.limit("equal", 1.0);
    chart
}

/// Figure 19.
fn bandwidth(tree: &Curves<'_>, mesh: &Curves<'_>) -> Chart {
    let mut chart = Chart::new("Message size over mean time", size_axis(), Axis::log("MB/s"));
    for (shape, curves, mark) in [(Shape::Mesh, mesh, Mark::Dots), (Shape::Tree, tree, Mark::Dashed)] {
        for (hops, rows) in curves {
            let points = rows.iter().map(|row| (row.size as f64, row.bandwidth_mb_per_s()));
            chart.add(Series::new(&format!("{}, {}", shape.name(), hops_name(*hops)), mark, points));
        }
    }
    chart
}

/// Figure 18: for each study and size, a chart for each topology.
fn distributions(scenario: &Scenario, results: &Results) -> Vec<Picture> {
    let mut groups: BTreeMap<(usize, usize, usize, Shape), Vec<&Distribution>> = BTreeMap::new();
    for distribution in &results.distributions {
        let Distribution { study, size, pairs, shape, .. } = distribution;
        groups.entry((*study, *size, *pairs, *shape)).or_default().push(distribution);
    }
    // All charts of a size have the same axis, so that they can be compared.
    let ends = results.distributions.iter().flat_map(|distribution| distribution.times.iter().copied());
    let (min, max) = ends.fold((f64::INFINITY, 0.0f64), |(min, max), time| (min.min(time), max.max(time)));
    let chart = |(key, group): (&(usize, usize, usize, Shape), &Vec<&Distribution>)| {
        let (study, size, pairs, shape) = key;
        let name = &scenario.studies[*study].name;
        let title = format!("Mean times of {pairs} pairs, {size} bytes, {}", shape.name());
        let axis = Axis::log("time there and back, µs").from(min * 0.9).to(max * 1.1);
        let mut chart = Chart::new(&title, axis, Axis::linear("share of pairs").from(0.0).to(1.0))
            .with_subtitle(&format!("{}; {name}", scenario.title));
        for distribution in group {
            chart.add(Series::cdf(&hops_name(distribution.hops), &distribution.times));
        }
        let file = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        Picture::chart(format!("cdf-{file}-{}-{size}", shape.name()), &chart)
    };
    groups.iter().map(chart).collect()
}

fn hops_name(hops: usize) -> String {
    if hops == 1 { "1 hop".to_owned() } else { format!("{hops} hops") }
}

/// Tables for files: the rows, and the mean times of pairs from which distributions are made.
pub(super) fn sheets(scenario: &Scenario, results: &Results) -> Vec<Sheet> {
    let columns = [
        ("study", "study"),
        ("topology", "topology"),
        ("hops", "hops"),
        ("links", "links"),
        ("pairs", "pairs"),
        ("size_bytes", "bytes"),
        ("mean_us", "mean µs"),
        ("std_us", "std µs"),
        ("speedup_ratio", "speed-up"),
        ("bandwidth_mb_per_s", "MB/s"),
        ("busiest", "busiest part"),
        ("utilisation_ratio", "at work"),
    ];
    let mut exchanges = Sheet::new("exchanges", "Exchanges", &columns);
    for row in &results.rows {
        exchanges.row(vec![
            scenario.studies[row.study].name.clone().into(),
            row.shape.name().into(),
            row.hops.into(),
            row.links.into(),
            row.pairs.into(),
            row.size.into(),
            number(row.times.mean),
            number(row.times.std),
            maybe(row.speedup),
            number(row.bandwidth_mb_per_s()),
            row.busiest.clone().into(),
            number(row.utilisation),
        ]);
    }
    let columns = [
        ("study", "study"),
        ("topology", "topology"),
        ("hops", "hops"),
        ("pairs", "pairs"),
        ("size_bytes", "bytes"),
        ("mean_us", "mean time of a pair, µs"),
        ("share_up_to", "share up to"),
    ];
    let mut pairs = Sheet::new("pairs", "Mean times of pairs", &columns);
    for distribution in &results.distributions {
        let count = distribution.times.len() as f64;
        for (rank, time) in distribution.times.iter().enumerate() {
            pairs.row(vec![
                scenario.studies[distribution.study].name.clone().into(),
                distribution.shape.name().into(),
                distribution.hops.into(),
                distribution.pairs.into(),
                distribution.size.into(),
                number(*time),
                number((rank + 1) as f64 / count),
            ]);
        }
    }
    vec![exchanges, pairs]
}
