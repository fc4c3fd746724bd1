//! The logical time of a federate as the management object model (clause 11) shows it.

use super::TimeManager;
use base::Moment;
use hla::handle::FederateHandle;
use std::time::Duration;

/// The attributes that are updated when they change.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct TimeState {
    pub(crate) regulating: bool,
    pub(crate) constrained: bool,
    pub(crate) asynchronous: bool,
    /// It is in the Time Advancing state; otherwise in Time Granted.
    pub(crate) advancing: bool,
}

/// How long a federate has been in the states Time Granted and Time Advancing.
#[derive(Debug)]
pub(super) struct Spent {
    granted: Duration,
    advancing: Duration,
    is_advancing: bool,
    /// The durations count up to this moment.
    until: Moment,
}

impl Spent {
    /// How long it has been in each state until now, to be kept in an image.
    pub(super) fn image(&self, now: Moment) -> (Duration, Duration) {
        let more = now.since(self.until);
        match self.is_advancing {
            true => (self.granted, self.advancing + more),
            false => (self.granted + more, self.advancing),
        }
    }

    /// Adds the times of an image.
    pub(super) fn add(&mut self, (granted, advancing): (Duration, Duration)) {
        self.granted += granted;
        self.advancing += advancing;
    }

    fn new(now: Moment) -> Self {
        Self { granted: Duration::ZERO, advancing: Duration::ZERO, is_advancing: false, until: now }
    }

    pub(super) fn note(&mut self, now: Moment, is_advancing: bool) {
        let more = now.since(self.until);
        *self.of(self.is_advancing) += more;
        (self.until, self.is_advancing) = (now, is_advancing);
    }

    fn of(&mut self, is_advancing: bool) -> &mut Duration {
        if is_advancing { &mut self.advancing } else { &mut self.granted }
    }
}

impl TimeManager {
    /// Notes that a federate of this node has joined.
    pub(crate) fn joined(&mut self, federate: FederateHandle) {
        self.spent.insert(federate, Spent::new(self.now));
    }

    /// The state of a federate.
    pub(crate) fn state(&self, federate: FederateHandle) -> TimeState {
        self.clocks.get(&federate).map_or_else(TimeState::default, |clock| TimeState {
            regulating: clock.regulation.is_some(),
            constrained: clock.constrained,
            asynchronous: clock.asynchronous,
            advancing: clock.advancing.is_some(),
        })
    }

    /// How long a federate has been in the Time Advancing state, or in Time Granted, since this was
    /// last asked.
    pub(crate) fn take_spent(&mut self, federate: FederateHandle, is_advancing: bool) -> Duration {
        let now = self.now;
        let Some(spent) = self.spent.get_mut(&federate) else { return Duration::ZERO };
        spent.note(now, spent.is_advancing);
        std::mem::take(spent.of(is_advancing))
    }
}
