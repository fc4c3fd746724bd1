//! From octets to XML elements: decoding, well-formedness, and rows of named cells.
//!
//! Document type declarations are refused, so there are no entities to expand; nothing is ever
//! fetched. Elements are matched by local name; those of a foreign namespace are skipped.

use std::borrow::Cow;

use roxmltree::{Document, Node, ParsingOptions};

use crate::fom::diagnostic::{Diagnostic, FomError, FomErrorKind, Severity};
use crate::fom::limits::{Budget, Cost, Limits, over_nodes};
use crate::fom::module::{Offset, Source};
use crate::fom::scan;

/// The text of a module as Unicode. The octets must be UTF-8, or UTF-16 with a byte order mark. The
/// mark is left out.
///
/// # Errors
///
/// [`FomErrorKind::ErrorReading`]: the module is too long, empty or in another encoding.
pub fn decode<'a>(designator: &str, octets: &'a [u8], limits: &Limits) -> Result<Cow<'a, str>, FomError> {
    let unreadable = |message| FomError::of_file(FomErrorKind::ErrorReading, designator, message);
    let most = limits.module_bytes.min(u32::MAX as usize);
    if octets.len() > most {
        let size = octets.len();
        return Err(unreadable(format!("the module has {size} octets, more than the {most} allowed")));
    }
    let text = match octets {
        [0xFE, 0xFF, rest @ ..] => decode_utf16(rest, u16::from_be_bytes).map(Cow::Owned),
        [0xFF, 0xFE, rest @ ..] => decode_utf16(rest, u16::from_le_bytes).map(Cow::Owned),
        [0xEF, 0xBB, 0xBF, rest @ ..] => decode_utf8(rest).map(Cow::Borrowed),
        all => decode_utf8(all).map(Cow::Borrowed),
    };
    let text = text.map_err(unreadable)?;
    if text.trim_start().is_empty() {
        return Err(unreadable("the module is empty".to_owned()));
    }
    Ok(text)
}

fn decode_utf8(octets: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(octets).map_err(|error| {
        let index = error.valid_up_to();
        format!("octet {index} (0x{:02x}) is not UTF-8; save the module as UTF-8 or UTF-16", octets[index])
    })
}

fn decode_utf16(octets: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, String> {
    if !octets.len().is_multiple_of(2) {
        return Err("the module is UTF-16 with an odd number of octets".to_owned());
    }
    let units = octets.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).collect::<Result<String, _>>().map_err(|error| {
        format!("the module is UTF-16 with a lone surrogate 0x{:04x}", error.unpaired_surrogate())
    })
}

/// The XML tree of a module's text, and its cost.
pub(super) fn parse<'t>(
    source: &'t Source,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<(Document<'t>, Cost), FomError> {
    let cost = scan::scan(source, limits, budget)?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: limits.nodes, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&source.text, options);
    Ok((document.map_err(|error| not_xml(&error, source, limits))?, cost))
}

fn not_xml(error: &roxmltree::Error, source: &Source, limits: &Limits) -> FomError {
    use roxmltree::Error::{DtdDetected, NodesLimitReached, UnclosedRootNode, UnexpectedEndOfStream};
    let end = source.position(source.text.len() as Offset);
    let (message, (line, column)) = match error {
        DtdDetected => {
            let location = source.text.find("<!DOCTYPE").unwrap_or_default();
            let message = "a document type declaration; FOM modules may have none, and no entities";
            (message.to_owned(), source.position(location as Offset))
        }
        NodesLimitReached => (over_nodes(limits), end),
        UnclosedRootNode | UnexpectedEndOfStream => {
            ("not well-formed XML: the module ends before its elements are closed".to_owned(), end)
        }
        _ => {
            let at = error.pos();
            let message = format!("not well-formed XML: {}", without_position(&error.to_string()));
            (message, (at.row, at.col))
        }
    };
    let mut failure = FomError::of_file(FomErrorKind::ErrorReading, &source.designator, message);
    failure.diagnostics[0].line = line;
    failure.diagnostics[0].column = column;
    failure
}

/// The parser repeats the position in its text; once is enough.
fn without_position(message: &str) -> &str {
    message.rsplit_once(" at ").map_or(message, |(text, _)| text)
}

/// The findings about one module while it is read.
pub(super) struct Findings<'t> {
    pub(super) source: &'t Source,
    pub(super) list: Vec<Diagnostic>,
    pub(super) errors: usize,
    most: usize,
    /// The namespace of the root. Looking for the root from each element would be quadratic, since
    /// comments may stand before it.
    own_namespace: Option<String>,
}

impl<'t> Findings<'t> {
    pub(super) fn new(source: &'t Source, limits: &Limits) -> Self {
        Self { source, list: Vec::new(), errors: 0, most: limits.diagnostics.max(1), own_namespace: None }
    }

    /// Sets the namespace whose elements are the standard's, whatever it is.
    pub(super) fn set_own_namespace(&mut self, namespace: Option<&str>) {
        self.own_namespace = namespace.map(str::to_owned);
    }

    /// Whether an element is not one of the standard's.
    fn is_foreign(&self, node: Node<'_, '_>) -> bool {
        let namespace = node.tag_name().namespace();
        namespace.is_some()
            && namespace != self.own_namespace.as_deref()
            && !namespace.is_some_and(|uri| uri.contains("IEEE1516"))
    }

    /// Whether a warning would be kept. Formatting millions of them would take seconds.
    fn has_room(&self) -> bool {
        self.list.len() < self.most
    }

    fn add(&mut self, severity: Severity, offset: Offset, message: String, expected: Option<String>) {
        if severity == Severity::Error {
            self.errors += 1;
        }
        // The first error is always kept: it is the one that the federate gets to read.
        if self.has_room() || (severity == Severity::Error && self.errors == 1) {
            let mut diagnostic = self.source.diagnostic(severity, offset, message);
            diagnostic.expected = expected;
            self.list.push(diagnostic);
        }
    }

    /// Line and column for a message; `?` once no more findings are kept, because counting columns
    /// is costly.
    pub(super) fn location(&self, offset: Offset) -> String {
        if !self.has_room() {
            return "?".to_owned();
        }
        let (line, column) = self.source.position(offset);
        format!("{line}:{column}")
    }

    pub(super) fn error(&mut self, offset: Offset, message: String) {
        self.add(Severity::Error, offset, message, None);
    }

    pub(super) fn error_expected(&mut self, offset: Offset, message: String, expected: impl Into<String>) {
        self.add(Severity::Error, offset, message, Some(expected.into()));
    }

    pub(super) fn warning(&mut self, offset: Offset, message: String) {
        self.add(Severity::Warning, offset, message, None);
    }

    pub(super) fn warning_expected(&mut self, offset: Offset, message: String, expected: impl Into<String>) {
        self.add(Severity::Warning, offset, message, Some(expected.into()));
    }
}

/// The children that an element may have.
pub(super) struct Form {
    /// Children that occur at most once.
    pub(super) single: &'static [&'static str],
    /// Children that occur any number of times.
    pub(super) many: &'static [&'static str],
}

/// The children of an element, sorted by a [`Form`].
pub(super) struct Row<'n, 't> {
    pub(super) offset: Offset,
    /// An XML attribute `name`, in which OMT files of 1516-2000 have the name.
    pub(super) name_attribute: Option<&'n str>,
    single: Vec<(&'static str, Node<'n, 't>)>,
    many: Vec<(&'static str, Node<'n, 't>)>,
}

/// Offset of an element.
pub(super) fn offset(node: Node<'_, '_>) -> Offset {
    node.range().start as Offset
}

/// The text of an element, trimmed.
pub(super) fn text(node: Node<'_, '_>) -> String {
    let mut parts = node.children().filter(Node::is_text).filter_map(|child| child.text());
    let Some(first) = parts.next() else { return String::new() };
    match parts.next() {
        None => first.trim().to_owned(),
        Some(second) => {
            let mut whole = format!("{first}{second}");
            whole.extend(parts);
            whole.trim().to_owned()
        }
    }
}

impl<'n, 't> Row<'n, 't> {
    /// Sorts the children of `node`. A second child where one is allowed is an error, an unknown
    /// one a warning.
    pub(super) fn read(node: Node<'n, 't>, form: &Form, findings: &mut Findings<'_>) -> Self {
        let name_attribute = node.attribute("name");
        let mut row = Self { offset: offset(node), name_attribute, single: Vec::new(), many: Vec::new() };
        for child in node.children().filter(Node::is_element) {
            let name = child.tag_name().name();
            if let Some(known) = form.many.iter().find(|known| **known == name) {
                row.many.push((known, child));
            } else if let Some(known) = form.single.iter().find(|known| **known == name) {
                if row.get(known).is_some() {
                    let of = node.tag_name().name();
                    findings.error(offset(child), format!("a second `{name}` in one `{of}`"));
                } else {
                    row.single.push((known, child));
                }
            } else if !findings.is_foreign(child) && findings.has_room() {
                let of = node.tag_name().name();
                let expected = listed(form.single.iter().chain(form.many));
                findings.warning_expected(
                    offset(child),
                    format!("unknown element `{name}` in `{of}` is ignored"),
                    expected,
                );
            }
        }
        row
    }

    /// A child that occurs at most once.
    pub(super) fn get(&self, name: &str) -> Option<Node<'n, 't>> {
        self.single.iter().find(|(given, _)| *given == name).map(|&(_, node)| node)
    }

    /// The children of one name that may occur often.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Node<'n, 't>> + 'a {
        self.many.iter().filter(move |(given, _)| *given == name).map(|&(_, node)| node)
    }

    /// All children that may occur often, in document order.
    pub(super) fn every(&self) -> impl Iterator<Item = Node<'n, 't>> + '_ {
        self.many.iter().map(|&(_, node)| node)
    }

    /// The text of a cell; empty when it is absent.
    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).map(text).unwrap_or_default()
    }
}

/// Writes `a, b or c` for a message.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a &'static str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
