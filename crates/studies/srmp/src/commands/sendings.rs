//! `meshrti sim srmp-sendings`: how often a source sends each reliable message, beside a live run.

use std::time::Duration;

use crate::group::Report as Run;
use crate::group::sendings::{self, Copies, LOSS, PER_S, RECEIVERS};
use base::stats::{ci95, mean};
use console::exit::Outcome;
use console::report::Report;
use experiment::sheet::{Sheet, maybe, number};
use experiment::{Settings, interrupt, seed_of};
use serde_json::{Value, json};

use super::{good_if_any, in_parallel, tell};

/// The delays between two hosts: of one machine, and of a wide area.
const DELAYS: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(50)];
/// Sizes of messages in bytes: typed values, and updates of entities. The credit for copies is in
/// bytes, so that it is worth more short ones.
const SIZES: [u32; 2] = [16, 250];
/// A live run on one machine (docs/guide/srmp.md): messages, repairs and copies.
const LIVE: (u64, u64, u64) = (600, 54, 614);

/// A group.
#[derive(Clone, Copy)]
struct Case {
    delay: Duration,
    size: u32,
    copies: Copies,
}

/// `srmp-sendings`.
pub(super) fn run(settings: &Settings, time: Duration) -> Outcome {
    let mut cases: Vec<Case> = Vec::new();
    for size in SIZES {
        for delay in DELAYS {
            cases.extend([Copies::Usual, Copies::None].map(|copies| Case { delay, size, copies }));
        }
    }
    let replications = usize::from(settings.replications);
    let runs = in_parallel(settings, cases.len() * replications, |index| {
        let Case { delay, size, copies } = cases[index / replications];
        let seed = seed_of(settings, index % replications);
        sendings::run(sendings::setup(delay, size, copies, time), seed, interrupt::goes_on)
    })?;
    let mut sheet = Sheet::new(
        "sendings",
        format!(
            "A source of {PER_S} mode 1 messages per second, {RECEIVERS} receivers, each host loses {} %, {} s",
            LOSS * 100.0,
            time.as_secs()
        ),
        &[
            ("run", "run"),
            ("copies", "copies"),
            ("size_bytes", "bytes"),
            ("delay_ms", "delay, ms"),
            ("messages", "messages"),
            ("repairs", "repairs"),
            ("copies_sent", "copies sent"),
            ("sendings_per_message", "sendings of each"),
            ("ci95", "±95 %"),
            ("optimum", "optimum"),
            ("recovery_p99_ms", "recovery p99, ms"),
        ],
    );
    for (case, runs) in cases.iter().zip(runs.chunks(replications)) {
        sheet.row(row(*case, runs));
    }
    if !sheet.is_empty() {
        sheet.row(live());
    }
    let mut report = Report::new("sim srmp-sendings", 1);
    report.seed(settings.seed);
    report.summary(json!({ "scenario": "srmp-sendings", "replications": settings.replications }));
    let notes = vec![
        "copies are sent before anybody asks, while they are at most 5 % of the bytes, after a first credit of 16 KiB; without them (`copies = \
         false` of the library) the source repairs what is asked for"
            .to_owned(),
        "live: 30 s on one machine, where the receivers lost 5 % and the source nothing (docs/guide/srmp.md); the sizes of its messages were not recorded".to_owned(),
    ];
    let complete = good_if_any(std::slice::from_ref(&sheet));
    tell(settings, &mut report, (vec![sheet], Vec::new()), notes, complete)
}

/// Sendings of each message.
fn per_message((messages, repairs, copies): (u64, u64, u64)) -> f64 {
    (messages + repairs + copies) as f64 / messages.max(1) as f64
}

fn row(Case { delay, size, copies }: Case, runs: &[Run]) -> Vec<Value> {
    let counts = |run: &Run| (run.totals.mode1_sent, run.totals.retransmissions, run.totals.copies);
    let of = |pick: fn(&Run) -> u64| number(mean(runs.iter().map(|run| pick(run) as f64)));
    let each: Vec<f64> = runs.iter().map(|run| per_message(counts(run))).collect();
    let recovery = |run: &Run| run.totals.recovery(0.99).as_secs_f64() * 1e3;
    vec![
        "simulated".into(),
        match copies {
            Copies::Usual => "usual",
            Copies::None => "none",
        }
        .into(),
        size.into(),
        number(delay.as_secs_f64() * 1e3),
        of(|run| run.totals.mode1_sent),
        of(|run| run.totals.retransmissions),
        of(|run| run.totals.copies),
        number(mean(each.iter().copied())),
        maybe(ci95(&each)),
        number(sendings::least()),
        number(mean(runs.iter().map(recovery))),
    ]
}

fn live() -> Vec<Value> {
    let (messages, repairs, copies) = LIVE;
    vec![
        "live".into(),
        "usual".into(),
        Value::Null,
        Value::Null,
        messages.into(),
        repairs.into(),
        copies.into(),
        number(per_message(LIVE)),
        Value::Null,
        number(sendings::least()),
        Value::Null,
    ]
}
