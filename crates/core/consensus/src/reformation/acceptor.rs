//! The answers to the candidates' requests.

use base::{Moment, NodeKey};

use super::message::{Message, Recipient};
use super::record::{Ballot, Head, Proposal};
use super::{ROUND_MAX, Reformation};

impl Reformation {
    pub(super) fn on_prepare(&mut self, now: Moment, from: NodeKey, head: Head, ballot: Ballot) {
        if !self.compare(now, from, head) {
            return;
        }
        // Even for a ballot that loses: this node's next round has to be above all that were seen.
        self.highest = self.highest.max(ballot.round);
        let Some(record) = &mut self.record else { return };
        if ballot < record.promised {
            let promised = record.promised;
            return self.send(now, Recipient::One(from), Some(Message::Outbid { promised }));
        }
        // A repeated request changes nothing, and needs no write before its answer.
        if ballot > record.promised {
            record.promised = ballot;
            record.keys.insert(self.key);
            self.revision += 1;
            self.needed = self.revision;
        }
        // The candidate must propose the accepted proposal with the highest ballot: it may have
        // been chosen already.
        let (keys, accepted) = (record.keys.clone(), record.accepted.clone());
        let contact = self.contact.clone();
        self.support(now, from);
        self.send(now, Recipient::One(from), Some(Message::Promise { ballot, keys, contact, accepted }));
    }

    pub(super) fn on_outbid(&mut self, now: Moment, promised: Ballot) {
        self.highest = self.highest.max(promised.round);
        if self.round.as_ref().is_some_and(|round| round.ballot < promised) {
            self.give_up(now);
        }
    }

    pub(super) fn on_accept(
        &mut self,
        now: Moment,
        from: NodeKey,
        head: Head,
        ballot: Ballot,
        proposal: Proposal,
    ) {
        if !self.compare(now, from, head) {
            return;
        }
        let Some(record) = &mut self.record else { return };
        if ballot < record.promised {
            let promised = record.promised;
            return self.send(now, Recipient::One(from), Some(Message::Outbid { promised }));
        }
        let keys = record.keys.clone();
        // An acceptor accepts whatever it has not promised to refuse; a promise of its own is not
        // needed first (Lamport 2001, phase 2b).
        let accepted = Some((ballot, proposal));
        if record.accepted != accepted {
            record.promised = ballot;
            record.accepted = accepted;
            record.keys.insert(self.key);
            self.revision += 1;
            self.needed = self.revision;
        }
        self.support(now, from);
        self.send(now, Recipient::One(from), Some(Message::Accepted { ballot, keys }));
    }

    /// Leaves this candidate the time of an attempt before one of this node's own, which would outbid
    /// it: its attempt may take several turns where disks are slow.
    fn support(&mut self, now: Moment, candidate: NodeKey) {
        self.supports = (candidate != self.key).then_some((candidate, now + ROUND_MAX));
    }
}
