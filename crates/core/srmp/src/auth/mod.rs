//! Authentication: tags, encryption, signatures, and protection against replay.
//!
//! RFC 4410, section 7, asks for the authentication of every packet, and leaves it to IPsec. A
//! forged or replayed packet does more harm in SRMP than elsewhere: one NACK makes a sender
//! multicast a message, and one report slows it down. Here the members of a group share a secret,
//! and every datagram of profile v3 carries a tag under a key derived from it:
//!
//! - The tag is the first 16 bytes of HMAC-SHA-256 over everything before it. Its key is
//!   HKDF-SHA-256 of the group key with the info "srmp3", sender, epoch and session tag. So a
//!   sender has other keys in every epoch and in every group.
//! - In a group that encrypts, an AEAD replaces the HMAC. The info of its key is "srmp3 enc" and
//!   the same values; its nonce is four zero bytes, the epoch and the number of the datagram; its
//!   associated data is the header.
//! - Profile v2 has no room for a tag, so the tag follows the end of the bundle. All datagrams of a
//!   session share one key (info "srmp2" and session tag), because mode 2 datagrams do not name
//!   their sender. All members must use it. It proves membership only, and v2 relies on bundle
//!   numbers against replay.
//!
//! A [`Decryptor`] checks the cheap properties first (key number, epoch, number), then the tag,
//! and only then stores anything about a sender. An [`Encryptor`] writes tags, and refuses to use a
//! number twice. Keys change without interruption: see [`Encryptor::rotate`] and
//! [`Decryptor::add_key`].
//!
//! A group key lets any member impersonate any other. Where that is not acceptable, mode 1 messages
//! are signed: see [`Signer`] and [`Verifier`]. Loggers relay signatures unchanged, so they cannot
//! alter the messages that they keep.

mod decryptor;
mod encryptor;
mod error;
mod keys;
mod replay;
mod sign;
#[cfg(test)]
mod tests;

pub use decryptor::{
    Decryptor, DecryptorLimits, KEY_OVERLAP, SENDERS_MAX_DEFAULT, SENDERS_REMEMBERED_MAX_DEFAULT, Work,
};
pub use encryptor::Encryptor;
pub use error::{AuthError, KeyError, SealError, SignatureError};
pub use keys::{Cipher, GroupKey, Keyring, SECRET_BYTES_MIN, session_tag};
pub use replay::REPLAY_WINDOW;
pub use sign::{SEED_BYTES, Signer, VERIFYING_KEY_BYTES, Verifier, VerifyingKey};
