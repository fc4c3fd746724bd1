//! Requests and replies over mode 2: each transaction ends once, with the reply to its own request
//! or with the reason for the failure.

mod common;

use base::Moment;
use bytes::Bytes;
use common::{Lines, Net, address, ms};
use srmp::model::{DataId, Epoch, MemberId, Profile};
use srmp::{Config, Event, Failure, Peer, Request, Transacted, TransactionId, Transactions};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const ELEMENT: DataId = DataId(7);
const OTHER: DataId = DataId(8);

struct World {
    net: Net,
    layers: Vec<Transactions>,
    /// The number of events of each endpoint that were examined.
    seen: Vec<usize>,
    reported: Vec<Vec<Transacted>>,
    /// The events that were given back.
    rest: Vec<Vec<Event>>,
}

impl World {
    fn new(seed: u64, lines: Lines, patience: Duration) -> Self {
        let mut net = Net::new(seed, lines);
        for member in 1..=3 {
            let mut config = Config::new(Profile::V3, MemberId(member));
            config.epoch = Epoch(1);
            net.join(config);
        }
        let layers = (0..3).map(|_| Transactions::new([ELEMENT], patience)).collect();
        let empty = || (0..3).map(|_| Vec::new()).collect();
        Self { net, layers, seen: vec![0; 3], reported: empty(), rest: (0..3).map(|_| Vec::new()).collect() }
    }

    fn ask(&mut self, node: usize, to: usize, body: &str) -> TransactionId {
        let layer = &mut self.layers[node];
        let to = Peer::Address(address(to));
        self.net
            .with(node, |endpoint, now| {
                let send = |body| endpoint.send_mode2(now, to, ELEMENT, body);
                layer.transact(now, ELEMENT, body.as_bytes(), send)
            })
            .expect("it can be asked")
    }

    fn reply(&mut self, node: usize, request: &Request, body: &[u8]) {
        let layer = &mut self.layers[node];
        self.net
            .with(node, |endpoint, now| {
                let to = Peer::Address(request.address);
                layer.reply(request, body, |body| endpoint.send_mode2(now, to, request.data, body))
            })
            .expect("it can be replied");
    }

    /// Lets time pass, and passes events on.
    fn run(&mut self, time: Duration) {
        let end: Moment = self.net.now + time;
        while self.net.now < end {
            self.net.run(ms(5));
            for node in 0..3 {
                let events = &self.net.node(node).events;
                let news: Vec<Event> =
                    events[self.seen[node]..].iter().map(|(_, event)| event.clone()).collect();
                self.seen[node] = events.len();
                self.rest[node].extend(news.into_iter().filter_map(|event| self.layers[node].handle(event)));
                self.layers[node].handle_timeout(self.net.now);
                self.reported[node].extend(std::iter::from_fn(|| self.layers[node].poll()));
            }
        }
    }

    fn requests(&mut self, node: usize) -> Vec<Request> {
        let reported = std::mem::take(&mut self.reported[node]);
        let requests = reported.into_iter().map(|happening| match happening {
            Transacted::Request(request) => request,
            other => panic!("{other:?}"),
        });
        requests.collect()
    }
}

#[test]
fn every_transaction_ends_once_with_its_own_reply() {
    let mut failed = 0;
    for seed in 0..30 {
        let lines = Lines { duplicate: 0.2, jitter: ms(40), ..Lines::lossy(ms(20), 0.3) };
        let mut world = World::new(seed, lines, Duration::from_secs(60));
        let mut asked: [BTreeMap<TransactionId, String>; 2] = Default::default();
        let mut heard = BTreeSet::new();
        for round in 0..20 {
            for (node, asked) in asked.iter_mut().enumerate() {
                let body = format!("{node} {round}");
                asked.insert(world.ask(node, 2, &body), body);
            }
            world.run(ms(100));
            for request in world.requests(2) {
                assert!(heard.insert(request.body.clone()), "handed up twice: {request:?}");
                world.reply(2, &request, &[b"re: ", &request.body[..]].concat());
            }
        }
        world.run(Duration::from_secs(30));
        for request in world.requests(2) {
            world.reply(2, &request, &[b"re: ", &request.body[..]].concat());
        }
        world.run(Duration::from_secs(60));
        for (node, mut asked) in asked.into_iter().enumerate() {
            for happening in std::mem::take(&mut world.reported[node]) {
                let (id, reply) = match happening {
                    Transacted::Reply { id, body } => (id, Some(body)),
                    Transacted::Failed { id, .. } => (id, None),
                    Transacted::Request(request) => panic!("{request:?}"),
                };
                let body = asked.remove(&id).expect("ended twice, or never begun");
                failed += usize::from(reply.is_none());
                assert!(reply.is_none_or(|reply| reply == format!("re: {body}").as_bytes()));
            }
            assert!(asked.is_empty(), "seed {seed}: never ended: {asked:?}");
            assert_eq!((world.layers[node].waiting(), world.layers[node].poll_timeout()), (0, None));
        }
    }
    assert!(failed < 40, "{failed} of 1,200 failed where three of ten datagrams are lost");
}

#[test]
fn failures_have_reasons() {
    let mut world = World::new(1, Lines::perfect(ms(10)), Duration::from_secs(5));
    let unheard = world.ask(0, 200, "is anybody there?");
    let ignored = world.ask(0, 1, "and you?");
    world.run(ms(2_000));
    let request = world.requests(1).remove(0);
    world.run(ms(20_000));
    let failed = |id, why| Transacted::Failed { id, why };
    let reported = [failed(ignored, Failure::NoReply), failed(unheard, Failure::NoReply)];
    let reported: BTreeSet<String> = reported.iter().map(|happening| format!("{happening:?}")).collect();
    let ours: BTreeSet<String> =
        world.reported[0].drain(..).map(|happening| format!("{happening:?}")).collect();
    assert_eq!(ours, reported);
    world.reply(1, &request, b"too late");
    world.run(ms(1_000));
    assert_eq!(world.reported[0], [], "nobody waits any more");
    let mut patient = World::new(2, Lines::perfect(ms(10)), Duration::from_secs(600));
    let unheard = patient.ask(0, 200, "is anybody there?");
    patient.run(Duration::from_secs(60));
    assert_eq!(patient.reported[0], [failed(unheard, Failure::NotAcknowledged)]);
}

#[test]
fn other_datagrams_are_given_back() {
    let mut world = World::new(3, Lines::perfect(ms(10)), Duration::from_secs(5));
    world.run(ms(100));
    let to = Peer::Address(address(1));
    for (data, body) in
        [(OTHER, &b"\x01\0\0\0\0ask"[..]), (ELEMENT, b"\x01\0\0\0"), (ELEMENT, b"\x09\0\0\0\0x")]
    {
        world
            .net
            .with(0, |endpoint, now| endpoint.send_mode2(now, to, data, Bytes::copy_from_slice(body)))
            .expect("it can be sent");
    }
    // A reply without a request.
    let request = Request { address: address(1), data: ELEMENT, id: TransactionId(99), body: Bytes::new() };
    world.reply(0, &request, b"?");
    world.run(ms(500));
    let given: Vec<&Event> =
        world.rest[1].iter().filter(|event| matches!(event, Event::Mode2 { .. })).collect();
    assert_eq!((given.len(), &world.reported[1]), (3, &Vec::new()));
    let own = world.rest[0].iter().filter(|event| matches!(event, Event::Delivered { .. })).count();
    assert_eq!(own, 3, "plain messages are told of, the reply is not");
    let layer = &mut world.layers[0];
    let refused = layer.transact(world.net.now, OTHER, b"x", |_| panic!("nothing is sent"));
    assert_eq!(refused, Err(srmp::SendError::BadData(OTHER)));
}
