//! Saving a federation execution (1516.1-2025, 4.19 to 4.25), as all nodes record it.
//!
//! A save with a time is *scheduled* until the first federate is told of it. From then on it is *in
//! progress*: each federate is instructed, begins, and answers. Once all have answered, the nodes
//! *drain* the [channels](super::channels) between them. Then each copies its part of the image, and
//! says which octets that part has. Once the parts of all are known, each stores its own one, with a
//! list of all. The save ends when all have done so.

use super::channels::{self, Channels};
use super::image::PartMark;
use super::nodes::Nodes;
use super::{Event, Federation, NodeId};
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
    /// The nodes whose constrained federates have all come to the time.
    reached: BTreeSet<NodeId>,
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

/// The work of the nodes for a save.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Stage {
    /// Nothing: federates have yet to answer.
    Federates,
    /// They deliver what they have sent to each other. These nodes have reported.
    Draining(BTreeMap<NodeId, Channels>),
    /// These have yet to copy their parts, of which the others are known.
    Copying(BTreeSet<NodeId>, Parts),
    /// These have yet to store their parts.
    Storing(BTreeSet<NodeId>, Parts),
}

impl Stage {
    const fn place(&self) -> u8 {
        match self {
            Self::Federates => 0,
            Self::Draining(_) => 1,
            Self::Copying(..) => 2,
            Self::Storing(..) => 3,
        }
    }
}

/// The parts of an image.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Parts {
    pub(super) marks: BTreeMap<NodeId, PartMark>,
    /// The greatest number of an instance, by the node that registered it.
    pub(super) last_instances: BTreeMap<NodeId, u32>,
}

/// A save in progress.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Save {
    number: u64,
    label: String,
    time: Option<TimeOctets>,
    /// The nodes whose constrained federates have all come to the time.
    reached: BTreeSet<NodeId>,
    /// The federates that were told.
    steps: BTreeMap<FederateHandle, Step>,
    /// All federates were told.
    complete: bool,
    stage: Stage,
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
    /// The number of the save for which the nodes drain their channels.
    pub(crate) fn draining(&self) -> Option<u64> {
        let save = self.saves.current.as_ref()?;
        matches!(save.stage, Stage::Draining(_)).then_some(save.number)
    }

    /// The number of the save of which a node has yet to copy its part.
    pub(crate) fn copying(&self, node: NodeId) -> Option<u64> {
        let save = self.saves.current.as_ref()?;
        matches!(&save.stage, Stage::Copying(left, _) if left.contains(&node)).then_some(save.number)
    }

    /// The label and the number of the save of which a node has yet to store its part.
    pub(crate) fn storing(&self, node: NodeId) -> Option<(&str, u64)> {
        let save = self.saves.current.as_ref()?;
        let is_left = matches!(&save.stage, Stage::Storing(left, _) if left.contains(&node));
        is_left.then_some((&save.label, save.number))
    }

    /// The parts of the image that is being stored.
    pub(super) fn stored_parts(&self) -> Option<&Parts> {
        match &self.saves.current.as_ref()?.stage {
            Stage::Storing(_, parts) => Some(parts),
            Stage::Federates | Stage::Draining(_) | Stage::Copying(..) => None,
        }
    }

    /// The nodes that an image has parts of: those with federates, and those with instances that
    /// federates have left without an owner.
    pub(crate) fn nodes_of_image(&self) -> BTreeSet<NodeId> {
        let mut nodes = self.nodes();
        nodes.extend(self.publications().map(|(_, node)| node));
        nodes
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

    /// Request Federation Save (4.19). Without a time, all federates are told at once.
    pub(super) fn request_save(
        &mut self,
        label: String,
        time: Option<TimeOctets>,
    ) -> Result<Vec<Event>, RtiError> {
        self.check_idle()?;
        self.check_no_restore_requested()?;
        let number = self.saves.next_number();
        let execution = self.id;
        let Some(octets) = time else {
            let mut events = self.unschedule();
            self.initiate(number, label, None, BTreeSet::new());
            events.extend(self.tell_of_save(self.members.keys().copied().collect()));
            return Ok(events);
        };
        self.saves.scheduled = Some(Scheduled { number, label, time: octets, reached: BTreeSet::new() });
        Ok(vec![Event::SaveScheduled { execution }])
    }

    /// Drops the save that is scheduled.
    pub(super) fn unschedule(&mut self) -> Vec<Event> {
        let dropped = self.saves.scheduled.take();
        dropped.map(|_| Event::SaveScheduled { execution: self.id }).into_iter().collect()
    }

    /// Begins a save. All federates are told at once, unless it has a time.
    fn initiate(&mut self, number: u64, label: String, time: Option<TimeOctets>, reached: BTreeSet<NodeId>) {
        tracing::info!(federation = self.name, label, "federation save initiated");
        self.saves.current = Some(Save {
            number,
            label,
            time,
            reached,
            steps: BTreeMap::new(),
            complete: time.is_none(),
            stage: Stage::Federates,
            failure: None,
        });
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

    /// Constrained federates of a node have come to the time of a scheduled save. `all`: there are no
    /// others at that node, as far as it knows now.
    pub(super) fn reach_save(
        &mut self,
        number: u64,
        (node, all): (NodeId, bool),
        federates: BTreeSet<FederateHandle>,
    ) -> Vec<Event> {
        let nodes = self.nodes();
        let note = |reached: &mut BTreeSet<NodeId>| {
            if all {
                reached.insert(node)
            } else {
                reached.remove(&node)
            };
            nodes.is_subset(reached)
        };
        if let Some(scheduled) = self.saves.scheduled.as_mut().filter(|scheduled| scheduled.number == number)
        {
            if !note(&mut scheduled.reached) && federates.is_empty() {
                return Vec::new();
            }
            let Scheduled { number, label, time, reached } = scheduled.clone();
            self.saves.scheduled = None;
            self.initiate(number, label, Some(time), reached);
        }
        let Some(save) = self.saves.current.as_mut().filter(|save| save.number == number) else {
            return Vec::new();
        };
        save.complete |= note(&mut save.reached);
        let told = if save.complete { self.members.keys().copied().collect() } else { federates };
        self.tell_of_save(told)
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
            None if save.stage != Stage::Federates => Vec::new(),
            None => {
                save.stage = Stage::Draining(BTreeMap::new());
                vec![Event::SaveAnswered { execution }]
            }
        }
    }

    fn stage(&mut self, number: u64) -> Option<&mut Stage> {
        let save = self.saves.current.as_mut().filter(|save| save.number == number)?;
        Some(&mut save.stage)
    }

    /// A node has nothing left to do before parts are copied.
    pub(super) fn at_rest(
        &mut self,
        number: u64,
        node: NodeId,
        channels: Channels,
        nodes: &Nodes,
    ) -> Vec<Event> {
        if let Some(Stage::Draining(reports)) = self.stage(number) {
            reports.insert(node, channels);
        }
        self.review_draining(nodes)
    }

    /// Lets nodes copy their parts once nothing is on its way. All nodes of the network have reported
    /// then: federates of one that takes no part may just have left.
    pub(super) fn review_draining(&mut self, nodes: &Nodes) -> Vec<Event> {
        let left = self.nodes_of_image();
        let Some(Save { stage, .. }) = &mut self.saves.current else { return Vec::new() };
        let Stage::Draining(reports) = stage else { return Vec::new() };
        reports.retain(|&node, _| nodes.may_act(node));
        let all = nodes.live.keys().chain(&left).all(|node| reports.contains_key(node));
        if !all || !channels::are_empty(reports) {
            return Vec::new();
        }
        let last_instances = reports.iter().map(|(&node, report)| (node, report.last_instance)).collect();
        *stage = Stage::Copying(left, Parts { marks: BTreeMap::new(), last_instances });
        vec![Event::SaveDrained { execution: self.id }]
    }

    /// A node called `name` has copied its part.
    pub(super) fn part_copied(
        &mut self,
        number: u64,
        (node, name): (NodeId, String),
        digest: u64,
        last_instances: BTreeMap<NodeId, u32>,
    ) -> Vec<Event> {
        let Some(stage) = self.stage(number) else { return Vec::new() };
        let Stage::Copying(left, parts) = stage else { return Vec::new() };
        if !left.remove(&node) {
            return Vec::new();
        }
        parts.marks.insert(node, PartMark { name, digest });
        for (node, last) in last_instances {
            let known = parts.last_instances.entry(node).or_default();
            *known = last.max(*known);
        }
        if !left.is_empty() {
            return Vec::new();
        }
        *stage = Stage::Storing(parts.marks.keys().copied().collect(), std::mem::take(parts));
        vec![Event::PartsCopied { execution: self.id }]
    }

    /// A node has stored its part, or could not copy or store it.
    pub(super) fn part_stored(&mut self, number: u64, node: NodeId, failure: Option<&str>) -> Vec<Event> {
        let Some(stage) = self.stage(number) else { return Vec::new() };
        let is_last = match stage {
            Stage::Storing(left, _) => left.remove(&node) && left.is_empty(),
            Stage::Federates | Stage::Draining(_) | Stage::Copying(..) => false,
        };
        if let Some(why) = failure {
            tracing::error!(federation = self.name, %node, why, "the federation execution was not saved");
            return self.end_save(Some(SaveFailureReason::RtiUnableToSave));
        }
        if is_last { self.end_save(None) } else { Vec::new() }
    }

    /// A node that an image has a part of was removed from the network.
    pub(super) fn lose_node_of_save(&mut self) -> Vec<Event> {
        let takes_part = |save: &Save| save.stage != Stage::Federates;
        match self.saves.current.as_ref().is_some_and(takes_part) {
            true => self.end_save(Some(SaveFailureReason::RtiDetectedFailureDuringSave)),
            false => Vec::new(),
        }
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
        if let Some(save) = &mut self.saves.current {
            save.steps.remove(&federate);
        }
        if self.members.is_empty() {
            let mut events = self.unschedule();
            events.extend(self.end_save(Some(SaveFailureReason::FederateResignedDuringSave)));
            return events;
        }
        let Some(save) = &mut self.saves.current else { return Vec::new() };
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
        // An older stage: a node could not have come to this one without the node here.
        if new.stage.place() > old.map_or(0, |old| old.stage.place()) {
            events.extend(match new.stage {
                Stage::Federates => None,
                Stage::Draining(_) => Some(Event::SaveAnswered { execution }),
                Stage::Copying(..) => Some(Event::SaveDrained { execution }),
                Stage::Storing(..) => Some(Event::PartsCopied { execution }),
            });
        }
    }
}
