//! What runs here, for people and tools.

use crate::Rti;

/// A federation execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FederationStatus {
    /// Its name.
    pub name: String,
    /// The name of its logical time implementation.
    pub time: &'static str,
    /// Object instances that have their home here.
    pub instances: usize,
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
    /// Best-effort callbacks dropped because it did not keep up.
    pub dropped: u64,
}

impl Rti {
    /// What runs here, by name of federation.
    pub fn status(&self) -> Vec<FederationStatus> {
        self.control()
            .federations()
            .map(|federation| {
                let execution = self.execution(federation.id);
                let federates = federation.members().filter_map(|(handle, member)| {
                    let client = execution?.federates.get(&handle)?.client;
                    let (waiting, waiting_bytes) = self.plane().queued(client);
                    let dropped = self.plane().pipe_stats(client).map_or(0, |s| s.dropped_messages());
                    Some(FederateStatus {
                        name: member.name.clone(),
                        federate_type: member.federate_type.clone(),
                        waiting,
                        waiting_bytes,
                        dropped,
                    })
                });
                FederationStatus {
                    name: federation.name.clone(),
                    time: federation.time.name(),
                    instances: execution.map_or(0, |execution| execution.instances.len()),
                    federates: federates.collect(),
                }
            })
            .collect()
    }
}
