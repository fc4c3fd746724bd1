//! Links: frames, fragments, bundles, faults of the peer, and connections that come and go.

mod common;

use base::{Moment, Seed};
use bytes::{Bytes, BytesMut};
use common::TestRouter;
use common::app::note;
use common::pair::Pair;
use proptest::prelude::*;
use router::{
    ClientConfig, ClientError, ClientFlags, ClientId, Event, FrameError, Gone, LinkChange, PipeConfig,
    Priority, Router, RouterConfig, RouterId,
};
use std::time::Duration;

const T0: Moment = Moment::ZERO;

fn router(id: u32) -> TestRouter {
    Router::new(RouterConfig::new(RouterId(id), Seed(u64::from(id))))
}

/// Two routers that have greeted.
fn pair(pipe: &PipeConfig) -> Pair {
    let mut pair = Pair::new([pipe, pipe], PipeConfig::ordered());
    pair.exchange();
    assert_eq!(pair.a.peer(pair.to_b).map(|peer| peer.router), Some(RouterId(2)));
    pair
}

impl Pair {
    fn exchange(&mut self) {
        self.back(T0);
        self.forth(T0);
    }

    fn send(&mut self, now: Moment, class: Priority, number: u32, bytes: usize) {
        let mut note = note(1, 1, class, number);
        note.body = vec![7; bytes].into();
        assert_eq!(self.a.submit(now, self.source, note).expect("a source").queued, 1);
    }
}

#[test]
fn an_urgent_message_overtakes_the_fragments_of_a_long_one() {
    let mut pair = pair(&PipeConfig { frame_bytes_max: 1_000, ..PipeConfig::default() });
    pair.send(T0, Priority::Bulk, 1, 50_000);
    pair.send(T0, Priority::Bulk, 2, 10);
    let first = pair.a.poll_frame(T0, pair.to_b).expect("a fragment");
    assert_eq!(first.len(), 1_000);
    let _ = pair.b.handle_frame(T0, pair.to_a, first).expect("well spoken");
    pair.send(T0, Priority::Control, 3, 10);
    assert_eq!(
        pair.a.queued(pair.to_b).map(|(messages, _)| messages),
        Some(3),
        "a message counts until it is sent"
    );
    let second = pair.a.poll_frame(T0, pair.to_b).expect("the urgent one");
    let _ = pair.b.handle_frame(T0, pair.to_a, second).expect("well spoken");
    assert_eq!(pair.received().iter().map(|note| note.number).collect::<Vec<_>>(), [3]);
    pair.exchange();
    let rest = pair.received();
    assert_eq!(
        rest.iter().map(|note| (note.number, note.body.len())).collect::<Vec<_>>(),
        [(1, 50_000), (2, 10)]
    );
    assert_eq!(pair.a.queued(pair.to_b), Some((0, 0)));
}

#[test]
fn bundles_wait_unless_something_is_urgent_or_they_are_full() {
    let wait = Duration::from_millis(5);
    let mut pair = pair(&PipeConfig { bundle_wait: wait, frame_bytes_max: 1_000, ..PipeConfig::default() });
    while pair.a.poll_ready().is_some() || pair.a.poll_event().is_some() {}
    pair.send(T0, Priority::State, 1, 100);
    pair.send(T0, Priority::State, 2, 100);
    assert_eq!((pair.a.poll_ready(), pair.a.poll_frame(T0, pair.to_b)), (None, None));
    assert_eq!(pair.a.poll_timeout(), Some(T0 + wait));
    pair.a.handle_timeout(T0 + wait);
    assert_eq!(pair.a.poll_ready(), Some(pair.to_b));
    let frame = pair.a.poll_frame(T0 + wait, pair.to_b).expect("both");
    assert_eq!(pair.b.handle_frame(T0, pair.to_a, frame).expect("well spoken").messages, 2);
    assert_eq!(pair.a.poll_frame(T0 + wait, pair.to_b), None);

    pair.send(T0 + wait, Priority::State, 3, 10);
    assert_eq!(pair.a.poll_ready(), None);
    pair.send(T0 + wait, Priority::Reliable, 4, 10);
    assert_eq!(pair.a.poll_ready(), Some(pair.to_b));
    assert!(pair.a.poll_frame(T0 + wait, pair.to_b).is_some());
    assert_eq!(pair.a.poll_frame(T0 + wait, pair.to_b), None);

    (0..9).for_each(|number| pair.send(T0 + wait, Priority::Bulk, number, 100));
    assert_eq!(pair.a.poll_ready(), Some(pair.to_b));
}

#[test]
fn a_persistent_client_is_reached_again_and_its_interest_is_told_again() {
    let mut pair = pair(&PipeConfig::default());
    let drain = |router: &mut TestRouter| std::iter::from_fn(|| router.poll_event()).collect::<Vec<_>>();
    drain(&mut pair.a);
    pair.send(T0, Priority::Reliable, 1, 10);
    let now = Moment::from_secs(1);
    pair.a.handle_link(now, pair.to_b, LinkChange::Down).expect("a link");
    pair.b.handle_link(now, pair.to_a, LinkChange::Down).expect("a link");
    assert_eq!(drain(&mut pair.a), [Event::Lost { client: pair.to_b, why: Gone::LinkDown }]);
    assert_eq!((pair.a.queued(pair.to_b), pair.a.queued_bytes()), (Some((0, 0)), 0));
    assert_eq!(
        pair.a.submit(now, pair.source, note(1, 1, Priority::Reliable, 2)).expect("a source").queued,
        0
    );
    while pair.a.poll_ready().is_some() {}
    let due = pair.a.poll_timeout().expect("a next attempt");
    assert!(now + Duration::from_millis(100) <= due && due <= now + Duration::from_millis(120), "{due}");
    pair.a.handle_timeout(due);
    assert_eq!(drain(&mut pair.a), [Event::Connect { client: pair.to_b, attempt: 1 }]);
    pair.a.handle_link(due, pair.to_b, LinkChange::Down).expect("did not come up");
    let again = pair.a.poll_timeout().expect("a next attempt");
    pair.a.handle_timeout(again);
    assert_eq!(drain(&mut pair.a), [Event::Connect { client: pair.to_b, attempt: 2 }]);
    pair.a.handle_link(again, pair.to_b, LinkChange::Up).expect("a link");
    pair.b.handle_link(again, pair.to_a, LinkChange::Up).expect("a link");
    assert_eq!((pair.a.poll_ready(), pair.b.poll_ready()), (Some(pair.to_b), Some(pair.to_a)));
    pair.exchange();
    pair.send(again, Priority::Reliable, 3, 10);
    pair.exchange();
    assert_eq!(pair.received().iter().map(|note| note.number).collect::<Vec<_>>(), [3]);
}

#[test]
fn a_silent_client_is_removed_or_reached_again() {
    let mut router = router(1);
    let flags = ClientFlags::SOURCE | ClientFlags::SINK;
    let passing = router.add_client(T0, ClientConfig::link(flags)).expect("few");
    let never_up = router.add_client(T0, ClientConfig::link(flags)).expect("few");
    let lasting = router.add_client(T0, ClientConfig::link(flags | ClientFlags::PERSISTENT)).expect("few");
    for client in [passing, lasting] {
        router.handle_link(T0, client, LinkChange::Up).expect("a link");
    }
    for second in 1..=5 {
        router.handle_timeout(Moment::from_secs(second));
    }
    let events: Vec<_> = std::iter::from_fn(|| router.poll_event()).collect();
    let why = Gone::Silent;
    assert_eq!(
        events,
        [
            Event::Removed { client: passing, why },
            Event::Removed { client: never_up, why },
            Event::Lost { client: lasting, why },
        ]
    );
    assert_eq!(router.client_count(), 1);
    let newcomer = router.add_client(T0, ClientConfig::local()).expect("few");
    assert!(newcomer != passing && newcomer != never_up, "a stale id finds nothing");
    assert_eq!(router.handle_link(T0, passing, LinkChange::Up), Err(ClientError::Unknown(passing)));
    assert_eq!(router.kind(passing), None);
}

/// A frame as bytes: head and records (type, body).
fn frame(records: &[(u8, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, bytes) in records {
        body.push(*kind);
        body.extend((bytes.len() as u32).to_be_bytes());
        body.extend(*bytes);
    }
    let mut frame = vec![0x4d, 0x52, 2, 0];
    frame.extend((8 + body.len() as u32).to_be_bytes());
    frame.extend(body);
    frame
}

fn listener() -> (TestRouter, ClientId) {
    let mut b = router(2);
    let client = b.add_client(T0, ClientConfig::link(ClientFlags::SINK)).expect("first");
    b.handle_link(T0, client, LinkChange::Up).expect("a link");
    (b, client)
}

const HELLO: (u8, &[u8]) = (1, &[0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0]);

#[test]
fn faults_of_the_peer_are_told_exactly() {
    let fault = |bytes: Vec<u8>| {
        let (mut b, client) = listener();
        b.handle_frame(T0, client, bytes.into()).expect_err("a fault")
    };
    let changed = |at: usize, to: u8| {
        let mut frame = frame(&[HELLO]);
        frame[at] = to;
        frame
    };
    assert_eq!(fault(vec![0x4d]), FrameError::Truncated { at: 0, need: 8, left: 1 });
    assert_eq!(fault(changed(0, 0)), FrameError::Magic { got: 0x0052 });
    assert_eq!(fault(changed(2, 9)), FrameError::Version { got: 9, want: 2 });
    assert_eq!(fault(changed(3, 3)), FrameError::Reserved { got: 2 });
    assert_eq!(fault(changed(7, 20)), FrameError::Length { declared: 20, got: 25 });
    assert_eq!(fault(changed(12, 13)), FrameError::Truncated { at: 8, need: 18, left: 17 });
    assert_eq!(
        fault(vec![0; (1 << 20) + 1]),
        FrameError::TooLong { at: 0, len: (1 << 20) + 1, limit: 1 << 20 }
    );
    assert_eq!(fault(frame(&[(2, &[])])), FrameError::NoHello);
    assert_eq!(fault(frame(&[HELLO, (99, &[])])), FrameError::RecordType { at: 25, got: 99 });
    assert_eq!(fault(frame(&[HELLO, (2, &[1])])), FrameError::Trailing { at: 25, extra: 1 });
    assert_eq!(fault(frame(&[HELLO, (5, &[0; 16])])), FrameError::Truncated { at: 25, need: 17, left: 16 });
    let own = fault(frame(&[(1, &[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0])]));
    assert_eq!(own.to_string(), "the peer says it is Origin { router: r2, epoch: 0 }, which is this router");
    let body = fault(frame(&[HELLO, (3, &[0])]));
    assert_eq!(body.to_string(), "interest at byte 25: a want has 4 bytes, not 1");
    let mut message = BytesMut::new();
    message.extend_from_slice(&[0; 17]);
    router::Wire::encode(&note(1, 1, Priority::State, 0), &mut message);
    let not_a_source = fault(frame(&[HELLO, (5, &message)]));
    assert!(matches!(not_a_source, FrameError::Client(ClientError::NotASource(_))));
}

#[test]
fn fragments_are_checked() {
    let fragment = |fifo: u8, transfer: u32, total: u32, offset: u32, part: &[u8]| {
        let mut body = vec![fifo];
        [transfer, total, offset].iter().for_each(|word| body.extend(word.to_be_bytes()));
        body.extend(part);
        frame(&[(6, &body)])
    };
    let run = |frames: &[Vec<u8>]| {
        let (mut b, client) = listener();
        let hello = b.handle_frame(T0, client, frame(&[HELLO]).into());
        let mut last = hello.map(|_| ());
        for frame in frames {
            last = b.handle_frame(T0, client, Bytes::copy_from_slice(frame)).map(|_| ());
        }
        (last, b.pipe_stats(client).expect("there").lost_fragments)
    };
    let why = |result: Result<(), FrameError>| match result {
        Err(FrameError::Fragment { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why(run(&[fragment(6, 0, 9, 0, &[1])]).0), "there is no such FIFO");
    assert_eq!(why(run(&[fragment(0, 0, 9, 9, &[1])]).0), "it ends behind the end of the whole");
    let two_totals = [fragment(0, 0, 9, 0, &[1]), fragment(0, 0, 8, 1, &[1])];
    assert_eq!(why(run(&two_totals).0), "it states another total than the first part");
    assert_eq!(
        why(run(&[fragment(0, 0, 5, 0, &[2, 0, 0, 0, 0])]).0),
        "the whole is neither a message nor an interest nor an advertisement"
    );
    let huge = run(&[fragment(0, 0, u32::MAX, 0, &[1])]).0;
    assert!(matches!(huge, Err(FrameError::TooLong { at: 8, .. })), "{huge:?}");
    // A part is missing: the transfer is given up, and the next one works.
    let want = [3, 0, 0, 0, 4, 0, 1, 0, 9];
    let frames = [
        fragment(0, 0, 9, 0, &want[..2]),
        fragment(0, 0, 9, 4, &want[4..]),
        fragment(0, 1, 9, 0, &want[..5]),
        fragment(0, 1, 9, 5, &want[5..]),
    ];
    assert_eq!(run(&frames), (Ok(()), 1));
}

proptest! {
    #[test]
    fn any_bytes_are_taken_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), framed in any::<bool>()) {
        let (mut b, client) = listener();
        let _ = b.handle_frame(T0, client, frame(&[HELLO]).into());
        let bytes = if framed {
            let records: Vec<_> = bytes.chunks(24).map(|chunk| (chunk[0] % 11, &chunk[1..])).collect();
            frame(&records)
        } else {
            bytes
        };
        let _ = b.handle_frame(T0, client, bytes.into());
    }

    #[test]
    fn messages_of_any_length_arrive_as_they_were(
        lengths in prop::collection::vec((0usize..6_000, 0usize..4), 1..12),
        frame_bytes_max in 128usize..4_000,
        ordered in any::<bool>(),
    ) {
        let mut pair = pair(&PipeConfig { frame_bytes_max, ordered, ..PipeConfig::default() });
        for (number, (bytes, class)) in lengths.iter().enumerate() {
            pair.send(T0, Priority::ALL[*class], number as u32, *bytes);
        }
        while let Some(frame) = pair.a.poll_frame(T0, pair.to_b) {
            prop_assert!(frame.len() <= frame_bytes_max);
            let _ = pair.b.handle_frame(T0, pair.to_a, frame).expect("well spoken");
        }
        let got: Vec<_> = pair.received().iter().map(|note| (note.number as usize, note.body.len(), note.class.index())).collect();
        let mut expected: Vec<_> = lengths.iter().enumerate().map(|(i, (bytes, class))| (i, *bytes, *class)).collect();
        if !ordered {
            expected.sort_by_key(|(_, _, class)| *class);
        }
        prop_assert_eq!(got, expected);
        prop_assert_eq!(pair.a.queued(pair.to_b), Some((0, 0)));
    }
}
