//! Federation management of joined federates (4.12 to 4.18).

use super::{Context, Reply, Serve, Served};
use crate::control::{Command, SyncPoints};
use crate::limits::{SYNC_POINTS_MAX, SYNC_TAG_BYTES_MAX, check_count, check_name, check_octets};
use bytes::Bytes;
use hla::api::*;
use hla::handle::FederateHandle;
use hla::{Exception, RtiError};
use std::collections::BTreeSet;

impl Serve for ResignFederationExecutionRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        let action = resign_action(self.resign_action)?;
        let (execution, federate) = (context.objects.id, context.federate);
        let proposal = context.proposal::<Self>(Command::Resign { execution, federate, action });
        context.objects.resign(context.effects, federate, action, proposal)?;
        Ok(Reply::Later)
    }
}

impl Serve for RegisterFederationSynchronizationPointRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        let (label, tag) = (self.synchronization_point_label, &self.user_supplied_tag);
        context.propose_sync_point::<Self>(label, tag, BTreeSet::new())
    }
}

impl Serve for RegisterFederationSynchronizationPointWithSetRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        let (label, tag) = (self.synchronization_point_label, &self.user_supplied_tag);
        let set = context.federates(self.synchronization_set.as_ref())?;
        context.propose_sync_point::<Self>(label, tag, set)
    }
}

impl Serve for SynchronizationPointAchievedRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        let (execution, federate) = (context.objects.id, context.federate);
        let (label, success) = (self.synchronization_point_label, self.successfully);
        context.propose::<Self>(Command::AchieveSync { execution, federate, label, success })
    }
}

impl Context<'_> {
    fn propose_sync_point<R: Request<Output = ()>>(
        &mut self,
        label: String,
        tag: &Bytes,
        set: BTreeSet<FederateHandle>,
    ) -> Served<()> {
        let internal = Exception::RTIinternalError;
        check_name(internal, "the label of a synchronization point", &label)?;
        check_octets(internal, "the tag of a synchronization point", tag.len(), SYNC_TAG_BYTES_MAX)?;
        check_count("synchronization points", self.federation().sync.len(), SYNC_POINTS_MAX)?;
        let members = if set.is_empty() { self.federation().member_count() } else { set.len() };
        self.growth.check(SyncPoints::bytes_of(&label, tag, members))?;
        let (execution, federate, tag) = (self.objects.id, self.federate, tag.to_vec());
        self.propose::<R>(Command::RegisterSync { execution, federate, label, tag, set })
    }

    /// The federates of a set. A federate that has left passes; the synchronization point refuses
    /// it. A handle that never belonged to a federate is invalid.
    fn federates(&self, set: Option<&FederateHandleSet>) -> Result<BTreeSet<FederateHandle>, RtiError> {
        let handles = set.map(|set| set.federate_handle.as_slice()).unwrap_or_default();
        match handles.iter().find(|&&handle| !self.federation().was_member(handle)) {
            Some(handle) => {
                let text = format!("{handle:?} is no federate of this federation");
                Err(RtiError::new(Exception::InvalidFederateHandle, text))
            }
            None => Ok(handles.iter().copied().collect()),
        }
    }
}

/// Decodes a resign action from its wire number.
pub(crate) fn resign_action(number: i32) -> Result<ResignAction, RtiError> {
    ResignAction::try_from(number).map_err(|_| {
        RtiError::new(Exception::InvalidResignAction, format!("{number} is no resign action (0 to 5)"))
    })
}
