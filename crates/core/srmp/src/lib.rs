//! The Selectively Reliable Multicast Protocol, SRMP (RFC 4410, Pullen, Zhao and Cohen 2006), as
//! machines without sockets, clocks or threads. Their inputs are datagrams and the current time;
//! their outputs are datagrams and events.
//!
//! The members of a group multicast in three modes. Mode 0 is best effort. Mode 1 is reliable for
//! the latest value: the newest message of each *data element* ([`DataId`](model::DataId)) reaches
//! every member, and older ones may be skipped. Mode 2 is a unicast message with an
//! acknowledgement. Multicast messages travel in *bundles*. Every bundle announces the newest
//! versions of the sender's data elements ([`Dsn`](model::Dsn)), so that any bundle reveals which
//! messages a receiver missed.
//!
//! There are two [profiles](model::Profile). v2 is RFC 4410 byte for byte. v3 is this library's
//! extension with wide numbers, epochs, authentication and loggers. Members of one profile ignore
//! datagrams of the other.
//!
//! [`Transactions`] are requests and replies over mode 2. [`frames`] carries frames of a layer
//! above, each in the mode that fits it.
//!
//! No code here interprets the bodies of messages.

pub mod auth;
mod digest;
mod endpoint;
mod fault;
pub mod frames;
mod histogram;
mod logger;
mod mode2;
pub mod model;
pub mod rate;
mod receive;
mod send;
mod timing;
mod transact;
pub mod wire;

pub use endpoint::{
    Channel, Config, ConfigError, Counters, Destination, Endpoint, EndpointCounters, Event, Limits,
    LoggerView, MemberView, Peer, RateView, SendError, Ticket, Traffic, Transmit,
};
pub use fault::{Fault, FaultCounts};
pub use histogram::Histogram;
pub use logger::{LoggerConfig, LoggerCounters, LoggerRole};
pub use mode2::Mode2Counters;
pub use receive::{Interest, ReceiveCounters};
pub use send::SendCounters;
pub use timing::Timing;
pub use transact::{Failure, Request, Transacted, TransactionId, Transactions};
