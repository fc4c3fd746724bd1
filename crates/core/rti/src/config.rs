//! Settings of the services.

use crate::control::NodeId;
use crate::modules;
use crate::replica::NetworkLimits;
use crate::store::{NoSaves, SaveStore};
use base::NodeKey;
use hla::api::ResignAction;
use hla::fom::Limits;
use std::sync::Arc;

/// Settings of an [`Rti`](crate::Rti).
#[derive(Clone, Debug)]
pub struct Config {
    /// The number of this node, which handles of object instances carry. Default 1. With a `key`,
    /// the number that the network assigns to the node replaces it.
    pub node: NodeId,
    /// The incarnation of this node in a network. Default: none, for a single node.
    pub key: Option<NodeKey>,
    /// Limits on FOM modules and MIMs.
    pub fom: Limits,
    /// Octets of FOM modules per call that are read at once. Longer ones are read by a
    /// [`Job`](crate::Job). Default 16 KiB, which takes less than a millisecond.
    pub fom_at_once_bytes: usize,
    /// Calls whose FOM modules may wait to be read. Beyond it calls are refused. Default 1,024.
    pub fom_waiting_calls_max: usize,
    /// Octets of FOM modules, in the form they were sent, that may wait to be read. Beyond it calls
    /// are refused. Default 256 MiB.
    pub fom_waiting_bytes_max: usize,
    /// Bytes of callbacks that may wait for one federate. Beyond it, best-effort callbacks are
    /// dropped. A federate whose reliable callbacks alone exceed it is disconnected. Default 256
    /// MiB: room for the discoveries that follow a subscription in a federation of a million
    /// objects.
    pub queue_bytes_max: usize,
    /// Callbacks that may wait for one federate. Default 4,000,000.
    pub queue_callbacks_max: usize,
    /// Maximum number of federation executions. Each keeps its object model. Default 1,000.
    pub federations_max: usize,
    /// The automatic resign directive of federates in federation executions that are created here,
    /// for object models that set none. Default `NoAction`, the standard's.
    pub automatic_resign: ResignAction,
    /// Limits on the data kept for other nodes, and on the data accepted from them.
    pub network: NetworkLimits,
    /// The place for saved federation executions. Default: none, so that every save fails.
    pub saves: Arc<dyn SaveStore>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            node: NodeId(1),
            key: None,
            fom: Limits::default(),
            fom_at_once_bytes: modules::AT_ONCE_BYTES,
            fom_waiting_calls_max: 1_024,
            fom_waiting_bytes_max: 256 << 20,
            queue_bytes_max: 256 << 20,
            queue_callbacks_max: 4_000_000,
            federations_max: 1_000,
            automatic_resign: ResignAction::NoAction,
            network: NetworkLimits::default(),
            saves: Arc::new(NoSaves),
        }
    }
}
