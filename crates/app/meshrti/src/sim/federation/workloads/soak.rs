//! `meshrti bench soak`.

use std::time::{Duration, Instant};

use base::Seed;
use bench::federation::Running;
use console::exit::{Failure, Outcome, Status, say};
use console::progress::Progress;
use console::report::Report;
use console::table::{Table, figure, or_dash};
use experiment::interrupt;
use experiment::parallel::in_parallel;
use hostsim::Federation;
use results::drift::Drift;
use serde_json::{Map, Value, json};

use super::super::plan::live_plan;
use super::{Figures, RunFlags, Traffic, by, in_words, read_workload};
use crate::bench::failure;

const NAME: &str = "bench soak";
/// The most periods of a run: a year of hours, or a week of minutes.
const PERIODS_MAX: u64 = 10_080;
/// The most lines of the table of periods.
const LINES_MAX: usize = 20;

/// Traffic for hours: whether memory or latency drifts.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench soak --for 8h
  meshrti bench soak --for 8h --server sim-host --json soak.json
  meshrti bench soak --for 2h --every 5min --workload mine.toml --nodes 2

The traffic is that of `meshrti bench traffic`, drawn anew for each period. For each there are the times from updates to \
their reflects, and the memory and processor time of nodes that were started for the run. A figure drifts if it rises \
or falls over all periods after the warm-up by more than 5 % (slope of Theil and Sen) and a trend as clear comes about by \
chance in less than 1 % of runs (test of Mann and Kendall, from ten periods). Memory or times that rise end with exit status 1. \
Ctrl-C ends the run with what is known so far; --json FILE is written anew after each period.")]
pub(crate) struct SoakArgs {
    /// table1, full4, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "table1")]
    workload: String,
    /// Objects of a workload that is given by its name [default: 200]
    #[arg(long, value_name = "COUNT")]
    objects: Option<u32>,
    /// Length of the run
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = humantime::parse_duration)]
    run: Duration,
    /// Length of a period
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = humantime::parse_duration)]
    every: Duration,
    /// Periods at the beginning that are not judged
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    warm_up: u64,
    #[command(flatten)]
    flags: RunFlags,
}

/// The figures of a period.
struct Period {
    number: u64,
    /// From the beginning of the run to its end, in seconds.
    at_s: f64,
    figures: Figures,
    /// Memory of all nodes, if they were started for the run.
    resident_bytes: Option<u64>,
}

/// The figures that are judged: key, heading, unit of the heading over that of the key.
const JUDGED: [(&str, &str, f64); 4] = [
    ("p50_us", "p50 µs", 1.0),
    ("p99_us", "p99 µs", 1.0),
    ("nodes_cpu_us", "node CPU µs/update", 1.0),
    ("nodes_resident_bytes", "node memory MiB", 1.0 / (1 << 20) as f64),
];

impl Period {
    fn judged(&self) -> [Option<f64>; 4] {
        let memory = self.resident_bytes.map(|bytes| bytes as f64);
        [self.figures.quantile_us(0), self.figures.quantile_us(2), self.figures.nodes_cpu_us, memory]
    }

    fn row(&self) -> Value {
        let mut row = self.figures.row();
        row["period"] = json!(self.number);
        row["at_s"] = json!(self.at_s);
        row["nodes_resident_bytes"] = json!(self.resident_bytes);
        row
    }
}

pub(crate) async fn run_soak(args: &SoakArgs) -> Outcome {
    let periods = args.periods()?;
    let workload = read_workload(&args.workload, args.objects)?;
    let federation = args.flags.federation(Traffic::Drawn(workload, args.every))?;
    let note = format!("workload {}, each period: {}", args.workload, in_words(&federation)?);
    interrupt::watch();
    let (mut all, mut failed) = (Vec::new(), None);
    if args.flags.runs.is_live() {
        let mut running = args.flags.start(&federation).await?;
        let (begun, mut progress) = (Instant::now(), Progress::new("soak"));
        for number in 1..=periods {
            match measure(&mut running, &period(&federation, number), begun, number).await {
                Ok(period) => all.push(period),
                Err(failure) => {
                    failed = Some(format!("failed in period {number}: {}", reason(&failure)));
                    break;
                }
            }
            progress.at(number, periods);
            if !args.flags.json.takes_stdout() {
                args.flags.json.write(&report(args, &all, std::slice::from_ref(&note)))?;
            }
            if interrupt::is_stopped() {
                break;
            }
        }
    }
    if args.flags.runs.sim {
        let count = usize::try_from(periods).unwrap_or(usize::MAX);
        all.extend(in_parallel(None, count, 1, |index, ticker| {
            let number = index as u64 + 1;
            let report = super::super::simulate(&period(&federation, number), |_| ())?;
            ticker.tick();
            let at_s = number as f64 * args.every.as_secs_f64();
            let figures = Figures::simulated(&report);
            Ok::<_, Failure>(Period { number, at_s, figures, resident_bytes: None })
        })?);
    }
    let mut notes = vec![note];
    notes.extend(args.flags.runs.is_live().then(|| args.flags.target.note()));
    let rising = rising(args, &all);
    notes.extend(rising.iter().map(|what| format!("{what} rises: see the table")));
    if interrupt::is_stopped() {
        notes.push(format!("stopped after {} of {periods} periods", all.len()));
    }
    let has_failed = failed.is_some();
    notes.extend(failed);
    if !args.flags.json.takes_stdout() {
        say(table(&all));
        say(drift_table(args, &all));
        notes.iter().for_each(say);
    }
    args.flags.json.write(&report(args, &all, &notes))?;
    Ok(match (has_failed || !rising.is_empty(), interrupt::status()) {
        (true, Status::Done) => Status::BadNews,
        (_, status) => status,
    })
}

impl SoakArgs {
    /// Number of periods: the last one may end after the run.
    fn periods(&self) -> Result<u64, Failure> {
        if self.every.is_zero() {
            return Err(Failure::wrong_use("--every: a period cannot be empty"));
        }
        let periods = self.run.as_nanos().div_ceil(self.every.as_nanos()).max(1);
        match u64::try_from(periods) {
            Ok(periods) if periods <= PERIODS_MAX => Ok(periods),
            _ => Err(Failure::wrong_use(format_args!(
                "--every: {periods} periods, more than {PERIODS_MAX}: choose longer ones"
            ))),
        }
    }

    /// The courses of the judged figures.
    fn drifts(&self, periods: &[Period], live: bool) -> [Option<Drift>; 4] {
        std::array::from_fn(|at| {
            let of = periods.iter().filter(|period| period.figures.live == live);
            let of = of.filter(|period| period.number > self.warm_up);
            let values: Vec<(f64, f64)> =
                of.filter_map(|period| Some((period.at_s, period.judged()[at]?))).collect();
            Drift::of(&values)
        })
    }
}

/// The traffic of a period: that of the run with chance of its own.
fn period(federation: &Federation, number: u64) -> Federation {
    let Federation { seed, .. } = federation;
    let seed: Seed = seed.split("period").split_index(number);
    Federation { seed, ..federation.clone() }
}

async fn measure(
    running: &mut Running,
    federation: &Federation,
    begun: Instant,
    number: u64,
) -> Result<Period, Failure> {
    let plan = live_plan(federation, &[]).map_err(Failure::bad_news)?;
    running.change(|work| work.task = plan.work[0].task.clone());
    let measured = Box::pin(running.run()).await.map_err(failure)?;
    let figures = Figures::live(federation, &measured)?;
    let resident_bytes = running.server().resident_bytes_of_all();
    Ok(Period { number, at_s: begun.elapsed().as_secs_f64(), figures, resident_bytes })
}

fn reason(failure: &Failure) -> String {
    failure.to_string().trim_start_matches("error: ").trim_end().to_owned()
}

/// The judged figures that rise.
fn rising(args: &SoakArgs, periods: &[Period]) -> Vec<&'static str> {
    let drifts = args.drifts(periods, true);
    let rises =
        |drift: &Option<Drift>| drift.is_some_and(|drift| drift.is_significant() && drift.per_hour > 0.0);
    JUDGED.iter().zip(&drifts).filter(|(_, drift)| rises(drift)).map(|((key, ..), _)| *key).collect()
}

fn report(args: &SoakArgs, periods: &[Period], notes: &[String]) -> Report {
    let mut report = Report::new(NAME, 1);
    report.seed(args.flags.runs.seed.seed);
    periods.iter().for_each(|period| report.row(period.row()));
    let mut summary = Map::new();
    for live in [true, false] {
        for ((key, ..), drift) in JUDGED.iter().zip(args.drifts(periods, live)) {
            let Some(drift) = drift else { continue };
            let value = json!({
                "median": drift.median,
                "per_hour": drift.per_hour,
                "change_ratio": drift.change_ratio,
                "p": drift.p,
                "drifts": drift.is_significant(),
            });
            summary.insert(format!("{}_{key}", by(live)), value);
        }
    }
    report.summary(Value::Object(summary));
    notes.iter().for_each(|note| report.note(note.clone()));
    report
}

/// The periods, or some of them if they are many, at equal distances; the last one is always there.
fn table(periods: &[Period]) -> String {
    let mut table =
        Table::new(["period", "", "after", "reflects", "lost", "p50 µs", "p99", "node CPU µs", "node MiB"]);
    let step = periods.len().div_ceil(LINES_MAX).max(1);
    let shown = periods.iter().enumerate().filter(|(at, _)| (periods.len() - 1 - at).is_multiple_of(step));
    for (_, period) in shown {
        let figures = &period.figures;
        let after = Duration::from_secs(period.at_s.round() as u64);
        table.line([
            period.number.to_string(),
            by(figures.live).to_owned(),
            humantime::format_duration(after).to_string(),
            figures.reflects.to_string(),
            figures.lost().to_string(),
            or_dash(figures.quantile_us(0)),
            or_dash(figures.quantile_us(2)),
            or_dash(figures.nodes_cpu_us),
            or_dash(period.resident_bytes.map(|bytes| bytes as f64 / (1 << 20) as f64)),
        ]);
    }
    table.text()
}

fn drift_table(args: &SoakArgs, periods: &[Period]) -> String {
    let mut table = Table::new(["figure", "", "median", "per hour", "change %", "p", "verdict"]);
    for live in [true, false] {
        for ((_, heading, scale), drift) in JUDGED.iter().zip(args.drifts(periods, live)) {
            let Some(drift) = drift else { continue };
            let verdict = match (drift.p, drift.is_significant(), drift.per_hour > 0.0) {
                (None, ..) => "too few periods",
                (_, false, _) => "no drift",
                (_, true, true) => "rises",
                (_, true, false) => "falls",
            };
            table.line([
                (*heading).to_owned(),
                by(live).to_owned(),
                figure(drift.median * scale),
                signed(drift.per_hour * scale),
                signed(100.0 * drift.change_ratio),
                drift.p.map_or_else(|| "-".to_owned(), |p| format!("{p:.4}")),
                verdict.to_owned(),
            ]);
        }
    }
    table.text()
}

fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", figure(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Soak {
        #[command(flatten)]
        args: SoakArgs,
    }

    fn args(words: &[&str]) -> SoakArgs {
        Soak::parse_from(std::iter::once(&"soak").chain(words)).args
    }

    fn period(number: u64, p50_us: f64, mebibytes: u64) -> Period {
        let figures = Figures {
            live: true,
            updates: 10,
            reflects: 9,
            expected: 10,
            quantiles_us: Some([p50_us, p50_us, 2.0 * p50_us]),
            nodes_cpu_us: Some(1.0),
        };
        let at_s = number as f64 * 60.0;
        Period { number, at_s, figures, resident_bytes: Some(mebibytes << 20) }
    }

    #[test]
    fn periods_fill_the_run() {
        assert_eq!(args(&["--for", "1h"]).periods().unwrap(), 60);
        assert_eq!(args(&["--for", "90s", "--every", "1min"]).periods().unwrap(), 2);
        assert_eq!(args(&["--for", "0s"]).periods().unwrap(), 1);
        for (words, why) in [
            (["--for", "1h", "--every", "0s"], "cannot be empty"),
            (["--for", "10days", "--every", "1s"], "864000 periods, more than 10080"),
        ] {
            let failure = args(&words).periods().unwrap_err().to_string();
            assert!(failure.contains(why), "{failure}");
        }
    }

    #[test]
    fn memory_that_grows_is_told_and_the_warm_up_is_not_judged() {
        let args = args(&["--warm-up", "2"]);
        let steady: Vec<Period> =
            (1..=30).map(|number| period(number, if number <= 2 { 900.0 } else { 100.0 }, 50)).collect();
        assert!(rising(&args, &steady).is_empty());
        let leaking: Vec<Period> = (1..=30).map(|number| period(number, 100.0, 50 + number)).collect();
        assert_eq!(rising(&args, &leaking), ["nodes_resident_bytes"]);
        let summary = report(&args, &leaking, &[]).to_value()["summary"].clone();
        assert_eq!(summary["live_nodes_resident_bytes"]["drifts"], true);
        assert_eq!(summary["live_p50_us"]["drifts"], false);
        let told = drift_table(&args, &leaking);
        assert!(told.contains("rises") && told.contains("60"), "{told}");
        assert_eq!(table(&leaking).lines().count(), 1 + 15, "every second one");
        assert!(table(&leaking).contains("30m"), "and the last one");
    }
}
