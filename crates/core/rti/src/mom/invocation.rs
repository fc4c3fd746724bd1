//! HLAreportServiceInvocation (11.5): a call of a service, or a callback.

use super::report::{Report, about};
use super::value::{boolean, encoded};
use crate::invocation::Invocation;
use bytes::Bytes;
use hla::api::{Argument, ArgumentType};
use hla::encoding::Encoding;
use hla::fom::Edition;

#[derive(Encoding)]
#[encoding(crate = hla)]
struct EncodedArgument {
    kind: i32,
    name: String,
    value: String,
}

/// The report of an invocation.
pub(crate) fn invocation(of: &Invocation, edition: Edition) -> Report {
    let returned = of.outcome.as_ref().ok().and_then(Option::as_ref);
    let exception = of.outcome.as_ref().err().map_or("", String::as_str);
    let (supplied, result) = match edition {
        Edition::Hla2010 => (texts(&of.supplied), ("HLAreturnedArguments", texts(returned))),
        Edition::Hla2025 => (
            encoded(&of.supplied.iter().map(record).collect::<Vec<_>>()),
            ("HLAreturnedArgument", encoded(&returned.map_or_else(nothing, record))),
        ),
    };
    let parameters = [
        ("HLAservice", encoded(of.name)),
        ("HLAserviceType", encoded(&(of.group as i16))),
        ("HLAsuccessIndicator", boolean(of.outcome.is_ok())),
        ("HLAsuppliedArguments", supplied),
        result,
        ("HLAexception", encoded(exception)),
        ("HLAserialNumber", encoded(&i32::try_from(of.serial).unwrap_or(i32::MAX))),
    ];
    about(of.federate, "HLAfederate.HLAreport.HLAreportServiceInvocation", parameters)
}

/// An HLAargument of 2025.
fn record(argument: &Argument) -> EncodedArgument {
    let Argument { kind, name, value } = argument;
    EncodedArgument { kind: *kind as i32, name: (*name).to_owned(), value: value.clone() }
}

/// The HLAargument of a service that returns nothing.
fn nothing() -> EncodedArgument {
    EncodedArgument { kind: ArgumentType::Null as i32, name: String::new(), value: String::new() }
}

/// An HLAargumentList of 2010, whose elements are texts.
fn texts<'a>(arguments: impl IntoIterator<Item = &'a Argument>) -> Bytes {
    let text = |Argument { name, value, .. }: &Argument| format!("{name}: {value}");
    encoded(&arguments.into_iter().map(text).collect::<Vec<_>>())
}
