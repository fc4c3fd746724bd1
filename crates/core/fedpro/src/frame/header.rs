//! The header as a checked view, and as a plain value.

use super::{FrameError, HEADER_BYTES, MessageType};
use base::Serial31;

/// The number that means "no sequence number" on the wire. Readers take any value with the top bit
/// set to mean none.
const NONE: u32 = 0x8000_0000;

pub(crate) const fn to_wire(number: Option<Serial31>) -> u32 {
    match number {
        Some(n) => n.get(),
        None => NONE,
    }
}

/// A header whose size and type have been checked. Accessors cannot fail.
#[derive(Clone, Copy, Debug)]
pub struct HeaderView<'a> {
    bytes: &'a [u8; HEADER_BYTES],
    message_type: MessageType,
}

impl<'a> HeaderView<'a> {
    /// Checks the first 24 bytes of `bytes` and ignores the bytes that follow.
    ///
    /// # Errors
    /// [`FrameError::Truncated`] under 24 bytes; [`FrameError::TooShort`] and
    /// [`FrameError::TooLong`] for the size field (`limit` in bytes, header included);
    /// [`FrameError::UnknownCode`] for the type.
    pub fn parse(bytes: &'a [u8], limit: usize) -> Result<Self, FrameError> {
        let bytes: &[u8; HEADER_BYTES] =
            bytes.first_chunk().ok_or(FrameError::Truncated { len: bytes.len() })?;
        let size = word(bytes, 0);
        if (size as usize) < HEADER_BYTES {
            return Err(FrameError::TooShort { size, min: HEADER_BYTES as u32 });
        }
        if size as usize > limit {
            return Err(FrameError::TooLong { size, limit: u32::try_from(limit).unwrap_or(u32::MAX) });
        }
        let message_type = MessageType::from_code(word(bytes, 20))?;
        Ok(Self { bytes, message_type })
    }

    /// Size of the whole message in bytes, at least 24.
    pub fn size(&self) -> usize {
        word(self.bytes, 0) as usize
    }

    /// The type.
    pub const fn message_type(&self) -> MessageType {
        self.message_type
    }

    /// The header as a plain value.
    pub fn header(&self) -> Header {
        let b = self.bytes;
        Header {
            message_type: self.message_type,
            session: u64::from(word(b, 8)) << 32 | u64::from(word(b, 12)),
            numbers: Numbers {
                sequence: Serial31::new(word(b, 4)),
                last_received: Serial31::new(word(b, 16)),
            },
        }
    }
}

fn word(bytes: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The two sequence numbers of a header; `None` for a number whose top bit is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Numbers {
    /// Number of this message.
    pub sequence: Option<Serial31>,
    /// Number of the last HLA message that the sender had received.
    pub last_received: Option<Serial31>,
}

/// A header as a plain value. It has no size field, because the size follows from the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The type.
    pub message_type: MessageType,
    /// The session, 0 for none.
    pub session: u64,
    /// The sequence numbers.
    pub numbers: Numbers,
}

impl Header {
    /// The 24 bytes of this header before a payload of `payload` bytes.
    pub(crate) fn to_bytes(self, payload: usize) -> [u8; HEADER_BYTES] {
        let mut b = [0; HEADER_BYTES];
        let size = u32::try_from(HEADER_BYTES + payload).expect("callers keep to BODY_BYTES_LIMIT");
        b[0..4].copy_from_slice(&size.to_be_bytes());
        b[4..8].copy_from_slice(&to_wire(self.numbers.sequence).to_be_bytes());
        b[8..16].copy_from_slice(&self.session.to_be_bytes());
        b[16..20].copy_from_slice(&to_wire(self.numbers.last_received).to_be_bytes());
        b[20..24].copy_from_slice(&self.message_type.code().to_be_bytes());
        b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = Option<Serial31>> {
        prop_oneof![Just(None), (0u32..=0x7fff_ffff).prop_map(Serial31::new)]
    }

    proptest! {
        #[test]
        fn round_trip(
            session: u64, sequence in number(), last_received in number(),
            kind in 0..MessageType::ALL.len(), payload in 0usize..10_000,
        ) {
            let header = Header {
                message_type: MessageType::ALL[kind],
                session,
                numbers: Numbers { sequence, last_received },
            };
            let bytes = header.to_bytes(payload);
            let view = HeaderView::parse(&bytes, 1 << 20).unwrap();
            prop_assert_eq!(view.header(), header);
            prop_assert_eq!(view.size(), HEADER_BYTES + payload);
        }
    }

    #[test]
    fn sizes_and_types_are_checked() {
        let good = Header { message_type: MessageType::Heartbeat, session: 1, numbers: Numbers::default() }
            .to_bytes(0);
        assert_eq!(HeaderView::parse(&good[..23], 99).unwrap_err(), FrameError::Truncated { len: 23 });
        let with = |at: usize, value: u8| {
            let mut b = good;
            b[at] = value;
            HeaderView::parse(&b, 99).map(|v| v.size())
        };
        assert_eq!(with(3, 23), Err(FrameError::TooShort { size: 23, min: 24 }));
        assert_eq!(with(3, 99), Ok(99));
        assert_eq!(with(3, 100), Err(FrameError::TooLong { size: 100, limit: 99 }));
        assert_eq!(with(23, 99), Err(FrameError::UnknownCode { field: "message type", code: 99 }));
    }

    #[test]
    fn any_set_top_bit_is_none() {
        let mut b = Header { message_type: MessageType::Heartbeat, session: 1, numbers: Numbers::default() }
            .to_bytes(0);
        assert_eq!(b[4..8], [0x80, 0, 0, 0]);
        b[4..8].fill(0xff);
        assert_eq!(HeaderView::parse(&b, 99).unwrap().header().numbers.sequence, None);
    }
}
