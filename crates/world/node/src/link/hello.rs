//! The first record of each side of a link: what the two drivers have to agree on before their machines talk.
//!
//! A frame like all others: `MRTL`, the version (1), then fields of a tag, a length and as many octets. Fields with an
//! unknown tag are passed over, so that later versions can add some. Numbers stand most significant octet first.
//!
//! | tag | field | octets |
//! | --: | --- | --- |
//! | 1 | the sender takes best effort as datagrams | UDP port (2; 0 for QUIC), token (8), longest payload (2) |
//! | 2 | emulation that the receiver is asked for, in what it sends | delay, jitter in ns (8, 8), loss in ppm (4), rate in bit/s (8; 0: none) |

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::emulation::{EMULATED_DELAY_MAX, Emulation};

/// Longest first record, in bytes.
pub(crate) const HELLO_BYTES_MAX: usize = 512;

const MAGIC: [u8; 4] = *b"MRTL";
const VERSION: u8 = 1;
const TAG_DATAGRAMS: u8 = 1;
const TAG_EMULATE: u8 = 2;

/// Where and how a side takes datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatagramOffer {
    /// Its UDP port; 0 when datagrams go with the link itself.
    pub(crate) port: u16,
    /// What its datagrams have to begin with.
    pub(crate) token: u64,
    /// Longest UDP payload, in bytes.
    pub(crate) mtu: u16,
}

/// What a side says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Hello {
    pub(crate) datagrams: Option<DatagramOffer>,
    pub(crate) emulate: Emulation,
}

/// Why a first record is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// Something else speaks there.
    #[error("the peer is no node of MeshRTI: it began with `{0}`")]
    NoNode(String),
    /// A version that this node does not know.
    #[error("the peer speaks version {0} of the link protocol; this node speaks version {VERSION}")]
    Version(u8),
    /// A field that is cut off or has the wrong length.
    #[error("the first record of the peer is malformed: field {tag} has {length} octets")]
    Field {
        /// Its tag.
        tag: u8,
        /// Its length.
        length: usize,
    },
    /// More than a node emulates.
    #[error("the peer asks for an emulated delay of {0:?}; the limit is {EMULATED_DELAY_MAX:?}")]
    Delay(Duration),
}

impl Hello {
    pub(crate) fn encode(&self) -> BytesMut {
        let mut out = BytesMut::with_capacity(64);
        out.put_slice(&MAGIC);
        out.put_u8(VERSION);
        if let Some(offer) = &self.datagrams {
            out.put_slice(&[TAG_DATAGRAMS, 12]);
            out.put_u16(offer.port);
            out.put_u64(offer.token);
            out.put_u16(offer.mtu);
        }
        if !self.emulate.is_none() {
            out.put_slice(&[TAG_EMULATE, 28]);
            out.put_u64(nanos(self.emulate.delay));
            out.put_u64(nanos(self.emulate.jitter));
            out.put_u32(self.emulate.loss_ppm);
            out.put_u64(self.emulate.rate.unwrap_or(0));
        }
        out
    }

    pub(crate) fn decode(mut record: Bytes) -> Result<Self, HelloError> {
        if !record.starts_with(&MAGIC) || record.len() == MAGIC.len() {
            let start = record[..record.len().min(8)].escape_ascii().to_string();
            return Err(HelloError::NoNode(start));
        }
        record.advance(MAGIC.len());
        let version = record.get_u8();
        if version != VERSION {
            return Err(HelloError::Version(version));
        }
        let mut hello = Self::default();
        while record.has_remaining() {
            let tag = record.get_u8();
            let length = if record.has_remaining() { usize::from(record.get_u8()) } else { 0 };
            if record.len() < length {
                return Err(HelloError::Field { tag, length: record.len() });
            }
            let mut field = record.split_to(length);
            match (tag, length) {
                (TAG_DATAGRAMS, 12) => {
                    let (port, token, mtu) = (field.get_u16(), field.get_u64(), field.get_u16());
                    hello.datagrams = Some(DatagramOffer { port, token, mtu });
                }
                (TAG_EMULATE, 28) => hello.emulate = emulation(&mut field)?,
                (TAG_DATAGRAMS | TAG_EMULATE, _) => return Err(HelloError::Field { tag, length }),
                _ => {}
            }
        }
        Ok(hello)
    }
}

fn emulation(field: &mut Bytes) -> Result<Emulation, HelloError> {
    let delay = Duration::from_nanos(field.get_u64());
    let jitter = Duration::from_nanos(field.get_u64());
    let longest = delay.max(jitter);
    if longest > EMULATED_DELAY_MAX {
        return Err(HelloError::Delay(longest));
    }
    let loss_ppm = field.get_u32();
    let rate = Some(field.get_u64()).filter(|&rate| rate > 0);
    Ok(Emulation { delay, jitter, loss_ppm, rate })
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        let full = Hello {
            datagrams: Some(DatagramOffer { port: 7, token: u64::MAX, mtu: 1400 }),
            emulate: Emulation {
                delay: Duration::from_millis(20),
                jitter: Duration::from_micros(3),
                loss_ppm: 5,
                rate: Some(10_000_000),
            },
        };
        for hello in [Hello::default(), full] {
            assert_eq!(Hello::decode(hello.encode().freeze()), Ok(hello));
            assert!(hello.encode().len() <= HELLO_BYTES_MAX);
        }
        let mut later = full.encode();
        later.put_slice(&[99, 2, 1, 1]);
        assert_eq!(Hello::decode(later.freeze()), Ok(full), "unknown fields are passed over");
    }

    #[test]
    fn hostile_records_are_errors() {
        let decode =
            |octets: &'static [u8]| Hello::decode(Bytes::from_static(octets)).unwrap_err().to_string();
        assert_eq!(decode(b"GET / HTTP/1.1"), "the peer is no node of MeshRTI: it began with `GET / HT`");
        assert_eq!(decode(b"\0"), "the peer is no node of MeshRTI: it began with `\\x00`");
        assert!(decode(b"MRTL").contains("no node"));
        assert!(decode(b"MRTL\x02").contains("version 2"));
        assert!(decode(b"MRTL\x01\x01").contains("field 1 has 0"));
        assert!(decode(b"MRTL\x01\x01\x0c1234").contains("field 1 has 4"));
        assert!(decode(b"MRTL\x01\x02\x00").contains("field 2 has 0"));
        let mut far = Hello::default();
        far.emulate.delay = Duration::from_secs(3600);
        assert!(matches!(Hello::decode(far.encode().freeze()), Err(HelloError::Delay(_))));
        for length in 0..full_length() {
            let mut octets = b"MRTL\x01\x01\x0c".to_vec();
            octets.resize(5 + length, 1);
            let _ = Hello::decode(Bytes::from(octets));
        }
    }

    fn full_length() -> usize {
        80
    }
}
