//! The services of ownership management (7.2 to 7.15): their checks, and calls that wait for the
//! home of the instance at another node.

use super::super::objects::Objects;
use super::decided::no_acquisition_pending;
use super::home::NoAcquisitionPending;
use crate::control::NodeId;
use crate::control::management::is_managed;
use crate::effect::{Change, Effect, Effects};
use crate::limits::{OWNERSHIP_TAG_BYTES_MAX, check_octets};
use crate::proposal::{CallId, CallerId, Completion};
use crate::wire::{Delivery, OwnershipAction, OwnershipDecision, OwnershipRequest};
use bytes::Bytes;
use hla::api::call_response::CallResponse;
use hla::api::{AttributeHandleSet, OrderType};
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use hla::{Exception, RtiError};
use std::collections::BTreeSet;

/// A service call that ends with the attributes that were divested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnershipCall {
    pub(crate) caller: CallerId,
    pub(crate) call: CallId,
    /// Makes its response.
    pub(crate) finish: fn(Vec<AttributeHandle>) -> CallResponse,
}

impl OwnershipCall {
    /// The end of the call.
    pub(super) fn end(self, answer: Result<Vec<AttributeHandle>, RtiError>) -> Completion {
        Completion { caller: self.caller, call: self.call, answer: answer.map(self.finish) }
    }
}

/// The arguments that the services of clause 7 have in common.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a> {
    pub(crate) federate: FederateHandle,
    pub(crate) instance: Option<ObjectInstanceHandle>,
    pub(crate) attributes: Option<&'a AttributeHandleSet>,
    pub(crate) tag: &'a Bytes,
}

impl Objects {
    /// A service that only owners may call. Returns the attributes that were divested, or `None`:
    /// `call` ends later.
    ///
    /// # Errors
    /// `ObjectInstanceNotKnown`, `AttributeNotDefined`, `AttributeNotOwned`, and those of the
    /// service.
    pub(crate) fn call_by_owner(
        &mut self,
        effects: &mut Effects,
        arguments: Arguments<'_>,
        action: OwnershipAction,
        call: OwnershipCall,
    ) -> Result<Option<Vec<AttributeHandle>>, RtiError> {
        let Arguments { federate, tag, .. } = arguments;
        let (instance, attributes) = self.owned(federate, arguments.instance, arguments.attributes)?;
        self.check_divestitures(federate, instance, &attributes, action)?;
        check_tag(tag)?;
        let tag = Bytes::copy_from_slice(tag);
        for &attribute in &attributes {
            match action {
                OwnershipAction::Negotiate => {
                    self.requests.divest((instance, federate, attribute), &tag, effects.now);
                }
                OwnershipAction::CancelNegotiated => {
                    self.requests.end_divestiture((instance, federate, attribute));
                }
                _ => {}
            }
        }
        if attributes.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let attributes = attributes.into_iter().collect();
        let request = OwnershipRequest::new((instance, federate), action, attributes, tag);
        self.request(effects, request, Some(call))
    }

    /// Attributes that are being divested cannot be divested again (7.3), and others cannot be
    /// confirmed (7.6) or kept (7.14).
    fn check_divestitures(
        &self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        action: OwnershipAction,
    ) -> Result<(), RtiError> {
        let (is_divesting, exception, text) = match action {
            OwnershipAction::Negotiate => {
                (false, Exception::AttributeAlreadyBeingDivested, "is already being divested")
            }
            OwnershipAction::Confirm | OwnershipAction::CancelNegotiated => {
                (true, Exception::AttributeDivestitureWasNotRequested, "is not being divested")
            }
            _ => return Ok(()),
        };
        let fits = |&attribute: &AttributeHandle| {
            self.requests.is_divesting((instance, federate, attribute)) == is_divesting
        };
        match attributes.iter().find(|attribute| !fits(attribute)) {
            None => Ok(()),
            Some(attribute) => Err(RtiError::new(exception, format!("{attribute:?} of {instance:?} {text}"))),
        }
    }

    /// Attribute Ownership Acquisition (7.8), or If Available (7.9).
    ///
    /// # Errors
    /// `ObjectInstanceNotKnown`, `AttributeNotDefined`, `ObjectClassNotPublished`,
    /// `AttributeNotPublished`, `FederateOwnsAttributes`, `AttributeAlreadyBeingAcquired`.
    pub(crate) fn acquire(
        &mut self,
        effects: &mut Effects,
        arguments: Arguments<'_>,
        action: OwnershipAction,
    ) -> Result<(), RtiError> {
        let Arguments { federate, tag, .. } = arguments;
        let (object, class) = self.known_instance(federate, arguments.instance)?;
        let instance = object.handle;
        let attributes = self.attributes_at(class, arguments.attributes)?;
        let class = class.handle;
        self.check_published(federate, class, &attributes)?;
        if let Some(attribute) = self.owned_by(federate, instance).find(|owned| attributes.contains(owned)) {
            let text = format!("{attribute:?} of {instance:?} is already owned by this federate");
            return Err(RtiError::new(Exception::FederateOwnsAttributes, text));
        }
        let is_pending = |attribute| self.requests.is_pending((instance, federate, attribute));
        if action == OwnershipAction::AcquireIfAvailable
            && let Some(&attribute) = attributes.iter().find(|&&attribute| is_pending(attribute))
        {
            let text = format!("an acquisition of {attribute:?} of {instance:?} is already pending");
            return Err(RtiError::new(Exception::AttributeAlreadyBeingAcquired, text));
        }
        check_tag(tag)?;
        let tag = Bytes::copy_from_slice(tag);
        // A second request changes nothing.
        let is_new = |&attribute: &AttributeHandle| match action {
            OwnershipAction::Acquire => !is_pending(attribute),
            _ => !self.requests.is_acquiring((instance, federate, attribute)),
        };
        let attributes: Vec<_> = attributes.into_iter().filter(is_new).collect();
        if attributes.is_empty() {
            return Ok(());
        }
        if is_managed(instance) {
            let arguments = Arguments { tag: &tag, ..arguments };
            self.refuse_managed(effects, arguments, (action, attributes));
            return Ok(());
        }
        let number = self.requests.next_number();
        let is_pending = action == OwnershipAction::Acquire;
        for &attribute in &attributes {
            self.requests.acquire((instance, federate, attribute), number, is_pending, &tag, effects.now);
        }
        let deliveries = attributes.iter().map(|&at| self.preferred_delivery(federate, class, at)).collect();
        let regions = self.associated_regions(federate, instance, &attributes);
        let request =
            OwnershipRequest { federate, instance, number, action, attributes, deliveries, regions, tag };
        self.request(effects, request, None).map(|_| ())
    }

    /// How a federate sends an attribute that it registers (6.8) or acquires.
    pub(crate) fn preferred_delivery(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Delivery {
        let model = self.model.attribute(attribute).expect("a checked attribute is one of the model");
        let preferences = self.federates.get(&federate).map(|federate| &federate.attribute_preferences);
        let preference =
            preferences.and_then(|all| all.get(&(class, attribute))).copied().unwrap_or_default();
        Delivery {
            transportation: preference.transportation.unwrap_or(model.transportation),
            time_stamped: preference.order.unwrap_or(model.order) == OrderType::Timestamp,
        }
    }

    fn check_published(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) -> Result<(), RtiError> {
        let Some(published) = self.federate(federate).publications.get(&class) else {
            let text = format!("`{}` is not published by this federate", self.class_of(class).name);
            return Err(RtiError::new(Exception::ObjectClassNotPublished, text));
        };
        match attributes.difference(published).next() {
            None => Ok(()),
            Some(&attribute) => {
                let name = self.model.attribute(attribute).map_or("", |attribute| &attribute.name);
                let text = format!("attribute `{name}` is not published by this federate");
                Err(RtiError::new(Exception::AttributeNotPublished, text))
            }
        }
    }

    /// Cancel Attribute Ownership Acquisition (7.15).
    ///
    /// # Errors
    /// `ObjectInstanceNotKnown`, `AttributeNotDefined`, `AttributeAlreadyOwned`,
    /// `AttributeAcquisitionWasNotRequested`.
    pub(crate) fn cancel_acquisition(
        &mut self,
        effects: &mut Effects,
        arguments: Arguments<'_>,
    ) -> Result<(), RtiError> {
        let Arguments { federate, .. } = arguments;
        let (object, class) = self.known_instance(federate, arguments.instance)?;
        let instance = object.handle;
        let attributes = self.attributes_at(class, arguments.attributes)?;
        if let Some(attribute) = self.owned_by(federate, instance).find(|owned| attributes.contains(owned)) {
            let text = format!("{attribute:?} of {instance:?} is owned by this federate");
            return Err(RtiError::new(Exception::AttributeAlreadyOwned, text));
        }
        let is_pending =
            |&&attribute: &&AttributeHandle| self.requests.is_pending((instance, federate, attribute));
        if let Some(attribute) = attributes.iter().find(|attribute| !is_pending(attribute)) {
            let text = format!("no acquisition of {attribute:?} of {instance:?} is pending");
            return Err(RtiError::new(Exception::AttributeAcquisitionWasNotRequested, text));
        }
        if attributes.is_empty() {
            return Ok(());
        }
        attributes.iter().for_each(|&attribute| self.requests.cancel((instance, federate, attribute)));
        if is_managed(instance) {
            self.cancel_managed(effects, federate, instance, &attributes);
            return Ok(());
        }
        let attributes = attributes.into_iter().collect();
        self.request_plainly(effects, (instance, federate), OwnershipAction::CancelAcquisition, attributes)
    }

    /// Sends a request that has neither a tag nor deliveries, and whose call does not wait.
    pub(super) fn request_plainly(
        &mut self,
        effects: &mut Effects,
        (instance, federate): (ObjectInstanceHandle, FederateHandle),
        action: OwnershipAction,
        attributes: Vec<AttributeHandle>,
    ) -> Result<(), RtiError> {
        let request = OwnershipRequest::new((instance, federate), action, attributes, Bytes::new());
        self.request(effects, request, None).map(|_| ())
    }

    /// Requests the home of an instance to divest attributes that are no longer published. The end
    /// of the publication waits for the answer.
    pub(crate) fn request_divestiture(
        &mut self,
        effects: &mut Effects,
        (instance, federate): (ObjectInstanceHandle, FederateHandle),
        attributes: Vec<AttributeHandle>,
    ) {
        let action = OwnershipAction::Divest;
        let request = OwnershipRequest::new((instance, federate), action, attributes, Bytes::new());
        self.ask_home(effects, request, None);
    }

    /// Announces that the owner of attributes has changed their transportation or order type, as
    /// `action` says. Elsewhere the home does it, so that the change comes in the order of all others.
    pub(crate) fn delivery_changed(
        &mut self,
        effects: &mut Effects,
        (instance, federate): (ObjectInstanceHandle, FederateHandle),
        action: OwnershipAction,
        attributes: Vec<AttributeHandle>,
        delivery: Delivery,
    ) {
        if self.decides(instance) {
            return self.announce_delivery(effects, instance, action, attributes, delivery);
        }
        let request = OwnershipRequest::new((instance, federate), action, attributes, Bytes::new());
        self.ask_home(effects, OwnershipRequest { deliveries: vec![delivery], ..request }, None);
    }

    /// Requests the home of an instance, another node, to delete it (6.16). Returns false if this
    /// node is the home.
    pub(crate) fn delete_elsewhere(
        &mut self,
        effects: &mut Effects,
        (instance, federate): (ObjectInstanceHandle, FederateHandle),
        tag: &Bytes,
        call: OwnershipCall,
    ) -> bool {
        if self.is_at_home(instance) {
            return false;
        }
        let action = OwnershipAction::Delete;
        let request = OwnershipRequest::new((instance, federate), action, Vec::new(), tag.clone());
        self.ask_home(effects, request, Some(call));
        self.count_deletion(federate);
        true
    }

    /// Tells the home of an instance that a federate no longer wants attributes.
    fn forget(
        &mut self,
        effects: &mut Effects,
        place: (ObjectInstanceHandle, FederateHandle),
        attributes: Vec<AttributeHandle>,
    ) {
        if let Err(error) = self.request_plainly(effects, place, OwnershipAction::Forget, attributes) {
            tracing::error!(%error, "a request without an answer fails");
        }
    }

    /// Whether requests about an instance are decided here and now.
    pub(crate) fn decides(&self, instance: ObjectInstanceHandle) -> bool {
        self.instances.get(instance).is_some_and(|object| object.home == self.node)
            && !self.adoptions.are_open()
    }

    /// Decides a request, or sends it to the home of the instance. Returns the attributes that were
    /// divested, or `None` if the answer comes later; `call` then ends with it.
    ///
    /// # Errors
    /// `NoAcquisitionPending`.
    pub(super) fn request(
        &mut self,
        effects: &mut Effects,
        request: OwnershipRequest,
        call: Option<OwnershipCall>,
    ) -> Result<Option<Vec<AttributeHandle>>, RtiError> {
        if is_managed(request.instance) {
            // The RTI has already answered it.
            return Ok(Some(Vec::new()));
        }
        if self.decides(request.instance) {
            return match self.decide(effects, &request) {
                Ok(divested) => Ok(Some(divested)),
                Err(NoAcquisitionPending) => Err(no_acquisition_pending(request.instance)),
            };
        }
        if !request.action.is_answered() {
            self.send_request(effects, request);
            return Ok(Some(Vec::new()));
        }
        self.ask_home(effects, request, call);
        Ok(None)
    }

    /// Sends a request that the home of the instance answers. `call`, or the end of a publication,
    /// waits for it.
    fn ask_home(
        &mut self,
        effects: &mut Effects,
        mut request: OwnershipRequest,
        call: Option<OwnershipCall>,
    ) {
        let instance = request.instance;
        request.number = self.requests.next_number();
        self.requests.wait(request.clone(), call);
        match self.is_gone_at_home(instance) {
            true => self.end_negotiations(effects, instance),
            false => self.send_request(effects, request),
        }
    }

    /// Sends a request to the home of the instance. If this node is the home, or about to become
    /// it, the request waits until all other nodes have reported what they know.
    pub(super) fn send_request(&mut self, effects: &mut Effects, request: OwnershipRequest) {
        let Some(object) = self.instances.get(request.instance) else { return };
        if object.home == self.node {
            return self.adoptions.defer(request);
        }
        let (class, home) = (object.class, object.home);
        let request = Box::new(request);
        effects.replicate(Change::SendToHome { class, home, request });
    }

    /// Handles a request of another node's federate.
    pub(crate) fn requested(&mut self, effects: &mut Effects, request: OwnershipRequest) {
        let instance = request.instance;
        if !self.decides(instance) {
            // An instance of another node that is unknown here, and that nobody has deleted, lost its
            // home: its record is on the way, and the request has overtaken it.
            let is_expected =
                NodeId::of_instance(instance) != self.node && !self.tombstones.contains(instance);
            if is_expected || self.instances.get(instance).is_some() {
                self.adoptions.defer(request);
            }
            return;
        }
        self.decide_and_answer(effects, &request);
    }

    /// Decides a request whose answer, if it has one, goes into the stream of the class.
    pub(super) fn decide_and_answer(&mut self, effects: &mut Effects, request: &OwnershipRequest) {
        let decided = self.decide(effects, request);
        if request.action.is_answered() {
            let (refused, attributes) = match decided {
                Ok(attributes) => (false, attributes),
                Err(NoAcquisitionPending) => (true, Vec::new()),
            };
            let (to, number) = (request.federate, request.number);
            let answer = OwnershipDecision::Answered { to, number, refused, attributes };
            self.announce(effects, request.instance, answer);
        }
    }

    /// Ends the calls that wait for an answer about an instance that is gone.
    pub(crate) fn end_calls(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        for waiting in self.requests.take_waiting(instance) {
            let Some(call) = waiting.call else { continue };
            let answer = match waiting.request.action {
                OwnershipAction::Delete => Ok(Vec::new()),
                _ => {
                    let text = format!("{instance:?} has been deleted meanwhile");
                    Err(RtiError::new(Exception::ObjectInstanceNotKnown, text))
                }
            };
            effects.push(Effect::Complete(Box::new(call.end(answer))));
        }
    }

    /// Checks that a federate has no acquisition pending (4.12).
    ///
    /// # Errors
    /// `OwnershipAcquisitionPending`.
    pub(crate) fn check_nothing_pending(
        &self,
        federate: FederateHandle,
        is_concerned: impl Fn(ObjectInstanceHandle, AttributeHandle) -> bool,
    ) -> Result<(), RtiError> {
        let mut acquisitions = self.requests.acquired_by(federate);
        let pending = acquisitions
            .find(|&(instance, attribute, is_pending)| is_pending && is_concerned(instance, attribute));
        let Some((instance, attribute, _)) = pending else { return Ok(()) };
        Err(acquisition_pending(instance, attribute))
    }

    /// Checks that a federate does not want to acquire attributes of an instance (6.18).
    ///
    /// # Errors
    /// `OwnershipAcquisitionPending`.
    pub(crate) fn check_nothing_wanted(
        &self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
    ) -> Result<(), RtiError> {
        match self.requests.acquired_by(federate).find(|&(of, ..)| of == instance) {
            None => Ok(()),
            Some((_, attribute, _)) => Err(acquisition_pending(instance, attribute)),
        }
    }

    /// Forgets what a federate wanted if available, where it no longer publishes the attributes at
    /// the class at which it knows the instance (5.3).
    pub(crate) fn forget_unpublished(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: ObjectClassHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) {
        let concerned = |&(instance, attribute, _): &(ObjectInstanceHandle, AttributeHandle, bool)| {
            attributes.contains(&attribute)
                && self.instances.get(instance).and_then(|o| o.known_class(federate)) == Some(class)
        };
        let wanted: Vec<_> = self.requests.acquired_by(federate).filter(concerned).collect();
        for (instance, attribute, _) in wanted {
            self.requests.end_acquisition((instance, federate, attribute));
            self.forget(effects, (instance, federate), vec![attribute]);
        }
    }
}

fn acquisition_pending(instance: ObjectInstanceHandle, attribute: AttributeHandle) -> RtiError {
    let text = format!("an acquisition of {attribute:?} of {instance:?} is pending");
    RtiError::new(Exception::OwnershipAcquisitionPending, text)
}

fn check_tag(tag: &Bytes) -> Result<(), RtiError> {
    check_octets(Exception::RTIinternalError, "the user-supplied tag", tag.len(), OWNERSHIP_TAG_BYTES_MAX)
}
