//! The unordered and lossy side of a link: best effort in datagrams.

mod common;

use base::{Moment, Rng, Seed};
use bytes::Bytes;
use common::app::{Note, note};
use common::pair::Pair;
use proptest::prelude::*;
use rand_core::RngCore;
use router::{
    ClientConfig, ClientError, ClientFlags, DropReason, FRAME_BYTES_MIN, Fifos, FrameError, LinkChange,
    PipeConfig, Priority, RouterId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const T0: Moment = Moment::ZERO;

/// Two routers of which the second has greeted.
fn pair(pipe: &PipeConfig) -> Pair {
    let mut pair = Pair::new([pipe, pipe], PipeConfig::ordered());
    pair.back(T0);
    pair
}

impl Pair {
    fn send(&mut self, number: u32, class: Priority, droppable: bool, bytes: usize) {
        let mut note = note(1, 1, class, number);
        (note.droppable, note.body) = (droppable, vec![number as u8; bytes].into());
        assert_eq!(self.a.submit(T0, self.source, note).expect("a source").queued, 1);
    }

    fn poll(&mut self, fifos: Fifos, bytes_max: usize) -> Option<Bytes> {
        self.a.poll_frame_of(T0, self.to_b, fifos, bytes_max)
    }

    fn stream(&mut self) {
        while let Some(frame) = self.poll(Fifos::RELIABLE, usize::MAX) {
            let _ = self.b.handle_frame(T0, self.to_a, frame).expect("well spoken");
        }
    }

    fn datagrams(&mut self, bytes_max: usize) -> Vec<Bytes> {
        std::iter::from_fn(|| self.poll(Fifos::BEST_EFFORT, bytes_max)).collect()
    }

    fn take(&mut self, datagram: &Bytes) -> Result<u32, FrameError> {
        self.b.handle_datagram(T0, self.to_a, datagram.clone()).map(|received| received.messages)
    }
}

#[test]
fn lanes_are_apart() {
    let mut pair = pair(&PipeConfig::default());
    pair.send(1, Priority::State, true, 10);
    pair.send(2, Priority::State, false, 10);
    pair.send(3, Priority::Bulk, true, 10);
    // Even the greeting has not been sent.
    let datagrams = pair.datagrams(1_200);
    assert_eq!(datagrams.len(), 1);
    assert_eq!(pair.take(&datagrams[0]), Ok(2), "no greeting is needed");
    assert!(pair.b.peer(pair.to_a).is_none());
    pair.stream();
    assert_eq!(pair.received().iter().map(|note| note.number).collect::<Vec<_>>(), [1, 3, 2]);
    assert_eq!(pair.take(&datagrams[0]), Ok(2), "twice");
    assert_eq!((pair.received(), pair.b.stats().duplicate_messages), (vec![], 2));
    let (out, came) = (pair.a.pipe_stats(pair.to_b).unwrap(), pair.b.pipe_stats(pair.to_a).unwrap());
    assert_eq!((out.sent_datagrams, came.received_datagrams, came.faulty_datagrams), (1, 2, 0));
    assert_eq!(pair.a.queued(pair.to_b), Some((0, 0)));
}

#[test]
fn a_client_with_a_part_of_the_interests_is_not_kept_busy() {
    let wait = Duration::from_millis(5);
    let mut pair = pair(&PipeConfig { bundle_wait: wait, ..PipeConfig::default() });
    pair.stream();
    while pair.a.poll_ready().is_some() || pair.a.poll_event().is_some() {}
    pair.send(1, Priority::State, true, 10);
    assert_eq!((pair.a.poll_ready(), pair.poll(Fifos::BEST_EFFORT, 1_200)), (None, None));
    assert_eq!(pair.a.poll_timeout(), Some(T0 + wait));
    pair.a.handle_timeout(T0 + wait);
    assert_eq!(pair.a.poll_ready(), Some(pair.to_b));
    assert_eq!(pair.a.poll_frame_of(T0 + wait, pair.to_b, Fifos::RELIABLE, 1_200), None);
    assert_eq!(pair.a.poll_ready(), None, "what waits for the other side is not named again by itself");
    assert_eq!(pair.a.poll_frame_of(T0 + wait, pair.to_b, Fifos::BEST_EFFORT, FRAME_BYTES_MIN - 1), None);
    assert!(pair.a.poll_frame_of(T0 + wait, pair.to_b, Fifos::BEST_EFFORT, 1_200).is_some());
}

#[test]
fn datagrams_need_no_credit_and_are_no_sign_of_life() {
    let mut pair = pair(&PipeConfig { credit_bytes: Some(1_024), ..PipeConfig::default() });
    pair.stream();
    (0..50).for_each(|number| pair.send(number, Priority::Reliable, false, 10));
    pair.stream();
    assert_eq!(pair.received().len(), 23);
    (50..100).for_each(|number| pair.send(number, Priority::Bulk, true, 10));
    assert_eq!(pair.poll(Fifos::ALL, 1_200), None);
    while pair.a.poll_event().is_some() {}
    assert_eq!(pair.a.poll_ready(), Some(pair.to_b));
    let datagrams = pair.datagrams(1_200);
    assert_eq!(datagrams.iter().map(|datagram| pair.take(datagram).expect("sound")).sum::<u32>(), 50);
    // Seconds pass with nothing but datagrams: both ends give the link up.
    let late = Moment::from_secs(6);
    let _ = pair.b.handle_datagram(late, pair.to_a, datagrams[0].clone()).expect("sound");
    pair.b.handle_timeout(late);
    assert!(!pair.b.is_up(pair.to_a));
    let down = pair.b.handle_datagram(late, pair.to_a, datagrams[0].clone());
    assert_eq!(down, Err(FrameError::Client(ClientError::WrongKind(pair.to_a))));
}

/// However far datagrams run ahead of a message that waits for credit, it is not taken for a
/// duplicate.
#[test]
fn messages_that_wait_for_credit_are_not_overtaken() {
    let mut pair = pair(&PipeConfig { credit_bytes: Some(1_024), ..PipeConfig::default() });
    pair.stream();
    let class = Priority::State;
    (0..100).for_each(|number| pair.send(number, class, false, 10));
    for number in 100..3_000 {
        pair.send(number, class, true, 10);
        pair.datagrams(1_200).iter().for_each(|datagram| assert_eq!(pair.take(datagram), Ok(1)));
    }
    let mut kept = 0;
    for _ in 0..20 {
        pair.stream();
        while let Some(frame) = pair.b.poll_frame(T0, pair.to_a) {
            let _ = pair.a.handle_frame(T0, pair.to_b, frame).expect("well spoken");
        }
        kept += pair.received().iter().filter(|note| !note.droppable).count();
    }
    assert_eq!(kept, 100);
    assert_eq!(pair.b.stats().duplicate_messages, 0);
}

#[test]
fn a_faulty_datagram_is_counted_and_harms_nothing() {
    let mut pair = pair(&PipeConfig::default());
    let hello = pair.poll(Fifos::RELIABLE, usize::MAX).expect("a greeting");
    assert_eq!(pair.take(&hello), Err(FrameError::Ordered));
    let _ = pair.b.handle_frame(T0, pair.to_a, hello).expect("well spoken");
    pair.send(1, Priority::State, true, 10);
    let good = pair.datagrams(1_200).remove(0);
    let changed = |at: usize, to: u8| {
        let mut datagram = good.to_vec();
        datagram[at] = to;
        Bytes::from(datagram)
    };
    let item = |error: Result<u32, FrameError>| error.expect_err("faulty").to_string();
    assert_eq!(pair.take(&Bytes::new()), Err(FrameError::Truncated { at: 0, need: 8, left: 0 }));
    assert_eq!(pair.take(&changed(0, 0)), Err(FrameError::Magic { got: 0x52 }));
    assert_eq!(item(pair.take(&changed(8, 3))), "record at byte 8: interest in a datagram");
    assert_eq!(item(pair.take(&changed(8, 7))), "record at byte 8: advertisement in a datagram");
    let must_stay = pair.take(&changed(8 + 5 + 17 + 3, 0));
    assert_eq!(item(must_stay), "record at byte 8: message that must not be dropped in a datagram");
    assert_eq!(pair.b.pipe_stats(pair.to_a).unwrap().faulty_datagrams, 6);
    assert_eq!(pair.take(&good), Ok(1));
    assert_eq!(pair.received().len(), 1);
    // A best-effort frame may take the ordered side too, but not before the greeting.
    pair.send(2, Priority::State, true, 10);
    let best_effort = pair.datagrams(1_200).remove(0);
    assert_eq!(
        pair.b.handle_frame(T0, pair.to_a, best_effort.clone()).map(|received| received.messages),
        Ok(1)
    );
    pair.b.handle_link(T0, pair.to_a, LinkChange::Down).expect("a link");
    pair.b.handle_link(T0, pair.to_a, LinkChange::Up).expect("a link");
    assert_eq!(pair.b.handle_frame(T0, pair.to_a, best_effort), Err(FrameError::NoHello));
}

#[test]
fn a_lost_fragment_costs_its_message_only() {
    let mut pair = pair(&PipeConfig::default());
    pair.stream();
    pair.send(1, Priority::Bulk, true, 3_000);
    pair.send(2, Priority::Bulk, true, 3_000);
    pair.send(3, Priority::Bulk, true, 10);
    let datagrams = pair.datagrams(1_000);
    assert!(datagrams.iter().all(|datagram| datagram.len() <= 1_000));
    for (index, datagram) in datagrams.iter().enumerate().filter(|(index, _)| *index != 1) {
        assert!(pair.take(datagram).is_ok(), "datagram {index}");
    }
    assert_eq!(pair.received().iter().map(|note| note.number).collect::<Vec<_>>(), [2, 3]);
    // The rest of the first transfer is given up when others need its place.
    for number in 10..40 {
        pair.send(number, Priority::Bulk, true, 3_000);
        let datagrams = pair.datagrams(1_000);
        assert!(pair.take(&datagrams[0]).is_ok());
    }
    let stats = pair.b.pipe_stats(pair.to_a).unwrap();
    assert_eq!(stats.lost_fragments, 3 + (30 + 1 - 16 - 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever happens to datagrams: nothing arrives twice or damaged, reliable messages arrive in
    /// order, and without losses everything arrives.
    #[test]
    fn datagrams_may_be_lost_doubled_and_shuffled(
        notes in prop::collection::vec((0usize..4, any::<bool>(), prop_oneof![3 => 0usize..100, 1 => 500usize..4_000]), 1..40),
        bytes_max in 128usize..1_500,
        seed in any::<u64>(),
        lossy in any::<bool>(),
        batch in 1usize..8,
    ) {
        let mut pair = pair(&PipeConfig::default());
        let mut rng: Rng = Seed(seed).rng();
        let mut expected = BTreeMap::new();
        for (batch_number, notes) in notes.chunks(batch).enumerate() {
            let mut datagrams = Vec::new();
            for (index, (class, droppable, bytes)) in notes.iter().enumerate() {
                let number = (batch_number * batch + index) as u32;
                pair.send(number, Priority::ALL[*class], *droppable, *bytes);
                expected.insert(number, (*bytes, *droppable));
                if rng.next_u64().is_multiple_of(2) {
                    datagrams.extend(pair.datagrams(bytes_max));
                }
            }
            datagrams.extend(pair.datagrams(bytes_max));
            for index in (0..datagrams.len()).rev() {
                let other = (rng.next_u64() % (index as u64 + 1)) as usize;
                datagrams.swap(index, other);
                match rng.next_u64() % 8 {
                    0 if lossy => {
                        datagrams.swap_remove(index);
                    }
                    1 => datagrams.push(datagrams[index].clone()),
                    _ => {}
                }
            }
            for datagram in &datagrams {
                prop_assert!(datagram.len() <= bytes_max);
                prop_assert!(pair.take(datagram).is_ok());
            }
            pair.stream();
        }
        prop_assert_eq!(pair.a.queued(pair.to_b), Some((0, 0)));
        let mut got = BTreeSet::new();
        let mut last: BTreeMap<Priority, u32> = BTreeMap::new();
        for note in pair.received() {
            prop_assert!(got.insert(note.number), "{} came twice", note.number);
            prop_assert_eq!(expected[&note.number], (note.body.len(), note.droppable));
            prop_assert!(note.body.iter().all(|octet| *octet == note.number as u8));
            if !note.droppable {
                let before = last.insert(note.class, note.number);
                prop_assert!(before.is_none_or(|before| before < note.number));
            }
        }
        let must: BTreeSet<u32> =
            expected.iter().filter(|(_, (_, droppable))| !lossy || !droppable).map(|(number, _)| *number).collect();
        prop_assert!(must.is_subset(&got), "missing {:?}", must.difference(&got));
        prop_assert_eq!(pair.b.pipe_stats(pair.to_a).unwrap().faulty_datagrams, 0);
    }

    #[test]
    fn any_datagram_is_taken_without_harm(
        datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..20),
    ) {
        let mut pair = pair(&PipeConfig::default());
        pair.stream();
        for bytes in datagrams {
            let mut datagram = vec![0x4d, 0x52, 2, 1];
            let mut records = Vec::new();
            for chunk in bytes.chunks(30) {
                records.extend([if chunk[0] % 3 == 0 { 5 } else { 6 }, 0, 0, 0, chunk.len() as u8 - 1]);
                // Small numbers, so that transfers collide.
                records.extend(chunk[1..].iter().enumerate().map(|(index, octet)| if index < 13 { octet % 4 } else { *octet }));
            }
            datagram.extend((8 + records.len() as u32).to_be_bytes());
            datagram.extend(records);
            let _ = pair.take(&datagram.into());
        }
        pair.send(1, Priority::Reliable, false, 10);
        pair.stream();
        prop_assert!(pair.received().iter().any(|note| note.class == Priority::Reliable));
    }
}

/// The router's rules for drops on a link: the lowest best effort goes first, the newest state
/// replaces older state of the same thing, and each drop is counted by class and reason.
#[test]
fn at_the_limit_of_a_link_the_lowest_best_effort_goes_first() {
    let limit = PipeConfig { newest_wins: true, messages_max: 6, ..PipeConfig::default() };
    let mut pair = pair(&limit);
    pair.stream();
    let mut state = |number: u32, class, droppable, key| {
        let mut note = note(1, 1, class, number);
        (note.droppable, note.key) = (droppable, key);
        pair.a.submit(T0, pair.source, note).expect("a source")
    };
    let dropped: Vec<u32> = [
        state(0, Priority::Bulk, true, None),
        state(1, Priority::State, true, Some(1)),
        state(2, Priority::Bulk, true, None),
        state(3, Priority::State, true, Some(2)),
        state(4, Priority::State, true, Some(1)),
        state(5, Priority::Reliable, false, None),
        state(6, Priority::Reliable, false, None),
        // The pipe is full. One bulk message goes, then the other, then the older state.
        state(7, Priority::Control, false, None),
        state(8, Priority::State, true, None),
        state(9, Priority::Reliable, false, None),
        // No lower class is left.
        state(10, Priority::Bulk, true, None),
    ]
    .into_iter()
    .map(|done| done.dropped)
    .collect();
    assert_eq!(dropped, [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
    let stats = pair.a.pipe_stats(pair.to_b).expect("there").clone();
    assert_eq!(stats.dropped(Priority::State, DropReason::Superseded), 1);
    assert_eq!(stats.dropped(Priority::Bulk, DropReason::Displaced), 2);
    assert_eq!(stats.dropped(Priority::State, DropReason::Displaced), 1);
    assert_eq!(stats.dropped(Priority::Bulk, DropReason::Full), 1);
    assert_eq!(stats.dropped_messages(), 5);
    while let Some(frame) = pair.a.poll_frame(T0, pair.to_b) {
        let _ = pair.b.handle_frame(T0, pair.to_a, frame).expect("well spoken");
    }
    assert_eq!(pair.received().iter().map(|note| note.number).collect::<Vec<_>>(), [7, 5, 6, 9, 3, 8]);
}

/// A newer state of the same thing from elsewhere does not take over the number of the older one.
#[test]
fn newest_wins_between_routers_keeps_numbers_apart() {
    let pipe = PipeConfig { newest_wins: true, ..PipeConfig::default() };
    let mut pair = pair(&pipe);
    pair.stream();
    let relayed = pair.a.add_client(T0, ClientConfig::memory(ClientFlags::SOURCE)).expect("few");
    let mut older = note(1, 1, Priority::State, 1);
    (older.droppable, older.key) = (true, Some(1));
    let newer = Note { number: 2, ..older.clone() };
    assert_eq!(pair.a.submit(T0, pair.source, older).expect("a source").queued, 1);
    let id = router::MessageId { origin: router::Origin { router: RouterId(9), epoch: 0 }, sequence: 77 };
    let parcel = router::Parcel::Message(router::Envelope { id, hops: 0, message: newer });
    let _ = pair.a.handle_parcel(T0, relayed, parcel).expect("a source");
    pair.stream();
    let datagrams = pair.datagrams(1_200);
    assert_eq!(datagrams.len(), 1);
    assert_eq!(pair.take(&datagrams[0]), Ok(1));
    let got = pair.b.poll_envelope(pair.sink).expect("the newer one");
    assert_eq!((got.id, got.message.number), (id, 2));
}

/// A router `a` with a source, linked to sinks that want topic 1. A group reaches the first few of
/// them.
struct Site {
    a: common::TestRouter,
    source: router::ClientId,
    group: router::ClientId,
    others: Vec<(common::TestRouter, router::ClientId, router::ClientId, router::ClientId)>,
}

impl Site {
    fn new(others: usize, covered: usize) -> Self {
        use router::{Router, RouterConfig};
        let (source, sink) = (ClientFlags::SOURCE, ClientFlags::SINK);
        let mut a = Router::new(RouterConfig::new(RouterId(100), Seed(1)));
        let sender = a.add_client(T0, ClientConfig::local()).expect("it has room");
        let pipe = PipeConfig { frame_bytes_max: 1_200, ..PipeConfig::default() };
        let group = a.add_group(T0, pipe).expect("it has room");
        let mut site = Self { a, source: sender, group, others: Vec::new() };
        for number in 0..others {
            let to = site.a.add_client(T0, ClientConfig::link(sink)).expect("it has room");
            let mut other = Router::new(RouterConfig::new(RouterId(number as u32), Seed(2)));
            let from = other.add_client(T0, ClientConfig::link(source)).expect("it has room");
            let receiver = other.add_client(T0, ClientConfig::local()).expect("it has room");
            site.a.handle_link(T0, to, LinkChange::Up).expect("a link");
            other.handle_link(T0, from, LinkChange::Up).expect("a link");
            other.set_interest(T0, receiver, common::app::Want::group(1), true).expect("it may");
            while let Some(frame) = other.poll_frame(T0, from) {
                let _ = site.a.handle_frame(T0, to, frame).expect("well spoken");
            }
            site.a.set_covered(to, 0, number < covered);
            site.others.push((other, to, from, receiver));
        }
        site
    }

    /// Sends a message; returns how many messages the pipes of the links and that of the group then
    /// hold.
    fn send(&mut self, number: u32, droppable: bool, bytes: usize) -> (usize, usize) {
        let mut note = note(1, 1, Priority::State, number);
        (note.droppable, note.body) = (droppable, vec![number as u8; bytes].into());
        let _ = self.a.submit(T0, self.source, note).expect("a source");
        let waiting = |client| self.a.queued(client).expect("it is there").0;
        (self.others.iter().map(|(_, to, ..)| waiting(*to)).sum(), waiting(self.group))
    }

    /// Carries the links, and the frames of the group `copies` times to each receiver; returns the
    /// numbers that each received.
    fn carry(&mut self, copies: &[usize]) -> Vec<Vec<u32>> {
        let mut frames = Vec::new();
        while let Some(frame) = self.a.poll_frame(T0, self.group) {
            assert!(frame.len() <= 1_200);
            frames.push(frame);
        }
        let mut heard = Vec::new();
        for ((other, to, from, receiver), copies) in self.others.iter_mut().zip(copies) {
            while let Some(frame) = self.a.poll_frame(T0, *to) {
                let _ = other.handle_frame(T0, *from, frame).expect("well spoken");
            }
            for frame in frames.iter().flat_map(|frame| std::iter::repeat_n(frame, *copies)) {
                let _ = other.handle_group_frame(T0, *from, frame.clone()).expect("well spoken");
            }
            heard
                .push(std::iter::from_fn(|| other.poll_message(*receiver)).map(|note| note.number).collect());
        }
        heard
    }
}

#[test]
fn a_cast_carries_once_what_several_want() {
    let mut site = Site::new(3, 2);
    assert_eq!(site.send(1, false, 100), (1, 1), "the third has a message of its own");
    assert_eq!(site.send(2, true, 100), (2, 2));
    assert_eq!(
        site.carry(&[1, 1, 1]),
        [[1, 2], [1, 2], [1, 2]],
        "who is not covered, and hears it, hears it once"
    );
    assert_eq!(site.a.stats().group_messages, 2);
    assert_eq!(site.send(3, false, 100), (1, 1));
    assert_eq!(site.carry(&[2, 0, 0]), [vec![3], vec![], vec![3]], "twice is once, and lost is lost");
}

#[test]
fn large_messages_and_those_for_one_node_use_links() {
    let mut site = Site::new(3, 3);
    assert_eq!(site.send(1, false, 2_000), (3, 0), "longer than a frame");
    assert_eq!(site.send(2, false, 1_000), (3, 1));
    let first = site.others[0].1;
    site.a.set_covered(first, 0, false);
    let second = site.others[1].1;
    site.a.set_covered(second, 0, false);
    assert_eq!(site.send(3, false, 10), (6, 1), "a group for one is a link");
    assert_eq!(site.carry(&[1, 1, 1]), [[1, 3, 2], [1, 3, 2], [1, 3, 2]]);
    assert_eq!(site.a.covered(first), 0);
}

#[test]
fn a_full_cast_holds_reliable_senders_back_and_drops_best_effort() {
    let mut site = Site::new(2, 2);
    let mut number = 0;
    let congested = loop {
        number += 1;
        let mut note = note(1, 1, Priority::State, number);
        (note.droppable, note.body) = (false, vec![0; 900].into());
        let done = site.a.submit(T0, site.source, note).expect("a source");
        if done.congested {
            break done.waits_in.to_vec();
        }
    };
    assert_eq!(congested, [site.group]);
    let heard = site.carry(&[1, 1]);
    assert!(heard.iter().all(|heard| heard.len() == number as usize));
    let relieved = std::iter::from_fn(|| site.a.poll_event())
        .any(|event| matches!(event, router::Event::Relieved { client } if client == site.group));
    assert!(relieved);
}

#[test]
fn reliable_messages_and_best_effort_of_a_cast_are_taken_apart() {
    use router::Fifos;
    let mut site = Site::new(2, 2);
    // Every message is more than half a frame, so that each second one waits as a fragment.
    for number in 1..=8 {
        assert_eq!(site.send(number, number % 2 == 0, 700).0, 0);
    }
    let mut frames = Vec::new();
    for fifos in [Fifos::RELIABLE, Fifos::BEST_EFFORT] {
        while let Some(frame) = site.a.poll_frame_of(T0, site.group, fifos, 1_200) {
            frames.push((fifos, frame));
        }
    }
    assert!(site.a.poll_frame(T0, site.group).is_none());
    let (other, _, from, receiver) = &mut site.others[0];
    for (fifos, frame) in frames {
        let _ = other.handle_group_frame(T0, *from, frame).expect("well spoken");
        while let Some(note) = other.poll_message(*receiver) {
            assert_eq!(note.droppable, fifos == Fifos::BEST_EFFORT, "message {}", note.number);
        }
    }
    let all: Vec<_> = site.others.iter().map(|(other, ..)| other.stats().received_messages).collect();
    assert_eq!(all, [8, 0]);
}

#[test]
fn directed_messages_have_a_pipe_of_their_own() {
    let mut site = Site::new(2, 2);
    let pipe = PipeConfig { frame_bytes_max: 1_200, ..PipeConfig::default() };
    let (first, second) = (site.others[0].1, site.others[1].1);
    let own = site.a.add_directed(T0, first, pipe).expect("it has room");
    let mut number = 0;
    let mut send = |site: &mut Site, droppable: bool, bytes: usize| {
        number += 1;
        let mut note = note(1, common::app::DIRECTED, Priority::Reliable, number);
        (note.droppable, note.body) = (droppable, vec![0; bytes].into());
        let _ = site.a.submit(T0, site.source, note).expect("a source");
        [own, site.group, first, second]
            .map(|client| site.a.queued(client).map_or(0, |(messages, _)| messages))
    };
    assert_eq!(send(&mut site, false, 10), [0, 1, 0, 0], "two want it");
    site.a.set_covered(second, 0, false);
    assert_eq!(send(&mut site, false, 10), [1, 1, 0, 1], "one of those who want it is reached");
    assert_eq!(send(&mut site, true, 10), [1, 1, 1, 2], "best effort needs no care");
    assert_eq!(send(&mut site, false, 2_000), [1, 1, 2, 3], "longer than a frame");
    assert_eq!(site.a.stats().directed_messages, 1);
    let frame = site.a.poll_frame(T0, own).expect("it waits");
    let (other, _, from, receiver) = &mut site.others[0];
    let _ = other.handle_group_frame(T0, *from, frame).expect("well spoken");
    assert_eq!(other.poll_message(*receiver).map(|note| note.number), Some(2));
    // Without its own pipe the message takes the link again.
    site.a.remove_client(T0, own);
    assert_eq!(send(&mut site, false, 10), [0, 1, 3, 4]);
    let nobody = site.a.add_directed(T0, own, PipeConfig::default());
    assert!(nobody.is_err(), "a client that is gone");
}
