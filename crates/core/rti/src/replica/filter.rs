//! Followers that want a part of a stream only. Each gets its part by the topic of its node, with the
//! numbers of the messages that it does not need, so that streams stay dense.
//!
//! This is writer-side filtering as in DDS: a reader is told which numbers are irrelevant for it
//! (DDSI-RTPS, 8.3.8.4). Updates and interactions are filtered, and moves of update regions
//! ([`away`](super::away)). Everything else that a stream says concerns all followers.
//!
//! The sender counts how much of a stream each follower wants. A follower that wants half of it or less
//! is filtered: it is told so, and no longer takes the messages that come by the topic of the class. A
//! message that only some nodes want is then sent once to each of them, which costs less than to send
//! it to all.

use super::away::Place;
use super::context::Context;
use super::peers::{Outgoing, Selected};
use super::replication::Replication;
use super::state::Outbound;
use crate::control::{NodeId, PublishedClass};
use crate::object::objects::Objects;
use crate::object::wanted::{Wanted, WantedInteractions};
use crate::wire::{FilteredMessage, Kind, NetTopic, Packet, RegionSet, StreamEvent, StreamId, StreamMessage};
use base::Moment;
use bytes::Bytes;
use hla::handle::AttributeHandle;
use smallvec::SmallVec;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// A filtered follower that was sent a message is told this long afterwards that there was one: if the
/// message was lost and none followed it, the follower would otherwise not learn of it.
const ANNOUNCE: Duration = Duration::from_millis(500);

/// The part of a class that the federates of one node want.
#[derive(Debug)]
pub(super) enum Selection {
    Attributes(Wanted),
    Interactions(WantedInteractions),
}

/// The messages of a stream that a filtered follower was sent.
#[derive(Debug)]
pub(super) struct Sent {
    /// The stream is filtered after this number.
    since: u64,
    /// The last message for the follower, at or before this one if there was none since.
    pub(super) last: u64,
    /// The number of the last message that the follower has been told of.
    told: u64,
    /// The messages for it that are kept for repairs, and whether regions leave it with them.
    numbers: VecDeque<(u64, bool)>,
    /// The last one of those that are no longer kept.
    forgotten: u64,
    /// When the follower is to be told of the last message once more.
    announce_at: Option<Moment>,
    /// The switchover with which this began.
    switchover: u64,
    /// The follower takes no message by the topic of the class any longer. Only from then on it need not
    /// be told of regions where nobody there subscribes: it could otherwise take one of several moves by
    /// the topic of the class, and take it for the last.
    pub(super) is_confirmed: bool,
}

impl Sent {
    pub(super) fn new(switchover: u64, last: u64) -> Self {
        let numbers = VecDeque::new();
        let (announce_at, is_confirmed) = (None, false);
        Self {
            since: last,
            last,
            told: last,
            numbers,
            forgotten: last,
            announce_at,
            switchover,
            is_confirmed,
        }
    }

    /// Notes a message for the follower. `first_kept` is the first message that is kept for repairs.
    fn note(&mut self, now: Moment, (number, is_away): (u64, bool), first_kept: Option<u64>) {
        (self.last, self.told) = (number, number);
        self.announce_at = Some(now + ANNOUNCE);
        self.numbers.push_back((number, is_away));
        let is_old = |old: &mut (u64, bool)| first_kept.is_some_and(|first| old.0 < first);
        while let Some((old, _)) = self.numbers.pop_front_if(is_old) {
            self.forgotten = old;
        }
    }
}

#[derive(Debug)]
pub(super) enum State {
    /// The follower gets the whole stream.
    Off,
    /// It is to be filtered once the routers report its interest in messages for its node.
    Requested,
    /// It is filtered once it is ready.
    Beginning,
    On(Sent),
    /// It is filtered until it is ready for the whole stream.
    Ending(Sent),
}

/// A follower that wants a part of a stream.
#[derive(Debug)]
pub(super) struct Filter {
    pub(super) selection: Selection,
    /// The messages since the last review, and those among them that the follower wants.
    seen: u32,
    relevant: u32,
    pub(super) state: State,
    /// Attributes with update regions of which the follower has lost sight: nobody there subscribed where
    /// they were, and it is not told where they are since.
    pub(super) away: BTreeSet<Place>,
    /// Those up to this one are to be looked at again: they may be where somebody there subscribes now.
    pub(super) review_until: Option<Place>,
}

/// A change of the way in which a follower gets a stream.
enum Step {
    /// Messages by the topic of its node are advertised, or no longer.
    Advertisement,
    /// Asks whether the follower is ready to be filtered, or not to be any longer.
    Switchover { filtered: bool },
}

impl Filter {
    pub(super) fn new(selection: Selection) -> Self {
        let (state, away, review_until) = (State::Off, BTreeSet::new(), None);
        Self { selection, seen: 0, relevant: 0, state, away, review_until }
    }

    /// The messages that a filtered follower was sent.
    pub(super) fn sent(&self) -> Option<&Sent> {
        match &self.state {
            State::On(sent) | State::Ending(sent) => Some(sent),
            State::Off | State::Requested | State::Beginning => None,
        }
    }

    fn sent_mut(&mut self) -> Option<&mut Sent> {
        match &mut self.state {
            State::On(sent) | State::Ending(sent) => Some(sent),
            State::Off | State::Requested | State::Beginning => None,
        }
    }

    fn is_off(&self) -> bool {
        matches!(self.state, State::Off)
    }

    /// Decides how the follower gets the stream from now on. `may_switch_over`: no other follower is being
    /// switched.
    fn review(&mut self, window: u32, is_interested: bool, may_switch_over: bool) -> Option<Step> {
        let (mut wants_little, mut wants_much) = (false, false);
        if self.seen >= window {
            // The second threshold is higher: otherwise one that wants about half would be told at
            // each review.
            wants_little = self.relevant * 2 <= self.seen;
            wants_much = self.relevant * 4 > self.seen * 3;
            (self.seen, self.relevant) = (0, 0);
        }
        match self.state {
            State::Off if wants_little => {
                self.state = State::Requested;
                Some(Step::Advertisement)
            }
            State::Requested if wants_much => {
                self.state = State::Off;
                Some(Step::Advertisement)
            }
            State::Requested if is_interested && may_switch_over => {
                self.state = State::Beginning;
                Some(Step::Switchover { filtered: true })
            }
            State::On(_) if wants_much && may_switch_over => {
                if let State::On(sent) = std::mem::replace(&mut self.state, State::Off) {
                    self.state = State::Ending(sent);
                }
                Some(Step::Switchover { filtered: false })
            }
            _ => None,
        }
    }
}

impl Selection {
    pub(super) fn new(class: PublishedClass) -> Option<Self> {
        match class {
            PublishedClass::Objects(_) => Some(Self::Attributes(Wanted::default())),
            PublishedClass::Interactions(_) => Some(Self::Interactions(WantedInteractions::default())),
            PublishedClass::Directed => None,
        }
    }

    /// Brings it up to date for a node. Returns whether the node wants all of the class.
    fn refresh(&mut self, objects: &Objects, class: PublishedClass, node: NodeId) -> bool {
        match (self, class) {
            (Self::Attributes(wanted), PublishedClass::Objects(class)) => {
                objects.refresh_wanted(wanted, class, Some(node));
                objects.is_all_wanted(wanted, class)
            }
            (Self::Interactions(wanted), PublishedClass::Interactions(class)) => {
                objects.refresh_wanted_interactions(wanted, class, Some(node));
                wanted.regions.is_none()
            }
            _ => true,
        }
    }

    /// Whether update regions of an attribute reach subscriptions of the node.
    pub(super) fn reaches(
        &self,
        objects: &Objects,
        class: PublishedClass,
        attribute: AttributeHandle,
        regions: &RegionSet,
    ) -> bool {
        match (self, class) {
            (Self::Attributes(wanted), PublishedClass::Objects(class)) => wanted
                .attribute(attribute)
                .is_some_and(|wanted| objects.reaches_attribute((class, attribute), wanted, regions)),
            _ => true,
        }
    }

    /// Whether the node wants a message; `None` for one that concerns all followers.
    fn selects(&self, objects: &Objects, class: PublishedClass, event: &StreamEvent) -> Option<bool> {
        match (self, class, event) {
            (
                Self::Attributes(wanted),
                PublishedClass::Objects(class),
                StreamEvent::Updated { payload, .. },
            ) => Some(payload.values.iter().any(|value| {
                let attribute = AttributeHandle(value.handle);
                wanted.attribute(attribute).is_some_and(|wanted| {
                    objects.reaches_attribute((class, attribute), wanted, &payload.regions)
                })
            })),
            (Self::Interactions(wanted), PublishedClass::Interactions(class), StreamEvent::Sent(payload)) => {
                Some(objects.reaches_interaction(class, wanted, payload))
            }
            _ => None,
        }
    }
}

impl Outbound {
    /// Brings the filters of followers up to date.
    pub(super) fn refresh_filters(&mut self, objects: &Objects, class: PublishedClass) {
        if std::mem::replace(&mut self.filters_version, objects.remote_version) == objects.remote_version {
            return;
        }
        for &node in &self.followers {
            match self.filters.get_mut(&node) {
                Some(filter) => {
                    let all = filter.selection.refresh(objects, class, node);
                    if all && filter.is_off() && filter.away.is_empty() {
                        self.filters.remove(&node);
                    } else {
                        filter.review_until = filter.away.last().copied();
                    }
                }
                None => {
                    let Some(mut selection) = Selection::new(class) else { return };
                    if !selection.refresh(objects, class, node) {
                        self.filters.insert(node, Filter::new(selection));
                    }
                }
            }
        }
    }

    /// Whether some follower gets messages by the topic of its node.
    pub(super) fn is_filtered(&self) -> bool {
        self.filters.values().any(|filter| filter.sent().is_some())
    }

    /// The messages that a filtered follower was sent.
    pub(super) fn sent_to(&self, node: NodeId) -> Option<&Sent> {
        self.filters.get(&node)?.sent()
    }

    /// Counts a message of the stream, and returns the filtered followers that want it, each with the
    /// number of the last message for it before. `number` is `None` for a best-effort message.
    pub(super) fn select(
        &mut self,
        (objects, now, window): (&Objects, Moment, u32),
        (class, event): (PublishedClass, &StreamEvent),
        (number, first_kept): (Option<u64>, Option<u64>),
    ) -> SmallVec<[Selected; 4]> {
        let mut selected = SmallVec::new();
        for (&to, filter) in &mut self.filters {
            let mut wants = filter.selection.selects(objects, class, event);
            if let Some(wants) = wants {
                filter.seen += 1;
                filter.relevant += u32::from(wants);
            }
            self.filters_due |= filter.seen >= window || matches!(filter.state, State::Requested);
            let mut is_away = false;
            match event {
                StreamEvent::Regions { instance, regions, .. } => {
                    let (is_told, leaves) = filter.selects_regions(objects, class, (*instance, regions));
                    (wants, is_away) = (Some(is_told), leaves);
                }
                StreamEvent::Removed { instance, stamp: None, .. } | StreamEvent::RemovalFinal(instance) => {
                    filter.forget_instance(*instance);
                }
                _ => {}
            }
            if let Some(sent) = filter.sent_mut().filter(|_| wants != Some(false)) {
                selected.push(Selected { to, after: sent.last, is_away });
                if let Some(number) = number {
                    sent.note(now, (number, is_away), first_kept);
                }
            }
        }
        if let Some(number) = number.filter(|_| self.filters.is_empty() || event.concerns_all()) {
            self.last_for_all = number;
        }
        selected
    }

    /// Has all filtered followers told of their last messages once more.
    pub(super) fn announce_to_filtered_at(&mut self, at: Moment) {
        for sent in self.filters.values_mut().filter_map(Filter::sent_mut) {
            sent.announce_at = Some(at);
        }
    }

    /// When the first of the filtered followers is to be told of its last message.
    pub(super) fn next_announcement(&self) -> Option<Moment> {
        self.filters.values().filter_map(|filter| filter.sent()?.announce_at).min()
    }
}

impl Replication {
    /// Decides which followers of a stream are filtered, if that is due.
    pub(super) fn review_filters(&mut self, context: &mut Context<'_>, class: PublishedClass) {
        let execution = self.execution;
        let Some(out) = self.outbound.get_mut(&class) else { return };
        if !std::mem::take(&mut out.filters_due) {
            return;
        }
        let (window, number) = (context.peers.limits.filter_window, out.switchovers + 1);
        let mut steps = Vec::new();
        for (&node, filter) in &mut out.filters {
            let is_interested = context.peers.wanted.contains(&NetTopic::Node(execution, node));
            // One switchover at a time: until the follower has answered, the stream must not get as far as
            // the next one.
            let Some(step) = filter.review(window, is_interested, out.switching_over.is_none()) else {
                continue;
            };
            match step {
                Step::Switchover { .. } => out.switching_over = Some(node),
                // A filter that is off again may be over: its node may want all of the class by now.
                Step::Advertisement => out.filters_version = 0,
            }
            steps.push((node, step));
        }
        for (node, step) in steps {
            match step {
                Step::Advertisement => self.review_advertisement(context, node),
                Step::Switchover { filtered } => {
                    self.send(context, node, class, StreamMessage::Switchover { number, filtered });
                }
            }
        }
    }

    /// Advertises messages by the topic of a node, as long as the node is filtered for some stream.
    fn review_advertisement(&mut self, context: &mut Context<'_>, node: NodeId) {
        let is_filtered = |out: &Outbound| out.filters.get(&node).is_some_and(|filter| !filter.is_off());
        let any = self.outbound.values().any(is_filtered);
        let changed = if any { self.advertised.insert(node) } else { self.advertised.remove(&node) };
        if changed {
            let topic = NetTopic::Node(self.execution, node);
            context.peers.emit(Outgoing::Advertise { topic, any });
        }
    }

    /// A node no longer follows a stream, or begins to do so. Returns the switchover from which on it
    /// gets the stream by the topic of the class alone, if it should follow it again; 0: it was not
    /// filtered.
    pub(super) fn forget_filter(
        &mut self,
        context: &mut Context<'_>,
        class: PublishedClass,
        node: NodeId,
    ) -> u64 {
        let Some(out) = self.outbound.get_mut(&class) else { return 0 };
        out.filters_version = 0;
        let is_cancelled = out.switching_over.take_if(|switching_over| *switching_over == node).is_some();
        let was_on = out.sent_to(node).is_some();
        // It could not tell later messages from those that also came by its own topic. The switchover
        // for which another follower is about to be ready must not be anticipated; it comes soon. So
        // does one that was announced and is cancelled: others may wait for it.
        if is_cancelled || (was_on && out.switching_over.is_none()) {
            out.switchovers += 1;
        }
        let until = out.switchovers + u64::from(out.switching_over.is_some());
        if out.filters.remove(&node).is_some() {
            self.review_advertisement(context, node);
        }
        if was_on { until } else { 0 }
    }

    /// Switches the stream over: the follower is ready for it.
    pub(super) fn switch_over(
        &mut self,
        context: &mut Context<'_>,
        (class, node): (PublishedClass, NodeId),
        number: u64,
    ) {
        let Some(out) = self.outbound.get_mut(&class) else { return };
        if let Some(State::On(sent)) = out.filters.get_mut(&node).map(|filter| &mut filter.state)
            && sent.switchover == number
        {
            sent.is_confirmed = true;
            return;
        }
        if out.switching_over != Some(node) || number != out.switchovers + 1 {
            return;
        }
        (out.switching_over, out.switchovers) = (None, number);
        let last = out.last;
        tracing::debug!(?class, %node, number, last, "a stream is switched over for this follower");
        let Some(filter) = out.filters.get_mut(&node) else { return };
        let message = match &filter.state {
            State::Beginning => {
                filter.state = State::On(Sent::new(number, last));
                StreamMessage::Filtered { after: last }
            }
            State::Ending(sent) => {
                // Else the follower would take what it was not sent until now for lost.
                let message = StreamMessage::HighWater { relevant: sent.last, last };
                filter.state = State::Off;
                filter.review_until = filter.away.last().copied();
                out.filters_version = 0;
                message
            }
            State::Off | State::Requested | State::On(_) => return,
        };
        self.send(context, node, class, message);
        self.review_advertisement(context, node);
        self.review_away(context, class);
    }

    /// Tells those filtered followers of a stream that are to be told now the number of its last message.
    pub(super) fn announce_to_filtered(&mut self, context: &mut Context<'_>, stream: StreamId) {
        let now = context.now;
        self.tell_last(context, stream, |sent, _| sent.announce_at.take_if(|at| *at <= now).is_some());
    }

    /// Tells filtered followers of a stream the number of its last message, if `is_due` says so of them.
    fn tell_last(
        &mut self,
        context: &mut Context<'_>,
        stream: StreamId,
        mut is_due: impl FnMut(&mut Sent, u64) -> bool,
    ) {
        let Some(out) = self.outbound.get_mut(&stream.class) else { return };
        let (node, last) = (context.objects.node, out.last);
        for (&to, filter) in &mut out.filters {
            let Some(sent) = filter.sent_mut() else { continue };
            if is_due(sent, last) {
                sent.told = last;
                let kind = Kind::HighWater { relevant: sent.last, last };
                context.peers.send(Packet::to_node(stream, (node, to), kind, Bytes::new()));
            }
        }
    }

    /// Tells filtered followers of streams with new messages in time-stamp order that there is nothing
    /// more for them: time management waits for these messages.
    pub(crate) fn announce_in_time(&mut self, context: &mut Context<'_>) {
        while let Some(class) = self.in_time.pop_first() {
            let (stream, again_at) = (self.stream(class), context.now + ANNOUNCE);
            self.tell_last(context, stream, |sent, last| {
                let is_due = sent.told < last;
                if is_due {
                    // This may be lost, too.
                    sent.announce_at = Some(again_at);
                }
                is_due
            });
        }
    }

    /// Notes a message in time-stamp order that was appended to a stream of this node.
    pub(crate) fn note_in_time(&mut self, class: PublishedClass) {
        if self.outbound.get(&class).is_some_and(|out| !out.filters.is_empty()) {
            self.in_time.insert(class);
        }
    }

    /// The repair of messages from `first` to `last` for a filtered follower; `None` if the stream was
    /// not filtered for it by then.
    pub(super) fn filtered_repair(
        &self,
        context: &mut Context<'_>,
        (class, to): (PublishedClass, NodeId),
        (first, mut last): (u64, u64),
    ) -> Option<StreamMessage> {
        let sent = self.outbound.get(&class)?.sent_to(to).filter(|sent| first > sent.since)?;
        if first <= sent.forgotten {
            return Some(StreamMessage::Unavailable);
        }
        let (mut messages, mut before) = (Vec::new(), first - 1);
        let from = sent.numbers.partition_point(|&(number, _)| number < first);
        for &(number, is_away) in sent.numbers.range(from..).take_while(|(number, _)| *number <= last) {
            let Ok(kept) = context.peers.kept(self.stream(class), number..=number) else {
                return Some(StreamMessage::Unavailable);
            };
            for body in kept {
                let irrelevant = number - before - 1;
                FilteredMessage { irrelevant, is_away, body }.put(&mut messages);
            }
            context.peers.counters.repaired += 1;
            before = number;
            if messages.len() >= context.peers.limits.part_bytes {
                last = number;
                break;
            }
        }
        Some(StreamMessage::FilteredRepair { first, last, messages: messages.into() })
    }

    /// The last message up to which a repair is the same for a follower as for one that is not filtered.
    pub(super) fn unfiltered_until(&self, class: PublishedClass, to: NodeId) -> u64 {
        let sent = self.outbound.get(&class).and_then(|out| out.sent_to(to));
        sent.map_or(u64::MAX, |sent| sent.since)
    }
}
