//! The attributes that federates of other nodes want: the others stay here.

use super::federate::{Subscription, together};
use super::objects::Objects;
use crate::wire::RegionSet;
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectClassHandle};
use std::collections::BTreeMap;

/// The largest number of summaries of regions that are compared with each value of an attribute.
/// Beyond it, the attribute is wanted everywhere: so many federates leave little room between them.
const SUMMARIES_MAX: usize = 64;

/// The attributes of a class that federates of other nodes subscribe, at the class or above it.
/// This may be wider than what a federate gets, but never narrower.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The number of changes of their subscriptions that are regarded.
    version: u64,
    attributes: BTreeMap<AttributeHandle, WantedAttribute>,
}

/// The subscriptions of an interaction class, or one above it, by federates of other nodes.
#[derive(Debug, Default)]
pub(crate) struct WantedInteractions {
    version: u64,
    /// The summaries of their regions, each with the class of the subscription. `None`: the class is
    /// wanted everywhere.
    pub(crate) regions: Option<Vec<(InteractionClassHandle, RegionSet)>>,
}

/// A wanted attribute.
#[derive(Debug)]
pub(crate) struct WantedAttribute {
    /// All its subscriptions together.
    pub(crate) how: Subscription,
    /// The summaries of the regions of its subscriptions, each with the class of the subscription.
    /// `None`: it is wanted everywhere.
    pub(crate) regions: Option<Vec<(ObjectClassHandle, RegionSet)>>,
}

impl Wanted {
    /// An attribute, if it is wanted.
    pub(crate) fn attribute(&self, attribute: AttributeHandle) -> Option<&WantedAttribute> {
        self.attributes.get(&attribute)
    }
}

impl Objects {
    /// Brings `wanted` up to date.
    pub(crate) fn refresh_wanted(&self, wanted: &mut Wanted, class: ObjectClassHandle) {
        // Versions begin at 1, so that a new list is always filled.
        if wanted.version == self.remote_version {
            return;
        }
        wanted.version = self.remote_version;
        wanted.attributes.clear();
        for class in self.lineage(class) {
            for (attribute, how, regions) in self.attributes_elsewhere(class) {
                let first = || WantedAttribute { how, regions: Some(Vec::new()) };
                let all = wanted.attributes.entry(attribute).or_insert_with(first);
                all.how = together(Some(all.how), how, &self.rates);
                add_summary(&mut all.regions, class, regions);
            }
        }
    }

    /// Brings `wanted` up to date.
    pub(crate) fn refresh_wanted_interactions(
        &self,
        wanted: &mut WantedInteractions,
        class: InteractionClassHandle,
    ) {
        if wanted.version == self.remote_version {
            return;
        }
        wanted.version = self.remote_version;
        wanted.regions = Some(Vec::new());
        for class in self.interaction_lineage(class) {
            for regions in self.interactions_elsewhere(class) {
                add_summary(&mut wanted.regions, class, regions);
            }
        }
    }
}

/// Adds a subscription at a class with these regions to all. The default region: it applies everywhere.
fn add_summary<Class>(all: &mut Option<Vec<(Class, RegionSet)>>, class: Class, regions: &RegionSet) {
    match all {
        Some(summaries) if !regions.is_empty() && summaries.len() < SUMMARIES_MAX => {
            summaries.push((class, regions.clone()));
        }
        _ => *all = None,
    }
}
