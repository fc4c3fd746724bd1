//! `meshrti bench srmp --table1`: Table 1 of the SRMP paper, live, beside the simulation of the same
//! objects, what is expected, and the paper.

use std::time::Duration;

use base::Seed;
use bench::srmp::table1::{HOSTS, LINE, OBJECTS, OfMember, Plan, measure};
use serde_json::json;
use srmp_study::group::table1::{PAPER, Preset, RUN};
use srmp_study::group::{Group, Report as Simulated};
use workload::Workload;
use workload::analysis::Forecast;

use super::{failure, launcher};
use console::exit::{Failure, Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure, or_dash};

/// A quantity: live, simulated, expected, and by the paper in as much time.
struct Line(&'static str, f64, Option<f64>, Option<f64>, Option<f64>);

/// Measures, simulates, compares.
pub(super) async fn run(plan: &Plan, json: &JsonFlag) -> Outcome {
    let mut progress = Progress::new("objects");
    let live = measure(&launcher()?, plan, |done, all| progress.at(done, all)).await.map_err(failure)?;
    drop(progress);
    let setup = Preset::Honest.setup(OBJECTS, plan.time);
    let simulated = Group::new(setup, Seed(plan.seed)).and_then(|group| group.run(|| true));
    let simulated = simulated.map_err(Failure::bad_news)?;
    let lines = lines(&live, &simulated, plan.time)?;
    let mut report = Report::new("bench srmp table1", 1);
    report.seed(plan.seed);
    let mut table = Table::new(["", "live", "simulated", "expected", "paper"]);
    for Line(what, live, simulated, expected, paper) in &lines {
        table.line([
            (*what).to_owned(),
            figure(*live),
            or_dash(*simulated),
            or_dash(*expected),
            or_dash(*paper),
        ]);
        report.row(json!({
            "what": what, "live": live, "simulated": simulated, "expected": expected, "paper": paper,
        }));
    }
    let notes = [
        format!(
            "{HOSTS} processes of {OBJECTS} objects for {} s, each behind an emulated line ({LINE}); the simulation has the same objects \
             and seed",
            plan.time.as_secs_f64()
        ),
        "the paper's counts are scaled to this time; its retransmissions are those of another reading (docs/srmp.md)".to_owned(),
    ];
    if !json.takes_stdout() {
        say(table.text());
        say("");
        say(of_members(&live));
        notes.iter().for_each(say);
    }
    notes.into_iter().for_each(|note| report.note(note));
    json.write(&report)?;
    Ok(Status::Done)
}

fn lines(live: &[OfMember], simulated: &Simulated, time: Duration) -> Result<Vec<Line>, Failure> {
    let class = &Workload::table1(HOSTS * OBJECTS).classes[0];
    let forecast = Forecast::of(class, time).map_err(Failure::bad_news)?;
    let sum = |of: &dyn Fn(&OfMember) -> u64| live.iter().map(of).sum::<u64>() as f64;
    let mean = |of: &dyn Fn(&OfMember) -> f64| live.iter().map(of).sum::<f64>() / live.len().max(1) as f64;
    let others = f64::from(HOSTS - 1);
    let sent = [sum(&|member| member.sent[0]), sum(&|member| member.sent[1])];
    let received = [sum(&|member| member.received[0]), sum(&|member| member.received[1])];
    let share = time.as_secs_f64() / RUN.as_secs_f64();
    let totals = &simulated.totals;
    let percent = |part: f64, all: f64| 100.0 * part / all.max(1.0);
    let kbit = |bytes: f64| bytes * 8e-3 / time.as_secs_f64();
    let repairs = Preset::Honest.expected_repairs() * forecast.mode1.mean;
    Ok(vec![
        Line(
            "mode 0 sent",
            sent[0],
            Some(totals.mode0_sent as f64),
            Some(forecast.mode0.mean),
            Some(PAPER.mode0 * share),
        ),
        Line(
            "mode 1 sent",
            sent[1],
            Some(totals.mode1_sent as f64),
            Some(forecast.mode1.mean),
            Some(PAPER.mode1 * share),
        ),
        Line(
            "retransmissions",
            sum(&|member| member.repairs),
            Some(totals.retransmissions as f64),
            Some(repairs),
            Some(PAPER.retransmissions * share),
        ),
        Line("copies", sum(&|member| member.copies), Some(totals.copies as f64), None, None),
        Line("NACKs", sum(&|member| member.nacks), Some(totals.nacks as f64), None, None),
        Line(
            "mode 0 received, %",
            percent(received[0], sent[0] * others),
            Some(percent(
                (totals.mode0_received + totals.mode0_gated) as f64,
                totals.mode0_sent as f64 * others,
            )),
            Some(95.0),
            None,
        ),
        Line(
            "mode 1 received, %",
            percent(received[1], sent[1] * others),
            Some(percent(totals.delivered as f64, totals.mode1_sent as f64 * others)),
            Some(100.0),
            None,
        ),
        Line("mode 0 delay p50, ms", mean(&|member| member.delays_ms[0][0]), None, None, None),
        Line("mode 1 delay p50, ms", mean(&|member| member.delays_ms[1][0]), None, None, None),
        Line("mode 1 delay p99, ms", mean(&|member| member.delays_ms[1][1]), None, None, None),
        Line(
            "kbit/s, UDP payload",
            kbit(sum(&|member| member.bytes)),
            Some(kbit(simulated.sent.udp_bytes as f64)),
            None,
            None,
        ),
    ])
}

/// Arrivals, delays and losses at each member.
fn of_members(live: &[OfMember]) -> String {
    let mut table =
        Table::new(["member", "mode", "sent", "received", "lost %", "delay p50 ms", "delay p99 ms"]);
    for (number, member) in (1..).zip(live) {
        for mode in [0, 1] {
            let all: u64 = live.iter().map(|member| member.sent[mode]).sum();
            let of_others = (all - member.sent[mode]) as f64;
            let lost = 100.0 * (1.0 - member.received[mode] as f64 / of_others.max(1.0));
            table.line([
                number.to_string(),
                mode.to_string(),
                member.sent[mode].to_string(),
                member.received[mode].to_string(),
                format!("{lost:.2}"),
                format!("{:.1}", member.delays_ms[mode][0]),
                format!("{:.1}", member.delays_ms[mode][1]),
            ]);
        }
    }
    table.text()
}
