//! The object plane of one federation execution on one node: what changes with every update.
//!
//! - [`federate`]: what a joined federate publishes, subscribes and has switched on;
//! - [`instance`], [`table`]: object instances, their attributes' owners, and who knows them as what;
//! - [`discovery`], [`scope`]: who gets to know an instance, and which attributes it then sees;
//! - [`update`], [`interaction`], [`directed`]: the messages themselves;
//! - [`lifecycle`]: registration, deletion;
//! - [`registration`]: advisories on classes; [`relevance`]: advisories on instance attributes;
//! - [`ownership`]: who owns what; [`transport`]: transportation and order types;
//! - [`apply`]: what happens at other nodes, as it is learned here; [`record`]: instances as nodes tell each other of them;
//! - [`remote_federates`]: what federates of other nodes subscribe; [`publication`]: what this node publishes;
//! - [`review`], [`resign`], [`forgotten`], [`work`]: what concerns very many instances, in slices;
//! - [`losses`], [`rehome`]: nodes that die; [`tombstones`]: instances that they had just deleted; [`departures`]: federates that had
//!   just left them.

pub(crate) mod apply;
mod declaration;
mod departures;
mod directed;
mod discovery;
pub(crate) mod encode;
pub(crate) mod federate;
mod forgotten;
pub(crate) mod instance;
pub(crate) mod interaction;
pub(crate) mod interest;
mod lifecycle;
pub(crate) mod losses;
pub(crate) mod objects;
mod ownership;
mod provide;
mod publication;
mod record;
mod registration;
mod rehome;
mod relevance;
mod remote_federates;
mod request;
mod resign;
mod review;
mod scope;
mod table;
mod tombstones;
mod transport;
mod update;
mod work;

#[cfg(test)]
pub(crate) mod tests;
