//! The vocabulary of HLA (IEEE 1516-2010 and 1516-2025).
//!
//! - [`handle`]: the typed handles;
//! - [`api`]: every service, its result, and every callback as a type;
//! - [`encoding`]: attribute and parameter values as octets;
//! - [`time`]: logical times and intervals;
//! - [`fom`]: object models, read, checked, merged and written;
//! - [`exception`]: the standard's exceptions as one error type.

pub mod api;
pub mod encoding;
pub mod exception;
pub mod fom;
pub mod handle;
pub mod time;

pub use exception::{Exception, RtiError};
