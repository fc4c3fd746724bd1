//! The services, by names.

use super::Fed;
use bytes::Bytes;
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, OrderType, ResignAction};
use hla::handle::{FederateHandle, ObjectInstanceHandle, TransportationTypeHandle};

/// The result of a service call that may be refused.
pub(crate) type Refused<T = ()> = Result<T, Exception>;

/// Calls a service whose response is empty.
macro_rules! plain {
    ($fed:expr, $request:ident { $($field:ident: $value:expr),* $(,)? }) => {
        $fed.plain(Call::$request(api::$request { $($field: $value),* }))
    };
}

/// Calls a service and takes the result out of its response.
macro_rules! result {
    ($fed:expr, $request:ident { $($field:ident: $value:expr),* $(,)? } => $response:ident) => {
        match $fed.call(Call::$request(api::$request { $($field: $value),* })) {
            Ok(Answer::$response(response)) => Ok(response.result),
            Ok(other) => panic!("{} answered with {other:?}", stringify!($request)),
            Err(error) => Err(error.exception),
        }
    };
}
pub(super) use {plain, result};

pub(super) fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

pub(super) fn modules(modules: &[(&str, &str)]) -> Option<api::FomModuleSet> {
    let file = |&(name, content): &(&str, &str)| {
        let file = api::FileFomModule { name: name.to_owned(), content: bytes(content) };
        api::FomModule { fom_module: Some(api::fom_module::FomModule::File(file)) }
    };
    Some(api::FomModuleSet { fom_module: modules.iter().map(file).collect() })
}

pub(super) fn integer_time(time: i64) -> Option<api::LogicalTime> {
    Some(api::LogicalTime { data: Bytes::copy_from_slice(&time.to_be_bytes()) })
}

/// Transportation types by short names.
pub(super) fn transportation(name: &str) -> Option<TransportationTypeHandle> {
    Some(match name {
        "reliable" => TransportationTypeHandle::RELIABLE,
        "bestEffort" => TransportationTypeHandle::BEST_EFFORT,
        _ => TransportationTypeHandle(super::NOBODY),
    })
}

/// Calls that may be refused and have no result.
impl Fed {
    pub(crate) fn plain(&self, request: Call) -> Refused {
        self.call(request).map(|_| ()).map_err(|error| error.exception)
    }

    /// Calls a service and takes the result out of its response.
    pub(crate) fn ask<R: api::Request>(&self, request: R) -> Refused<R::Output> {
        let answer = self.call(request.into_call()).map_err(|error| error.exception)?;
        Ok(R::output(answer).expect("a service answers with its own result"))
    }

    pub(super) fn set(&self, names: &[&str]) -> Option<api::AttributeHandleSet> {
        Some(api::AttributeHandleSet {
            attribute_handle: names.iter().map(|name| self.attribute(name)).collect(),
        })
    }

    pub(super) fn interactions(&self, names: &[&str]) -> Option<api::InteractionClassHandleSet> {
        let handles = names.iter().filter_map(|name| self.interaction(name));
        Some(api::InteractionClassHandleSet { interaction_class_handle: handles.collect() })
    }

    /// Values are given as `"a=x b=y"`.
    pub(crate) fn values(&self, pairs: &str) -> Option<api::AttributeHandleValueMap> {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').expect("name=value");
            api::AttributeHandleValue { attribute_handle: Some(self.attribute(name)), value: bytes(value) }
        };
        Some(api::AttributeHandleValueMap {
            attribute_handle_value: pairs.split_whitespace().map(pair).collect(),
        })
    }

    pub(crate) fn parameters(&self, pairs: &str) -> Option<api::ParameterHandleValueMap> {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').expect("name=value");
            api::ParameterHandleValue { parameter_handle: Some(self.parameter(name)), value: bytes(value) }
        };
        Some(api::ParameterHandleValueMap {
            parameter_handle_value: pairs.split_whitespace().map(pair).collect(),
        })
    }
}

/// Federation management.
impl Fed {
    pub(crate) fn connect(&self) -> Refused {
        plain!(self, ConnectRequest {})
    }

    pub(crate) fn disconnect(&self) -> Refused {
        plain!(self, DisconnectRequest {})
    }

    pub(crate) fn create(&self, federation: &str, files: &[(&str, &str)], time: &str) -> Refused {
        plain!(
            self,
            CreateFederationExecutionWithModulesAndTimeRequest {
                federation_name: federation.to_owned(),
                fom_modules: modules(files),
                logical_time_implementation_name: time.to_owned(),
            }
        )
    }

    pub(crate) fn destroy(&self, federation: &str) -> Refused {
        plain!(self, DestroyFederationExecutionRequest { federation_name: federation.to_owned() })
    }

    /// Joins as a federate of type `T` with the name of this caller.
    pub(crate) fn join(&self, federation: &str, files: &[(&str, &str)]) -> Refused {
        let joined = result!(self, JoinFederationExecutionWithNameAndModulesRequest {
            federate_name: self.name.clone(),
            federate_type: "T".to_owned(),
            federation_name: federation.to_owned(),
            additional_fom_modules: modules(files),
        } => JoinFederationExecutionWithNameAndModulesResponse)?;
        self.note_joined(joined.and_then(|result| result.federate_handle), self.name.clone());
        Ok(())
    }

    pub(crate) fn note_joined(&self, handle: Option<FederateHandle>, name: String) {
        let handle = handle.expect("a federate that joined has a handle");
        self.handle.set(handle);
        self.world.0.borrow_mut().federates.insert(handle, name);
    }

    pub(crate) fn resign(&self, action: ResignAction) -> Refused {
        plain!(self, ResignFederationExecutionRequest { resign_action: action.into() })
    }

    pub(crate) fn register_sync(&self, label: &str, tag: &str) -> Refused {
        plain!(
            self,
            RegisterFederationSynchronizationPointRequest {
                synchronization_point_label: label.to_owned(),
                user_supplied_tag: bytes(tag),
            }
        )
    }

    pub(crate) fn register_sync_for(&self, label: &str, set: &[FederateHandle]) -> Refused {
        let set = api::FederateHandleSet { federate_handle: set.to_vec() };
        plain!(
            self,
            RegisterFederationSynchronizationPointWithSetRequest {
                synchronization_point_label: label.to_owned(),
                user_supplied_tag: Bytes::new(),
                synchronization_set: Some(set),
            }
        )
    }

    pub(crate) fn achieve(&self, label: &str, successfully: bool) -> Refused {
        let synchronization_point_label = label.to_owned();
        plain!(
            self,
            SynchronizationPointAchievedRequest {
                synchronization_point_label: synchronization_point_label,
                successfully: successfully,
            }
        )
    }
}

/// Object management.
impl Fed {
    pub(crate) fn reserve(&self, name: &str) -> Refused {
        plain!(self, ReserveObjectInstanceNameRequest { object_instance_name: name.to_owned() })
    }

    pub(crate) fn release(&self, name: &str) -> Refused {
        plain!(self, ReleaseObjectInstanceNameRequest { object_instance_name: name.to_owned() })
    }

    pub(crate) fn reserve_all(&self, names: &[&str]) -> Refused {
        let object_instance_names = names.iter().map(|&name| name.to_owned()).collect();
        plain!(
            self,
            ReserveMultipleObjectInstanceNamesRequest { object_instance_names: object_instance_names }
        )
    }

    pub(crate) fn release_all(&self, names: &[&str]) -> Refused {
        let object_instance_names = names.iter().map(|&name| name.to_owned()).collect();
        plain!(
            self,
            ReleaseMultipleObjectInstanceNamesRequest { object_instance_names: object_instance_names }
        )
    }

    /// Returns the number of the new instance.
    pub(crate) fn register(&self, class: &str) -> Refused<u32> {
        let registered = result!(self, RegisterObjectInstanceRequest { object_class: self.class(class) }
            => RegisterObjectInstanceResponse)?;
        Ok(number(registered))
    }

    pub(crate) fn register_as(&self, class: &str, name: &str) -> Refused<u32> {
        let registered = result!(self, RegisterObjectInstanceWithNameRequest {
            object_class: self.class(class),
            object_instance_name: name.to_owned(),
        } => RegisterObjectInstanceWithNameResponse)?;
        Ok(number(registered))
    }

    pub(crate) fn update(&self, instance: u32, values: &str) -> Refused {
        self.update_tagged(instance, values, "")
    }

    pub(crate) fn update_tagged(&self, instance: u32, values: &str, tag: &str) -> Refused {
        plain!(
            self,
            UpdateAttributeValuesRequest {
                object_instance: self.instance(instance),
                attribute_values: self.values(values),
                user_supplied_tag: bytes(tag),
            }
        )
    }

    /// Returns whether the call gave a valid retraction handle.
    pub(crate) fn update_at(&self, instance: u32, values: &str, time: i64) -> Refused<bool> {
        let retraction = result!(self, UpdateAttributeValuesWithTimeRequest {
            object_instance: self.instance(instance),
            attribute_values: self.values(values),
            user_supplied_tag: Bytes::new(),
            time: integer_time(time),
        } => UpdateAttributeValuesWithTimeResponse)?;
        Ok(retraction.is_some_and(|retraction| retraction.retraction_handle_is_valid))
    }

    pub(crate) fn send(&self, class: &str, values: &str) -> Refused {
        self.send_tagged(class, values, "")
    }

    pub(crate) fn send_tagged(&self, class: &str, values: &str, tag: &str) -> Refused {
        plain!(
            self,
            SendInteractionRequest {
                interaction_class: self.interaction(class),
                parameter_values: self.parameters(values),
                user_supplied_tag: bytes(tag),
            }
        )
    }

    pub(crate) fn send_at(&self, class: &str, values: &str, time: i64) -> Refused<bool> {
        let retraction = result!(self, SendInteractionWithTimeRequest {
            interaction_class: self.interaction(class),
            parameter_values: self.parameters(values),
            user_supplied_tag: Bytes::new(),
            time: integer_time(time),
        } => SendInteractionWithTimeResponse)?;
        Ok(retraction.is_some_and(|retraction| retraction.retraction_handle_is_valid))
    }

    pub(crate) fn direct(&self, class: &str, instance: u32, values: &str) -> Refused {
        plain!(
            self,
            SendDirectedInteractionRequest {
                interaction_class: self.interaction(class),
                object_instance: self.instance(instance),
                parameter_values: self.parameters(values),
                user_supplied_tag: Bytes::new(),
            }
        )
    }

    pub(crate) fn direct_at(&self, class: &str, instance: u32, values: &str, time: i64) -> Refused<bool> {
        let retraction = result!(self, SendDirectedInteractionWithTimeRequest {
            interaction_class: self.interaction(class),
            object_instance: self.instance(instance),
            parameter_values: self.parameters(values),
            user_supplied_tag: Bytes::new(),
            time: integer_time(time),
        } => SendDirectedInteractionWithTimeResponse)?;
        Ok(retraction.is_some_and(|retraction| retraction.retraction_handle_is_valid))
    }

    pub(crate) fn delete(&self, instance: u32) -> Refused {
        self.delete_tagged(instance, "")
    }

    pub(crate) fn delete_tagged(&self, instance: u32, tag: &str) -> Refused {
        plain!(
            self,
            DeleteObjectInstanceRequest {
                object_instance: self.instance(instance),
                user_supplied_tag: bytes(tag),
            }
        )
    }

    pub(crate) fn delete_at(&self, instance: u32, time: i64) -> Refused<bool> {
        let retraction = result!(self, DeleteObjectInstanceWithTimeRequest {
            object_instance: self.instance(instance),
            user_supplied_tag: Bytes::new(),
            time: integer_time(time),
        } => DeleteObjectInstanceWithTimeResponse)?;
        Ok(retraction.is_some_and(|retraction| retraction.retraction_handle_is_valid))
    }

    pub(crate) fn local_delete(&self, instance: u32) -> Refused {
        plain!(self, LocalDeleteObjectInstanceRequest { object_instance: self.instance(instance) })
    }

    pub(crate) fn request(&self, instance: u32, attributes: &[&str], tag: &str) -> Refused {
        plain!(
            self,
            RequestInstanceAttributeValueUpdateRequest {
                object_instance: self.instance(instance),
                attributes: self.set(attributes),
                user_supplied_tag: bytes(tag),
            }
        )
    }

    pub(crate) fn request_of_class(&self, class: &str, attributes: &[&str], tag: &str) -> Refused {
        plain!(
            self,
            RequestClassAttributeValueUpdateRequest {
                object_class: self.class(class),
                attributes: self.set(attributes),
                user_supplied_tag: bytes(tag),
            }
        )
    }
}

/// Ownership.
impl Fed {
    pub(crate) fn owns(&self, instance: u32, attribute: &str) -> Refused<bool> {
        self.ask(api::IsAttributeOwnedByFederateRequest {
            object_instance: self.instance(instance),
            attribute: Some(self.attribute(attribute)),
        })
    }

    pub(crate) fn query_ownership(&self, instance: u32, attributes: &[&str]) -> Refused {
        self.ask(api::QueryAttributeOwnershipRequest {
            object_instance: self.instance(instance),
            attributes: self.set(attributes),
        })
    }
}

/// The services of ownership management, with the attributes and a tag.
impl Fed {
    pub(crate) fn divest(&self, instance: u32, attributes: &[&str], tag: &str) -> Refused {
        self.ask(api::UnconditionalAttributeOwnershipDivestitureRequest {
            object_instance: self.instance(instance),
            attributes: self.set(attributes),
            user_supplied_tag: bytes(tag),
        })
    }

    pub(crate) fn negotiate(&self, instance: u32, attributes: &[&str], tag: &str) -> Refused {
        self.ask(api::NegotiatedAttributeOwnershipDivestitureRequest {
            object_instance: self.instance(instance),
            attributes: self.set(attributes),
            user_supplied_tag: bytes(tag),
        })
    }

    pub(crate) fn confirm_divestiture(&self, instance: u32, attributes: &[&str], tag: &str) -> Refused {
        self.ask(api::ConfirmDivestitureRequest {
            object_instance: self.instance(instance),
            confirmed_attributes: self.set(attributes),
            user_supplied_tag: bytes(tag),
        })
    }

    pub(crate) fn cancel_negotiated(&self, instance: u32, attributes: &[&str]) -> Refused {
        self.ask(api::CancelNegotiatedAttributeOwnershipDivestitureRequest {
            object_instance: self.instance(instance),
            attributes: self.set(attributes),
        })
    }

    pub(crate) fn acquire(&self, instance: u32, attributes: &[&str], tag: &str) -> Refused {
        self.ask(api::AttributeOwnershipAcquisitionRequest {
            object_instance: self.instance(instance),
            desired_attributes: self.set(attributes),
            user_supplied_tag: bytes(tag),
        })
    }

    pub(crate) fn acquire_if_available(&self, instance: u32, attributes: &[&str], tag: &str) -> Refused {
        self.ask(api::AttributeOwnershipAcquisitionIfAvailableRequest {
            object_instance: self.instance(instance),
            desired_attributes: self.set(attributes),
            user_supplied_tag: bytes(tag),
        })
    }

    pub(crate) fn cancel_acquisition(&self, instance: u32, attributes: &[&str]) -> Refused {
        self.ask(api::CancelAttributeOwnershipAcquisitionRequest {
            object_instance: self.instance(instance),
            attributes: self.set(attributes),
        })
    }

    pub(crate) fn deny_release(&self, instance: u32, attributes: &[&str], tag: &str) -> Refused {
        self.ask(api::AttributeOwnershipReleaseDeniedRequest {
            object_instance: self.instance(instance),
            attributes: self.set(attributes),
            user_supplied_tag: bytes(tag),
        })
    }

    /// The names of the attributes that were divested.
    pub(crate) fn divest_if_wanted(
        &self,
        instance: u32,
        attributes: &[&str],
        tag: &str,
    ) -> Refused<Vec<String>> {
        let divested = self.ask(api::AttributeOwnershipDivestitureIfWantedRequest {
            object_instance: self.instance(instance),
            attributes: self.set(attributes),
            user_supplied_tag: bytes(tag),
        })?;
        let world = self.world.0.borrow();
        let name = |handle| world.model.attribute(handle).map(|attribute| attribute.name.clone());
        Ok(divested.into_iter().filter_map(name).collect())
    }
}

/// Transportation and order types.
impl Fed {
    pub(crate) fn change_transportation(&self, instance: u32, attributes: &[&str], to: &str) -> Refused {
        plain!(
            self,
            RequestAttributeTransportationTypeChangeRequest {
                object_instance: self.instance(instance),
                attributes: self.set(attributes),
                transportation_type: transportation(to),
            }
        )
    }

    pub(crate) fn change_default_transportation(
        &self,
        class: &str,
        attributes: &[&str],
        to: &str,
    ) -> Refused {
        plain!(
            self,
            ChangeDefaultAttributeTransportationTypeRequest {
                object_class: self.class(class),
                attributes: self.set(attributes),
                transportation_type: transportation(to),
            }
        )
    }

    pub(crate) fn query_transportation(&self, instance: u32, attribute: &str) -> Refused {
        plain!(
            self,
            QueryAttributeTransportationTypeRequest {
                object_instance: self.instance(instance),
                attribute: Some(self.attribute(attribute)),
            }
        )
    }

    pub(crate) fn change_interaction_transportation(&self, class: &str, to: &str) -> Refused {
        plain!(
            self,
            RequestInteractionTransportationTypeChangeRequest {
                interaction_class: self.interaction(class),
                transportation_type: transportation(to),
            }
        )
    }

    pub(crate) fn query_interaction_transportation(&self, federate: FederateHandle, class: &str) -> Refused {
        plain!(
            self,
            QueryInteractionTransportationTypeRequest {
                federate: Some(federate),
                interaction_class: self.interaction(class),
            }
        )
    }

    pub(crate) fn change_order(&self, instance: u32, attributes: &[&str], order: i32) -> Refused {
        plain!(
            self,
            ChangeAttributeOrderTypeRequest {
                object_instance: self.instance(instance),
                attributes: self.set(attributes),
                order_type: order,
            }
        )
    }

    pub(crate) fn change_default_order(&self, class: &str, attributes: &[&str], order: i32) -> Refused {
        plain!(
            self,
            ChangeDefaultAttributeOrderTypeRequest {
                the_object_class: self.class(class),
                attributes: self.set(attributes),
                order_type: order,
            }
        )
    }

    pub(crate) fn change_interaction_order(&self, class: &str, order: i32) -> Refused {
        plain!(
            self,
            ChangeInteractionOrderTypeRequest {
                interaction_class: self.interaction(class),
                order_type: order,
            }
        )
    }
}

pub(super) fn number(instance: Option<ObjectInstanceHandle>) -> u32 {
    let handle = instance.unwrap_or_default().0;
    ((handle >> 32) as u32).wrapping_sub(1) << 24 | handle as u32
}
