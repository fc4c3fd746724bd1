//! Resignation: how the objects (4.12) and declarations of a leaving federate are disposed of.
//!
//! A federate may own a million instances and know as many. It leaves in slices, between the events
//! of other federates: first its instances are found, then they are deleted or divested, and
//! finally the instances that it knew forget it. A federate with few of them leaves in one slice.

use super::federate::ClassSubscription;
use super::instance::Cursor;
use super::objects::Objects;
use crate::control::{Command, PublishedClass};
use crate::effect::{Change, Effect, Effects};
use crate::proposal::Proposal;
use crate::time::TimeInput;
use bytes::Bytes;
use hla::api::ResignAction;
use hla::handle::{FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use hla::{Exception, RtiError};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of instances checked in one slice for attributes that the federate owns.
const FOUND_PER_SLICE: usize = 10_000;
/// Maximum number of instances deleted or divested in one slice.
const DISPOSED_PER_SLICE: usize = 1_000;
/// Maximum number of instances that forget the federate in one slice.
const FORGOTTEN_PER_SLICE: usize = 2_000;

/// The three parts of a resign action, in this order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Acquisitions that are pending are cancelled.
    cancel: bool,
    pub(super) delete: bool,
    divest: bool,
}

impl From<ResignAction> for Plan {
    fn from(action: ResignAction) -> Self {
        let (cancel, delete, divest) = match action {
            ResignAction::UnconditionallyDivestAttributes => (false, false, true),
            ResignAction::DeleteObjects => (false, true, false),
            ResignAction::CancelPendingOwnershipAcquisitions => (true, false, false),
            ResignAction::DeleteObjectsThenDivest => (false, true, true),
            ResignAction::CancelThenDeleteThenDivest => (true, true, true),
            ResignAction::NoAction => (false, false, false),
        };
        Self { cancel, delete, divest }
    }
}

/// The end of a resignation, once the federate's objects are disposed of.
#[derive(Debug)]
enum Ending {
    /// The federate has requested to resign with this proposal.
    Resign(Box<Proposal>),
    /// The federate was lost. It is resigned, and forgotten at once.
    Lost,
}

/// A federate of this node whose objects are being disposed of.
#[derive(Debug)]
struct Resignation {
    federate: FederateHandle,
    action: ResignAction,
    plan: Plan,
    ending: Ending,
    /// The progress of finding its instances.
    cursor: Cursor,
    owned: Owned,
}

/// Instances of which a federate owns attributes: those that it may delete, and the others.
#[derive(Debug, Default)]
struct Owned {
    deletable: Vec<ObjectInstanceHandle>,
    other: Vec<ObjectInstanceHandle>,
}

impl Owned {
    /// Reverses the lists once all have been found, so that the first is taken next.
    fn reverse(&mut self) {
        self.deletable.reverse();
        self.other.reverse();
    }

    fn len(&self) -> usize {
        self.deletable.len() + self.other.len()
    }
}

/// A federate that has left and that instances still know.
#[derive(Debug)]
struct Forgetting {
    federate: FederateHandle,
    subscriptions: BTreeMap<ObjectClassHandle, ClassSubscription>,
    cursor: Cursor,
}

/// Federates that leave in more than one slice.
#[derive(Debug, Default)]
pub(crate) struct Resignations {
    leaving: VecDeque<Resignation>,
    left: VecDeque<Forgetting>,
}

impl Resignations {
    pub(super) fn is_empty(&self) -> bool {
        self.leaving.is_empty() && self.left.is_empty()
    }
}

impl Objects {
    /// Carries out `action` on the objects of `federate`, after checking that nothing would remain
    /// owned. It then proposes the resignation.
    ///
    /// # Errors
    /// `OwnershipAcquisitionPending`, or `FederateOwnsAttributes`; then nothing has happened. If a
    /// later slice finds the reason, the call that waits for the proposal is refused.
    pub(crate) fn resign(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        action: ResignAction,
        proposal: Proposal,
    ) -> Result<(), RtiError> {
        let plan = Plan::from(action);
        if !plan.cancel {
            self.check_nothing_pending(federate, |_, _| true)?;
        }
        let ending = Ending::Resign(Box::new(proposal));
        let mut resignation = self.resignation(federate, action, plan, ending);
        if !self.dispose_slice(effects, &mut resignation)? {
            self.resignations.leaving.push_back(resignation);
            return Ok(());
        }
        self.end_resignation(effects, resignation);
        Ok(())
    }

    /// The same for a lost federate. Attributes that its directive leaves owned become unowned. The
    /// federate is resigned and forgotten.
    pub(crate) fn resign_lost(&mut self, effects: &mut Effects, federate: FederateHandle) {
        if let Some(resignation) =
            self.resignations.leaving.iter_mut().find(|resignation| resignation.federate == federate)
        {
            // It was lost while it resigned: nobody waits for the outcome any longer, and nothing
            // may remain owned.
            resignation.ending = Ending::Lost;
            resignation.plan.divest = true;
            return;
        }
        self.divestitures.remove_federate(federate);
        let directive = self.federate(federate).switches.resign_directive;
        let plan = Plan { divest: true, ..Plan::from(directive) };
        let mut resignation = self.resignation(federate, directive, plan, Ending::Lost);
        match self.dispose_slice(effects, &mut resignation) {
            Ok(true) => self.end_resignation(effects, resignation),
            Ok(false) => self.resignations.leaving.push_back(resignation),
            Err(error) => tracing::error!(%error, "a lost federate keeps attributes"),
        }
    }

    /// Logs that a lost federate leaves instances behind that nobody owns or deletes. This is the
    /// standard's default, which few object models intend. It is logged once for each federation
    /// execution, because federates that come and go would fill the log.
    pub(super) fn note_abandoned(&mut self, handle: FederateHandle, instances: usize) {
        if instances > 0 && !std::mem::replace(&mut self.abandoned, true) {
            tracing::warn!(
                execution = %self.id, federate = ?handle, instances,
                "a lost federate leaves instances without an owner, as its automatic resign directive is NoAction; \
                 the switch automaticResignAction of the object model sets another one for all federates, and so does \
                 the setting federation.automatic-resign of the node that creates the federation execution"
            );
        }
    }

    fn resignation(
        &self,
        federate: FederateHandle,
        action: ResignAction,
        plan: Plan,
        ending: Ending,
    ) -> Resignation {
        let (cursor, owned) = (self.instances.cursor(), Owned::default());
        Resignation { federate, action, plan, ending, cursor, owned }
    }

    /// Processes one slice. Returns true when nothing is left to do.
    fn dispose_slice(
        &mut self,
        effects: &mut Effects,
        resignation: &mut Resignation,
    ) -> Result<bool, RtiError> {
        let Resignation { federate, action, plan, ending, cursor, owned } = resignation;
        if !cursor.is_done() {
            let slice = cursor.advance(&self.instances, FOUND_PER_SLICE);
            self.find_owned(*federate, slice, owned);
            if !cursor.is_done() {
                return Ok(false);
            }
            owned.reverse();
            self.check_nothing_remains(*action, *plan, owned)?;
            if matches!(ending, Ending::Lost) && *action == ResignAction::NoAction {
                self.note_abandoned(*federate, owned.len());
            }
        }
        self.dispose(effects, *federate, *plan, owned, DISPOSED_PER_SLICE);
        Ok(owned.deletable.is_empty() && (owned.other.is_empty() || !plan.divest))
    }

    /// Adds those of `handles` of which `federate` owns attributes.
    fn find_owned(&self, federate: FederateHandle, handles: Vec<ObjectInstanceHandle>, owned: &mut Owned) {
        for handle in handles {
            let Some(object) = self.instances.get(handle).filter(|object| object.is_owned_by(federate))
            else {
                continue;
            };
            let privilege = self.class_of(object.class).slot(self.privilege);
            match privilege.is_some_and(|slot| object.attribute(slot).owner == federate) {
                true => owned.deletable.push(handle),
                false => owned.other.push(handle),
            }
        }
    }

    fn check_nothing_remains(&self, action: ResignAction, plan: Plan, owned: &Owned) -> Result<(), RtiError> {
        let remains = match plan {
            Plan { divest: true, .. } => None,
            Plan { delete: true, .. } => owned.other.last(),
            Plan { .. } => owned.deletable.last().or(owned.other.last()),
        };
        let Some(&handle) = remains else { return Ok(()) };
        let name = self.instances.get(handle).map_or("", |object| &object.name);
        let action = action.as_str_name();
        let text = format!("after {action} attributes of {handle:?} `{name}` would still be owned");
        Err(RtiError::new(Exception::FederateOwnsAttributes, text))
    }

    /// Deletes or divests at most `max` instances.
    fn dispose(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        plan: Plan,
        owned: &mut Owned,
        max: usize,
    ) {
        for _ in 0..max {
            if let Some(instance) = owned.deletable.pop() {
                if !self.is_at_home(instance) {
                    // Its home disposes of it when it learns that the federate has left.
                } else if plan.delete {
                    self.remove(effects, federate, instance, &Bytes::new(), None);
                } else if plan.divest {
                    self.divest(effects, federate, instance, |_| true);
                }
            } else if plan.divest
                && let Some(instance) = owned.other.pop()
            {
                if self.is_at_home(instance) {
                    self.divest(effects, federate, instance, |_| true);
                }
            } else {
                return;
            }
        }
    }

    fn end_resignation(&mut self, effects: &mut Effects, resignation: Resignation) {
        match resignation.ending {
            Ending::Resign(proposal) => effects.push(Effect::Propose(proposal)),
            // The federate is removed now, because its client is gone. Committing the resignation
            // may need a majority of nodes.
            Ending::Lost => {
                let Resignation { federate, action, .. } = resignation;
                effects.propose(Command::Resign { execution: self.id, federate, action });
                self.remove_federate(effects, resignation.federate);
            }
        }
    }

    /// Processes one slice of the federate whose turn it is.
    pub(super) fn continue_resignations(&mut self, effects: &mut Effects) {
        if let Some(mut forgetting) = self.resignations.left.pop_front() {
            if !self.forget_slice(effects, &mut forgetting) {
                self.resignations.left.push_back(forgetting);
            }
        } else if let Some(mut resignation) = self.resignations.leaving.pop_front() {
            match self.dispose_slice(effects, &mut resignation) {
                Ok(true) => self.end_resignation(effects, resignation),
                Ok(false) => self.resignations.leaving.push_back(resignation),
                Err(error) => {
                    if let Ending::Resign(proposal) = resignation.ending
                        && let Some(waiting) = proposal.waiting
                    {
                        effects.push(Effect::Complete(Box::new(waiting.end(Err(error)))));
                    }
                }
            }
        }
    }

    /// Forgets a federate whose objects are disposed of: removes its declarations and advises
    /// others.
    pub(crate) fn remove_federate(&mut self, effects: &mut Effects, handle: FederateHandle) {
        let Some(federate) = self.federates.remove(&handle) else { return };
        effects.push(Effect::Time(TimeInput::Left(handle)));
        self.declarations -= federate.declarations();
        self.region_bytes -= federate.distribution.bytes();
        self.requests.remove_federate(handle);
        self.offers.remove_federate(handle);
        self.end_acquisitions(handle, ResignAction::UnconditionallyDivestAttributes);
        self.reviews.remove_federate(handle);
        self.region_reviews.remove_federate(handle);
        self.class_requests.remove_federate(handle);
        self.relevance_reviews.remove_federate(handle);
        for &class in federate.subscriptions.keys() {
            self.declare_objects(effects, handle, class);
            self.refresh_registrations_below(effects, class);
        }
        for &class in federate.subscribed_interactions.keys() {
            self.declare_interaction(effects, handle, class);
            self.refresh_interactions_below(effects, class);
        }
        let objects = federate.publications.keys().map(|&class| PublishedClass::Objects(class));
        let interactions =
            federate.published_interactions.iter().map(|&class| PublishedClass::Interactions(class));
        for class in objects.chain(interactions).chain([PublishedClass::Directed]) {
            self.refresh_publication(effects, class);
        }
        for class in self.interest.remove(handle) {
            effects.replicate(Change::Cover { class });
        }
        let (subscriptions, cursor) = (federate.subscriptions, self.instances.cursor());
        let mut forgetting = Forgetting { federate: handle, subscriptions, cursor };
        if !self.forget_slice(effects, &mut forgetting) {
            self.resignations.left.push_back(forgetting);
        }
    }

    /// Lets instances forget a federate that has left. Returns true when all have. Owners are
    /// advised about attributes that only that federate had in scope.
    fn forget_slice(&mut self, effects: &mut Effects, forgetting: &mut Forgetting) -> bool {
        let Forgetting { federate, subscriptions, cursor } = forgetting;
        for handle in cursor.advance(&self.instances, FORGOTTEN_PER_SLICE) {
            let Some(object) = self.instances.get(handle) else { continue };
            let Some(class) = object.known_class(*federate) else { continue };
            let subscribed = subscriptions.get(&class).into_iter();
            let in_scope = subscribed.flat_map(|subscribed| {
                let attributes = subscribed.keys().copied();
                attributes.filter(|&a| object.applicable(*federate, subscribed, a).is_some())
            });
            let lost = self.owned_by_others(*federate, handle, in_scope);
            self.instances.become_unknown(handle, *federate);
            self.refresh_relevance(effects, handle, &lost);
            self.end_deletion(effects, handle);
        }
        if cursor.is_done() {
            effects.review_following();
        }
        cursor.is_done()
    }
}
