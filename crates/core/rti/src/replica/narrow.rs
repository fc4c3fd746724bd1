//! Values that no other node wants stay at the sender: those of attributes that nobody there
//! subscribes, those whose regions no subscription there overlaps, and those that come more often than
//! anybody there wants them.
//!
//! A node that follows a stream has sent the subscriptions of its federates. An update of which
//! nothing is left gets no number, so that streams stay dense.

use super::state::{Beginning, Outbound};
use crate::control::PublishedClass;
use crate::object::objects::Objects;
use crate::object::update::Part;
use crate::wire::{Payload, StreamEvent};
use base::Moment;
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::time::Duration;

/// The part of an event that other nodes want.
#[derive(Debug)]
pub(super) enum Remainder {
    Everything,
    Part(StreamEvent),
    Nothing,
}

impl Outbound {
    /// Removes the values of an update that no other node wants, or an interaction that none wants.
    pub(super) fn narrow(
        &mut self,
        (objects, now): (&Objects, Moment),
        class: PublishedClass,
        event: &StreamEvent,
        best_effort: bool,
    ) -> Remainder {
        // Nodes whose subscriptions are not known may still request the beginning of the stream.
        if !best_effort && self.beginning != Beginning::Retired {
            return Remainder::Everything;
        }
        match (class, event) {
            (PublishedClass::Objects(class), StreamEvent::Updated { instance, payload }) => {
                self.narrow_update((objects, now), (class, *instance), payload, best_effort)
            }
            (PublishedClass::Interactions(class), StreamEvent::Sent(payload)) => {
                self.narrow_interaction(objects, class, payload)
            }
            _ => Remainder::Everything,
        }
    }

    fn narrow_interaction(
        &mut self,
        objects: &Objects,
        class: InteractionClassHandle,
        payload: &Payload,
    ) -> Remainder {
        // The default region overlaps every region.
        if payload.regions.is_empty() {
            return Remainder::Everything;
        }
        objects.refresh_wanted_interactions(&mut self.wanted_interactions, class, None);
        match objects.reaches_interaction(class, &self.wanted_interactions, payload) {
            true => Remainder::Everything,
            false => Remainder::Nothing,
        }
    }

    fn narrow_update(
        &mut self,
        (objects, now): (&Objects, Moment),
        (class, instance): (ObjectClassHandle, ObjectInstanceHandle),
        payload: &Payload,
        best_effort: bool,
    ) -> Remainder {
        objects.refresh_wanted(&mut self.wanted, class, None);
        let values = &payload.values;
        let mut left: Part = 0;
        for (at, value) in values.iter().enumerate() {
            let attribute = AttributeHandle(value.handle);
            let Some(wanted) = self.wanted.attribute(attribute) else { continue };
            if !objects.reaches_attribute((class, attribute), wanted, &payload.regions) {
                continue;
            }
            let rate = wanted.how.rate.filter(|_| best_effort);
            if let Some(rate) = rate.and_then(|rate| objects.rates.get(usize::from(rate.0))) {
                self.reduction.review(|instance| objects.instances.get(instance).is_some());
                if !self.reduction.is_due((instance, attribute), rate.interval, Duration::ZERO, now) {
                    continue;
                }
            }
            left |= 1 << at;
        }
        if left == 0 {
            return Remainder::Nothing;
        }
        if left.count_ones() as usize == values.len() {
            return Remainder::Everything;
        }
        let left = values.iter().enumerate().filter(|(at, _)| left >> at & 1 == 1);
        let left = left.map(|(_, value)| value.clone());
        let Payload { producer, transportation, stamp, .. } = *payload;
        let (tag, regions, values) = (payload.tag.clone(), payload.regions.clone(), left.collect());
        let payload = Box::new(Payload { producer, transportation, tag, stamp, regions, values });
        Remainder::Part(StreamEvent::Updated { instance, payload })
    }
}
