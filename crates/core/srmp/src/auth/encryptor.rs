//! Authentication and encryption of outgoing datagrams.

use super::error::{KeyError, SealError};
use super::keys::{Cipher, EncryptionKey, GroupKey, Keyring, Life, Nonce, SenderKey, TagKey};
use crate::model::{Epoch, MemberId, Profile, Seq};
use crate::wire::{Format, Protection, TRAILER_BYTES};

/// Bytes of a v3 header, and the positions of the fields on which a tag depends.
const HEAD_BYTES: usize = 32;
const NAME: std::ops::Range<usize> = 4..20;
const SEQ: std::ops::Range<usize> = 20..24;
const KEY: usize = 28;

/// Protects the datagrams of one epoch of a member.
#[derive(Debug)]
pub struct Encryptor {
    profile: Profile,
    protection: Protection,
    cipher: Cipher,
    life: Life,
    id: u8,
    key: SenderKey,
    /// The next key: the first datagram that uses it, its number, and the key itself.
    next: Option<(Seq, u8, SenderKey)>,
    last: Option<Seq>,
}

impl Encryptor {
    /// Creates an encryptor that uses the keyring's current key; `None` when the format has no
    /// protection.
    pub fn new(keyring: &Keyring, format: &Format, sender: MemberId, epoch: Epoch) -> Option<Self> {
        if format.protection() == Protection::None {
            return None;
        }
        let life = Life { sender, epoch, session: format.session() };
        let (profile, protection, cipher) = (format.profile(), format.protection(), keyring.cipher);
        let key = match profile {
            Profile::V2 => SenderKey::Tag(TagKey::of_session(&keyring.current, life.session)),
            Profile::V3 => derive(protection, &keyring.current, &life, cipher),
        };
        let id = keyring.current.id();
        Some(Self { profile, protection, cipher, life, id, key, next: None, last: None })
    }

    /// The number of the key in use.
    pub fn key(&self) -> u8 {
        self.id
    }

    /// Uses another key from the datagram `at` on. All members must
    /// [accept](super::Decryptor::add_key) the key before that; they go on accepting the old one for a
    /// while.
    ///
    /// # Errors
    /// [`KeyError::Past`] when that datagram is sealed already, [`KeyError::Taken`] when the number
    /// is that of the key in use, and [`KeyError::Profile`] in profile v2.
    pub fn rotate(&mut self, key: &GroupKey, at: Seq) -> Result<(), KeyError> {
        if self.profile == Profile::V2 {
            return Err(KeyError::Profile);
        }
        if key.id() == self.id {
            return Err(KeyError::Taken { id: key.id() });
        }
        if let Some(last) = self.last.filter(|last| at.0 <= last.0) {
            return Err(KeyError::Past { at, last });
        }
        let derived = derive(self.protection, key, &self.life, self.cipher);
        self.next = Some((at, key.id(), derived));
        Ok(())
    }

    /// The number of the last key given: that of the next one, if there is one.
    pub fn last_key(&self) -> u8 {
        self.next.as_ref().map_or(self.id, |(_, id, _)| *id)
    }

    /// Writes the tag into the last 16 bytes of a datagram, and in v3 the key's number into its
    /// header. Encrypts the records if the group encrypts. The datagram must come from
    /// [`Writer::finish`](crate::wire::Writer::finish) with the same format.
    ///
    /// # Errors
    /// [`SealError::Reused`] when its number is not above the last one's (v3), and
    /// [`SealError::Foreign`] when it is not from this sender. It is unchanged then.
    pub fn seal(&mut self, datagram: &mut [u8]) -> Result<(), SealError> {
        let covered = datagram.len().checked_sub(TRAILER_BYTES).ok_or(SealError::Foreign)?;
        if self.profile == Profile::V3 {
            let seq = self.admit(&datagram[..covered])?;
            if self.next.as_ref().is_some_and(|(at, ..)| at.0 <= seq.0)
                && let Some((_, id, key)) = self.next.take()
            {
                (self.id, self.key) = (id, key);
            }
            self.last = Some(seq);
            datagram[KEY] = self.id;
        }
        let (bytes, trailer) = datagram.split_at_mut(covered);
        let tag = match &self.key {
            SenderKey::Tag(key) => key.tag(bytes),
            SenderKey::Encryption(key) => {
                let (head, records) = bytes.split_at_mut(HEAD_BYTES);
                let seq = self.last.map_or(0, |seq| seq.0);
                key.seal(Nonce { epoch: self.life.epoch, seq }, head, records)
            }
        };
        trailer.copy_from_slice(&tag);
        Ok(())
    }

    /// The number of a datagram, if it may be sealed.
    fn admit(&self, datagram: &[u8]) -> Result<Seq, SealError> {
        let Life { sender, epoch, session } = self.life;
        let mut name = [0; 16];
        name[..4].copy_from_slice(&session.to_be_bytes());
        name[4..12].copy_from_slice(&sender.0.to_be_bytes());
        name[12..].copy_from_slice(&epoch.0.to_be_bytes());
        if datagram.len() < HEAD_BYTES || datagram[NAME] != name {
            return Err(SealError::Foreign);
        }
        let seq = *datagram[SEQ].first_chunk().expect("four bytes");
        let seq = Seq(u32::from_be_bytes(seq));
        match self.last {
            Some(last) if seq.0 <= last.0 => Err(SealError::Reused { seq, last }),
            _ => Ok(seq),
        }
    }
}

/// The key that protects one epoch of a member in profile v3.
pub(super) fn derive(protection: Protection, key: &GroupKey, life: &Life, cipher: Cipher) -> SenderKey {
    match protection {
        Protection::Encrypted => SenderKey::Encryption(Box::new(EncryptionKey::of(key, life, cipher))),
        Protection::None | Protection::Mac => SenderKey::Tag(TagKey::of(key, life)),
    }
}
