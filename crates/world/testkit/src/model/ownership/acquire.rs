//! Acquisitions, refusals and cancellations.

use super::divest::Place;
use super::{Acquirer, Callback, Callbacks, NO_TAG, OwnershipModel, Tag};
use hla::handle::FederateHandle;

impl OwnershipModel {
    /// A federate wants an attribute, and asks its owner for it if there is one.
    pub(super) fn acquire(&mut self, place: Place, federate: FederateHandle, tag: Tag, told: &mut Callbacks) {
        let state = self.state(place);
        let (owner, is_divesting) = (state.owner, state.divesting.is_some());
        match state.acquirers.iter_mut().find(|acquirer| acquirer.federate == federate) {
            // A second request changes nothing.
            Some(known) if known.pending => return,
            Some(known) => (known.pending, known.tag) = (true, tag),
            None => state.acquirers.push(Acquirer { federate, pending: true, tag }),
        }
        match owner {
            None => self.transfer(place, NO_TAG, told),
            Some(_) if is_divesting => self.ask_to_confirm(place, told),
            Some(owner) => told.push((owner, Callback::Release(place.0, place.1, tag))),
        }
    }

    /// A federate wants an attribute if its owner need not be bothered.
    pub(super) fn acquire_if_available(
        &mut self,
        place: Place,
        federate: FederateHandle,
        tag: Tag,
        told: &mut Callbacks,
    ) {
        let state = self.state(place);
        if state.acquirers.iter().any(|acquirer| acquirer.federate == federate) {
            return;
        }
        if state.owner.is_some() && state.divesting.is_none() {
            return told.push((federate, Callback::Unavailable(place.0, place.1, tag)));
        }
        let is_owned = state.owner.is_some();
        state.acquirers.push(Acquirer { federate, pending: false, tag });
        match is_owned {
            true => self.ask_to_confirm(place, told),
            false => self.transfer(place, NO_TAG, told),
        }
    }

    /// The owner keeps the attribute: all pending acquisitions fail.
    pub(super) fn deny(&mut self, place: Place, tag: Tag, told: &mut Callbacks) {
        let state = self.state(place);
        let (pending, willing): (Vec<_>, Vec<_>) = state.acquirers.iter().partition(|a| a.pending);
        state.acquirers = willing;
        let unavailable = Callback::Unavailable(place.0, place.1, tag);
        told.extend(pending.iter().map(|acquirer| (acquirer.federate, unavailable)));
        self.confirm_no_more(place);
    }

    /// A federate no longer wants an attribute that it has not got.
    pub(super) fn cancel_acquisition(
        &mut self,
        place: Place,
        federate: FederateHandle,
        told: &mut Callbacks,
    ) {
        self.forget_acquirer(place, federate);
        told.push((federate, Callback::CancellationConfirmed(place.0, place.1)));
    }

    /// Ends the wish of a federate, without telling it.
    pub(super) fn forget_acquirer(&mut self, place: Place, federate: FederateHandle) {
        self.state(place).acquirers.retain(|acquirer| acquirer.federate != federate);
        self.confirm_no_more(place);
    }

    /// Without acquirers a divestiture continues, and its owner is asked again when one comes.
    fn confirm_no_more(&mut self, place: Place) {
        let state = self.state(place);
        if state.acquirers.is_empty()
            && let Some(divesting) = &mut state.divesting
        {
            divesting.confirming = false;
        }
    }
}
