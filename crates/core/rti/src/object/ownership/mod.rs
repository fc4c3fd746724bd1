//! Ownership management (clause 7).
//!
//! The home of an instance decides who owns its attributes, one request after the other. It
//! announces each decision in the stream of the class, and every node, the home included, applies
//! the decisions in that order: changes of owners, offers, and the callbacks to its own federates.
//! Each node's view is therefore a prefix of one history.
//!
//! - [`negotiation`]: the state machine of one attribute; [`home`]: decisions for requests;
//! - [`requests`]: what federates here have requested, and have not been told yet; [`calls`]: the services,
//!   their checks, and calls that wait for another node;
//! - [`decided`]: decisions as every node applies them; [`offers`]: attributes that are offered;
//! - [`adoption`]: the decisions of a new home after the loss of the former one;
//! - [`managed`]: attributes of the management object model;
//! - [`query`]: queries of ownership; [`status`]: owners and open negotiations, for people and tools.

mod adoption;
mod calls;
mod decided;
mod home;
mod managed;
mod negotiation;
mod offers;
mod query;
mod requests;
mod status;

pub(crate) use adoption::Adoptions;
pub(crate) use calls::{Arguments, OwnershipCall};
pub(crate) use home::{Negotiations, NegotiationsImage};
pub(crate) use offers::{Offers, OffersImage};
pub(crate) use requests::{OpenRequests, RequestsImage};

/// The most memory that a negotiation about one attribute takes at one node, in bytes, for each
/// federate that takes part, without tags.
pub(crate) const NEGOTIATION_BYTES: usize = 500;
