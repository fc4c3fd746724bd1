//! The objects of one federation execution as a machine: calls in, effects out.

mod class_requests;
mod divestitures;
mod losses;
mod relevance;

use super::losses::Rehoming;
use super::objects::Objects;
use crate::control::{Command, ControlPlane, ExecutionId, NodeId, PublishedClass};
use crate::effect::{Change, Effect, Effects};
use crate::object::apply::SnapshotRange;
use crate::proposal::{CallId, CallerId, Completion, Proposal, Waiting};
use crate::time::TimeInput;
use crate::wire::{HandleValue, Payload, Record, RecordedAttribute, RegionSet, StreamEvent, Values};
use base::{Moment, Seed};
use bytes::Bytes;
use hla::api::{
    AttributeHandleSet, AttributeHandleValue, AttributeHandleValueMap, CallbackRequest, Message as _,
    ResignAction, callback_request::CallbackRequest as Callback,
};
use hla::fom::{Edition, Fdd, Limits, Module};
use hla::handle::{
    AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, TransportationTypeHandle,
};
use hla::time::TimeKind;
use router::{ClientConfig, ClientId, Router, RouterConfig, RouterId};
use std::collections::BTreeMap;

const OWNER: FederateHandle = FederateHandle(1);
const OTHER: FederateHandle = FederateHandle(2);
const NODE: NodeId = NodeId(1);
const PEER: NodeId = NodeId(2);

/// Objects with two federates. The owner publishes `C` with its attributes `a` (reliable) and `b`
/// (best effort); the other one subscribes both.
pub(crate) struct Fixture {
    pub(crate) objects: Objects,
    effects: Effects,
    clients: BTreeMap<ClientId, FederateHandle>,
    pub(crate) class: ObjectClassHandle,
    a: AttributeHandle,
    b: AttributeHandle,
}

fn model() -> Fdd {
    let attribute = |name: &str, how: &str| {
        format!(
            "<attribute><name>{name}</name><dataType>HLAcount</dataType>\
             <transportation>{how}</transportation><order>Receive</order></attribute>"
        )
    };
    let text = format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass>\
         <name>HLAobjectRoot</name><objectClass><name>C</name>{}{}</objectClass></objectClass></objects></objectModel>",
        attribute("a", "HLAreliable"),
        attribute("b", "HLAbestEffort"),
    );
    let (module, _) = Module::read("C.xml", text.as_bytes(), &Limits::default()).unwrap();
    Fdd::standard(Edition::Hla2025).extend(&[module]).unwrap().0
}

impl Fixture {
    pub(crate) fn new(replicated: bool) -> Self {
        let mut router: Router<crate::wire::Packet, crate::wire::NetTopic> =
            Router::new(RouterConfig::new(RouterId(1), Seed(1)));
        let mut objects = Objects::new(ExecutionId(1), NODE, model(), TimeKind::Float64);
        let mut clients = BTreeMap::new();
        for federate in [OWNER, OTHER] {
            let client = router.add_client(Moment::ZERO, ClientConfig::local()).unwrap();
            clients.insert(client, federate);
            objects.join(federate, CallerId(federate.0.into()), client);
        }
        let class = objects.model.object_class_by_name("HLAobjectRoot.C").unwrap();
        let attribute = |name| objects.model.attribute_by_name(class, name).unwrap();
        let (a, b) = (attribute("a"), attribute("b"));
        let mut fixture = Self { objects, effects: Effects::default(), clients, class, a, b };
        let both = AttributeHandleSet { attribute_handle: vec![a, b] };
        if replicated {
            fixture.act(|objects, effects| objects.start_replication(effects));
        }
        fixture.act(|objects, effects| {
            objects.publish_attributes(effects, OWNER, Some(class), Some(&both)).unwrap();
        });
        fixture.act(|objects, effects| {
            objects.subscribe_attributes(effects, OTHER, Some(class), Some(&both), true, "").unwrap();
        });
        fixture
    }

    /// The effects of a call, one line each.
    fn act(&mut self, act: impl FnOnce(&mut Objects, &mut Effects)) -> Vec<String> {
        act(&mut self.objects, &mut self.effects);
        self.effects.take().iter().map(|effect| self.show(effect)).collect()
    }

    fn show(&self, effect: &Effect) -> String {
        match effect {
            Effect::Deliver { to, arrival } => {
                let callback =
                    CallbackRequest::decode(arrival.body.clone()).unwrap().callback_request.unwrap();
                let best_effort = if arrival.best_effort { " (best effort)" } else { "" };
                let what = match callback {
                    Callback::DiscoverObjectInstance(_) => "discover".to_owned(),
                    Callback::RemoveObjectInstance(_) => "remove".to_owned(),
                    Callback::ReflectAttributeValues(reflect) => {
                        let values = reflect.attribute_values.unwrap().attribute_handle_value;
                        let values = values.iter().map(|value| String::from_utf8_lossy(&value.value));
                        format!("reflect {}", values.collect::<Vec<_>>().join(" "))
                    }
                    other => format!("{other:?}"),
                };
                format!("{:?} {what}{best_effort}", self.clients[to])
            }
            Effect::Replicate(change) => self.show_change(change),
            Effect::Propose(proposal) => format!("propose {:?}", proposal.command()),
            Effect::Time(TimeInput::Left(federate)) => format!("f{} left", federate.0),
            Effect::Complete(completion) => match &completion.answer {
                Ok(_) => format!("complete {}", completion.call.0),
                Err(error) => format!("refuse {:?}", error.exception),
            },
            other => format!("{other:?}"),
        }
    }

    fn show_change(&self, change: &Change) -> String {
        match change {
            Change::Append { event, best_effort, .. } => {
                let kind = match event {
                    StreamEvent::Registered(_) => "registered",
                    StreamEvent::Updated { .. } => "updated",
                    StreamEvent::Removed { .. } => "removed",
                    StreamEvent::Ownership { .. } => "ownership",
                    other => panic!("{other:?}"),
                };
                format!("append {kind}{}", if *best_effort { " (best effort)" } else { "" })
            }
            Change::Publish { on, .. } => format!("publish {on}"),
            other => format!("{other:?}"),
        }
    }

    fn register(&mut self) -> (ObjectInstanceHandle, Vec<String>) {
        let class = self.class;
        let mut handle = ObjectInstanceHandle::INVALID;
        let effects = self.act(|objects, effects| {
            let names = crate::control::NameTable::default();
            handle = objects.register(effects, &names, OWNER, Some(class), (None, None)).unwrap();
        });
        (handle, effects)
    }

    fn update(
        &mut self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, &'static str)],
    ) -> Vec<String> {
        let value = |&(attribute, value): &(AttributeHandle, &'static str)| AttributeHandleValue {
            attribute_handle: Some(attribute),
            value: Bytes::from_static(value.as_bytes()),
        };
        let map = AttributeHandleValueMap { attribute_handle_value: values.iter().map(value).collect() };
        self.act(|objects, effects| {
            objects.update(effects, OWNER, Some(instance), Some(map), Bytes::new(), None).unwrap();
        })
    }

    /// A record of an instance that `PEER` registered, with its attributes owned by `owner`.
    fn record(&self, number: u64, owner: FederateHandle) -> Record {
        let attribute = RecordedAttribute {
            owner,
            transportation: TransportationTypeHandle::RELIABLE,
            time_stamped: false,
            is_offered: false,
        };
        let slots = self.objects.class_of(self.class).attributes.len();
        Record {
            instance: ObjectInstanceHandle(u64::from(PEER.0) << 32 | number),
            registrar: PEER,
            producer: owner,
            name: format!("far {number}"),
            attributes: vec![attribute; slots],
            tags: Vec::new(),
            view: None,
            regions: Vec::new(),
        }
    }

    fn apply(&mut self, from: NodeId, event: StreamEvent) -> Vec<String> {
        let class = PublishedClass::Objects(self.class);
        self.act(|objects, effects| {
            objects.apply(effects, class, from, event).unwrap();
        })
    }
}

fn updated(record: &Record, attribute: AttributeHandle, producer: FederateHandle) -> StreamEvent {
    let value = HandleValue { handle: attribute.0, value: Bytes::from_static(b"far") };
    let payload = Payload {
        producer,
        transportation: TransportationTypeHandle::RELIABLE,
        tag: Bytes::new(),
        stamp: None,
        regions: RegionSet::default(),
        values: Values::from_iter([value]),
    };
    StreamEvent::Updated { instance: record.instance, payload: Box::new(payload) }
}

#[test]
fn an_update_is_a_list_of_effects() {
    let mut fixture = Fixture::new(true);
    let (instance, registered) = fixture.register();
    assert_eq!(registered, ["append registered", "f2 discover"]);
    let (a, b) = (fixture.a, fixture.b);
    assert_eq!(
        fixture.update(instance, &[(a, "1"), (b, "2"), (a, "3")]),
        ["f2 reflect 3", "append updated", "f2 reflect 2 (best effort)", "append updated (best effort)"],
        "a passel for each transportation type, each for federates here and for other nodes"
    );
}

#[test]
fn a_single_node_appends_nothing() {
    let mut fixture = Fixture::new(false);
    let (instance, registered) = fixture.register();
    assert_eq!(registered, ["f2 discover"]);
    let a = fixture.a;
    assert_eq!(fixture.update(instance, &[(a, "1")]), ["f2 reflect 1"]);
}

#[test]
fn a_stream_ends_after_its_last_event() {
    let mut fixture = Fixture::new(true);
    for _ in 0..3 {
        fixture.register();
    }
    let effects = fixture.act(|objects, effects| {
        let proposal = Proposal::new(Command::Barrier);
        objects.resign(effects, OWNER, ResignAction::DeleteObjects, proposal).unwrap();
        objects.remove_federate(effects, OWNER);
    });
    let removed = ["append removed", "f2 remove"];
    let end = ["propose Barrier", "f1 left", "publish false"];
    assert_eq!(effects, [&removed[..], &removed[..], &removed[..], &end[..]].concat());
}

#[test]
fn a_call_that_fails_has_no_effect() {
    let mut fixture = Fixture::new(true);
    let (instance, _) = fixture.register();
    let effects = fixture.act(|objects, effects| {
        assert!(objects.deletable(OTHER, Some(instance)).is_err());
        assert!(
            objects.update(effects, OTHER, Some(ObjectInstanceHandle(7)), None, Bytes::new(), None).is_err()
        );
    });
    assert_eq!(effects, Vec::<String>::new());
}

#[test]
fn values_are_taken_from_the_node_of_the_owner_wherever_the_home_is() {
    let mut fixture = Fixture::new(true);
    let far_owner = FederateHandle(9);
    let record = fixture.record(1, far_owner);
    let (home, node_of_owner) = (PEER, NodeId(3));
    assert_eq!(fixture.apply(home, StreamEvent::Registered(Box::new(record.clone()))), ["f2 discover"]);
    let event = updated(&record, fixture.a, far_owner);
    assert_eq!(fixture.apply(node_of_owner, event), ["f2 reflect far"]);
}

#[test]
fn the_registrar_of_an_instance_outlives_its_home() {
    let mut fixture = Fixture::new(true);
    let record = fixture.record(1, FederateHandle(9));
    fixture.apply(PEER, StreamEvent::Registered(Box::new(record.clone())));
    let rehoming = Rehoming { gone: PEER, new_home: NodeId(3), part_bytes: 1 << 10 };
    fixture
        .act(|objects, effects| objects.lose_node(effects, PEER, Some(rehoming), Default::default(), None));
    // The new home has not heard of the instance yet. It must not be removed, because another node
    // registered it.
    let range = SnapshotRange {
        class: fixture.class,
        from: NodeId(3),
        after: ObjectInstanceHandle::INVALID,
        end: ObjectInstanceHandle(u64::MAX),
    };
    let effects =
        fixture.act(|objects, effects| objects.apply_snapshot(effects, &range, &[], |_| false).unwrap());
    assert_eq!(effects, Vec::<String>::new());
    let object = fixture.objects.instances.get(record.instance).unwrap();
    assert_eq!((object.registrar, object.home), (PEER, NodeId(3)));
}

/// Proposes that the owner resigns, for a call that waits.
fn resignation() -> Proposal {
    fn finish(_: crate::proposal::Outcome) -> hla::api::call_response::CallResponse {
        unreachable!("nothing is committed here")
    }
    let waiting = Waiting { caller: CallerId(1), call: CallId(1), finish };
    Proposal { command: Command::Barrier, waiting: Some(waiting), report: None }
}

/// The end of call 7 of the owner.
fn completion() -> Completion {
    let answer = Ok(<hla::api::UnpublishObjectClassRequest as hla::api::Request>::response(()));
    Completion { caller: CallerId(1), call: CallId(7), answer }
}

/// The number of effects of each kind. The kind is given by the first two words.
fn summary(effects: &[String]) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::<String, usize>::new();
    for effect in effects {
        let words: Vec<_> = effect.split([' ', '(', '{']).take(2).collect();
        *counts.entry(words.join(" ")).or_default() += 1;
    }
    counts.into_iter().collect()
}

fn counts<const N: usize>(expected: [(&str, usize); N]) -> Vec<(String, usize)> {
    expected.map(|(kind, count)| (kind.to_owned(), count)).into()
}

impl Fixture {
    /// Registers many instances, which `OTHER` has not subscribed.
    fn register_many(&mut self, count: usize) {
        let class = Some(self.class);
        self.act(|objects, effects| objects.unsubscribe_attributes(effects, OTHER, class, None).unwrap());
        for _ in 0..count {
            self.register();
        }
    }

    fn subscribe(&mut self, attributes: &[AttributeHandle]) -> Vec<(String, usize)> {
        let class = Some(self.class);
        let set = AttributeHandleSet { attribute_handle: attributes.to_vec() };
        let effects = self.act(|objects, effects| {
            objects.subscribe_attributes(effects, OTHER, class, Some(&set), true, "").unwrap();
        });
        summary(&effects)
    }

    /// Turns the owner's attribute relevance advisory on. The call ends with the last slice of work.
    fn start_relevance(&mut self) {
        self.objects.federate_mut(OWNER).switches.attribute_relevance = true;
        if !self.objects.start_relevance(OWNER, completion()) {
            let mut effects = Vec::new();
            while self.objects.has_work(|_| false) {
                effects.extend(self.work(false));
            }
            assert_eq!(effects, counts([("complete 7", 1)]));
        }
    }

    fn work(&mut self, congested: bool) -> Vec<(String, usize)> {
        let control = ControlPlane::new(Limits::default());
        summary(&self.act(|objects, effects| objects.work(effects, &control, |_| congested)))
    }
}

#[test]
fn many_discoveries_come_in_slices_and_wait_for_a_congested_federate() {
    let mut fixture = Fixture::new(false);
    fixture.register_many(2_500);
    let (a, b) = (fixture.a, fixture.b);
    assert_eq!(fixture.subscribe(&[a, b]), counts([("Cover ", 1), ("f2 discover", 1_000)]));
    assert!(!fixture.objects.has_work(|_| true) && fixture.objects.has_work(|_| false));
    assert_eq!(fixture.work(true), []);
    // An instance that is registered meanwhile is discovered at once, and once.
    assert_eq!(fixture.register().1, ["f2 discover"]);
    assert_eq!(fixture.work(false), counts([("f2 discover", 1_000)]));
    assert_eq!(fixture.work(false), counts([("f2 discover", 500)]));
    assert!(fixture.objects.is_settled());
}

#[test]
fn a_subscription_that_changes_meanwhile_is_told_once() {
    let mut fixture = Fixture::new(false);
    fixture.register_many(1_500);
    let (a, b) = (fixture.a, fixture.b);
    fixture.objects.federate_mut(OTHER).switches.attribute_scope = true;
    let both = |discovered| counts([("f2 AttributesInScope", discovered), ("f2 discover", discovered)]);
    assert_eq!(fixture.subscribe(&[a])[1..], both(1_000));
    assert_eq!(fixture.subscribe(&[b]), [], "its review comes after the first one");
    // The last instances are discovered with both attributes in scope, which is reported once.
    assert_eq!(fixture.work(false), both(500));
    let second = [fixture.work(false), fixture.work(false)].concat();
    assert_eq!(second, counts([("f2 AttributesInScope", 1_000)]));
    assert!(fixture.objects.is_settled());
}

#[test]
fn a_federate_with_many_instances_leaves_in_slices() {
    let mut fixture = Fixture::new(false);
    for _ in 0..2_500 {
        fixture.register();
    }
    let first = fixture.act(|objects, effects| {
        objects.resign(effects, OWNER, ResignAction::DeleteObjects, resignation()).unwrap();
    });
    assert_eq!(summary(&first), counts([("f2 remove", 1_000)]));
    assert_eq!(fixture.work(false), counts([("f2 remove", 1_000)]));
    assert_eq!(fixture.work(false), counts([("f2 remove", 500), ("propose Barrier", 1)]));
    assert!(fixture.objects.is_settled());
}

#[test]
fn a_federate_that_is_lost_while_it_resigns_is_resigned_and_forgotten() {
    let mut fixture = Fixture::new(false);
    for _ in 0..1_500 {
        fixture.register();
    }
    fixture.act(|objects, effects| {
        objects.resign(effects, OWNER, ResignAction::DeleteObjects, resignation()).unwrap();
    });
    assert_eq!(fixture.act(|objects, effects| objects.resign_lost(effects, OWNER)), Vec::<String>::new());
    assert_eq!(fixture.work(false), counts([("f1 left", 1), ("f2 remove", 500), ("propose Resign", 1)]));
    assert!(fixture.objects.is_settled() && !fixture.objects.federates.contains_key(&OWNER));
}

#[test]
fn a_resignation_that_would_leave_attributes_owned_is_refused_when_that_comes_out() {
    let mut fixture = Fixture::new(false);
    for _ in 0..11_000 {
        fixture.register();
    }
    let first = fixture.act(|objects, effects| {
        objects.resign(effects, OWNER, ResignAction::NoAction, resignation()).unwrap();
    });
    assert_eq!(first, Vec::<String>::new(), "not all instances have been looked at");
    assert_eq!(fixture.work(false), counts([("refuse FederateOwnsAttributes", 1)]));
    assert_eq!(fixture.objects.instances.len(), 11_000);
    assert!(fixture.objects.is_settled());
}

#[test]
fn instances_forget_a_federate_that_has_left_in_slices() {
    let mut fixture = Fixture::new(false);
    for _ in 0..5_000 {
        fixture.register();
    }
    fixture.start_relevance();
    let first = fixture.act(|objects, effects| objects.remove_federate(effects, OTHER));
    let off = |count| counts([("f1 TurnUpdatesOffForObjectInstance", count)]);
    assert!(summary(&first).contains(&off(2_000)[0]));
    assert_eq!(fixture.work(false), off(2_000));
    assert_eq!(fixture.work(false), off(1_000));
    assert!(fixture.objects.is_settled());
}

#[test]
fn a_congested_federate_discovers_the_instances_of_a_snapshot_later() {
    let mut fixture = Fixture::new(true);
    let far_owner = FederateHandle(9);
    let records: Vec<_> = (1..=3).map(|number| fixture.record(number, far_owner)).collect();
    let range = SnapshotRange {
        class: fixture.class,
        from: PEER,
        after: ObjectInstanceHandle::INVALID,
        end: ObjectInstanceHandle(u64::MAX),
    };
    let first = fixture.act(|objects, effects| {
        objects.apply_snapshot(effects, &range, &records, |_| true).unwrap();
    });
    assert_eq!(first, Vec::<String>::new());
    // One that is registered meanwhile is discovered at once, and once.
    let record = fixture.record(4, far_owner);
    assert_eq!(fixture.apply(PEER, StreamEvent::Registered(Box::new(record))), ["f2 discover"]);
    // The owner was congested as well, and has no reason to discover any.
    assert_eq!([fixture.work(false), fixture.work(false)].concat(), counts([("f2 discover", 3)]));
    assert!(fixture.objects.is_settled());
}
