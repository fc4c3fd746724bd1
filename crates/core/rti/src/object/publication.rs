//! The publications of this node, by which others know which nodes to follow.

use super::objects::Objects;
use crate::control::PublishedClass;
use crate::effect::{Change, Effects};

impl Objects {
    /// Begins replication: from now on other nodes may follow this one.
    pub(crate) fn start_replication(&mut self, effects: &mut Effects) {
        self.replicated = true;
        let mut published: Vec<PublishedClass> = Vec::new();
        for federate in self.federates.values() {
            published.extend(federate.publications.keys().map(|&class| PublishedClass::Objects(class)));
            published.extend(
                federate.published_interactions.iter().map(|&class| PublishedClass::Interactions(class)),
            );
        }
        published.extend(self.instances.classes().map(PublishedClass::Objects));
        published.push(PublishedClass::Directed);
        for class in published {
            self.refresh_publication(effects, class);
        }
    }

    /// Re-evaluates whether this node publishes a class.
    ///
    /// This happens here and not when the effect is applied: a stream must be open before the first
    /// event of an instance, and end after the last one.
    pub(super) fn refresh_publication(&mut self, effects: &mut Effects, class: PublishedClass) {
        if !self.replicated {
            return;
        }
        let on = self.publishes_here(class);
        let changed = if on { self.published.insert(class) } else { self.published.remove(&class) };
        if changed {
            effects.replicate(Change::Publish { class, on });
        }
    }

    fn publishes_here(&self, class: PublishedClass) -> bool {
        let mut federates = self.federates.values();
        match class {
            PublishedClass::Objects(class) => {
                federates.any(|federate| federate.publishes(class))
                    || self.instances.any_at_home(class, self.node)
                    || self.owned_elsewhere.contains_key(&class)
            }
            PublishedClass::Interactions(class) => {
                federates.any(|federate| federate.published_interactions.contains(&class))
            }
            PublishedClass::Directed => federates.any(|federate| !federate.published_directed.is_empty()),
        }
    }
}
