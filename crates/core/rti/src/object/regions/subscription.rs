//! Subscriptions with regions (9.8 to 9.11).

use super::super::federate::{ClassSubscription, Federate, Rate, Subscription, together};
use super::super::objects::Objects;
use super::overlap::{Usage, overlaps_any};
use super::table::Subscriber;
use crate::effect::Effects;
use crate::limits::{REGIONS_PER_CALL_MAX, SUBSCRIPTION_REGIONS_MAX, UPDATE_REGIONS_MAX, check_number};
use crate::wire::{Payload, RegionSet};
use hla::api::{AttributeSetRegionSetPairList, RegionHandleSet};
use hla::fom::Fdd;
use hla::handle::{AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, RegionHandle};
use hla::{Exception, RtiError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Pairs of an attribute and a region.
pub(super) type Pairs = BTreeSet<(AttributeHandle, RegionHandle)>;

/// The subscriptions of one object class of which some have regions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SubscriptionsWithRegions {
    /// Those without.
    plain: ClassSubscription,
    with_regions: BTreeMap<(AttributeHandle, RegionHandle), Subscription>,
    /// The regions of each attribute as other nodes know them, unless it is subscribed everywhere.
    pub(super) summaries: BTreeMap<AttributeHandle, RegionSet>,
}

impl SubscriptionsWithRegions {
    /// The number of subscriptions with regions.
    pub(super) fn count(&self) -> usize {
        self.with_regions.len()
    }

    /// The subscription of an attribute without regions.
    pub(super) fn plain(&self, attribute: AttributeHandle) -> Option<Subscription> {
        self.plain.get(&attribute).copied()
    }

    /// The subscriptions of an attribute with regions.
    pub(super) fn of(
        &self,
        attribute: AttributeHandle,
    ) -> impl Iterator<Item = (RegionHandle, Subscription)> {
        let all = (attribute, RegionHandle(0))..=(attribute, RegionHandle(u64::MAX));
        self.with_regions.range(all).map(|(&(_, region), &how)| (region, how))
    }

    /// Whether the attribute is subscribed with regions.
    pub(super) fn has(&self, attribute: AttributeHandle) -> bool {
        self.of(attribute).next().is_some()
    }

    /// For each attribute all its subscriptions together.
    fn union(&self, rates: &[Rate]) -> ClassSubscription {
        let mut union = self.plain.clone();
        for (&(attribute, _), &how) in &self.with_regions {
            let all = together(union.get(&attribute).copied(), how, rates);
            union.insert(attribute, all);
        }
        union
    }

    /// The subscriptions of an attribute that apply where `applies` says of a region whether it
    /// does.
    pub(super) fn applicable(
        &self,
        attribute: AttributeHandle,
        rates: &[Rate],
        applies: impl Fn(RegionHandle) -> bool,
    ) -> Option<Subscription> {
        let applicable = self.of(attribute).filter(|&(region, _)| applies(region));
        applicable.fold(self.plain(attribute), |all, (_, how)| Some(together(all, how, rates)))
    }
}

/// The subscription of one interaction class that has regions; true: active.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct InteractionWithRegions {
    plain: Option<bool>,
    with_regions: BTreeMap<RegionHandle, bool>,
    /// The regions as other nodes know them; the default region: it is subscribed everywhere.
    pub(super) summary: RegionSet,
}

impl InteractionWithRegions {
    /// The number of regions.
    pub(super) fn count(&self) -> usize {
        self.with_regions.len()
    }

    /// The regions that narrow the subscription. There are none if it also exists without regions.
    pub(super) fn narrowing(&self) -> impl Iterator<Item = RegionHandle> {
        self.with_regions.keys().copied().filter(|_| self.plain.is_none())
    }

    fn union(&self) -> Option<bool> {
        self.plain.into_iter().chain(self.with_regions.values().copied()).max()
    }
}

impl Objects {
    /// Subscribe Object Class Attributes With Regions (9.8), actively or passively, with or without
    /// a rate.
    pub(crate) fn subscribe_with_regions(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        pairs: Option<&AttributeSetRegionSetPairList>,
        (active, rate): (bool, &str),
    ) -> Result<(), RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?.handle;
        let pairs = self.usable_pairs(federate, class, pairs)?;
        self.refuse_mom_class("subscribeObjectClassAttributesWithRegions", class)?;
        let how = Subscription { active, rate: self.rate(rate)? };
        if pairs.is_empty() {
            return Ok(());
        }
        let known = self.federate(federate).distribution.attributes.get(&class);
        for of_attribute in pairs.iter().collect::<Vec<_>>().chunk_by(|a, b| a.0 == b.0) {
            let earlier = |pair: &&&_| known.is_some_and(|known| known.with_regions.contains_key(**pair));
            let more = of_attribute.len() - of_attribute.iter().filter(earlier).count();
            let attribute = of_attribute.first().map(|(attribute, _)| *attribute).unwrap_or_default();
            let number = more + known.map_or(0, |known| known.of(attribute).count());
            check_number("regions with which an attribute is subscribed", number, SUBSCRIPTION_REGIONS_MAX)?;
        }
        let before = self.subscriptions_at(federate, class);
        let known = self.federate_mut(federate);
        let plain = || SubscriptionsWithRegions { plain: before.clone(), ..Default::default() };
        let subscriptions = known.distribution.attributes.entry(class).or_insert_with(plain);
        subscriptions.with_regions.extend(pairs.iter().map(|&pair| (pair, how)));
        let used = pairs.into_iter().map(|(attribute, of)| (of, Subscriber::Attribute(class, attribute)));
        self.note_subscribers(federate, used, true);
        self.subscriptions_replaced(effects, federate, class, &before);
        Ok(())
    }

    /// Unsubscribe Object Class Attributes With Regions (9.9).
    pub(crate) fn unsubscribe_with_regions(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        pairs: Option<&AttributeSetRegionSetPairList>,
    ) -> Result<(), RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?.handle;
        let pairs = self.pairs_of(federate, class, pairs)?;
        let before = self.subscriptions_at(federate, class);
        let distribution = &mut self.federate_mut(federate).distribution;
        let Some(subscriptions) = distribution.attributes.get_mut(&class) else { return Ok(()) };
        let gone: Vec<_> =
            pairs.into_iter().filter(|pair| subscriptions.with_regions.remove(pair).is_some()).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let unused = gone.into_iter().map(|(attribute, of)| (of, Subscriber::Attribute(class, attribute)));
        self.note_subscribers(federate, unused, false);
        self.subscriptions_replaced(effects, federate, class, &before);
        Ok(())
    }

    /// The subscriptions of a class without regions, which a plain service changes.
    pub(crate) fn plain_subscriptions(
        &mut self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> &mut ClassSubscription {
        let federate = self.federate_mut(federate);
        match federate.distribution.attributes.get_mut(&class) {
            Some(subscriptions) => &mut subscriptions.plain,
            None => federate.subscriptions.entry(class).or_default(),
        }
    }

    /// All subscriptions of a class.
    pub(crate) fn subscriptions_at(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> ClassSubscription {
        self.federate(federate).subscriptions.get(&class).cloned().unwrap_or_default()
    }

    /// Updates the union of the subscriptions of a class after one of them has changed, and handles
    /// the consequences. `before`: the former union.
    pub(crate) fn subscriptions_replaced(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: ObjectClassHandle,
        before: &ClassSubscription,
    ) {
        let Self { federates, rates, .. } = self;
        let Some(known) = federates.get_mut(&federate) else { return };
        if let Some(subscriptions) = known.distribution.attributes.get(&class) {
            known.subscriptions.insert(class, subscriptions.union(rates));
            if subscriptions.with_regions.is_empty() {
                known.distribution.attributes.remove(&class);
            }
        }
        let now = known.subscriptions.get(&class).map_or(0, BTreeMap::len);
        if now == 0 {
            known.subscriptions.remove(&class);
        }
        let is_less = before.keys().any(|attribute| known.subscription(class, *attribute).is_none());
        known.unsubscribed += u64::from(is_less);
        self.declarations = self.declarations + now - before.len();
        match (before.is_empty(), now == 0) {
            (true, false) => self.cover_objects(effects, federate, class),
            (false, true) => self.withdraw_object_interest(effects, federate, class),
            _ => {}
        }
        self.subscription_changed(effects, federate, class, before);
    }

    /// Subscribe Interaction Class With Regions (9.10), actively or passively.
    pub(crate) fn subscribe_interaction_with_regions(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
        regions: Option<&RegionHandleSet>,
        active: bool,
    ) -> Result<(), RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?.handle;
        let regions = self.regions_at(federate, class, regions)?;
        self.refuse_mom_interaction("subscribeInteractionClassWithRegions", class)?;
        if regions.is_empty() {
            return Ok(());
        }
        let earlier = self.federate(federate).distribution.interactions.get(&class);
        let earlier = earlier.map_or(0, |earlier| {
            earlier.with_regions.keys().filter(|region| !regions.contains(region)).count()
        });
        let subject = "regions with which an interaction class is subscribed";
        check_number(subject, earlier + regions.len(), SUBSCRIPTION_REGIONS_MAX)?;
        let known = self.federate_mut(federate);
        let plain = known.subscribed_interactions.get(&class).copied();
        let new = || InteractionWithRegions { plain, ..Default::default() };
        let subscription = known.distribution.interactions.entry(class).or_insert_with(new);
        subscription.with_regions.extend(regions.iter().map(|&region| (region, active)));
        let used = regions.into_iter().map(|region| (region, Subscriber::Interaction(class)));
        self.note_subscribers(federate, used, true);
        self.interaction_replaced(effects, federate, class);
        Ok(())
    }

    /// Unsubscribe Interaction Class With Regions (9.11).
    pub(crate) fn unsubscribe_interaction_with_regions(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
        regions: Option<&RegionHandleSet>,
    ) -> Result<(), RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?.handle;
        let listed = regions.map(|set| set.region_handle.as_slice()).unwrap_or_default();
        for &region in listed {
            self.own_region(federate, Some(region))?;
        }
        let distribution = &mut self.federate_mut(federate).distribution;
        let Some(subscription) = distribution.interactions.get_mut(&class) else { return Ok(()) };
        for region in listed {
            subscription.with_regions.remove(region);
        }
        let unused = listed.iter().map(|&region| (region, Subscriber::Interaction(class)));
        self.note_subscribers(federate, unused, false);
        self.interaction_replaced(effects, federate, class);
        Ok(())
    }

    /// Changes the subscription of an interaction class without regions; `None` ends it.
    pub(crate) fn set_plain_interaction(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: InteractionClassHandle,
        plain: Option<bool>,
    ) {
        let known = self.federate_mut(federate);
        match known.distribution.interactions.get_mut(&class) {
            Some(subscription) => {
                subscription.plain = plain;
                self.interaction_replaced(effects, federate, class);
            }
            None => self.set_interaction(effects, federate, class, plain),
        }
    }

    /// Updates the union of the subscriptions of an interaction class after one of them has changed.
    fn interaction_replaced(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        let distribution = &mut self.federate_mut(federate).distribution;
        let Some(subscription) = distribution.interactions.get(&class) else { return };
        let union = subscription.union();
        if subscription.with_regions.is_empty() {
            distribution.interactions.remove(&class);
        }
        let before = self.federate(federate).subscribed_interactions.get(&class).copied();
        self.set_interaction(effects, federate, class, union);
        if before == union {
            self.declare_interaction(effects, federate, class);
        }
    }

    /// Whether an interaction that was sent at class `sent` reaches a subscription of `federate` at
    /// the class `at`.
    pub(crate) fn is_interaction_wanted(
        &self,
        federate: &Federate,
        at: InteractionClassHandle,
        (sent, payload): (InteractionClassHandle, &Payload),
    ) -> bool {
        if !federate.subscribed_interactions.contains_key(&at) {
            return false;
        }
        let Some(subscription) = federate.distribution.interactions.get(&at) else { return true };
        if payload.regions.is_empty() || subscription.plain.is_some() {
            return true;
        }
        let (here, there) =
            (Usage::of_interaction(&self.model, at), Usage::of_interaction(&self.model, sent));
        let mut wanted =
            subscription.with_regions.keys().filter_map(|&of| federate.distribution.specification(of));
        wanted.any(|ranges| overlaps_any(ranges, here, &payload.regions, there))
    }

    /// The pairs of a request, each with a region that may be used with the attribute.
    pub(super) fn usable_pairs(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        pairs: Option<&AttributeSetRegionSetPairList>,
    ) -> Result<Pairs, RtiError> {
        check_pairs(pairs)?;
        let known = self.class_of(class);
        let mut all = Pairs::new();
        for pair in pairs.map(|list| list.attribute_set_region_set_pair.as_slice()).unwrap_or_default() {
            let regions = pair.region_set.as_ref().map(|set| set.region_handle.as_slice());
            for &region in regions.unwrap_or_default() {
                self.specified_region(federate, region)?;
            }
            for attribute in self.attributes_at(known, pair.attribute_set.as_ref())? {
                let usage = Usage::of_attribute(&self.model, class, attribute);
                let subject = || {
                    let name = self.model.attribute(attribute).map_or("", |attribute| &attribute.name);
                    format!("`{name}` of `{}`", known.name)
                };
                let usable = self.usable_regions(federate, regions.unwrap_or_default(), usage, subject)?;
                all.extend(usable.into_iter().map(|region| (attribute, region)));
            }
        }
        Ok(all)
    }

    /// The pairs of a request that ends the use of regions.
    pub(super) fn pairs_of(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        pairs: Option<&AttributeSetRegionSetPairList>,
    ) -> Result<Pairs, RtiError> {
        check_pairs(pairs)?;
        let known = self.class_of(class);
        let mut all = Pairs::new();
        for pair in pairs.map(|list| list.attribute_set_region_set_pair.as_slice()).unwrap_or_default() {
            let regions = pair.region_set.as_ref().map(|set| set.region_handle.as_slice());
            let regions = regions.unwrap_or_default();
            for &region in regions {
                self.own_region(federate, Some(region))?;
            }
            for attribute in self.attributes_at(known, pair.attribute_set.as_ref())? {
                all.extend(regions.iter().map(|&region| (attribute, region)));
            }
        }
        Ok(all)
    }

    /// The regions of a request, which may be used with an interaction class.
    fn regions_at(
        &self,
        federate: FederateHandle,
        class: InteractionClassHandle,
        regions: Option<&RegionHandleSet>,
    ) -> Result<BTreeSet<RegionHandle>, RtiError> {
        let listed = regions.map(|set| set.region_handle.as_slice()).unwrap_or_default();
        check_number("regions in one call", listed.len(), REGIONS_PER_CALL_MAX)?;
        let usage = Usage::of_interaction(&self.model, class);
        let name =
            || self.model.interaction_class(class).map_or(String::new(), |of| format!("`{}`", of.name));
        self.usable_regions(federate, listed, usage, name)
    }

    /// The regions with which an interaction is sent (9.12).
    pub(crate) fn sent_regions(
        &self,
        federate: FederateHandle,
        class: InteractionClassHandle,
        regions: Option<&RegionHandleSet>,
    ) -> Result<RegionSet, RtiError> {
        let regions = self.regions_at(federate, class, regions)?;
        check_number("regions with which a message is sent", regions.len(), UPDATE_REGIONS_MAX)?;
        Ok(self.federate(federate).distribution.set(&regions))
    }
}

/// Checks the number of attributes and regions in a call.
fn check_pairs(pairs: Option<&AttributeSetRegionSetPairList>) -> Result<(), RtiError> {
    let pairs = pairs.map(|list| list.attribute_set_region_set_pair.as_slice()).unwrap_or_default();
    let number = pairs.iter().map(|pair| {
        let attributes = pair.attribute_set.as_ref().map_or(0, |set| set.attribute_handle.len());
        attributes.max(1) * pair.region_set.as_ref().map_or(0, |set| set.region_handle.len())
    });
    check_number("pairs of an attribute and a region in one call", number.sum(), REGIONS_PER_CALL_MAX)
}

/// The subscriptions of an attribute, at the class where `federate` subscribes it, that apply to an
/// instance attribute with these update regions; `registered`: the class of the instance.
pub(super) fn applicable(
    (model, rates): (&Fdd, &[Rate]),
    federate: &Federate,
    (class, registered): (ObjectClassHandle, ObjectClassHandle),
    attribute: AttributeHandle,
    update_regions: &RegionSet,
) -> Option<Subscription> {
    let Some(subscriptions) = federate.distribution.attributes.get(&class).filter(|s| s.has(attribute))
    else {
        return federate.subscription(class, attribute);
    };
    if update_regions.is_empty() {
        return federate.subscription(class, attribute);
    }
    let here = Usage::of_attribute(model, class, attribute);
    let there = Usage::of_attribute(model, registered, attribute);
    subscriptions.applicable(attribute, rates, |region| {
        let ranges = federate.distribution.specification(region);
        ranges.is_some_and(|ranges| overlaps_any(ranges, here, update_regions, there))
    })
}
