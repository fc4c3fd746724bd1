//! Input from peers.

use base::{Moment, NodeKey};
use bytes::Bytes;
use raft::eraftpb::MessageType;

use super::Consensus;
use super::leader::Admitted;
use crate::config::MEMBERS_MAX;
use crate::guard;
use crate::wire::{self, MemberRequest, MessageError, Packet, RaftMessage};

impl Consensus {
    /// Handles a message of a peer.
    ///
    /// # Errors
    /// No member of this group would have sent the message, and it has changed nothing. The sender
    /// is faulty, runs another version, or belongs to another group.
    pub fn handle_message(&mut self, now: Moment, from: NodeKey, message: Bytes) -> Result<(), MessageError> {
        self.at(now);
        if self.removed {
            return Ok(());
        }
        if from == self.key || from.0 == 0 {
            return Err(MessageError::Sender { from });
        }
        let (group, packet) = wire::decode(from, self.key, message)?;
        if let Some(mine) = self.group.filter(|mine| *mine != group) {
            return Err(MessageError::Group { got: group, mine });
        }
        if self.replicated.was_removed(from) {
            if !matches!(packet, Packet::Removed) {
                self.send(from, &Packet::Removed);
            }
            return Ok(());
        }
        self.take(from, group, packet)?;
        if self.roles.contains_key(&from) {
            self.heard.insert(from, self.now);
        }
        self.pump();
        Ok(())
    }

    /// The node `key` can be reached, perhaps again. A node that was removed while it was
    /// unreachable is told so here, and need not find out by probing.
    pub fn greet(&mut self, now: Moment, key: NodeKey) {
        self.at(now);
        if !self.removed && self.replicated.was_removed(key) {
            self.send(key, &Packet::Removed);
        }
    }

    fn take(&mut self, from: NodeKey, group: NodeKey, packet: Packet) -> Result<(), MessageError> {
        match packet {
            Packet::Raft(message) => return self.take_raft(group, message),
            Packet::Propose { first, bodies } => return self.take_proposals(from, first, &bodies),
            Packet::Accepted { term, next } => {
                if next > self.proposals.next() {
                    return Err(MessageError::Impossible { why: "has what was never proposed", value: next });
                }
                if self.last_leader() == Some(from) && term == self.node.raft.term {
                    self.proposals.answered(self.now, next, self.config.retry);
                }
            }
            Packet::Requests(list) => self.take_requests(list),
            Packet::Probe { applied } => self.take_probe(from, applied),
            // A joiner too may receive this: some member believed it dead before it was added.
            Packet::Removed => self.set_removed(),
        }
        Ok(())
    }

    fn take_raft(&mut self, group: NodeKey, message: RaftMessage) -> Result<(), MessageError> {
        guard::check(&self.node.raft, &message)?;
        self.group = Some(group);
        let (known, from) = (message.commit, message.from);
        let leads = matches!(
            message.get_msg_type(),
            MessageType::MsgAppend | MessageType::MsgHeartbeat | MessageType::MsgSnapshot
        );
        // The remaining errors concern late messages of a peer that is no longer a member.
        let _ = self.node.step(message);
        if leads && self.node.raft.leader_id == from {
            self.led_at = self.now;
        }
        // A learner that knows cannot lead the others out of the old configuration.
        let votes = self.node.store().conf().get_voters().contains(&from);
        if votes && self.farewell.is_some_and(|index| known >= index) {
            self.set_removed();
        }
        Ok(())
    }

    fn take_proposals(&mut self, from: NodeKey, first: u64, bodies: &[Bytes]) -> Result<(), MessageError> {
        let limit = self.config.entry_bytes_max;
        if let Some(body) = bodies.iter().find(|body| body.len() > limit) {
            return Err(MessageError::Impossible {
                why: "proposal over the limit",
                value: body.len() as u64,
            });
        }
        if !self.is_leader() {
            return Ok(());
        }
        for (serial, body) in (first..).zip(bodies) {
            if self.admit(from, serial, body) == Admitted::No {
                break;
            }
        }
        let next = self.admission.as_ref().and_then(|(_, fold)| fold.next_of(from));
        if let Some(next) = next {
            self.send(from, &Packet::Accepted { term: self.node.raft.term, next });
        }
        Ok(())
    }

    fn take_requests(&mut self, list: Vec<(MemberRequest, NodeKey)>) {
        if !self.is_leader() {
            return;
        }
        for (request, key) in list {
            let known = self.asked.contains_key(&key);
            let room = known || self.asked.len() < 2 * MEMBERS_MAX;
            // A removed node never comes back, so a removal stands whatever else is requested.
            if room && (request == MemberRequest::Remove || !known) {
                self.asked.insert(key, request);
            }
        }
        self.review = true;
    }

    /// Handles the probe of a member that hears no leader. The sender was a member when it had
    /// applied the log up to `applied`. If this node has applied at least as much and does not
    /// count the sender among the members, then the sender was removed.
    fn take_probe(&mut self, from: NodeKey, applied: u64) {
        let known = self.node.raft.raft_log.applied;
        if applied > 0 && applied <= known && !self.roles.contains_key(&from) {
            self.send(from, &Packet::Removed);
        }
    }
}
