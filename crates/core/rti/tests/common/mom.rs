//! The management object model as tests see it: its values decoded by their datatypes in the MIM.

use super::calls::{Refused, plain};
use super::{Fed, Inner};
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, CallbackRequest, Message as _, callback_request::CallbackRequest as Callback};
use hla::encoding::{DataType, Encode, OpaqueData, Value};
use hla::fom::Fdd;
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use std::collections::BTreeMap;

/// The instances as a federate has seen them: by instance, the last value of each attribute.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct View(pub(crate) BTreeMap<String, BTreeMap<String, String>>);

impl View {
    /// Takes the callbacks of a federate, all of which must be about the management object model.
    pub(crate) fn take(&mut self, federate: &Fed) {
        for callback in federate.managed() {
            let (kind, rest) =
                callback.strip_suffix(')').and_then(|text| text.split_once('(')).expect("a callback");
            let (name, rest) = rest.split_once(", ").unwrap_or((rest, ""));
            match kind {
                "discover" => {
                    assert!(self.0.insert(name.to_owned(), BTreeMap::new()).is_none(), "{callback}");
                }
                "remove" => {
                    assert!(self.0.remove(name).is_some(), "{callback}");
                }
                "reflect" => {
                    let values = self.0.get_mut(name).unwrap_or_else(|| panic!("unknown: {callback}"));
                    let pairs = rest.split(' ').filter_map(|pair| pair.split_once('='));
                    values.extend(pairs.map(|(attribute, value)| (attribute.to_owned(), value.to_owned())));
                }
                _ => panic!("{callback}"),
            }
        }
    }

    pub(crate) fn value(&self, instance: &str, attribute: &str) -> &str {
        self.0.get(instance).and_then(|values| values.get(attribute)).map_or("?", String::as_str)
    }
}

pub(crate) const FEDERATE: &str = "HLAmanager.HLAfederate";
pub(crate) const FEDERATION: &str = "HLAmanager.HLAfederation";

/// A value in short: handles and times as numbers, `-` for no octets.
pub(crate) fn short(value: &Value) -> String {
    let list = |values: &[Value]| values.iter().map(short).collect::<Vec<_>>().join(",");
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Text(text) => text.clone(),
        Value::Octets(octets) if octets.is_empty() => "-".to_owned(),
        Value::Octets(octets) => {
            octets.iter().fold(0_u64, |number, &octet| number << 8 | u64::from(octet)).to_string()
        }
        Value::Record(values) => format!("({})", list(values)),
        Value::Array(values) => format!("[{}]", list(values)),
        other => format!("{other:?}"),
    }
}

/// Decodes a value by the datatype of that name. All of the octets must belong to it.
pub(crate) fn decoded(model: &Fdd, datatype: &str, octets: &[u8]) -> String {
    let known = DataType::from_fdd(model, datatype).expect("a datatype of the model");
    short(&known.decode(octets).unwrap_or_else(|error| panic!("no {datatype}: {octets:?}: {error}")))
}

/// An encoded number, handle of a federate, or text.
pub(crate) fn number(value: i32) -> Bytes {
    Encode::encode(&value).expect("a number")
}

pub(crate) fn handle_of(federate: &Fed) -> Bytes {
    OpaqueData(federate.handle.get().to_octets().into()).encode().expect("a handle")
}

pub(crate) fn text(value: &str) -> Bytes {
    value.encode().expect("a short text")
}

/// The handle of the HLAfederate instance for a federate.
pub(crate) fn instance_of(federate: &Fed) -> ObjectInstanceHandle {
    ObjectInstanceHandle(federate.handle.get().0.into())
}

impl Inner {
    fn named(&self, instance: Option<ObjectInstanceHandle>) -> String {
        let handle = instance.unwrap_or_default();
        match u32::try_from(handle.0) {
            Ok(u32::MAX) => "federation".to_owned(),
            Ok(number) => match self.federates.get(&FederateHandle(number)) {
                Some(name) => name.clone(),
                None => number.to_string(),
            },
            Err(_) => format!("{handle:?}"),
        }
    }

    fn show_managed(&self, body: &Bytes) -> String {
        let callback = CallbackRequest::decode(&body[..]).expect("a callback").callback_request;
        match callback.expect("a known callback") {
            Callback::DiscoverObjectInstance(r) => {
                assert_eq!(r.producing_federate, Some(FederateHandle::INVALID));
                let class = self.model.object_class(r.object_class.unwrap_or_default()).expect("a class");
                format!("discover({}, {})", self.named(r.object_instance), class.short_name())
            }
            Callback::RemoveObjectInstance(r) => format!("remove({})", self.named(r.object_instance)),
            Callback::ReflectAttributeValues(r) => {
                assert_eq!(
                    (r.producing_federate, &r.user_supplied_tag[..]),
                    (Some(FederateHandle::INVALID), &b""[..])
                );
                let pairs = r.attribute_values.unwrap_or_default().attribute_handle_value;
                let values = pairs.iter().map(|pair| {
                    let attribute = self.model.attribute(pair.attribute_handle.unwrap_or_default());
                    let attribute = attribute.expect("an attribute of the model");
                    let name = attribute.name.strip_prefix("HLA").unwrap_or(&attribute.name);
                    format!("{name}={}", decoded(&self.model, &attribute.datatype, &pair.value))
                });
                let values = values.collect::<Vec<_>>().join(" ");
                format!("reflect({}, {values})", self.named(r.object_instance))
            }
            Callback::ReceiveInteraction(r) if r.producing_federate == Some(FederateHandle::INVALID) => {
                let class = self.model.interaction_class(r.interaction_class.unwrap_or_default());
                let pairs = r.parameter_values.unwrap_or_default().parameter_handle_value;
                let values = pairs.iter().map(|pair| {
                    let parameter = self.model.parameter(pair.parameter_handle.unwrap_or_default());
                    let parameter = parameter.expect("a parameter of the model");
                    let name = parameter.name.strip_prefix("HLA").unwrap_or(&parameter.name);
                    format!("{name}={}", decoded(&self.model, &parameter.datatype, &pair.value))
                });
                let values = values.collect::<Vec<_>>().join(" ");
                format!("{}({values})", class.expect("a class").short_name())
            }
            _ => self.show(body),
        }
    }
}

impl Fed {
    fn attributes_of(&self, class: &str, names: &[&str]) -> Option<api::AttributeHandleSet> {
        let inner = self.world.0.borrow();
        let class = inner.model.object_class_by_name(class).expect("a class of the MIM");
        let handle = |name: &&str| {
            let name = format!("HLA{name}");
            inner.model.attribute_by_name(class, &name).unwrap_or_else(|| panic!("no {name}"))
        };
        Some(api::AttributeHandleSet { attribute_handle: names.iter().map(handle).collect() })
    }

    /// All attributes of a class, but not the privilege to delete.
    pub(crate) fn all_of(&self, class: &str) -> Vec<String> {
        let inner = self.world.0.borrow();
        let class = inner.model.object_class_by_name(class).expect("a class of the MIM");
        let handles = inner.model.object_class(class).expect("a class").attributes.iter();
        let names = handles.filter_map(|&at| inner.model.attribute(at)).map(|at| at.name[3..].to_owned());
        names.filter(|name| name != "privilegeToDeleteObject").collect()
    }

    /// Subscribes attributes by their names without `HLA`.
    pub(crate) fn watch(&self, class: &str, names: &[&str]) -> Refused {
        let attributes = self.attributes_of(class, names);
        plain!(
            self,
            SubscribeObjectClassAttributesRequest { object_class: self.class(class), attributes: attributes }
        )
    }

    pub(crate) fn unwatch(&self, class: &str) -> Refused {
        self.unsubscribe_class(class)
    }

    pub(crate) fn request_managed(
        &self,
        class: &str,
        instance: ObjectInstanceHandle,
        names: &[&str],
    ) -> Refused {
        plain!(
            self,
            RequestInstanceAttributeValueUpdateRequest {
                object_instance: Some(instance),
                attributes: self.attributes_of(class, names),
                user_supplied_tag: Bytes::new(),
            }
        )
    }

    pub(crate) fn request_all_managed(&self, class: &str, names: &[&str]) -> Refused {
        plain!(
            self,
            RequestClassAttributeValueUpdateRequest {
                object_class: self.class(class),
                attributes: self.attributes_of(class, names),
                user_supplied_tag: Bytes::new(),
            }
        )
    }

    /// Sends an interaction to the RTI: a class below HLAmanager, and parameters without `HLA`.
    pub(crate) fn ask_rti(&self, class: &str, parameters: &[(&str, Bytes)]) -> Refused {
        let name = format!("HLAmanager.{class}");
        self.publish_interaction(&name)?;
        let interaction_class = self.interaction(&name);
        let map = {
            let inner = self.world.0.borrow();
            let pair = |(name, value): &(&str, Bytes)| {
                let class = interaction_class.unwrap_or_default();
                let parameter_handle = inner.model.parameter_by_name(class, &format!("HLA{name}"));
                assert!(parameter_handle.is_some(), "{name}");
                api::ParameterHandleValue { parameter_handle, value: value.clone() }
            };
            api::ParameterHandleValueMap { parameter_handle_value: parameters.iter().map(pair).collect() }
        };
        plain!(
            self,
            SendInteractionRequest {
                interaction_class: interaction_class,
                parameter_values: Some(map),
                user_supplied_tag: Bytes::new(),
            }
        )
    }

    /// Subscribes each class of reports, so that each comes with all of its parameters.
    pub(crate) fn hear_all_reports(&self) -> Refused {
        let names: Vec<String> = {
            let inner = self.world.0.borrow();
            let all = inner.model.interaction_classes().map(|class| class.name.clone());
            all.filter(|name| name.contains(".HLAmanager.") && name.contains(".HLAreport.")).collect()
        };
        names.iter().try_for_each(|name| self.subscribe_interaction(name))?;
        self.skip();
        Ok(())
    }

    /// The callbacks since the last call, with those about the management object model decoded.
    pub(crate) fn managed(&self) -> Vec<String> {
        let taken = self.world.0.borrow_mut().mail.get_mut(&self.caller).map(std::mem::take);
        let inner = self.world.0.borrow();
        taken.unwrap_or_default().iter().map(|body| inner.show_managed(body)).collect()
    }
}
