//! Regions: their overlap, and the subscriptions that apply to an update or an interaction because
//! of it (9.1).

use super::{Federate, Federation, Subscribed};
use crate::request::Pair;
use hla::Exception;
use hla::api::{ConveyedRegion, ConveyedRegionSet, DimensionAndRange, RangeBounds};
use hla::fom::{DefaultRange, Fdd};
use hla::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, RegionHandle,
};
use std::collections::{BTreeMap, BTreeSet};

/// Ranges by dimension.
pub(super) type Ranges = BTreeMap<DimensionHandle, RangeBounds>;

/// A region of a federate.
#[derive(Debug)]
pub(super) struct Region {
    /// Its dimensions, each with the bounds that were set last: the template.
    pub(super) template: BTreeMap<DimensionHandle, Option<RangeBounds>>,
    /// The bounds that were committed last: the specification.
    pub(super) specification: Option<Ranges>,
}

/// The regions of a federate, and what it uses them for.
#[derive(Default, Debug)]
pub(super) struct Regions {
    pub(super) ever: u32,
    pub(super) all: BTreeMap<RegionHandle, Region>,
    pub(super) subscribes: BTreeMap<(ObjectClassHandle, AttributeHandle, RegionHandle), Subscribed>,
    /// Interaction classes subscribed with a region; true: actively.
    pub(super) subscribes_interactions: BTreeMap<(InteractionClassHandle, RegionHandle), bool>,
    /// The associations for updates.
    pub(super) updates: BTreeSet<(ObjectInstanceHandle, AttributeHandle, RegionHandle)>,
}

impl Regions {
    pub(super) fn are_using(&self, region: RegionHandle) -> bool {
        self.subscribes.keys().any(|&(_, _, used)| used == region)
            || self.subscribes_interactions.keys().any(|&(_, used)| used == region)
            || self.updates.iter().any(|&(_, _, used)| used == region)
    }
}

/// The ranges of a region where these dimensions are available. In a dimension that the region does
/// not have, it has the default range of the object model, if there is one.
fn effective(model: &Fdd, specification: &Ranges, available: &[DimensionHandle]) -> Ranges {
    let mut ranges = specification.clone();
    for &handle in available {
        let default = model.dimension(handle).map(|dimension| dimension.default);
        if let Some(DefaultRange::Range { lower, upper }) = default {
            ranges.entry(handle).or_insert(RangeBounds { lower, upper });
        }
    }
    ranges
}

/// Whether two regions have a dimension in common, and overlap in each one that both have.
fn overlap(one: &Ranges, other: &Ranges) -> bool {
    let common: Vec<_> =
        one.iter().filter_map(|(dimension, a)| other.get(dimension).map(|b| (a, b))).collect();
    !common.is_empty() && common.iter().all(|(a, b)| a.lower < b.upper && b.lower < a.upper)
}

/// Two subscriptions of the same attribute that both apply: it is active if one of them is, and has
/// an update rate only if both have one.
fn together(one: Subscribed, other: Subscribed) -> Subscribed {
    let rate = match (one.rate, other.rate) {
        (Some(a), Some(b)) => Some(if a.1 < b.1 { b } else { a }),
        _ => None,
    };
    Subscribed { active: one.active || other.active, rate }
}

impl Federation {
    /// The region, if it exists.
    fn region(&self, handle: RegionHandle) -> Option<&Region> {
        self.federates.get(&creator(handle))?.regions.all.get(&handle)
    }

    fn specification(&self, handle: RegionHandle) -> Ranges {
        self.region(handle).and_then(|region| region.specification.clone()).unwrap_or_default()
    }

    fn effective(&self, region: RegionHandle, available: &[DimensionHandle]) -> Ranges {
        effective(&self.model, &self.specification(region), available)
    }

    /// The dimensions that are available to interactions of a class.
    pub(super) fn interaction_dimensions(&self, class: InteractionClassHandle) -> Vec<DimensionHandle> {
        self.model.interaction_class(class).map(|class| class.dimensions.clone()).unwrap_or_default()
    }

    /// The regions that the owner of an instance attribute has associated with it. If there are
    /// none, the default region takes their place, which overlaps every region.
    pub(super) fn update_regions(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> BTreeSet<RegionHandle> {
        let owner = self.instances.get(&instance).and_then(|object| object.owners.get(&attribute));
        let owner = owner.and_then(|owner| self.federates.get(owner));
        let updates = owner.into_iter().flat_map(|owner| &owner.regions.updates);
        let of = updates.filter(|&&(of, at, _)| of == instance && at == attribute);
        of.map(|&(_, _, region)| region).collect()
    }

    /// Whether a region that is used for an attribute at a class overlaps the update regions of an
    /// instance.
    pub(super) fn meets(
        &self,
        region: RegionHandle,
        (class, attribute): (ObjectClassHandle, AttributeHandle),
        instance: ObjectInstanceHandle,
    ) -> bool {
        let updates = self.update_regions(instance, attribute);
        let available = self.model.attribute_dimensions(self.instances[&instance].class, attribute);
        let wanted = self.effective(region, &self.model.attribute_dimensions(class, attribute));
        updates.is_empty()
            || updates.into_iter().any(|update| overlap(&wanted, &self.effective(update, &available)))
    }

    /// All subscriptions of a federate at a class that apply to an instance attribute, as one;
    /// `None` if there are none.
    pub(super) fn applicable(
        &self,
        federate: FederateHandle,
        (class, attribute): (ObjectClassHandle, AttributeHandle),
        instance: ObjectInstanceHandle,
    ) -> Option<Subscribed> {
        let federate = self.federates.get(&federate)?;
        let plain = federate.subscribes.get(&(class, attribute));
        let regional = federate.regions.subscribes.iter().filter(|&(&(at, of, region), _)| {
            at == class && of == attribute && self.meets(region, (class, attribute), instance)
        });
        plain.into_iter().chain(regional.map(|(_, how)| how)).copied().reduce(together)
    }

    /// Whether a federate subscribes an interaction class in a way that applies to an interaction,
    /// which was sent as another class with these regions.
    pub(super) fn wants_interaction_at(
        &self,
        federate: &Federate,
        class: InteractionClassHandle,
        (sent, regions): (InteractionClassHandle, &BTreeSet<RegionHandle>),
    ) -> bool {
        let available = self.interaction_dimensions(sent);
        let reaches = |region: RegionHandle| {
            let wanted = self.effective(region, &self.interaction_dimensions(class));
            regions.is_empty()
                || regions.iter().any(|&used| overlap(&wanted, &self.effective(used, &available)))
        };
        federate.subscribes_interactions.contains_key(&class)
            || federate.regions.subscribes_interactions.keys().any(|&(at, used)| at == class && reaches(used))
    }

    /// The regions of a message as its receiver learns them, if its switch asks for that.
    pub(super) fn conveyed(
        &self,
        receiver: FederateHandle,
        regions: &BTreeSet<RegionHandle>,
    ) -> Option<ConveyedRegionSet> {
        let one = |&region: &RegionHandle| ConveyedRegion {
            dimension_and_range: self
                .specification(region)
                .into_iter()
                .map(|(dimension, bounds)| DimensionAndRange {
                    dimension_handle: Some(dimension),
                    range_bounds: Some(bounds),
                })
                .collect(),
        };
        let convey = self.federates.get(&receiver).is_some_and(|federate| federate.convey_regions);
        convey.then(|| ConveyedRegionSet { conveyed_regions: regions.iter().map(one).collect() })
    }

    /// The exception for a region that is not one of the caller's.
    pub(super) fn check_own_region(&self, caller: FederateHandle, region: RegionHandle) -> Option<Exception> {
        let creator = creator(region);
        if self.federates[&caller].regions.all.contains_key(&region) {
            None
        } else if creator == caller || creator == FederateHandle(0) {
            Some(Exception::InvalidRegion)
        } else {
            Some(Exception::RegionNotCreatedByThisFederate)
        }
    }

    /// The exceptions for a region that the caller wants to use: it must have been committed, and
    /// each of its dimensions must be available in each of these contexts.
    pub(super) fn check_region<'a>(
        &self,
        caller: FederateHandle,
        handle: RegionHandle,
        contexts: impl IntoIterator<Item = &'a Vec<DimensionHandle>>,
    ) -> Vec<Exception> {
        if let Some(fault) = self.check_own_region(caller, handle) {
            return vec![fault];
        }
        let region = &self.federates[&caller].regions.all[&handle];
        let mut faults = Vec::new();
        if region.specification.is_none() {
            faults.push(Exception::InvalidRegion);
        }
        let fits = |available: &Vec<DimensionHandle>| region.template.keys().all(|d| available.contains(d));
        if !contexts.into_iter().all(fits) {
            faults.push(Exception::InvalidRegionContext);
        }
        faults
    }

    /// The exceptions for attributes of a class and the regions that the caller wants to use for
    /// them.
    pub(super) fn check_pairs(
        &self,
        caller: FederateHandle,
        class: ObjectClassHandle,
        pairs: &[Pair<'_>],
        undefined: Exception,
    ) -> Vec<Exception> {
        let mut faults = Vec::new();
        for (attributes, regions) in pairs {
            faults.extend(self.check_attributes(class, attributes, undefined));
            let contexts: Vec<_> =
                attributes.iter().map(|&at| self.model.attribute_dimensions(class, at)).collect();
            faults.extend(regions.iter().flat_map(|&region| self.check_region(caller, region, &contexts)));
        }
        faults
    }

    /// Drops the associations with an instance: those of one federate, or (`None`) of all.
    pub(super) fn drop_associations(&mut self, instance: ObjectInstanceHandle, of: Option<FederateHandle>) {
        for (&caller, federate) in &mut self.federates {
            if of.is_none_or(|of| of == caller) {
                federate.regions.updates.retain(|&(at, _, _)| at != instance);
            }
        }
    }
}

/// The federate that created a region.
fn creator(region: RegionHandle) -> FederateHandle {
    FederateHandle((region.0 >> 32) as u32)
}

#[cfg(test)]
mod tests;
