//! Lengths of the messages of a benchmark on the wire.

use bytes::Bytes;
use federate::hla::api::{
    AttributeHandleValue, AttributeHandleValueMap, CallRequest, CallbackRequest, Message as _,
    ReflectAttributeValues, UpdateAttributeValuesRequest, call_request, callback_request,
};
use fedpro::frame::HEADER_BYTES;
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle, TransportationTypeHandle};

/// Length of the longer one of an Update Attribute Values request and the Reflect Attribute Values
/// callback that it causes, in bytes, with one attribute of `payload` bytes, no tag, and handles as
/// MeshRTI makes them. A floor has to carry this many bytes.
pub fn message_bytes(payload: usize) -> usize {
    bytes_of(&[payload])
}

/// The same with attributes of these lengths.
pub(crate) fn bytes_of(payloads: &[usize]) -> usize {
    update_bytes(payloads).max(reflect_bytes(payloads))
}

fn values(payloads: &[usize]) -> AttributeHandleValueMap {
    let value = |payload: &usize| AttributeHandleValue {
        attribute_handle: Some(AttributeHandle(1)),
        value: Bytes::from(vec![1; *payload]),
    };
    AttributeHandleValueMap { attribute_handle_value: payloads.iter().map(value).collect() }
}

fn update_bytes(payload: &[usize]) -> usize {
    let request = UpdateAttributeValuesRequest {
        object_instance: Some(ObjectInstanceHandle(1)),
        attribute_values: Some(values(payload)),
        user_supplied_tag: Bytes::new(),
    };
    let request = call_request::CallRequest::UpdateAttributeValuesRequest(request);
    HEADER_BYTES + CallRequest { call_request: Some(request) }.encoded_len()
}

fn reflect_bytes(payload: &[usize]) -> usize {
    let reflect = ReflectAttributeValues {
        object_instance: Some(ObjectInstanceHandle(1)),
        attribute_values: Some(values(payload)),
        user_supplied_tag: Bytes::new(),
        transportation_type: Some(TransportationTypeHandle(1)),
        producing_federate: Some(FederateHandle(1)),
        optional_sent_regions: None,
    };
    let reflect = callback_request::CallbackRequest::ReflectAttributeValues(reflect);
    HEADER_BYTES + CallbackRequest { callback_request: Some(reflect) }.encoded_len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_its_payload_and_less_than_a_hundred_bytes() {
        for payload in [0, 16, 100, 1 << 10, 64 << 10] {
            let overhead = message_bytes(payload) - payload;
            assert!((HEADER_BYTES + 20..100).contains(&overhead), "{payload}: {overhead}");
        }
    }
}
