//! Builds descriptions from the datatypes of an object model.

use super::basic::{BasicType, Endian, Interpretation};
use super::datatype::{Alternative, DEPTH_MAX, DataType, EnumeratedType, Field};
use crate::fom::{self, DataTypeKind, Fdd};
use std::collections::BTreeMap;

/// A datatype of an object model that has no standard encoding, or none that can be derived.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("datatype `{name}`: {details}")]
pub struct UnusableDataType {
    /// The datatype at fault, which may be one that the requested datatype contains.
    pub name: String,
    /// The reason.
    pub details: String,
}

impl DataType {
    /// The datatype with this name in the merged object model.
    ///
    /// The model does not state in machine-readable form whether a basic representation of its own
    /// is signed. It is taken as a float when its name contains `float`, as unsigned when its name
    /// contains `unsigned` or `octet`, and as signed otherwise.
    ///
    /// # Errors
    /// When there is no such datatype, it contains itself, or its encoding is not one of the
    /// standard's.
    pub fn from_fdd(fdd: &Fdd, name: &str) -> Result<Self, UnusableDataType> {
        Resolver { fdd, known: BTreeMap::new(), level: 0 }.resolve(name)
    }
}

struct Resolver<'a> {
    fdd: &'a Fdd,
    known: BTreeMap<String, DataType>,
    /// Number of datatypes that are being resolved inside one another.
    level: u16,
}

fn unusable(name: &str, details: impl Into<String>) -> UnusableDataType {
    UnusableDataType { name: name.to_owned(), details: details.into() }
}

impl Resolver<'_> {
    fn resolve(&mut self, name: &str) -> Result<DataType, UnusableDataType> {
        if let "HLAboolean" | "HLAASCIIchar" | "HLAunicodeChar" = name {
            return DataType::standard(name).ok_or_else(|| unusable(name, "is not defined"));
        }
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        let Some(described) = self.fdd.datatype(name) else {
            return Err(unusable(name, "is not defined"));
        };
        // Simple datatypes add no level to the description, but they count here, so that cycles of
        // them end.
        if self.level >= 2 * DEPTH_MAX {
            return Err(unusable(name, "contains itself, or is nested too deeply"));
        }
        self.level += 1;
        let data_type = self.build(name, &described.kind)?;
        self.level -= 1;
        self.known.insert(name.to_owned(), data_type.clone());
        Ok(data_type)
    }

    fn build(&mut self, name: &str, kind: &DataTypeKind) -> Result<DataType, UnusableDataType> {
        match kind {
            DataTypeKind::Basic { size, endian } => basic(name, *size, endian).map(DataType::Basic),
            DataTypeKind::Simple { representation, .. } | DataTypeKind::Reference { representation, .. } => {
                self.resolve(representation)
            }
            DataTypeKind::Enumerated { representation, enumerators } => {
                let DataType::Basic(representation) = self.resolve(representation)? else {
                    return Err(unusable(name, "is not represented by a number"));
                };
                let numbers = enumerators.iter().map(|e| Ok((e.name.clone(), number(name, e)?)));
                let enumerators = numbers.collect::<Result<_, _>>()?;
                DataType::enumerated(representation, enumerators).map_err(|e| unusable(name, e.to_string()))
            }
            DataTypeKind::Array { element, cardinality, encoding } => {
                let element = self.resolve(element)?;
                array(name, element, cardinality, encoding)
            }
            DataTypeKind::FixedRecord { encoding, fields } => {
                expect_encoding(name, encoding, &["HLAfixedRecord", ""])?;
                let fields = fields.iter().map(|field| {
                    Ok(Field { name: field.name.clone(), data_type: self.resolve(&field.datatype)? })
                });
                let fields = fields.collect::<Result<_, _>>()?;
                DataType::fixed_record(fields).map_err(|e| unusable(name, e.to_string()))
            }
            DataTypeKind::VariantRecord { datatype, encoding, alternatives, .. } => {
                expect_encoding(name, encoding, &["HLAvariantRecord", "HLAextendableVariantRecord", ""])?;
                let discriminant = self.resolve(datatype)?;
                let alternatives = alternatives.iter().map(|a| self.alternative(name, &discriminant, a));
                let alternatives = alternatives.collect::<Result<_, _>>()?;
                let built = if encoding == "HLAextendableVariantRecord" {
                    DataType::extendable_variant_record(discriminant, alternatives)
                } else {
                    DataType::variant_record(discriminant, alternatives)
                };
                built.map_err(|e| unusable(name, e.to_string()))
            }
        }
    }

    fn alternative(
        &mut self,
        record: &str,
        discriminant: &DataType,
        described: &fom::Alternative,
    ) -> Result<Alternative, UnusableDataType> {
        let parts: Vec<&str> = described.enumerators.split(',').map(str::trim).collect();
        let discriminants = if parts.contains(&"HLAother") {
            None
        } else {
            let mut numbers = Vec::new();
            for part in &parts {
                numbers.extend(selected(record, discriminant, part)?);
            }
            Some(numbers)
        };
        let data_type = match described.datatype.as_str() {
            "" | "NA" | "N/A" => None,
            name => Some(self.resolve(name)?),
        };
        // Alternatives without a value have no name; the enumerators tell them apart.
        let name = if data_type.is_none() { &described.enumerators } else { &described.name };
        Ok(Alternative { name: name.clone(), discriminants, data_type })
    }
}

fn basic(name: &str, bits: Option<u32>, endian: &str) -> Result<BasicType, UnusableDataType> {
    if let Some(standard) = BasicType::standard(name) {
        return Ok(standard);
    }
    let lower = name.to_ascii_lowercase();
    let interpretation = if lower.contains("float") {
        Interpretation::Float
    } else if lower.contains("unsigned") || lower.contains("octet") {
        Interpretation::Unsigned
    } else {
        Interpretation::Signed
    };
    let endian = if endian.eq_ignore_ascii_case("little") { Endian::Little } else { Endian::Big };
    let octets = bits.filter(|bits| bits % 8 == 0).map(|bits| bits as usize / 8);
    let made = octets.and_then(|octets| BasicType::new(interpretation, octets, endian));
    made.ok_or_else(|| unusable(name, "is no number of 8, 16, 32 or 64 bits"))
}

fn number(name: &str, enumerator: &fom::Enumerator) -> Result<i128, UnusableDataType> {
    let first = enumerator.values.first().map(|text| text.trim());
    let parsed = first.and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| unusable(name, format!("the enumerator `{}` has no number", enumerator.name)))
}

/// An array of arrays for several dimensions, the first dimension outermost.
fn array(
    name: &str,
    element: DataType,
    cardinality: &str,
    encoding: &str,
) -> Result<DataType, UnusableDataType> {
    expect_encoding(name, encoding, &["HLAfixedArray", "HLAvariableArray"])?;
    let mut array = element;
    for dimension in cardinality.rsplit(',').map(str::trim) {
        let built = if encoding == "HLAvariableArray" {
            DataType::variable_array(array)
        } else {
            let len = dimension.parse();
            let len = len.map_err(|_| unusable(name, format!("`{dimension}` is no fixed number")))?;
            DataType::fixed_array(array, len)
        };
        array = built.map_err(|e| unusable(name, e.to_string()))?;
    }
    Ok(array)
}

fn expect_encoding(name: &str, encoding: &str, known: &[&str]) -> Result<(), UnusableDataType> {
    if known.contains(&encoding) {
        return Ok(());
    }
    Err(unusable(name, format!("the encoding `{encoding}` is not one of the standard's")))
}

/// The numbers that `A`, `[A..C]` (in the order of declaration) or a plain number select.
fn selected(record: &str, discriminant: &DataType, part: &str) -> Result<Vec<i128>, UnusableDataType> {
    let unknown = || unusable(record, format!("`{part}` is no enumerator of the discriminant"));
    match discriminant {
        DataType::Boolean => match part {
            "HLAfalse" => Ok(vec![0]),
            "HLAtrue" => Ok(vec![1]),
            _ => Err(unknown()),
        },
        DataType::Enumerated(enumerated) => enumerators_in(enumerated, part).ok_or_else(unknown),
        _ => part.parse().map(|number| vec![number]).map_err(|_| unknown()),
    }
}

fn enumerators_in(enumerated: &EnumeratedType, part: &str) -> Option<Vec<i128>> {
    let range = part.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let (first, last) = match range {
        Some(range) => range.split_once("..")?,
        None => (part, part),
    };
    let place = |name: &str| enumerated.enumerators().iter().position(|(known, _)| known == name.trim());
    let chosen = enumerated.enumerators().get(place(first)?..=place(last)?)?;
    Some(chosen.iter().map(|&(_, number)| number).collect())
}
