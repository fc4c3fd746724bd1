//! The logical time of a federate for people, with the federates that it waits for.

use super::TimeManager;
use super::clock::Clock;
use hla::handle::FederateHandle;
use std::collections::BTreeSet;

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
    /// The federates that hold it up: the first holds up the federate, the second the first, and so
    /// on.
    pub(crate) waits_for: Vec<FederateHandle>,
}

impl Clock {
    fn pending(&self) -> Option<String> {
        if self.constraint_pending {
            return Some("Enable Time Constrained".to_owned());
        }
        self.advancing.map(|(service, to)| format!("{} to {to}", service.name()))
    }
}

impl TimeManager {
    /// The state of a federate; `None` if it has never used time management.
    pub(crate) fn status(&self, federate: FederateHandle) -> Option<ClockStatus> {
        let clock = self.clocks.get(&federate)?;
        let text = |time: Option<_>| time.map(|time: hla::time::LogicalTime| time.to_string());
        Some(ClockStatus {
            time: clock.time.to_string(),
            lookahead: self.query_lookahead(federate).ok().map(|lookahead| lookahead.to_string()),
            constrained: clock.constrained,
            pending: clock.pending(),
            galt: text(self.query_galt(federate)),
            lits: text(self.query_lits(federate)),
            queued: clock.queue.len(),
            waits_for: self.chain(federate),
        })
    }

    /// The federates that hold up a waiting federate. The chain ends at one that does not wait
    /// itself: of federates that all wait, the one with the least request is granted.
    fn chain(&self, federate: FederateHandle) -> Vec<FederateHandle> {
        let mut chain = Vec::new();
        let mut seen = BTreeSet::from([federate]);
        let mut last = federate;
        while self.clocks.get(&last).is_some_and(|clock| clock.entered_need.is_some())
            && let Some(holder) = self.bounds.holder(last)
            && seen.insert(holder)
        {
            chain.push(holder);
            last = holder;
        }
        chain
    }
}
