//! Time stamps on messages.
//!
//! No federate can regulate time yet, so every message is sent in receive order. A time given by
//! its sender is passed along as information (1516.1-2025, 6.10).

use bytes::Bytes;
use hla::api::{self, OrderType};
use hla::handle::MessageRetractionHandle;
use hla::time::{ENCODED_LEN, TimeKind};
use hla::{Exception, RtiError};
use router::WireError;

/// The logical time that a sender gave to a message, the message's sent order, and its identity for
/// Retract (8.22).
///
/// The *received* order depends on each receiver, and is therefore no part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// The encoded time, valid for the federation's time implementation.
    pub(crate) time: [u8; ENCODED_LEN],
    /// The sent order type.
    pub(crate) sent: OrderType,
    /// The handle by which the sender can retract it; invalid for a message sent in receive order.
    pub(crate) retraction: MessageRetractionHandle,
}

impl Stamp {
    /// Checks the time of a request.
    ///
    /// # Errors
    /// `InvalidLogicalTime` if it is not a time of the federation's implementation.
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

    /// Checks a time that another node passed on.
    ///
    /// # Errors
    /// It is not a time of the federation's implementation.
    pub(crate) fn check(&self, kind: TimeKind) -> Result<(), WireError> {
        kind.decode_time(&self.time).map(|_| ()).map_err(|error| WireError(error.details.into_owned()))
    }

    /// The time in the form that callbacks carry.
    pub(crate) fn to_api(self) -> api::LogicalTime {
        api::LogicalTime { data: Bytes::copy_from_slice(&self.time) }
    }

    /// The retraction handle in the form that callbacks carry.
    pub(crate) fn retraction_to_api(self) -> Option<MessageRetractionHandle> {
        self.retraction.is_valid().then_some(self.retraction)
    }
}
