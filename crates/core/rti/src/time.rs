//! Time stamps on messages.
//!
//! No federate can regulate time yet, so that every message is sent in receive order; a time that its
//! sender gave is then passed along as information (1516.1-2025, 6.10).

use bytes::Bytes;
use hla::api::{self, OrderType};
use hla::handle::MessageRetractionHandle;
use hla::time::{ENCODED_LEN, TimeKind};
use hla::{Exception, RtiError};
use router::WireError;

/// The logical time that a sender put on a message, the order it was sent in, and its identity for Retract (8.22).
///
/// The order in which it is *received* depends on each receiver, and so is no part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// The encoded time, valid for the federation's implementation.
    pub(crate) time: [u8; ENCODED_LEN],
    /// The order the message was sent in (sent order type).
    pub(crate) sent: OrderType,
    /// By which the sender can retract it; invalid for a message sent in receive order.
    pub(crate) retraction: MessageRetractionHandle,
}

impl Stamp {
    /// Checks the time of a request.
    ///
    /// # Errors
    /// `InvalidLogicalTime` when it is not a time of the federation's implementation.
    pub(crate) fn read(kind: TimeKind, time: Option<&api::LogicalTime>) -> Result<Self, RtiError> {
        let octets = time.map(|time| &time.data[..]).unwrap_or_default();
        let time = kind
            .decode_time(octets)
            .map_err(|error| RtiError::new(Exception::InvalidLogicalTime, error.details))?;
        Ok(Self {
            time: time.encode(),
            sent: OrderType::Receive,
            retraction: MessageRetractionHandle::INVALID,
        })
    }

    /// Checks the time that another node passed on.
    ///
    /// # Errors
    /// It is no time of the federation's implementation.
    pub(crate) fn check(&self, kind: TimeKind) -> Result<(), WireError> {
        kind.decode_time(&self.time).map(|_| ()).map_err(|error| WireError(error.details.into_owned()))
    }

    /// The time as callbacks carry it.
    pub(crate) fn to_api(self) -> api::LogicalTime {
        api::LogicalTime { data: Bytes::copy_from_slice(&self.time) }
    }

    /// The retraction handle as callbacks carry it.
    pub(crate) fn retraction_to_api(self) -> Option<MessageRetractionHandle> {
        self.retraction.is_valid().then_some(self.retraction)
    }
}
