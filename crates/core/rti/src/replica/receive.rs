//! Packets and peer messages of other nodes, for one federation execution.

use super::context::Context;
use super::replication::{FollowerChange, ReplicaEvent, Replication};
use super::state::Phase;
use crate::control::{NodeId, PublishedClass};
use crate::wire::{Framed, Kind, PACKET_OVERHEAD, Packet, StreamMessage, messages};
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
        match packet.kind {
            Kind::Numbered(number) => {
                let bytes = packet.bytes();
                self.take_numbered(context, stream, number, packet.body, Some(bytes))
            }
            Kind::Batch(first) => {
                // One malformed message does not cost the others of its batch: they would only be
                // requested again.
                let mut taken = Ok(());
                for (number, message) in (first..).zip(messages(packet.body)) {
                    taken = taken.and(
                        message.and_then(|body| self.take_numbered(context, stream, number, body, None)),
                    );
                }
                taken
            }
            Kind::HighWater(last) => {
                self.take_high_water(context, stream, last);
                Ok(())
            }
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
            StreamMessage::Detached => self.detached(context, class, from),
            StreamMessage::SnapshotPart { at, until, records, replay } => {
                self.take_snapshot_part(context, class, from, (at, until, records, replay))?;
            }
            StreamMessage::SnapshotNext { after } => self.send_snapshot_part(context, class, from, after),
            StreamMessage::Refused => self.refused(context, class, from),
            StreamMessage::RepairRequest { from: first, to } => self.repair(context, class, from, first, to),
            StreamMessage::Repair { first, messages } => {
                self.take_repair(context, (class, from), first, messages)?;
            }
            StreamMessage::Unavailable => self.unavailable(context, class, from),
            StreamMessage::HighWater { last } => self.take_high_water(context, (class, from), last),
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
        body: Bytes,
        bytes: Option<usize>,
    ) -> Result<(), WireError> {
        let following = self.followed.get(&stream).filter(|following| following.takes());
        let Some(following) = following else { return Ok(()) };
        // The common case: the next message of a stream without gaps.
        if matches!(following.phase, Phase::Live)
            && following.as_of.is_empty()
            && following.inbound.is_next(number)
        {
            let framed = Framed::decode(body.clone());
            if framed.as_ref().map_or(true, |framed| self.may_take(framed.watermark)) {
                return self.pass(context, stream, framed);
            }
        }
        let Some(following) = self.followed.get_mut(&stream) else { return Ok(()) };
        let (body, bytes) = match bytes {
            Some(bytes) => (body, bytes),
            None => (Bytes::copy_from_slice(&body), body.len() + PACKET_OVERHEAD),
        };
        following.inbound.take(context.now, number, body, bytes, context.peers.patience());
        self.deliver(context, stream.0, stream.1)
    }

    /// Handles the announcement of a stream's high-water mark.
    fn take_high_water(&mut self, context: &mut Context<'_>, stream: (PublishedClass, NodeId), last: u64) {
        if let Some(following) = self.followed.get_mut(&stream)
            && following.takes()
        {
            following.inbound.advance_high_water_mark(context.now, last, context.peers.patience());
        }
        self.watch_gap(context, stream.0, stream.1);
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
        let Framed { watermark, event } = Framed::decode(body)?;
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
        let messages = messages.into_iter().map(|message| {
            let bytes = message.len();
            (message, bytes)
        });
        following.inbound.repaired(context.now, first, messages, context.peers.patience());
        self.deliver(context, stream.0, stream.1)
    }
}
