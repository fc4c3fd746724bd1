//! Calls of support services with drawn arguments, and of saves without a label.

use super::calls::{call, federate};
use super::knowledge::Knowledge;
use crate::draw::Draw;
use crate::fom;
use hla::api;
use hla::api::call_request::CallRequest as Call;
use hla::handle::{AttributeHandle, DimensionHandle, ParameterHandle, TransportationTypeHandle};

/// A look-up of a name, a handle, or a part of a class.
pub(super) fn lookup(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    match draw.below(4) {
        0 => of_classes(k, draw),
        1 => of_members(k, draw),
        2 => of_instances(k, draw),
        _ => of_the_rest(k, draw),
    }
}

fn spoilt(name: String, k: &Knowledge, draw: &mut Draw) -> String {
    if draw.chance(k.mistakes) { format!("{name}x") } else { name }
}

fn of_classes(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let objects: Vec<_> = fom::object_class_names().collect();
    let interactions: Vec<_> = fom::interaction_class_names().collect();
    let object = draw.pick(&objects).copied().unwrap_or_default();
    let interaction = draw.pick(&interactions).copied().unwrap_or_default();
    let full = draw.chance(30);
    let object = if full { format!("HLAobjectRoot.{object}") } else { object.to_owned() };
    let interaction = if full { format!("HLAinteractionRoot.{interaction}") } else { interaction.to_owned() };
    match draw.below(8) {
        0 | 1 => call!(GetObjectClassHandleRequest { object_class_name: spoilt(object, k, draw) }),
        2 => call!(GetObjectClassNameRequest { object_class: Some(k.object_class(draw)) }),
        3 | 4 => {
            call!(GetInteractionClassHandleRequest { interaction_class_name: spoilt(interaction, k, draw) })
        }
        5 => call!(GetInteractionClassNameRequest { interaction_class: Some(k.interaction_class(draw)) }),
        6 => call!(NormalizeObjectClassHandleRequest { object_class: Some(k.object_class(draw)) }),
        _ => {
            call!(NormalizeInteractionClassHandleRequest {
                interaction_class: Some(k.interaction_class(draw))
            })
        }
    }
}

fn of_members(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let (object, interaction) = (k.object_class(draw), k.interaction_class(draw));
    let all: Vec<_> =
        k.model.attributes().map(|attribute| (attribute.handle, attribute.name.clone())).collect();
    let parameters: Vec<_> = k.model.parameters().map(|p| (p.handle, p.name.clone())).collect();
    let of_class = k.attributes(object, draw);
    let likely = of_class.first().and_then(|&at| k.model.attribute(at)).map(|a| (a.handle, a.name.clone()));
    let (attribute, attribute_name) = match likely.or_else(|| draw.pick(&all).cloned()) {
        Some(found) => found,
        None => (AttributeHandle(draw.below(2_000) as u32), String::new()),
    };
    let likely =
        k.model.interaction_class(interaction).and_then(|class| draw.pick(&class.parameters).copied());
    let parameter = likely.unwrap_or(ParameterHandle(draw.below(300) as u32));
    let parameter_name = parameters.iter().find(|(handle, _)| *handle == parameter);
    let parameter_name = parameter_name.map_or(String::new(), |(_, name)| name.clone());
    match draw.below(4) {
        0 => call!(GetAttributeHandleRequest {
            object_class: Some(object),
            attribute_name: spoilt(attribute_name, k, draw),
        }),
        1 => call!(GetAttributeNameRequest { object_class: Some(object), attribute: Some(attribute) }),
        2 => call!(GetParameterHandleRequest {
            interaction_class: Some(interaction),
            parameter_name: spoilt(parameter_name, k, draw),
        }),
        _ => call!(GetParameterNameRequest {
            interaction_class: Some(interaction),
            parameter: Some(parameter),
        }),
    }
}

fn of_instances(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let (instance, class) = k.instance(draw)?;
    let object_instance = Some(instance);
    let attribute = k.attributes(class, draw).first().copied();
    match draw.below(5) {
        0 => call!(GetKnownObjectClassHandleRequest { object_instance: object_instance }),
        1 => call!(GetObjectInstanceNameRequest { object_instance: object_instance }),
        2 => {
            let name = format!("HLAobj_{}_{}", instance.0 >> 32, instance.0 & 0xffff_ffff);
            let name = if draw.chance(50) { name } else { "a".to_owned() };
            call!(GetObjectInstanceHandleRequest { object_instance_name: name })
        }
        3 => call!(NormalizeObjectInstanceHandleRequest { object_instance: object_instance }),
        _ => call!(GetUpdateRateValueForAttributeRequest {
            object_instance: object_instance,
            attribute: Some(attribute?),
        }),
    }
}

fn of_the_rest(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let dimensions: Vec<_> = k.model.dimensions().map(|d| (d.handle, d.name.clone())).collect();
    let (dimension, dimension_name) =
        draw.pick(&dimensions).cloned().unwrap_or((DimensionHandle(9), "no".to_owned()));
    let rate = draw.pick(&["", "Rare", "Slow", "Fast", "Never"]).copied().unwrap_or_default();
    let transportation = draw.pick(&["HLAreliable", "HLAbestEffort", "HLAno"]).copied().unwrap_or_default();
    let order = draw.pick(&["Receive", "TimeStamp", "Chaos"]).copied().unwrap_or_default();
    let name = spoilt(format!("federate {}", draw.between(1, 7)), k, draw);
    match draw.below(14) {
        0 => call!(GetFederateHandleRequest { federate_name: name }),
        1 => call!(GetFederateNameRequest { federate: Some(federate(k, draw)) }),
        2 => call!(NormalizeFederateHandleRequest { federate: Some(federate(k, draw)) }),
        3 => call!(GetUpdateRateValueRequest { update_rate_designator: rate }),
        4 => call!(GetOrderTypeRequest { order_type_name: order }),
        5 => call!(GetOrderNameRequest { order_type: draw.below(3) as i32 }),
        6 => call!(GetTransportationTypeHandleRequest { transportation_type_name: transportation }),
        7 => call!(GetTransportationTypeNameRequest {
            transportation_type: Some(TransportationTypeHandle(draw.below(4) as u32)),
        }),
        8 => call!(GetDimensionHandleRequest { dimension_name: spoilt(dimension_name, k, draw) }),
        9 => call!(GetDimensionNameRequest { dimension: Some(dimension) }),
        10 => call!(GetDimensionUpperBoundRequest { dimension: Some(dimension) }),
        11 => call!(NormalizeServiceGroupRequest { service_group: draw.below(9) as i32 }),
        12 => call!(GetAvailableDimensionsForObjectClassRequest { object_class: Some(k.object_class(draw)) }),
        _ => call!(GetAvailableDimensionsForInteractionClassRequest {
            interaction_class: Some(k.interaction_class(draw)),
        }),
    }
}

/// Reads a switch.
pub(super) fn get_switch(draw: &mut Draw) -> Call {
    match draw.below(8) {
        0 => Call::GetObjectClassRelevanceAdvisorySwitchRequest(Default::default()),
        1 => Call::GetAttributeRelevanceAdvisorySwitchRequest(Default::default()),
        2 => Call::GetAttributeScopeAdvisorySwitchRequest(Default::default()),
        3 => Call::GetInteractionRelevanceAdvisorySwitchRequest(Default::default()),
        4 => Call::GetConveyRegionDesignatorSetsSwitchRequest(Default::default()),
        5 => Call::GetAutomaticResignDirectiveRequest(Default::default()),
        6 => Call::GetServiceReportingSwitchRequest(Default::default()),
        _ => Call::GetAutoProvideSwitchRequest(Default::default()),
    }
}

/// Sets a switch.
pub(super) fn set_switch(draw: &mut Draw) -> Call {
    use api::*;
    let value = draw.chance(60);
    match draw.below(6) {
        0 => {
            Call::SetObjectClassRelevanceAdvisorySwitchRequest(SetObjectClassRelevanceAdvisorySwitchRequest {
                value,
            })
        }
        1 => Call::SetAttributeRelevanceAdvisorySwitchRequest(SetAttributeRelevanceAdvisorySwitchRequest {
            value,
        }),
        2 => Call::SetAttributeScopeAdvisorySwitchRequest(SetAttributeScopeAdvisorySwitchRequest { value }),
        3 => {
            Call::SetInteractionRelevanceAdvisorySwitchRequest(SetInteractionRelevanceAdvisorySwitchRequest {
                value,
            })
        }
        4 => Call::SetConveyRegionDesignatorSetsSwitchRequest(SetConveyRegionDesignatorSetsSwitchRequest {
            value,
        }),
        _ => Call::SetAutomaticResignDirectiveRequest(SetAutomaticResignDirectiveRequest {
            value: draw.below(7) as i32,
        }),
    }
}

/// A save or a restore without a label, which this RTI answers with RTIinternalError. Those with one
/// have their own tests.
pub(super) fn later(_: &Knowledge, draw: &mut Draw) -> Call {
    match draw.below(2) {
        0 => Call::RequestFederationSaveRequest(api::RequestFederationSaveRequest::default()),
        _ => Call::RequestFederationRestoreRequest(api::RequestFederationRestoreRequest::default()),
    }
}
