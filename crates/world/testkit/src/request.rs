//! Calls in a form in which calls with the same effect look the same: the data that the reference
//! model, the ledger and the invariants read from a request and its answer.

use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{
    AttributeHandleSet, AttributeSetRegionSetPairList, InteractionClassHandleSet, RegionHandleSet,
};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    RegionHandle,
};
use std::collections::BTreeSet;

/// The form of a subscription of attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How<'a> {
    pub(crate) active: bool,
    /// An update rate designator; empty: none.
    pub(crate) rate: &'a str,
}

/// A call of declaration management (clause 5). `None` in place of a list means everything of the
/// class.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Declaration<'a> {
    Publish(ObjectClassHandle, &'a [AttributeHandle]),
    Unpublish(ObjectClassHandle, Option<&'a [AttributeHandle]>),
    Subscribe(ObjectClassHandle, &'a [AttributeHandle], How<'a>),
    Unsubscribe(ObjectClassHandle, Option<&'a [AttributeHandle]>),
    PublishInteraction(InteractionClassHandle),
    UnpublishInteraction(InteractionClassHandle),
    /// The flag: whether actively.
    SubscribeInteraction(InteractionClassHandle, bool),
    UnsubscribeInteraction(InteractionClassHandle),
    PublishDirected(ObjectClassHandle, &'a [InteractionClassHandle]),
    UnpublishDirected(ObjectClassHandle, Option<&'a [InteractionClassHandle]>),
    /// The flag: whether universally.
    SubscribeDirected(ObjectClassHandle, &'a [InteractionClassHandle], bool),
    UnsubscribeDirected(ObjectClassHandle, Option<&'a [InteractionClassHandle]>),
}

/// The attributes of a request.
pub(crate) fn attributes(set: &Option<AttributeHandleSet>) -> &[AttributeHandle] {
    set.as_ref().map_or(&[], |set| &set.attribute_handle)
}

fn interactions(set: &Option<InteractionClassHandleSet>) -> &[InteractionClassHandle] {
    set.as_ref().map_or(&[], |set| &set.interaction_class_handle)
}

impl<'a> Declaration<'a> {
    /// The declaration in `request`, if it is one.
    pub(crate) fn of(request: &'a Call) -> Option<Self> {
        Self::of_attributes(request).or_else(|| Self::of_interactions(request))
    }

    fn of_attributes(request: &'a Call) -> Option<Self> {
        let how = |active, rate| How { active, rate };
        macro_rules! class {
            ($r:expr) => {
                $r.object_class.unwrap_or_default()
            };
        }
        Some(match request {
            Call::PublishObjectClassAttributesRequest(r) => {
                Self::Publish(class!(r), attributes(&r.attributes))
            }
            Call::UnpublishObjectClassRequest(r) => Self::Unpublish(class!(r), None),
            Call::UnpublishObjectClassAttributesRequest(r) => {
                Self::Unpublish(class!(r), Some(attributes(&r.attributes)))
            }
            Call::SubscribeObjectClassAttributesRequest(r) => {
                Self::Subscribe(class!(r), attributes(&r.attributes), how(true, ""))
            }
            Call::SubscribeObjectClassAttributesPassivelyRequest(r) => {
                Self::Subscribe(class!(r), attributes(&r.attributes), how(false, ""))
            }
            Call::SubscribeObjectClassAttributesWithRateRequest(r) => {
                Self::Subscribe(class!(r), attributes(&r.attributes), how(true, &r.update_rate_designator))
            }
            Call::SubscribeObjectClassAttributesPassivelyWithRateRequest(r) => {
                Self::Subscribe(class!(r), attributes(&r.attributes), how(false, &r.update_rate_designator))
            }
            Call::UnsubscribeObjectClassRequest(r) => Self::Unsubscribe(class!(r), None),
            Call::UnsubscribeObjectClassAttributesRequest(r) => {
                Self::Unsubscribe(class!(r), Some(attributes(&r.attributes)))
            }
            Call::PublishObjectClassDirectedInteractionsRequest(r) => {
                Self::PublishDirected(class!(r), interactions(&r.interaction_classes))
            }
            Call::UnpublishObjectClassDirectedInteractionsRequest(r) => {
                Self::UnpublishDirected(class!(r), None)
            }
            Call::UnpublishObjectClassDirectedInteractionsWithSetRequest(r) => {
                Self::UnpublishDirected(class!(r), Some(interactions(&r.interaction_classes)))
            }
            Call::SubscribeObjectClassDirectedInteractionsRequest(r) => {
                Self::SubscribeDirected(class!(r), interactions(&r.interaction_classes), false)
            }
            Call::SubscribeObjectClassDirectedInteractionsUniversallyRequest(r) => {
                Self::SubscribeDirected(class!(r), interactions(&r.interaction_classes), true)
            }
            Call::UnsubscribeObjectClassDirectedInteractionsRequest(r) => {
                Self::UnsubscribeDirected(class!(r), None)
            }
            Call::UnsubscribeObjectClassDirectedInteractionsWithSetRequest(r) => {
                Self::UnsubscribeDirected(class!(r), Some(interactions(&r.interaction_classes)))
            }
            _ => return None,
        })
    }

    fn of_interactions(request: &'a Call) -> Option<Self> {
        Some(match request {
            Call::PublishInteractionClassRequest(r) => {
                Self::PublishInteraction(r.interaction_class.unwrap_or_default())
            }
            Call::UnpublishInteractionClassRequest(r) => {
                Self::UnpublishInteraction(r.interaction_class.unwrap_or_default())
            }
            Call::SubscribeInteractionClassRequest(r) => {
                Self::SubscribeInteraction(r.interaction_class.unwrap_or_default(), true)
            }
            Call::SubscribeInteractionClassPassivelyRequest(r) => {
                Self::SubscribeInteraction(r.interaction_class.unwrap_or_default(), false)
            }
            Call::UnsubscribeInteractionClassRequest(r) => {
                Self::UnsubscribeInteraction(r.interaction_class.unwrap_or_default())
            }
            _ => return None,
        })
    }
}

/// The regions of a request.
pub(crate) fn regions(set: &Option<RegionHandleSet>) -> &[RegionHandle] {
    set.as_ref().map_or(&[], |set| &set.region_handle)
}

/// Attributes, and the regions that belong to each of them.
pub(crate) type Pair<'a> = (&'a [AttributeHandle], &'a [RegionHandle]);

/// The pairs of a request.
pub(crate) fn pairs(list: &Option<AttributeSetRegionSetPairList>) -> Vec<Pair<'_>> {
    let list = list.iter().flat_map(|list| &list.attribute_set_region_set_pair);
    list.map(|pair| (attributes(&pair.attribute_set), regions(&pair.region_set))).collect()
}

/// Each attribute of the pairs with each of its regions.
pub(crate) fn singles<'a>(
    pairs: &'a [Pair<'a>],
) -> impl Iterator<Item = (AttributeHandle, RegionHandle)> + 'a {
    pairs.iter().flat_map(|(attributes, regions)| {
        attributes.iter().flat_map(|&attribute| regions.iter().map(move |&region| (attribute, region)))
    })
}

/// A subscription with regions, or the end of one (9.8 to 9.11).
#[derive(Clone, Debug)]
pub(crate) enum Regional<'a> {
    Subscribe(ObjectClassHandle, Vec<Pair<'a>>, How<'a>),
    Unsubscribe(ObjectClassHandle, Vec<Pair<'a>>),
    /// The flag: whether actively.
    SubscribeInteraction(InteractionClassHandle, &'a [RegionHandle], bool),
    UnsubscribeInteraction(InteractionClassHandle, &'a [RegionHandle]),
}

impl<'a> Regional<'a> {
    /// The subscription in `request`, if it is one.
    pub(crate) fn of(request: &'a Call) -> Option<Self> {
        Some(match request {
            Call::SubscribeObjectClassAttributesWithRegionsRequest(r) => Self::Subscribe(
                r.object_class.unwrap_or_default(),
                pairs(&r.attributes_and_regions),
                How { active: r.active, rate: "" },
            ),
            Call::SubscribeObjectClassAttributesWithRegionsAndRateRequest(r) => Self::Subscribe(
                r.object_class.unwrap_or_default(),
                pairs(&r.attributes_and_regions),
                How { active: r.active, rate: &r.update_rate_designator },
            ),
            Call::UnsubscribeObjectClassAttributesWithRegionsRequest(r) => {
                Self::Unsubscribe(r.object_class.unwrap_or_default(), pairs(&r.attributes_and_regions))
            }
            Call::SubscribeInteractionClassWithRegionsRequest(r) => {
                let class = r.interaction_class.unwrap_or_default();
                Self::SubscribeInteraction(class, regions(&r.regions), r.active)
            }
            Call::UnsubscribeInteractionClassWithRegionsRequest(r) => {
                Self::UnsubscribeInteraction(r.interaction_class.unwrap_or_default(), regions(&r.regions))
            }
            _ => return None,
        })
    }
}

/// The stamp of a tag: the sender's host, and the sender's counter.
pub type Stamp = (u32, u32);

/// The stamp at the start of a tag.
pub fn stamp(tag: &[u8]) -> Option<Stamp> {
    let (host, rest) = tag.split_first_chunk::<4>()?;
    let (count, _) = rest.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*host), u32::from_be_bytes(*count)))
}

/// The tag of a callback that delivers a message of another federate.
pub(crate) fn sent_tag(callback: &Callback) -> Option<&[u8]> {
    Some(match callback {
        Callback::ReflectAttributeValues(c) => &c.user_supplied_tag,
        Callback::ReceiveInteraction(c) => &c.user_supplied_tag,
        Callback::ReceiveDirectedInteraction(c) => &c.user_supplied_tag,
        Callback::RemoveObjectInstance(c) => &c.user_supplied_tag,
        _ => return None,
    })
}

/// Whether the callback is an update or an interaction of the RTI itself, of the management object
/// model.
pub(crate) fn is_of_rti(callback: &Callback) -> bool {
    let producer = match callback {
        Callback::ReflectAttributeValues(c) => c.producing_federate,
        Callback::ReceiveInteraction(c) => c.producing_federate,
        _ => return false,
    };
    producer.is_none_or(|producer| !producer.is_valid())
}

/// A message that was sent.
#[derive(Clone, Debug)]
pub enum Message {
    /// An update of attributes of an instance.
    Update(ObjectInstanceHandle, BTreeSet<AttributeHandle>),
    /// An interaction.
    Interaction(InteractionClassHandle),
    /// A directed interaction.
    Directed,
    /// A deletion.
    Delete,
    /// Other messages: a request, or the registration of a synchronization point.
    Other,
}

/// The message that a call sends, and its stamp.
pub(crate) fn message(request: &Call) -> Option<(Stamp, Message)> {
    let of = |tag: &Bytes, what| Some((stamp(tag)?, what));
    match request {
        Call::UpdateAttributeValuesRequest(r) => {
            let pairs = r.attribute_values.iter().flat_map(|map| &map.attribute_handle_value);
            let attributes = pairs.filter_map(|pair| pair.attribute_handle).collect();
            let update = Message::Update(r.object_instance.unwrap_or_default(), attributes);
            of(&r.user_supplied_tag, update)
        }
        Call::SendInteractionRequest(r) => {
            of(&r.user_supplied_tag, Message::Interaction(r.interaction_class.unwrap_or_default()))
        }
        Call::SendInteractionWithRegionsRequest(r) => {
            of(&r.user_supplied_tag, Message::Interaction(r.interaction_class.unwrap_or_default()))
        }
        Call::SendDirectedInteractionRequest(r) => of(&r.user_supplied_tag, Message::Directed),
        Call::DeleteObjectInstanceRequest(r) => of(&r.user_supplied_tag, Message::Delete),
        Call::RequestInstanceAttributeValueUpdateRequest(r) => of(&r.user_supplied_tag, Message::Other),
        Call::RequestClassAttributeValueUpdateRequest(r) => of(&r.user_supplied_tag, Message::Other),
        Call::RequestAttributeValueUpdateWithRegionsRequest(r) => of(&r.user_supplied_tag, Message::Other),
        _ => None,
    }
}

/// A request to join a federation execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joining<'a> {
    pub(crate) federation: &'a str,
    /// The federate's name, if it chose one.
    pub(crate) name: Option<&'a str>,
    /// Whether it brings FOM modules.
    pub(crate) extends: bool,
}

impl<'a> Joining<'a> {
    pub(crate) fn of(request: &'a Call) -> Option<Self> {
        let (federation, name, extends) = match request {
            Call::JoinFederationExecutionRequest(r) => (&r.federation_name, None, false),
            Call::JoinFederationExecutionWithNameRequest(r) => {
                (&r.federation_name, Some(r.federate_name.as_str()), false)
            }
            Call::JoinFederationExecutionWithNameAndModulesRequest(r) => {
                (&r.federation_name, Some(r.federate_name.as_str()), true)
            }
            _ => return None,
        };
        Some(Self { federation, name, extends })
    }
}

/// The handle that a federate got by joining.
pub(crate) fn joined_handle(answer: &Answer) -> Option<FederateHandle> {
    let result = match answer {
        Answer::JoinFederationExecutionResponse(r) => r.result.as_ref(),
        Answer::JoinFederationExecutionWithNameResponse(r) => r.result.as_ref(),
        Answer::JoinFederationExecutionWithNameAndModulesResponse(r) => r.result.as_ref(),
        _ => None,
    };
    result?.federate_handle
}

/// Class and handle of an instance that a call registered.
pub(crate) fn registered(
    request: &Call,
    answer: &Answer,
) -> Option<(ObjectClassHandle, ObjectInstanceHandle)> {
    match (request, answer) {
        (Call::RegisterObjectInstanceRequest(q), Answer::RegisterObjectInstanceResponse(r)) => {
            Some((q.object_class?, r.result?))
        }
        (
            Call::RegisterObjectInstanceWithNameRequest(q),
            Answer::RegisterObjectInstanceWithNameResponse(r),
        ) => Some((q.object_class?, r.result?)),
        (
            Call::RegisterObjectInstanceWithRegionsRequest(q),
            Answer::RegisterObjectInstanceWithRegionsResponse(r),
        ) => Some((q.object_class?, r.result?)),
        (
            Call::RegisterObjectInstanceWithNameAndRegionsRequest(q),
            Answer::RegisterObjectInstanceWithNameAndRegionsResponse(r),
        ) => Some((q.object_class?, r.result?)),
        _ => None,
    }
}
