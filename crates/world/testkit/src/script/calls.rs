//! Calls of federation, declaration and object management with drawn arguments.

use super::Op;
use super::knowledge::{Knowledge, Standing};
use crate::draw::Draw;
use crate::fom;
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, AttributeHandleSet, InteractionClassHandleSet};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, TransportationTypeHandle,
};

/// Names for which federates compete.
const NAMES: [&str; 10] = ["a", "b", "c", "tank 7", "d", "e", "Zürich", "f", "HLAx", ""];
/// Labels of synchronization points.
const LABELS: [&str; 5] = ["ready", "go", "stop", "ready", "€"];

macro_rules! call {
    ($variant:ident { $($field:ident: $value:expr),* $(,)? }) => {
        Some(Call::$variant(api::$variant { $($field: $value.into()),* }))
    };
}
pub(super) use call;

pub(super) fn set(attribute_handle: Vec<AttributeHandle>) -> AttributeHandleSet {
    AttributeHandleSet { attribute_handle }
}

pub(super) fn make(op: Op, k: &mut Knowledge, draw: &mut Draw) -> Option<Call> {
    match op {
        Op::Publish | Op::Unpublish | Op::Subscribe | Op::Unsubscribe => attributes(op, k, draw),
        Op::PublishInteraction
        | Op::UnpublishInteraction
        | Op::SubscribeInteraction
        | Op::UnsubscribeInteraction => interactions(op, k, draw),
        Op::PublishDirected | Op::UnpublishDirected | Op::SubscribeDirected | Op::UnsubscribeDirected => {
            directed(op, k, draw)
        }
        Op::ReserveName | Op::ReserveNames | Op::ReleaseName | Op::Register | Op::RegisterNamed => {
            names(op, k, draw)
        }
        Op::Update | Op::SendInteraction | Op::SendDirected => messages(op, k, draw),
        Op::Delete | Op::LocalDelete | Op::RequestInstance | Op::RequestClass => objects(op, k, draw),
        Op::ChangeTransportation
        | Op::ChangeDefaultTransportation
        | Op::QueryTransportation
        | Op::ChangeInteractionTransportation
        | Op::QueryInteractionTransportation => transportation(op, k, draw),
        _ => federation(op, k, draw),
    }
}

fn attributes(op: Op, k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let class = match op {
        Op::Subscribe if draw.chance(5) => k.managed_class(draw),
        _ => k.object_class(draw),
    };
    let object_class = Some(class);
    let attributes = Some(set(k.attributes(class, draw)));
    let rate = draw.pick(&fom::RATES).map_or("", |(name, _)| name);
    let rate = if draw.chance(k.mistakes / 4) { "Never" } else { rate };
    match (op, draw.below(4)) {
        (Op::Publish, _) => {
            call!(PublishObjectClassAttributesRequest { object_class: object_class, attributes: attributes })
        }
        (Op::Unpublish, 0) => call!(UnpublishObjectClassRequest { object_class: object_class }),
        (Op::Unpublish, _) => {
            call!(UnpublishObjectClassAttributesRequest {
                object_class: object_class,
                attributes: attributes
            })
        }
        (Op::Subscribe, 0) => call!(SubscribeObjectClassAttributesPassivelyRequest {
            object_class: object_class,
            attributes: attributes
        }),
        (Op::Subscribe, 1) => call!(SubscribeObjectClassAttributesWithRateRequest {
            object_class: object_class,
            attributes: attributes,
            update_rate_designator: rate
        }),
        (Op::Subscribe, _) => {
            call!(SubscribeObjectClassAttributesRequest {
                object_class: object_class,
                attributes: attributes
            })
        }
        (_, 0) => call!(UnsubscribeObjectClassRequest { object_class: object_class }),
        _ => {
            call!(UnsubscribeObjectClassAttributesRequest {
                object_class: object_class,
                attributes: attributes
            })
        }
    }
}

fn interactions(op: Op, k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let interaction_class = Some(k.interaction_class(draw));
    match (op, draw.below(3)) {
        (Op::PublishInteraction, _) => {
            call!(PublishInteractionClassRequest { interaction_class: interaction_class })
        }
        (Op::UnpublishInteraction, _) => {
            call!(UnpublishInteractionClassRequest { interaction_class: interaction_class })
        }
        (Op::SubscribeInteraction, 0) => {
            call!(SubscribeInteractionClassPassivelyRequest { interaction_class: interaction_class })
        }
        (Op::SubscribeInteraction, _) => {
            call!(SubscribeInteractionClassRequest { interaction_class: interaction_class })
        }
        _ => call!(UnsubscribeInteractionClassRequest { interaction_class: interaction_class }),
    }
}

/// Some directed interactions of `class`, and at times, by mistake, one of any class.
fn directed_of(k: &Knowledge, class: ObjectClassHandle, draw: &mut Draw) -> Vec<InteractionClassHandle> {
    let of_class = k.model.object_class(class).map(|class| class.directed_interactions.clone());
    let mut some = draw.some(&of_class.unwrap_or_default());
    if draw.chance(k.mistakes / 4) {
        some.push(k.interaction_class(draw));
    }
    some
}

fn directed(op: Op, k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let class = k.object_class(draw);
    let object_class = Some(class);
    let interaction_classes =
        Some(InteractionClassHandleSet { interaction_class_handle: directed_of(k, class, draw) });
    match (op, draw.below(3)) {
        (Op::PublishDirected, _) => call!(PublishObjectClassDirectedInteractionsRequest {
            object_class: object_class,
            interaction_classes: interaction_classes
        }),
        (Op::UnpublishDirected, 0) => {
            call!(UnpublishObjectClassDirectedInteractionsRequest { object_class: object_class })
        }
        (Op::UnpublishDirected, _) => call!(UnpublishObjectClassDirectedInteractionsWithSetRequest {
            object_class: object_class,
            interaction_classes: interaction_classes
        }),
        (Op::SubscribeDirected, 0) => call!(SubscribeObjectClassDirectedInteractionsRequest {
            object_class: object_class,
            interaction_classes: interaction_classes
        }),
        (Op::SubscribeDirected, _) => call!(SubscribeObjectClassDirectedInteractionsUniversallyRequest {
            object_class: object_class,
            interaction_classes: interaction_classes
        }),
        (_, 0) => call!(UnsubscribeObjectClassDirectedInteractionsRequest { object_class: object_class }),
        _ => call!(UnsubscribeObjectClassDirectedInteractionsWithSetRequest {
            object_class: object_class,
            interaction_classes: interaction_classes
        }),
    }
}

fn name(k: &Knowledge, draw: &mut Draw) -> String {
    let sound = if draw.chance(k.mistakes) { NAMES.len() } else { NAMES.len() - 2 };
    draw.pick(&NAMES[..sound]).copied().unwrap_or_default().to_owned()
}

/// A name that the federate has reserved, or any by mistake.
pub(super) fn held_name(k: &Knowledge, draw: &mut Draw) -> Option<String> {
    let reserved: Vec<_> = k.reserved.iter().cloned().collect();
    match draw.pick(&reserved) {
        Some(held) if !draw.chance(k.mistakes) => Some(held.clone()),
        _ if draw.chance(k.mistakes) => Some(name(k, draw)),
        _ => None,
    }
}

fn names(op: Op, k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let reserved: Vec<_> = k.reserved.iter().cloned().collect();
    let held = held_name(k, draw);
    let published: Vec<_> = k.published.iter().copied().collect();
    let class = draw.pick(&published).copied().filter(|_| !draw.chance(k.mistakes));
    let class = class.or_else(|| draw.chance(k.mistakes).then(|| k.object_class(draw)));
    match op {
        Op::ReserveName => {
            call!(ReserveObjectInstanceNameRequest { object_instance_name: name(k, draw) })
        }
        Op::ReserveNames => {
            let names: Vec<_> =
                (0..draw.between(u64::from(k.mistakes == 0), 3)).map(|_| name(k, draw)).collect();
            call!(ReserveMultipleObjectInstanceNamesRequest { object_instance_names: names })
        }
        Op::ReleaseName if draw.chance(40) => {
            let mut names = draw.some(&reserved.iter().map(String::as_str).collect::<Vec<_>>());
            names.extend(held.as_deref());
            let names: Vec<_> = names.into_iter().map(str::to_owned).collect();
            call!(ReleaseMultipleObjectInstanceNamesRequest { object_instance_names: names })
        }
        Op::ReleaseName => call!(ReleaseObjectInstanceNameRequest { object_instance_name: held? }),
        Op::Register => call!(RegisterObjectInstanceRequest { object_class: Some(class?) }),
        _ => call!(RegisterObjectInstanceWithNameRequest {
            object_class: Some(class?),
            object_instance_name: held?,
        }),
    }
}

fn messages(op: Op, k: &mut Knowledge, draw: &mut Draw) -> Option<Call> {
    let stamp = k.stamp();
    match op {
        Op::Update => {
            let (instance, class) = k.instance(draw)?;
            // It owns the attributes that it published when it registered an instance.
            let owned = k.own.contains_key(&instance) && draw.chance(75);
            let attributes = if owned { k.owned(class, draw) } else { k.attributes(class, draw) };
            let pairs = attributes.into_iter().map(|attribute| api::AttributeHandleValue {
                attribute_handle: Some(attribute),
                value: k.value(&stamp, draw),
            });
            let values = api::AttributeHandleValueMap { attribute_handle_value: pairs.collect() };
            call!(UpdateAttributeValuesRequest {
                object_instance: Some(instance),
                attribute_values: Some(values),
                user_supplied_tag: stamp,
            })
        }
        Op::SendInteraction => {
            let published: Vec<_> = k.published_interactions.iter().copied().collect();
            let mistake = draw.chance(k.mistakes);
            let class = draw.pick(&published).copied().filter(|_| !mistake);
            let class = class.or_else(|| mistake.then(|| k.interaction_class(draw)))?;
            call!(SendInteractionRequest {
                interaction_class: Some(class),
                parameter_values: Some(parameters(k, class, &stamp, draw)),
                user_supplied_tag: stamp,
            })
        }
        _ => {
            let (instance, class) = k.instance(draw)?;
            let of_class = k.model.object_class(class)?.directed_interactions.clone();
            let class = draw.pick(&of_class).copied().unwrap_or_else(|| k.interaction_class(draw));
            call!(SendDirectedInteractionRequest {
                interaction_class: Some(class),
                object_instance: Some(instance),
                parameter_values: Some(parameters(k, class, &stamp, draw)),
                user_supplied_tag: stamp,
            })
        }
    }
}

pub(super) fn parameters(
    k: &Knowledge,
    class: InteractionClassHandle,
    stamp: &Bytes,
    draw: &mut Draw,
) -> api::ParameterHandleValueMap {
    let of_class = k.model.interaction_class(class).map(|class| class.parameters.clone());
    let pairs = draw.some(&of_class.unwrap_or_default()).into_iter().map(|parameter| {
        api::ParameterHandleValue { parameter_handle: Some(parameter), value: k.value(stamp, draw) }
    });
    let mut parameter_handle_value: Vec<_> = pairs.collect();
    if draw.chance(k.mistakes / 4) {
        let parameter_handle = Some(hla::handle::ParameterHandle(draw.below(500) as u32));
        parameter_handle_value.push(api::ParameterHandleValue { parameter_handle, value: stamp.clone() });
    }
    api::ParameterHandleValueMap { parameter_handle_value }
}

fn objects(op: Op, k: &mut Knowledge, draw: &mut Draw) -> Option<Call> {
    let tag = k.stamp();
    if op == Op::RequestClass {
        let class = k.object_class(draw);
        return call!(RequestClassAttributeValueUpdateRequest {
            object_class: Some(class),
            attributes: Some(set(k.attributes(class, draw))),
            user_supplied_tag: tag,
        });
    }
    let (instance, class) = k.instance(draw)?;
    let object_instance = Some(instance);
    match op {
        Op::Delete => {
            call!(DeleteObjectInstanceRequest { object_instance: object_instance, user_supplied_tag: tag })
        }
        Op::LocalDelete => call!(LocalDeleteObjectInstanceRequest { object_instance: object_instance }),
        _ => call!(RequestInstanceAttributeValueUpdateRequest {
            object_instance: object_instance,
            attributes: Some(set(k.attributes(class, draw))),
            user_supplied_tag: tag,
        }),
    }
}

fn transportation(op: Op, k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let types = if draw.chance(k.mistakes) { 3 } else { 2 };
    let transportation_type = Some(TransportationTypeHandle(draw.between(1, types) as u32));
    let interaction_class = Some(k.interaction_class(draw));
    match op {
        Op::ChangeDefaultTransportation => {
            let class = k.object_class(draw);
            call!(ChangeDefaultAttributeTransportationTypeRequest {
                object_class: Some(class),
                attributes: Some(set(k.attributes(class, draw))),
                transportation_type: transportation_type,
            })
        }
        Op::ChangeInteractionTransportation => call!(RequestInteractionTransportationTypeChangeRequest {
            interaction_class: interaction_class,
            transportation_type: transportation_type,
        }),
        Op::QueryInteractionTransportation => call!(QueryInteractionTransportationTypeRequest {
            federate: Some(federate(k, draw)),
            interaction_class: interaction_class,
        }),
        Op::ChangeTransportation => {
            let (instance, class) = k.instance(draw)?;
            call!(RequestAttributeTransportationTypeChangeRequest {
                object_instance: Some(instance),
                attributes: Some(set(k.attributes(class, draw))),
                transportation_type: transportation_type,
            })
        }
        _ => {
            let (instance, class) = k.instance(draw)?;
            call!(QueryAttributeTransportationTypeRequest {
                object_instance: Some(instance),
                attribute: Some(k.attributes(class, draw).first().copied()?),
            })
        }
    }
}

/// Itself, a known federate, or any.
pub(super) fn federate(k: &Knowledge, draw: &mut Draw) -> FederateHandle {
    let peers: Vec<_> = k.peers.iter().copied().collect();
    match (k.standing, draw.below(3)) {
        (Standing::Joined(own), 0) => own,
        (_, 1) => FederateHandle(draw.between(1, 9) as u32),
        _ => draw.pick(&peers).copied().unwrap_or(FederateHandle(1)),
    }
}

fn federation(op: Op, k: &mut Knowledge, draw: &mut Draw) -> Option<Call> {
    let any = draw.pick(&k.federations).cloned().unwrap_or_default();
    let any = if draw.chance(k.mistakes) { "nowhere".to_owned() } else { any };
    match op {
        Op::RegisterSync => Some(register_sync(k, draw)),
        Op::AchieveSync => {
            let announced: Vec<_> = k.announced.iter().cloned().collect();
            let label = draw.pick(&announced).cloned().filter(|_| !draw.chance(k.mistakes));
            let label = match label {
                Some(label) => label,
                None if draw.chance(k.mistakes) => LABELS[1].to_owned(),
                None => return None,
            };
            call!(SynchronizationPointAchievedRequest {
                synchronization_point_label: label,
                successfully: draw.chance(75),
            })
        }
        Op::ListFederations => call!(ListFederationExecutionsRequest {}),
        Op::ListMembers => call!(ListFederationExecutionMembersRequest { federation_name: any }),
        Op::Destroy => call!(DestroyFederationExecutionRequest { federation_name: any }),
        Op::Create => Some(create(any, k)),
        Op::Join => Some(join(any, k, draw)),
        Op::Resign => {
            let mistake = draw.chance(k.mistakes / 2);
            call!(ResignFederationExecutionRequest {
                resign_action: if mistake { 9 } else { draw.below(6) as i32 },
            })
        }
        _ => None,
    }
}

fn register_sync(k: &mut Knowledge, draw: &mut Draw) -> Call {
    let label = draw.pick(&LABELS).copied().unwrap_or_default().to_owned();
    let tag = k.stamp();
    if draw.chance(50) {
        return Call::RegisterFederationSynchronizationPointRequest(
            api::RegisterFederationSynchronizationPointRequest {
                synchronization_point_label: label,
                user_supplied_tag: tag,
            },
        );
    }
    let mut members: Vec<_> = (0..draw.between(0, 3)).map(|_| federate(k, draw)).collect();
    members.dedup();
    Call::RegisterFederationSynchronizationPointWithSetRequest(
        api::RegisterFederationSynchronizationPointWithSetRequest {
            synchronization_point_label: label,
            user_supplied_tag: tag,
            synchronization_set: Some(api::FederateHandleSet { federate_handle: members }),
        },
    )
}

fn module(name: &str, content: Bytes) -> api::FomModule {
    let file = api::FileFomModule { name: name.to_owned(), content };
    api::FomModule { fom_module: Some(api::fom_module::FomModule::File(file)) }
}

/// Create Federation Execution with the run's module.
pub(crate) fn create(federation_name: String, k: &Knowledge) -> Call {
    let fom_module = Some(module("base.xml", k.module.clone()));
    Call::CreateFederationExecutionRequest(api::CreateFederationExecutionRequest {
        federation_name,
        fom_module,
    })
}

/// Join Federation Execution in one of its forms.
pub(crate) fn join(federation_name: String, k: &Knowledge, draw: &mut Draw) -> Call {
    let federate_type = "scripted".to_owned();
    let common = draw.chance(10);
    let federate_name = if common { "same".to_owned() } else { format!("federate {}", k.host) };
    match draw.below(5) {
        0 => Call::JoinFederationExecutionRequest(api::JoinFederationExecutionRequest {
            federate_type,
            federation_name,
        }),
        1 => {
            let fom_module = vec![module("extension.xml", Bytes::from_static(fom::EXTENSION.as_bytes()))];
            Call::JoinFederationExecutionWithNameAndModulesRequest(
                api::JoinFederationExecutionWithNameAndModulesRequest {
                    federate_name,
                    federate_type,
                    federation_name,
                    additional_fom_modules: Some(api::FomModuleSet { fom_module }),
                },
            )
        }
        _ => join_as(federate_name, federation_name),
    }
}

/// Join Federation Execution, for the federate's own federation and name.
pub(crate) fn join_by_name(k: &Knowledge) -> Call {
    join_as(format!("federate {}", k.host), k.federation.clone())
}

fn join_as(federate_name: String, federation_name: String) -> Call {
    Call::JoinFederationExecutionWithNameRequest(api::JoinFederationExecutionWithNameRequest {
        federate_name,
        federate_type: "scripted".to_owned(),
        federation_name,
    })
}
