//! The regions of a federate, and the services that create, change and delete them (9.2 to 9.4, 10.26
//! to 10.28).

use super::super::objects::Objects;
use super::association::Associations;
use super::overlap::Usage;
use super::subscription::{InteractionWithRegions, SubscriptionsWithRegions};
use crate::effect::Effects;
use crate::limits::{REGIONS_MAX, REGIONS_PER_CALL_MAX, check_count, check_number};
use crate::wire::{DimensionRange, Region, RegionSet, Specification};
use base::HandleMap;
use hla::api::{DimensionHandleSet, RangeBounds, RegionHandleSet};
use hla::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, RegionHandle,
};
use hla::{Exception, RtiError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Memory of a region, a subscription with a region, or an association, in bytes: its entries in
/// two maps.
pub(crate) const REGION_BYTES: usize = 160;

/// A subscription with a region, for which the region is in use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(super) enum Subscriber {
    Attribute(ObjectClassHandle, AttributeHandle),
    Interaction(InteractionClassHandle),
}

/// A region of a federate of this node.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct OwnRegion {
    /// The template (9.1.2): the bounds on each dimension, once they are set.
    pub(super) template: BTreeMap<DimensionHandle, Option<(u32, u32)>>,
    /// The last committed template.
    pub(super) specification: Option<Specification>,
    /// The subscriptions that use it.
    pub(super) subscribers: BTreeSet<Subscriber>,
    /// The instance attributes with which it is associated.
    pub(super) associated: BTreeSet<(ObjectInstanceHandle, AttributeHandle)>,
}

/// Everything of clause 9 that a federate has.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Distribution {
    pub(super) regions: BTreeMap<RegionHandle, OwnRegion>,
    /// The number of regions that have a specification. Counted, because there may be a million.
    pub(super) committed: usize,
    last_region: u32,
    /// Its subscriptions with regions, by class.
    pub(super) attributes: BTreeMap<ObjectClassHandle, SubscriptionsWithRegions>,
    pub(super) interactions: BTreeMap<InteractionClassHandle, InteractionWithRegions>,
    /// The update regions that it has associated.
    #[serde(with = "sorted")]
    pub(super) associations: HandleMap<ObjectInstanceHandle, Associations>,
    /// The number of associations: one for each instance attribute and region.
    pub(super) associated: usize,
}

/// A map by handle, in the order of its keys: images do not depend on hash order.
mod sorted {
    use base::HandleMap;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;
    use std::hash::Hash;

    pub(super) fn serialize<K: Ord + Serialize, V: Serialize, S: Serializer>(
        map: &HandleMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        #[allow(clippy::disallowed_methods)] // they are sorted
        let sorted: BTreeMap<_, _> = map.iter().collect();
        sorted.serialize(serializer)
    }

    pub(super) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<HandleMap<K, V>, D::Error>
    where
        K: Ord + Eq + Hash + Deserialize<'de>,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(BTreeMap::deserialize(deserializer)?.into_iter().collect())
    }
}

impl Distribution {
    pub(super) fn region(&self, handle: RegionHandle) -> Option<&OwnRegion> {
        self.regions.get(&handle)
    }

    pub(super) fn region_mut(&mut self, handle: RegionHandle) -> Option<&mut OwnRegion> {
        self.regions.get_mut(&handle)
    }

    /// Whether it subscribes attributes of a class with regions.
    pub(crate) fn subscribes(&self, class: ObjectClassHandle) -> bool {
        self.attributes.contains_key(&class)
    }

    /// The number of its subscriptions of attributes of a class with regions.
    pub(super) fn regions_at(&self, class: ObjectClassHandle) -> usize {
        self.attributes.get(&class).map_or(0, SubscriptionsWithRegions::count)
    }

    /// Whether it subscribes any attributes with regions.
    pub(super) fn subscribes_any(&self) -> bool {
        !self.attributes.is_empty()
    }

    /// The specification of a region that was committed.
    pub(super) fn specification(&self, handle: RegionHandle) -> Option<&Specification> {
        self.regions.get(&handle)?.specification.as_ref()
    }

    /// A region with its specification, if it was committed.
    pub(super) fn specified(&self, handle: RegionHandle) -> Option<Region> {
        Some(Region { handle, ranges: self.specification(handle)?.clone() })
    }

    /// Regions with their specifications.
    pub(super) fn set<'a>(&self, handles: impl IntoIterator<Item = &'a RegionHandle>) -> RegionSet {
        handles.into_iter().filter_map(|&handle| self.specified(handle)).collect()
    }

    /// An estimate of its memory, in bytes. Counted, because there may be a million regions.
    pub(crate) fn bytes(&self) -> usize {
        let attributes: usize = self.attributes.values().map(SubscriptionsWithRegions::count).sum();
        let interactions: usize = self.interactions.values().map(InteractionWithRegions::count).sum();
        (self.regions.len() + attributes + interactions + self.associated) * REGION_BYTES
    }
}

impl Objects {
    /// Counts uses of regions that have begun, or ended.
    pub(super) fn count_region_uses(&mut self, uses: usize, on: bool) {
        match on {
            true => self.region_bytes += uses * REGION_BYTES,
            false => self.region_bytes -= uses * REGION_BYTES,
        }
    }

    /// Notes the subscriptions for which a federate uses regions, or no longer does.
    pub(super) fn note_subscribers(
        &mut self,
        federate: FederateHandle,
        subscribers: impl Iterator<Item = (RegionHandle, Subscriber)>,
        on: bool,
    ) {
        let distribution = &mut self.federate_mut(federate).distribution;
        let mut uses = 0;
        for (region, subscriber) in subscribers {
            if let Some(region) = distribution.regions.get_mut(&region) {
                let all = &mut region.subscribers;
                uses += usize::from(if on { all.insert(subscriber) } else { all.remove(&subscriber) });
            }
        }
        self.count_region_uses(uses, on);
    }

    /// Create Region (9.2).
    pub(crate) fn create_region(
        &mut self,
        federate: FederateHandle,
        dimensions: Option<&DimensionHandleSet>,
    ) -> Result<RegionHandle, RtiError> {
        let dimensions = dimensions.map(|set| set.dimension_handle.as_slice()).unwrap_or_default();
        if let Some(unknown) = dimensions.iter().find(|&&handle| self.model.dimension(handle).is_none()) {
            let text = format!("{unknown:?} is no dimension of this federation");
            return Err(RtiError::new(Exception::InvalidDimensionHandle, text));
        }
        let distribution = &mut self.federate_mut(federate).distribution;
        check_count("regions of this federate", distribution.regions.len(), REGIONS_MAX)?;
        let number = distribution.last_region.checked_add(1).ok_or_else(|| {
            RtiError::internal("this federate has no region handles left in this federation")
        })?;
        distribution.last_region = number;
        let handle = RegionHandle(u64::from(federate.0) << 32 | u64::from(number));
        let template = dimensions.iter().map(|&dimension| (dimension, None)).collect();
        distribution.regions.insert(handle, OwnRegion { template, ..OwnRegion::default() });
        self.region_bytes += REGION_BYTES;
        Ok(handle)
    }

    /// Delete Region (9.4).
    pub(crate) fn delete_region(
        &mut self,
        federate: FederateHandle,
        region: Option<RegionHandle>,
    ) -> Result<(), RtiError> {
        let (handle, region) = self.own_region(federate, region)?;
        if let Some(use_) = region.subscribers.first() {
            let text = format!("{handle:?} is in use for a subscription: {use_:?}");
            return Err(RtiError::new(Exception::RegionInUseForUpdateOrSubscription, text));
        }
        if let Some((instance, attribute)) = region.associated.first() {
            let text = format!("{handle:?} is in use for updates of {attribute:?} of {instance:?}");
            return Err(RtiError::new(Exception::RegionInUseForUpdateOrSubscription, text));
        }
        let distribution = &mut self.federate_mut(federate).distribution;
        let gone = distribution.regions.remove(&handle);
        distribution.committed -= usize::from(gone.is_some_and(|region| region.specification.is_some()));
        self.region_bytes -= REGION_BYTES;
        Ok(())
    }

    /// Set Range Bounds (10.28). They take effect when they are committed.
    pub(crate) fn set_range_bounds(
        &mut self,
        federate: FederateHandle,
        region: Option<RegionHandle>,
        dimension: Option<DimensionHandle>,
        bounds: Option<RangeBounds>,
    ) -> Result<(), RtiError> {
        let (handle, _) = self.own_region(federate, region)?;
        let dimension = self.dimension_of(federate, handle, dimension)?;
        let RangeBounds { lower, upper } = bounds.unwrap_or_default();
        let end = self.model.dimension(dimension).map_or(0, |dimension| dimension.upper_bound);
        if lower >= upper || upper > end {
            let text = format!("[{lower}, {upper}) is no range of {dimension:?}, which is [0, {end})");
            return Err(RtiError::new(Exception::InvalidRangeBound, text));
        }
        if let Some(region) = self.federate_mut(federate).distribution.regions.get_mut(&handle) {
            region.template.insert(dimension, Some((lower, upper)));
        }
        Ok(())
    }

    /// Get Range Bounds (10.27): those of the template.
    pub(crate) fn range_bounds(
        &self,
        federate: FederateHandle,
        region: Option<RegionHandle>,
        dimension: Option<DimensionHandle>,
    ) -> Result<RangeBounds, RtiError> {
        let (handle, region) = self.any_region(federate, region)?;
        let dimension = self.dimension_of(federate, handle, dimension)?;
        match region.template.get(&dimension).copied().flatten() {
            Some((lower, upper)) => Ok(RangeBounds { lower, upper }),
            None => Err(bounds_missing(handle, dimension)),
        }
    }

    /// Get Dimension Handle Set (10.26).
    pub(crate) fn dimensions_of_region(
        &self,
        federate: FederateHandle,
        region: Option<RegionHandle>,
    ) -> Result<Vec<DimensionHandle>, RtiError> {
        let (_, region) = self.any_region(federate, region)?;
        Ok(region.template.keys().copied().collect())
    }

    /// Commit Region Modifications (9.3). Either all are committed or none.
    pub(crate) fn commit_regions(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        regions: Option<&RegionHandleSet>,
    ) -> Result<(), RtiError> {
        let listed = regions.map(|set| set.region_handle.as_slice()).unwrap_or_default();
        check_number("regions in one call", listed.len(), REGIONS_PER_CALL_MAX)?;
        let mut committed = Vec::with_capacity(listed.len());
        for &handle in listed {
            let (handle, region) = self.own_region(federate, Some(handle))?;
            let range = |(&dimension, &bounds): (&DimensionHandle, &Option<(u32, u32)>)| {
                let (lower, upper) = bounds.ok_or_else(|| bounds_missing(handle, dimension))?;
                Ok(DimensionRange { dimension, lower, upper })
            };
            let specification: Result<Specification, RtiError> = region.template.iter().map(range).collect();
            committed.push((handle, specification?));
        }
        let distribution = &mut self.federate_mut(federate).distribution;
        let mut moved = Vec::new();
        for (handle, specification) in committed {
            if let Some(region) = distribution.regions.get_mut(&handle)
                && region.specification.as_ref() != Some(&specification)
            {
                let before = region.specification.replace(specification);
                distribution.committed += usize::from(before.is_none());
                moved.push((handle, before));
            }
        }
        self.regions_moved(effects, federate, &moved);
        Ok(())
    }

    /// A region of `federate`, for a service that only its creator may use.
    pub(super) fn own_region(
        &self,
        federate: FederateHandle,
        region: Option<RegionHandle>,
    ) -> Result<(RegionHandle, &OwnRegion), RtiError> {
        let handle = region.unwrap_or_default();
        let creator = handle.0 >> 32;
        if creator != 0 && creator != u64::from(federate.0) {
            let text = format!("{handle:?} was not created by this federate");
            return Err(RtiError::new(Exception::RegionNotCreatedByThisFederate, text));
        }
        self.any_region(federate, region)
    }

    /// A region of `federate`, for a service that does not distinguish regions of others from those
    /// that do not exist.
    fn any_region(
        &self,
        federate: FederateHandle,
        region: Option<RegionHandle>,
    ) -> Result<(RegionHandle, &OwnRegion), RtiError> {
        let handle = region.unwrap_or_default();
        let region = self.federate(federate).distribution.regions.get(&handle);
        region.map(|region| (handle, region)).ok_or_else(|| {
            RtiError::new(Exception::InvalidRegion, format!("{handle:?} is no region of this federate"))
        })
    }

    fn dimension_of(
        &self,
        federate: FederateHandle,
        region: RegionHandle,
        dimension: Option<DimensionHandle>,
    ) -> Result<DimensionHandle, RtiError> {
        let dimension = dimension.unwrap_or_default();
        let regions = &self.federate(federate).distribution.regions;
        let has = regions.get(&region).is_some_and(|region| region.template.contains_key(&dimension));
        match has {
            true => Ok(dimension),
            false => {
                let text = format!("{region:?} does not have {dimension:?}");
                Err(RtiError::new(Exception::RegionDoesNotContainSpecifiedDimension, text))
            }
        }
    }

    /// A region of `federate` that may be used: it has been committed.
    pub(super) fn specified_region(
        &self,
        federate: FederateHandle,
        region: RegionHandle,
    ) -> Result<(RegionHandle, &Specification), RtiError> {
        let (handle, region) = self.own_region(federate, Some(region))?;
        let specification = region.specification.as_ref().ok_or_else(|| {
            let text = format!("the bounds of {handle:?} have never been committed");
            RtiError::new(Exception::InvalidRegion, text)
        })?;
        Ok((handle, specification))
    }

    /// Regions that `federate` wants to use for `subject`, where the dimensions of `usage` are
    /// available.
    pub(super) fn usable_regions(
        &self,
        federate: FederateHandle,
        regions: &[RegionHandle],
        usage: Usage<'_>,
        subject: impl Fn() -> String,
    ) -> Result<BTreeSet<RegionHandle>, RtiError> {
        let mut usable = BTreeSet::new();
        for &region in regions {
            let (handle, specification) = self.specified_region(federate, region)?;
            if let Some(range) = specification.iter().find(|range| !usage.has(range.dimension)) {
                let name = self.model.dimension(range.dimension).map_or("", |dimension| &dimension.name);
                let text = format!("dimension `{name}` of {handle:?} is not available at {}", subject());
                return Err(RtiError::new(Exception::InvalidRegionContext, text));
            }
            usable.insert(handle);
        }
        Ok(usable)
    }
}

fn bounds_missing(region: RegionHandle, dimension: DimensionHandle) -> RtiError {
    let text = format!("the bounds of {region:?} on {dimension:?} have not been set");
    RtiError::new(Exception::InvalidRegion, text)
}
