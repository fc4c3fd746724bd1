//! The results of programs: times of their iterations, and their parts.

use super::Waiting;
use crate::stats::Recorder;
use crate::units::Picos;

/// The results of an application.
#[derive(Clone, Debug, Default)]
pub struct ApplicationResults {
    /// Of each program.
    pub programs: Vec<ProgramResults>,
    /// The time at which the last host came to its end, from the beginning of the run; the time of
    /// the furthest host while some still run.
    pub total: Picos,
    /// Iterations that hosts have ended, and those of all hosts.
    pub iterations: (u64, u64),
    /// The first message that was lost: its sender, its receiver, and the time.
    pub lost: Option<(u32, u32, Picos)>,
    /// Hosts that wait for ever, because of messages that were lost: each waits for the next one.
    pub stalled: Vec<Waiting>,
}

/// The results of the hosts of a program. Iterations of the warm-up do not count.
#[derive(Clone, Debug, Default)]
pub struct ProgramResults {
    /// Its name.
    pub name: String,
    /// Number of its hosts.
    pub hosts: u32,
    /// Times of iterations of all hosts, each from its start to its end at the host.
    pub iteration: Recorder,
    /// The sum of the times of computing in these iterations.
    pub computing: u128,
    /// The sum of their times.
    pub running: u128,
}

impl ProgramResults {
    /// The share of the time in which its hosts computed. In the rest of the time they waited for
    /// messages.
    pub fn compute_share(&self) -> f64 {
        if self.running == 0 { 0.0 } else { self.computing as f64 / self.running as f64 }
    }
}

impl ApplicationResults {
    /// Adds the results of another run of the same application. The total becomes the longer one.
    pub fn merge(&mut self, other: &Self) {
        for (program, more) in self.programs.iter_mut().zip(&other.programs) {
            program.iteration.merge(&more.iteration);
            program.computing += more.computing;
            program.running += more.running;
        }
        self.total = self.total.max(other.total);
        self.iterations.0 += other.iterations.0;
        self.iterations.1 += other.iterations.1;
        self.lost = self.lost.or(other.lost);
        if self.stalled.is_empty() {
            self.stalled.clone_from(&other.stalled);
        }
    }
}
