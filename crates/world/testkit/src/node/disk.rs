//! The place where a node keeps the state that must survive a crash.

use base::{Moment, Rng, Seed};
use bytes::Bytes;
use kernel::{Kept, Kernel, Persist, Record};
use rand_core::RngCore as _;
use std::time::Duration;

/// A disk that needs time: data that were not synced when the process died are lost.
pub(super) struct Disk {
    /// The longest time that a sync takes; `None`: there is no disk.
    sync_max: Option<Duration>,
    rng: Rng,
    stored: Option<Bytes>,
    /// The state that is being stored, and when that will be done.
    storing: Option<(Moment, Persist)>,
    refuses: Refuses,
}

/// The operations that a disk refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refuses {
    Nothing,
    /// It stores nothing, but removes outdated data.
    Storing,
    /// It neither stores nor removes anything.
    Everything,
}

/// The wait before a refused operation is tried again.
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

    /// Sets the operations that the disk refuses from now on.
    pub(super) fn refuse(&mut self, refuses: Refuses) {
        self.refuses = refuses;
    }

    /// Stores the kernel's state, and reports to the kernel when that is done. Returns whether it
    /// reported anything.
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
