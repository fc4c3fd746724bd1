//! The place where a node keeps what is to survive a crash.

use base::{Moment, Rng, Seed};
use bytes::Bytes;
use kernel::{Kept, Kernel, Persist, Record};
use rand_core::RngCore as _;
use std::time::Duration;

/// A disk that needs time: what was not synced when the process died is lost.
pub(super) struct Disk {
    /// The longest time that a sync takes; `None`: there is no disk.
    sync_max: Option<Duration>,
    rng: Rng,
    stored: Option<Bytes>,
    /// On its way, and when it will be there.
    storing: Option<(Moment, Persist)>,
    refuses: Refuses,
}

/// What a disk does not do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refuses {
    Nothing,
    /// It stores nothing, and what is out of date is removed.
    Storing,
    /// It does not even remove anything.
    Everything,
}

/// A disk that did nothing is tried again after this time.
const RETRY: Duration = Duration::from_secs(1);

impl Disk {
    pub(super) fn new(sync_max: Option<Duration>, seed: Seed, stored: Option<Bytes>) -> Self {
        Self { sync_max, rng: seed.rng(), stored, storing: None, refuses: Refuses::Nothing }
    }

    /// The state that a process finds at its start.
    pub(super) fn kept(sync_max: Option<Duration>, stored: Option<&Bytes>) -> Kept {
        let record = stored.map(|image| Record::from_image(image).expect("a disk gives back what it got"));
        Kept { durable: sync_max.is_some(), record }
    }

    /// The image that a crash leaves.
    pub(super) fn stored(&self) -> Option<Bytes> {
        self.stored.clone()
    }

    /// From now on the disk refuses this.
    pub(super) fn refuse(&mut self, refuses: Refuses) {
        self.refuses = refuses;
    }

    /// Stores what the kernel wants stored, and tells it when that is done. True if it was told.
    pub(super) fn settle(&mut self, now: Moment, kernel: &mut Kernel) -> bool {
        let done = self.storing.take_if(|(at, _)| *at <= now);
        let mut any = false;
        match done {
            Some((_, persist)) if self.refuses == Refuses::Everything => {
                self.storing = Some((now + RETRY, persist));
            }
            Some((_, persist)) => {
                self.stored = persist.image.filter(|_| self.refuses == Refuses::Nothing);
                kernel.handle_persisted(now, persist.revision);
                any = true;
            }
            None => {}
        }
        if self.storing.is_none()
            && let Some(sync_max) = self.sync_max
            && let Some(persist) = kernel.poll_persist()
        {
            let micros = self.rng.next_u64() % (sync_max.as_micros() as u64).max(1);
            self.storing = Some((now + Duration::from_micros(micros + 1), persist));
        }
        any
    }

    pub(super) fn poll_timeout(&self) -> Option<Moment> {
        self.storing.as_ref().map(|(at, _)| *at)
    }
}
