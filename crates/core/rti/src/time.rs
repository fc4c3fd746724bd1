//! Time stamps on messages.
//!
//! No federate can regulate time yet, so that every message goes in receive order; a time that its
//! sender gave is then passed along as information (1516.1-2025, 6.10).

use bytes::Bytes;
use hla::api;
use hla::time::{LogicalTime, TimeKind};
use hla::{Exception, RtiError};
use router::WireError;

/// The logical time that a sender put on a message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Stamp(LogicalTime);

impl Stamp {
    /// Checks the time of a request.
    ///
    /// # Errors
    /// `InvalidLogicalTime` when it is not a time of the federation's implementation.
    pub(crate) fn read(kind: TimeKind, time: Option<&api::LogicalTime>) -> Result<Self, RtiError> {
        let octets = time.map(|time| &time.data[..]).unwrap_or_default();
        kind.decode_time(octets)
            .map(Self)
            .map_err(|error| RtiError::new(Exception::InvalidLogicalTime, error.details))
    }

    /// The time that another node passed on.
    ///
    /// # Errors
    /// It is none of the federation's implementation.
    pub(crate) fn from_octets(kind: TimeKind, octets: [u8; 8]) -> Result<Self, WireError> {
        kind.decode_time(&octets).map(Self).map_err(|error| WireError(error.details.into_owned()))
    }

    /// The octets for a callback.
    pub(crate) fn octets(&self) -> [u8; 8] {
        self.0.encode()
    }

    /// The time as callbacks carry it.
    pub(crate) fn to_api(self) -> api::LogicalTime {
        api::LogicalTime { data: Bytes::copy_from_slice(&self.octets()) }
    }
}
