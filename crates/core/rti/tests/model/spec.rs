//! What the standard says, in the plainest form: sets, and differences between what was and what is.

use crate::op::{ATTRIBUTES, CLASSES, DIRECTED, INTERACTIONS, Mask, Op, RATES, Switch, What};
use hla::Exception::{self, *};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const NAMES: [&str; 3] = ["A", "B", "C"];

/// A subscription of a class attribute: active or not, and which rate.
type How = (bool, usize);

#[derive(Clone, Default)]
pub(crate) struct Federate {
    publications: BTreeMap<usize, BTreeSet<usize>>,
    subscriptions: BTreeMap<(usize, usize), How>,
    interactions: BTreeSet<usize>,
    subscribed_interactions: BTreeMap<usize, bool>,
    directed: BTreeSet<(usize, usize)>,
    subscribed_directed: BTreeMap<(usize, usize), bool>,
    switches: [bool; 4],
    /// When it last got a value that it wants at a reduced rate.
    reflected: BTreeMap<(u32, usize), u64>,
}

#[derive(Clone)]
struct Instance {
    class: usize,
    producer: usize,
    owners: BTreeMap<usize, usize>,
    reliable: BTreeSet<usize>,
    known: BTreeMap<usize, usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Relevance {
    Off,
    On,
    Rate(usize),
}

/// The model; callbacks that it expects are collected in `told`.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) federates: [Option<Federate>; 3],
    instances: BTreeMap<u32, Instance>,
    last_instance: u32,
    pub(crate) extended: bool,
    now: u64,
    auto_provide: bool,
    advisories: bool,
    pub(crate) told: [Vec<String>; 3],
}

/// What advisories are about.
struct View {
    scope: BTreeMap<(usize, u32), BTreeSet<usize>>,
    relevance: BTreeMap<(u32, usize), (usize, Relevance)>,
    registration: BTreeMap<(usize, usize), bool>,
    interactions: BTreeMap<(usize, usize), bool>,
}

fn parent(class: usize) -> Option<usize> {
    [None, Some(0), Some(1), Some(0), Some(1)][class]
}

fn lineage(class: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(class), |&class| parent(class))
}

fn members(mask: Mask) -> impl Iterator<Item = usize> + Clone {
    (0..ATTRIBUTES.len()).filter(move |at| mask >> at & 1 == 1)
}

fn names(attributes: impl IntoIterator<Item = usize>) -> String {
    attributes.into_iter().map(|at| ATTRIBUTES[at].0).collect::<Vec<_>>().join(" ")
}

fn pairs(attributes: &[usize], value: usize) -> String {
    let pair = |&at: &usize| format!("{}={value}", ATTRIBUTES[at].0);
    attributes.iter().map(pair).collect::<Vec<_>>().join(" ")
}

impl Spec {
    pub(crate) fn new(auto_provide: bool, advisories: bool) -> Self {
        let federate = || Some(Federate { switches: [advisories; 4], ..Federate::default() });
        Self {
            federates: std::array::from_fn(|_| federate()),
            instances: BTreeMap::new(),
            last_instance: 0,
            extended: false,
            now: 0,
            auto_provide,
            advisories,
            told: Default::default(),
        }
    }

    fn of(&self, who: usize) -> &Federate {
        self.federates[who].as_ref().expect("checked")
    }

    fn of_mut(&mut self, who: usize) -> &mut Federate {
        self.federates[who].as_mut().expect("checked")
    }

    fn joined(&self) -> impl Iterator<Item = (usize, &Federate)> {
        self.federates.iter().enumerate().filter_map(|(who, federate)| Some((who, federate.as_ref()?)))
    }

    fn tell(&mut self, who: usize, callback: String) {
        self.told[who].push(callback);
    }

    fn is_available(&self, attribute: usize, class: usize) -> bool {
        (attribute < 6 || self.extended) && lineage(class).any(|at| at == ATTRIBUTES[attribute].1)
    }

    fn check_class(&self, class: usize) -> Result<(), Exception> {
        if class == 4 && !self.extended { Err(ObjectClassNotDefined) } else { Ok(()) }
    }

    fn check(&self, class: usize, attributes: Mask) -> Result<BTreeSet<usize>, Exception> {
        self.check_class(class)?;
        match members(attributes).all(|attribute| self.is_available(attribute, class)) {
            true => Ok(members(attributes).collect()),
            false => Err(AttributeNotDefined),
        }
    }

    fn check_directed(&self, class: usize, interactions: u8) -> Result<Vec<usize>, Exception> {
        self.check_class(class)?;
        let listed: Vec<usize> = (0..2).filter(|at| interactions >> at & 1 == 1).collect();
        let available = |&at: &usize| lineage(class).any(|class| class == at + 1);
        if listed.iter().all(available) { Ok(listed) } else { Err(InteractionClassNotDefined) }
    }

    fn known(&self, who: usize, instance: u32) -> Result<(&Instance, usize), Exception> {
        let object = self.instances.get(&instance).ok_or(ObjectInstanceNotKnown)?;
        Ok((object, *object.known.get(&who).ok_or(ObjectInstanceNotKnown)?))
    }

    fn owned(&self, who: usize, instance: u32, attributes: Mask) -> Result<(), Exception> {
        let (object, known_as) = self.known(who, instance)?;
        for attribute in members(attributes) {
            if !self.is_available(attribute, known_as) {
                return Err(AttributeNotDefined);
            }
            if object.owners.get(&attribute) != Some(&who) {
                return Err(AttributeNotOwned);
            }
        }
        Ok(())
    }

    fn scope(&self, who: usize, instance: &Instance) -> BTreeSet<usize> {
        let Some(&known_as) = instance.known.get(&who) else { return BTreeSet::new() };
        let subscribed = |attribute: &usize| self.of(who).subscriptions.contains_key(&(known_as, *attribute));
        let others = instance.owners.iter().filter(|(_, owner)| **owner != who);
        others.map(|(&attribute, _)| attribute).filter(subscribed).collect()
    }

    fn relevance(&self, instance: &Instance, attribute: usize) -> Relevance {
        let mut relevance = Relevance::Off;
        for (who, federate) in self.joined() {
            if !self.scope(who, instance).contains(&attribute) {
                continue;
            }
            let (active, rate) = federate.subscriptions[&(instance.known[&who], attribute)];
            relevance = match relevance {
                _ if !active => relevance,
                _ if rate == 0 => return Relevance::On,
                Relevance::Rate(other) => Relevance::Rate(other.max(rate)),
                _ => Relevance::Rate(rate),
            };
        }
        relevance
    }

    fn view(&self) -> View {
        let mut view = View {
            scope: BTreeMap::new(),
            relevance: BTreeMap::new(),
            registration: BTreeMap::new(),
            interactions: BTreeMap::new(),
        };
        for (&number, instance) in &self.instances {
            for (who, _) in self.joined() {
                view.scope.insert((who, number), self.scope(who, instance));
            }
            for (&attribute, &owner) in &instance.owners {
                view.relevance.insert((number, attribute), (owner, self.relevance(instance, attribute)));
            }
        }
        for (who, federate) in self.joined() {
            let others = || self.joined().filter(|(other, _)| *other != who);
            for (&class, published) in &federate.publications {
                let wanted = others().any(|(_, other)| {
                    let mut at = lineage(class).flat_map(|class| published.iter().map(move |&a| (class, a)));
                    at.any(|key| other.subscriptions.get(&key).is_some_and(|how| how.0))
                });
                view.registration.insert((who, class), wanted);
            }
            for &class in &federate.interactions {
                let wanted = others().any(|(_, other)| {
                    (0..=class).any(|at| other.subscribed_interactions.get(&at) == Some(&true))
                });
                view.interactions.insert((who, class), wanted);
            }
        }
        view
    }

    /// Everybody discovers what there is to discover; then everybody is advised of what is different.
    fn settle(&mut self, before: &View) {
        let mut found = Vec::new();
        for (&number, instance) in &self.instances {
            for (who, federate) in self.joined().filter(|(who, _)| !instance.known.contains_key(who)) {
                let sees = |class: &usize| {
                    let mut others = instance.owners.iter().filter(|(_, owner)| **owner != who);
                    others.any(|(&attribute, _)| federate.subscriptions.contains_key(&(*class, attribute)))
                };
                found.extend(lineage(instance.class).find(sees).map(|class| (who, number, class)));
            }
        }
        for (who, number, class) in found {
            let instance = self.instances.get_mut(&number).expect("just seen");
            instance.known.insert(who, class);
            let producer = NAMES[instance.producer];
            self.tell(who, format!("discover({number}, {}, {producer})", CLASSES[class]));
        }
        let after = self.view();
        self.advise_of_scope(before, &after);
        self.advise_publishers(before, &after);
    }

    fn advise_of_scope(&mut self, before: &View, after: &View) {
        let none = BTreeSet::new();
        for (&(who, number), now) in &after.scope {
            let was = before.scope.get(&(who, number)).unwrap_or(&none);
            let tells = self.of(who).switches[Switch::Scope as usize];
            let owners = self.instances[&number].owners.clone();
            for attribute in now.difference(was) {
                let name = ATTRIBUTES[*attribute].0;
                if tells {
                    self.tell(who, format!("inScope({number}, {name})"));
                }
                if self.auto_provide {
                    self.tell(owners[attribute], format!("provide({number}, {name})"));
                }
            }
            let Some(&known_as) = self.instances[&number].known.get(&who) else { continue };
            for &attribute in was.difference(now) {
                // It is not told of what it unsubscribed itself.
                if tells && self.of(who).subscriptions.contains_key(&(known_as, attribute)) {
                    self.tell(who, format!("outOfScope({number}, {})", ATTRIBUTES[attribute].0));
                }
            }
        }
    }

    fn advise_publishers(&mut self, before: &View, after: &View) {
        for (&(number, attribute), &(owner, now)) in &after.relevance {
            let was = before.relevance.get(&(number, attribute)).map_or(Relevance::Off, |&(_, was)| was);
            if now != was && self.of(owner).switches[Switch::Relevance as usize] {
                let name = ATTRIBUTES[attribute].0;
                self.tell(
                    owner,
                    match now {
                        Relevance::Off => format!("updatesOff({number}, {name})"),
                        Relevance::On => format!("updatesOn({number}, {name})"),
                        Relevance::Rate(rate) => format!("updatesOn({number}, {name}, {})", RATES[rate].0),
                    },
                );
            }
        }
        for (&(who, class), &now) in &after.registration {
            let was = before.registration.get(&(who, class)).copied().unwrap_or(false);
            if now != was && self.of(who).switches[Switch::Class as usize] {
                let verb = if now { "start" } else { "stop" };
                self.tell(who, format!("{verb}Registration({})", CLASSES[class]));
            }
        }
        for (&(who, class), &now) in &after.interactions {
            let was = before.interactions.get(&(who, class)).copied().unwrap_or(false);
            if now != was && self.of(who).switches[Switch::Interaction as usize] {
                let state = if now { "On" } else { "Off" };
                self.tell(who, format!("interactions{state}({})", INTERACTIONS[class]));
            }
        }
    }

    /// One call: its outcome, with all callbacks in `told`. `value` is what updates carry.
    pub(crate) fn apply(&mut self, op: &Op, value: usize) -> Result<(), Exception> {
        let mut before = self.view();
        match op.what {
            What::Pass { milliseconds } => self.now += milliseconds,
            What::Join { more } => {
                if self.federates[op.who].is_some() {
                    return Err(FederateAlreadyExecutionMember);
                }
                self.extended |= more;
                self.federates[op.who] =
                    Some(Federate { switches: [self.advisories; 4], ..Federate::default() });
            }
            What::Lose { directive } => {
                if self.federates[op.who].is_some() {
                    self.leave(op.who, directive, true)?;
                }
            }
            _ if self.federates[op.who].is_none() => return Err(FederateNotExecutionMember),
            What::Resign { action } => self.leave(op.who, action, false)?,
            What::LocalDelete { instance } => {
                self.forget(op.who, instance)?;
                before.scope.remove(&(op.who, instance));
            }
            what => self.apply_member(op.who, what, value)?,
        }
        self.settle(&before);
        Ok(())
    }

    fn apply_member(&mut self, who: usize, what: What, value: usize) -> Result<(), Exception> {
        match what {
            What::Publish { class, attributes } => {
                let attributes = self.check(class, attributes)?;
                if !attributes.is_empty() {
                    let published = self.of_mut(who).publications.entry(class).or_default();
                    published.extend(attributes);
                    published.insert(0);
                }
            }
            What::Unpublish { class, attributes } => {
                let attributes = self.check(class, attributes)?;
                self.unpublish(who, class, &attributes);
            }
            What::UnpublishClass { class } => {
                self.check_class(class)?;
                self.unpublish(who, class, &(0..ATTRIBUTES.len()).collect());
            }
            What::Subscribe { class, attributes, active, rate } => {
                let attributes = self.check(class, attributes)?;
                let how = attributes.into_iter().map(|attribute| ((class, attribute), (active, rate)));
                self.of_mut(who).subscriptions.extend(how);
            }
            What::Unsubscribe { class, attributes } => {
                let attributes = self.check(class, attributes)?;
                self.of_mut(who)
                    .subscriptions
                    .retain(|key, _| key.0 != class || !attributes.contains(&key.1));
            }
            What::UnsubscribeClass { class } => {
                self.check_class(class)?;
                self.of_mut(who).subscriptions.retain(|key, _| key.0 != class);
            }
            What::PublishInteraction { class, publish: true } => {
                self.of_mut(who).interactions.insert(class);
            }
            What::PublishInteraction { class, publish: false } => {
                self.of_mut(who).interactions.remove(&class);
            }
            What::SubscribeInteraction { class, active } => {
                self.of_mut(who).subscribed_interactions.insert(class, active);
            }
            What::UnsubscribeInteraction { class } => {
                self.of_mut(who).subscribed_interactions.remove(&class);
            }
            What::PublishDirected { class, interactions } => {
                let listed = self.check_directed(class, interactions)?;
                self.of_mut(who).directed.extend(listed.into_iter().map(|at| (class, at)));
            }
            What::UnpublishDirected { class, interactions } => {
                let listed = self.check_directed(class, interactions)?;
                self.of_mut(who).directed.retain(|key| key.0 != class || !listed.contains(&key.1));
            }
            What::SubscribeDirected { class, interactions, universally } => {
                let listed = self.check_directed(class, interactions)?;
                let how = listed.into_iter().map(|at| ((class, at), universally));
                self.of_mut(who).subscribed_directed.extend(how);
            }
            What::UnsubscribeDirected { class, interactions } => {
                let listed = self.check_directed(class, interactions)?;
                self.of_mut(who)
                    .subscribed_directed
                    .retain(|key, _| key.0 != class || !listed.contains(&key.1));
            }
            What::Set { switch, value } => self.of_mut(who).switches[switch as usize] = value,
            other => return self.apply_to_objects(who, other, value),
        }
        Ok(())
    }
}

impl Spec {
    fn apply_to_objects(&mut self, who: usize, what: What, value: usize) -> Result<(), Exception> {
        match what {
            What::Register { class } => {
                self.check_class(class)?;
                let published = self.of(who).publications.get(&class).ok_or(ObjectClassNotPublished)?;
                let instance = Instance {
                    class,
                    producer: who,
                    owners: published.iter().map(|&attribute| (attribute, who)).collect(),
                    reliable: (0..ATTRIBUTES.len())
                        .filter(|at| !["b", "d"].contains(&ATTRIBUTES[*at].0))
                        .collect(),
                    known: BTreeMap::from([(who, class)]),
                };
                self.last_instance += 1;
                self.instances.insert(self.last_instance, instance);
            }
            What::Update { instance, attributes } => {
                self.owned(who, instance, attributes)?;
                self.update(who, instance, attributes, value);
            }
            What::Delete { instance } => {
                let (object, _) = self.known(who, instance)?;
                if object.owners.get(&0) != Some(&who) {
                    return Err(DeletePrivilegeNotHeld);
                }
                self.delete(who, instance);
            }
            What::Request { instance, attributes } => {
                let (_, known_as) = self.known(who, instance)?;
                let attributes = self.check(known_as, attributes)?;
                self.provide(who, instance, &attributes);
            }
            What::RequestOfClass { class, attributes } => {
                let attributes = self.check(class, attributes)?;
                let below = |object: &Instance| lineage(object.class).any(|at| at == class);
                let concerned: Vec<u32> = self
                    .instances
                    .iter()
                    .filter(|(_, object)| below(object))
                    .map(|(&number, _)| number)
                    .collect();
                for number in concerned {
                    self.provide(who, number, &attributes);
                }
            }
            What::ChangeTransportation { instance, attributes, reliable } => {
                let (_, known_as) = self.known(who, instance)?;
                let all = self.check(known_as, attributes)?;
                self.owned(who, instance, attributes)?;
                let object = self.instances.get_mut(&instance).expect("known");
                object.reliable.retain(|attribute| !all.contains(attribute));
                if reliable {
                    object.reliable.extend(all);
                }
                let how = if reliable { "reliable" } else { "bestEffort" };
                let mut listed: Vec<usize> = members(attributes).collect();
                listed.sort_unstable();
                self.tell(who, format!("confirmTransportation({instance}, {}, {how})", names(listed)));
            }
            What::Send { class, parameters } => self.send(who, class, parameters)?,
            What::Direct { interaction, instance } => self.direct(who, interaction, instance)?,
            other => unreachable!("{other:?} is none of objects"),
        }
        Ok(())
    }

    fn unpublish(&mut self, who: usize, class: usize, attributes: &BTreeSet<usize>) {
        let Some(published) = self.of_mut(who).publications.get_mut(&class) else { return };
        let mut gone: BTreeSet<usize> = published.intersection(attributes).copied().collect();
        if gone.is_empty() {
            return;
        }
        published.retain(|attribute| !gone.contains(attribute));
        if published.iter().all(|&attribute| attribute == 0) {
            gone.insert(0);
            self.of_mut(who).publications.remove(&class);
        }
        for object in self.instances.values_mut().filter(|object| object.known.get(&who) == Some(&class)) {
            object.owners.retain(|attribute, owner| *owner != who || !gone.contains(attribute));
        }
    }

    fn update(&mut self, who: usize, number: u32, attributes: Mask, value: usize) {
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
                self.tell(receiver, format!("reflect({number}, {values}, {how}, {})", NAMES[who]));
            }
        }
    }

    /// Whether a best-effort value is due at a receiver, by the rate it asked for.
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

    fn delete(&mut self, who: usize, number: u32) {
        let object = self.instances.remove(&number).expect("checked");
        for &knows in object.known.keys() {
            if let Some(federate) = &mut self.federates[knows] {
                federate.reflected.retain(|key, _| key.0 != number);
            }
            if knows != who {
                self.tell(knows, format!("remove({number}, {})", NAMES[who]));
            }
        }
    }

    fn forget(&mut self, who: usize, instance: u32) -> Result<(), Exception> {
        let (object, _) = self.known(who, instance)?;
        if object.owners.values().any(|&owner| owner == who) {
            return Err(FederateOwnsAttributes);
        }
        self.instances.get_mut(&instance).expect("known").known.remove(&who);
        self.of_mut(who).reflected.retain(|key, _| key.0 != instance);
        Ok(())
    }

    fn provide(&mut self, who: usize, number: u32, attributes: &BTreeSet<usize>) {
        for (attribute, owner) in self.instances[&number].owners.clone() {
            if owner != who && attributes.contains(&attribute) {
                self.tell(owner, format!("provide({number}, {})", ATTRIBUTES[attribute].0));
            }
        }
    }

    fn send(&mut self, who: usize, class: usize, parameters: u8) -> Result<(), Exception> {
        if !self.of(who).interactions.contains(&class) {
            return Err(InteractionClassNotPublished);
        }
        // Bit 0 is p, which I declares, bit 1 is q, which I.J declares.
        if usize::from(parameters & 1) > class || usize::from(parameters >> 1) * 2 > class {
            return Err(InteractionParameterNotDefined);
        }
        let received: Vec<(usize, usize)> = self
            .joined()
            .filter(|(to, _)| *to != who)
            .filter_map(|(to, f)| {
                Some((to, (0..=class).rev().find(|at| f.subscribed_interactions.contains_key(at))?))
            })
            .collect();
        for (to, at) in received {
            let visible = |bit: usize| usize::from(parameters) >> bit & 1 == 1 && at > bit;
            let values: Vec<&str> =
                [(0, "p=1"), (1, "q=1")].iter().filter(|(b, _)| visible(*b)).map(|p| p.1).collect();
            self.tell(
                to,
                format!("receive({}, {}, reliable, {})", INTERACTIONS[at], values.join(" "), NAMES[who]),
            );
        }
        Ok(())
    }

    fn direct(&mut self, who: usize, interaction: usize, instance: u32) -> Result<(), Exception> {
        let object = self.known(who, instance)?.0.clone();
        if !lineage(object.class).any(|class| self.of(who).directed.contains(&(class, interaction))) {
            return Err(InteractionClassNotPublished);
        }
        for to in (0..3).filter(|&to| to != who && object.known.contains_key(&to)) {
            let owns = object.owners.values().any(|&owner| owner == to);
            let subscribed = |at: &usize| {
                let how = |class| self.of(to).subscribed_directed.get(&(class, *at));
                lineage(object.class).filter_map(how).any(|&universally| universally || owns)
            };
            if let Some(at) = (0..=interaction).rev().find(subscribed) {
                self.tell(to, format!("directed({}, {instance}, , reliable, {})", DIRECTED[at], NAMES[who]));
            }
        }
        Ok(())
    }

    /// Resign with an action; when lost, what the action leaves owned becomes unowned.
    fn leave(&mut self, who: usize, action: i32, lost: bool) -> Result<(), Exception> {
        let (deletes, divests) = (matches!(action, 1 | 3 | 4), matches!(action, 0 | 3 | 4));
        let owned: Vec<u32> = self
            .instances
            .iter()
            .filter(|(_, object)| object.owners.values().any(|&owner| owner == who))
            .map(|(&number, _)| number)
            .collect();
        let (gone, kept): (Vec<u32>, Vec<u32>) = owned
            .into_iter()
            .partition(|number| deletes && self.instances[number].owners.get(&0) == Some(&who));
        if !kept.is_empty() && !divests && !lost {
            return Err(FederateOwnsAttributes);
        }
        for number in gone {
            self.delete(who, number);
        }
        for object in self.instances.values_mut() {
            object.owners.retain(|_, owner| *owner != who);
            object.known.remove(&who);
        }
        self.federates[who] = None;
        Ok(())
    }
}
