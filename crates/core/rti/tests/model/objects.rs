//! The model of objects, interactions, and federates that leave.

use crate::op::{ATTRIBUTES, Call, DIRECTED, INTERACTIONS, Mask, RATES};
use crate::spec::{Instance, NAMES, Spec, lineage, members, names, pairs};
use hla::Exception::{self, *};
use std::collections::{BTreeMap, BTreeSet};

impl Spec {
    pub(crate) fn apply_to_objects(
        &mut self,
        federate: usize,
        call: Call,
        value: usize,
    ) -> Result<(), Exception> {
        match call {
            Call::Register { class } => {
                self.check_class(class)?;
                let published = self.of(federate).publications.get(&class).ok_or(ObjectClassNotPublished)?;
                let instance = Instance {
                    class,
                    producer: federate,
                    owners: published.iter().map(|&attribute| (attribute, federate)).collect(),
                    reliable: (0..ATTRIBUTES.len())
                        .filter(|at| !["b", "d"].contains(&ATTRIBUTES[*at].0))
                        .collect(),
                    known: BTreeMap::from([(federate, class)]),
                };
                self.last_instance += 1;
                self.instances.insert(self.last_instance, instance);
            }
            Call::Update { instance, attributes } => {
                self.owned(federate, instance, attributes)?;
                self.update(federate, instance, attributes, value);
            }
            Call::Delete { instance } => {
                let (object, _) = self.known(federate, instance)?;
                if object.owners.get(&0) != Some(&federate) {
                    return Err(DeletePrivilegeNotHeld);
                }
                self.delete(federate, instance);
            }
            Call::Request { instance, attributes } => {
                let (_, known_as) = self.known(federate, instance)?;
                let attributes = self.check(known_as, attributes)?;
                self.provide(federate, instance, &attributes);
            }
            Call::RequestOfClass { class, attributes } => {
                let attributes = self.check(class, attributes)?;
                let below = |object: &Instance| lineage(object.class).any(|at| at == class);
                let concerned: Vec<u32> = self
                    .instances
                    .iter()
                    .filter(|(_, object)| below(object))
                    .map(|(&number, _)| number)
                    .collect();
                for number in concerned {
                    self.provide(federate, number, &attributes);
                }
            }
            Call::ChangeTransportation { instance, attributes, reliable } => {
                let (_, known_as) = self.known(federate, instance)?;
                let all = self.check(known_as, attributes)?;
                self.owned(federate, instance, attributes)?;
                let object = self.instances.get_mut(&instance).expect("known");
                object.reliable.retain(|attribute| !all.contains(attribute));
                if reliable {
                    object.reliable.extend(all);
                }
                let how = if reliable { "reliable" } else { "bestEffort" };
                let mut listed: Vec<usize> = members(attributes).collect();
                listed.sort_unstable();
                self.notify(federate, format!("confirmTransportation({instance}, {}, {how})", names(listed)));
            }
            Call::Send { class, parameters } => self.send(federate, class, parameters)?,
            Call::Direct { interaction, instance } => self.direct(federate, interaction, instance)?,
            other => unreachable!("{other:?} is none of objects"),
        }
        Ok(())
    }

    pub(crate) fn unpublish(&mut self, federate: usize, class: usize, attributes: &BTreeSet<usize>) {
        let Some(published) = self.of_mut(federate).publications.get_mut(&class) else { return };
        let mut gone: BTreeSet<usize> = published.intersection(attributes).copied().collect();
        if gone.is_empty() {
            return;
        }
        published.retain(|attribute| !gone.contains(attribute));
        if published.iter().all(|&attribute| attribute == 0) {
            gone.insert(0);
            self.of_mut(federate).publications.remove(&class);
        }
        for object in self.instances.values_mut().filter(|object| object.known.get(&federate) == Some(&class))
        {
            object.owners.retain(|attribute, owner| *owner != federate || !gone.contains(attribute));
        }
    }

    fn update(&mut self, federate: usize, number: u32, attributes: Mask, value: usize) {
        let object = self.instances[&number].clone();
        let mut kinds: Vec<bool> = Vec::new();
        for attribute in members(attributes) {
            let reliable = object.reliable.contains(&attribute);
            if !kinds.contains(&reliable) {
                kinds.push(reliable);
            }
        }
        let receivers: Vec<usize> = self.joined().map(|(receiver, _)| receiver).collect();
        for (reliable, receiver) in kinds.iter().flat_map(|&kind| receivers.iter().map(move |&to| (kind, to)))
        {
            let in_scope = self.scope(receiver, &object);
            let mut part: Vec<usize> = members(attributes)
                .filter(|at| object.reliable.contains(at) == reliable && in_scope.contains(at))
                .collect();
            if !reliable {
                part.retain(|&attribute| self.is_due(receiver, number, object.known[&receiver], attribute));
            }
            if !part.is_empty() {
                let how = if reliable { "reliable" } else { "bestEffort" };
                let values = pairs(&part, value);
                self.notify(receiver, format!("reflect({number}, {values}, {how}, {})", NAMES[federate]));
            }
        }
    }

    /// Whether a best-effort value is due at a receiver, by the rate it subscribed.
    fn is_due(&mut self, receiver: usize, number: u32, known_as: usize, attribute: usize) -> bool {
        let now = self.now;
        let federate = self.of_mut(receiver);
        let (_, rate) = federate.subscriptions[&(known_as, attribute)];
        if rate == 0 {
            return true;
        }
        let last = federate.reflected.get(&(number, attribute));
        if last.is_some_and(|last| now < last + RATES[rate].1) {
            return false;
        }
        federate.reflected.insert((number, attribute), now);
        true
    }

    fn delete(&mut self, joined: usize, number: u32) {
        let object = self.instances.remove(&number).expect("checked");
        for &knows in object.known.keys() {
            if let Some(federate) = &mut self.federates[knows] {
                federate.reflected.retain(|key, _| key.0 != number);
            }
            if knows != joined {
                self.notify(knows, format!("remove({number}, {})", NAMES[joined]));
            }
        }
    }

    pub(crate) fn forget(&mut self, federate: usize, instance: u32) -> Result<(), Exception> {
        let (object, _) = self.known(federate, instance)?;
        if object.owners.values().any(|&owner| owner == federate) {
            return Err(FederateOwnsAttributes);
        }
        self.instances.get_mut(&instance).expect("known").known.remove(&federate);
        self.of_mut(federate).reflected.retain(|key, _| key.0 != instance);
        Ok(())
    }

    fn provide(&mut self, federate: usize, number: u32, attributes: &BTreeSet<usize>) {
        for (attribute, owner) in self.instances[&number].owners.clone() {
            if owner != federate && attributes.contains(&attribute) {
                self.notify(owner, format!("provide({number}, {})", ATTRIBUTES[attribute].0));
            }
        }
    }

    fn send(&mut self, federate: usize, class: usize, parameters: u8) -> Result<(), Exception> {
        if !self.of(federate).interactions.contains(&class) {
            return Err(InteractionClassNotPublished);
        }
        // Bit 0 is p, which I declares, bit 1 is q, which I.J declares.
        if usize::from(parameters & 1) > class || usize::from(parameters >> 1) * 2 > class {
            return Err(InteractionParameterNotDefined);
        }
        let received: Vec<(usize, usize)> = self
            .joined()
            .filter(|(to, _)| *to != federate)
            .filter_map(|(to, f)| {
                Some((to, (0..=class).rev().find(|at| f.subscribed_interactions.contains_key(at))?))
            })
            .collect();
        for (to, at) in received {
            let visible = |bit: usize| usize::from(parameters) >> bit & 1 == 1 && at > bit;
            let values: Vec<&str> =
                [(0, "p=1"), (1, "q=1")].iter().filter(|(b, _)| visible(*b)).map(|p| p.1).collect();
            self.notify(
                to,
                format!("receive({}, {}, reliable, {})", INTERACTIONS[at], values.join(" "), NAMES[federate]),
            );
        }
        Ok(())
    }

    fn direct(&mut self, federate: usize, interaction: usize, instance: u32) -> Result<(), Exception> {
        let object = self.known(federate, instance)?.0.clone();
        if !lineage(object.class).any(|class| self.of(federate).directed.contains(&(class, interaction))) {
            return Err(InteractionClassNotPublished);
        }
        for to in (0..3).filter(|&to| to != federate && object.known.contains_key(&to)) {
            let owns = object.owners.values().any(|&owner| owner == to);
            let subscribed = |at: &usize| {
                let how = |class| self.of(to).subscribed_directed.get(&(class, *at));
                lineage(object.class).filter_map(how).any(|&universally| universally || owns)
            };
            if let Some(at) = (0..=interaction).rev().find(subscribed) {
                self.notify(
                    to,
                    format!("directed({}, {instance}, , reliable, {})", DIRECTED[at], NAMES[federate]),
                );
            }
        }
        Ok(())
    }

    /// Resigns with an action. If the federate is lost, attributes that the action leaves owned
    /// become unowned.
    pub(crate) fn leave(&mut self, federate: usize, action: i32, lost: bool) -> Result<(), Exception> {
        let (deletes, divests) = (matches!(action, 1 | 3 | 4), matches!(action, 0 | 3 | 4));
        let owned: Vec<u32> = self
            .instances
            .iter()
            .filter(|(_, object)| object.owners.values().any(|&owner| owner == federate))
            .map(|(&number, _)| number)
            .collect();
        let (gone, kept): (Vec<u32>, Vec<u32>) = owned
            .into_iter()
            .partition(|number| deletes && self.instances[number].owners.get(&0) == Some(&federate));
        if !kept.is_empty() && !divests && !lost {
            return Err(FederateOwnsAttributes);
        }
        for number in gone {
            self.delete(federate, number);
        }
        for object in self.instances.values_mut() {
            object.owners.retain(|_, owner| *owner != federate);
            object.known.remove(&federate);
        }
        self.federates[federate] = None;
        Ok(())
    }
}
