//! Work in slices: what concerns more instances than one turn has time for.

use super::objects::Objects;
use crate::effect::Effects;
use hla::handle::FederateHandle;
use router::ClientId;

impl Objects {
    /// Whether [`Objects::work`] would do something. Discoveries wait for a federate that is `congested`: that has
    /// enough callbacks to take.
    pub(crate) fn has_work(&self, congested: impl Fn(ClientId) -> bool) -> bool {
        !self.resignations.is_empty() || self.next_review(congested).is_some()
    }

    /// Whether anything is left to be done, now or once a federate has taken its callbacks.
    pub(crate) fn is_settled(&self) -> bool {
        self.resignations.is_empty() && self.reviews.is_empty()
    }

    /// Does one slice. Reviews and resignations take turns, so that neither waits for all of the other.
    pub(crate) fn work(&mut self, effects: &mut Effects, congested: impl Fn(ClientId) -> bool) {
        let review = self.next_review(congested);
        self.resignations_next = !self.resignations_next;
        match review {
            Some(who) if self.resignations.is_empty() || !self.resignations_next => {
                self.continue_review(effects, who);
            }
            _ => self.continue_resignations(effects),
        }
    }

    fn next_review(&self, congested: impl Fn(ClientId) -> bool) -> Option<FederateHandle> {
        self.reviews.next(|who| self.federates.get(&who).is_some_and(|f| !congested(f.client)))
    }
}
