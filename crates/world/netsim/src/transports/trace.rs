//! What is sent, whatever carries it.

use std::time::Duration;

use base::{Moment, Seed};
use workload::{Generator, Mode, Workload};

use super::TransportError;
use crate::simulation::EVENTS_OF_A_STEP;

/// A message of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// When it is sent.
    pub at: Moment,
    /// By which site.
    pub site: usize,
    /// About which of its entities.
    pub element: usize,
    /// Reliably, for it changes a state; otherwise best effort.
    pub is_reliable: bool,
    /// Octets.
    pub size: usize,
}

/// Messages in the order of their times.
#[derive(Clone, Debug)]
pub struct Trace {
    /// All of them.
    pub messages: Vec<Message>,
    /// Sites that send: the first ones.
    pub sources: usize,
    /// Entities of each.
    pub per_source: usize,
    /// The time they are of.
    pub run: Duration,
}

impl Trace {
    /// What the objects of `workload`, dealt out to `sources` sites, say in `run`, unless `go_on`, which is asked after each few hundred
    /// messages, says no.
    ///
    /// # Errors
    /// The workload cannot be; [`TransportError::Stopped`] by `go_on`.
    pub fn record(
        workload: Workload,
        sources: usize,
        run: Duration,
        seed: Seed,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Self, TransportError> {
        let per_source = (workload.objects() as usize).div_ceil(sources.max(1)).max(1);
        let end = Moment::ZERO + run;
        let mut generator = Generator::new(workload, seed.split("objects"), Moment::ZERO)?;
        let mut messages: Vec<Message> = Vec::new();
        while let Some(emission) = generator.poll(end) {
            let number = emission.object.number as usize;
            messages.push(Message {
                at: emission.at,
                site: number / per_source,
                element: number % per_source,
                is_reliable: emission.mode == Mode::One,
                size: (emission.size as usize).max(8),
            });
            if (messages.len() as u64).is_multiple_of(EVENTS_OF_A_STEP) && !go_on() {
                return Err(TransportError::Stopped);
            }
        }
        Ok(Self { messages, sources, per_source, run })
    }

    /// The same messages, each reliable with this probability instead of what it was.
    #[must_use]
    pub fn with_reliable_share(mut self, share: f64, seed: Seed) -> Self {
        let share = wan::Share::from_f64(share).unwrap_or_default();
        let mut rng = seed.split("reliable").rng();
        self.messages.iter_mut().for_each(|message| message.is_reliable = share.draw(&mut rng));
        self
    }

    /// Bits of messages per second of one site, in the mean.
    pub fn bits_per_second(&self) -> f64 {
        let bytes: usize = self.messages.iter().map(|message| message.size).sum();
        bytes as f64 * 8.0 / self.run.as_secs_f64() / self.sources as f64
    }
}
