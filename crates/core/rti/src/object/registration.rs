//! Advisories on classes: start and stop registration (5.14, 5.15), turn interactions on and off
//! (5.16, 5.17).
//!
//! The state of each advisory is always tracked. A publisher is told only while its switch is on.

use super::objects::Objects;
use crate::effect::Effects;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{FederateHandle, InteractionClassHandle, ObjectClassHandle};

impl Objects {
    /// Updates the registration advisory of one publisher of `class`.
    pub(crate) fn refresh_registration(
        &mut self,
        effects: &mut Effects,
        publisher: FederateHandle,
        class: ObjectClassHandle,
    ) {
        let wanted = self.is_registration_wanted(publisher, class);
        let federate = self.federate_mut(publisher);
        let changed = if wanted {
            federate.registration_on.insert(class)
        } else {
            federate.registration_on.remove(&class)
        };
        if changed && federate.switches.object_class_relevance {
            let object_class = Some(class);
            let callback = if wanted {
                Callback::StartRegistrationForObjectClass(api::StartRegistrationForObjectClass {
                    object_class,
                })
            } else {
                Callback::StopRegistrationForObjectClass(api::StopRegistrationForObjectClass { object_class })
            };
            effects.notify(federate.client, callback);
        }
    }

    /// Whether another federate actively subscribes, at `class` or above, an attribute that
    /// `publisher` publishes there.
    fn is_registration_wanted(&self, publisher: FederateHandle, class: ObjectClassHandle) -> bool {
        let Some(published) = self.federate(publisher).publications.get(&class) else { return false };
        let here = self.federates.values().filter(|federate| federate.handle != publisher);
        let here = here.map(|other| &other.subscriptions);
        let elsewhere = self.subscribed_elsewhere().map(|(_, remote)| &remote.subscriptions);
        here.chain(elsewhere).any(|subscriptions| {
            self.lineage(class).filter_map(|at| subscriptions.get(&at)).any(|subscribed| {
                subscribed.iter().any(|(attribute, how)| how.active && published.contains(attribute))
            })
        })
    }

    /// Updates the registration advisories of all publishers of `class` and below.
    pub(crate) fn refresh_registrations_below(&mut self, effects: &mut Effects, class: ObjectClassHandle) {
        let mut concerned = Vec::new();
        for federate in self.federates.values() {
            let published = federate.publications.keys();
            let below = published.filter(|&&published| self.model.is_subclass(published, class));
            concerned.extend(below.map(|&published| (federate.handle, published)));
        }
        for (publisher, class) in concerned {
            self.refresh_registration(effects, publisher, class);
        }
    }

    /// Updates the interaction advisory of one publisher of `class`.
    pub(crate) fn refresh_interaction(
        &mut self,
        effects: &mut Effects,
        publisher: FederateHandle,
        class: InteractionClassHandle,
    ) {
        let wanted = self.federates.values().filter(|federate| federate.handle != publisher).any(|other| {
            self.interaction_lineage(class).any(|at| other.subscribed_interactions.get(&at) == Some(&true))
        });
        let wanted = wanted || self.interaction_lineage(class).any(|at| self.is_wanted_elsewhere(at));
        let federate = self.federate_mut(publisher);
        let changed = if wanted {
            federate.interactions_on.insert(class)
        } else {
            federate.interactions_on.remove(&class)
        };
        if changed && federate.switches.interaction_relevance {
            let interaction_class = Some(class);
            let callback = if wanted {
                Callback::TurnInteractionsOn(api::TurnInteractionsOn { interaction_class })
            } else {
                Callback::TurnInteractionsOff(api::TurnInteractionsOff { interaction_class })
            };
            effects.notify(federate.client, callback);
        }
    }

    /// Updates the interaction advisories of all publishers of `class` and below.
    pub(crate) fn refresh_interactions_below(
        &mut self,
        effects: &mut Effects,
        class: InteractionClassHandle,
    ) {
        let mut concerned = Vec::new();
        for federate in self.federates.values() {
            let published = federate.published_interactions.iter();
            let below = published.filter(|&&published| self.model.is_interaction_subclass(published, class));
            concerned.extend(below.map(|&published| (federate.handle, published)));
        }
        for (publisher, class) in concerned {
            self.refresh_interaction(effects, publisher, class);
        }
    }
}
