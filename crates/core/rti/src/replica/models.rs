//! Which extension of the object model a class came with.

use crate::control::PublishedClass;
use hla::fom::Fdd;
use hla::handle::{InteractionClassHandle, ObjectClassHandle};

/// The extensions of the object model of a federation execution that are known here.
///
/// A message waits at a node that does not have the classes it is about, and for nothing else: a federate that joins with
/// modules that take long to read holds up only what concerns its own classes.
#[derive(Debug, Default)]
pub(super) struct Models {
    /// For each extension that was learned, in order: its number, and the last classes of the model with it. Handles are
    /// given in order, and an extension changes none.
    known: Vec<(u32, ObjectClassHandle, InteractionClassHandle)>,
}

impl Models {
    /// Notes the model after `version` extensions.
    pub(super) fn learn(&mut self, version: u32, model: &Fdd) {
        if self.known.last().is_some_and(|(known, ..)| *known >= version) {
            return;
        }
        let objects = model.object_classes().map(|class| class.handle).max();
        let interactions = model.interaction_classes().map(|class| class.handle).max();
        self.known.push((version, objects.unwrap_or_default(), interactions.unwrap_or_default()));
    }

    /// How many extensions are known.
    pub(super) fn latest(&self) -> u32 {
        self.known.last().map_or(0, |(version, ..)| *version)
    }

    /// How many extensions a node needs for messages about a class. A node that learned several at once takes the last of
    /// them for all their classes.
    pub(super) fn needed(&self, class: PublishedClass) -> u32 {
        let has_class =
            |(_, objects, interactions): &&(u32, ObjectClassHandle, InteractionClassHandle)| match class {
                PublishedClass::Objects(class) => class <= *objects,
                PublishedClass::Interactions(class) => class <= *interactions,
                // They may be of any class, to instances of any class.
                PublishedClass::Directed => false,
            };
        self.known.iter().find(has_class).map_or(self.latest(), |(version, ..)| *version)
    }
}
