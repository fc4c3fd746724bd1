//! From octets to XML elements: decoding, well-formedness, and rows of named cells.
//!
//! Document type declarations are refused, so there are no entities to expand; nothing is ever
//! fetched. Elements are matched by local name; those of a foreign namespace are passed over.

use roxmltree::{Document, Node, ParsingOptions};

use crate::fom::diagnostic::{Diagnostic, FomError, FomErrorKind, Severity};
use crate::fom::limits::Limits;
use crate::fom::module::{Offset, Source};

/// The text of a module as Unicode: UTF-8, or UTF-16 with a byte order mark.
pub(super) fn decode(designator: &str, octets: &[u8], limits: &Limits) -> Result<String, FomError> {
    let unreadable = |message| FomError::of_file(FomErrorKind::ErrorReading, designator, message);
    let most = limits.module_bytes.min(u32::MAX as usize);
    if octets.len() > most {
        let size = octets.len();
        return Err(unreadable(format!("the module has {size} octets, more than the {most} allowed")));
    }
    let text = match octets {
        [0xFE, 0xFF, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        [0xFF, 0xFE, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => decode_utf8(rest),
        all => decode_utf8(all),
    };
    let text = text.map_err(unreadable)?;
    if text.trim().is_empty() {
        return Err(unreadable("the module is empty".to_owned()));
    }
    Ok(text)
}

fn decode_utf8(octets: &[u8]) -> Result<String, String> {
    std::str::from_utf8(octets).map(str::to_owned).map_err(|error| {
        let place = error.valid_up_to();
        format!("octet {place} (0x{:02x}) is not UTF-8; save the module as UTF-8 or UTF-16", octets[place])
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

/// The XML tree of a module's text.
pub(super) fn parse<'t>(source: &'t Source, limits: &Limits) -> Result<Document<'t>, FomError> {
    refuse_crowded_tags(source, limits)?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: limits.nodes, ..ParsingOptions::default() };
    Document::parse_with_options(&source.text, options).map_err(|error| not_xml(&error, source, limits))
}

/// Refuses what would cost the parser quadratic time: tags with very many attributes, and very many
/// namespaces. Looks at tags only; whether all is well-formed is the parser's to say.
fn refuse_crowded_tags(source: &Source, limits: &Limits) -> Result<(), FomError> {
    let octets = source.text.as_bytes();
    let mut namespaces = 0;
    let mut at = 0;
    while let Some(found) = source.text[at..].find('<') {
        let start = at + found;
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((open, close)) = skipped.iter().find(|(open, _)| source.text[start..].starts_with(open)) {
            let inside = start + open.len();
            let Some(end) = source.text[inside..].find(close) else { return Ok(()) };
            at = inside + end + close.len();
            continue;
        }
        let mut quote = None;
        let mut attributes = 0;
        at = start + 1;
        while let Some(&octet) = octets.get(at) {
            match (quote, octet) {
                (Some(open), _) if open == octet => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(octet),
                (None, b'>') => break,
                (None, b'=') => attributes += 1,
                (None, b'x') if octets[at..].starts_with(b"xmlns") => namespaces += 1,
                (None, _) => {}
            }
            at += 1;
        }
        for (what, count, most) in [
            ("attributes in one tag", attributes, limits.tag_attributes),
            ("namespace declarations", namespaces, limits.namespaces),
        ] {
            if count > most {
                let message = format!("the module has {count} {what}, more than the {most} allowed");
                let mut failure = FomError::of_file(FomErrorKind::ErrorReading, &source.designator, message);
                let (line, column) = source.position(start as Offset);
                (failure.diagnostics[0].line, failure.diagnostics[0].column) = (line, column);
                return Err(failure);
            }
        }
    }
    Ok(())
}

fn not_xml(error: &roxmltree::Error, source: &Source, limits: &Limits) -> FomError {
    use roxmltree::Error::{DtdDetected, NodesLimitReached, UnclosedRootNode, UnexpectedEndOfStream};
    let end = source.position(source.text.len() as Offset);
    let (message, (line, column)) = match error {
        DtdDetected => {
            let place = source.text.find("<!DOCTYPE").unwrap_or_default();
            let message = "a document type declaration; FOM modules may have none, and no entities";
            (message.to_owned(), source.position(place as Offset))
        }
        NodesLimitReached => {
            (format!("the module has more than the {} XML nodes allowed", limits.nodes), (0, 0))
        }
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

/// The parser says the position in its text too; once is enough.
fn without_position(message: &str) -> &str {
    message.rsplit_once(" at ").map_or(message, |(text, _)| text)
}

/// The findings about one module while it is read.
pub(super) struct Findings<'t> {
    pub(super) source: &'t Source,
    pub(super) list: Vec<Diagnostic>,
    pub(super) errors: usize,
    most: usize,
}

impl<'t> Findings<'t> {
    pub(super) fn new(source: &'t Source, limits: &Limits) -> Self {
        Self { source, list: Vec::new(), errors: 0, most: limits.diagnostics.max(1) }
    }

    fn add(&mut self, severity: Severity, offset: Offset, message: String, expected: Option<String>) {
        if severity == Severity::Error {
            self.errors += 1;
        }
        // The first error is always kept: it is what the federate gets to read.
        if self.list.len() < self.most || (severity == Severity::Error && self.errors == 1) {
            let mut diagnostic = self.source.diagnostic(severity, offset, message);
            diagnostic.expected = expected;
            self.list.push(diagnostic);
        }
    }

    /// Line and column for a message; `?` once no more findings are kept, for counting columns costs.
    pub(super) fn place(&self, offset: Offset) -> String {
        if self.list.len() >= self.most {
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

/// Which children an element may have.
pub(super) struct Form {
    /// Children that occur at most once.
    pub(super) single: &'static [&'static str],
    /// Children that occur any number of times.
    pub(super) many: &'static [&'static str],
}

/// The children of an element, sorted out by a [`Form`].
pub(super) struct Row<'n, 't> {
    pub(super) offset: Offset,
    single: Vec<(&'static str, Node<'n, 't>)>,
    many: Vec<(&'static str, Node<'n, 't>)>,
}

/// Where an element begins.
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

/// True for elements that are not the standard's.
fn is_foreign(node: Node<'_, '_>) -> bool {
    let namespace = node.tag_name().namespace();
    let own = node.document().root_element().tag_name().namespace();
    namespace.is_some() && namespace != own && !namespace.is_some_and(|uri| uri.contains("IEEE1516"))
}

impl<'n, 't> Row<'n, 't> {
    /// Sorts the children of `node` out; a second one where one is allowed is an error, an unknown one a warning.
    pub(super) fn read(node: Node<'n, 't>, form: &Form, findings: &mut Findings<'_>) -> Self {
        let mut row = Self { offset: offset(node), single: Vec::new(), many: Vec::new() };
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
            } else if !is_foreign(child) {
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

/// `a, b or c` for a person.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a &'static str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
