//! A federate leaves: what becomes of its objects (4.12) and of what it declared.

use super::objects::Objects;
use crate::control::PublishedClass;
use crate::effect::{Change, Effects};
use bytes::Bytes;
use hla::api::ResignAction;
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use hla::{Exception, RtiError};

/// The two things a resign action may do to objects, in this order.
#[derive(Clone, Copy)]
struct Plan {
    delete: bool,
    divest: bool,
}

impl From<ResignAction> for Plan {
    fn from(action: ResignAction) -> Self {
        let (delete, divest) = match action {
            ResignAction::UnconditionallyDivestAttributes => (false, true),
            ResignAction::DeleteObjects => (true, false),
            ResignAction::DeleteObjectsThenDivest | ResignAction::CancelThenDeleteThenDivest => (true, true),
            ResignAction::CancelPendingOwnershipAcquisitions | ResignAction::NoAction => (false, false),
        };
        Self { delete, divest }
    }
}

impl Objects {
    /// Does to the objects of `who` what `action` says, after checking that nothing of it would remain
    /// owned.
    ///
    /// # Errors
    /// `FederateOwnsAttributes`; nothing has happened then.
    pub(crate) fn resign_objects(
        &mut self,
        effects: &mut Effects,
        who: FederateHandle,
        action: ResignAction,
    ) -> Result<(), RtiError> {
        let plan = Plan::from(action);
        let (deletable, other) = self.owned_instances(who);
        let remains = if plan.divest {
            None
        } else if plan.delete {
            other.first()
        } else {
            deletable.first().or(other.first())
        };
        if let Some(&handle) = remains {
            let name = self.instances.get(handle).map_or("", |object| &object.name);
            let text = format!(
                "after {} attributes of {handle:?} `{name}` would still be owned",
                action.as_str_name()
            );
            return Err(RtiError::new(Exception::FederateOwnsAttributes, text));
        }
        self.carry_out(effects, who, plan, &deletable, &other);
        Ok(())
    }

    /// The same for a federate that was lost: what its directive leaves owned becomes unowned. The directive.
    pub(crate) fn resign_objects_of_lost(
        &mut self,
        effects: &mut Effects,
        who: FederateHandle,
    ) -> ResignAction {
        let directive = self.federate(who).switches.resign_directive;
        self.resign_objects_of_gone(effects, who, directive);
        directive
    }

    /// The same for a federate that may be of another node.
    pub(crate) fn resign_objects_of_gone(
        &mut self,
        effects: &mut Effects,
        who: FederateHandle,
        directive: ResignAction,
    ) {
        let plan = Plan { divest: true, ..Plan::from(directive) };
        let (deletable, other) = self.owned_instances(who);
        if directive == ResignAction::NoAction {
            self.note_abandoned(who, deletable.len() + other.len());
        }
        self.carry_out(effects, who, plan, &deletable, &other);
    }

    /// A lost federate leaves instances behind that nobody owns or deletes: the standard's default, which few object models
    /// mean. It is logged for the first of a federation execution: federates that come and go would fill the log.
    fn note_abandoned(&mut self, who: FederateHandle, instances: usize) {
        if instances > 0 && !std::mem::replace(&mut self.abandoned, true) {
            tracing::warn!(
                execution = %self.id, federate = ?who, instances,
                "a lost federate leaves instances without an owner, as its automatic resign directive is NoAction; \
                 the switch automaticResignAction of the object model sets another one for all federates"
            );
        }
    }

    /// Instances of which `who` owns attributes: those it may delete, and the others.
    fn owned_instances(&self, who: FederateHandle) -> (Vec<ObjectInstanceHandle>, Vec<ObjectInstanceHandle>) {
        let mut all: Vec<_> = self.instances.handles().collect();
        all.sort_unstable();
        let owned = all.into_iter().filter_map(|handle| {
            let object = self.instances.get(handle)?;
            object.is_owned_by(who).then_some(object)
        });
        let (deletable, other): (Vec<_>, Vec<_>) = owned.partition(|object| {
            let privilege = self.class_of(object.class).slot(self.privilege);
            privilege.is_some_and(|slot| object.attribute(slot).owner == who)
        });
        let handles = |objects: Vec<&super::instance::Instance>| objects.iter().map(|o| o.handle).collect();
        (handles(deletable), handles(other))
    }

    fn carry_out(
        &mut self,
        effects: &mut Effects,
        who: FederateHandle,
        plan: Plan,
        deletable: &[ObjectInstanceHandle],
        other: &[ObjectInstanceHandle],
    ) {
        for &instance in deletable {
            if plan.delete {
                self.remove(effects, who, instance, &Bytes::new(), None);
            } else if plan.divest {
                self.divest(effects, who, instance, |_| true);
            }
        }
        for &instance in other.iter().filter(|_| plan.divest) {
            self.divest(effects, who, instance, |_| true);
        }
    }

    /// Forgets a federate whose objects were dealt with: its declarations vanish, and others are advised.
    pub(crate) fn remove_federate(&mut self, effects: &mut Effects, who: FederateHandle) {
        for instance in self.instances.handles().collect::<Vec<_>>() {
            self.forget(effects, who, instance);
        }
        let Some(federate) = self.federates.remove(&who) else { return };
        for &class in federate.subscriptions.keys() {
            self.declare_objects(effects, who, class);
            self.refresh_registrations_below(effects, class);
        }
        for &class in federate.subscribed_interactions.keys() {
            self.declare_interaction(effects, who, class);
            self.refresh_interactions_below(effects, class);
        }
        let objects = federate.publications.keys().map(|&class| PublishedClass::Objects(class));
        let interactions =
            federate.published_interactions.iter().map(|&class| PublishedClass::Interactions(class));
        for class in objects.chain(interactions).chain([PublishedClass::Directed]) {
            self.refresh_publication(effects, class);
        }
        for class in self.interest.remove(who) {
            effects.replicate(Change::Cover { class });
        }
    }
}
