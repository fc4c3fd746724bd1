//! The standard in the plainest form: sets, and differences between before and after.

use crate::op::{ATTRIBUTES, CLASSES, Call, INTERACTIONS, Mask, Op, RATES, Switch};
use hla::Exception::{self, *};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const NAMES: [&str; 3] = ["A", "B", "C"];

/// A subscription of a class attribute: whether it is active, and the index of its rate.
pub(crate) type How = (bool, usize);

#[derive(Clone, Default)]
pub(crate) struct Federate {
    pub(crate) publications: BTreeMap<usize, BTreeSet<usize>>,
    pub(crate) subscriptions: BTreeMap<(usize, usize), How>,
    pub(crate) interactions: BTreeSet<usize>,
    pub(crate) subscribed_interactions: BTreeMap<usize, bool>,
    pub(crate) directed: BTreeSet<(usize, usize)>,
    pub(crate) subscribed_directed: BTreeMap<(usize, usize), bool>,
    switches: [bool; 4],
    /// When it last received a value that it subscribes at a reduced rate.
    pub(crate) reflected: BTreeMap<(u32, usize), u64>,
}

#[derive(Clone)]
pub(crate) struct Instance {
    pub(crate) class: usize,
    pub(crate) producer: usize,
    pub(crate) owners: BTreeMap<usize, usize>,
    pub(crate) reliable: BTreeSet<usize>,
    pub(crate) known: BTreeMap<usize, usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Relevance {
    Off,
    On,
    Rate(usize),
}

/// The model; callbacks that it expects are collected in `notified`.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) federates: [Option<Federate>; 3],
    pub(crate) instances: BTreeMap<u32, Instance>,
    pub(crate) last_instance: u32,
    pub(crate) extended: bool,
    pub(crate) now: u64,
    auto_provide: bool,
    advisories: bool,
    pub(crate) notified: [Vec<String>; 3],
}

/// The state that advisories report.
struct View {
    scope: BTreeMap<(usize, u32), BTreeSet<usize>>,
    relevance: BTreeMap<(u32, usize), (usize, Relevance)>,
    registration: BTreeMap<(usize, usize), bool>,
    interactions: BTreeMap<(usize, usize), bool>,
}

fn parent(class: usize) -> Option<usize> {
    [None, Some(0), Some(1), Some(0), Some(1)][class]
}

pub(crate) fn lineage(class: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(class), |&class| parent(class))
}

pub(crate) fn members(mask: Mask) -> impl Iterator<Item = usize> + Clone {
    (0..ATTRIBUTES.len()).filter(move |at| mask >> at & 1 == 1)
}

pub(crate) fn names(attributes: impl IntoIterator<Item = usize>) -> String {
    attributes.into_iter().map(|at| ATTRIBUTES[at].0).collect::<Vec<_>>().join(" ")
}

pub(crate) fn pairs(attributes: &[usize], value: usize) -> String {
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
            notified: Default::default(),
        }
    }

    pub(crate) fn of(&self, federate: usize) -> &Federate {
        self.federates[federate].as_ref().expect("checked")
    }

    pub(crate) fn of_mut(&mut self, federate: usize) -> &mut Federate {
        self.federates[federate].as_mut().expect("checked")
    }

    pub(crate) fn joined(&self) -> impl Iterator<Item = (usize, &Federate)> {
        self.federates.iter().enumerate().filter_map(|(joined, federate)| Some((joined, federate.as_ref()?)))
    }

    pub(crate) fn notify(&mut self, federate: usize, callback: String) {
        self.notified[federate].push(callback);
    }

    fn is_available(&self, attribute: usize, class: usize) -> bool {
        (attribute < 6 || self.extended) && lineage(class).any(|at| at == ATTRIBUTES[attribute].1)
    }

    pub(crate) fn check_class(&self, class: usize) -> Result<(), Exception> {
        if class == 4 && !self.extended { Err(ObjectClassNotDefined) } else { Ok(()) }
    }

    pub(crate) fn check(&self, class: usize, attributes: Mask) -> Result<BTreeSet<usize>, Exception> {
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

    pub(crate) fn known(&self, federate: usize, instance: u32) -> Result<(&Instance, usize), Exception> {
        let object = self.instances.get(&instance).ok_or(ObjectInstanceNotKnown)?;
        Ok((object, *object.known.get(&federate).ok_or(ObjectInstanceNotKnown)?))
    }

    pub(crate) fn owned(&self, federate: usize, instance: u32, attributes: Mask) -> Result<(), Exception> {
        let (object, known_as) = self.known(federate, instance)?;
        for attribute in members(attributes) {
            if !self.is_available(attribute, known_as) {
                return Err(AttributeNotDefined);
            }
            if object.owners.get(&attribute) != Some(&federate) {
                return Err(AttributeNotOwned);
            }
        }
        Ok(())
    }

    pub(crate) fn scope(&self, federate: usize, instance: &Instance) -> BTreeSet<usize> {
        let Some(&known_as) = instance.known.get(&federate) else { return BTreeSet::new() };
        let subscribed =
            |attribute: &usize| self.of(federate).subscriptions.contains_key(&(known_as, *attribute));
        let others = instance.owners.iter().filter(|(_, owner)| **owner != federate);
        others.map(|(&attribute, _)| attribute).filter(subscribed).collect()
    }

    fn relevance(&self, instance: &Instance, attribute: usize) -> Relevance {
        let mut relevance = Relevance::Off;
        for (joined, federate) in self.joined() {
            if !self.scope(joined, instance).contains(&attribute) {
                continue;
            }
            let (active, rate) = federate.subscriptions[&(instance.known[&joined], attribute)];
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
            for (joined, _) in self.joined() {
                view.scope.insert((joined, number), self.scope(joined, instance));
            }
            for (&attribute, &owner) in &instance.owners {
                view.relevance.insert((number, attribute), (owner, self.relevance(instance, attribute)));
            }
        }
        for (joined, federate) in self.joined() {
            let others = || self.joined().filter(|(other, _)| *other != joined);
            for (&class, published) in &federate.publications {
                let wanted = others().any(|(_, other)| {
                    let mut at = lineage(class).flat_map(|class| published.iter().map(move |&a| (class, a)));
                    at.any(|key| other.subscriptions.get(&key).is_some_and(|how| how.0))
                });
                view.registration.insert((joined, class), wanted);
            }
            for &class in &federate.interactions {
                let wanted = others().any(|(_, other)| {
                    (0..=class).any(|at| other.subscribed_interactions.get(&at) == Some(&true))
                });
                view.interactions.insert((joined, class), wanted);
            }
        }
        view
    }

    /// All federates discover what they should. Then all are advised of the differences.
    fn settle(&mut self, before: &View) {
        let mut found = Vec::new();
        for (&number, instance) in &self.instances {
            for (joined, federate) in self.joined().filter(|(joined, _)| !instance.known.contains_key(joined))
            {
                let sees = |class: &usize| {
                    let mut others = instance.owners.iter().filter(|(_, owner)| **owner != joined);
                    others.any(|(&attribute, _)| federate.subscriptions.contains_key(&(*class, attribute)))
                };
                found.extend(lineage(instance.class).find(sees).map(|class| (joined, number, class)));
            }
        }
        for (joined, number, class) in found {
            let instance = self.instances.get_mut(&number).expect("just seen");
            instance.known.insert(joined, class);
            let producer = NAMES[instance.producer];
            self.notify(joined, format!("discover({number}, {}, {producer})", CLASSES[class]));
        }
        let after = self.view();
        self.advise_of_scope(before, &after);
        self.advise_publishers(before, &after);
    }

    fn advise_of_scope(&mut self, before: &View, after: &View) {
        let none = BTreeSet::new();
        for (&(federate, number), now) in &after.scope {
            let was = before.scope.get(&(federate, number)).unwrap_or(&none);
            let tells = self.of(federate).switches[Switch::Scope as usize];
            let owners = self.instances[&number].owners.clone();
            for attribute in now.difference(was) {
                let name = ATTRIBUTES[*attribute].0;
                if tells {
                    self.notify(federate, format!("inScope({number}, {name})"));
                }
                if self.auto_provide {
                    self.notify(owners[attribute], format!("provide({number}, {name})"));
                }
            }
            let Some(&known_as) = self.instances[&number].known.get(&federate) else { continue };
            for &attribute in was.difference(now) {
                // It is not told of attributes that it unsubscribed itself.
                if tells && self.of(federate).subscriptions.contains_key(&(known_as, attribute)) {
                    self.notify(federate, format!("outOfScope({number}, {})", ATTRIBUTES[attribute].0));
                }
            }
        }
    }

    fn advise_publishers(&mut self, before: &View, after: &View) {
        for (&(number, attribute), &(owner, now)) in &after.relevance {
            let was = before.relevance.get(&(number, attribute)).map_or(Relevance::Off, |&(_, was)| was);
            if now != was && self.of(owner).switches[Switch::Relevance as usize] {
                let name = ATTRIBUTES[attribute].0;
                self.notify(
                    owner,
                    match now {
                        Relevance::Off => format!("updatesOff({number}, {name})"),
                        Relevance::On => format!("updatesOn({number}, {name})"),
                        Relevance::Rate(rate) => format!("updatesOn({number}, {name}, {})", RATES[rate].0),
                    },
                );
            }
        }
        for (&(federate, class), &now) in &after.registration {
            let was = before.registration.get(&(federate, class)).copied().unwrap_or(false);
            if now != was && self.of(federate).switches[Switch::Class as usize] {
                let verb = if now { "start" } else { "stop" };
                self.notify(federate, format!("{verb}Registration({})", CLASSES[class]));
            }
        }
        for (&(federate, class), &now) in &after.interactions {
            let was = before.interactions.get(&(federate, class)).copied().unwrap_or(false);
            if now != was && self.of(federate).switches[Switch::Interaction as usize] {
                let state = if now { "On" } else { "Off" };
                self.notify(federate, format!("interactions{state}({})", INTERACTIONS[class]));
            }
        }
    }

    /// One call. Returns its outcome; all callbacks are in `notified`. `value` is the value in
    /// updates.
    pub(crate) fn apply(&mut self, op: &Op, value: usize) -> Result<(), Exception> {
        let mut before = self.view();
        match op.call {
            Call::Pass { milliseconds } => self.now += milliseconds,
            Call::Join { more } => {
                if self.federates[op.federate].is_some() {
                    return Err(FederateAlreadyExecutionMember);
                }
                self.extended |= more;
                self.federates[op.federate] =
                    Some(Federate { switches: [self.advisories; 4], ..Federate::default() });
            }
            Call::Lose { directive } => {
                if self.federates[op.federate].is_some() {
                    self.leave(op.federate, directive, true)?;
                    self.tell_of_loss();
                }
            }
            _ if self.federates[op.federate].is_none() => return Err(FederateNotExecutionMember),
            Call::Resign { action } => self.leave(op.federate, action, false)?,
            Call::LocalDelete { instance } => {
                self.forget(op.federate, instance)?;
                before.scope.remove(&(op.federate, instance));
            }
            call => self.apply_member(op.federate, call, value)?,
        }
        self.settle(&before);
        Ok(())
    }

    /// The RTI reports the loss by an interaction, whose superclasses others may subscribe (11.5).
    fn tell_of_loss(&mut self) {
        let wants = |at: &usize| {
            let federate = self.federates[*at].as_ref();
            federate.is_some_and(|federate| federate.subscribed_interactions.contains_key(&0))
        };
        for federate in (0..self.federates.len()).filter(wants).collect::<Vec<_>>() {
            self.notify(federate, format!("receive({}, , reliable, RTI)", INTERACTIONS[0]));
        }
    }

    fn apply_member(&mut self, federate: usize, call: Call, value: usize) -> Result<(), Exception> {
        match call {
            Call::Publish { class, attributes } => {
                let attributes = self.check(class, attributes)?;
                if !attributes.is_empty() {
                    let published = self.of_mut(federate).publications.entry(class).or_default();
                    published.extend(attributes);
                    published.insert(0);
                }
            }
            Call::Unpublish { class, attributes } => {
                let attributes = self.check(class, attributes)?;
                self.unpublish(federate, class, &attributes);
            }
            Call::UnpublishClass { class } => {
                self.check_class(class)?;
                self.unpublish(federate, class, &(0..ATTRIBUTES.len()).collect());
            }
            Call::Subscribe { class, attributes, active, rate } => {
                let attributes = self.check(class, attributes)?;
                let how = attributes.into_iter().map(|attribute| ((class, attribute), (active, rate)));
                self.of_mut(federate).subscriptions.extend(how);
            }
            Call::Unsubscribe { class, attributes } => {
                let attributes = self.check(class, attributes)?;
                self.of_mut(federate)
                    .subscriptions
                    .retain(|key, _| key.0 != class || !attributes.contains(&key.1));
            }
            Call::UnsubscribeClass { class } => {
                self.check_class(class)?;
                self.of_mut(federate).subscriptions.retain(|key, _| key.0 != class);
            }
            Call::PublishInteraction { class, publish: true } => {
                self.of_mut(federate).interactions.insert(class);
            }
            Call::PublishInteraction { class, publish: false } => {
                self.of_mut(federate).interactions.remove(&class);
            }
            Call::SubscribeInteraction { class, active } => {
                self.of_mut(federate).subscribed_interactions.insert(class, active);
            }
            Call::UnsubscribeInteraction { class } => {
                self.of_mut(federate).subscribed_interactions.remove(&class);
            }
            Call::PublishDirected { class, interactions } => {
                let listed = self.check_directed(class, interactions)?;
                self.of_mut(federate).directed.extend(listed.into_iter().map(|at| (class, at)));
            }
            Call::UnpublishDirected { class, interactions } => {
                let listed = self.check_directed(class, interactions)?;
                self.of_mut(federate).directed.retain(|key| key.0 != class || !listed.contains(&key.1));
            }
            Call::SubscribeDirected { class, interactions, universally } => {
                let listed = self.check_directed(class, interactions)?;
                let how = listed.into_iter().map(|at| ((class, at), universally));
                self.of_mut(federate).subscribed_directed.extend(how);
            }
            Call::UnsubscribeDirected { class, interactions } => {
                let listed = self.check_directed(class, interactions)?;
                self.of_mut(federate)
                    .subscribed_directed
                    .retain(|key, _| key.0 != class || !listed.contains(&key.1));
            }
            Call::Set { switch, value } => self.of_mut(federate).switches[switch as usize] = value,
            other => return self.apply_to_objects(federate, other, value),
        }
        Ok(())
    }
}
