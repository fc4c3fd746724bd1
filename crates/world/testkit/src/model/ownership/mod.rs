//! Ownership management (clause 7) in its simplest form: one federation execution, one object class,
//! and all federates and negotiations in one place, decided call by call.
//!
//! Every federate knows each object instance from its registration, or from its own joining,
//! onwards. The model follows the standard, and nothing in it is fast. It is written before the
//! service that it judges.

mod acquire;
mod divest;
#[cfg(test)]
mod tests;

use hla::Exception;
use hla::handle::FederateHandle;
use std::collections::{BTreeMap, BTreeSet};

/// A user-supplied tag. Tests need only tell one from another.
pub type Tag = u32;

/// The tag of a callback that no service call with a tag has caused.
pub const NO_TAG: Tag = 0;

/// Attributes of the object class, by number.
pub type Attributes = BTreeSet<usize>;

/// A service call of a joined federate. The first number is the object instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Publish Object Class Attributes (5.2).
    Publish(Attributes),
    /// Unpublish Object Class Attributes (5.3).
    Unpublish(Attributes),
    /// Register Object Instance (6.8).
    Register,
    /// Unconditional Attribute Ownership Divestiture (7.2).
    Divest(usize, Attributes, Tag),
    /// Negotiated Attribute Ownership Divestiture (7.3).
    Negotiate(usize, Attributes, Tag),
    /// Confirm Divestiture (7.6).
    Confirm(usize, Attributes, Tag),
    /// Attribute Ownership Acquisition (7.8).
    Acquire(usize, Attributes, Tag),
    /// Attribute Ownership Acquisition If Available (7.9).
    AcquireIfAvailable(usize, Attributes, Tag),
    /// Attribute Ownership Release Denied (7.12).
    DenyRelease(usize, Attributes, Tag),
    /// Attribute Ownership Divestiture If Wanted (7.13).
    DivestIfWanted(usize, Attributes, Tag),
    /// Cancel Negotiated Attribute Ownership Divestiture (7.14).
    CancelNegotiated(usize, Attributes),
    /// Cancel Attribute Ownership Acquisition (7.15).
    CancelAcquisition(usize, Attributes),
    /// Resign Federation Execution (4.12).
    Resign {
        /// Pending acquisitions are cancelled.
        cancels: bool,
        /// Owned attributes are divested.
        divests: bool,
    },
}

/// The result of a service call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The call has no result.
    Done,
    /// An instance was registered, with this number.
    Registered(usize),
    /// The attributes that were divested.
    Divested(Attributes),
}

/// A callback about one attribute of an object instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Callback {
    /// Request Attribute Ownership Assumption (7.4).
    Assumption(usize, usize, Tag),
    /// Request Divestiture Confirmation (7.5), with the tag of the acquirer.
    Confirmation(usize, usize, Tag),
    /// Attribute Ownership Acquisition Notification (7.7).
    Acquired(usize, usize, Tag),
    /// Attribute Ownership Unavailable (7.10).
    Unavailable(usize, usize, Tag),
    /// Request Attribute Ownership Release (7.11).
    Release(usize, usize, Tag),
    /// Confirm Attribute Ownership Acquisition Cancellation (7.16).
    CancellationConfirmed(usize, usize),
}

/// A federate that wants to own an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Acquirer {
    federate: FederateHandle,
    /// It has asked the owner, and not only whether the attribute is available.
    pending: bool,
    tag: Tag,
}

/// A negotiated divestiture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Divestiture {
    /// The owner was asked to confirm it.
    confirming: bool,
}

/// An attribute of an object instance.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State {
    owner: Option<FederateHandle>,
    divesting: Option<Divestiture>,
    /// The tag with which it was offered to all federates that publish it, and is offered to those
    /// that will.
    offered: Option<Tag>,
    /// In the order in which they came.
    acquirers: Vec<Acquirer>,
}

/// The callbacks of a call, in order.
pub type Callbacks = Vec<(FederateHandle, Callback)>;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct OwnershipModel {
    attributes: usize,
    /// The attributes that each joined federate publishes.
    published: BTreeMap<FederateHandle, Attributes>,
    instances: Vec<Vec<State>>,
}

impl OwnershipModel {
    /// A federation execution without federates, whose object class has this many attributes.
    pub fn new(attributes: usize) -> Self {
        Self { attributes, ..Self::default() }
    }

    /// A federate joins.
    pub fn join(&mut self, federate: FederateHandle) {
        self.published.insert(federate, Attributes::new());
    }

    /// The owner of an attribute (7.17); `None`: nobody.
    pub fn owner(&self, instance: usize, attribute: usize) -> Option<FederateHandle> {
        self.instances[instance][attribute].owner
    }

    /// Serves a call of a joined federate. A call that fails changes nothing.
    ///
    /// # Errors
    /// The exceptions of which one must be raised.
    pub fn call(
        &mut self,
        federate: FederateHandle,
        request: &Request,
    ) -> Result<(Answer, Callbacks), Vec<Exception>> {
        self.check(federate, request)?;
        let mut told = Callbacks::new();
        let answer = match request {
            Request::Publish(attributes) => {
                self.publish(federate, attributes, &mut told);
                Answer::Done
            }
            Request::Unpublish(attributes) => {
                self.unpublish(federate, attributes, &mut told);
                Answer::Done
            }
            Request::Register => Answer::Registered(self.register(federate)),
            Request::Divest(instance, attributes, tag) => {
                attributes.iter().for_each(|&at| self.divest((*instance, at), *tag, &mut told));
                Answer::Done
            }
            Request::Negotiate(instance, attributes, tag) => {
                attributes.iter().for_each(|&at| self.negotiate((*instance, at), *tag, &mut told));
                Answer::Done
            }
            Request::Confirm(instance, attributes, tag) => {
                attributes.iter().for_each(|&at| self.transfer((*instance, at), *tag, &mut told));
                Answer::Done
            }
            Request::Acquire(instance, attributes, tag) => {
                attributes.iter().for_each(|&at| self.acquire((*instance, at), federate, *tag, &mut told));
                Answer::Done
            }
            Request::AcquireIfAvailable(instance, attributes, tag) => {
                let place = |&at: &usize| (*instance, at);
                attributes
                    .iter()
                    .map(place)
                    .for_each(|place| self.acquire_if_available(place, federate, *tag, &mut told));
                Answer::Done
            }
            Request::DenyRelease(instance, attributes, tag) => {
                attributes.iter().for_each(|&at| self.deny((*instance, at), *tag, &mut told));
                Answer::Done
            }
            Request::DivestIfWanted(instance, attributes, tag) => {
                let wanted = attributes.iter().copied().filter(|&at| self.is_wanted((*instance, at)));
                let wanted: Attributes = wanted.collect();
                wanted.iter().for_each(|&at| self.transfer((*instance, at), *tag, &mut told));
                Answer::Divested(wanted)
            }
            Request::CancelNegotiated(instance, attributes) => {
                attributes.iter().for_each(|&at| self.cancel_negotiated((*instance, at), &mut told));
                Answer::Done
            }
            Request::CancelAcquisition(instance, attributes) => {
                attributes
                    .iter()
                    .for_each(|&at| self.cancel_acquisition((*instance, at), federate, &mut told));
                Answer::Done
            }
            Request::Resign { .. } => {
                self.leave(federate, &mut told);
                Answer::Done
            }
        };
        Ok((answer, told))
    }

    /// A federate is lost: its negotiations end, and its attributes are divested.
    pub fn lose(&mut self, federate: FederateHandle) -> Callbacks {
        let mut told = Callbacks::new();
        self.leave(federate, &mut told);
        told
    }

    fn check(&self, federate: FederateHandle, request: &Request) -> Result<(), Vec<Exception>> {
        let mut faults = self.faults_of_owner(federate, request);
        faults.extend(self.faults_of_acquirer(federate, request));
        if faults.is_empty() { Ok(()) } else { Err(faults.into_iter().collect()) }
    }

    /// The faults of a call that only an owner may make.
    fn faults_of_owner(&self, federate: FederateHandle, request: &Request) -> BTreeSet<Exception> {
        let (instance, attributes) = match request {
            Request::Divest(instance, attributes, _)
            | Request::Negotiate(instance, attributes, _)
            | Request::Confirm(instance, attributes, _)
            | Request::DenyRelease(instance, attributes, _)
            | Request::DivestIfWanted(instance, attributes, _)
            | Request::CancelNegotiated(instance, attributes) => (*instance, attributes),
            Request::Resign { divests: false, .. } if self.any(|state| state.owner == Some(federate)) => {
                return BTreeSet::from([Exception::FederateOwnsAttributes]);
            }
            _ => return BTreeSet::new(),
        };
        let fault = |&at: &usize| {
            let state = &self.instances[instance][at];
            let divests = state.divesting.is_some();
            match request {
                _ if state.owner != Some(federate) => Some(Exception::AttributeNotOwned),
                Request::Negotiate(..) if divests => Some(Exception::AttributeAlreadyBeingDivested),
                Request::Confirm(..) | Request::CancelNegotiated(..) if !divests => {
                    Some(Exception::AttributeDivestitureWasNotRequested)
                }
                Request::Confirm(..) if state.acquirers.is_empty() => Some(Exception::NoAcquisitionPending),
                _ => None,
            }
        };
        attributes.iter().filter_map(fault).collect()
    }

    /// The faults of a call about acquisitions of the federate.
    fn faults_of_acquirer(&self, federate: FederateHandle, request: &Request) -> BTreeSet<Exception> {
        let is_pending = |state: &State| state.acquirers.iter().any(|a| a.federate == federate && a.pending);
        let (instance, attributes) = match request {
            Request::Acquire(instance, attributes, _)
            | Request::AcquireIfAvailable(instance, attributes, _)
            | Request::CancelAcquisition(instance, attributes) => (*instance, attributes),
            Request::Unpublish(attributes) => {
                let mut states = self.instances.iter().flat_map(|all| attributes.iter().map(|&at| &all[at]));
                let any = states.any(is_pending);
                return any.then_some(Exception::OwnershipAcquisitionPending).into_iter().collect();
            }
            Request::Resign { cancels: false, .. } if self.any(is_pending) => {
                return BTreeSet::from([Exception::OwnershipAcquisitionPending]);
            }
            _ => return BTreeSet::new(),
        };
        let published = &self.published[&federate];
        let is_acquisition = matches!(request, Request::Acquire(..) | Request::AcquireIfAvailable(..));
        if is_acquisition && published.is_empty() {
            return BTreeSet::from([Exception::ObjectClassNotPublished]);
        }
        let fault = |&at: &usize| {
            let state = &self.instances[instance][at];
            let owns = state.owner == Some(federate);
            match request {
                Request::CancelAcquisition(..) if owns => Some(Exception::AttributeAlreadyOwned),
                Request::CancelAcquisition(..) => {
                    (!is_pending(state)).then_some(Exception::AttributeAcquisitionWasNotRequested)
                }
                _ if !published.contains(&at) => Some(Exception::AttributeNotPublished),
                _ if owns => Some(Exception::FederateOwnsAttributes),
                Request::AcquireIfAvailable(..) if is_pending(state) => {
                    Some(Exception::AttributeAlreadyBeingAcquired)
                }
                _ => None,
            }
        };
        attributes.iter().filter_map(fault).collect()
    }

    fn any(&self, is: impl Fn(&State) -> bool) -> bool {
        self.instances.iter().flatten().any(is)
    }

    fn publish(&mut self, federate: FederateHandle, attributes: &Attributes, told: &mut Callbacks) {
        let published = self.published.entry(federate).or_default();
        let new: Vec<usize> = attributes.iter().copied().filter(|&at| published.insert(at)).collect();
        // It becomes eligible for what was offered before.
        for (instance, states) in self.instances.iter().enumerate() {
            for &at in &new {
                let State { offered, owner, .. } = &states[at];
                if let Some(tag) = offered.filter(|_| *owner != Some(federate)) {
                    told.push((federate, Callback::Assumption(instance, at, tag)));
                }
            }
        }
    }

    /// The attributes that are no longer published are divested, and what was only wished for is
    /// forgotten.
    fn unpublish(&mut self, federate: FederateHandle, attributes: &Attributes, told: &mut Callbacks) {
        for instance in 0..self.instances.len() {
            for &at in attributes {
                self.forget_acquirer((instance, at), federate);
            }
        }
        self.published.entry(federate).or_default().retain(|at| !attributes.contains(at));
        for instance in 0..self.instances.len() {
            for &at in attributes {
                if self.owner(instance, at) == Some(federate) {
                    self.divest((instance, at), NO_TAG, told);
                }
            }
        }
    }

    /// The registering federate owns the attributes that it publishes.
    fn register(&mut self, federate: FederateHandle) -> usize {
        let published = &self.published[&federate];
        let owner = |at| published.contains(&at).then_some(federate);
        let states = (0..self.attributes).map(|at| State { owner: owner(at), ..State::default() });
        self.instances.push(states.collect());
        self.instances.len() - 1
    }

    fn leave(&mut self, federate: FederateHandle, told: &mut Callbacks) {
        self.published.remove(&federate);
        let places = (0..self.instances.len()).flat_map(|i| (0..self.attributes).map(move |at| (i, at)));
        let places: Vec<_> = places.collect();
        places.iter().for_each(|&place| self.forget_acquirer(place, federate));
        for place in places {
            if self.owner(place.0, place.1) == Some(federate) {
                self.divest(place, NO_TAG, told);
            }
        }
    }

    fn state(&mut self, (instance, attribute): (usize, usize)) -> &mut State {
        &mut self.instances[instance][attribute]
    }
}
