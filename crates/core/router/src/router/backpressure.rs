//! Back-pressure: credit that is withheld, and messages that wait at the entrance.

use super::{Event, Router};
use crate::client::{ClientId, Level};
use crate::connection::Timer;
use crate::message::{Envelope, Interest, Message, Priority};
use crate::{ClientKind, PipeStats};
use base::Moment;
use smallvec::SmallVec;

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// True while reliable messages of this client wait in a congested pipe, or for room in a full
    /// one. A link then gets no credit.
    pub fn is_blocked(&self, client: ClientId) -> bool {
        self.clients
            .get(client)
            .is_some_and(|client| !client.blocked_by.is_empty() || !client.stalled.is_empty())
    }

    /// True while a message of this client waits for room in a full pipe. A memory pipe then
    /// carries only the class `Control`.
    pub fn is_stalled(&self, client: ClientId) -> bool {
        self.clients.get(client).is_some_and(|client| !client.stalled.is_empty())
    }

    /// Messages and bytes of a client that wait for room in a full pipe.
    pub fn stalled(&self, client: ClientId) -> Option<(usize, usize)> {
        self.clients.get(client).map(|client| (client.stalled.len(), client.stalled.bytes()))
    }

    /// Notes whether something that came through a memory pipe waits in a congested pipe at the
    /// other end. If so, messages that go into this end count as waiting, too. True when that is
    /// news.
    pub(crate) fn pause(&mut self, now: Moment, id: ClientId, paused: bool) -> bool {
        self.observe(now);
        let Some(client) = self.clients.get_mut(id) else { return false };
        let was = std::mem::replace(&mut client.pipe.paused, paused);
        if was && !paused && !client.pipe.congested {
            self.release(id);
        }
        was != paused
    }

    /// True if a message of this client that finds no room may wait at the entrance. One message
    /// may wait from a memory pipe; from a link as much as was granted.
    pub(super) fn may_stall(&self, from: ClientId) -> bool {
        self.clients.get(from).is_some_and(|client| match client.kind {
            ClientKind::Local { .. } | ClientKind::Group => false,
            ClientKind::Memory => client.stalled.is_empty(),
            ClientKind::Link => client.window.is_limited(),
        })
    }

    /// The first of the pipes in which a message that must not be dropped finds no room now, but
    /// will later.
    pub(super) fn first_full(&self, targets: &[ClientId], class: Priority, bytes: usize) -> Option<ClientId> {
        let full = |id: &&ClientId| {
            self.clients.get(**id).is_some_and(|client| client.up && client.pipe.is_full_for(class, bytes))
        };
        targets.iter().find(full).copied()
    }

    /// Lets a message wait for room in the pipe of `full`, ahead of all others of its source.
    pub(super) fn stall(&mut self, from: ClientId, full: ClientId, envelope: Envelope<M>) {
        if let Some(client) = self.clients.get_mut(full)
            && !std::mem::replace(&mut client.pipe.congested, true)
        {
            self.events.push_back(Event::Congested { client: full });
        }
        self.block(from, &[full]);
        let Some(client) = self.clients.get_mut(from) else { return };
        client.stalled.push_front(envelope);
        note_stalled(&mut client.pipe.stats, client.stalled.bytes());
    }

    /// Lets a message wait behind others of its source.
    pub(super) fn queue_up(&mut self, from: ClientId, envelope: Envelope<M>) {
        let Some(client) = self.clients.get_mut(from) else { return };
        client.stalled.push(envelope);
        client.pipe.stats.stalled_messages += 1;
        note_stalled(&mut client.pipe.stats, client.stalled.bytes());
    }

    /// Notes the congested pipes in which a message of `from` waits.
    pub(super) fn block(&mut self, from: ClientId, by: &[ClientId]) {
        let Some(client) = self.clients.get_mut(from) else { return };
        for id in by {
            if !client.blocked_by.contains(id) {
                client.blocked_by.push(*id);
                self.blocked += 1;
            }
        }
    }

    /// Forgets everything a client waits for, because it is gone or its link is down.
    pub(super) fn unblock(&mut self, from: ClientId) {
        let Some(client) = self.clients.get_mut(from) else { return };
        self.blocked -= std::mem::take(&mut client.blocked_by).len();
        let gone = client.stalled.clear();
        for (class, messages) in gone.into_iter().enumerate() {
            client.pipe.stats.dropped[class][crate::DropReason::Gone as usize] += messages;
        }
    }

    /// Lets the clients that wait for a pipe go on, because it is no longer congested or is gone.
    pub(super) fn release(&mut self, pipe: ClientId) {
        if self.blocked == 0 {
            return;
        }
        let mut waiting: SmallVec<[ClientId; 8]> = SmallVec::new();
        for slot in 0..self.clients.slots() {
            let Some((id, _)) = self.clients.at(slot) else { continue };
            let Some(client) = self.clients.get_mut(id) else { continue };
            let before = client.blocked_by.len();
            client.blocked_by.retain(|by| *by != pipe);
            let fewer = before - client.blocked_by.len();
            if fewer > 0 {
                self.blocked -= fewer;
                waiting.push(id);
            }
        }
        for id in waiting {
            self.resume(id);
        }
    }

    /// Passes on the messages that wait at the entrance as far as there is room, then grants
    /// credit.
    pub(super) fn resume(&mut self, id: ClientId) {
        while let Some(client) = self.clients.get_mut(id) {
            let level = client.level;
            let Some(envelope) = client.stalled.pop() else { break };
            if !self.pass_on(id, level, envelope, false).1 {
                break;
            }
        }
        self.settle_credit(id);
    }

    /// Grants the peer of a link credit for the bytes taken in, or withholds it for now.
    pub(super) fn settle_credit(&mut self, id: ClientId) {
        let now = self.now;
        let Some(client) = self.clients.get_mut(id) else { return };
        if !client.up || !client.window.is_due() {
            return;
        }
        let timer = Timer::Credit(id);
        if client.blocked_by.is_empty() && client.stalled.is_empty() {
            let credit = client.window.grant();
            client.pipe.queue_credit(credit);
            self.connections.clear(timer);
            self.wake(id);
        } else if !self.connections.is_set(timer) {
            self.connections.set(timer, now + client.pipe.config.credit_hold_max);
        }
    }

    /// Grants a little of the credit that has long been withheld, unless its messages would find no
    /// room.
    pub(super) fn trickle(&mut self, id: ClientId) {
        self.resume(id);
        let now = self.now;
        let Some(client) = self.clients.get_mut(id) else { return };
        if !client.window.is_due() {
            return;
        }
        if client.stalled.is_empty() {
            let credit = client.window.trickle();
            client.pipe.queue_credit(credit);
            client.pipe.stats.sent_trickles += 1;
            self.wake(id);
        }
        if let Some(client) = self.clients.get(id)
            && client.window.is_due()
        {
            let wait = client.pipe.config.credit_hold_max.max(std::time::Duration::from_millis(1));
            self.connections.set(Timer::Credit(id), now + wait);
        }
    }

    /// Level of a client, if it exists.
    pub(super) fn level_of(&self, id: ClientId) -> Option<Level> {
        self.clients.get(id).map(|client| client.level)
    }
}

fn note_stalled(stats: &mut PipeStats, bytes: usize) {
    stats.stalled_bytes_max = stats.stalled_bytes_max.max(bytes as u64);
}
