//! The messages of the Raft algorithm (Ongaro and Ousterhout 2014, figures 2 and 13, with
//! pre-votes): ten kinds, each with the fields it needs.

use std::collections::BTreeSet;

use base::{NodeKey, ReadError, Writer};
use bytes::{BufMut, Bytes, BytesMut};
use protobuf::Message as _;
use raft::eraftpb::{ConfChangeV2, Entry, EntryType, Message, MessageType, Snapshot};

use super::{INDEX_MAX, MessageError, Reader, TERM_MAX};
use crate::change::{self, Change, Role};
use crate::config::MEMBERS_MAX;
use crate::replicated::Replicated;

/// The library's message.
pub(crate) type RaftMessage = Message;

/// The library marks votes that a leader requested with this context (its constant is not public).
const TRANSFER: &[u8] = b"CampaignTransfer";
const KIND: &str = "kind of Raft message";
const PROPOSAL_HEAD: usize = 16;

/// The data of the log entry of a proposal.
pub(crate) fn proposal_data(key: NodeKey, serial: u64, body: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(PROPOSAL_HEAD + body.len());
    data.put_u64_le(key.0);
    data.put_u64_le(serial);
    data.put_slice(body);
    data
}

/// Proposer, serial and body of an entry; `None` for the empty entry of a new leader.
pub(crate) fn proposal_of(data: &Bytes) -> Option<(NodeKey, u64, Bytes)> {
    let (key, rest) = data.split_first_chunk::<8>()?;
    let (serial, _) = rest.split_first_chunk::<8>()?;
    Some((NodeKey(u64::from_le_bytes(*key)), u64::from_le_bytes(*serial), data.slice(PROPOSAL_HEAD..)))
}

/// The membership change in an entry, if it is one; an empty change ends a joint step.
pub(crate) fn changes_of(entry: &Entry) -> Option<Vec<Change>> {
    if entry.get_entry_type() != EntryType::EntryConfChangeV2 {
        return None;
    }
    let mut step = ConfChangeV2::default();
    step.merge_from_bytes(entry.get_data()).ok()?;
    change::from_raft(&step)
}

/// Whether the vote is requested because the leader wants to hand over.
fn is_transfer(message: &Message) -> bool {
    message.get_context() == TRANSFER
}

fn code(kind: MessageType) -> Option<u8> {
    Some(match kind {
        MessageType::MsgAppend => 1,
        MessageType::MsgAppendResponse => 2,
        MessageType::MsgRequestVote => 3,
        MessageType::MsgRequestVoteResponse => 4,
        MessageType::MsgRequestPreVote => 5,
        MessageType::MsgRequestPreVoteResponse => 6,
        MessageType::MsgSnapshot => 7,
        MessageType::MsgHeartbeat => 8,
        MessageType::MsgHeartbeatResponse => 9,
        MessageType::MsgTimeoutNow => 10,
        _ => return None,
    })
}

fn kind_of(code: u8) -> Option<MessageType> {
    Some(match code {
        1 => MessageType::MsgAppend,
        2 => MessageType::MsgAppendResponse,
        3 => MessageType::MsgRequestVote,
        4 => MessageType::MsgRequestVoteResponse,
        5 => MessageType::MsgRequestPreVote,
        6 => MessageType::MsgRequestPreVoteResponse,
        7 => MessageType::MsgSnapshot,
        8 => MessageType::MsgHeartbeat,
        9 => MessageType::MsgHeartbeatResponse,
        10 => MessageType::MsgTimeoutNow,
        _ => return None,
    })
}

/// Whether a message is one of the ten. The library sends others only for features that are not
/// used here.
pub(crate) fn is_wired(message: &Message) -> bool {
    code(message.get_msg_type()).is_some()
}

pub(super) fn encode(m: &Message, out: &mut BytesMut) {
    out.put_u8(code(m.get_msg_type()).expect("filtered by is_wired"));
    out.put_u64_le(m.term);
    match m.get_msg_type() {
        MessageType::MsgAppend => {
            put_numbers(out, &[m.log_term, m.index, m.commit]);
            out.count_le(m.get_entries().len());
            m.get_entries().iter().for_each(|entry| put_entry(out, entry));
        }
        MessageType::MsgAppendResponse => {
            put_numbers(out, &[m.index, m.commit, m.reject_hint, m.log_term]);
            out.put_u8(u8::from(m.reject));
        }
        MessageType::MsgRequestVote | MessageType::MsgRequestPreVote => {
            put_numbers(out, &[m.index, m.log_term, m.commit, m.commit_term]);
            out.put_u8(u8::from(is_transfer(m)));
        }
        MessageType::MsgRequestVoteResponse | MessageType::MsgRequestPreVoteResponse => {
            put_numbers(out, &[m.commit, m.commit_term]);
            out.put_u8(u8::from(m.reject));
        }
        MessageType::MsgSnapshot => {
            let meta = m.get_snapshot().get_metadata();
            put_numbers(out, &[meta.index, meta.term]);
            for keys in [meta.get_conf_state().get_voters(), meta.get_conf_state().get_learners()] {
                out.count_le(keys.len());
                put_numbers(out, keys);
            }
            out.put_slice(m.get_snapshot().get_data());
        }
        MessageType::MsgHeartbeat | MessageType::MsgHeartbeatResponse => out.put_u64_le(m.commit),
        _ => {}
    }
}

fn put_numbers(out: &mut BytesMut, numbers: &[u64]) {
    numbers.iter().for_each(|number| out.put_u64_le(*number));
}

fn put_entry(out: &mut BytesMut, entry: &Entry) {
    out.put_u64_le(entry.term);
    let Some(changes) = changes_of(entry) else {
        out.put_u8(0);
        return out.octets_le(entry.get_data());
    };
    out.put_u8(1);
    out.count_le(changes.len());
    for change in changes {
        out.put_u8(match change {
            Change::Set(_, Role::Learner) => 1,
            Change::Set(_, Role::Voter) => 2,
            Change::Remove(_) => 3,
        });
        out.put_u64_le(change.key().0);
    }
}

pub(super) fn decode(from: NodeKey, to: NodeKey, r: &mut Reader) -> Result<Message, MessageError> {
    let at = r.at();
    let value = r.u8(KIND)?;
    let kind = kind_of(value).ok_or(ReadError::Unknown { item: KIND, at, value })?;
    let mut m = Message::default();
    m.set_msg_type(kind);
    (m.from, m.to) = (from.0, to.0);
    m.term = r.number("term", 1, TERM_MAX)?;
    match kind {
        MessageType::MsgAppend => decode_append(&mut m, r)?,
        MessageType::MsgAppendResponse => {
            m.index = index(r, "index")?;
            m.commit = index(r, "commit index")?;
            m.reject_hint = index(r, "hint")?;
            m.log_term = r.number("log term", 0, m.term)?;
            m.reject = r.flag("rejection")?;
        }
        MessageType::MsgRequestVote | MessageType::MsgRequestPreVote => {
            m.index = index(r, "index")?;
            m.log_term = r.number("log term", 0, m.term)?;
            m.commit = index(r, "commit index")?;
            m.commit_term = r.number("commit term", 0, m.term)?;
            if r.flag("transfer")? {
                m.context = Bytes::from_static(TRANSFER);
            }
        }
        MessageType::MsgRequestVoteResponse | MessageType::MsgRequestPreVoteResponse => {
            m.commit = index(r, "commit index")?;
            m.commit_term = r.number("commit term", 0, m.term)?;
            m.reject = r.flag("rejection")?;
        }
        MessageType::MsgSnapshot => decode_snapshot(&mut m, r)?,
        MessageType::MsgHeartbeat | MessageType::MsgHeartbeatResponse => {
            m.commit = index(r, "commit index")?;
        }
        _ => {}
    }
    Ok(m)
}

fn index(r: &mut Reader, item: &'static str) -> Result<u64, ReadError> {
    r.number(item, 0, INDEX_MAX)
}

fn decode_append(m: &mut Message, r: &mut Reader) -> Result<(), MessageError> {
    m.log_term = r.number("log term", 0, m.term)?;
    m.index = index(r, "index")?;
    m.commit = index(r, "commit index")?;
    let count = r.count("number of entries", 13)?;
    // The sender may claim any count, so we reserve memory for one usual message at most.
    let mut entries = Vec::with_capacity(count.min(4_096));
    let mut term = m.log_term.max(1);
    for i in 1..=count as u64 {
        // Terms never fall along a log, and no entry has a later term than the leader that sends
        // it.
        term = r.number("term of an entry", term, m.term)?;
        let mut entry = decode_entry(r)?;
        (entry.term, entry.index) = (term, m.index + i);
        entries.push(entry);
    }
    m.set_entries(entries.into());
    Ok(())
}

fn decode_entry(r: &mut Reader) -> Result<Entry, MessageError> {
    let mut entry = Entry::default();
    let at = r.at();
    let kind = r.u8("kind of entry")?;
    if kind == 0 {
        entry.data = r.octets("entry")?;
        let sound = match proposal_of(&entry.data) {
            Some((key, serial, _)) => key.0 != 0 && (1..=INDEX_MAX).contains(&serial),
            // A new leader commits an empty entry, to commit those of earlier terms (Ongaro 2014,
            // 3.6.2).
            None => entry.data.is_empty(),
        };
        let value = entry.data.len() as u64;
        return if sound {
            Ok(entry)
        } else {
            Err(MessageError::Impossible { why: "entry of nobody", value })
        };
    }
    if kind != 1 {
        return Err(ReadError::Unknown { item: "kind of entry", at, value: kind }.into());
    }
    let changes = decode_changes(r)?;
    let data = change::to_raft(&changes).write_to_bytes();
    entry.set_entry_type(EntryType::EntryConfChangeV2);
    entry.data = data.expect("a change has no required fields to miss").into();
    Ok(entry)
}

fn decode_changes(r: &mut Reader) -> Result<Vec<Change>, MessageError> {
    let count = r.count("number of changes", 9)?;
    let mut changes = Vec::new();
    let mut keys = BTreeSet::new();
    for _ in 0..count {
        let at = r.at();
        let kind = r.u8("kind of change")?;
        let key = NodeKey(r.number("node key", 1, u64::MAX)?);
        changes.push(match kind {
            1 => Change::Set(key, Role::Learner),
            2 => Change::Set(key, Role::Voter),
            3 => Change::Remove(key),
            value => return Err(ReadError::Unknown { item: "kind of change", at, value }.into()),
        });
        if !keys.insert(key) || keys.len() > MEMBERS_MAX {
            return Err(MessageError::Impossible { why: "two changes of one node", value: key.0 });
        }
    }
    Ok(changes)
}

fn decode_snapshot(m: &mut Message, r: &mut Reader) -> Result<(), MessageError> {
    let mut snapshot = Snapshot::default();
    let term = m.term;
    let meta = snapshot.mut_metadata();
    meta.index = r.number("index of the snapshot", 1, INDEX_MAX)?;
    meta.term = r.number("term of the snapshot", 1, term)?;
    let voters = decode_keys(r, "voter")?;
    let learners = decode_keys(r, "learner")?;
    let mut all: Vec<u64> = voters.iter().chain(&learners).copied().collect();
    // Raft assumes that the two lists are disjoint, and does not check.
    all.sort_unstable();
    all.dedup();
    let members = voters.len() + learners.len();
    if voters.is_empty() || all.len() != members || members > MEMBERS_MAX {
        return Err(MessageError::Impossible { why: "members of a snapshot", value: members as u64 });
    }
    if all.binary_search(&m.to).is_err() {
        return Err(MessageError::Impossible { why: "snapshot for a node that is not in it", value: m.to });
    }
    meta.mut_conf_state().set_voters(voters);
    meta.mut_conf_state().set_learners(learners);
    snapshot.data = r.rest();
    // Raft installs a snapshot before its owner reads it: what cannot be read is refused here.
    Replicated::decode(snapshot.data.clone())?;
    m.set_snapshot(snapshot);
    Ok(())
}

fn decode_keys(r: &mut Reader, item: &'static str) -> Result<Vec<u64>, ReadError> {
    let count = r.count(item, 8)?;
    (0..count).map(|_| r.number(item, 1, u64::MAX)).collect()
}

pub(super) fn body_bytes(message: &Message) -> usize {
    let entries: usize = message.get_entries().iter().map(|entry| entry.get_data().len() + 16).sum();
    let conf = message.get_snapshot().get_metadata().get_conf_state();
    let keys = conf.get_voters().len() + conf.get_learners().len();
    entries + keys * 8 + message.get_snapshot().get_data().len()
}
