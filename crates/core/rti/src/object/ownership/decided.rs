//! Decisions about ownership, as every node applies them, in the order of the stream.

use super::super::instance::Relevance;
use super::super::objects::Objects;
use super::super::scope::handle_set;
use super::requests::WaitingRequest;
use crate::control::PublishedClass;
use crate::effect::{Effect, Effects};
use crate::wire::{Delivery, NoticeKind, OwnedAttribute, OwnershipDecision, StreamEvent};
use bytes::Bytes;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle};
use hla::{Exception, RtiError};
use std::collections::BTreeSet;

impl Objects {
    /// Announces a decision of this node, the home of an instance, and applies it.
    pub(super) fn announce(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        decision: OwnershipDecision,
    ) {
        tracing::debug!(execution = %self.id, ?instance, ?decision, "decided about ownership");
        self.append_change(effects, instance, || StreamEvent::Ownership {
            instance,
            decision: Box::new(decision.clone()),
        });
        self.apply_decision(effects, instance, decision);
    }

    /// Applies a decision of the home of an instance.
    pub(crate) fn apply_decision(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        decision: OwnershipDecision,
    ) {
        match decision {
            OwnershipDecision::Acquired { from, to, attributes, tag } => {
                self.change_owner(effects, instance, (from, to), &attributes, &tag);
            }
            OwnershipDecision::Divested { owner, attributes, tag } => {
                let attributes = attributes.into_iter().collect();
                self.disown(effects, owner, instance, &attributes);
                self.offer(effects, owner, instance, &attributes, &tag);
            }
            OwnershipDecision::Offered { owner, attributes, tag, announced } => {
                let attributes = attributes.into_iter().collect();
                match announced {
                    true => self.offer(effects, owner, instance, &attributes, &tag),
                    false => self.open_offer(instance, &attributes, &tag),
                }
            }
            OwnershipDecision::Withdrawn { attributes } => {
                attributes.iter().for_each(|&attribute| self.offers.remove_tag((instance, attribute)));
                let attributes = attributes.into_iter().collect();
                self.for_each_attribute(instance, &attributes, |state| state.is_offered = false);
            }
            OwnershipDecision::Notice { to, kind, number, attributes, tag } => {
                self.take_notice(effects, (to, instance), (kind, number), attributes, tag);
            }
            OwnershipDecision::Answered { to, number, refused, attributes } => {
                self.take_answer(effects, (to, instance), number, refused, attributes);
            }
        }
    }

    /// Makes attributes unowned here.
    pub(crate) fn disown(
        &mut self,
        effects: &mut Effects,
        owner: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) {
        if attributes.is_empty() {
            return;
        }
        self.for_each_attribute(instance, attributes, |state| {
            state.owner = FederateHandle::INVALID;
            state.relevance = Relevance::OFF;
        });
        self.end_ownership(effects, owner, instance, attributes.iter().copied());
        self.count_unowned(instance);
        self.scope_lost_at_all(effects, instance, attributes, owner);
    }

    /// Gives attributes a new owner, tells it, and handles the consequences for those who see them.
    pub(crate) fn change_owner(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        (from, to): (FederateHandle, FederateHandle),
        acquired: &[OwnedAttribute],
        tag: &Bytes,
    ) {
        let attributes: BTreeSet<AttributeHandle> = acquired.iter().map(|owned| owned.attribute).collect();
        // Collected before the change: they are in scope at `to` only while another owns them.
        let leaves_scope = self.in_scope(to, instance).intersection(&attributes).copied().collect();
        for owned in acquired {
            let Delivery { transportation, time_stamped } = owned.delivery;
            self.for_each_attribute(instance, &BTreeSet::from([owned.attribute]), |state| {
                state.owner = to;
                state.relevance = Relevance::OFF;
                (state.transportation, state.time_stamped) = (transportation, time_stamped);
                state.is_offered = false;
            });
            self.offers.remove_tag((instance, owned.attribute));
            self.requests.end_acquisition((instance, to, owned.attribute));
        }
        self.end_ownership(effects, from, instance, attributes.iter().copied());
        self.count_unowned(instance);
        self.begin_ownership(effects, to, instance);
        let acquisition = api::AttributeOwnershipAcquisitionNotification {
            object_instance: Some(instance),
            secured_attributes: handle_set(&attributes),
            user_supplied_tag: tag.clone(),
        };
        self.notify(effects, to, Callback::AttributeOwnershipAcquisitionNotification(acquisition));
        self.notify_out_of_scope(effects, to, instance, &leaves_scope);
        let gained = self.scope_gained(effects, instance, (from, to), &attributes);
        if !from.is_valid() {
            // Federates that subscribe only these attributes did not know the instance.
            self.discover_at_all(effects, instance);
        }
        self.scope_changed(effects, instance, &gained, &attributes);
        self.push_differing_regions(effects, instance);
    }

    /// Tells federates that attributes with a new owner have come into their scope: the former
    /// owner, or all others if there was none. Returns them.
    fn scope_gained(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        (from, to): (FederateHandle, FederateHandle),
        attributes: &BTreeSet<AttributeHandle>,
    ) -> Vec<(FederateHandle, BTreeSet<AttributeHandle>)> {
        let Some(object) = self.instances.get(instance) else { return Vec::new() };
        let known: Vec<_> = object.known().iter().map(|known| known.federate).collect();
        let concerned = known.into_iter().filter(|&known| known != to && (!from.is_valid() || known == from));
        let gained = concerned.map(|federate| {
            let in_scope = self.in_scope(federate, instance);
            (federate, in_scope.intersection(attributes).copied().collect::<BTreeSet<_>>())
        });
        let gained: Vec<_> = gained.filter(|(_, gained)| !gained.is_empty()).collect();
        for (federate, gained) in &gained {
            self.notify_in_scope(effects, *federate, instance, gained);
        }
        gained
    }

    /// A federate owns attributes of an instance from now on. Its node must publish the class of
    /// the instance before the first update.
    pub(crate) fn begin_ownership(
        &mut self,
        effects: &mut Effects,
        owner: FederateHandle,
        instance: ObjectInstanceHandle,
    ) {
        let Some(object) = self.instances.get(instance) else { return };
        if object.home != self.node && self.federates.contains_key(&owner) {
            let class = object.class;
            self.owned_elsewhere.entry(class).or_default().insert(instance);
            self.refresh_publication(effects, PublishedClass::Objects(class));
        }
    }

    /// A federate no longer owns attributes of an instance.
    fn end_ownership(
        &mut self,
        effects: &mut Effects,
        owner: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: impl Iterator<Item = AttributeHandle>,
    ) {
        if !self.federates.contains_key(&owner) {
            return;
        }
        let attributes: BTreeSet<AttributeHandle> = attributes.collect();
        self.drop_associations(owner, instance, Some(&attributes));
        let attributes = attributes.into_iter();
        attributes.for_each(|attribute| self.requests.end_divestiture((instance, owner, attribute)));
        self.review_owned_elsewhere(effects, instance);
    }

    /// Forgets an instance at home elsewhere of which federates here owned attributes, if they no
    /// longer do.
    pub(crate) fn review_owned_elsewhere(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        let Some(object) = self.instances.get(instance) else { return };
        let class = object.class;
        let is_owned = object.home != self.node
            && object.attributes().any(|(_, state)| self.federates.contains_key(&state.owner));
        if !is_owned {
            self.forget_owned_elsewhere(effects, class, instance);
        }
    }

    /// See [`review_owned_elsewhere`](Self::review_owned_elsewhere).
    pub(crate) fn forget_owned_elsewhere(
        &mut self,
        effects: &mut Effects,
        class: hla::handle::ObjectClassHandle,
        instance: ObjectInstanceHandle,
    ) {
        let Some(owned) = self.owned_elsewhere.get_mut(&class) else { return };
        if owned.remove(&instance) && owned.is_empty() {
            self.owned_elsewhere.remove(&class);
            self.refresh_publication(effects, PublishedClass::Objects(class));
        }
    }

    fn take_notice(
        &mut self,
        effects: &mut Effects,
        (to, instance): (FederateHandle, ObjectInstanceHandle),
        (kind, number): (NoticeKind, u64),
        mut attributes: Vec<AttributeHandle>,
        user_supplied_tag: Bytes,
    ) {
        if !self.federates.contains_key(&to) {
            return;
        }
        attributes.retain(|&attribute| match kind {
            NoticeKind::Unavailable => self.requests.deny((instance, to, attribute), number),
            NoticeKind::CancellationConfirmed => {
                self.requests.confirm_cancellation((instance, to, attribute))
            }
            NoticeKind::ConfirmationRequested | NoticeKind::ReleaseRequested => true,
        });
        if attributes.is_empty() {
            return;
        }
        let (object_instance, attributes) =
            (Some(instance), handle_set(&attributes.into_iter().collect::<BTreeSet<_>>()));
        let callback = match kind {
            NoticeKind::ConfirmationRequested => {
                Callback::RequestDivestitureConfirmation(api::RequestDivestitureConfirmation {
                    object_instance,
                    released_attributes: attributes,
                    user_supplied_tag,
                })
            }
            NoticeKind::Unavailable => {
                Callback::AttributeOwnershipUnavailable(api::AttributeOwnershipUnavailable {
                    object_instance,
                    attributes,
                    user_supplied_tag,
                })
            }
            NoticeKind::ReleaseRequested => {
                Callback::RequestAttributeOwnershipRelease(api::RequestAttributeOwnershipRelease {
                    object_instance,
                    candidate_attributes: attributes,
                    user_supplied_tag,
                })
            }
            NoticeKind::CancellationConfirmed => Callback::ConfirmAttributeOwnershipAcquisitionCancellation(
                api::ConfirmAttributeOwnershipAcquisitionCancellation { object_instance, attributes },
            ),
        };
        self.notify(effects, to, callback);
    }

    /// Ends a call that has waited for the home of an instance.
    fn take_answer(
        &mut self,
        effects: &mut Effects,
        (to, instance): (FederateHandle, ObjectInstanceHandle),
        number: u64,
        is_refused: bool,
        attributes: Vec<AttributeHandle>,
    ) {
        // Each node counts its own requests, and all followers of the stream hear the answers.
        if !self.federates.contains_key(&to) {
            return;
        }
        let Some(WaitingRequest { request, call: Some(call) }) = self.requests.answered(instance, number)
        else {
            return;
        };
        // A home that has died may have transferred some of them before its successor was asked.
        let owned: BTreeSet<_> = self.owned_by(request.federate, instance).collect();
        let given = request.attributes.iter().copied().filter(|attribute| !owned.contains(attribute));
        let attributes: BTreeSet<_> = attributes.into_iter().chain(given).collect();
        let attributes = attributes.into_iter().collect();
        let answer = if is_refused { Err(no_acquisition_pending(instance)) } else { Ok(attributes) };
        effects.push(Effect::Complete(Box::new(call.end(answer))));
    }
}

/// The exception for a confirmation although no federate wants the attributes any longer.
pub(super) fn no_acquisition_pending(instance: ObjectInstanceHandle) -> RtiError {
    let text = format!("no federate waits for all of these attributes of {instance:?}");
    RtiError::new(Exception::NoAcquisitionPending, text)
}
