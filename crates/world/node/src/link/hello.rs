//! The first record of each side of a link, by which the two drivers agree before their machines
//! exchange frames.
//!
//! It is a frame like all others: `MRTL`, the version (1), then fields that consist of a tag, a
//! length and as many octets. Fields with an unknown tag are ignored, so that later versions can
//! add some. Numbers are in network byte order.
//!
//! | tag | field | octets |
//! | --: | --- | --- |
//! | 1 | the sender takes best effort as datagrams | UDP port (2; 0 for QUIC), token (8), longest payload (2) |
//! | 2 | emulation that the receiver is asked for, in what it sends | delay, jitter in ns (8, 8), loss in ppm (4), rate in bit/s (8; 0: none) |
//! | 3 | the same, where field 2 cannot say it | options of a line as in a URL, such as `delay=35ms,jitter=gamma:3ms` |

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use wan::{Jitter, LineSpec, Loss, Share};

use crate::emulation::{EMULATED_DELAY_MAX, Emulation};

/// Longest first record, in bytes.
pub(crate) const HELLO_BYTES_MAX: usize = 512;

const MAGIC: [u8; 4] = *b"MRTL";
const VERSION: u8 = 1;
const TAG_DATAGRAMS: u8 = 1;
const TAG_EMULATE: u8 = 2;
const TAG_EMULATE_TEXT: u8 = 3;

/// The address and the limits of a side that receives datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatagramOffer {
    /// Its UDP port; 0 if datagrams travel with the link itself.
    pub(crate) port: u16,
    /// The token with which datagrams to it must begin.
    pub(crate) token: u64,
    /// Longest UDP payload, in bytes.
    pub(crate) mtu: u16,
}

/// The first record of a side.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Hello {
    pub(crate) datagrams: Option<DatagramOffer>,
    pub(crate) emulate: Emulation,
}

/// The reason why a first record is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// The peer is not a node.
    #[error("the peer is no node of MeshRTI: it began with `{0}`")]
    NoNode(String),
    /// A version that this node does not support.
    #[error("the peer speaks version {0} of the link protocol; this node speaks version {VERSION}")]
    Version(u8),
    /// A field that is truncated or has the wrong length.
    #[error("the first record of the peer is malformed: field {tag} has {length} octets")]
    Field {
        /// Its tag.
        tag: u8,
        /// Its length.
        length: usize,
    },
    /// A delay longer than a node emulates.
    #[error("the peer asks for an emulated delay of {0:?}; the limit is {EMULATED_DELAY_MAX:?}")]
    Delay(Duration),
    /// Options that a node cannot emulate.
    #[error("the peer asks for a line that cannot be emulated: {0}")]
    Emulation(String),
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
            self.encode_emulation(&mut out);
        }
        out
    }

    /// Encoded as numbers if these suffice, for nodes that read nothing else.
    fn encode_emulation(&self, out: &mut BytesMut) {
        let Emulation { delay, jitter, loss, rate } = &self.emulate;
        if let (Some(jitter), Some(loss)) = (plain_jitter(*jitter), plain_loss(loss)) {
            out.put_slice(&[TAG_EMULATE, 28]);
            out.put_u64(nanos(*delay));
            out.put_u64(nanos(jitter));
            out.put_u32(loss);
            out.put_u64(rate.unwrap_or(0));
            return;
        }
        let text = LineSpec::from(&self.emulate).to_string();
        let length = u8::try_from(text.len()).expect("the longest options take less than 256 octets");
        out.put_slice(&[TAG_EMULATE_TEXT, length]);
        out.put_slice(text.as_bytes());
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
                (TAG_EMULATE_TEXT, _) => hello.emulate = emulation_text(&field)?,
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
    let jitter = if jitter.is_zero() { Jitter::None } else { Jitter::UpTo(jitter) };
    let loss = match field.get_u32() {
        0 => Loss::None,
        millionths => Loss::Bernoulli(Share::from_millionths(millionths)),
    };
    let rate = Some(field.get_u64()).filter(|&rate| rate > 0);
    Ok(Emulation { delay, jitter, loss, rate })
}

fn emulation_text(field: &[u8]) -> Result<Emulation, HelloError> {
    let fail = |why: String| HelloError::Emulation(why);
    let text = std::str::from_utf8(field).map_err(|error| fail(error.to_string()))?;
    let spec: LineSpec = text.parse().map_err(|error: wan::SpecError| fail(error.to_string()))?;
    Emulation::try_from(spec).map_err(fail)
}

/// The range of a jitter that is uniform from zero.
fn plain_jitter(jitter: Jitter) -> Option<Duration> {
    match jitter {
        Jitter::None => Some(Duration::ZERO),
        Jitter::UpTo(most) => Some(most),
        _ => None,
    }
}

/// The rate of memoryless losses, if it is a whole number of parts per million.
fn plain_loss(loss: &Loss) -> Option<u32> {
    match loss {
        Loss::None => Some(0),
        Loss::Bernoulli(share) => {
            Some(share.billionths()).filter(|parts| parts.is_multiple_of(1_000)).map(|parts| parts / 1_000)
        }
        _ => None,
    }
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
                jitter: Jitter::UpTo(Duration::from_micros(3)),
                loss: Loss::Bernoulli(Share::from_millionths(5)),
                rate: Some(10_000_000),
            },
        };
        let text = "delay=35s123ms456us789ns,jitter=gamma:35s123ms456us789ns:100.123,\
                    loss=ge:p=12.3456789%:r=12.3456789%:good=12.3456789%:bad=12.3456789%:per=ms,rate=123456789123bit/s";
        let spec: LineSpec = text.parse().unwrap();
        let longest = Hello { emulate: spec.try_into().unwrap(), ..full };
        for hello in [Hello::default(), full.clone(), longest] {
            assert!(hello.encode().len() <= HELLO_BYTES_MAX);
            assert_eq!(Hello::decode(hello.encode().freeze()), Ok(hello));
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
        assert!(decode(b"MRTL\x01\x03\x01x").contains("`x` is no option of a line"));
        assert!(decode(b"MRTL\x01\x03\x01\xff").contains("utf-8"));
        assert!(decode(b"MRTL\x01\x03\x03cut").contains("it has cut=on, which links do not emulate"));
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
