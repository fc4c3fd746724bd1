//! Records the updates of a federation that runs, to replay them later.
//!
//! A federate joins, reads the object model of the federation (HLAcurrentFDD of the management object
//! model, 11.2), subscribes to every attribute of every class outside that model, and notes when which
//! object was updated by how many bytes. It keeps no values.

use std::collections::HashMap;
use std::pin::pin;
use std::time::Instant;

use federate::{Callback, Federate};
use hla::api::AttributeHandleValueMap;
use hla::encoding::Encoding as _;
use hla::fom::{Fdd, Limits, Module, PRIVILEGE_TO_DELETE};
use hla::handle::{AttributeHandle, ObjectInstanceHandle, TransportationTypeHandle};

use crate::access::server_options;
use crate::entities::Update;
use crate::error::BenchError;
use crate::member::{leave, received, stalled};
use crate::process::PATIENCE;

const FEDERATION_CLASS: &str = "HLAobjectRoot.HLAmanager.HLAfederation";
const CURRENT_FDD: &str = "HLAcurrentFDD";
/// Classes whose names begin so belong to the management object model.
const MANAGER: &str = "HLAobjectRoot.HLAmanager";

/// A recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recorded {
    /// The updates, in the order of their arrival; objects are numbered from 0 in the order of their first
    /// updates.
    pub updates: Vec<Update>,
    /// Object classes whose attributes were subscribed.
    pub classes: usize,
    /// Objects that were updated.
    pub objects: usize,
    /// The reason why it ended before it was to.
    pub ended: Option<String>,
}

/// Joins a federation execution and records it until `end`, or until there are `updates_max`.
///
/// # Errors
/// The server refuses a request, does not answer, or has an object model that cannot be read.
pub async fn record(
    server: &str,
    federation: &str,
    updates_max: usize,
    end: impl Future<Output = ()>,
) -> Result<Recorded, BenchError> {
    let (federate, mut callbacks) = Federate::connect(server_options(server)?).await?;
    federate.join_federation_execution("recorder", federation).await?;
    let model = object_model(&federate, &mut callbacks).await?;
    let mut recorded = Recorded { classes: subscribe(&federate, &model).await?, ..Recorded::default() };
    let reliable = federate.get_transportation_type_handle("HLAreliable").await?;
    let (begun, mut numbers) = (Instant::now(), HashMap::new());
    let mut end = pin!(end);
    while recorded.updates.len() < updates_max {
        let callback = tokio::select! {
            biased;
            callback = callbacks.recv() => callback,
            () = &mut end => break,
        };
        match received(callback) {
            Ok(callback) => {
                let reflect = reflected(callback, reliable);
                recorded.updates.extend(reflect.map(|reflect| reflect.at(begun, &mut numbers)));
            }
            Err(error) => {
                recorded.ended = Some(error.to_string());
                break;
            }
        }
    }
    recorded.objects = numbers.len();
    if recorded.updates.len() >= updates_max {
        recorded.ended = Some(format!("a recording has at most {updates_max} updates"));
    }
    // The recording counts even if the server does not let the federate go.
    let _ = leave(federate, callbacks, federation).await;
    Ok(recorded)
}

/// The object model of the federation, which its management object model has as text.
async fn object_model(federate: &Federate, callbacks: &mut federate::Callbacks) -> Result<Fdd, BenchError> {
    let class = federate.get_object_class_handle(FEDERATION_CLASS).await?;
    let attribute = federate.get_attribute_handle(class, CURRENT_FDD).await?;
    federate.subscribe_object_class_attributes(class, [attribute]).await?;
    let text = loop {
        let callback = tokio::time::timeout(PATIENCE, callbacks.recv()).await;
        match received(callback.map_err(|_| stalled(CURRENT_FDD))?)? {
            Callback::DiscoverObjectInstance(found) if found.object_class == Some(class) => {
                let Some(object) = found.object_instance else { continue };
                federate.request_instance_attribute_value_update(object, [attribute], "").await?;
            }
            Callback::ReflectAttributeValues(reflect) => {
                if let Some(value) = value_of(reflect.attribute_values, attribute) {
                    break value;
                }
            }
            _ => {}
        }
    };
    federate.unsubscribe_object_class(class).await?;
    model_of(&text)
}

fn value_of(values: Option<AttributeHandleValueMap>, attribute: AttributeHandle) -> Option<bytes::Bytes> {
    let mut values = values?.attribute_handle_value.into_iter();
    values.find(|value| value.attribute_handle == Some(attribute)).map(|value| value.value)
}

/// The model in an encoded text (HLAunicodeString).
fn model_of(encoded: &[u8]) -> Result<Fdd, BenchError> {
    let wrong = |error: &dyn std::fmt::Display| BenchError::Nonsense(format!("{CURRENT_FDD}: {error}"));
    let text = String::decode(encoded).map_err(|error| wrong(&error))?;
    let limits = Limits::default();
    let (module, _) = Module::read(CURRENT_FDD, text.as_bytes(), &limits).map_err(|error| wrong(&error))?;
    let edition = module.edition();
    let (model, _) = Fdd::standard(edition).extend(&[module]).map_err(|error| wrong(&error))?;
    Ok(model)
}

/// Subscribes to all attributes of all classes outside the management object model. Returns the number of
/// these classes.
async fn subscribe(federate: &Federate, model: &Fdd) -> Result<usize, BenchError> {
    let mut classes = 0;
    for class in model.object_classes().filter(|class| !class.name.starts_with(MANAGER)) {
        let names = class.attributes.iter().filter_map(|attribute| Some(&model.attribute(*attribute)?.name));
        let names: Vec<&String> = names.filter(|name| *name != PRIVILEGE_TO_DELETE).collect();
        if names.is_empty() {
            continue;
        }
        let handle = federate.get_object_class_handle(&class.name).await?;
        let mut attributes = Vec::with_capacity(names.len());
        for name in names {
            attributes.push(federate.get_attribute_handle(handle, name).await?);
        }
        federate.subscribe_object_class_attributes(handle, attributes).await?;
        classes += 1;
    }
    Ok(classes)
}

/// A reflect without its values.
struct Reflect {
    object: ObjectInstanceHandle,
    size: usize,
    reliable: bool,
}

impl Reflect {
    /// The update behind it, which has just arrived.
    fn at(&self, begun: Instant, numbers: &mut HashMap<ObjectInstanceHandle, u32>) -> Update {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        Update {
            at: begun.elapsed(),
            object: *numbers.entry(self.object).or_insert(next),
            size: u32::try_from(self.size).unwrap_or(u32::MAX),
            reliable: self.reliable,
        }
    }
}

/// The reflect in a callback.
fn reflected(callback: Callback, reliably: TransportationTypeHandle) -> Option<Reflect> {
    let (object, values, transportation) = match callback {
        Callback::ReflectAttributeValues(reflect) => {
            (reflect.object_instance, reflect.attribute_values, reflect.transportation_type)
        }
        Callback::ReflectAttributeValuesWithTime(reflect) => {
            (reflect.object_instance, reflect.attribute_values, reflect.transportation_type)
        }
        _ => return None,
    };
    let size = values?.attribute_handle_value.iter().map(|value| value.value.len()).sum();
    Some(Reflect { object: object?, size, reliable: transportation == Some(reliably) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hla::encoding::Encode as _;

    #[test]
    fn the_model_is_read_from_its_text() {
        let text = crate::member::FOM.to_owned().encode().expect("it can be encoded");
        let model = model_of(&text).expect("it is a model");
        assert!(model.object_class_by_name("HLAobjectRoot.Entity").is_some());
        let error = model_of(b"\0\0\0\x09x").expect_err("it is no string").to_string();
        assert!(error.contains(CURRENT_FDD), "{error}");
        let nonsense = "nonsense".to_owned().encode().expect("it can be encoded");
        assert!(model_of(&nonsense).is_err());
    }

    #[test]
    fn objects_are_numbered_as_they_come() {
        let begun = Instant::now();
        let mut numbers = HashMap::new();
        let mut number = |handle: u64| {
            let reflect = Reflect { object: ObjectInstanceHandle(handle as _), size: 9, reliable: false };
            reflect.at(begun, &mut numbers).object
        };
        assert_eq!([7, 3, 7, 9].map(&mut number), [0, 1, 0, 2]);
    }
}
