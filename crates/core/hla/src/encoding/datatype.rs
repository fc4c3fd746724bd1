//! Descriptions of datatypes, built from the leaves up.

use super::basic::{BasicType, Interpretation};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Largest number of levels of records and arrays inside one another. It bounds the stack that
/// encoding and decoding use.
pub const DEPTH_MAX: u16 = 64;

/// A datatype: all information needed to encode and decode its values. Cheap to clone.
///
/// A tree by construction: a datatype that contains itself cannot be built, and none is deeper than
/// [`DEPTH_MAX`]. Simple and reference datatypes are represented by their representation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DataType {
    /// A number.
    Basic(BasicType),
    /// HLAboolean: HLAinteger32BE 0 or 1.
    Boolean,
    /// HLAASCIIchar: one octet below 128.
    AsciiChar,
    /// HLAunicodeChar: one UTF-16 code unit, big endian; here always a character by itself.
    UnicodeChar,
    /// An array of characters or octets. Its value is a text or a string of octets rather than a
    /// list.
    Run(Run),
    /// An enumerated datatype.
    Enumerated(Arc<EnumeratedType>),
    /// An array of elements other than characters and octets.
    Array(Arc<Array>),
    /// HLAfixedRecord.
    FixedRecord(Arc<FixedRecord>),
    /// HLAvariantRecord or HLAextendableVariantRecord.
    VariantRecord(Arc<VariantRecord>),
}

/// The reason why a datatype cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataTypeError {
    /// Records and arrays are nested deeper than [`DEPTH_MAX`].
    #[error("more than {DEPTH_MAX} records and arrays inside one another")]
    TooDeep,
    /// An enumeration is represented by a float.
    #[error("an enumerated datatype cannot be represented by a float")]
    FloatEnumeration,
    /// The representation of an enumeration, or a discriminant, cannot represent a number.
    #[error("the number {0} of `{1}` does not fit the representation")]
    OutOfRange(i128, String),
    /// Two enumerators, fields or alternatives have the same name.
    #[error("the name `{0}` occurs twice")]
    DuplicateName(String),
    /// A discriminant is neither enumerated, nor boolean, nor an integer.
    #[error("a discriminant is an enumerated datatype, HLAboolean or an integer")]
    NoDiscriminant,
    /// The same discriminant selects two alternatives.
    #[error("the discriminant {0} chooses two alternatives")]
    DuplicateDiscriminant(i128),
    /// HLAother occurs twice, or in an HLAextendableVariantRecord.
    #[error("HLAother stands twice, or in an HLAextendableVariantRecord")]
    MisplacedOther,
}

/// The element of an array of characters or octets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// HLAoctet, HLAbyte.
    Octet,
    /// HLAASCIIchar.
    AsciiChar,
    /// HLAunicodeChar.
    UnicodeChar,
}

/// An array of characters or octets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Run {
    /// Its element.
    pub unit: Unit,
    /// HLAfixedArray: number of elements; `None`: HLAvariableArray.
    pub len: Option<usize>,
}

/// An enumerated datatype: names for numbers. Numbers without a name are legal values, since a
/// later module may have named them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnumeratedType {
    representation: BasicType,
    enumerators: Vec<(String, i128)>,
}

/// HLAfixedArray or HLAvariableArray. An array of several dimensions is an array of arrays; one
/// with a cardinality range is an HLAvariableArray.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    element: DataType,
    len: Option<usize>,
    depth: u16,
}

/// A field of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its datatype.
    pub data_type: DataType,
}

/// HLAfixedRecord.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FixedRecord {
    fields: Vec<Field>,
    boundary: usize,
    depth: u16,
}

/// An alternative of a variant record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternative {
    /// Its name.
    pub name: String,
    /// The discriminants that select it; `None` is HLAother: all that select no other alternative.
    pub discriminants: Option<Vec<i128>>,
    /// Its datatype; `None` (`NA` in a FOM) if the alternative carries no value.
    pub data_type: Option<DataType>,
}

/// HLAvariantRecord or HLAextendableVariantRecord.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VariantRecord {
    discriminant: DataType,
    alternatives: Vec<Alternative>,
    chosen: BTreeMap<i128, usize>,
    other: Option<usize>,
    extendable: bool,
    alternatives_boundary: usize,
    depth: u16,
}

impl DataType {
    /// The basic, simple or string datatype with this name in the standard MIM, where both editions
    /// agree on it.
    pub fn standard(name: &str) -> Option<Self> {
        Some(match name {
            "HLAboolean" => DataType::Boolean,
            "HLAASCIIchar" => DataType::AsciiChar,
            "HLAunicodeChar" => DataType::UnicodeChar,
            "HLAbyte" => DataType::Basic(BasicType::OCTET),
            "HLAcount" | "HLAseconds" | "HLAmsec" | "HLAindex" => DataType::Basic(BasicType::INTEGER32_BE),
            "HLAinteger64Time" => DataType::Basic(BasicType::standard("HLAinteger64BE")?),
            "HLAfloat64Time" => DataType::Basic(BasicType::standard("HLAfloat64BE")?),
            "HLAASCIIstring" => DataType::ascii_string(),
            "HLAunicodeString" => DataType::unicode_string(),
            "HLAopaqueData" => DataType::opaque_data(),
            "HLAtoken" => DataType::Run(Run { unit: Unit::Octet, len: Some(0) }),
            basic => DataType::Basic(BasicType::standard(basic)?),
        })
    }

    /// HLAASCIIstring.
    pub const fn ascii_string() -> Self {
        DataType::Run(Run { unit: Unit::AsciiChar, len: None })
    }

    /// HLAunicodeString.
    pub const fn unicode_string() -> Self {
        DataType::Run(Run { unit: Unit::UnicodeChar, len: None })
    }

    /// HLAopaqueData.
    pub const fn opaque_data() -> Self {
        DataType::Run(Run { unit: Unit::Octet, len: None })
    }

    /// An HLAvariableArray of `element`.
    ///
    /// # Errors
    /// [`DataTypeError::TooDeep`].
    pub fn variable_array(element: DataType) -> Result<Self, DataTypeError> {
        Self::array(element, None)
    }

    /// An HLAfixedArray of `len` elements.
    ///
    /// # Errors
    /// [`DataTypeError::TooDeep`].
    pub fn fixed_array(element: DataType, len: usize) -> Result<Self, DataTypeError> {
        Self::array(element, Some(len))
    }

    fn array(element: DataType, len: Option<usize>) -> Result<Self, DataTypeError> {
        let unit = match element {
            DataType::AsciiChar => Some(Unit::AsciiChar),
            DataType::UnicodeChar => Some(Unit::UnicodeChar),
            DataType::Basic(basic)
                if basic.size() == 1 && basic.interpretation() == Interpretation::Unsigned =>
            {
                Some(Unit::Octet)
            }
            _ => None,
        };
        if let Some(unit) = unit {
            return Ok(DataType::Run(Run { unit, len }));
        }
        let depth = depth_above([&element])?;
        Ok(DataType::Array(Arc::new(Array { element, len, depth })))
    }

    /// An HLAfixedRecord.
    ///
    /// # Errors
    /// [`DataTypeError::TooDeep`], [`DataTypeError::DuplicateName`].
    pub fn fixed_record(fields: Vec<Field>) -> Result<Self, DataTypeError> {
        unique_names(fields.iter().map(|f| &f.name))?;
        let depth = depth_above(fields.iter().map(|f| &f.data_type))?;
        let boundary = fields.iter().map(|f| f.data_type.octet_boundary()).max().unwrap_or(1);
        Ok(DataType::FixedRecord(Arc::new(FixedRecord { fields, boundary, depth })))
    }

    /// An enumerated datatype.
    ///
    /// # Errors
    /// [`DataTypeError::FloatEnumeration`], [`DataTypeError::DuplicateName`],
    /// [`DataTypeError::OutOfRange`].
    pub fn enumerated(
        representation: BasicType,
        enumerators: Vec<(String, i128)>,
    ) -> Result<Self, DataTypeError> {
        if representation.interpretation() == Interpretation::Float {
            return Err(DataTypeError::FloatEnumeration);
        }
        unique_names(enumerators.iter().map(|(name, _)| name))?;
        match enumerators.iter().find(|&&(_, number)| !representation.holds(number)) {
            Some((name, number)) => Err(DataTypeError::OutOfRange(*number, name.clone())),
            None => Ok(DataType::Enumerated(Arc::new(EnumeratedType { representation, enumerators }))),
        }
    }

    /// An HLAvariantRecord.
    ///
    /// # Errors
    /// Any [`DataTypeError`] except [`DataTypeError::FloatEnumeration`].
    pub fn variant_record(
        discriminant: DataType,
        alternatives: Vec<Alternative>,
    ) -> Result<Self, DataTypeError> {
        VariantRecord::build(discriminant, alternatives, false)
    }

    /// An HLAextendableVariantRecord (1516.2-2025).
    ///
    /// # Errors
    /// Any [`DataTypeError`] except [`DataTypeError::FloatEnumeration`].
    pub fn extendable_variant_record(
        discriminant: DataType,
        alternatives: Vec<Alternative>,
    ) -> Result<Self, DataTypeError> {
        VariantRecord::build(discriminant, alternatives, true)
    }

    /// The octet boundary V: values start at multiples of this number of octets.
    pub fn octet_boundary(&self) -> usize {
        match self {
            DataType::Basic(basic) => basic.size(),
            DataType::Boolean => 4,
            DataType::AsciiChar => 1,
            DataType::UnicodeChar => 2,
            DataType::Run(run) => match run.len {
                None => 4,
                Some(_) => run.unit.size(),
            },
            DataType::Enumerated(enumerated) => enumerated.representation.size(),
            DataType::Array(array) => match array.len {
                None => array.element.octet_boundary().max(4),
                Some(_) => array.element.octet_boundary(),
            },
            DataType::FixedRecord(record) => record.boundary,
            DataType::VariantRecord(record) if record.extendable => VariantRecord::EXTENDABLE_BOUNDARY,
            DataType::VariantRecord(record) => {
                record.discriminant.octet_boundary().max(record.alternatives_boundary)
            }
        }
    }

    fn depth(&self) -> u16 {
        match self {
            DataType::Array(array) => array.depth,
            DataType::FixedRecord(record) => record.depth,
            DataType::VariantRecord(record) => record.depth,
            _ => 0,
        }
    }

    /// Whether it can represent the discriminant `number`; `None` if it cannot be a discriminant.
    fn discriminates(&self, number: i128) -> Option<bool> {
        match self {
            DataType::Boolean => Some(number == 0 || number == 1),
            DataType::Enumerated(enumerated) => Some(enumerated.representation.holds(number)),
            DataType::Basic(basic) if basic.interpretation() != Interpretation::Float => {
                Some(basic.holds(number))
            }
            _ => None,
        }
    }
}

impl Unit {
    /// Size of one unit in octets.
    pub const fn size(self) -> usize {
        match self {
            Unit::Octet | Unit::AsciiChar => 1,
            Unit::UnicodeChar => 2,
        }
    }
}

impl EnumeratedType {
    /// The representation of its numbers.
    pub fn representation(&self) -> BasicType {
        self.representation
    }

    /// Its names with their numbers, as declared. Several names may share a number.
    pub fn enumerators(&self) -> &[(String, i128)] {
        &self.enumerators
    }

    /// The first name of `number`.
    pub fn name_of(&self, number: i128) -> Option<&str> {
        self.enumerators.iter().find(|&&(_, n)| n == number).map(|(name, _)| name.as_str())
    }

    /// The number of `name`.
    pub fn number_of(&self, name: &str) -> Option<i128> {
        self.enumerators.iter().find(|(n, _)| n == name).map(|&(_, number)| number)
    }
}

impl Array {
    /// The datatype of its elements.
    pub fn element(&self) -> &DataType {
        &self.element
    }

    /// HLAfixedArray: number of elements; `None`: HLAvariableArray.
    pub fn len(&self) -> Option<usize> {
        self.len
    }

    /// Whether it is an HLAfixedArray without elements.
    pub fn is_empty(&self) -> bool {
        self.len == Some(0)
    }
}

impl FixedRecord {
    /// Its fields in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }
}

impl VariantRecord {
    /// The octet boundary of every HLAextendableVariantRecord, and of the alternative in it.
    pub const EXTENDABLE_BOUNDARY: usize = 8;

    fn build(
        discriminant: DataType,
        alternatives: Vec<Alternative>,
        extendable: bool,
    ) -> Result<DataType, DataTypeError> {
        unique_names(alternatives.iter().map(|a| &a.name))?;
        let (mut chosen, mut other) = (BTreeMap::new(), None);
        for (i, alternative) in alternatives.iter().enumerate() {
            let Some(numbers) = &alternative.discriminants else {
                if extendable || other.replace(i).is_some() {
                    return Err(DataTypeError::MisplacedOther);
                }
                continue;
            };
            for &number in numbers {
                if discriminant.discriminates(number) == Some(false) {
                    return Err(DataTypeError::OutOfRange(number, alternative.name.clone()));
                }
                if chosen.insert(number, i).is_some() {
                    return Err(DataTypeError::DuplicateDiscriminant(number));
                }
            }
        }
        if discriminant.discriminates(0).is_none() {
            return Err(DataTypeError::NoDiscriminant);
        }
        let data_types = || alternatives.iter().filter_map(|a| a.data_type.as_ref());
        let depth = depth_above(data_types())?;
        let alternatives_boundary = data_types().map(DataType::octet_boundary).max().unwrap_or(1);
        let record = VariantRecord {
            discriminant,
            alternatives,
            chosen,
            other,
            extendable,
            alternatives_boundary,
            depth,
        };
        Ok(DataType::VariantRecord(Arc::new(record)))
    }

    /// The datatype of the discriminant.
    pub fn discriminant(&self) -> &DataType {
        &self.discriminant
    }

    /// Its alternatives in the order of declaration.
    pub fn alternatives(&self) -> &[Alternative] {
        &self.alternatives
    }

    /// Whether it is an HLAextendableVariantRecord.
    pub fn is_extendable(&self) -> bool {
        self.extendable
    }

    /// The alternative that `discriminant` selects.
    pub fn alternative(&self, discriminant: i128) -> Option<&Alternative> {
        let index = self.chosen.get(&discriminant).copied().or(self.other)?;
        self.alternatives.get(index)
    }

    /// The largest octet boundary of all alternatives, selected or not.
    pub(super) fn alternatives_boundary(&self) -> usize {
        self.alternatives_boundary
    }
}

fn depth_above<'a>(parts: impl IntoIterator<Item = &'a DataType>) -> Result<u16, DataTypeError> {
    let depth = 1 + parts.into_iter().map(DataType::depth).max().unwrap_or(0);
    if depth <= DEPTH_MAX { Ok(depth) } else { Err(DataTypeError::TooDeep) }
}

fn unique_names<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), DataTypeError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(DataTypeError::DuplicateName(name.clone()));
        }
    }
    Ok(())
}
