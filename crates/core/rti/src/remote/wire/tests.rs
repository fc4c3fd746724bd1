//! What is written is read again, and nothing else is.

use super::*;
use crate::control::{ExecutionId, NodeId};
use crate::object::encode::HandleValue;
use bytes::{Bytes, BytesMut};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use proptest::prelude::*;
use router::{Message as _, Wire};

fn topic() -> impl Strategy<Value = NetTopic> {
    let execution = any::<u32>().prop_map(ExecutionId);
    (execution, 0..3u8, any::<u32>()).prop_map(|(execution, kind, class)| match kind {
        0 => NetTopic::Objects(execution, ObjectClassHandle(class)),
        1 => NetTopic::Interactions(execution, InteractionClassHandle(class)),
        _ => NetTopic::Directed(execution),
    })
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

fn record() -> impl Strategy<Value = Record> {
    let attribute = (any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(owner, how, time_stamped)| {
        let (owner, transportation) = (FederateHandle(owner), TransportationTypeHandle(how));
        RecordedAttribute { owner, transportation, time_stamped }
    });
    let attributes = proptest::collection::vec(attribute, 0..5);
    (instance(), any::<u32>(), ".{0,10}", attributes).prop_map(|(instance, producer, name, attributes)| {
        Record { instance, producer: FederateHandle(producer), name, attributes }
    })
}

fn load() -> impl Strategy<Value = Load> {
    let value = (any::<u32>(), octets()).prop_map(|(handle, value)| HandleValue { handle, value });
    let values = proptest::collection::vec(value, 0..5);
    (any::<u32>(), any::<u32>(), octets(), any::<Option<[u8; 8]>>(), values).prop_map(
        |(producer, how, tag, time, values)| Load {
            producer: FederateHandle(producer),
            transportation: TransportationTypeHandle(how),
            tag,
            time,
            values,
        },
    )
}

fn saying() -> impl Strategy<Value = Saying> {
    prop_oneof![
        record().prop_map(Saying::Registered),
        (instance(), any::<u32>(), octets(), any::<Option<[u8; 8]>>()).prop_map(
            |(instance, producer, tag, time)| {
                Saying::Removed { instance, producer: FederateHandle(producer), tag, time }
            }
        ),
        (instance(), any::<u32>(), attributes()).prop_map(|(instance, owner, attributes)| {
            Saying::Disowned { instance, owner: FederateHandle(owner), attributes }
        }),
        (instance(), attributes(), any::<bool>()).prop_map(|(instance, attributes, time_stamped)| {
            Saying::Ordered { instance, attributes, time_stamped }
        }),
        (instance(), load()).prop_map(|(instance, load)| Saying::Updated { instance, load }),
        load().prop_map(Saying::Sent),
        (any::<u32>(), instance(), 1..u32::MAX, any::<u64>(), load()).prop_map(
            |(interaction, instance, class, number, load)| Saying::Directed {
                interaction: InteractionClassHandle(interaction),
                instance,
                after: Some((ObjectClassHandle(class), number)),
                load,
            }
        ),
        Just(Saying::Ended),
    ]
}

fn declaration() -> impl Strategy<Value = Declaration> {
    let subscribed = (any::<u32>(), any::<bool>(), ".{0,5}").prop_map(|(attribute, active, rate)| {
        SubscribedAttribute { attribute: AttributeHandle(attribute), active, rate }
    });
    prop_oneof![
        (any::<u32>(), any::<u32>(), proptest::collection::vec(subscribed, 0..4)).prop_map(
            |(federate, class, attributes)| Declaration::Objects {
                federate: FederateHandle(federate),
                class: ObjectClassHandle(class),
                attributes,
            }
        ),
        (any::<u32>(), any::<u32>(), any::<Option<bool>>()).prop_map(|(federate, class, active)| {
            Declaration::Interactions {
                federate: FederateHandle(federate),
                class: InteractionClassHandle(class),
                active,
            }
        }),
    ]
}

fn letter() -> impl Strategy<Value = Letter> {
    let records = || proptest::collection::vec(record(), 0..3);
    let execution = || any::<u32>().prop_map(ExecutionId);
    prop_oneof![
        (topic(), any::<bool>(), proptest::collection::vec(declaration(), 0..3))
            .prop_map(|(topic, fresh, declarations)| Letter::Attach { topic, fresh, declarations }),
        topic().prop_map(|topic| Letter::Detach { topic }),
        topic().prop_map(|topic| Letter::Left { topic }),
        (execution(), declaration())
            .prop_map(|(execution, declaration)| Letter::Declare { execution, declaration }),
        (topic(), any::<u64>(), proptest::option::of(instance()), records(), any::<bool>()).prop_map(
            |(topic, at, until, records, replay)| Letter::Part { topic, at, until, records, replay }
        ),
        (topic(), instance()).prop_map(|(topic, after)| Letter::More { topic, after }),
        topic().prop_map(|topic| Letter::Refused { topic }),
        (topic(), any::<u64>(), any::<u64>()).prop_map(|(topic, from, to)| Letter::Ask { topic, from, to }),
        (topic(), any::<u64>(), proptest::collection::vec(octets(), 0..4))
            .prop_map(|(topic, first, messages)| Letter::Repair { topic, first, messages }),
        topic().prop_map(|topic| Letter::Gone { topic }),
        (topic(), any::<u64>()).prop_map(|(topic, last)| Letter::Tail { topic, last }),
        (execution(), any::<u32>(), instance(), attributes(), octets()).prop_map(
            |(execution, requester, instance, attributes, tag)| {
                let requester = FederateHandle(requester);
                Letter::Provide { execution, requester, instance, attributes, tag }
            }
        ),
        (execution(), any::<u32>(), records()).prop_map(|(execution, class, records)| Letter::Adopt {
            execution,
            class: ObjectClassHandle(class),
            records,
        }),
        (execution(), proptest::collection::vec(instance(), 0..4))
            .prop_map(|(execution, instances)| Letter::Removed { execution, instances }),
        (execution(), any::<[u32; 4]>()).prop_map(|(execution, [asker, federate, class, how])| {
            Letter::Report {
                execution,
                asker: FederateHandle(asker),
                federate: FederateHandle(federate),
                class: InteractionClassHandle(class),
                transportation: TransportationTypeHandle(how),
            }
        }),
    ]
}

proptest! {
    #[test]
    fn letters_are_read_as_written(letter in letter(), model: u32) {
        let body = letter.encode(model);
        let (execution, head) = Letter::peek(body.clone()).unwrap();
        prop_assert_eq!((execution, head.model), (letter.execution(), model));
        prop_assert_eq!(head.federate, letter.federate());
        prop_assert_eq!(Letter::decode(body).unwrap(), letter);
    }

    #[test]
    fn sayings_are_read_as_written(saying in saying(), model: u32) {
        let head = Head { model, federate: FederateHandle(7) };
        let read = Spoken::decode(Spoken::encode(head, &saying)).unwrap();
        prop_assert_eq!(read.head, head);
        prop_assert_eq!(format!("{:?}", read.saying), format!("{saying:?}"));
    }

    #[test]
    fn packets_are_read_as_written(topic in topic(), sender: u16, kind in 0..4u8, n: u64, key: u64, body in octets()) {
        let kind = match kind {
            0 => Kind::Numbered(n),
            1 => Kind::Loose { after: n, key },
            2 => Kind::Tail(n),
            _ => Kind::Run(n),
        };
        let packet = Packet::new(topic, NodeId(sender), kind, body);
        let mut wire = BytesMut::new();
        packet.encode(&mut wire);
        let read = Packet::decode(wire.freeze(), 0).unwrap();
        prop_assert_eq!(read.supersedes(), packet.supersedes());
        prop_assert_eq!(read, packet);
        let mut wire = BytesMut::new();
        topic.encode(&mut wire);
        prop_assert_eq!(NetTopic::decode(wire.freeze(), 0).unwrap(), topic);
    }

    #[test]
    fn hostile_octets_are_refused_or_read(octets in proptest::collection::vec(any::<u8>(), 0..80)) {
        let body = Bytes::from(octets);
        let _ = (Letter::decode(body.clone()), Spoken::decode(body.clone()), Packet::decode(body.clone(), 0));
        let _ = (Letter::peek(body.clone()), NetTopic::decode(body, 0));
    }

    #[test]
    fn what_is_cut_short_is_refused(letter in letter(), saying in saying(), cut in 1..20usize) {
        let body = letter.encode(0);
        let shorter = body.slice(..body.len().saturating_sub(cut));
        prop_assert!(Letter::decode(shorter).is_err());
        let body = Spoken::encode(Head::default(), &saying);
        let shorter = body.slice(..body.len().saturating_sub(cut));
        prop_assert!(Spoken::decode(shorter).is_err());
    }
}
