//! Work that a node does outside its kernel, in virtual time.

use crate::options::Reading;
use base::Moment;
use kernel::{JobDone, Kernel};
use std::time::Duration;

/// The job of a node that is in progress.
pub(super) struct Jobs {
    takes: Duration,
    /// Its outcome, which is computed at the beginning, and the moment when it is reported.
    running: Option<(Moment, JobDone)>,
}

impl Jobs {
    pub(super) fn new(reading: Reading, node: usize) -> Self {
        let takes = if reading.at.is_none_or(|at| at == node) { reading.takes } else { Duration::ZERO };
        Self { takes, running: None }
    }

    /// Begins and ends jobs. Returns whether the kernel may have something to send because of that.
    pub(super) fn settle(&mut self, kernel: &mut Kernel, now: Moment) -> bool {
        let mut any = false;
        loop {
            if let Some((_, done)) = self.running.take_if(|(at, _)| *at <= now) {
                kernel.finish_job(now, done);
                any = true;
            }
            if self.running.is_some() {
                return any;
            }
            let Some(job) = kernel.poll_job() else { return any };
            let takes = if job.reads_modules() { self.takes } else { Duration::ZERO };
            self.running = Some((now + takes, job.run()));
        }
    }

    /// When the job in progress ends.
    pub(super) fn poll_timeout(&self) -> Option<Moment> {
        self.running.as_ref().map(|(at, _)| *at)
    }
}
