//! The state of streams: those of this node, and those that it follows.

use super::stream::Inbound;
use crate::control::NodeId;
use base::Moment;
use bytes::Bytes;
use hla::handle::ObjectInstanceHandle;
use std::collections::BTreeSet;

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

/// A stream of this node: what it appends about one class.
#[derive(Debug)]
pub(crate) struct Outbound {
    /// This node publishes it.
    pub(crate) open: bool,
    /// It was advertised to the routers.
    pub(crate) advertised: bool,
    /// Number of the last message, over all times that it was open.
    pub(crate) last: u64,
    /// The last number before it was opened; `None` when something happened since that was not appended.
    pub(crate) began: Option<u64>,
    pub(crate) beginning: Beginning,
    /// Nodes that have asked for the beginning since it was opened. They do not get it twice.
    pub(crate) served: BTreeSet<NodeId>,
    pub(crate) followers: BTreeSet<NodeId>,
    /// Announcements of the high-water mark since the last message.
    pub(crate) announced: u8,
    pub(crate) appended_at: Moment,
}

impl Default for Outbound {
    fn default() -> Self {
        Self {
            open: false,
            advertised: false,
            last: 0,
            began: None,
            beginning: Beginning::Over,
            served: BTreeSet::new(),
            followers: BTreeSet::new(),
            announced: 0,
            appended_at: Moment::ZERO,
        }
    }
}

impl Outbound {
    /// Whether events are appended: there are followers, or nodes that may ask for the beginning.
    pub(crate) fn is_needed(&self) -> bool {
        !self.followers.is_empty() || self.beginning != Beginning::Over
    }
}

/// How far this node is with following a stream.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Asked for; nothing came yet.
    Asked,
    /// The other node publishes nothing about it yet, although the control plane here knows so already: ask again later.
    Refused { again: Moment },
    /// Instances come in parts; those up to `until` are here.
    Snapshot {
        until: ObjectInstanceHandle,
        /// Messages about instances after `until`, received since the next part was asked for.
        deferred: Vec<(u64, Bytes)>,
    },
    /// All there.
    Live,
    /// Nothing is taken any longer. The node is asked again (with `fresh`, for the beginning) only when it has acknowledged
    /// that this node no longer follows, and the replicas here are forgotten.
    Leaving { fresh: bool, acknowledged: bool, forgotten: bool },
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
