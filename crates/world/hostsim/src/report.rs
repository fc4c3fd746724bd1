//! The results of a run.

use base::stats::quantile;
use std::time::Duration;

use base::Digest;

use crate::groups::Carried;
use crate::work::Work;

/// The results of a task.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
    /// The task.
    pub work: Work,
    /// Times in nanoseconds, ascending: of round trips, or from each update to its reflects. In a
    /// flood these show the length of the queues.
    pub times_ns: Vec<u64>,
    /// From the beginning of the task to its last reflect.
    pub took: Duration,
    /// Number of reflects.
    pub reflects: u64,
    /// Number of reflects without loss and without an early stop.
    pub expected: u64,
    /// Reflects of a flood or of paced updates that did not follow their predecessor at the
    /// subscriber. Zero unless a node misbehaves.
    pub out_of_turn: u64,
    /// Processor time of federate processes, in nanoseconds: the process of the first federate,
    /// then those of the others by node.
    pub federates_ns: Vec<f64>,
}

impl Done {
    /// Reflects per second of each subscriber.
    pub fn per_s(&self) -> f64 {
        self.reflects as f64 / self.work.subscribers() as f64 / self.took.as_secs_f64().max(1e-12)
    }

    /// Mean of the times, in microseconds. `None` without times.
    pub fn mean_us(&self) -> Option<f64> {
        let sum: u128 = self.times_ns.iter().map(|time| u128::from(*time)).sum();
        (!self.times_ns.is_empty()).then(|| sum as f64 / 1e3 / self.times_ns.len() as f64)
    }

    /// Quantile of the times, in microseconds; `share` is from 0 to 1. `None` without times.
    pub fn quantile_us(&self, share: f64) -> Option<f64> {
        quantile_us(&self.times_ns, share)
    }
}

/// Quantile of ascending times in nanoseconds, in microseconds; `share` is from 0 to 1. `None`
/// without times.
pub fn quantile_us(rising_ns: &[u64], share: f64) -> Option<f64> {
    quantile(rising_ns, share).map(|ns| ns as f64 / 1e3)
}

/// The results of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Results by task.
    pub done: Vec<Done>,
    /// Processor time of each node during the tasks, in nanoseconds.
    pub nodes_ns: Vec<f64>,
    /// Bytes that nodes wrote to links during the tasks.
    pub link_bytes: u64,
    /// Traffic of multicast groups during the tasks; `None` without groups.
    pub carried: Option<Carried>,
    /// Duration of the tasks.
    pub took: Duration,
    /// Events of the simulation.
    pub events: u64,
    /// A fingerprint of all arrivals and their moments.
    pub digest: Digest,
}
