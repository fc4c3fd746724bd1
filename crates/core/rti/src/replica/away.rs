//! Update regions of which filtered followers have lost sight.
//!
//! A filtered follower is not told how regions move where nobody at its node subscribes. The last that it
//! is told of them is that it loses sight: there they overlap nothing from then on. Once they move to
//! where somebody at its node subscribes, or somebody subscribes where they are, it is told where that is.

use super::context::{Context, Timer};
use super::filter::{Filter, State};
use super::replication::Replication;
use super::state::Outbound;
use crate::control::PublishedClass;
use crate::object::objects::Objects;
use crate::wire::{RegionSet, StreamEvent};
use hla::handle::{AttributeHandle, ObjectInstanceHandle};
use std::collections::BTreeMap;
use std::time::Duration;

/// Attributes of which a follower loses sight at most. It is told of the regions of all others.
const AWAY_MAX: usize = 1 << 20;
/// Those that one slice looks at when the subscriptions of a follower have changed, and the pause until
/// the next one: all of them would hold up the federates of this node.
const REVIEWED_PER_SLICE: usize = 1_000;
const REVIEW_PAUSE: Duration = Duration::from_millis(2);

/// An attribute of an instance.
pub(super) type Place = (ObjectInstanceHandle, AttributeHandle);

impl Filter {
    /// Whether the follower is to be told where regions of an attribute are: somebody there subscribes where
    /// they are, or the follower is told of all.
    fn is_told_of(
        &self,
        objects: &Objects,
        class: PublishedClass,
        (attribute, regions): (AttributeHandle, &RegionSet),
    ) -> bool {
        let is_filtered = matches!(&self.state, State::On(sent) if sent.is_confirmed);
        !is_filtered || self.selection.reaches(objects, class, attribute, regions)
    }

    /// Whether the follower is to be told that regions have moved, and whether it loses sight of them.
    pub(super) fn selects_regions(
        &mut self,
        objects: &Objects,
        class: PublishedClass,
        (instance, regions): (ObjectInstanceHandle, &[(AttributeHandle, RegionSet)]),
    ) -> (bool, bool) {
        let moved = regions.iter().map(|(attribute, _)| (instance, *attribute));
        let mut of_each = regions.iter();
        let is_told =
            of_each.any(|(attribute, regions)| self.is_told_of(objects, class, (*attribute, regions)));
        if is_told || self.away.len() + regions.len() > AWAY_MAX {
            for moved in moved {
                self.away.remove(&moved);
            }
            return (true, false);
        }
        let mut is_news = false;
        moved.for_each(|moved| is_news |= self.away.insert(moved));
        (is_news, true)
    }

    /// Looks at up to `room` of the attributes of which the follower has lost sight. Returns those that it
    /// is to be told of, with their regions.
    fn review_away(
        &mut self,
        objects: &Objects,
        class: PublishedClass,
        room: &mut usize,
    ) -> Vec<(Place, RegionSet)> {
        let Some(until) = self.review_until.filter(|_| *room > 0) else { return Vec::new() };
        let reviewed: Vec<Place> = self.away.range(..=until).rev().take(*room).copied().collect();
        *room -= reviewed.len();
        let last = reviewed.last().filter(|_| *room == 0);
        self.review_until = last.and_then(|&last| self.away.range(..last).next_back()).copied();
        let told = reviewed.into_iter().filter_map(|(instance, attribute)| {
            let regions = objects.instances.get(instance)?.regions_of(attribute);
            let is_told = self.is_told_of(objects, class, (attribute, regions));
            is_told.then(|| ((instance, attribute), regions.clone()))
        });
        told.collect()
    }

    /// An instance is deleted.
    pub(super) fn forget_instance(&mut self, instance: ObjectInstanceHandle) {
        let all = (instance, AttributeHandle(0))..=(instance, AttributeHandle(u32::MAX));
        while let Some(&gone) = self.away.range(all.clone()).next() {
            self.away.remove(&gone);
        }
    }
}

impl Replication {
    /// Subscriptions of other nodes may have changed: regions of which they have lost sight may be where
    /// they subscribe now.
    pub(crate) fn subscriptions_changed(&mut self, context: &mut Context<'_>) {
        let has_away = |out: &Outbound| out.filters.values().any(|filter| !filter.away.is_empty());
        let mut classes = Vec::new();
        for (&class, out) in self.outbound.iter_mut().filter(|(_, out)| has_away(out)) {
            out.refresh_filters(context.objects, class);
            classes.push(class);
        }
        classes.into_iter().for_each(|class| self.review_away(context, class));
    }

    /// Tells followers of regions of which they have lost sight, and that are where they subscribe now. Of
    /// very many, it looks at the next ones later.
    pub(crate) fn review_away(&mut self, context: &mut Context<'_>, class: PublishedClass) {
        let stream = self.stream(class);
        let Some(out) = self.outbound.get_mut(&class) else { return };
        let (mut moved, mut room) = (BTreeMap::<_, BTreeMap<_, _>>::new(), REVIEWED_PER_SLICE);
        for filter in out.filters.values_mut().filter(|filter| filter.review_until.is_some()) {
            let told = filter.review_away(context.objects, class, &mut room);
            for ((instance, attribute), regions) in told {
                moved.entry(instance).or_default().insert(attribute, regions);
            }
        }
        if out.filters.values().any(|filter| filter.review_until.is_some()) {
            context.timers.set(Timer::Review(stream), context.now + REVIEW_PAUSE);
        }
        for (instance, regions) in moved {
            let regions = regions.into_iter().collect();
            let event = StreamEvent::Regions { instance, regions, is_away: false };
            self.append(context, class, &event, false, None);
        }
    }
}
