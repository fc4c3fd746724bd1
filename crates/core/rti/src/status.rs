//! A snapshot of the services, for people and tools.

mod ownership;
mod regions;
mod why;

pub use ownership::{AcquirerStatus, AttributeOwnershipStatus, InstanceOwnership, OwnershipStatus};
pub use regions::{FederateRegions, FederationRegions, RangeStatus, RegionStatus, RegionsStatus};
pub use why::{ApartStatus, AttributeWhy, SeparatedRegions, SubscriptionStatus, WhyStatus};

use crate::control::management::is_managed;
use crate::control::{ExecutionId, Federation, NodeId, PublishedClass};
use crate::object::objects::Objects;
use crate::proposal::CallerId;
use crate::rti::Rti;
use crate::time::Reason;
use hla::handle::{
    AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, TransportationTypeHandle,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A federation execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FederationStatus {
    /// Its name.
    pub name: String,
    /// The name of its logical time implementation.
    pub time: &'static str,
    /// Object instances whose home is this node.
    pub instances: usize,
    /// Those of them without an owner: federates that were lost or resigned have left them behind.
    pub unowned: usize,
    /// Its federates joined at this node, by handle.
    pub federates: Vec<FederateStatus>,
    /// The name of the federate of this node that holds up others most in logical time: the one
    /// with the least time stamp that it may still send. `None` if none here regulates time.
    pub least: Option<String>,
    /// The names of its federates at other nodes, with those nodes.
    pub elsewhere: Vec<(String, NodeId)>,
}

/// A joined federate of this node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FederateStatus {
    /// Its name.
    pub name: String,
    /// Its type.
    pub federate_type: String,
    /// Its session.
    pub caller: CallerId,
    /// Callbacks that wait for it.
    pub waiting: usize,
    /// Bytes of callbacks that wait for it.
    pub waiting_bytes: usize,
    /// Best-effort callbacks dropped because the federate did not keep up.
    pub dropped: u64,
    /// Its logical time; `None` if it has never used time management.
    pub time: Option<TimeStatus>,
}

/// The state of a federate in logical time. Times are in human-readable form.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TimeStatus {
    /// Its logical time.
    pub time: String,
    /// The actual lookahead, if the federate regulates time.
    pub lookahead: Option<String>,
    /// Whether it is time-constrained.
    pub constrained: bool,
    /// The request that it waits for.
    pub pending: Option<String>,
    /// Its greatest available logical time, if defined.
    pub galt: Option<String>,
    /// The least time stamp that it may still receive, if defined.
    pub lits: Option<String>,
    /// Messages in time-stamp order that wait for its logical time.
    pub queued: usize,
    /// How long its request, or the time after its last grant, has lasted, in milliseconds.
    #[serde(default)]
    pub lasts_ms: u64,
    /// Names of the federates that hold it up: the first holds up the federate, the second the
    /// first, and so on. Ends with one that does not wait or is connected to another node, whose
    /// name is then given too.
    pub waits_for: Vec<String>,
    /// Other causes of its wait, if its node is one of a network: nodes that have not answered, and
    /// messages on their way.
    #[serde(default)]
    pub reasons: Vec<String>,
}

/// An object instance as known here: one of this node, or a replica.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstanceStatus {
    /// Its handle.
    pub instance: ObjectInstanceHandle,
    /// The class it was registered at.
    pub class: ObjectClassHandle,
    /// Its name.
    pub name: String,
    /// The node that orders its changes.
    pub home: NodeId,
    /// The attributes of its class with their owners (invalid for none) and transportation types.
    pub attributes: Vec<(AttributeHandle, FederateHandle, TransportationTypeHandle)>,
    /// The federates of this node that know it, each with the class at which it does.
    pub known: Vec<(FederateHandle, ObjectClassHandle)>,
}

impl Rti {
    /// The object instances of a federation execution that this node has, by class and handle.
    pub fn instances(&self, execution: ExecutionId) -> Vec<InstanceStatus> {
        let Some(objects) = self.objects(execution) else { return Vec::new() };
        let all = objects
            .instances
            .handles()
            .filter(|&handle| !is_managed(handle))
            .filter_map(|handle| objects.instances.get(handle));
        all.map(|object| {
            let handles = &objects.class_of(object.class).attributes;
            let states = handles.iter().zip(object.attributes());
            InstanceStatus {
                instance: object.handle,
                class: object.class,
                name: object.name.to_string(),
                home: object.home,
                attributes: states.map(|(&at, (_, state))| (at, state.owner, state.transportation)).collect(),
                known: object.known().iter().map(|known| (known.federate, known.class)).collect(),
            }
        })
        .collect()
    }

    /// The federation execution with this name, and its objects here; otherwise the reason in words.
    fn federation_here(&self, name: &str) -> Result<(&Federation, &Objects), String> {
        let known = self.control().federation(name);
        let known = known.ok_or_else(|| format!("no federation execution is called `{name}`"))?;
        let objects = self.objects(known.id);
        let objects = objects.ok_or_else(|| format!("no federate of `{name}` has joined at this node"))?;
        Ok((known, objects))
    }

    fn node_name(&self, node: NodeId) -> String {
        self.control().node(node).map_or_else(|| node.to_string(), |record| record.name.clone())
    }

    fn least_in_time(&self, federation: &Federation) -> Option<String> {
        let handle = self.time_of(federation.id)?.least()?;
        federation.member(handle).map(|member| member.name.clone())
    }

    /// The reason, worded for people.
    fn describe_reason(&self, federation: &Federation, reason: &Reason) -> String {
        let name = |node: NodeId| self.node_name(node);
        match reason {
            Reason::Recalled(Some(home)) => {
                format!("node {} has not had the answers of all nodes", name(*home))
            }
            Reason::Recalled(None) => "no node merges the reports of all nodes yet".to_owned(),
            Reason::Unanswered(node) => format!("node {} has not answered", name(*node)),
            Reason::Stream { class, node, arrived, sent } => {
                let class = match class {
                    PublishedClass::Objects(class) => {
                        federation.model.object_class(*class).map_or("a class", |class| &class.name)
                    }
                    PublishedClass::Interactions(class) => {
                        federation.model.interaction_class(*class).map_or("a class", |class| &class.name)
                    }
                    PublishedClass::Directed => "directed interactions",
                };
                format!("messages of node {} ({class}) have arrived up to {arrived} of {sent}", name(*node))
            }
            Reason::Message { time, from_here: true } => {
                format!("a message from here at {time} may not have arrived everywhere")
            }
            Reason::Message { time, from_here: false } => {
                format!("a message of another node at {time} may not have arrived everywhere")
            }
        }
    }

    /// The federation executions on this node, by name.
    pub fn status(&self) -> Vec<FederationStatus> {
        let callers: BTreeMap<_, _> = self.joined_callers().collect();
        let now = self.now();
        self.control()
            .federations()
            .map(|federation| {
                let objects = self.objects(federation.id);
                let federates = federation.members().filter_map(|(handle, member)| {
                    let client = objects?.federates.get(&handle)?.client;
                    let name = |handle| {
                        let Some(other) = federation.member(handle) else { return String::new() };
                        match self.control().node(other.node) {
                            Some(node) if other.node != member.node => {
                                format!("{} (node {})", other.name, node.name)
                            }
                            _ => other.name.clone(),
                        }
                    };
                    let clock = self.time_of(federation.id).and_then(|time| time.status(handle, now));
                    let (waiting, waiting_bytes) = self.delivery().queued(client);
                    let dropped = self.delivery().pipe_stats(client).map_or(0, |s| s.dropped_messages());
                    Some(FederateStatus {
                        name: member.name.clone(),
                        federate_type: member.federate_type.clone(),
                        caller: callers.get(&(federation.id, handle)).copied().unwrap_or_default(),
                        waiting,
                        waiting_bytes,
                        dropped,
                        time: clock.map(|clock| TimeStatus {
                            time: clock.time,
                            lookahead: clock.lookahead,
                            constrained: clock.constrained,
                            pending: clock.pending,
                            galt: clock.galt,
                            lits: clock.lits,
                            queued: clock.queued,
                            lasts_ms: u64::try_from(clock.lasts.as_millis()).unwrap_or(u64::MAX),
                            waits_for: clock.waits_for.into_iter().map(name).collect(),
                            reasons: clock
                                .reasons
                                .iter()
                                .map(|reason| self.describe_reason(federation, reason))
                                .collect(),
                        }),
                    })
                });
                FederationStatus {
                    name: federation.name.clone(),
                    time: federation.time.name(),
                    instances: objects.map_or(0, Objects::own_instances),
                    unowned: objects.map_or(0, Objects::unowned_instances),
                    least: self.least_in_time(federation),
                    federates: federates.collect(),
                    elsewhere: federation
                        .members()
                        .filter(|(handle, _)| !objects.is_some_and(|o| o.federates.contains_key(handle)))
                        .map(|(_, member)| (member.name.clone(), member.node))
                        .collect(),
                }
            })
            .collect()
    }
}
