//! Summaries of the regions with which federates here subscribe, for the nodes of owners. Values whose
//! regions overlap no summary stay there.
//!
//! A summary may be wider than the regions, but never narrower. It is as wide as they are until one of
//! them moves. From then on it is a little wider, so that a region can move by a tenth of its extent
//! before other nodes must hear of it. Regions that never move cost nothing in excess.

use super::super::federate::Federate;
use super::super::objects::Objects;
use super::overlap::{Usage, overlaps_any};
use crate::wire::{DimensionRange, Region, RegionSet, Specification};
use hla::handle::{AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, RegionHandle};

/// The largest number of regions in a summary. More are summarized as one that encloses them, since an
/// owner's node compares each update with all of them.
const SUMMARY_REGIONS_MAX: usize = 16;

/// A range of a summary exceeds that of the region by this part of its extent at either end. In two
/// dimensions, a summary then has less than one and a half times the area of its region.
const MARGIN: u32 = 10;

/// A summary is replaced once a new one would have less than this part of its volume.
const TOO_WIDE: f64 = 2.0;

/// The regions of a subscription. The default region if there are none, or if they have different
/// dimensions and are too many.
fn summarize(regions: &[&Specification]) -> RegionSet {
    let summary = match regions.len() > SUMMARY_REGIONS_MAX {
        false => regions.iter().map(|ranges| (*ranges).clone()).collect(),
        true => Vec::from_iter(enclosing(regions)),
    };
    summary.into_iter().map(|ranges| Region { handle: RegionHandle::INVALID, ranges }).collect()
}

/// The summary of regions that have moved, if other nodes must get it in place of the one that they
/// were told.
fn moved(told: &RegionSet, regions: &[&Specification]) -> Option<RegionSet> {
    let new = widened(&summarize(regions));
    is_outdated(told, &new, regions).then_some(new)
}

/// The smallest region that contains all of these, if they have the same dimensions.
fn enclosing(regions: &[&Specification]) -> Option<Specification> {
    let (first, others) = regions.split_first()?;
    let mut all = (*first).clone();
    for ranges in others {
        let same =
            ranges.len() == all.len() && all.iter().zip(*ranges).all(|(a, b)| a.dimension == b.dimension);
        if !same {
            return None;
        }
        for (all, range) in all.iter_mut().zip(*ranges) {
            (all.lower, all.upper) = (all.lower.min(range.lower), all.upper.max(range.upper));
        }
    }
    Some(all)
}

/// The summary, wider by the margin.
fn widened(summary: &RegionSet) -> RegionSet {
    let wider = |range: &DimensionRange| {
        let margin = (range.upper - range.lower) / MARGIN;
        let (lower, upper) = (range.lower.saturating_sub(margin), range.upper.saturating_add(margin));
        DimensionRange { lower, upper, ..*range }
    };
    let regions =
        summary.iter().map(|region| Region { ranges: region.ranges.iter().map(wider).collect(), ..*region });
    regions.collect()
}

/// Whether a summary contains all these regions.
fn contains(summary: &RegionSet, regions: &[&Specification]) -> bool {
    regions.iter().all(|ranges| summary.iter().any(|around| is_within(ranges, &around.ranges)))
}

fn is_within(ranges: &Specification, around: &Specification) -> bool {
    let within = |(range, around): (&DimensionRange, &DimensionRange)| {
        range.dimension == around.dimension && around.lower <= range.lower && range.upper <= around.upper
    };
    ranges.len() == around.len() && ranges.iter().zip(around).all(within)
}

/// Whether other nodes must get a new summary of these regions: they have left the one that was told,
/// or fill little of it.
fn is_outdated(told: &RegionSet, new: &RegionSet, regions: &[&Specification]) -> bool {
    match told.is_empty() || new.is_empty() {
        true => told.is_empty() != new.is_empty(),
        false => !contains(told, regions) || volume(told) > TOO_WIDE * volume(new),
    }
}

/// Whether one of the regions with which a message is sent at `class` overlaps one of these summaries.
fn reaches<'a, Class: Copy>(
    sent: &RegionSet,
    class: Class,
    summaries: &[(Class, RegionSet)],
    usage: impl Fn(Class) -> Usage<'a>,
) -> bool {
    let there = usage(class);
    summaries.iter().any(|(at, summary)| {
        let here = usage(*at);
        sent.iter().any(|region| overlaps_any(&region.ranges, there, summary, here))
    })
}

/// The sum of the volumes of the regions.
fn volume(summary: &RegionSet) -> f64 {
    let extents = |region: &Region| {
        region.ranges.iter().map(|range| f64::from(range.upper - range.lower)).product::<f64>()
    };
    summary.iter().map(extents).sum()
}

impl Federate {
    /// The attributes of a class that are subscribed with regions only, each with those that are
    /// committed.
    fn narrowed_attributes(
        &self,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = (AttributeHandle, Vec<&Specification>)> {
        let subscriptions = self.distribution.attributes.get(&class);
        let attributes = self.subscriptions.get(&class).into_iter().flat_map(|subscribed| subscribed.keys());
        attributes.filter_map(move |&attribute| {
            let subscriptions = subscriptions.filter(|all| all.plain(attribute).is_none())?;
            let regions = subscriptions.of(attribute);
            let committed = regions.filter_map(|(region, _)| self.distribution.specification(region));
            Some((attribute, committed.collect()))
        })
    }

    /// The summary of the regions with which an attribute is subscribed, as other nodes have been told;
    /// the default region if it is subscribed everywhere.
    pub(crate) fn summary(&self, class: ObjectClassHandle, attribute: AttributeHandle) -> &RegionSet {
        let subscriptions = self.distribution.attributes.get(&class);
        let summary = subscriptions.and_then(|subscriptions| subscriptions.summaries.get(&attribute));
        summary.unwrap_or(RegionSet::DEFAULT)
    }

    /// The summary of the regions with which an interaction class is subscribed, likewise.
    pub(crate) fn interaction_summary(&self, class: InteractionClassHandle) -> &RegionSet {
        let subscription = self.distribution.interactions.get(&class);
        subscription.map_or(RegionSet::DEFAULT, |subscription| &subscription.summary)
    }

    /// The committed regions that narrow the subscription of an interaction class.
    fn narrowing(&self, class: InteractionClassHandle) -> Vec<&Specification> {
        let subscription = self.distribution.interactions.get(&class);
        let regions = subscription.into_iter().flat_map(|subscription| subscription.narrowing());
        regions.filter_map(|region| self.distribution.specification(region)).collect()
    }
}

impl Objects {
    /// Makes new summaries of the regions with which a federate subscribes attributes of a class.
    pub(in crate::object) fn refresh_summaries(
        &mut self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) {
        let Some(federate) = self.federates.get_mut(&federate) else { return };
        let summaries = federate
            .narrowed_attributes(class)
            .map(|(attribute, regions)| (attribute, summarize(&regions)))
            .filter(|(_, summary)| !summary.is_empty())
            .collect();
        if let Some(subscriptions) = federate.distribution.attributes.get_mut(&class) {
            subscriptions.summaries = summaries;
        }
    }

    /// Makes new summaries of moved regions with which a federate subscribes attributes of a class.
    /// Returns whether other nodes must hear of them.
    pub(super) fn move_summaries(&mut self, federate: FederateHandle, class: ObjectClassHandle) -> bool {
        let Some(federate) = self.federates.get_mut(&federate) else { return false };
        let moved: Vec<_> = federate
            .narrowed_attributes(class)
            .filter_map(|(attribute, regions)| {
                Some((attribute, moved(federate.summary(class, attribute), &regions)?))
            })
            .collect();
        let Some(subscriptions) = federate.distribution.attributes.get_mut(&class) else { return false };
        let has_moved = !moved.is_empty();
        for (attribute, summary) in moved {
            match summary.is_empty() {
                true => subscriptions.summaries.remove(&attribute),
                false => subscriptions.summaries.insert(attribute, summary),
            };
        }
        has_moved
    }

    /// Makes a new summary of the regions with which a federate subscribes an interaction class.
    pub(in crate::object) fn refresh_summary(
        &mut self,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        let Some(federate) = self.federates.get_mut(&federate) else { return };
        let summary = summarize(&federate.narrowing(class));
        if let Some(subscription) = federate.distribution.interactions.get_mut(&class) {
            subscription.summary = summary;
        }
    }

    /// Makes a new summary of moved regions with which a federate subscribes an interaction class.
    /// Returns whether other nodes must hear of it.
    pub(super) fn move_summary(&mut self, federate: FederateHandle, class: InteractionClassHandle) -> bool {
        let Some(federate) = self.federates.get_mut(&federate) else { return false };
        let moved = moved(federate.interaction_summary(class), &federate.narrowing(class));
        let subscription = federate.distribution.interactions.get_mut(&class);
        let (Some(summary), Some(subscription)) = (moved, subscription) else { return false };
        subscription.summary = summary;
        true
    }

    /// Whether an interaction that is sent at `class` with these regions reaches one of these
    /// subscriptions: summaries, each of a subscription at some class.
    pub(crate) fn reaches_interaction_summary(
        &self,
        class: InteractionClassHandle,
        sent: &RegionSet,
        summaries: &[(InteractionClassHandle, RegionSet)],
    ) -> bool {
        let usage = |class| Usage::of_interaction(&self.model, class);
        reaches(sent, class, summaries, usage)
    }

    /// Whether a value of an attribute of an instance that was registered at `class`, sent with these
    /// regions, reaches one of these subscriptions: summaries, each of a subscription at some class.
    pub(crate) fn reaches_summary(
        &self,
        (class, attribute): (ObjectClassHandle, AttributeHandle),
        sent: &RegionSet,
        summaries: &[(ObjectClassHandle, RegionSet)],
    ) -> bool {
        let usage = |class| Usage::of_attribute(&self.model, class, attribute);
        reaches(sent, class, summaries, usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hla::handle::DimensionHandle;
    use proptest::prelude::*;

    fn range(dimension: u32) -> impl Strategy<Value = DimensionRange> {
        let bounds = prop_oneof![(0..200_u32, 1..60_u32), (u32::MAX - 300..u32::MAX - 60, 1..60_u32)];
        bounds.prop_map(move |(lower, extent)| DimensionRange {
            dimension: DimensionHandle(dimension),
            lower,
            upper: lower + extent,
        })
    }

    fn specification() -> impl Strategy<Value = Specification> {
        prop_oneof![
            4 => (range(1), range(2)).prop_map(|(x, y)| Specification::from_iter([x, y])),
            1 => range(1).prop_map(|x| Specification::from_iter([x])),
        ]
    }

    proptest! {
        #[test]
        fn no_summary_is_narrower_than_its_regions(all in proptest::collection::vec(specification(), 0..40)) {
            let regions: Vec<_> = all.iter().collect();
            let summary = summarize(&regions);
            prop_assert!(summary.is_empty() || contains(&summary, &regions));
            prop_assert!(summary.iter().len() <= SUMMARY_REGIONS_MAX);
            if all.len() <= SUMMARY_REGIONS_MAX {
                prop_assert_eq!(summary.iter().len(), all.len(), "each region is summarized alone");
                let exact: RegionSet = all
                    .iter()
                    .map(|ranges| Region { handle: RegionHandle::INVALID, ranges: ranges.clone() })
                    .collect();
                prop_assert_eq!(&summary, &exact);
                let wider = widened(&summary);
                prop_assert!(contains(&wider, &regions));
                prop_assert!(volume(&wider) <= 1.45 * volume(&exact), "{wider:?}");
            }
        }
    }

    #[test]
    fn many_regions_are_enclosed_by_one() {
        let ranges = |n: u32| {
            let range = |dimension| DimensionRange {
                dimension: DimensionHandle(dimension),
                lower: 20 * n,
                upper: 20 * n + 10,
            };
            Specification::from_iter([range(1), range(2)])
        };
        let all: Vec<_> = (1..=17).map(ranges).collect();
        let regions: Vec<_> = all.iter().collect();
        let summary = summarize(&regions);
        assert_eq!(summary.iter().len(), 1);
        assert!(contains(&summary, &regions));
    }
}
