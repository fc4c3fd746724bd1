//! Limits, timeouts and misbehaving clients. Whole dialogues are in `tests/golden`.

use super::*;
use crate::frame::{
    Control, Decoder, Frame, MessageType, NewSessionReason, Numbers, ResumeStatus, put_control, put_hla,
};
use crate::response::empty_response;
use base::{Address, Moment, Serial31};
use bytes::{Bytes, BytesMut};
use hla::api::CallRequest;
use proptest::prelude::*;
use std::time::Duration;

const ID: u64 = 0xabc;
const HERE: Address = Address::numbered(1);
const CONN: ConnId = ConnId(1);
/// A disconnect request and the field of its response.
const DISCONNECT: &[u8] = &[0x2a, 0x00];
const DISCONNECT_RESPONSE: u32 = 6;

fn n(value: u32) -> Serial31 {
    Serial31::new(value).unwrap()
}

fn numbers(sequence: u32) -> Numbers {
    Numbers { sequence: Serial31::new(sequence), last_received: None }
}

pub(super) fn control(session: u64, sequence: u32, message: Control) -> Bytes {
    let mut out = BytesMut::new();
    put_control(&mut out, session, numbers(sequence), message);
    out.freeze()
}

fn call(sequence: u32) -> Bytes {
    let mut out = BytesMut::new();
    put_hla(&mut out, MessageType::CallRequest, ID, numbers(sequence), None, DISCONNECT);
    out.freeze()
}

fn secs(s: u64) -> Moment {
    Moment::from_secs(s)
}

/// An endpoint with one open session whose status message has been taken.
fn opened(config: Config) -> (Endpoint, SessionKey) {
    let mut endpoint = Endpoint::new(config);
    let key = open(&mut endpoint, CONN, ID);
    (endpoint, key)
}

fn open(endpoint: &mut Endpoint, conn: ConnId, id: u64) -> SessionKey {
    endpoint.handle_open(Moment::ZERO, conn, HERE, id);
    endpoint.handle_bytes(Moment::ZERO, conn, control(0, 0, Control::NewSession { version: 1 }));
    let Some(Event::SessionOpened { session, .. }) = endpoint.poll_event() else { panic!("not opened") };
    assert_eq!(transmit(endpoint, conn).0.len(), 1);
    session
}

/// All output of the endpoint for `conn`.
fn transmit(endpoint: &mut Endpoint, conn: ConnId) -> (Vec<Frame>, Transmit) {
    transmit_at(Moment::ZERO, endpoint, conn)
}

pub(super) fn transmit_at(now: Moment, endpoint: &mut Endpoint, conn: ConnId) -> (Vec<Frame>, Transmit) {
    let mut out = BytesMut::new();
    let done = endpoint.poll_transmit(now, conn, &mut out, usize::MAX);
    let mut decoder = Decoder::new(usize::MAX);
    decoder.push(out.freeze());
    (std::iter::from_fn(|| decoder.next_frame().unwrap()).collect(), done)
}

pub(super) fn events(endpoint: &mut Endpoint) -> Vec<Event> {
    std::iter::from_fn(|| endpoint.poll_event()).collect()
}

fn ended(session: SessionKey, reason: EndReason) -> Vec<Event> {
    vec![Event::SessionEnded { session, reason }]
}

#[test]
fn calls_are_answered_once_in_any_order() {
    let (mut endpoint, key) = opened(Config::default());
    for sequence in [1, 2, 3] {
        endpoint.handle_bytes(Moment::ZERO, CONN, call(sequence));
    }
    let request = CallRequest {
        call_request: Some(hla::api::call_request::CallRequest::DisconnectRequest(Default::default())),
    };
    let expected: Vec<_> =
        [1, 2, 3].map(|c| Event::Call { session: key, call: n(c), request: request.clone() }).to_vec();
    assert_eq!(events(&mut endpoint), expected);
    let body = empty_response(DISCONNECT_RESPONSE).unwrap();
    let mut respond = |c| endpoint.respond_encoded(Moment::ZERO, key, n(c), body.clone());
    assert_eq!([2, 2, 1, 9, 3, 3].map(&mut respond), [true, false, true, false, true, false]);
    let (frames, done) = transmit(&mut endpoint, CONN);
    assert_eq!(frames.len(), 3);
    assert_eq!(frames[0].payload, &[0, 0, 0, 2, 0x32, 0][..]);
    assert!(!done.more);
}

#[test]
fn a_shared_callback_gets_a_header_per_session_and_respects_the_budget() {
    let mut endpoint = Endpoint::new(Config::default());
    let keys = [1, 2].map(|i| open(&mut endpoint, ConnId(i), i));
    let body = Bytes::from_static(&[7; 76]);
    for key in keys {
        for _ in 0..3 {
            assert!(endpoint.callback(Moment::ZERO, key, body.clone()));
        }
    }
    let ready: Vec<_> = std::iter::from_fn(|| endpoint.poll_ready()).collect();
    assert_eq!(ready[ready.len() - 2..], [ConnId(1), ConnId(2)]);
    assert_eq!(endpoint.unsent_bytes(keys[0]), 300);
    let mut out = BytesMut::new();
    let mut give = |budget| {
        let done = endpoint.poll_transmit(Moment::ZERO, ConnId(1), &mut out, budget);
        (done.bytes, done.more)
    };
    assert_eq!(give(0), (0, true));
    assert_eq!(give(10), (100, true), "one message at least");
    assert_eq!(give(199), (100, true), "whole messages only");
    assert_eq!(give(199), (100, false));
    assert_eq!(give(199), (0, false));
    let (frames, _) = transmit(&mut endpoint, ConnId(2));
    assert_eq!(frames.iter().map(|f| f.header.session).collect::<Vec<_>>(), [2, 2, 2]);
}

#[test]
fn watermarks_hold_and_release() {
    let config = Config { unsent_bytes_high: 250, unsent_bytes_low: 100, ..Config::default() };
    let (mut endpoint, key) = opened(config);
    let body = Bytes::from_static(&[7; 76]);
    for writable in [true, true, false] {
        endpoint.callback(Moment::ZERO, key, body.clone());
        assert_eq!(endpoint.is_writable(key), writable);
    }
    let mut out = BytesMut::new();
    let _ = endpoint.poll_transmit(Moment::ZERO, CONN, &mut out, 100);
    assert_eq!(events(&mut endpoint), []);
    let _ = endpoint.poll_transmit(Moment::ZERO, CONN, &mut out, 100);
    assert_eq!(events(&mut endpoint), [Event::Writable { session: key }]);
    assert!(endpoint.is_writable(key));
}

#[test]
fn a_client_that_does_not_read_is_ended_and_only_it() {
    let config = Config { unsent_bytes_max: 250, ..Config::default() };
    let (mut endpoint, key) = opened(config);
    let other = open(&mut endpoint, ConnId(2), 2);
    let body = Bytes::from_static(&[7; 76]);
    let sent = [0; 3].map(|_| endpoint.callback(Moment::ZERO, key, body.clone()));
    assert_eq!(sent, [true, true, false]);
    let reason = EndReason::Overload(Overload::UnsentBytes { limit: 250 });
    assert_eq!(events(&mut endpoint), ended(key, reason));
    let (frames, done) = transmit(&mut endpoint, CONN);
    assert_eq!((frames.len(), done.close_after, done.discard), (0, true, true));
    assert!(endpoint.callback(Moment::ZERO, other, body));
    assert_eq!((endpoint.sessions(), endpoint.connections()), (1, 1));
}

#[test]
fn floods_of_calls_and_heartbeats_are_ended() {
    let config = Config { calls_max: 2, control_messages_max: 2, ..Config::default() };
    let (mut endpoint, key) = opened(config.clone());
    for sequence in 1..=3 {
        endpoint.handle_bytes(Moment::ZERO, CONN, call(sequence));
    }
    let reason = EndReason::Overload(Overload::Calls { limit: 2 });
    assert_eq!(events(&mut endpoint).split_off(2), ended(key, reason));
    let (mut endpoint, key) = opened(config);
    for sequence in 1..=3 {
        endpoint.handle_bytes(Moment::ZERO, CONN, control(ID, sequence, Control::Heartbeat));
    }
    let reason = EndReason::Overload(Overload::ControlMessages { limit: 2 });
    assert_eq!(events(&mut endpoint), ended(key, reason));
}

#[test]
fn sessions_and_connections_are_limited() {
    let config = Config { sessions_max: 1, connections_without_session_max: 1, ..Config::default() };
    let (mut endpoint, _) = opened(config);
    endpoint.handle_open(Moment::ZERO, ConnId(2), HERE, 2);
    endpoint.handle_open(Moment::ZERO, ConnId(3), HERE, 3);
    let refused = |conn, reason| vec![Event::Refused { conn: ConnId(conn), address: HERE, reason }];
    assert_eq!(
        events(&mut endpoint),
        refused(3, Refusal::Connections { limit: 1 }),
        "the first is too young"
    );
    endpoint.handle_open(Moment::ZERO + PENDING_AGE_MIN, ConnId(3), HERE, 3);
    assert_eq!(
        events(&mut endpoint),
        refused(2, Refusal::Connections { limit: 1 }),
        "silent ones keep nobody out"
    );
    let now = Moment::ZERO + PENDING_AGE_MIN;
    endpoint.handle_bytes(now, ConnId(3), control(0, 0, Control::NewSession { version: 1 }));
    assert_eq!(events(&mut endpoint), refused(3, Refusal::Sessions { limit: 1 }));
    let (frames, done) = transmit_at(now, &mut endpoint, ConnId(3));
    let status = crate::frame::Message::Control(Control::NewSessionStatus(NewSessionReason::OutOfResources));
    assert_eq!(frames[0].clone().message(), Ok(status));
    assert!(done.close_after && !done.discard);
    // The place is free again.
    endpoint.handle_open(now, ConnId(4), HERE, 4);
    assert_eq!(events(&mut endpoint), []);
}

#[test]
fn a_session_id_of_zero_or_taken_is_refused() {
    let (mut endpoint, _) = opened(Config::default());
    for (conn, id) in [(2, 0), (3, ID)] {
        endpoint.handle_open(Moment::ZERO, ConnId(conn), HERE, id);
        endpoint.handle_bytes(Moment::ZERO, ConnId(conn), control(0, 0, Control::NewSession { version: 1 }));
        let refused = Event::Refused { conn: ConnId(conn), address: HERE, reason: Refusal::SessionId(id) };
        assert_eq!(events(&mut endpoint), [refused]);
    }
}

#[test]
fn linger_is_counted_from_the_loss() {
    let (mut endpoint, key) = opened(Config::default());
    endpoint.handle_closed(secs(10), CONN);
    assert_eq!(events(&mut endpoint), [Event::Interrupted { session: key }]);
    assert_eq!(endpoint.poll_timeout(), Some(secs(610)));
    endpoint.set_linger(secs(11), key, Duration::from_secs(5));
    assert_eq!(endpoint.poll_timeout(), Some(secs(15)));
    endpoint.handle_timeout(secs(15));
    assert_eq!(events(&mut endpoint), ended(key, EndReason::ResumeWindowExpired));

    let (mut endpoint, key) = opened(Config::default());
    endpoint.set_linger(Moment::ZERO, key, Duration::ZERO);
    endpoint.handle_closed(secs(1), CONN);
    assert_eq!(events(&mut endpoint), ended(key, EndReason::ResumeWindowExpired));
    assert_eq!(endpoint.poll_timeout(), None);
}

#[test]
fn silence_can_be_tolerated() {
    let (mut endpoint, key) = opened(Config { heart_timeout: None, ..Config::default() });
    assert_eq!(endpoint.poll_timeout(), None);
    endpoint.set_heart_timeout(secs(1), key, Some(Duration::from_secs(9)));
    assert_eq!(endpoint.poll_timeout(), Some(secs(9)));
    endpoint.set_heart_timeout(secs(2), key, None);
    endpoint.handle_timeout(secs(100_000));
    assert_eq!(events(&mut endpoint), []);
    assert!(endpoint.is_connected(key));
}

#[test]
fn an_ended_session_still_says_what_it_had_to_say() {
    let (mut endpoint, key) = opened(Config::default());
    endpoint.callback(Moment::ZERO, key, Bytes::from_static(b"\x0a\x00"));
    assert!(endpoint.end(Moment::ZERO, key, EndReason::Closed("server stops".into())));
    assert!(!endpoint.end(Moment::ZERO, key, EndReason::Terminated));
    assert_eq!(events(&mut endpoint), ended(key, EndReason::Closed("server stops".into())));
    let (frames, done) = transmit(&mut endpoint, CONN);
    assert_eq!((frames.len(), done.close_after, done.discard), (1, true, false));
    assert_eq!(endpoint.poll_timeout(), None);
}

#[test]
fn the_last_words_have_a_deadline() {
    let (mut endpoint, key) = opened(Config::default());
    endpoint.callback(Moment::ZERO, key, Bytes::from_static(b"\x0a\x00"));
    endpoint.end(Moment::ZERO, key, EndReason::Closed("server stops".into()));
    while endpoint.poll_ready().is_some() {}
    assert_eq!(endpoint.poll_timeout(), Some(secs(5)));
    endpoint.handle_timeout(secs(5));
    assert_eq!(endpoint.poll_ready(), Some(CONN));
    let mut out = BytesMut::new();
    let done = endpoint.poll_transmit(secs(5), CONN, &mut out, 0);
    assert_eq!((done.bytes, done.close_after, done.discard), (0, true, true));
    assert_eq!(endpoint.connections(), 0);
}

#[test]
fn heartbeats_overtake_what_waits() {
    let (mut endpoint, key) = opened(Config::default());
    endpoint.callback(Moment::ZERO, key, Bytes::from_static(b"\x0a\x00"));
    endpoint.handle_bytes(Moment::ZERO, CONN, control(ID, 1, Control::Heartbeat));
    let (frames, _) = transmit(&mut endpoint, CONN);
    let got: Vec<_> =
        frames.iter().map(|f| (f.header.message_type, f.header.numbers.sequence.unwrap().get())).collect();
    assert_eq!(got, [(MessageType::HeartbeatResponse, 2), (MessageType::CallbackRequest, 3)]);
}

/// Somebody has overheard the number of a session.
#[test]
fn a_session_is_resumed_only_with_the_proof_that_opened_it() {
    let mut endpoint = Endpoint::new(Config::default());
    endpoint.handle_open(Moment::ZERO, CONN, HERE, ID);
    endpoint.set_proof(CONN, Proof([7; 32]));
    endpoint.handle_bytes(Moment::ZERO, CONN, control(0, 1, Control::NewSession { version: 1 }));
    let opened = events(&mut endpoint);
    let [Event::SessionOpened { session: key, .. }] = opened[..] else { panic!("{opened:?}") };
    let resume = Control::ResumeRequest { last_received: None, oldest_available: None };
    for (conn, proof) in [(2, Proof::default()), (3, Proof([8; 32]))] {
        endpoint.handle_open(Moment::ZERO, ConnId(conn), HERE, conn);
        endpoint.set_proof(ConnId(conn), proof);
        endpoint.handle_bytes(Moment::ZERO, ConnId(conn), control(ID, u32::MAX, resume));
        let refused = Event::Refused { conn: ConnId(conn), address: HERE, reason: Refusal::Unproved };
        assert_eq!(events(&mut endpoint), [refused]);
    }
    assert!(endpoint.is_writable(key), "nothing has happened to the session");
    endpoint.handle_open(Moment::ZERO, ConnId(4), HERE, 4);
    endpoint.set_proof(ConnId(4), Proof([7; 32]));
    endpoint.handle_bytes(Moment::ZERO, ConnId(4), control(ID, u32::MAX, resume));
    assert_eq!(events(&mut endpoint), [Event::Resumed { session: key, conn: ConnId(4) }]);
}

#[test]
fn a_history_that_is_too_short_refuses_the_resume() {
    let (mut endpoint, key) = opened(Config { history_messages_max: 2, ..Config::default() });
    for _ in 0..3 {
        endpoint.callback(Moment::ZERO, key, Bytes::from_static(b"\x0a\x00"));
    }
    assert_eq!(transmit(&mut endpoint, CONN).0.len(), 3); // numbers 2, 3, 4
    endpoint.handle_open(Moment::ZERO, ConnId(2), HERE, 2);
    let resume = Control::ResumeRequest { last_received: None, oldest_available: None };
    endpoint.handle_bytes(Moment::ZERO, ConnId(2), control(ID, u32::MAX, resume));
    let status = ResumeStatus::NotEnoughBufferedMessages;
    assert_eq!(events(&mut endpoint), ended(key, EndReason::NotResumable(status)));
    assert_eq!(endpoint.sessions(), 0);
}

#[test]
fn acknowledged_messages_are_not_kept() {
    let (mut endpoint, key) = opened(Config { history_messages_max: 2, ..Config::default() });
    for _ in 0..2 {
        endpoint.callback(Moment::ZERO, key, Bytes::from_static(b"\x0a\x00"));
    }
    let _ = transmit(&mut endpoint, CONN);
    let mut out = BytesMut::new();
    let numbers = Numbers { sequence: Some(n(1)), last_received: Some(n(3)) };
    put_control(&mut out, ID, numbers, Control::Heartbeat);
    endpoint.handle_bytes(Moment::ZERO, CONN, out.freeze());
    endpoint.handle_closed(Moment::ZERO, CONN);
    events(&mut endpoint);
    endpoint.handle_open(Moment::ZERO, ConnId(2), HERE, 2);
    let resume = Control::ResumeRequest { last_received: Some(n(2)), oldest_available: None };
    endpoint.handle_bytes(Moment::ZERO, ConnId(2), control(ID, u32::MAX, resume));
    let status = ResumeStatus::NotEnoughBufferedMessages;
    assert_eq!(events(&mut endpoint), ended(key, EndReason::NotResumable(status)), "it said it had 3");
}

#[test]
fn departed_nodes_are_ignored() {
    let mut endpoint = Endpoint::new(Config::default());
    let (_, stale) = opened(Config::default());
    assert!(!endpoint.callback(Moment::ZERO, stale, Bytes::new()));
    assert!(!endpoint.respond_encoded(Moment::ZERO, stale, n(1), Bytes::new()));
    assert!(!endpoint.end(Moment::ZERO, stale, EndReason::Terminated));
    endpoint.set_linger(Moment::ZERO, stale, Duration::ZERO);
    endpoint.handle_bytes(Moment::ZERO, CONN, Bytes::from_static(b"x"));
    endpoint.handle_closed(Moment::ZERO, CONN);
    assert_eq!(endpoint.unsent_bytes(stale), 0);
    assert!(transmit(&mut endpoint, CONN).1.close_after);
    assert_eq!(events(&mut endpoint), []);
}

/// Messages that may make sense, and bytes that never do. None contains the id of the session that
/// must not be disturbed.
fn input() -> impl Strategy<Value = Bytes> {
    let sensible =
        (0usize..12, 0u32..4, prop_oneof![Just(0u64), 102u64..105], prop::collection::vec(any::<u8>(), 0..9));
    let sensible = sensible.prop_map(|(kind, sequence, session, payload)| {
        let mut out = BytesMut::new();
        put_hla(&mut out, MessageType::ALL[kind], session, numbers(sequence), None, &payload);
        out.freeze()
    });
    prop_oneof![
        3 => sensible,
        1 => Just(control(0, 0, Control::NewSession { version: 1 })),
        1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from),
    ]
}

proptest! {
    #[test]
    fn no_input_panics_or_disturbs_another_session(
        inputs in prop::collection::vec((2u64..5, input(), any::<bool>()), 0..40),
    ) {
        let (mut endpoint, key) = opened(Config::default());
        for (conn, bytes, reopen) in inputs {
            if reopen {
                endpoint.handle_open(Moment::ZERO, ConnId(conn), HERE, 100 + conn);
            }
            endpoint.handle_bytes(Moment::ZERO, ConnId(conn), bytes);
            while let Some(event) = endpoint.poll_event() {
                if let Event::SessionEnded { session, .. } = event {
                    prop_assert_ne!(session, key);
                }
            }
            while let Some(ready) = endpoint.poll_ready() {
                let _ = transmit(&mut endpoint, ready);
            }
        }
        prop_assert!(endpoint.is_connected(key));
    }
}
