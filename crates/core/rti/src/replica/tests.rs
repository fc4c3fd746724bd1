//! The replication of one federation execution as a machine: messages in, events out.

use super::context::{Context, Timer};
use super::limits::NetworkLimits;
use super::peers::{Outgoing, Peers};
use super::replication::{ReplicaEvent, Replication};
use crate::control::{ExecutionId, NodeId, PublishedClass};
use crate::object::tests::Fixture;
use crate::wire::{
    Framed, Kind, Packet, PeerMessage, Position, StreamEvent, StreamId, StreamMessage, Watermark,
};
use base::{Deadlines, Moment};
use bytes::Bytes;
use hla::handle::{FederateHandle, ObjectInstanceHandle};

const PEER: NodeId = NodeId(2);
const DIRECTED: PublishedClass = PublishedClass::Directed;

struct World {
    fixture: Fixture,
    replication: Replication,
    peers: Peers,
    timers: Deadlines<Timer>,
}

impl World {
    fn new() -> Self {
        let mut peers = Peers::new(NetworkLimits::default());
        peers.active = true;
        Self {
            fixture: Fixture::new(true),
            replication: Replication::new(ExecutionId(1)),
            peers,
            timers: Deadlines::new(),
        }
    }

    fn objects(&self) -> PublishedClass {
        PublishedClass::Objects(self.fixture.class)
    }

    fn act<T>(&mut self, act: impl FnOnce(&mut Replication, &mut Context<'_>) -> T) -> T {
        let Self { fixture, replication, peers, timers } = self;
        let objects = &fixture.objects;
        act(replication, &mut Context { now: Moment::ZERO, peers, timers, objects })
    }

    /// Follows a stream of the peer, all of which is here up to its start.
    fn follow(&mut self, class: PublishedClass) {
        self.act(|r, context| {
            r.publishers_changed(context, PEER, class, true);
            let part = StreamMessage::SnapshotPart {
                at: 0,
                for_all: 0,
                until: None,
                records: Vec::new(),
                replay: true,
            };
            r.handle_message(context, (class, PEER), part).unwrap();
        });
        self.events();
    }

    fn packet(&mut self, class: PublishedClass, number: u64, watermark: Watermark, event: &StreamEvent) {
        let stream = StreamId { execution: ExecutionId(1), class };
        let body = Framed::encode(watermark, event);
        let packet = Packet::new(stream, PEER, Kind::Numbered(number), body);
        self.act(|r, context| r.handle_packet(context, packet)).unwrap();
    }

    /// A best-effort message that was sent after a switchover, as it comes by the topic of the class, or
    /// (`alone`) by that of this node.
    fn best_effort(&mut self, class: PublishedClass, switchover: u64, alone: bool) {
        let stream = StreamId { execution: ExecutionId(1), class };
        let body = Framed::encode(Watermark::default(), &removed(switchover));
        let kind = Kind::BestEffort { after: 0, switchover, key: 0 };
        let packet = match alone {
            true => Packet::to_node(stream, (PEER, self.fixture.objects.node), kind, body),
            false => Packet::new(stream, PEER, kind, body),
        };
        self.act(|r, context| r.handle_packet(context, packet)).unwrap();
    }

    fn message(&mut self, class: PublishedClass, message: StreamMessage) {
        self.act(|r, context| r.handle_message(context, (class, PEER), message)).unwrap();
    }

    fn events(&mut self) -> Vec<StreamEvent> {
        let events = std::iter::from_fn(|| self.replication.poll_event());
        events
            .filter_map(|event| match event {
                ReplicaEvent::Event { event, .. } => Some(event),
                _ => None,
            })
            .collect()
    }

    fn outgoing(&mut self) -> Vec<Outgoing> {
        self.peers.end_batch();
        std::iter::from_fn(|| self.peers.poll_outgoing(Moment::ZERO, &mut self.timers)).collect()
    }
}

fn removed(number: u64) -> StreamEvent {
    StreamEvent::Removed {
        instance: ObjectInstanceHandle(number),
        producer: FederateHandle::INVALID,
        tag: Bytes::new(),
        stamp: None,
    }
}

#[test]
fn any_message_may_wait_for_a_position_of_another_stream() {
    let mut world = World::new();
    let objects = world.objects();
    world.fixture.objects.interest.set(DIRECTED, FederateHandle(2), true);
    world.follow(objects);
    world.follow(DIRECTED);
    let after =
        Watermark { after: Some(Position { class: objects, node: PEER, number: 2 }), ..Watermark::default() };
    world.packet(DIRECTED, 1, after, &removed(9));
    assert_eq!(world.events(), [], "the stream of objects is not there yet");
    world.packet(objects, 1, Watermark::default(), &removed(1));
    world.packet(objects, 2, Watermark::default(), &removed(2));
    world.act(|r, context| r.deliver_all(context));
    assert_eq!(world.events(), [removed(1), removed(2), removed(9)]);
    let positions: Vec<_> = world.replication.positions().map(|at| (at.class, at.number)).collect();
    assert_eq!(positions, [(objects, 2), (DIRECTED, 1)]);
}

#[test]
fn a_message_waits_for_no_stream_that_is_not_followed() {
    let mut world = World::new();
    world.fixture.objects.interest.set(DIRECTED, FederateHandle(2), true);
    world.follow(DIRECTED);
    let elsewhere = Position { class: world.objects(), node: NodeId(7), number: 5 };
    let after = Watermark { after: Some(elsewhere), ..Watermark::default() };
    world.packet(DIRECTED, 1, after, &removed(9));
    assert_eq!(world.events(), [removed(9)]);
}

/// The routers may still carry messages from before a filter ended when the next one begins.
#[test]
fn a_best_effort_message_comes_once_although_a_filter_has_begun_since() {
    let mut world = World::new();
    let objects = world.objects();
    world.follow(objects);
    // Filtered from switchover 2 on, until switchover 5. Others in between are of other followers.
    world.message(objects, StreamMessage::Switchover { number: 2, filtered: true });
    world.message(objects, StreamMessage::Filtered { after: 0 });
    world.message(objects, StreamMessage::Switchover { number: 5, filtered: false });
    world.best_effort(objects, 3, true);
    world.message(objects, StreamMessage::Switchover { number: 7, filtered: true });
    world.best_effort(objects, 3, false);
    for sent_after in [4, 8] {
        world.best_effort(objects, sent_after, false);
        world.best_effort(objects, sent_after, true);
    }
    assert_eq!(world.events(), [removed(3), removed(4), removed(8)]);
    // Messages that were sent in between were sent once.
    for sent_after in [1, 5, 6] {
        world.best_effort(objects, sent_after, false);
    }
    assert_eq!(world.events(), [removed(1), removed(5), removed(6)]);
}

#[test]
fn without_peers_it_is_idle() {
    let mut world = World::new();
    world.peers.active = false;
    let objects = world.objects();
    world.act(|r, context| r.append(context, objects, &removed(1), false, None));
    world.act(|r, context| {
        r.send_object(context, PEER, crate::wire::ObjectMessage::Removed { instances: Vec::new() });
    });
    assert!(world.outgoing().is_empty() && world.peers.memory() == 0 && world.timers.next().is_none());
}

#[test]
fn urgent_messages_wait_behind_no_bulk() {
    let mut world = World::new();
    let objects = world.objects();
    let messages = vec![Bytes::from(vec![7; 50 << 10]); 100];
    let bulk = PeerMessage::Stream(objects, StreamMessage::Repair { first: 1, messages });
    let request = PeerMessage::Objects(crate::wire::ObjectMessage::QueryTransportation {
        asker: FederateHandle(1),
        federate: FederateHandle(2),
        class: hla::handle::InteractionClassHandle(3),
    });
    for message in [&bulk, &request] {
        world.peers.send_to(PEER, ExecutionId(1), 0, message);
    }
    let first = world.outgoing().into_iter().next();
    let Some(Outgoing::Unicast { body, urgent: true, .. }) = first else { panic!("{first:?}") };
    assert!(body.len() < 100, "the request leaves first, though 5 MB were sent before it");
}

#[test]
fn messages_count_until_they_are_acknowledged_or_their_node_is_gone() {
    let message = PeerMessage::Objects(crate::wire::ObjectMessage::Removed { instances: Vec::new() });
    let mut world = World::new();
    let mut other = Peers::new(NetworkLimits::default());
    other.active = true;
    for _ in 0..3 {
        world.peers.send_to(PEER, ExecutionId(1), 0, &message);
    }
    assert!(world.peers.queued_bytes() > 0);
    for outgoing in world.outgoing() {
        let Outgoing::Unicast { body, .. } = outgoing else { panic!("{outgoing:?}") };
        other.receive(Moment::ZERO, PEER, body).unwrap();
    }
    let later = Moment::ZERO + std::time::Duration::from_secs(1);
    other.mark_dirty(PEER);
    while let Some(Outgoing::Unicast { body, .. }) = other.poll_outgoing(later, &mut Deadlines::new()) {
        world.peers.receive(later, PEER, body).unwrap();
    }
    assert_eq!(world.peers.queued_bytes(), 0, "acknowledged");
    world.peers.send_to(PEER, ExecutionId(1), 0, &message);
    assert!(world.peers.queued_bytes() > 0);
    world.peers.forget_node(&mut world.timers, PEER);
    assert_eq!(world.peers.memory(), 0, "gone");
}
