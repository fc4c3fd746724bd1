//! Values that no other node wants stay at the sender: those of attributes that nobody there
//! subscribes, those whose regions no subscription there overlaps, and those that come more often than
//! anybody there wants them.
//!
//! A node that follows a stream has sent the subscriptions of its federates. An update of which
//! nothing is left gets no number, so that streams stay dense.

use super::state::{Beginning, Outbound};
use crate::control::PublishedClass;
use crate::object::objects::Objects;
use crate::wire::{Payload, RegionSet, StreamEvent};
use base::Moment;
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle};
use smallvec::SmallVec;
use std::time::Duration;

/// The part of an event that other nodes want.
#[derive(Debug)]
pub(super) enum Narrowed {
    Everything,
    Something(StreamEvent),
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
    ) -> Narrowed {
        // Nodes whose subscriptions are not known may still request the beginning of the stream.
        if !best_effort && self.beginning != Beginning::Retired {
            return Narrowed::Everything;
        }
        match (class, event) {
            (PublishedClass::Objects(class), StreamEvent::Updated { instance, payload }) => {
                self.narrow_update((objects, now), (class, *instance), payload, best_effort)
            }
            (PublishedClass::Interactions(class), StreamEvent::Sent(payload)) => {
                self.narrow_interaction(objects, class, payload)
            }
            _ => Narrowed::Everything,
        }
    }

    fn narrow_interaction(
        &mut self,
        objects: &Objects,
        class: InteractionClassHandle,
        payload: &Payload,
    ) -> Narrowed {
        // The default region overlaps every region.
        if payload.regions.is_empty() {
            return Narrowed::Everything;
        }
        objects.refresh_wanted_interactions(&mut self.wanted_interactions, class);
        let summaries = self.wanted_interactions.regions.as_ref();
        let reaches =
            |summaries: &Vec<_>| objects.reaches_interaction_summary(class, &payload.regions, summaries);
        if summaries.is_none_or(reaches) { Narrowed::Everything } else { Narrowed::Nothing }
    }

    fn narrow_update(
        &mut self,
        (objects, now): (&Objects, Moment),
        (class, instance): (ObjectClassHandle, ObjectInstanceHandle),
        payload: &Payload,
        best_effort: bool,
    ) -> Narrowed {
        objects.refresh_wanted(&mut self.wanted, class);
        let values = &payload.values;
        let keep: SmallVec<[bool; 16]> = values
            .iter()
            .map(|value| AttributeHandle(value.handle))
            .map(|attribute| {
                self.is_wanted_there(objects, (class, attribute), &payload.regions)
                    && (!best_effort || self.is_due(objects, (instance, attribute), now))
            })
            .collect();
        let left = keep.iter().filter(|&&keep| keep).count();
        if left == values.len() {
            return Narrowed::Everything;
        }
        if left == 0 {
            return Narrowed::Nothing;
        }
        let left = values.iter().zip(keep).filter(|(_, keep)| *keep).map(|(value, _)| value.clone());
        let Payload { producer, transportation, stamp, .. } = *payload;
        let (tag, regions, values) = (payload.tag.clone(), payload.regions.clone(), left.collect());
        let payload = Box::new(Payload { producer, transportation, tag, stamp, regions, values });
        Narrowed::Something(StreamEvent::Updated { instance, payload })
    }

    /// Whether some other node wants values of an attribute that are sent with these regions.
    fn is_wanted_there(
        &self,
        objects: &Objects,
        attribute: (ObjectClassHandle, AttributeHandle),
        regions: &RegionSet,
    ) -> bool {
        let Some(wanted) = self.wanted.attribute(attribute.1) else { return false };
        // The default region overlaps every region.
        let wanted = wanted.regions.as_ref().filter(|_| !regions.is_empty());
        wanted.is_none_or(|summaries| objects.reaches_summary(attribute, regions, summaries))
    }

    /// Whether a value that is sent best effort is due at some other node, by its update rate.
    fn is_due(
        &mut self,
        objects: &Objects,
        attribute: (ObjectInstanceHandle, AttributeHandle),
        now: Moment,
    ) -> bool {
        let rate = self.wanted.attribute(attribute.1).and_then(|wanted| wanted.rate);
        let Some(rate) = rate.and_then(|rate| objects.rates.get(usize::from(rate.0))) else { return true };
        self.reduction.review(|instance| objects.instances.get(instance).is_some());
        self.reduction.is_due(attribute, rate.interval, Duration::ZERO, now)
    }
}
