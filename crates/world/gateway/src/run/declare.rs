//! Handles and declarations of a gateway on both sides.

use federate::Federate;
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectClassHandle, ParameterHandle};
use std::collections::BTreeMap;

use crate::Side;
use crate::passes::{InteractionPass, Names, ObjectPass, Passes};

/// The handles of names on one side.
struct Handles {
    objects: BTreeMap<String, (ObjectClassHandle, BTreeMap<String, AttributeHandle>)>,
    interactions: BTreeMap<String, (InteractionClassHandle, BTreeMap<String, ParameterHandle>)>,
}

/// Finds all names on both sides, publishes on each side what may come from the other one, and then
/// subscribes to it there.
///
/// # Errors
/// A side does not know a name, or refuses a declaration.
pub(super) async fn declare(federates: &[Federate; 2], names: &[Names; 2]) -> Result<[Passes; 2], String> {
    let [inside, outside] = federates;
    let [leaving, entering] = names;
    let leaving = direction([(Side::Inside, inside), (Side::Outside, outside)], leaving).await?;
    let entering = direction([(Side::Outside, outside), (Side::Inside, inside)], entering).await?;
    Ok([leaving, entering])
}

async fn direction(
    [(from_side, from), (to_side, to)]: [(Side, &Federate); 2],
    names: &Names,
) -> Result<Passes, String> {
    let mut source = handles(from_side, from, names).await?;
    let target = handles(to_side, to, names).await?;
    let mut passes = Passes::default();
    let mut declared = Vec::new();
    for (name, (class, attributes)) in target.objects {
        declared.push((to_side, to.publish_object_class_attributes(class, attributes.values().copied())));
        if let Some((from, own)) = source.objects.remove(&name) {
            let attributes =
                own.into_iter().filter_map(|(name, handle)| Some((handle, *attributes.get(&name)?)));
            passes.objects.insert(from, ObjectPass { to: class, attributes: attributes.collect() });
        }
    }
    for (name, (class, parameters)) in target.interactions {
        declared.push((to_side, to.publish_interaction_class(class)));
        if let Some((from, own)) = source.interactions.remove(&name) {
            let parameters =
                own.into_iter().filter_map(|(name, handle)| Some((handle, *parameters.get(&name)?)));
            passes.interactions.insert(from, InteractionPass { to: class, parameters: parameters.collect() });
        }
    }
    finish(declared).await?;
    let objects = passes.objects.iter().map(|(&class, pass)| {
        (from_side, from.subscribe_object_class_attributes(class, pass.attributes.keys().copied()))
    });
    let interactions = passes.interactions.keys();
    let interactions = interactions.map(|&class| (from_side, from.subscribe_interaction_class(class)));
    finish(objects.chain(interactions).collect()).await?;
    Ok(passes)
}

/// Waits for the answers of calls that are under way together.
async fn finish(calls: Vec<(Side, federate::Call<()>)>) -> Result<(), String> {
    for (side, call) in calls {
        call.await.map_err(|error| format!("{side}: {error}"))?;
    }
    Ok(())
}

async fn handles(side: Side, federate: &Federate, names: &Names) -> Result<Handles, String> {
    let failed = |class: &str, error| format!("{side}: {class}: {error}");
    let classes = |name: &String| (name.clone(), federate.get_object_class_handle(name.as_str()));
    let objects: Vec<_> = names.objects.keys().map(classes).collect();
    let classes = |name: &String| (name.clone(), federate.get_interaction_class_handle(name.as_str()));
    let interactions: Vec<_> = names.interactions.keys().map(classes).collect();
    let mut handles = Handles { objects: BTreeMap::new(), interactions: BTreeMap::new() };
    let mut attributes = Vec::new();
    for ((name, class), wanted) in objects.into_iter().zip(names.objects.values()) {
        let class = class.await.map_err(|error| failed(&name, error))?;
        let asked =
            wanted.iter().map(|part| (part.clone(), federate.get_attribute_handle(class, part.as_str())));
        attributes.push((name, class, asked.collect::<Vec<_>>()));
    }
    let mut parameters = Vec::new();
    for ((name, class), wanted) in interactions.into_iter().zip(names.interactions.values()) {
        let class = class.await.map_err(|error| failed(&name, error))?;
        let asked =
            wanted.iter().map(|part| (part.clone(), federate.get_parameter_handle(class, part.as_str())));
        parameters.push((name, class, asked.collect::<Vec<_>>()));
    }
    for (name, class, asked) in attributes {
        let mut found = BTreeMap::new();
        for (part, handle) in asked {
            let handle = handle.await.map_err(|error| failed(&format!("{name}: {part}"), error))?;
            found.insert(part, handle);
        }
        handles.objects.insert(name, (class, found));
    }
    for (name, class, asked) in parameters {
        let mut found = BTreeMap::new();
        for (part, handle) in asked {
            let handle = handle.await.map_err(|error| failed(&format!("{name}: {part}"), error))?;
            found.insert(part, handle);
        }
        handles.interactions.insert(name, (class, found));
    }
    Ok(handles)
}
