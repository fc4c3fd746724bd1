//! Ownership management (clause 7).

use super::{Context, Reply, Serve, Served};
use crate::object::ownership::{Arguments, NEGOTIATION_BYTES, OwnershipCall};
use crate::wire::OwnershipAction;
use bytes::Bytes;
use hla::RtiError;
use hla::api::call_response::CallResponse as Answer;
use hla::api::*;
use hla::handle::{AttributeHandle, ObjectInstanceHandle};

/// The tag of services without one.
static NO_TAG: Bytes = Bytes::new();

impl Context<'_> {
    /// The call, for the home of an instance at another node.
    pub(super) fn ownership_call(&self, finish: fn(Vec<AttributeHandle>) -> Answer) -> OwnershipCall {
        OwnershipCall { caller: self.caller, call: self.call, finish }
    }

    /// Serves a request by the owner of attributes; it ends without a result.
    fn serve_owner<R: Request<Output = ()>>(
        self,
        action: OwnershipAction,
        instance: Option<ObjectInstanceHandle>,
        attributes: Option<&AttributeHandleSet>,
        tag: &Bytes,
    ) -> Served<()> {
        let call = self.ownership_call(|_| R::response(()));
        let arguments = Arguments { federate: self.federate, instance, attributes, tag };
        let divested = self.objects.call_by_owner(self.effects, arguments, action, call)?;
        Ok(Reply::now_if(divested.is_some()))
    }

    /// Checks that there is room for acquisitions, or offers, of these attributes.
    fn check_room(&mut self, attributes: Option<&AttributeHandleSet>, tag: &Bytes) -> Result<(), RtiError> {
        let count = attributes.map_or(0, |set| set.attribute_handle.len());
        self.growth.check(count * (NEGOTIATION_BYTES + tag.len()))
    }
}

/// Serves requests of owners.
macro_rules! of_owners {
    ($($request:ident: $action:ident, $attributes:ident, $tag:expr;)+) => {$(
        impl Serve for $request {
            fn serve(self, mut context: Context<'_>) -> Served<()> {
                let attributes = self.$attributes.as_ref();
                let tag: fn(&Self) -> &Bytes = $tag;
                context.check_room(attributes, tag(&self))?;
                context.serve_owner::<Self>(
                    OwnershipAction::$action,
                    self.object_instance,
                    attributes,
                    tag(&self),
                )
            }
        }
    )+};
}

of_owners! {
    UnconditionalAttributeOwnershipDivestitureRequest: Divest, attributes, |r| &r.user_supplied_tag;
    NegotiatedAttributeOwnershipDivestitureRequest: Negotiate, attributes, |r| &r.user_supplied_tag;
    ConfirmDivestitureRequest: Confirm, confirmed_attributes, |r| &r.user_supplied_tag;
    AttributeOwnershipReleaseDeniedRequest: DenyRelease, attributes, |r| &r.user_supplied_tag;
    CancelNegotiatedAttributeOwnershipDivestitureRequest: CancelNegotiated, attributes, |_| &NO_TAG;
}

impl Serve for AttributeOwnershipDivestitureIfWantedRequest {
    fn serve(self, context: Context<'_>) -> Served<Vec<AttributeHandle>> {
        let call = context.ownership_call(Self::response);
        let Context { objects, effects, federate, .. } = context;
        let (instance, attributes) = (self.object_instance, self.attributes.as_ref());
        let arguments = Arguments { federate, instance, attributes, tag: &self.user_supplied_tag };
        let action = OwnershipAction::DivestIfWanted;
        let divested = objects.call_by_owner(effects, arguments, action, call)?;
        Ok(divested.map_or(Reply::Later, Reply::Now))
    }
}

/// Serves acquisitions.
macro_rules! acquisitions {
    ($($request:ident: $action:ident;)+) => {$(
        impl Serve for $request {
            fn serve(self, mut context: Context<'_>) -> Served<()> {
                let attributes = self.desired_attributes.as_ref();
                context.check_room(attributes, &self.user_supplied_tag)?;
                let Context { objects, effects, federate, .. } = context;
                let (instance, tag) = (self.object_instance, &self.user_supplied_tag);
                let arguments = Arguments { federate, instance, attributes, tag };
                objects.acquire(effects, arguments, OwnershipAction::$action).map(Reply::Now)
            }
        }
    )+};
}

acquisitions! {
    AttributeOwnershipAcquisitionRequest: Acquire;
    AttributeOwnershipAcquisitionIfAvailableRequest: AcquireIfAvailable;
}

impl Serve for CancelAttributeOwnershipAcquisitionRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (instance, attributes) = (self.object_instance, self.attributes.as_ref());
        let arguments = Arguments { federate, instance, attributes, tag: &NO_TAG };
        objects.cancel_acquisition(effects, arguments).map(Reply::Now)
    }
}

impl Serve for QueryAttributeOwnershipRequest {
    fn serve(self, Context { objects, effects, federate, evolved, .. }: Context<'_>) -> Served<()> {
        let (instance, attributes) = (self.object_instance, self.attributes.as_ref());
        objects.query_ownership(effects, federate, instance, attributes, evolved).map(Reply::Now)
    }
}

impl Serve for IsAttributeOwnedByFederateRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<bool> {
        objects.owns(federate, self.object_instance, self.attribute).map(Reply::Now)
    }
}
