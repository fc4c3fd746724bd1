//! The regions of a federate and their use, for people and tools.

use super::super::federate::{Federate, Subscription};
use super::table::{Distribution, OwnRegion};
use hla::handle::{AttributeHandle, DimensionHandle, ObjectClassHandle, RegionHandle};

/// Maximum number of subscriptions with regions that are counted for one class attribute. Each
/// takes some nanoseconds, and an explanation counts them for many attributes.
const COUNTED_MAX: usize = 10_000;

/// The use that a federate makes of regions. Everything in it costs little, however many regions
/// there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RegionsView {
    pub(crate) regions: usize,
    /// Those of them that have been committed.
    pub(crate) committed: usize,
    /// Subscriptions of class attributes with a region.
    pub(crate) attribute_subscriptions: usize,
    /// Subscriptions of interaction classes with a region.
    pub(crate) interaction_subscriptions: usize,
    /// Associations of an instance attribute with a region.
    pub(crate) associations: usize,
}

/// The bounds on dimensions; `None`: they have not been set.
pub(crate) type Bounds = Vec<(DimensionHandle, Option<(u32, u32)>)>;

/// A region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RegionView {
    pub(crate) region: RegionHandle,
    /// Its specification: the bounds that were committed.
    pub(crate) committed: Option<Bounds>,
    /// Its template: the bounds as they would be committed now.
    pub(crate) template: Bounds,
    /// The number of subscriptions that use it.
    pub(crate) subscriptions: usize,
    /// The number of instance attributes with which it is associated.
    pub(crate) associations: usize,
}

impl RegionView {
    fn of(region: RegionHandle, own: &OwnRegion) -> Self {
        let committed = own.specification.as_ref().map(|ranges| {
            ranges.iter().map(|range| (range.dimension, Some((range.lower, range.upper)))).collect()
        });
        Self {
            region,
            committed,
            template: own.template.iter().map(|(&dimension, &bounds)| (dimension, bounds)).collect(),
            subscriptions: own.subscribers.len(),
            associations: own.associated.len(),
        }
    }
}

impl Distribution {
    pub(crate) fn view(&self) -> RegionsView {
        RegionsView {
            regions: self.regions.len(),
            committed: self.committed,
            attribute_subscriptions: self.attributes.values().map(|of_class| of_class.count()).sum(),
            interaction_subscriptions: self.interactions.values().map(|of_class| of_class.count()).sum(),
            associations: self.associated,
        }
    }

    /// The regions of the federate, by handle.
    pub(crate) fn region_views(&self) -> impl Iterator<Item = RegionView> {
        self.regions.iter().map(|(&handle, region)| RegionView::of(handle, region))
    }
}

/// The subscriptions of a class attribute by a federate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SubscriptionView {
    /// One of them has no region.
    pub(crate) is_plain: bool,
    /// The number of those with a region, [`COUNTED_MAX`] at most.
    pub(crate) regions: usize,
    /// All of them together.
    pub(crate) together: Subscription,
}

impl Federate {
    /// Its subscriptions of `attribute` at exactly `class`.
    pub(crate) fn subscription_view(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<SubscriptionView> {
        let together = self.subscription(class, attribute)?;
        let with_regions = self.distribution.attributes.get(&class);
        let (is_plain, regions) = match with_regions {
            None => (true, 0),
            Some(of_class) => {
                let regions = of_class.of(attribute).take(COUNTED_MAX).count();
                (of_class.plain(attribute).is_some(), regions)
            }
        };
        Some(SubscriptionView { is_plain, regions, together })
    }
}
