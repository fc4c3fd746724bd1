//! Data distribution management (clause 9), with the support services for regions (10.26 to 10.28).

use super::regions::Region;
use super::{Advice, Effects, Federation, NOBODY, Served, Subscribed, answer, declaration, refuse_if};
use crate::request::{Pair, Regional, pairs, regions, singles};
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, DimensionHandleSet, RangeBounds};
use hla::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, RegionHandle,
};
use std::collections::{BTreeMap, BTreeSet};

impl Federation {
    /// Executes calls about regions, and calls that use them. `None`: it is another call.
    pub(super) fn distribute(
        &mut self,
        federate: FederateHandle,
        request: &Call,
        fx: &mut Effects,
    ) -> Option<Served> {
        let served = self.shape_region(federate, request, fx);
        let served = served.or_else(|| self.subscribe_with_regions(federate, request, fx));
        served.or_else(|| self.use_regions(federate, request, fx))
    }

    /// Executes calls about regions themselves.
    fn shape_region(&mut self, federate: FederateHandle, request: &Call, fx: &mut Effects) -> Option<Served> {
        Some(match request {
            Call::CreateRegionRequest(r) => self.create_region(federate, r),
            Call::CommitRegionModificationsRequest(r) => {
                self.commit_regions(federate, regions(&r.regions), fx)
            }
            Call::DeleteRegionRequest(r) => self.delete_region(federate, r.region.unwrap_or_default()),
            Call::GetDimensionHandleSetRequest(r) => {
                self.own_region(federate, r.region.unwrap_or_default()).and_then(|region| {
                    let dimension_handle = region.template.keys().copied().collect();
                    answer!(GetDimensionHandleSetResponse, DimensionHandleSet { dimension_handle })
                })
            }
            Call::GetRangeBoundsRequest(r) => self
                .own_region(federate, r.region.unwrap_or_default())
                .and_then(|region| match region.template.get(&r.dimension.unwrap_or_default()) {
                    Some(Some(bounds)) => answer!(GetRangeBoundsResponse, *bounds),
                    Some(None) => Err(vec![Exception::InvalidRegion]),
                    None => Err(vec![Exception::RegionDoesNotContainSpecifiedDimension]),
                }),
            Call::SetRangeBoundsRequest(r) => self.set_range_bounds(federate, r),
            _ => return None,
        })
    }

    /// The region, which must be one of the caller's: the look-ups know no other exception.
    fn own_region(&self, caller: FederateHandle, region: RegionHandle) -> Result<&Region, Vec<Exception>> {
        self.federates[&caller].regions.all.get(&region).ok_or_else(|| vec![Exception::InvalidRegion])
    }

    /// Regions of a federate count from 1 (9.2).
    fn create_region(&mut self, federate: FederateHandle, r: &api::CreateRegionRequest) -> Served {
        let dimensions = r.dimensions.iter().flat_map(|set| &set.dimension_handle);
        let dimensions: BTreeSet<DimensionHandle> = dimensions.copied().collect();
        if dimensions.iter().any(|&dimension| self.model.dimension(dimension).is_none()) {
            return Err(vec![Exception::InvalidDimensionHandle]);
        }
        let regions = &mut self.me(federate).regions;
        regions.ever += 1;
        let handle = RegionHandle(u64::from(federate.0) << 32 | u64::from(regions.ever));
        let template = dimensions.into_iter().map(|dimension| (dimension, None)).collect();
        regions.all.insert(handle, Region { template, specification: None });
        answer!(CreateRegionResponse, handle)
    }

    /// Changes the template only (10.28).
    fn set_range_bounds(&mut self, federate: FederateHandle, r: &api::SetRangeBoundsRequest) -> Served {
        let (handle, dimension) = (r.region.unwrap_or_default(), r.dimension.unwrap_or_default());
        let RangeBounds { lower, upper } = r.range_bounds.unwrap_or_default();
        let mut faults = Vec::from_iter(self.check_own_region(federate, handle));
        let region = self.federates[&federate].regions.all.get(&handle);
        if region.is_some_and(|region| !region.template.contains_key(&dimension)) {
            faults.push(Exception::RegionDoesNotContainSpecifiedDimension);
        }
        let most = self.model.dimension(dimension).map(|dimension| dimension.upper_bound);
        if lower >= upper || most.is_some_and(|most| upper > most) {
            faults.push(Exception::InvalidRangeBound);
        }
        refuse_if(faults)?;
        if let Some(region) = self.me(federate).regions.all.get_mut(&handle) {
            region.template.insert(dimension, Some(RangeBounds { lower, upper }));
        }
        Ok(None)
    }

    /// Commits all regions or none. The new ranges count at once, for the caller's own scope too
    /// (9.3).
    fn commit_regions(
        &mut self,
        federate: FederateHandle,
        listed: &[RegionHandle],
        fx: &mut Effects,
    ) -> Served {
        let mut faults = Vec::new();
        let mut specifications = BTreeMap::new();
        for &handle in listed {
            faults.extend(self.check_own_region(federate, handle));
            let Some(region) = self.federates[&federate].regions.all.get(&handle) else { continue };
            let ranges = region.template.iter().map(|(&dimension, &bounds)| Some((dimension, bounds?)));
            match ranges.collect::<Option<_>>() {
                Some(ranges) => drop(specifications.insert(handle, ranges)),
                None => faults.push(Exception::InvalidRegion),
            }
        }
        refuse_if(faults)?;
        let before = self.advice();
        for (handle, ranges) in specifications {
            if let Some(region) = self.me(federate).regions.all.get_mut(&handle) {
                region.specification = Some(ranges);
            }
        }
        self.report(&before, NOBODY, fx);
        Ok(None)
    }

    fn delete_region(&mut self, federate: FederateHandle, region: RegionHandle) -> Served {
        let mut faults = Vec::from_iter(self.check_own_region(federate, region));
        if self.federates[&federate].regions.are_using(region) {
            faults.push(Exception::RegionInUseForUpdateOrSubscription);
        }
        refuse_if(faults)?;
        self.me(federate).regions.all.remove(&region);
        Ok(None)
    }

    /// Executes a subscription with regions, or the end of one. Other subscriptions of the same
    /// class stay as they are (9.8 to 9.11).
    fn subscribe_with_regions(
        &mut self,
        federate: FederateHandle,
        request: &Call,
        fx: &mut Effects,
    ) -> Option<Served> {
        let regional = Regional::of(request)?;
        if let Err(faults) = refuse_if(self.faults_of_regional(federate, &regional)) {
            return Some(Err(faults));
        }
        let before = self.advice();
        let mine = &mut self.me(federate).regions;
        match regional {
            Regional::Subscribe(class, pairs, how) => {
                let how = Subscribed { active: how.active, rate: declaration::rate(how.rate).ok().flatten() };
                let keys = singles(&pairs).map(|(attribute, region)| (class, attribute, region));
                mine.subscribes.extend(keys.map(|key| (key, how)));
            }
            Regional::Unsubscribe(class, pairs) => {
                for (attribute, region) in singles(&pairs) {
                    mine.subscribes.remove(&(class, attribute, region));
                }
            }
            Regional::SubscribeInteraction(class, regions, active) => {
                mine.subscribes_interactions.extend(regions.iter().map(|&region| ((class, region), active)));
            }
            Regional::UnsubscribeInteraction(class, regions) => {
                mine.subscribes_interactions.retain(|(at, used), _| *at != class || !regions.contains(used));
            }
        }
        self.report(&before, federate, fx);
        Some(Ok(None))
    }

    fn faults_of_regional(&self, caller: FederateHandle, regional: &Regional<'_>) -> Vec<Exception> {
        match regional {
            Regional::Subscribe(class, pairs, how) => {
                let mut faults = self.check_pairs(caller, *class, pairs, Exception::ObjectClassNotDefined);
                faults.extend(self.faults_of_attributes(*class, &[], true));
                faults.extend(declaration::rate(how.rate).err());
                faults
            }
            Regional::Unsubscribe(class, pairs) => {
                let mut faults = self.faults_of_attributes(*class, &[], false);
                faults.extend(self.faults_of_removal(
                    caller,
                    *class,
                    pairs,
                    Exception::ObjectClassNotDefined,
                ));
                faults
            }
            Regional::SubscribeInteraction(class, regions, _) => {
                let mut faults = self.faults_of_interaction(*class, true);
                faults.extend(self.check_interaction_regions(caller, *class, regions));
                faults
            }
            Regional::UnsubscribeInteraction(class, regions) => {
                let mut faults = self.faults_of_interaction(*class, false);
                faults.extend(regions.iter().filter_map(|&region| self.check_own_region(caller, region)));
                faults
            }
        }
    }

    /// The exceptions for regions that the caller wants to use for an interaction class.
    pub(super) fn check_interaction_regions(
        &self,
        caller: FederateHandle,
        class: InteractionClassHandle,
        regions: &[RegionHandle],
    ) -> Vec<Exception> {
        let context = [self.interaction_dimensions(class)];
        regions.iter().flat_map(|&region| self.check_region(caller, region, &context)).collect()
    }

    /// The exceptions for pairs that are to be removed: neither the state of a region nor its
    /// dimensions matter.
    fn faults_of_removal(
        &self,
        caller: FederateHandle,
        class: ObjectClassHandle,
        pairs: &[Pair<'_>],
        undefined: Exception,
    ) -> Vec<Exception> {
        let mut faults = Vec::new();
        for (attributes, regions) in pairs {
            faults.extend(self.check_attributes(class, attributes, undefined));
            faults.extend(regions.iter().filter_map(|&region| self.check_own_region(caller, region)));
        }
        faults
    }

    /// Executes calls that use regions for instances and messages.
    fn use_regions(&mut self, federate: FederateHandle, request: &Call, fx: &mut Effects) -> Option<Served> {
        Some(match request {
            Call::RegisterObjectInstanceWithRegionsRequest(r) => {
                let (class, pairs) = (r.object_class.unwrap_or_default(), pairs(&r.attributes_and_regions));
                self.register(federate, class, None, &pairs, fx)
                    .and_then(|handle| answer!(RegisterObjectInstanceWithRegionsResponse, handle))
            }
            Call::RegisterObjectInstanceWithNameAndRegionsRequest(r) => {
                let (class, pairs) = (r.object_class.unwrap_or_default(), pairs(&r.attributes_and_regions));
                self.register(federate, class, Some(&r.object_instance_name), &pairs, fx)
                    .and_then(|handle| answer!(RegisterObjectInstanceWithNameAndRegionsResponse, handle))
            }
            Call::AssociateRegionsForUpdatesRequest(r) => {
                let instance = r.object_instance.unwrap_or_default();
                self.associate(federate, instance, &pairs(&r.attributes_and_regions), true, fx)
            }
            Call::UnassociateRegionsForUpdatesRequest(r) => {
                let instance = r.object_instance.unwrap_or_default();
                self.associate(federate, instance, &pairs(&r.attributes_and_regions), false, fx)
            }
            Call::RequestAttributeValueUpdateWithRegionsRequest(r) => {
                self.request_with_regions(federate, r, fx)
            }
            _ => return None,
        })
    }

    /// Adds associations, or removes them (9.6, 9.7). They count while the caller owns the
    /// attributes.
    fn associate(
        &mut self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        pairs: &[Pair<'_>],
        add: bool,
        fx: &mut Effects,
    ) -> Served {
        let unknown = Exception::ObjectInstanceNotKnown;
        let mut faults = Vec::new();
        match self.known_class(federate, instance) {
            Some(class) if add => faults.extend(self.check_pairs(federate, class, pairs, unknown)),
            Some(class) => faults.extend(self.faults_of_removal(federate, class, pairs, unknown)),
            None => {
                faults.push(unknown);
                let used = pairs.iter().flat_map(|(_, regions)| *regions);
                faults.extend(used.flat_map(|&region| match add {
                    true => self.check_region(federate, region, []),
                    false => Vec::from_iter(self.check_own_region(federate, region)),
                }));
            }
        }
        refuse_if(faults)?;
        let before = self.advice();
        let updates = &mut self.me(federate).regions.updates;
        for (attribute, region) in singles(pairs) {
            let association = (instance, attribute, region);
            match add {
                true => drop(updates.insert(association)),
                false => drop(updates.remove(&association)),
            }
        }
        self.report(&before, NOBODY, fx);
        Ok(None)
    }

    /// Asks the owners of the attributes that overlap one of the regions listed with them (9.13).
    fn request_with_regions(
        &self,
        federate: FederateHandle,
        r: &api::RequestAttributeValueUpdateWithRegionsRequest,
        fx: &mut Effects,
    ) -> Served {
        let (class, pairs) = (r.object_class.unwrap_or_default(), pairs(&r.attributes_and_regions));
        let mut faults = self.check_pairs(federate, class, &pairs, Exception::ObjectClassNotDefined);
        faults.extend(self.faults_of_attributes(class, &[], true));
        refuse_if(faults)?;
        let mut wanted: BTreeMap<AttributeHandle, BTreeSet<RegionHandle>> = BTreeMap::new();
        for (attribute, region) in singles(&pairs) {
            wanted.entry(attribute).or_default().insert(region);
        }
        let below = self.instances.iter().filter(|(_, object)| self.lineage(object.class).contains(&class));
        for (&instance, _) in below {
            for (&attribute, regions) in &wanted {
                if regions.iter().any(|&region| self.meets(region, (class, attribute), instance)) {
                    self.ask_owner(federate, instance, attribute, &r.user_supplied_tag, fx);
                }
            }
        }
        Ok(None)
    }

    /// Reports the consequences of a step since `before`. `caller` learns nothing about attributes
    /// that leave its own scope.
    fn report(&mut self, before: &Advice, caller: FederateHandle, fx: &mut Effects) {
        let now = self.notify_changes(before, caller, fx);
        self.discover_all(now, caller, fx);
        self.notify_interest(before, fx);
    }
}
