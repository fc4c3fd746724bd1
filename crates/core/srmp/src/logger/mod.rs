//! Loggers: members that keep the newest messages of all sources, so that losses are repaired near
//! the receivers.
//!
//! The members of a site elect one of them and ask it before they ask the group. That logger asks
//! the logger of a region, which asks the source. So only a handful of members ask a source,
//! however many there are, and it keeps no state for any of them. Loggers also transfer the whole
//! state to joining members. When loggers do not do any of this in time, the members proceed as if
//! there were none.
//!
//! | module | concern |
//! | --- | --- |
//! | [`election`], [`rank`] | the election of a site's logger |
//! | [`view`] | a member's loggers: their liveness and distance |
//! | [`region`] | the loggers of other sites, and the tree that they form |
//! | [`store`] | the messages that a logger keeps |
//! | [`missing`] | the messages that it was asked for and does not have |
//! | [`jobs`] | transfers of the whole state |
//!
//! All these machines are driven by values and hold no timers; the endpoint sends and receives
//! their datagrams.

mod config;
mod election;
mod jobs;
mod missing;
mod rank;
mod region;
mod store;
mod view;

pub use config::{LoggerConfig, LoggerCounters, LoggerRole};
pub(crate) use election::{Election, Outcome};
pub(crate) use jobs::{Audience, Content, Job, Jobs, Position, Stage};
pub(crate) use missing::{Missing, MissingSet};
pub(crate) use rank::{Merits, Rank};
pub(crate) use region::{REGION, Region};
pub(crate) use store::Store;
pub(crate) use view::View;
