//! Data distribution management (clause 9), with the support services for regions (10.26 to 10.28).

use super::{Context, Reply, Serve, Served};
use crate::object::regions::REGION_BYTES;
use hla::api::*;
use hla::handle::{DimensionHandle, ObjectInstanceHandle, RegionHandle};

/// The most memory that these pairs can take, in bytes.
fn bytes_of(pairs: Option<&AttributeSetRegionSetPairList>) -> usize {
    let pairs = pairs.map(|list| list.attribute_set_region_set_pair.as_slice()).unwrap_or_default();
    let uses = pairs.iter().map(|pair| {
        let attributes = pair.attribute_set.as_ref().map_or(0, |set| set.attribute_handle.len());
        attributes * pair.region_set.as_ref().map_or(0, |set| set.region_handle.len())
    });
    uses.sum::<usize>() * REGION_BYTES
}

impl Serve for CreateRegionRequest {
    fn serve(self, Context { objects, mut growth, federate, .. }: Context<'_>) -> Served<RegionHandle> {
        growth.check(REGION_BYTES)?;
        objects.create_region(federate, self.dimensions.as_ref()).map(Reply::Now)
    }
}

impl Serve for CommitRegionModificationsRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        objects.commit_regions(effects, federate, self.regions.as_ref()).map(Reply::Now)
    }
}

impl Serve for DeleteRegionRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<()> {
        objects.delete_region(federate, self.region).map(Reply::Now)
    }
}

impl Serve for GetDimensionHandleSetRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<Vec<DimensionHandle>> {
        objects.dimensions_of_region(federate, self.region).map(Reply::Now)
    }
}

impl Serve for GetRangeBoundsRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<RangeBounds> {
        objects.range_bounds(federate, self.region, self.dimension).map(Reply::Now)
    }
}

impl Serve for SetRangeBoundsRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<()> {
        objects.set_range_bounds(federate, self.region, self.dimension, self.range_bounds).map(Reply::Now)
    }
}

impl Serve for RegisterObjectInstanceWithRegionsRequest {
    fn serve(self, context: Context<'_>) -> Served<ObjectInstanceHandle> {
        let names = context.names();
        let Context { objects, effects, mut growth, federate, .. } = context;
        let pairs = self.attributes_and_regions.as_ref();
        growth.check(objects.bytes_of_instance(self.object_class, "") + bytes_of(pairs))?;
        objects.register(effects, names, federate, self.object_class, (None, pairs)).map(Reply::Now)
    }
}

impl Serve for RegisterObjectInstanceWithNameAndRegionsRequest {
    fn serve(self, context: Context<'_>) -> Served<ObjectInstanceHandle> {
        let names = context.names();
        let Context { objects, effects, mut growth, federate, .. } = context;
        let (name, pairs) = (self.object_instance_name.as_str(), self.attributes_and_regions.as_ref());
        growth.check(objects.bytes_of_instance(self.object_class, name) + bytes_of(pairs))?;
        objects.register(effects, names, federate, self.object_class, (Some(name), pairs)).map(Reply::Now)
    }
}

impl Serve for AssociateRegionsForUpdatesRequest {
    fn serve(self, Context { objects, effects, mut growth, federate, .. }: Context<'_>) -> Served<()> {
        let pairs = self.attributes_and_regions.as_ref();
        growth.check(bytes_of(pairs))?;
        objects.associate_regions(effects, federate, self.object_instance, pairs).map(Reply::Now)
    }
}

impl Serve for UnassociateRegionsForUpdatesRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let pairs = self.attributes_and_regions.as_ref();
        objects.unassociate_regions(effects, federate, self.object_instance, pairs).map(Reply::Now)
    }
}

impl Serve for SubscribeObjectClassAttributesWithRegionsRequest {
    fn serve(self, Context { objects, effects, mut growth, federate, .. }: Context<'_>) -> Served<()> {
        let pairs = self.attributes_and_regions.as_ref();
        growth.check(bytes_of(pairs))?;
        let how = (self.active, "");
        objects.subscribe_with_regions(effects, federate, self.object_class, pairs, how).map(Reply::Now)
    }
}

impl Serve for SubscribeObjectClassAttributesWithRegionsAndRateRequest {
    fn serve(self, Context { objects, effects, mut growth, federate, .. }: Context<'_>) -> Served<()> {
        let pairs = self.attributes_and_regions.as_ref();
        growth.check(bytes_of(pairs))?;
        let how = (self.active, self.update_rate_designator.as_str());
        objects.subscribe_with_regions(effects, federate, self.object_class, pairs, how).map(Reply::Now)
    }
}

impl Serve for UnsubscribeObjectClassAttributesWithRegionsRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let pairs = self.attributes_and_regions.as_ref();
        objects.unsubscribe_with_regions(effects, federate, self.object_class, pairs).map(Reply::Now)
    }
}

impl Serve for SubscribeInteractionClassWithRegionsRequest {
    fn serve(self, Context { objects, effects, mut growth, federate, .. }: Context<'_>) -> Served<()> {
        let regions = self.regions.as_ref();
        growth.check(regions.map_or(0, |set| set.region_handle.len()) * REGION_BYTES)?;
        let class = self.interaction_class;
        objects
            .subscribe_interaction_with_regions(effects, federate, class, regions, self.active)
            .map(Reply::Now)
    }
}

impl Serve for UnsubscribeInteractionClassWithRegionsRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (class, regions) = (self.interaction_class, self.regions.as_ref());
        objects.unsubscribe_interaction_with_regions(effects, federate, class, regions).map(Reply::Now)
    }
}

impl Serve for SendInteractionWithRegionsRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (class, values, tag) = (self.interaction_class, self.parameter_values, self.user_supplied_tag);
        let regions = self.regions.as_ref();
        objects.send_interaction(effects, federate, class, values, tag, None, regions)?;
        Ok(Reply::Now(()))
    }
}

impl Serve for SendInteractionWithRegionsAndTimeRequest {
    fn serve(self, mut context: Context<'_>) -> Served<MessageRetractionReturn> {
        let sending = context.time.stamp(context.federate, self.time.as_ref())?;
        let (class, values, tag) = (self.interaction_class, self.parameter_values, self.user_supplied_tag);
        let (stamp, regions) = (Some(sending.stamp), self.regions.as_ref());
        let Context { objects, effects, federate, .. } = &mut context;
        let in_time = objects.send_interaction(effects, *federate, class, values, tag, stamp, regions)?;
        Ok(context.sent(sending, in_time))
    }
}

impl Serve for RequestAttributeValueUpdateWithRegionsRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (pairs, tag) = (self.attributes_and_regions.as_ref(), &self.user_supplied_tag);
        objects.request_update_with_regions(effects, federate, self.object_class, pairs, tag).map(Reply::Now)
    }
}
