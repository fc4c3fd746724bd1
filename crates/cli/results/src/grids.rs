//! Tables of rows, in the form of the papers' tables.

use console::table::{Side, figure, layout, width};

use crate::compare::Change;
use crate::papers;
use crate::schema::{Outcome, Row};

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grid {
    /// The caption.
    pub caption: String,
    /// The headings of its columns.
    pub headings: Vec<String>,
    /// The cells, line by line.
    pub lines: Vec<Vec<String>>,
}

impl Grid {
    fn new<const N: usize>(caption: &str, headings: [&str; N]) -> Self {
        Self {
            caption: caption.to_owned(),
            headings: headings.map(str::to_owned).to_vec(),
            lines: Vec::new(),
        }
    }

    fn line<const N: usize>(&mut self, cells: [String; N]) {
        self.lines.push(cells.into());
    }

    /// Whether a column has numbers, which stand on the right.
    #[must_use]
    pub fn is_number(&self, column: usize) -> bool {
        let is_number = |cell: &str| {
            [NOTHING, FAILED, MISSING].contains(&cell)
                || cell.starts_with(|first: char| first.is_ascii_digit())
        };
        self.lines.iter().filter_map(|line| line.get(column)).all(|cell| is_number(cell))
    }

    /// The table for a terminal, as wide as that is.
    #[must_use]
    pub fn text(&self) -> String {
        let sides: Vec<Side> = (0..self.headings.len())
            .map(|column| if self.is_number(column) { Side::Right } else { Side::Left })
            .collect();
        let lines: Vec<Vec<String>> = std::iter::once(&self.headings).chain(&self.lines).cloned().collect();
        format!("{}\n{}", self.caption, layout(&lines, &sides, width()))
    }
}

/// A cell without a value.
const NOTHING: &str = "-";
/// A cell whose measurement failed, and one for which the standard has no service.
const FAILED: &str = "failed";
const MISSING: &str = "n/a";

fn cell(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), figure)
}

/// A figure of a row, or why there is none.
fn figure_of(row: &Row, key: &str, scale: f64) -> String {
    match (row.outcome, row.figure(key)) {
        (Outcome::NotInStandard, _) => MISSING.to_owned(),
        (_, Some(value)) => figure(value * scale),
        (Outcome::Failed, None) => FAILED.to_owned(),
        (Outcome::Measured, None) => NOTHING.to_owned(),
    }
}

/// A time in ms, in whole microseconds where it is short: two rows can differ by a tenth.
fn millis_of(row: &Row, key: &str) -> String {
    match row.figure(key) {
        Some(us) if us < 10_000.0 && row.outcome != Outcome::NotInStandard => format!("{:.3}", us / 1e3),
        _ => figure_of(row, key, 1e-3),
    }
}

fn of_test<'a>(rows: &'a [Row], test: &str) -> Vec<&'a Row> {
    rows.iter().filter(|row| row.test == test).collect()
}

/// The tables of all rows, those of each test first.
#[must_use]
pub fn all(rows: &[Row], against_paper: bool) -> Vec<Grid> {
    let mut grids = mass(rows, against_paper);
    grids.extend(latency(rows, against_paper));
    grids.extend(ping(rows, against_paper));
    grids.extend(percentiles(rows));
    grids
}

/// The mass object test, like Table 1 of the paper; with `against_paper`, the paper's own table.
#[must_use]
pub fn mass(rows: &[Row], against_paper: bool) -> Vec<Grid> {
    let rows = of_test(rows, "mass");
    if rows.is_empty() {
        return Vec::new();
    }
    let mut grid = Grid::new(
        "Mass object test (like Table 1 of Lorenzo et al. 2001)",
        [
            "objects per federate",
            "total",
            "DDM",
            "under way",
            "order",
            "mean round trip ms",
            "min ms",
            "max ms",
            "answers/s",
            "set-up s",
            "bytes per pair",
            "spread of runs",
            "floor mean ms",
        ],
    );
    for row in &rows {
        grid.line([
            row.objects.to_string(),
            (2 * row.objects).to_string(),
            row.ddm.clone(),
            under_way(row),
            order(row),
            millis_of(row, "mean_us"),
            millis_of(row, "min_us"),
            millis_of(row, "max_us"),
            figure_of(row, "answers_per_s", 1.0),
            figure_of(row, "setup_s", 1.0),
            figure_of(row, "pair_bytes", 1.0),
            spread(row),
            millis_of(row, "floor_mean_us"),
        ]);
    }
    let mut grids = vec![grid];
    if against_paper {
        grids.push(paper_mass(&rows));
    }
    grids
}

/// Table 1 of the paper, and how many times as long its round trips took.
fn paper_mass(rows: &[&Row]) -> Grid {
    let caption = format!(
        "Table 1 of the paper (RTI 1.3NG v3.1, SGI, 2001), and how many times as long it took as here without regions \
         (all under way, if that was measured). {}",
        papers::MASS_DOUBT
    );
    let mut grid = Grid::new(
        &caption,
        ["objects per federate", "total", "mean round trip ms", "min ms", "max ms", "times as long"],
    );
    for paper in papers::MASS {
        let ours = rows.iter().filter(|row| row.objects == paper.objects && row.ddm == "off");
        let ours = ours.max_by_key(|row| row.in_flight == "sweep");
        let ratio = ours.and_then(|row| row.figure("mean_us")).map(|mean| paper.mean_ms * 1e3 / mean);
        grid.line([
            paper.objects.to_string(),
            (2 * paper.objects).to_string(),
            paper.mean_ms.to_string(),
            paper.min_ms.to_string(),
            paper.max_ms.to_string(),
            cell(ratio),
        ]);
    }
    grid
}

/// BmLatency, like Table 2 of the paper: the mean time of one way, over sizes and the use of regions.
#[must_use]
pub fn latency(rows: &[Row], against_paper: bool) -> Vec<Grid> {
    let rows = of_test(rows, "latency");
    if rows.is_empty() {
        return Vec::new();
    }
    let mut grid = round_trips(
        "Latency of object updates (like Table 2 of Lorenzo et al. 2001): one way is half of a round trip",
        "objects",
    );
    rows.iter().for_each(|row| grid.line(round_trip_cells(row, row.objects.to_string())));
    let mut grids = vec![grid];
    if against_paper {
        grids.push(paper_latency(&rows));
    }
    grids
}

/// An empty grid of round trips, whose second column is `second`.
fn round_trips(caption: &str, second: &'static str) -> Grid {
    Grid::new(
        caption,
        [
            "bytes",
            second,
            "DDM",
            "transport",
            "order",
            "load",
            "one way mean us",
            "round trip p50 us",
            "p99 us",
            "p99.9 us",
            "max us",
            "p50 to floor",
            "p99 to floor",
            "spread of runs",
        ],
    )
}

fn round_trip_cells(row: &Row, second: String) -> [String; 14] {
    [
        row.size_bytes.to_string(),
        second,
        row.ddm.clone(),
        row.transport.clone(),
        order(row),
        under_way(row),
        figure_of(row, "one_way_mean_us", 1.0),
        figure_of(row, "p50_us", 1.0),
        figure_of(row, "p99_us", 1.0),
        figure_of(row, "p999_us", 1.0),
        figure_of(row, "max_us", 1.0),
        figure_of(row, "p50_ratio", 1.0),
        figure_of(row, "p99_ratio", 1.0),
        spread(row),
    ]
}

fn paper_latency(rows: &[&Row]) -> Grid {
    let mut grid = Grid::new(
        "Table 2 of the paper (128 bytes, one way, means in ms; the last two rows are of one LAN), and how many times as \
         long it took as here",
        ["RTI host", "registering", "reflecting", "no DDM ms", "DDM ms", "times as long", "with DDM"],
    );
    let ours = |ddm: &str| {
        let row = rows.iter().find(|row| row.size_bytes == 128 && row.ddm == ddm && row.objects == 0);
        row.and_then(|row| row.figure("one_way_mean_us"))
    };
    for paper in papers::BM_LATENCY {
        grid.line([
            paper.rti.to_owned(),
            paper.registering.to_owned(),
            paper.reflecting.to_owned(),
            paper.without_ddm_ms.to_string(),
            paper.with_ddm_ms.to_string(),
            cell(ours("off").map(|us| paper.without_ddm_ms * 1e3 / us)),
            cell(ours("one-region").map(|us| paper.with_ddm_ms * 1e3 / us)),
        ]);
    }
    grid
}

/// HLA Ping, like Table 3 of the paper.
#[must_use]
pub fn ping(rows: &[Row], against_paper: bool) -> Vec<Grid> {
    let rows = of_test(rows, "ping");
    if rows.is_empty() {
        return Vec::new();
    }
    let mut grid = round_trips(
        "HLA Ping (like Table 3 of Lorenzo et al. 2001): interactions, and updates beside them",
        "kind",
    );
    rows.iter().for_each(|row| grid.line(round_trip_cells(row, row.kind.clone())));
    let mut grids = vec![grid];
    if against_paper {
        let mut grid = Grid::new(
            "Table 3 of the paper (means in ms, with DDM; one way was measured by itself), and how many times as long a \
             round trip took as here",
            ["RTI host", "ping server", "ping client", "one way ms", "round trip ms", "times as long"],
        );
        let ours = rows.iter().find(|row| row.kind == "interaction" && row.ddm == "one-region");
        let ours = ours.and_then(|row| row.figure("mean_us"));
        for paper in papers::HLA_PING {
            grid.line([
                paper.rti.to_owned(),
                paper.server.to_owned(),
                paper.client.to_owned(),
                format!("{:.3}", paper.one_way_ms),
                format!("{:.3}", paper.round_trip_ms),
                cell(ours.map(|us| paper.round_trip_ms * 1e3 / us)),
            ]);
        }
        grids.push(grid);
    }
    grids
}

/// The percentiles of round trips of all rows.
#[must_use]
pub fn percentiles(rows: &[Row]) -> Vec<Grid> {
    let mut grid = Grid::new(
        "Percentiles of round trips, in us",
        ["case", "samples", "lost", "min", "p50", "p90", "p99", "p99.9", "max", "mean"],
    );
    for row in rows.iter().filter(|row| row.samples > 0) {
        let us = |key| figure_of(row, key, 1.0);
        grid.line([
            row.case().to_string(),
            row.samples.to_string(),
            row.lost.to_string(),
            us("min_us"),
            us("p50_us"),
            us("p90_us"),
            us("p99_us"),
            us("p999_us"),
            us("max_us"),
            us("mean_us"),
        ]);
    }
    if grid.lines.is_empty() { Vec::new() } else { vec![grid] }
}

/// Rows that have no figures, or not all, and why.
#[must_use]
pub fn failures(rows: &[Row]) -> Option<Grid> {
    let mut grid = Grid::new("What was not measured", ["case", "outcome", "reason"]);
    for row in rows.iter().filter(|row| row.outcome != Outcome::Measured) {
        let outcome = if row.outcome == Outcome::Failed { "failed" } else { "not in the standard" };
        grid.line([
            row.case().to_string(),
            outcome.to_owned(),
            row.reason.clone().unwrap_or_else(|| "no reason was given".to_owned()),
        ]);
    }
    (!grid.lines.is_empty()).then_some(grid)
}

/// Changes from one file to another.
#[must_use]
pub fn changes(changes: &[Change]) -> Grid {
    let mut grid = Grid::new(
        "Median of the mean round trips of runs, in us",
        ["case", "before", "after", "ratio", "p", "verdict"],
    );
    for change in changes {
        let p = change.p.map_or_else(|| NOTHING.to_owned(), |p| format!("{p:.4}"));
        grid.line([
            change.case.to_string(),
            cell(change.before_us),
            cell(change.after_us),
            cell(change.ratio()),
            p,
            change.verdict.words().to_owned(),
        ]);
    }
    grid
}

/// Messages under way, or the rate of an open loop.
fn under_way(row: &Row) -> String {
    match (&row.in_flight[..], row.rate_per_s) {
        ("open", Some(rate)) => format!("{}/s", figure(rate)),
        ("sweep", _) => "all".to_owned(),
        (number, _) => number.to_owned(),
    }
}

/// The order, and what is unusual about data and federates.
fn order(row: &Row) -> String {
    let mut text = row.order.clone();
    if row.encoding != "opaque" {
        text.push_str(&format!(", {}", row.encoding));
    }
    if row.bundling != "on" {
        text.push_str(", no bundling");
    }
    if row.producers > 1 {
        text.push_str(&format!(", {} producers", row.producers));
    }
    if row.consumers > 1 {
        text.push_str(&format!(", {} consumers", row.consumers));
    }
    if let Some(line) = &row.line {
        text.push_str(&format!(", behind {line}"));
    }
    text
}

/// The distance of the means of the slowest and the fastest run, relative to the median of all.
fn spread(row: &Row) -> String {
    let ends = row.figure("run_max_mean_us").zip(row.figure("run_min_mean_us"));
    match ends.zip(row.figure("run_median_mean_us")) {
        Some(((most, least), median)) if row.runs.len() > 1 && median > 0.0 => {
            format!("{:.0} %", (most - least) / median * 100.0)
        }
        _ => NOTHING.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tests::row;

    #[test]
    fn a_failure_stands_in_its_cell() {
        let mut failed = row("mass", 500, 128, &[]);
        failed.outcome = Outcome::Failed;
        failed.reason = Some("the server hung".to_owned());
        let rows = [row("mass", 100, 128, &[100, 120, 110]), failed];
        let grids = mass(&rows, true);
        assert_eq!(grids[0].lines[0][5], "0.110");
        assert_eq!(grids[0].lines[0][11], "18 %");
        assert_eq!(grids[0].lines[1][5], "failed");
        assert_eq!(grids[1].lines[0][..3], ["100", "200", "187.016"]);
        assert!(grids[1].lines[0][5].starts_with("1,7"), "{:?}", grids[1].lines[0]);
        assert_eq!(grids[1].lines[2][5], "-", "there is no row of ours");
        let failures = failures(&rows).expect("one failed");
        assert_eq!(failures.lines[0][2], "the server hung");
        assert!(super::failures(&rows[..1]).is_none());
    }

    #[test]
    fn tests_without_rows_have_no_table() {
        let rows = [row("ping", 0, 128, &[100])];
        assert_eq!((mass(&rows, true).len(), latency(&rows, true).len()), (0, 0));
        assert_eq!((ping(&rows, true).len(), all(&rows, false).len()), (2, 2));
        assert!(ping(&rows, false)[0].text().contains("one way mean us"));
    }
}
