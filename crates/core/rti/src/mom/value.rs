//! The values of the attributes, encoded.

use super::attribute::{FederateValue, FederationValue};
use crate::control::{Activity, Federation, Member, TimeOctets};
use crate::object::federate::{Federate, FederateSwitches};
use crate::time::{TimeManager, TimeState};
use bytes::Bytes;
use hla::api::ResignAction;
use hla::encoding::{Encode, OpaqueData};
use hla::fom::Edition;
use hla::handle::FederateHandle;
use hla::time::{LogicalTime, LogicalTimeInterval};
use std::time::Duration;

/// The version that federates see.
const VERSION: &str = concat!("MeshRTI ", env!("CARGO_PKG_VERSION"));

/// An HLAfederateState.
fn state(activity: Activity) -> i32 {
    match activity {
        Activity::Normal => 1,
        Activity::Save => 3,
        Activity::Restore => 5,
    }
}

/// Encodes a value. Nothing here is as long as a count can say.
pub(super) fn encoded(value: &(impl Encode + ?Sized)) -> Bytes {
    value.encode().unwrap_or_default()
}

/// An HLAboolean or HLAswitch.
pub(super) fn boolean(value: bool) -> Bytes {
    encoded(&i32::from(value))
}

/// An HLAcount.
pub(super) fn count(value: usize) -> Bytes {
    encoded(&i32::try_from(value).unwrap_or(i32::MAX))
}

/// An HLAmsec.
fn milliseconds(value: Duration) -> Bytes {
    encoded(&i32::try_from(value.as_millis()).unwrap_or(i32::MAX))
}

/// A handle in its encoded form.
pub(super) fn handle(octets: Vec<u8>) -> OpaqueData {
    OpaqueData(octets.into())
}

/// An HLAlogicalTime; empty if undefined.
pub(super) fn time(time: Option<LogicalTime>) -> Bytes {
    encoded(&OpaqueData(time.map_or_else(Bytes::new, |time| Bytes::copy_from_slice(&time.encode()))))
}

fn interval(interval: Option<LogicalTimeInterval>) -> Bytes {
    let octets = interval.map_or_else(Bytes::new, |interval| Bytes::copy_from_slice(&interval.encode()));
    encoded(&OpaqueData(octets))
}

/// An HLAresignAction, whose numbers differ between the editions.
pub(crate) fn resign_action(action: ResignAction, edition: Edition) -> Bytes {
    let offset = i32::from(edition == Edition::Hla2010);
    encoded(&(i32::from(action) + offset))
}

/// A save with its time, if it has one.
type Save<'a> = Option<(&'a str, Option<TimeOctets>)>;

fn save_name(save: Save<'_>) -> Bytes {
    encoded(save.map_or("", |(label, _)| label))
}

fn save_time(save: Save<'_>) -> Bytes {
    let octets = save.and_then(|(_, time)| time).unwrap_or_default();
    let has_time = save.is_some_and(|(_, time)| time.is_some());
    encoded(&OpaqueData(if has_time { Bytes::copy_from_slice(&octets) } else { Bytes::new() }))
}

/// The value of an attribute of HLAfederation.
pub(crate) fn of_federation(value: FederationValue, federation: &Federation) -> Bytes {
    let model = &federation.model;
    let switches = model.switches();
    match value {
        FederationValue::Name => encoded(federation.name.as_str()),
        FederationValue::Federates => {
            let handles = federation.members().map(|(federate, _)| handle(federate.to_octets()));
            encoded(&handles.collect::<Vec<_>>())
        }
        FederationValue::RtiVersion => encoded(VERSION),
        FederationValue::MimDesignator => encoded(model.mim_designator()),
        FederationValue::Modules => {
            let designators = model.modules().iter().map(|module| module.designator().to_owned());
            encoded(&designators.collect::<Vec<_>>())
        }
        FederationValue::CurrentFdd => encoded(model.to_xml().as_str()),
        FederationValue::TimeImplementation => encoded(federation.time.name()),
        FederationValue::LastSaveName => save_name(federation.last_save()),
        FederationValue::NextSaveName => save_name(federation.next_save()),
        FederationValue::LastSaveTime => save_time(federation.last_save()),
        FederationValue::NextSaveTime => save_time(federation.next_save()),
        FederationValue::AutoProvide => boolean(federation.auto_provide()),
        FederationValue::AdvisoriesUseKnownClass => boolean(switches.advisories_use_known_class),
        FederationValue::DelaySubscriptionEvaluation => boolean(switches.delay_subscription_evaluation),
        FederationValue::NonRegulatedGrant => boolean(switches.non_regulated_grant),
        FederationValue::AllowRelaxedDdm => boolean(switches.allow_relaxed_ddm),
    }
}

/// The value of an attribute of HLAfederate that every node knows; `None` for one that only the
/// federate's node knows.
pub(crate) fn recorded(
    value: FederateValue,
    (federate, member): (FederateHandle, &Member),
    federation: &Federation,
) -> Option<Bytes> {
    Some(match value {
        FederateValue::Handle => encoded(&handle(federate.to_octets())),
        FederateValue::Name => encoded(member.name.as_str()),
        FederateValue::Type => encoded(member.federate_type.as_str()),
        FederateValue::Host => encoded(member.host.as_str()),
        FederateValue::RtiVersion => encoded(VERSION),
        FederateValue::Modules => encoded(&member.modules),
        FederateValue::State => encoded(&state(federation.activity(federate))),
        FederateValue::AutomaticResignAction => resign_action(member.directive, federation.model.edition()),
        _ => return None,
    })
}

/// A federate of this node, with everything that only its node knows of it.
pub(crate) struct Local<'a> {
    pub(crate) federate: &'a Federate,
    pub(crate) time: &'a mut TimeManager,
    /// Messages in receive order that wait for it.
    pub(crate) waiting: usize,
    /// Instances that it may delete. Counting them takes time, so it is done on demand.
    pub(crate) deletable: &'a dyn Fn() -> usize,
}

impl Local<'_> {
    /// The value of an attribute; `None` for those that every node knows.
    pub(crate) fn value(&mut self, value: FederateValue) -> Option<Bytes> {
        let found = self.of_time(value).or_else(|| self.of_counters(value));
        found.or_else(|| self.of_switches(value))
    }

    fn of_time(&mut self, value: FederateValue) -> Option<Bytes> {
        let federate = self.federate.handle;
        let TimeState { regulating, constrained, asynchronous, advancing } = self.time.state(federate);
        Some(match value {
            FederateValue::TimeConstrained => boolean(constrained),
            FederateValue::TimeRegulating => boolean(regulating),
            FederateValue::AsynchronousDelivery => boolean(asynchronous),
            FederateValue::TimeManagerState => boolean(advancing),
            FederateValue::LogicalTime => time(Some(self.time.logical_time(federate))),
            FederateValue::Lookahead => interval(self.time.query_lookahead(federate).ok()),
            FederateValue::Galt => time(self.time.query_galt(federate)),
            FederateValue::Lits => time(self.time.query_lits(federate)),
            FederateValue::TimeStampOrderLength => count(self.time.queued(federate).0),
            FederateValue::TimeGrantedTime => milliseconds(self.time.take_spent(federate, false)),
            FederateValue::TimeAdvancingTime => milliseconds(self.time.take_spent(federate, true)),
            _ => return None,
        })
    }

    fn of_counters(&self, value: FederateValue) -> Option<Bytes> {
        let counters = &self.federate.counters;
        let all = |counts: &crate::object::counters::Counts| counts.sum() as usize;
        Some(count(match value {
            FederateValue::ReceiveOrderLength => self.waiting,
            FederateValue::ReflectionsReceived => all(&counters.reflections_received),
            FederateValue::UpdatesSent => counters.update_calls as usize,
            FederateValue::InteractionsReceived => all(&counters.interactions_received),
            FederateValue::InteractionsSent => all(&counters.interactions_sent),
            FederateValue::DirectedInteractionsReceived => all(&counters.directed_received),
            FederateValue::DirectedInteractionsSent => all(&counters.directed_sent),
            FederateValue::InstancesThatCanBeDeleted => (self.deletable)(),
            FederateValue::InstancesUpdated => all(&counters.instances_updated),
            FederateValue::InstancesReflected => all(&counters.instances_reflected),
            FederateValue::InstancesDeleted => counters.deleted as usize,
            FederateValue::InstancesRemoved => counters.removed as usize,
            FederateValue::InstancesRegistered => counters.registered as usize,
            FederateValue::InstancesDiscovered => counters.discovered as usize,
            _ => return None,
        }))
    }

    fn of_switches(&self, value: FederateValue) -> Option<Bytes> {
        let FederateSwitches {
            object_class_relevance,
            attribute_relevance,
            attribute_scope,
            interaction_relevance,
            convey_region_designator_sets,
            service_reporting,
            exception_reporting,
            resign_directive: _,
        } = self.federate.switches;
        Some(boolean(match value {
            FederateValue::ObjectClassRelevance => object_class_relevance,
            FederateValue::AttributeRelevance => attribute_relevance,
            FederateValue::AttributeScope => attribute_scope,
            FederateValue::InteractionRelevance => interaction_relevance,
            FederateValue::ConveyRegions => convey_region_designator_sets,
            FederateValue::ConveyProducingFederate => true,
            FederateValue::ExceptionReporting => exception_reporting,
            FederateValue::ServiceReporting => service_reporting,
            FederateValue::SendServiceReportsToFile => false,
            FederateValue::ReportServiceFile => return Some(encoded("")),
            _ => return None,
        }))
    }
}
