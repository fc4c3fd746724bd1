//! Errors of authentication.

use crate::fault::Fault;
use crate::model::{Epoch, MemberId, Seq};

/// A datagram is refused. Nothing has been stored about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The datagram does not have the protection that the group demands.
    #[error("the datagram is not protected as this group's are")]
    Mismatch,
    /// The datagram names a key that is not, or no longer, accepted.
    #[error("group key {id} is not accepted")]
    UnknownKey {
        /// The key's number.
        id: u8,
    },
    /// The datagram is of an earlier epoch of its sender.
    #[error("epoch {got} of member {sender}, which is in epoch {newest}")]
    OldEpoch {
        /// The sender.
        sender: MemberId,
        /// The datagram's epoch.
        got: Epoch,
        /// The newest authenticated epoch.
        newest: Epoch,
    },
    /// The datagram was received before, or is too old to tell.
    #[error("datagram {seq} of member {sender} came before, or is too old")]
    Replayed {
        /// The sender.
        sender: MemberId,
        /// The datagram's number.
        seq: Seq,
    },
    /// The tag is wrong.
    #[error("the tag is not that of the datagram")]
    Forged,
    /// The datagram is from a new sender, and the number of senders has reached its limit.
    #[error("there are {limit} senders already")]
    TooManySenders {
        /// The limit.
        limit: usize,
    },
}

impl AuthError {
    /// The counter of this error.
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Mismatch => Fault::AuthMismatch,
            Self::UnknownKey { .. } => Fault::AuthUnknownKey,
            Self::OldEpoch { .. } => Fault::OldEpoch,
            Self::Replayed { .. } => Fault::Replayed,
            Self::Forged => Fault::AuthFailed,
            Self::TooManySenders { .. } => Fault::TooManySenders,
        }
    }
}

/// A key that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The secret is too short.
    #[error("a secret of {got} bytes, {} are needed", super::SECRET_BYTES_MIN)]
    TooShort {
        /// Its length in bytes.
        got: usize,
    },
    /// Another key has this number.
    #[error("there is a key {id} already")]
    Taken {
        /// The number.
        id: u8,
    },
    /// The key is for datagrams that have been sealed already.
    #[error("datagram {at} is sealed already, {last} was the last")]
    Past {
        /// The first datagram for which the key was meant.
        at: Seq,
        /// The last datagram sealed.
        last: Seq,
    },
    /// Profile v2 does not number keys: all members have to restart with the new one together.
    #[error("profile v2 cannot change its key")]
    Profile,
    /// The bytes are not a public key, or not a seed of a secret key.
    #[error("not an Ed25519 key")]
    Ed25519,
}

/// A datagram cannot be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The datagram's number is not above the last one's. No number may be used twice under one
    /// key.
    #[error("datagram {seq} after {last}: start a new epoch when numbers run out")]
    Reused {
        /// The datagram's number.
        seq: Seq,
        /// The last number sealed.
        last: Seq,
    },
    /// The datagram is not of this sender, epoch, session and format.
    #[error("not a datagram of this sender")]
    Foreign,
}

/// A mode 1 message is not accepted as its source's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The message is not signed.
    #[error("the message of member {member} is not signed")]
    Missing {
        /// The source that it names.
        member: MemberId,
    },
    /// The key of this member is unknown.
    #[error("no key of member {member} is known")]
    UnknownMember {
        /// The source that it names.
        member: MemberId,
    },
    /// The signature is wrong.
    #[error("the signature is not that of member {member}")]
    Forged {
        /// The source that it names.
        member: MemberId,
    },
}

impl SignatureError {
    /// The counter of this error.
    pub const fn fault(&self) -> Fault {
        Fault::BadSignature
    }
}
