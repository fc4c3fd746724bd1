//! Saving a federation execution (1516.1-2025, 4.19 to 4.25), as all nodes record it.
//!
//! A save with a time is *scheduled* until the first federate is told of it. From then on it is *in
//! progress*: each federate is instructed, begins, and answers. Once all have answered, the node of
//! the federates stores the image. The save ends with the record of that.

use super::{Event, Federation};
use hla::api::{SaveFailureReason, SaveStatus};
use hla::handle::FederateHandle;
use hla::{Exception, RtiError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The activity of a federation execution, as far as it makes services refuse the calls of a federate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Activity {
    /// The federate takes part in no save and in no restore.
    #[default]
    Normal,
    /// It was told of a save that has not ended.
    Save,
    /// It was told of a restore that has not ended.
    Restore,
}

/// An encoded logical time.
pub type TimeOctets = [u8; hla::time::ENCODED_LEN];

/// A save with a time of which no federate was told yet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Scheduled {
    number: u64,
    label: String,
    time: TimeOctets,
}

/// How far a federate is that was told of a save.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Step {
    Instructed,
    Saving,
    Answered,
}

/// The reason why a save, or a restore, fails once all federates have answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Failure {
    Reported,
    Resigned,
}

/// A save in progress.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Save {
    number: u64,
    label: String,
    time: Option<TimeOctets>,
    /// The federates that were told.
    steps: BTreeMap<FederateHandle, Step>,
    /// All federates were told.
    complete: bool,
    /// All have answered, and the image is being stored.
    storing: bool,
    failure: Option<Failure>,
}

/// The saves of a federation execution.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Saves {
    /// The number of the request that came last, of a save or a restore.
    last: u64,
    scheduled: Option<Scheduled>,
    current: Option<Save>,
    /// The label and the time of the last save that has succeeded.
    saved: Option<(String, Option<TimeOctets>)>,
}

impl Saves {
    /// The number of the next request.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Whether a save is in progress.
    pub(super) fn is_active(&self) -> bool {
        self.current.is_some()
    }
}

impl Federation {
    /// The label and the number of the save whose image is being stored.
    pub(crate) fn storing(&self) -> Option<(&str, u64)> {
        let save = self.saves.current.as_ref().filter(|save| save.storing)?;
        Some((&save.label, save.number))
    }

    /// The number and the time of the save that is scheduled, or of which only some federates were
    /// told.
    pub(crate) fn scheduled_save(&self) -> Option<(u64, TimeOctets)> {
        let current = self.saves.current.as_ref().filter(|save| !save.complete);
        let partly_told = current.and_then(|save| Some((save.number, save.time?)));
        partly_told.or_else(|| self.saves.scheduled.as_ref().map(|save| (save.number, save.time)))
    }

    /// The label and the time of the last save that has succeeded.
    pub(crate) fn last_save(&self) -> Option<(&str, Option<TimeOctets>)> {
        self.saves.saved.as_ref().map(|(label, time)| (label.as_str(), *time))
    }

    /// The label and the time of the save that is scheduled or in progress.
    pub(crate) fn next_save(&self) -> Option<(&str, Option<TimeOctets>)> {
        let current = self.saves.current.as_ref().map(|save| (save.label.as_str(), save.time));
        let scheduled = self.saves.scheduled.as_ref().map(|save| (save.label.as_str(), Some(save.time)));
        current.or(scheduled)
    }

    /// The activity that a federate takes part in.
    pub(crate) fn activity(&self, federate: FederateHandle) -> Activity {
        let saves = self.saves.current.as_ref().is_some_and(|save| save.steps.contains_key(&federate));
        match saves {
            true => Activity::Save,
            false if self.restores(federate) => Activity::Restore,
            false => Activity::Normal,
        }
    }

    /// The progress of each federate in the save (4.25).
    pub(crate) fn save_status(&self) -> impl Iterator<Item = (FederateHandle, SaveStatus)> {
        let steps = self.saves.current.as_ref().map(|save| &save.steps);
        self.members.keys().map(move |&federate| {
            let step = steps.and_then(|steps| steps.get(&federate));
            (
                federate,
                match step {
                    None => SaveStatus::NoSaveInProgress,
                    Some(Step::Instructed) => SaveStatus::FederateInstructedToSave,
                    Some(Step::Saving) => SaveStatus::FederateSaving,
                    Some(Step::Answered) => SaveStatus::FederateWaitingForFederationToSave,
                },
            )
        })
    }

    /// Refuses what a save or a restore in progress excludes.
    ///
    /// # Errors
    /// `SaveInProgress`, `RestoreInProgress`.
    pub(super) fn check_idle(&self) -> Result<(), RtiError> {
        if self.saves.is_active() {
            let text = format!("federation execution `{}` is being saved", self.name);
            return Err(RtiError::new(Exception::SaveInProgress, text));
        }
        self.check_not_restoring()
    }

    /// Saving and restoring is possible for federates of one node.
    ///
    /// # Errors
    /// `RTIinternalError`.
    pub(super) fn check_one_node(&self, what: &str) -> Result<(), RtiError> {
        match self.nodes().len() {
            1 => Ok(()),
            nodes => Err(RtiError::internal(format!(
                "{what}: the federates of `{}` are connected to {nodes} RTI nodes; this RTI can do so only \
                 while all are connected to one node",
                self.name
            ))),
        }
    }

    /// Request Federation Save (4.19). Without a time, all federates are told at once.
    pub(super) fn request_save(
        &mut self,
        label: String,
        time: Option<TimeOctets>,
    ) -> Result<Vec<Event>, RtiError> {
        self.check_idle()?;
        self.check_no_restore_requested()?;
        self.check_one_node("a federation save")?;
        let number = self.saves.next_number();
        let execution = self.id;
        let Some(octets) = time else {
            let mut events = self.unschedule();
            events.extend(self.initiate(number, label, None, true));
            return Ok(events);
        };
        self.saves.scheduled = Some(Scheduled { number, label, time: octets });
        Ok(vec![Event::SaveScheduled { execution }])
    }

    /// Drops the save that is scheduled.
    pub(super) fn unschedule(&mut self) -> Vec<Event> {
        let dropped = self.saves.scheduled.take();
        dropped.map(|_| Event::SaveScheduled { execution: self.id }).into_iter().collect()
    }

    fn initiate(
        &mut self,
        number: u64,
        label: String,
        time: Option<TimeOctets>,
        complete: bool,
    ) -> Vec<Event> {
        tracing::info!(federation = self.name, label, "federation save initiated");
        let steps = BTreeMap::new();
        self.saves.current =
            Some(Save { number, label, time, steps, complete, storing: false, failure: None });
        match complete {
            true => self.tell_of_save(self.members.keys().copied().collect()),
            false => Vec::new(),
        }
    }

    /// Instructs those of these federates that were not told yet.
    fn tell_of_save(&mut self, federates: BTreeSet<FederateHandle>) -> Vec<Event> {
        let (execution, members) = (self.id, &self.members);
        let Some(save) = &mut self.saves.current else { return Vec::new() };
        let steps = &mut save.steps;
        let is_new =
            |federate: &FederateHandle| members.contains_key(federate) && !steps.contains_key(federate);
        let to: BTreeSet<_> = federates.into_iter().filter(is_new).collect();
        steps.extend(to.iter().map(|&federate| (federate, Step::Instructed)));
        let (label, time) = (save.label.clone(), save.time);
        match to.is_empty() {
            true => Vec::new(),
            false => vec![Event::SaveInitiated { execution, label, time, to }],
        }
    }

    /// Constrained federates have come to the time of a scheduled save, all of them if `last`.
    pub(super) fn reach_save(
        &mut self,
        number: u64,
        federates: BTreeSet<FederateHandle>,
        last: bool,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(scheduled) = self.saves.scheduled.take_if(|scheduled| scheduled.number == number) {
            if self.check_one_node("a federation save").is_err() {
                let to = self.members.keys().copied().collect();
                let failure = Some(SaveFailureReason::RtiUnableToSave);
                let execution = self.id;
                return vec![Event::SaveScheduled { execution }, Event::SaveEnded { execution, to, failure }];
            }
            let Scheduled { number, label, time } = scheduled;
            events.extend(self.initiate(number, label, Some(time), false));
        }
        let Some(save) = self.saves.current.as_mut().filter(|save| save.number == number) else {
            return events;
        };
        save.complete |= last;
        let told = if last { self.members.keys().copied().collect() } else { federates };
        events.extend(self.tell_of_save(told));
        events
    }

    fn step(&self, federate: FederateHandle) -> Option<Step> {
        self.saves.current.as_ref()?.steps.get(&federate).copied()
    }

    fn set_step(&mut self, federate: FederateHandle, to: Step) {
        let steps = self.saves.current.as_mut().map(|save| &mut save.steps);
        if let Some(step) = steps.and_then(|steps| steps.get_mut(&federate)) {
            *step = to;
        }
    }

    /// Whether a federate may begin its save.
    ///
    /// # Errors
    /// `SaveNotInitiated`.
    pub(crate) fn check_instructed(&self, federate: FederateHandle) -> Result<(), RtiError> {
        let text = match self.step(federate) {
            Some(Step::Instructed) => return Ok(()),
            Some(_) => "this federate has begun its save already",
            None => "this federate was not told to save",
        };
        Err(RtiError::new(Exception::SaveNotInitiated, text))
    }

    /// Federate Save Begun (4.21).
    pub(super) fn begin_save(&mut self, federate: FederateHandle) -> Result<Vec<Event>, RtiError> {
        self.check_instructed(federate)?;
        self.set_step(federate, Step::Saving);
        Ok(Vec::new())
    }

    /// Whether a federate may complete its save.
    ///
    /// # Errors
    /// `FederateHasNotBegunSave`.
    pub(crate) fn check_saving(&self, federate: FederateHandle) -> Result<(), RtiError> {
        let text = match self.step(federate) {
            Some(Step::Saving) => return Ok(()),
            Some(Step::Answered) => "this federate has completed its save already",
            Some(Step::Instructed) => "federateSaveBegun comes first",
            None => "this federate was not told to save",
        };
        Err(RtiError::new(Exception::FederateHasNotBegunSave, text))
    }

    /// Federate Save Complete, or Not Complete (4.22).
    pub(super) fn complete_save(
        &mut self,
        federate: FederateHandle,
        success: bool,
    ) -> Result<Vec<Event>, RtiError> {
        self.check_saving(federate)?;
        self.set_step(federate, Step::Answered);
        if let Some(save) = self.saves.current.as_mut().filter(|_| !success) {
            save.failure.get_or_insert(Failure::Reported);
        }
        Ok(self.review_save())
    }

    /// Goes on once all federates have answered.
    fn review_save(&mut self) -> Vec<Event> {
        let (execution, Some(save)) = (self.id, &mut self.saves.current) else { return Vec::new() };
        let all = save.complete && save.steps.values().all(|step| *step == Step::Answered);
        match save.failure {
            _ if !all => Vec::new(),
            Some(Failure::Reported) => {
                self.end_save(Some(SaveFailureReason::FederateReportedFailureDuringSave))
            }
            Some(Failure::Resigned) => self.end_save(Some(SaveFailureReason::FederateResignedDuringSave)),
            None if std::mem::replace(&mut save.storing, true) => Vec::new(),
            None => vec![Event::SaveAnswered { execution }],
        }
    }

    /// The image of the save with this number was stored, or could not be.
    pub(super) fn image_stored(&mut self, number: u64, failure: Option<&str>) -> Vec<Event> {
        if self.storing().is_none_or(|(_, storing)| storing != number) {
            return Vec::new();
        }
        if let Some(why) = failure {
            tracing::error!(federation = self.name, why, "the federation execution was not saved");
        }
        self.end_save(failure.map(|_| SaveFailureReason::RtiUnableToSave))
    }

    /// Abort Federation Save (4.24).
    pub(super) fn abort_save(&mut self) -> Result<Vec<Event>, RtiError> {
        match self.saves.is_active() {
            true => Ok(self.end_save(Some(SaveFailureReason::SaveAborted))),
            false => {
                let text = format!("no save of `{}` is in progress", self.name);
                Err(RtiError::new(Exception::SaveNotInProgress, text))
            }
        }
    }

    fn end_save(&mut self, failure: Option<SaveFailureReason>) -> Vec<Event> {
        let Some(save) = self.saves.current.take() else { return Vec::new() };
        let result = failure.map_or("saved", |failure| failure.as_str_name());
        tracing::info!(federation = self.name, label = save.label, result, "federation save ended");
        let (execution, to) = (self.id, save.steps.into_keys().collect());
        if failure.is_none() {
            self.saves.saved = Some((save.label, save.time));
        }
        vec![Event::SaveEnded { execution, to, failure }]
    }

    /// A federate has left. A save cannot succeed without it.
    pub(super) fn leave_save(&mut self, federate: FederateHandle) -> Vec<Event> {
        if self.members.is_empty() {
            let mut events = self.unschedule();
            events.extend(self.end_save(Some(SaveFailureReason::FederateResignedDuringSave)));
            return events;
        }
        let Some(save) = &mut self.saves.current else { return Vec::new() };
        save.steps.remove(&federate);
        save.failure.get_or_insert(Failure::Resigned);
        self.review_save()
    }

    /// The end of a save that was in progress in an older state, `before`. Its outcome is not recorded.
    pub(super) fn missed_end_of_save(&self, before: &Federation) -> Option<Event> {
        let number = self.saves.current.as_ref().map(|save| save.number);
        let old = before.saves.current.as_ref().filter(|old| number != Some(old.number))?;
        let stays = |federate: &FederateHandle| self.members.contains_key(federate);
        let to = old.steps.keys().copied().filter(stays).collect();
        let failure = Some(SaveFailureReason::RtiDetectedFailureDuringSave);
        Some(Event::SaveEnded { execution: self.id, to, failure })
    }

    /// The progress of a save since an older state, `before`.
    pub(super) fn missed_progress_of_save(&self, before: &Federation, events: &mut Vec<Event>) {
        let execution = self.id;
        if before.saves.scheduled != self.saves.scheduled {
            events.push(Event::SaveScheduled { execution });
        }
        let Some(new) = &self.saves.current else { return };
        let old = before.saves.current.as_ref().filter(|old| old.number == new.number);
        let is_told = |federate: &FederateHandle| old.is_some_and(|old| old.steps.contains_key(federate));
        let to: BTreeSet<_> = new.steps.keys().copied().filter(|federate| !is_told(federate)).collect();
        if !to.is_empty() {
            events.push(Event::SaveInitiated { execution, label: new.label.clone(), time: new.time, to });
        }
        if new.storing && !old.is_some_and(|old| old.storing) {
            events.push(Event::SaveAnswered { execution });
        }
    }
}
