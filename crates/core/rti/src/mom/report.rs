//! The interactions that the RTI sends.

use super::value::{boolean, count, encoded, handle, time};
use crate::control::{Federation, SyncPoints};
use crate::object::counters::{Counters, Counts};
use crate::object::federate::{ClassSubscription, Federate, Rate, RateId};
use crate::object::instance::Instance;
use bytes::Bytes;
use hla::encoding::{Encoding, OpaqueData};
use hla::fom::{Edition, Fdd, Transportation};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use hla::time::LogicalTime;
use std::collections::BTreeMap;

/// An interaction of the RTI: its class below HLAinteractionRoot.HLAmanager, and its parameters. A
/// parameter that the edition does not have is left out.
pub(crate) struct Report {
    pub(crate) class: &'static str,
    pub(crate) parameters: Vec<(&'static str, Bytes)>,
}

/// The names of the reports of HLAfederate.
macro_rules! of_federate {
    ($name:literal) => {
        concat!("HLAfederate.HLAreport.", $name)
    };
}

#[derive(Encoding)]
#[encoding(crate = hla)]
struct ClassCount {
    class: OpaqueData,
    count: i32,
}

#[derive(Encoding)]
#[encoding(crate = hla)]
struct Subscribed {
    class: OpaqueData,
    active: bool,
}

#[derive(Encoding)]
#[encoding(crate = hla)]
struct SyncStatus {
    federate: OpaqueData,
    status: i32,
}

/// A report about a federate.
pub(super) fn about(
    federate: FederateHandle,
    class: &'static str,
    parameters: impl IntoIterator<Item = (&'static str, Bytes)>,
) -> Report {
    let target = ("HLAfederate", encoded(&handle(federate.to_octets())));
    Report { class, parameters: std::iter::once(target).chain(parameters).collect() }
}

fn attribute_list(attributes: impl Iterator<Item = AttributeHandle>) -> Bytes {
    encoded(&attributes.map(|attribute| handle(attribute.to_octets())).collect::<Vec<_>>())
}

fn class_list(classes: impl Iterator<Item = InteractionClassHandle>) -> Bytes {
    encoded(&classes.map(|class| handle(class.to_octets())).collect::<Vec<_>>())
}

fn class(class: ObjectClassHandle) -> (&'static str, Bytes) {
    ("HLAobjectClass", encoded(&handle(class.to_octets())))
}

/// One report for each of `entries`, or one that says that there are none.
fn one_for_each<T>(
    federate: FederateHandle,
    name: &'static str,
    entries: Vec<T>,
    parameters: impl Fn(T) -> Vec<(&'static str, Bytes)>,
) -> Vec<Report> {
    let number = |number| ("HLAnumberOfClasses", count(number));
    if entries.is_empty() {
        return vec![about(federate, name, [number(0)])];
    }
    let all = entries.len();
    let report = |entry| about(federate, name, std::iter::once(number(all)).chain(parameters(entry)));
    entries.into_iter().map(report).collect()
}

/// The answers to HLArequestPublications.
pub(crate) fn publications(federate: &Federate) -> Vec<Report> {
    let handle = federate.handle;
    let name = of_federate!("HLAreportObjectClassPublication");
    let mut reports =
        one_for_each(handle, name, federate.publications.iter().collect(), |(at, attributes)| {
            vec![class(*at), ("HLAattributeList", attribute_list(attributes.iter().copied()))]
        });
    let interactions = class_list(federate.published_interactions.iter().copied());
    let name = of_federate!("HLAreportInteractionPublication");
    reports.push(about(handle, name, [("HLAinteractionClassList", interactions)]));
    let name = of_federate!("HLAreportDirectedInteractionPublication");
    let directed = federate.published_directed.iter().collect();
    reports.extend(one_for_each(handle, name, directed, |(at, interactions)| {
        vec![class(*at), ("HLAinteractionClassList", class_list(interactions.iter().copied()))]
    }));
    reports
}

/// The answers to HLArequestSubscriptions.
pub(crate) fn subscriptions(federate: &Federate, rates: &[Rate]) -> Vec<Report> {
    let handle = federate.handle;
    let rate_name = |rate: Option<RateId>| {
        let rate = rate.and_then(|rate| rates.get(usize::from(rate.0)));
        rate.map_or("", |rate| rate.designator.as_str())
    };
    let name = of_federate!("HLAreportObjectClassSubscription");
    let all = federate.subscriptions.iter();
    let groups: Vec<Group> = all.flat_map(|(at, subscribed)| groups(*at, subscribed)).collect();
    let mut reports = one_for_each(handle, name, groups, |(at, active, rate, attributes)| {
        vec![
            class(at),
            ("HLAactive", boolean(active)),
            ("HLAmaxUpdateRate", encoded(rate_name(rate))),
            ("HLAattributeList", attribute_list(attributes.into_iter())),
        ]
    });
    let subscribed = federate.subscribed_interactions.iter();
    let subscribed = subscribed
        .map(|(class, &active)| Subscribed { class: self::handle(class.to_octets()), active })
        .collect::<Vec<_>>();
    let name = of_federate!("HLAreportInteractionSubscription");
    reports.push(about(handle, name, [("HLAinteractionClassList", encoded(&subscribed))]));
    let name = of_federate!("HLAreportDirectedInteractionSubscription");
    let directed = federate.subscribed_directed.iter().collect();
    reports.extend(one_for_each(handle, name, directed, |(at, interactions)| {
        vec![class(*at), ("HLAinteractionClassList", class_list(interactions.keys().copied()))]
    }));
    reports
}

type Group = (ObjectClassHandle, bool, Option<RateId>, Vec<AttributeHandle>);

/// The attributes of a class that are subscribed in the same way.
fn groups(at: ObjectClassHandle, subscribed: &ClassSubscription) -> Vec<Group> {
    let mut groups: BTreeMap<(bool, Option<RateId>), Vec<AttributeHandle>> = BTreeMap::new();
    for (&attribute, how) in subscribed {
        groups.entry((how.active, how.rate)).or_default().push(attribute);
    }
    groups.into_iter().map(|((active, rate), attributes)| (at, active, rate, attributes)).collect()
}

fn class_counts(counts: impl Iterator<Item = (u32, u32)>, octets: fn(u32) -> Vec<u8>) -> Bytes {
    let entry = |(class, count)| ClassCount {
        class: handle(octets(class)),
        count: i32::try_from(count).unwrap_or(i32::MAX),
    };
    encoded(&counts.map(entry).collect::<Vec<_>>())
}

fn object_class(class: u32) -> Vec<u8> {
    ObjectClassHandle(class).to_octets()
}

fn interaction_class(class: u32) -> Vec<u8> {
    InteractionClassHandle(class).to_octets()
}

/// The numbers of instances by class, as one report.
pub(crate) fn instance_counts(
    federate: FederateHandle,
    kind: InstanceCounts,
    counts: impl Iterator<Item = (u32, u32)>,
) -> Report {
    let name = match kind {
        InstanceCounts::CanBeDeleted => of_federate!("HLAreportObjectInstancesThatCanBeDeleted"),
        InstanceCounts::Updated => of_federate!("HLAreportObjectInstancesUpdated"),
        InstanceCounts::Reflected => of_federate!("HLAreportObjectInstancesReflected"),
    };
    about(federate, name, [("HLAobjectInstanceCounts", class_counts(counts, object_class))])
}

/// The instances that are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InstanceCounts {
    CanBeDeleted,
    Updated,
    Reflected,
}

/// The messages that are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageCounts {
    UpdatesSent,
    ReflectionsReceived,
    InteractionsSent,
    InteractionsReceived,
    DirectedSent,
    DirectedReceived,
}

/// The numbers of messages by class: one report for each transportation type.
pub(crate) fn message_counts(
    federate: FederateHandle,
    kind: MessageCounts,
    counters: &Counters,
    model: &Fdd,
) -> Vec<Report> {
    let (name, parameter, counts): (_, _, &Counts) = match kind {
        MessageCounts::UpdatesSent => {
            (of_federate!("HLAreportUpdatesSent"), "HLAupdateCounts", &counters.updates_sent)
        }
        MessageCounts::ReflectionsReceived => {
            (of_federate!("HLAreportReflectionsReceived"), "HLAreflectCounts", &counters.reflections_received)
        }
        MessageCounts::InteractionsSent => {
            (of_federate!("HLAreportInteractionsSent"), "HLAinteractionCounts", &counters.interactions_sent)
        }
        MessageCounts::InteractionsReceived => (
            of_federate!("HLAreportInteractionsReceived"),
            "HLAinteractionCounts",
            &counters.interactions_received,
        ),
        MessageCounts::DirectedSent => (
            of_federate!("HLAreportDirectedInteractionsSent"),
            "HLAinteractionCounts",
            &counters.directed_sent,
        ),
        MessageCounts::DirectedReceived => (
            of_federate!("HLAreportDirectedInteractionsReceived"),
            "HLAinteractionCounts",
            &counters.directed_received,
        ),
    };
    let octets: fn(u32) -> Vec<u8> = match kind {
        MessageCounts::UpdatesSent | MessageCounts::ReflectionsReceived => object_class,
        _ => interaction_class,
    };
    let report = |of: &Transportation| {
        let counts = class_counts(counts.of(of.handle), octets);
        about(
            federate,
            name,
            [("HLAtransportation", transportation(of, model.edition())), (parameter, counts)],
        )
    };
    model.transportations().map(report).collect()
}

/// A transportation type: its name in 2010, and its handle in 2025.
fn transportation(of: &Transportation, edition: Edition) -> Bytes {
    match edition {
        Edition::Hla2010 => encoded(of.name.as_str()),
        Edition::Hla2025 => encoded(&handle(TransportationTypeHandle::to_octets(of.handle))),
    }
}

/// The answer to HLArequestObjectInstanceInformation.
pub(crate) fn instance_information(
    federate: FederateHandle,
    instance: ObjectInstanceHandle,
    known: Option<(&Instance, ObjectClassHandle)>,
    owned: impl Iterator<Item = AttributeHandle>,
) -> Report {
    let mut parameters = vec![
        ("HLAobjectInstance", encoded(&handle(instance.to_octets()))),
        ("HLAownedInstanceAttributeList", attribute_list(owned)),
    ];
    if let Some((object, known_class)) = known {
        let octets = |class: ObjectClassHandle| encoded(&handle(class.to_octets()));
        parameters.push(("HLAregisteredClass", octets(object.class)));
        parameters.push(("HLAknownClass", octets(known_class)));
    }
    about(federate, of_federate!("HLAreportObjectInstanceInformation"), parameters)
}

/// The text of the module with an index, of those that a federate passed when it joined.
pub(crate) fn federate_module(federate: FederateHandle, index: u32, text: &str) -> Report {
    let parameters = [("HLAFOMmoduleIndicator", count(index as usize)), ("HLAFOMmoduleData", encoded(text))];
    about(federate, of_federate!("HLAreportFOMmoduleData"), parameters)
}

/// The text of the module with an index, of all modules.
pub(crate) fn federation_module(index: u32, text: &str) -> Report {
    let parameters =
        vec![("HLAFOMmoduleIndicator", count(index as usize)), ("HLAFOMmoduleData", encoded(text))];
    Report { class: "HLAfederation.HLAreport.HLAreportFOMmoduleData", parameters }
}

pub(crate) fn mim(text: &str) -> Report {
    Report {
        class: "HLAfederation.HLAreport.HLAreportMIMdata",
        parameters: vec![("HLAMIMdata", encoded(text))],
    }
}

pub(crate) fn sync_points(points: &SyncPoints) -> Report {
    let labels: Vec<String> = points.labels().map(str::to_owned).collect();
    let parameters = vec![("HLAsyncPoints", encoded(&labels))];
    Report { class: "HLAfederation.HLAreport.HLAreportSynchronizationPoints", parameters }
}

/// HLAsyncPointStatus: the federate has nothing to do with the point, or has to achieve it, or has
/// achieved it.
const NO_ACTIVITY: i32 = 0;
const MOVING: i32 = 2;
const WAITING: i32 = 3;

/// The state of each federate at a synchronization point.
pub(crate) fn sync_point_status(federation: &Federation, label: &str) -> Report {
    let status = |(federate, _): (FederateHandle, _)| {
        let is_member = federation.sync.is_announced_to(label, federate);
        let status = match is_member {
            true if federation.sync.has_answered(label, federate) => WAITING,
            true => MOVING,
            false => NO_ACTIVITY,
        };
        SyncStatus { federate: handle(federate.to_octets()), status }
    };
    let all: Vec<_> = federation.members().map(status).collect();
    let parameters = vec![("HLAsyncPointName", encoded(label)), ("HLAsyncPointFederates", encoded(&all))];
    Report { class: "HLAfederation.HLAreport.HLAreportSynchronizationPointStatus", parameters }
}

/// The RTI could not use an interaction (`parameters`), or the service that it stands for failed.
pub(crate) fn mom_exception(sender: FederateHandle, class: &str, text: &str, parameters: bool) -> Report {
    let parameters = [
        ("HLAservice", encoded(class)),
        ("HLAexception", encoded(text)),
        ("HLAparameterError", boolean(parameters)),
    ];
    about(sender, of_federate!("HLAreportMOMexception"), parameters)
}

/// A federate was lost (4.4). Its last time is not known at other nodes than its own.
pub(crate) fn federate_lost(
    federate: FederateHandle,
    name: &str,
    last: Option<LogicalTime>,
    fault: &str,
) -> Report {
    let parameters = [
        ("HLAfederateName", encoded(name)),
        ("HLAtimeStamp", time(last)),
        ("HLAfaultDescription", encoded(fault)),
    ];
    about(federate, of_federate!("HLAreportFederateLost"), parameters)
}

/// A service of a federate has raised an exception.
pub(crate) fn exception(federate: FederateHandle, service: &str, text: &str) -> Report {
    let parameters = [("HLAservice", encoded(service)), ("HLAexception", encoded(text))];
    about(federate, of_federate!("HLAreportException"), parameters)
}
