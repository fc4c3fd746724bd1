//! Support services: handles and names, dimensions, update rates, normalization (10.2 to 10.33).

use super::{Context, Reply, Serve, Served};
use crate::control::NodeId;
use crate::control::management::{FEDERATION_INSTANCE, federate_of};
use crate::object::instance::Instance;
use crate::object::objects::Objects;
use hla::api::*;
use hla::fom::Dimension;
use hla::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, TransportationTypeHandle,
};
use hla::{Exception, RtiError};

fn name_not_found(kind: &str, name: &str) -> RtiError {
    RtiError::new(Exception::NameNotFound, format!("no {kind} is called `{name}`"))
}

impl Serve for GetObjectClassHandleRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<ObjectClassHandle> {
        let found = objects.model.object_class_by_name(&self.object_class_name);
        found.map(Reply::Now).ok_or_else(|| name_not_found("object class", &self.object_class_name))
    }
}

impl Serve for GetObjectClassNameRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<String> {
        let class = objects.object_class(self.object_class, Exception::InvalidObjectClassHandle)?;
        Ok(Reply::Now(class.name.clone()))
    }
}

impl Serve for GetAttributeHandleRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<AttributeHandle> {
        let class = objects.object_class(self.object_class, Exception::InvalidObjectClassHandle)?;
        let found = objects.model.attribute_by_name(class.handle, &self.attribute_name);
        let kind = || format!("attribute of `{}`", class.name);
        found.map(Reply::Now).ok_or_else(|| name_not_found(&kind(), &self.attribute_name))
    }
}

impl Serve for GetAttributeNameRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<String> {
        let class = objects.object_class(self.object_class, Exception::InvalidObjectClassHandle)?;
        let handle = self.attribute.unwrap_or_default();
        let invalid =
            || RtiError::new(Exception::InvalidAttributeHandle, format!("{handle:?} is no attribute"));
        let attribute = objects.model.attribute(handle).ok_or_else(invalid)?;
        if !class.has_attribute(handle) {
            return Err(objects.attribute_not_defined(handle, class));
        }
        Ok(Reply::Now(attribute.name.clone()))
    }
}

impl Serve for GetInteractionClassHandleRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<InteractionClassHandle> {
        let found = objects.model.interaction_class_by_name(&self.interaction_class_name);
        found.map(Reply::Now).ok_or_else(|| name_not_found("interaction class", &self.interaction_class_name))
    }
}

impl Serve for GetInteractionClassNameRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<String> {
        let invalid = Exception::InvalidInteractionClassHandle;
        let class = objects.interaction_class(self.interaction_class, invalid)?;
        Ok(Reply::Now(class.name.clone()))
    }
}

impl Serve for GetParameterHandleRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<ParameterHandle> {
        let invalid = Exception::InvalidInteractionClassHandle;
        let class = objects.interaction_class(self.interaction_class, invalid)?;
        let found = objects.model.parameter_by_name(class.handle, &self.parameter_name);
        let kind = || format!("parameter of `{}`", class.name);
        found.map(Reply::Now).ok_or_else(|| name_not_found(&kind(), &self.parameter_name))
    }
}

impl Serve for GetParameterNameRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<String> {
        let invalid = Exception::InvalidInteractionClassHandle;
        let class = objects.interaction_class(self.interaction_class, invalid)?;
        let handle = self.parameter.unwrap_or_default();
        let invalid =
            || RtiError::new(Exception::InvalidParameterHandle, format!("{handle:?} is no parameter"));
        let parameter = objects.model.parameter(handle).ok_or_else(invalid)?;
        if !class.has_parameter(handle) {
            let text = format!("parameter `{}` is not available at `{}`", parameter.name, class.name);
            return Err(RtiError::new(Exception::InteractionParameterNotDefined, text));
        }
        Ok(Reply::Now(parameter.name.clone()))
    }
}

impl Serve for GetKnownObjectClassHandleRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<ObjectClassHandle> {
        Ok(Reply::Now(objects.known_instance(federate, self.object_instance)?.1.handle))
    }
}

impl Serve for GetObjectInstanceHandleRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<ObjectInstanceHandle> {
        let name = &self.object_instance_name;
        let found = objects.instances.by_name(name).filter(|object| object.known_class(federate).is_some());
        let unknown = || {
            let text = format!("no object instance known to this federate is called `{name}`");
            RtiError::new(Exception::ObjectInstanceNotKnown, text)
        };
        Ok(Reply::Now(found.ok_or_else(unknown)?.handle))
    }
}

impl Serve for GetObjectInstanceNameRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<String> {
        Ok(Reply::Now(objects.known_instance(federate, self.object_instance)?.0.name.to_string()))
    }
}

impl Serve for GetFederateHandleRequest {
    fn serve(self, context: Context<'_>) -> Served<FederateHandle> {
        let found = context.federation().member_by_name(&self.federate_name);
        found.map(Reply::Now).ok_or_else(|| name_not_found("joined federate", &self.federate_name))
    }
}

impl Serve for GetFederateNameRequest {
    fn serve(self, context: Context<'_>) -> Served<String> {
        let handle = self.federate.unwrap_or_default();
        match context.federation().member(handle) {
            Some(member) => Ok(Reply::Now(member.name.clone())),
            None if context.federation().was_member(handle) => {
                let text = format!("{handle:?} has left the federation");
                Err(RtiError::new(Exception::FederateHandleNotKnown, text))
            }
            None => Err(context.invalid_federate(handle)),
        }
    }
}

impl Serve for NormalizeFederateHandleRequest {
    fn serve(self, context: Context<'_>) -> Served<u32> {
        let handle = self.federate.unwrap_or_default();
        match context.federation().was_member(handle) {
            true => Ok(Reply::Now(handle.0)),
            false => Err(context.invalid_federate(handle)),
        }
    }
}

impl Context<'_> {
    fn invalid_federate(&self, handle: FederateHandle) -> RtiError {
        let text = format!("{handle:?} is no federate of `{}`", self.federation().name);
        RtiError::new(Exception::InvalidFederateHandle, text)
    }

    fn dimension(&self, handle: Option<DimensionHandle>) -> Result<&Dimension, RtiError> {
        let handle = handle.unwrap_or_default();
        self.objects.model.dimension(handle).ok_or_else(|| {
            let text = format!("{handle:?} is no dimension of this federation");
            RtiError::new(Exception::InvalidDimensionHandle, text)
        })
    }

    /// The rate in Hz that applies to the caller's subscription of an attribute; 0 for no
    /// reduction.
    fn subscribed_rate(
        &self,
        object: &Instance,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> f64 {
        let subscribed = self.objects.federate(self.federate).subscriptions.get(&class);
        let subscription =
            subscribed.and_then(|subscribed| object.applicable(self.federate, subscribed, attribute));
        let rate = subscription.and_then(|subscription| subscription.rate);
        rate.map_or(0.0, |rate| self.objects.rates[rate.0 as usize].hertz)
    }
}

impl Serve for GetUpdateRateValueRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<f64> {
        let name = &self.update_rate_designator;
        let rate = if name.is_empty() { Some(0.0) } else { objects.model.update_rate(name) };
        rate.map(Reply::Now).ok_or_else(|| {
            let text = format!("the object model has no update rate `{name}`");
            RtiError::new(Exception::InvalidUpdateRateDesignator, text)
        })
    }
}

impl Serve for GetUpdateRateValueForAttributeRequest {
    fn serve(self, context: Context<'_>) -> Served<f64> {
        let (object, class) = context.objects.known_instance(context.federate, self.object_instance)?;
        let attribute = self.attribute.unwrap_or_default();
        if !class.has_attribute(attribute) {
            return Err(context.objects.attribute_not_defined(attribute, class));
        }
        Ok(Reply::Now(context.subscribed_rate(object, class.handle, attribute)))
    }
}

impl Serve for GetOrderTypeRequest {
    fn serve(self, _: Context<'_>) -> Served<OrderType> {
        match self.order_type_name.as_str() {
            "Receive" => Ok(Reply::Now(OrderType::Receive)),
            "TimeStamp" => Ok(Reply::Now(OrderType::Timestamp)),
            name => {
                let text = format!("`{name}` is neither Receive nor TimeStamp");
                Err(RtiError::new(Exception::InvalidOrderName, text))
            }
        }
    }
}

impl Serve for GetOrderNameRequest {
    fn serve(self, _: Context<'_>) -> Served<String> {
        let name = match Objects::order(self.order_type)? {
            OrderType::Receive => "Receive",
            OrderType::Timestamp => "TimeStamp",
        };
        Ok(Reply::Now(name.to_owned()))
    }
}

impl Serve for GetTransportationTypeHandleRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<TransportationTypeHandle> {
        let name = &self.transportation_type_name;
        objects.model.transportation_by_name(name).map(Reply::Now).ok_or_else(|| {
            let text = format!("no transportation type is called `{name}`");
            RtiError::new(Exception::InvalidTransportationName, text)
        })
    }
}

impl Serve for GetTransportationTypeNameRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<String> {
        let handle = self.transportation_type.unwrap_or_default();
        let unknown = || {
            let text = format!("{handle:?} is no transportation type of this federation");
            RtiError::new(Exception::InvalidTransportationTypeHandle, text)
        };
        let transportation = objects.model.transportation(handle).ok_or_else(unknown)?;
        Ok(Reply::Now(transportation.name.clone()))
    }
}

impl Serve for GetAvailableDimensionsForObjectClassRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<Vec<DimensionHandle>> {
        let class = objects.object_class(self.object_class, Exception::InvalidObjectClassHandle)?;
        let of_attribute = |&attribute| objects.model.attribute_dimensions(class.handle, attribute);
        let of_attributes = class.attributes.iter().flat_map(of_attribute);
        let mut all: Vec<_> = class.dimensions.iter().copied().chain(of_attributes).collect();
        all.sort_unstable();
        all.dedup();
        Ok(Reply::Now(all))
    }
}

impl Serve for GetAvailableDimensionsForInteractionClassRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<Vec<DimensionHandle>> {
        let invalid = Exception::InvalidInteractionClassHandle;
        let class = objects.interaction_class(self.interaction_class, invalid)?;
        Ok(Reply::Now(class.dimensions.clone()))
    }
}

impl Serve for GetDimensionHandleRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<DimensionHandle> {
        let found = objects.model.dimension_by_name(&self.dimension_name);
        found.map(Reply::Now).ok_or_else(|| name_not_found("dimension", &self.dimension_name))
    }
}

impl Serve for GetDimensionNameRequest {
    fn serve(self, context: Context<'_>) -> Served<String> {
        Ok(Reply::Now(context.dimension(self.dimension)?.name.clone()))
    }
}

impl Serve for GetDimensionUpperBoundRequest {
    fn serve(self, context: Context<'_>) -> Served<u32> {
        Ok(Reply::Now(context.dimension(self.dimension)?.upper_bound))
    }
}

impl Serve for NormalizeServiceGroupRequest {
    fn serve(self, _: Context<'_>) -> Served<u32> {
        match ServiceGroup::try_from(self.service_group) {
            Ok(group) => Ok(Reply::Now(group as u32)),
            Err(_) => {
                let text = format!("{} is no service group (0 to 6)", self.service_group);
                Err(RtiError::new(Exception::InvalidServiceGroup, text))
            }
        }
    }
}

impl Serve for NormalizeObjectClassHandleRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<u32> {
        let class = objects.object_class(self.object_class, Exception::InvalidObjectClassHandle)?;
        Ok(Reply::Now(class.handle.0))
    }
}

impl Serve for NormalizeInteractionClassHandleRequest {
    fn serve(self, Context { objects, .. }: Context<'_>) -> Served<u32> {
        let invalid = Exception::InvalidInteractionClassHandle;
        Ok(Reply::Now(objects.interaction_class(self.interaction_class, invalid)?.handle.0))
    }
}

impl Serve for NormalizeObjectInstanceHandleRequest {
    fn serve(self, context: Context<'_>) -> Served<u32> {
        let handle = self.object_instance.unwrap_or_default();
        let unknown = || {
            let text = format!("{handle:?} is no object instance of this federation");
            RtiError::new(Exception::InvalidObjectInstanceHandle, text)
        };
        // Instances of the management object model exist, although this node may not need them.
        let federation = context.federation();
        let is_managed = handle == FEDERATION_INSTANCE
            || federate_of(handle).is_some_and(|federate| federation.member(federate).is_some());
        if !is_managed && context.objects.instances.get(handle).is_none() {
            return Err(unknown());
        }
        // The low half counts per node. No two of the first million instances of each of 4,096
        // nodes have the same value. Instances of the management object model have node 2,048.
        let number = NodeId::number_of(handle);
        let (node, number) = match u32::from(NodeId::of_instance(handle).0) {
            0 => (2_047, number & 0xf_ffff),
            node => (node - 1, number),
        };
        Ok(Reply::Now(number ^ node << 20))
    }
}
