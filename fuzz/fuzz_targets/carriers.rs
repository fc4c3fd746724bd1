//! Arbitrary octets at a listener for federates: for all carriers, or for WebSocket.
//!
//! Input: a control byte, the length of the parts in which the octets arrive, and the octets. Bit 0 of
//! the control byte: the listener is for WebSocket. Bit 1: a valid request to open one comes first.
//! However the octets are cut, the same messages arrive, and the connection ends in the same way.
#![no_main]

use bytes::BytesMut;
use carrier::{Carrier, CarrierError, Filter, Flow, Listening};
use libfuzzer_sys::fuzz_target;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// The longest answer to octets that arrive together: a handshake, a pong and a close frame.
const ANSWER_MAX: usize = 10_000;

fn run(listening: Listening, octets: &[u8], part: usize) -> (BytesMut, Result<Flow, CarrierError>) {
    let mut filter = Filter::server(listening, None).expect("it is not for TCP alone");
    let (mut messages, mut out, mut flow) = (BytesMut::new(), BytesMut::new(), Ok(Flow::Open));
    for part in octets.chunks(part) {
        out.clear();
        flow = filter.receive(BytesMut::from(part), &mut messages);
        filter.take_output(&mut out);
        assert!(out.len() <= ANSWER_MAX, "an answer of {} octets", out.len());
        if flow != Ok(Flow::Open) {
            break;
        }
    }
    assert!(messages.len() <= octets.len(), "no octet counts twice");
    (messages, flow)
}

fuzz_target!(|data: &[u8]| {
    let Some((&[control, part], octets)) = data.split_first_chunk() else { return };
    let listening = match control & 1 {
        0 => Listening::Any,
        _ => Listening::For(Carrier::WebSocket),
    };
    let begin = if control & 2 == 0 { &[][..] } else { REQUEST };
    let octets = [begin, octets].concat();
    assert_eq!(run(listening, &octets, usize::from(part).max(1)), run(listening, &octets, usize::MAX));
});
