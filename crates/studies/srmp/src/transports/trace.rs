//! The messages to send, independent of the transport.

use std::time::Duration;

use base::{Moment, Seed};
use workload::{Generator, Mode, Workload};

use super::TransportError;
use netsim::EVENTS_OF_A_STEP;

/// A message of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The moment at which it is sent.
    pub at: Moment,
    /// The sending site.
    pub site: usize,
    /// The entity within its site.
    pub element: usize,
    /// Reliable, since it changes a state; otherwise best effort.
    pub is_reliable: bool,
    /// Size, in octets.
    pub size: usize,
}

/// Messages in order of time.
#[derive(Clone, Debug)]
pub struct Trace {
    /// All messages.
    pub messages: Vec<Message>,
    /// Number of sending sites, which are the first ones.
    pub sources: usize,
    /// Number of entities of each sending site.
    pub per_source: usize,
    /// Length of the trace.
    pub run: Duration,
}

impl Trace {
    /// Records the messages of the objects of `workload` in `run`; the objects are divided among
    /// `sources` sites. `go_on` is called every few hundred messages and stops the recording by
    /// returning false.
    ///
    /// # Errors
    /// [`TransportError`]: the workload is invalid; [`TransportError::Stopped`] if `go_on` stops
    /// the recording.
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

    /// The same messages, each reliable with this probability, regardless of its former mode.
    #[must_use]
    pub fn with_reliable_share(mut self, share: f64, seed: Seed) -> Self {
        let share = wan::Share::from_f64(share).unwrap_or_default();
        let mut rng = seed.split("reliable").rng();
        self.messages.iter_mut().for_each(|message| message.is_reliable = share.draw(&mut rng));
        self
    }

    /// Mean rate of one site's messages, in bit/s, without headers.
    pub fn bits_per_second(&self) -> f64 {
        let bytes: usize = self.messages.iter().map(|message| message.size).sum();
        bytes as f64 * 8.0 / self.run.as_secs_f64() / self.sources as f64
    }
}
