//! Protected datagrams, frozen. Other libraries computed them: Python's hashlib and cryptography
//! 48.

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| u8::try_from(digit).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The secret is the bytes 0 to 31, the key's number is 5, and the session "exercise" is in the
/// group 239.1.2.3:5000.
const MAC: &str = "
    32 80 0043 6e033362 000000000a000001 00000007 0000000b 0001e240 05 00 0000
    08 00 000f 0000000000000001 00000101 484954
    da21a50ef0e77515d5f41666e6dfe910";

const AES: &str = "
    32 c0 0043 6e033362 000000000a000001 00000007 0000000b 0001e240 05 00 0000
    eaf66455271bcb764a7d9867c353fc4d11b7e0
    36327b2bf3e5aed64d52e05b0f20b3a9";

const CHACHA: &str = "
    32 c0 0043 6e033362 000000000a000001 00000007 0000000b 0001e240 05 00 0000
    47a03db5b18ad4a59d0b2cb2aea19250ddb300
    c78beeda2a013dcd2d61d5a0848f37f6";

/// Vector F of RFC 4410's format, with a tag after its end.
const V2: &str = "
    20000002 0a000001 00000000 03e80000 ffff08f4 0100001c 00080000
    c3f26e01219d82c5cf1d0ccb2de471af";

#[test]
fn the_session_tag() {
    assert_eq!(session(), 0x6e03_3362);
    assert_ne!(session_tag("ab", "c"), session_tag("a", "bc"));
}

#[test]
fn datagrams_of_v3() {
    for (text, protection, cipher) in [
        (MAC, Protection::Mac, Cipher::Aes128Gcm),
        (AES, Protection::Encrypted, Cipher::Aes128Gcm),
        (CHACHA, Protection::Encrypted, Cipher::ChaCha20Poly1305),
    ] {
        let format = format(Profile::V3, protection);
        let keyring = Keyring { cipher, ..Keyring::new(group_key(5)) };
        let datagram = Peer::new(format, &keyring, SENDER, EPOCH).message(11);
        assert_eq!(&datagram[..], hex(text), "{cipher:?}");
        let mut decryptor = Decryptor::new(&keyring, &format, DecryptorLimits::default());
        let packet = open(&mut decryptor, &format, NOW, &datagram).expect("sound");
        let Some(Ok(Record::Mode2(message))) = packet.records().next() else { panic!("mode 2") };
        assert_eq!(&message.body[..], b"HIT");
        assert_eq!(packet.records().count(), 1);
    }
}

#[test]
fn a_datagram_of_v2() {
    let format = format(Profile::V2, Protection::Mac);
    let keyring = Keyring::new(group_key(5));
    let mut decryptor = Decryptor::new(&keyring, &format, DecryptorLimits::default());
    let datagram = Bytes::from(hex(V2));
    assert!(open(&mut decryptor, &format, NOW, &datagram).is_ok());

    let mut encryptor = Encryptor::new(&keyring, &format, SENDER, Epoch(0)).expect("protected");
    let mut again = datagram.to_vec();
    again[28..].fill(0);
    encryptor.seal(&mut again).expect("v2 has no number to use twice");
    assert_eq!(again, datagram);

    for bit in 0..datagram.len() * 8 {
        let mut flipped = datagram.to_vec();
        flipped[bit / 8] ^= 0x80 >> (bit % 8);
        assert!(open(&mut decryptor, &format, NOW, &flipped.into()).is_err(), "bit {bit}");
    }
    let untagged = datagram.slice(..28);
    assert_eq!(open(&mut decryptor, &format, NOW, &untagged), Err(Fault::BadLength));
}

#[test]
fn a_signature() {
    let mut signer = Signer::new(&[0x42; 32], session()).expect("a seed");
    let key = "2152f8d19b791d24453242e15f2eab6cb7cffa7b6a5ed30097960e069881db12";
    assert_eq!(signer.verifying_key().0[..], hex(key));
    let message = Mode1 {
        origin: None,
        dsn: Dsn { data: DataId(9), sn: Sn(65_536), segments: 2 },
        index: 1,
        flags: Mode1Flags::empty(),
        body: Bytes::from_static(b"HULL"),
        signature: None,
    };
    let signature = "b21b44a3581b1d11c81c79fd19dd7d320e39b125b45a0f3cfc32a9fcb09a0d4e
                     e856b70f739781a08ed8f46858745b7ec89ec1c8f3337b3bea2d545389720108";
    let origin = Origin { member: SENDER, epoch: EPOCH };
    assert_eq!(signer.sign(origin, &message).0[..], hex(signature));
}
