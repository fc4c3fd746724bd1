//! Arguments of services as texts, for reports of services (1516.1-2025, 11.5).

use std::fmt::{self, Write};

/// Octets of the text of a value at most. Longer ones end in `...`: a report says which service was
/// called with what, and does not carry a copy of the traffic.
const TEXT_BYTES_MAX: usize = 1_024;

/// Defines the types by their numbers in HLAargumentType.
macro_rules! types {
    ($($name:ident = $number:literal,)+) => {
        /// HLAargumentType of the MIM.
        #[allow(missing_docs)] // the names are the standard's
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum ArgumentType {
            $($name = $number,)+
        }
    };
}

types! {
    AttributeHandle = 0,
    AttributeHandleSet = 1,
    AttributeHandleValueMap = 2,
    AttributeSetRegionSetPairList = 4,
    BinaryData = 5,
    Boolean = 6,
    CallbackModel = 7,
    ConfigurationResult = 8,
    Credentials = 9,
    DimensionHandle = 10,
    DimensionHandleSet = 11,
    FederateHandle = 15,
    FederateHandleSaveStatusPairSet = 17,
    FederateHandleSet = 18,
    FederateRestoreStatusSet = 20,
    FederationExecutionInformationSet = 22,
    FederationExecutionMemberSet = 24,
    FomDesignator = 25,
    FomDesignatorSet = 26,
    InteractionClassHandle = 27,
    InteractionClassHandleSet = 28,
    LogicalTime = 31,
    LogicalTimeInterval = 32,
    MessageRetractionHandle = 33,
    Null = 34,
    Number = 35,
    ObjectClassHandle = 36,
    ObjectInstanceHandle = 37,
    OrderType = 38,
    ParameterHandle = 39,
    ParameterHandleValueMap = 40,
    RangeBounds = 41,
    RegionHandle = 42,
    RegionHandleSet = 43,
    ResignAction = 44,
    RestoreFailureReason = 45,
    RtiConfiguration = 47,
    SaveFailureReason = 48,
    ServiceGroup = 50,
    String = 53,
    StringSet = 54,
    SynchronizationPointFailureReason = 56,
    TimeQueryReturn = 58,
    TransportationTypeHandle = 59,
    UserSuppliedTag = 60,
    MessageRetractionReturn = 62,
}

/// An argument of a service or a callback, or what a service returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument {
    /// Its type.
    pub kind: ArgumentType,
    /// Its name in the API.
    pub name: &'static str,
    /// Its value, for people. At most 1 KiB; longer ones end in `...`.
    pub value: String,
}

/// A text that is full at some length.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = TEXT_BYTES_MAX - self.0.len().min(TEXT_BYTES_MAX);
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let end = (0..=room).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        self.0.push_str(text.get(..end).unwrap_or_default());
        Err(fmt::Error)
    }
}

/// An argument with the text that `write` writes.
fn argument(
    name: &'static str,
    kind: ArgumentType,
    write: impl FnOnce(&mut Bounded) -> fmt::Result,
) -> Argument {
    let mut text = Bounded(String::new());
    let written = write(&mut text);
    let mut value = text.0;
    if written.is_err() {
        value.push_str("...");
    }
    Argument { kind, name, value }
}

/// An argument that is always there.
pub(super) fn required(name: &'static str, kind: ArgumentType, value: &dyn fmt::Debug) -> Argument {
    argument(name, kind, |out| write!(out, "{value:?}"))
}

/// An argument that may be absent.
pub(super) fn optional<V: fmt::Debug>(name: &'static str, kind: ArgumentType, value: Option<&V>) -> Argument {
    match value {
        Some(value) => required(name, kind, value),
        None => Argument { kind: ArgumentType::Null, name, value: String::new() },
    }
}

/// An argument that nobody else may see.
pub(super) fn hidden(name: &'static str, kind: ArgumentType) -> Argument {
    Argument { kind, name, value: "***".to_owned() }
}

/// A text.
pub(super) fn text(name: &'static str, value: &str) -> Argument {
    argument(name, ArgumentType::String, |out| out.write_str(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::call_request::CallRequest as Call;
    use crate::api::call_response::CallResponse as Answer;
    use crate::api::callback_request::CallbackRequest as Callback;
    use crate::api::{self, ServiceGroup};
    use crate::fom::{DataTypeKind, Edition, Fdd};
    use crate::handle::{AttributeHandle, ObjectInstanceHandle};
    use bytes::Bytes;

    #[test]
    fn arguments_have_their_names_and_types_in_order() {
        let pair = api::AttributeHandleValue {
            attribute_handle: Some(AttributeHandle(3)),
            value: Bytes::from_static(b"abc"),
        };
        let call = Call::UpdateAttributeValuesRequest(api::UpdateAttributeValuesRequest {
            object_instance: Some(ObjectInstanceHandle(7)),
            attribute_values: Some(api::AttributeHandleValueMap { attribute_handle_value: vec![pair] }),
            user_supplied_tag: Bytes::from_static(b"tag"),
        });
        let arguments = call.arguments();
        let names: Vec<_> = arguments.iter().map(|argument| (argument.name, argument.kind)).collect();
        assert_eq!(
            names,
            [
                ("objectInstance", ArgumentType::ObjectInstanceHandle),
                ("attributeValues", ArgumentType::AttributeHandleValueMap),
                ("userSuppliedTag", ArgumentType::UserSuppliedTag),
            ]
        );
        assert_eq!(arguments[0].value, "oi7");
        assert!(arguments[1].value.contains("at3") && arguments[1].value.contains("abc"), "{arguments:?}");
        assert_eq!(arguments[2].value, "b\"tag\"");
        let absent = Call::QueryAttributeOwnershipRequest(Default::default()).arguments();
        assert_eq!((absent[0].kind, absent[0].value.as_str()), (ArgumentType::Null, ""));
        let answer = Answer::RegisterObjectInstanceResponse(api::RegisterObjectInstanceResponse {
            result: Some(ObjectInstanceHandle(9)),
        });
        assert_eq!(answer.returned().map(|result| result.value), Some("oi9".to_owned()));
        assert_eq!(Answer::UpdateAttributeValuesResponse(Default::default()).returned(), None);
        let callback = Callback::TimeAdvanceGrant(Default::default());
        assert_eq!((callback.name(), callback.group()), ("timeAdvanceGrant", ServiceGroup::TimeManagement));
    }

    #[test]
    fn credentials_are_not_shown() {
        let credentials =
            Some(api::Credentials { r#type: "t".to_owned(), data: Bytes::from_static(b"secret") });
        let call = Call::ConnectWithCredentialsRequest(api::ConnectWithCredentialsRequest { credentials });
        assert_eq!(call.arguments()[0].value, "***");
    }

    #[test]
    fn long_values_are_cut() {
        let long = "ä".repeat(2_000);
        let argument = text("label", &long);
        assert_eq!(argument.value, "ä".repeat(TEXT_BYTES_MAX / 2) + "...");
        assert_eq!(text("label", &long[..TEXT_BYTES_MAX]).value, long[..TEXT_BYTES_MAX]);
        let octets = Bytes::from(vec![7; 1 << 20]);
        assert!(required("value", ArgumentType::BinaryData, &octets).value.len() <= TEXT_BYTES_MAX + 3);
    }

    #[test]
    fn the_numbers_are_those_of_the_mim() {
        let model = Fdd::standard(Edition::Hla2025);
        let known = model.datatype("HLAargumentType").expect("a type of the MIM");
        let DataTypeKind::Enumerated { enumerators, .. } = &known.kind else { panic!("{known:?}") };
        let number = |name: &str| {
            let enumerator = enumerators.iter().find(|enumerator| enumerator.name == name).expect(name);
            enumerator.values[0].clone()
        };
        for kind in [
            ArgumentType::AttributeHandle,
            ArgumentType::FederationExecutionMemberSet,
            ArgumentType::RangeBounds,
            ArgumentType::StringSet,
            ArgumentType::MessageRetractionReturn,
        ] {
            assert_eq!(number(&format!("{kind:?}")), (kind as i32).to_string(), "{kind:?}");
        }
    }
}
