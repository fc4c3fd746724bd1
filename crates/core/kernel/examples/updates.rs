//! The path of updates through whole kernels, without sockets: how many instructions does one cost?
//!
//! One federate updates an object. Another one gets each reflected and reports it. All frames are
//! those that real federates send. Callgrind counts the instructions; their number is the same on a
//! busy machine as on a quiet one:
//!
//! ```sh
//! cargo build --release -p meshrti-kernel --example updates
//! valgrind --tool=callgrind --toggle-collect='*::steady' \
//!     target/release/examples/updates NODES UPDATES BATCH [timestamp] [transferred]
//! ```
//!
//! The collected number, divided by UPDATES, is the cost of an update with everything that belongs
//! to it: its response, the reflect and its report, and the work of this program itself (about 400
//! instructions). NODES is 1, or 2 for federates at two kernels with a link between them. BATCH
//! updates come in one read: 1 for round trips, more for floods. With `timestamp` they are in
//! time-stamp order: the sender regulates and the receiver is constrained, and both advance in
//! logical time after each batch. Divide by UPDATES then, too: the advances belong to it. With
//! `transferred` the sender updates the object that the receiver has registered, whose attribute it has
//! acquired: over two nodes, updates come from another node than the one that decides about ownership.

use base::{Address, Moment, NodeKey, Seed};
use bytes::{Bytes, BytesMut};
use fedpro::frame::{Control, Decoder, Message, MessageType, Numbers, put_control, put_hla};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, Message as _};
use hla::handle::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle};
use hla::time::{LogicalTime, LogicalTimeInterval};
use kernel::{
    Config, ConnId, Kernel, LinkId, LinkInput, LinkOutput, LinkTarget, LinkTerms, NetworkConfig, NoFoms,
    TopologyKind,
};
use std::time::Duration;

/// Octets of each value.
const PAYLOAD: usize = 100;
/// The budget, in bytes, that a world gives a kernel for each write.
const BUDGET: usize = 256 << 10;
const SUCCEEDED: &[u8] = &[0x0a, 0x00];
/// The allocator of the server: an update allocates several times.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FOM: &str = r#"<?xml version="1.0"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <modelIdentification><name>Updates</name><type>FOM</type><version>1.0</version>
    <modificationDate>2026-11-22</modificationDate><securityClassification>Unclassified</securityClassification>
    <description>One class with one attribute.</description>
    <poc><pocType>Primary author</pocType><pocOrg>MeshRTI</pocOrg></poc></modelIdentification>
  <objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Ping</name>
    <sharing>PublishSubscribe</sharing><attribute><name>Payload</name><dataType>HLAopaqueData</dataType>
      <updateType>Conditional</updateType><ownership>DivestAcquire</ownership><sharing>PublishSubscribe</sharing>
      <transportation>HLAreliable</transportation><order>Receive</order></attribute>
  </objectClass></objectClass></objects>
</objectModel>"#;

fn main() {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let numbers: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let has = |word: &str| words.iter().any(|given| given == word);
    let kind = Kind { is_timed: has("timestamp"), is_transferred: has("transferred") };
    let [nodes @ (1 | 2), updates, batch] = numbers[..] else {
        panic!("what to do: updates NODES UPDATES BATCH [timestamp] [transferred], with 1 or 2 nodes");
    };
    run(nodes, updates, batch, kind);
}

/// The order of the updates, and the owner of the attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// They are in time-stamp order.
    pub(crate) is_timed: bool,
    /// The sender has acquired the attribute from the federate that registered the object.
    pub(crate) is_transferred: bool,
}

/// Sends the updates, and asserts that each is reflected once.
pub(crate) fn run(nodes: usize, updates: usize, batch: usize, kind: Kind) {
    let Kind { is_timed, is_transferred } = kind;
    let order = if is_timed { "<order>TimeStamp" } else { "<order>Receive" };
    let fom = FOM.replace("<order>Receive", order);
    let mut world = World::new(nodes);
    let mut subscriber = Federate::open(&mut world, 0);
    let module =
        api::fom_module::FomModule::File(api::FileFomModule { name: "u.xml".into(), content: fom.into() });
    let fom_module = Some(api::FomModule { fom_module: Some(module) });
    let federation_name = "updates".to_owned();
    subscriber.call(
        &mut world,
        Call::CreateFederationExecutionRequest(api::CreateFederationExecutionRequest {
            federation_name,
            fom_module,
        }),
    );
    let ping = subscriber.join(&mut world);
    let (class, attributes) =
        (Some(ping.0), Some(api::AttributeHandleSet { attribute_handle: vec![ping.1] }));
    subscriber.call(
        &mut world,
        Call::SubscribeObjectClassAttributesRequest(api::SubscribeObjectClassAttributesRequest {
            object_class: class,
            attributes,
        }),
    );
    world.run(Duration::from_secs(1)); // until the other node knows of the execution
    let mut publisher = Federate::open(&mut world, nodes - 1);
    publisher.join(&mut world);
    publisher.publish(&mut world, ping);
    // In both cases each of them has registered an object and subscribes: streams of two nodes cost an
    // update something, whoever owns what.
    let theirs = publisher.discover(&mut world, &mut subscriber, ping);
    let own = publisher.register(&mut world, ping);
    if is_transferred {
        publisher.take_over(&mut world, &mut subscriber, (theirs, ping.1));
    }
    let object = if is_transferred { theirs } else { own };
    // Until the beginning of the stream is no longer kept: updates are narrowed from then on.
    world.run(Duration::from_secs(10));
    let mut steps = Steps { update: update(object, ping.1, None), object, attribute: ping.1, now: None };
    if is_timed {
        steps.begin(&mut world, &mut publisher, &mut subscriber);
    }
    steady(&mut world, &mut publisher, &mut subscriber, &mut steps, batch, batch);
    let before = subscriber.callbacks;
    steady(&mut world, &mut publisher, &mut subscriber, &mut steps, updates, batch);
    let (batches, grants) = (updates.div_ceil(batch), usize::from(is_timed));
    assert_eq!(subscriber.callbacks - before, batches * (batch + grants), "each is reflected once");
}

/// The updates of each batch, and their logical time.
struct Steps {
    update: Bytes,
    object: ObjectInstanceHandle,
    attribute: AttributeHandle,
    /// `None` in receive order.
    now: Option<LogicalTime>,
}

impl Steps {
    /// Lets the publisher regulate time, and the subscriber be constrained.
    fn begin(&mut self, world: &mut World, publisher: &mut Federate, subscriber: &mut Federate) {
        let lookahead = Some(interval().into());
        let regulate = api::EnableTimeRegulationRequest { lookahead };
        publisher.call(world, Call::EnableTimeRegulationRequest(regulate));
        subscriber.call(world, Call::EnableTimeConstrainedRequest(api::EnableTimeConstrainedRequest {}));
        let mut out = BytesMut::new();
        for _ in 0..100 {
            world.run(Duration::from_millis(10));
            publisher.listen(world, &mut out);
            subscriber.listen(world, &mut out);
        }
        self.now = Some(LogicalTime::float64(0.0).expect("a time"));
    }

    /// Advances to the time of the next batch, whose encoded request is returned.
    fn next(&mut self) -> Option<Bytes> {
        let next = self.now?.add(interval()).expect("there is time left");
        self.now = Some(next);
        self.update = update(self.object, self.attribute, Some(next));
        let advance = api::TimeAdvanceRequestRequest { time: Some(next.into()) };
        let call = Call::TimeAdvanceRequestRequest(advance);
        Some(api::CallRequest { call_request: Some(call) }.encode_to_vec().into())
    }
}

/// The step of each batch, and the lookahead.
fn interval() -> LogicalTimeInterval {
    LogicalTimeInterval::float64(1.0).expect("an interval")
}

/// An encoded update of the object, in time-stamp order if it has a time.
fn update(object: ObjectInstanceHandle, attribute: AttributeHandle, time: Option<LogicalTime>) -> Bytes {
    let pair =
        api::AttributeHandleValue { attribute_handle: Some(attribute), value: Bytes::from(vec![1; PAYLOAD]) };
    let attribute_values = Some(api::AttributeHandleValueMap { attribute_handle_value: vec![pair] });
    let (object_instance, user_supplied_tag) = (Some(object), Bytes::new());
    let call = match time {
        None => Call::UpdateAttributeValuesRequest(api::UpdateAttributeValuesRequest {
            object_instance,
            attribute_values,
            user_supplied_tag,
        }),
        Some(time) => Call::UpdateAttributeValuesWithTimeRequest(api::UpdateAttributeValuesWithTimeRequest {
            object_instance,
            attribute_values,
            user_supplied_tag,
            time: Some(time.into()),
        }),
    };
    api::CallRequest { call_request: Some(call) }.encode_to_vec().into()
}

/// The measured part: `updates` in batches, with their responses, reflects and reports.
#[inline(never)]
fn steady(
    world: &mut World,
    publisher: &mut Federate,
    subscriber: &mut Federate,
    steps: &mut Steps,
    updates: usize,
    batch: usize,
) {
    let mut out = BytesMut::with_capacity(BUDGET);
    for _ in 0..updates.div_ceil(batch) {
        out.clear();
        let advance = steps.next();
        for _ in 0..batch {
            publisher.put(&mut out, MessageType::CallRequest, None, &steps.update);
        }
        publisher.put_if_any(&mut out, advance.as_ref());
        world.give(publisher, &out);
        out.clear();
        subscriber.put_if_any(&mut out, advance.as_ref());
        if !out.is_empty() {
            world.give(subscriber, &out);
        }
        let expected = subscriber.callbacks + batch;
        loop {
            world.carry();
            publisher.listen(world, &mut out);
            subscriber.listen(world, &mut out);
            if advance.is_none() || subscriber.callbacks > expected {
                break;
            }
            // Reports of logical time between nodes wait for a timer.
            world.run(Duration::from_millis(1));
        }
    }
}

/// One or two kernels and the link between them.
struct World {
    kernels: Vec<Kernel>,
    now: Moment,
}

impl World {
    fn new(nodes: usize) -> Self {
        let mut world = Self { kernels: Vec::new(), now: Moment::ZERO };
        if nodes == 1 {
            world.kernels.push(Kernel::new(Config::default(), Box::new(NoFoms)));
            return world;
        }
        for number in 1..=2_u64 {
            let seed = Seed(number);
            let name = format!("node-{number}");
            // Routers of nodes are told apart by the upper half of a key.
            let key = NodeKey(number << 32 | number);
            let mut network = NetworkConfig::new(key, seed, &name, TopologyKind::Tree);
            network.overlay.urls = vec![name.clone()];
            network.bootstrap = (number == 1).then_some(Duration::ZERO);
            if number == 2 {
                let url = "node-1".to_owned();
                network.targets.push(LinkTarget { url, name: None, terms: LinkTerms::default() });
            }
            let kernel = Kernel::in_network(world.now, Config::default(), network, Box::new(NoFoms));
            world.kernels.push(kernel.expect("sound settings"));
        }
        world.run(Duration::from_secs(5));
        world
    }

    /// Lets time pass.
    fn run(&mut self, lasts: Duration) {
        let until = self.now + lasts;
        while self.now < until {
            self.now += Duration::from_millis(1);
            for kernel in &mut self.kernels {
                if kernel.poll_timeout().is_some_and(|at| at <= self.now) {
                    kernel.handle_timeout(self.now);
                }
            }
            self.carry();
        }
    }

    /// Reads FOM modules and carries frames between the kernels until there are none.
    fn carry(&mut self) {
        let mut any = true;
        while any {
            any = false;
            for from in 0..self.kernels.len() {
                while let Some(job) = self.kernels[from].poll_job() {
                    self.kernels[from].finish_job(self.now, job.run());
                    any = true;
                }
                while let Some(output) = self.kernels[from].poll_link() {
                    self.obey(from, &output);
                    any = true;
                }
            }
        }
    }

    fn obey(&mut self, from: usize, output: &LinkOutput) {
        let (now, to) = (self.now, 1 - from);
        match *output {
            LinkOutput::Connect { target, .. } => {
                let up = |target| LinkInput::Up { link: LinkId(1), target };
                self.kernels[to].handle_link(now, up(None));
                self.kernels[from].handle_link(now, up(Some(target)));
            }
            LinkOutput::Ready(link) => {
                while let Some(frame) = self.kernels[from].poll_link_frame(now, link) {
                    self.kernels[to].handle_link(now, LinkInput::Frame { link, frame });
                }
            }
            LinkOutput::Close { .. } => {}
        }
    }

    fn give(&mut self, federate: &Federate, bytes: &[u8]) {
        self.now += Duration::from_micros(10);
        let bytes = Bytes::copy_from_slice(bytes);
        self.kernels[federate.kernel].handle_bytes(self.now, federate.conn, bytes);
    }

    /// Hands a federate the frames that wait for it.
    fn take(&mut self, federate: &mut Federate, out: &mut BytesMut) {
        let kernel = &mut self.kernels[federate.kernel];
        while kernel.poll_ready().is_some() {}
        loop {
            out.clear();
            let transmit = kernel.poll_transmit(self.now, federate.conn, out, BUDGET);
            federate.read(out);
            if !transmit.more {
                return;
            }
        }
    }
}

/// A federate that implements only the part of the protocol that it needs.
struct Federate {
    kernel: usize,
    conn: ConnId,
    session: u64,
    next: u32,
    heard: Option<base::Serial31>,
    answer: Option<Bytes>,
    callbacks: usize,
    /// Reports of callbacks that are still to be sent.
    report: BytesMut,
}

impl Federate {
    fn open(world: &mut World, kernel: usize) -> Self {
        let conn = ConnId(world.now.since(Moment::ZERO).as_nanos() as u64);
        world.now += Duration::from_micros(1);
        world.kernels[kernel].handle_open(world.now, conn, Address::default(), 1 + conn.0);
        let mut federate = Self {
            kernel,
            conn,
            session: 0,
            next: 1,
            heard: None,
            answer: None,
            callbacks: 0,
            report: BytesMut::new(),
        };
        let mut out = BytesMut::new();
        let numbers = federate.numbers();
        put_control(&mut out, 0, numbers, Control::NewSession { version: 1 });
        world.give(&federate, &out);
        world.take(&mut federate, &mut out);
        federate.session = 1 + conn.0;
        federate.call(world, Call::ConnectRequest(api::ConnectRequest {}));
        federate
    }

    fn numbers(&mut self) -> Numbers {
        let sequence = base::Serial31::new(self.next);
        self.next += 1;
        Numbers { sequence, last_received: self.heard }
    }

    fn put(&mut self, out: &mut BytesMut, kind: MessageType, to: Option<base::Serial31>, body: &[u8]) {
        let numbers = self.numbers();
        put_hla(out, kind, self.session, numbers, to, body);
    }

    fn put_if_any(&mut self, out: &mut BytesMut, request: Option<&Bytes>) {
        if let Some(request) = request {
            self.put(out, MessageType::CallRequest, None, request);
        }
    }

    /// Takes what waits for it, and reports its callbacks.
    fn listen(&mut self, world: &mut World, out: &mut BytesMut) {
        world.take(self, out);
        if !self.report.is_empty() {
            let report = std::mem::take(&mut self.report);
            world.give(self, &report);
            self.report = report;
            self.report.clear();
            world.carry();
        }
    }

    /// Joins. Returns the class and the attribute.
    fn join(&mut self, world: &mut World) -> (ObjectClassHandle, AttributeHandle) {
        let (federate_type, federation_name) = ("f".to_owned(), "updates".to_owned());
        let join = api::JoinFederationExecutionRequest { federate_type, federation_name };
        self.call(world, Call::JoinFederationExecutionRequest(join));
        let name = "HLAobjectRoot.Ping".to_owned();
        let class = api::GetObjectClassHandleRequest { object_class_name: name };
        let Answer::GetObjectClassHandleResponse(class) =
            self.call(world, Call::GetObjectClassHandleRequest(class))
        else {
            panic!("no class");
        };
        let class = class.result.unwrap_or_default();
        let attribute = api::GetAttributeHandleRequest {
            object_class: Some(class),
            attribute_name: "Payload".to_owned(),
        };
        let Answer::GetAttributeHandleResponse(attribute) =
            self.call(world, Call::GetAttributeHandleRequest(attribute))
        else {
            panic!("no attribute");
        };
        (class, attribute.result.unwrap_or_default())
    }

    fn publish(&mut self, world: &mut World, (class, attribute): (ObjectClassHandle, AttributeHandle)) {
        let publish = api::PublishObjectClassAttributesRequest {
            object_class: Some(class),
            attributes: Some(api::AttributeHandleSet { attribute_handle: vec![attribute] }),
        };
        self.call(world, Call::PublishObjectClassAttributesRequest(publish));
    }

    fn register(
        &mut self,
        world: &mut World,
        of: (ObjectClassHandle, AttributeHandle),
    ) -> ObjectInstanceHandle {
        let register = api::RegisterObjectInstanceRequest { object_class: Some(of.0) };
        let answer = self.call(world, Call::RegisterObjectInstanceRequest(register));
        let Answer::RegisterObjectInstanceResponse(registered) = answer else { panic!("{answer:?}") };
        registered.result.unwrap_or_default()
    }

    /// Subscribes, and discovers an object that `registrar` registers.
    fn discover(
        &mut self,
        world: &mut World,
        registrar: &mut Self,
        of: (ObjectClassHandle, AttributeHandle),
    ) -> ObjectInstanceHandle {
        let attributes = Some(api::AttributeHandleSet { attribute_handle: vec![of.1] });
        let subscribe = api::SubscribeObjectClassAttributesRequest { object_class: Some(of.0), attributes };
        self.call(world, Call::SubscribeObjectClassAttributesRequest(subscribe));
        registrar.publish(world, of);
        world.run(Duration::from_secs(1)); // until the subscription is known
        let object = registrar.register(world, of);
        let mut out = BytesMut::new();
        world.run(Duration::from_secs(1)); // until the object is discovered
        self.listen(world, &mut out);
        registrar.listen(world, &mut out);
        object
    }

    /// Acquires the attribute of an object that `registrar` gives up for that.
    fn take_over(
        &mut self,
        world: &mut World,
        registrar: &mut Self,
        (object, attribute): (ObjectInstanceHandle, AttributeHandle),
    ) {
        let attributes = Some(api::AttributeHandleSet { attribute_handle: vec![attribute] });
        let divest = api::UnconditionalAttributeOwnershipDivestitureRequest {
            object_instance: Some(object),
            attributes: attributes.clone(),
            user_supplied_tag: Bytes::new(),
        };
        registrar.call(world, Call::UnconditionalAttributeOwnershipDivestitureRequest(divest));
        let acquire = api::AttributeOwnershipAcquisitionRequest {
            object_instance: Some(object),
            desired_attributes: attributes,
            user_supplied_tag: Bytes::new(),
        };
        self.call(world, Call::AttributeOwnershipAcquisitionRequest(acquire));
        world.run(Duration::from_secs(1)); // until it is acquired
        let mut out = BytesMut::new();
        self.listen(world, &mut out);
        registrar.listen(world, &mut out);
    }

    /// Calls a service and waits for its response, for up to ten seconds of the world's time.
    fn call(&mut self, world: &mut World, call: Call) -> Answer {
        let body = api::CallRequest { call_request: Some(call) }.encode_to_vec();
        let mut out = BytesMut::new();
        self.put(&mut out, MessageType::CallRequest, None, &body);
        world.give(self, &out);
        for _ in 0..10_000 {
            world.carry();
            world.take(self, &mut out);
            if let Some(answer) = self.answer.take() {
                let answer = api::CallResponse::decode(answer).expect("an answer").call_response;
                let answer = answer.expect("an answer");
                assert!(!matches!(answer, Answer::ExceptionData(_)), "{answer:?}");
                return answer;
            }
            world.run(Duration::from_millis(1));
        }
        panic!("no answer");
    }

    fn read(&mut self, bytes: &mut BytesMut) {
        let mut decoder = Decoder::new(BUDGET);
        decoder.push(bytes.split().freeze());
        while let Some(frame) = decoder.next_frame().expect("frames") {
            let number = frame.header.numbers.sequence;
            match frame.message().expect("a message") {
                Message::CallResponse { body, .. } => {
                    self.heard = number;
                    self.answer = Some(body);
                }
                Message::CallbackRequest(_) => {
                    self.heard = number;
                    self.callbacks += 1;
                    let mut report = std::mem::take(&mut self.report);
                    self.put(&mut report, MessageType::CallbackResponse, number, SUCCEEDED);
                    self.report = report;
                }
                _ => {}
            }
        }
    }
}
