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
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
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
    /// Whether any instance was visited. The homes of instances must first know that the federate
    /// no longer wants to acquire attributes: it may be about to own some.
    pub(super) is_begun: bool,
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

    /// Whether a divestiture can be continued, or waits for answers of other nodes.
    pub(super) fn can_continue_divestitures(&self) -> bool {
        self.divestitures.0.iter().any(|(divestiture, _)| self.can_continue(divestiture))
    }

    fn can_continue(&self, divestiture: &Divestiture) -> bool {
        let is_visiting = divestiture.is_begun && !divestiture.cursor.is_done();
        is_visiting || !self.requests.is_unpublishing(divestiture.federate)
    }

    /// Processes one slice of one divestiture.
    pub(super) fn continue_divestitures(&mut self, effects: &mut Effects) {
        let next = self.divestitures.0.iter().position(|(divestiture, _)| self.can_continue(divestiture));
        let next = next.and_then(|at| self.divestitures.0.remove(at));
        let Some((mut divestiture, completion)) = next else { return };
        if !self.divest_slice(effects, &mut divestiture) {
            return self.divestitures.0.push_back((divestiture, completion));
        }
        self.end_publication(effects, &divestiture);
        effects.push(Effect::Complete(Box::new(completion)));
    }

    /// Returns true when all instances have been visited.
    fn divest_slice(&mut self, effects: &mut Effects, divestiture: &mut Divestiture) -> bool {
        if !self.can_continue(divestiture) {
            return false;
        }
        divestiture.is_begun = true;
        let Divestiture { federate, class, attributes, cursor, .. } = divestiture;
        for instance in cursor.advance(&self.instances, VISITED_PER_SLICE) {
            let known = self.instances.get(instance).and_then(|object| object.known_class(*federate));
            if known == Some(*class) {
                self.divest_unpublished(effects, *federate, instance, attributes);
            }
        }
        cursor.is_done() && !self.requests.is_unpublishing(*federate)
    }

    /// Divests attributes of one instance, or requests its home to do so.
    fn divest_unpublished(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) {
        if self.decides(instance) {
            return self.divest(effects, federate, instance, |attribute| attributes.contains(&attribute));
        }
        let owned: Vec<_> =
            self.owned_by(federate, instance).filter(|owned| attributes.contains(owned)).collect();
        if !owned.is_empty() {
            self.request_divestiture(effects, (instance, federate), owned);
        }
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
