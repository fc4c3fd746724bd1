//! Ownership of attributes of the management object model, all of which the RTI owns for ever.

use super::super::objects::Objects;
use super::super::scope::handle_set;
use super::calls::Arguments;
use crate::effect::Effects;
use crate::wire::OwnershipAction;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle};
use std::collections::BTreeSet;

impl Objects {
    /// An acquisition of attributes that the RTI owns never succeeds. One that is not only for what
    /// is available stays pending until it is cancelled.
    pub(super) fn refuse_managed(
        &mut self,
        effects: &mut Effects,
        arguments: Arguments<'_>,
        (action, attributes): (OwnershipAction, Vec<AttributeHandle>),
    ) {
        let Arguments { federate, instance, tag, .. } = arguments;
        let handle = instance.unwrap_or_default();
        if action == OwnershipAction::Acquire {
            let number = self.requests.next_number();
            for attribute in attributes {
                self.requests.acquire((handle, federate, attribute), number, true, tag, effects.now);
            }
            return;
        }
        let unavailable = api::AttributeOwnershipUnavailable {
            object_instance: instance,
            attributes: handle_set(&attributes.into_iter().collect()),
            user_supplied_tag: tag.clone(),
        };
        self.notify(effects, federate, Callback::AttributeOwnershipUnavailable(unavailable));
    }

    /// Confirms the cancellation of such an acquisition.
    pub(super) fn cancel_managed(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) {
        for &attribute in attributes {
            self.requests.confirm_cancellation((instance, federate, attribute));
        }
        let confirmation = api::ConfirmAttributeOwnershipAcquisitionCancellation {
            object_instance: Some(instance),
            attributes: handle_set(attributes),
        };
        let callback = Callback::ConfirmAttributeOwnershipAcquisitionCancellation(confirmation);
        self.notify(effects, federate, callback);
    }
}
