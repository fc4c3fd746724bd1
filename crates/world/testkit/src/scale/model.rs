//! The object model: classes without anything in common, one reliable attribute each.

use bytes::Bytes;
use hla::api;
use hla::api::call_request::CallRequest as Call;
use std::fmt::Write as _;

/// The federation.
pub(super) const FEDERATION: &str = "scale";

/// The name of a class.
pub(super) fn class(number: usize) -> String {
    format!("HLAobjectRoot.Class{number}")
}

/// The attribute of every class.
pub(super) const ATTRIBUTE: &str = "state";

/// Creates the federation, with so many classes.
pub(super) fn create(classes: usize) -> Call {
    let mut xml = String::from(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">\
         <objects><objectClass><name>HLAobjectRoot</name>",
    );
    for number in 0..classes {
        let _ = write!(
            xml,
            "<objectClass><name>Class{number}</name><sharing>PublishSubscribe</sharing>\
             <attribute><name>{ATTRIBUTE}</name><dataType>HLAopaqueData</dataType>\
             <transportation>HLAreliable</transportation><order>Receive</order></attribute></objectClass>"
        );
    }
    xml += "</objectClass></objects></objectModel>";
    let file = api::FileFomModule { name: "scale.xml".to_owned(), content: Bytes::from(xml) };
    let module = api::fom_module::FomModule::File(file);
    Call::CreateFederationExecutionRequest(api::CreateFederationExecutionRequest {
        federation_name: FEDERATION.to_owned(),
        fom_module: Some(api::FomModule { fom_module: Some(module) }),
    })
}

/// Joins it.
pub(super) fn join(number: usize) -> Call {
    Call::JoinFederationExecutionWithNameRequest(api::JoinFederationExecutionWithNameRequest {
        federate_name: format!("federate {number}"),
        federate_type: "scale".to_owned(),
        federation_name: FEDERATION.to_owned(),
    })
}
