//! Interest-aware mesh routers, after MeshRouter (Gottschalk, Amburn and Davis 2005).
//!
//! A [`Router`] is a smart list of clients. Each client is a neighbour with an interest, four
//! [flags](ClientFlags) and a pipe: the queue of what waits for it. A message of a source goes
//! into the pipe of every client that is interested in its topic; from an upper client only to lower ones,
//! and never back, so that no cycle can form. The world pulls from pipes when links can take more, so what goes next is
//! decided with the newest knowledge.
//!
//! The router knows nothing of HLA, time of day, sockets or threads: [`Message`] and [`Interest`] are traits, time
//! is passed in, and bytes are handed over as frames.
//!
//! # Flow control
//!
//! Every pipe has a limit in bytes and in messages. At the limit droppable messages go, the lowest class first; what must
//! not be dropped is [refused](Enqueued::Refused). Before that, at a water mark, a pipe is
//! [congested](Event::Congested): the world then stops taking from those who send to it (a local source, or a link by
//! not reading it: [`Received::congested`]), and so holds back senders link by link.
//!
//! # Numbers
//!
//! Every message carries where it entered the network and its number there ([`MessageId`]). A router forwards a number once,
//! so that a network with loops delivers exactly once; in a topology that [checks](topology::Topology::check) no
//! message ever comes twice. Interest that goes round a loop keeps itself alive, which costs traffic, not correctness.
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
    Backoff, CLIENTS_MAX, CREDIT_BYTES_MAX, CREDIT_BYTES_MIN, ClientConfig, ClientKind, DUPLICATE_WINDOW,
    DropFirst, FRAME_BYTES_DEFAULT, FRAME_BYTES_MAX, FRAME_BYTES_MIN, HOPS_MAX, INTERESTS_MAX,
    INTERESTS_PER_KEY_MAX, MESSAGE_BYTES_MAX, OFFERS_MAX, ORIGINS_MAX, PipeConfig, QUEUE_BYTES_MAX,
    QUEUE_MESSAGES_MAX, RouterConfig,
};
pub use connection::LinkChange;
pub use error::{ClientError, FrameError};
pub use interest::{Interested, Propagate};
pub use memory::{MemoryPipe, pump, pump_noting};
pub use message::{
    Envelope, Interest, Lanes, Message, MessageId, Origin, Parcel, Priority, RouterId, Wire, WireError,
};
pub use queue::Enqueued;
pub use router::{Event, Gone, Received, Router, Submitted};
pub use stats::{DropReason, PipeStats, RouterStats};
