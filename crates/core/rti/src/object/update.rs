//! Update and reflect (6.10, 6.11): the path that every federation lives on.
//!
//! The attributes of one call form one *passel* per transportation type (and order type, once
//! federates regulate time). The router names the federates that subscribe the class; each gets the
//! part of the passel that is in its scope. Receivers with the same part share one encoded callback.

use super::encode::{self, Envelope, HandleValue};
use super::execution::Execution;
use super::federate::{ClassSubscription, Federate, RateId, Subscription};
use super::instance::Instance;
use crate::control::PublishedClass;
use crate::plane::{Delivery, Plane, Topic};
use crate::remote::Subject;
use crate::time::Stamp;
use base::Moment;
use bytes::Bytes;
use hla::api::AttributeHandleValueMap;
use hla::fom::ObjectClass;
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle, TransportationTypeHandle};
use hla::{Exception, RtiError};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;
use std::time::Duration;

/// Values of one call that travel alike.
struct Passel {
    transportation: TransportationTypeHandle,
    values: SmallVec<[HandleValue; 2]>,
}

/// Which values of a passel a receiver gets: bit i for value i.
type Part = u128;

/// Values per passel at most, so that a [`Part`] has a bit for each. A call with more attributes of one
/// transportation type reaches its receivers as more than one reflect.
pub(crate) const PASSEL_VALUES_MAX: usize = Part::BITS as usize;

impl Execution {
    /// Update Attribute Values.
    pub(crate) fn update(
        &mut self,
        plane: &mut Plane,
        who: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        values: Option<AttributeHandleValueMap>,
        tag: &Bytes,
        stamp: Option<&Stamp>,
    ) -> Result<(), RtiError> {
        let (object, known_as) = self.known_instance(who, instance)?;
        let registered = self.class_of(object.class);
        let values = values.map(|map| map.attribute_handle_value).unwrap_or_default();
        let mut passels: SmallVec<[Passel; 1]> = SmallVec::new();
        for pair in values {
            let attribute = pair.attribute_handle.unwrap_or_default();
            let transportation = self.check_owned(who, object, known_as, registered, attribute)?;
            add_value(&mut passels, transportation, HandleValue { handle: attribute.0, value: pair.value });
        }
        let (handle, class, from) = (object.handle, object.class, self.federate(who).client);
        for passel in &passels {
            let time = stamp.map(Stamp::octets);
            let envelope = Envelope { tag, transportation: passel.transportation, producer: who, time };
            self.reflect(plane, from, handle, &passel.values, &envelope);
            if self.remote.is_some() {
                let best_effort = !is_reliable(&self.model, passel.transportation);
                let what = PublishedClass::Objects(class);
                self.say_load(plane, what, Subject::Update(handle), &passel.values, &envelope, best_effort);
            }
        }
        Ok(())
    }

    /// The transportation type of an attribute that `who` may update.
    fn check_owned(
        &self,
        who: FederateHandle,
        object: &Instance,
        known_as: &ObjectClass,
        registered: &ObjectClass,
        attribute: AttributeHandle,
    ) -> Result<TransportationTypeHandle, RtiError> {
        let slot = registered.slot(attribute).filter(|_| known_as.has_attribute(attribute));
        let slot = slot.ok_or_else(|| self.attribute_not_defined(attribute, known_as))?;
        let state = object.attribute(slot);
        if state.owner != who {
            let name = self.model.attribute(attribute).map_or("", |attribute| &attribute.name);
            let text = format!("attribute `{name}` of {:?} is not owned by this federate", object.handle);
            return Err(RtiError::new(Exception::AttributeNotOwned, text));
        }
        Ok(state.transportation)
    }

    /// Hands one passel, of [`PASSEL_VALUES_MAX`] values at most, to every federate that has some of it in scope.
    pub(crate) fn reflect(
        &mut self,
        plane: &mut Plane,
        from: router::ClientId,
        handle: ObjectInstanceHandle,
        values: &[HandleValue],
        envelope: &Envelope<'_>,
    ) {
        let Self { instances, federates, clients, rates, id, model, .. } = self;
        let Some(object) = instances.get(handle) else { return };
        let best_effort = !is_reliable(model, envelope.transportation);
        let now = plane.now;
        let mut encoded: SmallVec<[(Part, Bytes); 4]> = SmallVec::new();
        plane.fan_out(from, Topic::Object(*id, object.class), |client, more| {
            let receiver = clients.get(&client)?;
            let known_as = object.known_class(*receiver)?;
            let Federate { subscriptions, last_reflected, .. } = federates.get_mut(receiver)?;
            let subscribed = subscriptions.get(&known_as)?;
            let mut part = part_in_scope(subscribed, values)?;
            if best_effort {
                let due = |rate: RateId, attribute| {
                    is_due(last_reflected, (handle, attribute), rates[rate.0 as usize].interval, now)
                };
                part = reduce_rate(subscribed, values, part, due)?;
            }
            let body = match encoded.iter().find(|(done, _)| *done == part) {
                Some((_, body)) => body.clone(),
                None => {
                    let body = encode::reflect(handle, values, |at| part >> at & 1 == 1, envelope);
                    if more {
                        encoded.push((part, body.clone()));
                    }
                    body
                }
            };
            Some(Delivery { body, best_effort })
        });
    }
}

/// Whether messages of this transportation type may not be lost.
pub(super) fn is_reliable(model: &hla::fom::Fdd, transportation: TransportationTypeHandle) -> bool {
    model.transportation(transportation).is_none_or(|transportation| transportation.reliable)
}

/// Adds a value to the passel it belongs to. A handle that comes twice in one call keeps its last value.
fn add_value(
    passels: &mut SmallVec<[Passel; 1]>,
    transportation: TransportationTypeHandle,
    value: HandleValue,
) {
    for passel in passels.iter_mut().filter(|passel| passel.transportation == transportation) {
        if let Some(earlier) = passel.values.iter_mut().find(|earlier| earlier.handle == value.handle) {
            *earlier = value;
            return;
        }
    }
    let open = passels
        .iter_mut()
        .find(|passel| passel.transportation == transportation && passel.values.len() < PASSEL_VALUES_MAX);
    match open {
        Some(passel) => passel.values.push(value),
        None => passels.push(Passel { transportation, values: smallvec![value] }),
    }
}

/// The values that are subscribed; `None` for none.
fn part_in_scope(subscribed: &ClassSubscription, values: &[HandleValue]) -> Option<Part> {
    let mut part: Part = 0;
    for (at, value) in values.iter().enumerate() {
        if subscribed.contains_key(&AttributeHandle(value.handle)) {
            part |= 1 << at;
        }
    }
    (part != 0).then_some(part)
}

/// Update rate reduction (6.11): takes out values that are not `due` yet at the receiver. They are not kept.
fn reduce_rate(
    subscribed: &ClassSubscription,
    values: &[HandleValue],
    part: Part,
    mut due: impl FnMut(RateId, AttributeHandle) -> bool,
) -> Option<Part> {
    let mut kept = part;
    for (at, value) in values.iter().enumerate().filter(|(at, _)| part >> at & 1 == 1) {
        let attribute = AttributeHandle(value.handle);
        if let Some(Subscription { rate: Some(rate), .. }) = subscribed.get(&attribute)
            && !due(*rate, attribute)
        {
            kept &= !(1 << at);
        }
    }
    (kept != 0).then_some(kept)
}

/// Whether `interval` has passed since the last value of an attribute; if so, `now` is the time of the last one.
fn is_due(
    last_reflected: &mut BTreeMap<(ObjectInstanceHandle, AttributeHandle), Moment>,
    attribute: (ObjectInstanceHandle, AttributeHandle),
    interval: Duration,
    now: Moment,
) -> bool {
    let due = last_reflected.get(&attribute).is_none_or(|&last| now.since(last) >= interval);
    if due {
        last_reflected.insert(attribute, now);
    }
    due
}
