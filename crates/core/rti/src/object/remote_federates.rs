//! Subscriptions of federates of other nodes, for the advisories of federates here.

use super::federate::{ClassSubscription, Federate, Subscription};
use super::objects::Objects;
use crate::control::{NodeId, PublishedClass};
use crate::effect::{Change, Effects};
use crate::wire::{Declaration, RegionSet, SubscribedAttribute};
use hla::handle::{AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A federate of another node, as far as it concerns federates of this node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RemoteFederate {
    pub(super) node: NodeId,
    pub(super) subscriptions: BTreeMap<ObjectClassHandle, ClassSubscription>,
    /// Summaries of the regions of subscribed attributes. Others are subscribed everywhere.
    pub(super) regions: BTreeMap<(ObjectClassHandle, AttributeHandle), RegionSet>,
    /// Interaction classes it subscribes, and whether actively.
    interactions: BTreeMap<InteractionClassHandle, bool>,
    /// Summaries of the regions of subscribed interaction classes. Others are subscribed everywhere.
    interaction_regions: BTreeMap<InteractionClassHandle, RegionSet>,
}

impl Objects {
    /// All subscriptions of this node's federates that concern publishers of `class`.
    pub(crate) fn declarations_for(&self, class: PublishedClass) -> Vec<Declaration> {
        let mut all = Vec::new();
        for federate in self.federates.values() {
            match class {
                PublishedClass::Objects(class) => all.extend(
                    self.lineage(class)
                        .filter(|at| federate.subscriptions.contains_key(at))
                        .map(|at| self.declaration(federate.handle, at)),
                ),
                PublishedClass::Interactions(class) => all.extend(
                    self.interaction_lineage(class)
                        .filter(|at| federate.subscribed_interactions.contains_key(at))
                        .map(|at| interaction_declaration(federate.handle, Some(federate), at)),
                ),
                PublishedClass::Directed => {}
            }
        }
        all
    }

    fn declaration(&self, federate: FederateHandle, class: ObjectClassHandle) -> Declaration {
        let known = self.federates.get(&federate);
        let subscribed = known.and_then(|known| known.subscriptions.get(&class));
        let attribute = |(&attribute, how): (&AttributeHandle, &Subscription)| SubscribedAttribute {
            attribute,
            active: how.active,
            rate: how.rate.map_or_else(String::new, |rate| self.rates[rate.0 as usize].designator.clone()),
            regions: known.map(|known| known.summary(class, attribute)).cloned().unwrap_or_default(),
        };
        let attributes = subscribed.into_iter().flatten().map(attribute).collect();
        Declaration::Objects { federate, class, attributes }
    }

    /// Announces that a federate of this node has changed its subscriptions at `class`.
    pub(super) fn declare_objects(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) {
        if self.replicated {
            self.refresh_summaries(federate, class);
            self.announce_subscription(effects, federate, class);
        }
    }

    /// Announces the subscriptions of a federate of this node at `class`, with the summaries of its
    /// regions.
    pub(super) fn announce_subscription(
        &self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) {
        effects.replicate(Change::Declare(self.declaration(federate, class)));
    }

    /// Announces that a federate of this node has changed its subscription of the interaction class
    /// `class`.
    pub(super) fn declare_interaction(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        if self.replicated {
            self.refresh_summary(federate, class);
            self.announce_interaction_subscription(effects, federate, class);
        }
    }

    /// Announces the subscription of an interaction class, likewise.
    pub(super) fn announce_interaction_subscription(
        &self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        let declaration = interaction_declaration(federate, self.federates.get(&federate), class);
        effects.replicate(Change::Declare(declaration));
    }

    /// Whether a declaration concerns publishers of `published`.
    pub(crate) fn concerns(&self, declaration: &Declaration, published: PublishedClass) -> bool {
        match (declaration, published) {
            (Declaration::Objects { class, .. }, PublishedClass::Objects(published)) => {
                self.model.is_subclass(published, *class)
            }
            (Declaration::Interactions { class, .. }, PublishedClass::Interactions(published)) => {
                self.model.is_interaction_subclass(published, *class)
            }
            _ => false,
        }
    }

    /// The node `from` follows a class. The declarations are all that its federates have made about
    /// it.
    pub(crate) fn declared_for(
        &mut self,
        effects: &mut Effects,
        from: NodeId,
        class: PublishedClass,
        declarations: Vec<Declaration>,
    ) {
        let listed: BTreeSet<_> = declarations.iter().map(key).collect();
        let mut stale = self.withdrawals(from, class);
        stale.retain(|declaration| !listed.contains(&key(declaration)));
        for declaration in stale.into_iter().chain(declarations) {
            self.declared(effects, from, declaration);
        }
    }

    /// The node `from` no longer follows a class, but still follows the `followed` ones. Forgets
    /// its federates' declarations about that class alone.
    pub(crate) fn undeclare(
        &mut self,
        effects: &mut Effects,
        from: NodeId,
        class: PublishedClass,
        followed: &[PublishedClass],
    ) {
        let mut gone = self.withdrawals(from, class);
        gone.retain(|declaration| !followed.iter().any(|&followed| self.concerns(declaration, followed)));
        for declaration in gone {
            self.declared(effects, from, declaration);
        }
    }

    /// Withdrawals of all declarations of a node's federates that concern publishers of a class.
    fn withdrawals(&self, from: NodeId, class: PublishedClass) -> Vec<Declaration> {
        let mut all = Vec::new();
        for (&federate, remote) in self.remote_federates.iter().filter(|(_, remote)| remote.node == from) {
            match class {
                PublishedClass::Objects(class) => all.extend(
                    self.lineage(class)
                        .filter(|at| remote.subscriptions.contains_key(at))
                        .map(|class| Declaration::Objects { federate, class, attributes: Vec::new() }),
                ),
                PublishedClass::Interactions(class) => all.extend(
                    self.interaction_lineage(class)
                        .filter(|at| remote.interactions.contains_key(at))
                        .map(|class| interaction_declaration(federate, None, class)),
                ),
                PublishedClass::Directed => {}
            }
        }
        all
    }

    /// Applies a declaration of another node's federate.
    pub(super) fn declared(&mut self, effects: &mut Effects, from: NodeId, declaration: Declaration) {
        match declaration {
            Declaration::Objects { federate, class, attributes } => {
                let mut regions = BTreeMap::new();
                let read = attributes.into_iter().map(|subscribed| {
                    if !subscribed.regions.is_empty() {
                        regions.insert((class, subscribed.attribute), subscribed.regions);
                    }
                    // A rate that this model lacks is refused at the node of the subscriber.
                    let rate = self.rate(&subscribed.rate).unwrap_or_default();
                    (subscribed.attribute, Subscription { active: subscribed.active, rate })
                });
                let now: ClassSubscription = read.collect();
                let Some(remote) = self.remote_federate(federate, from) else { return };
                let narrowed: BTreeMap<_, _> =
                    remote.regions.extract_if(.., |&(at, _), _| at == class).collect();
                let has_moved = narrowed != regions;
                remote.regions.extend(regions);
                let before = if now.is_empty() {
                    remote.subscriptions.remove(&class).unwrap_or_default()
                } else {
                    remote.subscriptions.insert(class, now.clone()).unwrap_or_default()
                };
                self.remote_version += 1;
                if before != now {
                    self.subscribed_elsewhere_changed(effects, class);
                } else if has_moved {
                    self.review_relevance_below(effects, class);
                }
            }
            Declaration::Interactions { federate, class, active, regions } => {
                let Some(remote) = self.remote_federate(federate, from) else { return };
                match regions.is_empty() {
                    true => remote.interaction_regions.remove(&class),
                    false => remote.interaction_regions.insert(class, regions),
                };
                let before = match active {
                    Some(active) => remote.interactions.insert(class, active),
                    None => remote.interactions.remove(&class),
                };
                self.remote_version += 1;
                if before != active {
                    self.refresh_interactions_below(effects, class);
                }
            }
        }
        self.remote_federates.retain(|_, f| !f.subscriptions.is_empty() || !f.interactions.is_empty());
    }

    fn remote_federate(&mut self, federate: FederateHandle, node: NodeId) -> Option<&mut RemoteFederate> {
        if self.federates.contains_key(&federate) {
            return None;
        }
        let new = || RemoteFederate {
            node,
            subscriptions: BTreeMap::new(),
            regions: BTreeMap::new(),
            interactions: BTreeMap::new(),
            interaction_regions: BTreeMap::new(),
        };
        let remote = self.remote_federates.entry(federate).or_insert_with(new);
        Some(remote).filter(|remote| remote.node == node)
    }

    /// Updates advisories that depend on subscriptions elsewhere at `class`.
    fn subscribed_elsewhere_changed(&mut self, effects: &mut Effects, class: ObjectClassHandle) {
        self.refresh_registrations_below(effects, class);
        self.review_relevance_below(effects, class);
    }

    /// Forgets a federate of another node that has resigned.
    pub(super) fn forget_remote_federate(&mut self, effects: &mut Effects, federate: FederateHandle) {
        self.class_requests.remove_federate(federate);
        let Some(gone) = self.remote_federates.remove(&federate) else { return };
        self.remote_version += 1;
        for class in gone.subscriptions.into_keys() {
            self.subscribed_elsewhere_changed(effects, class);
        }
        for class in gone.interactions.into_keys() {
            self.refresh_interactions_below(effects, class);
        }
    }

    /// Forgets the federates of a node that is gone for good.
    pub(crate) fn forget_federates_of(&mut self, effects: &mut Effects, node: NodeId) {
        let gone = self.remote_federates.iter().filter(|(_, remote)| remote.node == node);
        let gone: Vec<_> = gone.map(|(&federate, _)| federate).collect();
        for federate in gone {
            self.forget_remote_federate(effects, federate);
        }
    }

    /// The federates of one other node, or of all (`None`).
    fn federates_of(&self, node: Option<NodeId>) -> impl Iterator<Item = &RemoteFederate> {
        self.remote_federates.values().filter(move |remote| node.is_none_or(|node| remote.node == node))
    }

    /// The subscriptions of attributes of a class by federates of another node, or of all other nodes
    /// (`None`). Each has the summary of its regions; the default region: it applies everywhere.
    pub(super) fn attributes_elsewhere(
        &self,
        class: ObjectClassHandle,
        node: Option<NodeId>,
    ) -> impl Iterator<Item = (AttributeHandle, Subscription, &RegionSet)> {
        self.federates_of(node).flat_map(move |remote| {
            let subscribed = remote.subscriptions.get(&class).into_iter().flatten();
            subscribed.map(move |(&attribute, &how)| {
                let regions = remote.regions.get(&(class, attribute)).unwrap_or(RegionSet::DEFAULT);
                (attribute, how, regions)
            })
        })
    }

    /// The subscriptions of an interaction class by federates of another node, or of all other nodes
    /// (`None`): summaries of their regions; the default region: it applies everywhere.
    pub(super) fn interactions_elsewhere(
        &self,
        class: InteractionClassHandle,
        node: Option<NodeId>,
    ) -> impl Iterator<Item = &RegionSet> {
        let subscribed =
            self.federates_of(node).filter(move |remote| remote.interactions.contains_key(&class));
        subscribed.map(move |remote| remote.interaction_regions.get(&class).unwrap_or(RegionSet::DEFAULT))
    }

    /// The federates of other nodes that have subscribed classes.
    pub(super) fn subscribed_elsewhere(&self) -> impl Iterator<Item = (FederateHandle, &RemoteFederate)> {
        self.remote_federates.iter().map(|(&federate, remote)| (federate, remote))
    }

    /// Whether a federate of another node actively subscribes an interaction class at exactly
    /// `class`.
    pub(super) fn is_wanted_elsewhere(&self, class: InteractionClassHandle) -> bool {
        self.remote_federates.values().any(|remote| remote.interactions.get(&class) == Some(&true))
    }
}

/// The declaration of a subscription of an interaction class; without a federate: its withdrawal.
fn interaction_declaration(
    handle: FederateHandle,
    federate: Option<&Federate>,
    class: InteractionClassHandle,
) -> Declaration {
    let active = federate.and_then(|federate| federate.subscribed_interactions.get(&class)).copied();
    let regions = federate.map(|federate| federate.interaction_summary(class)).cloned().unwrap_or_default();
    Declaration::Interactions { federate: handle, class, active, regions }
}

/// A key that is equal for two declarations of one federate about one class.
fn key(declaration: &Declaration) -> (bool, FederateHandle, u32) {
    match declaration {
        Declaration::Objects { federate, class, .. } => (false, *federate, class.0),
        Declaration::Interactions { federate, class, .. } => (true, *federate, class.0),
    }
}
