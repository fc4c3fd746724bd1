//! One FOM module as read: its text, and its tables with the position of every entry.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::api::{OrderType, ResignAction};
use crate::fom::datatype::DataType;
use crate::fom::diagnostic::{Diagnostic, Severity};
use crate::fom::limits::Cost;
use crate::fom::model::{DefaultRange, Edition};

/// Octet offset of an element in its module's text.
pub(super) type Offset = u32;

/// The position where an entry of a merged model first occurred.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Origin {
    /// 0 is the MIM, n is the n-th FOM module.
    pub(super) module: u32,
    pub(super) offset: Offset,
}

/// A FOM module that was read and is valid by itself. Clones share their memory.
#[derive(Clone)]
pub struct Module {
    pub(super) inner: Arc<Parsed>,
}

/// The content of a [`Module`].
pub(super) struct Parsed {
    pub(super) source: Source,
    pub(super) edition: Edition,
    pub(super) name: String,
    pub(super) object_classes: Vec<RawObjectClass>,
    pub(super) interaction_classes: Vec<RawInteractionClass>,
    pub(super) dimensions: Vec<RawDimension>,
    pub(super) transportations: Vec<RawTransportation>,
    pub(super) update_rates: Vec<RawUpdateRate>,
    pub(super) switches: Vec<RawSwitch>,
    pub(super) datatypes: Vec<RawDataType>,
    pub(super) documentation: Documentation,
    pub(super) cost: Cost,
}

/// An object class of a module; superclasses come first.
#[derive(Default, Debug)]
pub(super) struct RawObjectClass {
    /// Full dotted name.
    pub(super) path: String,
    pub(super) offset: Offset,
    pub(super) sharing: String,
    pub(super) attributes: Vec<RawAttribute>,
    pub(super) dimensions: Vec<Reference>,
    pub(super) directed_interactions: Vec<Reference>,
}

/// An attribute of a module; a cell that is not stated is `None` or empty.
#[derive(Default, Debug)]
pub(super) struct RawAttribute {
    pub(super) name: String,
    pub(super) offset: Offset,
    pub(super) datatype: String,
    pub(super) update_type: String,
    pub(super) ownership: String,
    pub(super) sharing: String,
    pub(super) transportation: Option<Reference>,
    pub(super) order: Option<OrderType>,
    pub(super) dimensions: Option<Vec<Reference>>,
}

/// An interaction class of a module; superclasses come first.
#[derive(Default, Debug)]
pub(super) struct RawInteractionClass {
    /// Full dotted name.
    pub(super) path: String,
    pub(super) offset: Offset,
    pub(super) sharing: String,
    pub(super) parameters: Vec<RawParameter>,
    pub(super) transportation: Option<Reference>,
    pub(super) order: Option<OrderType>,
    pub(super) dimensions: Vec<Reference>,
}

/// A parameter of a module.
#[derive(Default, Debug)]
pub(super) struct RawParameter {
    pub(super) name: String,
    pub(super) offset: Offset,
    pub(super) datatype: String,
}

/// A name that must be defined somewhere, and the position of its use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) offset: Offset,
}

/// A dimension of a module.
#[derive(Debug)]
pub(super) struct RawDimension {
    pub(super) name: String,
    pub(super) offset: Offset,
    pub(super) upper_bound: Option<u32>,
    pub(super) default: DefaultRange,
    pub(super) input_datatypes: Vec<String>,
}

/// A transportation type of a module.
#[derive(Debug)]
pub(super) struct RawTransportation {
    pub(super) name: String,
    pub(super) offset: Offset,
    pub(super) reliable: Option<bool>,
}

/// An update rate of a module.
#[derive(Debug)]
pub(super) struct RawUpdateRate {
    pub(super) name: String,
    pub(super) offset: Offset,
    pub(super) rate: f64,
}

/// A switch of a module, under the name of its element.
#[derive(Debug)]
pub(super) struct RawSwitch {
    pub(super) name: &'static str,
    pub(super) offset: Offset,
    pub(super) value: SwitchValue,
}

/// The setting of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SwitchValue {
    Enabled(bool),
    Resign(ResignAction),
}

/// A data type of a module.
#[derive(Debug)]
pub(super) struct RawDataType {
    pub(super) datatype: Arc<DataType>,
    pub(super) offset: Offset,
}

/// Tables that the RTI only passes on.
#[derive(Clone, Default, Debug)]
pub(super) struct Documentation {
    /// `time` and `lookahead`, each with its data type.
    pub(super) time: BTreeMap<&'static str, Documented>,
    /// The user-supplied tags by element name, each with its data type.
    pub(super) tags: BTreeMap<&'static str, Documented>,
    /// The synchronization points by label.
    pub(super) synchronizations: BTreeMap<String, Documented>,
}

/// A row of a [`Documentation`] table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Documented {
    pub(super) datatype: String,
    /// The capability of a synchronization point; otherwise empty.
    pub(super) capability: String,
    /// The module number is 0 while the module stands alone.
    pub(super) origin: Origin,
}

/// In lines longer than this, columns are counted in octets: counting characters again and again
/// would be slow.
const LONG_LINE: usize = 1 << 16;

/// The text of a module, with the data needed to find positions in it.
pub(super) struct Source {
    pub(super) designator: String,
    pub(super) text: String,
    /// Digest of the text, by which equal texts are found without comparing them with all others.
    pub(super) digest: u64,
    line_starts: Vec<u32>,
}

impl Source {
    pub(super) fn new(designator: &str, text: String) -> Self {
        let ends = text.bytes().enumerate().filter(|&(_, octet)| octet == b'\n');
        let line_starts = std::iter::once(0).chain(ends.map(|(index, _)| index as u32 + 1)).collect();
        let digest = text_digest(text.as_bytes());
        Self { designator: designator.to_owned(), text, digest, line_starts }
    }

    /// Line and column in characters, both from 1.
    pub(super) fn position(&self, offset: Offset) -> (u32, u32) {
        let line = self.line_starts.partition_point(|&start| start <= offset).max(1);
        let before = self.text.get(self.line_starts[line - 1] as usize..offset as usize).unwrap_or_default();
        let column = if before.len() < LONG_LINE { before.chars().count() } else { before.len() };
        (line as u32, column as u32 + 1)
    }

    /// `file:line:column` of an element.
    pub(super) fn location(&self, offset: Offset) -> String {
        let (line, column) = self.position(offset);
        format!("{}:{line}:{column}", self.designator)
    }

    pub(super) fn diagnostic(&self, severity: Severity, offset: Offset, message: String) -> Diagnostic {
        let (line, column) = self.position(offset);
        Diagnostic { file: self.designator.clone(), line, column, severity, message, expected: None }
    }
}

/// A digest of a module's text, for finding an equal text; it proves nothing.
pub fn text_digest(text: &[u8]) -> u64 {
    let mut digest = base::Digest::EMPTY;
    digest.octets(text);
    digest.value()
}

impl Module {
    /// Whether its text is `text`, whose [`text_digest`] is `digest`.
    pub fn has_text(&self, digest: u64, text: &[u8]) -> bool {
        self.inner.source.digest == digest && self.text().as_bytes() == text
    }

    /// The cost of reading the module.
    pub fn cost(&self) -> Cost {
        self.inner.cost
    }

    /// The designator under which the federate gave the module.
    pub fn designator(&self) -> &str {
        &self.inner.source.designator
    }

    /// The edition in whose form the module is written.
    pub fn edition(&self) -> Edition {
        self.inner.edition
    }

    /// The name in its model identification; empty when there is none.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The XML text, as Unicode.
    pub fn text(&self) -> &str {
        &self.inner.source.text
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({}, {}, {} octets)", self.designator(), self.edition().year(), self.text().len())
    }
}
