//! Work in slices: tasks on more instances than fit into one turn.

use super::objects::Objects;
use crate::control::ControlPlane;
use crate::effect::Effects;
use hla::handle::FederateHandle;
use router::ClientId;

/// The kinds of work. They take turns, so that none waits for all of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Reviews of changed subscriptions.
    Reviews,
    /// Instances with moved update regions.
    MovedRegions,
    /// Reviews of moved subscription regions.
    RegionReviews,
    /// Requests for the values of a class.
    ClassRequests,
    /// Advisories to owners after changed subscriptions of other nodes.
    Relevance,
    /// Owners that have turned their advisories on.
    StartingRelevance,
    /// Attributes that are no longer published.
    Divestitures,
    /// Offers to federates that publish more attributes than before.
    Offers,
    /// Federates that are leaving.
    Resignations,
    /// Nodes that are lost.
    Losses,
    /// Replicas whose stream is no longer followed.
    Forgotten,
    /// Names that nobody has.
    Names,
}

impl Kind {
    const ALL: [Self; 12] = [
        Self::Reviews,
        Self::MovedRegions,
        Self::RegionReviews,
        Self::ClassRequests,
        Self::Relevance,
        Self::StartingRelevance,
        Self::Divestitures,
        Self::Offers,
        Self::Resignations,
        Self::Losses,
        Self::Forgotten,
        Self::Names,
    ];
}

impl Objects {
    /// Whether [`Objects::work`] would do something. Discoveries wait while their federate is
    /// `congested`, that is, has enough callbacks to process.
    pub(crate) fn has_work(&self, congested: impl Fn(ClientId) -> bool) -> bool {
        self.next_work(congested).is_some()
    }

    /// Whether no work is left, neither now nor after a federate has taken its callbacks.
    pub(crate) fn is_settled(&self) -> bool {
        Kind::ALL.iter().all(|&kind| !self.is_left(kind))
    }

    /// Processes one slice. `control` supplies names and nodes.
    pub(crate) fn work(
        &mut self,
        effects: &mut Effects,
        control: &ControlPlane,
        congested: impl Fn(ClientId) -> bool,
    ) {
        let Some(kind) = self.next_work(&congested) else { return };
        self.last_work = kind;
        let names = control.execution(self.id).map(|federation| &federation.names);
        match kind {
            Kind::Reviews => {
                if let Some(federate) = self.next_review(congested) {
                    self.continue_review(effects, federate);
                }
            }
            Kind::MovedRegions => self.continue_moved_regions(effects),
            Kind::RegionReviews => self.continue_region_reviews(effects, congested),
            Kind::ClassRequests => self.continue_class_requests(effects, congested),
            Kind::Relevance => self.continue_relevance(effects, congested),
            Kind::StartingRelevance => self.continue_starting_relevance(effects),
            Kind::Divestitures => self.continue_divestitures(effects),
            Kind::Offers => self.continue_offers(effects, congested),
            Kind::Resignations => self.continue_resignations(effects),
            Kind::Losses => self.continue_losses(effects, names),
            Kind::Forgotten => self.continue_forgetting(effects),
            Kind::Names => self.continue_names(effects, control),
        }
    }

    /// The kind whose turn is next among those that can do something now.
    fn next_work(&self, congested: impl Fn(ClientId) -> bool) -> Option<Kind> {
        let last = Kind::ALL.iter().position(|&kind| kind == self.last_work).unwrap_or_default();
        let (before, after) = Kind::ALL.split_at(last + 1);
        let ready = |kind| match kind {
            Kind::Reviews => self.next_review(&congested).is_some(),
            Kind::RegionReviews => self.can_review_regions(&congested),
            Kind::ClassRequests => self.can_continue_class_requests(&congested),
            Kind::Relevance => self.can_continue_relevance(&congested),
            Kind::Divestitures => self.can_continue_divestitures(),
            Kind::Offers => self.can_continue_offers(&congested),
            Kind::MovedRegions
            | Kind::StartingRelevance
            | Kind::Resignations
            | Kind::Losses
            | Kind::Forgotten
            | Kind::Names => self.is_left(kind),
        };
        after.iter().chain(before).copied().find(|&kind| ready(kind))
    }

    fn is_left(&self, kind: Kind) -> bool {
        match kind {
            Kind::Reviews => !self.reviews.is_empty(),
            Kind::MovedRegions => !self.moved_regions.is_empty(),
            Kind::RegionReviews => !self.region_reviews.is_empty(),
            Kind::ClassRequests => !self.class_requests.is_empty(),
            Kind::Relevance => !self.relevance_reviews.is_empty(),
            Kind::StartingRelevance => self.relevance_reviews.is_starting(),
            Kind::Divestitures => !self.divestitures.is_empty(),
            Kind::Offers => self.offers.has_work(),
            Kind::Resignations => !self.resignations.is_empty(),
            Kind::Losses => !self.losses.is_empty(),
            Kind::Forgotten => !self.forgotten.is_empty(),
            Kind::Names => self.names_after.is_some(),
        }
    }

    fn next_review(&self, congested: impl Fn(ClientId) -> bool) -> Option<FederateHandle> {
        self.reviews.next(|federate| self.federates.get(&federate).is_some_and(|f| !congested(f.client)))
    }
}
