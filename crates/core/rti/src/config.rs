//! Settings of the services.

use crate::control::NodeId;
use crate::modules;
use crate::replica::NetworkLimits;
use base::NodeKey;
use hla::api::ResignAction;
use hla::fom::Limits;

/// Settings of an [`Rti`](crate::Rti).
#[derive(Clone, Debug)]
pub struct Config {
    /// This node. Default 1. Handles of object instances carry it. With a `key`, it is replaced by the number that
    /// the node gets when it becomes part of the network.
    pub node: NodeId,
    /// Which start of a node in a network this is. Default: none, a single node.
    pub key: Option<NodeKey>,
    /// When set, only federates that connect with this password (`HLAplainTextPassword`) are let in.
    /// Default: none.
    pub password: Option<String>,
    /// Limits on FOM modules and MIMs.
    pub fom: Limits,
    /// FOM modules of one call that are read at once, in octets; longer ones are read by a [`Job`](crate::Job).
    /// Default 16 KiB, which take less than a millisecond.
    pub fom_at_once_bytes: usize,
    /// Calls whose FOM modules may wait to be read; the next one is refused. Default 1,024.
    pub fom_waiting_calls_max: usize,
    /// Octets of FOM modules, as they were sent, that may wait to be read; the next call is refused. Default 256 MiB.
    pub fom_waiting_bytes_max: usize,
    /// Bytes of callbacks that may wait for one federate. Beyond it, best-effort callbacks are dropped; a
    /// federate for which reliable ones alone exceed it is disconnected. Default 256 MiB: room for the
    /// discoveries that follow a subscription in a federation of a million objects.
    pub queue_bytes_max: usize,
    /// Callbacks that may wait for one federate. Default 4,000,000.
    pub queue_callbacks_max: usize,
    /// Federation executions, at most. Each keeps its object model. Default 1,000.
    pub federations_max: usize,
    /// The automatic resign directive of federates of federation executions that are created here, where the object
    /// model sets none. Default `NoAction`, the standard's.
    pub automatic_resign: ResignAction,
    /// Limits of what is kept for, and expected of, other nodes.
    pub network: NetworkLimits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            node: NodeId(1),
            key: None,
            password: None,
            fom: Limits::default(),
            fom_at_once_bytes: modules::AT_ONCE_BYTES,
            fom_waiting_calls_max: 1_024,
            fom_waiting_bytes_max: 256 << 20,
            queue_bytes_max: 256 << 20,
            queue_callbacks_max: 4_000_000,
            federations_max: 1_000,
            automatic_resign: ResignAction::NoAction,
            network: NetworkLimits::default(),
        }
    }
}
