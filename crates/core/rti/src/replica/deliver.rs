//! The receiving side of streams: delivery in order, and the effect of snapshot parts on it.

use super::context::Context;
use super::replication::{ReplicaEvent, Replication};
use super::state::{Phase, Received};
use crate::control::{NodeId, PublishedClass};
use crate::wire::{Framed, StreamEvent};
use router::WireError;

impl Replication {
    /// Delivers all messages of a stream that can be delivered now.
    pub(super) fn deliver(
        &mut self,
        context: &mut Context<'_>,
        class: PublishedClass,
        from: NodeId,
    ) -> Result<(), WireError> {
        let mut result = Ok(());
        while let Some((number, message, framed)) = self.next_message(context, class, from) {
            match framed {
                Ok(framed) => self.take_message(context, (class, from), (number, message), framed.event),
                Err(error) => result = result.and(Err(error)),
            }
        }
        self.watch_gap(context, class, from);
        result
    }

    /// Delivers the messages of all streams that waited for the control plane or for another
    /// stream.
    pub(crate) fn deliver_all(&mut self, context: &mut Context<'_>) {
        let waiting = self.followed.iter().filter(|(_, following)| following.inbound.peek().is_some());
        let waiting: Vec<(PublishedClass, NodeId)> = waiting.map(|(&stream, _)| stream).collect();
        for (class, from) in waiting {
            if let Err(error) = self.deliver(context, class, from) {
                tracing::warn!(%from, %error, "a message of this node makes no sense");
            }
        }
    }

    /// Delivers the next message of a stream that has no gap and nothing waiting.
    pub(super) fn pass(
        &mut self,
        context: &mut Context<'_>,
        stream: (PublishedClass, NodeId),
        framed: Result<Framed, WireError>,
    ) -> Result<(), WireError> {
        let Some(following) = self.followed.get_mut(&stream) else { return Ok(()) };
        following.inbound.pass();
        context.peers.counters.delivered += 1;
        let Framed { watermark, event } = framed?;
        if let Some(after) = watermark.after {
            following.reached.note(self.changes, stream.0, after);
        }
        if event.concerns_all() {
            following.last_for_all = following.inbound.delivered();
            self.changes += 1;
        }
        self.emit(context, stream, event);
        Ok(())
    }

    /// The next message of a stream, encoded and decoded, if its turn has come.
    fn next_message(
        &mut self,
        context: &mut Context<'_>,
        class: PublishedClass,
        from: NodeId,
    ) -> Option<(u64, Received, Result<Framed, WireError>)> {
        let following = self.followed.get(&(class, from))?;
        let framed = following.inbound.peek()?.decode(class);
        if let Ok(framed) = &framed
            && !self.may_take(class, following, framed.watermark)
        {
            // The head of a stream waits, and so do all messages behind it. If one overtook it,
            // federates would see changes in another order than the sender's.
            context.peers.blocked = true;
            return None;
        }
        let following = self.followed.get_mut(&(class, from))?;
        let (number, message) = following.inbound.pop()?;
        if following.inbound.delivered() > number {
            // Irrelevant messages behind it were passed over.
            self.moved.insert((class, from));
        }
        context.peers.counters.delivered += 1;
        Some((number, message, framed))
    }

    /// Handles the next message of a stream, unless a part of a snapshot includes it or will
    /// include it.
    fn take_message(
        &mut self,
        context: &mut Context<'_>,
        stream: (PublishedClass, NodeId),
        (number, message): (u64, Received),
        event: StreamEvent,
    ) {
        let Some(following) = self.followed.get_mut(&stream) else { return };
        if event.concerns_all() {
            following.last_for_all = number;
            self.changes += 1;
        }
        if let Some(instance) = event.instance() {
            if let Phase::Snapshot { until, deferred } = &mut following.phase
                && instance > *until
            {
                // The part with this instance is still to come, and may be older than the event.
                deferred.push(number, message);
                return;
            }
            // The snapshot of this instance was taken later: it already has the effect of the
            // event.
            if number <= following.as_of(instance) {
                return;
            }
        }
        if matches!(following.phase, Phase::Live)
            && following.as_of.last().is_some_and(|&(_, at)| number >= at)
        {
            following.as_of = Vec::new();
        }
        self.emit(context, stream, event);
    }

    /// Emits an event. The end of a stream concerns only its followers; all else concerns the
    /// objects.
    fn emit(
        &mut self,
        context: &mut Context<'_>,
        (class, from): (PublishedClass, NodeId),
        event: StreamEvent,
    ) {
        if matches!(event, StreamEvent::Ended) {
            return self.ended(context, class, from);
        }
        if event.is_in_time() {
            self.moved.insert((class, from));
        }
        self.events.push_back(ReplicaEvent::Event { class, from, event, best_effort: false });
    }
}
