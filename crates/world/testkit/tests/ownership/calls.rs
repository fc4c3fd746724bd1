//! Calls and callbacks of clause 7, between the words of the reference model and those of the wire.

use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::callback_request::CallbackRequest as Wire;
use hla::api::{self, AttributeHandleSet, ResignAction};
use hla::fom::Fdd;
use hla::handle::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle};
use testkit::model::ownership::{Attributes, Callback, NO_TAG, Request, Tag};

/// Attributes of the only object class.
pub(crate) const ATTRIBUTES: usize = 3;

/// A module with one object class.
pub(crate) fn module() -> String {
    let attribute = |number| {
        format!(
            "<attribute><name>a{number}</name><dataType>HLAcount</dataType>\
             <transportation>HLAreliable</transportation><order>Receive</order></attribute>"
        )
    };
    let attributes: String = (0..ATTRIBUTES).map(attribute).collect();
    format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass>\
         <name>HLAobjectRoot</name><objectClass><name>O</name>{attributes}</objectClass></objectClass></objects>\
         </objectModel>"
    )
}

/// The handles of the object class.
#[derive(Clone, Debug)]
pub(crate) struct Handles {
    pub(crate) class: ObjectClassHandle,
    pub(crate) attributes: Vec<AttributeHandle>,
}

impl Handles {
    pub(crate) fn of(model: &Fdd) -> Self {
        let class = model.object_class_by_name("O").expect("it is there");
        let attribute = |number| model.attribute_by_name(class, &format!("a{number}")).expect("it is there");
        Self { class, attributes: (0..ATTRIBUTES).map(attribute).collect() }
    }

    pub(crate) fn set(&self, attributes: &Attributes) -> Option<AttributeHandleSet> {
        Some(AttributeHandleSet {
            attribute_handle: attributes.iter().map(|&at| self.attributes[at]).collect(),
        })
    }

    /// The numbers of attributes, without the privilege to delete.
    pub(crate) fn numbers(&self, set: Option<AttributeHandleSet>) -> Vec<usize> {
        let handles = set.unwrap_or_default().attribute_handle;
        handles.iter().filter_map(|handle| self.attributes.iter().position(|known| known == handle)).collect()
    }

    /// The call of a request.
    pub(crate) fn call(
        &self,
        request: &Request,
        handle: impl Fn(usize) -> Option<ObjectInstanceHandle>,
    ) -> Call {
        let object_class = Some(self.class);
        match request {
            Request::Publish(attributes) => {
                let attributes = self.set(attributes);
                Call::PublishObjectClassAttributesRequest(api::PublishObjectClassAttributesRequest {
                    object_class,
                    attributes,
                })
            }
            Request::Unpublish(attributes) => {
                let attributes = self.set(attributes);
                Call::UnpublishObjectClassAttributesRequest(api::UnpublishObjectClassAttributesRequest {
                    object_class,
                    attributes,
                })
            }
            Request::Register => {
                Call::RegisterObjectInstanceRequest(api::RegisterObjectInstanceRequest { object_class })
            }
            Request::Resign { cancels, divests } => {
                let action = match (cancels, divests) {
                    (false, false) => ResignAction::NoAction,
                    (true, false) => ResignAction::CancelPendingOwnershipAcquisitions,
                    (false, true) => ResignAction::UnconditionallyDivestAttributes,
                    (true, true) => ResignAction::CancelThenDeleteThenDivest,
                };
                let resign_action = action.into();
                Call::ResignFederationExecutionRequest(api::ResignFederationExecutionRequest {
                    resign_action,
                })
            }
            _ => self.call_about_instance(request, handle),
        }
    }

    fn call_about_instance(
        &self,
        request: &Request,
        handle: impl Fn(usize) -> Option<ObjectInstanceHandle>,
    ) -> Call {
        macro_rules! build {
            ($name:ident, $instance:expr, $field:ident: $attributes:expr $(, $tag:expr)?) => {
                Call::$name(api::$name {
                    object_instance: handle(*$instance),
                    $field: self.set($attributes),
                    $(user_supplied_tag: octets(*$tag),)?
                })
            };
        }
        match request {
            Request::Divest(i, a, t) => {
                build!(UnconditionalAttributeOwnershipDivestitureRequest, i, attributes: a, t)
            }
            Request::Negotiate(i, a, t) => {
                build!(NegotiatedAttributeOwnershipDivestitureRequest, i, attributes: a, t)
            }
            Request::Confirm(i, a, t) => build!(ConfirmDivestitureRequest, i, confirmed_attributes: a, t),
            Request::Acquire(i, a, t) => {
                build!(AttributeOwnershipAcquisitionRequest, i, desired_attributes: a, t)
            }
            Request::AcquireIfAvailable(i, a, t) => {
                build!(AttributeOwnershipAcquisitionIfAvailableRequest, i, desired_attributes: a, t)
            }
            Request::DenyRelease(i, a, t) => {
                build!(AttributeOwnershipReleaseDeniedRequest, i, attributes: a, t)
            }
            Request::DivestIfWanted(i, a, t) => {
                build!(AttributeOwnershipDivestitureIfWantedRequest, i, attributes: a, t)
            }
            Request::CancelNegotiated(i, a) => {
                build!(CancelNegotiatedAttributeOwnershipDivestitureRequest, i, attributes: a)
            }
            Request::CancelAcquisition(i, a) => {
                build!(CancelAttributeOwnershipAcquisitionRequest, i, attributes: a)
            }
            other => unreachable!("{other:?} is about no instance"),
        }
    }

    /// The callbacks of clause 7, one for each attribute; nothing for others.
    pub(crate) fn callbacks(
        &self,
        wire: Wire,
        number: impl Fn(ObjectInstanceHandle) -> usize,
    ) -> Vec<Callback> {
        type Make = fn(usize, usize, Tag) -> Callback;
        let (instance, attributes, tag, make): (_, _, Bytes, Make) = match wire {
            Wire::RequestAttributeOwnershipAssumption(r) => {
                (r.object_instance, r.offered_attributes, r.user_supplied_tag, Callback::Assumption)
            }
            Wire::RequestDivestitureConfirmation(r) => {
                (r.object_instance, r.released_attributes, r.user_supplied_tag, Callback::Confirmation)
            }
            Wire::AttributeOwnershipAcquisitionNotification(r) => {
                (r.object_instance, r.secured_attributes, r.user_supplied_tag, Callback::Acquired)
            }
            Wire::AttributeOwnershipUnavailable(r) => {
                (r.object_instance, r.attributes, r.user_supplied_tag, Callback::Unavailable)
            }
            Wire::RequestAttributeOwnershipRelease(r) => {
                (r.object_instance, r.candidate_attributes, r.user_supplied_tag, Callback::Release)
            }
            Wire::ConfirmAttributeOwnershipAcquisitionCancellation(r) => {
                let make: Make = |instance, at, _| Callback::CancellationConfirmed(instance, at);
                (r.object_instance, r.attributes, Bytes::new(), make)
            }
            _ => return Vec::new(),
        };
        let instance = number(instance.expect("a callback has an instance"));
        self.numbers(attributes).into_iter().map(|at| make(instance, at, tag_of(&tag))).collect()
    }
}

/// A tag on the wire.
fn octets(tag: Tag) -> Bytes {
    match tag {
        NO_TAG => Bytes::new(),
        tag => Bytes::from(tag.to_string()),
    }
}

fn tag_of(octets: &Bytes) -> Tag {
    match octets.is_empty() {
        true => NO_TAG,
        false => std::str::from_utf8(octets).ok().and_then(|text| text.parse().ok()).expect("a number"),
    }
}
