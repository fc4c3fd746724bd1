//! The messages by which neighbours of a site agree on the key of their groups.
//!
//! They share the channel of a link with the reports of [`groups`](super::super::groups), which have
//! eight octets. These messages are longer.

use super::{GroupKey, GroupSecret, KeyName, SECRET_BYTES};
use base::{BigEndian, NodeKey, ReadError, Reader};
use bytes::{BufMut, Bytes, BytesMut};
use std::time::Duration;

/// Longest text that identifies a site, in bytes.
pub(crate) const SITE_BYTES_MAX: usize = 255;

/// The last epoch that a key may have. The next one can always be counted.
const EPOCH_MAX: u64 = u64::MAX >> 1;

const STATE: u8 = 1;
const KEY: u8 = 2;

/// The keys of a node, as it tells a neighbour.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct State {
    /// The site whose groups it uses. The neighbour ignores the rest if its own site is another.
    pub(super) site: Bytes,
    /// Counts the changes of the fields below at the sender.
    pub(super) revision: u32,
    /// The last revision of the receiver that the sender has seen; 0: none.
    pub(super) seen: u32,
    /// The newest key that it accepts; `None`: it has none yet.
    pub(super) newest: Option<KeyName>,
    /// The key before, while it accepts that, too.
    pub(super) former: Option<KeyName>,
    /// Whether it still sends under the former key.
    pub(super) sends_former: bool,
}

/// A message between two neighbours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum KeyMessage {
    /// The keys of the sender.
    State(State),
    /// A key for the receiver, which has an older one or none, and the time until it is rotated.
    Key(GroupKey, Duration),
}

impl KeyMessage {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(64);
        match self {
            Self::State(state) => {
                out.put_u8(STATE);
                out.put_u32(u32::try_from(state.site.len()).unwrap_or(u32::MAX));
                out.put_slice(&state.site);
                out.put_u32(state.revision);
                out.put_u32(state.seen);
                for name in [&state.newest, &state.former] {
                    out.put_u8(u8::from(name.is_some()));
                    name.iter().for_each(|name| put_name(&mut out, name));
                }
                out.put_u8(u8::from(state.sends_former));
            }
            Self::Key(key, left) => {
                out.put_u8(KEY);
                put_name(&mut out, &key.name);
                out.put_u32(u32::try_from(left.as_millis()).unwrap_or(u32::MAX));
                out.put_slice(key.secret.as_bytes());
            }
        }
        out.freeze()
    }

    /// # Errors
    /// The field that is wrong. The text has nothing of a secret.
    pub(crate) fn decode(frame: Bytes) -> Result<Self, ReadError> {
        let mut reader = Reader::<BigEndian>::new(frame);
        let message = match reader.u8("kind")? {
            STATE => {
                let site = reader.octets_within("site", SITE_BYTES_MAX)?;
                let (revision, seen) = (reader.u32("revision")?, reader.u32("revision seen")?);
                let newest = optional_name(&mut reader)?;
                let former = optional_name(&mut reader)?;
                let sends_former = reader.flag("sends under the former key")?;
                Self::State(State { site, revision, seen, newest, former, sends_former })
            }
            KEY => {
                let name = name(&mut reader)?;
                let left = Duration::from_millis(reader.u32("milliseconds left")?.into());
                let octets = reader.bytes("secret", SECRET_BYTES)?;
                let secret = octets.first_chunk().copied().unwrap_or([0; SECRET_BYTES]);
                Self::Key(GroupKey { name, secret: GroupSecret::new(secret) }, left)
            }
            value => return Err(ReadError::Unknown { item: "kind", at: 0, value }),
        };
        reader.end(message)
    }
}

fn put_name(out: &mut BytesMut, name: &KeyName) {
    out.put_u64(name.epoch);
    out.put_u64(name.maker.0);
    out.put_u8(name.id);
}

fn optional_name(reader: &mut Reader<BigEndian>) -> Result<Option<KeyName>, ReadError> {
    if reader.flag("presence of a key")? { name(reader).map(Some) } else { Ok(None) }
}

fn name(reader: &mut Reader<BigEndian>) -> Result<KeyName, ReadError> {
    let at = reader.at();
    let epoch = reader.u64("epoch")?;
    if !(1..=EPOCH_MAX).contains(&epoch) {
        return Err(ReadError::Range { item: "epoch", at, value: epoch, least: 1, most: EPOCH_MAX });
    }
    Ok(KeyName { epoch, maker: NodeKey(reader.u64("maker")?), id: reader.u8("number")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn a_name() -> impl Strategy<Value = KeyName> {
        (1..=EPOCH_MAX, any::<u64>(), any::<u8>()).prop_map(|(epoch, maker, id)| KeyName {
            epoch,
            maker: NodeKey(maker),
            id,
        })
    }

    fn a_message() -> impl Strategy<Value = KeyMessage> {
        let names = (proptest::option::of(a_name()), proptest::option::of(a_name()));
        let site = proptest::collection::vec(any::<u8>(), 0..SITE_BYTES_MAX);
        let state = (site, any::<(u32, u32, bool)>(), names).prop_map(
            |(site, (revision, seen, sends_former), (newest, former))| {
                KeyMessage::State(State { site: site.into(), revision, seen, newest, former, sends_former })
            },
        );
        let key = (a_name(), any::<[u8; SECRET_BYTES]>(), any::<u32>()).prop_map(|(name, secret, left)| {
            let key = GroupKey { name, secret: GroupSecret::new(secret) };
            KeyMessage::Key(key, Duration::from_millis(left.into()))
        });
        prop_oneof![state, key]
    }

    proptest! {
        #[test]
        fn messages_are_read_as_written(message in a_message()) {
            let octets = message.encode();
            prop_assert!(octets.len() > 8, "reports of groups have eight octets");
            prop_assert_eq!(KeyMessage::decode(octets.clone()).unwrap(), message);
            for len in 0..octets.len() {
                prop_assert!(KeyMessage::decode(octets.slice(..len)).is_err());
            }
        }

        #[test]
        fn anything_else_is_refused_with_a_reason(octets: Vec<u8>) {
            if let Ok(message) = KeyMessage::decode(octets.clone().into()) {
                prop_assert_eq!(&message.encode()[..], &octets[..]);
            }
        }
    }

    #[test]
    fn no_secret_is_printed() {
        let name = KeyName { epoch: 3, maker: NodeKey(4), id: 5 };
        let secret = GroupSecret::new([77; SECRET_BYTES]);
        let key = KeyMessage::Key(GroupKey { name, secret: secret.clone() }, Duration::ZERO);
        assert!(!format!("{key:?}").contains("77"), "{key:?}");
        let error = KeyMessage::decode(key.encode().slice(..44)).unwrap_err();
        assert_eq!(error.to_string(), "secret at byte 22 needs 32 bytes, 22 are left");
        let name = KeyName { epoch: u64::MAX, ..name };
        let last = KeyMessage::Key(GroupKey { name, secret }, Duration::ZERO);
        assert!(
            KeyMessage::decode(last.encode()).unwrap_err().to_string().starts_with("epoch at byte 1 is ")
        );
    }
}
