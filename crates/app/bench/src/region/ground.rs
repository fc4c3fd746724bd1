//! Regions on the square, for a federate.

use federate::{Federate, FederateError};
use hla::api::{RangeBounds, SetRangeBoundsRequest};
use hla::handle::{DimensionHandle, ObjectInstanceHandle, RegionHandle};
use workload::phases::Rectangle;

use crate::error::BenchError;
use crate::member::{Member, Payload, payload_of};

/// Number of calls that are made together.
const TOGETHER: usize = 1_000;

/// The class of those who move, and the dimensions of the square.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground {
    pub(super) moving: Payload,
    dimensions: [DimensionHandle; 2],
}

impl Ground {
    pub(super) async fn of(member: &Member) -> Result<Self, BenchError> {
        let federate = &member.federate;
        let moving = payload_of(federate, "HLAobjectRoot.Moving").await?;
        let dimensions =
            [federate.get_dimension_handle("X").await?, federate.get_dimension_handle("Y").await?];
        Ok(Self { moving, dimensions })
    }

    /// Creates regions at these places, and commits them.
    pub(super) async fn create(
        &self,
        federate: &Federate,
        places: impl IntoIterator<Item = Rectangle>,
    ) -> Result<Vec<RegionHandle>, BenchError> {
        let mut regions = Vec::new();
        let mut places = places.into_iter().peekable();
        while places.peek().is_some() {
            let some: Vec<Rectangle> = places.by_ref().take(TOGETHER).collect();
            let calls: Vec<_> = some.iter().map(|_| federate.create_region(self.dimensions)).collect();
            let updates = federate.updates();
            let first = regions.len();
            for (call, place) in calls.into_iter().zip(&some) {
                let region = call.await?;
                regions.push(region);
                for (dimension, bounds) in self.bounds(*place) {
                    updates
                        .send(SetRangeBoundsRequest {
                            region: Some(region),
                            dimension: Some(dimension),
                            range_bounds: Some(bounds),
                        })
                        .await?;
                }
            }
            updates.drained().await?;
            federate.commit_region_modifications(regions[first..].iter().copied()).await?;
        }
        Ok(regions)
    }

    fn bounds(&self, Rectangle([x, y]): Rectangle) -> [(DimensionHandle, RangeBounds); 2] {
        let range = |(lower, upper)| RangeBounds { lower, upper };
        [(self.dimensions[0], range(x)), (self.dimensions[1], range(y))]
    }

    /// Registers objects, each with its regions; those without regions have the default region.
    pub(super) async fn register(
        &self,
        federate: &Federate,
        objects: &[Vec<RegionHandle>],
    ) -> Result<Vec<ObjectInstanceHandle>, BenchError> {
        let Payload { class, attribute } = self.moving;
        let mut registered = Vec::with_capacity(objects.len());
        for some in objects.chunks(TOGETHER) {
            let calls: Vec<_> = some
                .iter()
                .map(|regions| match regions.is_empty() {
                    true => federate.register_object_instance(class),
                    false => {
                        let pairs = [(vec![attribute], regions.clone())];
                        federate.register_object_instance_with_regions(class, pairs)
                    }
                })
                .collect();
            for call in calls {
                registered.push(call.await?);
            }
        }
        Ok(registered)
    }

    /// Subscribes with a region.
    pub(super) async fn watch(&self, federate: &Federate, region: RegionHandle) -> Result<(), FederateError> {
        let Payload { class, attribute } = self.moving;
        let pairs = [(vec![attribute], vec![region])];
        federate.subscribe_object_class_attributes_with_regions(class, pairs, true).await
    }
}
