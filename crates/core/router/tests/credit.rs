//! Credit: the limit on what a link carries while a receiver behind it does not take its messages.

mod common;

use base::{Moment, Seed};
use common::app::{Note, Want, note};
use common::pair::Pair;
use common::{At, Net, TestRouter};
use proptest::prelude::*;
use router::topology::{Topology, hypercube, mesh, tree};
use router::{ClientConfig, Event, FrameError, LinkChange, Message, PipeConfig, Priority, pump_noting};
use std::collections::BTreeMap;
use std::time::Duration;

const T0: Moment = Moment::ZERO;
/// Bytes of a record with a note without text: record header, message header and note.
const RECORD: usize = 5 + 17 + 14;

impl Pair {
    fn send(&mut self, now: Moment, class: Priority, number: u32) {
        self.send_long(now, class, number, 0);
    }

    fn send_long(&mut self, now: Moment, class: Priority, number: u32, bytes: usize) {
        let mut note = note(1, 1, class, number);
        note.body = vec![7; bytes].into();
        assert_eq!(self.a.submit(now, self.source, note).expect("a source").queued, 1);
    }

    fn numbers(&mut self) -> Vec<u32> {
        self.received().iter().map(|note| note.number).collect()
    }
}

fn credit(bytes: usize) -> PipeConfig {
    PipeConfig { credit_bytes: Some(bytes), ..PipeConfig::default() }
}

#[test]
fn senders_stay_within_their_grant_and_control_is_free() {
    let link = credit(36 * 40);
    assert_eq!(RECORD, 36);
    let mut pair = Pair::new([&link, &link], PipeConfig::ordered());
    assert_eq!(pair.forth(T0), 0);
    pair.back(T0);
    for number in 0..100 {
        pair.send(T0, Priority::ALL[1 + number as usize % 3], number);
    }
    assert_eq!(pair.forth(T0), 40, "the window");
    assert_eq!(pair.a.pipe_stats(pair.to_b).expect("there").credit_waits, 1);
    assert_eq!(pair.a.poll_frame(T0, pair.to_b), None);
    pair.send(T0, Priority::Control, 100);
    assert_eq!((pair.forth(T0), pair.numbers().last()), (1, Some(&100)), "control does not wait");
    // One grant was made when a quarter was taken in, and three more; they travel in one record.
    assert_eq!(pair.back(T0), 1);
    assert_eq!(pair.forth(T0), 40);
    pair.back(T0);
    assert_eq!(pair.forth(T0), 20);
    assert_eq!(pair.numbers().len(), 60);
    assert_eq!(pair.a.queued(pair.to_b), Some((0, 0)));
}

#[test]
fn a_link_carries_what_is_longer_than_its_window() {
    let link = PipeConfig { frame_bytes_max: 500, ..credit(2_000) };
    let mut pair = Pair::new([&link, &link], PipeConfig::ordered());
    pair.back(T0);
    pair.send_long(T0, Priority::Bulk, 1, 50_000);
    pair.send(T0, Priority::Reliable, 2);
    let mut rounds = 0;
    while pair.a.queued(pair.to_b) != Some((0, 0)) {
        pair.forth(T0);
        pair.back(T0);
        rounds += 1;
    }
    assert!((25..60).contains(&rounds), "{rounds} windows");
    assert_eq!(pair.numbers(), [2, 1]);
}

#[test]
fn one_end_may_grant_without_limit() {
    for [a, b] in [[credit(1_024), PipeConfig::default()], [PipeConfig::default(), credit(1_024)]] {
        let limited = b.credit_bytes.is_some();
        let mut pair = Pair::new([&a, &b], PipeConfig::ordered());
        pair.back(T0);
        (0..100).for_each(|number| pair.send(T0, Priority::Reliable, number));
        assert_eq!(pair.forth(T0), if limited { 29 } else { 100 });
    }
}

#[test]
fn credit_is_withheld_while_somebody_behind_is_congested() {
    let link = credit(36 * 40);
    // Congested above 30 notes, relieved at 15.
    let mut pair = Pair::new([&link, &link], PipeConfig::ordered().with_bytes_max(14 * 60));
    pair.back(T0);
    (0..100).for_each(|number| pair.send(T0, Priority::Reliable, number));
    assert_eq!(pair.forth(T0), 40);
    assert!(pair.b.is_blocked(pair.to_a) && pair.b.is_congested(pair.sink));
    assert_eq!(pair.back(T0), 0, "nothing is granted: the frame came as a whole");
    pair.send(T0, Priority::Control, 100);
    assert_eq!(pair.forth(T0), 1);
    // Taking some is not enough; taking down to the low-water mark is.
    assert_eq!((0..25).filter_map(|_| pair.b.poll_message(pair.sink)).count(), 25);
    assert_eq!(pair.back(T0), 0);
    assert!(pair.b.poll_message(pair.sink).is_some());
    assert!(!pair.b.is_blocked(pair.to_a));
    assert_eq!(pair.back(T0), 1);
    assert_eq!(pair.forth(T0), 40);
}

#[test]
fn messages_without_room_wait_at_the_entrance_and_control_does_not() {
    let link = credit(36 * 40);
    let mut pair = Pair::new([&link, &link], PipeConfig::ordered().with_bytes_max(14 * 30));
    let other = pair.b.add_client(T0, ClientConfig::local()).expect("few");
    pair.b.set_interest(T0, other, Want::group(1), true).expect("a sink");
    pair.back(T0);
    (0..100).for_each(|number| pair.send(T0, Priority::Reliable, number));
    assert_eq!(pair.forth(T0), 40);
    // Twenty-two fit below three quarters; the others wait, in order, for both sinks alike.
    assert_eq!(pair.b.queued(pair.sink), Some((22, 14 * 22)));
    assert_eq!(pair.b.stalled(pair.to_a), Some((18, 14 * 18)));
    assert_eq!(pair.b.queued(other), Some((22, 14 * 22)));
    let stats = pair.b.pipe_stats(pair.to_a).expect("there");
    assert_eq!((stats.stalled_messages, stats.stalled_bytes_max), (18, 14 * 18));
    let mut control = note(2, 1, Priority::Control, 100);
    control.sender = 9;
    pair.b.set_interest(T0, other, Want::group(2), true).expect("a sink");
    pair.back(T0);
    assert_eq!(pair.a.submit(T0, pair.source, control).expect("a source").queued, 1);
    assert_eq!(pair.forth(T0), 1);
    assert_eq!(pair.b.queued(other).map(|(messages, _)| messages), Some(23));
    let mut got = Vec::new();
    for _ in 0..20 {
        got.extend(pair.numbers());
        pair.back(T0);
        pair.forth(T0);
    }
    assert_eq!(got, (0..100).collect::<Vec<_>>());
    while let Some(event) = pair.b.poll_event() {
        assert!(!matches!(event, Event::Overflow { .. }), "{event:?}");
    }
}

#[test]
fn one_full_pipe_of_several_is_enough_to_wait_for() {
    let (link, large) = (credit(36 * 40), PipeConfig::ordered());
    let small = PipeConfig::ordered().with_bytes_max(14 * 30);
    for (first, second) in [(&small, &large), (&large, &small)] {
        let mut pair = Pair::new([&link, &link], first.clone());
        let config = ClientConfig { pipe: second.clone(), ..ClientConfig::local() };
        let other = pair.b.add_client(T0, config).expect("few");
        pair.b.set_interest(T0, other, Want::group(1), true).expect("a sink");
        pair.back(T0);
        (0..100).for_each(|number| pair.send(T0, Priority::Reliable, number));
        let (mut got, mut got_other) = (Vec::new(), Vec::new());
        for _ in 0..20 {
            pair.forth(T0);
            got.extend(pair.numbers());
            got_other.extend(std::iter::from_fn(|| pair.b.poll_message(other)).map(|note| note.number));
            pair.back(T0);
        }
        assert_eq!((&got, &got_other), (&(0..100).collect(), &(0..100).collect()));
        while let Some(event) = pair.b.poll_event() {
            assert!(!matches!(event, Event::Overflow { .. }), "{event:?}");
        }
    }
}

#[test]
fn neither_best_effort_nor_control_holds_anybody_back() {
    let link = credit(36 * 40);
    for (class, droppable) in [(Priority::State, true), (Priority::Control, false)] {
        let mut pair = Pair::new([&link, &link], PipeConfig::ordered().with_bytes_max(14 * 60));
        pair.back(T0);
        for number in 0..40 {
            let note = Note { droppable, ..note(1, 1, class, number) };
            assert_eq!(pair.a.submit(T0, pair.source, note).expect("a source").waits_in.len(), 0);
        }
        assert_eq!(pair.forth(T0), 40);
        assert!(pair.b.is_congested(pair.sink) && !pair.b.is_blocked(pair.to_a), "{class:?}");
    }
}

#[test]
fn credit_of_a_link_that_went_down_is_worth_nothing() {
    let link = credit(36 * 40);
    let mut pair = Pair::new([&link, &link], PipeConfig::ordered());
    pair.back(T0);
    pair.send(T0, Priority::Reliable, 0);
    assert_eq!(pair.forth(T0), 1);
    for change in [LinkChange::Down, LinkChange::Up] {
        pair.a.handle_link(T0, pair.to_b, change).expect("a link");
        pair.b.handle_link(T0, pair.to_a, change).expect("a link");
    }
    // The interest of the other end is unknown before it greets: a pushed message waits for credit.
    pair.a.push(T0, pair.to_b, note(1, 1, Priority::Reliable, 1)).map(drop).expect("a sink");
    assert_eq!(pair.forth(T0), 0);
    pair.back(T0);
    assert_eq!(pair.forth(T0), 1);
}

/// A message that is too long for the room left in a pipe is not forgotten when others arrive.
#[test]
fn a_long_message_waits_for_its_room() {
    let link = credit(4_000);
    let mut pair = Pair::new([&link, &link], PipeConfig::ordered().with_bytes_max(1_400));
    let near = pair.b.add_client(T0, ClientConfig::local()).expect("few");
    pair.back(T0);
    pair.send_long(T0, Priority::Reliable, 1, 100);
    pair.send_long(T0, Priority::Reliable, 2, 1_000);
    pair.send_long(T0, Priority::Reliable, 3, 10);
    assert_eq!(pair.forth(T0), 3);
    assert_eq!(pair.b.stalled(pair.to_a), Some((2, 1_014 + 24)));
    let mut small = note(1, 1, Priority::State, 4);
    small.droppable = true;
    assert_eq!(pair.b.submit(T0, near, small).expect("a source").queued, 1);
    let events: Vec<_> = std::iter::from_fn(|| pair.b.poll_event()).collect();
    assert_eq!(events.last(), Some(&Event::Congested { client: pair.sink }));
    assert_eq!(pair.numbers(), [1, 4, 2, 3]);
    assert_eq!(pair.b.poll_event(), Some(Event::Relieved { client: pair.sink }));
    assert!(!pair.b.is_blocked(pair.to_a));
}

#[test]
fn a_trickle_is_granted_to_who_waits_long_and_not_when_there_is_no_room() {
    let link = PipeConfig { credit_hold_max: Duration::from_millis(200), ..credit(36 * 40) };
    let mut sink = PipeConfig::ordered().with_bytes_max(14 * 120);
    (sink.high_water, sink.low_water) = (14 * 10, 14 * 5);
    let mut pair = Pair::new([&link, &link], sink);
    pair.back(T0);
    (0..200).for_each(|number| pair.send(T0, Priority::Reliable, number));
    assert_eq!((pair.forth(T0), pair.back(T0)), (40, 0));
    let mut now = T0;
    for expected in [10, 10, 10, 0, 0] {
        while pair.b.poll_event().is_some() || pair.b.poll_ready().is_some() {}
        now += Duration::from_millis(200);
        assert!(pair.b.poll_timeout().is_some_and(|due| due <= now));
        pair.b.handle_timeout(now);
        pair.back(now);
        assert_eq!(pair.forth(now), expected, "at {now}");
    }
    // Sixty-five fit up to halfway between the mark and the limit; seventy were granted.
    assert_eq!(pair.b.stalled(pair.to_a), Some((5, 70)));
    assert_eq!(pair.b.pipe_stats(pair.to_a).expect("there").sent_trickles, 3);
    assert_eq!(pair.numbers().len(), 70);
    pair.back(now);
    assert_eq!(pair.forth(now), 40);
    let mut got = 0;
    for _ in 0..20 {
        got += pair.numbers().len();
        pair.back(now);
        pair.forth(now);
    }
    assert_eq!(got, 130);
}

#[test]
fn a_link_that_comes_up_again_starts_with_a_full_window() {
    let link = credit(36 * 40);
    let mut pair = Pair::new([&link, &link], PipeConfig::ordered().with_bytes_max(14 * 30));
    pair.back(T0);
    (0..50).for_each(|number| pair.send(T0, Priority::Reliable, number));
    assert_eq!(pair.forth(T0), 40);
    pair.a.handle_link(T0, pair.to_b, LinkChange::Down).expect("a link");
    pair.b.handle_link(T0, pair.to_a, LinkChange::Down).expect("a link");
    assert!(!pair.b.is_blocked(pair.to_a));
    let gone = |router: &TestRouter, client| {
        router.pipe_stats(client).expect("there").dropped(Priority::Reliable, router::DropReason::Gone)
    };
    assert_eq!((gone(&pair.a, pair.to_b), gone(&pair.b, pair.to_a)), (10, 18), "nothing is lost uncounted");
    assert_eq!(pair.numbers().len(), 22);
    pair.a.handle_link(T0, pair.to_b, LinkChange::Up).expect("a link");
    pair.b.handle_link(T0, pair.to_a, LinkChange::Up).expect("a link");
    assert_eq!((pair.forth(T0), pair.back(T0)), (0, 1));
    (0..50).for_each(|number| pair.send(T0, Priority::Reliable, number));
    assert_eq!(pair.forth(T0), 40);
    assert_eq!(pair.b.stalled(pair.to_a), Some((18, 14 * 18)));
    pair.b.remove_client(T0, pair.sink);
    assert_eq!(pair.b.stalled(pair.to_a), Some((0, 0)), "who is gone holds up nobody");
    pair.back(T0);
    assert_eq!(pair.forth(T0), 10);
}

#[test]
fn a_sender_beyond_its_grant_is_detected() {
    // The sender believes that there is no limit, as if its peer had granted everything.
    let (free, limited) = (PipeConfig::default(), credit(1_024));
    let mut pair = Pair::new([&free, &free], PipeConfig::ordered());
    let mut strict = Pair::new([&limited, &limited], PipeConfig::ordered().with_bytes_max(1 << 16));
    pair.back(T0);
    let hello = pair.a.poll_frame(T0, pair.to_b).expect("a greeting");
    let _ = strict.b.handle_frame(T0, strict.to_a, hello).expect("well spoken");
    let mut error = None;
    for number in 0..200 {
        pair.send_long(T0, Priority::Reliable, number, 10_000);
        while let Some(frame) = pair.a.poll_frame(T0, pair.to_b) {
            if let Err(found) = strict.b.handle_frame(T0, strict.to_a, frame) {
                error.get_or_insert(found);
            }
        }
    }
    assert!(matches!(error, Some(FrameError::Credit { .. })), "{error:?}");
}

#[test]
fn bulk_leaves_room_for_control() {
    let link = credit(1_024).with_bytes_max(16 * 140);
    let mut pair = Pair::new([&link, &link], PipeConfig::ordered());
    pair.back(T0);
    let mut submit =
        |class, number| pair.a.submit(T0, pair.source, note(1, 1, class, number)).expect("a source");
    let sent = (0..1_000).take_while(|number| submit(Priority::Reliable, *number).refused.is_empty()).count();
    assert_eq!(sent, 15 * 10, "a sixteenth is kept");
    assert!(submit(Priority::Control, 0).refused.is_empty());
    assert_eq!(
        (0..1_000).take_while(|number| submit(Priority::Control, *number).refused.is_empty()).count(),
        9
    );
}

// Triads.

#[test]
fn a_congested_link_of_a_triad_is_known_where_messages_enter() {
    let topology = mesh(3);
    let pipe = PipeConfig::default().with_bytes_max(14 * 40);
    let mut net = Net::new(&topology, Seed(1), &pipe);
    let apps: Vec<At> = topology.entries.iter().map(|entry| net.add_app(*entry)).collect();
    net.want(apps[1], Want::group(1), true);
    net.want(apps[2], Want::group(2), true);
    net.settle();
    let submit = |net: &mut Net, group: u8, number: u32| {
        let note = note(group, 1, Priority::Reliable, number);
        let done = net.routers[apps[0].0].submit(net.now, apps[0].1, note).expect("a source");
        assert!(done.refused.is_empty());
        let mut waits_in = Vec::new();
        pump_noting(net.now, &mut net.routers, &net.wiring.memory, &mut waits_in).expect("sound");
        waits_in
    };
    // Nobody takes frames. The high-water mark is half of the pipe.
    for number in 0..20 {
        assert_eq!(submit(&mut net, 1, number), []);
    }
    let waits_in = submit(&mut net, 1, 20);
    let link =
        net.wiring.links.iter().find(|link| link.a.0 == 1 && link.b.0 == 5).expect("to the second triad").a;
    assert_eq!(waits_in, [link], "the PopUp's pipe to the second triad");
    assert_eq!(submit(&mut net, 2, 21), [], "towards the third there is room");
    let events = |net: &mut Net| std::iter::from_fn(|| net.routers[1].poll_event()).collect::<Vec<_>>();
    assert_eq!(events(&mut net), [Event::Congested { client: link.1 }]);
    // The pipe is full: further messages wait in the triad, and are finally held where they enter.
    for number in 0..35 {
        submit(&mut net, 1, 100 + number);
    }
    assert!(net.routers[1].queued(link.1).is_some_and(|(messages, _)| messages == 30));
    let to_pop_up = net.wiring.memory[0].a.1;
    assert!(net.routers[0].is_congested(to_pop_up));
    assert!(
        std::iter::from_fn(|| net.routers[0].poll_event())
            .any(|e| e == Event::Congested { client: to_pop_up })
    );
    while net.routers[1].poll_frame(net.now, link.1).is_some() {}
    assert_eq!(events(&mut net).last(), Some(&Event::Relieved { client: link.1 }));
    net.settle();
    let numbers = |envelopes: Vec<router::Envelope<Note>>| envelopes.iter().map(|e| e.message.number).max();
    assert_eq!(numbers(net.take(apps[1])), Some(134));
    assert!(!net.routers[0].is_congested(to_pop_up));
}

// Networks.

#[derive(Clone, Debug)]
enum Op {
    /// An application sends, if it is not held back.
    Send {
        app: usize,
        group: u8,
        bytes: usize,
        bulk: bool,
    },
    /// A message of the class `Control`, which must arrive at once.
    Control,
    Steps(usize),
    Settle,
    /// Time passes.
    Wait,
    /// The slow sink takes some messages.
    Take(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => (0usize..8, 1u8..4, 0usize..200, any::<bool>())
            .prop_map(|(app, group, bytes, bulk)| Op::Send { app, group, bytes, bulk }),
        2 => Just(Op::Control),
        5 => (1usize..10).prop_map(Op::Steps),
        3 => Just(Op::Settle),
        1 => Just(Op::Wait),
        1 => (1usize..30).prop_map(Op::Take),
    ]
}

fn topology() -> impl Strategy<Value = Topology> {
    prop_oneof![
        prop::collection::vec(1usize..4, 1..3).prop_map(|fan_outs| tree(&fan_outs)),
        (2usize..=5).prop_map(mesh),
        (1u8..=3).prop_map(hypercube),
    ]
}

const WINDOW: usize = 2_048;
const QUEUE: usize = 10_000;

/// Applications of which the last takes no messages unless told to.
struct Stalled {
    net: Net,
    apps: Vec<At>,
    /// The pipes that each application waits for before it sends more.
    waits: BTreeMap<usize, Vec<At>>,
    /// Numbers sent to each group, by sender.
    sent: BTreeMap<(u8, u32), Vec<u32>>,
    got: Vec<BTreeMap<(u8, u32), Vec<u32>>>,
    number: u32,
}

/// The group of `Control` messages, which the last two applications want.
const CONTROL: u8 = 9;

impl Stalled {
    fn new(topology: &Topology, seed: u64) -> Self {
        let pipe = PipeConfig { frame_bytes_max: 300, ..credit(WINDOW).with_bytes_max(QUEUE) };
        let mut net = Net::new(topology, Seed(seed), &pipe);
        let local = PipeConfig::ordered().with_bytes_max(QUEUE);
        let entries: Vec<usize> = topology.entries.iter().chain(&topology.entries).copied().take(8).collect();
        let apps: Vec<At> = entries
            .iter()
            .map(|entry| {
                let config = ClientConfig { pipe: local.clone(), ..ClientConfig::local() };
                (*entry, net.routers[*entry].add_client(net.now, config).expect("few"))
            })
            .collect();
        for (index, app) in apps.iter().enumerate() {
            net.want(*app, Want::group(1 + (index % 2) as u8), true);
        }
        // The slow one wants everything.
        let slow = *apps.last().expect("some");
        (1..4).for_each(|group| {
            net.want(slow, Want::group(group), true);
        });
        net.want(apps[apps.len() - 2], Want::group(CONTROL), true);
        net.settle();
        let got = vec![BTreeMap::new(); apps.len()];
        Stalled { net, apps, waits: BTreeMap::new(), sent: BTreeMap::new(), got, number: 0 }
    }

    fn send(&mut self, app: usize, group: u8, bytes: usize, class: Priority) {
        let (index, at) = (app % self.apps.len(), self.apps[app % self.apps.len()]);
        let waits = self.waits.remove(&index).unwrap_or_default();
        let still: Vec<At> =
            waits.into_iter().filter(|(r, c)| self.net.routers[*r].is_congested(*c)).collect();
        if !still.is_empty() && class != Priority::Control {
            self.waits.insert(index, still);
            return;
        }
        let mut note = note(group, 1, class, self.number);
        (note.sender, note.body) = (index as u32, vec![1; bytes].into());
        let done = self.net.routers[at.0].submit(self.net.now, at.1, note).expect("a source");
        assert!(done.refused.is_empty(), "who is held back in time is never refused");
        let mut waits_in: Vec<At> = done.waits_in.iter().map(|client| (at.0, *client)).collect();
        let pipes = self.net.wiring.memory.clone();
        pump_noting(self.net.now, &mut self.net.routers, &pipes, &mut waits_in).expect("sound");
        if !waits_in.is_empty() {
            self.waits.insert(index, waits_in);
        }
        self.sent.entry((group, index as u32)).or_default().push(self.number);
        self.number += 1;
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Send { app, group, bytes, bulk } => {
                let class = if bulk { Priority::Bulk } else { Priority::Reliable };
                self.send(app, group, bytes, class);
            }
            Op::Control => self.control(),
            Op::Steps(steps) => (0..steps).for_each(|_| {
                self.net.step();
            }),
            Op::Settle => self.settle(),
            Op::Wait => {
                self.settle();
                self.net.now += Duration::from_secs(1);
                let now = self.net.now;
                self.net.routers.iter_mut().for_each(|router| router.handle_timeout(now));
            }
            Op::Take(count) => (0..count).for_each(|_| self.take_one(self.apps.len() - 1)),
        }
        self.check();
    }

    fn take_one(&mut self, index: usize) {
        let (router, client) = self.apps[index];
        let Some(note) = self.net.routers[router].poll_message(client) else { return };
        self.got[index].entry((note.topic.group, note.sender)).or_default().push(note.number);
    }

    /// Frames travel, and all applications but the slow one take their messages.
    fn settle(&mut self) {
        loop {
            self.net.settle();
            let before = self.got.clone();
            for index in 0..self.apps.len() - 1 {
                while self.net.routers[self.apps[index].0].queued(self.apps[index].1) != Some((0, 0)) {
                    self.take_one(index);
                }
            }
            if self.got == before {
                return;
            }
        }
    }

    /// However much waits, `Control` messages pass.
    fn control(&mut self) {
        let to = self.apps.len() - 2;
        self.send(0, CONTROL, 10, Priority::Control);
        self.settle();
        if to != 0 {
            let expected = &self.sent[&(CONTROL, 0)];
            assert_eq!(self.got[to].get(&(CONTROL, 0)), Some(expected), "control waits");
        }
    }

    /// Memory is bounded, and nothing is lost.
    fn check(&self) {
        for router in &self.net.routers {
            for client in router.clients() {
                let (_, bytes) = router.queued(client).expect("there");
                assert!(bytes <= QUEUE, "{bytes} bytes wait for {client}");
                let (_, stalled) = router.stalled(client).expect("there");
                // A client's stall is bounded by the window and one frame beyond it, and by
                // transfers begun before.
                assert!(stalled <= WINDOW + 600, "{stalled} bytes of {client} are stalled");
                let stats = router.pipe_stats(client).expect("there");
                assert_eq!((stats.dropped_messages(), stats.refused_messages), (0, 0));
            }
        }
    }

    fn finish(&mut self) {
        for _ in 0..10_000 {
            self.settle();
            let slow = self.apps.len() - 1;
            let (router, client) = self.apps[slow];
            if self.net.routers[router].queued(client) == Some((0, 0)) {
                break;
            }
            self.take_one(slow);
        }
        for (index, got) in self.got.iter().enumerate() {
            for ((group, sender), sent) in &self.sent {
                let wants = match *group {
                    CONTROL => index == self.apps.len() - 2,
                    group => index == self.apps.len() - 1 || usize::from(group) == 1 + index % 2,
                };
                let mut came = got.get(&(*group, *sender)).cloned().unwrap_or_default();
                came.sort_unstable();
                let expected = if wants && *sender as usize != index { sent.as_slice() } else { &[] };
                assert_eq!(came, expected, "group {group} from {sender} to {index}");
            }
        }
        let all = self.net.routers.iter();
        assert!(all.clone().all(|router| router.clients().all(|client| !router.is_blocked(client))));
        assert!(all.into_iter().all(|router| router.stats().duplicate_messages == 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    /// A sink that takes no messages costs no router more memory than the limits, loses nothing
    /// reliable once it takes messages again, and does not delay `Control` messages.
    #[test]
    fn a_stalled_sink_costs_bounded_memory_and_loses_nothing(
        topology in topology(),
        seed in any::<u64>(),
        ops in prop::collection::vec(op(), 1..400),
    ) {
        let mut world = Stalled::new(&topology, seed);
        ops.iter().for_each(|op| world.apply(op));
        world.finish();
    }
}

#[test]
fn notes_are_as_long_as_this_file_believes() {
    assert_eq!(note(1, 1, Priority::Reliable, 0).bytes(), 14);
}
