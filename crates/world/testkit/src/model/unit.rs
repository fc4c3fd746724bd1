//! Callbacks in a form that can be compared: sets are sorted, and advisories are split into one for
//! each attribute, since their grouping is left open.

use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, AttributeHandleSet};
use hla::handle::{AttributeHandle, ObjectInstanceHandle};

/// The parts of `callback` that matter, each as a callback of its own.
pub fn units(mut callback: Callback) -> Vec<Callback> {
    match &mut callback {
        Callback::ReflectAttributeValues(c) => {
            if let Some(values) = &mut c.attribute_values {
                values.attribute_handle_value.sort_by_key(|pair| pair.attribute_handle);
            }
        }
        Callback::ReceiveInteraction(c) => sort(c.parameter_values.as_mut()),
        Callback::ReceiveDirectedInteraction(c) => sort(c.parameter_values.as_mut()),
        Callback::FederationSynchronized(c) => {
            if let Some(set) = &mut c.failed_to_sync_set {
                set.federate_handle.sort_unstable();
            }
        }
        Callback::MultipleObjectInstanceNameReservationSucceeded(c) => c.object_instance_names.sort(),
        Callback::MultipleObjectInstanceNameReservationFailed(c) => c.object_instance_names.sort(),
        Callback::ReportFederationExecutions(c) => {
            if let Some(set) = &mut c.report {
                let key = |i: &api::FederationExecutionInformation| i.federation_execution_name.clone();
                set.federation_execution_information.sort_by_key(key);
            }
        }
        Callback::ReportFederationExecutionMembers(c) => {
            if let Some(set) = &mut c.report {
                let key = |i: &api::FederationExecutionMemberInformation| i.federate_name.clone();
                set.federation_execution_member_information.sort_by_key(key);
            }
        }
        other => return split(other),
    }
    vec![callback]
}

fn sort(values: Option<&mut api::ParameterHandleValueMap>) {
    if let Some(values) = values {
        values.parameter_handle_value.sort_by_key(|pair| pair.parameter_handle);
    }
}

fn split(callback: &Callback) -> Vec<Callback> {
    macro_rules! each {
        ($callback:expr, $variant:ident) => {{
            let c = $callback;
            let one = |attributes| Callback::$variant(api::$variant { attributes, ..c.clone() });
            singles(c.attributes.as_ref()).map(one).collect()
        }};
    }
    match callback {
        Callback::AttributesInScope(c) => each!(c, AttributesInScope),
        Callback::AttributesOutOfScope(c) => each!(c, AttributesOutOfScope),
        Callback::ProvideAttributeValueUpdate(c) => each!(c, ProvideAttributeValueUpdate),
        Callback::TurnUpdatesOnForObjectInstance(c) => each!(c, TurnUpdatesOnForObjectInstance),
        Callback::TurnUpdatesOffForObjectInstance(c) => each!(c, TurnUpdatesOffForObjectInstance),
        Callback::TurnUpdatesOnForObjectInstanceWithRate(c) => {
            each!(c, TurnUpdatesOnForObjectInstanceWithRate)
        }
        Callback::ConfirmAttributeTransportationTypeChange(c) => {
            each!(c, ConfirmAttributeTransportationTypeChange)
        }
        other => vec![other.clone()],
    }
}

fn singles(set: Option<&AttributeHandleSet>) -> impl Iterator<Item = Option<AttributeHandleSet>> + '_ {
    let handles = set.map(|set| set.attribute_handle.as_slice()).unwrap_or_default();
    // An empty set is a callback too.
    let empty = handles.is_empty().then(|| Some(AttributeHandleSet::default()));
    handles.iter().map(|&attribute| Some(single(attribute))).chain(empty)
}

/// A set of one attribute.
pub(super) fn single(attribute: AttributeHandle) -> AttributeHandleSet {
    AttributeHandleSet { attribute_handle: vec![attribute] }
}

/// The callback Attributes In Scope for one attribute.
pub(super) fn in_scope(instance: ObjectInstanceHandle, attribute: AttributeHandle) -> Callback {
    let (object_instance, attributes) = (Some(instance), Some(single(attribute)));
    Callback::AttributesInScope(api::AttributesInScope { object_instance, attributes })
}

/// The callback Attributes Out Of Scope for one attribute.
pub(super) fn out_of_scope(instance: ObjectInstanceHandle, attribute: AttributeHandle) -> Callback {
    let (object_instance, attributes) = (Some(instance), Some(single(attribute)));
    Callback::AttributesOutOfScope(api::AttributesOutOfScope { object_instance, attributes })
}
