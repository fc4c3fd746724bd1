//! Data distribution management, by names.
//!
//! Ranges read like `"X=0..5 Y=3..4"`, attributes like `"a b"`. Calls that may leave work for later
//! return when it is done.

use super::calls::{Refused, bytes, integer_time};
use super::{Fed, NOBODY, World, fom};
use hla::api;
use hla::handle::{DimensionHandle, RegionHandle};
use rti::Config;
use std::ops::Range;

/// Attributes with the regions to be used for them.
pub(crate) type Pairs<'a> = &'a [(&'a str, &'a [RegionHandle])];

/// More turns than any test needs.
const TURNS_MAX: usize = 100_000;

impl World {
    /// Like [`World::join`], with the object model [`fom::regions`].
    pub(crate) fn in_regions<const N: usize>(switches: &[&str]) -> (Self, [Fed; N]) {
        let world = Self::with_model(Config::default(), &fom::regions(switches));
        let federates = std::array::from_fn(|at| world.joined(&char::from(b'A' + at as u8).to_string()));
        (world, federates)
    }

    /// Does one turn of the work that is due. Returns whether there was any.
    pub(crate) fn turn(&self) -> bool {
        let mut inner = self.0.borrow_mut();
        let now = inner.now;
        let due = inner.rti.poll_timeout().is_some_and(|due| due <= now);
        if due {
            inner.rti.handle_timeout(now);
            inner.commit_all();
            inner.take_callbacks();
        }
        due
    }

    /// Does all the work that is due.
    pub(crate) fn work(&self) {
        assert!((0..TURNS_MAX).any(|_| !self.turn()), "there is always more work");
    }
}

/// The ranges in a text like `"X=0..5 Y=3..4"`.
fn ranges(text: &str) -> impl Iterator<Item = (&str, Range<u32>)> {
    text.split_whitespace().map(|part| {
        let (name, bounds) = part.split_once('=').expect("name=lower..upper");
        let (lower, upper) = bounds.split_once("..").expect("name=lower..upper");
        (name, lower.parse().expect("a number")..upper.parse().expect("a number"))
    })
}

fn set(regions: &[RegionHandle]) -> Option<api::RegionHandleSet> {
    Some(regions.iter().copied().collect())
}

/// Regions.
impl Fed {
    pub(crate) fn dimension(&self, name: &str) -> DimensionHandle {
        let unknown = DimensionHandle(NOBODY);
        self.world.0.borrow().model.dimension_by_name(name).unwrap_or(unknown)
    }

    pub(crate) fn create_region(&self, dimensions: &[&str]) -> Refused<RegionHandle> {
        let dimension_handle = dimensions.iter().map(|name| self.dimension(name)).collect();
        let dimensions = Some(api::DimensionHandleSet { dimension_handle });
        self.ask(api::CreateRegionRequest { dimensions })
    }

    pub(crate) fn set_range(&self, region: RegionHandle, dimension: &str, bounds: Range<u32>) -> Refused {
        self.ask(api::SetRangeBoundsRequest {
            region: Some(region),
            dimension: Some(self.dimension(dimension)),
            range_bounds: Some(api::RangeBounds { lower: bounds.start, upper: bounds.end }),
        })
    }

    pub(crate) fn range_of(&self, region: RegionHandle, dimension: &str) -> Refused<Range<u32>> {
        let bounds = self.ask(api::GetRangeBoundsRequest {
            region: Some(region),
            dimension: Some(self.dimension(dimension)),
        })?;
        Ok(bounds.lower..bounds.upper)
    }

    /// The names of the dimensions of a region.
    pub(crate) fn dimensions_of(&self, region: RegionHandle) -> Refused<Vec<String>> {
        let found = self.ask(api::GetDimensionHandleSetRequest { region: Some(region) })?;
        let inner = self.world.0.borrow();
        let name = |handle| inner.model.dimension(handle).expect("a known dimension").name.clone();
        Ok(found.into_iter().map(name).collect())
    }

    pub(crate) fn commit(&self, regions: &[RegionHandle]) -> Refused {
        self.settled(api::CommitRegionModificationsRequest { regions: set(regions) })
    }

    pub(crate) fn delete_region(&self, region: RegionHandle) -> Refused {
        self.ask(api::DeleteRegionRequest { region: Some(region) })
    }

    /// A new region with these ranges, committed.
    pub(crate) fn region(&self, text: &str) -> Refused<RegionHandle> {
        let names: Vec<_> = ranges(text).map(|(name, _)| name).collect();
        let region = self.create_region(&names)?;
        self.shift(region, text)?;
        Ok(region)
    }

    /// Gives a region these ranges, and commits them.
    pub(crate) fn shift(&self, region: RegionHandle, text: &str) -> Refused {
        ranges(text).try_for_each(|(name, bounds)| self.set_range(region, name, bounds))?;
        self.commit(&[region])
    }

    fn pairs(&self, pairs: Pairs<'_>) -> Option<api::AttributeSetRegionSetPairList> {
        let pair = |&(names, regions): &(&str, &[RegionHandle])| {
            let attributes: Vec<_> = names.split_whitespace().map(|name| self.attribute(name)).collect();
            (attributes, regions.to_vec())
        };
        Some(pairs.iter().map(pair).collect())
    }

    /// Calls a service, and lets the RTI do the work that it leaves for later.
    fn settled<R: api::Request>(&self, request: R) -> Refused<R::Output> {
        let answer = self.ask(request);
        self.world.work();
        answer
    }
}

/// Object instances.
impl Fed {
    /// Returns the number of the new instance.
    pub(crate) fn register_with(&self, class: &str, pairs: Pairs<'_>) -> Refused<u32> {
        let registered = self.settled(api::RegisterObjectInstanceWithRegionsRequest {
            object_class: self.class(class),
            attributes_and_regions: self.pairs(pairs),
        })?;
        Ok(super::calls::number(Some(registered)))
    }

    pub(crate) fn register_as_with(&self, class: &str, name: &str, pairs: Pairs<'_>) -> Refused<u32> {
        let registered = self.settled(api::RegisterObjectInstanceWithNameAndRegionsRequest {
            object_class: self.class(class),
            attributes_and_regions: self.pairs(pairs),
            object_instance_name: name.to_owned(),
        })?;
        Ok(super::calls::number(Some(registered)))
    }

    pub(crate) fn associate(&self, instance: u32, pairs: Pairs<'_>) -> Refused {
        self.settled(api::AssociateRegionsForUpdatesRequest {
            object_instance: self.instance(instance),
            attributes_and_regions: self.pairs(pairs),
        })
    }

    pub(crate) fn unassociate(&self, instance: u32, pairs: Pairs<'_>) -> Refused {
        self.settled(api::UnassociateRegionsForUpdatesRequest {
            object_instance: self.instance(instance),
            attributes_and_regions: self.pairs(pairs),
        })
    }

    pub(crate) fn request_with(&self, class: &str, pairs: Pairs<'_>, tag: &str) -> Refused {
        self.settled(api::RequestAttributeValueUpdateWithRegionsRequest {
            object_class: self.class(class),
            attributes_and_regions: self.pairs(pairs),
            user_supplied_tag: bytes(tag),
        })
    }
}

/// Subscriptions of object classes.
impl Fed {
    pub(crate) fn subscribe_with(&self, class: &str, pairs: Pairs<'_>) -> Refused {
        self.subscribe_as(class, pairs, true)
    }

    pub(crate) fn subscribe_passively_with(&self, class: &str, pairs: Pairs<'_>) -> Refused {
        self.subscribe_as(class, pairs, false)
    }

    fn subscribe_as(&self, class: &str, pairs: Pairs<'_>, active: bool) -> Refused {
        self.settled(api::SubscribeObjectClassAttributesWithRegionsRequest {
            object_class: self.class(class),
            attributes_and_regions: self.pairs(pairs),
            active,
        })
    }

    /// Subscribes actively with an update rate.
    pub(crate) fn subscribe_at_with(&self, class: &str, pairs: Pairs<'_>, rate: &str) -> Refused {
        self.subscribe_at_as(class, pairs, rate, true)
    }

    pub(crate) fn subscribe_passively_at_with(&self, class: &str, pairs: Pairs<'_>, rate: &str) -> Refused {
        self.subscribe_at_as(class, pairs, rate, false)
    }

    fn subscribe_at_as(&self, class: &str, pairs: Pairs<'_>, rate: &str, active: bool) -> Refused {
        self.settled(api::SubscribeObjectClassAttributesWithRegionsAndRateRequest {
            object_class: self.class(class),
            attributes_and_regions: self.pairs(pairs),
            active,
            update_rate_designator: rate.to_owned(),
        })
    }

    pub(crate) fn unsubscribe_with(&self, class: &str, pairs: Pairs<'_>) -> Refused {
        self.settled(api::UnsubscribeObjectClassAttributesWithRegionsRequest {
            object_class: self.class(class),
            attributes_and_regions: self.pairs(pairs),
        })
    }
}

/// Interactions.
impl Fed {
    pub(crate) fn subscribe_interaction_with(&self, class: &str, regions: &[RegionHandle]) -> Refused {
        self.subscribe_interaction_as(class, regions, true)
    }

    pub(crate) fn subscribe_interaction_passively_with(
        &self,
        class: &str,
        regions: &[RegionHandle],
    ) -> Refused {
        self.subscribe_interaction_as(class, regions, false)
    }

    fn subscribe_interaction_as(&self, class: &str, regions: &[RegionHandle], active: bool) -> Refused {
        self.settled(api::SubscribeInteractionClassWithRegionsRequest {
            interaction_class: self.interaction(class),
            active,
            regions: set(regions),
        })
    }

    pub(crate) fn unsubscribe_interaction_with(&self, class: &str, regions: &[RegionHandle]) -> Refused {
        self.settled(api::UnsubscribeInteractionClassWithRegionsRequest {
            interaction_class: self.interaction(class),
            regions: set(regions),
        })
    }

    pub(crate) fn send_with(&self, class: &str, values: &str, regions: &[RegionHandle]) -> Refused {
        self.ask(api::SendInteractionWithRegionsRequest {
            interaction_class: self.interaction(class),
            parameter_values: self.parameters(values),
            regions: set(regions),
            user_supplied_tag: bytes::Bytes::new(),
        })
    }

    /// Returns whether the call gave a valid retraction handle.
    pub(crate) fn send_with_at(
        &self,
        class: &str,
        values: &str,
        regions: &[RegionHandle],
        time: i64,
    ) -> Refused<bool> {
        let sent = self.ask(api::SendInteractionWithRegionsAndTimeRequest {
            interaction_class: self.interaction(class),
            parameter_values: self.parameters(values),
            regions: set(regions),
            user_supplied_tag: bytes::Bytes::new(),
            time: integer_time(time),
        })?;
        Ok(sent.retraction_handle_is_valid)
    }

    /// Sets whether updates and interactions come with the regions they were sent with.
    pub(crate) fn set_convey_regions(&self, value: bool) -> Refused {
        self.ask(api::SetConveyRegionDesignatorSetsSwitchRequest { value })
    }
}
