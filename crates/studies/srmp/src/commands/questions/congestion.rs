//! Question 3: a line that becomes slow and then fast again, with SRMP alone and beside TCP.

use std::time::Duration;

use crate::transports::{self, Bulk, Glimpse, Kind, Outcome, Setup, StarSpec, Trace, TransportError};
use plot::{Axis, Chart, Mark, Series};
use wan::{LineSpec, Schedule};
use workload::Workload;

use super::{Findings, mean, private, replicate};
use console::exit::Failure;
use experiment::sheet::{Picture, Sheet, maybe, number};
use experiment::{Settings, interrupt};

/// The number of objects at the host behind the line. Together they offer about 1.8 Mbit/s.
const OBJECTS: u32 = 300;
/// The rate of the line in each third of the run, in bit/s.
const RATES: [u64; 3] = [2_000_000, 100_000, 2_000_000];
const QUEUE: usize = 30_000;
const DELAY: Duration = Duration::from_millis(50);

#[derive(Clone, Copy)]
struct Point {
    name: &'static str,
    controlled: bool,
    competing: bool,
}

const POINTS: [Point; 3] = [
    Point { name: "alone", controlled: true, competing: false },
    Point { name: "beside a TCP connection", controlled: true, competing: true },
    Point { name: "without congestion control", controlled: false, competing: true },
];

pub(super) fn run(settings: &Settings, run: Duration) -> Result<Findings, Failure> {
    let runs = replicate(settings, &POINTS, |point, seed| one(*point, run, seed))?;
    let mut sheet = Sheet::new(
        "congestion",
        format!(
            "A line of 2 Mbit/s, 100 kbit/s and 2 Mbit/s again, {} s each; {OBJECTS} objects that want 1.8 Mbit/s, 3 receivers, 100 ms",
            (run / 3).as_secs()
        ),
        &[
            ("case", "SRMP"),
            ("line_kbit_per_s", "line, kbit/s"),
            ("allowed_kbit_per_s", "allowed X"),
            ("srmp_kbit_per_s", "SRMP sends"),
            ("tcp_kbit_per_s", "TCP sends"),
            ("jain_ratio", "Jain's fairness"),
            ("utilisation_percent", "line used, %"),
            ("queue_mean_ms", "queue, ms"),
        ],
    );
    for (point, runs) in POINTS.iter().zip(&runs) {
        for (phase, rate) in RATES.iter().enumerate() {
            let of = |figure: &dyn Fn(&Glimpse) -> f64| {
                mean(runs, |got: &Outcome| over(got, run, phase, figure)).0
            };
            let (srmp, tcp) = (of(&|look| look.carried), of(&|look| look.competing));
            let jain = (srmp + tcp).powi(2) / (2.0 * (srmp * srmp + tcp * tcp)).max(f64::MIN_POSITIVE);
            let allowed = if point.controlled { of(&|look| look.allowed.min(10e6)) } else { f64::NAN };
            sheet.row(vec![
                point.name.into(),
                number(*rate as f64 / 1e3),
                number(allowed / 1e3),
                number(srmp / 1e3),
                maybe(point.competing.then_some(tcp / 1e3)),
                maybe(point.competing.then_some(jain)),
                number((srmp + tcp) * 100.0 / *rate as f64),
                number(of(&|look| look.backlog as f64 * 8e3 / *rate as f64)),
            ]);
        }
    }
    let notes = [
        "Means over the last two thirds of each phase. TCP is modelled (CUBIC, one connection that always has something to send).",
        "Jain's fairness of two is 1 when both get the same, and 0.5 when one gets all.",
    ];
    Ok(Findings {
        sheets: vec![sheet, services(&runs)],
        pictures: POINTS.iter().zip(&runs).map(|(point, runs)| rates(*point, &runs[0], run)).collect(),
        notes: notes.map(str::to_owned).to_vec(),
    })
}

fn one(point: Point, run: Duration, seed: base::Seed) -> Result<Outcome, TransportError> {
    let trace = Trace::record(Workload::table1(OBJECTS), 1, run, seed.split("trace"), interrupt::goes_on)?;
    let line = |rate| LineSpec { rate: Some(rate), queue: Some(QUEUE), ..LineSpec::default() };
    let up = Schedule::constant(line(RATES[0]));
    let up = up.then(run / 3, line(RATES[1])).and_then(|up| up.then(run * 2 / 3, line(RATES[2])));
    let mut star = StarSpec::of_way(4, LineSpec { delay: DELAY, ..LineSpec::default() });
    star.up[0] = up.expect("the phases are in order");
    let mut setup = Setup::new(star, if point.controlled { Kind::Srmp(|_| ()) } else { Kind::Srmp(private) });
    setup.glimpse_every = Some(Duration::from_millis(500));
    if point.competing {
        setup.bulk.push(Bulk { from: 0, to: 1, begin: Duration::from_secs(1), end: run });
    }
    transports::run(&setup, &trace, seed.split("lines"), interrupt::goes_on)
}

/// The mean of a figure over the last two thirds of a phase.
fn over(got: &Outcome, run: Duration, phase: usize, figure: &dyn Fn(&Glimpse) -> f64) -> f64 {
    let (begin, end) = (run / 3 * phase as u32 + run / 9, run / 3 * (phase as u32 + 1));
    let values: Vec<f64> =
        got.glimpses.iter().filter(|look| (begin..end).contains(&look.at)).map(figure).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The service that the application gets.
fn services(runs: &[Vec<Outcome>]) -> Sheet {
    let mut sheet = Sheet::new(
        "service",
        "What the application got, over the whole run",
        &[
            ("case", "SRMP"),
            ("mode0_delivered_percent", "mode 0, %"),
            ("mode0_p50_ms", "p50, ms"),
            ("mode0_p99_ms", "p99, ms"),
            ("mode1_p99_ms", "mode 1 p99, ms"),
            ("stale_s_per_hour", "stale, s/h"),
            ("longest_silence_s", "longest silence, s"),
            ("finals_percent", "final, %"),
        ],
    );
    for (point, runs) in POINTS.iter().zip(runs) {
        let delay = |mode: usize, share: f64| {
            mean(runs, |got: &Outcome| got.delays[mode].clone().percentile(share) * 1e3).0
        };
        sheet.row(vec![
            point.name.into(),
            number(
                mean(runs, |got| got.delays[0].count() as f64 * 100.0 / got.mode0_expected.max(1) as f64).0,
            ),
            number(delay(0, 0.5)),
            number(delay(0, 0.99)),
            number(delay(1, 0.99)),
            number(mean(runs, |got| got.stale_seconds_per_hour).0),
            number(mean(runs, |got| got.longest_silence.as_secs_f64()).0),
            number(mean(runs, |got| got.finals.1 as f64 * 100.0 / got.finals.0.max(1) as f64).0),
        ]);
    }
    sheet
}

fn rates(point: Point, got: &Outcome, run: Duration) -> Picture {
    let mut chart = Chart::new(
        &format!("A line that becomes slow and fast again: SRMP {}", point.name),
        Axis::linear("time, s").from(0.0).to(run.as_secs_f64()),
        Axis::log("kbit/s").from(20.0).to(5_000.0),
    )
    .with_subtitle(&format!(
        "{OBJECTS} objects that want 1.8 Mbit/s, 3 receivers, 100 ms there and back; means of 2 s"
    ));
    let times = |from: f64, to: f64| [from * run.as_secs_f64(), to * run.as_secs_f64()];
    let steps = [
        (times(0.0, 1.0 / 3.0), RATES[0]),
        (times(1.0 / 3.0, 2.0 / 3.0), RATES[1]),
        (times(2.0 / 3.0, 1.0), RATES[2]),
    ];
    let line = steps.iter().flat_map(|(ends, rate)| ends.map(|at| (at, *rate as f64 / 1e3)));
    chart.add(Series::new("the line", Mark::Dashed, line));
    let smooth = |of: fn(&Glimpse) -> f64| {
        let parts = got.glimpses.chunks(4);
        let parts = parts.map(move |part| {
            let value = part.iter().map(of).sum::<f64>() / part.len() as f64;
            (part[0].at.as_secs_f64(), value.max(20e3) / 1e3)
        });
        parts.filter(|(at, _)| *at < run.as_secs_f64()).collect::<Vec<_>>()
    };
    chart.add(Series::new("SRMP sends", Mark::Line, smooth(|look| look.carried)));
    if point.competing {
        chart.add(Series::new("TCP sends", Mark::Line, smooth(|look| look.competing)));
    }
    if point.controlled {
        chart.add(Series::new("SRMP may send, X", Mark::Line, smooth(|look| look.allowed.min(5e6))));
    }
    let case = match (point.controlled, point.competing) {
        (true, false) => "alone",
        (true, true) => "tcp",
        (false, _) => "uncontrolled",
    };
    Picture::chart(format!("srmp-q3-{case}"), &chart)
}
