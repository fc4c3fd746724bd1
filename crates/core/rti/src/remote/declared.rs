//! What federates elsewhere subscribe, for the advisories of federates here.

use super::state::Elsewhere;
use super::wire::{Declaration, Letter, SubscribedAttribute};
use crate::control::{NodeId, PublishedClass};
use crate::object::execution::Execution;
use crate::object::federate::{ClassSubscription, Subscription};
use crate::plane::Plane;
use hla::handle::{AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle};
use std::collections::{BTreeMap, BTreeSet};

impl Execution {
    /// All that federates of this node subscribe and that concerns publishers of `what`.
    pub(super) fn declarations_for(&self, what: PublishedClass) -> Vec<Declaration> {
        let mut all = Vec::new();
        for federate in self.federates.values() {
            match what {
                PublishedClass::Objects(class) => all.extend(
                    self.lineage(class)
                        .filter(|at| federate.subscriptions.contains_key(at))
                        .map(|at| self.declaration(federate.handle, at)),
                ),
                PublishedClass::Interactions(class) => {
                    all.extend(self.interaction_lineage(class).filter_map(|at| {
                        let active = Some(*federate.subscribed_interactions.get(&at)?);
                        Some(Declaration::Interactions { federate: federate.handle, class: at, active })
                    }));
                }
                PublishedClass::Directed => {}
            }
        }
        all
    }

    fn declaration(&self, federate: FederateHandle, class: ObjectClassHandle) -> Declaration {
        let subscribed = self.federates.get(&federate).and_then(|f| f.subscriptions.get(&class));
        let attribute = |(&attribute, how): (&AttributeHandle, &Subscription)| SubscribedAttribute {
            attribute,
            active: how.active,
            rate: how.rate.map_or_else(String::new, |rate| self.rates[rate.0 as usize].designator.clone()),
        };
        let attributes = subscribed.into_iter().flatten().map(attribute).collect();
        Declaration::Objects { federate, class, attributes }
    }

    /// A federate of this node has changed what it subscribes at `class`.
    pub(crate) fn declare_objects(
        &mut self,
        plane: &mut Plane,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) {
        let Some(remote) = self.remote.as_deref() else { return };
        let below = |what: &PublishedClass| match what {
            PublishedClass::Objects(published) => self.model.is_subclass(*published, class),
            _ => false,
        };
        let followed = remote.followed.keys().filter(|(what, _)| below(what));
        let to: BTreeSet<NodeId> = followed.map(|&(_, node)| node).collect();
        if !to.is_empty() {
            self.declare(plane, to, self.declaration(federate, class));
        }
    }

    /// A federate of this node has changed whether and how it subscribes `class`.
    pub(crate) fn declare_interaction(
        &mut self,
        plane: &mut Plane,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        let Some(remote) = self.remote.as_deref() else { return };
        let below = |what: &PublishedClass| match what {
            PublishedClass::Interactions(published) => self.model.is_interaction_subclass(*published, class),
            _ => false,
        };
        let followed = remote.followed.keys().filter(|(what, _)| below(what));
        let to: BTreeSet<NodeId> = followed.map(|&(_, node)| node).collect();
        if !to.is_empty() {
            let subscribed = self.federates.get(&federate).map(|f| &f.subscribed_interactions);
            let active = subscribed.and_then(|subscribed| subscribed.get(&class)).copied();
            self.declare(plane, to, Declaration::Interactions { federate, class, active });
        }
    }

    fn declare(&self, plane: &mut Plane, to: BTreeSet<NodeId>, declaration: Declaration) {
        let (Some(remote), Some(net)) = (self.remote.as_deref(), plane.net.as_deref_mut()) else { return };
        let letter = Letter::Declare { execution: self.id, declaration };
        for node in to {
            net.write(node, remote.model, &letter);
        }
    }

    /// A node follows `what`: these are all declarations of its federates that concern it.
    pub(super) fn declared_for(
        &mut self,
        plane: &mut Plane,
        from: NodeId,
        what: PublishedClass,
        declarations: Vec<Declaration>,
    ) {
        let listed: BTreeSet<_> = declarations.iter().map(key).collect();
        let Some(remote) = self.remote.as_deref() else { return };
        let of_node = remote.declared.iter().filter(|(_, elsewhere)| elsewhere.node == from);
        let mut stale = Vec::new();
        for (&federate, elsewhere) in of_node {
            match what {
                PublishedClass::Objects(class) => stale.extend(
                    self.lineage(class)
                        .filter(|at| elsewhere.subscriptions.contains_key(at))
                        .map(|class| Declaration::Objects { federate, class, attributes: Vec::new() }),
                ),
                PublishedClass::Interactions(class) => stale.extend(
                    self.interaction_lineage(class)
                        .filter(|at| elsewhere.interactions.contains_key(at))
                        .map(|class| Declaration::Interactions { federate, class, active: None }),
                ),
                PublishedClass::Directed => {}
            }
        }
        stale.retain(|declaration| !listed.contains(&key(declaration)));
        for declaration in stale.into_iter().chain(declarations) {
            self.declared(plane, from, declaration);
        }
    }

    /// A node says what a federate of it subscribes at a class.
    pub(super) fn declared(&mut self, plane: &mut Plane, from: NodeId, declaration: Declaration) {
        match declaration {
            Declaration::Objects { federate, class, attributes } => {
                let read = attributes.into_iter().map(|subscribed| {
                    // One that this model has not is refused where it is subscribed.
                    let rate = self.rate(&subscribed.rate).unwrap_or_default();
                    (subscribed.attribute, Subscription { active: subscribed.active, rate })
                });
                let now: ClassSubscription = read.collect();
                let Some(elsewhere) = self.elsewhere(federate, from) else { return };
                let before = if now.is_empty() {
                    elsewhere.subscriptions.remove(&class).unwrap_or_default()
                } else {
                    elsewhere.subscriptions.insert(class, now.clone()).unwrap_or_default()
                };
                if before != now {
                    let concerned = before.into_keys().chain(now.into_keys()).collect();
                    self.elsewhere_changed(plane, class, &concerned);
                }
            }
            Declaration::Interactions { federate, class, active } => {
                let Some(elsewhere) = self.elsewhere(federate, from) else { return };
                let before = match active {
                    Some(active) => elsewhere.interactions.insert(class, active),
                    None => elsewhere.interactions.remove(&class),
                };
                if before != active {
                    self.refresh_interactions_below(plane, class);
                }
            }
        }
        if let Some(remote) = self.remote.as_deref_mut() {
            remote.declared.retain(|_, f| !f.subscriptions.is_empty() || !f.interactions.is_empty());
        }
    }

    fn elsewhere(&mut self, federate: FederateHandle, node: NodeId) -> Option<&mut Elsewhere> {
        if self.federates.contains_key(&federate) {
            return None;
        }
        let declared = &mut self.remote.as_deref_mut()?.declared;
        let new = || Elsewhere { node, subscriptions: BTreeMap::new(), interactions: BTreeMap::new() };
        Some(declared.entry(federate).or_insert_with(new)).filter(|elsewhere| elsewhere.node == node)
    }

    /// Advisories that depend on subscriptions elsewhere of `attributes` at `class`.
    fn elsewhere_changed(
        &mut self,
        plane: &mut Plane,
        class: ObjectClassHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) {
        self.refresh_registrations_below(plane, class);
        if !self.federates.values().any(|federate| federate.switches.attribute_relevance) {
            return;
        }
        for instance in self.instances.of_class_or_below(&self.model, class) {
            // What is discovered at another class now has other attributes in scope as well.
            let mut concerned = attributes.clone();
            if let Some(object) = self.instances.get(instance) {
                concerned.extend(self.class_of(object.class).attributes.iter().copied());
            }
            self.refresh_relevance(plane, instance, &concerned);
        }
    }

    /// A node follows `what` no more: what its federates declared for it alone is forgotten.
    pub(super) fn undeclare_unfollowed(&mut self, plane: &mut Plane, from: NodeId, what: PublishedClass) {
        let Some(remote) = self.remote.as_deref() else { return };
        let followed: Vec<PublishedClass> = remote
            .spoken
            .iter()
            .filter(|(_, out)| out.followers.contains(&from))
            .map(|(&followed, _)| followed)
            .collect();
        let mut gone = Vec::new();
        for (&federate, elsewhere) in remote.declared.iter().filter(|(_, f)| f.node == from) {
            if let PublishedClass::Objects(class) = what {
                let still = |at| {
                    followed.iter().any(|what| match what {
                        PublishedClass::Objects(class) => self.model.is_subclass(*class, at),
                        _ => false,
                    })
                };
                let at = self.lineage(class).filter(|at| elsewhere.subscriptions.contains_key(at));
                gone.extend(at.filter(|&at| !still(at)).map(|class| Declaration::Objects {
                    federate,
                    class,
                    attributes: Vec::new(),
                }));
            } else if let PublishedClass::Interactions(class) = what {
                let still = |at| {
                    followed.iter().any(|what| match what {
                        PublishedClass::Interactions(class) => self.model.is_interaction_subclass(*class, at),
                        _ => false,
                    })
                };
                let at = self.interaction_lineage(class).filter(|at| elsewhere.interactions.contains_key(at));
                gone.extend(at.filter(|&at| !still(at)).map(|class| Declaration::Interactions {
                    federate,
                    class,
                    active: None,
                }));
            }
        }
        for declaration in gone {
            self.declared(plane, from, declaration);
        }
    }

    /// A federate of another node has resigned.
    pub(super) fn forget_elsewhere(&mut self, plane: &mut Plane, federate: FederateHandle) {
        let Some(gone) = self.remote.as_deref_mut().and_then(|remote| remote.declared.remove(&federate))
        else {
            return;
        };
        for (class, subscribed) in gone.subscriptions {
            self.elsewhere_changed(plane, class, &subscribed.into_keys().collect());
        }
        for class in gone.interactions.into_keys() {
            self.refresh_interactions_below(plane, class);
        }
    }

    /// What federates of other nodes subscribe of object classes.
    pub(crate) fn subscribed_elsewhere(
        &self,
    ) -> impl Iterator<Item = (FederateHandle, &BTreeMap<ObjectClassHandle, ClassSubscription>)> {
        let declared = self.remote.as_deref().into_iter().flat_map(|remote| remote.declared.iter());
        declared.map(|(&federate, elsewhere)| (federate, &elsewhere.subscriptions))
    }

    /// Whether a federate of another node actively subscribes an interaction class at exactly `class`.
    pub(crate) fn is_wanted_elsewhere(&self, class: InteractionClassHandle) -> bool {
        self.remote
            .as_deref()
            .is_some_and(|remote| remote.declared.values().any(|f| f.interactions.get(&class) == Some(&true)))
    }
}

/// What two declarations of the same thing have in common.
fn key(declaration: &Declaration) -> (bool, FederateHandle, u32) {
    match declaration {
        Declaration::Objects { federate, class, .. } => (false, *federate, class.0),
        Declaration::Interactions { federate, class, .. } => (true, *federate, class.0),
    }
}
