//! The memory that is counted, and the clients that pay.

use super::*;
use crate::frame::{Control, MessageType, Numbers, put_hla};
use crate::response::empty_response;
use crate::server::tests::{control, events, transmit_at};
use crate::server::{Config, EndReason, Event};
use base::{Moment, Serial31};
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

const NOW: Moment = Moment::ZERO;

fn n(number: u32) -> Serial31 {
    Serial31::new(number).unwrap()
}

fn open_at(endpoint: &mut Endpoint, address: u64, number: u64) -> SessionKey {
    endpoint.handle_open(NOW, ConnId(number), Address::numbered(address), number);
    endpoint.handle_bytes(NOW, ConnId(number), control(0, 0, Control::NewSession { version: 1 }));
    let Some(&Event::SessionOpened { session, .. }) = events(endpoint).last() else { panic!("not opened") };
    let _ = transmit_at(NOW, endpoint, ConnId(number));
    session
}

/// The response to a disconnect request.
fn answer() -> Bytes {
    empty_response(6).unwrap()
}

/// A call of the session `id` with a body that is a disconnect request and `padding` bytes of an
/// unknown field.
fn call(id: u64, number: u32, padding: usize) -> Bytes {
    let mut body = vec![0x2a, 0x00];
    if padding > 0 {
        prost::encoding::bytes::encode(60_000, &vec![0_u8; padding], &mut body);
    }
    let mut out = BytesMut::new();
    let numbers = Numbers { sequence: Serial31::new(number), last_received: None };
    put_hla(&mut out, MessageType::CallRequest, id, numbers, None, &body);
    out.freeze()
}

/// The sums, recounted from scratch.
#[allow(clippy::disallowed_methods)] // a sum does not depend on hash order
fn counted(endpoint: &Endpoint) -> Usage {
    let mut all = Usage::default();
    let sessions = endpoint.sessions.iter().map(|(_, session)| session.usage());
    for usage in sessions.chain(endpoint.connections.values().map(Connection::usage)) {
        all.replace(Usage::default(), usage);
    }
    all
}

#[test]
fn the_memory_of_a_call_moves_from_input_to_unsent_to_history_and_ends() {
    let mut endpoint = Endpoint::new(Config::default());
    let session = open_at(&mut endpoint, 1, 1);
    assert_eq!(endpoint.usage(), Usage::default());
    let message = call(1, 1, 5_000);
    endpoint.handle_bytes(NOW, ConnId(1), message.slice(..3_000));
    assert_eq!(endpoint.usage(), Usage { input: 3_000, unsent: 0, history: 0 });
    endpoint.handle_bytes(NOW, ConnId(1), message.slice(3_000..));
    let waiting = endpoint.usage();
    assert!(waiting.input > 5_000 && waiting.unsent == 0, "the call waits: {waiting:?}");
    endpoint.respond_encoded(NOW, session, n(1), answer());
    let answered = endpoint.usage();
    assert!(answered.input == 0 && answered.unsent > 0, "{answered:?}");
    let _ = transmit_at(NOW, &mut endpoint, ConnId(1));
    let written = endpoint.usage();
    assert_eq!((written.unsent, written.history), (0, answered.unsent), "it may be asked for again");
    endpoint.set_socket_bytes(ConnId(1), 70);
    assert_eq!(endpoint.usage().unsent, 70, "the socket is full");
    endpoint.end(NOW, session, EndReason::Terminated);
    assert_eq!(endpoint.usage(), Usage { input: 0, unsent: 70, history: 0 });
    endpoint.handle_closed(NOW, ConnId(1));
    assert_eq!(endpoint.usage(), Usage::default());
}

#[test]
fn clients_with_much_input_are_paused_until_it_is_less() {
    let mut endpoint = Endpoint::new(Config::default());
    let sessions: Vec<_> = (1..=3).map(|number| open_at(&mut endpoint, 1, number)).collect();
    endpoint.handle_bytes(NOW, ConnId(1), call(1, 1, 5_000).slice(..4_000));
    for number in 1..=4 {
        endpoint.handle_bytes(NOW, ConnId(2), call(2, number, 0));
    }
    endpoint.pause_input(Some(1_000));
    let paused = |endpoint: &Endpoint| [1, 2, 3].map(|conn| endpoint.is_paused(ConnId(conn)));
    assert_eq!(paused(&endpoint), [true, true, false]);
    endpoint.respond_encoded(NOW, sessions[1], n(1), answer());
    assert_eq!(endpoint.poll_released(), Some(ConnId(2)));
    endpoint.handle_bytes(NOW, ConnId(3), call(3, 1, 2_000).slice(..1_000));
    assert_eq!(paused(&endpoint), [true, false, false], "up to the limit it is not much");
    endpoint.handle_bytes(NOW, ConnId(3), call(3, 1, 2_000).slice(1_000..1_001));
    assert_eq!(paused(&endpoint), [true, false, true]);
    assert_eq!(endpoint.stats().paused_for_input, 3);
    endpoint.pause_input(None);
    assert_eq!(paused(&endpoint), [false; 3]);
    let released: Vec<_> = std::iter::from_fn(|| endpoint.poll_released()).collect();
    assert_eq!(released, [ConnId(1), ConnId(3)]);
}

#[test]
fn clients_that_do_not_read_are_paused_until_they_have() {
    let config = Config { unsent_bytes_high: 100, unsent_bytes_low: 50, ..Config::default() };
    let mut endpoint = Endpoint::new(config);
    let session = open_at(&mut endpoint, 1, 1);
    open_at(&mut endpoint, 1, 2);
    endpoint.callback(NOW, session, Bytes::from(vec![0; 200]));
    assert!(!endpoint.is_paused(ConnId(1)), "there is memory enough");
    endpoint.pause_output(true);
    assert!(endpoint.is_paused(ConnId(1)) && !endpoint.is_paused(ConnId(2)));
    let _ = transmit_at(NOW, &mut endpoint, ConnId(1));
    assert!(!endpoint.is_paused(ConnId(1)));
    assert_eq!((endpoint.poll_released(), endpoint.stats().paused_for_output), (Some(ConnId(1)), 1));
}

#[test]
fn the_address_with_the_most_input_pays_with_its_largest() {
    let mut endpoint = Endpoint::new(Config::default());
    let sessions: Vec<_> = (1..=4).map(|number| open_at(&mut endpoint, number / 4, number)).collect();
    assert_eq!(endpoint.heaviest_input(), None);
    for (number, bytes) in [(1, 1_000), (2, 3_000), (3, 2_000), (4, 5_000)] {
        endpoint.handle_bytes(NOW, ConnId(number), call(number, 1, 9_000).slice(..bytes));
    }
    assert_eq!(endpoint.heaviest_input(), Some((sessions[1], 3_000)), "5,000 bytes are fewer than 6,000");
    endpoint.end(NOW, sessions[1], EndReason::Closed("test".into()));
    assert_eq!(endpoint.heaviest_input(), Some((sessions[3], 5_000)));
}

#[test]
fn the_session_for_which_most_waits_pays_wherever_it_waits() {
    let mut endpoint = Endpoint::new(Config::default());
    let sessions: Vec<_> = (1..=3).map(|number| open_at(&mut endpoint, 1, number)).collect();
    endpoint.callback(NOW, sessions[0], Bytes::from(vec![0; 500]));
    endpoint.set_socket_bytes(ConnId(2), 2_000);
    let heaviest = |bytes| endpoint.heaviest_output(|session| if session == sessions[2] { bytes } else { 0 });
    assert_eq!(heaviest(100), Some((sessions[1], 2_000)));
    assert_eq!(heaviest(3_000), Some((sessions[2], 3_000)));
}

#[test]
fn the_largest_histories_are_trimmed_and_those_of_lost_connections_last() {
    let mut endpoint = Endpoint::new(Config::default());
    let sessions: Vec<_> = (1..=3).map(|number| open_at(&mut endpoint, 1, number)).collect();
    for (index, count) in [(0, 10), (1, 40), (2, 20)] {
        for _ in 0..count {
            endpoint.callback(NOW, sessions[index], Bytes::from(vec![0; 880]));
        }
        let _ = transmit_at(NOW, &mut endpoint, ConnId(index as u64 + 1));
    }
    endpoint.handle_closed(NOW, ConnId(3));
    let kept = |endpoint: &Endpoint| {
        let of =
            |&session| endpoint.sessions.get(session).map_or(0, |session| session.usage().history / 1_000);
        sessions.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!((kept(&endpoint), endpoint.usage().history), (vec![10, 40, 20], 70_000));
    assert_eq!(endpoint.trim_history(70_000), 0);
    assert_eq!(endpoint.trim_history(45_000), 25);
    assert_eq!(kept(&endpoint), [10, 15, 20], "the others keep theirs");
    assert_eq!(endpoint.trim_history(10_000), 35);
    assert_eq!((kept(&endpoint), endpoint.usage()), (vec![0, 0, 10], counted(&endpoint)));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Part(u64, usize),
    Rest(u64),
    Respond(u64),
    Callback(u64, usize),
    Transmit(u64, usize),
    Socket(u64, usize),
    Close(u64),
    Resume(u64),
    End(u64, bool),
    DiscardTails,
    Trim(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let session = 1..4_u64;
    prop_oneof![
        4 => (session.clone(), 1..4_000_usize).prop_map(|(session, bytes)| Step::Part(session, bytes)),
        4 => session.clone().prop_map(Step::Rest),
        4 => session.clone().prop_map(Step::Respond),
        4 => (session.clone(), 0..2_000_usize).prop_map(|(session, bytes)| Step::Callback(session, bytes)),
        4 => (session.clone(), 0..4_000_usize).prop_map(|(session, budget)| Step::Transmit(session, budget)),
        2 => (session.clone(), 0..500_usize).prop_map(|(session, bytes)| Step::Socket(session, bytes)),
        1 => session.clone().prop_map(Step::Close),
        2 => session.clone().prop_map(Step::Resume),
        1 => (session, any::<bool>()).prop_map(|(session, kind)| Step::End(session, kind)),
        1 => Just(Step::DiscardTails),
        1 => (0..8_000_usize).prop_map(Step::Trim),
    ]
}

/// Three clients; each has at most one call under way.
struct World {
    endpoint: Endpoint,
    sessions: Vec<SessionKey>,
    /// For each client: its connection, and the unsent rest of its message.
    clients: Vec<(ConnId, Bytes)>,
    last_conn: u64,
}

impl World {
    fn new() -> Self {
        let config = Config { history_bytes_max: 6_000, unsent_bytes_max: 20_000, ..Config::default() };
        let mut endpoint = Endpoint::new(config);
        let sessions = (1..4).map(|number| open_at(&mut endpoint, number, number)).collect();
        let clients = (1..4).map(|number| (ConnId(number), Bytes::new())).collect();
        Self { endpoint, sessions, clients, last_conn: 3 }
    }

    fn take(&mut self, step: Step) {
        let index = |session: u64| (session - 1) as usize;
        let endpoint = &mut self.endpoint;
        match step {
            Step::Part(session, bytes) => {
                let (conn, rest) = &mut self.clients[index(session)];
                if rest.is_empty() {
                    *rest = call(session, 1, 3_000);
                }
                let part = rest.split_to(bytes.min(rest.len()));
                endpoint.handle_bytes(NOW, *conn, part);
            }
            Step::Rest(session) => {
                let (conn, rest) = &mut self.clients[index(session)];
                endpoint.handle_bytes(NOW, *conn, std::mem::take(rest));
            }
            Step::Respond(session) => {
                endpoint.respond_encoded(NOW, self.sessions[index(session)], n(1), answer());
            }
            Step::Callback(session, bytes) => {
                endpoint.callback(NOW, self.sessions[index(session)], vec![0; bytes].into());
            }
            Step::Transmit(session, budget) => {
                let conn = self.clients[index(session)].0;
                let _ = endpoint.poll_transmit(NOW, conn, &mut BytesMut::new(), budget);
            }
            Step::Socket(session, bytes) => endpoint.set_socket_bytes(self.clients[index(session)].0, bytes),
            Step::Close(session) => endpoint.handle_closed(NOW, self.clients[index(session)].0),
            Step::Resume(session) => {
                self.last_conn += 1;
                let conn = ConnId(self.last_conn);
                self.clients[index(session)] = (conn, Bytes::new());
                endpoint.handle_open(NOW, conn, Address::numbered(session), 1_000 + self.last_conn);
                let request = Control::ResumeRequest { last_received: None, oldest_available: None };
                endpoint.handle_bytes(NOW, conn, control(session, 0, request));
            }
            Step::End(session, true) => {
                endpoint.end(NOW, self.sessions[index(session)], EndReason::Closed("test".into()));
            }
            Step::End(session, false) => {
                endpoint.end(NOW, self.sessions[index(session)], EndReason::Evicted);
            }
            Step::DiscardTails => drop(endpoint.discard_tails()),
            Step::Trim(bytes) => {
                endpoint.trim_history(bytes);
                assert!(endpoint.usage().history <= bytes);
            }
        }
    }
}

proptest! {
    #[test]
    fn sums_are_those_of_all_sessions_and_connections(steps in prop::collection::vec(step(), 0..200)) {
        let mut world = World::new();
        for step in steps {
            let text = format!("{step:?}");
            world.take(step);
            prop_assert_eq!(world.endpoint.usage(), counted(&world.endpoint), "after {}", text);
            events(&mut world.endpoint);
        }
        for session in 0..3 {
            world.endpoint.end(NOW, world.sessions[session], EndReason::Evicted);
        }
        for conn in 0..=world.last_conn {
            world.endpoint.handle_closed(NOW, ConnId(conn));
        }
        prop_assert_eq!(world.endpoint.usage(), Usage::default());
    }

    #[test]
    fn a_level_is_as_high_as_it_may_be(mut amounts in prop::collection::vec(0_usize..1_000, 0..20), sum in 0_usize..9_000) {
        amounts.sort_unstable();
        let level = level(&amounts, sum);
        let with = |level: usize| amounts.iter().map(|&amount| amount.min(level)).sum::<usize>();
        prop_assert!(with(level) <= sum);
        prop_assert!(level == usize::MAX || with(level + 1) > sum);
    }
}
