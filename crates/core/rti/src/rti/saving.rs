//! Saving a federation execution: each node tells its federates, and stores its part of the image.
//!
//! Once all federates have answered and nothing is on its way between the nodes, nobody may change
//! anything. Each node then copies its part in slices, so that other federation executions go on. One
//! [`Job`](crate::Job) encodes it. When the parts of all nodes are known, another one stores it.

use super::Rti;
use super::execution::Execution;
use super::shared::Shared;
use crate::control::{Activity, Command, ExecutionId, FederationImage, NodeId, TimeOctets};
use crate::image::{self, Head, Part, Restored};
use crate::mom::{FederateValue, FederationValue};
use crate::object::image::InstanceImage;
use crate::object::instance::Cursor;
use crate::proposal::Proposal;
use hla::api::{self, SaveFailureReason, callback_request::CallbackRequest as Callback};
use hla::handle::FederateHandle;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Instances that are copied in one slice, which takes some milliseconds.
const COPIED_PER_SLICE: usize = 5_000;

/// The part of an image that was copied.
pub(super) struct Capture {
    cursor: Cursor,
    instances: Vec<InstanceImage>,
    /// The greatest number of an instance, by the node that registered it.
    last_instances: BTreeMap<NodeId, u32>,
}

/// Storing or reading an image, off the kernel's thread.
pub(super) struct ImageTask {
    pub(super) run: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>,
    pub(super) work: ImageWork,
}

/// The purpose of an [`ImageTask`], with the number of the request.
#[derive(Clone, Copy)]
pub(super) enum ImageWork {
    /// Its outcome: [`Copied`].
    Copy(ExecutionId, u64),
    /// Its outcome: `Result<(), String>`.
    Store(ExecutionId, u64),
    /// Its outcome: [`Found`].
    Find(ExecutionId, u64),
    /// Its outcome: [`Read`].
    Read(ExecutionId, u64),
}

/// The octets of a part of an image.
struct CopiedPart {
    octets: Arc<[u8]>,
    digest: u64,
    last_instances: BTreeMap<NodeId, u32>,
}

/// The outcome of encoding the part of this node.
type Copied = Result<CopiedPart, String>;

/// The outcome of looking for an image: its common part.
pub(super) type Found = Result<Box<FederationImage>, String>;

/// The outcome of reading the part of this node.
pub(super) type Read = Result<Box<Restored>, String>;

impl Execution {
    /// Schedules the save with a time that the control plane records, or none.
    pub(super) fn schedule_save(&mut self, shared: &mut Shared, scheduled: Option<(u64, TimeOctets)>) {
        let at = scheduled.and_then(|(_, time)| self.objects.time.decode_time(&time).ok());
        self.save = scheduled.map(|(number, _)| number);
        self.save_reported = false;
        self.time.schedule_save(at);
        // This proposes the command if all constrained federates have come to the time already.
        self.settle(shared);
    }

    /// Proposes that constrained federates are told of a save whose time they have come to, and says
    /// whether all of this node have.
    pub(super) fn report_save_reached(&mut self, shared: &mut Shared, federates: BTreeSet<FederateHandle>) {
        let Some(number) = self.save else { return };
        let all = self.time.is_save_reached();
        if std::mem::replace(&mut self.save_reported, all) != all || !federates.is_empty() {
            let (execution, node) = (self.id(), self.objects.node);
            let command = Command::ReachSave { execution, number, node, federates, all };
            shared.proposals.push_back(Proposal::new(command));
        }
    }

    /// Whether nothing is left to do here, and no call waits for other nodes.
    fn is_at_rest(&self) -> bool {
        self.objects.is_at_rest() && self.time.is_at_rest() && self.replication.is_at_rest()
    }

    /// Copies a slice of the instances. Returns whether it was the last one.
    fn copy_slice(&mut self) -> bool {
        let objects = &self.objects;
        let new = || Capture {
            cursor: objects.instances.cursor(),
            instances: Vec::new(),
            last_instances: BTreeMap::new(),
        };
        let capture = self.capture.get_or_insert_with(|| Box::new(new()));
        for image in objects.instance_images(&mut capture.cursor, COPIED_PER_SLICE) {
            let node = NodeId::of_instance(image.handle());
            let last = capture.last_instances.entry(node).or_default();
            *last = NodeId::number_of(image.handle()).max(*last);
            capture.instances.push(image);
        }
        capture.cursor.is_done()
    }
}

impl Rti {
    /// Sets what federates here take part in, so that their calls are refused or served.
    pub(super) fn set_activity(
        &mut self,
        id: ExecutionId,
        federates: impl Iterator<Item = FederateHandle>,
        activity: Activity,
    ) {
        let Some(execution) = self.executions.get(&id) else { return };
        let here = federates.filter_map(|federate| execution.objects.federates.get(&federate));
        let callers: Vec<_> = here.map(|federate| (federate.caller, federate.client)).collect();
        for (caller, client) in callers {
            if let Some(caller) = self.callers.get_mut(&caller) {
                caller.activity = activity;
            }
            if activity != Activity::Normal {
                self.shared.delivery.hold_all(self.shared.now, client, true);
            }
        }
    }

    /// Invokes a callback about a save or a restore at federates here. Nothing holds it up.
    pub(super) fn notify_directly(
        &mut self,
        id: ExecutionId,
        federates: impl Iterator<Item = FederateHandle>,
        callback: &Callback,
    ) {
        let Some(execution) = self.executions.get(&id) else { return };
        for federate in federates.filter_map(|federate| execution.objects.federates.get(&federate)) {
            self.shared.delivery.notify(self.shared.now, federate.client, callback.clone());
        }
    }

    /// Delivers to federates here what was withheld from them, and lets them call services again.
    pub(super) fn release(&mut self, id: ExecutionId, federates: &BTreeSet<FederateHandle>) {
        self.set_activity(id, federates.iter().copied(), Activity::Normal);
        let Some(execution) = self.executions.get(&id) else { return };
        for federate in federates.iter().filter_map(|federate| execution.objects.federates.get(federate)) {
            self.shared.delivery.hold_all(self.shared.now, federate.client, false);
        }
        self.tell_activity(id, federates.iter().copied());
    }

    /// Tells subscribers of the management object model of a changed HLAfederateState.
    pub(super) fn tell_activity(&mut self, id: ExecutionId, federates: impl Iterator<Item = FederateHandle>) {
        if let (Some(execution), Some(federation)) =
            (self.executions.get_mut(&id), self.control.execution(id))
        {
            for federate in federates {
                execution.managed_recorded(&mut self.shared, federation, federate, FederateValue::State);
            }
        }
    }

    fn tell_saves(&mut self, id: ExecutionId) {
        const VALUES: [FederationValue; 4] = [
            FederationValue::LastSaveName,
            FederationValue::LastSaveTime,
            FederationValue::NextSaveName,
            FederationValue::NextSaveTime,
        ];
        if let (Some(execution), Some(federation)) =
            (self.executions.get_mut(&id), self.control.execution(id))
        {
            execution.update_federation(&mut self.shared, federation, &VALUES);
            execution.settle(&mut self.shared);
        }
    }

    /// A save with a time was requested, replaced or dropped, or a save has ended.
    pub(super) fn save_scheduled(&mut self, id: ExecutionId) {
        let scheduled = self.control.execution(id).and_then(|federation| federation.scheduled_save());
        self.with(id, |execution, shared| execution.schedule_save(shared, scheduled));
        self.tell_saves(id);
    }

    /// Federates are instructed to save (4.20).
    pub(super) fn save_initiated(
        &mut self,
        id: ExecutionId,
        label: String,
        time: Option<TimeOctets>,
        to: &BTreeSet<FederateHandle>,
    ) {
        let callback = match time {
            None => Callback::InitiateFederateSave(api::InitiateFederateSave { label }),
            Some(time) => {
                let time = Some(api::LogicalTime { data: time.to_vec().into() });
                Callback::InitiateFederateSaveWithTime(api::InitiateFederateSaveWithTime { label, time })
            }
        };
        self.tell_activity(id, to.iter().copied());
        self.set_activity(id, to.iter().copied(), Activity::Save);
        self.notify_directly(id, to.iter().copied(), &callback);
        self.tell_saves(id);
    }

    /// All federates have saved: the node drains its channels. It reports as soon as nothing is left to
    /// do, and whenever that is so again after a message of another node.
    pub(super) fn save_answered(&mut self, id: ExecutionId) {
        self.shared.draining.insert(id);
        self.with(id, |execution, shared| {
            execution.channels = None;
            // A follower learns at once of what it has not received.
            execution.replicate(shared, |r, context| r.announce_all_reliably(context));
        });
    }

    /// Reports the channels of executions that drain them and have nothing left to do.
    pub(super) fn report_rest(&mut self) {
        if self.shared.draining.is_empty() || !self.shared.proposals.is_empty() {
            return;
        }
        for id in self.shared.draining.clone() {
            let (Some(execution), Some(federation)) =
                (self.executions.get_mut(&id), self.control.execution(id))
            else {
                continue;
            };
            let node = execution.objects.node;
            let Some(number) = federation.draining() else { continue };
            if !execution.is_at_rest() || self.unsettled.contains_key(&id) {
                continue;
            }
            let last_instance = execution.objects.last_instance;
            let channels = execution.replication.channels(&self.shared.peers, last_instance);
            if execution.channels.as_ref() != Some(&channels) {
                execution.channels = Some(channels.clone());
                let command = Command::AtRest { execution: id, number, node, channels: Box::new(channels) };
                self.shared.proposals.push_back(Proposal::new(command));
            }
        }
    }

    /// Nothing is on its way between the nodes any longer: each copies its part.
    pub(super) fn save_drained(&mut self, id: ExecutionId) {
        self.shared.draining.remove(&id);
        if let (Some(execution), Some(federation)) =
            (self.executions.get_mut(&id), self.control.execution(id))
            && federation.copying(execution.objects.node).is_some()
        {
            execution.capture = None;
            self.shared.capturing.insert(id);
        }
    }

    /// A save has ended (4.23).
    pub(super) fn save_ended(
        &mut self,
        id: ExecutionId,
        to: &BTreeSet<FederateHandle>,
        failure: Option<SaveFailureReason>,
    ) {
        self.shared.capturing.remove(&id);
        self.shared.draining.remove(&id);
        self.with(id, |execution, _| {
            execution.capture = None;
            execution.part = None;
        });
        let callback = match failure {
            None => Callback::FederationSaved(api::FederationSaved {}),
            Some(reason) => Callback::FederationNotSaved(api::FederationNotSaved { reason: reason.into() }),
        };
        self.notify_directly(id, to.iter().copied(), &callback);
        self.release(id, to);
        self.save_scheduled(id);
    }

    /// Copies a slice of an image. The last one is followed by a job that encodes the part.
    pub(super) fn capture(&mut self) {
        let Some(&id) = self.shared.capturing.first() else { return };
        let Some(execution) = self.executions.get_mut(&id) else {
            self.shared.capturing.remove(&id);
            return;
        };
        if !execution.copy_slice() {
            return;
        }
        self.shared.capturing.remove(&id);
        let Some(capture) = execution.capture.take() else { return };
        let copying = self.control.execution(id).and_then(|of| of.copying(execution.objects.node));
        let Some(number) = copying else { return };
        let Capture { instances, last_instances, .. } = *capture;
        let now = self.shared.now;
        execution.time.set_now(now);
        let delivery = &self.shared.delivery;
        let held = execution.objects.federates.values();
        let part = Part {
            objects: execution.objects.image(now),
            instances,
            time: execution.time.image(),
            held: held.map(|federate| (federate.handle, delivery.held(federate.client))).collect(),
            periods: execution.periods(&self.shared),
            streams: execution.replication.image(),
        };
        let run = move || -> Box<dyn Any + Send> {
            let (octets, digest) = part.encode();
            let copied: Copied = Ok(CopiedPart { octets: octets.into(), digest, last_instances });
            Box::new(copied)
        };
        self.jobs.images.push_back(ImageTask { run: Box::new(run), work: ImageWork::Copy(id, number) });
    }

    /// A part was encoded.
    fn part_copied(&mut self, id: ExecutionId, number: u64, copied: Copied) {
        let Some(execution) = self.executions.get_mut(&id) else { return };
        let node = execution.objects.node;
        match copied {
            Ok(CopiedPart { octets, digest, last_instances }) => {
                execution.part = Some(octets);
                self.propose(Command::PartCopied { execution: id, number, node, digest, last_instances });
            }
            Err(why) => {
                let failure = Some(why);
                self.propose(Command::PartStored { execution: id, number, node, failure });
            }
        }
    }

    /// The parts of all nodes are known: a job stores that of this node.
    pub(super) fn parts_copied(&mut self, id: ExecutionId) {
        let (Some(execution), Some(federation)) = (self.executions.get_mut(&id), self.control.execution(id))
        else {
            return;
        };
        let node = execution.objects.node;
        let (Some((label, number)), Some(common)) = (federation.storing(node), federation.image()) else {
            return;
        };
        let (name, label, part) = (federation.name.clone(), label.to_owned(), execution.part.take());
        let store = Arc::clone(&self.config.saves);
        let run = move || -> Box<dyn Any + Send> {
            let head = Head { federation: common, node };
            let part = part.ok_or_else(|| "the part of this node was not copied".to_owned());
            let stored: Result<(), String> =
                part.and_then(|part| store.store(&name, &label, &image::encode(&head, &part)));
            Box::new(stored)
        };
        self.jobs.images.push_back(ImageTask { run: Box::new(run), work: ImageWork::Store(id, number) });
    }

    /// Takes the outcome of an [`ImageTask`]; an error: it panicked.
    pub(super) fn image_done(&mut self, work: ImageWork, outcome: Result<Box<dyn Any + Send>, String>) {
        match work {
            ImageWork::Copy(execution, number) => self.part_copied(execution, number, result_of(outcome)),
            ImageWork::Store(execution, number) => {
                let failure = result_of::<()>(outcome).err();
                if let Some(here) = self.executions.get(&execution) {
                    let node = here.objects.node;
                    self.propose(Command::PartStored { execution, number, node, failure });
                }
            }
            ImageWork::Find(execution, number) => self.image_found(execution, number, result_of(outcome)),
            ImageWork::Read(execution, number) => self.part_read(execution, number, result_of(outcome)),
        }
    }
}

/// The result of a task, as its closure has returned it.
fn result_of<T: 'static>(outcome: Result<Box<dyn Any + Send>, String>) -> Result<T, String> {
    match outcome?.downcast::<Result<T, String>>() {
        Ok(result) => *result,
        Err(_) => Err("the outcome is not of the kind of the task".to_owned()),
    }
}
