//! The hot path: from a source to the pipes of all interested clients.

use super::{Event, Router, Submitted};
use crate::client::{ClientFlags, ClientId, Level};
use crate::config::HOPS_MAX;
use crate::message::{Envelope, Interest, Message, MessageId, Priority, kind_of};
use crate::queue::Enqueued;
use crate::{ClientError, ClientKind};
use base::Moment;

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// Sends a message of the local source `from` to every client that is interested in its topic:
    /// one clone into each pipe, with the same number in all. It never goes back to `from`, and
    /// from an upper client only to lower ones.
    ///
    /// # Errors
    /// [`ClientError::Unknown`], [`ClientError::NotASource`], [`ClientError::WrongKind`] (not
    /// local). A full pipe is not an error but part of [`Submitted`].
    pub fn submit(&mut self, now: Moment, from: ClientId, message: M) -> Result<Submitted, ClientError> {
        let level = self.local_source(now, from)?;
        let mut targets = self.targets(message.topic(), from, level);
        self.share(&message, &mut targets);
        let mut done = Submitted::default();
        if let Some((last, others)) = targets.split_last() {
            let id = self.number(&message);
            for target in others {
                self.deliver(*target, Envelope { id, hops: 0, message: message.clone() }, false, &mut done);
            }
            self.deliver(*last, Envelope { id, hops: 0, message }, false, &mut done);
        }
        self.scratch = targets;
        Ok(done)
    }

    /// Sends a message to one client, whatever its interest, through its pipe and in order with
    /// everything else there. If the client is another router, that router forwards it by interest.
    ///
    /// # Errors
    /// [`ClientError::Unknown`], [`ClientError::NotASink`].
    pub fn push(&mut self, now: Moment, to: ClientId, message: M) -> Result<Enqueued, ClientError> {
        self.observe(now);
        let client = self.clients.get(to).ok_or(ClientError::Unknown(to))?;
        if !client.is(ClientFlags::SINK) {
            return Err(ClientError::NotASink(to));
        }
        if !client.up {
            return Ok(Enqueued::Refused);
        }
        let id = self.number(&message);
        self.enqueue(to, Envelope { id, hops: 0, message })
    }

    /// Forwards a message that came through the pipe of `from`, once and over a limited number of
    /// links. `best_effort`: it came without credit, so nothing bounds how many such messages might
    /// wait at the entrance.
    pub(super) fn forward(
        &mut self,
        from: ClientId,
        level: Level,
        envelope: Envelope<M>,
        best_effort: bool,
    ) -> Submitted {
        self.stats.received_messages += 1;
        let class = envelope.message.priority();
        let kind = kind_of(class, envelope.message.droppable());
        if envelope.id.origin == self.config.origin || !self.duplicates.first(envelope.id, kind) {
            self.stats.duplicate_messages += 1;
            return Submitted::default();
        }
        if envelope.hops >= HOPS_MAX {
            self.stats.hops_exceeded += 1;
            return Submitted::default();
        }
        let waits = class != Priority::Control && !best_effort && self.is_stalled(from);
        if waits && self.kind(from) == Some(ClientKind::Link) {
            self.queue_up(from, envelope);
            return Submitted { congested: true, ..Submitted::default() };
        }
        let (done, passed) = self.pass_on(from, level, envelope, best_effort);
        if !passed && let Some(client) = self.clients.get_mut(from) {
            client.pipe.stats.stalled_messages += 1;
        }
        done
    }

    /// Puts a message of `from` into the pipes of all interested clients. If it must not be dropped
    /// and one of the pipes is full, it goes into none and waits at the entrance; then the second
    /// value is false. A `best_effort` message never waits, because no room was granted for it.
    pub(super) fn pass_on(
        &mut self,
        from: ClientId,
        level: Level,
        envelope: Envelope<M>,
        best_effort: bool,
    ) -> (Submitted, bool) {
        let mut done = Submitted::default();
        let (class, droppable) = (envelope.message.priority(), envelope.message.droppable());
        let mut targets = self.targets(envelope.message.topic(), from, level);
        self.share(&envelope.message, &mut targets);
        if !droppable
            && !best_effort
            && class != Priority::Control
            && let Some(full) = self.first_full(&targets, class, envelope.message.bytes())
            && self.may_stall(from)
        {
            self.scratch = targets;
            self.stall(from, full, envelope);
            done.congested = true;
            done.waits_in.push(full);
            return (done, false);
        }
        if let Some((last, others)) = targets.split_last() {
            for target in others {
                self.deliver(*target, envelope.clone(), true, &mut done);
            }
            self.deliver(*last, envelope, true, &mut done);
        }
        for &client in &done.refused {
            self.events.push_back(Event::Overflow { client, class });
        }
        self.scratch = targets;
        if class != Priority::Control {
            self.block(from, &done.waits_in);
        }
        (done, true)
    }

    fn local_source(&mut self, now: Moment, from: ClientId) -> Result<Level, ClientError> {
        self.observe(now);
        let client = self.clients.get(from).ok_or(ClientError::Unknown(from))?;
        if !matches!(client.kind, ClientKind::Local { .. }) {
            return Err(ClientError::WrongKind(from));
        }
        if !client.is(ClientFlags::SOURCE) {
            return Err(ClientError::NotASource(from));
        }
        self.stats.submitted_messages += 1;
        Ok(client.level)
    }

    fn number(&mut self, message: &M) -> MessageId {
        let next = &mut self.sequences[kind_of(message.priority(), message.droppable())];
        let sequence = *next;
        *next += 1;
        MessageId { origin: self.config.origin, sequence }
    }

    /// The sinks that want a topic from a source, each once. The caller gives the list back as
    /// `scratch`.
    fn targets(&mut self, topic: &M::Topic, from: ClientId, level: Level) -> Vec<ClientId> {
        let mut targets = std::mem::take(&mut self.scratch);
        targets.clear();
        self.mark += 1;
        let (mark, clients) = (self.mark, &mut self.clients);
        self.table.each_sink(topic, from, level, |sink| {
            if let Some(client) = clients.get_mut(sink)
                && client.mark != mark
            {
                client.mark = mark;
                targets.push(sink);
            }
        });
        if targets.is_empty() {
            self.stats.unwanted_messages += 1;
        }
        targets
    }

    /// `relayed`: the message came through a pipe, so a memory pipe that is paused counts as
    /// congested.
    fn deliver(&mut self, to: ClientId, envelope: Envelope<M>, relayed: bool, done: &mut Submitted) {
        let droppable = envelope.message.droppable();
        match self.enqueue(to, envelope) {
            Ok(queued @ (Enqueued::Queued { .. } | Enqueued::Replaced)) => {
                if let Enqueued::Queued { displaced } = queued {
                    done.dropped += displaced;
                }
                done.queued += 1;
                let (congested, held) =
                    self.clients.get(to).map_or((false, false), |c| (c.pipe.congested, c.pipe.paused));
                done.congested |= congested;
                if !droppable && (congested || relayed && held) {
                    done.waits_in.push(to);
                }
            }
            Ok(Enqueued::Dropped { .. }) => done.dropped += 1,
            Ok(Enqueued::Refused) => done.refused.push(to),
            Err(_) => {}
        }
    }
}
