//! Shields the Raft library from messages that it would answer with a panic.
//!
//! A peer that follows the algorithm never sends such a message: a leader knows from
//! acknowledgements which entries a follower has, and a follower has only entries that the leader
//! of the term sent. The decoder (`wire`) refuses messages that are invalid for every receiver:
//! terms and indices out of range, entries with gaps or falling terms, invalid members in
//! snapshots.

use raft::eraftpb::{Message, MessageType};
use raft::{Raft, StateRole};

use crate::log::Log;
use crate::wire::MessageError;

/// Checks a message against the state of this member.
///
/// # Errors
/// [`MessageError::Impossible`] if no peer that follows the algorithm can have sent it.
pub(crate) fn check(raft: &Raft<Log>, m: &Message) -> Result<(), MessageError> {
    let last = raft.raft_log.last_index();
    match m.get_msg_type() {
        MessageType::MsgHeartbeat if m.term >= raft.term && m.commit > last => {
            Err(MessageError::Impossible { why: "commits what this node never got", value: m.commit })
        }
        MessageType::MsgAppendResponse
            if m.term == raft.term && raft.state == StateRole::Leader && !m.reject && m.index > last =>
        {
            Err(MessageError::Impossible { why: "has what this leader never sent", value: m.index })
        }
        // There cannot be two leaders in one term; the library would obey the second one.
        MessageType::MsgAppend | MessageType::MsgHeartbeat | MessageType::MsgSnapshot
            if m.term == raft.term && raft.leader_id != 0 && raft.leader_id != m.from =>
        {
            Err(MessageError::Impossible { why: "second leader of one term", value: m.from })
        }
        _ => Ok(()),
    }
}
