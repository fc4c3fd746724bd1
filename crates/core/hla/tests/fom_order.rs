//! Properties of merging: the order of the modules does not matter, and existing entries keep their
//! places.

use std::fmt::Write as _;

use hla::fom::{Edition, Fdd, Limits, Module, render};
use proptest::prelude::*;

/// A class of a generated module: its place in a small tree, and its members as bits.
type Class = (usize, u8);

/// Classes that a generated module may mention, each with its superclass.
const TREE: [(&str, Option<usize>); 7] = [
    ("A", None),
    ("B", None),
    ("AA", Some(0)),
    ("AB", Some(0)),
    ("AAA", Some(2)),
    ("BA", Some(1)),
    ("BAA", Some(5)),
];

/// The XML of one kind of class tree: the mentioned classes with their superclasses as scaffolding.
fn tree(kind: &str, member: &str, root: &str, classes: &[Class]) -> String {
    fn write(out: &mut String, kind: &str, member: &str, parent: Option<usize>, members: &[Option<u8>; 7]) {
        for (place, (name, above)) in TREE.iter().enumerate() {
            let Some(mask) = members[place].filter(|_| *above == parent) else { continue };
            let _ = write!(out, "<{kind}Class><name>{name}</name>");
            for bit in (0..3).filter(|bit| mask & (1 << bit) != 0) {
                let _ = write!(out, "<{member}><name>m{place}_{bit}</name><dataType>HLAcount</dataType>");
                if member == "attribute" {
                    out.push_str("<transportation>HLAreliable</transportation><order>Receive</order>");
                }
                let _ = write!(out, "</{member}>");
            }
            write(out, kind, member, Some(place), members);
            let _ = write!(out, "</{kind}Class>");
        }
    }
    let mut members: [Option<u8>; 7] = [None; 7];
    for &(place, mask) in classes {
        members[place] = Some(members[place].unwrap_or(0) | mask);
        let mut above = TREE[place].1;
        while let Some(place) = above {
            members[place] = Some(members[place].unwrap_or(0));
            above = TREE[place].1;
        }
    }
    let mut out = format!("<{kind}Class><name>{root}</name>");
    write(&mut out, kind, member, None, &members);
    let _ = write!(out, "</{kind}Class>");
    out
}

fn module(number: usize, edition: u32, classes: &[Class], interactions: &[Class]) -> Module {
    let text = format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-{edition}\"><objects>{}</objects>\
         <interactions>{}</interactions></objectModel>",
        tree("object", "attribute", "HLAobjectRoot", classes),
        tree("interaction", "parameter", "HLAinteractionRoot", interactions),
    );
    match Module::read(&format!("m{number}"), text.as_bytes(), &Limits::default()) {
        Ok((module, _)) => module,
        Err(error) => panic!("{text}\n{}", render(&error.diagnostics)),
    }
}

fn modules() -> impl Strategy<Value = Vec<Module>> {
    let classes = || prop::collection::vec((0..TREE.len(), 0_u8..8), 0..5);
    prop::collection::vec((prop::bool::ANY, classes(), classes()), 1..6).prop_map(|specs| {
        let numbered = specs.iter().enumerate();
        numbered
            .map(|(number, (new, objects, interactions))| {
                module(number, if *new { 2025 } else { 2010 }, objects, interactions)
            })
            .collect()
    })
}

/// Every class with the names of its available members.
fn names(fdd: &Fdd) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for class in fdd.object_classes() {
        let mut members: Vec<&str> =
            class.attributes.iter().map(|&a| fdd.attribute(a).unwrap().name.as_str()).collect();
        members.sort_unstable();
        all.push(format!("{} {members:?}", class.name));
    }
    for class in fdd.interaction_classes() {
        let mut members: Vec<&str> =
            class.parameters.iter().map(|&p| fdd.parameter(p).unwrap().name.as_str()).collect();
        members.sort_unstable();
        all.push(format!("{} {members:?}", class.name));
    }
    all.sort();
    all
}

/// Checks that everything in `before` is in `after` under the same handles and at the same places.
fn assert_extends(before: &Fdd, after: &Fdd) {
    for class in before.object_classes() {
        let later = after.object_class(class.handle).unwrap();
        assert_eq!((&later.name, later.parent), (&class.name, class.parent));
        assert_eq!(later.attributes[..class.attributes.len()], class.attributes);
        for (place, &attribute) in later.attributes.iter().enumerate() {
            assert_eq!(later.slot(attribute), Some(place));
        }
    }
    for attribute in before.attributes() {
        let later = after.attribute(attribute.handle).unwrap();
        assert_eq!((&later.name, later.class), (&attribute.name, attribute.class));
        assert_eq!(after.attribute_by_name(attribute.class, &attribute.name), Some(attribute.handle));
    }
    for class in before.interaction_classes() {
        let later = after.interaction_class(class.handle).unwrap();
        assert_eq!((&later.name, later.parent), (&class.name, class.parent));
        assert_eq!(later.parameters[..class.parameters.len()], class.parameters);
    }
    for parameter in before.parameters() {
        let later = after.parameter(parameter.handle).unwrap();
        assert_eq!((&later.name, later.class), (&parameter.name, parameter.class));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_order_of_modules_matters(modules in modules(), seed in prop::collection::vec(0_usize..100, 8)) {
        let mut shuffled = modules.clone();
        for (place, pick) in (1..shuffled.len()).zip(&seed) {
            shuffled.swap(place, pick % (place + 1));
        }
        for edition in [Edition::Hla2010, Edition::Hla2025] {
            let standard = Fdd::standard(edition);
            match (standard.extend(&modules), standard.extend(&shuffled)) {
                (Ok((one, _)), Ok((other, _))) => prop_assert_eq!(names(&one), names(&other)),
                (Err(_), Err(_)) => prop_assert_eq!(edition, Edition::Hla2010),
                (one, other) => prop_assert!(false, "{:?} but {:?}", one.is_ok(), other.is_ok()),
            }
        }
    }

    #[test]
    fn extending_keeps_handles_and_places(modules in modules()) {
        let mut fdd = Fdd::standard(Edition::Hla2025);
        for module in &modules {
            let (next, _) = fdd.extend(std::slice::from_ref(module)).unwrap();
            assert_extends(&fdd, &next);
            let (same, _) = next.extend(&modules[..1]).unwrap();
            prop_assert_eq!(same.to_xml(), next.to_xml());
            fdd = next;
        }
        let (at_once, _) = Fdd::standard(Edition::Hla2025).extend(&modules).unwrap();
        prop_assert_eq!(names(&at_once), names(&fdd));
    }

    #[test]
    fn written_models_read_back_equal(modules in modules()) {
        let (fdd, _) = Fdd::standard(Edition::Hla2025).extend(&modules).unwrap();
        let text = fdd.to_xml();
        let (module, warnings) = Module::read("merged", text.as_bytes(), &Limits::default()).unwrap();
        prop_assert!(warnings.is_empty(), "{}", render(&warnings));
        let again = Fdd::with_mim(&module).unwrap();
        prop_assert_eq!(names(&again), names(&fdd));
        let composed = |text: &str| text.split("</modelIdentification>").nth(1).map(str::to_owned);
        let (second, _) = Module::read("merged", again.to_xml().as_bytes(), &Limits::default()).unwrap();
        prop_assert_eq!(composed(&Fdd::with_mim(&second).unwrap().to_xml()), composed(&again.to_xml()));
    }

    #[test]
    fn octets_never_panic(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Module::read("noise", &octets, &Limits::default());
        let _ = hla::fom::unpack(&octets, &Limits::default());
    }

    #[test]
    fn damaged_modules_never_panic(at in 0_usize..60_000, octet in any::<u8>(), cut in any::<bool>()) {
        let mut octets = Fdd::standard(Edition::Hla2010).mim().text().as_bytes().to_vec();
        let at = at % octets.len();
        if cut {
            octets.truncate(at);
        } else {
            octets[at] = octet;
        }
        if let Ok((module, _)) = Module::read("damaged", &octets, &Limits::default()) {
            let _ = Fdd::standard(Edition::Hla2010).extend(std::slice::from_ref(&module));
            let _ = Fdd::with_mim(&module);
        }
    }
}
