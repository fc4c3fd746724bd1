//! Update and reflect (6.10, 6.11): the hot path of every federation.
//!
//! The attributes of one call form one *passel* for each transportation type and sent order type.
//! Each federate that knows the instance gets the part of the passel that is in its scope.
//! Receivers of the same part share one encoded callback.

use super::encode;
use super::federate::{ClassSubscription, RateId, Subscription};
use super::instance::{AttributeState, Instance};
use super::objects::Objects;
use super::regions::{Narrowed, applicable_in, narrowed_as_sent};
use super::timed::{pass_on, received_order};
use crate::control::{NodeId, PublishedClass};
use crate::effect::{Change, Effects};
use crate::stamp::Stamp;
use crate::time::Subject;
use crate::wire::{HandleValue, Payload, RegionSet, StreamEvent, Values};
use bytes::Bytes;
use hla::api::{AttributeHandleValueMap, ConveyedRegionSet, OrderType};
use hla::fom::ObjectClass;
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle, TransportationTypeHandle};
use hla::{Exception, RtiError};
use smallvec::SmallVec;
use std::time::Duration;

/// The values of a passel that a receiver gets: bit i for value i.
pub(crate) type Part = u128;

/// Maximum number of values in a passel, so that a [`Part`] has a bit for each. A call with more
/// attributes of one transportation type reaches its receivers as several reflects.
pub(crate) const PASSEL_VALUES_MAX: usize = Part::BITS as usize;

impl Objects {
    /// Update Attribute Values (6.10). Returns whether any of the values was sent in time-stamp
    /// order.
    pub(crate) fn update(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        values: Option<AttributeHandleValueMap>,
        tag: Bytes,
        stamp: Option<Stamp>,
    ) -> Result<bool, RtiError> {
        let spare = self.spare_payload.take();
        let (object, known_as) = self.known_instance(federate, instance)?;
        let registered = self.class_of(object.class);
        let values = values.map(|map| map.attribute_handle_value).unwrap_or_default();
        let mut passels = Passels::new(federate, stamp, spare);
        // The home has decided that an attribute has update regions, or it still has to.
        let has_regions =
            self.has_associated && (object.update_regions.is_some() || object.home != self.node);
        let associations = has_regions.then(|| &self.federate(federate).distribution);
        for pair in values {
            let attribute = pair.attribute_handle.unwrap_or_default();
            let state = self.check_owned(federate, object, known_as, registered, attribute)?;
            let sent = match state.time_stamped && stamp.is_some_and(Stamp::is_in_time) {
                true => OrderType::Timestamp,
                false => OrderType::Receive,
            };
            let regions = match associations {
                None => RegionSet::DEFAULT,
                Some(distribution) => distribution.associated(object.handle, attribute),
            };
            let key = PasselKey { transportation: state.transportation, sent, regions };
            passels.add(&key, HandleValue { handle: attribute.0, value: pair.value });
        }
        let is_first = object.known.is_first_update(federate);
        let (instance, registered) = (object.handle, object.class);
        let class = PublishedClass::Objects(registered);
        // If the owner is not at the home, receivers wait for the change that made it the owner, or
        // for the discovery.
        let after = (object.home != self.node).then_some((class, object.home));
        let mut in_time = false;
        let passels = passels.finish(tag);
        let counters = &mut self.federate_mut(federate).counters;
        counters.update_calls = counters.update_calls.saturating_add(1);
        passels.iter().for_each(|passel| counters.count_update(registered, passel.transportation));
        if is_first {
            counters.count_updated(registered);
            if let Some(object) = self.instances.get_mut(instance) {
                object.known.note_updated(federate);
            }
        }
        for payload in passels {
            in_time |= payload.is_in_time();
            self.reflect(effects, instance, &payload);
            if self.replicated {
                let event = |payload| StreamEvent::Updated { instance, payload };
                self.append_payload(effects, class, payload, after, event);
            } else {
                self.reuse(payload);
            }
        }
        Ok(in_time)
    }

    /// Keeps the memory of a payload for the next update.
    pub(crate) fn reuse(&mut self, mut payload: Box<Payload>) {
        // The values share the memory of the calls that brought them, so they must not be kept.
        payload.tag = Bytes::new();
        payload.values.clear();
        self.spare_payload = Some(payload);
    }

    /// Appends a message with values to a stream, if other nodes may follow it.
    ///
    /// Receivers must first apply the events of the stream of `after` that this node has appended or
    /// applied.
    pub(super) fn append_payload(
        &self,
        effects: &mut Effects,
        class: PublishedClass,
        payload: Box<Payload>,
        after: Option<(PublishedClass, NodeId)>,
        event: impl FnOnce(Box<Payload>) -> StreamEvent,
    ) {
        if !self.replicated {
            return;
        }
        let best_effort = self.may_lose(&payload);
        effects.replicate(Change::Append { class, event: event(payload), best_effort, after });
    }

    /// Whether a message may be lost on its way. One in time-stamp order never may, whatever its
    /// transportation type: it would be lost for good, since a late one breaks the promise of a
    /// grant.
    fn may_lose(&self, payload: &Payload) -> bool {
        !is_reliable(&self.model, payload.transportation) && !payload.is_in_time()
    }

    /// The attribute, which `federate` may update.
    fn check_owned(
        &self,
        federate: FederateHandle,
        object: &Instance,
        known_as: &ObjectClass,
        registered: &ObjectClass,
        attribute: AttributeHandle,
    ) -> Result<AttributeState, RtiError> {
        let slot = registered.slot(attribute).filter(|_| known_as.has_attribute(attribute));
        let slot = slot.ok_or_else(|| self.attribute_not_defined(attribute, known_as))?;
        let state = object.attribute(slot);
        if state.owner != federate {
            let name = self.model.attribute(attribute).map_or("", |attribute| &attribute.name);
            let text = format!("attribute `{name}` of {:?} is not owned by this federate", object.handle);
            return Err(RtiError::new(Exception::AttributeNotOwned, text));
        }
        Ok(state)
    }

    /// Delivers one passel, of at most [`PASSEL_VALUES_MAX`] values, to every federate that has
    /// some of it in scope.
    pub(super) fn reflect(&mut self, effects: &mut Effects, handle: ObjectInstanceHandle, payload: &Payload) {
        let Self { instances, federates, rates, model, time: kind, .. } = self;
        let Some(object) = instances.get(handle) else { return };
        let best_effort = !is_reliable(model, payload.transportation);
        let now = effects.now;
        // The node of another producer has already reduced the rate to the highest one that is wanted
        // elsewhere, and varying delays have changed the intervals since.
        let is_local = federates.contains_key(&payload.producer);
        // An owner at another node may have moved its regions before the home of the instance has
        // decided so.
        let as_sent = !object.has_update_regions(&payload.regions, &payload.values);
        let mut conveyed = Conveyed::default();
        let mut first: SmallVec<[FederateHandle; 4]> = SmallVec::new();
        let mut encoded: SmallVec<[(Part, OrderType, bool, Bytes); 4]> = SmallVec::new();
        let mut receivers =
            object.known().iter().filter(|known| known.federate != payload.producer).peekable();
        while let Some(known) = receivers.next() {
            let Some(federate) = federates.get_mut(&known.federate) else { continue };
            let Some(subscribed) = federate.subscriptions.get(&known.class) else { continue };
            let of_message = (as_sent && federate.distribution.subscribes(known.class)).then(|| {
                let sent = (&payload.regions, &payload.values[..]);
                narrowed_as_sent((model, rates), object, (federate, known.class), sent)
            });
            let narrowed = of_message.as_ref().or_else(|| object.narrowed(known.federate));
            let Some(mut part) = part_in_scope(subscribed, narrowed, &payload.values) else { continue };
            if best_effort {
                let reduction = &mut federate.reduction;
                let due = |rate: RateId, attribute| {
                    let interval = rates[rate.0 as usize].interval;
                    let tolerance = if is_local { Duration::ZERO } else { interval / 2 };
                    reduction.is_due((handle, attribute), interval, tolerance, now)
                };
                let subscribed = (subscribed, narrowed);
                let Some(due) = reduce_rate(subscribed, &payload.values, part, due) else { continue };
                part = due;
            }
            let received = received_order(payload, federate);
            let conveys = federate.switches.convey_region_designator_sets;
            let key = (part, received, conveys);
            let done = encoded.iter().find(|(part, order, conveys, _)| (*part, *order, *conveys) == key);
            let body = match done {
                Some((.., body)) => body.clone(),
                None => {
                    let select = |at| part >> at & 1 == 1;
                    let regions = conveyed.of(&payload.regions, conveys);
                    let body = encode::reflect(handle, payload, (received, regions), select);
                    // After the last receiver nobody needs the body again.
                    if receivers.peek().is_some() {
                        encoded.push((part, received, conveys, body.clone()));
                    }
                    body
                }
            };
            let (class, unsubscribed) = (known.class, federate.unsubscribed);
            if received == OrderType::Receive {
                federate.counters.count_reflect(class, payload.transportation);
                if !known.has_reflected {
                    first.push(known.federate);
                }
            }
            pass_on(effects, *kind, federate, payload, best_effort, (body, received), || Subject::Update {
                instance: handle,
                class,
                unsubscribed,
            });
        }
        first.into_iter().for_each(|federate| self.note_reflected(handle, federate));
    }

    /// Notes that a federate has received an update of an instance.
    pub(super) fn note_reflected(&mut self, instance: ObjectInstanceHandle, federate: FederateHandle) {
        let first = self.instances.get_mut(instance).and_then(|object| object.known.note_reflected(federate));
        if let Some(class) = first
            && let Some(federate) = self.federates.get_mut(&federate)
        {
            federate.counters.count_reflected(class);
        }
    }
}

/// The properties that values of one update must share to form a passel (6.10).
#[derive(Clone, PartialEq, Eq, Debug)]
struct PasselKey<'a> {
    transportation: TransportationTypeHandle,
    /// The order in which they are sent.
    sent: OrderType,
    /// The regions associated with the attributes for updates (9.5).
    regions: &'a RegionSet,
}

impl PasselKey<'_> {
    fn fits(&self, passel: &Payload) -> bool {
        passel.transportation == self.transportation
            && passel.stamp.is_none_or(|stamp| stamp.sent == self.sent)
            && passel.regions == *self.regions
    }
}

impl Default for PasselKey<'_> {
    fn default() -> Self {
        let transportation = TransportationTypeHandle::RELIABLE;
        Self { transportation, sent: OrderType::Receive, regions: RegionSet::DEFAULT }
    }
}

/// The passels of one update. Nearly always there is one.
///
/// Their values are written directly to their final place, in boxes. Reading back values that were
/// written just before in smaller parts costs more than the allocation, and the first passel
/// usually gets the box of an earlier update.
#[derive(Debug)]
struct Passels {
    producer: FederateHandle,
    stamp: Option<Stamp>,
    /// A payload without values whose memory may be used.
    spare: Option<Box<Payload>>,
    list: SmallVec<[Box<Payload>; 1]>,
}

impl Passels {
    fn new(producer: FederateHandle, stamp: Option<Stamp>, spare: Option<Box<Payload>>) -> Self {
        Self { producer, stamp, spare, list: SmallVec::new() }
    }

    /// Adds a value to the passel to which it belongs. If a handle occurs twice in one call, its
    /// last value counts.
    fn add(&mut self, key: &PasselKey<'_>, value: HandleValue) {
        let mut open = None;
        for (at, passel) in self.list.iter_mut().enumerate().filter(|(_, passel)| key.fits(passel)) {
            if let Some(earlier) = passel.values.iter_mut().find(|earlier| earlier.handle == value.handle) {
                *earlier = value;
                return;
            }
            if passel.values.len() < PASSEL_VALUES_MAX {
                open = Some(at);
            }
        }
        let at = open.unwrap_or_else(|| self.begin(key));
        self.list[at].values.push(value);
    }

    /// Begins a passel without values.
    fn begin(&mut self, key: &PasselKey<'_>) -> usize {
        let (producer, transportation) = (self.producer, key.transportation);
        let stamp = self.stamp.map(|stamp| stamp.ordered(key.sent));
        let regions = key.regions.clone();
        self.list.push(match self.spare.take() {
            Some(mut spare) => {
                spare.producer = producer;
                spare.transportation = transportation;
                spare.stamp = stamp;
                spare.regions = regions;
                spare
            }
            None => {
                let (tag, values) = (Bytes::new(), Values::new());
                Box::new(Payload { producer, transportation, tag, stamp, regions, values })
            }
        });
        self.list.len() - 1
    }

    /// The passels, each with the tag of the update.
    fn finish(mut self, tag: Bytes) -> SmallVec<[Box<Payload>; 1]> {
        if let Some((last, others)) = self.list.split_last_mut() {
            others.iter_mut().for_each(|passel| passel.tag = tag.clone());
            last.tag = tag;
        }
        self.list
    }
}

/// Whether messages of this transportation type must not be lost.
pub(super) fn is_reliable(model: &hla::fom::Fdd, transportation: TransportationTypeHandle) -> bool {
    model.transportation(transportation).is_none_or(|transportation| transportation.reliable)
}

/// The regions of a message as callbacks convey them, once a receiver wants to know them.
#[derive(Default)]
pub(super) struct Conveyed(Option<ConveyedRegionSet>);

impl Conveyed {
    /// The regions for a receiver that wants to know them.
    pub(super) fn of(&mut self, regions: &RegionSet, conveys: bool) -> Option<&ConveyedRegionSet> {
        conveys.then(|| &*self.0.get_or_insert_with(|| regions.to_api()))
    }
}

/// The values with a subscription that applies; `None` if there are none.
pub(super) fn part_in_scope(
    subscribed: &ClassSubscription,
    narrowed: Option<&Narrowed>,
    values: &[HandleValue],
) -> Option<Part> {
    let mut part: Part = 0;
    for (at, value) in values.iter().enumerate() {
        if applicable_in(subscribed, narrowed, AttributeHandle(value.handle)).is_some() {
            part |= 1 << at;
        }
    }
    (part != 0).then_some(part)
}

/// Update rate reduction (6.11): removes values that are not `due` yet at the receiver. They are
/// not kept.
fn reduce_rate(
    (subscribed, narrowed): (&ClassSubscription, Option<&Narrowed>),
    values: &[HandleValue],
    part: Part,
    mut due: impl FnMut(RateId, AttributeHandle) -> bool,
) -> Option<Part> {
    let mut kept = part;
    for (at, value) in values.iter().enumerate().filter(|(at, _)| part >> at & 1 == 1) {
        let attribute = AttributeHandle(value.handle);
        if let Some(Subscription { rate: Some(rate), .. }) = applicable_in(subscribed, narrowed, attribute)
            && !due(rate, attribute)
        {
            kept &= !(1 << at);
        }
    }
    (kept != 0).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Region;
    use hla::handle::{MessageRetractionHandle, RegionHandle};

    fn value(handle: u32) -> HandleValue {
        HandleValue { handle, value: Bytes::copy_from_slice(&handle.to_be_bytes()) }
    }

    fn regions(handles: std::ops::Range<u64>) -> RegionSet {
        let region = |handle| Region { handle: RegionHandle(handle), ranges: Default::default() };
        handles.map(region).collect()
    }

    fn passels() -> Passels {
        let retraction = MessageRetractionHandle::INVALID;
        Passels::new(
            FederateHandle(1),
            Some(Stamp { time: [0; 8], sent: OrderType::Timestamp, retraction }),
            None,
        )
    }

    fn payloads(passels: Passels) -> SmallVec<[Box<Payload>; 1]> {
        passels.finish(Bytes::from_static(b"tag"))
    }

    #[test]
    fn values_that_differ_in_transportation_order_or_regions_are_different_passels() {
        let (one, two) = (regions(1..2), regions(1..3));
        let keys = [
            PasselKey::default(),
            PasselKey { transportation: TransportationTypeHandle::BEST_EFFORT, ..PasselKey::default() },
            PasselKey { sent: OrderType::Timestamp, ..PasselKey::default() },
            PasselKey { regions: &one, ..PasselKey::default() },
            PasselKey { regions: &two, ..PasselKey::default() },
        ];
        let mut passels = passels();
        for handle in 0..20 {
            passels.add(&keys[handle as usize % keys.len()], value(handle));
        }
        let payloads = payloads(passels);
        assert_eq!(payloads.len(), keys.len());
        for (at, (payload, key)) in payloads.iter().zip(&keys).enumerate() {
            assert_eq!(payload.stamp.unwrap().sent, key.sent);
            assert_eq!((&payload.regions, payload.transportation), (key.regions, key.transportation));
            assert_eq!(payload.tag, "tag");
            assert!(payload.values.iter().all(|value| value.handle as usize % keys.len() == at));
        }
    }

    #[test]
    fn a_handle_that_comes_twice_keeps_its_last_value_and_its_place() {
        let mut passels = passels();
        for handle in [1, 2, 1] {
            passels.add(&PasselKey::default(), value(handle));
        }
        passels.add(&PasselKey::default(), HandleValue { handle: 2, value: Bytes::from_static(b"last") });
        let [payload] = &payloads(passels)[..] else { panic!("one passel") };
        let values: Vec<_> = payload.values.iter().map(|value| (value.handle, &value.value[..])).collect();
        assert_eq!(values, [(1, &[0, 0, 0, 1][..]), (2, &b"last"[..])]);
    }

    #[test]
    fn no_passel_has_more_values_than_a_part_has_bits() {
        let mut passels = passels();
        for handle in 0..300 {
            passels.add(&PasselKey::default(), value(handle));
        }
        let lengths: Vec<_> = payloads(passels).iter().map(|payload| payload.values.len()).collect();
        assert_eq!(lengths, [128, 128, 44]);
    }
}
