//! The attributes that federates of other nodes want: the others stay here.

use super::federate::RateId;
use super::objects::Objects;
use crate::wire::RegionSet;
use hla::handle::{AttributeHandle, ObjectClassHandle};
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

/// A wanted attribute.
#[derive(Debug, Default)]
pub(crate) struct WantedAttribute {
    /// The highest rate; `None`: as often as it is sent.
    pub(crate) rate: Option<RateId>,
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
                let first = || WantedAttribute { rate: how.rate, regions: Some(Vec::new()) };
                let all = wanted.attributes.entry(attribute).or_insert_with(first);
                all.rate = match (all.rate, how.rate) {
                    (Some(a), Some(b)) if self.hertz(a) < self.hertz(b) => Some(b),
                    (Some(a), Some(_)) => Some(a),
                    _ => None,
                };
                match &mut all.regions {
                    Some(summaries) if !regions.is_empty() && summaries.len() < SUMMARIES_MAX => {
                        summaries.push((class, regions.clone()));
                    }
                    _ => all.regions = None,
                }
            }
        }
    }
}
