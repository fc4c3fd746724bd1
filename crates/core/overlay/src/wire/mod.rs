//! Frames: the messages between two overlays over a link.
//!
//! All numbers are big-endian. A text or blob is preceded by its length, u32. The first byte is the
//! type:
//!
//! | type | body |
//! | --- | --- |
//! | 1 greeting | mark u32 ([`MAGIC`]), version u8 ([`VERSION`]), key u64, name, network u64, member u8, quorum size u32, topology u8, redundancy u8, digest u64, clock u64 (ms, 0 unknown), terms |
//! | 2 accept | none |
//! | 3 refusal | version u8, code u8, key u64, the sentence to the end |
//! | 4 ping | token u32, summary of the map u64 |
//! | 5 pong | token u32 |
//! | 6 digest | (key u64, sequence u64) to the end |
//! | 7 entries | [entries](entry) to the end, each as a blob |
//! | 8 unicast | urgent u8, kind u8, hops left u8, origin u64, destination u64, id u32, total u32, offset u32, part to the end |
//! | 9 path | mine u32, seen u32, epoch of the tunnel that the path moves from u32 (0: none) |
//!
//! Kinds of unicast: 0 a body of the application, 1 a [message of a tunnel](tunnel).

pub(crate) mod entry;
pub(crate) mod tunnel;

use crate::config::{
    FRAME_BYTES_MAX, NAME_BYTES_MAX, NODES_MAX, REFUSAL_BYTES_MAX, TERMS_BYTES_MAX, TopologyKind,
};
use crate::error::FrameError;
use crate::identity::NetworkIdentity;
use crate::map::Entry;
use base::{BigEndian, NodeKey, ReadError, Writer};
use bytes::{BufMut, Bytes, BytesMut};

type Reader = base::Reader<BigEndian>;

/// The mark at the start of every greeting: "MRTI".
pub const MAGIC: u32 = 0x4d52_5449;
/// Version of the protocol between nodes.
pub const VERSION: u8 = 9;
/// Bytes of a unicast before its part.
pub(crate) const UNICAST_HEAD_BYTES: usize = 32;
const _: () = assert!(NODES_MAX * 16 < FRAME_BYTES_MAX, "a digest of the largest map fits a frame");

const GREETING: u8 = 1;
const ACCEPT: u8 = 2;
const REFUSAL: u8 = 3;
const PING: u8 = 4;
const PONG: u8 = 5;
const DIGEST: u8 = 6;
pub(crate) const ENTRIES: u8 = 7;
const UNICAST: u8 = 8;
const PATH: u8 = 9;

/// The description of the node at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) key: NodeKey,
    pub(crate) name: String,
    pub(crate) identity: NetworkIdentity,
    /// The node is a member of that network and not only joining it.
    pub(crate) member: bool,
    pub(crate) topology: TopologyKind,
    pub(crate) redundancy: bool,
    pub(crate) digest: u64,
    pub(crate) clock_millis: u64,
    pub(crate) terms: Bytes,
}

/// A part of a message from one node to another one, which need not be a neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) urgent: bool,
    pub(crate) kind: Kind,
    pub(crate) hops_left: u8,
    pub(crate) origin: NodeKey,
    pub(crate) destination: NodeKey,
    pub(crate) id: u32,
    pub(crate) total: u32,
    pub(crate) offset: u32,
    pub(crate) part: Bytes,
}

/// The recipient of the body of a unicast at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Body,
    Tunnel,
}

/// A frame whose lengths have been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Greeting(Greeting),
    Accept,
    Refusal { code: u8, key: NodeKey, text: String },
    Ping { token: u32, summary: u64 },
    Pong(u32),
    Digest(Vec<(NodeKey, u64)>),
    Entries(Vec<Entry>),
    Unicast(Piece),
    Path { mine: u32, seen: u32, tunnel: u32 },
}

/// The contents of a frame, for counters outside the overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried<'a> {
    /// A keep-alive.
    Life,
    /// A part of a unicast of the application: the beginning of the body if it is the first part,
    /// otherwise nothing.
    Body(&'a [u8]),
    /// Anything else: greetings, the map, paths, tunnels.
    Map,
}

/// Classifies a frame, which need not be well-formed.
pub fn carried(frame: &[u8]) -> Carried<'_> {
    const KIND_AT: usize = 2;
    let first_part = frame.get(UNICAST_HEAD_BYTES - 4..UNICAST_HEAD_BYTES) == Some(&[0; 4]);
    match frame.first() {
        Some(&(PING | PONG)) => Carried::Life,
        Some(&UNICAST) if frame.get(KIND_AT) == Some(&0) && first_part => {
            Carried::Body(&frame[UNICAST_HEAD_BYTES..])
        }
        Some(&UNICAST) if frame.get(KIND_AT) == Some(&0) => Carried::Body(&[]),
        _ => Carried::Map,
    }
}

impl Frame {
    /// The name of the frame in errors.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Frame::Greeting(_) => "a greeting",
            Frame::Accept => "an acceptance",
            Frame::Refusal { .. } => "a refusal",
            Frame::Ping { .. } | Frame::Pong(_) => "a sign of life",
            Frame::Digest(_) => "a digest",
            Frame::Entries(_) => "an entry of the map",
            Frame::Unicast(_) => "a unicast",
            Frame::Path { .. } => "a change of a path",
        }
    }

    pub(crate) fn decode(frame: Bytes) -> Result<Self, FrameError> {
        if frame.len() > FRAME_BYTES_MAX {
            let (len, limit) = (frame.len(), FRAME_BYTES_MAX);
            return Err(ReadError::TooLong { item: "a frame", len, limit }.into());
        }
        if frame.is_empty() {
            return Err(FrameError::Empty);
        }
        let mut r = Reader::new(frame);
        match r.u8("type")? {
            GREETING => greeting(r).map(Frame::Greeting),
            ACCEPT => Ok(r.end(Frame::Accept)?),
            REFUSAL => refusal(r),
            PING => {
                let (token, summary) = (r.u32("token")?, r.u64("summary")?);
                Ok(r.end(Frame::Ping { token, summary })?)
            }
            PONG => {
                let token = r.u32("token")?;
                Ok(r.end(Frame::Pong(token))?)
            }
            DIGEST => digest(r),
            ENTRIES => entries(r),
            UNICAST => unicast(r).map(Frame::Unicast),
            PATH => {
                let (mine, seen) = (r.u32("path")?, r.u32("path")?);
                let tunnel = r.u32("epoch of the tunnel")?;
                Ok(r.end(Frame::Path { mine, seen, tunnel })?)
            }
            got => Err(FrameError::Type { got }),
        }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(64);
        match self {
            Frame::Greeting(greeting) => put_greeting(&mut out, greeting),
            Frame::Accept => out.put_u8(ACCEPT),
            Frame::Refusal { code, key, text } => {
                out.put_slice(&[REFUSAL, VERSION, *code]);
                out.put_u64(key.0);
                let mut end = text.len().min(REFUSAL_BYTES_MAX);
                // Half a character would make the whole sentence unreadable at the other end.
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                out.put_slice(&text.as_bytes()[..end]);
            }
            Frame::Ping { token, summary } => {
                out.put_u8(PING);
                out.put_u32(*token);
                out.put_u64(*summary);
            }
            Frame::Pong(token) => {
                out.put_u8(PONG);
                out.put_u32(*token);
            }
            Frame::Digest(known) => {
                out.put_u8(DIGEST);
                for (key, sequence) in known {
                    out.put_u64(key.0);
                    out.put_u64(*sequence);
                }
            }
            Frame::Entries(entries) => {
                out.put_u8(ENTRIES);
                entries.iter().for_each(|entry| entry::put(&mut out, entry));
            }
            Frame::Unicast(piece) => put_unicast(&mut out, piece),
            Frame::Path { mine, seen, tunnel } => {
                out.put_u8(PATH);
                out.put_u32(*mine);
                out.put_u32(*seen);
                out.put_u32(*tunnel);
            }
        }
        out.freeze()
    }
}

fn key(r: &mut Reader, item: &'static str) -> Result<NodeKey, ReadError> {
    r.u64(item).map(NodeKey)
}

/// A name: a printable text.
fn name(r: &mut Reader) -> Result<String, ReadError> {
    let name = r.text_within("node name", NAME_BYTES_MAX)?;
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(r.wrong("node name", "empty or with control characters"));
    }
    Ok(name)
}

fn greeting(mut r: Reader) -> Result<Greeting, FrameError> {
    let magic = r.u32("mark")?;
    if magic != MAGIC {
        return Err(FrameError::Magic { got: magic });
    }
    let version = r.u8("version")?;
    if version != VERSION {
        return Err(FrameError::Version { got: version });
    }
    let (key, name) = (key(&mut r, "key")?, name(&mut r)?);
    let (network, member, quorum_size) = (r.u64("network")?, r.flag("membership")?, r.u32("quorum size")?);
    let identity = NetworkIdentity { network, quorum_size };
    let topology = TopologyKind::from_code(r.u8("topology")?)
        .ok_or_else(|| r.wrong("topology", "there is no such topology"))?;
    let (redundancy, digest, clock_millis) = (r.flag("redundancy")?, r.u64("digest")?, r.u64("clock")?);
    let terms = r.octets_within("terms", TERMS_BYTES_MAX)?;
    let greeting =
        Greeting { key, name, identity, member, topology, redundancy, digest, clock_millis, terms };
    Ok(r.end(greeting)?)
}

fn put_greeting(out: &mut BytesMut, g: &Greeting) {
    out.put_u8(GREETING);
    out.put_u32(MAGIC);
    out.put_u8(VERSION);
    out.put_u64(g.key.0);
    out.octets_be(g.name.as_bytes());
    out.put_u64(g.identity.network);
    out.put_u8(u8::from(g.member));
    out.put_u32(g.identity.quorum_size);
    out.put_slice(&[g.topology.code(), u8::from(g.redundancy)]);
    out.put_u64(g.digest);
    out.put_u64(g.clock_millis);
    out.octets_be(&g.terms);
}

/// Decodes a refusal of any version: a node of another version must learn why it is refused.
fn refusal(mut r: Reader) -> Result<Frame, FrameError> {
    // Any version is read: a refusal is how nodes of two releases learn of each other.
    let _version = r.u8("version")?;
    let (code, key) = (r.u8("code")?, key(&mut r, "key")?);
    let text = r.rest();
    let text = String::from_utf8_lossy(&text[..text.len().min(REFUSAL_BYTES_MAX)]);
    let text = text.chars().filter(|c| !c.is_control()).collect();
    Ok(Frame::Refusal { code, key, text })
}

fn digest(mut r: Reader) -> Result<Frame, FrameError> {
    let mut known = Vec::new();
    while !r.is_empty() {
        if known.len() == NODES_MAX {
            let (len, limit) = (NODES_MAX + 1, NODES_MAX);
            return Err(ReadError::TooLong { item: "nodes in a digest", len, limit }.into());
        }
        known.push((key(&mut r, "key")?, r.u64("sequence")?));
    }
    Ok(Frame::Digest(known))
}

fn entries(mut r: Reader) -> Result<Frame, FrameError> {
    let mut entries = Vec::new();
    while !r.is_empty() {
        let body = r.octets_within("entry", FRAME_BYTES_MAX)?;
        let at = r.at() - body.len();
        entries.push(entry::read(Reader::of_part(body, at))?);
    }
    Ok(Frame::Entries(entries))
}

fn unicast(mut r: Reader) -> Result<Piece, FrameError> {
    let urgent = r.flag("urgency")?;
    let kind = match r.u8("kind")? {
        0 => Kind::Body,
        1 => Kind::Tunnel,
        _ => return Err(r.wrong("kind", "there is no such kind of unicast").into()),
    };
    let (hops_left, origin, destination) =
        (r.u8("hops left")?, key(&mut r, "origin")?, key(&mut r, "destination")?);
    let (id, total, offset) = (r.u32("id")?, r.u32("total")?, r.u32("offset")?);
    let at = r.at();
    let part = r.rest();
    if (offset as usize).saturating_add(part.len()) > total as usize {
        return Err(ReadError::Value { item: "part", at, why: "it ends behind the end of the whole" }.into());
    }
    if part.is_empty() && total != 0 {
        return Err(ReadError::Value { item: "part", at, why: "it is empty and the whole is not" }.into());
    }
    Ok(Piece { urgent, kind, hops_left, origin, destination, id, total, offset, part })
}

fn put_unicast(out: &mut BytesMut, piece: &Piece) {
    out.reserve(UNICAST_HEAD_BYTES + piece.part.len());
    let kind = match piece.kind {
        Kind::Body => 0,
        Kind::Tunnel => 1,
    };
    out.put_slice(&[UNICAST, u8::from(piece.urgent), kind, piece.hops_left]);
    out.put_u64(piece.origin.0);
    out.put_u64(piece.destination.0);
    out.put_u32(piece.id);
    out.put_u32(piece.total);
    out.put_u32(piece.offset);
    out.put_slice(&piece.part);
}

#[cfg(test)]
mod tests;
