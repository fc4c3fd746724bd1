//! The replication of one federation execution as a machine: messages in, events out.

use super::context::{Context, Timer};
use super::filter::{Filter, Selection, Sent, State};
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
        });
        self.snapshot(class);
        self.events();
    }

    /// The peer answers: all instances are here.
    fn snapshot(&mut self, class: PublishedClass) {
        self.act(|r, context| {
            let part = StreamMessage::SnapshotPart {
                at: 0,
                for_all: 0,
                until: None,
                records: Vec::new(),
                replay: true,
            };
            r.handle_message(context, (class, PEER), part).unwrap();
        });
    }

    /// A federate here subscribes the class, or no longer.
    fn set_interest(&mut self, class: PublishedClass, any: bool) {
        self.fixture.objects.interest.set(class, FederateHandle(2), any);
        self.act(|r, context| r.review_following(context, class, false));
    }

    /// The peer answers that it no longer counts this node among its followers. If the stream is wanted
    /// again, it is followed again.
    fn detached(&mut self, class: PublishedClass, until: u64) {
        self.act(|r, context| r.forgotten(context, class, PEER));
        self.message(class, StreamMessage::Detached { until });
        self.snapshot(class);
    }

    fn packet(&mut self, class: PublishedClass, number: u64, watermark: Watermark, event: &StreamEvent) {
        let stream = StreamId { execution: ExecutionId(1), class };
        let body = Framed::encode(class, watermark, event);
        let packet = Packet::new(stream, PEER, Kind::Numbered(number), body);
        self.act(|r, context| r.handle_packet(context, packet)).unwrap();
    }

    /// A best-effort message that was sent after a switchover, as it comes by the topic of the class, or
    /// (`alone`) by that of this node.
    fn best_effort(&mut self, class: PublishedClass, switchover: u64, alone: bool) {
        let stream = StreamId { execution: ExecutionId(1), class };
        let body = Framed::encode(class, Watermark::default(), &removed(switchover));
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

/// It may stop following the stream and follow it again before the routers have brought everything.
#[test]
fn a_best_effort_message_comes_once_although_the_stream_was_left_since() {
    let mut world = World::new();
    let objects = world.objects();
    world.follow(objects);
    world.message(objects, StreamMessage::Switchover { number: 2, filtered: true });
    world.message(objects, StreamMessage::Filtered { after: 0 });
    world.best_effort(objects, 3, true);
    world.set_interest(objects, false);
    world.best_effort(objects, 3, true);
    world.set_interest(objects, true);
    world.detached(objects, 4);
    world.best_effort(objects, 3, false);
    for sent_after in [1, 4, 5] {
        world.best_effort(objects, sent_after, false);
    }
    assert_eq!(world.events(), [removed(3), removed(1), removed(4), removed(5)]);
    // Nor after another filter, or when nobody wants it for a moment.
    world.message(objects, StreamMessage::Switchover { number: 6, filtered: true });
    world.message(objects, StreamMessage::Filtered { after: 0 });
    world.best_effort(objects, 7, true);
    world.set_interest(objects, false);
    world.detached(objects, 8);
    world.set_interest(objects, true);
    world.snapshot(objects);
    for sent_after in [3, 7, 8] {
        world.best_effort(objects, sent_after, false);
    }
    assert_eq!(world.events(), [removed(7), removed(8)]);
}

/// A switchover that never came has changed nothing.
#[test]
fn a_best_effort_message_comes_although_the_stream_was_about_to_be_filtered() {
    let mut world = World::new();
    let objects = world.objects();
    world.follow(objects);
    world.message(objects, StreamMessage::Switchover { number: 2, filtered: true });
    world.set_interest(objects, false);
    world.set_interest(objects, true);
    world.detached(objects, 0);
    for sent_after in [1, 2, 3] {
        world.best_effort(objects, sent_after, false);
    }
    assert_eq!(world.events(), [removed(1), removed(2), removed(3)]);
}

/// The follower must be able to tell messages that came to it alone from those that will not.
#[test]
fn a_follower_that_leaves_learns_until_when_it_was_filtered() {
    let on = || State::On(Sent::new(3, 0));
    let ending = || State::Ending(Sent::new(3, 0));
    const OTHER: NodeId = NodeId(3);
    // Its filter, the follower that is being switched over, the answer, the switchovers from then on.
    for (state, switching_over, until, switchovers) in [
        (State::Off, None, 0, 3),
        (State::Requested, Some(OTHER), 0, 3),
        (State::Beginning, Some(PEER), 0, 4),
        (on(), None, 4, 4),
        (on(), Some(PEER), 4, 4),
        (ending(), Some(PEER), 4, 4),
        (on(), Some(OTHER), 4, 3),
    ] {
        let mut world = World::new();
        let objects = world.objects();
        world.act(|r, context| r.publish(context, objects, true));
        let out = world.replication.outbound.get_mut(&objects).unwrap();
        (out.switchovers, out.switching_over) = (3, switching_over);
        let case = format!("{state:?} {switching_over:?}");
        for (node, state) in [(PEER, state), (OTHER, State::Beginning)] {
            out.followers.insert(node);
            let mut filter = Filter::new(Selection::new(objects).unwrap());
            filter.state = state;
            out.filters.insert(node, filter);
        }
        let answer = world.act(|r, context| r.forget_filter(context, objects, PEER));
        assert_eq!(answer, until, "{case}");
        assert_eq!(world.replication.outbound[&objects].switchovers, switchovers, "{case}");
        // The switchover that another one waits for comes even if it is cancelled.
        if switching_over == Some(OTHER) {
            world.act(|r, context| r.remove_peer(context, OTHER));
            assert_eq!(world.replication.outbound[&objects].switchovers, 4, "{case}");
        }
    }
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
