//! The inputs and outputs of an endpoint.

use crate::model::{DataId, Epoch, MemberId, Sn, StreamKey, Transaction};
use crate::rate::Discard;
use crate::wire::AckStatus;
use base::Moment;
use bytes::Bytes;
use std::net::SocketAddr;

/// Identifies a message in the events about its fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// The recipient of a mode 2 message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A member, at the address where it was last heard.
    Member(MemberId),
    /// An address.
    Address(SocketAddr),
}

/// The channel on which a datagram arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The group.
    Group,
    /// The group's scope of one site.
    Site,
    /// The member's own address.
    Unicast,
}

/// The destination of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The group.
    Group,
    /// The group's scope of one site.
    Site,
    /// One address.
    Unicast(SocketAddr),
}

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The destination.
    pub to: Destination,
    /// The bytes of the datagram.
    pub datagram: Bytes,
}

/// An event for the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A best-effort message arrived.
    Mode0 {
        /// The sender.
        from: MemberId,
        /// The subject of the message; 0 when the sender gave none, and in profile v2.
        stream: StreamKey,
        /// The sender's clock at the time of sending, in the unit of its profile.
        stamp: crate::model::Stamp,
        /// The message.
        body: Bytes,
    },
    /// The newest message of a data element arrived. The messages of one element come in the order
    /// of their numbers; some may be left out.
    Mode1 {
        /// The source of the data element.
        from: MemberId,
        /// The data element.
        data: DataId,
        /// Its version.
        sn: Sn,
        /// The message.
        body: Bytes,
    },
    /// A message to this member alone arrived.
    Mode2 {
        /// The sender, if the profile carries it.
        from: Option<MemberId>,
        /// The address of the sender.
        address: SocketAddr,
        /// Its data element.
        data: DataId,
        /// Its number.
        transaction: Transaction,
        /// The message.
        body: Bytes,
    },
    /// All of a mode 0 or mode 1 message was passed to the network.
    Sent {
        /// The message.
        ticket: Ticket,
    },
    /// A mode 0 or mode 1 message will not be sent.
    Dropped {
        /// The message.
        ticket: Ticket,
        /// The reason.
        why: Discard,
    },
    /// A mode 2 message was acknowledged.
    Delivered {
        /// The message.
        ticket: Ticket,
        /// The status that the peer reports.
        status: AckStatus,
    },
    /// A mode 2 message was not acknowledged. It may have been delivered or not.
    TimedOut {
        /// The message.
        ticket: Ticket,
    },
    /// A member was heard for the first time, or again after it was lost.
    MemberSeen {
        /// The member.
        member: MemberId,
        /// Its address.
        address: SocketAddr,
    },
    /// A member has long been silent, or has left.
    MemberLost {
        /// The member.
        member: MemberId,
        /// Whether it announced that it leaves.
        left: bool,
    },
    /// A member has restarted; the data that it sent before is void.
    Restarted {
        /// The member.
        member: MemberId,
        /// Its new epoch; 0 in profile v2.
        epoch: Epoch,
    },
    /// Two hosts use one identity. Only the first is accepted.
    DuplicateMember {
        /// The identity.
        member: MemberId,
        /// The address of the second host.
        address: SocketAddr,
    },
    /// The state held of a member differs from the member's own, and announcements do not show
    /// where; v3.
    StateDiffers {
        /// The member.
        member: MemberId,
    },
}

/// The reason why a message cannot be sent. Nothing has been sent then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// This member has left the group.
    #[error("this member has left the group")]
    Left,
    /// A message of mode 1 or 2 is empty.
    #[error("an empty message")]
    Empty,
    /// The message is longer than the mode can carry.
    #[error("a message of {len} bytes, but this mode carries {max}")]
    TooLong {
        /// The length in bytes.
        len: usize,
        /// The most bytes possible.
        max: usize,
    },
    /// The profile cannot represent the data element.
    #[error("data element {0} does not fit the profile")]
    BadData(DataId),
    /// The data element is sent in the other reliable mode.
    #[error("data element {0} is sent in another mode")]
    OtherMode(DataId),
    /// The buffer for newest messages, or for unacknowledged ones, is full.
    #[error("the buffer is full")]
    Full,
    /// The member has never been heard.
    #[error("member {0} is not known")]
    Unknown(MemberId),
    /// All datagram numbers of this epoch are used up.
    #[error("the numbers of this epoch are used up; begin another")]
    Exhausted,
}

/// A member of the group, as known here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberView {
    /// The member.
    pub member: MemberId,
    /// Its epoch; 0 in profile v2.
    pub epoch: Epoch,
    /// The address where it was last heard.
    pub address: SocketAddr,
    /// The time at which it was last heard.
    pub heard: Moment,
    /// Whether it was heard recently.
    pub is_live: bool,
    /// The number of its data elements held here.
    pub elements: usize,
    /// Its loss event rate, as this member measures it.
    pub loss_event_rate: f64,
    /// The round-trip time to it, if measured.
    pub rtt: Option<std::time::Duration>,
    /// The rate that this member reports to it, in bit/s.
    pub reported_rate: f64,
}
