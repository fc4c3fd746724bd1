//! The host's monotonic clock, converted for the machines.

use std::time::Instant;

use base::Moment;

/// A clock whose moments count from its creation. A node and its multicast groups use the same kind.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The time since the start.
    pub fn now(self) -> Moment {
        Moment::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The instant of `moment`; `None` for one too late to be represented.
    pub fn instant(self, moment: Moment) -> Option<tokio::time::Instant> {
        let offset = moment.since(Moment::ZERO);
        self.start.checked_add(offset).map(tokio::time::Instant::from_std)
    }
}
