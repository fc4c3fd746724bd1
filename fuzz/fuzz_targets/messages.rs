//! Every message that can be decoded can be encoded, and decodes again to the same message.
//!
//! Input: one byte that selects the message, then its encoding.
#![no_main]

use fedpro::response::encode_response;
use fedpro::service::{request_field, response_field, service_name};
use hla::api::{CallRequest, CallResponse, CallbackRequest, CallbackResponse, Message};
use libfuzzer_sys::fuzz_target;

/// Decodes the message in `bytes` and checks its round trip. Compared as bytes, since NaN is not
/// equal to itself.
fn round_trip<M: Message + Default>(bytes: &[u8]) -> Option<M> {
    let message = M::decode(bytes).ok()?;
    let encoded = message.encode_to_vec();
    assert_eq!(encoded.len(), message.encoded_len());
    let again = M::decode(&*encoded).expect("what we write can be read");
    assert_eq!(again.encode_to_vec(), encoded);
    Some(message)
}

fuzz_target!(|data: &[u8]| {
    let [kind, bytes @ ..] = data else { return };
    match kind % 4 {
        0 => {
            if let Some(request) = round_trip::<CallRequest>(bytes) {
                assert_eq!(request.call_request.is_some(), request_field(&request).is_some());
                assert_eq!(response_field(&request), request_field(&request).map(|f| f + 1));
                assert!(!service_name(&request).is_empty());
            }
        }
        1 => {
            if let Some(response) = round_trip::<CallResponse>(bytes) {
                assert_eq!(encode_response(&response), response.encode_to_vec());
            }
        }
        2 => drop(round_trip::<CallbackRequest>(bytes)),
        _ => drop(round_trip::<CallbackResponse>(bytes)),
    }
});
