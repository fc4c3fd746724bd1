//! The interest of this node's federates in classes.

use crate::control::PublishedClass;
use hla::handle::FederateHandle;
use std::collections::{BTreeMap, BTreeSet};

/// For each class the federates that subscribe it, at the class itself or above it.
#[derive(Debug, Default)]
pub(crate) struct Interest {
    subscribers: BTreeMap<PublishedClass, BTreeSet<FederateHandle>>,
}

impl Interest {
    /// Adds or removes a federate. Returns true if the class has become covered by it, or is no
    /// longer covered.
    pub(crate) fn set(&mut self, class: PublishedClass, federate: FederateHandle, on: bool) -> bool {
        if on {
            let subscribers = self.subscribers.entry(class).or_default();
            return subscribers.insert(federate) && subscribers.len() == 1;
        }
        let Some(subscribers) = self.subscribers.get_mut(&class) else { return false };
        subscribers.remove(&federate);
        let ended = subscribers.is_empty();
        if ended {
            self.subscribers.remove(&class);
        }
        ended
    }

    /// Removes a federate. Returns the classes that are no longer covered.
    pub(super) fn remove(&mut self, federate: FederateHandle) -> Vec<PublishedClass> {
        let classes: Vec<_> = self.subscribers.keys().copied().collect();
        classes.into_iter().filter(|&class| self.set(class, federate, false)).collect()
    }

    /// The federates that are interested in a class, by handle.
    pub(crate) fn of(&self, class: PublishedClass) -> impl Iterator<Item = FederateHandle> + '_ {
        const NONE: &BTreeSet<FederateHandle> = &BTreeSet::new();
        self.subscribers.get(&class).unwrap_or(NONE).iter().copied()
    }

    /// Whether a federate of this node is interested in a class.
    pub(crate) fn covers(&self, class: PublishedClass) -> bool {
        self.subscribers.contains_key(&class)
    }

    /// All classes in which some federate is interested.
    pub(crate) fn covered(&self) -> impl Iterator<Item = PublishedClass> + '_ {
        self.subscribers.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_and_the_last_subscriber_change_what_is_covered() {
        let class = PublishedClass::Directed;
        let (a, b) = (FederateHandle(1), FederateHandle(2));
        let mut interest = Interest::default();
        assert!(interest.set(class, b, true));
        assert!(!interest.set(class, b, true), "told twice, it counts once");
        assert!(!interest.set(class, a, true));
        assert_eq!(interest.of(class).collect::<Vec<_>>(), [a, b]);
        assert!(!interest.set(class, b, false));
        assert!(interest.set(class, a, false));
        assert!(!interest.set(class, a, false), "it was covered no longer");
        interest.set(class, a, true);
        assert_eq!(interest.remove(a), [class]);
        assert!(!interest.covers(class));
    }
}
