//! Packets and peer messages of other nodes, for one federation execution.

use super::context::Context;
use super::replication::{FollowerChange, ReplicaEvent, Replication};
use super::state::{Phase, Received};
use crate::control::{NodeId, PublishedClass};
use crate::wire::{
    FilteredMessage, Framed, Kind, PACKET_OVERHEAD, Packet, StreamMessage, filtered_messages, messages,
};
use bytes::Bytes;
use router::{Message as _, WireError};

impl Replication {
    /// Handles a packet of another node.
    ///
    /// # Errors
    /// The packet is malformed. Nothing else is affected.
    pub(crate) fn handle_packet(
        &mut self,
        context: &mut Context<'_>,
        packet: Packet,
    ) -> Result<(), WireError> {
        let stream = (packet.stream, packet.sender());
        if !packet.is_for_one() && self.comes_filtered(stream, packet.kind) {
            return Ok(());
        }
        match packet.kind {
            Kind::Numbered(number) => {
                let bytes = packet.bytes();
                let message = Received { body: packet.body, is_away: false };
                self.take_numbered(context, stream, number, message, Some(bytes))
            }
            Kind::Batch(first) => {
                // One malformed message does not cost the others of its batch: they would only be
                // requested again.
                let mut taken = Ok(());
                for (number, message) in (first..).zip(messages(packet.body)) {
                    taken = taken.and(message.and_then(|body| {
                        let message = Received { body, is_away: false };
                        self.take_numbered(context, stream, number, message, None)
                    }));
                }
                taken
            }
            Kind::Filtered { after } => self.take_filtered(context, stream, after, packet.body),
            Kind::HighWater { relevant, last } => self.take_high_water(context, stream, (relevant, last)),
            Kind::BestEffort { after, .. } => self.take_best_effort(context, stream, after, packet.body),
        }
    }

    /// Handles a message of another node about one of its streams, or about one of this node.
    ///
    /// # Errors
    /// The message is malformed.
    pub(crate) fn handle_message(
        &mut self,
        context: &mut Context<'_>,
        (class, from): (PublishedClass, NodeId),
        message: StreamMessage,
    ) -> Result<FollowerChange, WireError> {
        match message {
            StreamMessage::Attach { fresh, .. } => {
                if self.attach(context, class, from, fresh) {
                    return Ok(FollowerChange::SnapshotBegun);
                }
            }
            StreamMessage::Detach => {
                let followed = self.detach(context, class, from);
                return Ok(FollowerChange::Detached { followed });
            }
            StreamMessage::Detached { until } => self.detached(context, (class, from), until),
            StreamMessage::SnapshotPart { at, for_all, until, records, replay } => {
                self.take_snapshot_part(context, (class, from), (at, for_all), (until, records, replay))?;
            }
            StreamMessage::SnapshotNext { after } => self.send_snapshot_part(context, class, from, after),
            StreamMessage::Refused => self.refused(context, class, from),
            StreamMessage::RepairRequest { from: first, to } => self.repair(context, class, from, first, to),
            StreamMessage::Repair { first, messages } => {
                self.take_repair(context, (class, from), first, messages)?;
            }
            StreamMessage::Unavailable => self.unavailable(context, class, from),
            StreamMessage::HighWater { relevant, last } => {
                self.take_high_water(context, (class, from), (relevant, last))?;
            }
            StreamMessage::Switchover { number, filtered } => {
                self.prepare_switchover(context, (class, from), (number, filtered));
            }
            StreamMessage::Ready { number } => self.switch_over(context, (class, from), number),
            StreamMessage::Filtered { after } => self.switched_over(context, (class, from), after),
            StreamMessage::FilteredRepair { first, last, messages } => {
                self.take_filtered_repair(context, (class, from), (first, last), messages)?;
            }
        }
        Ok(FollowerChange::None)
    }

    /// Handles a numbered message. `bytes` is the memory that it keeps alive. `None`: it shares its
    /// memory with others, and is copied if it must wait.
    fn take_numbered(
        &mut self,
        context: &mut Context<'_>,
        stream: (PublishedClass, NodeId),
        number: u64,
        mut message: Received,
        bytes: Option<usize>,
    ) -> Result<(), WireError> {
        let following = self.followed.get(&stream).filter(|following| following.takes());
        let Some(following) = following else { return Ok(()) };
        // The common case: the next message of a stream without gaps.
        if matches!(following.phase, Phase::Live)
            && following.as_of.is_empty()
            && following.inbound.is_next(number)
        {
            let framed = message.decode(stream.0);
            if framed.as_ref().map_or(true, |framed| self.may_take(stream.0, following, framed.watermark)) {
                return self.pass(context, stream, framed);
            }
        }
        let Some(following) = self.followed.get_mut(&stream) else { return Ok(()) };
        let bytes = bytes.unwrap_or_else(|| {
            message.body = Bytes::copy_from_slice(&message.body);
            message.body.len() + PACKET_OVERHEAD
        });
        following.inbound.take(context.now, number, message, bytes, context.peers.patience());
        self.deliver(context, stream.0, stream.1)
    }

    /// Whether what comes by the topic of a class also comes by the topic of this node, if it is wanted
    /// here. Then it is not taken: a best-effort message would come twice, and numbered ones would seem to
    /// be missing before the first that comes again when a link has failed.
    fn comes_filtered(&self, stream: (PublishedClass, NodeId), kind: Kind) -> bool {
        let Some(following) = self.followed.get(&stream) else { return false };
        let is_after = |number: u64| following.filter.after.is_some_and(|after| number > after);
        match kind {
            Kind::Numbered(number) | Kind::Batch(number) => is_after(number),
            Kind::HighWater { last, .. } => is_after(last),
            Kind::BestEffort { switchover, .. } => following.filter.was_on(switchover),
            Kind::Filtered { .. } => true,
        }
    }

    /// Handles messages for this node alone, from the one after number `after` on.
    fn take_filtered(
        &mut self,
        context: &mut Context<'_>,
        stream: (PublishedClass, NodeId),
        mut after: u64,
        body: Bytes,
    ) -> Result<(), WireError> {
        let mut taken = Ok(());
        for message in filtered_messages(body) {
            let FilteredMessage { irrelevant, is_away, body } = message?;
            let number = after.saturating_add(irrelevant).saturating_add(1);
            if irrelevant > 0 {
                self.pass_over(context, stream, (after, number - 1));
            }
            let message = Received { body, is_away };
            taken = taken.and(self.take_numbered(context, stream, number, message, None));
            after = number;
        }
        taken
    }

    /// Passes over messages that hold nothing for this node: those after `relevant`, up to `last`.
    fn pass_over(
        &mut self,
        context: &mut Context<'_>,
        stream: (PublishedClass, NodeId),
        (relevant, last): (u64, u64),
    ) {
        let following = self.followed.get_mut(&stream).filter(|following| following.takes());
        let Some(following) = following else { return };
        let (before, patience) = (following.inbound.delivered(), context.peers.patience());
        following.inbound.take_irrelevant(context.now, relevant.saturating_add(1)..=last, patience);
        if following.inbound.delivered() != before {
            self.moved.insert(stream);
        }
    }

    /// Handles the announcement of a stream's high-water mark. Messages after `relevant` hold nothing
    /// for this node.
    fn take_high_water(
        &mut self,
        context: &mut Context<'_>,
        stream: (PublishedClass, NodeId),
        (relevant, last): (u64, u64),
    ) -> Result<(), WireError> {
        if let Some(following) = self.followed.get_mut(&stream)
            && following.takes()
        {
            following.inbound.advance_high_water_mark(context.now, relevant, context.peers.patience());
        }
        if relevant < last {
            self.pass_over(context, stream, (relevant, last));
            return self.deliver(context, stream.0, stream.1);
        }
        self.watch_gap(context, stream.0, stream.1);
        Ok(())
    }

    /// Handles a best-effort message. It is dropped if it came too early or too late for the state
    /// here.
    fn take_best_effort(
        &mut self,
        context: &mut Context<'_>,
        stream: (PublishedClass, NodeId),
        after: u64,
        body: Bytes,
    ) -> Result<(), WireError> {
        let following = self.followed.get_mut(&stream).filter(|following| following.takes());
        let Some(following) = following else {
            context.peers.counters.best_effort_dropped += 1;
            return Ok(());
        };
        // Its position reveals losses before it, even if the message itself cannot be used.
        let Framed { watermark, event } = Framed::decode(stream.0, body)?;
        following.inbound.advance_high_water_mark(context.now, after, context.peers.patience());
        let behind = !self.is_ready(watermark);
        let (class, from) = stream;
        self.watch_gap(context, class, from);
        if behind {
            context.peers.counters.best_effort_dropped += 1;
        } else {
            self.events.push_back(ReplicaEvent::Event { class, from, event, best_effort: true });
        }
        Ok(())
    }

    /// Handles a repair: messages that were missing.
    fn take_repair(
        &mut self,
        context: &mut Context<'_>,
        stream: (PublishedClass, NodeId),
        first: u64,
        messages: Vec<Bytes>,
    ) -> Result<(), WireError> {
        let following = self.followed.get_mut(&stream).filter(|following| following.takes());
        let Some(following) = following else { return Ok(()) };
        let messages = messages.into_iter().map(|body| {
            let bytes = body.len();
            (Received { body, is_away: false }, bytes)
        });
        following.inbound.repaired(context.now, first, messages, context.peers.patience());
        self.deliver(context, stream.0, stream.1)
    }

    /// Handles a repair of a stream that is filtered for this node: all that messages `first` to `last`
    /// hold for it.
    fn take_filtered_repair(
        &mut self,
        context: &mut Context<'_>,
        stream: (PublishedClass, NodeId),
        (first, last): (u64, u64),
        messages: Bytes,
    ) -> Result<(), WireError> {
        let following = self.followed.get_mut(&stream).filter(|following| following.takes());
        let Some(following) = following else { return Ok(()) };
        let (mut items, mut before) = (Vec::new(), first.saturating_sub(1));
        for message in filtered_messages(messages) {
            let FilteredMessage { irrelevant, is_away, body } = message?;
            before = before.saturating_add(irrelevant).saturating_add(1);
            let bytes = body.len();
            items.push((before, Received { body, is_away }, bytes));
        }
        following.inbound.repaired_filtered(context.now, (first, last), items, context.peers.patience());
        self.moved.insert(stream);
        self.deliver(context, stream.0, stream.1)
    }
}
