//! The policy applied to an object model, and to the handles of both sides.

use crate::policy::Entry;
use hla::fom::{Fdd, PRIVILEGE_TO_DELETE};
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectClassHandle, ParameterHandle};
use std::collections::BTreeMap;

/// The management object model (clause 11) tells of all federates. It never passes.
const MANAGEMENT: [&str; 2] = ["HLAobjectRoot.HLAmanager", "HLAinteractionRoot.HLAmanager"];

/// The classes that may pass in one direction, by name, with the names of their attributes or parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// Object classes. None is without attributes.
    pub objects: BTreeMap<String, Vec<String>>,
    /// Interaction classes.
    pub interactions: BTreeMap<String, Vec<String>>,
}

/// Classes of a model by name, with the names of their attributes or parameters.
type Classes<'a> = BTreeMap<&'a str, Vec<&'a str>>;

impl Names {
    /// The classes of a model that may pass by these entries.
    ///
    /// # Errors
    /// An entry names a class or an attribute that the model does not have, or management classes.
    pub fn of(entries: &[Entry], model: &Fdd) -> Result<Self, String> {
        let objects = model.object_classes().map(|class| {
            let names = class.attributes.iter().filter_map(|&handle| model.attribute(handle));
            let names =
                names.map(|attribute| attribute.name.as_str()).filter(|name| *name != PRIVILEGE_TO_DELETE);
            (class.name.as_str(), names.collect())
        });
        let interactions = model.interaction_classes().map(|class| {
            let names = class.parameters.iter().filter_map(|&handle| model.parameter(handle));
            (class.name.as_str(), names.map(|parameter| parameter.name.as_str()).collect())
        });
        let (objects, interactions): (Classes<'_>, Classes<'_>) = (objects.collect(), interactions.collect());
        for entry in entries {
            check(entry, &objects, &interactions)?;
        }
        let passing = |classes: &Classes<'_>| {
            let each = classes.iter().filter_map(|(class, parts)| {
                let entry = entry_for(entries, class)?;
                let parts = parts.iter().filter(|part| {
                    entry.parts.as_ref().is_none_or(|wanted| wanted.iter().any(|name| name == *part))
                });
                Some(((*class).to_owned(), parts.map(|part| (*part).to_owned()).collect::<Vec<_>>(), entry))
            });
            each.collect::<Vec<_>>()
        };
        let objects = passing(&objects).into_iter().filter(|(_, attributes, _)| !attributes.is_empty());
        // An interaction without parameters says something, too.
        let is_something = |entry: &Entry| entry.parts.as_ref().is_none_or(|parts| !parts.is_empty());
        let interactions = passing(&interactions).into_iter().filter(|(_, _, entry)| is_something(entry));
        Ok(Self {
            objects: objects.map(|(class, attributes, _)| (class, attributes)).collect(),
            interactions: interactions.map(|(class, parameters, _)| (class, parameters)).collect(),
        })
    }
}

/// The most specific entry for a class.
fn entry_for<'a>(entries: &'a [Entry], class: &str) -> Option<&'a Entry> {
    if MANAGEMENT.iter().any(|management| includes(management, class)) {
        return None;
    }
    entries.iter().filter(|entry| includes(&entry.class, class)).max_by_key(|entry| entry.class.len())
}

/// Whether `class` is `upper`, or lies below it.
fn includes(upper: &str, class: &str) -> bool {
    class.strip_prefix(upper).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn check(entry: &Entry, objects: &Classes<'_>, interactions: &Classes<'_>) -> Result<(), String> {
    let class = entry.class.as_str();
    if MANAGEMENT.iter().any(|management| includes(management, class)) {
        return Err(format!("{class} is a class of the management object model, which never passes"));
    }
    let classes = if objects.contains_key(class) { objects } else { interactions };
    if !classes.contains_key(class) {
        return Err(format!("the FOM modules have no class {class}"));
    }
    for part in entry.parts.iter().flatten() {
        let mut below = classes.iter().filter(|(name, _)| includes(class, name));
        if !below.any(|(_, parts)| parts.contains(&part.as_str())) {
            return Err(format!("neither {class} nor a class below it has `{part}`"));
        }
    }
    Ok(())
}

/// The classes that may pass in one direction, by the handles of both sides.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    /// By the object class of the side that they come from.
    pub objects: BTreeMap<ObjectClassHandle, ObjectPass>,
    /// By the interaction class of the side that they come from.
    pub interactions: BTreeMap<InteractionClassHandle, InteractionPass>,
}

/// An object class that may pass.
#[derive(Clone, Debug)]
pub struct ObjectPass {
    /// Its handle on the other side.
    pub to: ObjectClassHandle,
    /// The attributes, by the handles of the side that they come from.
    pub attributes: BTreeMap<AttributeHandle, AttributeHandle>,
}

/// An interaction class that may pass.
#[derive(Clone, Debug)]
pub struct InteractionPass {
    /// Its handle on the other side.
    pub to: InteractionClassHandle,
    /// The parameters, by the handles of the side that they come from.
    pub parameters: BTreeMap<ParameterHandle, ParameterHandle>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use hla::fom::{Budget, Limits, Module, edition_for};

    const FOM: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
      <modelIdentification><name>R</name><type>FOM</type><version>1</version>
        <modificationDate>2026-11-28</modificationDate><securityClassification>Unclassified</securityClassification>
        <description>x</description><poc><pocType>Primary author</pocType><pocOrg>x</pocOrg></poc></modelIdentification>
      <objects><objectClass><name>HLAobjectRoot</name>
        <objectClass><name>Craft</name><sharing>PublishSubscribe</sharing>
          <attribute><name>Position</name><dataType>HLAopaqueData</dataType></attribute>
          <attribute><name>Crew</name><dataType>HLAopaqueData</dataType></attribute>
          <objectClass><name>Fast</name><sharing>PublishSubscribe</sharing>
            <attribute><name>Speed</name><dataType>HLAopaqueData</dataType></attribute></objectClass>
          <objectClass><name>Hidden</name><sharing>PublishSubscribe</sharing></objectClass>
        </objectClass></objectClass></objects>
      <interactions><interactionClass><name>HLAinteractionRoot</name>
        <interactionClass><name>Bang</name><sharing>PublishSubscribe</sharing></interactionClass>
      </interactionClass></interactions></objectModel>"#;

    fn model() -> Fdd {
        let limits = Limits::default();
        let (module, _) =
            Module::read_text("r.xml", FOM.to_owned(), &limits, &mut Budget::new(&limits)).unwrap();
        Fdd::standard(edition_for(std::slice::from_ref(&module))).extend(&[module]).unwrap().0
    }

    fn names(entries: &[&str]) -> Result<Names, String> {
        let entries: Vec<_> =
            entries.iter().map(|text| Entry::try_from((*text).to_owned()).unwrap()).collect();
        Names::of(&entries, &model())
    }

    #[test]
    fn an_entry_includes_the_classes_below_it() {
        let names = names(&["HLAobjectRoot.Craft"]).unwrap();
        let counts: Vec<_> =
            names.objects.iter().map(|(class, names)| (class.as_str(), names.len())).collect();
        assert_eq!(
            counts,
            [("HLAobjectRoot.Craft", 2), ("HLAobjectRoot.Craft.Fast", 3), ("HLAobjectRoot.Craft.Hidden", 2)]
        );
        assert!(names.interactions.is_empty());
    }

    #[test]
    fn the_most_specific_entry_counts() {
        let names = names(&[
            "HLAobjectRoot.Craft: Position, Speed",
            "HLAobjectRoot.Craft.Hidden: nothing",
            "HLAinteractionRoot.Bang",
        ])
        .unwrap();
        let [(craft, of_craft), (fast, of_fast)] = &names.objects.iter().collect::<Vec<_>>()[..] else {
            panic!("two classes pass: {names:?}");
        };
        assert_eq!((craft.as_str(), &of_craft[..]), ("HLAobjectRoot.Craft", &["Position".to_owned()][..]));
        assert_eq!((fast.as_str(), of_fast.len()), ("HLAobjectRoot.Craft.Fast", 2));
        assert_eq!(names.interactions.keys().collect::<Vec<_>>(), ["HLAinteractionRoot.Bang"]);
        assert!(self::names(&["HLAinteractionRoot.Bang: nothing"]).unwrap().interactions.is_empty());
    }

    #[test]
    fn the_management_object_model_never_passes() {
        let all = names(&["HLAobjectRoot", "HLAinteractionRoot"]).unwrap();
        let classes = all.objects.keys().chain(all.interactions.keys());
        assert!(!classes.clone().any(|class| class.contains("HLAmanager")), "{classes:?}");
        let refused = names(&["HLAobjectRoot.HLAmanager.HLAfederate"]).unwrap_err();
        assert!(refused.contains("never passes"), "{refused}");
    }

    #[test]
    fn unknown_names_are_named() {
        assert_eq!(
            names(&["HLAobjectRoot.Boat"]).unwrap_err(),
            "the FOM modules have no class HLAobjectRoot.Boat"
        );
        let refused = names(&["HLAobjectRoot.Craft: Colour"]).unwrap_err();
        assert_eq!(refused, "neither HLAobjectRoot.Craft nor a class below it has `Colour`");
    }
}
