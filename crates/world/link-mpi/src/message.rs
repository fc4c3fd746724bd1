//! The protocol between two ranks about a link.
//!
//! Each unit is one message of MPI. All have one tag, so that those from one rank to another keep
//! their order:
//!
//! | octets | field |
//! | --: | --- |
//! | 1 | kind |
//! | 1 | 1: the sender made the link; 0: the receiver did |
//! | 4 | the number that the maker gave to the link; it counts up and is never reused |
//! | 4 | value, see [`Kind`] |
//! | .. | body |
//!
//! Numbers are big-endian.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// Octets before the body.
pub(crate) const HEADER_BYTES: usize = 10;

/// Longest body of a message, in bytes.
pub(crate) const BODY_BYTES_MAX: usize = 64 << 10;

/// Longest message, in bytes.
pub(crate) const MESSAGE_BYTES_MAX: usize = HEADER_BYTES + BODY_BYTES_MAX;

/// The version of this protocol, sent in every [`Kind::Open`].
pub(crate) const VERSION: u8 = 1;

/// The purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Requests a link. Value: bytes that may be sent back before any are granted. Body: the
    /// version.
    Open,
    /// Accepts the link. Value: bytes that may be sent before any are granted.
    Accept,
    /// Refuses the link. Body: the reason.
    Refuse,
    /// Carries octets of the stream in its body.
    Data,
    /// Grants credit. Value: the number of bytes read, and so the number of further bytes that may
    /// be sent.
    Credit,
    /// Ends the stream: no octets follow.
    End,
    /// The sender has forgotten the link. Value: 1 if octets were lost by that.
    Close,
    /// The sender leaves, and sends nothing further about any link.
    Bye,
}

const KINDS: [Kind; 8] =
    [Kind::Open, Kind::Accept, Kind::Refuse, Kind::Data, Kind::Credit, Kind::End, Kind::Close, Kind::Bye];

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    /// The sender made the link.
    pub(crate) by_maker: bool,
    pub(crate) number: u32,
    pub(crate) value: u32,
    pub(crate) body: Bytes,
}

/// A message that no version of this program sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("a message of {0} bytes")]
    Length(usize),
    #[error("a message of kind {0}")]
    Kind(u8),
    #[error("a second link number {0}")]
    Twice(u32),
}

impl Message {
    /// Writes the message; `body` follows the header.
    pub(crate) fn encode(kind: Kind, by_maker: bool, number: u32, value: u32, body: &[u8]) -> Bytes {
        let mut out = BytesMut::with_capacity(HEADER_BYTES + body.len());
        out.put_u8(kind as u8);
        out.put_u8(u8::from(by_maker));
        out.put_u32(number);
        out.put_u32(value);
        out.put_slice(body);
        out.freeze()
    }

    /// Reads a message.
    pub(crate) fn decode(mut octets: Bytes) -> Result<Self, Malformed> {
        let length = octets.len();
        if !(HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&length) {
            return Err(Malformed::Length(length));
        }
        let kind = octets.get_u8();
        let kind = KINDS.get(usize::from(kind)).copied().ok_or(Malformed::Kind(kind))?;
        let by_maker = octets.get_u8() != 0;
        let (number, value) = (octets.get_u32(), octets.get_u32());
        Ok(Self { kind, by_maker, number, value, body: octets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        for kind in KINDS {
            for (by_maker, body) in [(true, &b""[..]), (false, b"octets")] {
                let octets = Message::encode(kind, by_maker, u32::MAX, 7, body);
                let body = Bytes::from_static(body);
                let message = Message { kind, by_maker, number: u32::MAX, value: 7, body };
                assert_eq!(Message::decode(octets), Ok(message));
            }
        }
    }

    #[test]
    fn malformed_ones_are_errors() {
        for length in [0, HEADER_BYTES - 1, MESSAGE_BYTES_MAX + 1] {
            let octets = Bytes::from(vec![0; length]);
            assert_eq!(Message::decode(octets), Err(Malformed::Length(length)));
        }
        let strange = Bytes::from(vec![8; HEADER_BYTES]);
        assert_eq!(Message::decode(strange), Err(Malformed::Kind(8)));
    }
}
