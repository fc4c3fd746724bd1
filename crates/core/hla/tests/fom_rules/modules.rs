//! Small modules, and the results of reading and merging them.

use hla::Exception;
use hla::fom::{Edition, Fdd, FomError, FomErrorKind, Limits, Module, render};

pub(crate) fn xml(edition: u32, tables: &str) -> String {
    format!("<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-{edition}\">{tables}</objectModel>")
}

pub(crate) fn try_read(name: &str, text: &str) -> Result<Module, FomError> {
    Module::read(name, text.as_bytes(), &Limits::default()).map(|(module, _)| module)
}

pub(crate) fn module(name: &str, edition: u32, tables: &str) -> Module {
    try_read(name, &xml(edition, tables)).unwrap_or_else(|error| panic!("{}", render(&error.diagnostics)))
}

pub(crate) fn objects(inner: &str) -> String {
    format!("<objects><objectClass><name>HLAobjectRoot</name>{inner}</objectClass></objects>")
}

pub(crate) fn interactions(inner: &str) -> String {
    let root = "<interactionClass><name>HLAinteractionRoot</name>";
    format!("<interactions>{root}{inner}</interactionClass></interactions>")
}

pub(crate) fn class(name: &str, inner: &str) -> String {
    format!("<objectClass><name>{name}</name>{inner}</objectClass>")
}

pub(crate) fn interaction(name: &str, inner: &str) -> String {
    format!("<interactionClass><name>{name}</name>{inner}</interactionClass>")
}

pub(crate) fn attribute(name: &str, datatype: &str, transportation: &str, order: &str) -> String {
    format!(
        "<attribute><name>{name}</name><dataType>{datatype}</dataType>\
         <transportation>{transportation}</transportation><order>{order}</order></attribute>"
    )
}

pub(crate) fn plain(name: &str) -> String {
    attribute(name, "HLAcount", "HLAbestEffort", "Receive")
}

pub(crate) fn parameter(name: &str, datatype: &str) -> String {
    format!("<parameter><name>{name}</name><dataType>{datatype}</dataType></parameter>")
}

pub(crate) const DELIVERY: &str = "<transportation>HLAreliable</transportation><order>TimeStamp</order>";
pub(crate) const OTHER_DELIVERY: &str =
    "<transportation>HLAbestEffort</transportation><order>Receive</order>";

pub(crate) fn merged(edition: Edition, modules: &[Module]) -> Fdd {
    match Fdd::standard(edition).extend(modules) {
        Ok((fdd, _)) => fdd,
        Err(error) => panic!("{}", render(&error.diagnostics)),
    }
}

pub(crate) fn refused(edition: Edition, modules: &[Module]) -> String {
    let error = Fdd::standard(edition).extend(modules).expect_err("these modules clash");
    assert_eq!(error.kind, FomErrorKind::Inconsistent);
    render(&error.diagnostics)
}

pub(crate) fn warned(edition: Edition, modules: &[Module]) -> String {
    render(&Fdd::standard(edition).extend(modules).unwrap().1)
}

pub(crate) fn invalid(tables: &str) -> String {
    let error = try_read("bad.xml", &xml(2025, tables)).expect_err("the module breaks a rule");
    assert_eq!(error.kind, FomErrorKind::Invalid);
    assert_eq!(error.exception(), Exception::InvalidFOM);
    render(&error.diagnostics)
}
