//! Classes, attributes and parameters, and the MIM beneath them.

use crate::modules::{
    DELIVERY, OTHER_DELIVERY, attribute, class, interaction, interactions, merged, module, objects,
    parameter, plain, refused, try_read, warned,
};
use hla::api::OrderType;
use hla::fom::{Dimension, Edition, Fdd, render, summary};
use hla::handle::TransportationTypeHandle;

#[test]
fn the_standard_mim_is_there() {
    for edition in [Edition::Hla2010, Edition::Hla2025] {
        let fdd = Fdd::standard(edition);
        assert_eq!(fdd.edition(), edition);
        assert_eq!(fdd.mim_designator(), "HLAstandardMIM");
        let federate = fdd.object_class_by_name("HLAmanager.HLAfederate").unwrap();
        assert_eq!(fdd.object_class_by_name("HLAobjectRoot.HLAmanager.HLAfederate"), Some(federate));
        let privilege = fdd.attribute_by_name(federate, "HLAprivilegeToDeleteObject").unwrap();
        assert_eq!(fdd.object_class(federate).unwrap().slot(privilege), Some(0));
        let name = fdd.attribute_by_name(federate, "HLAfederateName").unwrap();
        let dimension = fdd.dimension_by_name("HLAfederate").unwrap();
        assert_eq!(fdd.attribute_dimensions(federate, name), [dimension]);
        assert_eq!(fdd.attribute(name).unwrap().dimensions, [dimension]);
        assert_eq!(fdd.dimension(dimension).unwrap().upper_bound, Dimension::UNBOUNDED);
        assert_eq!(fdd.transportation_by_name("HLAreliable"), Some(TransportationTypeHandle(1)));
        assert_eq!(fdd.transportation_by_name("HLAbestEffort"), Some(TransportationTypeHandle(2)));
        assert!(!fdd.transportation(TransportationTypeHandle(2)).unwrap().reliable);
        let report = "HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";
        let report = fdd.interaction_class(fdd.interaction_class_by_name(report).unwrap()).unwrap();
        assert_eq!(report.dimensions.len(), 2);
    }
    let counts = summary(&Fdd::standard(Edition::Hla2010));
    assert_eq!((counts.object_classes, counts.attributes), (4, 45));
    assert_eq!((counts.interaction_classes, counts.parameters), (85, 101));
    let counts = summary(&Fdd::standard(Edition::Hla2025));
    assert_eq!((counts.object_classes, counts.attributes), (4, 59));
    assert_eq!((counts.interaction_classes, counts.parameters), (93, 126));
}

#[test]
fn classes_inherit_and_handles_are_dense() {
    let text = objects(&class("A", &format!("{}{}", plain("x"), class("B", &plain("y")))));
    let fdd = merged(Edition::Hla2025, &[module("a.xml", 2025, &text)]);
    let (a, b) = (fdd.object_class_by_name("A").unwrap(), fdd.object_class_by_name("A.B").unwrap());
    let (x, y) = (fdd.attribute_by_name(b, "x").unwrap(), fdd.attribute_by_name(b, "y").unwrap());
    assert_eq!(fdd.attribute_by_name(a, "x"), Some(x));
    assert_eq!(fdd.attribute_by_name(a, "y"), None);
    let class_b = fdd.object_class(b).unwrap();
    assert_eq!(class_b.attributes.iter().filter_map(|&h| class_b.slot(h)).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!((class_b.slot(x), class_b.slot(y)), (Some(1), Some(2)));
    assert!(fdd.is_subclass(b, a) && fdd.is_subclass(a, a) && !fdd.is_subclass(a, b));
    for (place, class) in fdd.object_classes().enumerate() {
        assert_eq!(class.handle.0 as usize, place + 1);
    }
    let attribute = fdd.attribute(x).unwrap();
    assert_eq!(attribute.transportation, TransportationTypeHandle::BEST_EFFORT);
    assert_eq!((attribute.order, attribute.class), (OrderType::Receive, a));
}

#[test]
fn unknown_handles_and_names_are_none() {
    let fdd = Fdd::standard(Edition::Hla2025);
    for number in [0, 1_000_000, u32::MAX] {
        assert!(fdd.object_class(number.into_handle()).is_none());
        assert!(fdd.transportation(TransportationTypeHandle(number)).is_none());
    }
    assert_eq!(fdd.object_class_by_name(""), None);
    assert_eq!(fdd.object_class_by_name("hlaobjectroot"), None);
    assert_eq!(fdd.interaction_class_by_name("HLAobjectRoot"), None);
    assert_eq!(fdd.update_rate("fast"), None);
}

trait IntoHandle {
    fn into_handle(self) -> hla::handle::ObjectClassHandle;
}

impl IntoHandle for u32 {
    fn into_handle(self) -> hla::handle::ObjectClassHandle {
        hla::handle::ObjectClassHandle(self)
    }
}

#[test]
fn scaffolding_takes_no_part() {
    let base = module("base.xml", 2010, &objects(&class("A", &plain("x"))));
    let below = module("below.xml", 2010, &objects(&class("A", &class("B", &plain("y")))));
    for modules in [[base.clone(), below.clone()], [below, base]] {
        let fdd = merged(Edition::Hla2010, &modules);
        let b = fdd.object_class_by_name("A.B").unwrap();
        assert!(fdd.attribute_by_name(b, "x").is_some());
        assert_eq!(fdd.object_class(b).unwrap().attributes.len(), 3);
    }
}

#[test]
fn an_equal_repeat_is_legal_and_a_changed_one_is_not() {
    let first = module("a.xml", 2010, &objects(&class("A", &plain("x"))));
    let same = module("b.xml", 2010, &objects(&class(" A ", &plain(" x\n"))));
    merged(Edition::Hla2010, &[first.clone(), same]);
    let changes = [
        (
            attribute("x", "HLAboolean", "HLAbestEffort", "Receive"),
            "data type `HLAboolean` (expected `HLAcount`",
        ),
        (
            attribute("x", "HLAcount", "HLAreliable", "Receive"),
            "transportation HLAreliable (expected HLAbestEffort",
        ),
        (attribute("x", "HLAcount", "HLAbestEffort", "TimeStamp"), "order TimeStamp (expected Receive"),
    ];
    for (attribute, item) in changes {
        let other = module("b.xml", 2010, &objects(&class("A", &attribute)));
        for edition in [Edition::Hla2010, Edition::Hla2025] {
            let error = refused(edition, &[first.clone(), other.clone()]);
            let expected = format!("error: attribute `x` of `HLAobjectRoot.A` has {item}, as at a.xml:1:");
            assert!(error.starts_with("b.xml:1:") && error.contains(&expected), "{error}");
        }
    }
}

#[test]
fn only_a_2025_model_lets_a_module_add_attributes() {
    let first = module("a.xml", 2010, &objects(&class("A", &plain("x"))));
    let more = module("b.xml", 2010, &objects(&class("A", &format!("{}{}", plain("x"), plain("y")))));
    for modules in [[first.clone(), more.clone()], [more, first]] {
        assert!(
            refused(Edition::Hla2010, &modules).contains("object class `HLAobjectRoot.A` is repeated with")
        );
        let fdd = merged(Edition::Hla2025, &modules);
        let a = fdd.object_class(fdd.object_class_by_name("A").unwrap()).unwrap();
        assert_eq!(a.attributes.len(), 3);
    }
}

#[test]
fn open_cells_are_filled_in() {
    let open = module("a.xml", 2025, &objects(&class("A", "<attribute><name>x</name></attribute>")));
    let (fdd, warnings) = Fdd::standard(Edition::Hla2025).extend(&[open]).unwrap();
    assert!(render(&warnings).contains("attribute `x` lacks a transportation or an order"));
    let filled = module(
        "b.xml",
        2025,
        &objects(&class("A", &attribute("x", "HLAcount", "HLAbestEffort", "TimeStamp"))),
    );
    let (fdd, _) = fdd.extend(&[filled]).unwrap();
    let x = fdd.attribute_by_name(fdd.object_class_by_name("A").unwrap(), "x").unwrap();
    let x = fdd.attribute(x).unwrap();
    assert_eq!((x.datatype.as_str(), x.order), ("HLAcount", OrderType::Timestamp));
    assert_eq!(x.transportation, TransportationTypeHandle::BEST_EFFORT);
}

#[test]
fn an_inherited_name_is_not_declared_again() {
    let base = module("a.xml", 2025, &objects(&class("A", &class("B", &plain("x")))));
    let above = module("b.xml", 2025, &objects(&class("A", &plain("x"))));
    for modules in [[base.clone(), above.clone()], [above, base]] {
        let error = refused(Edition::Hla2025, &modules);
        assert!(error.contains("attribute `x` is inherited from `HLAobjectRoot.A` already"), "{error}");
    }
    let text = interactions(&interaction(
        "I",
        &format!(
            "{DELIVERY}{}{}",
            parameter("p", "HLAcount"),
            interaction("J", &format!("{DELIVERY}{}", parameter("p", "HLAcount")))
        ),
    ));
    let error = refused(Edition::Hla2025, &[module("c.xml", 2025, &text)]);
    assert!(error.contains("parameter `p` is inherited from `HLAinteractionRoot.I` already"), "{error}");
}

#[test]
fn the_module_with_the_parameters_decides_on_the_delivery() {
    let scaffold =
        interactions(&interaction("I", &format!("{OTHER_DELIVERY}{}", interaction("J", DELIVERY))));
    let defined = interactions(&interaction("I", &format!("{DELIVERY}{}", parameter("p", "HLAcount"))));
    let (scaffold, defined) = (module("a.xml", 2010, &scaffold), module("b.xml", 2010, &defined));
    for modules in [[scaffold.clone(), defined.clone()], [defined, scaffold.clone()]] {
        let fdd = merged(Edition::Hla2010, &modules);
        let class = fdd.interaction_class(fdd.interaction_class_by_name("I").unwrap()).unwrap();
        assert_eq!(
            (class.transportation, class.order),
            (TransportationTypeHandle::RELIABLE, OrderType::Timestamp)
        );
        assert!(warned(Edition::Hla2010, &modules).contains("interaction class `HLAinteractionRoot.I` has"));
    }
    let other = module("c.xml", 2010, &interactions(&interaction("I", DELIVERY)));
    let error = refused(Edition::Hla2010, &[scaffold, other]);
    assert!(
        error.contains("interaction class `HLAinteractionRoot.I` has transportation HLAreliable"),
        "{error}"
    );
}

#[test]
fn the_mim_stands_against_modules() {
    let root = attribute("HLAprivilegeToDeleteObject", "HLAcount", "HLAbestEffort", "Receive");
    let sloppy = module("a.xml", 2010, &objects(&root));
    for edition in [Edition::Hla2010, Edition::Hla2025] {
        let warnings = warned(edition, std::slice::from_ref(&sloppy));
        assert!(warnings.contains("as the MIM has it, which stands"), "{warnings}");
        let fdd = merged(edition, std::slice::from_ref(&sloppy));
        let root = fdd.object_class_by_name("HLAobjectRoot").unwrap();
        let privilege = fdd.attribute_by_name(root, "HLAprivilegeToDeleteObject").unwrap();
        assert_eq!(fdd.attribute(privilege).unwrap().datatype, "HLAtoken");
    }
}

#[test]
fn the_mom_may_be_extended() {
    let text = objects(&class(
        "HLAmanager",
        &class("HLAfederate", &format!("{}{}", plain("Extra"), class("Mine", ""))),
    ));
    for edition in [2010, 2025] {
        let model = if edition == 2010 { Edition::Hla2010 } else { Edition::Hla2025 };
        let fdd = merged(model, &[module("a.xml", edition, &text)]);
        let mine = fdd.object_class_by_name("HLAmanager.HLAfederate.Mine").unwrap();
        assert!(fdd.attribute_by_name(mine, "Extra").is_some());
    }
}

#[test]
fn the_mom_of_2010_is_ignored_in_a_2025_model() {
    let mom_2010 = Fdd::standard(Edition::Hla2010).mim().text().replace("<version>2010", "<version>changed");
    let mom_2010 = try_read("whole.xml", &mom_2010).unwrap();
    let warnings = warned(Edition::Hla2025, std::slice::from_ref(&mom_2010));
    assert!(warnings.contains("the MOM as of 1516-2010 is ignored"), "{warnings}");
    let fdd = merged(Edition::Hla2025, &[mom_2010]);
    let standard = Fdd::standard(Edition::Hla2025);
    assert_eq!(fdd.attributes().len(), standard.attributes().len());
}
