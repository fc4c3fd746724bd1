//! Prints the federates of a federation as they come and go, until the first of them has left.

#![allow(clippy::print_stdout)]

use federate::hla::handle::ObjectInstanceHandle;
use federate::prelude::*;
use std::collections::BTreeMap;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    run(&std::env::args().nth(1).unwrap_or_else(|| "localhost".to_owned())).await.map(drop)
}

/// Name, type and state of a federate.
pub type Known = (String, String, i32);

/// HLAfederateState of a federate that is neither saved nor restored.
const ACTIVE: i32 = 1;

/// Returns all federates that it has seen.
pub async fn run(server: &str) -> Result<Vec<Known>, Failure> {
    let (federate, mut callbacks) = Federate::connect(Options::new(server)).await?;
    let module = fom::content("aircraft.xml", include_str!("aircraft.xml"));
    federate.create_or_join("Range", module, "Watcher", "Subscriber").await?;
    // The classes of the management object model are part of every object model.
    let class = federate.get_object_class_handle("HLAmanager.HLAfederate").await?;
    let name = federate.get_attribute_handle(class, "HLAfederateName").await?;
    let kind = federate.get_attribute_handle(class, "HLAfederateType").await?;
    let state = federate.get_attribute_handle(class, "HLAfederateState").await?;
    federate.subscribe_object_class_attributes(class, [name, kind, state]).await?;
    let mut seen: BTreeMap<ObjectInstanceHandle, Known> = BTreeMap::new();
    while let Some(callback) = callbacks.recv().await {
        match callback {
            Callback::ReflectAttributeValues(update) => {
                let values = update.attribute_values.unwrap_or_default();
                let known = seen.entry(update.object_instance.unwrap_or_default()).or_default();
                known.0 = values.decode(name)?.unwrap_or_else(|| known.0.clone());
                known.1 = values.decode(kind)?.unwrap_or_else(|| known.1.clone());
                known.2 = values.decode(state)?.unwrap_or(known.2);
                let what = if known.2 == ACTIVE { "active" } else { "being saved or restored" };
                println!("{}, a {}, is {what}", known.0, known.1);
            }
            Callback::RemoveObjectInstance(gone) => {
                let left = gone.object_instance.and_then(|instance| seen.get(&instance));
                println!("{} has left", left.map_or("?", |known| &known.0));
                break;
            }
            _ => {}
        }
    }
    federate.resign_federation_execution(ResignAction::NoAction).await?;
    federate.disconnect().await?;
    Ok(seen.into_values().collect())
}
