//! Whole sessions as text, byte for byte, see [`transcript`].
//!
//! Each file under `tests/golden` is played against an endpoint. It has these lines in addition to
//! those of every transcript:
//!
//! - `hold` / `release`: the application defers calls / answers the deferred ones;
//! - `callback HEX…`: the application sends this callback;
//! - `event TEXT`: this must be the next event that is not a call.
//!
//! The application answers every call without a result, except the four connects, which it answers
//! with a configuration result that says "hello".

mod transcript;

use base::{Address, Moment, Serial31};
use bytes::Bytes;
use fedpro::response::{empty_response, encode_response};
use fedpro::server::{Config, ConnId, Endpoint, Event, SessionKey};
use fedpro::service::response_field;
use hla::api::{self, call_request::CallRequest as Call, call_response::CallResponse as Answer};
use std::collections::VecDeque;
use transcript::{Server, Wires, transcripts, unhex};

struct Application {
    endpoint: Endpoint,
    events: VecDeque<String>,
    session: Option<SessionKey>,
    hold: bool,
    held: Vec<(SessionKey, Serial31, Bytes)>,
}

fn answer(request: &api::CallRequest) -> Bytes {
    let configuration_result =
        Some(api::ConfigurationResult { message: "hello".into(), ..Default::default() });
    let answer = match request.call_request.as_ref() {
        Some(Call::ConnectRequest(_)) => {
            Answer::ConnectResponse(api::ConnectResponse { configuration_result })
        }
        Some(Call::ConnectWithConfigurationRequest(_)) => {
            Answer::ConnectWithConfigurationResponse(api::ConnectWithConfigurationResponse {
                configuration_result,
            })
        }
        _ => {
            let field = response_field(request).expect("a call event holds a service");
            return empty_response(field).expect("a service's response");
        }
    };
    encode_response(&api::CallResponse { call_response: Some(answer) })
}

impl Application {
    fn new() -> Self {
        Self {
            endpoint: Endpoint::new(Config::default()),
            events: VecDeque::new(),
            session: None,
            hold: false,
            held: Vec::new(),
        }
    }
}

impl Server for Application {
    fn open(&mut self, now: Moment, conn: u64, id: u64) {
        self.endpoint.handle_open(now, ConnId(conn), Address::default(), id);
    }

    fn bytes(&mut self, now: Moment, conn: u64, bytes: Bytes) {
        self.endpoint.handle_bytes(now, ConnId(conn), bytes);
    }

    fn cut(&mut self, now: Moment, conn: u64) {
        self.endpoint.handle_closed(now, ConnId(conn));
    }

    fn timeout(&mut self, now: Moment) {
        self.endpoint.handle_timeout(now);
    }

    fn settle(&mut self, now: Moment, wires: &mut Wires) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Call { session, call, request } if self.hold => {
                    self.held.push((session, call, answer(&request)));
                }
                Event::Call { session, call, request } => {
                    assert!(self.endpoint.respond_encoded(now, session, call, answer(&request)));
                }
                other => {
                    if let Event::SessionOpened { session, .. } = other {
                        self.session = Some(session);
                    }
                    self.events.push_back(format!("{other:?}"));
                }
            }
        }
        while let Some(conn) = self.endpoint.poll_ready() {
            let out = wires.sent.entry(conn.0).or_default();
            if self.endpoint.poll_transmit(now, conn, out, usize::MAX).close_after {
                wires.closed.insert(conn.0);
            }
        }
    }

    fn line(&mut self, now: Moment, word: &str, rest: &str) -> bool {
        match word {
            "hold" => self.hold = true,
            "release" => {
                self.hold = false;
                for (session, call, body) in std::mem::take(&mut self.held) {
                    assert!(self.endpoint.respond_encoded(now, session, call, body));
                }
            }
            "callback" => {
                let session = self.session.expect("a session is open");
                assert!(self.endpoint.callback(now, session, unhex(rest)));
            }
            "event" => assert_eq!(self.events.pop_front().as_deref(), Some(rest)),
            _ => return false,
        }
        true
    }

    fn finish(&self) {
        assert!(self.events.is_empty(), "events left over: {:?}", self.events);
    }
}

transcripts! {
    Application::new();
    connect_and_disconnect
    callback_and_heartbeat
    mak_opening
    resume
    resume_with_losses
    resume_refused
    silence
    bad_messages
    unreadable_calls
}
