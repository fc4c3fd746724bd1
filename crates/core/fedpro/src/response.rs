//! Bodies of responses.

use bytes::Bytes;
use hla::api::{CallResponse, ExceptionData, Message, call_response};
use hla::{Exception, RtiError};

/// The edition of the HLA API that a federate was written for. It decides how exceptions are named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum ApiVersion {
    /// IEEE 1516-2010, "HLA Evolved". Its clients speak the messages of HLA 4 through an adapter.
    Ieee1516_2010,
    /// IEEE 1516-2025, "HLA 4".
    #[default]
    Ieee1516_2025,
}

impl ApiVersion {
    /// The edition named by the `additional_settings` of a connect request. These are lines of the
    /// form `name=value`; adapters for HLA Evolved send `API.version=IEEE 1516-2010`. Anything else
    /// means HLA 4.
    pub fn from_settings(additional_settings: &str) -> Self {
        let evolved = additional_settings
            .split(['\n', '\r', ','])
            .filter_map(|line| line.split_once('='))
            .any(|(name, value)| name.trim() == "API.version" && value.trim() == "IEEE 1516-2010");
        if evolved { Self::Ieee1516_2010 } else { Self::Ieee1516_2025 }
    }
}

/// The name by which a federate of this edition knows `exception`.
///
/// Clients turn names that they do not know into RTIinternalError. Every client of the older
/// edition knows the names used here. The other new names are either translated by the clients
/// (CouldNotOpenFOM, ErrorReadingFOM, Unauthorized) or have no older counterpart.
pub const fn exception_name(exception: Exception, version: ApiVersion) -> &'static str {
    match (version, exception) {
        (ApiVersion::Ieee1516_2010, Exception::InconsistentFOM) => "InconsistentFDD",
        (ApiVersion::Ieee1516_2010, Exception::InvalidTransportationTypeHandle) => {
            "InvalidTransportationType"
        }
        // The older edition does not distinguish an unreadable module from an invalid one.
        (ApiVersion::Ieee1516_2010, Exception::InvalidFOM) => "ErrorReadingFOM",
        (ApiVersion::Ieee1516_2010, Exception::InvalidMIM) => "ErrorReadingMIM",
        _ => exception.name(),
    }
}

/// `error` in its wire form.
pub fn exception_data(error: &RtiError, version: ApiVersion) -> ExceptionData {
    ExceptionData {
        exception_name: exception_name(error.exception, version).to_owned(),
        details: error.details.clone().into_owned(),
    }
}

/// The response that raises `error` in the federate.
pub fn exception_response(error: &RtiError, version: ApiVersion) -> CallResponse {
    CallResponse {
        call_response: Some(call_response::CallResponse::ExceptionData(exception_data(error, version))),
    }
}

/// The largest field number of `CallResponse`.
const FIELDS: usize = crate::service::SERVICES as usize + 1;

/// The encoded empty response of each field: its key, and a length of 0.
static EMPTY: [[u8; 3]; FIELDS + 1] = {
    let mut table = [[0; 3]; FIELDS + 1];
    let mut field = 0;
    while field < table.len() {
        let key = (field << 3) | 2; // wire type 2: length-delimited
        table[field] =
            if key < 0x80 { [key as u8, 0, 0] } else { [(key & 0x7f) as u8 | 0x80, (key >> 7) as u8, 0] };
        field += 1;
    }
    table
};

/// The encoded response without a result in field `field` of `CallResponse` (2 to 179, see
/// [`crate::service::response_field`]). It costs no allocation.
///
/// `None` if no service's response has this field number.
pub fn empty_response(field: u32) -> Option<Bytes> {
    let index = field as usize;
    if !(2..=FIELDS).contains(&index) {
        return None;
    }
    let len = if index < 16 { 2 } else { 3 };
    Some(Bytes::from_static(&EMPTY[index][..len]))
}

/// A response of at most this many octets is written once, to the stack, before its length is known:
/// one that has a retraction handle has 19. To encode it takes longer than to copy it.
const SMALL: usize = 32;

/// Encodes `response`; empty ones cost no allocation.
pub fn encode_response(response: &CallResponse) -> Bytes {
    let mut scratch = [0; SMALL];
    let mut rest = &mut scratch[..];
    if response.encode(&mut rest).is_err() {
        return response.encode_to_vec().into();
    }
    let left = rest.len();
    let written = &scratch[..SMALL - left];
    if written.len() <= 3
        && let Ok((field, _)) = prost::encoding::decode_key(&mut &*written)
        && let Some(body) = empty_response(field)
        && body == written
    {
        return body;
    }
    Bytes::copy_from_slice(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::samples;

    #[test]
    fn empty_responses_are_what_the_encoder_writes() {
        for (field, _, response) in samples() {
            let encoded = response.encode_to_vec();
            assert_eq!(empty_response(field + 1).unwrap(), encoded);
            assert_eq!(encode_response(&response), encoded);
        }
        assert_eq!(empty_response(0), None);
        assert_eq!(empty_response(1), None);
        assert_eq!(empty_response(180), None);
    }

    #[test]
    fn other_responses_are_encoded() {
        let response = exception_response(&RtiError::internal("no"), ApiVersion::default());
        assert_eq!(CallResponse::decode(encode_response(&response)), Ok(response));
        let small = exception_response(
            &RtiError { exception: Exception::NameNotFound, details: "".into() },
            ApiVersion::default(),
        );
        assert_eq!(CallResponse::decode(encode_response(&small)), Ok(small));
        for length in 0..2 * SMALL {
            let details = "x".repeat(length);
            let response = exception_response(&RtiError::internal(details), ApiVersion::default());
            assert_eq!(CallResponse::decode(encode_response(&response)), Ok(response), "{length}");
        }
        assert!(encode_response(&CallResponse { call_response: None }).is_empty());
    }

    #[test]
    fn evolved_federates_get_the_names_they_know() {
        let evolved = ApiVersion::from_settings("API.version=IEEE 1516-2010\nfoo=bar");
        assert_eq!(evolved, ApiVersion::Ieee1516_2010);
        assert_eq!(exception_name(Exception::InconsistentFOM, evolved), "InconsistentFDD");
        assert_eq!(exception_name(Exception::InvalidFOM, evolved), "ErrorReadingFOM");
        assert_eq!(exception_name(Exception::InvalidMIM, evolved), "ErrorReadingMIM");
        assert_eq!(
            exception_name(Exception::InvalidTransportationTypeHandle, evolved),
            "InvalidTransportationType"
        );
        assert_eq!(exception_name(Exception::CouldNotOpenFOM, evolved), "CouldNotOpenFOM");
        for settings in ["", "API.version=", "API.version=IEEE 1516-2025", "x=API.version"] {
            assert_eq!(ApiVersion::from_settings(settings), ApiVersion::Ieee1516_2025);
        }
        assert_eq!(exception_name(Exception::InconsistentFOM, ApiVersion::default()), "InconsistentFOM");
    }
}
