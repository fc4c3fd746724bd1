//! One ordered log for all nodes of a federation.
//!
//! A [`Consensus`] is one member of a group. What any member [proposes](Consensus::propose) comes out at every member,
//! in one order, exactly once; proposals of one member in the order in which it proposed them. That holds while
//! messages are lost, delayed, doubled and reordered, while the network is split, and while any minority of the voters
//! stops for good. Without a majority nothing is decided, and nothing is undone.
//!
//! The algorithm is Raft (Ongaro and Ousterhout 2014) in the library `raft`, with pre-votes and a leader that steps down
//! without a majority. This crate adds what a node needs around it:
//!
//! - proposals are numbered by their proposer, sent again until they are in the log, and filtered when they are applied;
//! - whoever joins learns first and votes when it has the log; a group keeps an odd number of voters, replaces
//!   lost ones, and hands the leadership over when the leader leaves ([`Consensus::add`], [`Consensus::remove`]);
//! - the log is in memory and bounded: the application gives its state when asked ([`Event::SnapshotWanted`]), and who is
//!   too far behind gets that ([`Committed::Restore`]);
//! - messages of peers are checked before the library sees them, which would panic at some.
//!
//! No sockets, no clock, no threads. Time comes in as [`base::Moment`], election timeouts from a [`base::Seed`].
//! The library draws election timeouts from the thread's generator; each is overwritten before it is looked at. Its
//! hash maps have a fixed hasher, and messages are sorted by receiver before they go out.
//!
//! A group of one commits at once: no message, no tick.
//!
//! # Driving it
//!
//! After every call take what there is: [`Consensus::poll_committed`] until `None`, then [`Consensus::poll_event`],
//! [`Consensus::poll_message`] and [`Consensus::poll_timeout`]. Messages may be lost, doubled, reordered and late; they
//! must not be altered, and must come from whom they are said to come.
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
pub use consensus::{Committed, Consensus, Event, Serial, SnapshotError, Status};
pub use proposals::ProposeError;
pub use wire::{MessageError, VERSION};
