//! Callbacks that tell federates about changes of the control plane.

use super::Rti;
use crate::control::{ExecutionId, SyncRefusal, Synchronized};
use hla::api::{self, SynchronizationPointFailureReason, callback_request::CallbackRequest as Callback};
use hla::handle::FederateHandle;
use std::collections::BTreeSet;

impl Rti {
    /// Reports the outcome of the registration of a synchronization point to the registrant (4.15).
    pub(super) fn notify_registration(
        &mut self,
        execution: ExecutionId,
        federate: FederateHandle,
        label: String,
        refusal: Option<SyncRefusal>,
    ) {
        self.notify(execution, federate, sync_registration(label, refusal));
    }

    /// Announces a synchronization point (4.16).
    pub(super) fn notify_announced(
        &mut self,
        execution: ExecutionId,
        to: BTreeSet<FederateHandle>,
        label: String,
        tag: Vec<u8>,
    ) {
        let announce = api::AnnounceSynchronizationPoint {
            synchronization_point_label: label,
            user_supplied_tag: tag.into(),
        };
        for federate in to {
            self.notify(execution, federate, Callback::AnnounceSynchronizationPoint(announce.clone()));
        }
    }

    /// Reports that a federation is synchronized (4.18).
    pub(super) fn notify_synchronized(&mut self, execution: ExecutionId, point: Synchronized) {
        let failed = api::FederateHandleSet { federate_handle: point.failed.into_iter().collect() };
        let synchronized = api::FederationSynchronized {
            synchronization_point_label: point.label,
            failed_to_sync_set: Some(failed),
        };
        for federate in point.members {
            self.notify(execution, federate, Callback::FederationSynchronized(synchronized.clone()));
        }
    }

    /// Reports the outcome of a name reservation (6.3, 6.6).
    pub(super) fn notify_reserved(
        &mut self,
        execution: ExecutionId,
        federate: FederateHandle,
        names: BTreeSet<String>,
        granted: bool,
        multiple: bool,
    ) {
        for callback in reservation(names, granted, multiple) {
            self.notify(execution, federate, callback);
        }
    }

    fn notify(&mut self, execution: ExecutionId, federate: FederateHandle, callback: Callback) {
        self.with(execution, |execution, shared| {
            execution.act(shared, |objects, effects| objects.notify(effects, federate, callback));
        });
    }
}

fn sync_registration(label: String, refusal: Option<SyncRefusal>) -> Callback {
    let reason = match refusal {
        None => {
            return Callback::SynchronizationPointRegistrationSucceeded(
                api::SynchronizationPointRegistrationSucceeded { synchronization_point_label: label },
            );
        }
        Some(SyncRefusal::LabelNotUnique) => {
            SynchronizationPointFailureReason::SynchronizationPointLabelNotUnique
        }
        Some(SyncRefusal::SetMemberNotJoined) => {
            SynchronizationPointFailureReason::SynchronizationSetMemberNotJoined
        }
    };
    Callback::SynchronizationPointRegistrationFailed(api::SynchronizationPointRegistrationFailed {
        synchronization_point_label: label,
        reason: reason.into(),
    })
}

fn reservation(names: BTreeSet<String>, granted: bool, multiple: bool) -> Vec<Callback> {
    if multiple {
        let object_instance_names = names.into_iter().collect();
        return vec![if granted {
            Callback::MultipleObjectInstanceNameReservationSucceeded(
                api::MultipleObjectInstanceNameReservationSucceeded { object_instance_names },
            )
        } else {
            Callback::MultipleObjectInstanceNameReservationFailed(
                api::MultipleObjectInstanceNameReservationFailed { object_instance_names },
            )
        }];
    }
    let one = |object_instance_name| {
        if granted {
            Callback::ObjectInstanceNameReservationSucceeded(api::ObjectInstanceNameReservationSucceeded {
                object_instance_name,
            })
        } else {
            Callback::ObjectInstanceNameReservationFailed(api::ObjectInstanceNameReservationFailed {
                object_instance_name,
            })
        }
    };
    names.into_iter().map(one).collect()
}
