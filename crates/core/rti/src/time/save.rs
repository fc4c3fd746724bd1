//! Saves with a time (4.19): when constrained federates have come to it.
//!
//! A constrained federate has come to the time of a save when it waits for an advance beyond that
//! time and no message at or below it can come any more. It then receives its messages up to that
//! time, and its grant waits for the end of the save. Other federates never wait.

use super::bound::Bound;
use super::clock::Clock;
use super::{TimeEvent, TimeManager};
use hla::handle::FederateHandle;
use hla::time::LogicalTime;
use hla::{Exception, RtiError};

/// How far a constrained federate is from the time of a save.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Barrier {
    /// No save is scheduled.
    #[default]
    None,
    /// Grants beyond this time wait for the save.
    At(LogicalTime),
    /// The messages up to this time are being delivered.
    Reaching(LogicalTime),
    /// It has come to the time.
    Reached,
}

impl Clock {
    /// The time of the save that its pending advance would pass.
    pub(super) fn save_ahead(&self) -> Option<LogicalTime> {
        let Barrier::At(time) = self.barrier else { return None };
        let passes = self.constrained && self.target().is_some_and(|(_, to)| to > time);
        passes.then_some(time)
    }
}

impl TimeManager {
    /// Checks the time of a requested save.
    ///
    /// # Errors
    /// `LogicalTimeAlreadyPassed`, `FederateUnableToUseTime`.
    pub(crate) fn check_save_time(&self, federate: FederateHandle, at: LogicalTime) -> Result<(), RtiError> {
        let passed = |text| Err(RtiError::new(Exception::LogicalTimeAlreadyPassed, text));
        let clock = self.clocks.get(&federate);
        let regulates = clock.is_some_and(|clock| clock.regulation.is_some());
        match self.query_galt(federate) {
            _ if regulates => {
                let time = self.logical_time(federate);
                if at <= time {
                    return passed(format!("the logical time of this federate is {time}, not before {at}"));
                }
            }
            Some(galt) if at <= galt => {
                return passed(format!("the GALT of this federate is {galt}, not before {at}"));
            }
            Some(_) => {}
            None => {
                let text = "this federate does not regulate time, and its GALT is undefined";
                return Err(RtiError::new(Exception::FederateUnableToUseTime, text));
            }
        }
        let mut constrained = self.clocks.values().filter(|clock| clock.constrained);
        match constrained.find(|clock| clock.time >= at) {
            Some(clock) => passed(format!(
                "the logical time of a constrained federate is {}, not before {at}",
                clock.time
            )),
            None => Ok(()),
        }
    }

    /// Schedules a save for this time, in place of an earlier one; `None`: no save is scheduled any
    /// longer. Federates that have come to the time of a save go on when it ends.
    pub(crate) fn schedule_save(&mut self, at: Option<LogicalTime>) {
        self.save = at;
        let federates: Vec<_> = self.clocks.keys().copied().collect();
        for federate in federates {
            let Some(clock) = self.clocks.get_mut(&federate) else { continue };
            let before = clock.barrier;
            clock.barrier = at.filter(|_| clock.constrained).map_or(Barrier::None, Barrier::At);
            let flushes = clock.advancing.filter(|(service, _)| service.flushes());
            match flushes {
                Some((_, to)) if before == Barrier::Reached && at.is_none() => self.flush(federate, to),
                _ => self.refresh(federate),
            }
        }
        self.changed = true;
    }

    /// Whether all constrained federates have come to the time of the save.
    pub(crate) fn is_save_reached(&self) -> bool {
        let mut constrained = self.clocks.values().filter(|clock| clock.constrained);
        constrained.all(|clock| clock.barrier == Barrier::Reached)
    }

    /// A federate that becomes constrained takes part in a save that is scheduled.
    pub(super) fn meet_save(&mut self, federate: FederateHandle) {
        let Some(at) = self.save else { return };
        let Some(clock) = self.clocks.get_mut(&federate) else { return };
        clock.barrier = Barrier::At(at);
        if clock.time >= at {
            self.begin_save(federate, at);
        }
    }

    /// No message at or below the time of the save comes to a federate any more.
    pub(super) fn begin_save(&mut self, federate: FederateHandle, at: LogicalTime) {
        let Some(clock) = self.clocks.get_mut(&federate) else { return };
        clock.barrier = Barrier::Reaching(at);
        if clock.time < at {
            clock.promise(Bound::above(at));
        }
        self.continue_grant(federate);
    }

    /// A federate has received all messages up to the time of the save.
    pub(super) fn save_reached(&mut self, federate: FederateHandle) {
        if let Some(clock) = self.clocks.get_mut(&federate) {
            clock.barrier = Barrier::Reached;
            self.events.push_back(TimeEvent::SaveReached(federate));
            self.refresh(federate);
        }
    }
}
