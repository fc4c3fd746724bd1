//! Hostile and silent clients lose their sessions, and nobody else notices.

use bytes::Bytes;
use federate::hla::api::{self, Message as _, SubscribeObjectClassAttributesRequest};
use federate::hla::api::{call_request, call_response};
use fedpro::frame::{Control, Message, MessageType, NewSessionReason, ResumeStatus};

use crate::common::raw::{Raw, call, control};
use crate::common::{Member, Server, create_and_join, eventually, options, soon};

/// Two federates that must not notice what happens beside them.
struct Witnesses {
    one: Member,
    two: Member,
    count: u32,
}

impl Witnesses {
    async fn of(server: &Server) -> Self {
        let one = create_and_join(options(server.address()), "Witnesses", "One").await;
        let two = create_and_join(options(server.address()), "Witnesses", "Two").await;
        one.declare_all().await;
        two.declare_all().await;
        Self { one, two, count: 0 }
    }

    /// They are as they were.
    async fn testify(&mut self) {
        self.count += 1;
        self.one.fire(self.count).await;
        assert_eq!(self.two.receives().await, self.count);
    }
}

/// Bytes without any sense, the same in every run.
fn garbage(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect()
}

/// A frame of any header fields.
fn frame(size: u32, kind: u32, session: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(size.to_be_bytes());
    out.extend(1u32.to_be_bytes());
    out.extend(session.to_be_bytes());
    out.extend(0x8000_0000u32.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(payload);
    out
}

#[tokio::test]
async fn bad_first_messages_close_the_connection() {
    let mut server = Server::start();
    let mut witnesses = Witnesses::of(&server).await;
    let mut firsts: Vec<Vec<u8>> = (0..64).map(|seed| garbage(seed, 64 + seed as usize * 37)).collect();
    firsts.extend([
        frame(23, 1, 0, &[0, 0, 0, 1]),
        frame(0, 1, 0, &[0, 0, 0, 1]),
        frame(u32::MAX, 1, 0, &[0, 0, 0, 1]),
        frame(29, 1, 0, &[0, 0, 0, 1, 0]),
        frame(24, 1, 0, &[]),
        frame(24, 3, 0, &[]),
        frame(28, 2, 0, &[0; 4]),
        frame(28, 20, 0, &[0; 4]),
        frame(28, 0, 0, &[0; 4]),
        frame(28, 7, 0, &[0; 4]),
        frame(28, u32::MAX, 0, &[0; 4]),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS client's hello".to_vec(),
    ]);
    for first in firsts {
        let mut raw = Raw::connect(&server).await;
        raw.send(&first).await;
        raw.closed().await;
        witnesses.testify().await;
    }
    assert!(server.is_running());
}

#[tokio::test]
async fn another_version_is_told_so() {
    let server = Server::start();
    for version in [0, 2, u32::MAX] {
        let mut raw = Raw::connect(&server).await;
        raw.send(&control(0, 0, Control::NewSession { version })).await;
        let answer = raw.message().await.expect("there is an answer");
        assert_eq!(answer, Message::Control(Control::NewSessionStatus(NewSessionReason::UnsupportedVersion)));
        raw.closed().await;
    }
}

#[tokio::test]
async fn bad_messages_of_a_session_end_it() {
    let server = Server::start();
    let mut witnesses = Witnesses::of(&server).await;
    let bad = |session: u64| {
        vec![
            garbage(1, 4096),
            frame(23, 20, session, &[]),
            frame(u32::MAX, 20, session, &[]),
            frame((64 << 20) + 1, 20, session, &[]),
            frame(24, 20, session ^ 1, &[]),
            frame(24, 99, session, &[]),
            frame(28, 1, session, &[0, 0, 0, 1]),
            frame(28, 21, session, &[0; 4]),
            frame(24, 22, session, &[]),
            frame(25, 3, session, &[0]),
            frame(32, 10, session, &[0; 8]),
        ]
    };
    for index in 0..bad(0).len() {
        let (mut raw, session) = Raw::with_session(&server).await;
        raw.send(&bad(session)[index]).await;
        raw.closed().await;
        witnesses.testify().await;
    }
    eventually("each is logged with its reason", || {
        server.log().matches("session ended").count() >= bad(0).len() && server.log().contains("bad message")
    })
    .await;
}

#[tokio::test]
async fn a_frame_that_never_ends_costs_what_it_sends() {
    let server = Server::configured("[session]\nheartbeat-timeout = \"500ms\"\nunjoined-window = \"100ms\"");
    let (mut raw, session) = Raw::with_session(&server).await;
    // It promises 60 MiB, and sends little.
    raw.send(&frame(60 << 20, 20, session, &garbage(3, 1000))).await;
    #[cfg(target_os = "linux")]
    assert!(server.resident_kib() < 60 << 10, "nothing is kept free for a promise");
    raw.closed().await;
    eventually("it is gone", || server.log().contains("not resumed in time")).await;
}

#[tokio::test]
async fn unreadable_calls_are_answered() {
    let server = Server::start();
    let (mut raw, session) = Raw::with_session(&server).await;
    let mut bodies: Vec<Bytes> = (0..40).map(|seed| garbage(seed, seed as usize * 7).into()).collect();
    // A service that does not exist, an empty call, a length that lies, and groups within groups.
    bodies.extend(
        [&b"\xfa\xff\x7f\x00"[..], b"", b"\x0a\xff\xff\xff\xff\x0f", &[0x0b; 5000]].map(Bytes::from_static),
    );
    for (number, body) in (1..).zip(&bodies) {
        raw.send(&call(session, number, body)).await;
        let Some(Message::CallResponse { to, body }) = raw.message().await else {
            panic!("an answer is due")
        };
        assert_eq!(to.get(), number);
        let answer = api::CallResponse::decode(body).expect("it can be read").call_response;
        match answer {
            Some(call_response::CallResponse::ExceptionData(raised)) => {
                assert!(
                    ["RTIinternalError", "NotConnected"].contains(&&*raised.exception_name),
                    "{raised:?}"
                );
            }
            // Some garbage is a call.
            other => assert!(other.is_some()),
        }
    }
    let connect = call_request::CallRequest::ConnectRequest(api::ConnectRequest {});
    let connect = api::CallRequest { call_request: Some(connect) }.encode_to_vec();
    raw.send(&call(session, 1000, &connect.into())).await;
    assert_eq!(raw.frame().await.unwrap().header.message_type, MessageType::CallResponse);
}

#[tokio::test]
async fn sessions_cannot_be_guessed() {
    let server = Server::start();
    let mut witnesses = Witnesses::of(&server).await;
    let (own, _callbacks) = crate::common::connect(&server).await;
    let id = own.session_id();
    let mut guesses: Vec<u64> = (0..64).map(|bit| id ^ 1 << bit).collect();
    guesses.extend([0, 1, u64::MAX, id.wrapping_add(2), id.swap_bytes(), id.rotate_left(32)]);
    for guess in guesses {
        let mut raw = Raw::connect(&server).await;
        let request = Control::ResumeRequest { last_received: None, oldest_available: None };
        raw.send(&control(guess, u32::MAX, request)).await;
        let answer = raw.message().await.expect("there is an answer");
        let Message::Control(Control::ResumeStatus { status, .. }) = answer else { panic!("{answer:?}") };
        assert_eq!(status, ResumeStatus::UnknownSession);
        raw.closed().await;
    }
    soon(own.list_federation_executions()).await.expect("its session is its own");
    witnesses.testify().await;
}

#[tokio::test]
async fn a_million_subscriptions_are_as_many_as_one() {
    const SUBSCRIPTIONS: usize = 1_000_000;
    let server = Server::start();
    let mut witnesses = Witnesses::of(&server).await;
    let hoarder = create_and_join(options(server.address()), "Witnesses", "Hoarder").await;
    let updates = hoarder.federate.updates();
    let mut before = 0;
    for round in 0..SUBSCRIPTIONS {
        let attribute_handle = vec![hoarder.model.spatial];
        let request = SubscribeObjectClassAttributesRequest {
            object_class: Some(hoarder.model.aircraft),
            attributes: Some(api::AttributeHandleSet { attribute_handle }),
        };
        updates.send(request).await.expect("the session goes on");
        if round % (SUBSCRIPTIONS / 10) == 0 {
            witnesses.testify().await;
        }
        #[cfg(target_os = "linux")]
        if round == SUBSCRIPTIONS / 10 {
            before = server.resident_kib();
        }
    }
    soon(updates.drained()).await.expect("each is served");
    #[cfg(target_os = "linux")]
    {
        let after = server.resident_kib();
        assert!(after < before + (4 << 10), "{before} KiB grew to {after} KiB");
    }
    let _ = before;
    witnesses.testify().await;
}
