//! Time stamps on messages.

use bytes::Bytes;
use hla::api::{self, OrderType};
use hla::handle::MessageRetractionHandle;
use hla::time::{ENCODED_LEN, TimeKind};
use router::WireError;

/// The logical time that a sender gave to a message, the message's sent order, and its identity for
/// Retract (8.22).
///
/// The *received* order depends on each receiver, and is therefore not part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// The encoded time, valid for the federation's time implementation.
    pub(crate) time: [u8; ENCODED_LEN],
    /// The sent order type. On the stamp of a call: TimeStamp if the sender regulates time, so that
    /// the preferred order of what is sent decides.
    pub(crate) sent: OrderType,
    /// The handle by which the sender can retract it; invalid for a message sent in receive order.
    pub(crate) retraction: MessageRetractionHandle,
}

impl Stamp {
    /// The stamp of a message whose preferred order is `preferred`.
    pub(crate) fn ordered(self, preferred: OrderType) -> Self {
        match (self.sent, preferred) {
            (OrderType::Timestamp, OrderType::Timestamp) => self,
            _ => Self {
                sent: OrderType::Receive,
                retraction: MessageRetractionHandle::INVALID,
                time: self.time,
            },
        }
    }

    /// Whether the message is sent in time-stamp order.
    pub(crate) fn is_in_time(self) -> bool {
        self.sent == OrderType::Timestamp
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
