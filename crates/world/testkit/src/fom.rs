//! The object model of simulated federations: small, with every kind of inheritance, transportation
//! and advisory that the services distinguish.

use hla::fom::{Edition, Fdd, Limits, Module};
use hla::handle::{InteractionClassHandle, ObjectClassHandle};
use std::fmt::Write as _;

/// The switches of the model that a run draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switches {
    /// Ask owners for values as soon as another federate discovers their instances.
    pub auto_provide: bool,
    /// Initial state of the attribute scope advisory.
    pub attribute_scope: bool,
    /// Initial state of the attribute relevance advisory.
    pub attribute_relevance: bool,
    /// Initial state of the object class relevance advisory.
    pub object_class_relevance: bool,
    /// Initial state of the interaction relevance advisory.
    pub interaction_relevance: bool,
    /// Whether callbacks initially convey the regions of messages.
    pub convey_regions: bool,
    /// The initial automatic resign directive, as object models spell it.
    pub resign: &'static str,
}

/// Resign directives as object models spell them.
pub const RESIGN: [&str; 6] = [
    "UnconditionallyDivestAttributes",
    "DeleteObjects",
    "CancelPendingOwnershipAcquisitions",
    "DeleteObjectsThenDivest",
    "CancelThenDeleteThenDivest",
    "NoAction",
];

/// Names of a row of a table.
type Names = &'static [&'static str];
/// Name, own attributes with their transportation, directed interactions, own dimensions.
type ObjectRow = (&'static str, &'static [(&'static str, &'static str)], Names, Names);

/// Object classes without their root, superclasses first: full name, own attributes with their
/// transportation, directed interactions, dimensions beyond those of the superclass.
const OBJECTS: [ObjectRow; 5] = [
    ("Entity", &[("id", "HLAreliable"), ("position", "HLAbestEffort")], &["Order"], &["X", "Y"]),
    ("Entity.Vehicle", &[("speed", "HLAbestEffort"), ("fuel", "HLAreliable")], &["Order.Refuel"], &["Kind"]),
    ("Entity.Vehicle.Tank", &[("turret", "HLAbestEffort")], &[], &[]),
    ("Entity.Aircraft", &[("altitude", "HLAreliable")], &[], &[]),
    ("Weather", &[("wind", "HLAbestEffort"), ("report", "HLAreliable")], &[], &[]),
];

/// Interaction classes without their root, superclasses first: full name, transportation, own
/// parameters, dimensions beyond those of the superclass.
const INTERACTIONS: [(&str, &str, Names, Names); 6] = [
    ("Fire", "HLAreliable", &["weapon", "target"], &["X", "Y"]),
    ("Fire.Missile", "HLAreliable", &["guidance"], &["Kind"]),
    ("Fire.Missile.Cruise", "HLAbestEffort", &["route"], &[]),
    ("Talk", "HLAbestEffort", &["text"], &["X"]),
    ("Order", "HLAreliable", &["what"], &[]),
    ("Order.Refuel", "HLAreliable", &["litres"], &[]),
];

/// Dimensions with their upper bounds and default ranges: none, everything, and a part.
pub const DIMENSIONS: [(&str, u32, &str); 3] =
    [("X", 100, "Excluded"), ("Y", 100, "[0..100)"), ("Kind", 10, "[0..1)")];

/// Update rate designators and their rates in Hz.
pub const RATES: [(&str, &str); 3] = [("Rare", "0.5"), ("Slow", "2"), ("Fast", "20")];

/// The FOM module as XML.
pub fn module(switches: &Switches) -> String {
    let mut xml = String::from("<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">");
    xml += "<objects><objectClass><name>HLAobjectRoot</name>";
    nest(&mut xml, "objectClass", &OBJECTS.map(|(name, ..)| name), &mut |xml, place| {
        let (_, attributes, directed, dimensions) = OBJECTS[place];
        for name in directed {
            let _ = write!(xml, "<directedInteraction><name>{name}</name></directedInteraction>");
        }
        write_dimensions(xml, dimensions);
        for (name, transportation) in attributes {
            let _ = write!(
                xml,
                "<attribute><name>{name}</name><dataType>HLAopaqueData</dataType>\
                 <transportation>{transportation}</transportation><order>Receive</order></attribute>"
            );
        }
    });
    xml += "</objectClass></objects><interactions><interactionClass><name>HLAinteractionRoot</name>";
    nest(&mut xml, "interactionClass", &INTERACTIONS.map(|(name, ..)| name), &mut |xml, place| {
        let (_, transportation, parameters, dimensions) = INTERACTIONS[place];
        write_dimensions(xml, dimensions);
        let _ = write!(xml, "<transportation>{transportation}</transportation><order>Receive</order>");
        for name in parameters {
            let _ =
                write!(xml, "<parameter><name>{name}</name><dataType>HLAopaqueData</dataType></parameter>");
        }
    });
    xml += "</interactionClass></interactions><dimensions>";
    for (name, bound, default) in DIMENSIONS {
        let _ = write!(
            xml,
            "<dimension><name>{name}</name><upperBound>{bound}</upperBound>\
             <value>{default}</value></dimension>"
        );
    }
    xml += "</dimensions><updateRates>";
    for (name, rate) in RATES {
        let _ = write!(xml, "<updateRate><name>{name}</name><rate>{rate}</rate></updateRate>");
    }
    xml += "</updateRates>";
    write_switches(&mut xml, switches);
    xml + "</objectModel>"
}

/// The element of a class that names its dimensions.
fn write_dimensions(xml: &mut String, names: &[&str]) {
    if names.is_empty() {
        return;
    }
    *xml += "<dimensions>";
    for name in names {
        let _ = write!(xml, "<dimension>{name}</dimension>");
    }
    *xml += "</dimensions>";
}

fn write_switches(xml: &mut String, switches: &Switches) {
    *xml += "<switches>";
    for (name, on) in [
        ("autoProvide", switches.auto_provide),
        ("attributeScopeAdvisory", switches.attribute_scope),
        ("attributeRelevanceAdvisory", switches.attribute_relevance),
        ("objectClassRelevanceAdvisory", switches.object_class_relevance),
        ("interactionRelevanceAdvisory", switches.interaction_relevance),
        ("conveyRegionDesignatorSets", switches.convey_regions),
    ] {
        let _ = write!(xml, "<{name} isEnabled=\"{on}\"/>");
    }
    let _ = write!(xml, "<automaticResignAction resignAction=\"{}\"/></switches>", switches.resign);
}

/// A second module, for federates that provide one: a subclass and an interaction.
pub const EXTENSION: &str = "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">\
    <objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Entity</name>\
    <objectClass><name>Ship</name><attribute><name>draught</name><dataType>HLAopaqueData</dataType>\
    <transportation>HLAreliable</transportation><order>Receive</order></attribute></objectClass>\
    </objectClass></objectClass></objects></objectModel>";

/// Writes `names` (dotted, superclasses first) as nested elements.
fn nest(xml: &mut String, element: &str, names: &[&str], content: &mut dyn FnMut(&mut String, usize)) {
    write_below(xml, element, names, "", content);
}

fn write_below(
    xml: &mut String,
    element: &str,
    names: &[&str],
    above: &str,
    content: &mut dyn FnMut(&mut String, usize),
) {
    for (place, name) in names.iter().enumerate() {
        let Some(own) = name.strip_prefix(above).filter(|own| !own.is_empty() && !own.contains('.')) else {
            continue;
        };
        let _ = write!(xml, "<{element}><name>{own}</name>");
        content(xml, place);
        write_below(xml, element, names, &format!("{name}."), content);
        let _ = write!(xml, "</{element}>");
    }
}

/// The object model of a federation that was created with this module.
pub fn of_module(text: &str) -> Fdd {
    merged(&Fdd::standard(Edition::Hla2025), "base.xml", text)
}

/// `model` with one more module.
pub fn extended(model: &Fdd) -> Fdd {
    merged(model, "extension.xml", EXTENSION)
}

fn merged(model: &Fdd, name: &str, text: &str) -> Fdd {
    let read = Module::read(name, text.as_bytes(), &Limits::default());
    let (module, _) = read.unwrap_or_else(|error| panic!("{}", hla::fom::render(&error.diagnostics)));
    let merged = model.extend(&[module]);
    merged.unwrap_or_else(|error| panic!("{}", hla::fom::render(&error.diagnostics))).0
}

/// Full names of the object classes of this model, without the root.
pub fn object_class_names() -> impl Iterator<Item = &'static str> {
    OBJECTS.iter().map(|(name, ..)| *name)
}

/// Full names of the interaction classes of this model, without the root.
pub fn interaction_class_names() -> impl Iterator<Item = &'static str> {
    INTERACTIONS.iter().map(|(name, ..)| *name)
}

/// `class` and its superclasses, most specific first; empty if there is no such class.
pub fn lineage(model: &Fdd, class: ObjectClassHandle) -> Vec<ObjectClassHandle> {
    let parent = |class: &ObjectClassHandle| model.object_class(*class)?.parent;
    std::iter::successors(model.object_class(class).map(|class| class.handle), parent).collect()
}

/// Like [`lineage`], but for interaction classes.
pub fn interaction_lineage(model: &Fdd, class: InteractionClassHandle) -> Vec<InteractionClassHandle> {
    let parent = |class: &InteractionClassHandle| model.interaction_class(*class)?.parent;
    std::iter::successors(model.interaction_class(class).map(|class| class.handle), parent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hla::fom::DefaultRange;

    #[test]
    fn the_model_is_sound_and_complete() {
        let switches = Switches {
            auto_provide: true,
            attribute_scope: true,
            attribute_relevance: false,
            object_class_relevance: true,
            interaction_relevance: false,
            convey_regions: true,
            resign: RESIGN[3],
        };
        let fdd = extended(&of_module(&module(&switches)));
        for name in object_class_names() {
            assert!(fdd.object_class_by_name(name).is_some(), "{name}");
        }
        for name in interaction_class_names() {
            assert!(fdd.interaction_class_by_name(name).is_some(), "{name}");
        }
        let tank = fdd.object_class_by_name("Entity.Vehicle.Tank").unwrap();
        assert_eq!(fdd.object_class(tank).unwrap().attributes.len(), 6, "five and the privilege");
        assert_eq!(fdd.object_class(tank).unwrap().directed_interactions.len(), 2, "inherited");
        assert!(fdd.object_class_by_name("Entity.Ship").is_some());
        assert!(fdd.switches().auto_provide && !fdd.switches().attribute_relevance_advisory);
        assert_eq!(fdd.update_rate("Fast"), Some(20.0));
        assert!(fdd.switches().convey_region_designator_sets);
        for (name, bound, default) in DIMENSIONS {
            let dimension = fdd.dimension(fdd.dimension_by_name(name).unwrap()).unwrap();
            assert_eq!(dimension.upper_bound, bound, "{name}");
            assert_eq!(dimension.default == DefaultRange::Excluded, default == "Excluded", "{name}");
        }
        assert_eq!(fdd.object_class(tank).unwrap().dimensions.len(), 3, "inherited");
        let missile = fdd.interaction_class_by_name("Fire.Missile").unwrap();
        assert_eq!(fdd.interaction_class(missile).unwrap().dimensions.len(), 3, "two of them inherited");
    }
}
