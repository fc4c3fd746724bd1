//! Declaration management (clause 5).

use super::{Effects, Federation, Served, Subscribed, refuse_if};
use crate::fom::RATES;
use crate::request::Declaration;
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::handle::{AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle};
use std::collections::BTreeSet;

/// The update rate of `designator`: its name and value in Hz, `None` for the empty designator. An
/// unknown designator is an error.
pub(super) fn rate(designator: &str) -> Result<Option<(&'static str, f64)>, Exception> {
    if designator.is_empty() {
        return Ok(None);
    }
    let found = RATES.iter().find(|(name, _)| *name == designator);
    let (name, hertz) = found.ok_or(Exception::InvalidUpdateRateDesignator)?;
    Ok(Some((name, hertz.parse().expect("the model's rates are numbers"))))
}

impl Federation {
    /// Executes a declaration, with the discoveries and advisories that follow. `None`: it is
    /// another call.
    pub(super) fn declare(
        &mut self,
        federate: FederateHandle,
        request: &Call,
        fx: &mut Effects,
    ) -> Option<Served> {
        let declaration = Declaration::of(request)?;
        if let Err(faults) = refuse_if(self.faults_of(&declaration)) {
            return Some(Err(faults));
        }
        let before = self.advice();
        self.apply(federate, &declaration);
        let now = self.notify_changes(&before, federate, fx);
        self.discover_all(now, federate, fx);
        self.notify_interest(&before, fx);
        Some(Ok(None))
    }

    /// The exceptions that apply to a declaration.
    fn faults_of(&self, declaration: &Declaration<'_>) -> Vec<Exception> {
        match *declaration {
            Declaration::Publish(class, listed) => self.faults_of_attributes(class, listed, false),
            Declaration::Subscribe(class, listed, how) => {
                let mut faults = self.faults_of_attributes(class, listed, false);
                faults.extend(rate(how.rate).err());
                faults
            }
            Declaration::Unpublish(class, listed) | Declaration::Unsubscribe(class, listed) => {
                self.faults_of_attributes(class, listed.unwrap_or_default(), false)
            }
            Declaration::PublishInteraction(class) | Declaration::SubscribeInteraction(class, _) => {
                self.faults_of_interaction(class, false)
            }
            Declaration::UnpublishInteraction(class) | Declaration::UnsubscribeInteraction(class) => {
                self.faults_of_interaction(class, false)
            }
            Declaration::PublishDirected(class, listed)
            | Declaration::SubscribeDirected(class, listed, _) => self.faults_of_directed(class, listed),
            Declaration::UnpublishDirected(class, listed)
            | Declaration::UnsubscribeDirected(class, listed) => {
                self.faults_of_directed(class, listed.unwrap_or_default())
            }
        }
    }

    /// Classes of the management object model cannot be subscribed in regions yet.
    pub(super) fn faults_of_attributes(
        &self,
        class: ObjectClassHandle,
        listed: &[AttributeHandle],
        in_regions: bool,
    ) -> Vec<Exception> {
        let mut faults = self.check_attributes(class, listed, Exception::ObjectClassNotDefined);
        faults.extend((in_regions && self.is_mom(class)).then_some(Exception::RTIinternalError));
        faults
    }

    pub(super) fn faults_of_interaction(
        &self,
        class: InteractionClassHandle,
        in_regions: bool,
    ) -> Vec<Exception> {
        let unknown = self.model.interaction_class(class).is_none();
        let mut faults: Vec<_> =
            unknown.then_some(Exception::InteractionClassNotDefined).into_iter().collect();
        faults.extend((in_regions && self.is_mom_interaction(class)).then_some(Exception::RTIinternalError));
        faults
    }

    fn faults_of_directed(
        &self,
        class: ObjectClassHandle,
        listed: &[InteractionClassHandle],
    ) -> Vec<Exception> {
        match self.model.object_class(class) {
            None => vec![Exception::ObjectClassNotDefined],
            Some(of) if listed.iter().any(|i| !of.directed_interactions.contains(i)) => {
                vec![Exception::InteractionClassNotDefined]
            }
            Some(_) => Vec::new(),
        }
    }

    /// Declarations are additive; a new one replaces the way in which its attributes were
    /// subscribed (5.8). Subscriptions with regions are others, which these do not touch.
    fn apply(&mut self, federate: FederateHandle, declaration: &Declaration<'_>) {
        let me = self.me(federate);
        match *declaration {
            Declaration::Publish(class, listed) => self.publish(federate, class, listed),
            Declaration::Unpublish(class, listed) => self.unpublish(federate, class, listed),
            Declaration::Subscribe(class, listed, how) => {
                let how = Subscribed { active: how.active, rate: rate(how.rate).ok().flatten() };
                me.subscribes.extend(listed.iter().map(|&attribute| ((class, attribute), how)));
            }
            Declaration::Unsubscribe(class, listed) => {
                me.subscribes.retain(|(at, attribute), _| *at != class || spared(listed, attribute));
            }
            Declaration::PublishInteraction(class) => drop(me.publishes_interactions.insert(class)),
            Declaration::UnpublishInteraction(class) => {
                me.publishes_interactions.remove(&class);
                me.interaction_transportation.remove(&class);
            }
            Declaration::SubscribeInteraction(class, active) => {
                me.subscribes_interactions.insert(class, active);
            }
            Declaration::UnsubscribeInteraction(class) => drop(me.subscribes_interactions.remove(&class)),
            Declaration::PublishDirected(class, listed) => {
                me.publishes_directed.extend(listed.iter().map(|&interaction| (class, interaction)));
            }
            Declaration::UnpublishDirected(class, listed) => {
                me.publishes_directed.retain(|(at, i)| *at != class || spared(listed, i));
            }
            Declaration::SubscribeDirected(class, listed, universally) => {
                let pairs = listed.iter().map(|&interaction| ((class, interaction), universally));
                me.subscribes_directed.extend(pairs);
            }
            Declaration::UnsubscribeDirected(class, listed) => {
                me.subscribes_directed.retain(|(at, i), _| *at != class || spared(listed, i));
            }
        }
    }

    /// The privilege to delete comes with any attribute (5.2).
    fn publish(
        &mut self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
    ) {
        let privilege = self.privilege;
        let publishes = &mut self.me(federate).publishes;
        publishes.extend(attributes.iter().map(|&attribute| (class, attribute)));
        if !attributes.is_empty() {
            publishes.insert((class, privilege));
        }
    }

    /// Owned attributes of instances known as exactly this class become unowned, and lose their
    /// regions; the privilege goes with the last of the others (5.3).
    fn unpublish(
        &mut self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        listed: Option<&[AttributeHandle]>,
    ) {
        let privilege = self.privilege;
        let publishes = &mut self.me(federate).publishes;
        let before = publishes.clone();
        publishes.retain(|(at, attribute)| *at != class || spared(listed, attribute));
        let last = publishes.iter().all(|&(at, attribute)| at != class || attribute == privilege);
        if last && *publishes != before {
            publishes.retain(|&(at, _)| at != class);
        }
        let gone: Vec<_> = before.difference(publishes).map(|&(_, attribute)| attribute).collect();
        let mut lost = BTreeSet::new();
        for (&handle, instance) in &mut self.instances {
            if instance.known.get(&federate) == Some(&class) {
                let owned = instance.owners.iter().filter(|&(_, &owner)| owner == federate);
                let owned = owned.map(|(&attribute, _)| attribute);
                lost.extend(owned.filter(|at| gone.contains(at)).map(|attribute| (handle, attribute)));
                instance.owners.retain(|&attribute, _| !lost.contains(&(handle, attribute)));
            }
        }
        let updates = &mut self.me(federate).regions.updates;
        updates.retain(|&(instance, attribute, _)| !lost.contains(&(instance, attribute)));
    }
}

/// Whether `one` remains after a withdrawal of the list, or of everything (`None`).
fn spared<T: PartialEq>(listed: Option<&[T]>, one: &T) -> bool {
    listed.is_some_and(|listed| !listed.contains(one))
}
