//! Transportation types (6.25 to 6.32) and order types (8.24 to 8.26).

use super::{Context, Reply, Serve, Served};
use hla::api::*;
use hla::{Exception, RtiError};

impl Serve for RequestAttributeTransportationTypeChangeRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (instance, to) = (self.object_instance, self.transportation_type);
        let attributes = self.attributes.as_ref();
        objects.change_attribute_transportation(effects, federate, instance, attributes, to).map(Reply::Now)
    }
}

impl Serve for ChangeDefaultAttributeTransportationTypeRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<()> {
        let (class, to) = (self.object_class, self.transportation_type);
        let attributes = self.attributes.as_ref();
        objects.change_default_transportation(federate, class, attributes, to).map(Reply::Now)
    }
}

impl Serve for QueryAttributeTransportationTypeRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (instance, attribute) = (self.object_instance, self.attribute);
        objects.query_attribute_transportation(effects, federate, instance, attribute).map(Reply::Now)
    }
}

impl Serve for RequestInteractionTransportationTypeChangeRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (class, to) = (self.interaction_class, self.transportation_type);
        objects.change_interaction_transportation(effects, federate, class, to).map(Reply::Now)
    }
}

impl Serve for QueryInteractionTransportationTypeRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        let federate = self.federate.unwrap_or_default();
        let Some(node) = context.federation().member(federate).map(|member| member.node) else {
            let text = format!("{federate:?} is not joined");
            return Err(RtiError::new(Exception::FederateNotExecutionMember, text));
        };
        let Context { objects, effects, federate: asker, .. } = context;
        if node == objects.node {
            let class = self.interaction_class;
            return objects.query_interaction_transportation(effects, asker, federate, class).map(Reply::Now);
        }
        let otherwise = Exception::InteractionClassNotDefined;
        let class = objects.interaction_class(self.interaction_class, otherwise)?.handle;
        objects.ask_transportation(effects, node, asker, federate, class);
        Ok(Reply::Now(()))
    }
}

impl Serve for ChangeAttributeOrderTypeRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (instance, attributes) = (self.object_instance, self.attributes.as_ref());
        objects
            .change_attribute_order(effects, federate, instance, attributes, self.order_type)
            .map(Reply::Now)
    }
}

impl Serve for ChangeDefaultAttributeOrderTypeRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<()> {
        let (class, attributes) = (self.the_object_class, self.attributes.as_ref());
        objects.change_default_order(federate, class, attributes, self.order_type).map(Reply::Now)
    }
}

impl Serve for ChangeInteractionOrderTypeRequest {
    fn serve(self, Context { objects, federate, .. }: Context<'_>) -> Served<()> {
        objects.change_interaction_order(federate, self.interaction_class, self.order_type).map(Reply::Now)
    }
}
