use super::*;
use crate::wire::tunnel::TunnelMessage;
use proptest::prelude::*;

fn blob(max: usize) -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..max).prop_map(Bytes::from)
}

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z0-9 äß-]{1,20}"
}

fn greetings() -> impl Strategy<Value = Frame> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
    (numbers, name(), 0usize..4, any::<bool>(), blob(20)).prop_map(|(n, name, kind, redundancy, terms)| {
        Frame::Greeting(Greeting {
            key: NodeKey(n.0),
            name,
            identity: NetworkIdentity { network: n.1, quorum_size: n.1 as u32 },
            member: n.2 & 1 != 0,
            topology: TopologyKind::ALL[kind],
            redundancy,
            digest: n.2,
            clock_millis: n.3,
            terms,
        })
    })
}

fn map_entries() -> impl Strategy<Value = Entry> {
    let neighbours = prop::collection::btree_map(any::<u64>(), any::<u32>(), 0..5);
    let texts = (name(), prop::collection::vec("[a-z:/.]{0,20}", 0..3));
    (any::<u64>(), 1u64..1 << 62, any::<u64>(), any::<bool>(), texts, neighbours, blob(20)).prop_map(
        |(key, sequence, network, leaving, (name, urls), neighbours, info)| Entry {
            key: NodeKey(key),
            sequence,
            network,
            member: sequence & 1 != 0,
            leaving,
            name,
            urls,
            neighbours: neighbours
                .into_iter()
                .filter(|(other, _)| *other != key)
                .map(|(other, rtt)| (NodeKey(other), rtt))
                .collect(),
            info,
        },
    )
}

fn pieces() -> impl Strategy<Value = Frame> {
    let head = (any::<bool>(), any::<bool>(), any::<u8>(), any::<u64>(), any::<u64>(), any::<u32>());
    (head, 0u32..100, 0u32..100, prop::collection::vec(any::<u8>(), 1..20)).prop_map(
        |((urgent, tunnel, hops_left, origin, destination, id), offset, more, part)| {
            Frame::Unicast(Piece {
                urgent,
                kind: if tunnel { Kind::Tunnel } else { Kind::Body },
                hops_left,
                origin: NodeKey(origin),
                destination: NodeKey(destination),
                id,
                total: offset + part.len() as u32 + more,
                offset,
                part: Bytes::from(part),
            })
        },
    )
}

fn frames() -> impl Strategy<Value = Frame> {
    prop_oneof![
        greetings(),
        Just(Frame::Accept),
        (any::<u8>(), any::<u64>(), "[a-zö ]{0,30}").prop_map(|(code, key, text)| Frame::Refusal {
            code,
            key: NodeKey(key),
            text
        }),
        any::<(u32, u64)>().prop_map(|(token, summary)| Frame::Ping { token, summary }),
        any::<u32>().prop_map(Frame::Pong),
        prop::collection::vec((any::<u64>().prop_map(NodeKey), any::<u64>()), 0..9).prop_map(Frame::Digest),
        prop::collection::vec(map_entries(), 0..4).prop_map(Frame::Entries),
        pieces(),
        any::<(u32, u32, u32)>().prop_map(|(mine, seen, tunnel)| Frame::Path { mine, seen, tunnel }),
    ]
}

proptest! {
    #[test]
    fn written_values_are_read_back(frame in frames()) {
        prop_assert_eq!(Frame::decode(frame.encode()), Ok(frame));
    }

    #[test]
    fn cut_frames_are_errors_or_shorter_frames(frame in frames(), cut in any::<prop::sample::Index>()) {
        // The sentence of a refusal may be cut inside a character.
        prop_assume!(!matches!(frame, Frame::Refusal { .. }));
        let whole = frame.encode();
        let cut = cut.index(whole.len());
        if let Ok(shorter) = Frame::decode(whole.slice(..cut)) {
            prop_assert_eq!(shorter.encode().len(), cut);
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused_with_a_sentence(bytes in blob(200)) {
        match Frame::decode(bytes.clone()) {
            Ok(Frame::Refusal { .. }) => {}
            Ok(frame) => prop_assert_eq!(frame.encode(), bytes),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn tunnel_messages_are_read_back(bytes in blob(60)) {
        if let Ok(message) = TunnelMessage::decode(bytes) {
            prop_assert_eq!(TunnelMessage::decode(message.encode()), Ok(message));
        }
    }
}

#[test]
fn errors_say_what_and_where() {
    let text = |bytes: &[u8]| Frame::decode(Bytes::copy_from_slice(bytes)).unwrap_err().to_string();
    assert_eq!(text(b""), "an empty frame");
    assert_eq!(text(b"\xff"), "a frame of unknown type 255");
    assert_eq!(text(b"\x01HTTP"), "the greeting starts with 0x48545450, not 0x4d525449");
    assert_eq!(text(b"\x01MRTI\x07"), "version 7 of the node protocol, this node speaks 9");
    assert_eq!(text(b"\x04\x00"), "token at byte 1 needs 4 bytes, 1 are left");
    assert_eq!(text(b"\x02\x00"), "1 bytes too many from byte 1 on");
}

#[test]
fn entries_are_bounded_and_in_order() {
    let entry = |neighbours: Vec<u64>, urls: usize| Entry {
        key: NodeKey(1),
        sequence: 1,
        network: 0,
        member: true,
        leaving: false,
        name: "A".to_owned(),
        urls: vec![String::new(); urls],
        neighbours: neighbours.into_iter().map(|n| (NodeKey(n), 0)).collect(),
        info: Bytes::new(),
    };
    let read = |entry: Entry| Frame::decode(Frame::Entries(vec![entry]).encode());
    assert!(read(entry(vec![2, 3], 16)).is_ok());
    let wrong = |entry: Entry| read(entry).unwrap_err().to_string();
    assert!(wrong(entry(vec![3, 2], 0)).contains("not in order"));
    assert!(wrong(entry(vec![1], 0)).contains("not its own neighbour"));
    assert!(wrong(entry(vec![], 17)).contains("URLs of a node of 17, the limit is 16"));
    assert!(wrong(entry((2..2_000).collect(), 0)).contains("the limit is 1024"));
    let mut endless = entry(vec![], 0);
    endless.sequence = crate::map::SEQUENCE_MAX + 1;
    assert!(wrong(endless).contains("sequence"));
}
