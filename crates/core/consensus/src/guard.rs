//! Keeps from the Raft library what it would answer with a panic.
//!
//! A peer that follows the algorithm never sends such a message: a leader knows by an answer what a follower has, and a
//! follower has only what the leader of the term sent. What is wrong whoever reads it is refused by the decoder
//! (`wire`): terms and indices out of range, entries with holes or falling terms, members of snapshots.

use raft::eraftpb::{Message, MessageType};
use raft::{Raft, StateRole};

use crate::log::Log;
use crate::wire::MessageError;

/// Checks a message against what this member knows.
///
/// # Errors
/// [`MessageError::Impossible`] when no peer that follows the algorithm can have sent it.
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
        // Two leaders in one term cannot be: the library would take the second one's word.
        MessageType::MsgAppend | MessageType::MsgHeartbeat | MessageType::MsgSnapshot
            if m.term == raft.term && raft.leader_id != 0 && raft.leader_id != m.from =>
        {
            Err(MessageError::Impossible { why: "second leader of one term", value: m.from })
        }
        _ => Ok(()),
    }
}
