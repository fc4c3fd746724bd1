//! Handles of the management object model (1516.1-2025, clause 11).
//!
//! Every node makes the instances of the management object model by itself, from the members of the
//! federation execution. Their handles must therefore be the same everywhere, without a message.

use super::NodeId;
use hla::handle::{FederateHandle, ObjectInstanceHandle};

/// The owner of all attributes of these instances: the RTI. No federate has this handle.
pub(crate) const RTI: FederateHandle = FederateHandle(u32::MAX);

/// The instance of HLAfederation.
pub(crate) const FEDERATION_INSTANCE: ObjectInstanceHandle = ObjectInstanceHandle(RTI.0 as u64);

/// The instance of HLAfederate for a federate.
pub(crate) const fn federate_instance(federate: FederateHandle) -> ObjectInstanceHandle {
    ObjectInstanceHandle(federate.0 as u64)
}

/// The federate that an instance of HLAfederate stands for; `None` for other instances.
pub(crate) fn federate_of(instance: ObjectInstanceHandle) -> Option<FederateHandle> {
    let is_one = instance.is_valid() && is_managed(instance) && instance != FEDERATION_INSTANCE;
    u32::try_from(instance.0).ok().filter(|_| is_one).map(FederateHandle)
}

/// Whether an instance belongs to the management object model.
pub(crate) const fn is_managed(instance: ObjectInstanceHandle) -> bool {
    NodeId::of_instance(instance).0 == NodeId::RTI.0
}
