//! Restoring a saved federation execution: the node of the requester finds the image, each node reads
//! its part, and builds new machines from it once all federates have answered.
//!
//! Until then the present machines stay as they are, and withhold everything from their federates. If
//! the restore fails, they go on.

use super::Rti;
use super::execution::Execution;
use super::saving::{Found, ImageTask, ImageWork, Read};
use super::shared::Shared;
use crate::caller::Standing;
use crate::control::management::FEDERATION_INSTANCE;
use crate::control::{Activity, Assignment, Command, ExecutionId, Federation};
use crate::image::{self, Restored};
use crate::object::image::RestoredSession;
use hla::api::{self, RestoreFailureReason, callback_request::CallbackRequest as Callback};
use hla::handle::FederateHandle;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Execution {
    /// Takes over an image, into machines without federates. The common part is in place already.
    fn take_image(
        &mut self,
        shared: &mut Shared,
        (federation, removals): (&Federation, u32),
        image: Restored,
        sessions: &BTreeMap<FederateHandle, RestoredSession>,
    ) {
        let Restored { objects, instances, clocks, held, periods, streams } = image;
        self.objects.take_image(&mut shared.effects, objects, instances, sessions);
        // Its instances are in the image. Their subscribers know them.
        self.mom.is_present = self.objects.instances.get(FEDERATION_INSTANCE).is_some();
        for (federate, arrivals) in held {
            if let Some(session) = sessions.get(&federate) {
                shared.delivery.restore_held(session.client, arrivals);
            }
        }
        self.time.set_now(shared.now);
        sessions.keys().for_each(|&federate| self.time.joined(federate));
        match streams {
            Some(streams) => {
                self.objects.go_on_publishing(streams.published());
                self.time.enter_network(self.objects.node, federation.time_home(), removals);
                self.replicate(shared, |r, context| r.take_image(context, streams, federation));
                self.time.take_image(clocks);
                // Nothing is granted until all nodes have said how far they have come.
                self.time.begin_anew(removals, federation.time_home(), federation.nodes());
            }
            None => {
                if shared.peers.active {
                    self.start_replication(shared, federation, removals);
                }
                self.time.take_image(clocks);
            }
        }
        if self.mom.is_present {
            self.note_states();
        }
        for (federate, period, left) in periods {
            self.set_period(shared, federate, period, left);
        }
        self.settle(shared);
        for &federate in sessions.keys() {
            self.count_queue(shared, federate);
        }
    }
}

impl Rti {
    /// A restore was requested (4.27): the node of the federate reads the image.
    pub(super) fn restore_requested(
        &mut self,
        id: ExecutionId,
        number: u64,
        federate: FederateHandle,
        label: String,
    ) {
        let (Some(execution), Some(federation)) = (self.executions.get(&id), self.control.execution(id))
        else {
            return;
        };
        if !execution.objects.federates.contains_key(&federate) {
            return;
        }
        let name = federation.name.clone();
        let store = Arc::clone(&self.config.saves);
        let run = move || -> Box<dyn Any + Send> {
            let found: Found = match store.load(&name, &label) {
                Ok(Some(octets)) => image::decode(&octets).map(|(head, _)| Box::new(head.federation)),
                Ok(None) => Err("nothing was saved under this label at this node".to_owned()),
                Err(why) => Err(why),
            };
            Box::new(found)
        };
        self.jobs.images.push_back(ImageTask { run: Box::new(run), work: ImageWork::Find(id, number) });
    }

    /// The image of a requested restore was found, or was not.
    pub(super) fn image_found(&mut self, execution: ExecutionId, number: u64, found: Found) {
        self.propose(match found {
            Ok(image) => Command::BeginRestore { execution, number, image },
            Err(why) => Command::RefuseRestore { execution, number, why },
        });
    }

    /// The answer to the request of a restore (4.28).
    pub(super) fn restore_answered(
        &mut self,
        id: ExecutionId,
        federate: FederateHandle,
        label: String,
        granted: bool,
    ) {
        let callback = match granted {
            true => {
                let succeeded = api::RequestFederationRestoreSucceeded { label };
                Callback::RequestFederationRestoreSucceeded(succeeded)
            }
            false => Callback::RequestFederationRestoreFailed(api::RequestFederationRestoreFailed { label }),
        };
        self.with(id, |execution, shared| {
            execution.act(shared, |objects, effects| objects.notify(effects, federate, callback));
        });
    }

    /// A restore begins (4.29, 4.30).
    pub(super) fn restore_begun(
        &mut self,
        id: ExecutionId,
        label: &str,
        to: BTreeMap<FederateHandle, (FederateHandle, String)>,
    ) {
        self.tell_activity(id, to.keys().copied());
        self.set_activity(id, to.keys().copied(), Activity::Restore);
        let begun = Callback::FederationRestoreBegun(api::FederationRestoreBegun {});
        self.notify_directly(id, to.keys().copied(), &begun);
        for (federate, (saved, federate_name)) in to {
            let initiate = Callback::InitiateFederateRestore(api::InitiateFederateRestore {
                label: label.to_owned(),
                federate_name,
                post_restore_federate_handle: Some(saved),
            });
            self.notify_directly(id, std::iter::once(federate), &initiate);
        }
        self.read_part(id);
    }

    /// Reads the part of this node, if it has to.
    fn read_part(&mut self, id: ExecutionId) {
        let (Some(execution), Some(federation)) = (self.executions.get(&id), self.control.execution(id))
        else {
            return;
        };
        let node = execution.objects.node;
        let (Some((label, saved, digest)), Some(placement), Some(number)) =
            (federation.part_to_read(node), federation.placement(), federation.restore_number())
        else {
            return;
        };
        let (name, label) = (federation.name.clone(), label.to_owned());
        let (placement, kind, store) = (placement.clone(), federation.time, Arc::clone(&self.config.saves));
        let run = move || -> Box<dyn Any + Send> {
            let read: Read = match store.load(&name, &label) {
                Ok(Some(octets)) => Restored::read(&octets, (saved, digest), &placement, kind),
                Ok(None) => Err("nothing was saved under this label at this node".to_owned()),
                Err(why) => Err(why),
            };
            Box::new(read)
        };
        self.jobs.images.push_back(ImageTask { run: Box::new(run), work: ImageWork::Read(id, number) });
    }

    /// The part of this node was read, or cannot be.
    pub(super) fn part_read(&mut self, id: ExecutionId, number: u64, read: Read) {
        let federation = self.control.execution(id).filter(|of| of.restore_number() == Some(number));
        let (Some(execution), Some(federation)) = (self.executions.get(&id), federation) else { return };
        let node = execution.objects.node;
        let checked = read.and_then(|image| {
            let fits = image.objects.check(&federation.model, &image.instances);
            fits.map(|()| image).map_err(|error| error.details.into_owned())
        });
        let failure = match checked {
            Ok(image) => {
                self.restored.insert(id, (number, image));
                None
            }
            Err(why) => Some(why),
        };
        self.propose(Command::PartRead { execution: id, number, node, failure });
    }

    /// A restore has failed: the present machines go on.
    pub(super) fn not_restored(
        &mut self,
        id: ExecutionId,
        to: &BTreeSet<FederateHandle>,
        reason: RestoreFailureReason,
    ) {
        self.restored.remove(&id);
        let callback = Callback::FederationNotRestored(api::FederationNotRestored { reason: reason.into() });
        self.notify_directly(id, to.iter().copied(), &callback);
        self.release(id, to);
    }

    /// A federation execution was restored (4.32): new machines take the place of the present ones.
    pub(super) fn take_restored(&mut self, from: ExecutionId, to: ExecutionId, assignment: &Assignment) {
        let Some(old) = self.executions.remove(&from) else { return };
        self.shared.working.remove(&from);
        self.shared.capturing.remove(&from);
        let image = self.restored.remove(&from);
        let mut sessions = BTreeMap::new();
        for (federate, &saved) in assignment {
            if let Some(known) = old.objects.federates.get(federate) {
                let (caller, client, objects_max) = (known.caller, known.client, known.objects_max);
                sessions.insert(saved, RestoredSession { caller, client, objects_max });
            }
        }
        old.end(&mut self.shared);
        let Some(((_, image), federation)) = image.zip(self.control.execution(to)) else {
            // This node has no part of it.
            return self.create(to);
        };
        let mut execution = Execution::new(federation, self.config.node);
        let removals = self.control.removals();
        execution.take_image(&mut self.shared, (federation, removals), *image, &sessions);
        self.executions.insert(to, execution);
        for (&saved, &RestoredSession { caller: id, .. }) in &sessions {
            self.shared.service_reports.forget(id);
            if let Some(caller) = self.callers.get_mut(&id) {
                caller.standing = Standing::Joined(to, saved);
            }
            let switches =
                self.executions.get(&to).and_then(|execution| execution.objects.federates.get(&saved));
            if switches.is_some_and(|federate| federate.switches.service_reporting) {
                self.shared.service_reports.set(id, (to, saved), true);
            }
        }
        let federates: BTreeSet<_> = sessions.keys().copied().collect();
        let restored = Callback::FederationRestored(api::FederationRestored {});
        self.notify_directly(to, federates.iter().copied(), &restored);
        self.release(to, &federates);
    }
}
