//! Question 4: loss, bursts, partitions and too many reliable messages, up to the point where
//! copies are stale for too long.

use std::time::Duration;

use crate::group::{Group, GroupError, Report as Run, Setup as GroupSetup, scale};
use crate::transports::{self, Kind, Setup, StarSpec, Trace, TransportError};
use plot::HeatMap;
use wan::{GilbertElliott, LineSpec, Loss, Share, Step};
use workload::Workload;

use super::{Findings, mean, private, replicate};
use console::exit::Failure;
use experiment::sheet::{Picture, Sheet, number};
use experiment::{Settings, interrupt};

const LOSSES: [f64; 7] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4];
/// Mean lengths of bursts in datagrams. 1 means independent losses.
const BURSTS: [f64; 5] = [1.0, 2.0, 5.0, 10.0, 20.0];
const CUTS: [u64; 4] = [1, 5, 30, 60];
const SHARES: [f64; 5] = [0.01, 0.05, 0.1, 0.25, 0.5];
/// The limit of stale seconds per hour and copy, one in a minute. More is a failure.
const STALE_MAX: f64 = 60.0;

pub(super) fn run(settings: &Settings, run: Duration) -> Result<Findings, Failure> {
    let (losses, picture) = losses(settings, run)?;
    let notes = [
        "Stale: seconds per hour and copy in which a mode 1 value was not the newest, beyond the way itself; objects change 72 times an hour. \
         Failure is taken for more than 60, a second per minute.",
        "A partition that heals costs its own length, and what follows it: the time until the last copy is right again.",
    ];
    Ok(Findings {
        sheets: vec![losses, partitions(settings)?, shares(settings, run / 2)?],
        pictures: vec![picture],
        notes: notes.map(str::to_owned).to_vec(),
    })
}

fn loss(share: f64, burst: f64) -> Loss {
    if burst <= 1.0 {
        return scale::bernoulli(share);
    }
    let share = Share::from_f64(share).unwrap_or_default();
    GilbertElliott::of_burst(share, burst, Step::Datagram).map_or(Loss::None, Loss::GilbertElliott)
}

/// The group of Table 1, with a minute at the end for the last values.
fn group(loss: Loss, run: Duration) -> GroupSetup {
    GroupSetup { settle: Duration::from_secs(60), ..scale::table1_under(loss, run) }
}

fn verdict(stale: f64, complete: bool) -> &'static str {
    match (complete, stale > STALE_MAX) {
        (false, _) => "incomplete",
        (true, true) => "stale",
        (true, false) => "works",
    }
}

fn stale(run: &Run) -> f64 {
    run.stale_seconds_per_hour
}

fn finals(run: &Run) -> f64 {
    run.finals.1 as f64 * 100.0 / run.finals.0.max(1) as f64
}

fn losses(settings: &Settings, run: Duration) -> Result<(Sheet, Picture), Failure> {
    let points: Vec<(f64, f64)> =
        BURSTS.into_iter().flat_map(|burst| LOSSES.map(|share| (share, burst))).collect();
    let runs = replicate(settings, &points, |(share, burst), seed| {
        Group::new(group(loss(*share, *burst), run), seed)?.run(interrupt::goes_on)
    })?;
    let mut sheet = Sheet::new(
        "losses",
        format!(
            "Loss, and bursts of it: Table 1's group of 4 hosts, 100 ms there and back, {} s",
            run.as_secs()
        ),
        &[
            ("burst", "mean burst"),
            ("loss_percent", "loss, %"),
            ("stale_s_per_hour", "stale, s/h"),
            ("stale_ci95_s_per_hour", "±"),
            ("recovery_p99_ms", "recovery p99, ms"),
            ("finals_percent", "final, %"),
            ("verdict", "verdict"),
        ],
    );
    let mut values = Vec::new();
    for ((share, burst), runs) in points.iter().zip(&runs) {
        let (stale, spread) = mean(runs, stale);
        let complete = mean(runs, finals).0;
        values.push(Some(stale));
        sheet.row(vec![
            number(*burst),
            number(share * 100.0),
            number(stale),
            spread.map_or(serde_json::Value::Null, number),
            number(mean(runs, |run| run.totals.recovery(0.99).as_secs_f64() * 1e3).0),
            number(complete),
            verdict(stale, complete >= 100.0).into(),
        ]);
    }
    values.resize(points.len(), None);
    let map = HeatMap {
        title: "How long copies are stale, over loss and bursts".to_owned(),
        subtitle: "seconds per hour and copy, beyond the way itself; 4 hosts, 72 changes per hour and object, 100 ms there and back".to_owned(),
        x: "loss, %".to_owned(),
        columns: LOSSES.map(|share| format!("{:.0}", share * 100.0)).to_vec(),
        y: "mean burst, datagrams".to_owned(),
        rows: BURSTS.map(|burst| format!("{burst:.0}")).to_vec(),
        values: values.chunks(LOSSES.len()).map(<[_]>::to_vec).collect(),
        log: true,
    };
    Ok((sheet, Picture::heat("srmp-q4-stale", &map)))
}

fn partitions(settings: &Settings) -> Result<Sheet, Failure> {
    const BEFORE: u64 = 30;
    const AFTER: u64 = 60;
    let runs = replicate(settings, &CUTS, |cut, seed| -> Result<[Run; 2], GroupError> {
        let seconds = Duration::from_secs;
        let setup = |cuts| {
            let mut setup = group(scale::bernoulli(0.05), seconds(BEFORE + cut + AFTER));
            setup.layout.cuts = cuts;
            setup
        };
        let cut = vec![(3, seconds(BEFORE), seconds(BEFORE + cut))];
        let run = |cuts| Group::new(setup(cuts), seed)?.run(interrupt::goes_on);
        Ok([run(cut)?, run(Vec::new())?])
    })?;
    let mut sheet = Sheet::new(
        "partitions",
        "Partitions: one of 4 hosts cut off, 5 % loss, 100 ms; beside the same run without a cut",
        &[
            ("cut_s", "cut, s"),
            ("stale_s_per_hour", "stale, s/h"),
            ("uncut_stale_s_per_hour", "without the cut"),
            ("recovery_max_s", "longest recovery, s"),
            ("finals_percent", "final, %"),
        ],
    );
    for (cut, runs) in CUTS.iter().zip(&runs) {
        sheet.row(vec![
            (*cut).into(),
            number(mean(runs, |[run, _]| stale(run)).0),
            number(mean(runs, |[_, run]| stale(run)).0),
            number(mean(runs, |[run, _]| run.totals.recovery.max().as_secs_f64()).0),
            number(mean(runs, |[run, _]| finals(run)).0),
        ]);
    }
    Ok(sheet)
}

/// Rising shares of reliable messages, on lines with enough capacity and on lines with hardly
/// enough.
fn shares(settings: &Settings, run: Duration) -> Result<Sheet, Failure> {
    let points: Vec<(f64, u64)> =
        [10_000_000, 512_000].into_iter().flat_map(|rate| SHARES.map(|share| (share, rate))).collect();
    let runs = replicate(settings, &points, |(share, rate), seed| -> Result<_, TransportError> {
        let trace = Trace::record(Workload::table1(60), 4, run, seed.split("trace"), interrupt::goes_on)?;
        let trace = trace.with_reliable_share(*share, seed);
        let way = LineSpec {
            delay: Duration::from_millis(50),
            loss: scale::bernoulli(0.05),
            ..LineSpec::default()
        };
        let star = StarSpec::of_way(4, way).with_access(*rate, 16_000);
        let setup = Setup::new(star, Kind::Srmp(private));
        let mut got = transports::run(&setup, &trace, seed.split("lines"), interrupt::goes_on)?;
        let up: u64 = got.carried.iter().map(|line| line.up).sum();
        let up = up as f64 * 8e-3 / 4.0 / run.as_secs_f64();
        let delay = got.delays[1].percentile(0.99) * 1e3;
        let finals = got.finals.1 as f64 * 100.0 / got.finals.0.max(1) as f64;
        Ok((up, delay, got.stale_seconds_per_hour, finals))
    })?;
    let mut sheet = Sheet::new(
        "shares",
        format!(
            "Share of mode 1 in Table 1's traffic: 4 hosts, 5 % loss, 100 ms, {} s, queues of 16 kB",
            run.as_secs()
        ),
        &[
            ("line_kbit_per_s", "line, kbit/s"),
            ("mode1_percent", "mode 1, %"),
            ("up_kbit_per_s", "one host sends, kbit/s"),
            ("mode1_p99_ms", "mode 1 p99, ms"),
            ("stale_s_per_hour", "stale, s/h"),
            ("finals_percent", "final, %"),
            ("verdict", "verdict"),
        ],
    );
    for ((share, rate), runs) in points.iter().zip(&runs) {
        let (stale, finals) = (mean(runs, |run| run.2).0, mean(runs, |run| run.3).0);
        sheet.row(vec![
            number(*rate as f64 / 1e3),
            number(share * 100.0),
            number(mean(runs, |run| run.0).0),
            number(mean(runs, |run| run.1).0),
            number(stale),
            number(finals),
            verdict(stale, finals >= 100.0).into(),
        ]);
    }
    Ok(sheet)
}
