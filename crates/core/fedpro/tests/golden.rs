//! Whole sessions as text, byte for byte.
//!
//! Each file under `tests/golden` is played against an endpoint. The lines:
//!
//! - `open C ID`: a client connects; its session would get the id (hex);
//! - `F>R C HEX…`: the client's bytes; spaces and `|` are for the reader;
//! - `R>F C HEX…`: exactly these bytes must have come from the endpoint next on that connection;
//! - `cut C`: the connection is lost; `closed C`: the endpoint must have closed it;
//! - `at SECONDS`: time passes;
//! - `hold` / `release`: the application keeps calls back / answers those it has kept;
//! - `callback HEX…`: the application sends this callback;
//! - `event TEXT`: this must be the next event that is not a call;
//! - `#`: a remark.
//!
//! At the end nothing must be left over. The application answers every call without a result, but
//! the four connects with a configuration result that says "hello".

use base::{Moment, Serial31};
use bytes::{Bytes, BytesMut};
use fedpro::response::{empty_response, encode_response};
use fedpro::server::{Config, ConnId, Endpoint, Event, SessionKey};
use fedpro::service::response_field;
use hla::api::{self, call_request::CallRequest as Call, call_response::CallResponse as Answer};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

struct Play {
    endpoint: Endpoint,
    now: Moment,
    sent: BTreeMap<u64, BytesMut>,
    closed: BTreeSet<u64>,
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

impl Play {
    fn new() -> Self {
        Self {
            endpoint: Endpoint::new(Config::default()),
            now: Moment::ZERO,
            sent: BTreeMap::new(),
            closed: BTreeSet::new(),
            events: VecDeque::new(),
            session: None,
            hold: false,
            held: Vec::new(),
        }
    }

    fn settle(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Call { session, call, request } if self.hold => {
                    self.held.push((session, call, answer(&request)));
                }
                Event::Call { session, call, request } => {
                    assert!(self.endpoint.respond_encoded(self.now, session, call, answer(&request)));
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
            let out = self.sent.entry(conn.0).or_default();
            let done = self.endpoint.poll_transmit(self.now, conn, out, usize::MAX);
            if done.close_after {
                self.closed.insert(conn.0);
            }
        }
    }

    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (name, bytes) = rest.split_once(' ').unwrap_or((rest, ""));
        let conn = || name.parse::<u64>().expect("a connection number");
        match word {
            "open" => {
                let id = u64::from_str_radix(bytes, 16).expect("a hexadecimal id");
                self.endpoint.handle_open(self.now, ConnId(conn()), id);
            }
            "F>R" => self.endpoint.handle_bytes(self.now, ConnId(conn()), unhex(bytes)),
            "R>F" => {
                let want = unhex(bytes);
                let sent = self.sent.entry(conn()).or_default();
                let got = sent.split_to(want.len().min(sent.len()));
                assert_eq!(hex(&got), hex(&want));
            }
            "cut" => {
                self.sent.remove(&conn());
                self.endpoint.handle_closed(self.now, ConnId(conn()));
            }
            "closed" => assert!(self.closed.remove(&conn()), "connection {name} is open"),
            "at" => {
                self.now = Moment::from_secs(name.parse().expect("seconds"));
                self.endpoint.handle_timeout(self.now);
            }
            "hold" => self.hold = true,
            "release" => {
                self.hold = false;
                for (session, call, body) in std::mem::take(&mut self.held) {
                    assert!(self.endpoint.respond_encoded(self.now, session, call, body));
                }
            }
            "callback" => {
                let session = self.session.expect("a session is open");
                assert!(self.endpoint.callback(self.now, session, unhex(rest)));
            }
            "event" => assert_eq!(self.events.pop_front().as_deref(), Some(rest)),
            _ => panic!("unknown line"),
        }
        self.settle();
    }

    fn finish(&self) {
        assert!(self.events.is_empty(), "events left over: {:?}", self.events);
        for (conn, sent) in &self.sent {
            assert!(sent.is_empty(), "bytes left over on {conn}: {}", hex(sent));
        }
        assert!(self.closed.is_empty(), "closed without a word: {:?}", self.closed);
    }
}

fn unhex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(|b| !matches!(b, b' ' | b'|')).collect();
    assert!(digits.len().is_multiple_of(2), "half a byte");
    digits
        .chunks(2)
        .map(|pair| {
            let pair = std::str::from_utf8(pair).expect("ASCII");
            u8::from_str_radix(pair, 16).expect("hexadecimal digits")
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn play(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut play = Play::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play.line(line)));
        assert!(result.is_ok(), "{}:{}: {line}", path.display(), index + 1);
    }
    play.finish();
}

macro_rules! transcripts {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            play(&Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/golden")
                .join(concat!(stringify!($name), ".txt")));
        })+

        #[test]
        fn every_file_is_played() {
            let known = [$(stringify!($name)),+];
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
                assert!(known.contains(&stem.as_str()), "{stem} is not in the list");
            }
        }
    };
}

transcripts! {
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
