//! The facts that decide whether a federate receives the updates of an instance.

use super::federate::{Federate, Subscription};
use super::instance::Instance;
use super::objects::Objects;
use super::regions::{Comparison, REGIONS_COMPARED_MAX, SubscriptionView};
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};

/// The standing of a federate with an instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Standing {
    /// The class at which the federate knows the instance, if it does.
    pub(crate) known: Option<ObjectClassHandle>,
    /// If it knows the instance: all attributes of the known class. If not: those that it subscribes,
    /// at the class of the instance and at those above it, the most specific class first.
    pub(crate) attributes: Vec<AttributeStanding>,
}

/// The standing of a federate with an attribute of an instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AttributeStanding {
    pub(crate) attribute: AttributeHandle,
    /// The class that counts for the subscription.
    pub(crate) class: ObjectClassHandle,
    /// Invalid for none.
    pub(crate) owner: FederateHandle,
    pub(crate) subscribed: Option<SubscriptionView>,
    /// Another class, from that of the instance upwards, at which the federate subscribes the
    /// attribute. Such a subscription has no effect on an instance that is known.
    pub(crate) elsewhere: Option<ObjectClassHandle>,
    /// The number of update regions.
    pub(crate) update_regions: usize,
    /// Present if the regions decide: there are some on both sides, and no subscription without.
    pub(crate) comparison: Option<Comparison>,
    /// Those of its subscriptions that apply, together.
    pub(crate) applicable: Option<Subscription>,
    /// Whether the attribute is in scope.
    pub(crate) in_scope: bool,
}

impl Objects {
    /// The standing of `federate` with `instance`. `None` if this node does not have both.
    pub(crate) fn standing(
        &self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
    ) -> Option<Standing> {
        let object = self.instances.get(instance)?;
        let receiver = self.federates.get(&federate)?;
        let known = object.known_class(federate);
        let pairs = match known {
            Some(class) => self.class_of(class).attributes.iter().map(|&at| (class, at)).collect(),
            None => self.subscribed_upwards(receiver, object.class),
        };
        let mut left = REGIONS_COMPARED_MAX;
        let attributes =
            pairs.into_iter().map(|pair| self.attribute_standing(receiver, object, pair, &mut left));
        Some(Standing { known, attributes: attributes.collect() })
    }

    /// The attributes that `federate` subscribes at `class` and above, with the class of each
    /// subscription.
    fn subscribed_upwards(
        &self,
        federate: &Federate,
        class: ObjectClassHandle,
    ) -> Vec<(ObjectClassHandle, AttributeHandle)> {
        let classes = self.lineage(class).filter_map(|at| Some((at, federate.subscriptions.get(&at)?)));
        classes
            .flat_map(|(at, subscribed)| subscribed.keys().map(move |&attribute| (at, attribute)))
            .collect()
    }

    fn attribute_standing(
        &self,
        federate: &Federate,
        object: &Instance,
        (class, attribute): (ObjectClassHandle, AttributeHandle),
        left: &mut usize,
    ) -> AttributeStanding {
        let slot = self.class_of(object.class).slot(attribute);
        let owner = slot.map_or(FederateHandle::INVALID, |slot| object.attribute(slot).owner);
        let subscribed = federate.subscription_view(class, attribute);
        let update_regions = object.regions_of(attribute).iter().len();
        let is_decided_by_regions =
            update_regions > 0 && subscribed.is_some_and(|subscribed| !subscribed.is_plain);
        let comparison =
            is_decided_by_regions.then(|| self.compare_regions(federate, class, (object, attribute), left));
        let is_known = object.known_class(federate.handle).is_some();
        let applicable = match federate.subscriptions.get(&class).filter(|_| is_known) {
            // Decided when the regions last changed.
            Some(subscribed) => object.applicable(federate.handle, subscribed, attribute),
            None => {
                let applies = comparison.as_ref().is_none_or(|regions| regions.overlapping.is_some());
                subscribed.filter(|_| applies).map(|subscribed| subscribed.together)
            }
        };
        let is_of_another = owner.is_valid() && owner != federate.handle;
        AttributeStanding {
            attribute,
            class,
            owner,
            subscribed,
            elsewhere: self
                .lineage(object.class)
                .find(|&at| at != class && federate.subscription(at, attribute).is_some()),
            update_regions,
            comparison,
            applicable,
            in_scope: is_known && is_of_another && applicable.is_some(),
        }
    }
}
