//! Federation management of joined federates (4.12 to 4.18).

use super::{Context, Served, finish};
use crate::control::Command;
use hla::api::call_request::CallRequest as Call;
use hla::api::{FederateHandleSet, ResignAction};
use hla::handle::FederateHandle;
use hla::{Exception, RtiError};
use std::collections::BTreeSet;

pub(crate) fn serve(mut cx: Context<'_>, call: Call) -> Served {
    let (execution, federate) = (cx.objects.id, cx.who);
    match call {
        Call::ResignFederationExecutionRequest(r) => {
            let action = resign_action(r.resign_action)?;
            cx.objects.resign_objects(cx.effects, federate, action)?;
            let command = Command::Resign { execution, federate };
            cx.propose(command, finish!(ResignFederationExecutionResponse))
        }
        Call::RegisterFederationSynchronizationPointRequest(r) => {
            let (label, tag) = (r.synchronization_point_label, r.user_supplied_tag.to_vec());
            let command = Command::RegisterSync { execution, federate, label, tag, set: BTreeSet::new() };
            cx.propose(command, finish!(RegisterFederationSynchronizationPointResponse))
        }
        Call::RegisterFederationSynchronizationPointWithSetRequest(r) => {
            let (label, tag) = (r.synchronization_point_label, r.user_supplied_tag.to_vec());
            let set = federates(&cx, r.synchronization_set.as_ref())?;
            let command = Command::RegisterSync { execution, federate, label, tag, set };
            cx.propose(command, finish!(RegisterFederationSynchronizationPointWithSetResponse))
        }
        Call::SynchronizationPointAchievedRequest(r) => {
            let (label, success) = (r.synchronization_point_label, r.successfully);
            let command = Command::AchieveSync { execution, federate, label, success };
            cx.propose(command, finish!(SynchronizationPointAchievedResponse))
        }
        other => super::lookup::serve(cx, other),
    }
}

/// The federates of a set. A federate that has left is for the synchronization point to refuse; what was
/// never a federate is no handle at all.
fn federates(
    cx: &Context<'_>,
    set: Option<&FederateHandleSet>,
) -> Result<BTreeSet<FederateHandle>, RtiError> {
    let handles = set.map(|set| set.federate_handle.as_slice()).unwrap_or_default();
    match handles.iter().find(|&&handle| !cx.federation().was_member(handle)) {
        Some(handle) => {
            let text = format!("{handle:?} is no federate of this federation");
            Err(RtiError::new(Exception::InvalidFederateHandle, text))
        }
        None => Ok(handles.iter().copied().collect()),
    }
}

/// A resign action from its wire number.
pub(crate) fn resign_action(number: i32) -> Result<ResignAction, RtiError> {
    ResignAction::try_from(number).map_err(|_| {
        RtiError::new(Exception::InvalidResignAction, format!("{number} is no resign action (0 to 5)"))
    })
}
