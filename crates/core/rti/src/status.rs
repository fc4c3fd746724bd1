//! A snapshot of the services, for people and tools.

use crate::control::{ExecutionId, NodeId};
use crate::object::objects::Objects;
use crate::rti::Rti;
use hla::handle::{
    AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, TransportationTypeHandle,
};

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
    /// Its joined federates of this node, by handle.
    pub federates: Vec<FederateStatus>,
}

/// A joined federate of this node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FederateStatus {
    /// Its name.
    pub name: String,
    /// Its type.
    pub federate_type: String,
    /// Callbacks that wait for it.
    pub waiting: usize,
    /// Bytes of callbacks that wait for it.
    pub waiting_bytes: usize,
    /// Best-effort callbacks dropped because the federate did not keep up.
    pub dropped: u64,
    /// Its logical time; `None` if it has never used time management.
    pub time: Option<TimeStatus>,
}

/// The state of a federate in logical time. Times are in the form of people.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
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
    /// Names of the federates that hold it up: the first holds up the federate, the second the
    /// first, and so on.
    pub waits_for: Vec<String>,
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
        let all = objects.instances.handles().filter_map(|handle| objects.instances.get(handle));
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

    /// The federation executions on this node, by name.
    pub fn status(&self) -> Vec<FederationStatus> {
        self.control()
            .federations()
            .map(|federation| {
                let objects = self.objects(federation.id);
                let federates = federation.members().filter_map(|(handle, member)| {
                    let client = objects?.federates.get(&handle)?.client;
                    let name =
                        |handle| federation.member(handle).map_or_else(String::new, |m| m.name.clone());
                    let clock = self.clock_status(federation.id, handle);
                    let (waiting, waiting_bytes) = self.delivery().queued(client);
                    let dropped = self.delivery().pipe_stats(client).map_or(0, |s| s.dropped_messages());
                    Some(FederateStatus {
                        name: member.name.clone(),
                        federate_type: member.federate_type.clone(),
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
                            waits_for: clock.waits_for.into_iter().map(name).collect(),
                        }),
                    })
                });
                FederationStatus {
                    name: federation.name.clone(),
                    time: federation.time.name(),
                    instances: objects.map_or(0, Objects::own_instances),
                    unowned: objects.map_or(0, Objects::unowned_instances),
                    federates: federates.collect(),
                }
            })
            .collect()
    }
}
