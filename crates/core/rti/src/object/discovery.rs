//! Discovery: which federates get to know an instance, and at which class (6.9).

use super::federate::{ClassSubscription, Federate};
use super::instance::Instance;
use super::objects::Objects;
use crate::effect::Effects;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};

impl Objects {
    /// The class at which `federate` would discover `instance`: the most specific class, from the
    /// registered one upwards, where a subscription applies to an attribute that somebody else owns.
    fn discovery_class(&self, federate: &Federate, instance: &Instance) -> Option<ObjectClassHandle> {
        self.candidate_class(federate.handle, &federate.subscriptions, instance, |class, attribute| {
            instance.update_regions.is_none() || self.would_apply(federate, class, instance, attribute)
        })
    }

    /// The most specific class, from the registered one of `instance` upwards, at which `federate`
    /// subscribes an attribute that somebody else owns and that `applies`.
    pub(super) fn candidate_class(
        &self,
        federate: FederateHandle,
        subscriptions: &BTreeMap<ObjectClassHandle, ClassSubscription>,
        instance: &Instance,
        applies: impl Fn(ObjectClassHandle, AttributeHandle) -> bool,
    ) -> Option<ObjectClassHandle> {
        let registered = self.class_of(instance.class);
        self.lineage(instance.class).find(|at| {
            subscriptions.get(at).is_some_and(|subscribed| {
                subscribed.keys().any(|&attribute| {
                    let owner = registered.slot(attribute).map(|slot| instance.attribute(slot).owner);
                    owner.is_some_and(|owner| owner.is_valid() && owner != federate)
                        && applies(*at, attribute)
                })
            })
        })
    }

    /// Makes `federate` discover `instance` if it should and does not know it yet.
    pub(crate) fn try_discover(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
    ) {
        let gained = self.discover(effects, federate, instance);
        self.scope_changed(effects, instance, &[(federate, gained)], &BTreeSet::new());
    }

    /// Makes all subscribers discover a new instance.
    pub(crate) fn discover_at_all(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        self.discover_at_all_but(effects, instance, &BTreeSet::new());
    }

    /// Like [`discover_at_all`](Self::discover_at_all), but the federates of `later` discover it in
    /// a slice of a review.
    pub(super) fn discover_at_all_but(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        later: &BTreeSet<FederateHandle>,
    ) {
        for &federate in later {
            self.review_later(federate, instance);
        }
        let federates: Vec<_> =
            self.federates.keys().copied().filter(|handle| !later.contains(handle)).collect();
        let gained: Vec<_> = federates
            .into_iter()
            .map(|federate| (federate, self.discover(effects, federate, instance)))
            .filter(|(_, gained)| !gained.is_empty())
            .collect();
        self.scope_changed(effects, instance, &gained, &BTreeSet::new());
        self.seen_elsewhere(effects, instance);
    }

    /// Updates the relevance advisories of a new instance that federates of other nodes may want.
    fn seen_elsewhere(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        if self.remote_federates.is_empty() {
            return;
        }
        let Some(object) = self.instances.get(instance) else { return };
        let all = self.class_of(object.class).attributes.iter().copied().collect();
        self.refresh_relevance(effects, instance, &all);
    }

    /// Local Delete Object Instance of an instance that `federate` knows. The federate may discover
    /// it again at once.
    pub(crate) fn rediscover(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
    ) {
        let lost = self.become_unknown(effects, federate, instance);
        let gained = self.discover(effects, federate, instance);
        self.scope_changed(effects, instance, &[(federate, gained)], &lost);
    }

    /// Makes `federate` discover the instance, reports the attributes in its scope, and returns
    /// them. The caller handles the consequences for others, see [`Objects::scope_changed`].
    pub(super) fn discover(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
    ) -> BTreeSet<AttributeHandle> {
        let none = BTreeSet::new;
        let Some(object) = self.instances.get(instance) else { return none() };
        if object.known_class(federate).is_some() || self.forgotten.contains(object.class, object.home) {
            return none();
        }
        let Some(receiver) = self.federates.get(&federate) else { return none() };
        let Some(class) = self.discovery_class(receiver, object) else { return none() };
        let name = object.name.to_string();
        let producer = object.producer;
        let Some(receiver) = self.federates.get_mut(&federate) else { return none() };
        let callback = Callback::DiscoverObjectInstance(api::DiscoverObjectInstance {
            object_instance: Some(instance),
            object_class: Some(class),
            object_instance_name: name,
            producing_federate: Some(producer),
        });
        effects.notify(receiver.client, callback);
        receiver.counters.discovered += 1;
        self.instances.become_known(instance, federate, class);
        self.refresh_narrowed(instance, federate);
        self.reviews.settle(federate, instance);
        let in_scope = self.in_scope(federate, instance);
        self.notify_in_scope(effects, federate, instance, &in_scope);
        self.offer_to(effects, federate, instance, |_| true);
        in_scope
    }

    /// Makes a federate forget everything about an instance that it no longer knows.
    pub(super) fn forget_instance(&mut self, federate: FederateHandle, instance: ObjectInstanceHandle) {
        self.drop_associations(federate, instance, None);
        if let Some(federate) = self.federates.get_mut(&federate) {
            federate.forget_instance(instance);
        }
    }

    /// Makes `federate` forget the instance. Returns the attributes that were in scope until now.
    fn become_unknown(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
    ) -> BTreeSet<AttributeHandle> {
        let lost = self.in_scope(federate, instance);
        self.instances.become_unknown(instance, federate);
        self.forget_instance(federate, instance);
        effects.review_following();
        lost
    }
}
