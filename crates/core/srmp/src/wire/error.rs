//! What is wrong with a datagram, and where.

use crate::fault::Fault;

/// A datagram, or one record of it, cannot be read. Positions are offsets in the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// It is shorter than its header.
    #[error("datagram of {got} bytes, its header needs {need}")]
    Short {
        /// Bytes needed.
        need: usize,
        /// Bytes there.
        got: usize,
    },
    /// The first byte of the datagram, or of a message in it, says another version than 2 and 3.
    #[error("version {got} at byte {at}")]
    Version {
        /// Where.
        at: usize,
        /// The version.
        got: u8,
    },
    /// It is of the other profile.
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
    /// It belongs to another session.
    #[error("session {got:#010x}, this is {want:#010x}")]
    Session {
        /// The tag it has.
        got: u32,
        /// Our tag.
        want: u32,
    },
    /// Its length field contradicts what came or what it must hold.
    #[error("length field says {said}, there are {got} bytes and at least {need} are needed")]
    Length {
        /// The field.
        said: usize,
        /// What came.
        got: usize,
        /// The least that the header needs.
        need: usize,
    },
    /// Flags that do not exist, or exclude each other.
    #[error("flags {got:#04x}")]
    Flags {
        /// The flags.
        got: u8,
    },
    /// The sender is member 0.
    #[error("the sender is member 0")]
    Sender,
    /// A message or record, or a field of it, runs over its end.
    #[error("at byte {at}: {need} bytes needed, {left} left")]
    Truncated {
        /// Where it starts.
        at: usize,
        /// Bytes needed.
        need: usize,
        /// Bytes there.
        left: usize,
    },
    /// A message or record of an unknown kind. In profile v3 it is skipped; in v2, where its length is not known, the rest
    /// of the bundle is.
    #[error("unknown kind {kind:#04x} at byte {at}")]
    Kind {
        /// Where it starts.
        at: usize,
        /// The kind; in v2 type and mode.
        kind: u8,
    },
    /// A field has a value that it cannot have; the record is skipped.
    #[error("at byte {at}: {what}")]
    Value {
        /// Where the message or record starts.
        at: usize,
        /// What is wrong.
        what: &'static str,
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
    /// There is no room for it in this datagram.
    #[error("{need} bytes needed, {room} left")]
    Full {
        /// Bytes needed.
        need: usize,
        /// Bytes left.
        room: usize,
    },
    /// More announcements than were reserved.
    #[error("{got} announcements, {reserved} were reserved")]
    Announcements {
        /// How many were given.
        got: usize,
        /// How many were reserved.
        reserved: usize,
    },
    /// The profile's wire has no form for it.
    #[error("profile {profile:?} cannot carry {what}")]
    Unrepresentable {
        /// The profile.
        profile: crate::model::Profile,
        /// What it cannot carry.
        what: &'static str,
    },
}
