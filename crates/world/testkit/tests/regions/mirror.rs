//! The state of a federation by the answers and callbacks of its federates, and the consequences
//! that clause 9 draws from it.
//!
//! A federate's regions, subscriptions and associations change by its own calls only, so the answers
//! tell all about them. It owns an attribute from the notification, or the registration, until the
//! call that gives the attribute up is answered.

use crate::calls::{Act, Attributes, CLASSES, DIMENSIONS, Pairs, Ranges, attributes, dimensions};
use hla::handle::{ObjectInstanceHandle, RegionHandle};
use std::collections::{BTreeMap, BTreeSet};

/// An attribute of an instance.
pub(crate) type Place = (ObjectInstanceHandle, usize);

#[derive(Default, Debug)]
pub(crate) struct Region {
    template: BTreeMap<usize, Option<(u32, u32)>>,
    pub(crate) committed: Option<Ranges>,
}

/// A federate.
#[derive(Default, Debug)]
pub(crate) struct Fed {
    pub(crate) is_dead: bool,
    pub(crate) regions: BTreeMap<RegionHandle, Region>,
    /// Class, attribute, region; `None`: without regions.
    pub(crate) subscriptions: BTreeSet<(usize, usize, Option<RegionHandle>)>,
    pub(crate) interactions: BTreeSet<(usize, Option<RegionHandle>)>,
    pub(crate) updates: BTreeSet<(Place, RegionHandle)>,
    pub(crate) owns: BTreeSet<Place>,
    /// The instances that it knows, with their known classes.
    pub(crate) known: BTreeMap<ObjectInstanceHandle, usize>,
    /// Attributes that it has been told to be in scope.
    pub(crate) in_scope: BTreeSet<Place>,
    /// Attributes that it may have lost from its scope by a call of its own.
    pub(crate) doubtful: BTreeSet<Place>,
    /// All ranges that it has ever had in subscriptions, since the network was last quiet; `None`:
    /// a subscription without regions.
    pub(crate) lately: BTreeSet<(usize, usize, Option<Ranges>)>,
    pub(crate) interactions_lately: BTreeSet<(usize, Option<Ranges>)>,
    /// All ranges that it has ever committed.
    pub(crate) ever: BTreeSet<Ranges>,
}

impl Fed {
    pub(crate) fn region(&self, region: RegionHandle) -> Ranges {
        self.regions.get(&region).and_then(|region| region.committed.clone()).unwrap_or_default()
    }

    /// Its regions that have been committed.
    pub(crate) fn committed(&self) -> Vec<RegionHandle> {
        let all = self.regions.iter().filter(|(_, region)| region.committed.is_some());
        all.map(|(&handle, _)| handle).collect()
    }

    /// Its regions with bounds on all dimensions.
    pub(crate) fn with_bounds(&self) -> Vec<RegionHandle> {
        let all = self.regions.iter().filter(|(_, region)| region.template.values().all(Option::is_some));
        all.map(|(&handle, _)| handle).collect()
    }

    pub(crate) fn dimensions_of(&self, region: RegionHandle) -> Vec<usize> {
        self.regions.get(&region).map(|region| region.template.keys().copied().collect()).unwrap_or_default()
    }

    /// Whether a region is used, so that it may not be deleted.
    pub(crate) fn uses(&self, region: RegionHandle) -> bool {
        self.subscriptions.iter().any(|(_, _, used)| *used == Some(region))
            || self.interactions.iter().any(|(_, used)| *used == Some(region))
            || self.updates.iter().any(|(_, used)| *used == region)
    }

    pub(crate) fn owned_of(&self, instance: ObjectInstanceHandle) -> Attributes {
        self.owns.iter().filter(|(of, _)| *of == instance).map(|(_, attribute)| *attribute).collect()
    }

    pub(crate) fn created(&mut self, region: RegionHandle, of: &BTreeSet<usize>) {
        let template = of.iter().map(|&dimension| (dimension, None)).collect();
        self.regions.insert(region, Region { template, committed: None });
    }

    pub(crate) fn registered(&mut self, instance: ObjectInstanceHandle, class: usize, pairs: &Pairs) {
        self.known.insert(instance, class);
        self.owns.extend(attributes(class).map(|attribute| (instance, attribute)));
        self.updates.extend(pairs.iter().map(|&(attribute, region)| ((instance, attribute), region)));
    }

    /// It no longer knows the instance.
    pub(crate) fn forget(&mut self, instance: ObjectInstanceHandle) {
        self.known.remove(&instance);
        self.owns.retain(|(of, _)| *of != instance);
        self.in_scope.retain(|(of, _)| *of != instance);
        self.updates.retain(|((of, _), _)| *of != instance);
    }

    /// It no longer owns attributes.
    pub(crate) fn give(&mut self, instance: ObjectInstanceHandle, given: &Attributes) {
        for &attribute in given {
            if self.owns.remove(&(instance, attribute)) {
                self.updates.retain(|(place, _)| *place != (instance, attribute));
            }
        }
    }

    /// A call was served that concerns nobody else's state.
    pub(crate) fn served(&mut self, act: &Act) {
        match act {
            Act::SetBounds(region, dimension, bounds) => {
                if let Some(region) = self.regions.get_mut(region) {
                    region.template.insert(*dimension, Some(*bounds));
                }
            }
            Act::Commit(regions) => {
                for region in regions {
                    let region = self.regions.get_mut(region).expect("a region of this federate");
                    let ranges = region.template.iter().map(|(&at, bounds)| Some((at, (*bounds)?)));
                    region.committed = ranges.collect();
                    self.ever.extend(region.committed.clone());
                }
                self.note_subscriptions();
            }
            Act::DeleteRegion(region) => drop(self.regions.remove(region)),
            Act::Subscribe(class, of) => self.subscriptions.extend(of.iter().map(|&at| (*class, at, None))),
            Act::Unsubscribe(class, of) => {
                self.subscriptions
                    .retain(|(at, a, region)| region.is_some() || at != class || !of.contains(a));
            }
            Act::SubscribeWith(class, of) => {
                self.subscriptions.extend(of.iter().map(|&(at, region)| (*class, at, Some(region))));
            }
            Act::UnsubscribeWith(class, of) => {
                for &(attribute, region) in of {
                    self.subscriptions.remove(&(*class, attribute, Some(region)));
                }
            }
            Act::SubscribeInteraction(class) => drop(self.interactions.insert((*class, None))),
            Act::UnsubscribeInteraction(class) => drop(self.interactions.remove(&(*class, None))),
            Act::SubscribeInteractionWith(class, of) => {
                self.interactions.extend(of.iter().map(|&region| (*class, Some(region))));
            }
            Act::UnsubscribeInteractionWith(class, of) => {
                self.interactions
                    .retain(|(at, region)| at != class || region.is_none_or(|region| !of.contains(&region)));
            }
            Act::Associate(instance, of) => {
                self.updates.extend(of.iter().map(|&(at, region)| ((*instance, at), region)));
            }
            Act::Unassociate(instance, of) => {
                for &(attribute, region) in of {
                    self.updates.remove(&((*instance, attribute), region));
                }
            }
            Act::LocalDelete(instance) | Act::Delete(instance) => self.forget(*instance),
            Act::Divest(instance, given) => self.give(*instance, given),
            _ => {}
        }
    }

    /// Notes what a call may make the subscriptions before its answer is here.
    pub(crate) fn note_call(&mut self, act: &Act) {
        match act {
            Act::Subscribe(class, of) => self.lately.extend(of.iter().map(|&at| (*class, at, None))),
            Act::SubscribeWith(class, of) => {
                let new: Vec<_> = of.iter().map(|&(at, r)| (*class, at, Some(self.region(r)))).collect();
                self.lately.extend(new);
            }
            Act::SubscribeInteraction(class) => drop(self.interactions_lately.insert((*class, None))),
            Act::SubscribeInteractionWith(class, of) => {
                let new: Vec<_> = of.iter().map(|&region| (*class, Some(self.region(region)))).collect();
                self.interactions_lately.extend(new);
            }
            // It was drawn before one of them was deleted, and will be refused.
            Act::Commit(regions) if !regions.iter().all(|region| self.regions.contains_key(region)) => {}
            Act::Commit(regions) => {
                // The new ranges may be seen before the answer is.
                let before: Vec<_> = regions
                    .iter()
                    .filter_map(|region| Some((*region, self.regions.get(region)?.committed.clone())))
                    .collect();
                self.served(act);
                for (handle, committed) in before {
                    self.regions.get_mut(&handle).expect("it was there").committed = committed;
                }
            }
            _ => {}
        }
    }

    fn note_subscriptions(&mut self) {
        let all = self.subscriptions.iter();
        let all: Vec<_> =
            all.map(|&(class, at, region)| (class, at, region.map(|region| self.region(region)))).collect();
        self.lately.extend(all);
        let all = self.interactions.iter();
        let all: Vec<_> =
            all.map(|&(class, region)| (class, region.map(|region| self.region(region)))).collect();
        self.interactions_lately.extend(all);
    }

    /// The network is quiet: only the present subscriptions count from now on.
    pub(crate) fn is_quiet(&mut self) {
        self.lately.clear();
        self.interactions_lately.clear();
        self.note_subscriptions();
    }
}

/// A federation.
#[derive(Default, Debug)]
pub(crate) struct Mirror {
    pub(crate) feds: Vec<Fed>,
    /// The instances with the classes at which they were registered.
    pub(crate) instances: BTreeMap<ObjectInstanceHandle, usize>,
}

impl Mirror {
    pub(crate) fn live(&self) -> Vec<usize> {
        (0..self.feds.len()).filter(|&at| !self.feds[at].is_dead).collect()
    }

    pub(crate) fn owner(&self, place: Place) -> Option<usize> {
        self.live().into_iter().find(|&at| self.feds[at].owns.contains(&place))
    }

    /// The update regions of an attribute, as its owner has associated them, in the order of their
    /// handles.
    pub(crate) fn update_regions(&self, place: Place) -> Vec<Ranges> {
        let Some(owner) = self.owner(place) else { return Vec::new() };
        let owner = &self.feds[owner];
        owner.updates.iter().filter(|(of, _)| *of == place).map(|&(_, region)| owner.region(region)).collect()
    }

    /// Whether a subscription of a federate at a class applies to an attribute.
    pub(crate) fn applies(&self, fed: usize, class: usize, place: Place) -> bool {
        let (sent, registered) = (self.update_regions(place), self.instances[&place.0]);
        let fed = &self.feds[fed];
        let mut all = fed.subscriptions.iter().filter(|(at, of, _)| *at == class && *of == place.1);
        all.any(|(_, _, region)| match region {
            Some(region) => meets(&fed.region(*region), class, &sent, registered),
            None => true,
        })
    }

    /// Whether updates of an attribute reach a federate.
    pub(crate) fn reaches(&self, fed: usize, place: Place) -> bool {
        let is_others = self.owner(place).is_some_and(|owner| owner != fed);
        is_others && self.feds[fed].known.get(&place.0).is_some_and(|&class| self.applies(fed, class, place))
    }

    /// Whether a federate must discover an instance that it does not know.
    pub(crate) fn must_know(&self, fed: usize, instance: ObjectInstanceHandle) -> bool {
        let class = self.instances[&instance];
        let by_others = attributes(class)
            .map(|attribute| (instance, attribute))
            .filter(|&place| self.owner(place).is_some_and(|owner| owner != fed));
        by_others.into_iter().any(|place| (0..=class).any(|at| self.applies(fed, at, place)))
    }

    /// The class at which a federate gets an interaction.
    pub(crate) fn hears(&self, fed: usize, class: usize, regions: &[Ranges]) -> Option<usize> {
        let fed = &self.feds[fed];
        let wants = |&at: &usize| {
            fed.interactions.iter().filter(|(of, _)| *of == at).any(|(_, region)| match region {
                Some(region) => meets(&fed.region(*region), at, regions, class),
                None => true,
            })
        };
        (0..CLASSES).filter(|&at| at <= class).rev().find(wants)
    }

    /// The places for which a request with regions asks, all owners together.
    pub(crate) fn asked(&self, fed: usize, class: usize, pairs: &Pairs) -> BTreeSet<Place> {
        let mut asked = BTreeSet::new();
        for (&instance, &registered) in self.instances.iter().filter(|(_, at)| **at >= class) {
            for &(attribute, region) in pairs {
                let place = (instance, attribute);
                let ranges = self.feds[fed].region(region);
                if self.owner(place).is_some_and(|owner| owner != fed)
                    && meets(&ranges, class, &self.update_regions(place), registered)
                {
                    asked.insert(place);
                }
            }
        }
        asked
    }
}

/// Whether a region that is used at a class overlaps one of the regions of a message, or the message
/// has none.
pub(crate) fn meets(wanted: &Ranges, class: usize, sent: &[Ranges], sent_class: usize) -> bool {
    let wanted = effective(wanted, class);
    sent.is_empty() || sent.iter().any(|sent| overlap(&wanted, &effective(sent, sent_class)))
}

/// The ranges of a region, with the default ranges of the dimensions that it lacks.
fn effective(ranges: &Ranges, class: usize) -> Ranges {
    let mut all = ranges.clone();
    for dimension in dimensions(class) {
        if let Some(default) = DIMENSIONS[dimension].1 {
            all.entry(dimension).or_insert(default);
        }
    }
    all
}

fn overlap(a: &Ranges, b: &Ranges) -> bool {
    let common: Vec<_> = a.iter().filter_map(|(at, a)| b.get(at).map(|b| (a, b))).collect();
    !common.is_empty() && common.iter().all(|(a, b)| a.0 < b.1 && b.0 < a.1)
}
