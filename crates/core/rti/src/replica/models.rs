//! The extension of the object model that introduced each class.

use crate::control::PublishedClass;
use hla::fom::Fdd;
use hla::handle::{InteractionClassHandle, ObjectClassHandle};

/// The extensions of a federation execution's object model that are known here.
///
/// A message waits at a node that lacks the classes it mentions, and for no other extension. If a
/// federate joins with modules that take long to read, only messages about its own classes wait.
#[derive(Debug, Default)]
pub(super) struct Models {
    /// For each extension in order: its number, and the last classes of the model with it. Handles
    /// are assigned in order, and an extension changes none of them.
    known: Vec<(u32, ObjectClassHandle, InteractionClassHandle)>,
}

impl Models {
    /// Records the model after `version` extensions.
    pub(super) fn learn(&mut self, version: u32, model: &Fdd) {
        if self.known.last().is_some_and(|(known, ..)| *known >= version) {
            return;
        }
        let objects = model.object_classes().map(|class| class.handle).max();
        let interactions = model.interaction_classes().map(|class| class.handle).max();
        self.known.push((version, objects.unwrap_or_default(), interactions.unwrap_or_default()));
    }

    /// The number of extensions known.
    pub(super) fn latest(&self) -> u32 {
        self.known.last().map_or(0, |(version, ..)| *version)
    }

    /// The number of extensions that a node needs for messages about a class. A node that learned
    /// several at once assumes the last of them for all their classes.
    pub(super) fn needed(&self, class: PublishedClass) -> u32 {
        let has_class =
            |(_, objects, interactions): &&(u32, ObjectClassHandle, InteractionClassHandle)| match class {
                PublishedClass::Objects(class) => class <= *objects,
                PublishedClass::Interactions(class) => class <= *interactions,
                // Directed interactions may be of any class, and directed at instances of any
                // class.
                PublishedClass::Directed => false,
            };
        self.known.iter().find(has_class).map_or(self.latest(), |(version, ..)| *version)
    }
}
