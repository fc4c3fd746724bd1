//! One process's logic, assembled: the sessions of the Federate Protocol ([`fedpro`]), the services
//! ([`rti`]), and the node's part in a network.
//!
//! [`Kernel`] is wiring and nothing else. It has the shape of [`fedpro::server::Endpoint`]: bytes
//! of connections go in, bytes of connections come out, and the world (a node with sockets, or a
//! simulation) supplies the time.

mod access;
mod admission;
mod authorizer;
mod config;
mod kernel;
mod links;
mod memory;
mod network;
mod password_failures;
mod paused;
mod rates;
pub mod report;
mod sessions;
mod status;
mod turn;

pub use self::access::{AccessRecord, Certificate};
pub use ::access::{
    AUTHORIZER, CredentialsCheck, CredentialsVerdict, KerberosVerifier, Policy, PolicyError, TokenKeys,
};
pub use authorizer::{AuthorizerRequest, AuthorizerResult};
pub use config::Config;
pub use consensus::Configuration;
pub use consensus::reformation::{Head, ImageError, Kept, Persist, Record};
pub use fedpro::server::{ConnId, Transmit};
pub use kernel::Kernel;
pub use network::{
    ChannelStatus, Delivery, FrameKind, GroupCounts, GroupFrame, GroupInput, GroupKey, GroupKeyConfig,
    GroupKeys, GroupOutput, GroupSecret, GroupStatus, KeyName, LinkCounts, LinkInput, LinkMessages,
    LinkOutput, LinkRates, LinkTarget, LinkTerms, LinkTraffic, Multicast, NetworkConfig, NetworkError,
    NetworkStatus, NodeStatus, SECRET_BYTES, link_pipe,
};
pub use overlay::{LinkId, OnDemand, TargetId, TopologyKind};
pub use router::{DropReason, PipeConfig, PipeStats, Priority};
pub use rti::{Authorization, FomSource, Job, JobDone, JobId, NoFoms, NoSaves, SaveStore};
pub use status::Status;
pub use turn::SlowTurns;
