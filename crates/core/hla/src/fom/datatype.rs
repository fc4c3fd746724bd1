//! Data types of an object model (1516.2, data type tables).
//!
//! The RTI carries values as opaque octets. It keeps the types for code that encodes values, and
//! for the merged object model that it reports.

/// A data type with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataType {
    /// Its name, unique among the data types of all kinds.
    pub name: String,
    /// Its kind and its columns.
    pub kind: DataTypeKind,
}

/// The kinds of data types with the columns of their tables. An empty text is a cell that the
/// module leaves open.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the columns of the standard's tables
pub enum DataTypeKind {
    /// A basic data representation; the size is in bits.
    Basic { size: Option<u32>, endian: String },
    /// A simple data type.
    Simple { representation: String, units: String, resolution: String, accuracy: String },
    /// A reference to an object instance by one of its identifying attributes (2025).
    Reference { representation: String, class: String, attribute: String },
    /// An enumerated data type.
    Enumerated { representation: String, enumerators: Vec<Enumerator> },
    /// An array; the cardinality is as written (`Dynamic`, `7`, `[1..4]`, a list of these).
    Array { element: String, cardinality: String, encoding: String },
    /// A fixed record.
    FixedRecord { encoding: String, fields: Vec<Field> },
    /// A variant record.
    VariantRecord { discriminant: String, datatype: String, encoding: String, alternatives: Vec<Alternative> },
}

/// One value of an enumerated data type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enumerator {
    /// Its name.
    pub name: String,
    /// Its values as written; the first one is used for encoding.
    pub values: Vec<String>,
}

/// One field of a fixed record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The name of its data type.
    pub datatype: String,
}

/// One alternative of a variant record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternative {
    /// The enumerators that select it, as written (`A, [B..D], HLAother`).
    pub enumerators: String,
    /// Its name; empty if the alternative carries no value and so has no data type.
    pub name: String,
    /// The name of its data type.
    pub datatype: String,
}

/// The encoding to whose alternatives a later module may add (2025).
pub(super) const EXTENDABLE_VARIANT: &str = "HLAextendableVariantRecord";

impl DataTypeKind {
    /// The name of the kind for messages.
    pub const fn label(&self) -> &'static str {
        match self {
            DataTypeKind::Basic { .. } => "basic data representation",
            DataTypeKind::Simple { .. } => "simple data type",
            DataTypeKind::Reference { .. } => "reference data type",
            DataTypeKind::Enumerated { .. } => "enumerated data type",
            DataTypeKind::Array { .. } => "array data type",
            DataTypeKind::FixedRecord { .. } => "fixed record data type",
            DataTypeKind::VariantRecord { .. } => "variant record data type",
        }
    }

    /// The data types that this one names, without `NA` and open cells.
    pub fn references(&self) -> Vec<&str> {
        let mut names: Vec<&str> = match self {
            DataTypeKind::Basic { .. } => Vec::new(),
            DataTypeKind::Simple { representation, .. }
            | DataTypeKind::Reference { representation, .. }
            | DataTypeKind::Enumerated { representation, .. } => vec![representation],
            DataTypeKind::Array { element, .. } => vec![element],
            DataTypeKind::FixedRecord { fields, .. } => fields.iter().map(|f| f.datatype.as_str()).collect(),
            DataTypeKind::VariantRecord { datatype, alternatives, .. } => {
                let parts = alternatives.iter().map(|a| a.datatype.as_str());
                std::iter::once(datatype.as_str()).chain(parts).collect()
            }
        };
        names.retain(|name| is_given(name));
        names
    }
}

/// Whether a cell has content: false if it is empty or `NA`.
pub(super) fn is_given(cell: &str) -> bool {
    !cell.is_empty() && cell != "NA" && cell != "N/A"
}
