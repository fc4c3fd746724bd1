//! The logical time of a federate for people, with the federates that it waits for.

use super::TimeManager;
use super::bound::Bound;
use super::clock::Clock;
use crate::control::{NodeId, PublishedClass};
use base::Moment;
use hla::handle::FederateHandle;
use std::collections::BTreeSet;
use std::time::Duration;

/// A reason why a node waits for others, beside federates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// It grants nothing more until the time home has the answers of all nodes.
    Recalled(Option<NodeId>),
    /// This node has not answered. Only the time home knows.
    Unanswered(NodeId),
    /// Messages that must arrive first: the number of the last one that has, and of the last one
    /// that must.
    Stream { class: PublishedClass, node: NodeId, arrived: u64, sent: u64 },
    /// A message with this time stamp, sent from here or elsewhere, may not have arrived everywhere.
    Message { time: String, from_here: bool },
}

/// The state of one federate in logical time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ClockStatus {
    pub(crate) time: String,
    /// The actual lookahead, if the federate regulates time.
    pub(crate) lookahead: Option<String>,
    pub(crate) constrained: bool,
    /// The request that it waits for.
    pub(crate) pending: Option<String>,
    pub(crate) galt: Option<String>,
    pub(crate) lits: Option<String>,
    pub(crate) queued: usize,
    /// How long its request, or the time after its last grant, has lasted.
    pub(crate) lasts: Duration,
    /// The federates that hold it up: the first holds up the federate, the second the first, and so
    /// on.
    pub(crate) waits_for: Vec<FederateHandle>,
    pub(crate) reasons: Vec<Reason>,
}

impl Clock {
    fn pending(&self) -> Option<String> {
        if self.constraint_pending {
            return Some("Enable Time Constrained".to_owned());
        }
        if self.entering.is_some() {
            return Some("Enable Time Regulation".to_owned());
        }
        self.advancing.map(|(service, to)| format!("{} to {to}", service.name()))
    }
}

impl TimeManager {
    /// The state of a federate; `None` if it has never used time management.
    pub(crate) fn status(&self, federate: FederateHandle, now: Moment) -> Option<ClockStatus> {
        let clock = self.clocks.get(&federate)?;
        let text = |time: Option<_>| time.map(|time: hla::time::LogicalTime| time.to_string());
        Some(ClockStatus {
            time: clock.time.to_string(),
            lookahead: self.query_lookahead(federate).ok().map(|lookahead| lookahead.to_string()),
            constrained: clock.constrained,
            pending: clock.pending(),
            galt: text(self.query_galt(federate)),
            lits: text(self.query_lits(federate)),
            queued: clock.queued().0,
            lasts: now.since(clock.since),
            waits_for: self.chain(federate),
            reasons: self.reasons(clock),
        })
    }

    /// The federate here that holds up others most: the one with the least time stamp that it may
    /// still send.
    pub(crate) fn least(&self) -> Option<FederateHandle> {
        self.bounds.summary().least().map(|(_, federate)| federate)
    }

    fn reasons(&self, clock: &Clock) -> Vec<Reason> {
        let waits = clock.entered_need.is_some() || clock.advancing.is_some() || clock.entering.is_some();
        let least = self.summary().least().map_or(Bound::INFINITE, |(bound, _)| bound);
        let network = self.network.as_ref().filter(|_| waits);
        network.map_or_else(Vec::new, |network| network.reasons(self.kind, least))
    }

    /// The federates that hold up a waiting federate. The chain ends at one that does not wait
    /// itself: of federates that all wait, the one with the least request is granted.
    fn chain(&self, federate: FederateHandle) -> Vec<FederateHandle> {
        let mut chain = Vec::new();
        let mut seen = BTreeSet::from([federate]);
        let mut last = federate;
        while self.clocks.get(&last).is_some_and(|clock| clock.entered_need.is_some())
            && let Some(holder) = self.summary().holder(last)
            && seen.insert(holder)
        {
            chain.push(holder);
            last = holder;
        }
        chain
    }
}
