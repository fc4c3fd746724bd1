//! The replication of one federation execution on one node.

use super::context::{Context, Timer};
use super::models::Models;
use super::peers::Outgoing;
use super::state::{Following, InboundFilter, Outbound, Phase};
use crate::control::{ExecutionId, Federation, NodeId, PublishedClass};
use crate::object::apply::SnapshotRange;
use crate::proposal::CallerId;
use crate::wire::{
    Declaration, NetTopic, ObjectMessage, OwnershipRequest, PeerMessage, Position, Record, StreamEvent,
    StreamId, StreamMessage, Watermark,
};
use base::Moment;
use hla::handle::{FederateHandle, ObjectClassHandle};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Changes that other nodes make to the objects of this one, in order.
#[derive(Debug)]
pub(crate) enum ReplicaEvent {
    /// An event of a stream whose turn has come.
    Event { class: PublishedClass, from: NodeId, event: StreamEvent, best_effort: bool },
    /// A part of a snapshot.
    Snapshot { range: SnapshotRange, records: Vec<Record> },
    /// All instances of the stream of `from` are here, and its messages come from now on.
    Live { class: ObjectClassHandle, from: NodeId },
    /// The stream of `from` is no longer followed. Its replicas must be forgotten.
    Forget { class: PublishedClass, from: NodeId },
    /// Messages that concern the federate of this caller are lost.
    Lost { caller: CallerId, why: String },
}

/// A change among the followers of this node's streams. It also concerns the objects.
#[derive(Debug)]
pub(crate) enum FollowerChange {
    None,
    /// A node begins to follow, and gets the instances that are here.
    SnapshotBegun,
    /// A node no longer follows a class. It still follows the given ones.
    Detached {
        followed: Vec<PublishedClass>,
    },
}

/// The streams of one federation execution: those of this node, and those that it follows.
#[derive(Debug)]
pub(crate) struct Replication {
    pub(super) execution: ExecutionId,
    /// Extensions of the object model that are known here.
    pub(super) models: Models,
    /// The latest federate that is known here.
    pub(super) latest: FederateHandle,
    pub(super) outbound: BTreeMap<PublishedClass, Outbound>,
    pub(super) followed: BTreeMap<(PublishedClass, NodeId), Following>,
    /// The filters of streams that were followed until these moments, for as long as the routers may
    /// carry messages from then.
    pub(super) left: BTreeMap<(PublishedClass, NodeId), (Moment, InboundFilter)>,
    /// Interests declared to the routers.
    pub(super) interested: BTreeSet<PublishedClass>,
    /// Whether an interest in messages for this node is declared to the routers, and which node it is.
    pub(super) interested_as: Option<NodeId>,
    /// Nodes to which messages are advertised by their own topics.
    pub(super) advertised: BTreeSet<NodeId>,
    /// Streams with filtered followers and new messages in time-stamp order.
    pub(super) in_time: BTreeSet<PublishedClass>,
    pub(super) publishers: BTreeMap<PublishedClass, BTreeSet<NodeId>>,
    /// Number of changes of own publications that were proposed to the control plane.
    pub(super) proposed: u64,
    pub(super) events: VecDeque<ReplicaEvent>,
    /// Streams that have delivered further messages in time-stamp order, or that are newly followed
    /// or no longer followed, since the last look at them.
    pub(super) moved: BTreeSet<(PublishedClass, NodeId)>,
    /// Number of changes of the streams that are followed here: of which they are, and of their latest
    /// messages that concern all followers.
    pub(super) changes: u64,
}

impl Replication {
    /// A replication without open or followed streams.
    pub(crate) fn new(execution: ExecutionId) -> Self {
        Self {
            execution,
            models: Models::default(),
            latest: FederateHandle::INVALID,
            outbound: BTreeMap::new(),
            followed: BTreeMap::new(),
            left: BTreeMap::new(),
            interested: BTreeSet::new(),
            interested_as: None,
            advertised: BTreeSet::new(),
            in_time: BTreeSet::new(),
            publishers: BTreeMap::new(),
            proposed: 0,
            events: VecDeque::new(),
            moved: BTreeSet::new(),
            changes: 0,
        }
    }

    /// The next event for the objects.
    pub(crate) fn poll_event(&mut self) -> Option<ReplicaEvent> {
        self.events.pop_front()
    }

    pub(super) fn stream(&self, class: PublishedClass) -> StreamId {
        StreamId { execution: self.execution, class }
    }

    /// Takes over a model that the control plane has extended, or a federate that has joined.
    pub(crate) fn learn(&mut self, federation: &Federation) {
        self.models.learn(federation.model_version(), &federation.model);
        self.latest = federation.latest_federate();
    }

    /// Whether the control plane here has reached the given watermark.
    pub(crate) fn is_ready(&self, watermark: Watermark) -> bool {
        watermark.model <= self.models.latest() && watermark.federate <= self.latest
    }

    /// Whether the control plane and the required stream have progressed far enough for a message of a
    /// stream of this class that is followed here.
    pub(super) fn may_take(
        &self,
        class: PublishedClass,
        following: &Following,
        watermark: Watermark,
    ) -> bool {
        let has_reached = |after: Position| {
            let is_known = after.class == class && following.reached.is(self.changes, after);
            debug_assert!(!is_known || self.has_delivered(after), "following it anew is a change");
            is_known || self.has_delivered(after)
        };
        self.is_ready(watermark) && watermark.after.is_none_or(has_reached)
    }

    /// Whether a stream was delivered up to this position. True for a stream that is not followed
    /// here.
    fn has_delivered(&self, position: Position) -> bool {
        let first = self.followed.get(&(position.class, position.node));
        first.is_none_or(|first| match first.phase {
            Phase::Live => first.inbound.delivered() >= position.number,
            Phase::Refused { .. } | Phase::Leaving { .. } => true,
            Phase::Asked | Phase::Snapshot { .. } => false,
        })
    }

    /// The position up to which each followed stream was delivered, by class and node. The number
    /// is 0 while the start of the stream is not known yet.
    pub(crate) fn positions(&self) -> impl Iterator<Item = Position> + '_ {
        self.followed.iter().map(|(&(class, node), following)| Position {
            class,
            node,
            number: following.inbound.delivered(),
        })
    }

    /// Sends a message about a stream.
    pub(super) fn send(
        &self,
        context: &mut Context<'_>,
        to: NodeId,
        class: PublishedClass,
        message: StreamMessage,
    ) {
        context.peers.send_to(
            to,
            self.execution,
            self.models.needed(class),
            &PeerMessage::Stream(class, message),
        );
    }

    /// Sends a message about federates or instances.
    pub(crate) fn send_object(&self, context: &mut Context<'_>, to: NodeId, message: ObjectMessage) {
        context.peers.send_to(to, self.execution, self.models.latest(), &PeerMessage::Objects(message));
    }

    /// Sends a request to the home of an instance. The answers come in the stream of the class:
    /// while this node does not follow it, the request is kept, and repeated
    /// ([`ReplicaEvent::Live`]).
    pub(crate) fn send_to_home(
        &self,
        context: &mut Context<'_>,
        (class, home): (ObjectClassHandle, NodeId),
        request: Box<OwnershipRequest>,
    ) {
        let followed = self.followed.get(&(PublishedClass::Objects(class), home));
        if !request.action.is_kept() || followed.is_some_and(|f| matches!(f.phase, Phase::Live)) {
            self.send_object(context, home, ObjectMessage::Own(request));
        }
    }

    /// How far the streams of a node were delivered here, by object class.
    pub(crate) fn delivered_from(&self, node: NodeId) -> BTreeMap<ObjectClassHandle, u64> {
        let followed = self.followed.iter().filter(|((_, from), _)| *from == node);
        let number = |(&(class, _), following): (&(PublishedClass, NodeId), &Following)| match class {
            PublishedClass::Objects(class) => Some((class, following.inbound.delivered())),
            PublishedClass::Interactions(_) | PublishedClass::Directed => None,
        };
        followed.filter_map(number).collect()
    }

    /// Sends a message to all nodes that publish a class, or one below it.
    pub(crate) fn send_to_publishers(
        &self,
        context: &mut Context<'_>,
        class: ObjectClassHandle,
        message: ObjectMessage,
    ) {
        let model = &context.objects.model;
        let below = self.publishers.iter().filter(|(published, _)| match published {
            PublishedClass::Objects(published) => model.is_subclass(*published, class),
            PublishedClass::Interactions(_) | PublishedClass::Directed => false,
        });
        let nodes: BTreeSet<NodeId> = below.flat_map(|(_, nodes)| nodes).copied().collect();
        let message = PeerMessage::Objects(message);
        for node in nodes.into_iter().filter(|&node| node != context.objects.node) {
            context.peers.send_to(node, self.execution, self.models.latest(), &message);
        }
    }

    /// Tells the followed nodes concerned that a federate of this node has changed its
    /// subscriptions.
    pub(crate) fn declare(&self, context: &mut Context<'_>, declaration: Declaration) {
        let followed =
            self.followed.keys().filter(|(class, _)| context.objects.concerns(&declaration, *class));
        let nodes: BTreeSet<NodeId> = followed.map(|&(_, node)| node).collect();
        let model = match &declaration {
            Declaration::Objects { class, .. } => self.models.needed(PublishedClass::Objects(*class)),
            Declaration::Interactions { class, .. } => {
                self.models.needed(PublishedClass::Interactions(*class))
            }
        };
        let message = PeerMessage::Objects(ObjectMessage::Declare(declaration));
        for node in nodes {
            context.peers.send_to(node, self.execution, model, &message);
        }
    }

    /// A node is gone for good: it no longer publishes or follows anything.
    pub(crate) fn remove_peer(&mut self, context: &mut Context<'_>, gone: NodeId) {
        for nodes in self.publishers.values_mut() {
            nodes.remove(&gone);
        }
        self.publishers.retain(|_, nodes| !nodes.is_empty());
        for class in self.outbound.keys().copied().collect::<Vec<_>>() {
            if let Some(out) = self.outbound.get_mut(&class) {
                out.followers.remove(&gone);
            }
            self.forget_filter(context, class, gone);
            self.release_when_idle(context, class);
        }
    }

    /// Stops following the streams of a node that is gone for good. Its instances get a new home.
    pub(crate) fn leave_peer(&mut self, context: &mut Context<'_>, gone: NodeId) {
        let followed = self.followed.keys().filter(|(_, node)| *node == gone);
        for class in followed.map(|&(class, _)| class).collect::<Vec<_>>() {
            self.clear_timers(context, class, gone);
            self.followed.remove(&(class, gone));
            self.changes += 1;
            self.review_following(context, class, true);
        }
    }

    /// Clears the timers of a followed stream.
    pub(super) fn clear_timers(&self, context: &mut Context<'_>, class: PublishedClass, node: NodeId) {
        context.timers.clear(Timer::Follow(self.stream(class), node));
        context.timers.clear(Timer::Switchover(self.stream(class), node));
    }

    /// Ends the replication with its federation execution.
    pub(crate) fn end(self, context: &mut Context<'_>) {
        context.peers.forget_execution(self.execution);
        for (&class, out) in &self.outbound {
            let stream = self.stream(class);
            context.peers.forget_stream(stream);
            context.peers.wanted.remove(&stream.topic());
            context.timers.clear(Timer::HighWater(stream));
            context.timers.clear(Timer::Review(stream));
            context.timers.clear(Timer::Beginning(stream));
            if out.advertised {
                context.peers.emit(Outgoing::Advertise { topic: stream.topic(), any: false });
            }
        }
        for &(class, node) in self.followed.keys() {
            self.clear_timers(context, class, node);
        }
        for &class in &self.interested {
            context.peers.emit(Outgoing::Interest { topic: self.stream(class).topic(), any: false });
        }
        let execution = self.execution;
        if let Some(node) = self.interested_as {
            context.peers.emit(Outgoing::Interest { topic: NetTopic::Node(execution, node), any: false });
        }
        for &node in &self.advertised {
            let topic = NetTopic::Node(execution, node);
            context.peers.wanted.remove(&topic);
            context.peers.emit(Outgoing::Advertise { topic, any: false });
        }
        context.timers.clear(Timer::Names(self.execution));
    }
}
