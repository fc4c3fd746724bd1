//! What an endpoint is asked, and what it tells.

use crate::model::{DataId, Epoch, MemberId, Sn, StreamKey, Transaction};
use crate::rate::Discard;
use crate::wire::AckStatus;
use base::Moment;
use bytes::Bytes;
use std::net::SocketAddr;

/// Names a message that was sent, in the events that tell what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// To whom a mode 2 message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A member, where it was last heard.
    Member(MemberId),
    /// An address.
    Address(SocketAddr),
}

/// On what a datagram came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The group.
    Group,
    /// The group's scope of one site.
    Site,
    /// The member's own address.
    Unicast,
}

/// Where a datagram goes.
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
    /// Where to.
    pub to: Destination,
    /// Its bytes.
    pub datagram: Bytes,
}

/// What an endpoint tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A best-effort message.
    Mode0 {
        /// Who sent it.
        from: MemberId,
        /// What it is about; 0 when the sender did not say, and in profile v2.
        stream: StreamKey,
        /// The sender's clock when it was sent, in the unit of its profile.
        stamp: crate::model::Stamp,
        /// The message.
        body: Bytes,
    },
    /// The newest message of a data element. Of one element messages come in the order of their numbers, and some may be left out.
    Mode1 {
        /// Whose element.
        from: MemberId,
        /// The data element.
        data: DataId,
        /// Its version.
        sn: Sn,
        /// The message.
        body: Bytes,
    },
    /// A message to this member alone.
    Mode2 {
        /// Who sent it, if the profile tells.
        from: Option<MemberId>,
        /// From where.
        address: SocketAddr,
        /// Its data element.
        data: DataId,
        /// Its number.
        transaction: Transaction,
        /// The message.
        body: Bytes,
    },
    /// A mode 0 or mode 1 message, all of it, was handed to the network.
    Sent {
        /// Which.
        ticket: Ticket,
    },
    /// A mode 0 or mode 1 message is not sent.
    Dropped {
        /// Which.
        ticket: Ticket,
        /// Why.
        why: Discard,
    },
    /// A mode 2 message was acknowledged.
    Delivered {
        /// Which.
        ticket: Ticket,
        /// What the peer says.
        status: AckStatus,
    },
    /// Nobody acknowledged a mode 2 message, which may have been delivered or not.
    TimedOut {
        /// Which.
        ticket: Ticket,
    },
    /// A member was heard for the first time, or again after it was lost.
    MemberSeen {
        /// Who.
        member: MemberId,
        /// From where.
        address: SocketAddr,
    },
    /// A member was not heard for long, or left.
    MemberLost {
        /// Who.
        member: MemberId,
        /// It said so.
        left: bool,
    },
    /// A member began again: what it sent before is void.
    Restarted {
        /// Who.
        member: MemberId,
        /// Its new life; 0 in profile v2.
        epoch: Epoch,
    },
    /// Two hosts use one identity. The first is believed.
    DuplicateMember {
        /// Which.
        member: MemberId,
        /// The other's address.
        address: SocketAddr,
    },
    /// What we hold of a member differs from what it has, and announcements do not show where; v3.
    StateDiffers {
        /// Whose.
        member: MemberId,
    },
}

/// Why a message cannot be sent. Nothing was sent then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// This member left the group.
    #[error("this member has left the group")]
    Left,
    /// A message of mode 1 or 2 has no bytes.
    #[error("an empty message")]
    Empty,
    /// It is longer than the mode can carry.
    #[error("a message of {len} bytes, but this mode carries {max}")]
    TooLong {
        /// What was given.
        len: usize,
        /// What is possible.
        max: usize,
    },
    /// The profile cannot name the data element.
    #[error("data element {0} does not fit the profile")]
    BadData(DataId),
    /// The data element is sent in the other reliable mode.
    #[error("data element {0} is sent in another mode")]
    OtherMode(DataId),
    /// The buffer for newest messages, or for unacknowledged ones, is full.
    #[error("the buffer is full")]
    Full,
    /// The member was never heard.
    #[error("member {0} is not known")]
    Unknown(MemberId),
    /// All numbers of datagrams of this life were used.
    #[error("the numbers of this epoch are used up; begin another")]
    Exhausted,
}

/// A member of the group, as this one knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberView {
    /// Who.
    pub member: MemberId,
    /// Its life; 0 in profile v2.
    pub epoch: Epoch,
    /// Where it was last heard.
    pub address: SocketAddr,
    /// When.
    pub heard: Moment,
    /// Whether it was heard of late.
    pub is_live: bool,
    /// Data elements held of it.
    pub elements: usize,
    /// Its loss event rate, as this member measures it.
    pub loss_event_rate: f64,
    /// The round-trip time to it, if measured.
    pub rtt: Option<std::time::Duration>,
    /// The rate that this member reports to it, bit/s.
    pub reported_rate: f64,
}
