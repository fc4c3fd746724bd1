//! Why a benchmark cannot be run.

use std::io;

use federate::{ConnectError, FederateError};

/// Why a benchmark cannot be run, or its result cannot be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The server takes no federate.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The server refuses a service that the benchmark needs.
    #[error("the server: {0}")]
    Federate(#[from] FederateError),
    /// The system gives no process or socket, or not what was asked of it.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// One of the benchmark's processes failed; it has told why on its standard error.
    #[error("the process `{role}` {what}")]
    Process {
        /// Its role.
        role: String,
        /// What it did instead of its work.
        what: String,
    },
    /// Nothing came for so long that waiting makes no sense.
    #[error("nothing for {seconds} s while waiting for {what}")]
    Stalled {
        /// What did not come.
        what: String,
        /// How long it was waited for, in seconds.
        seconds: u64,
    },
    /// The server lost, doubled or invented messages: there is no figure for that.
    #[error("the server delivered {received} of {sent} reliable updates ({failed} were refused)")]
    Lossy {
        /// Updates sent.
        sent: u64,
        /// Reflects received.
        received: u64,
        /// Updates that ended with an exception.
        failed: u64,
    },
    /// The measurement has no meaning with these settings or on this system.
    #[error("{0}")]
    Unusable(String),
}

impl BenchError {
    /// Makes an error of the system one that says what was tried.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
