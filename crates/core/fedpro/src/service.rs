//! Names and numbers of the services on the wire.

use hla::api::{CallRequest, SERVICES as TABLE};

/// The number of services.
pub const SERVICES: u32 = TABLE.len() as u32;

/// The name of the service that `request` calls, spelled as in the HLA API. Where a service has
/// several requests, the variant is appended: `updateAttributeValues`,
/// `createFederationExecutionWithMIM`. `"unknown service"` for a request that holds none.
pub fn service_name(request: &CallRequest) -> &'static str {
    request.call_request.as_ref().map_or("unknown service", |call| call.service().name)
}

/// The name of the service whose request is field `field` of `CallRequest`, 1 to [`SERVICES`].
pub fn name_of_field(field: u32) -> Option<&'static str> {
    Some(TABLE.get(field.checked_sub(1)? as usize)?.name)
}

/// The field of `CallRequest` that `request` fills; `None` for a request that holds no service.
pub fn request_field(request: &CallRequest) -> Option<u32> {
    request.call_request.as_ref().map(|call| call.service().field)
}

/// The field of `CallResponse` that answers `request`; `None` for a request that holds no service.
///
/// For every service it is the request's field plus one: field 1 of `CallResponse` is the
/// exception.
pub fn response_field(request: &CallRequest) -> Option<u32> {
    request_field(request).map(|field| field + 1)
}

/// A request and a response of each service, both without content.
#[cfg(test)]
pub(crate) fn samples() -> Vec<(u32, CallRequest, hla::api::CallResponse)> {
    use hla::api::Message as _;
    use prost::encoding::{WireType, encode_key};
    let empty = |field: u32| {
        let mut octets = Vec::new();
        encode_key(field, WireType::LengthDelimited, &mut octets);
        octets.push(0);
        octets
    };
    let sample = |field: u32| {
        let request = CallRequest::decode(&empty(field)[..]).expect("an empty request");
        let response = hla::api::CallResponse::decode(&empty(field + 1)[..]).expect("an empty response");
        (field, request, response)
    };
    (1..=SERVICES).map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hla::api::Message;

    /// The field number of the first key in `bytes`.
    fn field(mut bytes: &[u8]) -> u32 {
        prost::encoding::decode_key(&mut bytes).unwrap().0
    }

    #[test]
    fn every_request_has_its_name_and_its_response_one_field_on() {
        let samples = samples();
        assert_eq!(samples.len(), 178);
        for (index, (number, request, response)) in samples.iter().enumerate() {
            assert_eq!(*number as usize, index + 1);
            assert_eq!(field(&request.encode_to_vec()), *number);
            assert_eq!(request_field(request), Some(*number));
            assert_eq!(field(&response.encode_to_vec()), number + 1, "{}", service_name(request));
            assert_eq!(response_field(request), Some(number + 1));
            assert_eq!(Some(service_name(request)), name_of_field(*number));
        }
    }

    #[test]
    fn some_names() {
        assert_eq!(name_of_field(1), Some("connect"));
        assert_eq!(name_of_field(5), Some("disconnect"));
        assert_eq!(name_of_field(178), Some("getNonRegulatedGrantSwitch"));
        assert_eq!(name_of_field(0), None);
        assert_eq!(name_of_field(179), None);
        assert_eq!(service_name(&CallRequest { call_request: None }), "unknown service");
        assert_eq!(response_field(&CallRequest { call_request: None }), None);
    }
}
