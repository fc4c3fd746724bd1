//! Publication and subscription (1516.1-2025, clause 5).

use super::divestiture::Divestiture;
use super::federate::Subscription;
use super::objects::Objects;
use crate::control::PublishedClass;
use crate::effect::Effects;
use crate::proposal::Completion;
use hla::api::{AttributeHandleSet, InteractionClassHandleSet};
use hla::handle::{AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle};
use hla::{Exception, RtiError};
use std::collections::BTreeSet;

impl Objects {
    /// Publish Object Class Attributes (5.2). Additive. The privilege to delete is published with
    /// any attribute.
    pub(crate) fn publish_attributes(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        attributes: Option<&AttributeHandleSet>,
    ) -> Result<(), RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?;
        let attributes = self.attributes_at(class, attributes)?;
        let class = class.handle;
        if attributes.is_empty() {
            return Ok(());
        }
        let privilege = self.privilege;
        let published = self.federate_mut(federate).publications.entry(class).or_default();
        let all = attributes.into_iter().chain([privilege]);
        let new: BTreeSet<_> = all.filter(|&attribute| published.insert(attribute)).collect();
        self.declarations += new.len();
        self.refresh_publication(effects, PublishedClass::Objects(class));
        self.refresh_registration(effects, federate, class);
        self.offer_open(effects, federate, class, new);
        Ok(())
    }

    /// Unpublish Object Class Attributes (5.3), of the whole class if `attributes` is `None`. Owned
    /// attributes of instances known as exactly this class become unowned. The privilege to delete
    /// is unpublished with the last of the other attributes. Returns true if this is done; if not,
    /// `completion` follows.
    pub(crate) fn unpublish_attributes(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        attributes: Option<Option<&AttributeHandleSet>>,
        completion: Completion,
    ) -> Result<bool, RtiError> {
        let (class, listed) = self.listed_at(class, attributes)?;
        let Some(published) = self.federate(federate).publications.get(&class) else { return Ok(true) };
        let mut attributes: BTreeSet<_> = published.intersection(&listed).copied().collect();
        if attributes.is_empty() {
            return Ok(true);
        }
        if published.difference(&attributes).all(|&attribute| attribute == self.privilege) {
            attributes.extend(published);
        }
        self.check_nothing_pending(federate, |instance, attribute| {
            let known = self.instances.get(instance).and_then(|object| object.known_class(federate));
            known == Some(class) && attributes.contains(&attribute)
        })?;
        self.forget_unpublished(effects, federate, class, &attributes);
        let cursor = self.instances.cursor_below(&self.model, class);
        let divestiture = Divestiture { federate, class, attributes, cursor, is_begun: false };
        Ok(self.begin_divestiture(effects, divestiture, completion))
    }

    /// Subscribe Object Class Attributes (5.8), actively or passively, with or without a rate.
    pub(crate) fn subscribe_attributes(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        attributes: Option<&AttributeHandleSet>,
        active: bool,
        rate: &str,
    ) -> Result<(), RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?;
        let attributes = self.attributes_at(class, attributes)?;
        let class = class.handle;
        let rate = self.rate(rate)?;
        if attributes.is_empty() {
            return Ok(());
        }
        let before = self.subscriptions_at(federate, class);
        let plain = self.plain_subscriptions(federate, class);
        let mut changed = false;
        for attribute in attributes {
            let how = Subscription { active, rate };
            changed |= plain.insert(attribute, how) != Some(how);
        }
        if changed {
            self.subscriptions_replaced(effects, federate, class, &before);
        }
        Ok(())
    }

    /// Unsubscribe Object Class Attributes (5.9), of the whole class if `attributes` is `None`.
    pub(crate) fn unsubscribe_attributes(
        &mut self,
        effects: &mut Effects,
        handle: FederateHandle,
        class: Option<ObjectClassHandle>,
        attributes: Option<Option<&AttributeHandleSet>>,
    ) -> Result<(), RtiError> {
        let (class, listed) = self.listed_at(class, attributes)?;
        let before = self.subscriptions_at(handle, class);
        if before.is_empty() {
            return Ok(());
        }
        let plain = self.plain_subscriptions(handle, class);
        let len = plain.len();
        plain.retain(|attribute, _| !listed.contains(attribute));
        if plain.len() != len {
            self.subscriptions_replaced(effects, handle, class, &before);
        }
        Ok(())
    }

    /// A class, and the attributes for which a request undoes something: all attributes of the
    /// class if none are listed.
    fn listed_at(
        &self,
        class: Option<ObjectClassHandle>,
        attributes: Option<Option<&AttributeHandleSet>>,
    ) -> Result<(ObjectClassHandle, BTreeSet<AttributeHandle>), RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?;
        let listed = match attributes {
            Some(set) => self.attributes_at(class, set)?,
            None => class.attributes.iter().copied().collect(),
        };
        Ok((class.handle, listed))
    }

    /// Withdraws the interest in `class` and below, except where another subscription still covers
    /// it.
    pub(super) fn withdraw_object_interest(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) {
        let subscriptions = &self.federate(federate).subscriptions;
        if self.lineage(class).any(|covering| subscriptions.contains_key(&covering)) {
            return;
        }
        self.set_interest(effects, federate, PublishedClass::Objects(class), false);
        for child in self.class_of(class).children.clone() {
            self.withdraw_object_interest(effects, federate, child);
        }
    }

    /// Publish Interaction Class (5.4).
    pub(crate) fn publish_interaction(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
    ) -> Result<(), RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?.handle;
        self.federate_mut(federate).published_interactions.insert(class);
        self.refresh_publication(effects, PublishedClass::Interactions(class));
        self.refresh_interaction(effects, federate, class);
        Ok(())
    }

    /// Unpublish Interaction Class (5.5).
    pub(crate) fn unpublish_interaction(
        &mut self,
        effects: &mut Effects,
        handle: FederateHandle,
        class: Option<InteractionClassHandle>,
    ) -> Result<(), RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?.handle;
        let federate = self.federate_mut(handle);
        federate.published_interactions.remove(&class);
        federate.interactions_on.remove(&class);
        federate.interaction_preferences.remove(&class);
        self.refresh_publication(effects, PublishedClass::Interactions(class));
        Ok(())
    }

    /// Subscribe Interaction Class (5.10), actively or passively.
    pub(crate) fn subscribe_interaction(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
        active: bool,
    ) -> Result<(), RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?.handle;
        self.check_not_reported(federate, class)?;
        self.set_plain_interaction(effects, federate, class, Some(active));
        Ok(())
    }

    /// Changes the union of the subscriptions of an interaction class; `None`: there is none.
    pub(super) fn set_interaction(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: InteractionClassHandle,
        subscribed: Option<bool>,
    ) {
        let subscriptions = &mut self.federate_mut(federate).subscribed_interactions;
        let before = match subscribed {
            Some(active) => subscriptions.insert(class, active),
            None => subscriptions.remove(&class),
        };
        if before == subscribed {
            return;
        }
        match (before, subscribed) {
            (None, _) => self.cover_interactions(effects, federate, class),
            (_, None) => self.withdraw_interaction_interest(effects, federate, class),
            _ => {}
        }
        self.declare_interaction(effects, federate, class);
        self.refresh_interactions_below(effects, class);
    }

    /// Unsubscribe Interaction Class (5.11).
    pub(crate) fn unsubscribe_interaction(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
    ) -> Result<(), RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?.handle;
        self.set_plain_interaction(effects, federate, class, None);
        Ok(())
    }

    fn withdraw_interaction_interest(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        let subscribed = &self.federate(federate).subscribed_interactions;
        if self.interaction_lineage(class).any(|covering| subscribed.contains_key(&covering)) {
            return;
        }
        self.set_interest(effects, federate, PublishedClass::Interactions(class), false);
        let children = self.model.interaction_class(class).map(|class| class.children.clone());
        for child in children.unwrap_or_default() {
            self.withdraw_interaction_interest(effects, federate, child);
        }
    }

    /// Publish Object Class Directed Interactions (5.6). Additive.
    pub(crate) fn publish_directed(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        interactions: Option<&InteractionClassHandleSet>,
    ) -> Result<(), RtiError> {
        let (class, interactions) = self.directed_at(class, interactions)?;
        if !interactions.is_empty() {
            self.federate_mut(federate).published_directed.entry(class).or_default().extend(interactions);
            self.refresh_publication(effects, PublishedClass::Directed);
        }
        Ok(())
    }

    /// Unpublish Object Class Directed Interactions (5.7), all of the class if `interactions` is
    /// `None`.
    pub(crate) fn unpublish_directed(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        interactions: Option<Option<&InteractionClassHandleSet>>,
    ) -> Result<(), RtiError> {
        let (class, listed) = self.directed_at(class, interactions.flatten())?;
        let published = &mut self.federate_mut(federate).published_directed;
        if let Some(entry) = published.get_mut(&class) {
            entry.retain(|interaction| interactions.is_some() && !listed.contains(interaction));
            if entry.is_empty() {
                published.remove(&class);
            }
        }
        self.refresh_publication(effects, PublishedClass::Directed);
        Ok(())
    }

    /// Subscribe Object Class Directed Interactions (5.12), universally or only for owned
    /// instances.
    pub(crate) fn subscribe_directed(
        &mut self,
        effects: &mut Effects,
        handle: FederateHandle,
        class: Option<ObjectClassHandle>,
        interactions: Option<&InteractionClassHandleSet>,
        universally: bool,
    ) -> Result<(), RtiError> {
        let (class, interactions) = self.directed_at(class, interactions)?;
        if interactions.is_empty() {
            return Ok(());
        }
        let federate = self.federate_mut(handle);
        let entry = federate.subscribed_directed.entry(class).or_default();
        entry.extend(interactions.into_iter().map(|interaction| (interaction, universally)));
        self.refresh_directed_interest(effects, handle);
        Ok(())
    }

    /// Unsubscribe Object Class Directed Interactions (5.13), all of the class if `interactions` is
    /// `None`.
    pub(crate) fn unsubscribe_directed(
        &mut self,
        effects: &mut Effects,
        handle: FederateHandle,
        class: Option<ObjectClassHandle>,
        interactions: Option<Option<&InteractionClassHandleSet>>,
    ) -> Result<(), RtiError> {
        let (class, listed) = self.directed_at(class, interactions.flatten())?;
        let federate = self.federate_mut(handle);
        if let Some(entry) = federate.subscribed_directed.get_mut(&class) {
            entry.retain(|interaction, _| interactions.is_some() && !listed.contains(interaction));
            if entry.is_empty() {
                federate.subscribed_directed.remove(&class);
            }
        }
        self.refresh_directed_interest(effects, handle);
        Ok(())
    }

    fn refresh_directed_interest(&mut self, effects: &mut Effects, federate: FederateHandle) {
        let on = !self.federate(federate).subscribed_directed.is_empty();
        self.set_interest(effects, federate, PublishedClass::Directed, on);
    }

    fn directed_at(
        &self,
        class: Option<ObjectClassHandle>,
        interactions: Option<&InteractionClassHandleSet>,
    ) -> Result<(ObjectClassHandle, BTreeSet<InteractionClassHandle>), RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?;
        let listed = interactions.map(|set| set.interaction_class_handle.as_slice()).unwrap_or_default();
        for &interaction in listed {
            let known = self.interaction_class(Some(interaction), Exception::InteractionClassNotDefined)?;
            if !class.directed_interactions.contains(&interaction) {
                let text = format!("`{}` is no directed interaction of `{}`", known.name, class.name);
                return Err(RtiError::new(Exception::InteractionClassNotDefined, text));
            }
        }
        Ok((class.handle, listed.iter().copied().collect()))
    }
}
