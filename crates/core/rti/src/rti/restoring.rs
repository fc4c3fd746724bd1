//! Restoring a saved federation execution: the node of the federates reads the image, and builds new
//! machines from it once all federates have answered.
//!
//! Until then the present machines stay as they are, and withhold everything from their federates. If
//! the restore fails, they go on.

use super::Rti;
use super::execution::Execution;
use super::saving::{ImageTask, ImageWork, Read};
use super::shared::Shared;
use crate::caller::Standing;
use crate::control::management::FEDERATION_INSTANCE;
use crate::control::{Activity, Assignment, Command, ExecutionId, Federation};
use crate::image::Restored;
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
        let Restored { objects, instances, clocks, held, periods } = image;
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
        if shared.peers.active {
            self.start_replication(shared, federation, removals);
        }
        self.time.take_image(clocks);
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
        let (node, kind, name) = (execution.objects.node, federation.time, federation.name.clone());
        let store = Arc::clone(&self.config.saves);
        let run = move || -> Box<dyn Any + Send> {
            let read: Read = match store.load(&name, &label) {
                Ok(Some(octets)) => Restored::read(&octets, node, kind),
                Ok(None) => Err("nothing was saved under this label".to_owned()),
                Err(why) => Err(why),
            };
            Box::new(read)
        };
        self.jobs.images.push_back(ImageTask { run: Box::new(run), work: ImageWork::Read(id, number) });
    }

    /// The image of a requested restore was read.
    pub(super) fn image_read(&mut self, execution: ExecutionId, number: u64, read: Read) {
        match read {
            Ok((federation, image)) => {
                if self.executions.contains_key(&execution) {
                    self.restored.insert(execution, (number, image));
                }
                self.propose(Command::BeginRestore { execution, number, image: federation });
            }
            Err(why) => self.propose(Command::RefuseRestore { execution, number, why }),
        }
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
        if !granted {
            self.restored.remove(&id);
        }
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
        self.check_image(id);
    }

    /// Ends a restore whose image here does not fit, or is not here although federates are.
    fn check_image(&mut self, id: ExecutionId) {
        let (Some(execution), Some(federation)) = (self.executions.get(&id), self.control.execution(id))
        else {
            return;
        };
        let number = federation.restore_number().unwrap_or_default();
        let fits = match self.restored.get(&id).filter(|(read, _)| *read == number) {
            Some((_, image)) => {
                let checked = image.objects.check(&federation.model, &image.instances);
                checked.inspect_err(|error| tracing::error!(%error, "the image cannot be used")).is_ok()
            }
            None => execution.objects.federates.is_empty(),
        };
        if !fits {
            self.propose(Command::FailRestore { execution: id, number });
        }
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
            // Its federates are at another node.
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
