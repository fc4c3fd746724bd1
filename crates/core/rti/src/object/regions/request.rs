//! Requests for attribute values with regions (9.13).

use super::super::class_request::RequestedClass;
use super::super::instance::Instance;
use super::super::objects::Objects;
use super::RegionsOfAttributes;
use super::overlap::{Usage, overlaps_any};
use crate::wire::RegionSet;
use hla::RtiError;
use hla::api::AttributeSetRegionSetPairList;
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};

impl Objects {
    /// The attributes of a request, each with all regions that are listed with it.
    pub(crate) fn requested_regions(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        pairs: Option<&AttributeSetRegionSetPairList>,
    ) -> Result<RegionsOfAttributes, RtiError> {
        let mut by_attribute: BTreeMap<AttributeHandle, BTreeSet<_>> = BTreeMap::new();
        for (attribute, region) in self.usable_pairs(federate, class, pairs)? {
            by_attribute.entry(attribute).or_default().insert(region);
        }
        let distribution = &self.federate(federate).distribution;
        Ok(by_attribute.iter().map(|(&attribute, regions)| (attribute, distribution.set(regions))).collect())
    }

    /// The attributes of an instance that are requested: those requested without regions, and those
    /// whose update regions overlap the regions of the request.
    pub(in crate::object) fn overlapping(
        &self,
        instance: ObjectInstanceHandle,
        requested: &RequestedClass,
    ) -> BTreeSet<AttributeHandle> {
        let RequestedClass { class, attributes, regions } = requested;
        let mut overlapping = attributes.clone();
        let Some(object) = self.instances.get(instance).filter(|object| object.update_regions.is_some())
        else {
            return overlapping;
        };
        for (attribute, regions) in regions {
            let update = self.regions_of_owned(object, *attribute);
            let here = Usage::of_attribute(&self.model, *class, *attribute);
            let there = Usage::of_attribute(&self.model, object.class, *attribute);
            let mut regions = regions.iter();
            if !update.is_empty() && !regions.any(|region| overlaps_any(&region.ranges, here, update, there))
            {
                overlapping.remove(attribute);
            }
        }
        overlapping
    }

    /// The update regions of an attribute: if its owner is here, those that it has associated. The home
    /// need not have told where these are.
    pub(in crate::object) fn regions_of_owned<'a>(
        &'a self,
        object: &'a Instance,
        attribute: AttributeHandle,
    ) -> &'a RegionSet {
        let slot = self.class_of(object.class).slot(attribute);
        let owner = slot.and_then(|slot| self.federates.get(&object.attribute(slot).owner));
        let own = owner.map(|owner| owner.distribution.associated(object.handle, attribute));
        own.unwrap_or_else(|| object.regions_of(attribute))
    }
}
