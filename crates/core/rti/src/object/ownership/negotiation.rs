//! The negotiation about one attribute of an instance, as its home decides it: a divesting owner,
//! and the federates that want to acquire the attribute.
//!
//! A negotiation is a state machine without side effects. It adds its decisions to [`Decisions`],
//! which combines those about several attributes.

use super::super::regions::RegionsOfAttributes;
use crate::wire::{Delivery, NoticeKind, OwnedAttribute, OwnershipDecision, RegionSet};
use base::Moment;
use bytes::Bytes;
use hla::handle::{AttributeHandle, FederateHandle};
use serde::{Deserialize, Serialize};

/// A federate that wants to own an attribute.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Acquirer {
    pub(crate) federate: FederateHandle,
    /// The number of its request.
    pub(crate) number: u64,
    /// It has requested the owner to release the attribute (7.8), and not only asked whether the
    /// attribute is available (7.9).
    pub(crate) is_pending: bool,
    pub(crate) tag: Bytes,
    pub(crate) delivery: Delivery,
    /// The regions that it had associated with the attribute.
    pub(crate) regions: RegionSet,
    /// When its request arrived.
    #[serde(skip)]
    pub(crate) since: Moment,
}

/// A negotiated divestiture (7.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Divesting {
    /// The owner was requested to confirm it (7.5).
    pub(crate) is_confirming: bool,
    #[serde(skip)]
    pub(crate) since: Moment,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Negotiation {
    pub(crate) divesting: Option<Divesting>,
    /// In the order in which they came.
    pub(crate) acquirers: Vec<Acquirer>,
}

/// An attribute and its owner; invalid for none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) attribute: AttributeHandle,
    pub(crate) owner: FederateHandle,
}

impl Negotiation {
    /// Whether nothing is negotiated.
    pub(super) fn is_over(&self) -> bool {
        self.divesting.is_none() && self.acquirers.is_empty()
    }

    /// The owner gives the attribute up at once (7.2). The federate that has waited longest gets
    /// it. If nobody waits, it is offered.
    pub(super) fn divest(&mut self, place: Place, tag: &Bytes, out: &mut Decisions) {
        if !self.acquirers.is_empty() {
            return self.transfer(place, tag, out);
        }
        self.divesting = None;
        out.divested(place, tag);
    }

    /// The owner keeps the attribute until it has confirmed that another federate gets it (7.3).
    pub(super) fn negotiate(&mut self, place: Place, tag: &Bytes, now: Moment, out: &mut Decisions) {
        self.divesting = Some(Divesting { is_confirming: false, since: now });
        out.offer(place, tag, self.acquirers.is_empty());
        self.request_confirmation(place, out);
    }

    /// The owner keeps an attribute that it has been divesting (7.14). Pending acquirers request
    /// its release, as they would have without the divestiture.
    pub(super) fn cancel_negotiated(&mut self, place: Place, out: &mut Decisions) {
        self.divesting = None;
        out.withdraw(place);
        for acquirer in std::mem::take(&mut self.acquirers) {
            if acquirer.is_pending {
                out.notice(place.owner, NoticeKind::ReleaseRequested, place, &acquirer.tag);
                self.acquirers.push(acquirer);
            } else {
                out.unavailable(&acquirer, place, &Bytes::new());
            }
        }
    }

    /// A federate wants the attribute, and asks its owner for it if there is one (7.8).
    pub(super) fn acquire(&mut self, place: Place, acquirer: Acquirer, out: &mut Decisions) {
        let tag = acquirer.tag.clone();
        match self.acquirers.iter_mut().find(|known| known.federate == acquirer.federate) {
            // A second request changes nothing.
            Some(known) if known.is_pending => return,
            Some(known) => *known = Acquirer { since: known.since, ..acquirer },
            None => self.acquirers.push(acquirer),
        }
        if !place.owner.is_valid() {
            self.transfer(place, &Bytes::new(), out);
        } else if self.divesting.is_some() {
            self.request_confirmation(place, out);
        } else {
            out.notice(place.owner, NoticeKind::ReleaseRequested, place, &tag);
        }
    }

    /// A federate wants the attribute if its owner need not be bothered (7.9).
    pub(super) fn acquire_if_available(&mut self, place: Place, acquirer: Acquirer, out: &mut Decisions) {
        if self.acquirers.iter().any(|known| known.federate == acquirer.federate) {
            return;
        }
        if place.owner.is_valid() && self.divesting.is_none() {
            return out.unavailable(&acquirer, place, &acquirer.tag);
        }
        self.acquirers.push(acquirer);
        match place.owner.is_valid() {
            true => self.request_confirmation(place, out),
            false => self.transfer(place, &Bytes::new(), out),
        }
    }

    /// The owner keeps the attribute: all pending acquisitions fail (7.12).
    pub(super) fn deny_release(&mut self, place: Place, tag: &Bytes, out: &mut Decisions) {
        for acquirer in self.acquirers.extract_if(.., |acquirer| acquirer.is_pending) {
            out.unavailable(&acquirer, place, tag);
        }
        self.reopen();
    }

    /// A federate no longer wants the attribute. Returns whether it did.
    pub(super) fn forget(&mut self, federate: FederateHandle) -> bool {
        let before = self.acquirers.len();
        self.acquirers.retain(|acquirer| acquirer.federate != federate);
        self.reopen();
        self.acquirers.len() < before
    }

    /// The federate that has waited longest gets the attribute. Those that wait with a pending
    /// acquisition ask the new owner; those that wanted it only while it was available do not get
    /// it.
    pub(super) fn transfer(&mut self, place: Place, tag: &Bytes, out: &mut Decisions) {
        let mut waiting = std::mem::take(&mut self.acquirers).into_iter();
        let Some(first) = waiting.next() else { return };
        self.divesting = None;
        out.acquired(place, first.federate, tag, first.delivery);
        out.regions.push((place.attribute, first.regions));
        for other in waiting {
            if other.is_pending {
                out.notice(first.federate, NoticeKind::ReleaseRequested, place, &other.tag);
                self.acquirers.push(other);
            } else {
                out.unavailable(&other, place, tag);
            }
        }
    }

    /// Requests a divesting owner to confirm, once, that the first of the waiting federates gets
    /// the attribute.
    fn request_confirmation(&mut self, place: Place, out: &mut Decisions) {
        let (Some(divesting), Some(first)) = (&mut self.divesting, self.acquirers.first()) else { return };
        if !std::mem::replace(&mut divesting.is_confirming, true) {
            out.notice(place.owner, NoticeKind::ConfirmationRequested, place, &first.tag);
        }
    }

    /// Without acquirers a divestiture continues, and its owner is asked again when one comes.
    fn reopen(&mut self) {
        if self.acquirers.is_empty()
            && let Some(divesting) = &mut self.divesting
        {
            divesting.is_confirming = false;
        }
    }
}

/// Decisions about one instance. Those that differ only in their attributes are combined.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    list: Vec<OwnershipDecision>,
    /// Attributes that change their owners, with the new owners' regions.
    pub(super) regions: RegionsOfAttributes,
}

impl Decisions {
    /// All of them: first the changes of owners, then the offers, and then the notices,
    /// which presuppose both.
    pub(super) fn into_list(mut self) -> Vec<OwnershipDecision> {
        self.list.sort_by_key(|decision| match decision {
            OwnershipDecision::Acquired { .. } | OwnershipDecision::Divested { .. } => 0,
            OwnershipDecision::Withdrawn { .. } | OwnershipDecision::Offered { .. } => 1,
            OwnershipDecision::Notice { .. } | OwnershipDecision::Answered { .. } => 2,
        });
        self.list
    }

    fn divested(&mut self, place: Place, given: &Bytes) {
        for decision in &mut self.list {
            if let OwnershipDecision::Divested { owner, attributes, tag } = decision
                && (*owner, &*tag) == (place.owner, given)
            {
                return attributes.push(place.attribute);
            }
        }
        let (owner, tag) = (place.owner, given.clone());
        self.list.push(OwnershipDecision::Divested { owner, attributes: vec![place.attribute], tag });
    }

    fn acquired(&mut self, place: Place, new: FederateHandle, given: &Bytes, delivery: Delivery) {
        let more = OwnedAttribute { attribute: place.attribute, delivery };
        for decision in &mut self.list {
            if let OwnershipDecision::Acquired { from, to, attributes, tag } = decision
                && (*from, *to, &*tag) == (place.owner, new, given)
            {
                return attributes.push(more);
            }
        }
        let (from, to, tag) = (place.owner, new, given.clone());
        self.list.push(OwnershipDecision::Acquired { from, to, attributes: vec![more], tag });
    }

    fn offer(&mut self, place: Place, given: &Bytes, is_announced: bool) {
        for decision in &mut self.list {
            if let OwnershipDecision::Offered { owner, attributes, tag, announced } = decision
                && (*owner, &*tag, *announced) == (place.owner, given, is_announced)
            {
                return attributes.push(place.attribute);
            }
        }
        self.list.push(OwnershipDecision::Offered {
            owner: place.owner,
            attributes: vec![place.attribute],
            tag: given.clone(),
            announced: is_announced,
        });
    }

    fn withdraw(&mut self, place: Place) {
        for decision in &mut self.list {
            if let OwnershipDecision::Withdrawn { attributes } = decision {
                return attributes.push(place.attribute);
            }
        }
        self.list.push(OwnershipDecision::Withdrawn { attributes: vec![place.attribute] });
    }

    fn unavailable(&mut self, acquirer: &Acquirer, place: Place, tag: &Bytes) {
        self.numbered_notice((acquirer.federate, acquirer.number), NoticeKind::Unavailable, place, tag);
    }

    pub(super) fn notice(&mut self, receiver: FederateHandle, kind: NoticeKind, place: Place, tag: &Bytes) {
        self.numbered_notice((receiver, 0), kind, place, tag);
    }

    fn numbered_notice(
        &mut self,
        (receiver, request): (FederateHandle, u64),
        of: NoticeKind,
        place: Place,
        given: &Bytes,
    ) {
        for decision in &mut self.list {
            if let OwnershipDecision::Notice { to, kind, number, attributes, tag } = decision
                && (*to, *kind, *number, &*tag) == (receiver, of, request, given)
            {
                return attributes.push(place.attribute);
            }
        }
        self.list.push(OwnershipDecision::Notice {
            to: receiver,
            kind: of,
            number: request,
            attributes: vec![place.attribute],
            tag: given.clone(),
        });
    }
}
