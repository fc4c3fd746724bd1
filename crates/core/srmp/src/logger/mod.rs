//! Loggers: members that keep the newest messages of all, so that what is missed is repaired near where it was missed.
//!
//! A site's members elect one of them, which they ask before they ask the group; it asks the logger of a region, and that the
//! source. So a source is asked by a handful however many members there are, and keeps nothing of any of them. Loggers also
//! give the whole state to who joins. Whatever they do not do in time the members do as if there were none.
//!
//! | module | concern |
//! | --- | --- |
//! | [`election`], [`rank`] | who is the logger of a site |
//! | [`view`] | a member's loggers: who lives, and how far they are |
//! | [`region`] | loggers of other sites, and who asks whom |
//! | [`store`] | what a logger keeps |
//! | [`lacks`] | what it was asked for and has not |
//! | [`jobs`] | answers to those who ask for the whole state |
//!
//! Like all machines here these are driven by values and hold no timers; the endpoint has their datagrams.

mod config;
mod election;
mod jobs;
mod lacks;
mod rank;
mod region;
mod store;
mod view;

pub use config::{LoggerConfig, LoggerCounters, LoggerRole};
pub(crate) use election::{Election, Outcome};
pub(crate) use jobs::{Audience, Job, Jobs, Position, Stage, Topic};
pub(crate) use lacks::{Lack, Lacks};
pub(crate) use rank::{Merits, Rank};
pub(crate) use region::{REGION, Region};
pub(crate) use store::Store;
pub(crate) use view::View;
