//! Arbitrary bytes in arbitrary chunks, over connections that come and go, at the server's
//! endpoint.
//!
//! Input: chunks, each a control byte, a length byte and that many bytes. The two low bits of the
//! control byte select one of three connections (3: time passes). Bit 2 breaks that connection
//! first, bit 3 holds back the answers to calls, bit 4 delivers each chunk byte by byte.
#![no_main]

use base::{Address, Moment, Serial31};
use bytes::{Bytes, BytesMut};
use fedpro::frame::Decoder;
use fedpro::response::empty_response;
use fedpro::server::{Config, ConnId, Endpoint, Event, SessionKey};
use fedpro::service::response_field;
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

/// Ids of sessions as in the seed corpus.
const IDS: [u64; 3] = [0x1122_3344_5566_7788, 0x11, 0x99];

struct World {
    endpoint: Endpoint,
    now: Moment,
    held: Vec<(SessionKey, Serial31, Bytes)>,
    live: Vec<SessionKey>,
}

impl World {
    fn chunk(&mut self, control: u8, bytes: &[u8]) {
        let index = usize::from(control & 3);
        let Some(&id) = IDS.get(index) else {
            self.now += Duration::from_secs(u64::from(control >> 2) * 4);
            self.endpoint.handle_timeout(self.now);
            return self.settle(false);
        };
        let conn = ConnId(index as u64);
        if control & 4 != 0 {
            self.endpoint.handle_open(self.now, conn, Address::default(), id);
        }
        if control & 16 != 0 {
            for byte in bytes {
                self.endpoint.handle_bytes(self.now, conn, Bytes::copy_from_slice(&[*byte]));
            }
        } else {
            self.endpoint.handle_bytes(self.now, conn, Bytes::copy_from_slice(bytes));
        }
        self.settle(control & 8 != 0);
    }

    fn settle(&mut self, hold: bool) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::SessionOpened { session, .. } => self.live.push(session),
                Event::SessionEnded { session, .. } => self.live.retain(|&s| s != session),
                Event::Call { session, call, request } => {
                    let field = response_field(&request).expect("a call holds a service");
                    let body = empty_response(field).expect("every service has a response");
                    self.held.push((session, call, body));
                }
                _ => {}
            }
        }
        if !hold {
            for (session, call, body) in std::mem::take(&mut self.held) {
                let sent = self.endpoint.respond_encoded(self.now, session, call, body);
                assert_eq!(sent, self.live.contains(&session), "a live call is answered once");
            }
            for &session in &self.live {
                assert!(self.endpoint.callback(self.now, session, Bytes::from_static(b"\x0a\x00")));
            }
        }
        assert_eq!(self.endpoint.sessions(), self.live.len());
        let mut out = BytesMut::new();
        while let Some(conn) = self.endpoint.poll_ready() {
            while self.endpoint.poll_transmit(self.now, conn, &mut out, 64).more {}
        }
        // The endpoint's output must be well-formed.
        let mut decoder = Decoder::new(usize::MAX);
        decoder.push(out.freeze());
        while let Some(frame) = decoder.next_frame().expect("sound frames") {
            frame.message().expect("sound messages");
        }
        assert_eq!(decoder.buffered(), 0, "whole messages");
    }
}

fuzz_target!(|data: &[u8]| {
    let mut world = World {
        endpoint: Endpoint::new(Config { history_messages_max: 8, calls_max: 1_000, ..Config::default() }),
        now: Moment::ZERO,
        held: Vec::new(),
        live: Vec::new(),
    };
    for (conn, &id) in IDS.iter().enumerate() {
        world.endpoint.handle_open(world.now, ConnId(conn as u64), Address::default(), id);
    }
    let mut rest = data;
    while let [control, len, tail @ ..] = rest {
        let (bytes, tail) = tail.split_at(usize::from(*len).min(tail.len()));
        world.chunk(*control, bytes);
        rest = tail;
    }
});
