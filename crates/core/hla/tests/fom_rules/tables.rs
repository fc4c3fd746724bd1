//! The other tables, and whole modules.

use crate::modules::{
    DELIVERY, attribute, class, interaction, interactions, invalid, merged, module, objects, plain, refused,
    try_read, warned, xml,
};
use hla::Exception;
use hla::api::ResignAction;
use hla::fom::{
    DataTypeKind, DefaultRange, Dimension, Edition, Fdd, Limits, Module, Severity, edition_for, render,
};
use hla::handle::TransportationTypeHandle;

#[test]
fn dimensions_merge_by_name() {
    let table = |bound: &str, value: &str| {
        format!(
            "<dimensions><dimension><name>X</name><upperBound>{bound}</upperBound><value>{value}</value></dimension></dimensions>"
        )
    };
    let first = module("a.xml", 2010, &table("100", "[2..7)"));
    let fdd = merged(Edition::Hla2010, &[first.clone(), module("b.xml", 2010, &table(" 100 ", "[2..7)"))]);
    let x = fdd.dimension(fdd.dimension_by_name("X").unwrap()).unwrap();
    assert_eq!((x.upper_bound, x.default), (100, DefaultRange::Range { lower: 2, upper: 7 }));
    let error = refused(Edition::Hla2010, &[first.clone(), module("b.xml", 2010, &table("50", "[2..7)"))]);
    assert!(error.contains("dimension `X` has upper bound 50 (expected 100, as at a.xml:1:"), "{error}");
    let error = refused(Edition::Hla2010, &[first, module("b.xml", 2010, &table("100", "Excluded"))]);
    assert!(error.contains("dimension `X` has default range Excluded (expected [2..7)"), "{error}");
    let fdd = merged(Edition::Hla2010, &[module("a.xml", 2010, &table("NA", "NA"))]);
    let x = fdd.dimension(fdd.dimension_by_name("X").unwrap()).unwrap();
    assert_eq!((x.upper_bound, x.default), (Dimension::UNBOUNDED, DefaultRange::Excluded));
}

#[test]
fn class_dimensions_of_2025_are_inherited_and_united() {
    let dimensions =
        "<dimensions><dimension><name>X</name></dimension><dimension><name>Y</name></dimension></dimensions>";
    let of = |name: &str| format!("<dimensions><dimension>{name}</dimension></dimensions>");
    let first = objects(&class("A", &format!("{}{}", of("X"), plain("a"))));
    let second = format!("{}{dimensions}", objects(&class("A", &class("B", &of("Y")))));
    let fdd = merged(Edition::Hla2025, &[module("a.xml", 2025, &first), module("b.xml", 2025, &second)]);
    let (a, b) = (fdd.object_class_by_name("A").unwrap(), fdd.object_class_by_name("A.B").unwrap());
    let handle = fdd.attribute_by_name(b, "a").unwrap();
    let (x, y) = (fdd.dimension_by_name("X").unwrap(), fdd.dimension_by_name("Y").unwrap());
    assert_eq!(fdd.attribute_dimensions(a, handle), [x]);
    assert_eq!(fdd.attribute_dimensions(b, handle), [x, y]);
    assert_eq!(fdd.attribute(handle).unwrap().dimensions, [x]);
    let lost = module("c.xml", 2025, &objects(&class("A", &of("Z"))));
    assert!(refused(Edition::Hla2025, &[lost]).contains("dimension `Z` is not defined"));
}

#[test]
fn transportations_and_update_rates() {
    let text = "<transportations><transportation><name>Radio</name><reliable>No</reliable></transportation></transportations>\
                <updateRates><updateRate><name>Low</name><rate>2.5</rate></updateRate></updateRates>";
    let user = objects(&class("A", &attribute("x", "HLAcount", "Radio", "Receive")));
    let modules = [module("a.xml", 2010, &user), module("b.xml", 2010, text)];
    let fdd = merged(Edition::Hla2010, &modules);
    let radio = fdd.transportation_by_name("Radio").unwrap();
    assert_eq!(radio, TransportationTypeHandle(3));
    assert!(!fdd.transportation(radio).unwrap().reliable);
    assert_eq!(fdd.update_rate("Low"), Some(2.5));
    let error = refused(Edition::Hla2010, &modules[..1]);
    assert!(
        error.contains(
            "transportation type `Radio` is not defined (expected one of HLAreliable, HLAbestEffort)"
        ),
        "{error}"
    );
    let other = text.replace("2.5", "3").replace("No<", "Yes<");
    let error = refused(Edition::Hla2010, &[modules[1].clone(), module("c.xml", 2010, &other)]);
    assert!(
        error.contains("update rate `Low` is 3 per second (expected 2.5")
            && error.contains("says reliable: Yes"),
        "{error}"
    );
}

#[test]
fn the_first_word_about_a_switch_counts() {
    let first = module(
        "a.xml",
        2010,
        "<switches><autoProvide isEnabled=\"true\"/>\
        <automaticResignAction resignAction=\"DeleteObjects\"/><serviceReporting/></switches>",
    );
    let second = module(
        "b.xml",
        2025,
        "<switches><autoProvide isEnabled=\"false\"/><nonRegulatedGrant isEnabled=\"1\"/></switches>",
    );
    let modules = [first, second];
    let fdd = merged(Edition::Hla2025, &modules);
    let switches = fdd.switches();
    assert!(switches.auto_provide && switches.non_regulated_grant && !switches.service_reporting);
    assert_eq!(switches.automatic_resign_action, ResignAction::DeleteObjects);
    let warnings = warned(Edition::Hla2025, &modules);
    assert!(
        warnings.contains("b.xml:1:")
            && warnings.contains("switch `autoProvide` was set otherwise at a.xml:1:"),
        "{warnings}"
    );
}

#[test]
fn directed_interactions_are_found_in_any_module() {
    let user = |name: &str| {
        objects(&class(
            "A",
            &format!("<directedInteraction><name>{name}</name></directedInteraction>{}", class("B", "")),
        ))
    };
    let order = module("b.xml", 2025, &interactions(&interaction("Order", DELIVERY)));
    for name in ["HLAinteractionRoot.Order", "Order"] {
        let fdd = merged(Edition::Hla2025, &[module("a.xml", 2025, &user(name)), order.clone()]);
        let b = fdd.object_class(fdd.object_class_by_name("A.B").unwrap()).unwrap();
        assert_eq!(b.directed_interactions, [fdd.interaction_class_by_name("Order").unwrap()]);
    }
    let error = refused(Edition::Hla2025, &[module("a.xml", 2025, &user("Ordre")), order]);
    assert!(error.contains("directed interaction `Ordre` is not defined"), "{error}");
}

fn enumerated(enumerators: &[(&str, u32)]) -> String {
    let list: String = enumerators
        .iter()
        .map(|(name, value)| format!("<enumerator><name>{name}</name><value>{value}</value></enumerator>"))
        .collect();
    format!(
        "<dataTypes><enumeratedDataTypes><enumeratedData><name>E</name>\
         <representation>HLAoctet</representation>{list}</enumeratedData></enumeratedDataTypes></dataTypes>"
    )
}

#[test]
fn enumerated_types_gain_enumerators_in_2025() {
    let first = module("a.xml", 2025, &enumerated(&[("A", 1), ("B", 2)]));
    let more = module("b.xml", 2025, &enumerated(&[("B", 2), ("C", 3)]));
    let fdd = merged(Edition::Hla2025, &[first.clone(), more]);
    let DataTypeKind::Enumerated { enumerators, .. } = &fdd.datatype("E").unwrap().kind else { panic!() };
    assert_eq!(enumerators.iter().map(|e| e.name.as_str()).collect::<Vec<_>>(), ["A", "B", "C"]);
    let taken = module("b.xml", 2025, &enumerated(&[("C", 2)]));
    let error = refused(Edition::Hla2025, &[first.clone(), taken]);
    assert!(error.contains("data type `E` gives `C` the value 2 of `B`"), "{error}");
    let changed = module("b.xml", 2025, &enumerated(&[("A", 9)]));
    assert!(refused(Edition::Hla2025, &[first, changed]).contains("gives enumerator `A` another value"));
    let old =
        [module("a.xml", 2010, &enumerated(&[("A", 1)])), module("b.xml", 2010, &enumerated(&[("A", 2)]))];
    assert!(warned(Edition::Hla2010, &old).contains("the one at a.xml:1:"));
    assert!(warned(Edition::Hla2025, &old).contains("the one at a.xml:1:"));
}

#[test]
fn extendable_variant_records_gain_alternatives() {
    let record = |encoding: &str, alternatives: &[(&str, &str)]| {
        let list: String = alternatives
            .iter()
            .map(|(e, t)| format!("<alternative><enumerator>{e}</enumerator><name>{e}</name><dataType>{t}</dataType></alternative>"))
            .collect();
        let text = format!(
            "<dataTypes><variantRecordDataTypes><variantRecordData><name>V</name><discriminant>d</discriminant>\
             <dataType>HLAboolean</dataType>{list}<encoding>{encoding}</encoding></variantRecordData></variantRecordDataTypes></dataTypes>"
        );
        module(&format!("{}.xml", alternatives[0].0), 2025, &text)
    };
    let extendable = "HLAextendableVariantRecord";
    let fdd = merged(
        Edition::Hla2025,
        &[record(extendable, &[("A", "HLAcount")]), record(extendable, &[("B", "HLAcount")])],
    );
    let DataTypeKind::VariantRecord { alternatives, .. } = &fdd.datatype("V").unwrap().kind else { panic!() };
    assert_eq!(alternatives.len(), 2);
    let error = refused(
        Edition::Hla2025,
        &[record(extendable, &[("A", "HLAcount")]), record(extendable, &[("A", "HLAboolean")])],
    );
    assert!(error.contains("gives another alternative for `A`"), "{error}");
    refused(
        Edition::Hla2025,
        &[record("HLAvariantRecord", &[("A", "HLAcount")]), record("HLAvariantRecord", &[("B", "HLAcount")])],
    );
}

#[test]
fn an_undefined_data_type_is_a_warning() {
    let text = objects(&class("A", &attribute("x", "Nowhere", "HLAreliable", "Receive")));
    let warnings = warned(Edition::Hla2025, &[module("a.xml", 2025, &text)]);
    assert!(
        warnings.contains("warning: attribute `x` has data type `Nowhere`, which no module defines"),
        "{warnings}"
    );
}

#[test]
fn a_failed_extension_changes_nothing_and_a_repeated_module_does_nothing() {
    let first = module("a.xml", 2025, &objects(&class("A", &plain("x"))));
    let fdd = merged(Edition::Hla2025, std::slice::from_ref(&first));
    let before = fdd.to_xml();
    let clash =
        module("b.xml", 2025, &objects(&class("A", &attribute("x", "HLAboolean", "HLAreliable", "Receive"))));
    let fine = module("c.xml", 2025, &objects(&class("C", "")));
    assert!(fdd.extend(&[fine, clash]).is_err());
    assert_eq!(fdd.to_xml(), before);
    let again = module("other-name.xml", 2025, &objects(&class("A", &plain("x"))));
    let (same, warnings) = fdd.extend(&[again, first]).unwrap();
    assert_eq!((same.modules().len(), warnings.len()), (1, 0));
    assert_eq!(same.modules()[0].designator(), "a.xml");
}

#[test]
fn a_later_extension_appends() {
    let fdd = merged(
        Edition::Hla2025,
        &[module(
            "a.xml",
            2025,
            &objects(&class("A", &format!("{}{}", plain("x"), class("B", &plain("y"))))),
        )],
    );
    let b = fdd.object_class_by_name("A.B").unwrap();
    let before = fdd.object_class(b).unwrap().attributes.clone();
    let (later, _) = fdd.extend(&[module("b.xml", 2025, &objects(&class("A", &plain("late"))))]).unwrap();
    let after = &later.object_class(b).unwrap().attributes;
    assert_eq!(after[..before.len()], before);
    assert_eq!(later.attribute(after[before.len()]).unwrap().name, "late");
}

#[test]
fn a_mim_must_have_everything() {
    let standard = Fdd::standard(Edition::Hla2025);
    let text = standard.mim().text();
    let more = text.replace(
        "</dimensions>\n <transportations>",
        "<dimension><name>Mine</name></dimension></dimensions><transportations>",
    );
    assert_ne!(text, more);
    let fdd = Fdd::with_mim(&try_read("mine.xml", &more).unwrap()).unwrap();
    assert_eq!(fdd.mim_designator(), "mine.xml");
    assert_eq!(fdd.dimensions().len(), standard.dimensions().len() + 1);
    for class in standard.object_classes() {
        assert_eq!(fdd.object_class_by_name(&class.name), Some(class.handle));
    }
    let less = text.replace("<name>HLAreportPeriod</name>", "<name>Period</name>");
    let error = Fdd::with_mim(&try_read("less.xml", &less).unwrap()).unwrap_err();
    assert_eq!(error.to_rti_error().exception, Exception::InvalidMIM);
    assert!(error.to_string().contains("lacks `HLAreportPeriod` of class"), "{error}");
}

#[test]
fn one_module_by_itself_is_checked() {
    let cases = [
        (objects("<objectClass/>"), "an object class without a name"),
        (
            objects("<objectClass name='Tank'/>"),
            "an object class has its name, `Tank`, in an XML attribute, as in 1516-2000 \
             (expected an element: `<name>Tank</name>`",
        ),
        (objects(&class("A.B", "")), "the name `A.B` of an object class has '.' in it"),
        (objects(&class("", "")), "an object class with an empty name"),
        (objects(&format!("{}{}", class("A", ""), class("A", ""))), "a second object class `HLAobjectRoot.A`"),
        (objects(&class("A", &format!("{0}{0}", plain("x")))), "a second attribute `x` in HLAobjectRoot.A"),
        (objects(&class("A", "<sharing/><sharing/>")), "a second `sharing` in one `objectClass`"),
        (class("A", "").replace("objectClass", "objects"), ""),
        ("<objects><objectClass><name>Root</name></objectClass></objects>".into(), "the root class is `Root` (expected `HLAobjectRoot`)"),
        (interactions(&interaction("I", "<order>Later</order>")), "`Later` is no order type (expected `Receive` or `TimeStamp`)"),
        ("<dimensions><dimension><name>X</name><upperBound>0</upperBound></dimension></dimensions>".into(), "`0` is no upper bound"),
        ("<dimensions><dimension><name>X</name><upperBound>5</upperBound><value>[2..9)</value></dimension></dimensions>".into(), "ends beyond the dimension"),
        ("<dimensions><dimension><name>X</name><value>[5..2)</value></dimension></dimensions>".into(), "is empty"),
        ("<dimensions><dimension><name>X</name><value>all</value></dimension></dimensions>".into(), "`all` is no default range"),
        ("<transportations><transportation><name>T</name><reliable>Maybe</reliable></transportation></transportations>".into(), "(expected `Yes` or `No`)"),
        ("<updateRates><updateRate><name>R</name><rate>-1</rate></updateRate></updateRates>".into(), "`-1` is no update rate"),
        ("<updateRates><updateRate><name>R</name><rate>inf</rate></updateRate></updateRates>".into(), "`inf` is no update rate"),
        ("<switches><autoProvide isEnabled=\"on\"/></switches>".into(), "`on` is no setting of switch `autoProvide`"),
        ("<switches><automaticResignAction resignAction=\"Go\"/></switches>".into(), "`Go` is no resign action (expected `Unconditionally"),
        ("<switches/><switches/>".into(), "a second `switches` in one `objectModel`"),
    ];
    for (tables, expected) in cases {
        if expected.is_empty() {
            continue;
        }
        let found = invalid(&tables);
        assert!(found.contains(expected), "{tables}\n{found}");
        // For a report, the rest of the module is merged nevertheless.
        let (module, refused) = Module::check("bad.xml", xml(2025, &tables).as_bytes(), &Limits::default());
        assert!(refused.is_err());
        let _ = Fdd::standard(Edition::Hla2025).extend(&[module.unwrap()]);
    }
}

#[test]
fn findings_say_line_and_column() {
    let text = "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">\n <interactions>\n  <interactionClass>\n   \
                <name>HLAinteractionRoot</name><!-- ä --> <order>X</order>\n  </interactionClass>\n </interactions>\n</objectModel>";
    let error = try_read("dir/my.xml", text).unwrap_err();
    let finding = &error.diagnostics[0];
    assert_eq!((finding.file.as_str(), finding.line, finding.column), ("dir/my.xml", 4, 46));
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(
        error.to_rti_error().to_string(),
        "InvalidFOM: dir/my.xml:4:46: error: `X` is no order type (expected `Receive` or `TimeStamp`)"
    );
}

#[test]
fn sloppy_modules_are_read_with_warnings() {
    let text = "<o:objectModel xmlns:o=\"http://www.sisostds.org/schemas/IEEE1516-2010\" xmlns:x=\"urn:x\">\
                <x:odd><deep/></x:odd><o:objects><o:objectClass><o:name>HLAobjectRoot</o:name><o:sharing>Odd</o:sharing>\
                <o:objectClass x:a=\"1\"><o:name>A</o:name><o:typo/><o:attribute><o:name>x</o:name><o:order>receive</o:order>\
                <o:dimensions><o:dimension>NA</o:dimension></o:dimensions></o:attribute></o:objectClass></o:objectClass></o:objects></o:objectModel>";
    let (module, warnings) = Module::read("a.xml", text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(module.edition(), Edition::Hla2010);
    let text = render(&warnings);
    assert!(text.contains("unknown element `typo` in `objectClass` is ignored"), "{text}");
    assert!(text.contains("the order type is spelled `receive`"), "{text}");
    assert_eq!(warnings.len(), 2, "{text}");
}

#[test]
fn the_edition_that_suits() {
    let (old, new) = (module("a", 2010, ""), module("b", 2025, ""));
    assert_eq!(edition_for(&[]), Edition::Hla2025);
    assert_eq!(edition_for(std::slice::from_ref(&old)), Edition::Hla2010);
    assert_eq!(edition_for(&[old, new.clone()]), Edition::Hla2025);
    assert!(
        warned(Edition::Hla2010, &[new])
            .contains("a module of 1516-2025 in a federation with the MIM of 1516-2010")
    );
}

#[test]
fn documentation_tables_merge() {
    let time = |t: &str| format!("<time><timeStamp><dataType>{t}</dataType></timeStamp></time>");
    let tags =
        |t: &str| format!("<tags><updateReflectTag><dataType>{t}</dataType></updateReflectTag></tags>");
    let sync = |c: &str| {
        format!(
            "<synchronizations><synchronizationPoint><label>Go</label><capability>{c}</capability></synchronizationPoint></synchronizations>"
        )
    };
    let none = module("0.xml", 2010, &format!("{}{}", time("NA"), tags("NA")));
    let first = module(
        "1.xml",
        2010,
        &format!("{}{}{}", time("HLAinteger64Time"), tags("HLAcount"), sync("Achieve")),
    );
    let fdd = merged(Edition::Hla2010, &[none, first.clone()]);
    assert!(fdd.to_xml().contains("<timeStamp>\n   <dataType>HLAinteger64Time</dataType>"));
    assert!(
        warned(Edition::Hla2010, &[first.clone(), module("2.xml", 2010, &time("HLAfloat64Time"))])
            .contains("`logicalTime`")
    );
    assert!(
        refused(Edition::Hla2010, &[first.clone(), module("2.xml", 2010, &tags("HLAboolean"))])
            .contains("`updateReflectTag` has data type")
    );
    assert!(
        refused(Edition::Hla2010, &[first, module("2.xml", 2010, &sync("Register"))])
            .contains("synchronization point `Go`")
    );
}
