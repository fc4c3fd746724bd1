//! The attributes that federates of other nodes want: the others stay here.

use super::federate::RateId;
use super::objects::Objects;
use hla::handle::{AttributeHandle, ObjectClassHandle};

/// The attributes of a class that federates of other nodes subscribe, at the class or above it.
/// This may be wider than what a federate gets, but never narrower.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The number of changes of their subscriptions that are regarded.
    version: u64,
    /// Sorted by attribute, each with its highest rate. `None`: as often as it is sent.
    attributes: Vec<(AttributeHandle, Option<RateId>)>,
}

impl Wanted {
    /// Whether an attribute is wanted, and at which rate. The inner `None`: as often as it is sent.
    pub(crate) fn rate_of(&self, attribute: AttributeHandle) -> Option<Option<RateId>> {
        let at = self.attributes.binary_search_by_key(&attribute, |&(attribute, _)| attribute).ok()?;
        self.attributes.get(at).map(|&(_, rate)| rate)
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
            for (_, subscriptions) in self.subscribed_elsewhere() {
                let subscribed = subscriptions.get(&class).into_iter().flatten();
                wanted.attributes.extend(subscribed.map(|(&attribute, how)| (attribute, how.rate)));
            }
        }
        // Of each attribute the highest rate comes first. It is the one that is kept.
        let hertz = |rate: Option<RateId>| rate.map_or(f64::INFINITY, |rate| self.hertz(rate));
        wanted
            .attributes
            .sort_by(|(a, with), (b, or)| a.cmp(b).then_with(|| hertz(*or).total_cmp(&hertz(*with))));
        wanted.attributes.dedup_by_key(|(attribute, _)| *attribute);
    }
}
