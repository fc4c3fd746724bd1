//! Federates in async Rust, against any server that speaks the Federate Protocol (IEEE 1516.1-2025,
//! clause 12.13).
//!
//! [`Federate::connect`] returns a [`Federate`], which has one method for each of the 178 services,
//! and [`Callbacks`], the stream of the RTI's callbacks to the federate. The method of a service
//! queues the request at once and returns a [`Call`], which is a future of the result. So any
//! number of calls can be in flight, and they leave in as few writes as possible. For high rates of
//! updates there is [`Federate::updates`], which waits for no result. A federate that advances in
//! logical time has a [`LogicalClock`]. A [`Negotiation`] hands over the ownership of attributes.
//!
//! A lost connection is resumed without the application's help, and nothing is lost or duplicated.
//! When that fails for good, all calls end with [`FederateError::Disconnected`], and the last of
//! the [`Callbacks`] is [`Callback::ConnectionLost`].
//!
//! ```no_run
//! # async fn example() -> Result<(), federate::Failure> {
//! use federate::prelude::*;
//!
//! let (federate, mut callbacks) = Federate::connect(Options::new("localhost")).await?;
//! federate.create_or_join("Range", fom::file("Range.xml")?, "Tower", "Observer").await?;
//! let aircraft = federate.get_object_class_handle("Aircraft").await?;
//! let position = federate.get_attribute_handle(aircraft, "Position").await?;
//! federate.subscribe_object_class_attributes(aircraft, [position]).await?;
//! while let Some(callback) = callbacks.recv().await {
//!     if let Callback::ReflectAttributeValues(update) = callback {
//!         let values = update.attribute_values.unwrap_or_default();
//!         println!("{:?}", values.decode::<[f64; 3]>(position)?);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The library is made for one thread. A current-thread runtime gives the shortest round trips and
//! the most updates, because then neither calls nor callbacks cross threads. A multi-threaded
//! runtime works as well.

mod call;
mod callbacks;
mod counts;
mod driver;
mod error;
mod evoke;
mod failure;
mod federate;
pub mod fom;
mod guard;
mod logical_clock;
mod negotiation;
mod options;
mod pending;
pub mod prelude;
mod services;
mod state;
mod updates;

pub use call::Call;
pub use callbacks::{Callbacks, Ticket};
pub use carrier::{ClientTls, TlsFilesError};
pub use error::{ConnectError, FederateError};
pub use failure::Failure;
pub use federate::Federate;
pub use hla::api::Request;
pub use hla::api::callback_request::CallbackRequest as Callback;
pub use logical_clock::LogicalClock;
pub use negotiation::{Negotiation, NegotiationOutcome, Owner};
pub use options::{DEFAULT_PORT, KerberosError, Options, bearer_token, kerberos_token, plain_text_password};
pub use updates::{UpdateCounts, Updates};

pub use hla;

#[cfg(test)]
mod tests;
