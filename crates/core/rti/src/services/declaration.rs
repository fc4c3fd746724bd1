//! Declaration management (clause 5).

use super::{Context, Served, done};
use hla::api::call_request::CallRequest as Call;

pub(crate) fn serve(mut cx: Context<'_>, call: Call) -> Served {
    let Context { objects: x, effects, who, .. } = &mut cx;
    let who = *who;
    match call {
        Call::PublishObjectClassAttributesRequest(r) => {
            x.publish_attributes(effects, who, r.object_class, r.attributes.as_ref())?;
            done!(PublishObjectClassAttributesResponse)
        }
        Call::UnpublishObjectClassRequest(r) => {
            x.unpublish_attributes(effects, who, r.object_class, None)?;
            done!(UnpublishObjectClassResponse)
        }
        Call::UnpublishObjectClassAttributesRequest(r) => {
            x.unpublish_attributes(effects, who, r.object_class, Some(r.attributes.as_ref()))?;
            done!(UnpublishObjectClassAttributesResponse)
        }
        Call::PublishInteractionClassRequest(r) => {
            x.publish_interaction(effects, who, r.interaction_class)?;
            done!(PublishInteractionClassResponse)
        }
        Call::UnpublishInteractionClassRequest(r) => {
            x.unpublish_interaction(effects, who, r.interaction_class)?;
            done!(UnpublishInteractionClassResponse)
        }
        Call::SubscribeInteractionClassRequest(r) => {
            x.subscribe_interaction(effects, who, r.interaction_class, true)?;
            done!(SubscribeInteractionClassResponse)
        }
        Call::SubscribeInteractionClassPassivelyRequest(r) => {
            x.subscribe_interaction(effects, who, r.interaction_class, false)?;
            done!(SubscribeInteractionClassPassivelyResponse)
        }
        Call::UnsubscribeInteractionClassRequest(r) => {
            x.unsubscribe_interaction(effects, who, r.interaction_class)?;
            done!(UnsubscribeInteractionClassResponse)
        }
        other => subscriptions(cx, other),
    }
}

fn subscriptions(mut cx: Context<'_>, call: Call) -> Served {
    let Context { objects: x, effects, who, .. } = &mut cx;
    let who = *who;
    match call {
        Call::SubscribeObjectClassAttributesRequest(r) => {
            x.subscribe_attributes(effects, who, r.object_class, r.attributes.as_ref(), true, "")?;
            done!(SubscribeObjectClassAttributesResponse)
        }
        Call::SubscribeObjectClassAttributesWithRateRequest(r) => {
            let rate = &r.update_rate_designator;
            x.subscribe_attributes(effects, who, r.object_class, r.attributes.as_ref(), true, rate)?;
            done!(SubscribeObjectClassAttributesWithRateResponse)
        }
        Call::SubscribeObjectClassAttributesPassivelyRequest(r) => {
            x.subscribe_attributes(effects, who, r.object_class, r.attributes.as_ref(), false, "")?;
            done!(SubscribeObjectClassAttributesPassivelyResponse)
        }
        Call::SubscribeObjectClassAttributesPassivelyWithRateRequest(r) => {
            let rate = &r.update_rate_designator;
            x.subscribe_attributes(effects, who, r.object_class, r.attributes.as_ref(), false, rate)?;
            done!(SubscribeObjectClassAttributesPassivelyWithRateResponse)
        }
        Call::UnsubscribeObjectClassRequest(r) => {
            x.unsubscribe_attributes(effects, who, r.object_class, None)?;
            done!(UnsubscribeObjectClassResponse)
        }
        Call::UnsubscribeObjectClassAttributesRequest(r) => {
            x.unsubscribe_attributes(effects, who, r.object_class, Some(r.attributes.as_ref()))?;
            done!(UnsubscribeObjectClassAttributesResponse)
        }
        other => directed(cx, other),
    }
}

fn directed(mut cx: Context<'_>, call: Call) -> Served {
    let Context { objects: x, effects, who, .. } = &mut cx;
    let who = *who;
    match call {
        Call::PublishObjectClassDirectedInteractionsRequest(r) => {
            x.publish_directed(effects, who, r.object_class, r.interaction_classes.as_ref())?;
            done!(PublishObjectClassDirectedInteractionsResponse)
        }
        Call::UnpublishObjectClassDirectedInteractionsRequest(r) => {
            x.unpublish_directed(effects, who, r.object_class, None)?;
            done!(UnpublishObjectClassDirectedInteractionsResponse)
        }
        Call::UnpublishObjectClassDirectedInteractionsWithSetRequest(r) => {
            x.unpublish_directed(effects, who, r.object_class, Some(r.interaction_classes.as_ref()))?;
            done!(UnpublishObjectClassDirectedInteractionsWithSetResponse)
        }
        Call::SubscribeObjectClassDirectedInteractionsRequest(r) => {
            x.subscribe_directed(effects, who, r.object_class, r.interaction_classes.as_ref(), false)?;
            done!(SubscribeObjectClassDirectedInteractionsResponse)
        }
        Call::SubscribeObjectClassDirectedInteractionsUniversallyRequest(r) => {
            x.subscribe_directed(effects, who, r.object_class, r.interaction_classes.as_ref(), true)?;
            done!(SubscribeObjectClassDirectedInteractionsUniversallyResponse)
        }
        Call::UnsubscribeObjectClassDirectedInteractionsRequest(r) => {
            x.unsubscribe_directed(effects, who, r.object_class, None)?;
            done!(UnsubscribeObjectClassDirectedInteractionsResponse)
        }
        Call::UnsubscribeObjectClassDirectedInteractionsWithSetRequest(r) => {
            x.unsubscribe_directed(effects, who, r.object_class, Some(r.interaction_classes.as_ref()))?;
            done!(UnsubscribeObjectClassDirectedInteractionsWithSetResponse)
        }
        other => super::federation::serve(cx, other),
    }
}
