//! Timeouts, refusals and misbehaving servers. Resumes are tested in `tests/resume.rs`.

use super::*;
use crate::frame::{
    Control, Decoder, Frame, FrameError, Message, MessageType, NewSessionReason, Numbers, ResumeStatus,
    put_control, put_hla,
};
use base::{Moment, Serial31};
use bytes::{Bytes, BytesMut};
use hla::api::{CallRequest, CallResponse, call_request, call_response};
use proptest::prelude::*;

const ID: u64 = 0xabc;

fn n(value: u32) -> Serial31 {
    Serial31::new(value).unwrap()
}

fn secs(s: u64) -> Moment {
    Moment::from_secs(s)
}

fn control(sequence: u32, message: Control) -> Bytes {
    let mut out = BytesMut::new();
    let numbers = Numbers { sequence: Serial31::new(sequence), last_received: None };
    put_control(&mut out, ID, numbers, message);
    out.freeze()
}

fn hla(kind: MessageType, sequence: u32, to: Option<u32>, body: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    let numbers = Numbers { sequence: Some(n(sequence)), last_received: None };
    put_hla(&mut out, kind, ID, numbers, to.map(n), body);
    out.freeze()
}

fn response(sequence: u32, to: u32) -> Bytes {
    hla(MessageType::CallResponse, sequence, Some(to), &[0x32, 0x00])
}

fn disconnect() -> CallRequest {
    CallRequest { call_request: Some(call_request::CallRequest::DisconnectRequest(Default::default())) }
}

fn disconnected() -> CallResponse {
    CallResponse { call_response: Some(call_response::CallResponse::DisconnectResponse(Default::default())) }
}

fn opening() -> Session {
    let mut session = Session::new(Moment::ZERO, Config::default());
    assert_eq!(session.poll_action(), Some(Action::Connect));
    session.handle_connected(Moment::ZERO);
    session
}

fn running() -> Session {
    let mut session = opening();
    written(&mut session, Moment::ZERO);
    let status = Control::NewSessionStatus(NewSessionReason::Success);
    session.handle_bytes(Moment::ZERO, control(1, status));
    assert_eq!(session.poll_event(), Some(Event::Established));
    assert_eq!(session.id(), ID);
    session
}

fn written(session: &mut Session, now: Moment) -> Vec<Frame> {
    let mut out = BytesMut::new();
    while session.poll_transmit(now, &mut out, 50) > 0 {}
    assert!(!session.has_output());
    let mut decoder = Decoder::new(usize::MAX);
    decoder.push(out.freeze());
    std::iter::from_fn(|| decoder.next_frame().unwrap()).collect()
}

fn controls(frames: Vec<Frame>) -> Vec<Control> {
    frames
        .into_iter()
        .map(|f| match f.message() {
            Ok(Message::Control(control)) => control,
            other => panic!("{other:?}"),
        })
        .collect()
}

fn lost(reason: LostReason) -> Option<Event> {
    Some(Event::Lost { reason })
}

#[test]
fn calls_made_early_follow_the_opening_and_are_answered_in_any_order() {
    let mut session = opening();
    let numbers = [0; 3].map(|_| session.call(Moment::ZERO, &disconnect()).unwrap().get());
    assert_eq!(numbers, [1, 2, 3]);
    let frames = written(&mut session, Moment::ZERO);
    assert_eq!(frames[0].header.numbers.sequence, Some(n(0)));
    assert_eq!(controls(frames), [Control::NewSession { version: 1 }]);
    let status = Control::NewSessionStatus(NewSessionReason::Success);
    session.handle_bytes(Moment::ZERO, control(1, status));
    assert_eq!(written(&mut session, Moment::ZERO).len(), 3);
    for (sequence, to) in [(2, 3), (3, 1), (4, 1), (5, 9), (6, 2)] {
        session.handle_bytes(Moment::ZERO, response(sequence, to));
    }
    let answered = |call| Some(Event::Response { call: n(call), response: disconnected() });
    assert_eq!(session.poll_event(), Some(Event::Established));
    for call in [3, 1, 2] {
        assert_eq!(session.poll_event(), answered(call));
    }
    assert_eq!(session.poll_event(), None);
    assert_eq!((session.stats().unknown_responses, session.outstanding_calls()), (2, 0));
}

#[test]
fn heartbeats_fill_silence_and_nothing_else() {
    let mut session = running();
    assert_eq!(session.poll_timeout(), Some(secs(50)));
    session.call(secs(40), &disconnect()).unwrap();
    written(&mut session, secs(40));
    session.handle_timeout(secs(50));
    assert!(!session.has_output());
    assert_eq!(session.poll_timeout(), Some(secs(90)));
    session.handle_timeout(secs(90));
    let frames = written(&mut session, secs(90));
    assert_eq!(frames[0].header.numbers.sequence, Some(n(2)));
    assert_eq!(controls(frames), [Control::Heartbeat]);
    session.handle_bytes(secs(91), control(3, Control::HeartbeatResponse { to: n(2) }));
    assert_eq!(session.poll_timeout(), Some(secs(140)));
}

#[test]
fn a_silent_server_is_left_and_tried_again_until_the_window_ends() {
    let mut session = running();
    for _ in 0..4 {
        let at = session.poll_timeout().unwrap();
        session.handle_timeout(at);
        written(&mut session, at);
    }
    assert_eq!(session.poll_event(), Some(Event::Interrupted { reason: Interruption::Silent }));
    assert_eq!(session.poll_action(), Some(Action::CloseConnection));
    let mut tries = 0;
    while session.poll_event().is_none() {
        if session.poll_action() == Some(Action::Connect) {
            tries += 1;
            let now = session.now_for_test();
            session.handle_closed(now, "refused");
        }
        if let Some(at) = session.poll_timeout() {
            session.handle_timeout(at);
        }
        if session.is_ended() {
            break;
        }
    }
    assert_eq!(tries, 120, "at once, then every 5 s for 600 s");
    assert!(session.is_ended());
    assert_eq!(session.call(secs(9_999), &disconnect()), Err(CallError::Ended));
}

#[test]
fn a_refused_session_or_resume_is_lost() {
    let mut session = opening();
    let status = Control::NewSessionStatus(NewSessionReason::OutOfResources);
    session.handle_bytes(Moment::ZERO, control(1, status));
    assert_eq!(session.poll_event(), lost(LostReason::Refused(NewSessionReason::OutOfResources)));
    assert_eq!(session.poll_action(), Some(Action::CloseConnection));
    assert!(!session.has_output());

    let mut session = running();
    session.handle_closed(secs(1), "gone");
    session.handle_connected(secs(1));
    let resume = Control::ResumeRequest { last_received: None, oldest_available: None };
    assert_eq!(controls(written(&mut session, secs(1))), [resume]);
    let status = Control::ResumeStatus { status: ResumeStatus::UnknownSession, last_received: None };
    session.handle_bytes(secs(1), control(u32::MAX, status));
    let _ = session.poll_event();
    assert_eq!(session.poll_event(), lost(LostReason::ResumeRefused(ResumeStatus::UnknownSession)));
}

#[test]
fn no_connection_or_no_answer_in_time_is_lost() {
    let mut session = Session::new(Moment::ZERO, Config::default());
    session.handle_closed(secs(1), "refused");
    assert_eq!(session.poll_event(), lost(LostReason::ConnectFailed("refused".into())));
    let mut session = opening();
    assert_eq!(session.poll_timeout(), Some(secs(30)));
    session.handle_timeout(secs(30));
    assert_eq!(session.poll_event(), lost(LostReason::ConnectTimeout));
    assert_eq!(session.poll_timeout(), None);
}

#[test]
fn a_bad_message_ends_the_session_with_a_last_word() {
    let mut session = running();
    session.handle_bytes(Moment::ZERO, control(u32::MAX, Control::HeartbeatResponse { to: n(1) }));
    let error = FrameError::NoSequenceNumber { message_type: MessageType::HeartbeatResponse };
    assert_eq!(session.poll_event(), lost(LostReason::BadMessage(error)));
    assert_eq!(session.poll_action(), Some(Action::CloseConnection));
    assert_eq!(controls(written(&mut session, Moment::ZERO)), [Control::TerminateSession]);
}

#[test]
fn termination_follows_what_is_queued_and_ends_by_word_or_time() {
    for by_word in [true, false] {
        let mut session = running();
        session.call(Moment::ZERO, &disconnect()).unwrap();
        session.terminate(Moment::ZERO);
        assert_eq!(session.call(Moment::ZERO, &disconnect()), Err(CallError::Ended));
        let types: Vec<_> =
            written(&mut session, Moment::ZERO).iter().map(|f| f.header.message_type).collect();
        assert_eq!(types, [MessageType::CallRequest, MessageType::TerminateSession]);
        if by_word {
            session.handle_bytes(Moment::ZERO, control(2, Control::SessionTerminated));
        } else {
            session.handle_timeout(secs(10));
        }
        assert_eq!(session.poll_event(), Some(Event::Terminated));
        assert_eq!(session.poll_action(), Some(Action::CloseConnection));
    }
}

#[test]
fn a_full_queue_refuses_and_says_when_it_is_not() {
    let config = Config { unsent_bytes_max: 100, unsent_bytes_low: 30, ..Config::default() };
    let mut session = Session::new(Moment::ZERO, config);
    for _ in 0..4 {
        session.call(Moment::ZERO, &disconnect()).unwrap();
    }
    assert_eq!(session.call(Moment::ZERO, &disconnect()), Err(CallError::Full { limit: 100 }));
    session.handle_connected(Moment::ZERO);
    written(&mut session, Moment::ZERO);
    let status = Control::NewSessionStatus(NewSessionReason::Success);
    session.handle_bytes(Moment::ZERO, control(1, status));
    assert_eq!(written(&mut session, Moment::ZERO).len(), 4);
    let _ = session.poll_event();
    assert_eq!(session.poll_event(), Some(Event::Writable));
    assert!(session.call(Moment::ZERO, &disconnect()).is_ok());
}

#[test]
fn unreadable_messages_end_in_an_exception_or_a_failed_callback() {
    let mut session = running();
    let call = session.call(Moment::ZERO, &disconnect()).unwrap();
    written(&mut session, Moment::ZERO);
    session.handle_bytes(Moment::ZERO, hla(MessageType::CallResponse, 2, Some(call.get()), &[0xff]));
    let Some(Event::Response { response, .. }) = session.poll_event() else { panic!("no response") };
    let Some(call_response::CallResponse::ExceptionData(data)) = response.call_response else {
        panic!("no exception")
    };
    assert_eq!(data.exception_name, "RTIinternalError");
    session.handle_bytes(Moment::ZERO, hla(MessageType::CallbackRequest, 3, None, &[0xfa, 0x7f, 0]));
    assert_eq!(session.poll_event(), None);
    let frames = written(&mut session, Moment::ZERO);
    let Ok(Message::CallbackResponse { to, body }) = frames[0].clone().message() else { panic!() };
    assert_eq!((to, body[0]), (Some(n(3)), 0x12));
}

proptest! {
    #[test]
    fn random_bytes_never_panic(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..6)) {
        for mut session in [opening(), running()] {
            for chunk in &chunks {
                session.handle_bytes(Moment::ZERO, Bytes::copy_from_slice(chunk));
            }
            while session.poll_event().is_some() {}
        }
    }
}
