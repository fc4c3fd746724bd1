//! Arbitrary packets and peer messages (letters) of a hostile node at the services of a node with
//! an honest neighbour, in one federation execution.
//!
//! Input: chunks, each a control byte, a length byte and that many bytes. The three low bits of the
//! control byte select the action: 0 an event in one of the hostile node's streams (bits 3 and 4:
//! the stream; bit 5: best effort; bit 6: a number is left out); 1 a whole packet; 2 a letter; 3 a
//! whole frame of letters; 4 the hostile node subscribes or unsubscribes a topic, or publishes or
//! unpublishes it; 5 time passes; 6 a call of a federate of the node; 7 a call of one of its
//! neighbour.
#![no_main]

use base::{Moment, NodeKey};
use bytes::{BufMut, Bytes, BytesMut};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, Message as _};
use hla::fom::{Edition, Fdd, Limits, Module};
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle};
use hla::time::{LogicalTime, LogicalTimeInterval};
use libfuzzer_sys::fuzz_target;
use meshrti_fuzz::chunks;
use router::{Message as _, Wire};
use rti::control::PublishedClass;
use rti::{CallId, CallerId, Command, Config, ExecutionId, ModuleText, NoFoms, NodeId, Rti};
use rti::{NetTopic, Outgoing, Packet};
use std::sync::LazyLock;
use std::time::Duration;

const SMALL: &[u8] = include_bytes!("small.xml");

/// The only federation execution, and the hostile node.
const EXECUTION: ExecutionId = ExecutionId(1);
const HOSTILE: NodeId = NodeId(3);

/// Calls with this number or a greater one are about logical time.
const IN_TIME: u8 = 200;

/// More memory than an input can have caused to be kept for others.
const MEMORY_MAX: usize = 1 << 20;

/// The handles of the object model.
struct Model {
    class: ObjectClassHandle,
    /// A reliable attribute, and a best-effort one.
    attributes: [AttributeHandle; 2],
    interaction: InteractionClassHandle,
    topics: [NetTopic; 4],
}

static MODEL: LazyLock<Model> = LazyLock::new(|| {
    let (module, _) = Module::read("small.xml", SMALL, &Limits::default()).expect("a sound module");
    let (model, _) = Fdd::standard(Edition::Hla2025).extend(&[module]).expect("it fits");
    let class = |name| model.object_class_by_name(name).expect("the module has it");
    let attribute =
        |name| model.attributes().find(|attribute| attribute.name == name).expect("the module has it").handle;
    let interaction = model.interaction_class_by_name("HLAinteractionRoot.I").expect("the module has it");
    let (upper, lower) = (class("HLAobjectRoot.C"), class("HLAobjectRoot.C.D"));
    Model {
        class: upper,
        attributes: ["a", "b"].map(attribute),
        interaction,
        topics: [
            NetTopic::Objects(EXECUTION, upper),
            NetTopic::Objects(EXECUTION, lower),
            NetTopic::Interactions(EXECUTION, interaction),
            NetTopic::Directed(EXECUTION),
        ],
    }
});

struct World {
    now: Moment,
    /// The node under test, and its honest neighbour.
    nodes: [Rti; 2],
    calls: u32,
    /// Numbers of the hostile node's stream events by topic. `letters`: number of its letters.
    said: [u64; 4],
    letters: u64,
    /// Instances that federates registered, the latest last.
    instances: [Vec<ObjectInstanceHandle>; 2],
    /// The latest logical time to which a federate has asked to advance.
    latest: f64,
}

fn key(node: usize) -> NodeKey {
    NodeKey(node as u64 + 1)
}

const CALLER: CallerId = CallerId(1);

impl World {
    fn new() -> Self {
        let now = Moment::from_secs(1);
        let nodes = [0, 1].map(|node| {
            let mut rti = Rti::new(Config { key: Some(key(node)), ..Config::default() }, Box::new(NoFoms));
            rti.set_networked(now, true);
            rti.open(now, CALLER).expect("the first one");
            rti
        });
        let instances = [Vec::new(), Vec::new()];
        let mut world = Self { now, nodes, calls: 0, said: [0; 4], letters: 0, instances, latest: 0.0 };
        for node in 0..3 {
            world.commit(node, &Command::AddNode { key: key(node), name: format!("N{node}") });
        }
        let module = ModuleText { designator: "small.xml".to_owned(), text: Bytes::from_static(SMALL) };
        let create = Command::Create {
            federation: "F".to_owned(),
            mim: None,
            modules: vec![module],
            time: String::new(),
            directive: api::ResignAction::NoAction,
        };
        world.commit(2, &create);
        let join = Command::Join {
            federation: "F".to_owned(),
            name: Some("hostile".to_owned()),
            federate_type: "T".to_owned(),
            modules: Vec::new(),
            known: None,
            node: HOSTILE,
            host: String::new(),
            designators: Vec::new(),
        };
        world.commit(2, &join);
        for topic in MODEL.topics {
            world.publish(topic, true);
        }
        for node in 0..2 {
            world.enter(node);
        }
        world.pass(Duration::from_millis(500));
        // It lets the node follow its streams, which are still empty.
        for topic in MODEL.topics {
            let mut letter = BytesMut::new();
            letter.put_u8(4);
            put_class(&mut letter, topic);
            letter.put_slice(&[0, 0, 0, 0]);
            world.letter(&letter);
        }
        world.pass(Duration::from_millis(500));
        world
    }

    /// A federate joins, publishes and subscribes everything, and registers an instance.
    fn enter(&mut self, node: usize) {
        let join = api::JoinFederationExecutionRequest {
            federate_type: "T".to_owned(),
            federation_name: "F".to_owned(),
        };
        for call in
            [Call::ConnectRequest(api::ConnectRequest::default()), Call::JoinFederationExecutionRequest(join)]
        {
            assert!(self.call(node, call).is_some(), "it joins");
        }
        for on in [true, false] {
            for what in 0..3 {
                let declared = self.call(node, declaration(what, on));
                assert!(declared.is_some(), "declaration {what} {on}");
            }
        }
        self.act(node, &[0]);
    }

    fn call(&mut self, node: usize, call: Call) -> Option<Answer> {
        self.calls += 1;
        let id = CallId(self.calls);
        let mut answer = self.nodes[node].call(self.now, CALLER, id, call);
        while let Some(proposal) = self.nodes[node].poll_proposal() {
            let command = proposal.to_bytes();
            if let Some(done) = self.nodes[node].commit(self.now, proposal) {
                answer = Some(done.answer);
            }
            self.nodes[1 - node].commit_remote(self.now, key(node), &command).expect("a sound command");
        }
        self.settle();
        answer.expect("a call is answered once its proposals are committed").ok()
    }

    /// Commits a command at both nodes.
    fn commit(&mut self, from: usize, command: &Command) {
        for node in &mut self.nodes {
            node.commit_remote(self.now, key(from), &command.to_bytes()).expect("a sound command");
        }
        self.settle();
    }

    fn publish(&mut self, topic: NetTopic, on: bool) {
        let class: PublishedClass = topic.class().expect("the topic of a class");
        self.commit(2, &Command::Publishes { execution: EXECUTION, node: HOSTILE, class, on });
    }

    fn chunk(&mut self, control: u8, bytes: &[u8]) {
        let now = self.now;
        let stream = usize::from(control >> 3 & 3);
        match control & 7 {
            0 => self.say(stream, control & 32 != 0, control & 64 != 0, bytes),
            1 => {
                if let Ok(packet) = Packet::decode(Bytes::copy_from_slice(bytes), 0) {
                    let mut written = BytesMut::new();
                    packet.encode(&mut written);
                    let again = Packet::decode(written.freeze(), 0).expect("what is written can be read");
                    assert_eq!(again, packet);
                    let _misunderstood = self.nodes[0].handle_packet(now, packet);
                }
            }
            2 => self.letter(bytes),
            3 => {
                let _cut = self.nodes[0].handle_unicast(now, HOSTILE, Bytes::copy_from_slice(bytes));
            }
            4 if control & 64 != 0 => self.publish(MODEL.topics[stream], control & 32 != 0),
            4 => self.nodes[0].handle_wanted(now, MODEL.topics[stream], control & 32 != 0),
            5 => self.pass(Duration::from_millis(u64::from(control >> 3) * 100)),
            node => self.act(usize::from(node) - 6, bytes),
        }
        self.settle();
    }

    /// The hostile node appends an event to a stream.
    fn say(&mut self, stream: usize, loose: bool, gap: bool, bytes: &[u8]) {
        let mut packet = BytesMut::new();
        packet.put_u8(EXECUTION.0 as u8);
        put_class(&mut packet, MODEL.topics[stream]);
        packet.put_u8(HOSTILE.0 as u8);
        let said = &mut self.said[stream];
        if loose {
            packet.put_u8(1);
            put_varint(&mut packet, *said);
            packet.put_u64(0);
        } else {
            *said += 1 + u64::from(gap);
            packet.put_u8(0);
            put_varint(&mut packet, *said);
        }
        packet.put_slice(bytes);
        let packet = Packet::decode(packet.freeze(), 0).expect("a sound head");
        let _misunderstood = self.nodes[0].handle_packet(self.now, packet);
    }

    /// The hostile node sends a letter, behind a head that says that it is always ready.
    fn letter(&mut self, bytes: &[u8]) {
        self.letters += 1;
        let mut frame = BytesMut::new();
        frame.put_u8(1);
        put_varint(&mut frame, self.letters);
        put_varint(&mut frame, bytes.len() as u64 + 3);
        frame.put_slice(&[EXECUTION.0 as u8, 0, 0]);
        frame.put_slice(bytes);
        let _misunderstood = self.nodes[0].handle_unicast(self.now, HOSTILE, frame.freeze());
        self.settle();
    }

    /// An honest federate makes a call.
    fn act(&mut self, node: usize, bytes: &[u8]) {
        let (what, which) = (bytes.first().copied().unwrap_or(0), bytes.get(1).copied().unwrap_or(0));
        let known = self.instances.concat();
        let instance = known.get(usize::from(which) % known.len().max(1)).copied();
        let tag = Bytes::from_static(b"tag");
        let call = match what % 12 {
            _ if what >= IN_TIME => self.call_in_time(what - IN_TIME, which),
            0 => Call::RegisterObjectInstanceRequest(api::RegisterObjectInstanceRequest {
                object_class: Some(MODEL.class),
            }),
            1 | 2 => Call::UpdateAttributeValuesRequest(api::UpdateAttributeValuesRequest {
                object_instance: instance,
                attribute_values: Some(api::AttributeHandleValueMap {
                    attribute_handle_value: vec![api::AttributeHandleValue {
                        attribute_handle: Some(MODEL.attributes[usize::from(what & 1)]),
                        value: tag.clone(),
                    }],
                }),
                user_supplied_tag: tag,
            }),
            3 => Call::SendInteractionRequest(api::SendInteractionRequest {
                interaction_class: Some(MODEL.interaction),
                parameter_values: Some(api::ParameterHandleValueMap::default()),
                user_supplied_tag: tag,
            }),
            4 => Call::SendDirectedInteractionRequest(api::SendDirectedInteractionRequest {
                interaction_class: Some(MODEL.interaction),
                object_instance: instance,
                parameter_values: Some(api::ParameterHandleValueMap::default()),
                user_supplied_tag: tag,
            }),
            5 => Call::DeleteObjectInstanceRequest(api::DeleteObjectInstanceRequest {
                object_instance: instance,
                user_supplied_tag: tag,
            }),
            6 => Call::RequestInstanceAttributeValueUpdateRequest(
                api::RequestInstanceAttributeValueUpdateRequest {
                    object_instance: instance,
                    attributes: attributes(),
                    user_supplied_tag: tag,
                },
            ),
            other => declaration(other % 3, which & 1 != 0),
        };
        if let Some(Answer::RegisterObjectInstanceResponse(answer)) = self.call(node, call) {
            self.instances[node].extend(answer.result);
        }
    }

    /// A call of time management. Times grow with those of the calls before.
    fn call_in_time(&mut self, what: u8, which: u8) -> Call {
        let time = |units: f64| Some(LogicalTime::float64(units).expect("not negative").into());
        let ahead = self.latest + f64::from(which % 8);
        let lookahead = LogicalTimeInterval::float64(f64::from(which % 4)).expect("not negative");
        match what % 8 {
            0 => Call::EnableTimeRegulationRequest(api::EnableTimeRegulationRequest {
                lookahead: Some(lookahead.into()),
            }),
            1 => Call::EnableTimeConstrainedRequest(api::EnableTimeConstrainedRequest {}),
            2 => {
                self.latest = ahead;
                Call::TimeAdvanceRequestRequest(api::TimeAdvanceRequestRequest { time: time(ahead) })
            }
            3 => Call::NextMessageRequestRequest(api::NextMessageRequestRequest { time: time(ahead) }),
            4 => Call::FlushQueueRequestRequest(api::FlushQueueRequestRequest { time: time(ahead) }),
            5 => Call::ChangeInteractionOrderTypeRequest(api::ChangeInteractionOrderTypeRequest {
                interaction_class: Some(MODEL.interaction),
                order_type: api::OrderType::Timestamp.into(),
            }),
            6 => Call::SendInteractionWithTimeRequest(api::SendInteractionWithTimeRequest {
                interaction_class: Some(MODEL.interaction),
                parameter_values: Some(api::ParameterHandleValueMap::default()),
                user_supplied_tag: Bytes::new(),
                time: time(ahead + f64::from(which / 8)),
            }),
            _ => Call::DisableTimeConstrainedRequest(api::DisableTimeConstrainedRequest {}),
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        for node in &mut self.nodes {
            node.handle_timeout(self.now);
        }
        self.settle();
    }

    /// Delivers all messages. The honest nodes understand each other, and their callbacks are
    /// valid.
    fn settle(&mut self) {
        let now = self.now;
        for _ in 0..1_000 {
            let mut quiet = true;
            for node in 0..2 {
                while let Some(proposal) = self.nodes[node].poll_proposal() {
                    let command = proposal.to_bytes();
                    assert!(self.nodes[node].commit(now, proposal).is_none(), "nobody waits");
                    let other = self.nodes[1 - node].commit_remote(now, key(node), &command);
                    other.expect("a sound command");
                    quiet = false;
                }
                while let Some(outgoing) = self.nodes[node].poll_outgoing() {
                    let other = &mut self.nodes[1 - node];
                    match outgoing {
                        Outgoing::Publish(packet) => {
                            assert_eq!(packet.topic().execution(), EXECUTION);
                            if *packet.topic() != NetTopic::Node(EXECUTION, HOSTILE) {
                                other.handle_packet(now, packet).expect("a sound packet");
                            }
                        }
                        Outgoing::Unicast { to, body, .. } if to != HOSTILE => {
                            assert_eq!(usize::from(to.0), 2 - node, "there is nobody else");
                            other.handle_unicast(now, NodeId(node as u16 + 1), body).expect("sound letters");
                        }
                        Outgoing::Interest { topic, any } => other.handle_wanted(now, topic, any),
                        _ => {}
                    }
                    quiet = false;
                }
                while let Some(caller) = self.nodes[node].poll_ready() {
                    while let Some(body) = self.nodes[node].poll_callback(caller) {
                        let callback = api::CallbackRequest::decode(body).expect("a sound callback");
                        assert!(callback.callback_request.is_some());
                    }
                }
                while self.nodes[node].poll_lost().is_some() {}
                assert!(self.nodes[node].network_memory() < MEMORY_MAX);
            }
            if quiet {
                return;
            }
        }
        panic!("the two do not come to rest");
    }
}

/// A call that publishes or subscribes objects, interactions or directed interactions.
fn declaration(what: u8, publish: bool) -> Call {
    let (object_class, interaction_class) = (Some(MODEL.class), Some(MODEL.interaction));
    let interaction_classes =
        Some(api::InteractionClassHandleSet { interaction_class_handle: vec![MODEL.interaction] });
    let attributes = attributes();
    match (what, publish) {
        (0, true) => Call::PublishObjectClassAttributesRequest(api::PublishObjectClassAttributesRequest {
            object_class,
            attributes,
        }),
        (0, false) => {
            Call::SubscribeObjectClassAttributesRequest(api::SubscribeObjectClassAttributesRequest {
                object_class,
                attributes,
            })
        }
        (1, true) => {
            Call::PublishInteractionClassRequest(api::PublishInteractionClassRequest { interaction_class })
        }
        (1, false) => Call::SubscribeInteractionClassRequest(api::SubscribeInteractionClassRequest {
            interaction_class,
        }),
        (_, true) => Call::PublishObjectClassDirectedInteractionsRequest(
            api::PublishObjectClassDirectedInteractionsRequest { object_class, interaction_classes },
        ),
        (_, false) => Call::SubscribeObjectClassDirectedInteractionsRequest(
            api::SubscribeObjectClassDirectedInteractionsRequest { object_class, interaction_classes },
        ),
    }
}

fn attributes() -> Option<api::AttributeHandleSet> {
    Some(api::AttributeHandleSet { attribute_handle: MODEL.attributes.to_vec() })
}

/// The kind and class of a topic.
fn put_class(out: &mut BytesMut, topic: NetTopic) {
    let (kind, class) = match topic {
        NetTopic::Objects(_, class) => (1, class.0),
        NetTopic::Interactions(_, class) => (2, class.0),
        NetTopic::Directed(_) => (3, 0),
        NetTopic::Node(_, node) => (4, u32::from(node.0)),
    };
    out.put_u8(kind);
    put_varint(out, u64::from(class));
}

fn put_varint(out: &mut BytesMut, mut value: u64) {
    while value > 127 {
        out.put_u8(value as u8 | 128);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

fuzz_target!(|data: &[u8]| {
    let mut world = World::new();
    for ([control], bytes) in chunks(data) {
        world.chunk(control, bytes);
    }
    world.pass(Duration::from_secs(60));
});
