//! The state of streams: those of this node, and those that it follows.

use super::stream::{BufferTotal, BufferedBytes, Inbound};
use crate::control::NodeId;
use crate::object::reduction::Reduction;
use crate::object::wanted::{Wanted, WantedInteractions};
use base::Moment;
use bytes::Bytes;
use hla::handle::ObjectInstanceHandle;
use std::collections::BTreeSet;

/// How long the beginning of a stream is kept for nodes that have yet to learn of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beginning {
    /// At least until this node's publication has been committed to the control plane.
    Pending,
    /// Until a timer ends it.
    Kept,
    /// No longer.
    Retired,
}

/// A stream of this node: the events that it appends about one class.
#[derive(Debug)]
pub(crate) struct Outbound {
    /// Whether this node publishes the class now.
    pub(crate) open: bool,
    /// The number of the proposal that last opened or ended it, among those of this node.
    pub(crate) proposed: u64,
    /// Whether it was advertised to the routers.
    pub(crate) advertised: bool,
    /// Number of the last message. It continues when the stream is opened again.
    pub(crate) last: u64,
    /// The last number before the stream was opened; `None` if an event since then was not
    /// appended.
    pub(crate) began: Option<u64>,
    pub(crate) beginning: Beginning,
    /// Nodes that have received the beginning since the stream was opened. They do not get it
    /// twice.
    pub(crate) served: BTreeSet<NodeId>,
    pub(crate) followers: BTreeSet<NodeId>,
    pub(super) wanted: Wanted,
    pub(super) wanted_interactions: WantedInteractions,
    /// When values that are wanted at a reduced rate were last sent.
    pub(super) reduction: Reduction,
    /// Number of announcements of the high-water mark since the last message.
    pub(crate) announced: u8,
    pub(crate) appended_at: Moment,
}

impl Default for Outbound {
    fn default() -> Self {
        Self {
            open: false,
            proposed: 0,
            advertised: false,
            last: 0,
            began: None,
            beginning: Beginning::Retired,
            served: BTreeSet::new(),
            followers: BTreeSet::new(),
            wanted: Wanted::default(),
            wanted_interactions: WantedInteractions::default(),
            reduction: Reduction::default(),
            announced: 0,
            appended_at: Moment::ZERO,
        }
    }
}

impl Outbound {
    /// Whether events are appended: there are followers, or nodes that may ask for the beginning.
    pub(crate) fn is_needed(&self) -> bool {
        !self.followers.is_empty() || self.beginning != Beginning::Retired
    }
}

/// The progress of following a stream.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Requested; no answer yet.
    Asked,
    /// The other node does not publish the class yet, although the control plane here already says
    /// so. The request is repeated later.
    Refused { again: Moment },
    /// Instances arrive in parts. Those up to `until` are here.
    Snapshot {
        until: ObjectInstanceHandle,
        /// Messages about instances after `until` that were received since the next part was
        /// requested.
        deferred: Deferred,
    },
    /// All instances are here, and messages are delivered.
    Live,
    /// Nothing is accepted any longer. The node is asked again (with `fresh`, for the beginning)
    /// only when it has acknowledged that this node no longer follows and the replicas here are
    /// forgotten.
    Leaving { fresh: bool, acknowledged: bool, forgotten: bool },
}

/// Messages that wait for a part of a snapshot, with their numbers.
#[derive(Debug)]
pub(crate) struct Deferred {
    messages: Vec<(u64, Bytes)>,
    bytes: BufferedBytes,
}

impl Deferred {
    pub(crate) fn new(total: &BufferTotal) -> Self {
        Self { messages: Vec::new(), bytes: total.part() }
    }

    pub(crate) fn push(&mut self, number: u64, body: Bytes) {
        self.bytes.add(body.len());
        self.messages.push((number, body));
    }

    pub(crate) fn into_messages(self) -> Vec<(u64, Bytes)> {
        self.messages
    }
}

/// A stream of another node that is followed here.
#[derive(Debug)]
pub(crate) struct Following {
    pub(crate) phase: Phase,
    pub(crate) inbound: Inbound<Bytes>,
    /// Instances up to each handle are as of the number: they already include older messages.
    /// Ascending by handle, and empty once all of these messages were delivered.
    pub(crate) as_of: Vec<(ObjectInstanceHandle, u64)>,
}

impl Following {
    pub(crate) fn new(total: &BufferTotal) -> Self {
        Self { phase: Phase::Asked, inbound: Inbound::new(total), as_of: Vec::new() }
    }

    /// Whether messages are accepted.
    pub(crate) fn takes(&self) -> bool {
        !matches!(self.phase, Phase::Leaving { .. })
    }

    /// The number as of which the instance is here, if it came with a part of a snapshot.
    pub(crate) fn as_of(&self, instance: ObjectInstanceHandle) -> u64 {
        let at = self.as_of.partition_point(|&(until, _)| until < instance);
        self.as_of.get(at).map_or(0, |&(_, number)| number)
    }
}
