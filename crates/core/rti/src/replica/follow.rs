//! The streams that this node follows, and how it begins and ceases to follow them.

use super::context::{Context, Timer};
use super::peers::Outgoing;
use super::replication::{ReplicaEvent, Replication};
use super::state::{Deferred, Following, InboundFilter, Phase, Received};
use crate::control::{NodeId, PublishedClass};
use crate::object::apply::SnapshotRange;
use crate::proposal::CallerId;
use crate::wire::{NetTopic, Record, StreamMessage};
use hla::handle::ObjectInstanceHandle;
use router::WireError;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long after a refusal a node is asked again. Its own publication is committed within a round
/// trip to the majority.
const REFUSED_WAIT: Duration = Duration::from_secs(1);

/// How long messages, interests and withdrawals of interests take through the routers at most. A node
/// whose stream is filtered keeps its interest in the class for so long, and declares it so long before
/// the filter ends: best-effort messages would otherwise be lost.
const SWITCHOVER_WAIT: Duration = Duration::from_secs(2);

/// Greater than the handle of any instance.
const LAST: ObjectInstanceHandle = ObjectInstanceHandle(u64::MAX);

impl Replication {
    /// Follows the nodes that publish a class if a federate here wants it, and no others. `fresh`:
    /// it was wanted before they were known to publish it, so they are followed from the beginning
    /// of their streams.
    pub(crate) fn review_following(&mut self, context: &mut Context<'_>, class: PublishedClass, fresh: bool) {
        let publishers = self.publishers.get(&class).into_iter().flatten().copied();
        let own = context.objects.node;
        let wanted: Vec<_> = publishers.filter(|&node| node != own && needs(context, class, node)).collect();
        let followed = |node| (class, node);
        let surplus: Vec<NodeId> = self
            .followed
            .range(followed(NodeId(0))..=followed(NodeId(u16::MAX)))
            .filter(|((_, node), following)| match following.phase {
                // The end of a stream is reported by the stream itself, after all its other
                // messages.
                Phase::Refused { .. } => !wanted.contains(node),
                Phase::Leaving { .. } => false,
                Phase::Asked | Phase::Snapshot { .. } | Phase::Live => !needs(context, class, *node),
            })
            .map(|((_, node), _)| *node)
            .collect();
        let missing: Vec<NodeId> =
            wanted.into_iter().filter(|&node| !self.followed.contains_key(&followed(node))).collect();
        for node in surplus {
            self.unfollow(context, class, node);
        }
        for node in missing {
            self.follow(context, class, node, fresh);
        }
        self.refresh_interest(context, class);
    }

    /// Reviews the streams that no federate here subscribes. They are followed only while a
    /// federate knows an instance of theirs.
    pub(crate) fn review_uncovered(&mut self, context: &mut Context<'_>) {
        let followed = self.followed.keys().map(|(class, _)| *class);
        let uncovered: BTreeSet<_> =
            followed.filter(|&class| !context.objects.interest.covers(class)).collect();
        for class in uncovered {
            self.review_following(context, class, false);
        }
    }

    /// Declares an interest to the routers for as long as the class is wanted or followed, unless all
    /// streams of it are filtered for this node.
    pub(super) fn refresh_interest(&mut self, context: &mut Context<'_>, class: PublishedClass) {
        let mut followed = self.followed.range((class, NodeId(0))..=(class, NodeId(u16::MAX))).peekable();
        let any = match followed.peek() {
            Some(_) => followed.any(|(_, following)| !following.filter.is_settled),
            None => context.objects.interest.covers(class),
        };
        let changed = if any { self.interested.insert(class) } else { self.interested.remove(&class) };
        if changed {
            context.peers.emit(Outgoing::Interest { topic: self.stream(class).topic(), any });
        }
        // Costs nothing as long as no other node advertises messages for this one.
        if self.interested_as.is_none() && !self.followed.is_empty() {
            let node = context.objects.node;
            self.interested_as = Some(node);
            let topic = NetTopic::Node(self.execution, node);
            context.peers.emit(Outgoing::Interest { topic, any: true });
        }
    }

    /// The sender of a stream is about to filter it for this node, or no longer to do so. In that case
    /// the interest in the class must have reached the routers first.
    pub(super) fn prepare_switchover(
        &mut self,
        context: &mut Context<'_>,
        (class, from): (PublishedClass, NodeId),
        (number, filtered): (u64, bool),
    ) {
        let following = self.followed.get_mut(&(class, from)).filter(|following| following.takes());
        let Some(following) = following else { return };
        tracing::debug!(?class, %from, number, filtered, "ready for a switchover of this stream");
        if filtered {
            following.filter = following.filter.next(number);
            self.send(context, from, class, StreamMessage::Ready { number });
        } else {
            let filter = &mut following.filter;
            filter.switchovers.end = number;
            (filter.after, filter.is_settled, filter.ready_for) = (None, false, Some(number));
            self.refresh_interest(context, class);
            context.timers.set(Timer::Switchover(self.stream(class), from), context.now + SWITCHOVER_WAIT);
        }
    }

    /// The sender of a stream filters it for this node from now on.
    pub(super) fn switched_over(
        &mut self,
        context: &mut Context<'_>,
        (class, from): (PublishedClass, NodeId),
        after: u64,
    ) {
        let following = self.followed.get_mut(&(class, from)).filter(|following| following.takes());
        if let Some(following) = following {
            following.filter.after = Some(after);
            let number = following.filter.switchovers.start;
            self.send(context, from, class, StreamMessage::Ready { number });
            context.timers.set(Timer::Switchover(self.stream(class), from), context.now + SWITCHOVER_WAIT);
        }
    }

    /// The routers have had the time to follow a switchover.
    pub(crate) fn switchover_due(&mut self, context: &mut Context<'_>, class: PublishedClass, from: NodeId) {
        let Some(following) = self.followed.get_mut(&(class, from)) else { return };
        let filter = &mut following.filter;
        if let Some(number) = filter.ready_for.take() {
            self.send(context, from, class, StreamMessage::Ready { number });
        } else if filter.after.is_some() {
            filter.is_settled = true;
            self.refresh_interest(context, class);
        }
    }

    fn follow(&mut self, context: &mut Context<'_>, class: PublishedClass, node: NodeId, fresh: bool) {
        let declarations = context.objects.declarations_for(class);
        let filter = self.filter_before(context, class, node);
        self.followed.insert((class, node), Following::new(&context.peers.buffers, filter));
        self.changes += 1;
        self.send(context, node, class, StreamMessage::Attach { fresh, declarations });
    }

    /// Stops following, and lets the replicas be forgotten, because no federate knows them.
    fn unfollow(&mut self, context: &mut Context<'_>, class: PublishedClass, node: NodeId) {
        self.leave(
            context,
            class,
            node,
            Phase::Leaving { fresh: false, acknowledged: false, forgotten: false },
        );
        self.events.push_back(ReplicaEvent::Forget { class, from: node });
    }

    fn leave(&mut self, context: &mut Context<'_>, class: PublishedClass, node: NodeId, phase: Phase) {
        let filter = self.filter_before(context, class, node);
        let leaving = Following { phase, ..Following::new(&context.peers.buffers, filter) };
        self.followed.insert((class, node), leaving);
        self.changes += 1;
        self.moved.insert((class, node));
        // The gap of a stream that is not followed any longer needs no repair.
        self.clear_timers(context, class, node);
        self.send(context, node, class, StreamMessage::Detach);
    }

    /// The filter that this node remembers of a stream that it follows, or did until just now.
    fn filter_before(&mut self, context: &Context<'_>, class: PublishedClass, node: NodeId) -> InboundFilter {
        if let Some(following) = self.followed.get_mut(&(class, node)) {
            return following.filter.left();
        }
        let left = self.left.remove(&(class, node));
        left.filter(|(at, _)| context.now.since(*at) < SWITCHOVER_WAIT)
            .map_or_else(InboundFilter::default, |(_, filter)| filter)
    }

    /// Notes that the other node has acknowledged the end of following. The stream was filtered until
    /// switchover `until`; 0: it was not.
    pub(super) fn detached(
        &mut self,
        context: &mut Context<'_>,
        (class, from): (PublishedClass, NodeId),
        until: u64,
    ) {
        if let Some(following) = self.followed.get_mut(&(class, from))
            && let Phase::Leaving { acknowledged, .. } = &mut following.phase
        {
            *acknowledged = true;
            following.filter.end(until);
            self.end_leaving(context, class, from);
        }
    }

    /// Notes that the replicas of a stream that is no longer followed have been forgotten.
    pub(crate) fn forgotten(&mut self, context: &mut Context<'_>, class: PublishedClass, from: NodeId) {
        if let Some(following) = self.followed.get_mut(&(class, from))
            && let Phase::Leaving { forgotten, .. } = &mut following.phase
        {
            *forgotten = true;
            self.end_leaving(context, class, from);
        }
    }

    fn end_leaving(&mut self, context: &mut Context<'_>, class: PublishedClass, from: NodeId) {
        if let Some(Following {
            phase: Phase::Leaving { fresh, acknowledged: true, forgotten: true }, ..
        }) = self.followed.get(&(class, from))
        {
            let fresh = *fresh;
            let filter = self.filter_before(context, class, from);
            self.followed.remove(&(class, from));
            self.changes += 1;
            let now = context.now;
            self.left.retain(|_, (at, _)| now.since(*at) < SWITCHOVER_WAIT);
            if filter.was_ever_on() {
                self.left.insert((class, from), (now, filter));
            }
            self.moved.insert((class, from));
            self.review_following(context, class, fresh);
        }
    }

    /// Handles a part of a snapshot: the instances after those received so far, up to `until`, as
    /// of number `at`. `None` for `until` means to the end. A fresh stream has no instances at its
    /// start: all of them come with its messages.
    pub(super) fn take_snapshot_part(
        &mut self,
        context: &mut Context<'_>,
        (class, from): (PublishedClass, NodeId),
        (at, for_all): (u64, u64),
        (until, records, replay): (Option<ObjectInstanceHandle>, Vec<Record>, bool),
    ) -> Result<(), WireError> {
        let Some(following) = self.followed.get_mut(&(class, from)) else { return Ok(()) };
        let (after, deferred) = match &mut following.phase {
            Phase::Asked => {
                following.inbound.start(context.now, at, context.peers.patience());
                following.last_for_all = for_all;
                self.changes += 1;
                (ObjectInstanceHandle::INVALID, Deferred::new(&context.peers.buffers))
            }
            Phase::Snapshot { until, deferred } => {
                (*until, std::mem::replace(deferred, Deferred::new(&context.peers.buffers)))
            }
            Phase::Refused { .. } | Phase::Live | Phase::Leaving { .. } => return Ok(()),
        };
        let end = until.unwrap_or(LAST);
        following.as_of.push((end, at));
        following.phase = match until {
            Some(until) => Phase::Snapshot { until, deferred: Deferred::new(&context.peers.buffers) },
            None => Phase::Live,
        };
        self.moved.insert((class, from));
        // The next part is requested before this one is applied, so that the transfer of one part
        // overlaps with the work on another.
        if let Some(after) = until {
            self.send(context, from, class, StreamMessage::SnapshotNext { after });
        }
        if let PublishedClass::Objects(class) = class
            && !replay
        {
            let range = SnapshotRange { class, from, after, end };
            self.events.push_back(ReplicaEvent::Snapshot { range, records });
        }
        if let (PublishedClass::Objects(class), None) = (class, until) {
            self.events.push_back(ReplicaEvent::Live { class, from });
        }
        let mut result = Ok(());
        for (number, message) in deferred.into_messages() {
            result = result.and(self.take_deferred(class, from, number, &message));
        }
        result.and(self.deliver(context, class, from))
    }

    /// Sets the timer for the request to repair a gap.
    pub(super) fn watch_gap(&mut self, context: &mut Context<'_>, class: PublishedClass, from: NodeId) {
        let timer = Timer::Follow(self.stream(class), from);
        let Some(following) = self.followed.get(&(class, from)) else { return };
        let again = match following.phase {
            Phase::Refused { again } => Some(again),
            Phase::Asked | Phase::Snapshot { .. } | Phase::Live | Phase::Leaving { .. } => {
                following.inbound.timeout()
            }
        };
        match again {
            Some(at) if context.timers.get(timer) != Some(at) => context.timers.set(timer, at),
            Some(_) => {}
            None => {
                context.timers.clear(timer);
            }
        }
    }

    /// Does the work of a stream whose deadline has come.
    pub(crate) fn follow_due(&mut self, context: &mut Context<'_>, class: PublishedClass, from: NodeId) {
        let Some(following) = self.followed.get_mut(&(class, from)) else { return };
        if let Phase::Refused { again } = following.phase {
            if again <= context.now {
                self.follow(context, class, from, true);
            }
        } else if let Some(range) = following.inbound.poll_request(context.now, context.peers.patience()) {
            context.peers.counters.asked += 1;
            let (first, to) = range.into_inner();
            self.send(context, from, class, StreamMessage::RepairRequest { from: first, to });
        }
        self.watch_gap(context, class, from);
    }

    /// Notes that the other node does not publish the class.
    pub(super) fn refused(&mut self, context: &mut Context<'_>, class: PublishedClass, from: NodeId) {
        let Some(following) = self.followed.get_mut(&(class, from)) else { return };
        if !following.takes() {
            return;
        }
        following.phase = Phase::Refused { again: context.now + REFUSED_WAIT };
        self.review_following(context, class, true);
        self.watch_gap(context, class, from);
    }

    /// Handles the end of a stream. The other node may already have opened it again.
    pub(super) fn ended(&mut self, context: &mut Context<'_>, class: PublishedClass, from: NodeId) {
        // The replicas stay: the stream's messages have reported every change and removal.
        self.leave(
            context,
            class,
            from,
            Phase::Leaving { fresh: true, acknowledged: false, forgotten: true },
        );
    }

    /// The other node no longer keeps the requested messages: tells the federates concerned, and
    /// follows the stream from the present on.
    pub(super) fn unavailable(&mut self, context: &mut Context<'_>, class: PublishedClass, from: NodeId) {
        if !self.followed.get(&(class, from)).is_some_and(Following::takes) {
            return;
        }
        context.peers.counters.broken += 1;
        let why = format!(
            "messages of RTI node {from} ({}) were lost on the way and can no longer be had",
            describe(context, class)
        );
        tracing::warn!(?class, %from, "a stream is broken: its history does not reach back far enough");
        for caller in concerned(context, class, from) {
            self.events.push_back(ReplicaEvent::Lost { caller, why: why.clone() });
        }
        self.unfollow(context, class, from);
    }

    /// Handles a message that had to wait for a part of a snapshot, which has arrived.
    fn take_deferred(
        &mut self,
        class: PublishedClass,
        from: NodeId,
        number: u64,
        message: &Received,
    ) -> Result<(), WireError> {
        let framed = message.decode(class)?;
        let following = self.followed.get(&(class, from));
        let (Some(following), Some(instance)) = (following, framed.event.instance()) else {
            return Ok(());
        };
        let covered = match following.phase {
            Phase::Snapshot { until, .. } => instance <= until,
            Phase::Asked | Phase::Refused { .. } | Phase::Live | Phase::Leaving { .. } => true,
        };
        // The next part, which is requested after this message was received, includes a message
        // about an instance after `until`.
        if covered && number > following.as_of(instance) {
            let event = framed.event;
            self.events.push_back(ReplicaEvent::Event { class, from, event, best_effort: false });
        }
        Ok(())
    }
}

/// Whether federates of this node need a stream of `node`: they subscribe the class, or know an
/// instance whose home is `node`.
fn needs(context: &Context<'_>, class: PublishedClass, node: NodeId) -> bool {
    context.objects.interest.covers(class)
        || matches!(class, PublishedClass::Objects(class) if context.objects.instances.knows_any(class, node))
}

fn describe(context: &Context<'_>, class: PublishedClass) -> String {
    let model = &context.objects.model;
    match class {
        PublishedClass::Objects(class) => {
            model.object_class(class).map_or_else(String::new, |class| class.name.clone())
        }
        PublishedClass::Interactions(class) => {
            model.interaction_class(class).map_or_else(String::new, |class| class.name.clone())
        }
        PublishedClass::Directed => "directed interactions".to_owned(),
    }
}

/// The callers of federates that subscribe a class, or know an instance of it whose home is `from`.
fn concerned(context: &Context<'_>, class: PublishedClass, from: NodeId) -> BTreeSet<CallerId> {
    let objects = context.objects;
    let mut federates: BTreeSet<_> = objects.interest.of(class).collect();
    for handle in objects.replicas(class, from) {
        let known = objects.instances.get(handle).map(|object| object.known()).unwrap_or_default();
        federates.extend(known.iter().map(|known| known.federate));
    }
    let callers = federates.iter().filter_map(|federate| objects.federates.get(federate));
    callers.map(|federate| federate.caller).collect()
}
