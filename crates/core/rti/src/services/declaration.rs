//! Declaration management (clause 5).

use super::{Context, Reply, Serve, Served};
use crate::object::objects::DECLARATION_BYTES;
use hla::api::*;

/// The most memory that a declaration of these attributes can take, in bytes.
fn bytes_of(attributes: Option<&AttributeHandleSet>) -> usize {
    attributes.map_or(0, |set| set.attribute_handle.len() * DECLARATION_BYTES)
}

impl Serve for PublishObjectClassAttributesRequest {
    fn serve(self, Context { objects, effects, mut growth, federate, .. }: Context<'_>) -> Served<()> {
        let attributes = self.attributes.as_ref();
        growth.check(bytes_of(attributes))?;
        objects.publish_attributes(effects, federate, self.object_class, attributes).map(Reply::Now)
    }
}

impl Serve for UnpublishObjectClassRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        let completion = context.completion::<Self>(());
        let Context { objects, effects, federate, .. } = context;
        let done = objects.unpublish_attributes(effects, federate, self.object_class, None, completion)?;
        Ok(Reply::now_if(done))
    }
}

impl Serve for UnpublishObjectClassAttributesRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        let completion = context.completion::<Self>(());
        let Context { objects, effects, federate, .. } = context;
        let (class, attributes) = (self.object_class, Some(self.attributes.as_ref()));
        let done = objects.unpublish_attributes(effects, federate, class, attributes, completion)?;
        Ok(Reply::now_if(done))
    }
}

impl Serve for PublishInteractionClassRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        objects.publish_interaction(effects, federate, self.interaction_class).map(Reply::Now)
    }
}

impl Serve for UnpublishInteractionClassRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        objects.unpublish_interaction(effects, federate, self.interaction_class).map(Reply::Now)
    }
}

impl Serve for SubscribeInteractionClassRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        objects.subscribe_interaction(effects, federate, self.interaction_class, true).map(Reply::Now)
    }
}

impl Serve for SubscribeInteractionClassPassivelyRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        objects.subscribe_interaction(effects, federate, self.interaction_class, false).map(Reply::Now)
    }
}

impl Serve for UnsubscribeInteractionClassRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        objects.unsubscribe_interaction(effects, federate, self.interaction_class).map(Reply::Now)
    }
}

impl Serve for SubscribeObjectClassAttributesRequest {
    fn serve(self, Context { objects, effects, mut growth, federate, .. }: Context<'_>) -> Served<()> {
        let attributes = self.attributes.as_ref();
        growth.check(bytes_of(attributes))?;
        objects
            .subscribe_attributes(effects, federate, self.object_class, attributes, true, "")
            .map(Reply::Now)
    }
}

impl Serve for SubscribeObjectClassAttributesWithRateRequest {
    fn serve(self, Context { objects, effects, mut growth, federate, .. }: Context<'_>) -> Served<()> {
        let (attributes, rate) = (self.attributes.as_ref(), &self.update_rate_designator);
        growth.check(bytes_of(attributes))?;
        objects
            .subscribe_attributes(effects, federate, self.object_class, attributes, true, rate)
            .map(Reply::Now)
    }
}

impl Serve for SubscribeObjectClassAttributesPassivelyRequest {
    fn serve(self, Context { objects, effects, mut growth, federate, .. }: Context<'_>) -> Served<()> {
        let attributes = self.attributes.as_ref();
        growth.check(bytes_of(attributes))?;
        objects
            .subscribe_attributes(effects, federate, self.object_class, attributes, false, "")
            .map(Reply::Now)
    }
}

impl Serve for SubscribeObjectClassAttributesPassivelyWithRateRequest {
    fn serve(self, Context { objects, effects, mut growth, federate, .. }: Context<'_>) -> Served<()> {
        let (attributes, rate) = (self.attributes.as_ref(), &self.update_rate_designator);
        growth.check(bytes_of(attributes))?;
        objects
            .subscribe_attributes(effects, federate, self.object_class, attributes, false, rate)
            .map(Reply::Now)
    }
}

impl Serve for UnsubscribeObjectClassRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        objects.unsubscribe_attributes(effects, federate, self.object_class, None).map(Reply::Now)
    }
}

impl Serve for UnsubscribeObjectClassAttributesRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let attributes = Some(self.attributes.as_ref());
        objects.unsubscribe_attributes(effects, federate, self.object_class, attributes).map(Reply::Now)
    }
}

impl Serve for PublishObjectClassDirectedInteractionsRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let interactions = self.interaction_classes.as_ref();
        objects.publish_directed(effects, federate, self.object_class, interactions).map(Reply::Now)
    }
}

impl Serve for UnpublishObjectClassDirectedInteractionsRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        objects.unpublish_directed(effects, federate, self.object_class, None).map(Reply::Now)
    }
}

impl Serve for UnpublishObjectClassDirectedInteractionsWithSetRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let interactions = Some(self.interaction_classes.as_ref());
        objects.unpublish_directed(effects, federate, self.object_class, interactions).map(Reply::Now)
    }
}

impl Serve for SubscribeObjectClassDirectedInteractionsRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let interactions = self.interaction_classes.as_ref();
        objects.subscribe_directed(effects, federate, self.object_class, interactions, false).map(Reply::Now)
    }
}

impl Serve for SubscribeObjectClassDirectedInteractionsUniversallyRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let interactions = self.interaction_classes.as_ref();
        objects.subscribe_directed(effects, federate, self.object_class, interactions, true).map(Reply::Now)
    }
}

impl Serve for UnsubscribeObjectClassDirectedInteractionsRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        objects.unsubscribe_directed(effects, federate, self.object_class, None).map(Reply::Now)
    }
}

impl Serve for UnsubscribeObjectClassDirectedInteractionsWithSetRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let interactions = Some(self.interaction_classes.as_ref());
        objects.unsubscribe_directed(effects, federate, self.object_class, interactions).map(Reply::Now)
    }
}
