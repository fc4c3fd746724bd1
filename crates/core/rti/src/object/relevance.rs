//! Advisories on instance attributes: turn updates on and off (6.23, 6.24).

use super::federate::RateId;
use super::instance::{Instance, Relevance};
use super::objects::Objects;
use super::remote_federates::RemoteFederate;
use super::scope::handle_set;
use crate::effect::Effects;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};

impl Objects {
    /// The relevance of `attribute` for its owner: whether another federate has it in scope through
    /// an active subscription, and the highest rate if all of those limit it.
    fn relevance_of(
        &self,
        instance: &Instance,
        attribute: AttributeHandle,
        owner: FederateHandle,
    ) -> Relevance {
        let mut highest: Option<RateId> = None;
        let here = instance.known().iter().filter(|known| known.federate != owner).filter_map(|known| {
            let subscribed = self.federates.get(&known.federate)?.subscriptions.get(&known.class)?;
            instance.applicable(known.federate, subscribed, attribute)
        });
        // At another node the instance counts as known at the class at which it would be discovered
        // now, as far as this node can tell. Of the regions of that node's federates it knows
        // summaries, which are never narrower.
        let elsewhere = self.subscribed_elsewhere().filter_map(|(federate, remote)| {
            let applies = |class, attribute| self.applies_elsewhere(remote, instance, class, attribute);
            let class = self.candidate_class(federate, &remote.subscriptions, instance, applies)?;
            let how = remote.subscriptions.get(&class)?.get(&attribute).copied();
            how.filter(|_| applies(class, attribute))
        });
        for how in here.chain(elsewhere) {
            match how.rate {
                _ if !how.active => {}
                None => return Relevance::ON,
                Some(rate) if highest.is_none_or(|highest| self.hertz(rate) > self.hertz(highest)) => {
                    highest = Some(rate);
                }
                Some(_) => {}
            }
        }
        highest.map_or(Relevance::OFF, Relevance::at)
    }

    /// Whether the subscription of an attribute at `class` by a federate of another node applies to the
    /// regions of an instance.
    fn applies_elsewhere(
        &self,
        remote: &RemoteFederate,
        instance: &Instance,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> bool {
        let Some(summary) = remote.regions.get(&(class, attribute)) else { return true };
        let regions = self.regions_of_owned(instance, attribute);
        // The default region overlaps every region.
        regions.is_empty()
            || self.reaches_summary((instance.class, attribute), regions, &[(class, summary.clone())])
    }

    fn hertz(&self, rate: RateId) -> f64 {
        self.rates[rate.0 as usize].hertz
    }

    /// Updates the advisory of the owners of `attributes`.
    ///
    /// An owner whose switch is off costs nothing: its state is computed when it turns the switch
    /// on.
    pub(crate) fn refresh_relevance(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) {
        for ((owner, relevance), attributes) in self.update_relevance(instance, attributes) {
            self.notify_relevance(effects, owner, instance, relevance, &attributes);
        }
    }

    /// Stores the changes and returns them, by owner and new state.
    pub(super) fn update_relevance(
        &mut self,
        handle: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) -> BTreeMap<(FederateHandle, Relevance), BTreeSet<AttributeHandle>> {
        let mut changes: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let Some(instance) = self.instances.get(handle) else { return changes };
        let class = self.class_of(instance.class);
        let mut stores = Vec::new();
        for &attribute in attributes {
            let Some(slot) = class.slot(attribute) else { continue };
            let state = instance.attribute(slot);
            let listens = self.federates.get(&state.owner).is_some_and(|f| f.switches.attribute_relevance);
            if !listens || self.relevance_reviews.is_unvisited(state.owner, instance.class, handle) {
                continue;
            }
            let now = self.relevance_of(instance, attribute, state.owner);
            if now != state.relevance {
                stores.push((slot, now));
                changes.entry((state.owner, now)).or_default().insert(attribute);
            }
        }
        if let Some(instance) = self.instances.get_mut(handle) {
            for (slot, relevance) in stores {
                instance.attribute_mut(slot).relevance = relevance;
            }
        }
        changes
    }

    fn notify_relevance(
        &self,
        effects: &mut Effects,
        owner: FederateHandle,
        instance: ObjectInstanceHandle,
        relevance: Relevance,
        attributes: &BTreeSet<AttributeHandle>,
    ) {
        let (object_instance, attributes) = (Some(instance), handle_set(attributes));
        let callback = if let Some(rate) = relevance.rate() {
            Callback::TurnUpdatesOnForObjectInstanceWithRate(api::TurnUpdatesOnForObjectInstanceWithRate {
                object_instance,
                attributes,
                update_rate_designator: self.rates[rate.0 as usize].designator.clone(),
            })
        } else if relevance == Relevance::ON {
            Callback::TurnUpdatesOnForObjectInstance(api::TurnUpdatesOnForObjectInstance {
                object_instance,
                attributes,
            })
        } else {
            Callback::TurnUpdatesOffForObjectInstance(api::TurnUpdatesOffForObjectInstance {
                object_instance,
                attributes,
            })
        };
        self.notify(effects, owner, callback);
    }
}
