//! Errors of calls and of connecting.

use std::borrow::Cow;

use hla::api::ExceptionData;
use hla::{Exception, RtiError};

/// The reason why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FederateError {
    /// The RTI refused the service with an exception of the standard.
    #[error(transparent)]
    Rti(#[from] RtiError),
    /// There is no longer a session, for the reason given; the call may or may not have been
    /// executed.
    #[error("not connected: {0}")]
    Disconnected(Cow<'static, str>),
    /// The server's answer does not fit this service.
    #[error("the server broke the Federate Protocol: {0}")]
    Protocol(String),
}

impl FederateError {
    /// The exception, if the RTI raised one.
    pub fn exception(&self) -> Option<Exception> {
        match self {
            FederateError::Rti(error) => Some(error.exception),
            _ => None,
        }
    }

    /// Whether the RTI raised `exception`.
    pub fn is(&self, exception: Exception) -> bool {
        self.exception() == Some(exception)
    }

    /// The error for an exception that a server sent in place of a result. A name that the standard
    /// does not have becomes RTIinternalError, as in clients of the standard's API.
    pub(crate) fn raised(data: ExceptionData) -> Self {
        FederateError::Rti(match Exception::from_name(&data.exception_name) {
            Some(exception) => RtiError::new(exception, data.details),
            None => {
                RtiError::internal(format!("unknown exception `{}`: {}", data.exception_name, data.details))
            }
        })
    }
}

/// The reason why a federate could not connect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is malformed.
    #[error(transparent)]
    Address(#[from] carrier::ServerUrlError),
    /// The address encrypts, and [`Options::tls`](crate::Options::tls) does not fit it.
    #[error("cannot encrypt to `{address}`: {source}")]
    Tls {
        /// The address as given.
        address: String,
        /// The reason.
        source: carrier::TlsFilesError,
    },
    /// Nobody answers there, or the server that does opens no session.
    #[error("no session with `{address}`: {reason}")]
    NoSession {
        /// The address as given.
        address: String,
        /// The message of the system or of the server.
        reason: String,
    },
    /// A session was opened, but the RTI refused the connect service.
    #[error("`{address}` refused the federate: {source}")]
    Service {
        /// The address as given.
        address: String,
        /// The exception.
        source: FederateError,
    },
}
