//! `srmp-tcp`: one trace of messages over SRMP, TCP, hybrids and bare multicast.

use base::stats;
use std::time::{Duration, Instant};

use crate::queueing::Sample;
use crate::tcp::Config as Tcp;
use crate::transports::{self, Kind, Outcome as Got, Setup, StarSpec, Trace, TransportError};
use base::Seed;
use plot::{Axis, Chart, Mark, Series};
use serde_json::{Value, json};
use srmp::Config;
use srmp::rate::Rate;
use wan::{LineSpec, Loss, Share};
use workload::Workload;

use super::{good_if_any, in_parallel, tell};
use console::exit::Outcome;
use console::report::Report;
use experiment::sheet::{Column, Picture, Sheet, maybe, number};
use experiment::{Settings, interrupt, seed_of};

/// Entities at each site.
const OBJECTS: u32 = 15;
/// The bundling delay of SRMP.
const BUNDLE: Duration = Duration::from_millis(10);
/// The queue limit of a line of limited rate, in bytes.
const QUEUE: usize = 16_000;
/// The range of line rates in the search for the smallest sufficient one, in bit/s. Each rate is a
/// twelfth above the one before.
const RATES: (f64, f64) = (80e3, 10e6);
/// Requirements on a line: the maximum delay of 99 of 100 mode 0 messages in seconds, and the
/// maximum of stale seconds per hour.
const DELAY_MAX: f64 = 0.1;
const STALE_MAX: f64 = 1.0;

/// A transport in the comparison.
#[derive(Clone, Copy)]
struct Contender {
    name: &'static str,
    kind: Kind,
}

/// One run of one contender.
#[derive(Clone, Copy)]
struct Point {
    contender: Contender,
    sites: usize,
    loss: f64,
    rtt_ms: u64,
    /// The rate of each site's lines, in bit/s. `None` for no limit.
    rate: Option<u64>,
    /// The share of mode 1, if it differs from Table 1.
    reliable: Option<f64>,
    run: Duration,
}

/// SRMP on a private network: losses do not slow it down.
fn private(config: &mut Config) {
    config.rate.rate_min = Rate::new(10e6).expect("a rate");
}

const SRMP: Contender = Contender { name: "srmp", kind: Kind::Srmp(private) };
const SRMP_FAIR: Contender = Contender { name: "srmp, fair to TCP", kind: Kind::Srmp(|_| ()) };
const MULTICAST: Contender = Contender { name: "bare multicast", kind: Kind::Multicast };
const TCP: Contender = tcp("tcp", Tcp::MODERN, Duration::ZERO, false);
const BATCHED: Contender = tcp("tcp, batches of 10 ms", Tcp::MODERN, BUNDLE, false);
const NAGLE: Contender = tcp("tcp, Nagle", Tcp { nodelay: false, ..Tcp::MODERN }, Duration::ZERO, false);
const CLASSIC: Contender = tcp("tcp, NewReno of 2000", Tcp::CLASSIC, Duration::ZERO, false);
const STREAMS: Contender = tcp("tcp without order", Tcp::MODERN, BUNDLE, true);
const HYBRID: Contender = Contender { name: "multicast and tcp", kind: Kind::Hybrid { config: Tcp::MODERN } };
const ALL: [Contender; 9] = [SRMP, SRMP_FAIR, MULTICAST, HYBRID, TCP, BATCHED, NAGLE, CLASSIC, STREAMS];

const fn tcp(name: &'static str, config: Tcp, batch: Duration, unordered: bool) -> Contender {
    Contender { name, kind: Kind::Tcp { config, batch, unordered } }
}

impl Point {
    const fn new(contender: Contender, loss: f64, run: Duration) -> Self {
        Self { contender, sites: 4, loss, rtt_ms: 100, rate: None, reliable: None, run }
    }

    fn run(&self, seed: Seed) -> Result<Got, TransportError> {
        let workload = Workload::table1(OBJECTS * self.sites as u32);
        let mut trace =
            Trace::record(workload, self.sites, self.run, seed.split("trace"), interrupt::goes_on)?;
        if let Some(share) = self.reliable {
            trace = trace.with_reliable_share(share, seed);
        }
        let loss = Share::from_f64(self.loss).map_or(Loss::None, Loss::Bernoulli);
        let delay = Duration::from_micros(500 * self.rtt_ms);
        let star = StarSpec::of_way(self.sites, LineSpec { delay, loss, ..LineSpec::default() });
        let star = self.rate.map_or(star.clone(), |rate| star.with_access(rate, QUEUE));
        let setup = Setup::new(star, self.contender.kind);
        transports::run(&setup, &trace, seed.split("lines"), interrupt::goes_on)
    }

    /// Whether a run meets the requirements on a line.
    fn suffices(got: &mut Got) -> bool {
        let complete = got.finals.0 == got.finals.1;
        let delivered = got.delays[0].count() as f64 >= 0.9 * got.mode0_expected as f64;
        complete
            && delivered
            && got.delays[0].percentile(0.99) < DELAY_MAX
            && got.stale_seconds_per_hour < STALE_MAX
    }

    /// The smallest sufficient rate of lines, in kbit/s. `None` if no rate suffices.
    fn least_rate(&self, seed: Seed) -> Result<Option<f64>, TransportError> {
        let steps = ((RATES.1 / RATES.0).ln() / (13.0f64 / 12.0).ln()).ceil() as i32;
        let rate = |step: i32| RATES.0 * (13.0f64 / 12.0).powi(step);
        let does = |step: i32| -> Result<bool, TransportError> {
            let mut got = Self { rate: Some(rate(step) as u64), ..*self }.run(seed)?;
            Ok(Self::suffices(&mut got))
        };
        let (mut low, mut high) = (-1, steps);
        if !does(high)? {
            return Ok(None);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if does(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(Some(rate(high) / 1e3))
    }
}

/// The mean figures of all runs of one point.
struct Figures {
    runs: Vec<Got>,
    run: Duration,
}

impl Figures {
    fn mean(&mut self, of: impl Fn(&mut Got) -> f64) -> f64 {
        stats::mean(self.runs.iter_mut().map(of))
    }

    /// Kilobits per second of one site's line, up or down.
    fn kbit(&mut self, of: impl Fn(&transports::Carried) -> u64) -> f64 {
        let seconds = self.run.as_secs_f64();
        self.mean(|got| {
            let bytes: u64 = got.carried.iter().map(&of).sum();
            bytes as f64 * 8e-3 / seconds / got.carried.len() as f64
        })
    }

    fn ms(&mut self, of: impl Fn(&mut Got) -> &mut Sample, share: f64) -> Value {
        let some = self.runs.iter_mut().any(|got| of(got).count() > 0);
        maybe(some.then(|| self.mean(|got| of(got).percentile(share) * 1e3)))
    }

    fn cells(&mut self) -> Vec<Value> {
        let (up, down) = (self.kbit(|line| line.up), self.kbit(|line| line.down));
        let none = self.runs.iter().all(|got| got.mode0_expected == 0);
        let delivered =
            self.mean(|got| got.delays[0].count() as f64 * 100.0 / got.mode0_expected.max(1) as f64);
        vec![
            number(up),
            number(down),
            maybe((!none).then_some(delivered)),
            self.ms(|got| &mut got.delays[0], 0.5),
            self.ms(|got| &mut got.delays[0], 0.99),
            self.ms(|got| &mut got.delays[1], 0.5),
            self.ms(|got| &mut got.delays[1], 0.99),
            self.ms(|got| &mut got.recovery, 0.5),
            self.ms(|got| &mut got.recovery, 0.99),
            number(self.mean(|got| got.held * 100.0)),
            number(self.mean(|got| got.stale_seconds_per_hour)),
            number(self.mean(|got| got.finals.1 as f64 * 100.0 / got.finals.0.max(1) as f64)),
        ]
    }
}

const COLUMNS: [Column; 12] = [
    ("up_kbit_per_s", "up"),
    ("down_kbit_per_s", "down"),
    ("mode0_delivered_percent", "mode 0, %"),
    ("mode0_p50_ms", "p50"),
    ("mode0_p99_ms", "p99"),
    ("mode1_p50_ms", "mode 1 p50"),
    ("mode1_p99_ms", "p99"),
    ("recovery_p50_ms", "recovery p50"),
    ("recovery_p99_ms", "p99"),
    ("held_percent", "held, %"),
    ("stale_s_per_hour", "stale, s/h"),
    ("finals_percent", "final, %"),
];

/// Runs all replications of all points. If the user stops it, returns the first points only.
fn run_all(settings: &Settings, points: &[Point]) -> Result<Vec<Figures>, console::exit::Failure> {
    let each = usize::from(settings.replications);
    let runs = in_parallel(settings, points.len() * each, |index| {
        points[index / each].run(seed_of(settings, index % each))
    })?;
    let mut runs = runs.into_iter();
    let figures =
        points.iter().map(|point| Figures { runs: runs.by_ref().take(each).collect(), run: point.run });
    Ok(figures.filter(|figures| !figures.runs.is_empty()).collect())
}

/// A sheet of points, with one column before the figures.
fn sheet(
    (name, title, key): (&'static str, String, Column),
    points: &[Point],
    figures: &mut [Figures],
    value: impl Fn(&Point) -> Value,
) -> Sheet {
    let columns: Vec<Column> = [("transport", "transport"), key].into_iter().chain(COLUMNS).collect();
    let mut sheet = Sheet::new(name, title, &columns);
    for (point, figures) in points.iter().zip(figures) {
        let mut cells = vec![point.contender.name.into(), value(point)];
        cells.extend(figures.cells());
        sheet.row(cells);
    }
    sheet
}

const NOTES: [&str; 7] = [
    "SRMP is the machine that runs live; TCP is modelled (crate::tcp: CUBIC, SACK, RACK-TLP, delayed acknowledgements, timers from 200 ms; \
     NewReno of 2000: three later segments, timers from 1 s), connections open from the start; nothing here ran on a real kernel.",
    "up, down: kbit/s on one site's lines, all headers, acknowledgements and retransmissions included, settling time too; delays in ms from \
     sending to delivery; recovery: beyond the way itself, of mode 1 messages whose first sending was lost.",
    "held: share of deliveries later than the way and 30 ms though nothing of them was lost; stale: seconds per hour and copy in which a \
     mode 1 value was not the newest, beyond the way itself.",
    "srmp sends at least at 10 Mbit/s whatever is lost, as on a private network; srmp, fair to TCP, gives mode 0 up as losses say.",
    "tcp: one connection per pair of sites, both ways on it, TCP_NODELAY; in batches of 10 ms the application collects what SRMP would bundle.",
    "tcp without order: the same in batches, each message delivered when it is whole, as on streams of QUIC, without QUIC's headers.",
    "multicast and tcp: mode 0 by bare multicast, mode 1 by TCP, as STOW did without its relays.",
];

/// Runs the whole comparison.
pub(super) fn run(settings: &Settings, run: Duration) -> Outcome {
    let begun = Instant::now();
    let mut sheets = Vec::new();
    let mut pictures = Vec::new();
    let seconds = run.as_secs();

    let losses: Vec<Point> = [0.0, 0.01, 0.05]
        .into_iter()
        .flat_map(|loss| ALL.map(|contender| Point::new(contender, loss, run)))
        .collect();
    let mut figures = run_all(settings, &losses)?;
    let title =
        format!("Loss: 4 sites of 15 objects, 100 ms there and back, lines without limit, {seconds} s");
    let key = ("loss_percent", "loss, %");
    sheets.push(sheet(("loss", title, key), &losses, &mut figures, |point| number(point.loss * 100.0)));
    pictures.push(delays(&losses, &mut figures, 0.01));
    pictures.push(delays(&losses, &mut figures, 0.05));

    let some = [SRMP, HYBRID, TCP, BATCHED, STREAMS];
    let rtts: Vec<Point> = [20, 250]
        .into_iter()
        .flat_map(|rtt_ms| some.map(|contender| Point { rtt_ms, ..Point::new(contender, 0.05, run) }))
        .collect();
    let mut figures = run_all(settings, &rtts)?;
    let title = format!("Distance: 5 % loss, {seconds} s");
    sheets
        .push(sheet(("rtt", title, ("rtt_ms", "RTT, ms")), &rtts, &mut figures, |point| point.rtt_ms.into()));

    if let Some((mesh, picture)) = sites(settings, run / 5)? {
        sheets.push(mesh);
        pictures.push(picture);
    }
    sheets.push(capacity(settings, run / 3)?);

    let lost: Vec<Point> = [SRMP, TCP, BATCHED, STREAMS]
        .into_iter()
        .flat_map(|contender| {
            let point = Point { reliable: Some(1.0), ..Point::new(contender, 0.05, run) };
            [point, Point { rate: Some(384_000), ..point }]
        })
        .collect();
    let mut figures = run_all(settings, &lost)?;
    let title = format!(
        "All messages reliable: 4 sites, 5 % loss, 100 ms, {seconds} s; SRMP skips versions that a newer one replaced"
    );
    let key = ("line_kbit_per_s", "line, kbit/s");
    sheets.push(sheet(("reliable", title, key), &lost, &mut figures, |point| {
        maybe(point.rate.map(|rate| rate as f64 / 1e3))
    }));

    let mut report = Report::new("sim srmp-tcp", 1);
    report.seed(settings.seed);
    report.summary(json!({
        "scenario": "srmp-tcp", "replications": settings.replications, "wall_s": begun.elapsed().as_secs_f64(),
    }));
    let good = good_if_any(&sheets);
    tell(settings, &mut report, (sheets, pictures), NOTES.map(str::to_owned).to_vec(), good)
}

/// The delays of mode 0 messages, at one loss.
fn delays(points: &[Point], figures: &mut [Figures], loss: f64) -> Picture {
    let percent = loss * 100.0;
    let mut chart = Chart::new(
        &format!("Delay of mode 0 messages at {percent} % loss"),
        Axis::log("from sending to delivery, ms").from(45.0).to(3_000.0),
        Axis::log("share of deliveries that take longer").from(0.0005).to(1.0),
    )
    .with_subtitle("4 sites, 100 ms there and back; SRMP and bare multicast deliver less than all");
    for (point, figures) in points.iter().zip(figures) {
        if point.loss != loss || [SRMP_FAIR.name, NAGLE.name].contains(&point.contender.name) {
            continue;
        }
        let sample = &mut figures.runs[0].delays[0];
        // Points are evenly spaced in the logarithm of the remaining share.
        let shares = (0..=132).map(|step| 10f64.powf(-f64::from(step) / 40.0));
        let line: Vec<_> = shares.map(|left| (sample.percentile(1.0 - left) * 1e3, left)).collect();
        chart.add(Series::new(point.contender.name, Mark::Line, line));
    }
    Picture::chart(format!("srmp-tcp-delay-{percent}"), &chart)
}

/// The traffic on a site's line up, over the number of sites. `None` if the user stopped it.
fn sites(settings: &Settings, run: Duration) -> Result<Option<(Sheet, Picture)>, console::exit::Failure> {
    let contenders = [SRMP, MULTICAST, HYBRID, TCP, BATCHED];
    let counts = [2, 4, 8, 16, 32];
    let points: Vec<Point> = contenders
        .into_iter()
        .flat_map(|contender| counts.map(|sites| Point { sites, ..Point::new(contender, 0.01, run) }))
        .collect();
    let mut figures = run_all(settings, &points)?;
    if figures.len() < points.len() {
        return Ok(None);
    }
    let floor: Vec<f64> = figures[5..10].iter_mut().map(|figures| figures.kbit(|line| line.up)).collect();
    let mut sheet = Sheet::new(
        "sites",
        format!(
            "Sites: 15 objects at each, 1 % loss, 100 ms, {} s; kbit/s on one site's lines",
            run.as_secs()
        ),
        &[
            ("transport", "transport"),
            ("sites", "sites"),
            ("up_kbit_per_s", "up"),
            ("down_kbit_per_s", "down"),
            ("over_multicast_ratio", "up over bare multicast"),
            ("over_others_ratio", "the same, per other site"),
        ],
    );
    let mut chart = Chart::new(
        "What one site sends, over the number of sites",
        Axis::log("sites"),
        Axis::log("one site's line up, kbit/s"),
    )
    .with_subtitle("15 objects at each site, 83 kbit/s of messages; 1 % loss, 100 ms there and back");
    for (index, points) in points.chunks(counts.len()).enumerate() {
        let mut line = Vec::new();
        for (place, point) in points.iter().enumerate() {
            let figures = &mut figures[index * counts.len() + place];
            let (up, down) = (figures.kbit(|line| line.up), figures.kbit(|line| line.down));
            let ratio = up / floor[place];
            line.push((point.sites as f64, up));
            sheet.row(vec![
                point.contender.name.into(),
                point.sites.into(),
                number(up),
                number(down),
                number(ratio),
                number(ratio / (point.sites - 1) as f64),
            ]);
        }
        chart.add(Series::new(points[0].contender.name, Mark::Dots, line));
    }
    let messages = |sites: f64| (sites, 83.0 * (sites - 1.0));
    chart.add(Series::new("83 (n - 1)", Mark::Dashed, counts.map(|sites| messages(sites as f64))));
    Ok(Some((sheet, Picture::chart("srmp-tcp-sites", &chart))))
}

/// The smallest sufficient lines.
fn capacity(settings: &Settings, run: Duration) -> Result<Sheet, console::exit::Failure> {
    let contenders = [SRMP, SRMP_FAIR, HYBRID, TCP, BATCHED, NAGLE, STREAMS];
    let losses = [0.0, 0.01];
    let points: Vec<Point> = losses
        .into_iter()
        .flat_map(|loss| contenders.map(|contender| Point::new(contender, loss, run)))
        .collect();
    let least = in_parallel(settings, points.len(), |index| points[index].least_rate(seed_of(settings, 0)))?;
    let title = format!(
        "Capacity: the smallest line of each site, kbit/s each way, on which 99 % of what arrives in mode 0 takes less than 100 ms, \
         90 % arrive, and copies are stale less than 1 s/h; queues of 16 kB, {} s; - is none up to 10 Mbit/s",
        run.as_secs()
    );
    let columns = [("transport", "transport"), ("loss_percent", "loss, %"), ("least_kbit_per_s", "kbit/s")];
    let mut sheet = Sheet::new("capacity", title, &columns);
    for (point, least) in points.iter().zip(least) {
        sheet.row(vec![point.contender.name.into(), number(point.loss * 100.0), maybe(least)]);
    }
    Ok(sheet)
}
