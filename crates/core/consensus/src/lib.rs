//! One ordered log for all nodes of a federation.
//!
//! A [`Consensus`] is one member of a group. A body that any member [proposes](Consensus::propose)
//! comes out at every member, in one order, exactly once. Proposals of one member come out in the
//! order in which it proposed them. That holds while messages are lost, delayed, duplicated and
//! reordered, while the network is split, and while any minority of the voters stops for good.
//! Without a majority nothing is decided, and nothing is undone.
//!
//! The algorithm is Raft (Ongaro and Ousterhout 2014) in the library `raft`, with pre-votes and a
//! leader that steps down without a majority. This crate adds the parts that a node needs around
//! it:
//!
//! - Proposals are numbered by their proposer, sent again until they are in the log, and filtered
//!   when they are applied.
//! - A joining node is a learner first, and votes when it has the log. A group keeps an odd number
//!   of voters, replaces lost ones, and hands the leadership over when the leader leaves
//!   ([`Consensus::add`], [`Consensus::remove`]).
//! - The log is in memory and bounded. The application provides its state when asked
//!   ([`Event::SnapshotWanted`]), and a member that is too far behind gets that state
//!   ([`Committed::Restore`]).
//! - Messages of peers are checked before they reach the library, which would panic at some of
//!   them.
//!
//! No sockets, no clock, no threads. Time comes in as [`base::Moment`], election timeouts from a
//! [`base::Seed`]. The library draws election timeouts from the thread's generator; each is
//! overwritten before it is used. Its hash maps have a fixed hasher, and messages are sorted by
//! receiver before they go out.
//!
//! A group of one commits at once, without a message or a tick.
//!
//! # Driving it
//!
//! After every call take all outputs: [`Consensus::poll_committed`] until `None`, then
//! [`Consensus::poll_event`], [`Consensus::poll_message`] and [`Consensus::poll_timeout`]. Messages
//! may be lost, duplicated, reordered and late. They must not be altered, and each must come from
//! the sender that it claims.
//!
//! ```
//! use base::{Moment, NodeKey, Seed};
//! use consensus::{Committed, Config, Consensus};
//!
//! let mut alone = Consensus::bootstrap(NodeKey(7), Seed(1), Config::default())?;
//! let serial = alone.propose(Moment::ZERO, "hello".into())?;
//! let Some(Committed::Entry { from, serial: committed, body }) = alone.poll_committed() else { panic!() };
//! assert_eq!((from, committed, &body[..]), (NodeKey(7), serial, &b"hello"[..]));
//! assert_eq!(alone.poll_timeout(), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
mod config;
mod configuration;
mod consensus;
mod guard;
mod log;
mod members;
mod proposals;
pub mod reformation;
mod replicated;
mod wire;

pub use change::Role;
pub use config::{
    Config, ConfigError, ENTRY_BYTES_MAX, MEMBERS_MAX, PENDING_MAX, SNAPSHOT_BYTES_MAX, TOMBSTONES_MAX,
};
pub use configuration::Configuration;
pub use consensus::{Committed, Consensus, Event, Serial, SnapshotError, SnapshotPoint, Status};
pub use proposals::ProposeError;
pub use wire::{MessageError, VERSION};
