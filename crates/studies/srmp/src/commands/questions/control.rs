//! Question 5: the settling time of congestion control, the receivers that it follows, and fairness
//! between entities.

use std::time::Duration;

use crate::transports::{self, Kind, Outcome, Setup, StarSpec, Trace, TransportError};
use plot::{Axis, Chart, Mark, Series};
use wan::{LineSpec, Loss, Schedule, Share};
use workload::Workload;

use super::{Findings, mean, replicate};
use console::exit::Failure;
use experiment::sheet::{Picture, Sheet, maybe, number};
use experiment::{Settings, interrupt};

/// The number of objects at the sending host. Together they offer about 1.8 Mbit/s.
const OBJECTS: u32 = 300;
const QUEUE: usize = 30_000;
const DELAY: Duration = Duration::from_millis(50);
/// The rate has settled once it stays within this part of its mean for the time below.
const SETTLED: f64 = 0.35;
const SETTLED_FOR: Duration = Duration::from_secs(10);

/// The event in the middle of the run.
#[derive(Clone, Copy)]
enum Case {
    /// The line changes from one rate to the other, in bit/s.
    Step(u64, u64),
    /// The receiver with the highest loss dies: loss of the others, and its own.
    Death(f64, f64),
    /// No event: the losses of the receivers.
    Mixed([f64; 3]),
    /// No event: the line carries half of the offered load.
    Overload,
}

impl Case {
    /// The rate that the line allows after the change, in bit/s; 0 if it is the loss that limits it.
    fn aim(self) -> f64 {
        match self {
            Self::Step(_, after) => after as f64,
            Self::Death(..) | Self::Mixed(_) | Self::Overload => 0.0,
        }
    }
}

const CASES: [(&str, Case); 7] = [
    ("line halves, 1 to 0.5 Mbit/s", Case::Step(1_000_000, 500_000)),
    ("line to a tenth, 1 Mbit/s to 100 kbit/s", Case::Step(1_000_000, 100_000)),
    ("line comes back, 100 kbit/s to 1 Mbit/s", Case::Step(100_000, 1_000_000)),
    ("slowest receiver dies, 5 % beside 0.5 %", Case::Death(0.005, 0.05)),
    ("receivers lose 0.1, 0.1, 0.1 %", Case::Mixed([0.001, 0.001, 0.001])),
    ("receivers lose 0.1, 1, 5 %", Case::Mixed([0.001, 0.01, 0.05])),
    ("line carries half of what is wanted", Case::Overload),
];

pub(super) fn run(settings: &Settings, run: Duration) -> Result<Findings, Failure> {
    let runs = replicate(settings, &CASES, |(_, case), seed| one(*case, run, seed))?;
    let mut sheet = Sheet::new(
        "control",
        format!(
            "One host whose {OBJECTS} objects want 1.8 Mbit/s, 3 receivers, 100 ms; changes in the middle of {} s",
            run.as_secs()
        ),
        &[
            ("case", "case"),
            ("before_kbit_per_s", "X before, kbit/s"),
            ("after_kbit_per_s", "X after"),
            ("spread_percent", "± over time, %"),
            ("settling_s", "settles in, s"),
            ("mode0_delivered_percent", "mode 0, %"),
            ("mode0_p99_ms", "p99, ms"),
            ("least_served_ratio", "least served of mean"),
            ("longest_silence_s", "longest silence, s"),
            ("finals_percent", "final, %"),
        ],
    );
    for ((name, case), runs) in CASES.iter().zip(&runs) {
        let changes = matches!(case, Case::Step(..) | Case::Death(..));
        let settled = runs.iter().filter_map(|got| settling(got, run, case.aim())).collect::<Vec<_>>();
        let all = settled.len() == runs.len();
        let settling = (changes && all).then(|| settled.iter().sum::<f64>() / settled.len() as f64);
        let before = mean(runs, |got| rate(got, run / 6, run / 2).0).0;
        let after = mean(runs, |got| rate(got, run * 3 / 4, run).0).0;
        let spread = mean(runs, |got| {
            let (mean, deviation) = rate(got, run * 3 / 4, run);
            deviation * 100.0 / mean.max(f64::MIN_POSITIVE)
        });
        sheet.row(vec![
            (*name).into(),
            number(before / 1e3),
            number(after / 1e3),
            number(spread.0),
            maybe(settling),
            number(
                mean(runs, |got| got.delays[0].count() as f64 * 100.0 / got.mode0_expected.max(1) as f64).0,
            ),
            number(mean(runs, |got| got.delays[0].clone().percentile(0.99) * 1e3).0),
            number(mean(runs, least_served).0),
            number(mean(runs, |got| got.longest_silence.as_secs_f64()).0),
            number(mean(runs, |got| got.finals.1 as f64 * 100.0 / got.finals.0.max(1) as f64).0),
        ]);
    }
    let notes = [
        "X is what congestion control allows; it has settled once it stays within 35 % of its mean of the last quarter of the run for 10 s, at \
         half of the line's rate at least; - is never, or nothing changed.",
        "Least served: updates that arrived of the entity with the fewest, over the mean of all; those that move more often send more, so \
         without any congestion it is below 1 as well.",
        "After a death, final values and deliveries count as if the dead had still to get them.",
    ];
    Ok(Findings {
        sheets: vec![sheet],
        pictures: vec![steps(&runs, run), fairness(&runs)],
        notes: notes.map(str::to_owned).to_vec(),
    })
}

fn one(case: Case, run: Duration, seed: base::Seed) -> Result<Outcome, TransportError> {
    let trace = Trace::record(Workload::table1(OBJECTS), 1, run, seed.split("trace"), interrupt::goes_on)?;
    let line = |rate| LineSpec { rate: Some(rate), queue: Some(QUEUE), ..LineSpec::default() };
    let lossy = |share| {
        let loss = Share::from_f64(share).map_or(Loss::None, Loss::Bernoulli);
        Schedule::constant(LineSpec { loss, ..LineSpec::default() })
    };
    let mut star = StarSpec::of_way(4, LineSpec { delay: DELAY, ..LineSpec::default() });
    let mut deaths = Vec::new();
    match case {
        Case::Step(before, after) => {
            let up = Schedule::constant(line(before)).then(run / 2, line(after));
            star.up[0] = up.expect("the phases are in order");
        }
        Case::Death(others, own) => {
            star.down = vec![lossy(0.0), lossy(others), lossy(others), lossy(own)];
            deaths.push((3, run / 2));
        }
        Case::Mixed(losses) => {
            (1..).zip(losses).for_each(|(site, loss): (usize, f64)| star.down[site] = lossy(loss));
        }
        Case::Overload => star.up[0] = Schedule::constant(line(900_000)),
    }
    let mut setup = Setup { deaths, ..Setup::new(star, Kind::Srmp(|_| ())) };
    setup.glimpse_every = Some(Duration::from_millis(500));
    transports::run(&setup, &trace, seed.split("lines"), interrupt::goes_on)
}

/// Mean and standard deviation of X between two times, in bit/s.
fn rate(got: &Outcome, from: Duration, to: Duration) -> (f64, f64) {
    let values: Vec<f64> =
        got.glimpses.iter().filter(|look| (from..to).contains(&look.at)).map(|look| look.allowed).collect();
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (squares / count).sqrt())
}

/// The time from the middle of the run until X has settled, in seconds. `None` if it has not by the
/// end, or has settled at less than half of `least`: a short run ends while X still rises.
fn settling(got: &Outcome, run: Duration, least: f64) -> Option<f64> {
    let (aim, _) = rate(got, run * 3 / 4, run);
    if aim < least / 2.0 {
        return None;
    }
    let mut since = None;
    for look in got.glimpses.iter().filter(|look| look.at >= run / 2 && look.at < run) {
        if (look.allowed / aim - 1.0).abs() > SETTLED {
            since = None;
            continue;
        }
        let begin = *since.get_or_insert(look.at);
        if look.at - begin >= SETTLED_FOR {
            return Some((begin - run / 2).as_secs_f64());
        }
    }
    None
}

fn least_served(got: &Outcome) -> f64 {
    let mean = got.updates.iter().sum::<f64>() / got.updates.len().max(1) as f64;
    got.updates.iter().fold(f64::INFINITY, |least, updates| least.min(*updates)) / mean.max(f64::MIN_POSITIVE)
}

fn steps(runs: &[Vec<Outcome>], run: Duration) -> Picture {
    let middle = run.as_secs_f64() / 2.0;
    let mut chart = Chart::new(
        "How the allowed rate follows what happens",
        Axis::linear("time after the change, s").from(-30.0_f64.min(middle)).to(90.0_f64.min(middle)),
        Axis::log("allowed rate X, kbit/s"),
    )
    .with_subtitle("300 objects that want 1.8 Mbit/s, 3 receivers, 100 ms there and back; every half second");
    for ((_, case), runs) in CASES.iter().zip(runs) {
        let name = match case {
            Case::Step(1_000_000, 500_000) => "1 to 0.5 Mbit/s",
            Case::Step(1_000_000, _) => "1 to 0.1 Mbit/s",
            Case::Step(..) => "0.1 to 1 Mbit/s",
            Case::Death(..) => "slowest dies",
            Case::Mixed(_) | Case::Overload => continue,
        };
        let looks = runs[0]
            .glimpses
            .iter()
            .map(|look| (look.at.as_secs_f64() - middle, look.allowed.min(10e6) / 1e3));
        let looks = looks.filter(|(at, _)| (-30.0..=90.0).contains(at));
        chart.add(Series::new(name, Mark::Line, looks));
    }
    Picture::chart("srmp-q5-steps", &chart)
}

/// The distribution of updates over entities, with enough capacity and without.
fn fairness(runs: &[Vec<Outcome>]) -> Picture {
    let mut chart = Chart::new(
        "Updates per entity that arrived",
        Axis::linear("updates of an entity, mode 0").from(0.0),
        Axis::linear("share of entities").from(0.0).to(1.0),
    )
    .with_subtitle("300 entities of one host; what an idle and a moving entity sends differs tenfold");
    for (index, name) in [(4, "nearly no loss"), (6, "half of what is wanted")] {
        if let Some(run) = runs.get(index).and_then(|runs| runs.first()) {
            chart.add(Series::cdf(name, &run.updates));
        }
    }
    Picture::chart("srmp-q5-entities", &chart)
}
