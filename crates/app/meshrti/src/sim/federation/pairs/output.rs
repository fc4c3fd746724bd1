//! Tables, charts and conclusions.

use std::time::Duration;

use experiment::sheet::{Column, Picture, Sheet, maybe, number};
use experiment::stats::{Summary, sum_up};
use hostsim::Federation;
use plot::{Axis, Chart, Mark, Series};
use router_study::routers::Shape;

use super::PairsArgs;
use super::network::{Between, Network};

/// The size whose times are shown one by one: that of the paper's figure 18.
const DISTRIBUTED_BYTES: usize = 8 << 10;

/// The pairs of one network that use one size.
pub(super) struct Row {
    /// Real processes; otherwise simulated ones.
    live: bool,
    shape: Shape,
    between: Between,
    links: Option<usize>,
    size: usize,
    pairs: usize,
    /// The value of each pair, rising: mean time of its exchanges in µs, or its updates per second.
    values: Vec<f64>,
    /// Summary of the values, which leaves out the largest times.
    of_all: Summary,
    /// How many times as fast the mesh is; only of the mesh.
    speedup: Option<f64>,
    /// The simulated value over the measured one, less one; only of simulated rows.
    error: Option<f64>,
}

impl Row {
    /// `figures` has a value for each pair: the mean time of its exchanges, or its updates per second.
    pub(super) fn new(
        live: bool,
        network: &Network,
        federation: &Federation,
        mut figures: Vec<f64>,
        args: &PairsArgs,
    ) -> Self {
        figures.sort_by(f64::total_cmp);
        let discard_largest = if args.flood { 0 } else { args.discard_largest };
        let micros = figures.iter().map(|value| Duration::from_secs_f64(value * 1e-6));
        let of_all = sum_up(&[micros.collect()], discard_largest);
        Self {
            live,
            shape: network.shape,
            between: network.between,
            links: network.links(),
            size: federation.work.first().map_or(0, |work| work.size_bytes as usize),
            pairs: network.pairs(),
            values: figures,
            of_all,
            speedup: None,
            error: None,
        }
    }

    fn by(&self) -> &'static str {
        if self.live { "live" } else { "sim" }
    }

    fn is_flood(&self) -> bool {
        matches!(self.between, Between::Partners(_))
    }

    /// Its times are shown one by one.
    fn is_distributed(&self) -> bool {
        !self.is_flood() && self.size == DISTRIBUTED_BYTES && self.values.len() > 2
    }

    fn between(&self) -> String {
        between(self.between)
    }
}

/// The place of partners in words.
pub(super) fn between(between: Between) -> String {
    match between {
        Between::Hops(hops) => hops_name(hops),
        Between::Partners(partners) => format!("partners {}", partners.name()),
    }
}

/// The last column of a table, which needs both a live run and a simulated one.
fn error_column(rows: &[Row]) -> Option<Column> {
    rows.iter().any(|row| row.error.is_some()).then_some(("error_ratio", "error"))
}

/// Fills in what a row says of another one: the mesh of the tree, the simulator of the live run.
pub(super) fn compare(rows: &mut [Row]) {
    let of: Vec<_> =
        rows.iter().map(|row| (row.live, row.shape, row.between, row.size, row.of_all.mean)).collect();
    let find = |live, shape, between, size| {
        of.iter().find(|row| (row.0, row.1, row.2, row.3) == (live, shape, between, size)).map(|row| row.4)
    };
    for row in rows {
        if row.shape == Shape::Mesh {
            let tree = find(row.live, Shape::Tree, row.between, row.size);
            row.speedup =
                tree.map(|tree| if row.is_flood() { row.of_all.mean / tree } else { tree / row.of_all.mean });
        }
        if !row.live {
            row.error = find(true, row.shape, row.between, row.size).map(|live| row.of_all.mean / live - 1.0);
        }
    }
}

/// The table of exchanges.
pub(super) fn exchanges(rows: &[Row]) -> Sheet {
    let mut columns = vec![
        ("live", "live"),
        ("topology", "nodes"),
        ("hops", "hops"),
        ("links", "links"),
        ("size_bytes", "bytes"),
        ("pairs", "pairs"),
        ("mean_us", "mean µs"),
        ("std_us", "std µs"),
        ("speedup_ratio", "speed-up"),
    ];
    columns.extend(error_column(rows));
    let mut sheet = Sheet::new("exchanges", "Exchanges of pairs, there and back", &columns);
    for row in rows {
        let Between::Hops(hops) = row.between else { continue };
        let mut cells = vec![
            row.live.into(),
            row.shape.name().into(),
            hops.into(),
            row.links.into(),
            row.size.into(),
            row.pairs.into(),
            number(row.of_all.mean),
            number(row.of_all.std),
            maybe(row.speedup),
        ];
        if columns.len() > cells.len() {
            cells.push(maybe(row.error));
        }
        sheet.row(cells);
    }
    sheet
}

/// The table of floods.
pub(super) fn floods(rows: &[Row]) -> Sheet {
    let mut columns = vec![
        ("live", "live"),
        ("topology", "nodes"),
        ("partners", "partners"),
        ("size_bytes", "bytes"),
        ("pairs", "pairs"),
        ("updates_per_s", "updates/s"),
        ("min_per_s", "slowest"),
        ("max_per_s", "fastest"),
        ("speedup_ratio", "speed-up"),
    ];
    columns.extend(error_column(rows));
    let mut sheet =
        Sheet::new("floods", "Updates that each pair delivers when all send as fast as they can", &columns);
    for row in rows {
        let Between::Partners(partners) = row.between else { continue };
        let mut cells = vec![
            row.live.into(),
            row.shape.name().into(),
            partners.name().into(),
            row.size.into(),
            row.pairs.into(),
            number(row.of_all.mean),
            number(row.of_all.min),
            number(row.of_all.max),
            maybe(row.speedup),
        ];
        if columns.len() > cells.len() {
            cells.push(maybe(row.error));
        }
        sheet.row(cells);
    }
    sheet
}

/// The method, and conclusions beside those of the paper.
pub(super) fn notes(args: &PairsArgs, rows: &[Row]) -> Vec<String> {
    let mut notes = vec![if args.flood {
        "each pair's receiver counts reflects from the first update of all pairs to its own last one; the window is that of the \
         connections"
            .to_owned()
    } else {
        format!(
            "{} exchanges of each size after {} that are not counted; mean and standard deviation over pairs without the {} slowest, as in \
             the paper (section 4.2)",
            args.exchanges, args.warm_up, args.discard_largest
        )
    }];
    if rows.iter().any(|row| row.live) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        notes.push(format!(
            "live: all nodes and federates are processes of this machine and share its {cores} cores, where the paper had a computer for \
             each router: a hop more costs processor time that others lack"
        ));
    }
    for live in [true, false] {
        let mut seen: Vec<Between> = Vec::new();
        for row in rows.iter().filter(|row| row.live == live) {
            if !seen.contains(&row.between) {
                seen.push(row.between);
            }
        }
        notes.extend(seen.into_iter().filter_map(|between| speedup_note(rows, live, between)));
    }
    let distributed: Vec<&Row> = rows.iter().filter(|row| row.is_distributed()).collect();
    if !distributed.is_empty() {
        notes.push(format!(
            "times of pairs, {DISTRIBUTED_BYTES} bytes; the paper: one group on the mesh; on the tree with 2 and 3 hops two, 20 % of the \
             pairs eight times as slow (figure 18)"
        ));
    }
    notes.extend(distributed.into_iter().map(distribution_note));
    let errors: Vec<f64> = rows.iter().filter_map(|row| row.error).map(f64::abs).collect();
    if let Some(middle) = base::stats::median(errors) {
        let hosts = match &args.hosts {
            Some(file) => format!("host model {}", file.display()),
            None => "the built-in host model, which is not this machine: `meshrti sim calibrate`".to_owned(),
        };
        notes.push(format!("the simulator's error: {:.0} % in the median of rows ({hosts})", 100.0 * middle));
    }
    notes
}

/// The speed-ups of one kind of pairs, beside what the paper says.
fn speedup_note(rows: &[Row], live: bool, between: Between) -> Option<String> {
    let of = rows.iter().filter(|row| row.live == live && row.between == between);
    let speedups: Vec<f64> = of.filter_map(|row| row.speedup).collect();
    let (min, max) = speedups.iter().fold((f64::MAX, 0.0f64), |(min, max), s| (min.min(*s), max.max(*s)));
    if speedups.is_empty() {
        return None;
    }
    let by = if live { "live" } else { "sim" };
    Some(match between {
        Between::Hops(0) => format!(
            "{by}, 0 hops: the mesh is {min:.2} to {max:.2} times as fast; the paper: \"essentially one\""
        ),
        Between::Hops(hops) => format!(
            "{by}, {}: the mesh is {min:.2} to {max:.2} times as fast; the paper: 2 to 4 times from 1 to 10 kB, and the same \
             for very large messages (figures 15 and 16)",
            hops_name(hops)
        ),
        Between::Partners(partners) => format!(
            "{by}, partners {}: the mesh delivers {min:.2} to {max:.2} times as many updates; the paper: about half an order of \
             magnitude, 3.2 (figure 9)",
            partners.name()
        ),
    })
}

/// How the times of pairs are distributed, which the paper shows for one size (figure 18).
fn distribution_note(row: &Row) -> String {
    let (split, all) = (row.of_all.split, row.of_all);
    format!(
        "{}, {}, {}: {} (best split: {:.0} % of the pairs take {:.1} times as long as the others; the slowest takes {:.1} \
         times as long as the fastest)",
        row.by(),
        row.shape.name(),
        row.between(),
        if all.is_bimodal() { "two groups" } else { "one group" },
        100.0 * split.slow_share,
        split.slow_over_fast,
        all.max / all.min,
    )
}

fn hops_name(hops: usize) -> String {
    if hops == 1 { "1 hop".to_owned() } else { format!("{hops} hops") }
}

/// The paper's figures 13 to 15 and 18, or 9.
pub(super) fn pictures(rows: &[Row]) -> Vec<Picture> {
    let mut pictures = Vec::new();
    let is_flood = rows.iter().any(Row::is_flood);
    for live in [true, false] {
        let of: Vec<&Row> = rows.iter().filter(|row| row.live == live).collect();
        let Some(by) = of.first().map(|row| row.by()) else { continue };
        let size = || Axis::log("update, bytes");
        let (title, axis, file) = if is_flood {
            ("Updates that pairs deliver", Axis::log("updates/s, a pair"), "rates")
        } else {
            ("Mean time there and back", Axis::log("µs"), "times")
        };
        let mut values = Chart::new(&format!("{title}, {by}"), size(), axis);
        let mut speedups = Chart::new(
            &format!("How much faster the mesh is, {by}"),
            size(),
            Axis::linear("times").from(0.0),
        );
        for series in of.chunk_by(|a, b| (a.shape, a.between) == (b.shape, b.between)) {
            let Some(first) = series.first() else { continue };
            let between = first.between();
            let mark = if first.shape == Shape::Mesh { Mark::Dots } else { Mark::Dashed };
            let points = series.iter().map(|row| (row.size as f64, row.of_all.mean));
            let spreads = series.iter().map(|row| row.of_all.std);
            let name = format!("{}, {between}", first.shape.name());
            values.add(Series::new(&name, mark, points).with_spreads(spreads));
            let ratios: Vec<_> =
                series.iter().filter_map(|row| Some((row.size as f64, row.speedup?))).collect();
            if !ratios.is_empty() {
                speedups.add(Series::new(&between, Mark::Dots, ratios));
            }
        }
        speedups.limit("equal", 1.0);
        pictures.push(Picture::chart(format!("pairs-{file}-{by}"), &values));
        if of.iter().any(|row| row.speedup.is_some()) {
            pictures.push(Picture::chart(format!("pairs-speed-up-{by}"), &speedups));
        }
        pictures.extend(distribution(&of, by));
    }
    pictures
}

/// Figure 18: the cumulative distributions of the times of pairs.
fn distribution(rows: &[&Row], by: &str) -> Option<Picture> {
    let title = format!("Mean times of pairs, {DISTRIBUTED_BYTES} bytes, {by}");
    let share = Axis::linear("share of pairs").from(0.0).to(1.0);
    let mut chart = Chart::new(&title, Axis::log("time there and back, µs"), share);
    let mut is_empty = true;
    for row in rows.iter().filter(|row| row.is_distributed()) {
        chart.add(Series::cdf(&format!("{}, {}", row.shape.name(), row.between()), &row.values));
        is_empty = false;
    }
    (!is_empty).then(|| Picture::chart(format!("pairs-distribution-{by}"), &chart))
}
