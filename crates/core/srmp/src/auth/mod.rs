//! Who may speak: tags, encryption, signatures, and no second hearing.
//!
//! RFC 4410, section 7, asks for authentication of every packet and leaves it to IPsec. A forged or replayed packet is
//! worse in SRMP than elsewhere, because one NACK makes a sender multicast a message, and one report slows it down.
//! Here a group shares a secret, and every datagram of profile v3 carries a tag under a key derived from it:
//!
//! - The tag is the first 16 bytes of HMAC-SHA-256 over all before it, under HKDF-SHA-256 of the group key with the
//!   info "srmp3", sender, epoch and session tag. So a sender's keys differ from life to life, and from group to group.
//! - Where a group encrypts, an AEAD takes the place of the HMAC: a key with the info "srmp3 enc" and the same, as nonce four
//!   zero bytes, epoch and number of the datagram, as associated data the header.
//! - Profile v2 has no room for a tag, so it lies behind the end of the bundle, under one key for the whole session (info
//!   "srmp2" and session tag): its mode 2 datagrams do not say who sent them. All members must do it, and it proves
//!   membership only; against replay v2 has its bundle numbers.
//!
//! An [`Opener`] checks the cheap things first (key number, epoch, number), then the tag, and only then keeps anything of
//! a sender. A [`Sealer`] writes tags and refuses to use a number twice. Keys change without a gap: see [`Sealer::rotate`] and
//! [`Opener::add_key`].
//!
//! A group key lets any member speak for any other. Where that is not wanted, mode 1 messages are signed: [`Signer`] and
//! [`Verifier`]. Loggers pass signatures on as they are, so they cannot change what they keep.

mod error;
mod keys;
mod opener;
mod replay;
mod sealer;
mod sign;
#[cfg(test)]
mod tests;

pub use error::{AuthError, KeyError, SealError, SignatureError};
pub use keys::{Cipher, GroupKey, Keyring, SECRET_BYTES_MIN, session_tag};
pub use opener::{
    KEY_OVERLAP, Opener, OpenerLimits, SENDERS_MAX_DEFAULT, SENDERS_REMEMBERED_MAX_DEFAULT, Work,
};
pub use replay::REPLAY_WINDOW;
pub use sealer::Sealer;
pub use sign::{SEED_BYTES, Signer, VERIFYING_KEY_BYTES, Verifier, VerifyingKey};
