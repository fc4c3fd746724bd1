//! Reads the class tables of a module: object classes with attributes, interaction classes with
//! parameters.

use std::collections::BTreeSet;

use roxmltree::Node;

use crate::api::OrderType;
use crate::fom::model::{INTERACTION_ROOT, OBJECT_ROOT};
use crate::fom::module::{RawAttribute, RawInteractionClass, RawObjectClass, RawParameter, Reference};
use crate::fom::read::Reader;
use crate::fom::xml::{self, Form, Row};

const OBJECT_CLASS: Form = Form {
    single: &["name", "sharing", "dimensions", "semantics"],
    many: &["directedInteraction", "attribute", "objectClass"],
};
const ATTRIBUTE: Form = Form {
    single: &[
        "name",
        "dataType",
        "updateType",
        "updateCondition",
        "valueRequired",
        "ownership",
        "sharing",
        "dimensions",
        "transportation",
        "order",
        "semantics",
    ],
    many: &[],
};
const INTERACTION_CLASS: Form = Form {
    single: &["name", "sharing", "dimensions", "transportation", "order", "semantics"],
    many: &["parameter", "interactionClass"],
};
const PARAMETER: Form = Form { single: &["name", "dataType", "semantics"], many: &[] };
const DIRECTED: Form = Form { single: &["name", "sharing", "semantics"], many: &[] };
const DIMENSIONS: Form = Form { single: &[], many: &["dimension"] };

/// A class element that has not been read yet.
struct Pending<'n, 't> {
    node: Node<'n, 't>,
    parent: String,
    depth: usize,
}

/// The object classes of the `objects` table, superclasses first.
pub(super) fn object_classes(table: Node<'_, '_>, reader: &mut Reader<'_>) -> Vec<RawObjectClass> {
    let form = Form { single: &[], many: &["objectClass"] };
    let roots = Row::read(table, &form, &mut reader.findings);
    let mut classes = Vec::new();
    walk(roots.all("objectClass"), OBJECT_ROOT, reader, |node, parent, reader| {
        let row = Row::read(node, &OBJECT_CLASS, &mut reader.findings);
        let name = reader.name(&row, "an object class");
        let path = reader.path(parent, &name, row.offset)?;
        let mut attributes: Vec<RawAttribute> = Vec::new();
        for cell in row.all("attribute") {
            let attribute = read_attribute(cell, reader)?;
            attributes.push(attribute);
        }
        reader.distinct(attributes.iter().map(|a| (a.name.as_str(), a.offset)), "attribute", &path);
        let directed =
            row.all("directedInteraction").filter_map(|cell| read_directed(cell, reader)).collect();
        classes.push(RawObjectClass {
            path: path.clone(),
            offset: row.offset,
            sharing: row.text("sharing"),
            attributes,
            dimensions: read_dimensions(&row, reader).unwrap_or_default(),
            directed_interactions: directed,
        });
        Some((path, row.all("objectClass").collect()))
    });
    reader.distinct(classes.iter().map(|c| (c.path.as_str(), c.offset)), "object class", "the module");
    classes
}

/// The interaction classes of the `interactions` table, superclasses first.
pub(super) fn interaction_classes(table: Node<'_, '_>, reader: &mut Reader<'_>) -> Vec<RawInteractionClass> {
    let form = Form { single: &[], many: &["interactionClass"] };
    let roots = Row::read(table, &form, &mut reader.findings);
    let mut classes = Vec::new();
    walk(roots.all("interactionClass"), INTERACTION_ROOT, reader, |node, parent, reader| {
        let row = Row::read(node, &INTERACTION_CLASS, &mut reader.findings);
        let name = reader.name(&row, "an interaction class");
        let path = reader.path(parent, &name, row.offset)?;
        let mut parameters: Vec<RawParameter> = Vec::new();
        for cell in row.all("parameter") {
            parameters.push(read_parameter(cell, reader)?);
        }
        reader.distinct(parameters.iter().map(|p| (p.name.as_str(), p.offset)), "parameter", &path);
        classes.push(RawInteractionClass {
            path: path.clone(),
            offset: row.offset,
            sharing: row.text("sharing"),
            parameters,
            transportation: reference(&row, "transportation"),
            order: read_order(&row, reader),
            dimensions: read_dimensions(&row, reader).unwrap_or_default(),
        });
        Some((path, row.all("interactionClass").collect()))
    });
    reader.distinct(classes.iter().map(|c| (c.path.as_str(), c.offset)), "interaction class", "the module");
    classes
}

/// Calls `visit` for every class element, superclasses first, without recursion. `visit` returns
/// the path of the class and its subclasses; `None` skips the subclasses.
fn walk<'n, 't: 'n>(
    roots: impl Iterator<Item = Node<'n, 't>>,
    root_name: &str,
    reader: &mut Reader<'_>,
    mut visit: impl FnMut(Node<'n, 't>, &str, &mut Reader<'_>) -> Option<(String, Vec<Node<'n, 't>>)>,
) {
    let mut pending: Vec<Pending<'n, 't>> =
        roots.map(|node| Pending { node, parent: String::new(), depth: 1 }).collect();
    if let Some(second) = pending.get(1) {
        let at = xml::offset(second.node);
        reader.findings.error_expected(at, "a second root class".to_owned(), format!("`{root_name}` alone"));
    }
    pending.truncate(1);
    while let Some(Pending { node, parent, depth }) = pending.pop() {
        if !reader.admit_class(node, depth) {
            return;
        }
        let Some((path, subclasses)) = visit(node, &parent, reader) else { continue };
        if depth == 1 && path != root_name {
            let at = xml::offset(node);
            reader.findings.error_expected(
                at,
                format!("the root class is `{path}`"),
                format!("`{root_name}`"),
            );
            return;
        }
        let below = subclasses.into_iter().rev();
        pending.extend(below.map(|node| Pending { node, parent: path.clone(), depth: depth + 1 }));
    }
}

fn read_attribute(cell: Node<'_, '_>, reader: &mut Reader<'_>) -> Option<RawAttribute> {
    reader.admit_member(cell)?;
    let row = Row::read(cell, &ATTRIBUTE, &mut reader.findings);
    Some(RawAttribute {
        name: reader.name(&row, "an attribute"),
        offset: row.offset,
        datatype: row.text("dataType"),
        update_type: row.text("updateType"),
        ownership: row.text("ownership"),
        sharing: row.text("sharing"),
        transportation: reference(&row, "transportation"),
        order: read_order(&row, reader),
        dimensions: read_dimensions(&row, reader),
    })
}

fn read_parameter(cell: Node<'_, '_>, reader: &mut Reader<'_>) -> Option<RawParameter> {
    reader.admit_member(cell)?;
    let row = Row::read(cell, &PARAMETER, &mut reader.findings);
    Some(RawParameter {
        name: reader.name(&row, "a parameter"),
        offset: row.offset,
        datatype: row.text("dataType"),
    })
}

fn read_directed(cell: Node<'_, '_>, reader: &mut Reader<'_>) -> Option<Reference> {
    let row = Row::read(cell, &DIRECTED, &mut reader.findings);
    let found = reference(&row, "name");
    if found.is_none() {
        let message = "a directed interaction without a name".to_owned();
        reader.findings.error_expected(row.offset, message, "the full name of an interaction class");
    }
    found
}

fn read_dimensions(row: &Row<'_, '_>, reader: &mut Reader<'_>) -> Option<Vec<Reference>> {
    let cell = row.get("dimensions")?;
    let row = Row::read(cell, &DIMENSIONS, &mut reader.findings);
    let named = |node| Reference { name: xml::text(node), offset: xml::offset(node) };
    // Fielded modules write `NA` for an empty list.
    Some(row.all("dimension").map(named).filter(|r| crate::fom::datatype::is_given(&r.name)).collect())
}

fn read_order(row: &Row<'_, '_>, reader: &mut Reader<'_>) -> Option<OrderType> {
    let cell = row.get("order")?;
    let text = xml::text(cell);
    let order = match text.as_str() {
        "" | "NA" => return None,
        "Receive" => return Some(OrderType::Receive),
        "TimeStamp" => return Some(OrderType::Timestamp),
        other if other.eq_ignore_ascii_case("receive") => OrderType::Receive,
        other if other.eq_ignore_ascii_case("timestamp") => OrderType::Timestamp,
        _ => {
            let message = format!("`{text}` is no order type");
            reader.findings.error_expected(xml::offset(cell), message, "`Receive` or `TimeStamp`");
            return None;
        }
    };
    let message = format!("the order type is spelled `{text}`");
    reader.findings.warning_expected(xml::offset(cell), message, "`Receive` or `TimeStamp`");
    Some(order)
}

/// A cell that names an entry defined elsewhere; `None` if it is empty or `NA`.
fn reference(row: &Row<'_, '_>, name: &str) -> Option<Reference> {
    let cell = row.get(name)?;
    let name = xml::text(cell);
    crate::fom::datatype::is_given(&name).then(|| Reference { name, offset: xml::offset(cell) })
}

impl Reader<'_> {
    /// The full name of class `name` below `parent`; `None` if the name was refused.
    fn path(&mut self, parent: &str, name: &str, at: u32) -> Option<String> {
        if name.is_empty() {
            return None;
        }
        let path = if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
        let most = self.limits.path_bytes;
        if path.len() > most {
            let size = path.len();
            self.findings
                .error(at, format!("a class's full name has {size} octets, more than the {most} allowed"));
            return None;
        }
        Some(path)
    }

    fn admit_class(&mut self, node: Node<'_, '_>, depth: usize) -> bool {
        self.classes += 1;
        let at = xml::offset(node);
        if depth > self.limits.depth {
            let most = self.limits.depth;
            self.findings.error(at, format!("classes are nested deeper than the {most} levels allowed"));
            return false;
        }
        if self.classes > self.limits.classes {
            let most = self.limits.classes;
            self.findings.error(at, format!("the module has more than the {most} classes allowed"));
            return false;
        }
        true
    }

    fn admit_member(&mut self, node: Node<'_, '_>) -> Option<()> {
        self.members += 1;
        if self.members == self.limits.members + 1 {
            let most = self.limits.members;
            let message = format!("the module has more than the {most} attributes and parameters allowed");
            self.findings.error(xml::offset(node), message);
        }
        (self.members <= self.limits.members).then_some(())
    }

    /// Reports names that occur twice. Empty names have been reported already.
    pub(super) fn distinct<'a>(
        &mut self,
        names: impl Iterator<Item = (&'a str, u32)>,
        item: &str,
        within: &str,
    ) {
        let mut seen = BTreeSet::new();
        for (name, at) in names {
            if !name.is_empty() && !seen.insert(name) {
                self.findings.error(at, format!("a second {item} `{name}` in {within}"));
            }
        }
    }
}
