//! Interest-aware mesh routers, after MeshRouter (Gottschalk, Amburn and Davis 2005).
//!
//! A [`Router`] is a list of clients. Each client is a neighbour with an interest, four
//! [flags](ClientFlags) and a pipe, which is the queue of messages that wait for it. The router
//! puts a message of a source into the pipe of every client that is interested in its topic. A
//! message from an upper client goes only to lower clients and never back, so that no cycle can
//! form. The world pulls from a pipe when the link can take more, so the choice of the next message
//! uses the newest state.
//!
//! The router does not depend on HLA, the time of day, sockets or threads: [`Message`] and
//! [`Interest`] are traits, the caller passes the time in, and the router hands over bytes as
//! frames.
//!
//! # Interest and advertisements
//!
//! Interest travels against the direction of messages. A router announces an interest to a source
//! as soon as a sink behind it makes a difference to that source, and only then. Advertisements,
//! which [sources make](Router::set_advertisement), travel in the direction of messages by the same rule. A
//! [gated](Interest::gated) interest goes only where a source advertises something that it
//! [wants](Interest::advertised_by), so that a change costs records only on the way to matching
//! sources. In a full mesh of triads the cost is one record for each other triad that advertises;
//! announcing the change to every PopUp is what does not scale (Gottschalk, Amburn and Davis 2005,
//! section 2.2). In a tree the cost is one record for each link on the way. Advertisements change
//! seldom, so they bear the cost of being known everywhere. `tests/advertisements.rs` counts the
//! records.
//!
//! Both are state, not events. Whatever the order of the announcements, and whenever a link comes
//! up, routers converge to the same knowledge. After that only keep-alives are sent.
//!
//! # Flow control
//!
//! Every pipe has a limit in bytes and in messages. At the limit the pipe drops droppable messages,
//! the lowest class first, and [refuses](Enqueued::Refused) a message that must not be dropped.
//! Before that, above a high-water mark, a pipe is [congested](Event::Congested). A reliable sender
//! into a congested pipe is then paused:
//!
//! - The world holds back a local source. [`Submitted::waits_in`] and [`pump_noting`] name the
//!   pipes in which a message waits, and [`Event::Relieved`] names each one that is free again.
//! - Credit holds back a link, if the link has [a window](PipeConfig::credit_bytes). The peer sends
//!   only as much as it was granted. It gets new credit for the bytes that were passed on, but none
//!   while one of its reliable messages waits in a congested pipe. A message that finds no room
//!   waits at the entrance, which never holds more than the grant. So no reader of a link ever has
//!   to stop, memory is bounded, and nothing reliable is lost. The class `Control` needs no credit
//!   and never waits behind other classes.
//! - The world holds back a link without credit by not reading it: [`Received::congested`].
//! - [`pump`] passes all this on between the routers of a process, over memory pipes.
//!
//! Best effort holds no sender back.
//!
//! # Datagrams
//!
//! A link may have an unordered and lossy side. [`Router::poll_frame_of`] gives best-effort
//! messages separately, whole or in fragments, for [`Router::handle_datagram`] at the other end.
//! They cost no credit, and neither a loss nor a fault on that side harms the link.
//!
//! # Casts
//!
//! A multicast group, or anything else that reaches several neighbours with one transmission, is a
//! [multicast group](Router::add_group): a pipe that stands for all of them. The world tells the
//! router which clients a group [reaches](Router::set_covered). A message for two or more of these
//! goes once into the group's pipe instead of their own. The frames of a group are best effort. The
//! receiving routers pass them to [`Router::handle_group_frame`] for the client that stands for the
//! sender, as though they had come over its link. So a group changes only the carrier of a message:
//! flags, interest and numbers are those of the links. But a message that must not be dropped may
//! be lost on the way, and a layer above has to request it again. The world can avoid most of these
//! losses with a protocol of its own: it may take the messages that must not be dropped
//! [separately](Router::poll_frame_of), and messages [directed](Message::directed) at one covered
//! client through a [pipe for that client](Router::add_directed).
//!
//! # Numbers
//!
//! Every message carries the place where it entered the network and its number there
//! ([`MessageId`]). A router forwards a number once, so that a network with loops delivers exactly
//! once. In a topology that passes the [check](topology::Topology::check), no message ever arrives
//! twice. Interest and advertisements that go round a loop keep themselves alive, which costs
//! traffic, not correctness.
//!
//! # Nodes
//!
//! [`NodeRouters`] are the routers of one process: a single one, or the PopUp, PullDown and Primary of
//! a triad, with a client for each neighbour. An application that has links to its neighbours needs
//! nothing else.
//!
//! Start at [`Router`] and its contract; the hot path is in `router/forward.rs`.

mod client;
mod config;
mod connection;
mod credit;
mod duplicates;
mod error;
pub mod frame;
mod interest;
mod memory;
mod message;
mod node;
mod outbox;
mod pipe;
mod queue;
mod reassembly;
mod router;
mod stalled;
mod stats;
pub mod topology;

pub use client::{ClientFlags, ClientId};
pub use config::{
    ADVERTISEMENTS_MAX, Backoff, CLIENTS_MAX, CREDIT_BYTES_MAX, CREDIT_BYTES_MIN, ClientConfig, ClientKind,
    DUPLICATE_WINDOW, DropFirst, FRAME_BYTES_DEFAULT, FRAME_BYTES_MAX, FRAME_BYTES_MIN, HOPS_MAX,
    INTERESTS_MAX, INTERESTS_PER_KEY_MAX, MESSAGE_BYTES_MAX, ORIGINS_MAX, PipeConfig, QUEUE_BYTES_MAX,
    QUEUE_MESSAGES_MAX, RouterConfig,
};
pub use connection::LinkChange;
pub use error::{ClientError, FrameError};
pub use interest::{Interested, Propagate};
pub use memory::{MemoryPipe, pump, pump_noting};
pub use message::{
    Envelope, Fifos, Interest, Message, MessageId, Origin, Parcel, Priority, RouterId, Wire, WireError,
};
pub use node::{ChannelStatus, Delivery, GroupFrame, GroupPipeStatus, NodeRouters, RouterClient};
pub use queue::Enqueued;
pub use router::{Event, GROUPS_MAX, Gone, Received, Router, Submitted};
pub use stats::{DropReason, PipeStats, RouterStats};
