//! Attributes that their owner no longer publishes become unowned (5.3).
//!
//! A federate may own a million instances of the class. They are visited in slices. The first slice
//! belongs to the call. The others follow between the events of other federates, and the call ends
//! with the last of them. The federate publishes the attributes until then: the stream of the class
//! must not end before the last change of an owner.

use super::instance::Cursor;
use super::objects::Objects;
use crate::control::PublishedClass;
use crate::effect::{Effect, Effects};
use crate::proposal::Completion;
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle};
use std::collections::{BTreeSet, VecDeque};

/// Maximum number of instances that one slice visits. Each may be a callback to every federate that
/// has the attributes in scope.
const VISITED_PER_SLICE: usize = 1_000;

/// The end of a publication, and what it means for instances.
#[derive(Debug)]
pub(super) struct Divestiture {
    pub(super) federate: FederateHandle,
    pub(super) class: ObjectClassHandle,
    /// The attributes that are no longer published.
    pub(super) attributes: BTreeSet<AttributeHandle>,
    pub(super) cursor: Cursor,
}

/// The unfinished divestitures and the calls that wait for them. They take turns. A federate has
/// one at most, because it makes no other call meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Divestitures(VecDeque<(Divestiture, Completion)>);

impl Divestitures {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets the divestiture of a federate that is lost: its resign directive disposes of what it
    /// owns.
    pub(super) fn remove_federate(&mut self, federate: FederateHandle) {
        self.0.retain(|(divestiture, _)| divestiture.federate != federate);
    }
}

impl Objects {
    /// Does the first slice of a divestiture. Returns true if that was all; if not, `completion`
    /// follows with the last slice.
    pub(super) fn begin_divestiture(
        &mut self,
        effects: &mut Effects,
        mut divestiture: Divestiture,
        completion: Completion,
    ) -> bool {
        let is_done = self.divest_slice(effects, &mut divestiture);
        match is_done {
            true => self.end_publication(effects, &divestiture),
            false => self.divestitures.0.push_back((divestiture, completion)),
        }
        is_done
    }

    /// Processes one slice of one divestiture.
    pub(super) fn continue_divestitures(&mut self, effects: &mut Effects) {
        let Some((mut divestiture, completion)) = self.divestitures.0.pop_front() else { return };
        if !self.divest_slice(effects, &mut divestiture) {
            return self.divestitures.0.push_back((divestiture, completion));
        }
        self.end_publication(effects, &divestiture);
        effects.push(Effect::Complete(Box::new(completion)));
    }

    /// Returns true when all instances have been visited.
    fn divest_slice(&mut self, effects: &mut Effects, divestiture: &mut Divestiture) -> bool {
        let Divestiture { federate, class, attributes, cursor } = divestiture;
        for instance in cursor.advance(&self.instances, VISITED_PER_SLICE) {
            let known = self.instances.get(instance).and_then(|object| object.known_class(*federate));
            if known == Some(*class) {
                self.divest(effects, *federate, instance, |attribute| attributes.contains(&attribute));
            }
        }
        cursor.is_done()
    }

    fn end_publication(&mut self, effects: &mut Effects, divestiture: &Divestiture) {
        let &Divestiture { federate: handle, class, ref attributes, .. } = divestiture;
        let federate = self.federate_mut(handle);
        if let Some(published) = federate.publications.get_mut(&class) {
            published.retain(|attribute| !attributes.contains(attribute));
            if published.is_empty() {
                federate.publications.remove(&class);
                federate.registration_on.remove(&class);
            }
        }
        self.declarations -= attributes.len();
        self.refresh_publication(effects, PublishedClass::Objects(class));
        if self.federate(handle).publishes(class) {
            self.refresh_registration(effects, handle, class);
        }
    }
}
