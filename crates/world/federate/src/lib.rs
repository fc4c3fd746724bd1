//! Federates in async Rust, against any server that speaks the Federate Protocol (IEEE 1516.1-2025, clause 12.13).
//!
//! [`Federate::connect`] gives two things: a [`Federate`], which has one method for each of the 178 services, and
//! [`Callbacks`], the stream of what the RTI tells the federate. A service's method queues the request at once and
//! returns a [`Call`], which is a future of the result; so any number of calls can be under way, and they leave in
//! as few writes as possible. For a flood of updates there is [`Federate::updates`], which waits for no result.
//!
//! A lost connection is resumed behind the scenes, and nothing is lost or doubled. When that fails for good, all calls
//! end with [`FederateError::Disconnected`], and [`Callbacks`] with a last [`Callback::ConnectionLost`].
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use federate::{Callback, Federate, Options, fom};
//!
//! let (federate, mut callbacks) = Federate::connect(Options::new("localhost")).await?;
//! federate.create_federation_execution("Range", fom::file("Range.xml")?).await?;
//! federate.join_federation_execution("Observer", "Range").await?;
//! let aircraft = federate.get_object_class_handle("Aircraft").await?;
//! let position = federate.get_attribute_handle(aircraft, "Position").await?;
//! federate.subscribe_object_class_attributes(aircraft, [position]).await?;
//! while let Some(callback) = callbacks.recv().await {
//!     if let Callback::ReflectAttributeValues(update) = callback {
//!         println!("{:?}", update.attribute_values);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! It is made for one thread: a current-thread runtime gives the shortest round trips and the most updates, as
//! then neither a call nor a callback crosses threads. A runtime of many threads works as well.

mod call;
mod callbacks;
mod driver;
mod error;
mod evoke;
mod federate;
pub mod fom;
mod options;
mod pending;
mod services;
mod state;
mod updates;

pub use call::Call;
pub use callbacks::{Callbacks, Ticket};
pub use error::{ConnectError, FederateError};
pub use federate::Federate;
pub use hla::api::Request;
pub use hla::api::callback_request::CallbackRequest as Callback;
pub use options::{DEFAULT_PORT, Options, plain_text_password};
pub use updates::{UpdateCounts, Updates};

pub use hla;

#[cfg(test)]
mod tests;
