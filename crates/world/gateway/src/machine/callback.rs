//! The callbacks that concern a gateway.

use bytes::Bytes;
use federate::Callback;
use hla::api::{AttributeHandleValueMap, ParameterHandleValueMap};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    ParameterHandle,
};

/// A callback of one side.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// Discover Object Instance (6.9).
    Discovered {
        /// The instance.
        object: ObjectInstanceHandle,
        /// Its class, as it was discovered.
        class: ObjectClassHandle,
        /// Its name.
        name: String,
    },
    /// Reflect Attribute Values (6.11), in receive order whatever its time.
    Reflected {
        /// The instance.
        object: ObjectInstanceHandle,
        /// The values.
        values: Vec<(AttributeHandle, Bytes)>,
        /// The user-supplied tag.
        tag: Bytes,
    },
    /// Remove Object Instance (6.15).
    Removed {
        /// The instance.
        object: ObjectInstanceHandle,
        /// The user-supplied tag.
        tag: Bytes,
    },
    /// Receive Interaction (6.13).
    Received {
        /// The class.
        class: InteractionClassHandle,
        /// The parameters.
        values: Vec<(ParameterHandle, Bytes)>,
        /// The user-supplied tag.
        tag: Bytes,
    },
    /// Provide Attribute Value Update (6.20).
    Asked {
        /// An instance that the gateway has registered.
        object: ObjectInstanceHandle,
        /// The attributes.
        attributes: Vec<AttributeHandle>,
    },
    /// Object Instance Name Reserved (6.3).
    Reserved {
        /// The name.
        name: String,
        /// Whether it is the gateway's now.
        is_free: bool,
    },
}

/// The federate that caused a callback, if it matters who that is.
pub fn producer(callback: &Callback) -> Option<FederateHandle> {
    match callback {
        Callback::DiscoverObjectInstance(discovered) => discovered.producing_federate,
        Callback::ReceiveInteraction(received) => received.producing_federate,
        Callback::ReceiveInteractionWithTime(received) => received.producing_federate,
        _ => None,
    }
    .filter(|federate| federate.is_valid())
}

/// The part of a callback that concerns a gateway, if there is one.
pub fn input(callback: Callback) -> Option<Input> {
    Some(match callback {
        Callback::DiscoverObjectInstance(at) => Input::Discovered {
            object: at.object_instance?,
            class: at.object_class?,
            name: at.object_instance_name,
        },
        Callback::ReflectAttributeValues(at) => {
            reflected(at.object_instance?, at.attribute_values, at.user_supplied_tag)
        }
        Callback::ReflectAttributeValuesWithTime(at) => {
            reflected(at.object_instance?, at.attribute_values, at.user_supplied_tag)
        }
        Callback::RemoveObjectInstance(at) => {
            Input::Removed { object: at.object_instance?, tag: at.user_supplied_tag }
        }
        Callback::RemoveObjectInstanceWithTime(at) => {
            Input::Removed { object: at.object_instance?, tag: at.user_supplied_tag }
        }
        Callback::ReceiveInteraction(at) => {
            received(at.interaction_class?, at.parameter_values, at.user_supplied_tag)
        }
        Callback::ReceiveInteractionWithTime(at) => {
            received(at.interaction_class?, at.parameter_values, at.user_supplied_tag)
        }
        Callback::ProvideAttributeValueUpdate(at) => {
            let attributes = at.attributes.unwrap_or_default().attribute_handle;
            Input::Asked { object: at.object_instance?, attributes }
        }
        Callback::ObjectInstanceNameReservationSucceeded(at) => {
            Input::Reserved { name: at.object_instance_name, is_free: true }
        }
        Callback::ObjectInstanceNameReservationFailed(at) => {
            Input::Reserved { name: at.object_instance_name, is_free: false }
        }
        _ => return None,
    })
}

fn reflected(object: ObjectInstanceHandle, values: Option<AttributeHandleValueMap>, tag: Bytes) -> Input {
    let values = values.unwrap_or_default().attribute_handle_value.into_iter();
    let values = values.filter_map(|pair| Some((pair.attribute_handle?, pair.value))).collect();
    Input::Reflected { object, values, tag }
}

fn received(class: InteractionClassHandle, values: Option<ParameterHandleValueMap>, tag: Bytes) -> Input {
    let values = values.unwrap_or_default().parameter_handle_value.into_iter();
    let values = values.filter_map(|pair| Some((pair.parameter_handle?, pair.value))).collect();
    Input::Received { class, values, tag }
}
