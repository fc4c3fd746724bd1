//! No federate gets a class, an attribute or an interaction that it has not subscribed since it
//! joined, with or without regions (1516.1-2025, 5.8, 5.10, 5.12, 9.8, 9.10). The model decides
//! whether it was still subscribed at the moment of sending, and whether the regions overlapped.

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen, SessionId};
use crate::request::{Declaration, Regional, registered, singles};
use hla::api::callback_request::CallbackRequest as Callback;
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};

/// All subscriptions that one session ever made.
#[derive(Default)]
struct Subscribed {
    attributes: BTreeSet<(ObjectClassHandle, AttributeHandle)>,
    interactions: BTreeSet<InteractionClassHandle>,
    directed: BTreeSet<InteractionClassHandle>,
    discovered: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
}

/// See the module.
#[derive(Default)]
pub(super) struct SubscribedOnly {
    sessions: BTreeMap<SessionId, Subscribed>,
    wanted: u64,
}

impl Invariant for SubscribedOnly {
    fn name(&self) -> &'static str {
        "subscribed_only"
    }

    fn observe(&mut self, seen: &Seen, _: &Ledger) -> Result<(), String> {
        match &seen.observation {
            Observation::Made { session, request, .. } => {
                if let Some(declaration) = Declaration::of(request) {
                    self.sessions.entry(*session).or_default().learn(&declaration);
                }
                if let Some(regional) = Regional::of(request) {
                    self.sessions.entry(*session).or_default().learn_regional(&regional);
                }
            }
            Observation::Got { session, request: Some(request), answer, .. } => {
                // A registrar knows its instance without a discovery, and may have lost the
                // ownership.
                let registered = registered(request, answer).map(|(class, instance)| (instance, class));
                self.sessions.entry(*session).or_default().discovered.extend(registered);
            }
            Observation::Received { session, callback, .. } => {
                let wants = self.sessions.entry(*session).or_default().wants(callback);
                self.wanted += u64::from(wants == Some(true));
                if wants == Some(false) {
                    return Err(format!("{session} never subscribed {callback:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn checked(&self) -> u64 {
        self.wanted
    }
}

impl Subscribed {
    fn learn(&mut self, declaration: &Declaration<'_>) {
        match *declaration {
            Declaration::Subscribe(class, attributes, _) => {
                self.attributes.extend(attributes.iter().map(|&attribute| (class, attribute)));
            }
            Declaration::SubscribeInteraction(class, _) => drop(self.interactions.insert(class)),
            Declaration::SubscribeDirected(_, interactions, _) => self.directed.extend(interactions),
            _ => {}
        }
    }

    fn learn_regional(&mut self, regional: &Regional<'_>) {
        match regional {
            Regional::Subscribe(class, pairs, _) => {
                self.attributes.extend(singles(pairs).map(|(attribute, _)| (*class, attribute)));
            }
            Regional::SubscribeInteraction(class, regions, _) if !regions.is_empty() => {
                self.interactions.insert(*class);
            }
            _ => {}
        }
    }

    /// Whether the federate has subscribed the contents of the callback; `None`: such callbacks
    /// need no subscription.
    fn wants(&mut self, callback: &Callback) -> Option<bool> {
        Some(match callback {
            Callback::DiscoverObjectInstance(c) => {
                let class = c.object_class.unwrap_or_default();
                self.discovered.insert(c.object_instance.unwrap_or_default(), class);
                self.attributes.iter().any(|&(at, _)| at == class)
            }
            Callback::ReflectAttributeValues(c) => {
                let class = self.discovered.get(&c.object_instance.unwrap_or_default());
                let pairs = c.attribute_values.iter().flat_map(|map| &map.attribute_handle_value);
                let mut handles = pairs.filter_map(|pair| pair.attribute_handle);
                class.is_some_and(|&class| handles.all(|at| self.attributes.contains(&(class, at))))
            }
            Callback::ReceiveInteraction(c) => {
                c.interaction_class.is_some_and(|class| self.interactions.contains(&class))
            }
            Callback::ReceiveDirectedInteraction(c) => {
                c.interaction_class.is_some_and(|class| self.directed.contains(&class))
            }
            _ => return None,
        })
    }
}
