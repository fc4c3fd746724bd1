//! The object plane of one federation execution on one node: what changes with every update.
//!
//! - [`federate`]: what a joined federate publishes, subscribes and has switched on;
//! - [`instance`]: object instances, their attributes' owners, and who knows them as what;
//! - [`discovery`], [`scope`]: who gets to know an instance, and which attributes it then sees;
//! - [`update`], [`interaction`], [`directed`]: the messages themselves;
//! - [`lifecycle`]: registration, deletion, resignation;
//! - [`registration`]: advisories on classes; [`relevance`]: advisories on instance attributes;
//! - [`transport`]: transportation and order types.

pub(crate) mod declaration;
pub(crate) mod directed;
pub(crate) mod discovery;
pub(crate) mod encode;
pub(crate) mod execution;
pub(crate) mod federate;
pub(crate) mod instance;
pub(crate) mod interaction;
pub(crate) mod lifecycle;
pub(crate) mod provide;
pub(crate) mod registration;
pub(crate) mod relevance;
pub(crate) mod resign;
pub(crate) mod scope;
pub(crate) mod transport;
pub(crate) mod update;
