//! Encoding of records in files and of messages. Numbers are little-endian.

use std::collections::{BTreeMap, BTreeSet};

use base::{NodeKey, ReadError, Writer};
use bytes::{BufMut, Bytes, BytesMut};

use super::message::Message;
use super::record::{Ballot, Contact, Head, Proposal, Record};
use crate::Configuration;
use crate::wire::{MessageError, Reader, TERM_MAX};

/// The first octets of a file with a record.
const MAGIC: &[u8; 8] = b"MESHRTI\x01";
/// The version of the encoding of a record in a file.
const VERSION: u8 = 1;
/// Length of magic, version and length of the body, in octets.
const HEAD_BYTES: usize = 8 + 1 + 4;
/// The longest body, in octets: far more than the limits of names, URLs and voters allow.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Largest number of voters in a message: far more than a group has.
const VOTERS_MAX: usize = 4_096;

/// A file that holds no record that this release can read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file is something else.
    #[error("at offset 0 stands {got:02x?}, not {MAGIC:02x?}: it was not written by MeshRTI")]
    Foreign {
        /// The first octets, up to eight.
        got: Vec<u8>,
    },
    /// Another release wrote it.
    #[error("at offset 8 stands version {got}, and this release reads version {VERSION}")]
    Version {
        /// The value found.
        got: u8,
    },
    /// The file does not have the length that it claims.
    #[error("at offset 9 stands a length that makes {want} octets of the whole, and there are {got}")]
    Length {
        /// The length that the file claims.
        want: usize,
        /// The length that it has.
        got: usize,
    },
    /// The content does not match its checksum.
    #[error("at offset {at} stands the checksum {got:08x}, and the content has {want:08x}")]
    Checksum {
        /// Offset of the checksum.
        at: usize,
        /// The value found.
        got: u32,
        /// The checksum of the content.
        want: u32,
    },
    /// The content is intact but invalid: it was written as it is.
    #[error("in the content, which begins at offset {HEAD_BYTES}: {0}")]
    Content(MessageError),
}

impl Record {
    /// Encodes the record as a file: magic, version, length, content, CRC-32 of all before it.
    pub fn to_image(&self) -> Bytes {
        let mut body = BytesMut::new();
        put_head(&mut body, &self.head);
        put_keys(&mut body, &self.keys);
        put_ballot(&mut body, self.promised);
        put_accepted(&mut body, self.accepted.as_ref());
        let mut out = BytesMut::with_capacity(HEAD_BYTES + body.len() + 4);
        out.put_slice(MAGIC);
        out.put_u8(VERSION);
        out.count_le(body.len());
        out.put_slice(&body);
        let sum = crc32(&out);
        out.put_u32_le(sum);
        out.freeze()
    }

    /// Decodes a file.
    ///
    /// # Errors
    /// The file is not a record, was damaged, or was written by another release.
    pub fn from_image(image: &[u8]) -> Result<Self, ImageError> {
        if !image.starts_with(MAGIC) {
            return Err(ImageError::Foreign { got: image.iter().copied().take(MAGIC.len()).collect() });
        }
        let mut reader = Reader::new(Bytes::copy_from_slice(&image[MAGIC.len()..]));
        let got = reader.u8("version").unwrap_or(0);
        if got != VERSION {
            return Err(ImageError::Version { got });
        }
        // Checked before the checksum, so that a file that is cut short is reported as such.
        let len = reader.u32("length").map_or(BODY_BYTES_MAX, |len| len as usize);
        let want = HEAD_BYTES.saturating_add(len).saturating_add(4);
        if len > BODY_BYTES_MAX || want != image.len() {
            return Err(ImageError::Length { want, got: image.len() });
        }
        let (content, sum) = image.split_at(HEAD_BYTES + len);
        let got = sum.iter().rev().fold(0, |sum, octet| sum << 8 | u32::from(*octet));
        let want = crc32(content);
        if got != want {
            return Err(ImageError::Checksum { at: content.len(), got, want });
        }
        read_record(Bytes::copy_from_slice(&content[HEAD_BYTES..])).map_err(ImageError::Content)
    }
}

fn read_record(body: Bytes) -> Result<Record, MessageError> {
    let mut reader = Reader::new(body);
    let head = read_head(&mut reader)?;
    let keys = read_keys(&mut reader)?;
    let promised = read_ballot(&mut reader)?;
    let accepted = read_accepted(&mut reader)?;
    Ok(reader.end(Record { head, keys, promised, accepted })?)
}

/// CRC-32 as in Ethernet and zip (polynomial 0x04c11db7, reflected), bit by bit: a record is short,
/// and seldom written.
fn crc32(octets: &[u8]) -> u32 {
    !octets.iter().fold(!0, |sum, octet| {
        (0..8).fold(sum ^ u32::from(*octet), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

impl Message {
    /// Encodes the message.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::Standing { head, keys, contact } => {
                out.put_u8(1);
                put_head(&mut out, head);
                put_keys(&mut out, keys);
                put_contact(&mut out, contact);
            }
            Self::Prepare { head, ballot } => {
                out.put_u8(2);
                put_head(&mut out, head);
                put_ballot(&mut out, *ballot);
            }
            Self::Promise { ballot, keys, contact, accepted } => {
                out.put_u8(3);
                put_ballot(&mut out, *ballot);
                put_keys(&mut out, keys);
                put_contact(&mut out, contact);
                put_accepted(&mut out, accepted.as_ref());
            }
            Self::Outbid { promised } => {
                out.put_u8(4);
                put_ballot(&mut out, *promised);
            }
            Self::Accept { head, ballot, proposal } => {
                out.put_u8(5);
                put_head(&mut out, head);
                put_ballot(&mut out, *ballot);
                put_proposal(&mut out, proposal);
            }
            Self::Accepted { ballot, keys } => {
                out.put_u8(6);
                put_ballot(&mut out, *ballot);
                put_keys(&mut out, keys);
            }
            Self::Formed { proposal } => {
                out.put_u8(7);
                put_proposal(&mut out, proposal);
            }
        }
        out.freeze()
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// The octets are not a message of a node.
    pub fn decode(octets: Bytes) -> Result<Self, MessageError> {
        let mut reader = Reader::new(octets);
        let r = &mut reader;
        let message = match r.u8("kind of a message")? {
            1 => Self::Standing { head: read_head(r)?, keys: read_keys(r)?, contact: read_contact(r)? },
            2 => Self::Prepare { head: read_head(r)?, ballot: read_ballot(r)? },
            3 => Self::Promise {
                ballot: read_ballot(r)?,
                keys: read_keys(r)?,
                contact: read_contact(r)?,
                accepted: read_accepted(r)?,
            },
            4 => Self::Outbid { promised: read_ballot(r)? },
            5 => Self::Accept { head: read_head(r)?, ballot: read_ballot(r)?, proposal: read_proposal(r)? },
            6 => Self::Accepted { ballot: read_ballot(r)?, keys: read_keys(r)? },
            7 => Self::Formed { proposal: read_proposal(r)? },
            value => return Err(ReadError::Unknown { item: "kind of a message", at: 0, value }.into()),
        };
        Ok(reader.end(message)?)
    }
}

fn put_keys<'a>(
    out: &mut BytesMut,
    keys: impl IntoIterator<Item = &'a NodeKey, IntoIter: ExactSizeIterator>,
) {
    let keys = keys.into_iter();
    out.count_le(keys.len());
    keys.for_each(|key| out.put_u64_le(key.0));
}

fn read_key(r: &mut Reader) -> Result<NodeKey, ReadError> {
    r.number("node key", 1, u64::MAX).map(NodeKey)
}

fn read_count(r: &mut Reader, item: &'static str, each: usize) -> Result<usize, ReadError> {
    let at = r.at();
    let count = r.count(item, each)?;
    if count > VOTERS_MAX {
        let (value, most) = (count as u64, VOTERS_MAX as u64);
        return Err(ReadError::Range { item, at, value, least: 0, most });
    }
    Ok(count)
}

fn read_keys(r: &mut Reader) -> Result<BTreeSet<NodeKey>, ReadError> {
    (0..read_count(r, "number of keys", 8)?).map(|_| read_key(r)).collect()
}

fn put_contact(out: &mut BytesMut, contact: &Contact) {
    out.octets_le(contact.name.as_bytes());
    out.count_le(contact.urls.len());
    contact.urls.iter().for_each(|url| out.octets_le(url.as_bytes()));
}

fn read_text(r: &mut Reader, item: &'static str) -> Result<String, MessageError> {
    let octets = r.octets(item)?;
    let wrong = |_| MessageError::Impossible { why: "a text that is not UTF-8", value: octets.len() as u64 };
    String::from_utf8(octets.to_vec()).map_err(wrong)
}

fn read_contact(r: &mut Reader) -> Result<Contact, MessageError> {
    let name = read_text(r, "name of a node")?;
    let count = read_count(r, "number of URLs", 4)?;
    let urls = (0..count).map(|_| read_text(r, "URL of a node")).collect::<Result<_, _>>()?;
    Ok(Contact { name, urls })
}

fn put_contacts(out: &mut BytesMut, contacts: &BTreeMap<NodeKey, Contact>) {
    out.count_le(contacts.len());
    for (key, contact) in contacts {
        out.put_u64_le(key.0);
        put_contact(out, contact);
    }
}

fn read_contacts(r: &mut Reader) -> Result<BTreeMap<NodeKey, Contact>, MessageError> {
    let count = read_count(r, "number of contacts", 16)?;
    (0..count).map(|_| Ok((read_key(r)?, read_contact(r)?))).collect()
}

fn put_head(out: &mut BytesMut, head: &Head) {
    out.put_u64_le(head.network);
    out.put_u64_le(head.configuration.term);
    out.put_u64_le(head.configuration.index);
    put_keys(out, &head.configuration.voters);
    put_keys(out, &head.configuration.outgoing);
    put_contacts(out, &head.contacts);
}

fn read_head(r: &mut Reader) -> Result<Head, MessageError> {
    let network = r.number("number of a network", 1, u64::MAX)?;
    let term = r.number("term", 1, TERM_MAX)?;
    let index = r.number("index", 1, u64::MAX)?;
    let (voters, outgoing) = (read_keys(r)?, read_keys(r)?);
    let contacts = read_contacts(r)?;
    if voters.is_empty() {
        return Err(MessageError::Impossible { why: "a network without voters", value: network });
    }
    Ok(Head { network, configuration: Configuration { term, index, voters, outgoing }, contacts })
}

fn put_ballot(out: &mut BytesMut, ballot: Ballot) {
    out.put_u64_le(ballot.round);
    out.put_u64_le(ballot.candidate.0);
}

fn read_ballot(r: &mut Reader) -> Result<Ballot, MessageError> {
    let round = r.number("round", 0, u64::MAX - 1)?;
    Ok(Ballot { round, candidate: NodeKey(r.number("node key", 0, u64::MAX)?) })
}

fn put_proposal(out: &mut BytesMut, proposal: &Proposal) {
    out.put_u64_le(proposal.network);
    out.put_u64_le(proposal.replaces);
    out.put_u64_le(proposal.creator.0);
    put_contacts(out, &proposal.voters);
}

fn read_proposal(r: &mut Reader) -> Result<Proposal, MessageError> {
    let network = r.number("number of a network", 1, u64::MAX)?;
    let replaces = r.number("number of a network", 1, u64::MAX)?;
    let creator = read_key(r)?;
    let voters = read_contacts(r)?;
    if voters.is_empty() {
        return Err(MessageError::Impossible { why: "a network without voters", value: network });
    }
    Ok(Proposal { network, replaces, creator, voters })
}

fn put_accepted(out: &mut BytesMut, accepted: Option<&(Ballot, Proposal)>) {
    out.put_u8(u8::from(accepted.is_some()));
    if let Some((ballot, proposal)) = accepted {
        put_ballot(out, *ballot);
        put_proposal(out, proposal);
    }
}

fn read_accepted(r: &mut Reader) -> Result<Option<(Ballot, Proposal)>, MessageError> {
    Ok(match r.flag("whether there is a proposal")? {
        true => Some((read_ballot(r)?, read_proposal(r)?)),
        false => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contacts(keys: &[u64]) -> BTreeMap<NodeKey, Contact> {
        let contact = |key| Contact { name: format!("N{key}"), urls: vec![format!("tcp://n{key}:1")] };
        keys.iter().map(|key| (NodeKey(*key), contact(*key))).collect()
    }

    fn record() -> Record {
        let keys = |keys: &[u64]| keys.iter().copied().map(NodeKey).collect::<BTreeSet<_>>();
        let configuration =
            Configuration { term: 3, index: 70, voters: keys(&[1, 2, 3]), outgoing: keys(&[1]) };
        let head = Head { network: 77, configuration, contacts: contacts(&[1, 2, 3]) };
        let ballot = Ballot { round: 4, candidate: NodeKey(9) };
        let proposal = Proposal { network: 78, replaces: 77, creator: NodeKey(9), voters: contacts(&[9]) };
        Record { head, keys: keys(&[1, 9]), promised: ballot, accepted: Some((ballot, proposal)) }
    }

    #[test]
    fn a_record_survives_its_file() {
        let record = record();
        assert_eq!(Record::from_image(&record.to_image()), Ok(record));
    }

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn every_damage_is_noticed_and_located() {
        let image = record().to_image();
        for at in 0..image.len() {
            let mut damaged = image.to_vec();
            damaged[at] ^= 0x10;
            assert!(Record::from_image(&damaged).is_err(), "octet {at}");
            assert!(Record::from_image(&image[..at]).is_err(), "{at} octets");
        }
        let error = |octets: &[u8]| Record::from_image(octets).expect_err("damaged").to_string();
        assert!(error(b"[network]").contains("at offset 0"));
        assert!(error(b"").contains("at offset 0"));
        let mut newer = image.to_vec();
        newer[8] = 7;
        assert_eq!(Record::from_image(&newer), Err(ImageError::Version { got: 7 }));
        assert!(error(&image[..image.len() - 1]).contains("at offset 9"));
        let mut flipped = image.to_vec();
        flipped[20] ^= 1;
        assert!(error(&flipped).contains(&format!("at offset {}", image.len() - 4)));
    }

    #[test]
    fn messages_are_understood_and_nonsense_is_not() {
        let Record { head, keys, promised, accepted } = record();
        let (ballot, proposal) = accepted.clone().expect("there is one");
        let contact = Contact { name: "Köln".to_owned(), urls: Vec::new() };
        for message in [
            Message::Standing { head: head.clone(), keys: keys.clone(), contact: contact.clone() },
            Message::Prepare { head: head.clone(), ballot },
            Message::Promise { ballot, keys: keys.clone(), contact, accepted },
            Message::Outbid { promised },
            Message::Accept { head, ballot, proposal: proposal.clone() },
            Message::Accepted { ballot, keys },
            Message::Formed { proposal },
        ] {
            let octets = message.encode();
            assert_eq!(Message::decode(octets.clone()), Ok(message));
            for cut in 0..octets.len() {
                assert!(Message::decode(octets.slice(..cut)).is_err());
            }
        }
        assert!(Message::decode(Bytes::from_static(b"\x09")).is_err());
    }
}
