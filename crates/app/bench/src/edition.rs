//! The object models of the benchmarks as modules of either edition of the standard.
//!
//! They are written for IEEE 1516.2-2025. A server may take modules of 1516.2-2010 only, so the form of
//! that edition is derived from them.

use federate::fom;
use federate::hla::api::FomModule;
use hla::fom::Edition;
use roxmltree::{Document, Node};

/// The attributes of the root element in 1516.2-2010.
const ROOT: &str = "xmlns=\"http://standards.ieee.org/IEEE1516-2010\" \
    xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
    xsi:schemaLocation=\"http://standards.ieee.org/IEEE1516-2010 \
    http://standards.ieee.org/downloads/1516/1516.2-2010/IEEE1516-DIF-2010.xsd\"";

/// Elements that 1516.2-2010 does not have, and that are left out.
const LEFT_OUT: [&str; 10] = [
    "copyright",
    "directedInteraction",
    "valueRequired",
    "inputDataDescription",
    "outputDataSemantics",
    "referenceDataTypes",
    "nonRegulatedGrant",
    "allowRelaxedDDM",
    "advisoriesUseKnownClass",
    "sendServiceReportsToFile",
];

/// Names of 1516.2-2025 that are others in 1516.2-2010.
const RENAMED: [(&str, &str); 3] =
    [("logicalTime", "timeStamp"), ("logicalTimeInterval", "lookahead"), ("noteReferences", "notes")];

/// The parts of an attribute that follow its dimensions in 1516.2-2010.
const AFTER_DIMENSIONS: [&str; 3] = ["transportation", "order", "semantics"];

/// A module of `edition` from `text`, which is one of 1516.2-2025.
pub(crate) fn module(name: &str, text: &'static str, edition: Edition) -> FomModule {
    match edition {
        Edition::Hla2025 => fom::content(name, text),
        Edition::Hla2010 => fom::content(name, of_2010(text)),
    }
}

/// The form of 1516.2-2010 of a module of 1516.2-2025.
///
/// # Panics
/// It is not well-formed; a test reads those of this crate.
fn of_2010(text: &str) -> String {
    let document = Document::parse(text).expect("an object model of this crate is XML");
    let mut writer = Writer { out: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(), depth: 0 };
    writer.element(document.root_element(), &[]);
    writer.out
}

struct Writer {
    out: String,
    depth: usize,
}

impl Writer {
    /// Writes an element. `dimensions` are those that the attributes of its class have.
    fn element(&mut self, node: Node<'_, '_>, dimensions: &[&str]) {
        let name = node.tag_name().name();
        match name {
            _ if LEFT_OUT.contains(&name) => {}
            // One data type in place of several.
            "inputDataTypes" => elements(node).take(1).for_each(|child| self.element(child, dimensions)),
            // Those of the class and its superclasses are those of each of its attributes.
            "objectClass" => {
                let own = elements(node).filter(|child| child.has_tag_name("dimensions")).flat_map(elements);
                let all: Vec<&str> =
                    dimensions.iter().copied().chain(own.filter_map(|own| own.text())).collect();
                let parts = elements(node).filter(|child| !child.has_tag_name("dimensions"));
                self.open(node);
                parts.for_each(|part| self.element(part, &all));
                self.close(name);
            }
            "attribute" if !dimensions.is_empty() => {
                let is_after = |part: &Node<'_, '_>| AFTER_DIMENSIONS.contains(&part.tag_name().name());
                self.open(node);
                elements(node).filter(|part| !is_after(part)).for_each(|part| self.element(part, &[]));
                let all = dimensions.iter().map(|name| format!("<dimension>{}</dimension>", escaped(name)));
                self.line(&format!("<dimensions>{}</dimensions>", all.collect::<String>()));
                elements(node).filter(is_after).for_each(|part| self.element(part, &[]));
                self.close(name);
            }
            _ if elements(node).next().is_none() => {
                let text = escaped(node.text().unwrap_or_default().trim());
                let (start, name) = (start(node), renamed(name));
                self.line(&format!("<{start}>{text}</{name}>"));
            }
            _ => {
                self.open(node);
                elements(node).for_each(|part| self.element(part, dimensions));
                self.close(name);
            }
        }
    }

    fn open(&mut self, node: Node<'_, '_>) {
        self.line(&format!("<{}>", start(node)));
        self.depth += 1;
    }

    fn close(&mut self, name: &str) {
        self.depth -= 1;
        self.line(&format!("</{}>", renamed(name)));
    }

    fn line(&mut self, text: &str) {
        self.out.extend(std::iter::repeat_n(' ', self.depth));
        self.out.push_str(text);
        self.out.push('\n');
    }
}

fn elements<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}

/// The inside of the start tag of an element.
fn start(node: Node<'_, '_>) -> String {
    let name = renamed(node.tag_name().name());
    if node.parent_element().is_none() {
        return format!("{name} {ROOT}");
    }
    let own = node.attributes().filter(|attribute| attribute.namespace().is_none());
    let own =
        own.map(|attribute| format!(" {}=\"{}\"", renamed(attribute.name()), escaped(attribute.value())));
    name.to_owned() + &own.collect::<String>()
}

fn renamed(name: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use hla::fom::{Fdd, Limits, Module, edition_for};
    use hla::handle::{DimensionHandle, TransportationTypeHandle};

    use super::*;

    const FOMS: [(&str, &str); 3] = [
        ("MeshRTI-Bench.xml", include_str!("../foms/MeshRTI-Bench.xml")),
        ("MeshRTI-Kills.xml", include_str!("../foms/MeshRTI-Kills.xml")),
        ("MeshRTI-Latency.xml", include_str!("../foms/MeshRTI-Latency.xml")),
    ];

    /// Reads a module without findings, and merges it with the MIM of its edition.
    fn model(name: &str, text: &str) -> Fdd {
        let (module, findings) = Module::read(name, text.as_bytes(), &Limits::default()).expect(name);
        assert!(findings.is_empty(), "{name}: {findings:?}");
        let modules = [module];
        let (model, findings) = Fdd::standard(edition_for(&modules)).extend(&modules).expect(name);
        assert!(findings.is_empty(), "{name}: {findings:?}");
        model
    }

    /// All that the federates of a benchmark use, a line for each part; not the MOM.
    fn parts(model: &Fdd) -> Vec<String> {
        let names = |dimensions: &[DimensionHandle]| {
            let names =
                dimensions.iter().map(|handle| model.dimension(*handle).expect("it is there").name.clone());
            names.collect::<Vec<_>>().join(" ")
        };
        let transportation =
            |handle: TransportationTypeHandle| &model.transportation(handle).expect("it is there").name;
        let is_own = |name: &str| !name.contains("HLAmanager") && name.contains('.');
        let mut parts = Vec::new();
        for class in model.object_classes().filter(|class| is_own(&class.name)) {
            parts.push(class.name.clone());
            for &handle in &class.attributes {
                let attribute = model.attribute(handle).expect("it is there");
                let (name, datatype) = (&attribute.name, &attribute.datatype);
                let dimensions = names(&attribute.dimensions);
                let carried = (transportation(attribute.transportation), attribute.order);
                parts.push(format!("{}: {name} {datatype} {carried:?} {dimensions}", class.name));
            }
        }
        for class in model.interaction_classes().filter(|class| is_own(&class.name)) {
            let (carried, dimensions) =
                ((transportation(class.transportation), class.order), names(&class.dimensions));
            parts.push(format!("{} {carried:?} {dimensions}", class.name));
            for &handle in &class.parameters {
                let parameter = model.parameter(handle).expect("it is there");
                parts.push(format!("{}: {} {}", class.name, parameter.name, parameter.datatype));
            }
        }
        let dimensions = model.dimensions().filter(|dimension| !dimension.name.starts_with("HLA"));
        parts.extend(dimensions.map(|dimension| {
            format!("{} {} {:?}", dimension.name, dimension.upper_bound, dimension.default)
        }));
        parts.sort();
        parts
    }

    #[test]
    fn every_object_model_is_the_same_in_both_editions() {
        for (name, text) in FOMS {
            let (of_2025, of_2010) = (model(name, text), model(name, &of_2010(text)));
            assert_eq!([of_2025.edition(), of_2010.edition()], [Edition::Hla2025, Edition::Hla2010]);
            let found = parts(&of_2010);
            assert!(!found.is_empty(), "{name} has classes");
            assert_eq!(found, parts(&of_2025), "{name}");
            let directed = of_2010.object_classes().map(|class| class.directed_interactions.len());
            assert_eq!(directed.sum::<usize>(), 0, "{name}: 2010 has no directed interactions");
        }
        let regions = parts(&model(FOMS[2].0, &of_2010(FOMS[2].1)));
        let of_region =
            |part: &&String| part.starts_with("HLAobjectRoot.Query: Data ") && part.ends_with(" Place");
        assert_eq!(regions.iter().filter(of_region).count(), 1, "{regions:#?}");
    }

    #[test]
    fn names_and_places_are_those_of_the_older_edition() {
        let class = |name: &str, inner: &str| {
            format!(
                "<objectClass><name>{name}</name><dimensions><dimension>{name}</dimension></dimensions>{inner}</objectClass>"
            )
        };
        let attribute = "<attribute><name>A</name><valueRequired>true</valueRequired><sharing>Neither</sharing>\
            <order>Receive</order><semantics>a &lt; b</semantics></attribute>";
        let inner = class("Y", attribute) + "<attribute noteReferences=\"n1\"><name>B</name></attribute>";
        let text = format!(
            "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects>{}</objects><dimensions><dimension>\
             <name>X</name><inputDataTypes><dataType>P</dataType><dataType>Q</dataType></inputDataTypes></dimension></dimensions>\
             <time><logicalTime/><logicalTimeInterval/></time></objectModel>",
            class("X", &inner)
        );
        let expected = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<objectModel {ROOT}>
 <objects>
  <objectClass>
   <name>X</name>
   <objectClass>
    <name>Y</name>
    <attribute>
     <name>A</name>
     <sharing>Neither</sharing>
     <dimensions><dimension>X</dimension><dimension>Y</dimension></dimensions>
     <order>Receive</order>
     <semantics>a &lt; b</semantics>
    </attribute>
   </objectClass>
   <attribute notes=\"n1\">
    <name>B</name>
    <dimensions><dimension>X</dimension></dimensions>
   </attribute>
  </objectClass>
 </objects>
 <dimensions>
  <dimension>
   <name>X</name>
   <dataType>P</dataType>
  </dimension>
 </dimensions>
 <time>
  <timeStamp></timeStamp>
  <lookahead></lookahead>
 </time>
</objectModel>
"
        );
        assert_eq!(of_2010(&text), expected);
    }
}
