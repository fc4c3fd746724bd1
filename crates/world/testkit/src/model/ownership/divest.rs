//! Divestitures, and transfers to the federate that has waited longest.

use super::{Callback, Callbacks, Divestiture, OwnershipModel, State, Tag};

/// An object instance, and one of its attributes.
pub(super) type Place = (usize, usize);

impl OwnershipModel {
    /// The owner gives an attribute up at once. The federate that has waited longest gets it; if nobody
    /// waits, it is offered.
    pub(super) fn divest(&mut self, place: Place, tag: Tag, told: &mut Callbacks) {
        if !self.state(place).acquirers.is_empty() {
            return self.transfer(place, tag, told);
        }
        self.offer(place, tag, told);
        let state = self.state(place);
        (state.owner, state.divesting) = (None, None);
    }

    /// The owner keeps the attribute until it has confirmed that a certain federate gets it.
    pub(super) fn negotiate(&mut self, place: Place, tag: Tag, told: &mut Callbacks) {
        self.state(place).divesting = Some(Divestiture { confirming: false });
        self.state(place).offered = Some(tag);
        if self.state(place).acquirers.is_empty() {
            self.offer(place, tag, told);
        } else {
            self.ask_to_confirm(place, told);
        }
    }

    /// Offers an attribute to all federates but its owner that publish it.
    fn offer(&mut self, place: Place, tag: Tag, told: &mut Callbacks) {
        let owner = self.state(place).owner;
        self.state(place).offered = Some(tag);
        let (instance, at) = place;
        let eligible = self
            .published
            .iter()
            .filter(|(federate, published)| Some(**federate) != owner && published.contains(&at));
        told.extend(eligible.map(|(&federate, _)| (federate, Callback::Assumption(instance, at, tag))));
    }

    /// Asks a divesting owner to confirm, once, that the first of the waiting federates gets the
    /// attribute.
    pub(super) fn ask_to_confirm(&mut self, place: Place, told: &mut Callbacks) {
        let state = self.state(place);
        let (Some(owner), Some(first)) = (state.owner, state.acquirers.first().copied()) else { return };
        let Some(divesting) = &mut state.divesting else { return };
        if !std::mem::replace(&mut divesting.confirming, true) {
            told.push((owner, Callback::Confirmation(place.0, place.1, first.tag)));
        }
    }

    /// The federate that has waited longest gets the attribute. Those that wait with a pending
    /// acquisition ask the new owner; those that wanted it only while it was available do not get
    /// it.
    pub(super) fn transfer(&mut self, place: Place, tag: Tag, told: &mut Callbacks) {
        let (instance, at) = place;
        let state = self.state(place);
        if state.acquirers.is_empty() {
            return;
        }
        let first = state.acquirers.remove(0);
        let others = std::mem::take(&mut state.acquirers);
        *state = State { owner: Some(first.federate), ..State::default() };
        told.push((first.federate, Callback::Acquired(instance, at, tag)));
        for other in others {
            if other.pending {
                self.state(place).acquirers.push(other);
                told.push((first.federate, Callback::Release(instance, at, other.tag)));
            } else {
                told.push((other.federate, Callback::Unavailable(instance, at, tag)));
            }
        }
    }

    /// Whether somebody waits for an attribute.
    pub(super) fn is_wanted(&mut self, place: Place) -> bool {
        !self.state(place).acquirers.is_empty()
    }

    /// The owner keeps an attribute that it has been divesting. Pending acquirers ask it to release
    /// the attribute, as they would have without the divestiture.
    pub(super) fn cancel_negotiated(&mut self, place: Place, told: &mut Callbacks) {
        let (instance, at) = place;
        let state = self.state(place);
        (state.divesting, state.offered) = (None, None);
        let Some(owner) = state.owner else { return };
        let (pending, willing): (Vec<_>, Vec<_>) = state.acquirers.iter().partition(|a| a.pending);
        state.acquirers = pending;
        told.extend(state.acquirers.iter().map(|a| (owner, Callback::Release(instance, at, a.tag))));
        let unavailable = Callback::Unavailable(instance, at, super::NO_TAG);
        told.extend(willing.iter().map(|a| (a.federate, unavailable)));
    }
}
