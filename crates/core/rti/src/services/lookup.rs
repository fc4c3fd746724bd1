//! Support services: handles and names, dimensions, update rates, normalization (10.2 to 10.33).

use super::{Context, Served, answer};
use crate::control::NodeId;
use crate::object::objects::Objects;
use hla::api::call_request::CallRequest as Call;
use hla::api::{DimensionHandleSet, OrderType, ServiceGroup};
use hla::handle::{AttributeHandle, DimensionHandle, ObjectClassHandle, TransportationTypeHandle};
use hla::{Exception, RtiError};

fn name_not_found(what: &str, name: &str) -> RtiError {
    RtiError::new(Exception::NameNotFound, format!("no {what} is called `{name}`"))
}

pub(crate) fn serve(cx: Context<'_>, call: Call) -> Served {
    let x = &*cx.objects;
    match call {
        Call::GetObjectClassHandleRequest(r) => {
            let found = x.model.object_class_by_name(&r.object_class_name);
            let handle = found.ok_or_else(|| name_not_found("object class", &r.object_class_name))?;
            answer!(GetObjectClassHandleResponse, handle)
        }
        Call::GetObjectClassNameRequest(r) => {
            let class = x.object_class(r.object_class, Exception::InvalidObjectClassHandle)?;
            answer!(GetObjectClassNameResponse, class.name.clone())
        }
        Call::GetAttributeHandleRequest(r) => {
            let class = x.object_class(r.object_class, Exception::InvalidObjectClassHandle)?;
            let found = x.model.attribute_by_name(class.handle, &r.attribute_name);
            let what = || format!("attribute of `{}`", class.name);
            let handle = found.ok_or_else(|| name_not_found(&what(), &r.attribute_name))?;
            answer!(GetAttributeHandleResponse, handle)
        }
        Call::GetAttributeNameRequest(r) => {
            let class = x.object_class(r.object_class, Exception::InvalidObjectClassHandle)?;
            let handle = r.attribute.unwrap_or_default();
            let invalid =
                || RtiError::new(Exception::InvalidAttributeHandle, format!("{handle:?} is no attribute"));
            let attribute = x.model.attribute(handle).ok_or_else(invalid)?;
            if !class.has_attribute(handle) {
                return Err(x.attribute_not_defined(handle, class));
            }
            answer!(GetAttributeNameResponse, attribute.name.clone())
        }
        Call::GetInteractionClassHandleRequest(r) => {
            let found = x.model.interaction_class_by_name(&r.interaction_class_name);
            let handle =
                found.ok_or_else(|| name_not_found("interaction class", &r.interaction_class_name))?;
            answer!(GetInteractionClassHandleResponse, handle)
        }
        Call::GetInteractionClassNameRequest(r) => {
            let class = x.interaction_class(r.interaction_class, Exception::InvalidInteractionClassHandle)?;
            answer!(GetInteractionClassNameResponse, class.name.clone())
        }
        Call::GetParameterHandleRequest(r) => {
            let class = x.interaction_class(r.interaction_class, Exception::InvalidInteractionClassHandle)?;
            let found = x.model.parameter_by_name(class.handle, &r.parameter_name);
            let what = || format!("parameter of `{}`", class.name);
            let handle = found.ok_or_else(|| name_not_found(&what(), &r.parameter_name))?;
            answer!(GetParameterHandleResponse, handle)
        }
        Call::GetParameterNameRequest(r) => {
            let class = x.interaction_class(r.interaction_class, Exception::InvalidInteractionClassHandle)?;
            let handle = r.parameter.unwrap_or_default();
            let invalid =
                || RtiError::new(Exception::InvalidParameterHandle, format!("{handle:?} is no parameter"));
            let parameter = x.model.parameter(handle).ok_or_else(invalid)?;
            if !class.has_parameter(handle) {
                let text = format!("parameter `{}` is not available at `{}`", parameter.name, class.name);
                return Err(RtiError::new(Exception::InteractionParameterNotDefined, text));
            }
            answer!(GetParameterNameResponse, parameter.name.clone())
        }
        other => instances_and_federates(cx, other),
    }
}

fn instances_and_federates(cx: Context<'_>, call: Call) -> Served {
    let (x, who) = (&*cx.objects, cx.who);
    match call {
        Call::GetKnownObjectClassHandleRequest(r) => {
            answer!(GetKnownObjectClassHandleResponse, x.known_instance(who, r.object_instance)?.1.handle)
        }
        Call::GetObjectInstanceHandleRequest(r) => {
            let name = &r.object_instance_name;
            let found = x.instances.by_name(name).filter(|object| object.known_class(who).is_some());
            let unknown = || {
                let text = format!("no object instance known to this federate is called `{name}`");
                RtiError::new(Exception::ObjectInstanceNotKnown, text)
            };
            answer!(GetObjectInstanceHandleResponse, found.ok_or_else(unknown)?.handle)
        }
        Call::GetObjectInstanceNameRequest(r) => {
            answer!(
                GetObjectInstanceNameResponse,
                x.known_instance(who, r.object_instance)?.0.name.to_string()
            )
        }
        Call::GetFederateHandleRequest(r) => {
            let found = cx.federation().member_by_name(&r.federate_name);
            let handle = found.ok_or_else(|| name_not_found("joined federate", &r.federate_name))?;
            answer!(GetFederateHandleResponse, handle)
        }
        Call::GetFederateNameRequest(r) => {
            let handle = r.federate.unwrap_or_default();
            let federation = cx.federation();
            match federation.member(handle) {
                Some(member) => answer!(GetFederateNameResponse, member.name.clone()),
                None if federation.was_member(handle) => {
                    let text = format!("{handle:?} has left the federation");
                    Err(RtiError::new(Exception::FederateHandleNotKnown, text))
                }
                None => Err(invalid_federate(&cx, handle)),
            }
        }
        Call::NormalizeFederateHandleRequest(r) => {
            let handle = r.federate.unwrap_or_default();
            match cx.federation().was_member(handle) {
                true => answer!(NormalizeFederateHandleResponse, handle.0),
                false => Err(invalid_federate(&cx, handle)),
            }
        }
        other => rates_and_orders(cx, other),
    }
}

fn invalid_federate(cx: &Context<'_>, handle: hla::handle::FederateHandle) -> RtiError {
    let text = format!("{handle:?} is no federate of `{}`", cx.federation().name);
    RtiError::new(Exception::InvalidFederateHandle, text)
}

fn rates_and_orders(cx: Context<'_>, call: Call) -> Served {
    let (x, who) = (&*cx.objects, cx.who);
    match call {
        Call::GetUpdateRateValueRequest(r) => {
            let name = &r.update_rate_designator;
            let rate = if name.is_empty() { Some(0.0) } else { x.model.update_rate(name) };
            let unknown = || {
                let text = format!("the object model has no update rate `{name}`");
                RtiError::new(Exception::InvalidUpdateRateDesignator, text)
            };
            answer!(GetUpdateRateValueResponse, rate.ok_or_else(unknown)?)
        }
        Call::GetUpdateRateValueForAttributeRequest(r) => {
            let (_, class) = x.known_instance(who, r.object_instance)?;
            let attribute = r.attribute.unwrap_or_default();
            if !class.has_attribute(attribute) {
                return Err(x.attribute_not_defined(attribute, class));
            }
            answer!(GetUpdateRateValueForAttributeResponse, subscribed_rate(&cx, class.handle, attribute))
        }
        Call::GetOrderTypeRequest(r) => match r.order_type_name.as_str() {
            "Receive" => answer!(GetOrderTypeResponse, OrderType::Receive as i32),
            "TimeStamp" => answer!(GetOrderTypeResponse, OrderType::Timestamp as i32),
            name => {
                let text = format!("`{name}` is neither Receive nor TimeStamp");
                Err(RtiError::new(Exception::InvalidOrderName, text))
            }
        },
        Call::GetOrderNameRequest(r) => match Objects::order(r.order_type)? {
            OrderType::Receive => answer!(GetOrderNameResponse, "Receive".to_owned()),
            OrderType::Timestamp => answer!(GetOrderNameResponse, "TimeStamp".to_owned()),
        },
        Call::GetTransportationTypeHandleRequest(r) => {
            let name = &r.transportation_type_name;
            let unknown = || {
                let text = format!("no transportation type is called `{name}`");
                RtiError::new(Exception::InvalidTransportationName, text)
            };
            answer!(
                GetTransportationTypeHandleResponse,
                x.model.transportation_by_name(name).ok_or_else(unknown)?
            )
        }
        Call::GetTransportationTypeNameRequest(r) => {
            let handle: TransportationTypeHandle = r.transportation_type.unwrap_or_default();
            let unknown = || {
                let text = format!("{handle:?} is no transportation type of this federation");
                RtiError::new(Exception::InvalidTransportationTypeHandle, text)
            };
            let transportation = x.model.transportation(handle).ok_or_else(unknown)?;
            answer!(GetTransportationTypeNameResponse, transportation.name.clone())
        }
        other => dimensions(cx, other),
    }
}

/// The rate in Hz that applies to the caller's subscription of an attribute; 0 for no reduction.
fn subscribed_rate(cx: &Context<'_>, class: ObjectClassHandle, attribute: AttributeHandle) -> f64 {
    let subscription = cx.objects.federate(cx.who).subscription(class, attribute);
    let rate = subscription.and_then(|subscription| subscription.rate);
    rate.map_or(0.0, |rate| cx.objects.rates[rate.0 as usize].hertz)
}

fn dimensions(cx: Context<'_>, call: Call) -> Served {
    let x = &*cx.objects;
    let set = |dimension_handle: Vec<DimensionHandle>| DimensionHandleSet { dimension_handle };
    let dimension = |handle: Option<DimensionHandle>| {
        let handle = handle.unwrap_or_default();
        let text = || format!("{handle:?} is no dimension of this federation");
        x.model.dimension(handle).ok_or_else(|| RtiError::new(Exception::InvalidDimensionHandle, text()))
    };
    match call {
        Call::GetAvailableDimensionsForObjectClassRequest(r) => {
            let class = x.object_class(r.object_class, Exception::InvalidObjectClassHandle)?;
            let of_attributes =
                class.attributes.iter().flat_map(|&a| x.model.attribute_dimensions(class.handle, a));
            let mut all: Vec<_> = class.dimensions.iter().copied().chain(of_attributes).collect();
            all.sort_unstable();
            all.dedup();
            answer!(GetAvailableDimensionsForObjectClassResponse, set(all))
        }
        Call::GetAvailableDimensionsForInteractionClassRequest(r) => {
            let class = x.interaction_class(r.interaction_class, Exception::InvalidInteractionClassHandle)?;
            answer!(GetAvailableDimensionsForInteractionClassResponse, set(class.dimensions.clone()))
        }
        Call::GetDimensionHandleRequest(r) => {
            let found = x.model.dimension_by_name(&r.dimension_name);
            let handle = found.ok_or_else(|| name_not_found("dimension", &r.dimension_name))?;
            answer!(GetDimensionHandleResponse, handle)
        }
        Call::GetDimensionNameRequest(r) => {
            answer!(GetDimensionNameResponse, dimension(r.dimension)?.name.clone())
        }
        Call::GetDimensionUpperBoundRequest(r) => {
            answer!(GetDimensionUpperBoundResponse, dimension(r.dimension)?.upper_bound)
        }
        other => normalizations(cx, other),
    }
}

fn normalizations(cx: Context<'_>, call: Call) -> Served {
    let x = &*cx.objects;
    match call {
        Call::NormalizeServiceGroupRequest(r) => match ServiceGroup::try_from(r.service_group) {
            Ok(group) => answer!(NormalizeServiceGroupResponse, group as u32),
            Err(_) => {
                let text = format!("{} is no service group (0 to 6)", r.service_group);
                Err(RtiError::new(Exception::InvalidServiceGroup, text))
            }
        },
        Call::NormalizeObjectClassHandleRequest(r) => {
            let class = x.object_class(r.object_class, Exception::InvalidObjectClassHandle)?;
            answer!(NormalizeObjectClassHandleResponse, class.handle.0)
        }
        Call::NormalizeInteractionClassHandleRequest(r) => {
            let class = x.interaction_class(r.interaction_class, Exception::InvalidInteractionClassHandle)?;
            answer!(NormalizeInteractionClassHandleResponse, class.handle.0)
        }
        Call::NormalizeObjectInstanceHandleRequest(r) => {
            let handle = r.object_instance.unwrap_or_default();
            let unknown = || {
                let text = format!("{handle:?} is no object instance of this federation");
                RtiError::new(Exception::InvalidObjectInstanceHandle, text)
            };
            let object = x.instances.get(handle).ok_or_else(unknown)?;
            // The low half counts per node. Of the first million instances of each of 4,096 nodes no two are alike.
            let node = u32::from(NodeId::of_instance(object.handle).0).wrapping_sub(1) << 20;
            answer!(NormalizeObjectInstanceHandleResponse, object.handle.0 as u32 ^ node)
        }
        other => super::switches::serve(cx, other),
    }
}
