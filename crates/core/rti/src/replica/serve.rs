//! The sending side of streams, as followers see it: snapshots and repairs.

use super::context::{Context, Timer};
use super::replication::Replication;
use super::state::{Beginning, Outbound};
use crate::control::{NodeId, PublishedClass};
use crate::wire::StreamMessage;
use hla::handle::ObjectInstanceHandle;

impl Replication {
    /// Handles the request of another node to follow a stream of this one. Returns true if it gets
    /// a snapshot.
    pub(super) fn attach(
        &mut self,
        context: &mut Context<'_>,
        class: PublishedClass,
        from: NodeId,
        fresh: bool,
    ) -> bool {
        let stream = self.stream(class);
        let out = self.outbound.get_mut(&class);
        let begins = out.as_deref().filter(|out| fresh && !out.served.contains(&from));
        let begins = begins.and_then(|out| beginning(out, context.peers.first_kept(stream)));
        let Some(out) = out.filter(|out| out.open || begins.is_some()) else {
            self.send(context, from, class, StreamMessage::Refused);
            return false;
        };
        // Entered first: `repair` below serves followers only.
        out.followers.insert(from);
        out.served.insert(from);
        let (last, for_all) = (out.last, out.last_for_all);
        self.forget_filter(context, class, from);
        if let Some(at) = begins {
            let (for_all, until, records) = (for_all.min(at), None, Vec::new());
            let part = StreamMessage::SnapshotPart { at, for_all, until, records, replay: true };
            self.send(context, from, class, part);
            if last > at {
                self.send(context, from, class, StreamMessage::HighWater { relevant: last, last });
                self.repair(context, class, from, at + 1, last);
            }
        } else {
            self.send_snapshot_part(context, class, from, ObjectInstanceHandle::INVALID);
        }
        self.announce_again(context, Some(class));
        begins.is_none()
    }

    /// Sends the instances after `after`, as many as fit into a part.
    pub(super) fn send_snapshot_part(
        &mut self,
        context: &mut Context<'_>,
        class: PublishedClass,
        to: NodeId,
        after: ObjectInstanceHandle,
    ) {
        let position = self.outbound.get(&class).map(|out| (out.last, out.last_for_all));
        let Some((at, for_all)) = position else { return };
        let (records, until) = match class {
            PublishedClass::Objects(class) => {
                context.objects.records_after(class, after, context.peers.limits.part_bytes)
            }
            PublishedClass::Interactions(_) | PublishedClass::Directed => (Vec::new(), None),
        };
        let part = StreamMessage::SnapshotPart { at, for_all, until, records, replay: false };
        self.send(context, to, class, part);
    }

    /// Another node no longer follows a stream. Returns the classes that it still follows.
    pub(super) fn detach(
        &mut self,
        context: &mut Context<'_>,
        class: PublishedClass,
        from: NodeId,
    ) -> Vec<PublishedClass> {
        let stream = self.stream(class);
        if let Some(out) = self.outbound.get_mut(&class) {
            // A node that leaves because the stream ended may have learned of the end late, after
            // the stream had been opened again. It then comes back for the new beginning a round
            // trip later. The further it lags, the longer that takes.
            let is_behind = out.followers.remove(&from) && !out.served.contains(&from);
            if is_behind
                && out.beginning != Beginning::Pending
                && is_kept(out, context.peers.first_kept(stream))
            {
                out.beginning = Beginning::Kept;
                context.timers.set(Timer::Beginning(stream), context.now + context.peers.limits.history_age);
            }
        }
        let until = self.forget_filter(context, class, from);
        self.release_when_idle(context, class);
        self.send(context, from, class, StreamMessage::Detached { until });
        let followed = self.outbound.iter().filter(|(_, out)| out.followers.contains(&from));
        followed.map(|(&class, _)| class).collect()
    }

    /// Sends the messages that a follower missed.
    pub(super) fn repair(
        &mut self,
        context: &mut Context<'_>,
        class: PublishedClass,
        to: NodeId,
        first: u64,
        last: u64,
    ) {
        // A request may arrive after its sender has left. Nobody would take the repair.
        let follows = self.outbound.get(&class).is_some_and(|out| out.followers.contains(&to));
        if !follows || first > last {
            return;
        }
        if let Some(repair) = self.filtered_repair(context, (class, to), (first, last)) {
            return self.send(context, to, class, repair);
        }
        let last = last.min(self.unfiltered_until(class, to));
        let message = match context.peers.kept(self.stream(class), first..=last) {
            Ok(messages) => {
                context.peers.counters.repaired += messages.len() as u64;
                StreamMessage::Repair { first, messages }
            }
            Err(_) => StreamMessage::Unavailable,
        };
        self.send(context, to, class, message);
    }
}

/// The number before the first message since the stream was opened, if all messages since then are
/// available.
fn beginning(out: &Outbound, first_kept: Option<u64>) -> Option<u64> {
    out.began.filter(|_| (out.open || out.beginning != Beginning::Retired) && is_kept(out, first_kept))
}

/// Whether all messages since the last opening of the stream are kept.
fn is_kept(out: &Outbound, first_kept: Option<u64>) -> bool {
    out.began.is_some_and(|began| began == out.last || first_kept.is_some_and(|first| first <= began + 1))
}
