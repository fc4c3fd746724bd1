//! What a federation execution on one node knows of the others.

use super::buried::Buried;
use super::stream::Inbound;
use super::wire::{Head, NetTopic};
use crate::control::{ExecutionId, NodeId, PublishedClass};
use crate::object::federate::ClassSubscription;
use base::Moment;
use bytes::Bytes;
use hla::handle::{FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};

/// How long the beginning of a stream is kept for nodes that have yet to hear of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beginning {
    /// At least until this node's publication had its turn in the control plane.
    Pending,
    /// Until a timer says so.
    Kept,
    /// No longer.
    Over,
}

/// A stream of this node: what it says about one topic.
#[derive(Debug)]
pub(crate) struct Outbound {
    /// This node publishes it.
    pub(crate) open: bool,
    /// The routers were told so.
    pub(crate) offered: bool,
    /// Number of the last message, over all times that it was open.
    pub(crate) last: u64,
    /// The last number before it was opened; `None` when something happened since that was not said.
    pub(crate) began: Option<u64>,
    pub(crate) beginning: Beginning,
    /// Who has asked for the beginning since it was opened, and does not get it twice.
    pub(crate) served: BTreeSet<NodeId>,
    pub(crate) followers: BTreeSet<NodeId>,
    /// Announcements of the tail since the last message.
    pub(crate) tails: u8,
    pub(crate) said_at: Moment,
}

impl Default for Outbound {
    fn default() -> Self {
        Self {
            open: false,
            offered: false,
            last: 0,
            began: None,
            beginning: Beginning::Over,
            served: BTreeSet::new(),
            followers: BTreeSet::new(),
            tails: 0,
            said_at: Moment::ZERO,
        }
    }
}

impl Outbound {
    /// Whether what happens is said: somebody follows, or may ask for the beginning.
    pub(crate) fn is_heard(&self) -> bool {
        !self.followers.is_empty() || self.beginning != Beginning::Over
    }
}

/// How far this node is with following a stream.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Asked for; nothing came yet.
    Asked,
    /// The other node publishes nothing about it, although the control plane says so here: ask again later.
    Refused { again: Moment },
    /// Instances come in parts; those up to `until` are here.
    Snapshot {
        until: ObjectInstanceHandle,
        /// Messages about instances after `until`, received since the next part was asked for.
        limbo: Vec<(u64, Bytes)>,
    },
    /// All there.
    Live,
    /// Nothing is taken any more, nor is the node asked again (with `fresh`, from its beginning) before it has answered
    /// that this node follows no more.
    Leaving { fresh: bool },
}

/// A stream of another node that is followed here.
#[derive(Debug)]
pub(crate) struct Following {
    pub(crate) phase: Phase,
    pub(crate) inbound: Inbound<Bytes>,
    /// Instances up to the handle are as of the number: older messages about them were taken into account. Ascending,
    /// and empty once all of that was delivered.
    pub(crate) as_of: Vec<(ObjectInstanceHandle, u64)>,
}

impl Following {
    pub(crate) fn new() -> Self {
        Self { phase: Phase::Asked, inbound: Inbound::new(), as_of: Vec::new() }
    }

    /// Whether messages are taken.
    pub(crate) fn takes(&self) -> bool {
        !matches!(self.phase, Phase::Leaving { .. })
    }

    /// The number as of which the instance is here, if a part said it.
    pub(crate) fn as_of(&self, instance: ObjectInstanceHandle) -> u64 {
        let at = self.as_of.partition_point(|&(until, _)| until < instance);
        self.as_of.get(at).map_or(0, |&(_, number)| number)
    }
}

/// A federate of another node, as far as this node's federates are concerned by it.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    pub(crate) node: NodeId,
    pub(crate) subscriptions: BTreeMap<ObjectClassHandle, ClassSubscription>,
    /// Interaction classes it subscribes, and whether actively.
    pub(crate) interactions: BTreeMap<InteractionClassHandle, bool>,
}

/// What a federation execution on one node knows of the others.
#[derive(Debug)]
pub(crate) struct Remote {
    execution: ExecutionId,
    /// Extensions of the object model that are known here.
    pub(crate) model: u32,
    /// The latest federate that is known here.
    pub(crate) latest: FederateHandle,
    pub(crate) spoken: BTreeMap<PublishedClass, Outbound>,
    pub(crate) followed: BTreeMap<(PublishedClass, NodeId), Following>,
    /// What federates of this node subscribe.
    pub(crate) covered: BTreeSet<PublishedClass>,
    /// Interests declared to the routers.
    pub(crate) interested: BTreeSet<PublishedClass>,
    pub(crate) publishers: BTreeMap<PublishedClass, BTreeSet<NodeId>>,
    pub(crate) declared: BTreeMap<FederateHandle, Elsewhere>,
    /// Instances that other nodes said to be deleted.
    pub(crate) buried: Buried,
    /// A replica is no longer known by a federate: a stream that is not covered may be at its end.
    pub(crate) loosened: bool,
}

impl Remote {
    pub(crate) fn new(execution: ExecutionId, model: u32, latest: FederateHandle) -> Self {
        Self {
            execution,
            model,
            latest,
            spoken: BTreeMap::new(),
            followed: BTreeMap::new(),
            covered: BTreeSet::new(),
            interested: BTreeSet::new(),
            publishers: BTreeMap::new(),
            declared: BTreeMap::new(),
            buried: Buried::default(),
            loosened: false,
        }
    }

    pub(crate) fn topic(&self, what: PublishedClass) -> NetTopic {
        NetTopic::new(self.execution, what)
    }

    /// Whether the control plane has come as far here as at the sender of what has this head.
    pub(crate) fn is_ready(&self, head: Head) -> bool {
        head.model <= self.model && head.federate <= self.latest
    }

    /// The head of something that mentions `federate`.
    pub(crate) fn head(&self, federate: FederateHandle) -> Head {
        Head { model: self.model, federate }
    }
}
