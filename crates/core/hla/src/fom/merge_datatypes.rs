//! Merging data types. The RTI carries values as octets, so a clash is an error only where the
//! standard is strict: between two modules of 1516-2025. Elsewhere the first definition stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fom::datatype::{Alternative, DataType, DataTypeKind, EXTENDABLE_VARIANT, Enumerator, is_given};
use crate::fom::merge::Merge;
use crate::fom::model::{Edition, Tables};
use crate::fom::module::{Module, Offset, Origin};

/// Sizes of a model before a merge.
pub(super) struct Extent {
    attributes: usize,
    parameters: usize,
    dimensions: usize,
    datatypes: usize,
}

impl Merge {
    pub(super) fn extent(&self) -> Extent {
        let Tables { attributes, parameters, dimensions, datatypes, .. } = &self.tables;
        Extent {
            attributes: attributes.len(),
            parameters: parameters.len(),
            dimensions: dimensions.len(),
            datatypes: datatypes.len(),
        }
    }

    pub(super) fn merge_datatypes(&mut self, module: &Module) {
        for raw in &module.inner.datatypes {
            let origin = self.here(raw.offset);
            let Some(&index) = self.tables.datatype_names.get(&raw.datatype.name) else {
                let index = self.tables.datatypes.len();
                self.tables.datatype_names.insert(raw.datatype.name.clone(), index);
                self.tables.datatypes.push((raw.datatype.clone(), origin));
                continue;
            };
            let (known, first) = self.tables.datatypes[index].clone();
            if self.index == 0 {
                self.tables.datatypes[index].1 = origin;
            }
            if !is_equivalent(&known.kind, &raw.datatype.kind) {
                match united(&known.kind, &raw.datatype.kind, self.tables.edition) {
                    Ok(kind) => {
                        let name = known.name.clone();
                        self.tables.datatypes[index].0 = Arc::new(DataType { name, kind });
                    }
                    Err(wrong) => self.datatype_clash(first, module, raw.offset, &known, &wrong),
                }
            }
        }
    }

    fn datatype_clash(&mut self, first: Origin, module: &Module, at: Offset, known: &DataType, wrong: &str) {
        let message = format!("data type `{}` {wrong}", known.name);
        let strict = self.tables.edition == Edition::Hla2025
            && module.edition() == Edition::Hla2025
            && self.module(first.module).edition() == Edition::Hla2025;
        if strict {
            self.clash(first, at, message, "the same definition");
        } else {
            let location = self.location(first);
            self.warning(at, format!("{message}; the one at {location} stands"));
        }
    }

    /// Warns of data types that new entries use and no module defines. Fielded object models have
    /// such gaps.
    pub(super) fn check_datatype_references(&mut self, before: &Extent) {
        let mut undefined: Vec<(Origin, String, String)> = Vec::new();
        let Tables { attributes, parameters, dimensions, datatypes, datatype_names, .. } = &self.tables;
        let mut check = |origin: Origin, user: &dyn Fn() -> String, name: &str| {
            if is_given(name) && !datatype_names.contains_key(name) {
                undefined.push((origin, user(), name.to_owned()));
            }
        };
        for attribute in attributes.iter().skip(before.attributes) {
            check(attribute.origin, &|| format!("attribute `{}`", attribute.name), &attribute.datatype);
        }
        for parameter in parameters.iter().skip(before.parameters) {
            check(parameter.origin, &|| format!("parameter `{}`", parameter.name), &parameter.datatype);
        }
        for dimension in dimensions.iter().skip(before.dimensions) {
            for name in &dimension.input_datatypes {
                check(dimension.origin, &|| format!("dimension `{}`", dimension.name), name);
            }
        }
        for (datatype, origin) in datatypes.iter().skip(before.datatypes) {
            for name in datatype.kind.references() {
                check(*origin, &|| format!("{} `{}`", datatype.kind.label(), datatype.name), name);
            }
        }
        for (origin, user, name) in undefined {
            self.index = origin.module;
            self.warning(origin.offset, format!("{user} has data type `{name}`, which no module defines"));
        }
    }
}

/// Whether the cells that matter are equal. Prose-like cells, white space and the notation of
/// numbers do not matter.
fn is_equivalent(a: &DataTypeKind, b: &DataTypeKind) -> bool {
    use DataTypeKind::{Array, Simple, VariantRecord};
    match (a, b) {
        (Simple { representation: a, .. }, Simple { representation: b, .. }) => a == b,
        (
            Array { element: a, cardinality: many_a, encoding: enc_a },
            Array { element: b, cardinality: many_b, encoding: enc_b },
        ) => a == b && enc_a == enc_b && without_space(many_a) == without_space(many_b),
        (
            VariantRecord { discriminant: a, datatype: type_a, encoding: enc_a, alternatives: alts_a },
            VariantRecord { discriminant: b, datatype: type_b, encoding: enc_b, alternatives: alts_b },
        ) => {
            let same = |(a, b): (&Alternative, &Alternative)| is_same_alternative(a, b);
            (a, type_a, enc_a) == (b, type_b, enc_b)
                && alts_a.len() == alts_b.len()
                && alts_a.iter().zip(alts_b).all(same)
        }
        _ => a == b,
    }
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

fn is_same_alternative(a: &Alternative, b: &Alternative) -> bool {
    a.name == b.name
        && a.datatype == b.datatype
        && without_space(&a.enumerators) == without_space(&b.enumerators)
}

/// The union of both definitions, where the standard lets a module add to another's (2025):
/// enumerators of an enumerated data type, alternatives of an extendable variant record. Otherwise
/// the reason why there is none.
fn united(a: &DataTypeKind, b: &DataTypeKind, edition: Edition) -> Result<DataTypeKind, String> {
    use DataTypeKind::{Enumerated, VariantRecord};
    match (a, b) {
        _ if edition == Edition::Hla2010 => Err("is defined otherwise".to_owned()),
        (
            Enumerated { representation: a, enumerators: known },
            Enumerated { representation: b, enumerators: more },
        ) if a == b => {
            let enumerators = united_enumerators(known, more)?;
            Ok(Enumerated { representation: a.clone(), enumerators })
        }
        (
            VariantRecord { discriminant: a, datatype: type_a, encoding, alternatives: known },
            VariantRecord { discriminant: b, datatype: type_b, encoding: other, alternatives: more },
        ) if (a, type_a, encoding) == (b, type_b, other) && encoding == EXTENDABLE_VARIANT => {
            Ok(VariantRecord {
                discriminant: a.clone(),
                datatype: type_a.clone(),
                encoding: encoding.clone(),
                alternatives: united_alternatives(known, more)?,
            })
        }
        _ => Err("is defined otherwise".to_owned()),
    }
}

fn united_enumerators(known: &[Enumerator], more: &[Enumerator]) -> Result<Vec<Enumerator>, String> {
    let mut all = known.to_vec();
    let mut by_name: BTreeMap<&str, &Enumerator> = known.iter().map(|e| (e.name.as_str(), e)).collect();
    let mut by_value: BTreeMap<&str, &str> =
        known.iter().flat_map(|e| e.values.iter().map(|value| (value.as_str(), e.name.as_str()))).collect();
    for enumerator in more {
        let name = enumerator.name.as_str();
        match by_name.get(name) {
            Some(same) if same.values == enumerator.values => continue,
            Some(_) => return Err(format!("gives enumerator `{name}` another value")),
            None => {}
        }
        for value in &enumerator.values {
            if let Some(other) = by_value.insert(value, name).filter(|other| *other != name) {
                return Err(format!("gives `{name}` the value {value} of `{other}`"));
            }
        }
        by_name.insert(name, enumerator);
        all.push(enumerator.clone());
    }
    Ok(all)
}

fn united_alternatives(known: &[Alternative], more: &[Alternative]) -> Result<Vec<Alternative>, String> {
    let mut all = known.to_vec();
    let selectors = known.iter().map(|a| (without_space(&a.enumerators), a));
    let mut by_selector: BTreeMap<String, &Alternative> = selectors.collect();
    for alternative in more {
        match by_selector.insert(without_space(&alternative.enumerators), alternative) {
            Some(same) if is_same_alternative(same, alternative) => {}
            Some(_) => return Err(format!("gives another alternative for `{}`", alternative.enumerators)),
            None => all.push(alternative.clone()),
        }
    }
    Ok(all)
}
