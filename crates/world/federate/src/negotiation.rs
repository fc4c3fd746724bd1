//! Negotiations about the ownership of attributes (clause 7), as futures that end in their outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::Poll;

use bytes::Bytes;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle};
use hla::{Exception, RtiError};

use crate::call::Call;
use crate::callbacks::Callbacks;
use crate::error::FederateError;
use crate::federate::Federate;

/// A negotiation about the ownership of attributes of one object instance: this federate acquires
/// them or divests itself of them.
///
/// Its first call is queued at once. [`finish`](Self::finish) then waits for the outcome. All
/// callbacks that arrive meanwhile, including those of the negotiation, go in order to the function
/// passed to it, and that function may call services.
///
/// ```no_run
/// # use federate::{Callbacks, Federate, FederateError, Negotiation};
/// # use federate::hla::handle::{AttributeHandle, ObjectInstanceHandle};
/// # async fn example(
/// #     federate: Federate, mut callbacks: Callbacks, aircraft: ObjectInstanceHandle, position: AttributeHandle,
/// # ) -> Result<(), FederateError> {
/// let mut control = Negotiation::acquire(&federate, aircraft, [position], "");
/// let outcome = control.finish(&mut callbacks, |callback| println!("{callback:?}")).await?;
/// println!("{} acquired, {} denied", outcome.transferred.len(), outcome.unavailable.len());
/// # Ok(())
/// # }
/// ```
///
/// A federate that gets its callbacks elsewhere, such as from
/// [`LogicalClock::advance`](crate::LogicalClock::advance), passes each to [`note`](Self::note) and
/// calls [`settle`](Self::settle) now and then. It can then have several negotiations at a time.
///
/// The futures of `finish` and `settle` may be dropped, for example because of a timeout: nothing
/// is lost, and the next call goes on. Dropping the negotiation itself withdraws nothing from the
/// RTI: [`cancel`](Self::cancel) it and finish it first. Until then, begin no other negotiation
/// about the same attributes.
#[must_use = "the negotiation goes on anyway, but nobody will know its outcome"]
pub struct Negotiation {
    federate: Federate,
    instance: ObjectInstanceHandle,
    goal: Goal,
    tag: Bytes,
    request: Option<Call<()>>,
    /// Attributes whose outcome is open.
    open: BTreeSet<AttributeHandle>,
    /// Attributes for which the RTI awaits Confirm Divestiture.
    unconfirmed: BTreeSet<AttributeHandle>,
    cancels: bool,
    /// Number of calls that may have ended negotiations, at this one's last look.
    ending_calls: u64,
    outcome: NegotiationOutcome,
    failure: Option<FederateError>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    Acquire,
    Divest,
}

/// The outcome of a [`Negotiation`]: each attribute is in one set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NegotiationOutcome {
    /// This federate owns them now (7.7), or no longer owns them (7.6).
    pub transferred: BTreeSet<AttributeHandle>,
    /// They were not available, or their owner denied the release (7.10).
    pub unavailable: BTreeSet<AttributeHandle>,
    /// The negotiation was cancelled before they got a new owner (7.14, 7.16).
    pub cancelled: BTreeSet<AttributeHandle>,
}

/// The owner of an attribute (7.18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A joined federate.
    Federate(FederateHandle),
    /// The RTI.
    Rti,
    /// Nobody.
    Nobody,
}

impl Negotiation {
    /// Attribute Ownership Acquisition (7.8): asks the owners to release the attributes. It ends
    /// when this federate owns each, or an owner has denied the release. Attributes without an
    /// owner are acquired at once. The federate has to publish them.
    pub fn acquire(
        federate: &Federate,
        instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Self {
        Self::start(federate, instance, Goal::Acquire, attributes, user_supplied_tag, |open, tag| {
            federate.attribute_ownership_acquisition(instance, open, tag)
        })
    }

    /// Attribute Ownership Acquisition If Available (7.9): acquires the attributes that have no
    /// owner, or that their owners are divesting; the others are unavailable. The service cannot be
    /// cancelled: the RTI answers at once, or when the divestiture ends.
    pub fn acquire_if_available(
        federate: &Federate,
        instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Self {
        Self::start(federate, instance, Goal::Acquire, attributes, user_supplied_tag, |open, tag| {
            federate.attribute_ownership_acquisition_if_available(instance, open, tag)
        })
    }

    /// Negotiated Attribute Ownership Divestiture (7.3): offers the attributes, and confirms (7.6)
    /// whenever the RTI has found a new owner (7.5). It ends when each has one. Until then this
    /// federate owns them and has to update them. The function passed to `finish` gets Request
    /// Divestiture Confirmation before the RTI gets the confirmation, so it can send the last
    /// values. The tag goes to those that are offered the attributes, and to the new owner.
    pub fn divest(
        federate: &Federate,
        instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Self {
        Self::start(federate, instance, Goal::Divest, attributes, user_supplied_tag, |open, tag| {
            federate.negotiated_attribute_ownership_divestiture(instance, open, tag)
        })
    }

    fn start(
        federate: &Federate,
        instance: ObjectInstanceHandle,
        goal: Goal,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        tag: impl Into<Bytes>,
        request: impl FnOnce(BTreeSet<AttributeHandle>, Bytes) -> Call<()>,
    ) -> Self {
        let tag = tag.into();
        let open: BTreeSet<_> = attributes.into_iter().collect();
        let ending_calls = federate.shared().lock().ending_calls;
        Self {
            federate: federate.clone(),
            instance,
            goal,
            ending_calls,
            request: Some(request(open.clone(), tag.clone())),
            tag,
            open,
            unconfirmed: BTreeSet::new(),
            cancels: false,
            outcome: NegotiationOutcome::default(),
            failure: None,
        }
    }

    /// The outcome as far as it is known.
    pub fn outcome(&self) -> &NegotiationOutcome {
        &self.outcome
    }

    /// Cancels the negotiation (7.14, 7.15) when `finish` or `settle` is called next. Attributes
    /// that have a new owner by then are transferred all the same. Cancelling a divestiture by the
    /// method of the service would not end it here, as the RTI confirms nothing.
    pub fn cancel(&mut self) {
        self.cancels = true;
    }

    /// Waits until the outcome of all attributes is known, and passes all callbacks that arrive
    /// meanwhile to `each`.
    ///
    /// # Errors
    /// The exceptions of the services of this negotiation. ObjectInstanceNotKnown or
    /// FederateNotExecutionMember if the instance is removed or the federate resigns first;
    /// `Disconnected` if the session ends first. After an error [`outcome`](Self::outcome) tells
    /// what was settled before.
    pub async fn finish(
        &mut self,
        callbacks: &mut Callbacks,
        mut each: impl FnMut(Callback),
    ) -> Result<NegotiationOutcome, FederateError> {
        while !self.settle().await? {
            if let Some(callback) = next(callbacks, self.ending_calls).await? {
                self.note(&callback);
                each(callback);
            }
        }
        Ok(self.outcome.clone())
    }

    /// Takes notice of a callback. Those that do not concern this negotiation change nothing.
    pub fn note(&mut self, callback: &Callback) {
        if let Some(failure) = failure(self.instance, callback) {
            self.failure.get_or_insert(failure);
        }
        let (instance, attributes, outcome) = match (self.goal, callback) {
            (Goal::Acquire, Callback::AttributeOwnershipAcquisitionNotification(acquired)) => {
                (acquired.object_instance, &acquired.secured_attributes, &mut self.outcome.transferred)
            }
            (Goal::Acquire, Callback::AttributeOwnershipUnavailable(denied)) => {
                (denied.object_instance, &denied.attributes, &mut self.outcome.unavailable)
            }
            (Goal::Acquire, Callback::ConfirmAttributeOwnershipAcquisitionCancellation(cancelled)) => {
                (cancelled.object_instance, &cancelled.attributes, &mut self.outcome.cancelled)
            }
            (Goal::Divest, Callback::RequestDivestitureConfirmation(asked)) => {
                (asked.object_instance, &asked.released_attributes, &mut self.unconfirmed)
            }
            _ => return,
        };
        if instance == Some(self.instance) {
            let attributes = attributes.iter().flat_map(|set| &set.attribute_handle);
            outcome.extend(attributes.filter(|&attribute| match self.goal {
                Goal::Acquire => self.open.remove(attribute),
                Goal::Divest => self.open.contains(attribute),
            }));
        }
    }

    /// Makes the calls that are due: confirmations and the cancellation. Returns whether the outcome
    /// of all attributes is known. It waits for answers to calls, but for no callbacks.
    ///
    /// # Errors
    /// See [`finish`](Self::finish).
    pub async fn settle(&mut self) -> Result<bool, FederateError> {
        if let Some(request) = &mut self.request {
            let answer = request.await;
            self.request = None;
            self.failure = answer.err().or(self.failure.take());
        }
        if let Some(failure) = self.failure.as_ref().filter(|_| !self.open.is_empty()) {
            return Err(failure.clone());
        }
        if self.cancels {
            self.call_cancellation().await?;
            self.cancels = false;
        } else if !self.unconfirmed.is_empty() {
            self.confirm().await?;
            self.unconfirmed.clear();
        }
        // The federate gets no callback for what it does itself.
        let ending_calls = self.federate.shared().lock().ending_calls;
        if ending_calls != self.ending_calls {
            self.look().await?;
            self.ending_calls = ending_calls;
        }
        Ok(self.open.is_empty())
    }

    /// Confirm Divestiture (7.6). If one of the new owners has withdrawn, the call is refused for
    /// all attributes, so each is then tried alone.
    ///
    /// The answer is the outcome: the new owner may have deleted the instance by the next call.
    async fn confirm(&mut self) -> Result<(), FederateError> {
        let attributes: BTreeSet<_> = self.unconfirmed.intersection(&self.open).copied().collect();
        let (federate, instance, tag) = (self.federate.clone(), self.instance, self.tag.clone());
        let confirm = |attributes| federate.confirm_divestiture(instance, attributes, tag.clone());
        if attributes.is_empty() {
            return Ok(());
        }
        if confirm(attributes.clone()).await.is_ok() {
            self.open.retain(|attribute| !attributes.contains(attribute));
            self.outcome.transferred.extend(attributes);
            return Ok(());
        }
        for attribute in attributes {
            match confirm(BTreeSet::from([attribute])).await {
                Ok(()) => self.outcome.transferred.extend(self.open.take(&attribute)),
                Err(error) if error.is(Exception::NoAcquisitionPending) => {} // the RTI will ask again
                Err(error) if is_too_late(&error) => {
                    self.look().await?;
                    self.outcome.cancelled.extend(self.open.take(&attribute));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Cancels for all attributes, or for each alone if the RTI refuses that. [`look`](Self::look)
    /// or callbacks show for which attributes it is too late.
    async fn call_cancellation(&mut self) -> Result<(), FederateError> {
        let (federate, instance) = (self.federate.clone(), self.instance);
        let cancel = |attributes: BTreeSet<AttributeHandle>| match self.goal {
            Goal::Acquire => federate.cancel_attribute_ownership_acquisition(instance, attributes),
            Goal::Divest => federate.cancel_negotiated_attribute_ownership_divestiture(instance, attributes),
        };
        if !self.open.is_empty() && cancel(self.open.clone()).await.is_err() {
            for &attribute in &self.open {
                match cancel(BTreeSet::from([attribute])).await {
                    Err(error) if is_too_late(&error) => {}
                    answer => answer?,
                }
            }
        }
        if self.goal == Goal::Divest {
            self.look().await?;
            self.outcome.cancelled.append(&mut self.open);
        }
        Ok(())
    }

    /// Finds the attributes that this federate still owns (7.19), or an exception.
    async fn look(&mut self) -> Result<(), FederateError> {
        let ask = |&at| (at, self.federate.is_attribute_owned_by_federate(self.instance, at));
        let calls: Vec<_> = self.open.iter().map(ask).collect();
        let mut owned = BTreeSet::new();
        for (attribute, call) in calls {
            owned.extend(call.await?.then_some(attribute));
        }
        if self.goal == Goal::Divest {
            self.outcome.transferred.extend(self.open.difference(&owned));
            self.open = owned;
        }
        Ok(())
    }
}

impl Federate {
    /// Query Attribute Ownership (7.17): the owner of each attribute. Passes all callbacks that
    /// arrive meanwhile to `each`, including the answers (7.18).
    ///
    /// # Errors
    /// The exceptions of the service. ObjectInstanceNotKnown or FederateNotExecutionMember if the
    /// instance is removed or the federate resigns first; `Disconnected` if the session ends first.
    pub async fn owners(
        &self,
        instance: ObjectInstanceHandle,
        attributes: impl IntoIterator<Item = AttributeHandle>,
        callbacks: &mut Callbacks,
        mut each: impl FnMut(Callback),
    ) -> Result<BTreeMap<AttributeHandle, Owner>, FederateError> {
        let mut open: BTreeSet<_> = attributes.into_iter().collect();
        let mut ending_calls = self.shared().lock().ending_calls;
        self.query_attribute_ownership(instance, open.clone()).await?;
        let mut owners = BTreeMap::new();
        while let Some(&first) = open.first() {
            let Some(callback) = next(callbacks, ending_calls).await? else {
                ending_calls = self.shared().lock().ending_calls;
                self.is_attribute_owned_by_federate(instance, first).await?; // or an exception
                continue;
            };
            let failure = failure(instance, &callback);
            let (asked, attributes, owner) = match &callback {
                Callback::InformAttributeOwnership(it) => {
                    let owner = it.federate.map_or(Owner::Nobody, Owner::Federate);
                    (it.object_instance, &it.attributes, owner)
                }
                Callback::AttributeIsNotOwned(it) => (it.object_instance, &it.attributes, Owner::Nobody),
                Callback::AttributeIsOwnedByRti(it) => (it.object_instance, &it.attributes, Owner::Rti),
                _ => (None, &None, Owner::Nobody),
            };
            if asked == Some(instance) {
                let attributes = attributes.iter().flat_map(|set| &set.attribute_handle);
                owners.extend(attributes.filter(|&at| open.remove(at)).map(|&at| (at, owner)));
            }
            each(callback);
            failure.map_or(Ok(()), Err)?;
        }
        Ok(owners)
    }
}

/// The next callback; `None` if there are more than `ending_calls` such calls.
async fn next(callbacks: &mut Callbacks, ending_calls: u64) -> Result<Option<Callback>, FederateError> {
    poll_fn(|cx| match callbacks.poll_recv(cx) {
        Poll::Ready(None) => Poll::Ready(Err(callbacks.shared().lock().disconnected())),
        Poll::Ready(callback) => Poll::Ready(Ok(callback)),
        Poll::Pending if callbacks.shared().lock().ending_calls != ending_calls => Poll::Ready(Ok(None)),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// The reason why a callback ends everything about an instance.
fn failure(instance: ObjectInstanceHandle, callback: &Callback) -> Option<FederateError> {
    let removed = match callback {
        Callback::RemoveObjectInstance(removed) => removed.object_instance,
        Callback::RemoveObjectInstanceWithTime(removed) => removed.object_instance,
        Callback::FederateResigned(resigned) => {
            let reason = resigned.reason_for_resign_description.clone();
            return Some(RtiError::new(Exception::FederateNotExecutionMember, reason).into());
        }
        _ => return None,
    };
    let text = format!("{instance:?} was removed");
    (removed == Some(instance)).then(|| RtiError::new(Exception::ObjectInstanceNotKnown, text).into())
}

/// Whether a confirmation or a cancellation comes too late: the attribute has an outcome.
fn is_too_late(error: &FederateError) -> bool {
    [
        Exception::AttributeAcquisitionWasNotRequested,
        Exception::AttributeAlreadyOwned,
        Exception::AttributeDivestitureWasNotRequested,
        Exception::AttributeNotOwned,
    ]
    .iter()
    .any(|&exception| error.is(exception))
}
