//! The object plane of one federation execution on one node: the state that changes with every
//! update.
//!
//! - [`federate`]: the declarations and switches of a joined federate;
//! - [`instance`], [`known`], [`table`]: object instances, the owners of their attributes, and the federates
//!   that know them;
//! - [`discovery`], [`scope`]: which federates discover an instance, and which attributes they then
//!   see; [`why`]: why they do;
//! - [`update`], [`interaction`], [`directed`]: the messages themselves;
//! - [`reduction`]: update rates; [`timed`]: messages in time-stamp order, when they are due;
//! - [`lifecycle`]: registration, deletion; [`deletion`]: deletion in time-stamp order;
//! - [`registration`]: advisories on classes; [`relevance`]: advisories on instance attributes;
//!   [`relevance_review`]: those on very many instances;
//! - [`regions`]: regions, by which federates narrow what they send and subscribe;
//! - [`counters`]: what a federate has sent and received;
//! - [`managed`]: instances of the management object model; [`reported`]: the switch serviceReporting;
//! - [`ownership`]: ownership of attributes; [`transport`]: transportation and order types;
//! - [`apply`]: events of other nodes; [`record`]: instances as nodes describe them to each other;
//! - [`remote_federates`]: subscriptions of other nodes' federates, and [`wanted`]: what these want
//!   of a class; [`publication`]: publications of this node;
//! - [`review`], [`resign`], [`divestiture`], [`forgotten`], [`work`]: work on very many instances,
//!   in slices;
//! - [`losses`], [`rehome`]: nodes that die; [`tombstones`]: instances that they had just deleted;
//!   [`departures`]: federates that had just left them.

pub(crate) mod apply;
mod class_request;
pub(crate) mod counters;
mod declaration;
mod deletion;
mod departures;
mod directed;
mod discovery;
mod divestiture;
pub(crate) mod encode;
pub(crate) mod federate;
mod forgotten;
pub(crate) mod image;
pub(crate) mod instance;
pub(crate) mod interaction;
pub(crate) mod interest;
mod known;
mod lifecycle;
pub(crate) mod losses;
pub(crate) mod managed;
pub(crate) mod objects;
pub(crate) mod ownership;
mod provide;
mod publication;
mod record;
pub(crate) mod reduction;
pub(crate) mod regions;
mod registration;
mod rehome;
mod relevance;
mod relevance_review;
mod remote_federates;
mod reported;
mod request;
mod resign;
mod review;
mod scope;
mod table;
mod timed;
mod tombstones;
mod transport;
pub(crate) mod update;
pub(crate) mod wanted;
pub(crate) mod why;
mod work;

#[cfg(test)]
pub(crate) mod tests;
