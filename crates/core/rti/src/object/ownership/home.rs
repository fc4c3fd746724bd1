//! Decisions about ownership at the home of an instance.

use super::super::objects::Objects;
use super::super::regions::REGION_BYTES;
use super::negotiation::{Acquirer, Decisions, Negotiation, Place};
use crate::effect::Effects;
use crate::wire::{Delivery, NoticeKind, OwnershipAction, OwnershipDecision, OwnershipRequest, StreamEvent};
use base::Moment;
use bytes::Bytes;
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Approximate memory of one acquirer with its negotiation, in bytes, without its tag and regions.
const ACQUIRER_BYTES: usize = 200;

/// A confirmation, although no federate wants the attribute any longer.
pub(super) struct NoAcquisitionPending;

/// The negotiations about attributes of instances that are at home here. An attribute about which
/// nothing is negotiated is absent.
#[derive(Debug, Default)]
pub(crate) struct Negotiations {
    open: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Negotiation>,
    /// The attributes for which each federate waits.
    wanted: BTreeSet<(FederateHandle, ObjectInstanceHandle, AttributeHandle)>,
    /// Instances of which a federate has acquired attributes here, and may still own them.
    acquired: BTreeMap<FederateHandle, BTreeSet<ObjectInstanceHandle>>,
    bytes: usize,
}

/// The image of negotiations in a saved federation execution.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NegotiationsImage {
    open: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Negotiation>,
    acquired: BTreeMap<FederateHandle, BTreeSet<ObjectInstanceHandle>>,
}

impl Negotiations {
    pub(crate) fn image(&self) -> NegotiationsImage {
        NegotiationsImage { open: self.open.clone(), acquired: self.acquired.clone() }
    }

    /// Takes over an image. For people, its negotiations begin now.
    pub(crate) fn take_image(&mut self, image: NegotiationsImage, now: Moment) {
        for ((instance, attribute), mut saved) in image.open {
            saved.divesting.iter_mut().for_each(|divesting| divesting.since = now);
            saved.acquirers.iter_mut().for_each(|acquirer| acquirer.since = now);
            self.step(instance, attribute, |negotiation| *negotiation = saved);
        }
        self.acquired = image.acquired;
    }

    /// An estimate of their memory, in bytes. Cost: O(1).
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The instances about which something is negotiated, ascending, each once or more.
    pub(super) fn instances(&self) -> impl Iterator<Item = ObjectInstanceHandle> {
        self.open.keys().map(|&(instance, _)| instance)
    }

    /// The negotiation about an attribute, if there is one.
    pub(super) fn get(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Option<&Negotiation> {
        self.open.get(&(instance, attribute))
    }

    /// Lets a negotiation take a step.
    fn step(
        &mut self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        act: impl FnOnce(&mut Negotiation),
    ) {
        let mut negotiation = self.open.remove(&(instance, attribute)).unwrap_or_default();
        self.unindex(instance, attribute, &negotiation);
        act(&mut negotiation);
        for acquirer in &negotiation.acquirers {
            self.wanted.insert((acquirer.federate, instance, attribute));
            self.bytes += ACQUIRER_BYTES + acquirer.tag.len() + REGION_BYTES * acquirer.regions.iter().len();
        }
        if !negotiation.is_over() {
            self.open.insert((instance, attribute), negotiation);
        }
    }

    fn unindex(
        &mut self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
        negotiation: &Negotiation,
    ) {
        for acquirer in &negotiation.acquirers {
            self.wanted.remove(&(acquirer.federate, instance, attribute));
            self.bytes -= ACQUIRER_BYTES + acquirer.tag.len() + REGION_BYTES * acquirer.regions.iter().len();
        }
    }

    /// Forgets an instance that is removed.
    pub(super) fn remove_instance(&mut self, instance: ObjectInstanceHandle) {
        let all = (instance, AttributeHandle(0))..=(instance, AttributeHandle(u32::MAX));
        for ((_, attribute), negotiation) in self.open.extract_if(all, |_, _| true).collect::<Vec<_>>() {
            self.unindex(instance, attribute, &negotiation);
        }
    }

    /// The attributes for which a federate waits.
    fn wanted_by(&self, federate: FederateHandle) -> Vec<(ObjectInstanceHandle, AttributeHandle)> {
        let first = (federate, ObjectInstanceHandle::INVALID, AttributeHandle(0));
        let wanted = self.wanted.range(first..).take_while(|(of, ..)| *of == federate);
        wanted.map(|&(_, instance, attribute)| (instance, attribute)).collect()
    }
}

impl Objects {
    /// Decides a request of a federate of any node. Returns the attributes that were divested.
    ///
    /// Requests may come twice, and late: attributes that the federate does not own, or already
    /// owns, are left out.
    ///
    /// # Errors
    /// No acquisition is pending for a confirmed divestiture. Nothing has happened.
    pub(super) fn decide(
        &mut self,
        effects: &mut Effects,
        request: &OwnershipRequest,
    ) -> Result<Vec<AttributeHandle>, NoAcquisitionPending> {
        let &OwnershipRequest { federate, instance, action, ref tag, .. } = request;
        match action {
            OwnershipAction::Acquire | OwnershipAction::AcquireIfAvailable => {
                self.decide_acquisition(effects, request);
                Ok(Vec::new())
            }
            OwnershipAction::CancelAcquisition | OwnershipAction::Forget => {
                let attributes = self.split_owned(federate, instance, &request.attributes).1;
                self.negotiate(effects, instance, &attributes, |negotiation, place, out| {
                    negotiation.forget(federate);
                    if action == OwnershipAction::CancelAcquisition {
                        out.notice(federate, NoticeKind::CancellationConfirmed, place, &Bytes::new());
                    }
                });
                Ok(Vec::new())
            }
            OwnershipAction::Delete => {
                let privilege = [self.privilege];
                if !self.split_owned(federate, instance, &privilege).0.is_empty() {
                    self.remove(effects, federate, instance, tag, None);
                }
                Ok(Vec::new())
            }
            OwnershipAction::ChangeTransportation | OwnershipAction::ChangeOrder => {
                let owned = self.split_owned(federate, instance, &request.attributes).0;
                if let Some(&delivery) = request.deliveries.first()
                    && self.model.transportation(delivery.transportation).is_some()
                    && !owned.is_empty()
                {
                    self.announce_delivery(effects, instance, action, owned, delivery);
                }
                Ok(Vec::new())
            }
            OwnershipAction::Divest
            | OwnershipAction::Negotiate
            | OwnershipAction::Confirm
            | OwnershipAction::DenyRelease
            | OwnershipAction::DivestIfWanted
            | OwnershipAction::CancelNegotiated => self.decide_for_owner(effects, request),
        }
    }

    /// Changes how attributes are delivered, and appends that to the stream of the class.
    pub(super) fn announce_delivery(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        action: OwnershipAction,
        attributes: Vec<AttributeHandle>,
        Delivery { transportation, time_stamped }: Delivery,
    ) {
        let concerned = attributes.iter().copied().collect();
        if action == OwnershipAction::ChangeOrder {
            self.for_each_attribute(instance, &concerned, |state| state.time_stamped = time_stamped);
            let event = || StreamEvent::Ordered { instance, attributes, time_stamped };
            self.append_change(effects, instance, event);
        } else {
            self.for_each_attribute(instance, &concerned, |state| state.transportation = transportation);
            let event = || StreamEvent::Transported { instance, attributes, transportation };
            self.append_change(effects, instance, event);
        }
    }

    fn decide_for_owner(
        &mut self,
        effects: &mut Effects,
        request: &OwnershipRequest,
    ) -> Result<Vec<AttributeHandle>, NoAcquisitionPending> {
        let &OwnershipRequest { federate, instance, action, ref tag, .. } = request;
        let now = effects.now;
        let mut attributes = self.split_owned(federate, instance, &request.attributes).0;
        let negotiations = &self.negotiations;
        let is_wanted = |&attribute: &AttributeHandle| {
            negotiations.get(instance, attribute).is_some_and(|open| !open.acquirers.is_empty())
        };
        match action {
            OwnershipAction::Confirm if !attributes.iter().all(is_wanted) => {
                return Err(NoAcquisitionPending);
            }
            OwnershipAction::DivestIfWanted => attributes.retain(is_wanted),
            _ => {}
        }
        self.negotiate(effects, instance, &attributes, |negotiation, place, out| match action {
            OwnershipAction::Divest => negotiation.divest(place, tag, out),
            OwnershipAction::Negotiate if negotiation.divesting.is_none() => {
                negotiation.negotiate(place, tag, now, out);
            }
            OwnershipAction::Confirm | OwnershipAction::DivestIfWanted => {
                negotiation.transfer(place, tag, out);
            }
            OwnershipAction::DenyRelease => negotiation.deny_release(place, tag, out),
            OwnershipAction::CancelNegotiated if negotiation.divesting.is_some() => {
                negotiation.cancel_negotiated(place, out);
            }
            _ => {}
        });
        Ok(attributes)
    }

    fn decide_acquisition(&mut self, effects: &mut Effects, request: &OwnershipRequest) {
        let &OwnershipRequest { federate, instance, number, action, .. } = request;
        let (now, attributes) = (effects.now, self.split_owned(federate, instance, &request.attributes).1);
        let delivery_of: BTreeMap<_, _> =
            request.attributes.iter().copied().zip(request.deliveries.iter().copied()).collect();
        // Kept for as long as the acquisition is pending, and the call's buffer should not be.
        let tag = Bytes::copy_from_slice(&request.tag);
        self.negotiate(effects, instance, &attributes, |negotiation, place, out| {
            let Some(&delivery) = delivery_of.get(&place.attribute) else { return };
            let is_pending = action == OwnershipAction::Acquire;
            let tag = tag.clone();
            let regions = request.regions.iter().find(|(of, _)| *of == place.attribute);
            let regions = regions.map(|(_, regions)| regions.clone()).unwrap_or_default();
            let acquirer = Acquirer { federate, number, is_pending, tag, delivery, regions, since: now };
            match is_pending {
                true => negotiation.acquire(place, acquirer, out),
                false => negotiation.acquire_if_available(place, acquirer, out),
            }
        });
    }

    /// The attributes that a federate owns, and the others.
    fn split_owned(
        &self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) -> (Vec<AttributeHandle>, Vec<AttributeHandle>) {
        // A deleted instance exists until its deletion is final, and its attributes are unowned.
        let exists = |_: &&_| !self.deletions.contains_key(&instance);
        let Some(object) = self.instances.get(instance).filter(exists) else {
            return (Vec::new(), Vec::new());
        };
        let class = self.class_of(object.class);
        let defined = attributes.iter().copied().filter(|&attribute| class.slot(attribute).is_some());
        defined.partition(|&attribute| {
            class.slot(attribute).is_some_and(|slot| object.attribute(slot).owner == federate)
        })
    }

    /// Lets the negotiations about some attributes of an instance take a step, and announces the
    /// decisions.
    fn negotiate(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        mut act: impl FnMut(&mut Negotiation, Place, &mut Decisions),
    ) {
        let Self { instances, model, negotiations, .. } = self;
        let Some(object) = instances.get(instance) else { return };
        let Some(class) = model.object_class(object.class) else { return };
        let mut out = Decisions::default();
        for &attribute in &attributes.iter().copied().collect::<BTreeSet<_>>() {
            let Some(slot) = class.slot(attribute) else { continue };
            let place = Place { attribute, owner: object.attribute(slot).owner };
            negotiations.step(instance, attribute, |negotiation| act(negotiation, place, &mut out));
        }
        let regions = std::mem::take(&mut out.regions);
        for decision in out.into_list() {
            if let OwnershipDecision::Acquired { to, attributes, .. } = &decision {
                self.negotiations.acquired.entry(*to).or_default().insert(instance);
                // Before the new owner, so that nobody sees the attributes in the regions of the old
                // one.
                let attributes: BTreeSet<_> = attributes.iter().map(|owned| owned.attribute).collect();
                let regions = regions.iter().filter(|(attribute, _)| attributes.contains(attribute));
                self.regions_of_new_owner(effects, instance, *to, regions.cloned().collect());
            }
            self.announce(effects, instance, decision);
        }
    }

    /// The owner gives up those attributes of an instance that `select` picks. Federates that wait
    /// for them get them; the others are offered to all.
    pub(crate) fn divest(
        &mut self,
        effects: &mut Effects,
        owner: FederateHandle,
        instance: ObjectInstanceHandle,
        select: impl Fn(AttributeHandle) -> bool,
    ) {
        let attributes: Vec<_> = self.owned_by(owner, instance).filter(|&at| select(at)).collect();
        if attributes.is_empty() {
            return;
        }
        self.negotiate(effects, instance, &attributes, |negotiation, place, out| {
            negotiation.divest(place, &Bytes::new(), out);
        });
    }

    /// The attributes of an instance that a federate owns.
    pub(crate) fn owned_by(
        &self,
        owner: FederateHandle,
        instance: ObjectInstanceHandle,
    ) -> impl Iterator<Item = AttributeHandle> {
        let object = self.instances.get(instance);
        object.into_iter().flat_map(move |object| {
            let class = self.class_of(object.class);
            let owned = object.attributes().filter(move |(_, state)| state.owner == owner);
            owned.map(|(slot, _)| class.attributes[slot])
        })
    }

    /// Notes the owners of instances that have their home here from now on.
    pub(crate) fn note_owners(&mut self, instance: ObjectInstanceHandle) {
        let Some(object) = self.instances.get(instance) else { return };
        let owners: BTreeSet<_> = object.attributes().map(|(_, state)| state.owner).collect();
        for owner in owners.into_iter().filter(|owner| owner.is_valid()) {
            self.negotiations.acquired.entry(owner).or_default().insert(instance);
        }
    }

    /// Ends the acquisitions of a federate that has left. Returns true if it has acquired
    /// attributes of instances at home here, and may own them.
    pub(crate) fn forget_acquirer(&mut self, federate: FederateHandle) -> bool {
        self.adoptions.remove_federate(federate);
        for (instance, attribute) in self.negotiations.wanted_by(federate) {
            self.negotiations.step(instance, attribute, |negotiation| {
                negotiation.forget(federate);
            });
        }
        let acquired = self.negotiations.acquired.remove(&federate).unwrap_or_default();
        acquired.into_iter().any(|instance| self.owned_by(federate, instance).next().is_some())
    }
}
