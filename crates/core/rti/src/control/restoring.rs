//! Restoring a federation execution (1516.1-2025, 4.27 to 4.34), as all nodes record it.
//!
//! The node of the requester reads the image. The command that carries its common part begins the
//! restore: it assigns a saved federate to each federate, and a present node to each node that has
//! stored a part. These nodes read their parts. Once all have done so, and all federates have
//! answered, a federation execution with a new id takes the place of the present one, so that nothing
//! that is still on its way to the old one reaches it.

use super::image::PartMark;
use super::nodes::Nodes;
use super::saving::{Failure, Saves};
use super::{ControlPlane, Event, ExecutionId, Federation, FederationImage, Member, NodeId, PublishedClass};
use hla::api::{RestoreFailureReason, RestoreStatus};
use hla::handle::FederateHandle;
use hla::{Exception, RtiError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The saved federates that the federates become, by the handles before the restore.
pub(crate) type Assignment = BTreeMap<FederateHandle, FederateHandle>;

/// The nodes that take the places of those that have stored parts of an image.
pub(crate) type Placement = BTreeMap<NodeId, NodeId>;

/// The node that takes the place of one with this number.
///
/// # Errors
/// There is none: the image has no part of it.
pub(crate) fn placed(placement: &Placement, node: NodeId) -> Result<NodeId, String> {
    let now = placement.get(&node).copied();
    now.ok_or_else(|| format!("it names node {node}, of which it has no part"))
}

/// A federate in a restore.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Step {
    /// The saved federate that it becomes.
    becomes: FederateHandle,
    answered: bool,
}

/// A restore of which all federates were told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Begun {
    image: FederationImage,
    steps: BTreeMap<FederateHandle, Step>,
    placement: Placement,
    /// The nodes that have yet to read their parts.
    reading: BTreeSet<NodeId>,
    failure: Option<Failure>,
}

/// A restore that was requested.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Restore {
    number: u64,
    label: String,
    requester: FederateHandle,
    /// `None`: its image is being read.
    begun: Option<Begun>,
}

impl Federation {
    fn begun(&self) -> Option<&Begun> {
        self.restore.as_ref()?.begun.as_ref()
    }

    fn begun_mut(&mut self) -> Option<&mut Begun> {
        self.restore.as_mut()?.begun.as_mut()
    }

    /// An estimate of the memory of an image that is being restored, in bytes.
    pub(super) fn restore_bytes(&self) -> usize {
        self.begun().map_or(0, |begun| begun.image.names.bytes())
    }

    /// The number of the restore that was requested.
    pub(crate) fn restore_number(&self) -> Option<u64> {
        self.restore.as_ref().map(|restore| restore.number)
    }

    /// The label of the restore that has begun, and the part that a node has to read: the number that
    /// its node had, and its fingerprint.
    pub(crate) fn part_to_read(&self, node: NodeId) -> Option<(&str, NodeId, u64)> {
        let (restore, begun) = self.restore.as_ref().zip(self.begun())?;
        let (&saved, _) = begun.placement.iter().find(|(_, now)| **now == node)?;
        Some((&restore.label, saved, begun.image.parts.get(&saved)?.digest))
    }

    /// The nodes that take the places of those that have stored parts.
    pub(crate) fn placement(&self) -> Option<&Placement> {
        self.begun().map(|begun| &begun.placement)
    }

    /// Whether a federate was told of a restore that has not ended.
    pub(super) fn restores(&self, federate: FederateHandle) -> bool {
        self.begun().is_some_and(|begun| begun.steps.contains_key(&federate))
    }

    /// The progress of each federate in the restore (4.34), with the federate that it becomes.
    pub(crate) fn restore_status(
        &self,
    ) -> impl Iterator<Item = (FederateHandle, Option<FederateHandle>, RestoreStatus)> {
        self.members.keys().map(move |&federate| {
            let Some(restore) = &self.restore else {
                return (federate, None, RestoreStatus::NoRestoreInProgress);
            };
            let step = restore.begun.as_ref().and_then(|begun| begun.steps.get(&federate));
            let status = match step {
                None if federate == restore.requester => RestoreStatus::FederateRestoreRequestPending,
                None => RestoreStatus::FederateWaitingForRestoreToBegin,
                Some(Step { answered: false, .. }) => RestoreStatus::FederateRestoring,
                Some(Step { answered: true, .. }) => RestoreStatus::FederateWaitingForFederationToRestore,
            };
            (federate, step.map(|step| step.becomes), status)
        })
    }

    /// # Errors
    /// `RestoreInProgress`: the federates were told of a restore.
    pub(super) fn check_not_restoring(&self) -> Result<(), RtiError> {
        match self.begun() {
            Some(_) => {
                let text = format!("federation execution `{}` is being restored", self.name);
                Err(RtiError::new(Exception::RestoreInProgress, text))
            }
            None => Ok(()),
        }
    }

    /// # Errors
    /// `RestoreInProgress`: a restore was requested, and the RTI has not answered yet.
    pub(super) fn check_no_restore_requested(&self) -> Result<(), RtiError> {
        match &self.restore {
            Some(restore) => {
                let text = format!("a restore of `{}` was requested", restore.label);
                Err(RtiError::new(Exception::RestoreInProgress, text))
            }
            None => Ok(()),
        }
    }

    /// Request Federation Restore (4.27).
    pub(super) fn request_restore(
        &mut self,
        federate: FederateHandle,
        label: String,
    ) -> Result<Vec<Event>, RtiError> {
        self.check_idle()?;
        self.check_no_restore_requested()?;
        let number = self.saves.next_number();
        let execution = self.id;
        self.restore = Some(Restore { number, label: label.clone(), requester: federate, begun: None });
        Ok(vec![Event::RestoreRequested { execution, number, federate, label }])
    }

    /// The requested image was read: tells all federates, or refuses the request.
    pub(super) fn begin_restore(&mut self, number: u64, image: FederationImage, nodes: &Nodes) -> Vec<Event> {
        if self.restore.as_ref().is_none_or(|restore| restore.number != number || restore.begun.is_some()) {
            return Vec::new();
        }
        // A save with a time may have begun while the image was read.
        let checked = self.check_idle().and_then(|()| image.check_fits(self));
        let assigned = checked.and_then(|()| {
            let placement = self.place(&image, nodes)?;
            let assignment = self.assign(&image, &placement)?;
            self.check_placed(&image, (&assignment, &placement), nodes)?;
            Ok((assignment, placement))
        });
        let (assignment, placement) = match assigned {
            Ok(assigned) => assigned,
            Err(error) => return self.refuse_restore(number, &error.details),
        };
        let execution = self.id;
        let name = |saved: FederateHandle| {
            image.members.get(&saved).map(|member| member.name.clone()).unwrap_or_default()
        };
        let to = assignment.iter().map(|(&federate, &saved)| (federate, (saved, name(saved)))).collect();
        let steps =
            assignment.iter().map(|(&federate, &becomes)| (federate, Step { becomes, answered: false }));
        let steps = steps.collect();
        let mut events = self.unschedule();
        let Some(restore) = &mut self.restore else { return events };
        let reading = placement.values().copied().collect();
        restore.begun = Some(Begun { image, steps, placement, reading, failure: None });
        let (federate, label) = (restore.requester, restore.label.clone());
        tracing::info!(federation = self.name, label, "federation restore begins");
        events.push(Event::RestoreAnswered { execution, federate, label: label.clone(), granted: true });
        events.push(Event::RestoreBegun { execution, label, to });
        events
    }

    /// The requested image cannot be restored.
    pub(super) fn refuse_restore(&mut self, number: u64, why: &str) -> Vec<Event> {
        let refused = self.restore.take_if(|restore| restore.number == number && restore.begun.is_none());
        let Some(Restore { label, requester, .. }) = refused else { return Vec::new() };
        tracing::warn!(federation = self.name, label, why, "a federation restore was refused");
        let execution = self.id;
        vec![Event::RestoreAnswered { execution, federate: requester, label, granted: false }]
    }

    /// Assigns a saved federate to each federate: of the same type, of the same name if possible, and the
    /// others in the order of their handles, first those whose nodes have stored their states.
    ///
    /// # Errors
    /// The numbers of federates of some type differ.
    fn assign(&self, image: &FederationImage, placement: &Placement) -> Result<Assignment, RtiError> {
        let (mut saved, mut assignment) = (by_type(&image.members), Assignment::new());
        for (kind, mut present) in by_type(&self.members) {
            let mut of_kind = saved.remove(kind).unwrap_or_default();
            if of_kind.len() != present.len() {
                return Err(wrong_number(kind, of_kind.len(), present.len()));
            }
            let same_name = |now: &Member, saved: &Member| now.name == saved.name;
            let same_node = |now: &Member, saved: &Member| placement.get(&saved.node) == Some(&now.node);
            pair(&mut present, &mut of_kind, &mut assignment, same_name);
            pair(&mut present, &mut of_kind, &mut assignment, same_node);
            pair(&mut present, &mut of_kind, &mut assignment, |_, _| true);
        }
        match saved.iter().find(|(_, missing)| !missing.is_empty()) {
            Some((kind, missing)) => Err(wrong_number(kind, missing.len(), 0)),
            None => Ok(assignment),
        }
    }

    /// Finds the nodes that take the places of those that have stored parts: that of all federates, if
    /// there is one part, and otherwise the nodes of the same names.
    ///
    /// # Errors
    /// A node is missing, or there is one part and federates are connected to several nodes.
    fn place(&self, image: &FederationImage, nodes: &Nodes) -> Result<Placement, RtiError> {
        let present = self.nodes();
        if let (1, Some((&saved, part)), Some(&node)) =
            (image.parts.len(), image.parts.first_key_value(), present.first())
        {
            if present.len() == 1 {
                return Ok(Placement::from([(saved, node)]));
            }
            let names: Vec<_> = present.iter().map(|&node| format!("`{}`", nodes.name(node))).collect();
            return Err(RtiError::internal(format!(
                "all federates were connected to one RTI node (`{}`) when they were saved, and are connected to \
                 {} now; they must be connected to one",
                part.name,
                names.join(", ")
            )));
        }
        let place = |(&saved, part): (&NodeId, &PartMark)| {
            let record = nodes.live.values().find(|record| record.name == part.name);
            record.map(|record| (saved, record.node)).ok_or_else(|| {
                RtiError::internal(format!(
                    "node `{}`, which has stored a part of the save, is not part of the network",
                    part.name
                ))
            })
        };
        image.parts.iter().map(place).collect()
    }

    /// Checks that each federate is connected to the node that has stored its state.
    ///
    /// # Errors
    /// The first one that is not.
    fn check_placed(
        &self,
        image: &FederationImage,
        (assignment, placement): (&Assignment, &Placement),
        nodes: &Nodes,
    ) -> Result<(), RtiError> {
        for (federate, saved) in assignment {
            let (Some(now), Some(member)) = (self.members.get(federate), image.members.get(saved)) else {
                continue;
            };
            if placement.get(&member.node) != Some(&now.node) {
                let before = image.parts.get(&member.node).map_or("", |part| &part.name);
                return Err(RtiError::internal(format!(
                    "federate `{}` was connected to node `{before}` when it was saved, and federate `{}` is \
                     connected to node `{}`; connect it there, since that node has stored its state",
                    member.name,
                    now.name,
                    nodes.name(now.node)
                )));
            }
        }
        Ok(())
    }

    /// Whether a federate may complete its restore.
    ///
    /// # Errors
    /// `RestoreNotRequested`.
    pub(crate) fn check_restoring(&self, federate: FederateHandle) -> Result<(), RtiError> {
        let step = self.begun().and_then(|begun| begun.steps.get(&federate));
        match step.is_some_and(|step| !step.answered) {
            true => Ok(()),
            false => {
                let text = "this federate has no restore to complete";
                Err(RtiError::new(Exception::RestoreNotRequested, text))
            }
        }
    }

    /// Federate Restore Complete, or Not Complete (4.31). Returns whether the restore is over with
    /// success.
    fn complete_restore(
        &mut self,
        federate: FederateHandle,
        success: bool,
    ) -> Result<(Vec<Event>, bool), RtiError> {
        self.check_restoring(federate)?;
        if let Some(begun) = self.begun_mut() {
            begun.steps.get_mut(&federate).into_iter().for_each(|step| step.answered = true);
            if !success {
                begun.failure.get_or_insert(Failure::Reported);
            }
        }
        Ok(self.review_restore())
    }

    fn review_restore(&mut self) -> (Vec<Event>, bool) {
        let Some(begun) = self.begun() else { return (Vec::new(), false) };
        let all = begun.steps.values().all(|step| step.answered);
        match begun.failure {
            _ if !all => (Vec::new(), false),
            None => (Vec::new(), begun.reading.is_empty()),
            Some(Failure::Reported) => {
                (self.end_restore(RestoreFailureReason::FederateReportedFailureDuringRestore), false)
            }
            Some(Failure::Resigned) => {
                (self.end_restore(RestoreFailureReason::FederateResignedDuringRestore), false)
            }
        }
    }

    /// Abort Federation Restore (4.33).
    pub(super) fn abort_restore(&mut self) -> Result<Vec<Event>, RtiError> {
        match self.begun() {
            Some(_) => Ok(self.end_restore(RestoreFailureReason::RestoreAborted)),
            None => {
                let text = format!("no restore of `{}` is in progress", self.name);
                Err(RtiError::new(Exception::RestoreNotInProgress, text))
            }
        }
    }

    /// A node has read its part of the image, or cannot use it. Returns whether the restore is over with
    /// success.
    fn part_read(&mut self, number: u64, node: NodeId, failure: Option<&str>) -> (Vec<Event>, bool) {
        let begun = self.restore.as_mut().filter(|restore| restore.number == number);
        let Some(begun) = begun.and_then(|restore| restore.begun.as_mut()) else {
            return (Vec::new(), false);
        };
        let was_last = begun.reading.remove(&node) && begun.reading.is_empty();
        match failure {
            Some(why) => {
                tracing::error!(federation = self.name, %node, why, "a part of the image cannot be used");
                (self.end_restore(RestoreFailureReason::RtiUnableToRestore), false)
            }
            None if was_last => self.review_restore(),
            None => (Vec::new(), false),
        }
    }

    /// A node that reads, or has read, a part of the image was removed from the network.
    pub(super) fn lose_node_of_restore(&mut self, node: NodeId) -> Vec<Event> {
        let mut nodes = self.placement().into_iter().flat_map(BTreeMap::values);
        match nodes.any(|needed| *needed == node) {
            true => self.end_restore(RestoreFailureReason::RtiDetectedFailureDuringRestore),
            false => Vec::new(),
        }
    }

    fn end_restore(&mut self, reason: RestoreFailureReason) -> Vec<Event> {
        let Some(Restore { label, begun: Some(begun), .. }) = self.restore.take() else { return Vec::new() };
        tracing::warn!(federation = self.name, label, reason = reason.as_str_name(), "not restored");
        let (execution, to) = (self.id, begun.steps.into_keys().collect());
        vec![Event::NotRestored { execution, to, reason }]
    }

    /// A federate has left. A restore cannot succeed without it.
    pub(super) fn leave_restore(&mut self, federate: FederateHandle) -> Vec<Event> {
        let is_own = |restore: &mut Restore| restore.requester == federate && restore.begun.is_none();
        if self.restore.take_if(is_own).is_some() {
            return Vec::new();
        }
        if let Some(begun) = self.begun_mut() {
            begun.steps.remove(&federate);
            begun.failure.get_or_insert(Failure::Resigned);
        }
        self.review_restore().0
    }

    /// The end of a restore that had begun in an older state, `before`. Its outcome is not recorded.
    pub(super) fn missed_end_of_restore(&self, before: &Federation) -> Option<Event> {
        let begun = before.begun().filter(|_| before.restore_number() != self.restore_number())?;
        let stays = |federate: &FederateHandle| self.members.contains_key(federate);
        let to = begun.steps.keys().copied().filter(stays).collect();
        let reason = RestoreFailureReason::RtiDetectedFailureDuringRestore;
        Some(Event::NotRestored { execution: self.id, to, reason })
    }

    /// The beginning of a restore since an older state, `before`.
    pub(super) fn missed_beginning_of_restore(&self, before: &Federation) -> Option<Event> {
        let was_begun = before.begun().is_some() && before.restore_number() == self.restore_number();
        let (restore, begun) = self.restore.as_ref().zip(self.begun()).filter(|_| !was_begun)?;
        let name = |saved| begun.image.members.get(&saved).map(|member| member.name.clone());
        let told = |(&federate, step): (&FederateHandle, &Step)| {
            (federate, (step.becomes, name(step.becomes).unwrap_or_default()))
        };
        let (label, to) = (restore.label.clone(), begun.steps.iter().map(told).collect());
        Some(Event::RestoreBegun { execution: self.id, label, to })
    }
}

/// Federates in the order of their handles.
type Federates<'a> = Vec<(FederateHandle, &'a Member)>;

fn by_type(members: &BTreeMap<FederateHandle, Member>) -> BTreeMap<&str, Federates<'_>> {
    let mut all = BTreeMap::<&str, Vec<_>>::new();
    for (&federate, member) in members {
        all.entry(&member.federate_type).or_default().push((federate, member));
    }
    all
}

/// Moves pairs of a present and a saved federate that fit together into the assignment.
fn pair(
    present: &mut Federates<'_>,
    saved: &mut Federates<'_>,
    assignment: &mut Assignment,
    fits: impl Fn(&Member, &Member) -> bool,
) {
    present.retain(|&(federate, now)| match saved.iter().position(|(_, member)| fits(now, member)) {
        Some(at) => {
            assignment.insert(federate, saved.remove(at).0);
            false
        }
        None => true,
    });
}

/// The publishers of classes, as nodes of the present.
fn placed_publishers(
    publishers: BTreeMap<PublishedClass, BTreeSet<NodeId>>,
    placement: &Placement,
) -> BTreeMap<PublishedClass, BTreeSet<NodeId>> {
    let now =
        |nodes: BTreeSet<NodeId>| nodes.iter().filter_map(|node| placement.get(node)).copied().collect();
    publishers.into_iter().map(|(class, nodes)| (class, now(nodes))).collect()
}

fn wrong_number(kind: &str, saved: usize, joined: usize) -> RtiError {
    RtiError::internal(format!(
        "{saved} federates of type `{kind}` were saved, and {joined} are joined; the numbers must be equal"
    ))
}

impl ControlPlane {
    /// Takes the answer of a federate.
    pub(super) fn complete_restore(
        &mut self,
        id: ExecutionId,
        federate: FederateHandle,
        success: bool,
    ) -> Result<Vec<Event>, RtiError> {
        let completed = self.execution_of(id, federate)?.complete_restore(federate, success)?;
        self.review_restored(id, completed)
    }

    /// Takes the outcome of reading a part.
    pub(super) fn part_read(
        &mut self,
        id: ExecutionId,
        number: u64,
        node: NodeId,
        failure: Option<&str>,
    ) -> Result<Vec<Event>, RtiError> {
        let read = self.execution_mut(id)?.part_read(number, node, failure);
        self.review_restored(id, read)
    }

    /// If a restore is over with success, the saved federation execution takes the place of the present
    /// one.
    fn review_restored(
        &mut self,
        id: ExecutionId,
        (events, is_over): (Vec<Event>, bool),
    ) -> Result<Vec<Event>, RtiError> {
        if !is_over {
            return Ok(events);
        }
        let next = self.next_execution()?;
        let is_network = self.is_network();
        let federation = self.execution_mut(id)?;
        let Some(Restore { label, begun: Some(begun), .. }) = federation.restore.take() else {
            return Ok(events);
        };
        tracing::info!(federation = federation.name, label, "federation restored");
        let assignment: Assignment =
            begun.steps.iter().map(|(&federate, step)| (federate, step.becomes)).collect();
        federation.become_image(next, begun, is_network);
        let name = federation.name.clone();
        self.names.remove(&id);
        self.names.insert(next, name);
        Ok(vec![Event::Restored { from: id, to: next, assignment }])
    }
}

impl Federation {
    /// Takes over the state of an image under a new id.
    fn become_image(&mut self, id: ExecutionId, begun: Begun, is_network: bool) {
        let Begun { image, steps, placement, .. } = begun;
        let mut members = image.members;
        for (federate, step) in &steps {
            if let (Some(now), Some(member)) = (self.members.get(federate), members.get_mut(&step.becomes)) {
                member.node = now.node;
                member.host.clone_from(&now.host);
            }
        }
        self.id = id;
        self.sync = image.sync;
        self.names = image.names;
        self.last_federate = self.last_federate.max(image.last_federate);
        self.auto_provide = image.auto_provide;
        self.last_instances = image.last_instances;
        self.members = members;
        self.saves = Saves::default();
        // A single node publishes its classes anew. Several follow each other from the beginning.
        self.publishers = match placement.len() {
            1 => BTreeMap::new(),
            _ => placed_publishers(image.publishers, &placement),
        };
        self.publication_changes = 0;
        self.publication_commands = BTreeMap::new();
        self.watchers = BTreeSet::new();
        self.time_home = self.nodes().first().copied().filter(|_| is_network);
    }
}
