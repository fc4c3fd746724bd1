//! The changes that results tell of, while the results themselves are not used yet or are passed over.

use super::message::{Accounted, MergedReports, SentPosition};
use crate::control::{NodeId, PublishedClass};

/// The changes that unused results have told of.
#[derive(Debug, Default)]
pub(super) struct Carried {
    sent: Vec<(PublishedClass, NodeId, SentPosition)>,
    accounted: Vec<(PublishedClass, Accounted)>,
    participants: Vec<NodeId>,
}

impl Carried {
    /// Adds a later result.
    pub(super) fn absorb(&mut self, result: MergedReports) {
        self.sent.extend(result.sent);
        self.accounted.extend(result.accounted);
        if !result.participants.is_empty() {
            self.participants = result.participants;
        }
    }
}

impl From<MergedReports> for Carried {
    fn from(result: MergedReports) -> Self {
        let MergedReports { sent, accounted, participants, .. } = result;
        Self { sent, accounted, participants }
    }
}

impl MergedReports {
    /// Adds the changes that earlier results have told of.
    pub(super) fn complete(&mut self, earlier: Carried) {
        self.sent.extend(earlier.sent);
        let later = std::mem::replace(&mut self.accounted, earlier.accounted);
        self.accounted.extend(later);
        if self.participants.is_empty() {
            self.participants = earlier.participants;
        }
    }
}
