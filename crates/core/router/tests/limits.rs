//! The queue of a pipe against a plain list: the dropped and refused messages, and the order of the
//! rest.

mod common;

use base::{Moment, Seed};
use common::TestRouter;
use common::app::{Note, note};
use proptest::prelude::*;
use router::{
    ClientConfig, ClientFlags, ClientId, DropFirst, DropReason, Enqueued, LinkChange, Message, PipeConfig,
    Priority, Router, RouterConfig, RouterId,
};

#[derive(Clone, Debug)]
enum Op {
    Push { class: usize, droppable: bool, bytes: usize, key: Option<u8> },
    Pop(usize),
    DropDroppable,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        50 => (0usize..4, prop::bool::weighted(0.7), 0usize..120, prop::option::of(0u8..6))
            .prop_map(|(class, droppable, bytes, key)| Op::Push { class, droppable, bytes, key }),
        10 => (1usize..6).prop_map(Op::Pop),
        1 => Just(Op::DropDroppable),
    ]
}

/// The specification, as a list in order of arrival.
struct Model {
    config: PipeConfig,
    waiting: Vec<Note>,
}

impl Model {
    fn bytes(&self) -> usize {
        self.waiting.iter().map(Message::bytes).sum()
    }

    fn fits(&self, note: &Note) -> bool {
        self.bytes() + note.bytes() <= self.config.bytes_max && self.waiting.len() < self.config.messages_max
    }

    fn no_room(note: &Note) -> Enqueued {
        match note.droppable {
            true => Enqueued::Dropped { class: note.class, bytes: note.bytes() },
            false => Enqueued::Refused,
        }
    }

    fn push(&mut self, note: Note) -> Enqueued {
        if note.bytes() > self.config.message_bytes_max {
            return Self::no_room(&note);
        }
        let same = |old: &Note| old.droppable && old.key.is_some() && old.key == note.key;
        if self.config.newest_wins
            && note.droppable
            && let Some(index) = self.waiting.iter().position(same)
        {
            let old = self.waiting.remove(index);
            let fits = self.bytes() + note.bytes() <= self.config.bytes_max;
            if old.class == note.class && fits && !self.config.ordered {
                self.waiting.insert(index, note);
                return Enqueued::Replaced;
            }
        }
        let before = self.waiting.clone();
        let mut displaced = 0;
        while !self.fits(&note) {
            let oldest = self.config.drop_first == DropFirst::Oldest;
            let may_go = |old: &Note| {
                old.droppable
                    && (!note.droppable || old.class > note.class || oldest && old.class == note.class)
            };
            let candidates = self.waiting.iter().enumerate().filter(|(_, old)| may_go(old));
            let index = |i: usize| if oldest { usize::MAX - i } else { i };
            let Some((victim, _)) = candidates.max_by_key(|(i, old)| (old.class, index(*i))) else {
                self.waiting = before;
                return Self::no_room(&note);
            };
            self.waiting.remove(victim);
            displaced += 1;
        }
        self.waiting.push(note);
        Enqueued::Queued { displaced }
    }

    fn pop(&mut self) -> Option<Note> {
        let first = |(i, note): &(usize, &Note)| {
            (if self.config.ordered { Priority::Control } else { note.class }, *i)
        };
        let (index, _) = self.waiting.iter().enumerate().min_by_key(first)?;
        Some(self.waiting.remove(index))
    }
}

fn with_client(pipe: PipeConfig) -> (TestRouter, ClientId) {
    let mut router = Router::new(RouterConfig::new(RouterId(1), Seed(1)));
    let client =
        router.add_client(Moment::ZERO, ClientConfig { pipe, ..ClientConfig::local() }).expect("first");
    (router, client)
}

/// A router with a link that is up.
fn linked(id: u32, pipe: &PipeConfig) -> (TestRouter, ClientId) {
    let mut router = Router::new(RouterConfig::new(RouterId(id), Seed(1)));
    let both = ClientFlags::SOURCE | ClientFlags::SINK;
    let config = ClientConfig { pipe: pipe.clone(), ..ClientConfig::link(both) };
    let client = router.add_client(Moment::ZERO, config).expect("first");
    router.handle_link(Moment::ZERO, client, LinkChange::Up).expect("a link");
    (router, client)
}

fn config() -> impl Strategy<Value = PipeConfig> {
    (100usize..600, 1usize..12, any::<[bool; 3]>(), 60usize..200).prop_map(
        |(bytes_max, messages_max, [ordered, newest_wins, newest], message_bytes_max)| PipeConfig {
            messages_max,
            ordered,
            newest_wins,
            drop_first: if newest { DropFirst::Newest } else { DropFirst::Oldest },
            message_bytes_max,
            ..PipeConfig::default().with_bytes_max(bytes_max)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_of_a_link_is_the_list_too(
        pipe in config(),
        ordered in any::<bool>(),
        frame_bytes_max in 128usize..1_000,
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let pipe = PipeConfig { ordered, frame_bytes_max, ..pipe };
        let mut model = Model { config: pipe.clone(), waiting: Vec::new() };
        let [(mut a, to_b), (mut b, to_a)] = [1, 2].map(|id| linked(id, &pipe));
        let sink = b.add_client(Moment::ZERO, ClientConfig::local()).expect("second");
        b.set_interest(Moment::ZERO, sink, common::app::Want::group(1), true).expect("a sink");
        for (number, op) in (0..).zip(ops) {
            let Op::Push { class, droppable, bytes, key } = op else { continue };
            let mut note = note(1, 1, Priority::ALL[class], number);
            (note.droppable, note.key, note.body) = (droppable, key, vec![0; bytes].into());
            prop_assert_eq!(a.push(Moment::ZERO, to_b, note.clone()), Ok(model.push(note)));
        }
        while let Some(frame) = a.poll_frame(Moment::ZERO, to_b) {
            prop_assert_eq!(a.queued_bytes(), a.queued(to_b).map_or(0, |(_, bytes)| bytes));
            let _ = b.handle_frame(Moment::ZERO, to_a, frame).expect("well spoken");
        }
        while let Some(note) = b.poll_message(sink) {
            prop_assert_eq!(Some(note), model.pop());
        }
        prop_assert_eq!(model.pop(), None);
    }

    #[test]
    fn the_queue_is_the_list(pipe in config(), ops in prop::collection::vec(op(), 1..80)) {
        let (mut router, client) = with_client(pipe.clone());
        let mut model = Model { config: pipe.clone(), waiting: Vec::new() };
        let (mut pushed, mut popped, mut refused) = (0, 0, 0);
        for op in ops {
            match op {
                Op::Push { class, droppable, bytes, key } => {
                    let mut note = note(1, 1, Priority::ALL[class], pushed);
                    (note.droppable, note.key, note.body) = (droppable, key, vec![0; bytes].into());
                    pushed += 1;
                    let got = router.push(Moment::ZERO, client, note.clone()).expect("a sink");
                    refused += u32::from(got == Enqueued::Refused);
                    prop_assert_eq!(got, model.push(note));
                }
                Op::DropDroppable => {
                    let before = model.waiting.len();
                    model.waiting.retain(|note| !note.droppable);
                    prop_assert_eq!(router.drop_droppable(client), (before - model.waiting.len()) as u64);
                }
                Op::Pop(times) => for _ in 0..times {
                    let got = router.poll_message(client);
                    popped += u32::from(got.is_some());
                    prop_assert_eq!(got, model.pop());
                },
            }
            let (messages, bytes) = router.queued(client).expect("there");
            prop_assert_eq!((messages, bytes), (model.waiting.len(), model.bytes()));
            prop_assert_eq!(router.queued_bytes(), bytes, "the sum of one pipe");
            prop_assert!(bytes <= pipe.bytes_max && messages <= pipe.messages_max);
        }
        // Everything is accounted for.
        let stats = router.pipe_stats(client).expect("there");
        let lost = u32::try_from(stats.dropped_messages()).expect("few");
        prop_assert_eq!(pushed, popped + lost + refused + model.waiting.len() as u32);
        prop_assert!(stats.queued_bytes_max <= pipe.bytes_max as u64);
        router.remove_client(Moment::ZERO, client);
        prop_assert_eq!(router.queued_bytes(), 0);
    }
}

#[test]
fn a_key_that_is_updated_all_the_time_neither_starves_nor_grows_the_queue() {
    for ordered in [false, true] {
        let (mut router, client) =
            with_client(PipeConfig { newest_wins: true, ordered, ..PipeConfig::default() });
        for number in 0..10_000 {
            let mut note = note(1, 1, Priority::State, number);
            (note.droppable, note.key) = (true, Some((number % 7) as u8));
            assert_ne!(router.push(Moment::ZERO, client, note), Ok(Enqueued::Refused));
        }
        let got: Vec<_> =
            std::iter::from_fn(|| router.poll_message(client)).map(|note| note.number).collect();
        let mut newest = got.clone();
        newest.sort_unstable();
        assert_eq!(newest, (9_993..10_000).collect::<Vec<_>>());
        let stats = router.pipe_stats(client).expect("there");
        assert_eq!(stats.dropped(Priority::State, DropReason::Superseded), 9_993);
    }
}

#[test]
fn congestion_is_told_at_the_marks_and_submit_says_so() {
    use common::app::Want;
    use router::Event;
    let (mut router, client) = with_client(PipeConfig::default().with_bytes_max(1_000));
    let source = router.add_client(Moment::ZERO, ClientConfig::local()).expect("second");
    assert_eq!(router.set_interest(Moment::ZERO, client, Want::group(1), true), Ok(true));
    let send = |number, router: &mut TestRouter| {
        let mut note = note(1, 1, Priority::Reliable, number);
        note.body = vec![0; 86].into();
        router.submit(Moment::ZERO, source, note).expect("a source")
    };
    for number in 0..5 {
        assert!(!send(number, &mut router).congested);
    }
    assert!(send(5, &mut router).congested);
    assert_eq!(router.poll_event(), Some(Event::Congested { client }));
    for number in 6..10 {
        assert!(send(number, &mut router).refused.is_empty());
    }
    let over = send(10, &mut router);
    assert_eq!((over.queued, over.refused.as_slice()), (0, &[client][..]));
    assert_eq!(router.poll_event(), None);
    for _ in 0..7 {
        assert_eq!(router.poll_event(), None);
        assert!(router.poll_message(client).is_some());
    }
    assert!(router.poll_message(client).is_some());
    assert_eq!(router.poll_event(), Some(Event::Relieved { client }));
}
