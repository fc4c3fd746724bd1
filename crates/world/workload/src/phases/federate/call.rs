//! The calls of a federate.

use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, OrderType, ResignAction};
use hla::handle::{AttributeHandle, ObjectInstanceHandle};

use super::super::order::{AdvanceService, Class};
use super::super::regions::DIMENSIONS;
use super::super::step::Service;
use super::Federate;

/// The label of a save.
const LABEL: &str = "bench";
/// The value of an update in a step of logical time.
const STEP_VALUE: &[u8] = &[7; 100];

impl Federate {
    /// The call of a service in a step.
    pub(super) fn request(&mut self, service: Service) -> Call {
        let class_of = |class: Class| self.classes[class as usize];
        let set = |class: Class| Some(self.attributes[class as usize].into_iter().collect());
        match service {
            Service::Create => {
                Call::CreateFederationExecutionRequest(api::CreateFederationExecutionRequest {
                    federation_name: self.federation.clone(),
                    fom_module: self.module.clone(),
                })
            }
            Service::Join => Call::JoinFederationExecutionRequest(api::JoinFederationExecutionRequest {
                federate_type: "bench".to_owned(),
                federation_name: self.federation.clone(),
            }),
            Service::ClassHandle(class) => {
                let object_class_name = class.names()[0].to_owned();
                Call::GetObjectClassHandleRequest(api::GetObjectClassHandleRequest { object_class_name })
            }
            Service::AttributeHandle(class) => {
                Call::GetAttributeHandleRequest(api::GetAttributeHandleRequest {
                    object_class: class_of(class),
                    attribute_name: class.names()[1].to_owned(),
                })
            }
            Service::Publish(class) => {
                let (object_class, attributes) = (class_of(class), set(class));
                let request = api::PublishObjectClassAttributesRequest { object_class, attributes };
                Call::PublishObjectClassAttributesRequest(request)
            }
            Service::Unpublish(class) => {
                let object_class = class_of(class);
                Call::UnpublishObjectClassRequest(api::UnpublishObjectClassRequest { object_class })
            }
            Service::Subscribe(class) => {
                let (object_class, attributes) = (class_of(class), set(class));
                let request = api::SubscribeObjectClassAttributesRequest { object_class, attributes };
                Call::SubscribeObjectClassAttributesRequest(request)
            }
            Service::Register(class) => {
                let object_class = class_of(class);
                Call::RegisterObjectInstanceRequest(api::RegisterObjectInstanceRequest { object_class })
            }
            Service::RequestValues(class) => {
                let request = api::RequestClassAttributeValueUpdateRequest {
                    object_class: class_of(class),
                    attributes: set(class),
                    user_supplied_tag: Bytes::new(),
                };
                Call::RequestClassAttributeValueUpdateRequest(request)
            }
            Service::Acquire => {
                let desired_attributes = set(Class::Ping);
                let request = api::AttributeOwnershipAcquisitionRequest {
                    object_instance: self.discovered.pop_front(),
                    desired_attributes,
                    user_supplied_tag: Bytes::new(),
                };
                Call::AttributeOwnershipAcquisitionRequest(request)
            }
            Service::Regulate(lookahead) => {
                let lookahead = self.clock.regulate(lookahead);
                Call::EnableTimeRegulationRequest(api::EnableTimeRegulationRequest { lookahead })
            }
            Service::UpdateFirst(class, size) => self.flood_update(class, size as usize),
            Service::Constrain => Call::EnableTimeConstrainedRequest(api::EnableTimeConstrainedRequest {}),
            other => self.request_of_regions(other).unwrap_or_else(|| membership(other)),
        }
    }

    /// The call if it is one on the square.
    fn request_of_regions(&mut self, service: Service) -> Option<Call> {
        let regions = self.regions.as_mut()?;
        let object_class = self.classes[Class::Moving as usize];
        let attribute = self.attributes[Class::Moving as usize];
        Some(match service {
            Service::DimensionHandle(index) => {
                let dimension_name = DIMENSIONS.get(index).copied().unwrap_or_default().to_owned();
                Call::GetDimensionHandleRequest(api::GetDimensionHandleRequest { dimension_name })
            }
            Service::CreateRegion => regions.create(),
            Service::SetRangeBounds => regions.set_bounds(),
            Service::CommitRegions => regions.commit(),
            Service::RegisterWithRegion => {
                let index = regions.next_to_register();
                let attributes_and_regions = Some(regions.with_region(attribute, index));
                let request =
                    api::RegisterObjectInstanceWithRegionsRequest { object_class, attributes_and_regions };
                Call::RegisterObjectInstanceWithRegionsRequest(request)
            }
            Service::SubscribeWithRegion => {
                let request = api::SubscribeObjectClassAttributesWithRegionsRequest {
                    object_class,
                    attributes_and_regions: Some(regions.with_region(attribute, 0)),
                    active: true,
                };
                Call::SubscribeObjectClassAttributesWithRegionsRequest(request)
            }
            Service::UpdateMoving(size) => {
                let (index, value) = regions.next_value(size as usize);
                update(self.registered.get(index).copied(), attribute, value.into())
            }
            _ => return None,
        })
    }

    /// An update of a flood. All values of one size share their octets.
    fn flood_update(&mut self, class: Class, size: usize) -> Call {
        if self.value.len() != size {
            self.value = vec![1; size].into();
        }
        self.update_first(class, self.value.clone())
    }

    /// An update of its first object of a class.
    pub(super) fn update_first(&self, class: Class, value: Bytes) -> Call {
        update(self.first[class as usize], self.attributes[class as usize], value)
    }

    /// An update of its object in a step of logical time.
    pub(super) fn step_update(&self, order: OrderType) -> Call {
        let value = Bytes::from_static(STEP_VALUE);
        match order {
            OrderType::Receive => self.update_first(Class::Step, value),
            OrderType::Timestamp => {
                let object = self.first[Class::Step as usize];
                let attribute = self.attributes[Class::Step as usize];
                let time = self.clock.stamp();
                let request = api::UpdateAttributeValuesWithTimeRequest {
                    object_instance: object,
                    attribute_values: Some(values(attribute, value)),
                    user_supplied_tag: Bytes::new(),
                    time,
                };
                Call::UpdateAttributeValuesWithTimeRequest(request)
            }
        }
    }
}

/// The calls that need no handle.
fn membership(service: Service) -> Call {
    match service {
        Service::Save => {
            Call::RequestFederationSaveRequest(api::RequestFederationSaveRequest { label: LABEL.to_owned() })
        }
        Service::Restore => Call::RequestFederationRestoreRequest(api::RequestFederationRestoreRequest {
            label: LABEL.to_owned(),
        }),
        Service::AutomaticResign => {
            let value = ResignAction::DeleteObjects.into();
            Call::SetAutomaticResignDirectiveRequest(api::SetAutomaticResignDirectiveRequest { value })
        }
        Service::Resign(directive) => {
            let resign_action = directive.into();
            let request = api::ResignFederationExecutionRequest { resign_action };
            Call::ResignFederationExecutionRequest(request)
        }
        _ => Call::DisconnectRequest(api::DisconnectRequest {}),
    }
}

pub(super) fn update(
    object_instance: Option<ObjectInstanceHandle>,
    attribute: Option<AttributeHandle>,
    value: Bytes,
) -> Call {
    Call::UpdateAttributeValuesRequest(api::UpdateAttributeValuesRequest {
        object_instance,
        attribute_values: Some(values(attribute, value)),
        user_supplied_tag: Bytes::new(),
    })
}

fn values(attribute_handle: Option<AttributeHandle>, value: Bytes) -> api::AttributeHandleValueMap {
    api::AttributeHandleValueMap {
        attribute_handle_value: vec![api::AttributeHandleValue { attribute_handle, value }],
    }
}

/// The request of an advance to `time`.
pub(super) fn advance(service: AdvanceService, time: Option<api::LogicalTime>) -> Call {
    match service {
        AdvanceService::TimeAdvance => {
            Call::TimeAdvanceRequestRequest(api::TimeAdvanceRequestRequest { time })
        }
        AdvanceService::NextMessage => {
            Call::NextMessageRequestRequest(api::NextMessageRequestRequest { time })
        }
    }
}
