//! What is not believed, and why.

use crate::fault::Fault;
use crate::model::{Epoch, MemberId, Seq};

/// A datagram is not believed. Nothing was kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// It is not protected in the way the group demands.
    #[error("the datagram is not protected as this group's are")]
    Mismatch,
    /// It names a key that is not accepted, or no longer.
    #[error("group key {id} is not accepted")]
    UnknownKey {
        /// The key's number.
        id: u8,
    },
    /// It is of an earlier life of its sender.
    #[error("epoch {got} of member {sender}, which is in epoch {newest}")]
    OldEpoch {
        /// The sender.
        sender: MemberId,
        /// The datagram's epoch.
        got: Epoch,
        /// The newest that was proved.
        newest: Epoch,
    },
    /// It came already, or is so old that this cannot be told.
    #[error("datagram {seq} of member {sender} came before, or is too old")]
    Replayed {
        /// The sender.
        sender: MemberId,
        /// The datagram's number.
        seq: Seq,
    },
    /// Its tag is wrong.
    #[error("the tag is not that of the datagram")]
    Forged,
    /// It is of a new sender, and there are as many as there may be.
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
    /// The secret is too short to be one.
    #[error("a secret of {got} bytes, {} are needed", super::SECRET_BYTES_MIN)]
    TooShort {
        /// Its length.
        got: usize,
    },
    /// Another key has this number.
    #[error("there is a key {id} already")]
    Taken {
        /// The number.
        id: u8,
    },
    /// The key is for datagrams that were sealed already.
    #[error("datagram {at} is sealed already, {last} was the last")]
    Past {
        /// From where on the key was to be used.
        at: Seq,
        /// The last that was sealed.
        last: Seq,
    },
    /// Profile v2 does not number keys: all members change at once, by a new start.
    #[error("profile v2 cannot change its key")]
    Profile,
    /// Bytes that are no public key, or no seed of a secret one.
    #[error("not an Ed25519 key")]
    Ed25519,
}

/// A datagram cannot be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// Its number is not above that of the last one: no number may be used twice under one key.
    #[error("datagram {seq} after {last}: start a new epoch when numbers run out")]
    Reused {
        /// The datagram's number.
        seq: Seq,
        /// The last that was sealed.
        last: Seq,
    },
    /// It is not a datagram of this sender, life, session and format.
    #[error("not a datagram of this sender")]
    Foreign,
}

/// A mode 1 message is not believed to come from its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// It is not signed.
    #[error("the message of member {member} is not signed")]
    Missing {
        /// The source it names.
        member: MemberId,
    },
    /// Nobody told the key of this member.
    #[error("no key of member {member} is known")]
    UnknownMember {
        /// The source it names.
        member: MemberId,
    },
    /// The signature is wrong.
    #[error("the signature is not that of member {member}")]
    Forged {
        /// The source it names.
        member: MemberId,
    },
}

impl SignatureError {
    /// The counter of this error.
    pub const fn fault(&self) -> Fault {
        Fault::BadSignature
    }
}
