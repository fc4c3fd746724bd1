//! Question 2: quantities that limit scalability. Data elements of one host, and sending hosts.

use std::time::Duration;

use crate::group::{Group, Layout, Setup as GroupSetup};
use crate::transports::{self, Kind, Setup, StarSpec, Trace, TransportError};
use plot::{Axis, Chart, Mark, Series};
use wan::{LineSpec, Loss, Share};
use workload::{Emit, Workload};

use super::{Findings, mean, private, replicate};
use console::exit::Failure;
use experiment::sheet::{Picture, Sheet, number};
use experiment::{Settings, interrupt};

/// Numbers of data elements of each host.
const ELEMENTS: [u32; 5] = [1, 10, 100, 1_000, 10_000];
/// Numbers of sending hosts.
const SENDERS: [u32; 5] = [3, 10, 30, 100, 300];
/// Messages of mode 0 and mode 1 per second and host, for any number of its elements.
const RATES: [f64; 2] = [41.25, 1.0];
const DELAY: Duration = Duration::from_millis(50);

pub(super) fn run(settings: &Settings, run: Duration) -> Result<Findings, Failure> {
    let (elements, first) = elements(settings, run)?;
    let (senders, second) = senders(settings, run / 6)?;
    let notes = [
        "Elements: the same messages per second whatever the number. What is lost is told of by later bundles of its host, the freshest first. \
         Lost to recovered: beyond the way itself, detection included. Overhead: all octets on the lines over those of messages.",
        "Senders: each probes the group for its rate, and receivers report to each. Control: NACKs, announcements, digests, heartbeats and \
         reports.",
    ];
    Ok(Findings {
        sheets: vec![elements, senders],
        pictures: vec![first, second],
        notes: notes.map(str::to_owned).to_vec(),
    })
}

fn line(loss: f64) -> LineSpec {
    let loss = Share::from_f64(loss).map_or(Loss::None, Loss::Bernoulli);
    LineSpec { delay: DELAY, loss, ..LineSpec::default() }
}

/// A workload whose total rate does not depend on the number of elements.
fn shared_out(hosts: u32, elements: u32) -> Workload {
    let mut workload = Workload::table1(hosts * elements);
    for state in workload.classes.iter_mut().flat_map(|class| class.chain.states.iter_mut().flatten()) {
        state.rate = RATES.map(|rate| rate / f64::from(elements));
        state.emit = [Emit::Fixed, Emit::Poisson];
    }
    workload
}

fn elements(settings: &Settings, run: Duration) -> Result<(Sheet, Picture), Failure> {
    let runs = replicate(settings, &ELEMENTS, |elements, seed| -> Result<_, TransportError> {
        let trace = Trace::record(shared_out(4, *elements), 4, run, seed.split("trace"), interrupt::goes_on)?;
        let setup = Setup::new(StarSpec::of_way(4, line(0.05)), Kind::Srmp(private));
        let mut got = transports::run(&setup, &trace, seed.split("lines"), interrupt::goes_on)?;
        let up: u64 = got.carried.iter().map(|line| line.up).sum();
        let bytes: usize = trace.messages.iter().map(|message| message.size).sum();
        let recovery = [0.5, 0.95, 0.99].map(|share| got.recovery.percentile(share) * 1e3);
        let finals = got.finals.1 as f64 / got.finals.0.max(1) as f64;
        Ok((recovery, up as f64 / bytes.max(1) as f64, got.stale_seconds_per_hour, finals))
    })?;
    let title = format!(
        "Data elements of each of 4 hosts; 41 mode 0 and 1 mode 1 messages per second of a host, 5 % loss, 100 ms, {} s",
        run.as_secs()
    );
    let mut sheet = Sheet::new(
        "elements",
        title,
        &[
            ("elements", "elements"),
            ("recovery_p50_ms", "lost to recovered p50, ms"),
            ("recovery_p95_ms", "p95"),
            ("recovery_p99_ms", "p99"),
            ("overhead_ratio", "overhead"),
            ("stale_s_per_hour", "stale, s/h"),
            ("finals_percent", "final, %"),
        ],
    );
    let mut lines: [Vec<(f64, f64)>; 3] = Default::default();
    for (&elements, runs) in ELEMENTS.iter().zip(&runs) {
        let recovery = [0, 1, 2].map(|place| mean(runs, |run| run.0[place]).0);
        for (line, value) in lines.iter_mut().zip(recovery) {
            line.push((f64::from(elements), value));
        }
        sheet.row(vec![
            elements.into(),
            number(recovery[0]),
            number(recovery[1]),
            number(recovery[2]),
            number(mean(runs, |run| run.1).0),
            number(mean(runs, |run| run.2).0),
            number(mean(runs, |run| run.3 * 100.0).0),
        ]);
    }
    let mut chart = Chart::new(
        "From a loss to the data, over the number of data elements",
        Axis::log("data elements of each host"),
        Axis::linear("time beyond the way itself, ms").from(0.0),
    )
    .with_subtitle(
        "4 hosts, the same messages per second whatever the number; 5 % loss, round trips of 100 ms",
    );
    for (line, name) in lines.into_iter().zip(["half within", "95 % within", "99 % within"]) {
        chart.add(Series::new(name, Mark::Dots, line));
    }
    chart.limit("one round trip", 100.0);
    Ok((sheet, Picture::chart("srmp-q2-elements", &chart)))
}

/// Every host of the group sends: one object each.
fn all_send(hosts: u32, run: Duration) -> GroupSetup {
    const SITE: u32 = 50;
    let mut sites = vec![SITE; (hosts / SITE) as usize];
    sites.extend((!hosts.is_multiple_of(SITE)).then_some(hosts % SITE));
    let mut layout = Layout::single_hosts(hosts, line(0.05));
    if hosts > SITE {
        layout.sites = sites;
    }
    GroupSetup {
        layout,
        workload: Workload::table1(hosts),
        sources: hosts as usize,
        tune: private,
        urgent: true,
        join_within: Duration::from_secs(5),
        traffic_from: Duration::from_secs(10),
        run,
        settle: Duration::from_secs(15),
        crashes: Vec::new(),
        region_crashes: Vec::new(),
        loggers: false,
    }
}

fn senders(settings: &Settings, run: Duration) -> Result<(Sheet, Picture), Failure> {
    let runs = replicate(settings, &SENDERS, |senders, seed| {
        Group::new(all_send(*senders, run), seed)?.run(interrupt::goes_on)
    })?;
    let mut sheet = Sheet::new(
        "senders",
        format!("Hosts that all send, one object each; 5 % loss, 100 ms, {} s", run.as_secs()),
        &[
            ("senders", "senders"),
            ("datagrams_per_s", "datagrams/s"),
            ("ip_kbit_per_s", "kbit/s"),
            ("control_percent", "control, %"),
            ("feedback_percent", "reports, %"),
            ("reports_per_s", "reports/s"),
            ("recovery_p50_ms", "recovery p50, ms"),
            ("finals_percent", "final, %"),
        ],
    );
    let (mut control, mut reports) = (Vec::new(), Vec::new());
    let seconds = run.as_secs_f64();
    for (&senders, runs) in SENDERS.iter().zip(&runs) {
        let share = |bytes: u64, all: u64| bytes as f64 * 100.0 / all.max(1) as f64;
        let controlled = mean(runs, |run| share(run.sent.control_bytes, run.sent.ip_bytes)).0;
        let reported = mean(runs, |run| share(run.sent.feedback_bytes, run.sent.ip_bytes)).0;
        control.push((f64::from(senders), controlled));
        reports.push((f64::from(senders), reported));
        sheet.row(vec![
            senders.into(),
            number(mean(runs, |run| run.sent.datagrams as f64 / seconds).0),
            number(mean(runs, |run| run.sent.ip_bytes as f64 * 8e-3 / seconds).0),
            number(controlled),
            number(reported),
            number(mean(runs, |run| run.totals.feedback as f64 / seconds).0),
            number(mean(runs, |run| run.totals.recovery(0.5).as_secs_f64() * 1e3).0),
            number(mean(runs, |run| run.finals.1 as f64 * 100.0 / run.finals.0 as f64).0), // 0 of 0 is unknown
        ]);
    }
    let mut chart = Chart::new(
        "What control costs, over the number of senders",
        Axis::log("hosts, all of which send"),
        Axis::linear("share of all bytes, %").from(0.0),
    )
    .with_subtitle("one object of Table 1 each; 5 % loss, round trips of 100 ms");
    chart.add(Series::new("control", Mark::Dots, control));
    chart.add(Series::new("of this, reports", Mark::Dots, reports));
    Ok((sheet, Picture::chart("srmp-q2-senders", &chart)))
}
