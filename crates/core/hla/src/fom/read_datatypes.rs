//! Reads the data type tables of a module.
//!
//! The RTI does not look into values, so oddities here are warnings. Only a data type without a
//! usable name, or two data types of one name, are errors.

use std::collections::BTreeMap;

use roxmltree::Node;

use crate::fom::datatype::{Alternative, DataType, DataTypeKind, EXTENDABLE_VARIANT, Enumerator, Field};
use crate::fom::module::RawDataType;
use crate::fom::read::Reader;
use crate::fom::xml::{self, Form, Row};

const DATA_TYPES: Form = Form {
    single: &[
        "basicDataRepresentations",
        "simpleDataTypes",
        "referenceDataTypes",
        "enumeratedDataTypes",
        "arrayDataTypes",
        "fixedRecordDataTypes",
        "variantRecordDataTypes",
    ],
    many: &[],
};

type ReadKind = fn(&Row<'_, '_>, &mut Reader<'_>) -> DataTypeKind;

/// A table of data types: its element, its rows' element, the cells that a row may have, and its
/// reader.
struct Table {
    table: &'static str,
    rows: Form,
    row: Form,
    read: ReadKind,
}

const TABLES: [Table; 7] = [
    Table {
        table: "basicDataRepresentations",
        rows: Form { single: &[], many: &["basicData"] },
        row: Form { single: &["name", "size", "interpretation", "endian", "encoding"], many: &[] },
        read: read_basic,
    },
    Table {
        table: "simpleDataTypes",
        rows: Form { single: &[], many: &["simpleData"] },
        row: Form {
            single: &["name", "representation", "units", "resolution", "accuracy", "semantics"],
            many: &[],
        },
        read: read_simple,
    },
    Table {
        table: "referenceDataTypes",
        rows: Form { single: &[], many: &["referenceDataType"] },
        row: Form {
            single: &["name", "representation", "referenceClass", "referencedAttribute", "semantics"],
            many: &[],
        },
        read: read_reference,
    },
    Table {
        table: "enumeratedDataTypes",
        rows: Form { single: &[], many: &["enumeratedData"] },
        row: Form { single: &["name", "representation", "semantics"], many: &["enumerator"] },
        read: read_enumerated,
    },
    Table {
        table: "arrayDataTypes",
        rows: Form { single: &[], many: &["arrayData"] },
        row: Form { single: &["name", "dataType", "cardinality", "encoding", "semantics"], many: &[] },
        read: read_array,
    },
    Table {
        table: "fixedRecordDataTypes",
        rows: Form { single: &[], many: &["fixedRecordData"] },
        row: Form { single: &["name", "encoding", "semantics"], many: &["field"] },
        read: read_fixed_record,
    },
    Table {
        table: "variantRecordDataTypes",
        rows: Form { single: &[], many: &["variantRecordData"] },
        row: Form {
            single: &["name", "discriminant", "dataType", "encoding", "semantics"],
            many: &["alternative"],
        },
        read: read_variant_record,
    },
];

/// All data types of a module.
pub(super) fn datatypes(node: Node<'_, '_>, reader: &mut Reader<'_>) -> Vec<RawDataType> {
    let tables = Row::read(node, &DATA_TYPES, &mut reader.findings);
    let mut read: Vec<RawDataType> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for Table { table, rows, row: form, read: read_kind } in &TABLES {
        let Some(node) = tables.get(table) else { continue };
        let rows = Row::read(node, rows, &mut reader.findings);
        for cell in rows.every() {
            let row = Row::read(cell, form, &mut reader.findings);
            let name = reader.name(&row, "a data type");
            let kind = read_kind(&row, reader);
            let datatype = DataType { name, kind };
            match places.get(&datatype.name) {
                None => {
                    places.insert(datatype.name.clone(), read.len());
                    read.push(RawDataType { datatype: datatype.into(), offset: row.offset });
                }
                Some(&first) => repeated(&datatype, &read[first], row.offset, reader),
            }
        }
    }
    read
}

/// Accepts repeated data types with the same content: fielded modules have them, and they do no
/// harm.
fn repeated(again: &DataType, first: &RawDataType, at: u32, reader: &mut Reader<'_>) {
    let name = &again.name;
    if name.is_empty() {
        return;
    }
    if *again == *first.datatype {
        reader.findings.warning(at, format!("data type `{name}` is defined twice, alike"));
    } else {
        let location = reader.findings.location(first.offset);
        let message = format!("a second data type `{name}`, other than the one at {location}");
        reader.findings.error(at, message);
    }
}

fn read_basic(row: &Row<'_, '_>, reader: &mut Reader<'_>) -> DataTypeKind {
    let size = row.get("size").and_then(|cell| {
        let text = xml::text(cell);
        let size = text.parse().ok();
        if size.is_none() && crate::fom::datatype::is_given(&text) {
            let message = format!("`{text}` is no size of a basic data representation");
            reader.findings.warning_expected(xml::offset(cell), message, "a number of bits");
        }
        size
    });
    DataTypeKind::Basic { size, endian: row.text("endian") }
}

fn read_simple(row: &Row<'_, '_>, _: &mut Reader<'_>) -> DataTypeKind {
    DataTypeKind::Simple {
        representation: row.text("representation"),
        units: row.text("units"),
        resolution: row.text("resolution"),
        accuracy: row.text("accuracy"),
    }
}

fn read_reference(row: &Row<'_, '_>, _: &mut Reader<'_>) -> DataTypeKind {
    DataTypeKind::Reference {
        representation: row.text("representation"),
        class: row.text("referenceClass"),
        attribute: row.text("referencedAttribute"),
    }
}

fn read_enumerated(row: &Row<'_, '_>, reader: &mut Reader<'_>) -> DataTypeKind {
    const ENUMERATOR: Form = Form { single: &["name", "semantics"], many: &["value"] };
    let mut enumerators = Vec::new();
    for cell in row.all("enumerator") {
        let row = Row::read(cell, &ENUMERATOR, &mut reader.findings);
        enumerators
            .push(Enumerator { name: row.text("name"), values: row.all("value").map(xml::text).collect() });
    }
    DataTypeKind::Enumerated { representation: row.text("representation"), enumerators }
}

fn read_array(row: &Row<'_, '_>, reader: &mut Reader<'_>) -> DataTypeKind {
    let cardinality = row.text("cardinality");
    if crate::fom::datatype::is_given(&cardinality) && !is_cardinality(&cardinality) {
        let at = row.get("cardinality").map_or(row.offset, xml::offset);
        let message = format!("`{cardinality}` is no cardinality of an array");
        reader.findings.warning_expected(at, message, "`Dynamic`, `n`, `[n..m]` or a list of these");
    }
    DataTypeKind::Array { element: row.text("dataType"), cardinality, encoding: row.text("encoding") }
}

fn is_cardinality(text: &str) -> bool {
    let number = |text: &str| text.trim().parse::<u32>().is_ok();
    text.split(',').map(str::trim).all(|part| {
        let range = part.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let bounds = range.and_then(|range| range.split_once(".."));
        part == "Dynamic" || number(part) || bounds.is_some_and(|(from, to)| number(from) && number(to))
    })
}

fn read_fixed_record(row: &Row<'_, '_>, reader: &mut Reader<'_>) -> DataTypeKind {
    const FIELD: Form = Form { single: &["name", "dataType", "semantics"], many: &[] };
    let mut fields = Vec::new();
    for cell in row.all("field") {
        let row = Row::read(cell, &FIELD, &mut reader.findings);
        fields.push(Field { name: row.text("name"), datatype: row.text("dataType") });
    }
    DataTypeKind::FixedRecord { encoding: row.text("encoding"), fields }
}

fn read_variant_record(row: &Row<'_, '_>, reader: &mut Reader<'_>) -> DataTypeKind {
    const ALTERNATIVE: Form = Form { single: &["enumerator", "name", "dataType", "semantics"], many: &[] };
    let encoding = row.text("encoding");
    let mut alternatives = Vec::new();
    for cell in row.all("alternative") {
        let row = Row::read(cell, &ALTERNATIVE, &mut reader.findings);
        let enumerators = row.text("enumerator");
        if encoding == EXTENDABLE_VARIANT && enumerators.split(',').any(|part| part.trim() == "HLAother") {
            let message = "an extendable variant record has an alternative for HLAother".to_owned();
            reader.findings.warning(row.offset, message);
        }
        alternatives.push(Alternative {
            enumerators,
            name: row.text("name"),
            datatype: row.text("dataType"),
        });
    }
    DataTypeKind::VariantRecord {
        discriminant: row.text("discriminant"),
        datatype: row.text("dataType"),
        encoding,
        alternatives,
    }
}

#[cfg(test)]
mod tests {
    use super::is_cardinality;

    #[test]
    fn cardinalities() {
        for good in ["Dynamic", "0", "4", "[1..4]", "4, Dynamic,[0..2]"] {
            assert!(is_cardinality(good), "{good}");
        }
        for bad in ["dynamic", "-1", "[1..]", "1+", "4,"] {
            assert!(!is_cardinality(bad), "{bad}");
        }
    }
}
