//! Authentication and decryption of received datagrams.

use super::encryptor::derive;
use super::error::{AuthError, KeyError};
use super::keys::{Cipher, GroupKey, Keyring, Life, Nonce, SenderKey, TagKey};
use super::replay::ReplayWindow;
use crate::model::{Epoch, MemberId, Profile, Seq};
use crate::wire::{Envelope, Flags, Format, Header, Packet, Protection};
use base::Moment;
use bytes::BytesMut;
use std::collections::BTreeMap;
use std::time::Duration;

/// The default number of senders for which a [`Decryptor`] keeps keys and numbers: about 3 MiB, or
/// 7 MiB with encryption.
pub const SENDERS_MAX_DEFAULT: usize = 4096;

/// The default number of senders whose last number is remembered, including those that have left.
pub const SENDERS_REMEMBERED_MAX_DEFAULT: usize = 65_536;

/// The time for which the old key is accepted after the first datagram under the new one.
pub const KEY_OVERLAP: Duration = Duration::from_secs(60);

/// Bytes of a v3 header.
const HEAD_BYTES: usize = 32;

/// Bytes of the buffer from which decrypted datagrams are split off.
const ARENA_BYTES: usize = 128 * 1024;

/// The limits of a [`Decryptor`]'s memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecryptorLimits {
    /// The most senders with keys and numbers.
    pub senders_max: usize,
    /// The most senders whose last number is remembered, at least `senders_max`.
    pub remembered_max: usize,
}

impl Default for DecryptorLimits {
    fn default() -> Self {
        Self { senders_max: SENDERS_MAX_DEFAULT, remembered_max: SENDERS_REMEMBERED_MAX_DEFAULT }
    }
}

/// The work of a [`Decryptor`], which measures the cost of hostile datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Work {
    /// Tags computed and datagrams decrypted: one for each datagram that passed the cheap checks.
    pub tags: u64,
    /// Keys derived: one for each sender, epoch and group key, and one for each datagram of an
    /// unknown sender.
    pub derivations: u64,
}

/// Authenticates the datagrams of a group, and decrypts them.
///
/// It first checks what costs nothing (protection, key number, epoch, number), then the tag, and
/// only then stores anything. So a replayed or outdated datagram costs a look-up, and a forged one
/// costs one tag and no memory.
#[derive(Debug)]
pub struct Decryptor {
    profile: Profile,
    protection: Protection,
    cipher: Cipher,
    session: u32,
    limits: DecryptorLimits,
    keys: [Option<Accepted>; 2],
    senders: BTreeMap<MemberId, Sender>,
    live: usize,
    arena: BytesMut,
    work: Work,
}

/// A group key that is accepted.
#[derive(Debug)]
struct Accepted {
    key: GroupKey,
    /// Whether it is to replace the other key.
    is_new: bool,
    /// The end of its acceptance, if known.
    until: Option<Moment>,
    /// The derived key of profile v2.
    of_session: Option<TagKey>,
}

/// The newest epoch of a sender.
#[derive(Debug)]
struct Sender {
    epoch: Epoch,
    /// The newest number when the sender was forgotten.
    rest: Seq,
    live: Option<Box<Live>>,
}

/// One key for each slot of [`Decryptor::keys`], and the numbers received.
#[derive(Debug)]
struct Live {
    keys: [Option<SenderKey>; 2],
    window: ReplayWindow,
}

impl Decryptor {
    /// Creates a decryptor that accepts the keys of the keyring.
    pub fn new(keyring: &Keyring, format: &Format, limits: DecryptorLimits) -> Self {
        let mut decryptor = Self {
            profile: format.profile(),
            protection: format.protection(),
            cipher: keyring.cipher,
            session: format.session(),
            limits,
            keys: [None, None],
            senders: BTreeMap::new(),
            live: 0,
            arena: BytesMut::new(),
            work: Work::default(),
        };
        decryptor.keys[0] = Some(decryptor.accepted(&keyring.current, false));
        decryptor.keys[1] = keyring.other.as_ref().map(|key| decryptor.accepted(key, false));
        decryptor
    }

    fn accepted(&self, key: &GroupKey, is_new: bool) -> Accepted {
        let of_session = (self.profile == Profile::V2).then(|| TagKey::of_session(key, self.session));
        Accepted { key: key.clone(), is_new, until: None, of_session }
    }

    /// Accepts a key that will replace the other one. The other key is accepted until
    /// [`KEY_OVERLAP`] after the first datagram under the new key. If there were two keys before,
    /// the older one is dropped at once.
    ///
    /// # Errors
    /// [`KeyError::Taken`] when a key with this number is accepted.
    pub fn add_key(&mut self, key: &GroupKey) -> Result<(), KeyError> {
        if self.accepts(key.id()) {
            return Err(KeyError::Taken { id: key.id() });
        }
        let slot = self.slot_to_fill();
        self.drop_slot(slot);
        if let Some(other) = &mut self.keys[1 - slot] {
            other.is_new = false;
        }
        self.keys[slot] = Some(self.accepted(key, true));
        Ok(())
    }

    /// A free slot, or else that of the older key: the one whose end is known, the one that the
    /// other is to replace, or the keyring's other key.
    fn slot_to_fill(&self) -> usize {
        match &self.keys {
            [None, _] => 0,
            [_, None] => 1,
            [Some(first), Some(second)] => usize::from(first.until.is_none() && !second.is_new),
        }
    }

    /// Stops accepting a key at once. Returns whether it was accepted.
    pub fn retire_key(&mut self, id: u8) -> bool {
        let slot = self.slot(id);
        slot.inspect(|slot| self.drop_slot(*slot)).is_some()
    }

    /// Whether a key is accepted, as of the last datagram received.
    pub fn accepts(&self, id: u8) -> bool {
        self.slot(id).is_some()
    }

    /// The numbers of the accepted keys.
    pub fn keys(&self) -> impl Iterator<Item = u8> + '_ {
        self.keys.iter().flatten().map(|accepted| accepted.key.id())
    }

    fn slot(&self, id: u8) -> Option<usize> {
        self.keys.iter().position(|key| key.as_ref().is_some_and(|accepted| accepted.key.id() == id))
    }

    fn drop_slot(&mut self, slot: usize) {
        if self.keys[slot].take().is_some() {
            let lives = self.senders.values_mut().filter_map(|sender| sender.live.as_mut());
            lives.for_each(|live| live.keys[slot] = None);
        }
    }

    fn expire(&mut self, now: Moment) {
        for slot in 0..self.keys.len() {
            if self.keys[slot].as_ref().and_then(|key| key.until).is_some_and(|until| until <= now) {
                self.drop_slot(slot);
            }
        }
    }

    /// Frees the memory of a sender that has long been silent. Its epoch and newest number are
    /// kept, so that its datagrams cannot be replayed.
    pub fn forget(&mut self, sender: MemberId) {
        if let Some(state) = self.senders.get_mut(&sender)
            && let Some(live) = state.live.take()
        {
            state.rest = live.window.newest();
            self.live -= 1;
        }
    }

    /// The number of senders with keys and numbers here.
    pub fn senders(&self) -> usize {
        self.live
    }

    /// The work done so far.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Authenticates a datagram, and decrypts it if it is encrypted.
    ///
    /// # Errors
    /// [`AuthError`] with the reason for the refusal. Nothing has been stored about the datagram
    /// then.
    pub fn open(&mut self, now: Moment, envelope: Envelope) -> Result<Packet, AuthError> {
        self.expire(now);
        match self.profile {
            Profile::V2 => self.open_v2(envelope),
            Profile::V3 => self.open_v3(now, envelope),
        }
    }

    fn open_v2(&mut self, envelope: Envelope) -> Result<Packet, AuthError> {
        let tag = envelope.tag().ok_or(AuthError::Mismatch)?;
        for key in self.keys.iter().flatten().filter_map(|accepted| accepted.of_session.as_ref()) {
            self.work.tags += 1;
            if key.verify(envelope.covered(), tag) {
                return Ok(envelope.proved());
            }
        }
        Err(AuthError::Forged)
    }

    fn open_v3(&mut self, now: Moment, envelope: Envelope) -> Result<Packet, AuthError> {
        let header = *envelope.header();
        let want = match self.protection {
            Protection::None => Flags::empty(),
            Protection::Mac => Flags::AUTH,
            Protection::Encrypted => Flags::AUTH | Flags::ENCRYPTED,
        };
        if header.flags & (Flags::AUTH | Flags::ENCRYPTED) != want || envelope.tag().is_none() {
            return Err(AuthError::Mismatch);
        }
        let slot = self.slot(header.key).ok_or(AuthError::UnknownKey { id: header.key })?;
        self.look(&header)?;
        let fresh = self.derive_if_needed(slot, &header);
        let packet = self.check(slot, fresh.as_ref(), envelope)?;
        self.keep(&header, slot, fresh);
        self.note_use(now, slot);
        Ok(packet)
    }

    /// The checks that need no computation.
    fn look(&self, header: &Header) -> Result<(), AuthError> {
        let Some(known) = self.senders.get(&header.sender) else {
            let DecryptorLimits { senders_max, remembered_max } = self.limits;
            if self.live >= senders_max {
                return Err(AuthError::TooManySenders { limit: senders_max });
            }
            if self.senders.len() >= remembered_max {
                return Err(AuthError::TooManySenders { limit: remembered_max });
            }
            return Ok(());
        };
        if header.epoch < known.epoch {
            let (sender, got, newest) = (header.sender, header.epoch, known.epoch);
            return Err(AuthError::OldEpoch { sender, got, newest });
        }
        let is_fresh = header.epoch > known.epoch
            || match &known.live {
                Some(live) => live.window.is_fresh(header.seq),
                None => header.seq.0 > known.rest.0,
            };
        if !is_fresh {
            return Err(AuthError::Replayed { sender: header.sender, seq: header.seq });
        }
        if known.live.is_none() && self.live >= self.limits.senders_max {
            return Err(AuthError::TooManySenders { limit: self.limits.senders_max });
        }
        Ok(())
    }

    /// The key of an unknown sender or epoch; `None` when the key is stored already.
    fn derive_if_needed(&mut self, slot: usize, header: &Header) -> Option<SenderKey> {
        let known = self.senders.get(&header.sender).filter(|known| known.epoch == header.epoch);
        if known.and_then(|known| known.live.as_ref()?.keys[slot].as_ref()).is_some() {
            return None;
        }
        let group_key = &self.keys[slot].as_ref()?.key;
        self.work.derivations += 1;
        let life = Life { sender: header.sender, epoch: header.epoch, session: self.session };
        Some(derive(self.protection, group_key, &life, self.cipher))
    }

    fn check(
        &mut self,
        slot: usize,
        fresh: Option<&SenderKey>,
        envelope: Envelope,
    ) -> Result<Packet, AuthError> {
        let (header, tag) = (*envelope.header(), *envelope.tag().ok_or(AuthError::Mismatch)?);
        let kept = self.senders.get(&header.sender).and_then(|known| known.live.as_ref());
        let key = fresh.or_else(|| kept?.keys[slot].as_ref()).ok_or(AuthError::Forged)?;
        self.work.tags += 1;
        match key {
            SenderKey::Tag(key) => {
                let is_right = key.verify(envelope.covered(), &tag);
                if is_right { Ok(envelope.proved()) } else { Err(AuthError::Forged) }
            }
            SenderKey::Encryption(key) => {
                let arena = &mut self.arena;
                arena.clear();
                let len = envelope.covered().len();
                if arena.capacity() < len {
                    arena.reserve(ARENA_BYTES.max(len));
                }
                arena.extend_from_slice(envelope.covered());
                let (head, records) = arena.split_at_mut(HEAD_BYTES);
                let nonce = Nonce { epoch: header.epoch, seq: header.seq.0 };
                if !key.open(nonce, head, records, &tag) {
                    return Err(AuthError::Forged);
                }
                let clear = arena.split().freeze();
                Ok(envelope.opened(clear))
            }
        }
    }

    /// Stores the sender, the number and the key of an authenticated datagram.
    fn keep(&mut self, header: &Header, slot: usize, fresh: Option<SenderKey>) {
        let (epoch, seq) = (header.epoch, header.seq);
        let known = self.senders.entry(header.sender).or_insert(Sender { epoch, rest: seq, live: None });
        let was_live = known.live.is_some();
        if known.epoch < epoch {
            (known.epoch, known.live) = (epoch, None);
            known.rest = seq;
        }
        let rest = known.rest;
        let live = known.live.get_or_insert_with(|| {
            // A sender that returns in the same epoch continues above its last number. Any other
            // begins here.
            let window = if rest == seq { ReplayWindow::new(seq) } else { ReplayWindow::closed_to(rest) };
            Box::new(Live { keys: [None, None], window })
        });
        live.window.mark(seq);
        if fresh.is_some() {
            live.keys[slot] = fresh;
        }
        self.live += usize::from(!was_live);
    }

    /// The first use of the new key limits the life of the old one.
    fn note_use(&mut self, now: Moment, slot: usize) {
        let is_new = self.keys[slot].as_mut().is_some_and(|key| std::mem::take(&mut key.is_new));
        if is_new && let Some(old) = &mut self.keys[1 - slot] {
            old.until = Some(now + KEY_OVERLAP);
        }
    }
}
