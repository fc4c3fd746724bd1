//! Nothing of the MIM is forgotten.

use super::interaction::Interactions;
use hla::fom::{Edition, Fdd};

/// The sources that name parameters.
const SOURCES: [&str; 6] = [
    include_str!("interaction.rs"),
    include_str!("invocation.rs"),
    include_str!("parameters.rs"),
    include_str!("report.rs"),
    include_str!("service.rs"),
    include_str!("../rti/mom_interactions.rs"),
];

/// Interactions that the RTI neither takes nor sends yet.
const NOT_BUILT: [&str; 1] = ["HLAfederate.HLAadjust.HLAmodifyAttributeState"];

#[test]
fn every_interaction_and_parameter_is_known() {
    for edition in [Edition::Hla2010, Edition::Hla2025] {
        let model = Fdd::standard(edition);
        let interactions = Interactions::of(&model);
        let mut seen = 0;
        for class in model.interaction_classes().filter(|class| class.children.is_empty()) {
            let Some(name) = class.name.strip_prefix("HLAinteractionRoot.HLAmanager.") else { continue };
            if NOT_BUILT.contains(&name) {
                continue;
            }
            let takes = interactions.received(&model, class.handle).is_some_and(|(at, _)| at == class.handle);
            let sends = interactions.is_report(class.handle);
            assert!(takes != sends, "{edition:?} {name}");
            let is_named = |text: &str| SOURCES.iter().any(|source| source.contains(&format!("{text}\"")));
            assert!(takes || is_named(class.short_name()), "{edition:?} {name}");
            for &parameter in &class.parameters {
                let parameter = &model.parameter(parameter).expect("a parameter of the model").name;
                assert!(is_named(parameter), "{edition:?} {name} {parameter}");
                seen += 1;
            }
        }
        assert!(seen > 90, "{seen}");
    }
}

#[test]
fn lists_of_what_is_not_built_are_true() {
    let model = Fdd::standard(Edition::Hla2010);
    for name in NOT_BUILT {
        let class = model.interaction_class_by_name(&format!("HLAinteractionRoot.HLAmanager.{name}"));
        let class = class.expect(name);
        assert!(Interactions::of(&model).received(&model, class).is_none(), "{name}");
    }
}
