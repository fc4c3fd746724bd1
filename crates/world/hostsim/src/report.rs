//! What a run gave.

use std::time::Duration;

use base::Digest;

use crate::groups::Carried;
use crate::work::Work;

/// What a task gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
    /// The task.
    pub work: Work,
    /// Times in nanoseconds, rising: there and back of round trips, from the update to the reflect of the others, which in a flood says
    /// how long queues were.
    pub times_ns: Vec<u64>,
    /// From its beginning to its last reflect.
    pub took: Duration,
    /// Reflects.
    pub reflects: u64,
    /// As many would be if nothing were lost, and the run not stopped.
    pub expected: u64,
    /// Reflects of a flood, or of updates at a pace, that did not follow on the one before at their subscriber: none, unless a node errs.
    pub out_of_turn: u64,
    /// Processor time of the process of the one who began, and of those of the others by node, in nanoseconds.
    pub federates_ns: Vec<f64>,
}

impl Done {
    /// Reflects per second, of each subscriber.
    pub fn per_s(&self) -> f64 {
        self.reflects as f64 / self.work.subscribers() as f64 / self.took.as_secs_f64().max(1e-12)
    }

    /// The time below which a share of all times lies, in microseconds; nothing without times.
    pub fn quantile_us(&self, share: f64) -> Option<f64> {
        quantile_us(&self.times_ns, share)
    }
}

/// The time below which a share of rising times in nanoseconds lies, in microseconds; nothing without times.
pub fn quantile_us(rising_ns: &[u64], share: f64) -> Option<f64> {
    let last = rising_ns.len().checked_sub(1)?;
    let at = (share * last as f64).round() as usize;
    Some(rising_ns[at.min(last)] as f64 / 1e3)
}

/// What a run gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// By task.
    pub done: Vec<Done>,
    /// Processor time of each node while the tasks were done, in nanoseconds.
    pub nodes_ns: Vec<f64>,
    /// Bytes that nodes wrote over links meanwhile.
    pub link_bytes: u64,
    /// What multicast groups carried meanwhile, where there are any.
    pub carried: Option<Carried>,
    /// How long that was.
    pub took: Duration,
    /// Events of the simulation.
    pub events: u64,
    /// A fingerprint of all that came, and when.
    pub digest: Digest,
}
