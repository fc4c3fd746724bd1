use std::io::Cursor;

use etherparse::PacketBuilder;

use super::*;

const ETHERNET: u32 = 1;
const MAC: ([u8; 6], [u8; 6]) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);

/// A datagram of `length` bytes of payload between the last octets of two addresses.
fn udp(from: u8, to: u8, length: usize) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(MAC.0, MAC.1).ipv4([10, 0, 0, from], [10, 0, 0, to], 64).udp(1, 2);
    let mut packet = Vec::new();
    builder.write(&mut packet, &vec![0; length]).unwrap();
    packet
}

fn tcp(from: u8, to: u8, length: usize) -> Vec<u8> {
    let ends = |last| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let builder = PacketBuilder::ethernet2(MAC.0, MAC.1).ipv6(ends(from), ends(to), 64).tcp(1, 2, 3, 4);
    let mut packet = Vec::new();
    builder.write(&mut packet, &vec![0; length]).unwrap();
    packet
}

/// A pcap of packets with their times in microseconds, of which at most `snap` bytes are kept.
fn pcap(link: u32, snap: usize, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, snap as u32, link] {
        file.extend(u32::to_le_bytes(word));
    }
    for (at, packet) in packets {
        let kept = packet.len().min(snap);
        for word in [(at / 1_000_000) as u32, (at % 1_000_000) as u32, kept as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&packet[..kept]);
    }
    file
}

/// A pcapng in network order of octets, with times in nanoseconds.
fn pcapng(link: u16, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let padded = body.len().next_multiple_of(4);
        let length = (12 + padded) as u32;
        file.extend(kind.to_be_bytes());
        file.extend(length.to_be_bytes());
        file.extend(body);
        file.resize(file.len() + padded - body.len(), 0);
        file.extend(length.to_be_bytes());
    };
    let section = [&0x1a2b_3c4d_u32.to_be_bytes()[..], &[0, 1, 0, 0], &[0xff; 8]].concat();
    block(0x0a0d_0d0a, &section);
    // The option 9 is the resolution: ten to the minus ninth of a second.
    let resolution = [0, 9, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0];
    block(1, &[&link.to_be_bytes()[..], &[0, 0], &[0, 0, 255, 255], &resolution].concat());
    for (at, packet) in packets {
        let words = [0, (at >> 32) as u32, *at as u32, packet.len() as u32, packet.len() as u32];
        let head: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        block(6, &[head, packet.clone()].concat());
    }
    file
}

fn ip(last: u8) -> Address {
    Address::Ip(IpAddr::from([10, 0, 0, last]))
}

fn taken(file: Vec<u8>) -> Result<Read, String> {
    capture::read(Cursor::new(file))
}

#[test]
fn datagrams_and_segments_become_messages() {
    let packets = [(2_000_001, udp(1, 2, 100)), (2_000_500, tcp(3, 4, 200)), (2_000_400, udp(2, 1, 1))];
    let read = taken(pcap(ETHERNET, 65_535, &packets)).unwrap();
    let micros = |at: i128| at * 1_000_000;
    assert_eq!(
        read.messages[0],
        Message { at: micros(2_000_001), source: ip(1), destination: ip(2), bytes: 100 }
    );
    assert_eq!((read.messages[1].bytes, read.messages[1].source.to_string()), (200, "fd00::3".to_owned()));
    assert_eq!((read.messages.len(), read.seen, read.skipped.len()), (3, 3, 0));
    // The headers tell the size of a packet that was not kept whole.
    let short = taken(pcap(ETHERNET, 80, &packets)).unwrap();
    assert_eq!(short.messages, read.messages);
    let nanos = packets.map(|(at, packet)| (at * 1_000 + 7, packet));
    let new = taken(pcapng(1, &nanos)).unwrap();
    assert_eq!(
        new.messages[2],
        Message { at: micros(2_000_400) + 7_000, source: ip(2), destination: ip(1), bytes: 1 }
    );
}

#[test]
fn links_of_all_kinds_are_read() {
    let frame = udp(1, 2, 50);
    let inner = &frame[14..];
    let cooked = |header: usize, place: usize| {
        let mut packet = vec![0; header];
        packet[place..place + 2].copy_from_slice(&[8, 0]);
        [&packet[..], inner].concat()
    };
    for (link, packet) in [
        (1, frame.clone()),
        (101, inner.to_vec()),
        (12, inner.to_vec()),
        (228, inner.to_vec()),
        (0, [&[2, 0, 0, 0], inner].concat()),
        (108, [&[0, 0, 0, 2], inner].concat()),
        (113, cooked(16, 14)),
        (276, cooked(20, 0)),
    ] {
        let read = taken(pcap(link, 65_535, &[(5, packet)])).unwrap();
        assert_eq!(
            read.messages,
            [Message { at: 5_000_000, source: ip(1), destination: ip(2), bytes: 50 }],
            "{link}"
        );
    }
    let why = taken(pcap(105, 65_535, &[(0, frame.clone())])).unwrap_err();
    assert!(why.starts_with("packet 1: its link type is 105; expected 1 (Ethernet), 101 (IP)"), "{why}");
    let why = taken(pcapng(147, &[(0, frame)])).unwrap_err();
    assert!(why.starts_with("packet 1: its link type is 147"), "{why}");
}

#[test]
fn packets_that_are_no_messages_are_counted() {
    let mut arp = udp(1, 2, 40);
    arp[12..14].copy_from_slice(&[8, 6]);
    let mut damaged = udp(1, 2, 40);
    damaged[14] = 0x41; // a header of one word
    let packets = [udp(1, 2, 9), arp.clone(), udp(1, 1, 9), udp(1, 2, 0), tcp(1, 2, 0), damaged];
    let group = {
        let builder =
            PacketBuilder::ethernet2(MAC.0, MAC.1).ipv4([10, 0, 0, 1], [239, 1, 2, 3], 64).udp(1, 2);
        let mut packet = Vec::new();
        builder.write(&mut packet, &[1, 2, 3]).unwrap();
        packet
    };
    let packets: Vec<(u64, Vec<u8>)> = (0..).zip(packets.into_iter().chain([group])).collect();
    let read = taken(pcap(ETHERNET, 65_535, &packets)).unwrap();
    assert_eq!((read.messages.len(), read.seen), (1, 7));
    let expected = [
        (LeftOut::NotIp, (1, 2)),
        (LeftOut::Malformed, (1, 6)),
        (LeftOut::Empty, (2, 4)),
        (LeftOut::Group, (1, 7)),
        (LeftOut::Itself, (1, 3)),
    ];
    assert_eq!(read.skipped, BTreeMap::from(expected));
    let texts: Vec<String> = read.skipped().collect();
    assert_eq!(texts[0], "1 are not IP (the first is number 2)");
}

#[test]
fn damaged_files_are_reported_with_the_packet() {
    let whole = pcap(ETHERNET, 65_535, &[(0, udp(1, 2, 100)), (1, udp(1, 2, 100))]);
    for length in [whole.len() - 1, whole.len() - 142, whole.len() - 150] {
        let why = taken(whole[..length].to_vec()).unwrap_err();
        assert_eq!(why, "packet 2 is cut off: the file ends within it", "{length} octets");
    }
    assert_eq!(taken(whole[..10].to_vec()).unwrap_err(), "the file ends within its header");
    assert!(
        taken(b"hello, world, this is no capture".to_vec()).unwrap_err().starts_with("its header is damaged")
    );
    let why = taken(pcap(ETHERNET, 40, &[(0, udp(1, 2, 9)), (1, tcp(1, 2, 9))])).unwrap_err();
    assert_eq!(
        why,
        "packet 2: 40 of its 83 bytes were captured, too few for its headers: capture with a longer snapshot length"
    );
    let mut huge = whole;
    huge[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let why = taken(huge).unwrap_err();
    assert!(why.starts_with("packet 1 "), "{why}");
    let new = pcapng(1, &[(0, udp(1, 2, 100)), (1, udp(1, 2, 100))]);
    assert_eq!(
        taken(new[..new.len() - 3].to_vec()).unwrap_err(),
        "packet 2 is cut off: the file ends within it"
    );
    let mut other = new;
    let first = 28 + 32;
    assert_eq!(other[first..first + 4], 6_u32.to_be_bytes());
    other[first + 8..first + 12].copy_from_slice(&3_u32.to_be_bytes());
    assert_eq!(taken(other).unwrap_err(), "packet 1 is of interface 3, and 1 are described before it");
}

#[test]
fn messages_of_simulations_are_read_in_both_forms() {
    let text = "number,source,destination,bytes,born_ps,latency_ps\n0,5,7,100,2000,9\n\n1,7,5,200,1000,9\n";
    let lines = log::read(text).unwrap();
    let message = |at, source, destination, bytes| Message {
        at,
        source: Address::Number(source),
        destination: Address::Number(destination),
        bytes,
    };
    assert_eq!(lines.messages, [message(2_000, 5, 7, 100), message(1_000, 7, 5, 200)]);
    let trace = r#"{"displayTimeUnit":"ns","traceEvents":[
        {"ph":"b","cat":"message","name":"to 7","id":0,"pid":5,"tid":0,"ts":0.002,"args":{"bytes":100,"destination":7}},
        {"ph":"e","cat":"message","name":"to 7","id":0,"pid":5,"tid":0,"ts":1.5,"args":{"bytes":100,"destination":7}},
        {"ph":"C","name":"x","pid":4294967295,"ts":3.0,"args":{"value":0.5}}]}"#;
    assert_eq!(log::read(trace).unwrap().messages, [message(2_000, 5, 7, 100)]);
    for (text, why) in [
        ("hello", "it is no capture, and line 1 has no column `source`, as messages of a simulation have"),
        ("source,destination,bytes,born_ps\n0,1,x,0", "line 2: `x` is no `bytes`"),
        ("source,destination,bytes,born_ps\n0,1,5", "line 2: `` is no `born_ps`"),
        ("source,destination,bytes,born_ps\n0,4294967296,5,0", "line 2: there is no host 4294967296"),
        (
            r#"{"traceEvents":[{"ph":"b","cat":"message","pid":1}]}"#,
            "event 1: a message without `pid`, `ts` or `args`",
        ),
    ] {
        assert_eq!(log::read(text).unwrap_err(), why);
    }
    assert!(log::read("{").unwrap_err().starts_with("it is no trace of messages: "));
}

#[test]
fn hosts_are_numbered_in_order_or_as_given() {
    let packets: Vec<(u64, Vec<u8>)> = [(9, 2), (2, 9), (2, 30), (30, 2)]
        .iter()
        .zip(0..)
        .map(|((a, b), at)| (10 - at, udp(*a, *b, 10)))
        .collect();
    let read = || taken(pcap(ETHERNET, 65_535, &packets)).unwrap();
    let mut all = read();
    let hosts = number(&mut all, &[]).unwrap();
    let numbers: Vec<(Address, u32)> = hosts.values().map(|host| (host.address, host.number)).collect();
    assert_eq!(numbers, [(ip(2), 0), (ip(9), 1), (ip(30), 2)]);
    assert!(all.messages.windows(2).all(|pair| pair[0].at <= pair[1].at));
    let mut some = read();
    let hosts = number(&mut some, &[(ip(9), 3), (ip(2), 1)]).unwrap();
    assert_eq!((some.messages.len(), some.skipped[&LeftOut::Unnumbered].0), (2, 2));
    let path = std::env::temp_dir().join(format!("meshrti-trace-{}.csv", std::process::id()));
    write(&path, &some.messages, &hosts).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(text, "source,destination,bytes,born_ps\n1,3,10,0\n3,1,10,1000000\n");
    let twice = number(&mut read(), &[(ip(9), 3), (ip(2), 3)]).err();
    assert_eq!(twice.unwrap(), "--host 10.0.0.2=3: 10.0.0.9 has this number already");
    assert_eq!(numbered("10.0.0.9=3"), Ok((ip(9), 3)));
    assert_eq!(numbered("fd00::1=0").unwrap().1, 0);
    assert_eq!(numbered("7=1"), Ok((Address::Number(7), 1)));
    assert!(numbered("host=1").unwrap_err().contains("neither an IP address nor a number"));
    assert!(numbered("10.0.0.9").unwrap_err().starts_with("expected ADDRESS=NUMBER"));
}
