//! The knowledge of a federate about its regions and the use that it makes of them.

use crate::request::{Pair, Regional, pairs, regions, registered, singles};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{RangeBounds, RegionHandleSet};
use hla::handle::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    RegionHandle,
};
use std::collections::{BTreeMap, BTreeSet};

/// A region of the federate.
#[derive(Clone, Default, Debug)]
pub struct OwnRegion {
    /// Its dimensions, with the bounds that the federate has set.
    pub bounds: BTreeMap<DimensionHandle, Option<RangeBounds>>,
    /// Whether it was ever committed.
    pub is_committed: bool,
    /// Whether its bounds have changed since the last commit.
    pub is_changed: bool,
}

impl OwnRegion {
    /// Whether all its bounds have been set, so that it can be committed.
    pub fn is_complete(&self) -> bool {
        self.bounds.values().all(Option::is_some)
    }
}

/// The regions of a federate.
#[derive(Clone, Default, Debug)]
pub struct Regions {
    /// Those that exist.
    pub own: BTreeMap<RegionHandle, OwnRegion>,
    /// Those that it has deleted.
    pub gone: Vec<RegionHandle>,
    /// Its subscriptions of attributes with regions.
    pub subscribed: BTreeSet<(ObjectClassHandle, AttributeHandle, RegionHandle)>,
    /// Its subscriptions of interactions with regions.
    pub subscribed_interactions: BTreeSet<(InteractionClassHandle, RegionHandle)>,
    /// Its associations for updates.
    pub associated: BTreeSet<(ObjectInstanceHandle, AttributeHandle, RegionHandle)>,
}

impl Regions {
    /// Whether the federate uses the region, as far as it remembers.
    pub fn are_using(&self, region: RegionHandle) -> bool {
        self.subscribed.iter().any(|&(_, _, used)| used == region)
            || self.subscribed_interactions.iter().any(|&(_, used)| used == region)
            || self.associated.iter().any(|&(_, _, used)| used == region)
    }

    /// The regions that can be used where these dimensions are available.
    pub fn usable(&self, available: &[DimensionHandle]) -> Vec<RegionHandle> {
        let fits = |region: &OwnRegion| region.bounds.keys().all(|d| available.contains(d));
        let usable = self.own.iter().filter(|(_, region)| region.is_committed && fits(region));
        usable.map(|(&handle, _)| handle).collect()
    }

    /// Learns from the answer to `request`, which was not refused.
    pub fn learn(&mut self, request: &Call, answer: &Answer) {
        match (request, answer) {
            (Call::CreateRegionRequest(q), Answer::CreateRegionResponse(r)) => {
                let dimensions = q.dimensions.iter().flat_map(|set| &set.dimension_handle);
                let bounds = dimensions.map(|&dimension| (dimension, None)).collect();
                self.own
                    .extend(r.result.map(|region| (region, OwnRegion { bounds, ..OwnRegion::default() })));
            }
            (Call::SetRangeBoundsRequest(q), _) => {
                if let Some(region) = self.own.get_mut(&q.region.unwrap_or_default()) {
                    region.bounds.insert(q.dimension.unwrap_or_default(), q.range_bounds);
                    region.is_changed = true;
                }
            }
            (Call::CommitRegionModificationsRequest(q), _) => {
                for handle in regions(&q.regions) {
                    if let Some(region) = self.own.get_mut(handle) {
                        (region.is_committed, region.is_changed) = (true, false);
                    }
                }
            }
            (Call::DeleteRegionRequest(q), _) => {
                let region = q.region.unwrap_or_default();
                self.own.remove(&region);
                self.gone.push(region);
            }
            (Call::AssociateRegionsForUpdatesRequest(q), _) => {
                let pairs = pairs(&q.attributes_and_regions);
                self.associate(q.object_instance.unwrap_or_default(), &pairs);
            }
            (Call::UnassociateRegionsForUpdatesRequest(q), _) => {
                let instance = q.object_instance.unwrap_or_default();
                for (attribute, region) in singles(&pairs(&q.attributes_and_regions)) {
                    self.associated.remove(&(instance, attribute, region));
                }
            }
            (Call::RegisterObjectInstanceWithRegionsRequest(q), _) => {
                if let Some((_, instance)) = registered(request, answer) {
                    self.associate(instance, &pairs(&q.attributes_and_regions));
                }
            }
            (Call::RegisterObjectInstanceWithNameAndRegionsRequest(q), _) => {
                if let Some((_, instance)) = registered(request, answer) {
                    self.associate(instance, &pairs(&q.attributes_and_regions));
                }
            }
            _ => self.learn_regional(request),
        }
    }

    fn associate(&mut self, instance: ObjectInstanceHandle, pairs: &[Pair<'_>]) {
        self.associated.extend(singles(pairs).map(|(attribute, region)| (instance, attribute, region)));
    }

    fn learn_regional(&mut self, request: &Call) {
        match Regional::of(request) {
            Some(Regional::Subscribe(class, pairs, _)) => {
                self.subscribed.extend(singles(&pairs).map(|(attribute, region)| (class, attribute, region)));
            }
            Some(Regional::Unsubscribe(class, pairs)) => {
                for (attribute, region) in singles(&pairs) {
                    self.subscribed.remove(&(class, attribute, region));
                }
            }
            Some(Regional::SubscribeInteraction(class, regions, _)) => {
                self.subscribed_interactions.extend(regions.iter().map(|&region| (class, region)));
            }
            Some(Regional::UnsubscribeInteraction(class, regions)) => {
                self.subscribed_interactions.retain(|(at, used)| *at != class || !regions.contains(used));
            }
            None => {}
        }
    }

    /// Forgets the associations with an instance that the federate no longer knows.
    pub fn lost(&mut self, instance: ObjectInstanceHandle) {
        self.associated.retain(|&(of, _, _)| of != instance);
    }
}

/// A set of regions for a call.
pub(super) fn region_set(region_handle: Vec<RegionHandle>) -> RegionHandleSet {
    RegionHandleSet { region_handle }
}
