//! The state of the management object model of one federation execution on one node.

use super::attribute::{Attributes, FederateValue};
use super::interaction::Interactions;
use crate::control::PublishedClass;
use crate::object::federate::{Federate, FederateSwitches};
use crate::time::TimeState;
use bytes::Bytes;
use hla::fom::Fdd;
use hla::handle::{FederateHandle, InteractionClassHandle};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The state of a federate, as far as a change of it is told at once and only its node knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reportable {
    time: TimeState,
    switches: FederateSwitches,
}

impl Reportable {
    pub(crate) fn of(federate: &Federate, time: TimeState) -> Self {
        Self { time, switches: federate.switches }
    }

    /// The attributes that differ.
    pub(crate) fn changes(self, before: Self) -> impl Iterator<Item = FederateValue> {
        let (old, new) = (before, self);
        let pairs = [
            (FederateValue::TimeConstrained, old.time.constrained != new.time.constrained),
            (FederateValue::TimeRegulating, old.time.regulating != new.time.regulating),
            (FederateValue::AsynchronousDelivery, old.time.asynchronous != new.time.asynchronous),
            (FederateValue::TimeManagerState, old.time.advancing != new.time.advancing),
            (
                FederateValue::ObjectClassRelevance,
                old.switches.object_class_relevance != new.switches.object_class_relevance,
            ),
            (
                FederateValue::AttributeRelevance,
                old.switches.attribute_relevance != new.switches.attribute_relevance,
            ),
            (
                FederateValue::ServiceReporting,
                old.switches.service_reporting != new.switches.service_reporting,
            ),
            (
                FederateValue::ExceptionReporting,
                old.switches.exception_reporting != new.switches.exception_reporting,
            ),
            (FederateValue::AttributeScope, old.switches.attribute_scope != new.switches.attribute_scope),
            (
                FederateValue::InteractionRelevance,
                old.switches.interaction_relevance != new.switches.interaction_relevance,
            ),
            (
                FederateValue::ConveyRegions,
                old.switches.convey_region_designator_sets != new.switches.convey_region_designator_sets,
            ),
        ];
        pairs.into_iter().filter(|(_, differs)| *differs).map(|(value, _)| value)
    }
}

/// See the module. Nothing happens here until a federate subscribes a class of the management
/// object model, here or at another node.
pub(crate) struct Mom {
    pub(crate) attributes: Attributes,
    pub(crate) interactions: Interactions,
    /// Its instances exist here, since a federate here has subscribed one of its classes.
    pub(crate) is_present: bool,
    /// This node has asked the others to tell it of their federates.
    pub(crate) watches: bool,
    /// Another node has asked this one to tell it.
    pub(crate) is_watched: bool,
    /// The other nodes know, or will know soon, that they shall tell this one.
    pub(crate) is_told: bool,
    /// The states of federates here that were last told. Complete while somebody is told.
    pub(crate) told: BTreeMap<FederateHandle, Reportable>,
    /// The values that other nodes have told of their federates.
    pub(crate) elsewhere: BTreeMap<FederateHandle, BTreeMap<u32, Bytes>>,
    /// How often the attributes of federates here are updated.
    pub(crate) periods: BTreeMap<FederateHandle, Duration>,
    /// Federates here that the RTI resigns, because others have asked for it.
    pub(crate) resigned: BTreeSet<FederateHandle>,
    /// The reports that this node watches.
    pub(crate) reports_watched: BTreeSet<InteractionClassHandle>,
}

impl Mom {
    pub(crate) fn new(model: &Fdd) -> Self {
        Self {
            attributes: Attributes::of(model),
            interactions: Interactions::of(model),
            is_present: false,
            watches: false,
            is_watched: false,
            is_told: false,
            elsewhere: BTreeMap::new(),
            periods: BTreeMap::new(),
            resigned: BTreeSet::new(),
            reports_watched: BTreeSet::new(),
            told: BTreeMap::new(),
        }
    }

    /// Whether interest in a class is interest in instances of the RTI or in interactions that it
    /// sends.
    pub(crate) fn concerns(&self, class: PublishedClass) -> bool {
        match class {
            PublishedClass::Objects(class) => {
                [self.attributes.federate, self.attributes.federation].contains(&class)
            }
            PublishedClass::Interactions(class) => self.interactions.is_report(class),
            PublishedClass::Directed => false,
        }
    }

    /// Whether anybody wants to know of changes of federates here.
    pub(crate) fn tells(&self) -> bool {
        self.is_present || self.is_watched
    }
}
