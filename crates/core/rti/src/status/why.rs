//! Why a federate does or does not receive the updates of an object instance.

mod sentences;

use crate::control::Federation;
use crate::object::objects::Objects;
use crate::object::regions::Separation;
use crate::object::why::{AttributeStanding, Standing};
use crate::rti::Rti;
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use serde::{Deserialize, Serialize};

/// The greatest number of attributes in one report. No person reads more of them.
const ATTRIBUTES_MAX: usize = 200;

/// The greatest number of names that an error lists.
const NAMES_MAX: usize = 10;

/// The greatest number of dimensions that are described for one pair of regions.
const DIMENSIONS_MAX: usize = 16;

/// Whether and why a federate receives the updates of an object instance, as its node knows it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct WhyStatus {
    /// The name of the federation execution.
    pub federation: String,
    /// The name of the object instance.
    pub object: String,
    /// Its handle.
    pub handle: String,
    /// The name of the class at which it was registered.
    pub class: String,
    /// The name of the federate.
    pub federate: String,
    /// The name of the class at which the federate knows the instance, if it does.
    pub known_class: Option<String>,
    /// Whether the federate knows the instance, and why not, in one sentence.
    pub summary: String,
    /// If the federate knows the instance: all attributes of the known class. If not: those that it
    /// subscribes, at the class of the instance and at those above it.
    pub attributes: Vec<AttributeWhy>,
    /// The number of attributes that are left out, because there are too many.
    pub omitted: usize,
}

/// Whether and why a federate receives the updates of an attribute.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AttributeWhy {
    /// The name of the attribute.
    pub name: String,
    /// The name of the class that counts for the subscription: the known class, or, if the federate
    /// does not know the instance, the class at which it subscribes the attribute.
    pub class: String,
    /// The name of the federate that owns the attribute.
    pub owner: Option<String>,
    /// The subscription of the attribute at that class.
    pub subscription: Option<SubscriptionStatus>,
    /// The name of another class, from that of the instance upwards, at which the federate
    /// subscribes the attribute.
    pub elsewhere: Option<String>,
    /// The number of its update regions.
    pub update_regions: usize,
    /// An update region and a subscribed region that overlap, if regions decide.
    pub overlapping: Option<(String, String)>,
    /// The first pairs of regions that do not overlap.
    pub separated: Vec<SeparatedRegions>,
    /// There are more pairs of regions than the node has compared.
    pub cut_short: bool,
    /// Whether the attribute is in scope: the federate receives its updates.
    pub in_scope: bool,
    /// The reason, in words.
    pub reason: String,
}

/// The subscriptions of an attribute at one class. Activity and rate are those of the subscriptions
/// that apply to the instance, or of all of them if none applies.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SubscriptionStatus {
    /// Whether there is one without regions.
    pub plain: bool,
    /// The number of those with a region; of very many, only the first are counted.
    pub regions: usize,
    /// Whether one of them is active.
    pub active: bool,
    /// The update rate designator, if the rate is limited.
    pub rate: Option<String>,
    /// The limit of the rate.
    pub updates_per_s: Option<f64>,
}

/// An update region and a subscribed region that do not overlap.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SeparatedRegions {
    /// The handle of the update region.
    pub update_region: String,
    /// The handle of the subscribed region.
    pub subscribed_region: String,
    /// The ranges without a common value. None: the regions have no common dimension.
    pub apart: Vec<ApartStatus>,
}

/// The ranges of two regions on a dimension on which they have no common value. A region that was
/// created without the dimension has its default range. Lower bounds belong to the range, and upper
/// bounds do not.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ApartStatus {
    /// The name of the dimension.
    pub dimension: String,
    /// The range of the update region.
    pub update: (u32, u32),
    /// The range of the subscribed region.
    pub subscribed: (u32, u32),
}

impl Rti {
    /// Whether and why a federate of this node receives the updates of an object instance. `object`
    /// is its name or its handle. The federation execution may be left out if there is only one
    /// here.
    ///
    /// # Errors
    /// The federation execution, the federate or the instance is unknown to this node, or the
    /// federate is joined at another node: the reason in words.
    pub fn why(&self, federation: Option<&str>, object: &str, federate: &str) -> Result<WhyStatus, String> {
        let (known, objects) = match federation {
            Some(name) => self.federation_here(name)?,
            None => self.only_federation_here()?,
        };
        let receiver = self.federate_here(known, objects, federate)?;
        let instance = find(objects, object).ok_or_else(|| unknown(known, objects, receiver, object))?;
        let standing = objects.standing(receiver, instance);
        let standing = standing.ok_or_else(|| unknown(known, objects, receiver, object))?;
        Ok(Describer { federation: known, objects }.status(receiver, instance, &standing))
    }

    fn only_federation_here(&self) -> Result<(&Federation, &Objects), String> {
        let all = self.control().federations().filter_map(|known| Some((known, self.objects(known.id)?)));
        let all: Vec<_> = all.collect();
        match all[..] {
            [] => Err("no federate has joined at this node".to_owned()),
            [only] => Ok(only),
            _ => {
                let names = listed(all.iter().map(|(known, _)| known.name.as_str()));
                Err(format!("several federation executions have federates here: choose one of {names}"))
            }
        }
    }

    fn federate_here(
        &self,
        federation: &Federation,
        objects: &Objects,
        name: &str,
    ) -> Result<FederateHandle, String> {
        let handle = federation.member_by_name(name);
        let handle =
            handle.ok_or_else(|| format!("no federate of `{}` is called `{name}`", federation.name))?;
        match federation.member(handle) {
            Some(member) if !objects.federates.contains_key(&handle) => {
                let node = self.node_name(member.node);
                Err(format!("`{name}` has joined at node {node}: ask that node, which knows its regions"))
            }
            _ => Ok(handle),
        }
    }
}

/// The instance with this name or, if there is none, with this handle.
fn find(objects: &Objects, object: &str) -> Option<ObjectInstanceHandle> {
    let by_name = objects.instances.by_name(object).map(|instance| instance.handle);
    by_name.or_else(|| {
        let handle = ObjectInstanceHandle(object.strip_prefix("oi").unwrap_or(object).parse().ok()?);
        objects.instances.get(handle).map(|instance| instance.handle)
    })
}

/// Explains why this node does not know an object: a node follows only the classes that its federates
/// subscribe.
fn unknown(federation: &Federation, objects: &Objects, receiver: FederateHandle, object: &str) -> String {
    let name = &federation.name;
    let federate = federation.member(receiver).map_or("the federate", |member| &member.name);
    let subscribed = objects.federates.get(&receiver).map(|receiver| &receiver.subscriptions);
    let subscribed = subscribed.into_iter().flat_map(|classes| classes.keys());
    let classes: Vec<_> = subscribed.map(|&class| objects.class_of(class).name.as_str()).collect();
    let subscribed = match classes[..] {
        [] => "no object class".to_owned(),
        _ => listed(classes.into_iter()),
    };
    format!(
        "this node knows no object `{object}` in `{name}`: it does not exist, or no federate here subscribes its class \
         or a class above it (`{federate}` subscribes {subscribed})"
    )
}

/// Names as text; of very many only the first.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let first: Vec<_> = names.take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    first.join(", ") + &more
}

/// Turns handles into names.
struct Describer<'a> {
    federation: &'a Federation,
    objects: &'a Objects,
}

impl Describer<'_> {
    fn status(
        &self,
        receiver: FederateHandle,
        instance: ObjectInstanceHandle,
        standing: &Standing,
    ) -> WhyStatus {
        let object = self.objects.instances.get(instance);
        let federate = self.federate(receiver);
        let class = object.map_or_else(String::new, |object| self.class(object.class));
        let known_class = standing.known.map(|known| self.class(known));
        let all: Vec<_> = standing.attributes.iter().map(|facts| self.attribute(facts)).collect();
        let summary = sentences::summary(&federate, &class, known_class.as_deref(), &all);
        let omitted = all.len().saturating_sub(ATTRIBUTES_MAX);
        let mut attributes = all;
        attributes.truncate(ATTRIBUTES_MAX);
        for attribute in &mut attributes {
            attribute.reason = sentences::reason(&federate, known_class.is_some(), attribute);
        }
        WhyStatus {
            federation: self.federation.name.clone(),
            object: object.map_or_else(String::new, |object| object.name.to_string()),
            handle: instance.to_string(),
            class,
            federate,
            known_class,
            summary,
            attributes,
            omitted,
        }
    }

    /// Everything but the reason.
    fn attribute(&self, facts: &AttributeStanding) -> AttributeWhy {
        let comparison = facts.comparison.clone().unwrap_or_default();
        let separated = comparison.separated.into_iter().map(|(update, subscribed, reason)| {
            let apart = self.apart(reason);
            let (update_region, subscribed_region) = (update.to_string(), subscribed.to_string());
            SeparatedRegions { update_region, subscribed_region, apart }
        });
        let overlapping = comparison.overlapping;
        AttributeWhy {
            name: self.attribute_name(facts.attribute),
            class: self.class(facts.class),
            owner: facts.owner.is_valid().then(|| self.federate(facts.owner)),
            subscription: self.subscription(facts),
            elsewhere: facts.elsewhere.map(|class| self.class(class)),
            update_regions: facts.update_regions,
            overlapping: overlapping.map(|(update, subscribed)| (update.to_string(), subscribed.to_string())),
            separated: separated.collect(),
            cut_short: comparison.is_cut_short,
            in_scope: facts.in_scope,
            reason: String::new(),
        }
    }

    fn subscription(&self, facts: &AttributeStanding) -> Option<SubscriptionStatus> {
        let subscribed = facts.subscribed?;
        let how = facts.applicable.unwrap_or(subscribed.together);
        let rate = how.rate.and_then(|rate| self.objects.rates.get(usize::from(rate.0)));
        Some(SubscriptionStatus {
            plain: subscribed.is_plain,
            regions: subscribed.regions,
            active: how.active,
            rate: rate.map(|rate| rate.designator.clone()),
            updates_per_s: rate.map(|rate| rate.hertz),
        })
    }

    fn apart(&self, reason: Separation) -> Vec<ApartStatus> {
        let Separation::Apart(ranges) = reason else { return Vec::new() };
        let ranges = ranges.into_iter().take(DIMENSIONS_MAX);
        ranges
            .map(|(update, subscribed)| {
                let known = self.federation.model.dimension(update.dimension);
                ApartStatus {
                    dimension: known.map_or_else(|| update.dimension.to_string(), |known| known.name.clone()),
                    update: (update.lower, update.upper),
                    subscribed: (subscribed.lower, subscribed.upper),
                }
            })
            .collect()
    }

    fn federate(&self, handle: FederateHandle) -> String {
        self.federation.member(handle).map_or_else(|| handle.to_string(), |member| member.name.clone())
    }

    fn class(&self, class: ObjectClassHandle) -> String {
        self.objects.class_of(class).name.clone()
    }

    fn attribute_name(&self, attribute: AttributeHandle) -> String {
        let known = self.federation.model.attribute(attribute);
        known.map_or_else(|| attribute.to_string(), |known| known.name.clone())
    }
}
