//! A joined federate: its declarations and switches.

use super::counters::Counters;
use super::reduction::Reduction;
use super::regions::Distribution;
use crate::proposal::CallerId;
use hla::api::{OrderType, ResignAction};
use hla::fom::Switches;
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use router::ClientId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

base::id! {
    /// An update rate designator in use; an index into the execution's table.
    #[derive(Serialize, Deserialize)]
    pub(crate) struct RateId(u16) as "rate";
}

/// An update rate designator in use.
pub(crate) struct Rate {
    pub(crate) designator: String,
    /// Maximum rate, in updates per second.
    pub(crate) hertz: f64,
    /// Minimum time between two updates.
    pub(crate) interval: Duration,
}

impl Rate {
    pub(crate) fn new(designator: &str, hertz: f64) -> Self {
        // A duration that overflows means less than one update in centuries: one update is then all
        // there is.
        let interval = Duration::try_from_secs_f64(1.0 / hertz).unwrap_or(Duration::MAX);
        Self { designator: designator.to_owned(), hertz, interval }
    }
}

/// A subscription of one class attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Subscription {
    /// False for a passive subscription: the federate gets the same data, but requests nobody to
    /// produce it.
    pub(crate) active: bool,
    /// The update rate designator, if one was given.
    pub(crate) rate: Option<RateId>,
}

/// Two subscriptions as one: active if one of them is, and at the higher rate.
pub(crate) fn together(all: Option<Subscription>, one: Subscription, rates: &[Rate]) -> Subscription {
    let Some(all) = all else { return one };
    let hertz = |rate: RateId| rates.get(usize::from(rate.0)).map(|rate| rate.hertz);
    let rate = match (all.rate, one.rate) {
        (Some(a), Some(b)) if hertz(a) >= hertz(b) => Some(a),
        (Some(_), Some(b)) => Some(b),
        _ => None,
    };
    Subscription { active: all.active || one.active, rate }
}

/// The attributes of one class that a federate subscribes.
pub(crate) type ClassSubscription = BTreeMap<AttributeHandle, Subscription>;

/// The switches that each federate has for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct FederateSwitches {
    pub(crate) object_class_relevance: bool,
    pub(crate) attribute_relevance: bool,
    pub(crate) attribute_scope: bool,
    pub(crate) interaction_relevance: bool,
    pub(crate) convey_region_designator_sets: bool,
    /// Its services, and the callbacks to it, are reported (clause 11).
    pub(crate) service_reporting: bool,
    /// Exceptions of its services are reported (clause 11).
    pub(crate) exception_reporting: bool,
    #[serde(with = "crate::control::resign_action")]
    pub(crate) resign_directive: ResignAction,
}

impl From<&Switches> for FederateSwitches {
    fn from(model: &Switches) -> Self {
        Self {
            object_class_relevance: model.object_class_relevance_advisory,
            attribute_relevance: model.attribute_relevance_advisory,
            attribute_scope: model.attribute_scope_advisory,
            interaction_relevance: model.interaction_relevance_advisory,
            convey_region_designator_sets: model.convey_region_designator_sets,
            service_reporting: model.service_reporting,
            exception_reporting: model.exception_reporting,
            resign_directive: model.automatic_resign_action,
        }
    }
}

/// Transportation and order type with which a federate has overridden the object model.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Preference {
    pub(crate) transportation: Option<TransportationTypeHandle>,
    pub(crate) order: Option<OrderType>,
}

/// A joined federate of this node.
pub(crate) struct Federate {
    pub(crate) handle: FederateHandle,
    pub(crate) caller: CallerId,
    pub(crate) client: ClientId,
    pub(crate) switches: FederateSwitches,
    /// The most instances that it may have registered at a time, if its account has such a limit.
    pub(crate) objects_max: Option<usize>,
    /// Whether it receives messages in time-stamp order (8.5).
    pub(crate) constrained: bool,
    /// How often it has removed subscriptions. Queued messages are then compared with those left.
    pub(crate) unsubscribed: u64,
    /// Class attributes it publishes; a class without any is absent.
    pub(crate) publications: BTreeMap<ObjectClassHandle, BTreeSet<AttributeHandle>>,
    /// Class attributes it subscribes, with or without regions; a class without any is absent.
    pub(crate) subscriptions: BTreeMap<ObjectClassHandle, ClassSubscription>,
    pub(crate) published_interactions: BTreeSet<InteractionClassHandle>,
    /// Interaction classes it subscribes, with or without regions, and whether actively.
    pub(crate) subscribed_interactions: BTreeMap<InteractionClassHandle, bool>,
    pub(crate) published_directed: BTreeMap<ObjectClassHandle, BTreeSet<InteractionClassHandle>>,
    /// Directed interactions it subscribes, and whether universally.
    pub(crate) subscribed_directed: BTreeMap<ObjectClassHandle, BTreeMap<InteractionClassHandle, bool>>,
    /// Published classes for which it was last told to register objects.
    pub(crate) registration_on: BTreeSet<ObjectClassHandle>,
    /// Published interaction classes that it was last told to send.
    pub(crate) interactions_on: BTreeSet<InteractionClassHandle>,
    /// Defaults for instances it registers from now on.
    pub(crate) attribute_preferences: BTreeMap<(ObjectClassHandle, AttributeHandle), Preference>,
    pub(crate) interaction_preferences: BTreeMap<InteractionClassHandle, Preference>,
    /// Its regions, and what it does with them.
    pub(crate) distribution: Distribution,
    /// When it last received attributes that it subscribes at a reduced rate.
    pub(crate) reduction: Reduction,
    pub(crate) counters: Counters,
}

impl Federate {
    pub(crate) fn new(
        handle: FederateHandle,
        caller: CallerId,
        client: ClientId,
        switches: FederateSwitches,
    ) -> Self {
        Self {
            handle,
            caller,
            client,
            switches,
            objects_max: None,
            constrained: false,
            unsubscribed: 0,
            publications: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            published_interactions: BTreeSet::new(),
            subscribed_interactions: BTreeMap::new(),
            published_directed: BTreeMap::new(),
            subscribed_directed: BTreeMap::new(),
            registration_on: BTreeSet::new(),
            interactions_on: BTreeSet::new(),
            attribute_preferences: BTreeMap::new(),
            interaction_preferences: BTreeMap::new(),
            distribution: Distribution::default(),
            reduction: Reduction::default(),
            counters: Counters::default(),
        }
    }

    /// The subscription of `attribute` at exactly `class`.
    pub(crate) fn subscription(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Option<Subscription> {
        self.subscriptions.get(&class)?.get(&attribute).copied()
    }

    /// The number of attributes that it publishes and subscribes. Each counts once for each class.
    pub(crate) fn declarations(&self) -> usize {
        let subscribed: usize = self.subscriptions.values().map(|class| class.len()).sum();
        subscribed + self.publications.values().map(|class| class.len()).sum::<usize>()
    }

    /// Whether it publishes any attribute at exactly `class`.
    pub(crate) fn publishes(&self, class: ObjectClassHandle) -> bool {
        self.publications.contains_key(&class)
    }

    /// Forgets everything about an instance that it no longer knows.
    pub(crate) fn forget_instance(&mut self, instance: ObjectInstanceHandle) {
        self.reduction.forget_instance(instance);
    }
}
