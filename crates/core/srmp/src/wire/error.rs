//! Errors of reading and writing datagrams.

use crate::fault::Fault;

/// A datagram or one of its records cannot be read. Positions are offsets in the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The datagram is shorter than its header.
    #[error("datagram of {got} bytes, its header needs {need}")]
    Short {
        /// Bytes needed.
        need: usize,
        /// Bytes received.
        got: usize,
    },
    /// The first byte of the datagram, or of a message in it, has a version other than 2 and 3.
    #[error("version {got} at byte {at}")]
    Version {
        /// The position.
        at: usize,
        /// The version.
        got: u8,
    },
    /// The datagram is of the other profile.
    #[error("a datagram of profile version {got}")]
    OtherProfile {
        /// The version.
        got: u8,
    },
    /// The profile has no such datagram.
    #[error("datagram of type {got}")]
    Type {
        /// The type.
        got: u8,
    },
    /// The datagram belongs to another session.
    #[error("session {got:#010x}, this is {want:#010x}")]
    Session {
        /// The tag in the datagram.
        got: u32,
        /// The tag of this session.
        want: u32,
    },
    /// The length field contradicts the bytes received or the least that the header needs.
    #[error("length field says {declared}, there are {got} bytes and at least {need} are needed")]
    Length {
        /// The value of the field.
        declared: usize,
        /// Bytes received.
        got: usize,
        /// The least that the header needs.
        need: usize,
    },
    /// The flags do not exist, or exclude each other.
    #[error("flags {got:#04x}")]
    Flags {
        /// The flags.
        got: u8,
    },
    /// The sender is member 0.
    #[error("the sender is member 0")]
    Sender,
    /// A message, a record or a field of it runs beyond its end.
    #[error("at byte {at}: {need} bytes needed, {left} left")]
    Truncated {
        /// The position of its start.
        at: usize,
        /// Bytes needed.
        need: usize,
        /// Bytes left.
        left: usize,
    },
    /// The kind of a message or record is unknown. Profile v3 skips it. In v2 its length is
    /// unknown, so the rest of the bundle is skipped.
    #[error("unknown kind {kind:#04x} at byte {at}")]
    Kind {
        /// The position of its start.
        at: usize,
        /// The kind; in v2, the type and the mode.
        kind: u8,
    },
    /// A field has an invalid value; the record is skipped.
    #[error("at byte {at}: {item}")]
    Value {
        /// The position of the start of the message or record.
        at: usize,
        /// The problem.
        item: &'static str,
    },
}

impl WireError {
    /// The counter of this error.
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Short { .. } => Fault::Short,
            Self::Version { .. } => Fault::BadVersion,
            Self::OtherProfile { .. } => Fault::OtherProfile,
            Self::Type { .. } => Fault::BadType,
            Self::Session { .. } => Fault::OtherSession,
            Self::Length { .. } => Fault::BadLength,
            Self::Flags { .. } => Fault::BadFlags,
            Self::Sender => Fault::BadSender,
            Self::Truncated { .. } => Fault::Truncated,
            Self::Kind { .. } => Fault::UnknownKind,
            Self::Value { .. } => Fault::BadValue,
        }
    }
}

/// A record cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The datagram has no room for the record.
    #[error("{need} bytes needed, {room} left")]
    Full {
        /// Bytes needed.
        need: usize,
        /// Bytes left.
        room: usize,
    },
    /// There are more announcements than were reserved.
    #[error("{got} announcements, {reserved} were reserved")]
    Announcements {
        /// The number given.
        got: usize,
        /// The number reserved.
        reserved: usize,
    },
    /// The profile's wire format cannot represent the record.
    #[error("profile {profile:?} cannot carry {item}")]
    Unrepresentable {
        /// The profile.
        profile: crate::model::Profile,
        /// The part that it cannot carry.
        item: &'static str,
    },
}
