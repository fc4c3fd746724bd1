//! Nobody gets a class, an attribute or an interaction that it never subscribed since it joined
//! (1516.1-2025, 5.8, 5.10, 5.12). Whether it still did at the moment of sending, the model says.

use super::Invariant;
use crate::observation::{Observation, Seen, SessionId};
use hla::api::AttributeHandleSet;
use hla::api::call_request::CallRequest as Call;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};

/// What one session has ever subscribed.
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
}

impl Invariant for SubscribedOnly {
    fn name(&self) -> &'static str {
        "subscribed_only"
    }

    fn observe(&mut self, seen: &Seen) -> Result<(), String> {
        match &seen.what {
            Observation::Made { session, request, .. } => {
                self.sessions.entry(*session).or_default().learn(request);
                Ok(())
            }
            Observation::Received { session, callback, .. } => {
                let subscribed = self.sessions.entry(*session).or_default();
                let right = subscribed.wants(callback);
                if right { Ok(()) } else { Err(format!("{session} never subscribed {callback:?}")) }
            }
            _ => Ok(()),
        }
    }
}

impl Subscribed {
    fn learn(&mut self, request: &Call) {
        match request {
            Call::SubscribeObjectClassAttributesRequest(r) => self.add(r.object_class, r.attributes.as_ref()),
            Call::SubscribeObjectClassAttributesPassivelyRequest(r) => {
                self.add(r.object_class, r.attributes.as_ref());
            }
            Call::SubscribeObjectClassAttributesWithRateRequest(r) => {
                self.add(r.object_class, r.attributes.as_ref());
            }
            Call::SubscribeInteractionClassRequest(r) => self.interactions.extend(r.interaction_class),
            Call::SubscribeInteractionClassPassivelyRequest(r) => {
                self.interactions.extend(r.interaction_class);
            }
            Call::SubscribeObjectClassDirectedInteractionsRequest(r) => {
                let set = r.interaction_classes.iter().flat_map(|set| &set.interaction_class_handle);
                self.directed.extend(set);
            }
            Call::SubscribeObjectClassDirectedInteractionsUniversallyRequest(r) => {
                let set = r.interaction_classes.iter().flat_map(|set| &set.interaction_class_handle);
                self.directed.extend(set);
            }
            _ => {}
        }
    }

    fn add(&mut self, class: Option<ObjectClassHandle>, set: Option<&AttributeHandleSet>) {
        let class = class.unwrap_or_default();
        let attributes = set.iter().flat_map(|set| &set.attribute_handle);
        self.attributes.extend(attributes.map(|&attribute| (class, attribute)));
    }

    fn wants(&mut self, callback: &Callback) -> bool {
        match callback {
            Callback::DiscoverObjectInstance(c) => {
                let class = c.object_class.unwrap_or_default();
                self.discovered.insert(c.object_instance.unwrap_or_default(), class);
                self.attributes.iter().any(|&(at, _)| at == class)
            }
            Callback::ReflectAttributeValues(c) => {
                let Some(&class) = self.discovered.get(&c.object_instance.unwrap_or_default()) else {
                    return false;
                };
                let pairs = c.attribute_values.iter().flat_map(|map| &map.attribute_handle_value);
                let mut handles = pairs.filter_map(|pair| pair.attribute_handle);
                handles.all(|attribute| self.attributes.contains(&(class, attribute)))
            }
            Callback::ReceiveInteraction(c) => {
                c.interaction_class.is_some_and(|class| self.interactions.contains(&class))
            }
            Callback::ReceiveDirectedInteraction(c) => {
                c.interaction_class.is_some_and(|class| self.directed.contains(&class))
            }
            _ => true,
        }
    }
}
