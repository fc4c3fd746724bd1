//! Runs of models of networks, and what is reported of them.

use base::Seed;
use fabric::simulation::{Outcome as Ran, Simulation};
use fabric::stats::student;
use fabric::traffic::Traffic;
use serde_json::{Value, json};

use super::Args;
use super::parallel::Ticker;
use super::usage::{peak_rss_bytes, thread_cpu_s};

/// Steps of a simulation.
pub(super) const STEPS: u64 = 1_000;

/// A run, and its processor time in seconds where the system says it.
pub(super) type Run = (Ran, Option<f64>);

/// Replications.
pub(super) struct Runs(pub(super) Vec<Run>);

/// The seed of a replication. The first is that of the command.
pub(super) fn seed_of(args: &Args, replication: usize) -> Seed {
    if replication == 0 { Seed(args.seed) } else { Seed(args.seed).split_index(replication as u64) }
}

/// Runs what is left of a simulation; `begun` is the processor time before it was set up.
pub(super) fn run_to_the_end<T: Traffic>(
    begun: Option<f64>,
    simulation: &mut Simulation<T>,
    ticker: &Ticker,
) -> Run {
    while simulation.step(|_, _| {}) {
        ticker.tick();
    }
    let spent = thread_cpu_s().zip(begun).map(|(now, begun)| now - begun);
    (simulation.outcome(), spent)
}

impl Runs {
    /// All replications as one.
    pub(super) fn pooled(&self) -> Ran {
        let mut runs = self.0.iter().map(|(ran, _)| ran);
        let mut pooled = runs.next().expect("there is a replication").clone();
        for ran in runs {
            pooled.latency.merge(&ran.latency);
            pooled.events += ran.events;
            pooled.rate_changes += ran.rate_changes;
            pooled.left_over += ran.left_over;
            pooled.lost += ran.lost;
            pooled.utilisation += ran.utilisation;
            pooled.utilisation_max = pooled.utilisation_max.max(ran.utilisation_max);
            pooled.host_utilisation_max = pooled.host_utilisation_max.max(ran.host_utilisation_max);
            pooled.in_flight += ran.in_flight;
            pooled.digest.word(ran.digest.value());
        }
        pooled.utilisation /= self.0.len() as f64;
        pooled.in_flight /= self.0.len() as f64;
        pooled
    }

    /// Half the width of the 95 % interval of the mean: over replications if there are several, else over batches.
    pub(super) fn ci95_us(&self) -> Option<f64> {
        if self.0.len() == 1 {
            return self.0[0].0.latency.batches.interval().map(|interval| interval.half_width_us);
        }
        let means: Vec<f64> = self.0.iter().map(|(ran, _)| ran.latency.summary.mean_us()).collect();
        let count = means.len() as f64;
        let mean = means.iter().sum::<f64>() / count;
        let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
        Some(student(means.len() - 1) * (squares / (count - 1.0) / count).sqrt())
    }

    /// Processor time of all; `None` where the system does not say.
    pub(super) fn cpu_s(&self) -> Option<f64> {
        self.0.iter().map(|(_, cpu_s)| *cpu_s).sum()
    }

    /// `own` with what all reports have.
    pub(super) fn row(&self, mut own: Value) -> Value {
        let ran = self.pooled();
        let summary = &ran.latency.summary;
        let three = |value: f64| (value * 1e3).round() / 1e3;
        let quantile = |share| three(ran.latency.histogram.quantile(share) * 1e-6);
        let cpu_s = self.cpu_s();
        let measured = json!({
            "replications": self.0.len(),
            "messages": summary.count(),
            "mean_us": three(summary.mean_us()),
            "std_us": three(summary.std_us()),
            "min_us": summary.min().map(|time| three(time.as_micros())),
            "p50_us": quantile(0.5),
            "p90_us": quantile(0.9),
            "p99_us": quantile(0.99),
            "p999_us": quantile(0.999),
            "max_us": summary.max().map(|time| three(time.as_micros())),
            "ci95_us": self.ci95_us().map(three),
            "utilisation": (ran.utilisation * 1e6).round() / 1e6,
            "utilisation_max": (ran.utilisation_max * 1e6).round() / 1e6,
            "messages_in_network": three(ran.in_flight),
            "host_utilisation_max": (ran.host_utilisation_max * 1e6).round() / 1e6,
            "lost": ran.lost,
            "left_over": ran.left_over,
            "events": ran.events,
            "rate_changes": ran.rate_changes,
            "digest": ran.digest.to_string(),
            "cpu_s": cpu_s.map(|s| (s * 1e6).round() / 1e6),
            "messages_per_cpu_s": cpu_s.map(|s| (summary.count() as f64 / s).round()),
            "rss_bytes": peak_rss_bytes(),
        });
        let row = own.as_object_mut().expect("a row is an object");
        if let Value::Object(measured) = measured {
            row.extend(measured);
        }
        own
    }
}
