//! Runs of models of networks, and their reports.

use base::stats::ci95;
use netmodel::simulation::{Outcome as Ran, Simulation};
use netmodel::stats::Recorder;
use netmodel::traffic::{Delivered, Exchanges, Traffic};
use netmodel::units::Picos;
use serde_json::{Value, json};

use crate::course::{Course, Plan, Trace};
use crate::parallel::Ticker;
use crate::sheet::write_files;
use crate::usage::{peak_rss_bytes, thread_cpu_s};
use crate::{Settings, interrupt};
use console::exit::Failure;

/// The approximate number of messages of a step: a fraction of a second, after which the user may
/// stop the run.
const STEP_MESSAGES: f64 = 100_000.0;

/// The number of steps of a simulation of `messages` messages.
pub fn steps_of(messages: f64) -> u64 {
    (messages / STEP_MESSAGES).clamp(1_000.0, 1e9) as u64
}

/// Rounds to three decimals.
fn three(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Times of messages, for a report.
fn times(latency: &Recorder) -> Value {
    let summary = &latency.summary;
    let quantile = |share| three(latency.histogram.quantile(share) * 1e-6);
    json!({
        "mean_us": three(summary.mean_us()),
        "std_us": three(summary.std_us()),
        "min_us": summary.min().map(|time| three(time.as_micros())),
        "p50_us": quantile(0.5),
        "p90_us": quantile(0.9),
        "p99_us": quantile(0.99),
        "p999_us": quantile(0.999),
        "max_us": summary.max().map(|time| three(time.as_micros())),
    })
}

/// Requests and their responses, for a report.
fn exchanges(exchanges: &Exchanges) -> Value {
    let counts = json!({ "count": exchanges.latency.summary.count(), "failed": exchanges.failed });
    with(counts, [times(&exchanges.latency)])
}

/// Adds the entries `others` to an object.
fn with<const N: usize>(mut object: Value, others: [Value; N]) -> Value {
    let all = object.as_object_mut().expect("a row is an object");
    for other in others {
        if let Value::Object(other) = other {
            all.extend(other);
        }
    }
    object
}

/// A note on the warm-up of the first run according to MSER-5, for people.
pub fn warm_up_note(ran: &Ran) -> Option<String> {
    let truncation = ran.warm_up?;
    Some(format!(
        "by MSER-5 the first run has settled at {:.3} s, after {:.1} % of its messages; the mean of the others is {:.1} µs{}",
        truncation.until.as_secs(),
        100.0 * truncation.share,
        truncation.mean_us,
        if truncation.share >= 0.49 { ", but a run whose first half differs is too short" } else { "" }
    ))
}

/// The warning of a growing backlog, for people.
pub fn growth_note(ran: &Ran) -> Option<String> {
    ran.backlog_grows.then(|| {
        "warning: more and more messages were in the network as the run went on: the load cannot be carried, or the run is too short, and \
         the figures say how long it was"
            .to_owned()
    })
}

/// A run and its processor time in seconds, `None` where the system does not report it.
pub type Run = (Ran, Option<f64>);

/// Replications.
pub struct Runs(pub Vec<Run>);

/// The additional recordings of a run for files.
#[derive(Clone, Default)]
pub struct Wanted {
    /// The course over time and links.
    pub course: bool,
    /// A trace of messages.
    pub trace: bool,
}

impl Wanted {
    /// The recordings of the run `index`. Only the first run has any; the others have figures only.
    pub fn of(settings: &Settings, index: usize) -> Self {
        let (files, trace) = (settings.files.is_given(), settings.trace.is_some());
        Self { course: index == 0 && (files || trace), trace: index == 0 && trace }
    }
}

/// A run with its recordings for files.
pub struct Recorded {
    /// Its figures and its processor time.
    pub run: Run,
    /// Its course over time and links.
    pub course: Option<Course>,
    /// Its messages on their way.
    pub trace: Option<Trace>,
    /// The simulated part of the window when the user stopped the run.
    pub stopped_at: Option<f64>,
}

/// Runs a simulation to its end, or until the user stops it. `begun` is the processor time before
/// its setup. `delivered` is called with each message and its latency.
pub fn run_to_the_end<T: Traffic>(
    begun: Option<f64>,
    simulation: &mut Simulation<T>,
    ticker: &Ticker,
    wanted: &Wanted,
    plan: &Plan,
    mut delivered: impl FnMut(&Delivered, Picos),
) -> Recorded {
    simulation.set_steps(ticker.steps());
    if wanted.course {
        simulation.record();
    }
    let mut trace = wanted.trace.then(Trace::default);
    let mut stopped_at = None;
    let mut ticks = 0;
    while simulation.step(|message, latency| {
        delivered(message, latency);
        if let Some(trace) = &mut trace {
            trace.add(message, latency);
        }
    }) {
        // Where the end is not known before, steps have no fixed number.
        let done = (simulation.progress() * ticker.steps() as f64) as u64;
        (ticks..done).for_each(|_| ticker.tick());
        ticks = ticks.max(done);
        if interrupt::is_stopped() {
            stopped_at = Some(simulation.progress());
            simulation.stop();
            break;
        }
    }
    let spent = thread_cpu_s().zip(begun).map(|(now, begun)| now - begun);
    let course = wanted.course.then(|| Course::of(simulation, plan));
    Recorded { run: (simulation.outcome(), spent), course, trace, stopped_at }
}

/// Takes the figures, writes the files of the first run, and adds the notes on both.
pub fn finish(
    settings: &Settings,
    title: &str,
    wanted: usize,
    recorded: Vec<Recorded>,
) -> Result<(Vec<Run>, Vec<String>), Failure> {
    let mut notes = Vec::new();
    let stopped = recorded.iter().filter_map(|one| one.stopped_at).collect::<Vec<_>>();
    if interrupt::is_stopped() {
        let part = stopped.iter().copied().fold(f64::INFINITY, f64::min);
        let part = if part.is_finite() { part * 100.0 } else { 100.0 };
        notes.push(format!(
            "stopped by the user: {} of {wanted} runs, at {part:.0} % of the simulated time or later; figures are of what was simulated until then",
            recorded.len()
        ));
    }
    let mut runs = Vec::new();
    for Recorded { run, course, trace, .. } in recorded {
        if let Some(course) = course {
            write_files(settings, &course.sheets(), &course.pictures(title))?;
            if let Some((trace, path)) = trace.zip(settings.trace.as_deref()) {
                let left_out = trace.left_out();
                trace.write(path, &course)?;
                if left_out > 0 {
                    notes.push(format!(
                        "{}: the first messages only, {left_out} others were left out",
                        path.display()
                    ));
                }
            }
        }
        runs.push(run);
    }
    Ok((runs, notes))
}

impl Runs {
    /// All replications as one.
    pub fn pooled(&self) -> Ran {
        let mut runs = self.0.iter().map(|(ran, _)| ran);
        let mut pooled = runs.next().expect("there is a replication").clone();
        for ran in runs {
            pooled.latency.merge(&ran.latency);
            pooled.events += ran.events;
            pooled.rate_changes += ran.rate_changes;
            pooled.left_over += ran.left_over;
            pooled.lost += ran.lost;
            pooled.unrouted += ran.unrouted;
            if let (Some(all), Some(more)) = (&mut pooled.packets, ran.packets) {
                all.add(more);
            }
            pooled.deadlock = pooled.deadlock.or_else(|| ran.deadlock.clone());
            pooled.utilisation += ran.utilisation;
            pooled.utilisation_max = pooled.utilisation_max.max(ran.utilisation_max);
            pooled.host_utilisation_max = pooled.host_utilisation_max.max(ran.host_utilisation_max);
            pooled.in_flight += ran.in_flight;
            pooled.backlog_grows |= ran.backlog_grows;
            if let (Some(all), Some(more)) = (&mut pooled.exchanges, &ran.exchanges) {
                all.latency.merge(&more.latency);
                all.failed += more.failed;
            }
            if let (Some(all), Some(more)) = (&mut pooled.application, &ran.application) {
                all.merge(more);
            }
            pooled.until = pooled.until.max(ran.until);
            pooled.digest.word(ran.digest.value());
        }
        pooled.utilisation /= self.0.len() as f64;
        pooled.in_flight /= self.0.len() as f64;
        pooled
    }

    /// Half the width of the 95 % interval of the mean, in µs: over replications if there are
    /// several, else over batches.
    pub fn ci95_us(&self) -> Option<f64> {
        if self.0.len() == 1 {
            return self.0[0].0.latency.batches.interval().map(|interval| interval.half_width_us);
        }
        let means: Vec<f64> = self.0.iter().map(|(ran, _)| ran.latency.summary.mean_us()).collect();
        ci95(&means)
    }

    /// The processor time of all runs. `None` where the system does not report it.
    pub fn cpu_s(&self) -> Option<f64> {
        self.0.iter().map(|(_, cpu_s)| *cpu_s).sum()
    }

    /// Adds the entries that all reports have to `own`.
    pub fn row(&self, own: Value) -> Value {
        let ran = self.pooled();
        let messages = ran.latency.summary.count();
        let cpu_s = self.cpu_s();
        let counts = json!({ "replications": self.0.len(), "messages": messages });
        let measured = json!({
            "ci95_us": self.ci95_us().map(three),
            "utilisation": (ran.utilisation * 1e6).round() / 1e6,
            "utilisation_max": (ran.utilisation_max * 1e6).round() / 1e6,
            "messages_in_network": three(ran.in_flight),
            "host_utilisation_max": (ran.host_utilisation_max * 1e6).round() / 1e6,
            "lost": ran.lost,
            "marked": ran.packets.map(|packets| packets.messages_marked),
            "packets_arrived": ran.packets.map(|packets| packets.arrived),
            "packets_marked": ran.packets.map(|packets| packets.marked),
            "packets_dropped": ran.packets.map(|packets| packets.dropped),
            "packets_lost": ran.packets.map(|packets| packets.lost),
            "deadlock_s": ran.deadlock.as_ref().map(|deadlock| deadlock.since.as_secs()),
            "left_over": ran.left_over,
            "backlog_grows": ran.backlog_grows,
            "mser5": self.0[0].0.warm_up.map(|truncation| json!({
                "left_out_share": three(truncation.share),
                "until_s": truncation.until.as_secs(),
                "mean_us": three(truncation.mean_us),
            })),
            "exchanges": ran.exchanges.as_ref().map(exchanges),
            "events": ran.events,
            "rate_changes": ran.rate_changes,
            "digest": ran.digest.to_string(),
            "cpu_s": cpu_s.map(|s| (s * 1e6).round() / 1e6),
            "messages_per_cpu_s": cpu_s.map(|s| (messages as f64 / s).round()),
            "rss_bytes": peak_rss_bytes(),
        });
        with(own, [counts, times(&ran.latency), measured])
    }
}
