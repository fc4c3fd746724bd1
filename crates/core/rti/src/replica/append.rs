//! The sending side of streams: numbers, followers, high-water marks.

use super::context::{Context, Timer};
use super::narrow::Remainder;
use super::peers::{Outgoing, Selected};
use super::replication::Replication;
use super::state::{Beginning, Following, Noted, Outbound};
use crate::control::{NodeId, PublishedClass};
use crate::wire::{
    Framed, HandleValue, Kind, Packet, Position, StreamEvent, StreamId, StreamMessage, Watermark,
};
use base::{Deadlines, Moment};
use bytes::Bytes;
use hla::handle::ObjectInstanceHandle;
use std::collections::BTreeMap;
use std::time::Duration;

/// A stream's high-water mark is announced this long after its last message: first by the routers,
/// and the last time by a message to each follower. The first announcement reveals nearly all
/// losses soon after a burst; the last one cannot be lost.
const ANNOUNCE: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(500), Duration::from_secs(5)];

impl Replication {
    /// Appends what other nodes want of an event to a stream of this node, if some node may follow it.
    /// A `best_effort` event is sent without a number, and not kept. Returns the number of the event,
    /// if it has one.
    pub(crate) fn append(
        &mut self,
        context: &mut Context<'_>,
        class: PublishedClass,
        event: &StreamEvent,
        best_effort: bool,
        after: Option<(PublishedClass, NodeId)>,
    ) -> Option<u64> {
        let stream = self.stream(class);
        let own = context.objects.node;
        // Not the last message: filtered followers learn later that it does not concern them.
        let own_after = after
            .filter(|(_, node)| *node == own)
            .and_then(|(class, _)| self.outbound.get(&class))
            .map(|out| out.last_for_all);
        let model = self.models.needed(class);
        let out = self.outbound.get_mut(&class)?;
        let after = after.and_then(|after| {
            match after.1 == own {
                true => own_after,
                false => out.number_of(class, after, (&self.followed, self.changes)),
            }
            .map(|number| Position { class: after.0, node: after.1, number })
        });
        let watermark = Watermark { model, federate: event.latest_federate(), after };
        if best_effort && !is_wanted(context, stream, out) {
            return None;
        }
        out.refresh_filters(context.objects, class);
        let remainder = out.narrow((context.objects, context.now), class, event, best_effort);
        let event = match &remainder {
            Remainder::Everything => event,
            Remainder::Part(left) => left,
            Remainder::Nothing => return None,
        };
        if best_effort {
            send_best_effort(context, stream, out, watermark, event);
            self.review_filters(context, class);
            return None;
        }
        // The number is not used up. A stream without followers costs nothing, and its beginning is
        // over: later followers get a snapshot.
        if !out.is_needed() {
            out.began = None;
            return None;
        }
        out.last += 1;
        out.appended_at = context.now;
        let first_kept = if out.is_filtered() { context.peers.first_in_history(stream) } else { None };
        let surroundings = (context.objects, context.now, context.peers.limits.filter_window);
        let filtered = out.select(surroundings, (class, event), (Some(out.last), first_kept));
        context.peers.append(
            (context.now, &mut *context.timers),
            (stream, context.objects.node),
            (out.last, &filtered),
            |buffer| {
                Framed::write(buffer, class, watermark, event);
            },
        );
        announce_soon(out, context.timers, stream, context.now);
        let number = out.last;
        self.review_filters(context, class);
        Some(number)
    }

    /// Announces the high-water mark of a stream, whose time has come.
    pub(crate) fn announce_due(&mut self, context: &mut Context<'_>, class: PublishedClass) {
        let stream = self.stream(class);
        let Some(out) = self.outbound.get_mut(&class) else { return };
        if out.followers.is_empty() {
            return;
        }
        let is_due = out.announcement().is_some_and(|at| at <= context.now);
        out.announced += u8::from(is_due);
        let (next, last) = (out.announcement(), out.last);
        if is_due && next.is_none() {
            for follower in out.followers.iter().copied().collect::<Vec<_>>() {
                self.announce_reliably(context, class, follower);
            }
        } else {
            if is_due {
                let kind = Kind::HighWater { relevant: last, last };
                context.peers.send(Packet::new(stream, context.objects.node, kind, Bytes::new()));
            }
            self.announce_to_filtered(context, stream);
        }
        let filtered = self.outbound.get(&class).and_then(Outbound::next_announcement);
        if let Some(at) = next.into_iter().chain(filtered).min() {
            context.timers.set(Timer::HighWater(stream), at);
        }
    }

    /// Announces the high-water mark of a stream to a follower by a message that is not lost.
    pub(super) fn announce_reliably(&self, context: &mut Context<'_>, class: PublishedClass, to: NodeId) {
        let Some(out) = self.outbound.get(&class) else { return };
        let relevant = out.sent_to(to).map_or(out.last, |sent| sent.last);
        self.send(context, to, class, StreamMessage::HighWater { relevant, last: out.last });
    }

    /// Announces high-water marks again, because the paths through the network or the followers
    /// have changed.
    pub(crate) fn announce_again(&mut self, context: &mut Context<'_>, only: Option<PublishedClass>) {
        let execution = self.execution;
        let concerned = self.outbound.iter_mut().filter(|(class, out)| {
            only.is_none_or(|only| only == **class) && !out.followers.is_empty() && out.last > 0
        });
        for (&class, out) in concerned {
            out.appended_at = context.now;
            // Not with the others: the stream may be busy with messages for these.
            out.announce_to_filtered_at(context.now + ANNOUNCE[0]);
            announce_soon(out, context.timers, StreamId { execution, class }, context.now);
        }
    }

    /// Releases a stream that nobody follows: its messages are no longer kept, and the routers no
    /// longer get its advertisement.
    pub(super) fn release_when_idle(&mut self, context: &mut Context<'_>, class: PublishedClass) {
        let stream = self.stream(class);
        let Some(out) = self.outbound.get_mut(&class) else { return };
        if out.is_needed() {
            return;
        }
        context.peers.forget_stream(stream);
        context.timers.clear(Timer::HighWater(stream));
        if out.began != Some(out.last) {
            out.began = None;
        }
        if !out.open && std::mem::take(&mut out.advertised) {
            context.peers.emit(Outgoing::Advertise { topic: stream.topic(), any: false });
        }
    }

    /// Stops keeping the stream's beginning.
    pub(crate) fn release_beginning(&mut self, context: &mut Context<'_>, class: PublishedClass) {
        let Some(out) = self.outbound.get_mut(&class) else { return };
        if out.beginning == Beginning::Kept {
            out.beginning = Beginning::Retired;
            self.release_when_idle(context, class);
        }
    }
}

impl Outbound {
    /// The number of the last message, of a followed stream, that all its followers know, for a message
    /// of this stream of `class`.
    fn number_of(
        &mut self,
        class: PublishedClass,
        stream: (PublishedClass, NodeId),
        (followed, changes): (&BTreeMap<(PublishedClass, NodeId), Following>, u64),
    ) -> Option<u64> {
        let latest = || followed.get(&stream).map(|following| following.last_for_all);
        let (other, node) = stream;
        if other != class {
            return latest();
        }
        if let Some(number) = self.named.number(changes, node) {
            debug_assert_eq!(Some(number), latest(), "an advance is a change");
            return Some(number);
        }
        let number = latest()?;
        self.named = Noted { changes, node, number };
        Some(number)
    }

    /// When the high-water mark is announced next.
    fn announcement(&self) -> Option<Moment> {
        Some(self.appended_at + *ANNOUNCE.get(usize::from(self.announced))?)
    }
}

/// Whether some other node receives a best-effort message. It is not kept, so otherwise it is not
/// even encoded.
fn is_wanted(context: &Context<'_>, stream: StreamId, out: &Outbound) -> bool {
    !out.followers.is_empty() && (context.peers.wanted.contains(&stream.topic()) || out.is_filtered())
}

fn send_best_effort(
    context: &mut Context<'_>,
    stream: StreamId,
    out: &mut Outbound,
    watermark: Watermark,
    event: &StreamEvent,
) {
    let key = match event {
        StreamEvent::Updated { instance, payload } => key_of(*instance, &payload.values),
        _ => 0,
    };
    context.peers.counters.best_effort += 1;
    let (kind, node) =
        (Kind::BestEffort { after: out.last, switchover: out.switchovers, key }, context.objects.node);
    let body = Framed::encode(stream.class, watermark, event);
    let surroundings = (context.objects, context.now, context.peers.limits.filter_window);
    for Selected { to, after, .. } in out.select(surroundings, (stream.class, event), (None, None)) {
        let kind = Kind::BestEffort { after, switchover: out.switchovers, key };
        context.peers.send(Packet::to_node(stream, (node, to), kind, body.clone()));
    }
    context.peers.send(Packet::new(stream, node, kind, body));
}

/// Sets the timer of the first announcement. A running timer is left alone: when it is due, it
/// looks at the time of the last message. A busy stream therefore does not set a timer for each
/// message.
fn announce_soon(out: &mut Outbound, timers: &mut Deadlines<Timer>, stream: StreamId, now: Moment) {
    let restarts = std::mem::take(&mut out.announced) > 0;
    if restarts || timers.get(Timer::HighWater(stream)).is_none() {
        timers.set(Timer::HighWater(stream), now + ANNOUNCE[0]);
    }
}

/// The key of an update. Two updates of the same attributes of one instance have the same key
/// (FNV-1a over both).
fn key_of(instance: ObjectInstanceHandle, values: &[HandleValue]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |number: u64| {
        for octet in number.to_be_bytes() {
            hash = (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    mix(instance.0);
    values.iter().for_each(|value| mix(u64::from(value.handle)));
    // Zero means that a message has no key and supersedes no other.
    hash.max(1)
}
