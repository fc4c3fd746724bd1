//! What this node publishes, so that others know whom to follow.

use super::objects::Objects;
use crate::control::PublishedClass;
use crate::effect::{Change, Effects};

impl Objects {
    /// From now on other nodes may follow what happens here.
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

    /// Whether this node publishes a class may have changed.
    ///
    /// It is judged here and not when the effect is applied: a stream has to be open before the first event of an
    /// instance, and ends after the last one.
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
                    || self.instances.of_class(class).any(|handle| {
                        self.instances.get(handle).is_some_and(|object| object.home == self.node)
                    })
            }
            PublishedClass::Interactions(class) => {
                federates.any(|federate| federate.published_interactions.contains(&class))
            }
            PublishedClass::Directed => federates.any(|federate| !federate.published_directed.is_empty()),
        }
    }
}
