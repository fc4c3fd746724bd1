//! Settings of the services.

use crate::control::NodeId;
use crate::replica::NetworkLimits;
use base::NodeKey;
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
    /// Bytes of callbacks that may wait for one federate. Beyond it, best-effort callbacks are dropped; a
    /// federate for which reliable ones alone exceed it is disconnected. Default 256 MiB: room for the
    /// discoveries that follow a subscription in a federation of a million objects.
    pub queue_bytes_max: usize,
    /// Callbacks that may wait for one federate. Default 4,000,000.
    pub queue_callbacks_max: usize,
    /// Federation executions, at most. Each keeps its object model. Default 1,000.
    pub federations_max: usize,
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
            queue_bytes_max: 256 << 20,
            queue_callbacks_max: 4_000_000,
            federations_max: 1_000,
            network: NetworkLimits::default(),
        }
    }
}
