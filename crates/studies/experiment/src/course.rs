//! The course of a run over time and over the links of its network, as tables for files, as charts,
//! and as a trace.

use std::io::Write as _;
use std::path::Path;

use netmodel::packet::LinkCounts;
use netmodel::simulation::Simulation;
use netmodel::stats::Recorder;
use netmodel::timeline::Slice;
use netmodel::topology::Topology;
use netmodel::traffic::{Delivered, Traffic};
use netmodel::units::Picos;
use plot::{Axis, Chart, HeatMap, Mark, Series};
use serde_json::{Value, json};

use crate::sheet::{Picture, Sheet, maybe, number};
use console::exit::Failure;

/// The maximum number of messages in a trace: viewers take a few hundred megabytes.
const TRACED_MAX: usize = 200_000;

/// The process number of the network in a trace. Other processes are hosts.
const NETWORK: u32 = u32::MAX;

/// The recorded course of a run.
pub struct Course {
    slices: Vec<Slice>,
    links: Vec<Link>,
    latency: Recorder,
    /// The sides of a two-dimensional torus or mesh, which give links between switches a place.
    sides: Option<(u32, u32)>,
}

/// A link and its utilisation.
struct Link {
    from: String,
    to: String,
    /// The switch at its start if it leads to another switch. `None` for links of hosts.
    switch: Option<u32>,
    share: f64,
    /// Counts of its packets. `None` in fluid models.
    counts: Option<LinkCounts>,
}

/// The places and names of switches.
pub struct Plan {
    /// The sides of a torus or mesh of two dimensions.
    pub sides: Option<(u32, u32)>,
    /// The names of switches, empty if they have none.
    pub names: Vec<String>,
}

impl Course {
    /// The course of a finished simulation that was [recorded](Simulation::record).
    pub fn of<T: Traffic>(simulation: &Simulation<T>, plan: &Plan) -> Self {
        let topology = simulation.topology();
        let link = |(number, share): (usize, &f64)| {
            let number = number as u32;
            let (from, to) = (topology.from(number), topology.to(number));
            let switch = topology.is_between_switches(number).then(|| from - topology.hosts());
            let counts = simulation.link_counts().get(number as usize).copied();
            Link {
                from: plan.name(topology, from),
                to: plan.name(topology, to),
                switch,
                share: *share,
                counts,
            }
        };
        Self {
            slices: simulation.slices().to_vec(),
            links: simulation.link_shares().iter().enumerate().map(link).collect(),
            latency: simulation.outcome().latency,
            sides: plan.sides,
        }
    }

    /// Tables for files: the course over time, the latencies, the links.
    pub fn sheets(&self) -> Vec<Sheet> {
        let mut time = Sheet::new(
            "timeline",
            "Over time",
            &[
                ("until_s", "until s"),
                ("ended", "messages"),
                ("mean_us", "mean µs"),
                ("p50_us", "p50"),
                ("p99_us", "p99"),
                ("utilisation", "utilisation"),
                ("utilisation_max", "busiest"),
                ("in_flight", "in flight"),
            ],
        );
        for slice in &self.slices {
            time.row(vec![
                number(slice.until.as_secs()),
                slice.ended.into(),
                maybe(slice.mean_us),
                maybe(slice.p50_us),
                maybe(slice.p99_us),
                number(slice.utilisation),
                number(slice.utilisation_max),
                slice.in_flight.into(),
            ]);
        }
        let mut latency = Sheet::new(
            "latency",
            "Latencies",
            &[("from_us", "from µs"), ("messages", "messages"), ("share_up_to", "share up to")],
        );
        for (from, count, share) in self.bins() {
            latency.row(vec![number(from), count.into(), number(share)]);
        }
        let mut links = Sheet::new(
            "links",
            "Links",
            &[
                ("from", "from"),
                ("to", "to"),
                ("between_switches", "between switches"),
                ("busy", "busy"),
                ("packets_dropped", "dropped"),
                ("packets_lost", "lost"),
                ("packets_marked", "marked"),
                ("backlog_max_bytes", "most waiting"),
            ],
        );
        for Link { from, to, switch, share, counts } in &self.links {
            let of = |count: fn(&LinkCounts) -> u64| Value::from(counts.as_ref().map(count));
            links.row(vec![
                from.clone().into(),
                to.clone().into(),
                switch.is_some().into(),
                number(*share),
                of(|counts| counts.dropped),
                of(|counts| counts.lost),
                of(|counts| counts.marked),
                counts.and_then(|counts| counts.backlog_max).into(),
            ]);
        }
        vec![time, latency, links]
    }

    /// Charts: latency over time, messages and links over time, the distribution of latencies, and
    /// the utilisation of links.
    pub fn pictures(&self, title: &str) -> Vec<Picture> {
        let mut pictures = vec![
            Picture::chart("latency-over-time", &self.latency_over_time(title)),
            Picture::chart("load-over-time", &self.load_over_time(title)),
            Picture::chart("latency-histogram", &self.histogram(title)),
            Picture::chart("latency-cdf", &self.distribution(title)),
            Picture::chart("links", &self.ranked(title)),
        ];
        if let Some(map) = self.heat(title) {
            pictures.push(Picture::heat("links-heat", &map));
        }
        pictures
    }

    /// The bins of the histogram that are not empty: lower edge in microseconds, count, and
    /// cumulative share up to the end of the bin.
    fn bins(&self) -> Vec<(f64, u64, f64)> {
        let all = self.latency.summary.count().max(1) as f64;
        let mut sum = 0;
        let bins = self.latency.histogram.bins();
        bins.map(|(from, _, count)| {
            sum += count;
            (Picos(from).as_micros(), count, sum as f64 / all)
        })
        .collect()
    }

    fn over_time(&self, value: impl Fn(&Slice) -> Option<f64>) -> Vec<(f64, f64)> {
        self.slices.iter().filter_map(|slice| Some((slice.until.as_secs(), value(slice)?))).collect()
    }

    fn latency_over_time(&self, title: &str) -> Chart {
        let mut chart = Chart::new(
            "Latency over time",
            Axis::linear("time, s"),
            Axis::linear("latency of messages that end then, µs").from(0.0),
        )
        .with_subtitle(title);
        let mean = self.over_time(|slice| slice.mean_us);
        chart.add(Series::new("mean", Mark::Line, mean));
        chart.add(Series::new("median", Mark::Line, self.over_time(|slice| slice.p50_us)));
        chart.add(Series::new("99 %", Mark::Dashed, self.over_time(|slice| slice.p99_us)));
        chart
    }

    fn load_over_time(&self, title: &str) -> Chart {
        let mut chart =
            Chart::new("Links over time", Axis::linear("time, s"), Axis::linear("busy, %").from(0.0))
                .with_subtitle(title);
        let percent = |share: f64| Some(share * 100.0);
        let mean = self.over_time(|slice| percent(slice.utilisation));
        chart.add(Series::new("links between switches, mean", Mark::Line, mean));
        let most = self.over_time(|slice| percent(slice.utilisation_max));
        chart.add(Series::new("busiest link", Mark::Dashed, most));
        chart
    }

    fn histogram(&self, title: &str) -> Chart {
        let axis = Axis::log("messages").from(EMPTY);
        let mut chart = Chart::new("Latencies", Axis::log("latency, µs"), axis).with_subtitle(title);
        chart.add(Series::new("messages", Mark::Steps, outline(self.latency.histogram.bins())));
        chart
    }

    fn distribution(&self, title: &str) -> Chart {
        let axis = Axis::linear("share of messages").from(0.0).to(1.0);
        let mut chart =
            Chart::new("Latencies, cumulative", Axis::log("latency, µs"), axis).with_subtitle(title);
        let steps = self.bins().into_iter().map(|(from, _, share)| (from, share));
        chart.add(Series::new("messages up to", Mark::Steps, steps));
        chart
    }

    /// Links in the order of their utilisation. A flat line means an evenly spread load.
    fn ranked(&self, title: &str) -> Chart {
        let mut chart = Chart::new(
            "How busy links are",
            Axis::linear("share of the links, the busiest first, %").from(0.0).to(100.0),
            Axis::linear("busy, %").from(0.0),
        )
        .with_subtitle(title);
        for (between, label) in [(true, "between switches"), (false, "at hosts")] {
            let links = self.links.iter().filter(|link| link.switch.is_some() == between);
            let mut links: Vec<&Link> = links.collect();
            links.sort_by(|a, b| b.share.total_cmp(&a.share));
            let Some(busiest) = links.first() else { continue };
            let label = format!("{label}; the busiest: {} to {}", busiest.from, busiest.to);
            let shares: Vec<f64> = links.iter().map(|link| link.share * 100.0).collect();
            let last = (shares.len() - 1).max(1) as f64;
            // A chart has room for a few hundred points.
            let step = shares.len().div_ceil(400);
            let points = shares.iter().enumerate().step_by(step);
            let points = points.map(|(rank, share)| (100.0 * rank as f64 / last, *share));
            // Nothing is between two links, so no line joins them.
            chart.add(Series::new(&label, Mark::Points, points));
        }
        chart
    }

    /// For each switch, the utilisation of the busiest link to another switch.
    fn heat(&self, title: &str) -> Option<HeatMap> {
        let (columns, rows) = self.sides?;
        let mut values = vec![vec![None::<f64>; columns as usize]; rows as usize];
        for Link { switch, share, .. } in &self.links {
            let Some(switch) = *switch else { continue };
            let place = values.get_mut((switch / columns) as usize)?.get_mut((switch % columns) as usize)?;
            *place = Some(place.unwrap_or(0.0).max(share * 100.0));
        }
        Some(HeatMap {
            title: "The busiest link out of each switch, % of the time".to_owned(),
            subtitle: title.to_owned(),
            x: "first dimension".to_owned(),
            columns: (0..columns).map(|column| column.to_string()).collect(),
            y: "second dimension".to_owned(),
            rows: (0..rows).map(|row| row.to_string()).collect(),
            values,
            log: false,
        })
    }
}

/// The height of empty bins on a logarithmic axis of counts: half a message.
const EMPTY: f64 = 0.5;

/// The outline of a histogram of latencies: the lower edge of each bin in microseconds with its
/// count, and the upper edge of the last bin before a gap, where the outline falls to [`EMPTY`].
fn outline(bins: impl Iterator<Item = (u64, u64, u64)>) -> Vec<(f64, f64)> {
    let mut steps = Vec::new();
    let mut end = None;
    for (low, width, count) in bins {
        if let Some(end) = end.filter(|end| *end < low) {
            steps.push((Picos(end).as_micros(), EMPTY));
        }
        steps.push((Picos(low).as_micros(), count as f64));
        end = Some(low + width);
    }
    steps.extend(end.map(|end| (Picos(end).as_micros(), EMPTY)));
    steps
}

impl Plan {
    /// The name of a node, for people.
    pub fn name(&self, topology: &Topology, node: u32) -> String {
        match node.checked_sub(topology.hosts()) {
            None => format!("host {node}"),
            Some(switch) => {
                self.names.get(switch as usize).cloned().unwrap_or_else(|| format!("switch {switch}"))
            }
        }
    }
}

/// Messages from birth to end, in the JSON format of Chrome's trace viewer, which Perfetto opens.
#[derive(Default)]
pub struct Trace {
    events: Vec<Value>,
    left_out: u64,
}

impl Trace {
    /// Adds a message that has ended.
    pub fn add(&mut self, message: &Delivered, latency: Picos) {
        if self.events.len() >= 2 * TRACED_MAX {
            self.left_out += 1;
            return;
        }
        let (source, destination) = (message.source, message.parcel.destination);
        let event = |phase: &str, at: f64| {
            json!({
                "ph": phase, "cat": "message", "name": format!("to {destination}"), "id": message.number,
                "pid": source, "tid": 0, "ts": at,
                "args": { "bytes": message.parcel.bytes, "destination": destination },
            })
        };
        let born = message.born.as_micros();
        self.events.push(event("b", born));
        self.events.push(event("e", born + latency.as_micros()));
    }

    /// The number of messages that found no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes the trace to a file, with the counts of the time slices.
    pub fn write(mut self, path: &Path, course: &Course) -> Result<(), Failure> {
        let mut sources: Vec<u64> = self.events.iter().filter_map(|event| event["pid"].as_u64()).collect();
        sources.sort_unstable();
        sources.dedup();
        self.events.extend(sources.into_iter().map(|source| {
            json!({ "ph": "M", "name": "process_name", "pid": source, "args": { "name": format!("host {source}") } })
        }));
        self.events.push(json!({
            "ph": "M", "name": "process_name", "pid": NETWORK, "args": { "name": "network" },
        }));
        for slice in &course.slices {
            for (counter, value) in [
                ("messages in the network", slice.in_flight as f64),
                ("links between switches busy, %", slice.utilisation * 100.0),
            ] {
                self.events.push(json!({
                    "ph": "C", "name": counter, "pid": NETWORK, "ts": slice.until.as_micros(),
                    "args": { "value": value },
                }));
            }
        }
        let trace = json!({ "displayTimeUnit": "ns", "traceEvents": self.events });
        let file = std::fs::File::create(path).map(std::io::BufWriter::new);
        let written = file.and_then(|mut file| {
            serde_json::to_writer(&mut file, &trace).map_err(std::io::Error::other)?;
            file.flush()
        });
        written.map_err(|error| {
            Failure::bad_news(format_args!("{}: the trace cannot be written: {error}", path.display()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outline_of_a_histogram_falls_between_its_peaks() {
        let micro = 1_000_000;
        let bins = [(micro, micro, 3), (2 * micro, micro, 4), (9 * micro, micro, 1)];
        let expected = [(1.0, 3.0), (2.0, 4.0), (3.0, EMPTY), (9.0, 1.0), (10.0, EMPTY)];
        assert_eq!(outline(bins.into_iter()), expected);
        assert!(outline(std::iter::empty()).is_empty());
    }
}
