//! Reads one FOM module from its XML text: every table that the RTI needs, and the rules that hold
//! inside one module (the DIF form of 1516.2, where nearly every element may be left out).

use roxmltree::Node;

use crate::fom::diagnostic::{Diagnostic, FomError, FomErrorKind};
use crate::fom::limits::{Budget, Cost, Limits};
use crate::fom::model::Edition;
use crate::fom::module::{Module, Parsed, Source};
use crate::fom::xml::{self, Findings, Form, Row};
use crate::fom::{read_classes, read_datatypes, read_tables};

const OBJECT_MODEL: Form = Form {
    single: &[
        "modelIdentification",
        "serviceUtilization",
        "objects",
        "interactions",
        "dimensions",
        "time",
        "tags",
        "synchronizations",
        "transportations",
        "switches",
        "updateRates",
        "dataTypes",
        "notes",
    ],
    many: &[],
};

/// The state of reading one module.
pub(super) struct Reader<'t> {
    pub(super) findings: Findings<'t>,
    pub(super) limits: &'t Limits,
    /// Number of attributes and parameters so far.
    pub(super) members: usize,
    /// Number of classes so far.
    pub(super) classes: usize,
}

impl Module {
    /// Reads a module from its octets (see [`crate::fom::unpack()`] for a packed one) and checks it
    /// by itself.
    ///
    /// Returns the module and the warnings. Names that another module may define are looked up
    /// later, when modules are merged.
    ///
    /// # Errors
    ///
    /// [`FomErrorKind::ErrorReading`] if the octets are not XML or not an object model,
    /// [`FomErrorKind::Invalid`] if the object model breaks a rule; each with all findings.
    pub fn read(
        designator: &str,
        octets: &[u8],
        limits: &Limits,
    ) -> Result<(Module, Vec<Diagnostic>), FomError> {
        let text = xml::decode(designator, octets, limits)?;
        Self::read_text(designator, text.into_owned(), limits, &mut Budget::new(limits))
    }

    /// Like [`Module::read`], but for a text that was [decoded](crate::fom::decode), as part of the
    /// service call that has this budget. The length of the text is not charged.
    ///
    /// # Errors
    ///
    /// Those of [`Module::read`], and one if the modules of the call together cost too much.
    pub fn read_text(
        designator: &str,
        text: String,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Result<(Module, Vec<Diagnostic>), FomError> {
        let (module, findings) = Self::read_lenient(designator, text, limits, budget)?;
        findings.map(|warnings| (module, warnings))
    }

    /// Like [`Module::read`], but for a report of everything that is wrong: it also returns a
    /// module that breaks rules, as far as it can be read, so that merging it with others yields
    /// further findings. Such a module is of no other use.
    pub fn check(
        designator: &str,
        octets: &[u8],
        limits: &Limits,
    ) -> (Option<Module>, Result<Vec<Diagnostic>, FomError>) {
        let read = xml::decode(designator, octets, limits).and_then(|text| {
            Self::read_lenient(designator, text.into_owned(), limits, &mut Budget::new(limits))
        });
        match read {
            Ok((module, findings)) => (Some(module), findings),
            Err(error) => (None, Err(error)),
        }
    }

    /// Reads an object model that may break rules. The inner result has the warnings, or the errors
    /// if it does.
    fn read_lenient(
        designator: &str,
        text: String,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Result<(Module, Result<Vec<Diagnostic>, FomError>), FomError> {
        let source = Source::new(designator, text);
        let mut findings = Findings::new(&source, limits);
        let (document, cost) = xml::parse(&source, limits, budget)?;
        let root = document.root_element();
        findings.set_own_namespace(root.tag_name().namespace());
        let edition = edition_of(root, &mut findings);
        let Some(edition) = edition else {
            let kind = FomErrorKind::ErrorReading;
            return Err(FomError { kind, of_mim: false, diagnostics: findings.list });
        };
        let mut reader = Reader { findings, limits, members: 0, classes: 0 };
        let mut parsed = read_model(root, &mut reader);
        let Findings { list: diagnostics, errors, .. } = reader.findings;
        let findings = match errors {
            0 => Ok(diagnostics),
            _ => Err(FomError { kind: FomErrorKind::Invalid, of_mim: false, diagnostics }),
        };
        drop(document);
        parsed.edition = edition;
        parsed.source = source;
        parsed.cost = cost;
        Ok((Module { inner: parsed.into() }, findings))
    }
}

/// Checks the root element and returns the edition; `None` if this is not a readable object model.
fn edition_of(root: Node<'_, '_>, findings: &mut Findings<'_>) -> Option<Edition> {
    let at = xml::offset(root);
    let name = root.tag_name().name();
    if name != "objectModel" {
        findings.error_expected(at, format!("the root element is `{name}`"), "`objectModel`");
        return None;
    }
    if root.attribute("DTDversion").is_some() {
        let message = "this is an object model of HLA 1.3 or IEEE 1516-2000".to_owned();
        findings.error_expected(at, message, "one of IEEE 1516-2010 or 1516-2025");
        return None;
    }
    let namespace = root.tag_name().namespace().unwrap_or_default();
    let hints = root.attributes().filter(|a| a.name().ends_with("chemaLocation")).map(|a| a.value());
    for text in std::iter::once(namespace).chain(hints) {
        if text.contains("1516-2025") {
            return Some(Edition::Hla2025);
        }
        if text.contains("1516-2010") {
            return Some(Edition::Hla2010);
        }
    }
    findings.warning_expected(
        at,
        format!("the namespace `{namespace}` names no edition of the standard; read as 1516-2010"),
        "`http://standards.ieee.org/IEEE1516-2010` or `...-2025`",
    );
    Some(Edition::Hla2010)
}

fn read_model(root: Node<'_, '_>, reader: &mut Reader<'_>) -> Parsed {
    let tables = Row::read(root, &OBJECT_MODEL, &mut reader.findings);
    let name = tables.get("modelIdentification").and_then(|identification| {
        identification.children().find(|child| child.tag_name().name() == "name").map(xml::text)
    });
    let mut parsed = Parsed {
        source: Source::new("", String::new()),
        edition: Edition::Hla2010,
        name: name.unwrap_or_default(),
        object_classes: Vec::new(),
        interaction_classes: Vec::new(),
        dimensions: Vec::new(),
        transportations: Vec::new(),
        update_rates: Vec::new(),
        switches: Vec::new(),
        datatypes: Vec::new(),
        documentation: read_tables::documentation(&tables, reader),
        cost: Cost::default(),
    };
    if let Some(objects) = tables.get("objects") {
        parsed.object_classes = read_classes::object_classes(objects, reader);
    }
    if let Some(interactions) = tables.get("interactions") {
        parsed.interaction_classes = read_classes::interaction_classes(interactions, reader);
    }
    if let Some(dimensions) = tables.get("dimensions") {
        parsed.dimensions = read_tables::dimensions(dimensions, reader);
    }
    if let Some(transportations) = tables.get("transportations") {
        parsed.transportations = read_tables::transportations(transportations, reader);
    }
    if let Some(switches) = tables.get("switches") {
        parsed.switches = read_tables::switches(switches, reader);
    }
    if let Some(rates) = tables.get("updateRates") {
        parsed.update_rates = read_tables::update_rates(rates, reader);
    }
    if let Some(datatypes) = tables.get("dataTypes") {
        parsed.datatypes = read_datatypes::datatypes(datatypes, reader);
    }
    parsed
}

impl Reader<'_> {
    /// The `name` of a row that must have a legal name; empty after an error.
    pub(super) fn name(&mut self, row: &Row<'_, '_>, item: &str) -> String {
        let Some(cell) = row.get("name") else {
            let (message, expected) = match row.name_attribute {
                Some(name) => (
                    format!("{item} has its name, `{name}`, in an XML attribute, as in 1516-2000"),
                    format!("an element: `<name>{name}</name>`; convert the module to 1516-2010 or later"),
                ),
                None => (format!("{item} without a name"), "a `name` element".to_owned()),
            };
            self.findings.error_expected(row.offset, message, expected);
            return String::new();
        };
        let name = xml::text(cell);
        if self.is_legal_name(&name, xml::offset(cell), item) { name } else { String::new() }
    }

    fn is_legal_name(&mut self, name: &str, at: u32, item: &str) -> bool {
        let most = self.limits.name_bytes;
        if name.is_empty() {
            self.findings.error_expected(at, format!("{item} with an empty name"), "a name");
        } else if name.len() > most {
            let size = name.len();
            self.findings
                .error(at, format!("the name of {item} has {size} octets, more than the {most} allowed"));
        } else if let Some(wrong) = illegal_character(name) {
            self.findings.error_expected(
                at,
                format!("the name `{name}` of {item} has {wrong:?} in it"),
                "a letter or `_`, then letters, digits, `_` and `-`",
            );
        } else {
            return true;
        }
        false
    }
}

/// The first character that may not stand at its place in an HLA name (an XML NCName without
/// periods).
fn illegal_character(name: &str) -> Option<char> {
    let legal = |location: usize, c: char| {
        let starts = c.is_alphabetic() || c == '_';
        // Combining marks and similar characters are name characters of XML, although they are not
        // letters.
        starts || (location > 0 && (c.is_alphanumeric() || c == '-' || c == '\u{b7}' || c as u32 >= 0x300))
    };
    name.char_indices().find(|&(location, c)| !legal(location, c)).map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::illegal_character;

    #[test]
    fn names_are_ncnames_without_periods() {
        for good in ["A", "_x-1", "Größe", "対象", "a\u{301}"] {
            assert_eq!(illegal_character(good), None, "{good}");
        }
        for (bad, wrong) in [("1a", '1'), ("a.b", '.'), ("a b", ' '), ("a:b", ':'), ("-a", '-'), ("a<", '<')]
        {
            assert_eq!(illegal_character(bad), Some(wrong), "{bad}");
        }
    }
}
