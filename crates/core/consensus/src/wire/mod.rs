//! Messages between members: a version, a kind, the group, and the fields of the kind,
//! little-endian.
//!
//! The library's own serialization is not used between nodes: its messages can hold invalid values
//! that the library answers with a panic. Such messages cannot be expressed in this form, or are
//! refused when they are read. Values that are invalid only for the state of the receiver are
//! checked in `guard.rs`.

mod raft;

use base::{LittleEndian, NodeKey, ReadError, Writer};
use bytes::{BufMut, Bytes, BytesMut};

pub(crate) use self::raft::{RaftMessage, changes_of, is_wired, proposal_data, proposal_of};

pub(crate) type Reader = base::Reader<LittleEndian>;

/// The version of the messages between members.
pub const VERSION: u8 = 1;
/// The highest term: one election per nanosecond reaches it after days, so a higher one is invalid.
pub(crate) const TERM_MAX: u64 = 1 << 48;
/// The highest index and serial.
pub(crate) const INDEX_MAX: u64 = 1 << 60;
/// Largest number of keys in one request.
pub(crate) const REQUESTS_MAX: usize = 1_024;
const HEAD_BYTES: usize = 10;

/// A message that no member of this group would have sent. It changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Another version of the protocol.
    #[error("consensus message of version {got}, this node speaks {VERSION}")]
    Version {
        /// The peer's version.
        got: u8,
    },
    /// The message belongs to another group: its federation was started elsewhere.
    #[error("consensus message of the group of {got}, this node belongs to the group of {mine}")]
    Group {
        /// The sender's group, named by the node that started it.
        got: NodeKey,
        /// This node's group.
        mine: NodeKey,
    },
    /// The claimed sender is this node or no node.
    #[error("consensus message from {from}, which cannot be a peer")]
    Sender {
        /// The claimed sender.
        from: NodeKey,
    },
    /// A field cannot be read.
    #[error(transparent)]
    Field(#[from] ReadError),
    /// The fields are well-formed, but contradict each other or facts that this node knows.
    #[error("impossible message: {why} ({value})")]
    Impossible {
        /// The contradiction.
        why: &'static str,
        /// The impossible value.
        value: u64,
    },
}

/// A request of a member to the leader about a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberRequest {
    Add,
    Remove,
}

/// One message between two members.
#[derive(Debug)]
pub(crate) enum Packet {
    /// A message of the Raft algorithm.
    Raft(RaftMessage),
    /// To the leader: proposals of the sender, the first with serial `first`.
    Propose { first: u64, bodies: Vec<Bytes> },
    /// From the leader of `term`: the sender's proposals below `next` stand in its log.
    Accepted { term: u64, next: u64 },
    /// To the leader: nodes to be added or removed.
    Requests(Vec<(MemberRequest, NodeKey)>),
    /// From a member that has applied the log up to `applied` and hears no leader: am I still a
    /// member?
    Probe { applied: u64 },
    /// To a node that is not a member and will not be one again.
    Removed,
}

/// Writes a packet of `group`.
pub(crate) fn encode(group: NodeKey, packet: &Packet) -> Bytes {
    let mut out = BytesMut::with_capacity(HEAD_BYTES + 64 + body_bytes(packet));
    out.put_u8(VERSION);
    out.put_u8(match packet {
        Packet::Raft(_) => 1,
        Packet::Propose { .. } => 2,
        Packet::Accepted { .. } => 3,
        Packet::Requests(_) => 4,
        Packet::Probe { .. } => 5,
        Packet::Removed => 6,
    });
    out.put_u64_le(group.0);
    match packet {
        Packet::Raft(message) => raft::encode(message, &mut out),
        Packet::Propose { first, bodies } => {
            out.put_u64_le(*first);
            out.count_le(bodies.len());
            for body in bodies {
                out.octets_le(body);
            }
        }
        Packet::Accepted { term, next } => {
            out.put_u64_le(*term);
            out.put_u64_le(*next);
        }
        Packet::Requests(list) => {
            out.count_le(list.len());
            for (request, key) in list {
                out.put_u8(u8::from(*request == MemberRequest::Remove));
                out.put_u64_le(key.0);
            }
        }
        Packet::Probe { applied } => out.put_u64_le(*applied),
        Packet::Removed => {}
    }
    out.freeze()
}

/// Reads a packet from `from` to `to`. Returns the group it is for, and the packet.
pub(crate) fn decode(from: NodeKey, to: NodeKey, bytes: Bytes) -> Result<(NodeKey, Packet), MessageError> {
    let mut reader = Reader::new(bytes);
    let got = reader.u8("version")?;
    if got != VERSION {
        return Err(MessageError::Version { got });
    }
    let kind = reader.u8("kind")?;
    let group = NodeKey(reader.number("group", 1, u64::MAX)?);
    let packet = match kind {
        1 => Packet::Raft(raft::decode(from, to, &mut reader)?),
        2 => decode_propose(&mut reader)?,
        3 => Packet::Accepted {
            term: reader.number("term", 1, TERM_MAX)?,
            next: reader.number("next serial", 1, INDEX_MAX)?,
        },
        4 => decode_requests(&mut reader)?,
        5 => Packet::Probe { applied: reader.number("applied index", 0, INDEX_MAX)? },
        6 => Packet::Removed,
        value => return Err(ReadError::Unknown { item: "kind", at: 1, value }.into()),
    };
    Ok(reader.end((group, packet))?)
}

fn decode_propose(reader: &mut Reader) -> Result<Packet, MessageError> {
    let first = reader.number("first serial", 1, INDEX_MAX)?;
    let count = reader.count("number of proposals", 4)?;
    let mut bodies = Vec::with_capacity(count.min(1_024));
    for _ in 0..count {
        bodies.push(reader.octets("proposal")?);
    }
    Ok(Packet::Propose { first, bodies })
}

fn decode_requests(reader: &mut Reader) -> Result<Packet, MessageError> {
    let at = reader.at();
    let count = reader.count("number of requests", 9)?;
    if count > REQUESTS_MAX {
        let (value, most) = (count as u64, REQUESTS_MAX as u64);
        return Err(ReadError::Range { item: "number of requests", at, value, least: 0, most }.into());
    }
    let mut list = Vec::with_capacity(count);
    for _ in 0..count {
        let request = if reader.flag("request")? { MemberRequest::Remove } else { MemberRequest::Add };
        list.push((request, NodeKey(reader.number("node key", 1, u64::MAX)?)));
    }
    Ok(Packet::Requests(list))
}

/// Approximate number of bytes of a packet besides its fixed fields.
fn body_bytes(packet: &Packet) -> usize {
    match packet {
        Packet::Raft(message) => raft::body_bytes(message),
        Packet::Propose { bodies, .. } => bodies.iter().map(|body| body.len() + 4).sum(),
        Packet::Requests(list) => list.len() * 9,
        Packet::Accepted { .. } | Packet::Probe { .. } | Packet::Removed => 0,
    }
}
