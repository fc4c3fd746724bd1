//! Support services, by names.

use super::Fed;
use super::calls::{Refused, result};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, ResignAction};
use hla::handle::FederateHandle;

impl Fed {
    pub(crate) fn set_scope(&self, value: bool) -> Refused {
        self.plain(Call::SetAttributeScopeAdvisorySwitchRequest(
            api::SetAttributeScopeAdvisorySwitchRequest { value },
        ))
    }

    pub(crate) fn set_relevance(&self, value: bool) -> Refused {
        let request = api::SetAttributeRelevanceAdvisorySwitchRequest { value };
        self.plain(Call::SetAttributeRelevanceAdvisorySwitchRequest(request))
    }

    pub(crate) fn set_class_relevance(&self, value: bool) -> Refused {
        let request = api::SetObjectClassRelevanceAdvisorySwitchRequest { value };
        self.plain(Call::SetObjectClassRelevanceAdvisorySwitchRequest(request))
    }

    pub(crate) fn set_interaction_relevance(&self, value: bool) -> Refused {
        let request = api::SetInteractionRelevanceAdvisorySwitchRequest { value };
        self.plain(Call::SetInteractionRelevanceAdvisorySwitchRequest(request))
    }

    pub(crate) fn resign_directive(&self) -> Refused<ResignAction> {
        let value =
            result!(self, GetAutomaticResignDirectiveRequest {} => GetAutomaticResignDirectiveResponse)?;
        Ok(ResignAction::try_from(value).expect("one of the standard's"))
    }

    pub(crate) fn set_resign_directive(&self, action: ResignAction) -> Refused {
        let request = api::SetAutomaticResignDirectiveRequest { value: action.into() };
        self.plain(Call::SetAutomaticResignDirectiveRequest(request))
    }

    /// The full name of the class at which the federate knows the instance.
    pub(crate) fn known_class(&self, instance: u32) -> Refused<String> {
        let object_class = result!(self, GetKnownObjectClassHandleRequest { object_instance: self.instance(instance) }
            => GetKnownObjectClassHandleResponse)?;
        result!(self, GetObjectClassNameRequest { object_class: object_class } => GetObjectClassNameResponse)
    }

    pub(crate) fn instance_name(&self, instance: u32) -> Refused<String> {
        result!(self, GetObjectInstanceNameRequest { object_instance: self.instance(instance) }
            => GetObjectInstanceNameResponse)
    }

    pub(crate) fn instance_called(&self, name: &str) -> Refused<u32> {
        let handle = result!(self, GetObjectInstanceHandleRequest { object_instance_name: name.to_owned() }
            => GetObjectInstanceHandleResponse)?;
        Ok(super::calls::number(handle))
    }

    pub(crate) fn federate_called(&self, name: &str) -> Refused<FederateHandle> {
        let handle = result!(self, GetFederateHandleRequest { federate_name: name.to_owned() }
            => GetFederateHandleResponse)?;
        Ok(handle.unwrap_or_default())
    }

    pub(crate) fn federate_name(&self, federate: FederateHandle) -> Refused<String> {
        result!(self, GetFederateNameRequest { federate: Some(federate) } => GetFederateNameResponse)
    }

    pub(crate) fn class_handle(&self, name: &str) -> Refused<u32> {
        let handle = result!(self, GetObjectClassHandleRequest { object_class_name: name.to_owned() }
            => GetObjectClassHandleResponse)?;
        Ok(handle.unwrap_or_default().0)
    }

    pub(crate) fn class_name(&self, class: &str) -> Refused<String> {
        result!(self, GetObjectClassNameRequest { object_class: self.class(class) } => GetObjectClassNameResponse)
    }

    pub(crate) fn attribute_handle(&self, class: &str, name: &str) -> Refused<u32> {
        let handle = result!(self, GetAttributeHandleRequest {
            object_class: self.class(class),
            attribute_name: name.to_owned(),
        } => GetAttributeHandleResponse)?;
        Ok(handle.unwrap_or_default().0)
    }

    pub(crate) fn attribute_name(&self, class: &str, attribute: &str) -> Refused<String> {
        result!(self, GetAttributeNameRequest {
            object_class: self.class(class),
            attribute: Some(self.attribute(attribute)),
        } => GetAttributeNameResponse)
    }

    pub(crate) fn interaction_handle(&self, name: &str) -> Refused<u32> {
        let handle = result!(self, GetInteractionClassHandleRequest { interaction_class_name: name.to_owned() }
            => GetInteractionClassHandleResponse)?;
        Ok(handle.unwrap_or_default().0)
    }

    pub(crate) fn interaction_name(&self, class: &str) -> Refused<String> {
        result!(self, GetInteractionClassNameRequest { interaction_class: self.interaction(class) }
            => GetInteractionClassNameResponse)
    }

    pub(crate) fn parameter_handle(&self, class: &str, name: &str) -> Refused<u32> {
        let handle = result!(self, GetParameterHandleRequest {
            interaction_class: self.interaction(class),
            parameter_name: name.to_owned(),
        } => GetParameterHandleResponse)?;
        Ok(handle.unwrap_or_default().0)
    }

    pub(crate) fn parameter_name(&self, class: &str, parameter: &str) -> Refused<String> {
        result!(self, GetParameterNameRequest {
            interaction_class: self.interaction(class),
            parameter: Some(self.parameter(parameter)),
        } => GetParameterNameResponse)
    }

    pub(crate) fn rate_of(&self, instance: u32, attribute: &str) -> Refused<f64> {
        result!(self, GetUpdateRateValueForAttributeRequest {
            object_instance: self.instance(instance),
            attribute: Some(self.attribute(attribute)),
        } => GetUpdateRateValueForAttributeResponse)
    }

    pub(crate) fn rate_value(&self, designator: &str) -> Refused<f64> {
        result!(self, GetUpdateRateValueRequest { update_rate_designator: designator.to_owned() }
            => GetUpdateRateValueResponse)
    }
}
