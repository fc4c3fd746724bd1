//! The part of a class that federates of other nodes want: all of them together, or those of one node.
//! The rest stays here.

use super::federate::{Subscription, together};
use super::objects::Objects;
use crate::control::NodeId;
use crate::wire::{Payload, RegionSet};
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectClassHandle};
use std::collections::BTreeMap;

/// The largest number of summaries of regions that are compared with each value of an attribute.
/// Beyond it, the attribute is wanted everywhere: so many federates leave little room between them.
const SUMMARIES_MAX: usize = 64;

/// The attributes of a class that federates of another node, or of all others, subscribe, at the class
/// or above it.
/// This may be wider than what a federate gets, but never narrower.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The number of changes of their subscriptions that are regarded.
    version: u64,
    attributes: BTreeMap<AttributeHandle, WantedAttribute>,
}

/// The subscriptions of an interaction class, or one above it, by federates of another node, or of all
/// others.
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
    /// Whether all attributes of a class are wanted everywhere, except the privilege to delete, which
    /// has no values.
    pub(crate) fn is_all_wanted(&self, wanted: &Wanted, class: ObjectClassHandle) -> bool {
        let everywhere = |&attribute: &AttributeHandle| {
            let wanted = wanted.attribute(attribute);
            attribute == self.privilege || wanted.is_some_and(|wanted| wanted.regions.is_none())
        };
        self.class_of(class).attributes.iter().all(everywhere)
    }

    /// Whether a value of an attribute of an instance that was registered at `class`, with these regions,
    /// reaches those that want the attribute.
    pub(crate) fn reaches_attribute(
        &self,
        (class, attribute): (ObjectClassHandle, AttributeHandle),
        wanted: &WantedAttribute,
        regions: &RegionSet,
    ) -> bool {
        // The default region overlaps every region.
        let summaries = wanted.regions.as_ref().filter(|_| !regions.is_empty());
        summaries.is_none_or(|summaries| self.reaches_summary((class, attribute), regions, summaries))
    }

    /// Whether an interaction that is sent at `class` reaches those that want the class.
    pub(crate) fn reaches_interaction(
        &self,
        class: InteractionClassHandle,
        wanted: &WantedInteractions,
        payload: &Payload,
    ) -> bool {
        let summaries = wanted.regions.as_ref().filter(|summaries| {
            // The default region overlaps every region, but reaches nobody if nobody subscribes.
            !payload.regions.is_empty() || summaries.is_empty()
        });
        summaries.is_none_or(|summaries| self.reaches_interaction_summary(class, &payload.regions, summaries))
    }

    /// Brings what a node, or all others (`None`), want up to date.
    pub(crate) fn refresh_wanted(&self, wanted: &mut Wanted, class: ObjectClassHandle, node: Option<NodeId>) {
        // Versions begin at 1, so that a new list is always filled.
        if wanted.version == self.remote_version {
            return;
        }
        wanted.version = self.remote_version;
        wanted.attributes.clear();
        for class in self.lineage(class) {
            for (attribute, how, regions) in self.attributes_elsewhere(class, node) {
                let first = || WantedAttribute { how, regions: Some(Vec::new()) };
                let all = wanted.attributes.entry(attribute).or_insert_with(first);
                all.how = together(Some(all.how), how, &self.rates);
                add_summary(&mut all.regions, class, regions);
            }
        }
    }

    /// Brings what a node, or all others (`None`), want up to date.
    pub(crate) fn refresh_wanted_interactions(
        &self,
        wanted: &mut WantedInteractions,
        class: InteractionClassHandle,
        node: Option<NodeId>,
    ) {
        if wanted.version == self.remote_version {
            return;
        }
        wanted.version = self.remote_version;
        wanted.regions = Some(Vec::new());
        for class in self.interaction_lineage(class) {
            for regions in self.interactions_elsewhere(class, node) {
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
