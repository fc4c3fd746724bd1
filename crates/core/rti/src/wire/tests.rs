//! Everything written can be read again, and nothing else can.

use super::*;
use crate::control::{ExecutionId, NodeId, PublishedClass};
use crate::stamp::Stamp;
use bytes::{Bytes, BytesMut};
use hla::api::OrderType;
use hla::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, MessageRetractionHandle,
    ObjectClassHandle, ObjectInstanceHandle, RegionHandle, TransportationTypeHandle,
};
use proptest::prelude::*;
use router::{Message as _, Wire};

fn class() -> impl Strategy<Value = PublishedClass> {
    prop_oneof![
        any::<u32>().prop_map(|class| PublishedClass::Objects(ObjectClassHandle(class))),
        any::<u32>().prop_map(|class| PublishedClass::Interactions(InteractionClassHandle(class))),
        Just(PublishedClass::Directed),
    ]
}

fn execution() -> impl Strategy<Value = ExecutionId> {
    any::<u32>().prop_map(ExecutionId)
}

fn stream() -> impl Strategy<Value = StreamId> {
    (execution(), class()).prop_map(|(execution, class)| StreamId { execution, class })
}

fn octets() -> impl Strategy<Value = Bytes> {
    proptest::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

fn instance() -> impl Strategy<Value = ObjectInstanceHandle> {
    (1..u64::MAX).prop_map(ObjectInstanceHandle)
}

fn attributes() -> impl Strategy<Value = Vec<AttributeHandle>> {
    proptest::collection::vec(any::<u32>().prop_map(AttributeHandle), 0..5)
}

fn region_set() -> impl Strategy<Value = RegionSet> {
    let range = (any::<[u32; 3]>()).prop_filter_map("an empty range", |[dimension, lower, upper]| {
        let dimension = DimensionHandle(dimension);
        (lower < upper).then_some(DimensionRange { dimension, lower, upper })
    });
    let ranges = proptest::collection::vec(range, 0..3);
    let region = (any::<u64>(), ranges)
        .prop_map(|(handle, ranges)| Region { handle: RegionHandle(handle), ranges: ranges.into() });
    proptest::collection::vec(region, 0..4).prop_map(RegionSet::from_iter)
}

fn regions() -> impl Strategy<Value = Vec<(AttributeHandle, RegionSet)>> {
    proptest::collection::vec((any::<u32>().prop_map(AttributeHandle), region_set()), 0..4)
}

fn record() -> impl Strategy<Value = Record> {
    let attribute = (any::<u32>(), any::<u32>(), any::<[bool; 2]>()).prop_map(
        |(owner, how, [time_stamped, is_offered])| {
            let (owner, transportation) = (FederateHandle(owner), TransportationTypeHandle(how));
            RecordedAttribute { owner, transportation, time_stamped, is_offered }
        },
    );
    let attributes = proptest::collection::vec(attribute, 0..5);
    let tag = (any::<u32>().prop_map(AttributeHandle), octets());
    let tags = proptest::collection::vec(tag, 0..3);
    let view =
        (any::<u16>(), any::<u64>()).prop_map(|(gone, delivered)| View { gone: NodeId(gone), delivered });
    let view = proptest::option::of(view);
    (instance(), any::<u16>(), any::<u32>(), ".{0,10}", attributes, tags, view, regions()).prop_map(
        |(instance, registrar, producer, name, attributes, tags, view, regions)| Record {
            instance,
            registrar: NodeId(registrar),
            producer: FederateHandle(producer),
            name,
            attributes,
            tags,
            view,
            regions,
        },
    )
}

fn stamp() -> impl Strategy<Value = Stamp> {
    (any::<[u8; 8]>(), any::<bool>(), any::<u64>()).prop_map(|(time, timestamp, retraction)| Stamp {
        time,
        sent: if timestamp { OrderType::Timestamp } else { OrderType::Receive },
        retraction: MessageRetractionHandle(retraction),
    })
}

fn payload() -> impl Strategy<Value = Box<Payload>> {
    let value = (any::<u32>(), octets()).prop_map(|(handle, value)| HandleValue { handle, value });
    let values = proptest::collection::vec(value, 0..5);
    (any::<u32>(), any::<u32>(), octets(), proptest::option::of(stamp()), region_set(), values).prop_map(
        |(producer, how, tag, stamp, regions, values)| {
            Box::new(Payload {
                producer: FederateHandle(producer),
                transportation: TransportationTypeHandle(how),
                tag,
                stamp,
                regions,
                values: values.into(),
            })
        },
    )
}

fn event() -> impl Strategy<Value = StreamEvent> {
    prop_oneof![
        record().prop_map(|record| StreamEvent::Registered(Box::new(record))),
        (instance(), any::<u32>(), octets(), proptest::option::of(stamp())).prop_map(
            |(instance, producer, tag, stamp)| {
                StreamEvent::Removed { instance, producer: FederateHandle(producer), tag, stamp }
            }
        ),
        (instance(), decision()).prop_map(|(instance, decision)| StreamEvent::Ownership {
            instance,
            decision: Box::new(decision)
        }),
        (instance(), regions())
            .prop_map(|(instance, regions)| { StreamEvent::Regions { instance, regions, is_away: false } }),
        (instance(), any::<u32>(), attributes()).prop_map(|(instance, how, attributes)| {
            let transportation = TransportationTypeHandle(how);
            StreamEvent::Transported { instance, attributes, transportation }
        }),
        (instance(), attributes(), any::<bool>()).prop_map(|(instance, attributes, time_stamped)| {
            StreamEvent::Ordered { instance, attributes, time_stamped }
        }),
        (instance(), payload()).prop_map(|(instance, payload)| StreamEvent::Updated { instance, payload }),
        payload().prop_map(StreamEvent::Sent),
        (any::<u32>(), instance(), payload()).prop_map(|(interaction, instance, payload)| {
            StreamEvent::Directed { interaction: InteractionClassHandle(interaction), instance, payload }
        }),
        Just(StreamEvent::Ended),
    ]
}

fn delivery() -> impl Strategy<Value = Delivery> {
    (any::<u32>(), any::<bool>()).prop_map(|(how, time_stamped)| Delivery {
        transportation: TransportationTypeHandle(how),
        time_stamped,
    })
}

fn decision() -> impl Strategy<Value = OwnershipDecision> {
    let federate = || any::<u32>().prop_map(FederateHandle);
    let owned = (any::<u32>(), delivery())
        .prop_map(|(attribute, delivery)| OwnedAttribute { attribute: AttributeHandle(attribute), delivery });
    let kind = prop_oneof![
        Just(NoticeKind::ConfirmationRequested),
        Just(NoticeKind::Unavailable),
        Just(NoticeKind::ReleaseRequested),
        Just(NoticeKind::CancellationConfirmed),
    ];
    prop_oneof![
        (federate(), federate(), proptest::collection::vec(owned, 0..4), octets()).prop_map(
            |(from, to, attributes, tag)| OwnershipDecision::Acquired { from, to, attributes, tag }
        ),
        (federate(), attributes(), octets(), any::<bool>()).prop_map(
            |(owner, attributes, tag, announced)| {
                OwnershipDecision::Offered { owner, attributes, tag, announced }
            }
        ),
        (federate(), attributes(), octets())
            .prop_map(|(owner, attributes, tag)| OwnershipDecision::Divested { owner, attributes, tag }),
        attributes().prop_map(|attributes| OwnershipDecision::Withdrawn { attributes }),
        (federate(), kind, any::<u64>(), attributes(), octets()).prop_map(
            |(to, kind, number, attributes, tag)| {
                OwnershipDecision::Notice { to, kind, number, attributes, tag }
            }
        ),
        (federate(), any::<u64>(), any::<bool>(), attributes()).prop_map(
            |(to, number, refused, attributes)| OwnershipDecision::Answered {
                to,
                number,
                refused,
                attributes
            }
        ),
    ]
}

fn request() -> impl Strategy<Value = OwnershipRequest> {
    let action = proptest::sample::select(OwnershipAction::ALL.to_vec());
    let of = proptest::collection::vec((any::<u32>().prop_map(AttributeHandle), delivery()), 0..4);
    (any::<u32>(), instance(), any::<u64>(), action, (of, delivery()), regions(), octets()).prop_map(
        |(federate, instance, number, action, (of, changed), mut regions, tag)| {
            let (attributes, mut deliveries): (Vec<_>, Vec<_>) = of.into_iter().unzip();
            if !action.is_acquisition() {
                deliveries = action.changes_delivery().then_some(changed).into_iter().collect();
                regions.clear();
            }
            let federate = FederateHandle(federate);
            OwnershipRequest { federate, instance, number, action, attributes, deliveries, regions, tag }
        },
    )
}

fn watermark() -> impl Strategy<Value = Watermark> {
    let after = (class(), any::<u16>(), any::<u64>()).prop_map(|(class, node, number)| Position {
        class,
        node: NodeId(node),
        number,
    });
    (any::<u32>(), any::<u32>(), proptest::option::of(after)).prop_map(|(model, federate, after)| Watermark {
        model,
        federate: FederateHandle(federate),
        after,
    })
}

fn declaration() -> impl Strategy<Value = Declaration> {
    let subscribed = (any::<u32>(), any::<bool>(), ".{0,5}", region_set());
    let subscribed = subscribed.prop_map(|(attribute, active, rate, regions)| SubscribedAttribute {
        attribute: AttributeHandle(attribute),
        active,
        rate,
        regions,
    });
    prop_oneof![
        (any::<u32>(), any::<u32>(), proptest::collection::vec(subscribed, 0..4)).prop_map(
            |(federate, class, attributes)| Declaration::Objects {
                federate: FederateHandle(federate),
                class: ObjectClassHandle(class),
                attributes,
            }
        ),
        (any::<u32>(), any::<u32>(), any::<Option<bool>>(), region_set()).prop_map(
            |(federate, class, active, regions)| {
                Declaration::Interactions {
                    federate: FederateHandle(federate),
                    class: InteractionClassHandle(class),
                    active,
                    regions,
                }
            }
        ),
    ]
}

fn stream_message() -> impl Strategy<Value = StreamMessage> {
    let records = || proptest::collection::vec(record(), 0..3);
    prop_oneof![
        (any::<bool>(), proptest::collection::vec(declaration(), 0..3))
            .prop_map(|(fresh, declarations)| StreamMessage::Attach { fresh, declarations }),
        Just(StreamMessage::Detach),
        any::<u64>().prop_map(|until| StreamMessage::Detached { until }),
        (any::<[u64; 2]>(), proptest::option::of(instance()), records(), any::<bool>()).prop_map(
            |([at, for_all], until, records, replay)| {
                StreamMessage::SnapshotPart { at, for_all, until, records, replay }
            }
        ),
        instance().prop_map(|after| StreamMessage::SnapshotNext { after }),
        Just(StreamMessage::Refused),
        any::<[u64; 2]>().prop_map(|[from, to]| StreamMessage::RepairRequest { from, to }),
        (any::<u64>(), proptest::collection::vec(octets(), 0..4))
            .prop_map(|(first, messages)| StreamMessage::Repair { first, messages }),
        Just(StreamMessage::Unavailable),
        any::<[u64; 2]>().prop_map(|[relevant, last]| StreamMessage::HighWater { relevant, last }),
        (any::<u64>(), any::<bool>())
            .prop_map(|(number, filtered)| StreamMessage::Switchover { number, filtered }),
        any::<u64>().prop_map(|number| StreamMessage::Ready { number }),
        any::<u64>().prop_map(|after| StreamMessage::Filtered { after }),
        (any::<[u64; 2]>(), octets()).prop_map(|([first, last], messages)| {
            StreamMessage::FilteredRepair { first, last, messages }
        }),
    ]
}

fn values() -> impl Strategy<Value = Values> {
    let value = (any::<u32>(), octets()).prop_map(|(handle, value)| HandleValue { handle, value });
    proptest::collection::vec(value, 0..4).prop_map(Values::from)
}

fn object_message() -> impl Strategy<Value = ObjectMessage> {
    let records = || proptest::collection::vec(record(), 0..3);
    prop_oneof![
        declaration().prop_map(ObjectMessage::Declare),
        (any::<u32>(), instance(), attributes(), octets()).prop_map(
            |(requester, instance, attributes, tag)| {
                let requester = FederateHandle(requester);
                ObjectMessage::Provide { requester, instance, attributes, tag }
            }
        ),
        (any::<[u32; 2]>(), attributes(), octets(), regions()).prop_map(
            |([requester, class], attributes, tag, regions)| {
                let (requester, class) = (FederateHandle(requester), ObjectClassHandle(class));
                ObjectMessage::ProvideClass { requester, class, attributes, tag, regions }
            }
        ),
        any::<[u32; 3]>().prop_map(|[asker, federate, class]| ObjectMessage::QueryTransportation {
            asker: FederateHandle(asker),
            federate: FederateHandle(federate),
            class: InteractionClassHandle(class),
        }),
        any::<[u32; 4]>().prop_map(|[asker, federate, class, how]| {
            ObjectMessage::ReportTransportation {
                asker: FederateHandle(asker),
                federate: FederateHandle(federate),
                class: InteractionClassHandle(class),
                transportation: TransportationTypeHandle(how),
            }
        }),
        (any::<u32>(), any::<u16>(), any::<u64>(), records()).prop_map(
            |(class, gone, delivered, records)| {
                let (class, gone) = (ObjectClassHandle(class), NodeId(gone));
                ObjectMessage::Adopt { class, gone, delivered, records }
            }
        ),
        any::<u16>().prop_map(|gone| ObjectMessage::Adopted { gone: NodeId(gone) }),
        request().prop_map(|request| ObjectMessage::Own(Box::new(request))),
        (any::<u32>(), instance(), regions()).prop_map(|(federate, instance, regions)| {
            ObjectMessage::Regions { federate: FederateHandle(federate), instance, regions }
        }),
        (any::<[u32; 2]>(), values()).prop_map(|([requester, federate], values)| {
            let requester = Some(FederateHandle(requester)).filter(|to| to.is_valid());
            ObjectMessage::Managed { requester, federate: FederateHandle(federate), values }
        }),
        (any::<[u32; 3]>(), values()).prop_map(|([target, sender, class], values)| {
            let (sender, class) = (FederateHandle(sender), InteractionClassHandle(class));
            ObjectMessage::Ask { target: FederateHandle(target), asked: Asked { sender, class, values } }
        }),
        (any::<u32>(), values()).prop_map(|(class, values)| {
            ObjectMessage::Report { class: InteractionClassHandle(class), values }
        }),
        proptest::collection::vec(instance(), 0..4)
            .prop_map(|instances| ObjectMessage::Removed { instances }),
    ]
}

fn message() -> impl Strategy<Value = PeerMessage> {
    prop_oneof![
        (class(), stream_message()).prop_map(|(class, message)| PeerMessage::Stream(class, message)),
        object_message().prop_map(PeerMessage::Objects),
    ]
}

proptest! {
    #[test]
    fn messages_are_read_as_written(message in message(), execution in execution(), model: u32) {
        let body = message.encode(execution, model);
        let (read, watermark) = PeerMessage::peek(body.clone()).unwrap();
        prop_assert_eq!((read, watermark.model), (execution, model));
        prop_assert_eq!(watermark.federate, message.latest_federate());
        prop_assert_eq!(PeerMessage::decode(body).unwrap(), message);
    }

    #[test]
    fn events_are_read_as_written(event in event(), watermark in watermark(), class in class()) {
        let of_class = watermark.after.map_or(class, |after| after.class);
        for class in [class, of_class] {
            let read = Framed::decode(class, Framed::encode(class, watermark, &event)).unwrap();
            prop_assert_eq!(read, Framed { watermark, event: event.clone() });
        }
    }

    #[test]
    fn packets_are_read_as_written(
        stream in stream(), topic in stream(), sender: u16, kind in 0..5u8, n: u64, key: u64, body in octets(),
        to: u16,
    ) {
        let kind = match kind {
            0 => Kind::Numbered(n),
            1 => Kind::BestEffort { after: n, switchover: u64::from(to), key },
            2 => Kind::HighWater { relevant: key.min(n), last: n },
            3 => Kind::Batch(n),
            _ => Kind::Filtered { after: n },
        };
        let mut packet = Packet::new(stream, NodeId(sender), kind, body);
        let mut wire = BytesMut::new();
        packet.encode(&mut wire);
        let short = wire.len();
        prop_assert_eq!(&Packet::decode(wire.freeze(), 0).unwrap(), &packet);
        // A topic narrower than the stream, as routers see it.
        packet.topic = topic.topic();
        let mut wire = BytesMut::new();
        packet.encode(&mut wire);
        prop_assert!(topic != stream || wire.len() == short, "the stream of its own topic costs nothing");
        let read = Packet::decode(wire.freeze(), 0).unwrap();
        prop_assert_eq!(read.supersedes(), packet.supersedes());
        prop_assert_eq!(&read, &packet);
        packet.topic = NetTopic::Node(stream.execution, NodeId(to));
        let mut wire = BytesMut::new();
        packet.encode(&mut wire);
        prop_assert!(wire.len() <= packet.wire_bytes());
        let read = Packet::decode(wire.freeze(), 0).unwrap();
        prop_assert_eq!(read.supersedes(), packet.supersedes());
        prop_assert_eq!(&read, &packet);
        for topic in [stream.topic(), packet.topic] {
            let mut wire = BytesMut::new();
            topic.encode(&mut wire);
            prop_assert_eq!(NetTopic::decode(wire.freeze(), 0).unwrap(), topic);
        }
    }

    #[test]
    fn messages_for_one_node_are_read_as_written(
        all in proptest::collection::vec((0..u64::MAX / 2, any::<bool>(), octets()), 0..5), cut in 1..9usize,
    ) {
        let all = all.into_iter().map(|(irrelevant, is_away, body)| FilteredMessage { irrelevant, is_away, body });
        let all: Vec<_> = all.collect();
        let mut body = Vec::new();
        all.iter().for_each(|message| message.put(&mut body));
        let read: Result<Vec<_>, _> = filtered_messages(body.clone().into()).collect();
        prop_assert_eq!(&read.unwrap(), &all);
        body.truncate(body.len().saturating_sub(cut));
        let read = filtered_messages(body.into()).map_while(Result::ok).count();
        prop_assert!(read < all.len().max(1));
    }

    #[test]
    fn hostile_octets_are_refused_or_read(octets in proptest::collection::vec(any::<u8>(), 0..80)) {
        let body = Bytes::from(octets);
        let _ = (PeerMessage::decode(body.clone()), Framed::decode(PublishedClass::Directed, body.clone()), Packet::decode(body.clone(), 0));
        let _ = (PeerMessage::peek(body.clone()), NetTopic::decode(body, 0));
    }

    #[test]
    fn truncated_messages_are_refused(
        message in message(), event in event(), watermark in watermark(), cut in 1..20usize,
    ) {
        let body = message.encode(ExecutionId(1), 0);
        let shorter = body.slice(..body.len().saturating_sub(cut));
        prop_assert!(PeerMessage::decode(shorter).is_err());
        let body = Framed::encode(PublishedClass::Directed, watermark, &event);
        let shorter = body.slice(..body.len().saturating_sub(cut));
        prop_assert!(Framed::decode(PublishedClass::Directed, shorter).is_err());
    }
}
