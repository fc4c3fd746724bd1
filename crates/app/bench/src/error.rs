//! Errors of benchmarks.

use std::io;

use federate::{ConnectError, FederateError, KerberosError};

/// The reason why a benchmark cannot be run, or its result cannot be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The server does not accept a federate.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// There is no Kerberos ticket for the server.
    #[error("there is no Kerberos token for the server: {0}")]
    NoTicket(#[from] KerberosError),
    /// The server refused a service that the benchmark needs.
    #[error("the server: {0}")]
    Federate(#[from] FederateError),
    /// The system refused a process, a socket or another request.
    #[error("{reason}: {source}")]
    System {
        /// The request.
        reason: String,
        /// The error of the system.
        source: io::Error,
    },
    /// One of the benchmark's processes failed; its standard error has the reason.
    #[error("the process `{role}` {reason}")]
    Process {
        /// Its role.
        role: String,
        /// Its output or event in place of the expected one.
        reason: String,
    },
    /// Nothing came for so long that waiting is pointless.
    #[error("nothing for {seconds} s while waiting for {reason}")]
    Stalled {
        /// The expected event.
        reason: String,
        /// Length of the wait in seconds.
        seconds: u64,
    },
    /// The server lost, duplicated or invented messages, so there is no result.
    #[error("the server delivered {received} of {sent} reliable updates ({failed} were refused)")]
    Lossy {
        /// Updates sent.
        sent: u64,
        /// Reflects received.
        received: u64,
        /// Updates that ended with an exception.
        failed: u64,
    },
    /// The server ended the membership of a federate.
    #[error("the server resigned the federate: {0}")]
    Resigned(String),
    /// The server sent something that nobody had sent to it.
    #[error("the server makes no sense: {0}")]
    Nonsense(String),
    /// The measurement has no meaning with these settings or on this system.
    #[error("{0}")]
    Unusable(String),
}

impl BenchError {
    /// Turns an error of the system into one that names the request.
    pub(crate) fn system(reason: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let reason = reason.into();
        move |source| Self::System { reason, source }
    }
}

impl From<hla::RtiError> for BenchError {
    fn from(error: hla::RtiError) -> Self {
        FederateError::from(error).into()
    }
}
