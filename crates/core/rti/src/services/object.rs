//! Object management (clause 6) and the order types of clause 8, in order of frequency.

use super::{Context, Served, answer, done, finish};
use crate::control::{Command, NameTable};
use crate::time::Stamp;
use hla::api::MessageRetractionReturn;
use hla::api::call_request::CallRequest as Call;
use hla::{Exception, RtiError};
use std::collections::BTreeSet;

/// No message goes in time stamp order yet, so that none can be retracted.
fn no_retraction() -> MessageRetractionReturn {
    MessageRetractionReturn { retraction_handle_is_valid: false, message_retraction_handle: None }
}

pub(crate) fn serve(mut cx: Context<'_>, call: Call) -> Served {
    let Context { objects: x, effects, who, .. } = &mut cx;
    let who = *who;
    match call {
        Call::UpdateAttributeValuesRequest(r) => {
            x.update(effects, who, r.object_instance, r.attribute_values, r.user_supplied_tag, None)?;
            done!(UpdateAttributeValuesResponse)
        }
        Call::UpdateAttributeValuesWithTimeRequest(r) => {
            let stamp = Stamp::read(x.time, r.time.as_ref())?;
            x.update(effects, who, r.object_instance, r.attribute_values, r.user_supplied_tag, Some(stamp))?;
            answer!(UpdateAttributeValuesWithTimeResponse, no_retraction())
        }
        Call::SendInteractionRequest(r) => {
            let (class, values) = (r.interaction_class, r.parameter_values);
            x.send_interaction(effects, who, class, values, r.user_supplied_tag, None)?;
            done!(SendInteractionResponse)
        }
        Call::SendInteractionWithTimeRequest(r) => {
            let stamp = Stamp::read(x.time, r.time.as_ref())?;
            let (class, values) = (r.interaction_class, r.parameter_values);
            x.send_interaction(effects, who, class, values, r.user_supplied_tag, Some(stamp))?;
            answer!(SendInteractionWithTimeResponse, no_retraction())
        }
        Call::SendDirectedInteractionRequest(r) => {
            let (class, instance, values) = (r.interaction_class, r.object_instance, r.parameter_values);
            x.send_directed(effects, who, class, instance, values, r.user_supplied_tag, None)?;
            done!(SendDirectedInteractionResponse)
        }
        Call::SendDirectedInteractionWithTimeRequest(r) => {
            let stamp = Stamp::read(x.time, r.time.as_ref())?;
            let (class, instance, values) = (r.interaction_class, r.object_instance, r.parameter_values);
            x.send_directed(effects, who, class, instance, values, r.user_supplied_tag, Some(stamp))?;
            answer!(SendDirectedInteractionWithTimeResponse, no_retraction())
        }
        other => lifecycle(cx, other),
    }
}

fn lifecycle(mut cx: Context<'_>, call: Call) -> Served {
    let Context { objects: x, effects, who, control, .. } = &mut cx;
    let who = *who;
    let names = || &control.execution(x.id).expect("an execution has its federation").names;
    match call {
        Call::RegisterObjectInstanceRequest(r) => {
            let names = names();
            answer!(RegisterObjectInstanceResponse, x.register(effects, names, who, r.object_class, None)?)
        }
        Call::RegisterObjectInstanceWithNameRequest(r) => {
            let (names, name) = (names(), Some(r.object_instance_name.as_str()));
            answer!(
                RegisterObjectInstanceWithNameResponse,
                x.register(effects, names, who, r.object_class, name)?
            )
        }
        Call::DeleteObjectInstanceRequest(r) => {
            x.delete(effects, who, r.object_instance, &r.user_supplied_tag, None)?;
            done!(DeleteObjectInstanceResponse)
        }
        Call::DeleteObjectInstanceWithTimeRequest(r) => {
            let stamp = Stamp::read(x.time, r.time.as_ref())?;
            x.delete(effects, who, r.object_instance, &r.user_supplied_tag, Some(stamp))?;
            answer!(DeleteObjectInstanceWithTimeResponse, no_retraction())
        }
        Call::LocalDeleteObjectInstanceRequest(r) => {
            x.local_delete(effects, who, r.object_instance)?;
            done!(LocalDeleteObjectInstanceResponse)
        }
        Call::RequestInstanceAttributeValueUpdateRequest(r) => {
            let attributes = r.attributes.as_ref();
            x.request_instance_update(effects, who, r.object_instance, attributes, &r.user_supplied_tag)?;
            done!(RequestInstanceAttributeValueUpdateResponse)
        }
        Call::RequestClassAttributeValueUpdateRequest(r) => {
            let attributes = r.attributes.as_ref();
            x.request_class_update(effects, who, r.object_class, attributes, &r.user_supplied_tag)?;
            done!(RequestClassAttributeValueUpdateResponse)
        }
        other => names_of_instances(cx, other),
    }
}

fn names_of_instances(mut cx: Context<'_>, call: Call) -> Served {
    let (execution, federate) = (cx.objects.id, cx.who);
    match call {
        Call::ReserveObjectInstanceNameRequest(r) => {
            NameTable::check_legal(&r.object_instance_name)?;
            let names = BTreeSet::from([r.object_instance_name]);
            let command = Command::ReserveNames { execution, federate, names, multiple: false };
            cx.propose(command, finish!(ReserveObjectInstanceNameResponse))
        }
        Call::ReserveMultipleObjectInstanceNamesRequest(r) => {
            let names = several(r.object_instance_names)?;
            names.iter().try_for_each(|name| NameTable::check_legal(name))?;
            let command = Command::ReserveNames { execution, federate, names, multiple: true };
            cx.propose(command, finish!(ReserveMultipleObjectInstanceNamesResponse))
        }
        Call::ReleaseObjectInstanceNameRequest(r) => {
            let names = BTreeSet::from([r.object_instance_name]);
            let command = Command::ReleaseNames { execution, federate, names };
            cx.propose(command, finish!(ReleaseObjectInstanceNameResponse))
        }
        Call::ReleaseMultipleObjectInstanceNamesRequest(r) => {
            let names = r.object_instance_names.into_iter().collect();
            let command = Command::ReleaseNames { execution, federate, names };
            cx.propose(command, finish!(ReleaseMultipleObjectInstanceNamesResponse))
        }
        other => super::transport::serve(cx, other),
    }
}

fn several(names: Vec<String>) -> Result<BTreeSet<String>, RtiError> {
    if names.is_empty() {
        return Err(RtiError::new(Exception::NameSetWasEmpty, "at least one name is needed"));
    }
    Ok(names.into_iter().collect())
}
