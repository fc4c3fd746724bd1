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
//! # Interest and offers
//!
//! Interest travels against messages: a router tells a source what is wanted of it as soon as, and only when, a
//! sink of its makes a difference. Offers, which [sources make](Router::set_offer), travel with messages in the same
//! way. A [gated](Interest::gated) interest goes only where something that it [wants](Interest::offered_by) is offered, so
//! that a change of it costs records on the way to matching sources alone: in a full mesh of triads as many as there are
//! other triads that offer, where telling every PopUp is what does not scale (Gottschalk, Amburn and Davis
//! 2005, section 2.2); in a tree as many as there are links on the way. Offers, which change seldom, bear the cost of
//! being known everywhere. `tests/offers.rs` counts it.
//!
//! Both are a matter of state, not of events: whatever order they come in, and whenever a link comes up, routers end up
//! knowing the same; then there is silence but for keep-alives.
//!
//! # Flow control
//!
//! Every pipe has a limit in bytes and in messages. At the limit droppable messages go, the lowest class first; what must
//! not be dropped is [refused](Enqueued::Refused). Before that, at a water mark, a pipe is
//! [congested](Event::Congested). Who sends reliably into it is then held back:
//!
//! - A local source by the world, which learns from [`Submitted::waits_in`] and [`pump_noting`] in which pipes a message
//!   waits, and from [`Event::Relieved`] when one is free again.
//! - A link by its credit, if it has [some](PipeConfig::credit_bytes): the peer sends what it was granted and no more, and is
//!   granted again what was passed on, but nothing while a reliable message that it sent waits in a congested pipe.
//!   What finds no room waits at the entrance, never more than was granted. So no reader of a link ever has to stop, memory is
//!   bounded, and nothing reliable is lost. The class `Control` needs no credit and never waits behind others.
//! - A link without credit by the world, by not reading it: [`Received::congested`].
//! - A memory pipe by [`pump`], which passes all this on between the routers of a process.
//!
//! Best effort holds nobody back.
//!
//! # Datagrams
//!
//! A link may have an unordered and lossy side. [`Router::poll_frame_of`] gives best effort apart, whole or in fragments, for
//! [`Router::handle_datagram`] at the other end. It costs no credit, and nothing that comes, or does not, over that side
//! harms the link.
//!
//! # Casts
//!
//! A multicast group, or whatever else reaches several neighbours with one transmission, is a [cast](Router::add_cast): a pipe that
//! stands for all of them. The world says whom it [reaches](Router::set_covered); a message for two of these or more goes
//! once into that pipe, in place of theirs. Its frames are loose, and the routers that hear them take them by
//! [`Router::handle_cast`] from the client that stands for the sender, as though they had come over its link. So a cast
//! changes who carries a message and nothing else: flags, interest and numbers are those of the links. But what must not be
//! dropped may get lost on the way, and a layer above has to ask for it again. The world can keep most of it from getting lost: it
//! may take what must not be dropped [apart](Router::poll_frame_of), and a message that is [directed](Message::directed) at one
//! covered client by a [pipe for that one](Router::add_directed), and see to either by its protocol.
//!
//! # Numbers
//!
//! Every message carries where it entered the network and its number there ([`MessageId`]). A router forwards a number once,
//! so that a network with loops delivers exactly once; in a topology that [checks](topology::Topology::check) no
//! message ever comes twice. Interest and offers that go round a loop keep themselves alive, which costs traffic, not
//! correctness.
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
pub use router::{CASTS_MAX, Event, Gone, Received, Router, Submitted};
pub use stats::{DropReason, PipeStats, RouterStats};
