//! Callbacks in a form that makes tests readable.

use super::Inner;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, AttributeHandleSet, CallbackRequest, Message as _};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle,
    ObjectInstanceHandle, TransportationTypeHandle,
};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Inner {
    /// A callback like `reflect(1, a=x b=y, reliable, A)`; a tag and a time follow if there are any.
    pub(super) fn show(&self, body: &[u8]) -> String {
        let callback = CallbackRequest::decode(body).expect("the RTI encodes what can be decoded");
        let callback = callback.callback_request.expect("a callback is one of the known ones");
        self.messages(&callback)
            .or_else(|| self.of_objects(&callback))
            .or_else(|| self.of_ownership(&callback))
            .or_else(|| self.of_classes(&callback))
            .or_else(|| of_time(&callback))
            .or_else(|| self.of_federations(&callback))
            .or_else(|| self.of_saves(&callback))
            .unwrap_or_else(|| format!("{callback:?}"))
    }

    fn messages(&self, callback: &Callback) -> Option<String> {
        Some(match callback {
            Callback::ReflectAttributeValues(r) => {
                let end = self.end(r.transportation_type, r.producing_federate, &r.user_supplied_tag, None);
                let end = end + &self.regions(r.optional_sent_regions.as_ref());
                format!(
                    "reflect({}, {}, {end})",
                    number(r.object_instance),
                    self.attributes(&r.attribute_values)
                )
            }
            Callback::ReflectAttributeValuesWithTime(r) => {
                let time = r.time.as_ref();
                let end = self.end(r.transportation_type, r.producing_federate, &r.user_supplied_tag, time);
                let orders = (r.sent_order_type, r.received_order_type);
                let end = end + &order(orders, r.optional_retraction);
                let end = end + &self.regions(r.optional_sent_regions.as_ref());
                format!(
                    "reflect({}, {}, {end})",
                    number(r.object_instance),
                    self.attributes(&r.attribute_values)
                )
            }
            Callback::ReceiveInteraction(r) => {
                let end = self.end(r.transportation_type, r.producing_federate, &r.user_supplied_tag, None);
                let end = end + &self.regions(r.optional_sent_regions.as_ref());
                format!(
                    "receive({}, {}, {end})",
                    self.sent(r.interaction_class),
                    self.parameters(&r.parameter_values)
                )
            }
            Callback::ReceiveInteractionWithTime(r) => {
                let time = r.time.as_ref();
                let end = self.end(r.transportation_type, r.producing_federate, &r.user_supplied_tag, time);
                let orders = (r.sent_order_type, r.received_order_type);
                let end = end + &order(orders, r.optional_retraction);
                let end = end + &self.regions(r.optional_sent_regions.as_ref());
                format!(
                    "receive({}, {}, {end})",
                    self.sent(r.interaction_class),
                    self.parameters(&r.parameter_values)
                )
            }
            Callback::ReceiveDirectedInteraction(r) => {
                let end = self.end(r.transportation_type, r.producing_federate, &r.user_supplied_tag, None);
                let (class, values) = (self.sent(r.interaction_class), self.parameters(&r.parameter_values));
                format!("directed({class}, {}, {values}, {end})", number(r.object_instance))
            }
            Callback::ReceiveDirectedInteractionWithTime(r) => {
                let time = r.time.as_ref();
                let end = self.end(r.transportation_type, r.producing_federate, &r.user_supplied_tag, time);
                let orders = (r.sent_order_type, r.received_order_type);
                let end = end + &order(orders, r.optional_retraction);
                let (class, values) = (self.sent(r.interaction_class), self.parameters(&r.parameter_values));
                format!("directed({class}, {}, {values}, {end})", number(r.object_instance))
            }
            Callback::RemoveObjectInstance(r) => {
                let end = tag_and_time(&r.user_supplied_tag, None);
                format!("remove({}, {}{end})", number(r.object_instance), self.federate(r.producing_federate))
            }
            Callback::RemoveObjectInstanceWithTime(r) => {
                let orders = (r.sent_order_type, r.received_order_type);
                let end = tag_and_time(&r.user_supplied_tag, r.time.as_ref());
                let end = end + &order(orders, r.optional_retraction);
                format!("remove({}, {}{end})", number(r.object_instance), self.federate(r.producing_federate))
            }
            _ => return None,
        })
    }

    /// Callbacks of ownership management.
    fn of_ownership(&self, callback: &Callback) -> Option<String> {
        Some(match callback {
            Callback::InformAttributeOwnership(r) => {
                let (instance, owner) = (number(r.object_instance), self.federate(r.federate));
                format!("owned({instance}, {}, {owner})", self.set(&r.attributes))
            }
            Callback::AttributeIsNotOwned(r) => {
                format!("notOwned({}, {})", number(r.object_instance), self.set(&r.attributes))
            }
            Callback::RequestAttributeOwnershipAssumption(r) => {
                let end = tag_and_time(&r.user_supplied_tag, None);
                format!("offered({}, {}{end})", number(r.object_instance), self.set(&r.offered_attributes))
            }
            Callback::RequestDivestitureConfirmation(r) => {
                let end = tag_and_time(&r.user_supplied_tag, None);
                format!("confirm({}, {}{end})", number(r.object_instance), self.set(&r.released_attributes))
            }
            Callback::AttributeOwnershipAcquisitionNotification(r) => {
                let end = tag_and_time(&r.user_supplied_tag, None);
                format!("acquired({}, {}{end})", number(r.object_instance), self.set(&r.secured_attributes))
            }
            Callback::AttributeOwnershipUnavailable(r) => {
                let end = tag_and_time(&r.user_supplied_tag, None);
                format!("unavailable({}, {}{end})", number(r.object_instance), self.set(&r.attributes))
            }
            Callback::RequestAttributeOwnershipRelease(r) => {
                let end = tag_and_time(&r.user_supplied_tag, None);
                format!("release({}, {}{end})", number(r.object_instance), self.set(&r.candidate_attributes))
            }
            Callback::ConfirmAttributeOwnershipAcquisitionCancellation(r) => {
                format!("cancelled({}, {})", number(r.object_instance), self.set(&r.attributes))
            }
            _ => return None,
        })
    }

    fn of_objects(&self, callback: &Callback) -> Option<String> {
        Some(match callback {
            Callback::DiscoverObjectInstance(r) => {
                let (instance, class) = (number(r.object_instance), self.class(r.object_class));
                let name = &r.object_instance_name;
                let made = name.starts_with("HLAobj_");
                let name = if made { String::new() } else { format!(" {name}") };
                format!("discover({instance}, {class}{name}, {})", self.federate(r.producing_federate))
            }
            Callback::AttributesInScope(r) => {
                format!("inScope({}, {})", number(r.object_instance), self.set(&r.attributes))
            }
            Callback::AttributesOutOfScope(r) => {
                format!("outOfScope({}, {})", number(r.object_instance), self.set(&r.attributes))
            }
            Callback::ProvideAttributeValueUpdate(r) => {
                let end = tag_and_time(&r.user_supplied_tag, None);
                format!("provide({}, {}{end})", number(r.object_instance), self.set(&r.attributes))
            }
            Callback::TurnUpdatesOnForObjectInstance(r) => {
                format!("updatesOn({}, {})", number(r.object_instance), self.set(&r.attributes))
            }
            Callback::TurnUpdatesOnForObjectInstanceWithRate(r) => {
                let (instance, rate) = (number(r.object_instance), &r.update_rate_designator);
                format!("updatesOn({instance}, {}, {rate})", self.set(&r.attributes))
            }
            Callback::TurnUpdatesOffForObjectInstance(r) => {
                format!("updatesOff({}, {})", number(r.object_instance), self.set(&r.attributes))
            }
            Callback::ConfirmAttributeTransportationTypeChange(r) => {
                let (instance, how) = (number(r.object_instance), transportation(r.transportation_type));
                format!("confirmTransportation({instance}, {}, {how})", self.set(&r.attributes))
            }
            Callback::ReportAttributeTransportationType(r) => {
                let (instance, how) = (number(r.object_instance), transportation(r.transportation_type));
                format!(
                    "reportTransportation({instance}, {}, {how})",
                    self.attribute_name(r.attribute.unwrap())
                )
            }
            _ => return None,
        })
    }

    fn of_classes(&self, callback: &Callback) -> Option<String> {
        Some(match callback {
            Callback::StartRegistrationForObjectClass(r) => {
                format!("startRegistration({})", self.class(r.object_class))
            }
            Callback::StopRegistrationForObjectClass(r) => {
                format!("stopRegistration({})", self.class(r.object_class))
            }
            Callback::TurnInteractionsOn(r) => format!("interactionsOn({})", self.sent(r.interaction_class)),
            Callback::TurnInteractionsOff(r) => {
                format!("interactionsOff({})", self.sent(r.interaction_class))
            }
            Callback::ConfirmInteractionTransportationTypeChange(r) => {
                let how = transportation(r.transportation_type);
                format!("confirmTransportation({}, {how})", self.sent(r.interaction_class))
            }
            Callback::ReportInteractionTransportationType(r) => {
                let (class, how) = (self.sent(r.interaction_class), transportation(r.transportation_type));
                format!("reportTransportation({}, {class}, {how})", self.federate(r.federate))
            }
            _ => return None,
        })
    }

    fn of_federations(&self, callback: &Callback) -> Option<String> {
        Some(match callback {
            Callback::ObjectInstanceNameReservationSucceeded(r) => {
                format!("reserved({})", r.object_instance_name)
            }
            Callback::ObjectInstanceNameReservationFailed(r) => {
                format!("notReserved({})", r.object_instance_name)
            }
            Callback::MultipleObjectInstanceNameReservationSucceeded(r) => {
                format!("reservedAll({})", r.object_instance_names.join(" "))
            }
            Callback::MultipleObjectInstanceNameReservationFailed(r) => {
                format!("notReservedAll({})", r.object_instance_names.join(" "))
            }
            Callback::SynchronizationPointRegistrationSucceeded(r) => {
                format!("registered({})", r.synchronization_point_label)
            }
            Callback::SynchronizationPointRegistrationFailed(r) => {
                format!("notRegistered({}, {})", r.synchronization_point_label, r.reason().as_str_name())
            }
            Callback::AnnounceSynchronizationPoint(r) => {
                let end = tag_and_time(&r.user_supplied_tag, None);
                format!("announce({}{end})", r.synchronization_point_label)
            }
            Callback::FederationSynchronized(r) => {
                let failed = &r.failed_to_sync_set.as_ref().expect("the set is always there").federate_handle;
                let failed: Vec<_> = failed.iter().map(|&f| self.federate(Some(f))).collect();
                format!("synchronized({}, [{}])", r.synchronization_point_label, failed.join(" "))
            }
            Callback::ReportFederationExecutions(r) => {
                let all =
                    &r.report.as_ref().expect("the set is always there").federation_execution_information;
                let names: Vec<_> = all
                    .iter()
                    .map(|f| {
                        format!("{}:{}", f.federation_execution_name, f.logical_time_implementation_name)
                    })
                    .collect();
                format!("federations({})", names.join(" "))
            }
            Callback::ReportFederationExecutionMembers(r) => {
                let report = r.report.as_ref().expect("the set is always there");
                let all = &report.federation_execution_member_information;
                let names: Vec<_> =
                    all.iter().map(|m| format!("{}:{}", m.federate_name, m.federate_type)).collect();
                format!("members({}, {})", r.federation_name, names.join(" "))
            }
            Callback::ReportFederationExecutionDoesNotExist(r) => {
                format!("noFederation({})", r.federation_name)
            }
            _ => return None,
        })
    }

    fn end(
        &self,
        how: Option<TransportationTypeHandle>,
        producer: Option<FederateHandle>,
        tag: &[u8],
        time: Option<&api::LogicalTime>,
    ) -> String {
        format!("{}, {}{}", transportation(how), self.federate(producer), tag_and_time(tag, time))
    }

    /// Conveyed regions, like `, [X=0..5 Y=3..4; X=7..9]`.
    fn regions(&self, conveyed: Option<&api::ConveyedRegionSet>) -> String {
        let range = |range: &api::DimensionAndRange| {
            let dimension = self.model.dimension(range.dimension_handle.unwrap_or_default());
            let bounds = range.range_bounds.expect("a conveyed range has bounds");
            let name = &dimension.expect("callbacks name known dimensions").name;
            format!("{name}={}..{}", bounds.lower, bounds.upper)
        };
        let region = |region: &api::ConveyedRegion| {
            region.dimension_and_range.iter().map(range).collect::<Vec<_>>().join(" ")
        };
        let regions = |set: &api::ConveyedRegionSet| {
            format!(", [{}]", set.conveyed_regions.iter().map(region).collect::<Vec<_>>().join("; "))
        };
        conveyed.map_or(String::new(), regions)
    }

    pub(super) fn federate(&self, handle: Option<FederateHandle>) -> String {
        let handle = handle.unwrap_or_default();
        if !handle.is_valid() {
            return "RTI".to_owned();
        }
        self.federates.get(&handle).cloned().unwrap_or_else(|| format!("{handle:?}"))
    }

    fn class(&self, handle: Option<ObjectClassHandle>) -> String {
        let class = self.model.object_class(handle.unwrap_or_default());
        let name = &class.expect("callbacks name known classes").name;
        name.strip_prefix("HLAobjectRoot.").unwrap_or(name).to_owned()
    }

    fn sent(&self, handle: Option<InteractionClassHandle>) -> String {
        let class = self.model.interaction_class(handle.unwrap_or_default());
        let name = &class.expect("callbacks name known classes").name;
        name.strip_prefix("HLAinteractionRoot.").unwrap_or(name).to_owned()
    }

    fn attribute_name(&self, handle: AttributeHandle) -> String {
        let name = &self.model.attribute(handle).expect("callbacks name known attributes").name;
        if name == hla::fom::PRIVILEGE_TO_DELETE { "privilege".to_owned() } else { name.clone() }
    }

    fn set(&self, set: &Option<AttributeHandleSet>) -> String {
        let handles = &set.as_ref().expect("the set is always there").attribute_handle;
        let names: Vec<_> = handles.iter().map(|&handle| self.attribute_name(handle)).collect();
        names.join(" ")
    }

    fn attributes(&self, map: &Option<api::AttributeHandleValueMap>) -> String {
        let pairs = &map.as_ref().expect("the map is always there").attribute_handle_value;
        let show = |pair: &api::AttributeHandleValue| {
            format!("{}={}", self.attribute_name(pair.attribute_handle.unwrap()), text(&pair.value))
        };
        pairs.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    fn parameters(&self, map: &Option<api::ParameterHandleValueMap>) -> String {
        let pairs = &map.as_ref().expect("the map is always there").parameter_handle_value;
        let show = |pair: &api::ParameterHandleValue| {
            let parameter = self.model.parameter(pair.parameter_handle.unwrap());
            format!("{}={}", parameter.expect("callbacks name known parameters").name, text(&pair.value))
        };
        pairs.iter().map(show).collect::<Vec<_>>().join(" ")
    }
}

/// The number of an instance, with that of its node if it is not node 1.
fn number(instance: Option<ObjectInstanceHandle>) -> String {
    let handle = instance.unwrap_or_default().0;
    match (handle >> 32, handle & 0xffff_ffff) {
        (1, number) => number.to_string(),
        (node, number) => format!("{node}:{number}"),
    }
}

fn transportation(handle: Option<TransportationTypeHandle>) -> &'static str {
    match handle.unwrap_or_default() {
        TransportationTypeHandle::RELIABLE => "reliable",
        TransportationTypeHandle::BEST_EFFORT => "bestEffort",
        _ => "unknown",
    }
}

/// Callbacks of time management.
fn of_time(callback: &Callback) -> Option<String> {
    Some(match callback {
        Callback::TimeRegulationEnabled(r) => format!("regulating({})", integer(r.time.as_ref())),
        Callback::TimeConstrainedEnabled(r) => format!("constrained({})", integer(r.time.as_ref())),
        Callback::TimeAdvanceGrant(r) => format!("granted({})", integer(r.time.as_ref())),
        Callback::FlushQueueGrant(r) => {
            format!("flushed({}, {})", integer(r.time.as_ref()), integer(r.optimistic_time.as_ref()))
        }
        Callback::RequestRetraction(_) => "requestRetraction".to_owned(),
        _ => return None,
    })
}

/// The sent and the received order, unless both are Receive.
fn order((sent, received): (i32, i32), retraction: Option<MessageRetractionHandle>) -> String {
    assert_eq!(retraction.is_some(), sent == 1, "what is sent in time-stamp order can be retracted");
    match (sent, received) {
        (0, 0) => String::new(),
        (1, 0) => ", TSO as RO".to_owned(),
        (1, 1) => ", TSO".to_owned(),
        other => panic!("{other:?}"),
    }
}

pub(super) fn integer(time: Option<&api::LogicalTime>) -> i64 {
    let time = time.expect("a callback of time management has a time");
    i64::from_be_bytes(time.data[..].try_into().expect("eight octets"))
}

fn tag_and_time(tag: &[u8], time: Option<&api::LogicalTime>) -> String {
    let tag = if tag.is_empty() { String::new() } else { format!(", #{}", text(tag)) };
    let time = time.map(|time| i64::from_be_bytes(time.data[..].try_into().expect("eight octets")));
    tag + &time.map_or(String::new(), |time| format!(", t={time}"))
}
