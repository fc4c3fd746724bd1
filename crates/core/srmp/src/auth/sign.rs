//! Signatures of mode 1 messages.

use super::error::{KeyError, SignatureError};
use crate::model::MemberId;
use crate::wire::{Mode1, Origin, SIGNATURE_BYTES, Signature};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::collections::BTreeMap;
use std::fmt;

/// Bytes of the random seed that serves as the secret key.
pub const SEED_BYTES: usize = 32;

/// Bytes of a public key.
pub const VERIFYING_KEY_BYTES: usize = 32;

/// A member's public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VerifyingKey(pub [u8; VERIFYING_KEY_BYTES]);

/// Writes the signed bytes: source, epoch, tag of session and group, data element, version, number
/// of segments, segment, body. The flags are not signed, since they differ from one sending to the
/// next.
fn put_signed(out: &mut Vec<u8>, session: u32, origin: Origin, message: &Mode1) {
    out.clear();
    out.extend_from_slice(&origin.member.0.to_be_bytes());
    out.extend_from_slice(&origin.epoch.0.to_be_bytes());
    out.extend_from_slice(&session.to_be_bytes());
    out.extend_from_slice(&message.dsn.data.0.to_be_bytes());
    out.extend_from_slice(&message.dsn.sn.0.to_be_bytes());
    out.extend_from_slice(&message.dsn.segments.to_be_bytes());
    out.extend_from_slice(&message.index.to_be_bytes());
    out.extend_from_slice(&message.body);
}

/// Signs the messages of which a member is the source, each segment by itself.
pub struct Signer {
    pair: Ed25519KeyPair,
    session: u32,
    scratch: Vec<u8>,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({:?})", self.verifying_key())
    }
}

impl Signer {
    /// Creates a signer with a secret key of random bytes, for a [tag](super::session_tag) of
    /// session and group. The key must not be used for anything else.
    ///
    /// # Errors
    /// [`KeyError::Ed25519`] when the library refuses the seed, which no seed of this length is
    /// known to cause.
    pub fn new(seed: &[u8; SEED_BYTES], session: u32) -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| KeyError::Ed25519)?;
        Ok(Self { pair, session, scratch: Vec::new() })
    }

    /// The public key, for the [`Verifier::trust`] of other members.
    pub fn verifying_key(&self) -> VerifyingKey {
        let bytes = self.pair.public_key().as_ref().first_chunk();
        VerifyingKey(*bytes.expect("a public key of Ed25519 has 32 bytes"))
    }

    /// The signature of a message or segment whose source is `origin`.
    pub fn sign(&mut self, origin: Origin, message: &Mode1) -> Signature {
        put_signed(&mut self.scratch, self.session, origin, message);
        let signature = self.pair.sign(&self.scratch);
        let bytes = signature.as_ref().first_chunk::<SIGNATURE_BYTES>();
        Signature(*bytes.expect("a signature of Ed25519 has 64 bytes"))
    }
}

/// Verifies the signatures of mode 1 messages against the members' public keys.
#[derive(Debug)]
pub struct Verifier {
    session: u32,
    keys: BTreeMap<MemberId, VerifyingKey>,
    scratch: Vec<u8>,
}

impl Verifier {
    /// Creates a verifier that trusts no member yet, for a [tag](super::session_tag) of session and
    /// group.
    pub fn new(session: u32) -> Self {
        Self { session, keys: BTreeMap::new(), scratch: Vec::new() }
    }

    /// Trusts a member's key, which replaces an earlier one.
    pub fn trust(&mut self, member: MemberId, key: VerifyingKey) {
        self.keys.insert(member, key);
    }

    /// Stops trusting a member. Returns whether it was trusted.
    pub fn distrust(&mut self, member: MemberId) -> bool {
        self.keys.remove(&member).is_some()
    }

    /// Verifies that `origin` signed a message or segment. Call it after all cheaper checks: it
    /// takes some 50 microseconds.
    ///
    /// # Errors
    /// [`SignatureError`] when the signature is missing or wrong, or when the member is unknown.
    pub fn verify(&mut self, origin: Origin, message: &Mode1) -> Result<(), SignatureError> {
        let member = origin.member;
        let signature = message.signature.as_ref().ok_or(SignatureError::Missing { member })?;
        let key = self.keys.get(&member).ok_or(SignatureError::UnknownMember { member })?;
        put_signed(&mut self.scratch, self.session, origin, message);
        UnparsedPublicKey::new(&ED25519, &key.0)
            .verify(&self.scratch, &signature.0)
            .map_err(|_| SignatureError::Forged { member })
    }
}
