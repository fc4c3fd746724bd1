//! The secret of a group, and the keys derived from it.

use super::error::KeyError;
use crate::model::{Epoch, MemberId};
use crate::wire::TRAILER_BYTES;
use ring::{aead, digest, hkdf, hmac};
use std::fmt;

/// The least number of bytes of a group's secret. The secret is assumed to be random: a pass phrase
/// needs a slow hash first.
pub const SECRET_BYTES_MIN: usize = 16;

/// The tag by which v3 datagrams tell sessions apart: the low 32 bits of SHA-256 over the session's
/// name, a zero byte, and the group's address and port as text, for example `239.1.2.3:5000`.
pub fn session_tag(session: &str, group: &str) -> u32 {
    let mut context = digest::Context::new(&digest::SHA256);
    [session.as_bytes(), &[0], group.as_bytes()].into_iter().for_each(|part| context.update(part));
    let hash = context.finish();
    let low = hash.as_ref().last_chunk().expect("SHA-256 gives 32 bytes");
    u32::from_be_bytes(*low)
}

/// The cipher of groups that encrypt, the same in the whole group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Cipher {
    /// AES-128-GCM, which is fast where the processor supports it.
    #[default]
    Aes128Gcm,
    /// ChaCha20-Poly1305, which is fast on any processor.
    ChaCha20Poly1305,
}

impl Cipher {
    fn algorithm(self) -> &'static aead::Algorithm {
        match self {
            Self::Aes128Gcm => &aead::AES_128_GCM,
            Self::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
        }
    }
}

/// A secret that the members of a group share, and the number by which datagrams refer to it.
#[derive(Clone)]
pub struct GroupKey {
    id: u8,
    secret: hkdf::Prk,
}

impl GroupKey {
    /// Creates a key from random bytes.
    ///
    /// # Errors
    /// [`KeyError::TooShort`] when there are fewer than [`SECRET_BYTES_MIN`] bytes.
    pub fn new(id: u8, secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(KeyError::TooShort { got: secret.len() });
        }
        Ok(Self { id, secret: hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(secret) })
    }

    /// The number of the key.
    pub const fn id(&self) -> u8 {
        self.id
    }
}

impl fmt::Debug for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupKey({}, secret)", self.id)
    }
}

/// The keys with which a group starts.
#[derive(Clone, Debug)]
pub struct Keyring {
    /// The key in use.
    pub current: GroupKey,
    /// Another accepted key: the previous one or the next one.
    pub other: Option<GroupKey>,
    /// The cipher, for groups that encrypt.
    pub cipher: Cipher,
}

impl Keyring {
    /// A keyring with one key and the default cipher, AES-128-GCM.
    pub fn new(current: GroupKey) -> Self {
        Self { current, other: None, cipher: Cipher::default() }
    }
}

/// The owner of derived keys: one epoch of a sender in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) sender: MemberId,
    pub(super) epoch: Epoch,
    pub(super) session: u32,
}

impl Life {
    /// The part of a derivation's info that follows the purpose.
    fn info(&self) -> [u8; 16] {
        let mut info = [0; 16];
        info[..8].copy_from_slice(&self.sender.0.to_be_bytes());
        info[8..12].copy_from_slice(&self.epoch.0.to_be_bytes());
        info[12..].copy_from_slice(&self.session.to_be_bytes());
        info
    }
}

/// A key that makes and verifies tags.
#[derive(Clone, Debug)]
pub(super) struct TagKey(hmac::Key);

impl TagKey {
    fn derive(key: &GroupKey, info: &[&[u8]]) -> Self {
        let okm = key.secret.expand(info, hmac::HMAC_SHA256).expect("32 bytes are few enough to derive");
        Self(okm.into())
    }

    /// The key of one epoch of a sender in profile v3.
    pub(super) fn of(key: &GroupKey, life: &Life) -> Self {
        Self::derive(key, &[b"srmp3", &life.info()])
    }

    /// The key of a session in profile v2.
    pub(super) fn of_session(key: &GroupKey, session: u32) -> Self {
        Self::derive(key, &[b"srmp2", &session.to_be_bytes()])
    }

    pub(super) fn tag(&self, bytes: &[u8]) -> [u8; TRAILER_BYTES] {
        let tag = hmac::sign(&self.0, bytes);
        *tag.as_ref().first_chunk().expect("HMAC-SHA-256 gives 32 bytes")
    }

    /// Compares in constant time, since the two numbers are compared as a whole.
    pub(super) fn verify(&self, bytes: &[u8], tag: &[u8; TRAILER_BYTES]) -> bool {
        u128::from_be_bytes(self.tag(bytes)) ^ u128::from_be_bytes(*tag) == 0
    }
}

/// A key that encrypts and decrypts.
pub(super) struct EncryptionKey(aead::LessSafeKey);

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey(secret)")
    }
}

impl EncryptionKey {
    pub(super) fn of(key: &GroupKey, life: &Life, cipher: Cipher) -> Self {
        let info: [&[u8]; 2] = [b"srmp3 enc", &life.info()];
        let okm = key.secret.expand(&info, cipher.algorithm()).expect("32 bytes are few enough to derive");
        Self(aead::LessSafeKey::new(okm.into()))
    }

    /// Encrypts in place.
    pub(super) fn seal(&self, nonce: Nonce, head: &[u8], records: &mut [u8]) -> [u8; TRAILER_BYTES] {
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce.of_ring(), aead::Aad::from(head), records)
            .expect("a datagram is short enough to encrypt");
        *tag.as_ref().first_chunk().expect("both ciphers have tags of 16 bytes")
    }

    /// Decrypts in place. Returns false when the tag is wrong.
    pub(super) fn open(
        &self,
        nonce: Nonce,
        head: &[u8],
        records: &mut [u8],
        tag: &[u8; TRAILER_BYTES],
    ) -> bool {
        let (nonce, tag) = (nonce.of_ring(), aead::Tag::from(*tag));
        self.0.open_in_place_separate_tag(nonce, aead::Aad::from(head), tag, records, 0..).is_ok()
    }
}

/// The part of the nonce that differs in every datagram under one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nonce {
    pub(super) epoch: Epoch,
    pub(super) seq: u32,
}

impl Nonce {
    fn of_ring(self) -> aead::Nonce {
        let mut bytes = [0; aead::NONCE_LEN];
        bytes[4..8].copy_from_slice(&self.epoch.0.to_be_bytes());
        bytes[8..].copy_from_slice(&self.seq.to_be_bytes());
        aead::Nonce::assume_unique_for_key(bytes)
    }
}

/// The key that protects one sender's datagrams under one group key.
#[derive(Debug)]
pub(super) enum SenderKey {
    Tag(TagKey),
    /// Boxed, since it is three times as large.
    Encryption(Box<EncryptionKey>),
}
