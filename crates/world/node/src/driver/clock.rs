//! The host's monotonic clock as the machines see it.

use std::time::Instant;

use base::Moment;

/// Moments count from the creation of the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(self) -> Moment {
        Moment::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The instant of `moment`; `None` for one so late that it never comes.
    pub(crate) fn instant(self, moment: Moment) -> Option<tokio::time::Instant> {
        let offset = moment.since(Moment::ZERO);
        self.start.checked_add(offset).map(tokio::time::Instant::from_std)
    }
}
