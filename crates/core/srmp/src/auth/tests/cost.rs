//! The cost of hostile datagrams, counted; all of them are refused.

use super::*;

#[test]
fn no_flipped_bit_is_believed() {
    for protection in [Protection::Mac, Protection::Encrypted] {
        let (mut peer, mut decryptor) = pair(protection);
        let datagram = peer.message(11);
        for bit in 0..datagram.len() * 8 {
            let mut flipped = datagram.to_vec();
            flipped[bit / 8] ^= 0x80 >> (bit % 8);
            let got = open(&mut decryptor, peer.writer.format(), NOW, &flipped.into());
            assert!(got.is_err(), "bit {bit} of {protection:?}");
        }
        for len in 0..datagram.len() {
            assert!(open(&mut decryptor, peer.writer.format(), NOW, &datagram.slice(..len)).is_err());
        }
        assert_eq!(decryptor.senders(), 0, "nothing is kept of what is not proved");
        assert!(open(&mut decryptor, peer.writer.format(), NOW, &datagram).is_ok());
    }
}

/// A valid datagram of a known sender costs one tag. A datagram that the cheap checks refuse costs
/// none. A forged one costs one tag, and one key derivation if its sender is unknown.
#[test]
fn refusing_costs_no_more_than_believing() {
    for protection in [Protection::Mac, Protection::Encrypted] {
        let (mut peer, mut decryptor) = pair(protection);
        let format = *peer.writer.format();
        let of_old_epoch = Peer::new(format, &Keyring::new(group_key(5)), SENDER, Epoch(6)).message(99);
        let of_other_key = Peer::new(format, &Keyring::new(group_key(6)), SENDER, EPOCH).message(99);
        let first = peer.message(11);
        assert!(open(&mut decryptor, &format, NOW, &first).is_ok());
        let start = decryptor.work();
        assert_eq!(start, Work { tags: 1, derivations: 1 });

        let mut costs = |datagram: &Bytes, fault: Option<Fault>| {
            let before = decryptor.work();
            let got = open(&mut decryptor, &format, NOW, datagram);
            assert_eq!(got.err(), fault);
            let after = decryptor.work();
            (after.tags - before.tags, after.derivations - before.derivations)
        };
        assert_eq!(costs(&peer.message(12), None), (1, 0), "believed");
        assert_eq!(costs(&first, Some(Fault::Replayed)), (0, 0));
        assert_eq!(costs(&of_old_epoch, Some(Fault::OldEpoch)), (0, 0));
        assert_eq!(costs(&of_other_key, Some(Fault::AuthUnknownKey)), (0, 0));
        assert_eq!(costs(&first.slice(..60), Some(Fault::BadLength)), (0, 0));
        let mut forged = peer.message(13).to_vec();
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(costs(&forged.into(), Some(Fault::AuthFailed)), (1, 0));
        let mut of_nobody = peer.message(14).to_vec();
        of_nobody[8] = 0x77;
        assert_eq!(costs(&of_nobody.into(), Some(Fault::AuthFailed)), (1, 1));
        assert_eq!(decryptor.senders(), 1);
    }
}

#[test]
fn protection_must_be_that_of_the_group() {
    let (mut tagged, mut wants_tags) = pair(Protection::Mac);
    let (mut encrypted, mut wants_encryption) = pair(Protection::Encrypted);
    let (tagged_one, encrypted_one) = (tagged.message(1), encrypted.message(1));
    let mut plain = Writer::new(format(Profile::V3, Protection::None));
    plain.begin(Kind::Bundle, 0);
    let plain_one = plain.finish(&Header::new(Kind::Bundle, SENDER), &[]).unwrap().freeze();
    let format = *tagged.writer.format();
    for (decryptor, other) in [(&mut wants_tags, &encrypted_one), (&mut wants_encryption, &tagged_one)] {
        for datagram in [other, &plain_one] {
            assert_eq!(open(decryptor, &format, NOW, datagram), Err(Fault::AuthMismatch));
        }
        assert_eq!(decryptor.work(), Work::default());
    }
    let envelope = format.decode(&tagged_one).unwrap();
    assert!(matches!(envelope.without_protection(), Err(WireError::Flags { .. })), "nobody has checked it");
}

#[test]
fn senders_are_bounded() {
    let format = format(Profile::V3, Protection::Mac);
    let keyring = Keyring::new(group_key(5));
    let limits = DecryptorLimits { senders_max: 3, remembered_max: 4 };
    let mut decryptor = Decryptor::new(&keyring, &format, limits);
    let from = |member, seq| Peer::new(format, &keyring, MemberId(member), EPOCH).message(seq);
    for member in 1..=3 {
        assert!(open(&mut decryptor, &format, NOW, &from(member, 5)).is_ok());
    }
    let work = decryptor.work();
    assert_eq!(open(&mut decryptor, &format, NOW, &from(4, 5)), Err(Fault::TooManySenders));
    assert_eq!(decryptor.work(), work, "refused before any work");
    decryptor.forget(MemberId(1));
    assert_eq!(decryptor.senders(), 2);
    assert!(open(&mut decryptor, &format, NOW, &from(4, 5)).is_ok());
    assert_eq!(
        open(&mut decryptor, &format, NOW, &from(1, 6)),
        Err(Fault::TooManySenders),
        "no room to come back"
    );
    decryptor.forget(MemberId(2));
    assert_eq!(
        open(&mut decryptor, &format, NOW, &from(5, 5)),
        Err(Fault::TooManySenders),
        "four were heard"
    );
    for old in [4, 5] {
        assert_eq!(
            open(&mut decryptor, &format, NOW, &from(1, old)),
            Err(Fault::Replayed),
            "forgotten, not forgiven"
        );
    }
    assert!(open(&mut decryptor, &format, NOW, &from(1, 6)).is_ok());
    assert_eq!(open(&mut decryptor, &format, NOW, &from(1, 6)), Err(Fault::Replayed));
    assert!(open(&mut decryptor, &format, NOW, &from(1, 7)).is_ok());
}

/// Measures real time: `cargo test --release -p meshrti-srmp -- --ignored --nocapture
/// cost_of_a_schedule`.
#[test]
#[ignore = "measures real time"]
#[allow(clippy::disallowed_methods, clippy::print_stdout)]
fn cost_of_a_schedule() {
    const ROUNDS: u32 = 100_000;
    for protection in [Protection::Mac, Protection::Encrypted] {
        let (mut peer, mut decryptor) = pair(protection);
        let format = *peer.writer.format();
        let bundle = |peer: &mut Peer, seq| {
            peer.writer.begin(Kind::Bundle, 32);
            let mode0 = Mode0 { stream: StreamKey(1), body: Bytes::from_static(&[7; 200]) };
            let record = Record::Mode0(mode0);
            while peer.writer.push(&record).is_ok() {}
            let header = Header { seq: Seq(seq), ..peer.header };
            let announced = [Dsn::whole(DataId(3), Sn(4)); 32];
            let mut datagram = peer.writer.finish(&header, &announced).unwrap();
            peer.encryptor.seal(&mut datagram).unwrap();
            datagram.freeze()
        };
        let datagrams: Vec<Bytes> = (1..=ROUNDS).map(|seq| bundle(&mut peer, seq)).collect();
        let forge = |byte: usize, mask: u8| -> Vec<Bytes> {
            let forged = datagrams.iter().enumerate().map(|(n, datagram)| {
                let mut bytes = datagram.to_vec();
                bytes[byte] ^= mask;
                // Numbers above all received ones, and many sender ids for the unknown senders.
                bytes[20] = 0x7f;
                if byte == 8 {
                    bytes[9..12].copy_from_slice(&(n as u32).to_be_bytes()[1..]);
                }
                Bytes::from(bytes)
            });
            forged.collect()
        };
        let mut run = |case: &str, datagrams: &[Bytes]| {
            let start = std::time::Instant::now();
            let read: usize = datagrams
                .iter()
                .filter_map(|datagram| open(&mut decryptor, &format, NOW, datagram).ok())
                .map(|packet| packet.records().filter(Result::is_ok).count())
                .sum();
            let each = start.elapsed() / ROUNDS;
            println!(
                "{protection:?}: {case}: {each:?} a datagram of {} bytes, {read} records",
                datagrams[0].len()
            );
        };
        run("valid, with its records", &datagrams);
        run("replayed", &datagrams);
        run("forged, of a known sender", &forge(100, 1));
        run("forged, of senders not known", &forge(8, 1));
        let short: Vec<Bytes> = datagrams.iter().map(|datagram| datagram.slice(..700)).collect();
        run("truncated", &short);
    }
}
