//! Support services (clause 10), answered from the object model and the tables.

use super::{Effects, Federation, Served, answer};
use hla::Exception;
use hla::api;
use hla::api::call_request::CallRequest as Call;
use hla::handle::{DimensionHandle, FederateHandle, ObjectInstanceHandle};

fn found<T>(found: Option<T>, otherwise: Exception) -> Result<T, Vec<Exception>> {
    found.ok_or_else(|| vec![otherwise])
}

impl Federation {
    /// Executes a look-up. `None`: it is another call.
    pub(super) fn look_up(
        &mut self,
        federate: FederateHandle,
        request: &Call,
        _: &mut Effects,
    ) -> Option<Served> {
        let served = self.look_up_class(request).or_else(|| self.look_up_member(request));
        let served = served.or_else(|| self.look_up_instance(federate, request));
        let served = served.or_else(|| self.look_up_federate(request));
        served.or_else(|| self.look_up_constant(request))
    }

    fn look_up_class(&self, request: &Call) -> Option<Served> {
        let model = &self.model;
        Some(match request {
            Call::GetObjectClassHandleRequest(r) => {
                found(model.object_class_by_name(&r.object_class_name), Exception::NameNotFound)
                    .and_then(|handle| answer!(GetObjectClassHandleResponse, handle))
            }
            Call::GetObjectClassNameRequest(r) => {
                let class = model.object_class(r.object_class.unwrap_or_default());
                found(class, Exception::InvalidObjectClassHandle)
                    .and_then(|class| answer!(GetObjectClassNameResponse, class.name.clone()))
            }
            Call::GetInteractionClassHandleRequest(r) => {
                found(model.interaction_class_by_name(&r.interaction_class_name), Exception::NameNotFound)
                    .and_then(|handle| answer!(GetInteractionClassHandleResponse, handle))
            }
            Call::GetInteractionClassNameRequest(r) => {
                let class = model.interaction_class(r.interaction_class.unwrap_or_default());
                found(class, Exception::InvalidInteractionClassHandle)
                    .and_then(|class| answer!(GetInteractionClassNameResponse, class.name.clone()))
            }
            Call::NormalizeObjectClassHandleRequest(r) => {
                let class = model.object_class(r.object_class.unwrap_or_default());
                found(class, Exception::InvalidObjectClassHandle)
                    .and_then(|class| answer!(NormalizeObjectClassHandleResponse, class.handle.0))
            }
            Call::NormalizeInteractionClassHandleRequest(r) => {
                let class = model.interaction_class(r.interaction_class.unwrap_or_default());
                found(class, Exception::InvalidInteractionClassHandle)
                    .and_then(|class| answer!(NormalizeInteractionClassHandleResponse, class.handle.0))
            }
            _ => return None,
        })
    }

    fn look_up_member(&self, request: &Call) -> Option<Served> {
        let model = &self.model;
        Some(match request {
            Call::GetAttributeHandleRequest(r) => {
                let class = r.object_class.unwrap_or_default();
                found(model.object_class(class), Exception::InvalidObjectClassHandle)
                    .and_then(|_| {
                        found(model.attribute_by_name(class, &r.attribute_name), Exception::NameNotFound)
                    })
                    .and_then(|handle| answer!(GetAttributeHandleResponse, handle))
            }
            Call::GetAttributeNameRequest(r) => {
                let (class, attribute) =
                    (r.object_class.unwrap_or_default(), r.attribute.unwrap_or_default());
                match (model.object_class(class), model.attribute(attribute)) {
                    (None, _) => Err(vec![Exception::InvalidObjectClassHandle]),
                    (_, None) => Err(vec![Exception::InvalidAttributeHandle]),
                    (Some(class), Some(known)) if class.attributes.contains(&attribute) => {
                        answer!(GetAttributeNameResponse, known.name.clone())
                    }
                    _ => Err(vec![Exception::AttributeNotDefined]),
                }
            }
            Call::GetParameterHandleRequest(r) => {
                let class = r.interaction_class.unwrap_or_default();
                found(model.interaction_class(class), Exception::InvalidInteractionClassHandle)
                    .and_then(|_| {
                        found(model.parameter_by_name(class, &r.parameter_name), Exception::NameNotFound)
                    })
                    .and_then(|handle| answer!(GetParameterHandleResponse, handle))
            }
            Call::GetParameterNameRequest(r) => {
                let class = model.interaction_class(r.interaction_class.unwrap_or_default());
                let parameter = r.parameter.unwrap_or_default();
                match (class, model.parameter(parameter)) {
                    (None, _) => Err(vec![Exception::InvalidInteractionClassHandle]),
                    (_, None) => Err(vec![Exception::InvalidParameterHandle]),
                    (Some(class), Some(known)) if class.parameters.contains(&parameter) => {
                        answer!(GetParameterNameResponse, known.name.clone())
                    }
                    _ => Err(vec![Exception::InteractionParameterNotDefined]),
                }
            }
            _ => return None,
        })
    }

    /// For a federate, an instance exists if the federate knows it (10.8 to 10.10).
    fn look_up_instance(&self, federate: FederateHandle, request: &Call) -> Option<Served> {
        let known = |handle: Option<_>| {
            found(self.known_class(federate, handle.unwrap_or_default()), Exception::ObjectInstanceNotKnown)
        };
        Some(match request {
            Call::GetKnownObjectClassHandleRequest(r) => {
                known(r.object_instance).and_then(|class| answer!(GetKnownObjectClassHandleResponse, class))
            }
            Call::GetObjectInstanceNameRequest(r) => known(r.object_instance).and_then(|_| {
                let name = self.instances[&r.object_instance.unwrap_or_default()].name.clone();
                answer!(GetObjectInstanceNameResponse, name)
            }),
            Call::GetObjectInstanceHandleRequest(r) => {
                let named = self.instances.iter().find(|(_, object)| object.name == r.object_instance_name);
                let known = named.filter(|(_, object)| object.known.contains_key(&federate));
                found(known, Exception::ObjectInstanceNotKnown)
                    .and_then(|(&handle, _)| answer!(GetObjectInstanceHandleResponse, handle))
            }
            Call::NormalizeObjectInstanceHandleRequest(r) => {
                let handle = r.object_instance.unwrap_or_default();
                found(self.instances.get(&handle), Exception::InvalidObjectInstanceHandle)
                    .and_then(|_| answer!(NormalizeObjectInstanceHandleResponse, normalized(handle)))
            }
            Call::GetUpdateRateValueForAttributeRequest(r) => known(r.object_instance).and_then(|class| {
                let attribute = r.attribute.unwrap_or_default();
                if !self.available(class).contains(&attribute) {
                    return Err(vec![Exception::AttributeNotDefined]);
                }
                let instance = r.object_instance.unwrap_or_default();
                let how = self.applicable(federate, (class, attribute), instance);
                let rate = how.and_then(|how| how.rate).map_or(0.0, |(_, hertz)| hertz);
                answer!(GetUpdateRateValueForAttributeResponse, rate)
            }),
            _ => return None,
        })
    }

    fn look_up_federate(&self, request: &Call) -> Option<Served> {
        Some(match request {
            Call::GetFederateHandleRequest(r) => {
                let named = self.federates.iter().find(|(_, federate)| federate.name == r.federate_name);
                found(named, Exception::NameNotFound)
                    .and_then(|(&handle, _)| answer!(GetFederateHandleResponse, handle))
            }
            Call::GetFederateNameRequest(r) => {
                let handle = r.federate.unwrap_or_default();
                match self.federates.get(&handle) {
                    Some(federate) => answer!(GetFederateNameResponse, federate.name.clone()),
                    None if self.was_federate(handle) => Err(vec![Exception::FederateHandleNotKnown]),
                    None => Err(vec![Exception::InvalidFederateHandle]),
                }
            }
            Call::NormalizeFederateHandleRequest(r) => {
                let handle = r.federate.unwrap_or_default();
                match self.was_federate(handle) {
                    true => answer!(NormalizeFederateHandleResponse, handle.0),
                    false => Err(vec![Exception::InvalidFederateHandle]),
                }
            }
            _ => return None,
        })
    }

    fn was_federate(&self, handle: FederateHandle) -> bool {
        (1..=self.federates_ever).contains(&handle.0)
    }

    fn look_up_constant(&self, request: &Call) -> Option<Served> {
        let model = &self.model;
        let set = |dimension_handle| api::DimensionHandleSet { dimension_handle };
        Some(match request {
            Call::GetUpdateRateValueRequest(r) => match r.update_rate_designator.as_str() {
                "" => answer!(GetUpdateRateValueResponse, 0.0),
                name => found(model.update_rate(name), Exception::InvalidUpdateRateDesignator)
                    .and_then(|rate| answer!(GetUpdateRateValueResponse, rate)),
            },
            Call::GetOrderTypeRequest(r) => match r.order_type_name.as_str() {
                "Receive" => answer!(GetOrderTypeResponse, 0),
                "TimeStamp" => answer!(GetOrderTypeResponse, 1),
                _ => Err(vec![Exception::InvalidOrderName]),
            },
            Call::GetOrderNameRequest(r) => match r.order_type {
                0 => answer!(GetOrderNameResponse, "Receive"),
                1 => answer!(GetOrderNameResponse, "TimeStamp"),
                _ => Err(vec![Exception::InvalidOrderType]),
            },
            Call::GetTransportationTypeHandleRequest(r) => {
                let handle = model.transportation_by_name(&r.transportation_type_name);
                found(handle, Exception::InvalidTransportationName)
                    .and_then(|handle| answer!(GetTransportationTypeHandleResponse, handle))
            }
            Call::GetTransportationTypeNameRequest(r) => {
                let known = model.transportation(r.transportation_type.unwrap_or_default());
                found(known, Exception::InvalidTransportationTypeHandle)
                    .and_then(|known| answer!(GetTransportationTypeNameResponse, known.name.clone()))
            }
            Call::GetDimensionHandleRequest(r) => {
                found(model.dimension_by_name(&r.dimension_name), Exception::NameNotFound)
                    .and_then(|handle| answer!(GetDimensionHandleResponse, handle))
            }
            Call::GetDimensionNameRequest(r) => {
                let known = model.dimension(r.dimension.unwrap_or_default());
                found(known, Exception::InvalidDimensionHandle)
                    .and_then(|known| answer!(GetDimensionNameResponse, known.name.clone()))
            }
            Call::GetDimensionUpperBoundRequest(r) => {
                let known = model.dimension(r.dimension.unwrap_or_default());
                found(known, Exception::InvalidDimensionHandle)
                    .and_then(|known| answer!(GetDimensionUpperBoundResponse, known.upper_bound))
            }
            Call::NormalizeServiceGroupRequest(r) => match r.service_group {
                group @ 0..=6 => answer!(NormalizeServiceGroupResponse, group as u32),
                _ => Err(vec![Exception::InvalidServiceGroup]),
            },
            Call::GetAvailableDimensionsForObjectClassRequest(r) => {
                let class = model.object_class(r.object_class.unwrap_or_default());
                found(class, Exception::InvalidObjectClassHandle).and_then(|class| {
                    let of = |&attribute| model.attribute_dimensions(class.handle, attribute).to_vec();
                    let mut all: Vec<DimensionHandle> = class.attributes.iter().flat_map(of).collect();
                    all.extend(&class.dimensions);
                    all.sort_unstable();
                    all.dedup();
                    answer!(GetAvailableDimensionsForObjectClassResponse, set(all))
                })
            }
            Call::GetAvailableDimensionsForInteractionClassRequest(r) => {
                let class = model.interaction_class(r.interaction_class.unwrap_or_default());
                found(class, Exception::InvalidInteractionClassHandle).and_then(|class| {
                    answer!(GetAvailableDimensionsForInteractionClassResponse, set(class.dimensions.clone()))
                })
            }
            _ => return None,
        })
    }
}

/// The number of an instance: its low half, and 2,047 above it for the management object model.
fn normalized(handle: ObjectInstanceHandle) -> u32 {
    match handle.0 >> 32 {
        0 => 2_047 << 20 | handle.0 as u32 & 0xf_ffff,
        _ => handle.0 as u32,
    }
}
