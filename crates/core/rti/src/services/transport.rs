//! Transportation types (6.25 to 6.32) and order types (8.24 to 8.26).

use super::{Context, Served, done};
use hla::api::call_request::CallRequest as Call;
use hla::{Exception, RtiError};

pub(crate) fn serve(mut cx: Context<'_>, call: Call) -> Served {
    let Context { objects: x, effects, who, .. } = &mut cx;
    let who = *who;
    match call {
        Call::RequestAttributeTransportationTypeChangeRequest(r) => {
            let (attributes, to) = (r.attributes.as_ref(), r.transportation_type);
            x.change_attribute_transportation(effects, who, r.object_instance, attributes, to)?;
            done!(RequestAttributeTransportationTypeChangeResponse)
        }
        Call::ChangeDefaultAttributeTransportationTypeRequest(r) => {
            let (attributes, to) = (r.attributes.as_ref(), r.transportation_type);
            x.change_default_transportation(who, r.object_class, attributes, to)?;
            done!(ChangeDefaultAttributeTransportationTypeResponse)
        }
        Call::QueryAttributeTransportationTypeRequest(r) => {
            x.query_attribute_transportation(effects, who, r.object_instance, r.attribute)?;
            done!(QueryAttributeTransportationTypeResponse)
        }
        Call::RequestInteractionTransportationTypeChangeRequest(r) => {
            let to = r.transportation_type;
            x.change_interaction_transportation(effects, who, r.interaction_class, to)?;
            done!(RequestInteractionTransportationTypeChangeResponse)
        }
        Call::QueryInteractionTransportationTypeRequest(r) => {
            let federate = r.federate.unwrap_or_default();
            let Some(node) = cx.federation().member(federate).map(|member| member.node) else {
                let text = format!("{federate:?} is not joined");
                return Err(RtiError::new(Exception::FederateNotExecutionMember, text));
            };
            if node != cx.objects.node {
                let otherwise = Exception::InteractionClassNotDefined;
                let class = cx.objects.interaction_class(r.interaction_class, otherwise)?.handle;
                cx.objects.ask_transportation(cx.effects, node, who, federate, class);
                return done!(QueryInteractionTransportationTypeResponse);
            }
            cx.objects.query_interaction_transportation(cx.effects, who, federate, r.interaction_class)?;
            done!(QueryInteractionTransportationTypeResponse)
        }
        Call::ChangeAttributeOrderTypeRequest(r) => {
            x.change_attribute_order(effects, who, r.object_instance, r.attributes.as_ref(), r.order_type)?;
            done!(ChangeAttributeOrderTypeResponse)
        }
        Call::ChangeDefaultAttributeOrderTypeRequest(r) => {
            x.change_default_order(who, r.the_object_class, r.attributes.as_ref(), r.order_type)?;
            done!(ChangeDefaultAttributeOrderTypeResponse)
        }
        Call::ChangeInteractionOrderTypeRequest(r) => {
            x.change_interaction_order(who, r.interaction_class, r.order_type)?;
            done!(ChangeInteractionOrderTypeResponse)
        }
        other => super::declaration::serve(cx, other),
    }
}
