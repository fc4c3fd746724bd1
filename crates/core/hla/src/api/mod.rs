//! Services, their results, and callbacks of the HLA 4 API as types.
//!
//! They are generated from `proto/*.proto` (`cargo xtask gen`) and implement [`prost::Message`]:
//! the Federate Protocol (1516.1-2025, clause 12.13) is the standard's own wire form of its API, so
//! one set of types serves as vocabulary and as wire form. [`CallRequest`] holds any of the 178
//! services, [`CallResponse`] its result or exception, [`CallbackRequest`] any of the 62 callbacks.
//!
//! [`SERVICES`] is the call table: the properties of each service that the RTI checks before it
//! serves.
//!
//! A sub-message that may be absent is an `Option`; an absent handle and one that does not fit
//! are both *invalid* (see [`crate::handle`]), so that they end in the exception the standard
//! has for them rather than in a broken session.

#[macro_use]
#[rustfmt::skip]
mod services;

mod argument;
#[rustfmt::skip]
mod arguments;
mod collections;
mod forms;
#[allow(missing_docs, clippy::all, clippy::pedantic)] // generated: names are the wire format's
#[rustfmt::skip]
mod generated;
mod service;

pub use argument::{Argument, ArgumentType};
pub use forms::{Connect, Create, Join};
pub use generated::*;
pub use prost::{DecodeError, Message};
pub use service::{Needs, Request, Service};
pub use services::SERVICES;

#[cfg(test)]
mod tests;
