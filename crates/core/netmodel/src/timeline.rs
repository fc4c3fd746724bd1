//! The course of a run over time: latencies, messages and links, slice by slice.

use crate::stats::Recorder;
use crate::topology::Topology;
use crate::units::Picos;

/// Number of slices in a window.
pub const SLICES: u64 = 100;

/// A slice of the window.
#[derive(Clone, PartialEq, Debug)]
pub struct Slice {
    /// Its end; it begins at the end of the previous slice.
    pub until: Picos,
    /// Number of messages that ended in it.
    pub ended: u64,
    /// The mean of their latencies, in microseconds; `None` when no message ended.
    pub mean_us: Option<f64>,
    /// The median of their latencies, in microseconds.
    pub p50_us: Option<f64>,
    /// The 99 % quantile of their latencies, in microseconds.
    pub p99_us: Option<f64>,
    /// Mean share of the slice in which links between switches were busy.
    pub utilisation: f64,
    /// The same for the busiest link of all.
    pub utilisation_max: f64,
    /// Number of messages in the network at its end.
    pub in_flight: u64,
}

/// The slices so far, and the present one.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    slices: Vec<Slice>,
    /// The present slice.
    latency: Recorder,
    begun: Picos,
    /// The end of the present slice, and the width of all.
    due: Picos,
    width: Picos,
    /// Bytes that each link had carried when the present slice began.
    carried: Vec<f64>,
}

impl Timeline {
    /// A timeline of this window without slices.
    pub(crate) fn new(topology: &Topology, (from, to): (Picos, Picos)) -> Self {
        let width = Picos(to.since(from).0.div_ceil(SLICES).max(1));
        Self {
            slices: Vec::new(),
            latency: Recorder::default(),
            begun: from,
            due: (from + width).min(to),
            width,
            carried: vec![0.0; topology.links() as usize],
        }
    }

    /// Adds the latency of a message that ended.
    pub(crate) fn add(&mut self, latency: Picos) {
        self.latency.add(latency);
    }

    /// True if the present slice ends at `now`.
    pub(crate) fn is_due(&self, now: Picos) -> bool {
        now >= self.due
    }

    /// Ends the present slice. `carried`: bytes of each link since the beginning.
    pub(crate) fn close(&mut self, topology: &Topology, now: Picos, carried: Vec<f64>, in_flight: u64) {
        let spent = now.since(self.begun).0 as f64;
        if spent <= 0.0 {
            return;
        }
        let (mut sum, mut count, mut most) = (0.0, 0_u32, 0.0_f64);
        for link in 0..topology.links() {
            let passed = carried[link as usize] - self.carried[link as usize];
            let share = passed / (spent * topology.class_of(link).capacity().bytes_per_ps());
            most = most.max(share);
            if topology.is_between_switches(link) {
                (sum, count) = (sum + share, count + 1);
            }
        }
        let latency = std::mem::take(&mut self.latency);
        let ended = latency.summary.count();
        let any = |value: f64| (ended > 0).then_some(value);
        self.slices.push(Slice {
            until: now,
            ended,
            mean_us: any(latency.summary.mean_us()),
            p50_us: any(latency.histogram.quantile(0.5) * 1e-6),
            p99_us: any(latency.histogram.quantile(0.99) * 1e-6),
            utilisation: sum / f64::from(count.max(1)),
            utilisation_max: most,
            in_flight,
        });
        self.begun = now;
        while self.due <= now {
            self.due += self.width;
        }
        self.carried = carried;
    }

    pub(crate) fn slices(&self) -> &[Slice] {
        &self.slices
    }
}
