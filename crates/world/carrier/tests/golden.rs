//! A session of a real client over WebSocket, byte for byte.

use bytes::{Buf as _, BytesMut};
use carrier::{Carrier, Filter, Flow, Listening};

/// The lines of a recording: a word and octets. A line that begins with white space continues the last.
fn recording() -> Vec<(String, BytesMut)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for line in include_str!("golden/java_websocket.txt").lines().filter(|line| !line.starts_with('#')) {
        match (line.split_once(' '), lines.last_mut()) {
            (_, Some((_, octets))) if line.starts_with(' ') => octets.push_str(line.trim()),
            (Some((word, octets)), _) => lines.push((word.to_owned(), octets.to_owned())),
            _ => panic!("{line}"),
        }
    }
    let octets = |text: &str| {
        let pairs = text.as_bytes().chunks(2);
        pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    };
    lines.into_iter().map(|(word, text)| (word, octets(&text))).collect()
}

/// The types of whole messages of the Federate Protocol: the field after length, number, session and
/// the number of the last message.
fn types(mut messages: BytesMut) -> Vec<u32> {
    let mut types = Vec::new();
    while !messages.is_empty() {
        let mut message = messages.split_to((&messages[..4]).get_u32() as usize);
        message.advance(20);
        types.push(message.get_u32());
    }
    types
}

#[test]
fn a_java_client_over_web_socket() {
    let mut filter = Filter::server(Listening::For(Carrier::WebSocket), None).unwrap();
    let (mut messages, mut sent, mut flow) = (BytesMut::new(), BytesMut::new(), Flow::Open);
    for (word, octets) in recording() {
        let mut out = BytesMut::new();
        match word.as_str() {
            "F>R" => {
                flow = filter.receive(octets, &mut messages).unwrap();
                continue;
            }
            "answer" => filter.take_output(&mut out),
            "R>F" => {
                let mut message = octets.clone();
                message.advance(2); // the header of a frame of at most 125 octets
                sent.extend_from_slice(&message);
                filter.send(&mut message, &mut out);
            }
            "close" => filter.close(&mut out),
            other => panic!("{other}"),
        }
        assert_eq!(out, octets, "{word}");
    }
    assert_eq!(flow, Flow::Ended, "the client closes in order");
    // New session, connect, a list, its callback's response, disconnect, and the end.
    assert_eq!(types(messages), [1, 20, 20, 23, 20, 5]);
    assert_eq!(types(sent), [2, 21, 21, 22, 21, 6]);
}
