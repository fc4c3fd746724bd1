//! The standard in the plainest form: sets, and differences between before and after.

use crate::op::{ATTRIBUTES, CLASSES, INTERACTIONS, Mask, Op, RATES, Switch, What};
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

/// The model; callbacks that it expects are collected in `told`.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) federates: [Option<Federate>; 3],
    pub(crate) instances: BTreeMap<u32, Instance>,
    pub(crate) last_instance: u32,
    pub(crate) extended: bool,
    pub(crate) now: u64,
    auto_provide: bool,
    advisories: bool,
    pub(crate) told: [Vec<String>; 3],
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
            told: Default::default(),
        }
    }

    pub(crate) fn of(&self, who: usize) -> &Federate {
        self.federates[who].as_ref().expect("checked")
    }

    pub(crate) fn of_mut(&mut self, who: usize) -> &mut Federate {
        self.federates[who].as_mut().expect("checked")
    }

    pub(crate) fn joined(&self) -> impl Iterator<Item = (usize, &Federate)> {
        self.federates.iter().enumerate().filter_map(|(who, federate)| Some((who, federate.as_ref()?)))
    }

    pub(crate) fn tell(&mut self, who: usize, callback: String) {
        self.told[who].push(callback);
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

    pub(crate) fn known(&self, who: usize, instance: u32) -> Result<(&Instance, usize), Exception> {
        let object = self.instances.get(&instance).ok_or(ObjectInstanceNotKnown)?;
        Ok((object, *object.known.get(&who).ok_or(ObjectInstanceNotKnown)?))
    }

    pub(crate) fn owned(&self, who: usize, instance: u32, attributes: Mask) -> Result<(), Exception> {
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

    pub(crate) fn scope(&self, who: usize, instance: &Instance) -> BTreeSet<usize> {
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

    /// All federates discover what they should. Then all are advised of the differences.
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
                // It is not told of attributes that it unsubscribed itself.
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

    /// One call. Returns its outcome; all callbacks are in `told`. `value` is the value in updates.
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
