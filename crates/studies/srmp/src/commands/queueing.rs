//! `srmp-queueing`: the paper's check by queues, in formulas and packet by packet.

use std::time::{Duration, Instant};

use crate::queueing::sites::{self, Experiment, Sizes, Source};
use crate::queueing::station::Station;
use crate::queueing::{Load, QueueError, Sample, md1, mmc};
use plot::{Axis, Chart, Mark, Series};
use serde_json::json;

use super::{in_parallel, tell, unless_stopped};
use base::stats::{ci95, mean};
use console::exit::{Failure, Outcome};
use console::report::Report;
use experiment::sheet::{Picture, Sheet, maybe, number};
use experiment::{Settings, interrupt, seed_of};

/// The service rate in packets per second: 384 kbit/s in packets of 2000 bits.
const SERVICE: f64 = 192.0;
/// The load of Table 1, which counts half an hour: packets of mode 0 and mode 1 per second.
const ADVERTISED: f64 = (296_684.0 + 2_169.0) / 1_800.0;
/// The same with retransmissions.
const REPAIRED: f64 = ADVERTISED + 2_220.0 / 1_800.0;
const WARM_UP: Duration = Duration::from_secs(60);
/// The paper's values: W below 0.04 s, and L of 4 packets.
const PAPER: (f64, f64) = (0.04, 4.0);

/// The simulated system.
enum Model {
    /// One station.
    Station(Station),
    /// Up and down between sites.
    Sites(Experiment),
}

/// A line of the table.
struct Case {
    name: &'static str,
    /// The limit for the relative deviation of W and L from the formula.
    limit: Option<f64>,
    model: Model,
}

/// The results of a case: by the formula, and measured.
struct Measured {
    arrivals: f64,
    expected: Option<(f64, f64, f64)>,
    samples: Vec<Sample>,
}

fn cases(run: Duration) -> Vec<Case> {
    let station = |name, arrivals, servers, service, times| Case {
        name,
        limit: None,
        model: Model::Station(Station { arrivals, service, servers, times, run, warm_up: WARM_UP }),
    };
    let single = |name, arrivals| station(name, arrivals, 1, SERVICE, Sizes::Exponential);
    let several = |name, servers, service| station(name, ADVERTISED, servers, service, Sizes::Exponential);
    let hops = |name, limit, arrivals, sizes, source| Case {
        name,
        limit,
        model: Model::Sites(Experiment {
            arrivals,
            sizes,
            source,
            run,
            warm_up: WARM_UP,
            ..Experiment::default()
        }),
    };
    vec![
        single("M/M/1, all offered", ADVERTISED),
        single("M/M/1, with retransmissions", REPAIRED),
        single("M/M/1, after 5 % drop", 0.95 * ADVERTISED),
        single("M/M/1 of exactly 4 packets", 0.8 * SERVICE),
        station("M/D/1, all offered", ADVERTISED, 1, SERVICE, Sizes::Constant),
        single("downlink of a site", 0.75 * ADVERTISED),
        single("uplink of a site", 0.25 * ADVERTISED),
        hops("two hops", Some(0.1), ADVERTISED, Sizes::Exponential, Source::Poisson),
        hops("two hops, with retransmissions", Some(0.1), REPAIRED, Sizes::Exponential, Source::Poisson),
        hops("two hops, constant sizes", Some(0.1), ADVERTISED, Sizes::Constant, Source::Poisson),
        hops("two hops, Table 1's objects", None, ADVERTISED, Sizes::Constant, Source::Objects),
        several("M/M/2, 192 kbit/s each", 2, SERVICE / 2.0),
        several("M/M/6, 64 kbit/s each", 6, SERVICE / 6.0),
        several("M/M/2, 384 kbit/s each", 2, SERVICE),
    ]
}

impl Model {
    /// Utilisation, W in seconds and L in packets, by the formulas.
    fn expected(&self) -> Result<Option<(f64, f64, f64)>, QueueError> {
        let of = |load: Load| Some((load.utilisation, load.sojourn, load.number));
        match self {
            Self::Station(station) => station.expected().map(of),
            Self::Sites(Experiment { source: Source::Objects, .. }) => Ok(None),
            Self::Sites(experiment) => {
                let hop = |share: f64| match experiment.sizes {
                    Sizes::Exponential => mmc(share * experiment.arrivals, SERVICE, 1),
                    Sizes::Constant => md1(share * experiment.arrivals, SERVICE),
                };
                let (up, down) = (hop(0.25)?, hop(0.75)?);
                let sojourn = up.sojourn + down.sojourn;
                Ok(Some((down.utilisation, sojourn, experiment.arrivals * sojourn)))
            }
        }
    }

    /// Measured times, and arrivals per second.
    fn run(&self, seed: base::Seed) -> Result<(Sample, f64), QueueError> {
        match self {
            Self::Station(station) => {
                let sample = station.run(seed, interrupt::goes_on)?;
                let arrivals = sample.count() as f64 / station.run.as_secs_f64();
                Ok((sample, arrivals))
            }
            Self::Sites(experiment) => {
                let measured = sites::run(experiment, seed, interrupt::goes_on)?;
                Ok((measured.sample, measured.packets as f64 / experiment.run.as_secs_f64()))
            }
        }
    }
}

impl Measured {
    fn sojourn(&self) -> f64 {
        mean(self.samples.iter().map(Sample::mean))
    }

    /// Half the width of the 95 % confidence interval, from the parts of all runs.
    fn spread(&self) -> f64 {
        let means: Vec<f64> = self.samples.iter().flat_map(Sample::batch_means).collect();
        ci95(&means).unwrap_or(f64::NAN)
    }

    fn percentile(&mut self, share: f64) -> f64 {
        mean(self.samples.iter_mut().map(|sample| sample.percentile(share)))
    }

    /// Whether W and L are within this part of the formula's.
    fn holds(&self, limit: f64) -> bool {
        let Some((_, sojourn, number)) = self.expected else { return true };
        let within = |got: f64, expected: f64| (got / expected - 1.0).abs() <= limit;
        within(self.sojourn(), sojourn) && within(self.arrivals * self.sojourn(), number)
    }
}

/// Runs all cases.
pub(super) fn run(settings: &Settings, run: Duration) -> Outcome {
    let begun = Instant::now();
    let fail = |error: QueueError| Failure::bad_news(format_args!("the simulation cannot run: {error}"));
    let cases = cases(run);
    let each = usize::from(settings.replications);
    let runs = in_parallel(settings, cases.len() * each, |index| {
        cases[index / each].model.run(seed_of(settings, index % each).split_index((index / each) as u64))
    })?;
    let mut runs = runs.into_iter();
    let mut measured = Vec::new();
    for case in &cases {
        let own = runs.by_ref().take(each).collect::<Vec<_>>();
        if own.is_empty() {
            break; // stopped by the user
        }
        let arrivals = mean(own.iter().map(|(_, arrivals)| *arrivals));
        let samples = own.into_iter().map(|(sample, _)| sample).collect();
        measured.push(Measured { arrivals, expected: case.model.expected().map_err(fail)?, samples });
    }
    let table = table(&cases, &mut measured, run);
    let mut pictures = vec![times(&measured)];
    pictures.extend(unless_stopped(loads(settings, run)).map_err(fail)?);
    let mut report = Report::new("sim srmp-queueing", 1);
    report.seed(settings.seed);
    let sheets = vec![table, headers(), tcp()];
    report.summary(json!({
        "scenario": "srmp-queueing", "replications": each, "wall_s": begun.elapsed().as_secs_f64(),
    }));
    let all = cases.iter().zip(&measured).all(|(case, got)| case.limit.is_none_or(|limit| got.holds(limit)));
    let good = (!measured.is_empty()).then_some(all);
    tell(settings, &mut report, (sheets, pictures), notes(), good)
}

fn notes() -> Vec<String> {
    [
        "The paper: W below 0.04 s, L about 4, links of 384 kbit/s. Two hops give both; one queue for all traffic gives W alone.",
        "W ± is a 95 % confidence interval from the means of 20 parts of each run. L is arrivals times W, copies of a multicast not counted.",
        "2000 bits are everything on the wire here; with real headers the same traffic does not fit one line of 384 kbit/s.",
        "Two hops of constant sizes: the formula takes the downlinks for M/D/1, which get smoother traffic than Poisson and so wait less.",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn table(cases: &[Case], measured: &mut [Measured], run: Duration) -> Sheet {
    let title = format!("Open Jackson network and M/M/c, {} s each: formula and simulation", run.as_secs());
    let mut sheet = Sheet::new(
        "queues",
        title,
        &[
            ("model", "model"),
            ("arrivals_per_s", "arrivals/s"),
            ("utilisation_ratio", "load"),
            ("expected_sojourn_s", "W, s"),
            ("sojourn_s", "simulated"),
            ("sojourn_ci95_s", "±"),
            ("expected_number", "L"),
            ("number", "simulated"),
            ("p50_s", "p50, s"),
            ("p95_s", "p95, s"),
            ("p99_s", "p99, s"),
            ("paper", "paper's pair"),
            ("limit", "within 10 %"),
        ],
    );
    for (case, got) in cases.iter().zip(measured) {
        let (sojourn, arrivals) = (got.sojourn(), got.arrivals);
        let verdict = match (sojourn < PAPER.0, (arrivals * sojourn - PAPER.1).abs() <= 1.0) {
            (true, true) => "both",
            (true, false) => "W",
            (false, true) => "L",
            (false, false) => "neither",
        };
        let limit = case.limit.map_or("-", |limit| if got.holds(limit) { "pass" } else { "FAIL" });
        sheet.row(vec![
            case.name.into(),
            number(arrivals),
            maybe(got.expected.map(|(utilisation, ..)| utilisation)),
            maybe(got.expected.map(|(_, sojourn, _)| sojourn)),
            number(sojourn),
            number(got.spread()),
            maybe(got.expected.map(|(.., number)| number)),
            number(arrivals * sojourn),
            number(got.percentile(0.5)),
            number(got.percentile(0.95)),
            number(got.percentile(0.99)),
            verdict.into(),
            limit.into(),
        ]);
    }
    sheet
}

/// The overhead of headers: those of RFC 4410, UDP and IP, with 15 data elements announced in each
/// bundle.
fn headers() -> Sheet {
    let title = "Headers: 250 bytes a message, profile v2, 15 data elements announced; on one line, and on a site's downlink of 384 kbit/s";
    let mut sheet = Sheet::new(
        "headers",
        title,
        &[
            ("bundle_timeout_ms", "bundle, ms"),
            ("messages_per_bundle", "messages"),
            ("message_bytes", "bytes/message"),
            ("kbit_per_s", "kbit/s in all"),
            ("fits", "on one line"),
            ("down_utilisation_ratio", "load of a downlink"),
        ],
    );
    for timeout in [0.0, 0.01, 0.02, 0.05] {
        let messages = 1.0 + ADVERTISED / 4.0 * timeout;
        let bytes = 250.0 + 4.0 + (24.0 + 60.0 + 28.0) / messages;
        let kbit = ADVERTISED * bytes * 8e-3;
        let fits = if kbit < 384.0 { "fits" } else { "does not fit" };
        sheet.row(vec![
            number(timeout * 1e3),
            number(messages),
            number(bytes),
            number(kbit),
            fits.into(),
            number(0.75 * kbit / 384.0),
        ]);
    }
    sheet
}

/// The paper's TCP variant: ten packets for one, with different lengths of acknowledgements.
fn tcp() -> Sheet {
    let title = "The paper's TCP variant: ten packets for each, and the line that then gives W = 0.0385 s (T1 is 1544 kbit/s)";
    let mut sheet = Sheet::new(
        "tcp",
        title,
        &[
            ("acks", "acknowledgements"),
            ("mean_bits", "mean bits"),
            ("offered_kbit_per_s", "offered, kbit/s"),
            ("needed_kbit_per_s", "needed, kbit/s"),
            ("beyond_t1", "more than T1"),
        ],
    );
    let sojourn = 1.0 / (SERVICE - ADVERTISED);
    for (acks, ack_bits) in [("as long as packets", 2_000.0), ("40 bytes", 320.0)] {
        let (arrivals, bits) = (10.0 * ADVERTISED, (2_000.0 + 9.0 * ack_bits) / 10.0);
        let needed = (arrivals + 1.0 / sojourn) * bits * 1e-3;
        sheet.row(vec![
            acks.into(),
            number(bits),
            number(arrivals * bits * 1e-3),
            number(needed),
            if needed > 1_544.0 { "yes" } else { "no" }.into(),
        ]);
    }
    sheet
}

/// W over the load: curves of the formulas, and simulated dots.
fn loads(settings: &Settings, run: Duration) -> Result<Picture, QueueError> {
    let mut chart = Chart::new(
        "Time in queue and service over the load",
        Axis::linear("load of the station").from(0.0).to(1.0),
        Axis::log("W, ms"),
    )
    .with_subtitle(&format!(
        "packets of 2000 bits, 384 kbit/s in all; dots: simulated, {} s, 95 % intervals",
        run.as_secs()
    ));
    let models: [(&str, u32, Sizes); 3] =
        [("M/M/1", 1, Sizes::Exponential), ("M/M/6", 6, Sizes::Exponential), ("M/D/1", 1, Sizes::Constant)];
    for (number, (name, servers, times)) in (0..).zip(models) {
        let station = |load: f64| {
            let service = SERVICE / f64::from(servers);
            Station { arrivals: load * SERVICE, service, servers, times, run, warm_up: WARM_UP }
        };
        let curve: Result<Vec<_>, _> = (1..=97)
            .map(|percent| f64::from(percent) / 100.0)
            .map(|load| Ok((load, station(load).expected()?.sojourn * 1e3)))
            .collect();
        chart.add(Series::new(name, Mark::Line, curve?));
        let mut dots = Vec::new();
        let mut spreads = Vec::new();
        for tenth in 1..=9 {
            let load = f64::from(tenth) / 10.0;
            let seed = seed_of(settings, 0).split("loads").split_index(number).split_index(tenth as u64);
            let sample = station(load).run(seed, interrupt::goes_on)?;
            dots.push((load, sample.mean() * 1e3));
            spreads.push(ci95(&sample.batch_means()).unwrap_or(0.0) * 1e3);
        }
        chart.add(Series::new("", Mark::Points, dots).with_spreads(spreads).in_same_colour());
    }
    chart.limit("the paper's bound", PAPER.0 * 1e3);
    Ok(Picture::chart("srmp-queueing-load", &chart))
}

/// The distribution of times, for the three readings of the paper's sentence.
fn times(measured: &[Measured]) -> Picture {
    let mut chart = Chart::new(
        "How long packets take at 384 kbit/s",
        Axis::linear("time in queues and service, ms").from(0.0).to(200.0),
        Axis::linear("share of packets").from(0.0).to(1.0),
    )
    .with_subtitle("Table 1's offered traffic, 166 packets of 2000 bits per second");
    let readings = [
        (0, "one queue for all (M/M/1)"),
        (4, "the same, constant sizes"),
        (7, "two hops"),
        (9, "two hops, constant sizes"),
        (10, "two hops, objects"),
    ];
    for (index, name) in readings {
        let Some(mut sample) = measured.get(index).and_then(|got| got.samples.first()).cloned() else {
            continue;
        };
        let shares = (0..=200).map(|step| f64::from(step) / 200.0);
        let points: Vec<_> = shares.map(|share| (sample.percentile(share) * 1e3, share)).collect();
        chart.add(Series::new(name, Mark::Line, points));
    }
    Picture::chart("srmp-queueing-times", &chart)
}
