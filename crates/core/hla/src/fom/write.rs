//! Writes the merged object model as XML, in the form of its edition.
//!
//! The output has the entries that the RTI acts on and those that encoding values needs. Prose
//! (semantics, notes, identification of the modules) stays in the modules' own texts, which the
//! model keeps.

use std::fmt::Write as _;

use crate::fom::datatype::{DataType, DataTypeKind};
use crate::fom::merge_classes::order_text;
use crate::fom::merge_tables::{range_text, switch};
use crate::fom::model::{Attribute, Edition, Fdd, InteractionClass, ObjectClass};
use crate::fom::module::{Documented, SwitchValue};
use crate::fom::read_tables::{RESIGN_ACTIONS, SWITCHES};
use crate::handle::{DimensionHandle, TransportationTypeHandle};

impl Fdd {
    /// The merged FDD as XML (1516.2; the MOM reports it as HLAcurrentFDD). Reading it as a MIM
    /// gives an equal model.
    ///
    /// In a 2025 model, dimensions that modules of 2010 give to an attribute stay on the attribute.
    /// The 2025 form has no place for them, and moving them to the class would widen their meaning.
    pub fn to_xml(&self) -> String {
        let mut writer = Writer { fdd: self, out: String::new(), open: Vec::new() };
        writer.model();
        writer.out
    }
}

struct Writer<'f> {
    fdd: &'f Fdd,
    out: String,
    open: Vec<&'static str>,
}

/// A class that is still to be written, or the end of one.
enum Step<H> {
    Begin(H),
    End,
}

impl Writer<'_> {
    fn begin(&mut self, element: &'static str) {
        self.indent();
        let _ = writeln!(self.out, "<{element}>");
        self.open.push(element);
    }

    fn end(&mut self) {
        if let Some(element) = self.open.pop() {
            self.indent();
            let _ = writeln!(self.out, "</{element}>");
        }
    }

    fn indent(&mut self) {
        for _ in 0..self.open.len() {
            self.out.push(' ');
        }
    }

    /// Writes a cell, unless it is empty.
    fn cell(&mut self, element: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        self.indent();
        let _ = write!(self.out, "<{element}>");
        escape(text, &mut self.out);
        let _ = writeln!(self.out, "</{element}>");
    }

    fn model(&mut self) {
        let year = self.fdd.edition().year();
        self.out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(self.out, "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-{year}\">");
        self.open.push("objectModel");
        self.identification();
        self.begin("objects");
        self.object_classes();
        self.end();
        self.begin("interactions");
        self.interaction_classes();
        self.end();
        self.dimensions();
        self.documentation();
        self.transportations();
        self.switches();
        self.update_rates();
        self.datatypes();
        self.end();
    }

    fn identification(&mut self) {
        self.begin("modelIdentification");
        self.cell("name", "Federation Description Document");
        self.cell("type", "FOM");
        for module in std::iter::once(self.fdd.mim()).chain(self.fdd.modules()) {
            self.begin("reference");
            self.cell("type", "Composed_From");
            self.cell("identification", module.designator());
            self.end();
        }
        self.end();
    }

    fn object_classes(&mut self) {
        let Some(root) = self.fdd.object_classes().next() else { return };
        let mut steps = vec![Step::Begin(root.handle)];
        while let Some(step) = steps.pop() {
            let Step::Begin(handle) = step else {
                self.end();
                continue;
            };
            let Some(class) = self.fdd.object_class(handle) else { continue };
            self.begin("objectClass");
            self.object_class(class);
            steps.push(Step::End);
            steps.extend(class.children.iter().rev().map(|&child| Step::Begin(child)));
        }
    }

    fn object_class(&mut self, class: &ObjectClass) {
        self.cell("name", class.short_name());
        self.cell("sharing", &class.sharing);
        for &directed in &class.own_directed {
            if let Some(interaction) = self.fdd.interaction_class(directed) {
                self.begin("directedInteraction");
                self.cell("name", &interaction.name);
                self.end();
            }
        }
        self.dimension_names(&class.own_dimensions);
        for &handle in &class.own_attributes {
            if let Some(attribute) = self.fdd.attribute(handle) {
                self.attribute(attribute);
            }
        }
    }

    fn attribute(&mut self, attribute: &Attribute) {
        self.begin("attribute");
        self.cell("name", &attribute.name);
        self.cell("dataType", &attribute.datatype);
        self.cell("updateType", &attribute.update_type);
        self.cell("ownership", &attribute.ownership);
        self.cell("sharing", &attribute.sharing);
        self.dimension_names(&attribute.own_dimensions);
        self.delivery(attribute.transportation, order_text(attribute.order));
        self.end();
    }

    fn delivery(&mut self, transportation: TransportationTypeHandle, order: &str) {
        if let Some(transportation) = self.fdd.transportation(transportation) {
            self.cell("transportation", &transportation.name);
        }
        self.cell("order", order);
    }

    fn dimension_names(&mut self, handles: &[DimensionHandle]) {
        if handles.is_empty() {
            return;
        }
        self.begin("dimensions");
        for &handle in handles {
            if let Some(dimension) = self.fdd.dimension(handle) {
                self.cell("dimension", &dimension.name);
            }
        }
        self.end();
    }

    fn interaction_classes(&mut self) {
        let Some(root) = self.fdd.interaction_classes().next() else { return };
        let mut steps = vec![Step::Begin(root.handle)];
        while let Some(step) = steps.pop() {
            let Step::Begin(handle) = step else {
                self.end();
                continue;
            };
            let Some(class) = self.fdd.interaction_class(handle) else { continue };
            self.begin("interactionClass");
            self.interaction_class(class);
            steps.push(Step::End);
            steps.extend(class.children.iter().rev().map(|&child| Step::Begin(child)));
        }
    }

    fn interaction_class(&mut self, class: &InteractionClass) {
        self.cell("name", class.short_name());
        self.cell("sharing", &class.sharing);
        self.dimension_names(&class.own_dimensions);
        self.delivery(class.transportation, order_text(class.order));
        for &handle in &class.own_parameters {
            if let Some(parameter) = self.fdd.parameter(handle) {
                self.begin("parameter");
                self.cell("name", &parameter.name);
                self.cell("dataType", &parameter.datatype);
                self.end();
            }
        }
    }

    fn dimensions(&mut self) {
        self.begin("dimensions");
        for dimension in self.fdd.dimensions() {
            self.begin("dimension");
            self.cell("name", &dimension.name);
            if self.fdd.edition() == Edition::Hla2010 {
                self.cell("dataType", dimension.input_datatypes.first().map_or("", String::as_str));
            } else {
                self.begin("inputDataTypes");
                for name in &dimension.input_datatypes {
                    self.cell("dataType", name);
                }
                self.end();
            }
            if dimension.bound_stated {
                self.cell("upperBound", &dimension.upper_bound.to_string());
            }
            self.cell("value", &range_text(dimension.default));
            self.end();
        }
        self.end();
    }

    fn documentation(&mut self) {
        let documentation = &self.fdd.tables.documentation;
        if !documentation.time.is_empty() {
            self.begin("time");
            for (&key, row) in &documentation.time {
                let name = match (self.fdd.edition(), key) {
                    (Edition::Hla2010, "logicalTime") => "timeStamp",
                    (Edition::Hla2010, _) => "lookahead",
                    (Edition::Hla2025, key) => key,
                };
                self.documented(name, None, row);
            }
            self.end();
        }
        if !documentation.tags.is_empty() {
            self.begin("tags");
            for (&name, row) in &documentation.tags {
                self.documented(name, None, row);
            }
            self.end();
        }
        if !documentation.synchronizations.is_empty() {
            self.begin("synchronizations");
            for (label, row) in &documentation.synchronizations {
                self.documented("synchronizationPoint", Some(label), row);
            }
            self.end();
        }
    }

    fn documented(&mut self, element: &'static str, label: Option<&str>, row: &Documented) {
        self.begin(element);
        self.cell("label", label.unwrap_or_default());
        self.cell("dataType", &row.datatype);
        self.cell("capability", &row.capability);
        self.end();
    }

    fn transportations(&mut self) {
        self.begin("transportations");
        for transportation in self.fdd.transportations() {
            self.begin("transportation");
            self.cell("name", &transportation.name);
            self.cell("reliable", if transportation.reliable { "Yes" } else { "No" });
            self.end();
        }
        self.end();
    }

    fn switches(&mut self) {
        self.begin("switches");
        for name in SWITCHES {
            if !self.fdd.tables.switch_origins.contains_key(name) {
                continue;
            }
            self.indent();
            let _ = match switch(self.fdd.switches(), name) {
                SwitchValue::Enabled(enabled) => writeln!(self.out, "<{name} isEnabled=\"{enabled}\"/>"),
                SwitchValue::Resign(action) => {
                    let spelled = RESIGN_ACTIONS.iter().find(|(_, known)| *known == action);
                    let text = spelled.map_or("NoAction", |(text, _)| text);
                    writeln!(self.out, "<{name} resignAction=\"{text}\"/>")
                }
            };
        }
        self.end();
    }

    fn update_rates(&mut self) {
        if self.fdd.update_rates().len() == 0 {
            return;
        }
        self.begin("updateRates");
        for (name, rate) in self.fdd.update_rates() {
            self.begin("updateRate");
            self.cell("name", name);
            self.cell("rate", &rate.to_string());
            self.end();
        }
        self.end();
    }

    /// Writes the data types table by table; rows keep the order in which they first occurred.
    fn datatypes(&mut self) {
        const TABLES: [(&str, &str); 7] = [
            ("basicDataRepresentations", "basicData"),
            ("simpleDataTypes", "simpleData"),
            ("referenceDataTypes", "referenceDataType"),
            ("enumeratedDataTypes", "enumeratedData"),
            ("arrayDataTypes", "arrayData"),
            ("fixedRecordDataTypes", "fixedRecordData"),
            ("variantRecordDataTypes", "variantRecordData"),
        ];
        let mut sorted: [Vec<&DataType>; 7] = Default::default();
        for datatype in self.fdd.datatypes() {
            sorted[table_of(&datatype.kind)].push(datatype);
        }
        self.begin("dataTypes");
        for ((table, row), datatypes) in TABLES.into_iter().zip(sorted) {
            if datatypes.is_empty() {
                continue;
            }
            self.begin(table);
            for datatype in datatypes {
                self.begin(row);
                self.cell("name", &datatype.name);
                self.datatype(&datatype.kind);
                self.end();
            }
            self.end();
        }
        self.end();
    }

    fn datatype(&mut self, kind: &DataTypeKind) {
        match kind {
            DataTypeKind::Basic { size, endian } => {
                self.cell("size", &size.map(|size| size.to_string()).unwrap_or_default());
                self.cell("endian", endian);
            }
            DataTypeKind::Simple { representation, units, resolution, accuracy } => {
                self.cell("representation", representation);
                self.cell("units", units);
                self.cell("resolution", resolution);
                self.cell("accuracy", accuracy);
            }
            DataTypeKind::Reference { representation, class, attribute } => {
                self.cell("representation", representation);
                self.cell("referenceClass", class);
                self.cell("referencedAttribute", attribute);
            }
            DataTypeKind::Enumerated { representation, enumerators } => {
                self.cell("representation", representation);
                for enumerator in enumerators {
                    self.begin("enumerator");
                    self.cell("name", &enumerator.name);
                    for value in &enumerator.values {
                        self.cell("value", value);
                    }
                    self.end();
                }
            }
            DataTypeKind::Array { element, cardinality, encoding } => {
                self.cell("dataType", element);
                self.cell("cardinality", cardinality);
                self.cell("encoding", encoding);
            }
            DataTypeKind::FixedRecord { encoding, fields } => {
                self.cell("encoding", encoding);
                for field in fields {
                    self.begin("field");
                    self.cell("name", &field.name);
                    self.cell("dataType", &field.datatype);
                    self.end();
                }
            }
            DataTypeKind::VariantRecord { .. } => self.variant_record(kind),
        }
    }

    fn variant_record(&mut self, kind: &DataTypeKind) {
        let DataTypeKind::VariantRecord { discriminant, datatype, encoding, alternatives } = kind else {
            return;
        };
        self.cell("discriminant", discriminant);
        self.cell("dataType", datatype);
        for alternative in alternatives {
            self.begin("alternative");
            self.cell("enumerator", &alternative.enumerators);
            self.cell("name", &alternative.name);
            self.cell("dataType", &alternative.datatype);
            self.end();
        }
        self.cell("encoding", encoding);
    }
}

/// The index of a kind's table among the data type tables.
fn table_of(kind: &DataTypeKind) -> usize {
    match kind {
        DataTypeKind::Basic { .. } => 0,
        DataTypeKind::Simple { .. } => 1,
        DataTypeKind::Reference { .. } => 2,
        DataTypeKind::Enumerated { .. } => 3,
        DataTypeKind::Array { .. } => 4,
        DataTypeKind::FixedRecord { .. } => 5,
        DataTypeKind::VariantRecord { .. } => 6,
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#13;"),
            // No XML document can contain these characters; a module read from XML has none.
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}
