//! Key changes, and invalid keys.

use super::*;
use std::time::Duration;

#[test]
fn a_key_changes_without_a_gap() {
    for protection in [Protection::Mac, Protection::Encrypted] {
        let (mut peer, mut decryptor) = pair(protection);
        let (mut late, _) = pair(protection);
        late.header.sender = MemberId(0x0a00_0002);
        let format = *peer.writer.format();
        late = Peer::new(format, &Keyring::new(group_key(5)), late.header.sender, EPOCH);

        assert_eq!(decryptor.add_key(&group_key(5)), Err(KeyError::Taken { id: 5 }));
        decryptor.add_key(&group_key(6)).unwrap();
        peer.encryptor.rotate(&group_key(6), Seq(13)).unwrap();
        let mut now = NOW;
        for seq in 11..16 {
            now += Duration::from_secs(100);
            let datagram = peer.message(seq);
            assert_eq!((datagram[28], peer.encryptor.key()), if seq < 13 { (5, 5) } else { (6, 6) });
            assert!(open(&mut decryptor, &format, now, &datagram).is_ok(), "number {seq}");
            if seq == 13 {
                // The first datagram under the new key: senders that still use the old one have
                // 60 s.
                let (in_time, too_late) = (now + Duration::from_secs(59), now + KEY_OVERLAP);
                assert!(open(&mut decryptor, &format, in_time, &late.message(1)).is_ok());
                assert_eq!(
                    open(&mut decryptor, &format, too_late, &late.message(2)),
                    Err(Fault::AuthUnknownKey)
                );
                now = too_late;
            }
        }
        assert!(!decryptor.accepts(5) && decryptor.accepts(6));
        late.encryptor.rotate(&group_key(6), Seq(3)).unwrap();
        assert!(open(&mut decryptor, &format, now, &late.message(3)).is_ok(), "better late than never");
    }
}

#[test]
fn two_keys_are_live_and_no_more() {
    let (mut peer, mut decryptor) = pair(Protection::Mac);
    let format = *peer.writer.format();
    for id in 6..12 {
        decryptor.add_key(&group_key(id)).unwrap();
        assert!(decryptor.accepts(id) && decryptor.accepts(id - 1) && !decryptor.accepts(id - 2), "key {id}");
    }
    assert_eq!(open(&mut decryptor, &format, NOW, &peer.message(1)), Err(Fault::AuthUnknownKey));
    peer.encryptor.rotate(&group_key(11), Seq(2)).unwrap();
    assert!(open(&mut decryptor, &format, NOW, &peer.message(2)).is_ok());
    assert!(decryptor.retire_key(11) && !decryptor.retire_key(11));
    assert_eq!(open(&mut decryptor, &format, NOW, &peer.message(3)), Err(Fault::AuthUnknownKey));
    // The same number with another secret is another key.
    let secret = GroupKey::new(11, &[9; 32]).unwrap();
    decryptor.add_key(&secret).unwrap();
    assert_eq!(open(&mut decryptor, &format, NOW, &peer.message(4)), Err(Fault::AuthFailed));
}

/// Of several changes in quick succession, each drops the oldest key.
#[test]
fn keys_change_again_before_the_old_one_ends() {
    let (mut peer, mut decryptor) = pair(Protection::Mac);
    let format = *peer.writer.format();
    for step in 0u8..6 {
        let (id, seq) = (6 + step, Seq(10 * u32::from(step) + 10));
        decryptor.add_key(&group_key(id)).unwrap();
        assert!(decryptor.accepts(id - 1) && !decryptor.accepts(id.wrapping_sub(2)), "key {id}");
        assert!(open(&mut decryptor, &format, NOW, &peer.message(seq.0)).is_ok(), "still under {}", id - 1);
        peer.encryptor.rotate(&group_key(id), Seq(seq.0 + 1)).unwrap();
        assert!(open(&mut decryptor, &format, NOW, &peer.message(seq.0 + 1)).is_ok(), "now under {id}");
    }
}

#[test]
fn a_sealer_uses_no_number_twice() {
    let (mut peer, _) = pair(Protection::Encrypted);
    let datagram = peer.message(20);
    for seq in [20u32, 19, 0] {
        let mut again = datagram.to_vec();
        again[20..24].copy_from_slice(&seq.to_be_bytes());
        let before = again.clone();
        let refused = SealError::Reused { seq: Seq(seq), last: Seq(20) };
        assert_eq!(peer.encryptor.seal(&mut again), Err(refused));
        assert_eq!(again, before);
    }
    assert_eq!(
        peer.encryptor.rotate(&group_key(6), Seq(20)),
        Err(KeyError::Past { at: Seq(20), last: Seq(20) })
    );
    assert_eq!(peer.encryptor.rotate(&group_key(5), Seq(21)), Err(KeyError::Taken { id: 5 }));
    for byte in [4, 8, 16] {
        let mut foreign = datagram.to_vec();
        foreign[byte] ^= 1;
        foreign[20] = 1;
        assert_eq!(peer.encryptor.seal(&mut foreign), Err(SealError::Foreign));
    }
    assert_eq!(peer.encryptor.seal(&mut [0; 40]), Err(SealError::Foreign));
    assert_eq!(peer.encryptor.seal(&mut []), Err(SealError::Foreign));
}

#[test]
fn secrets_stay_secret_and_are_long_enough() {
    assert_eq!(GroupKey::new(1, &[0; 15]).unwrap_err(), KeyError::TooShort { got: 15 });
    assert_eq!(format!("{:?}", group_key(5)), "GroupKey(5, secret)");
    let v2 = format(Profile::V2, Protection::Mac);
    let keyring = Keyring::new(group_key(5));
    let mut encryptor = Encryptor::new(&keyring, &v2, SENDER, Epoch(0)).unwrap();
    assert_eq!(encryptor.rotate(&group_key(6), Seq(1)), Err(KeyError::Profile));
    let open = format(Profile::V3, Protection::None);
    assert!(Encryptor::new(&keyring, &open, SENDER, EPOCH).is_none());
}

/// A key of one group or epoch gives no access to another.
#[test]
fn keys_are_of_one_life_and_one_group() {
    let (mut peer, mut decryptor) = pair(Protection::Mac);
    let format = *peer.writer.format();
    let datagram = peer.message(1);
    let other = session_tag("exercise", "239.1.2.4:5000");
    let elsewhere = Format::new(Profile::V3, other, LENGTH_DEFAULT, Protection::Mac).unwrap();
    assert_eq!(open(&mut decryptor, &elsewhere, NOW, &datagram), Err(Fault::OtherSession));
    let mut there = Decryptor::new(&Keyring::new(group_key(5)), &elsewhere, DecryptorLimits::default());
    let mut moved = datagram.to_vec();
    moved[4..8].copy_from_slice(&other.to_be_bytes());
    assert_eq!(open(&mut there, &elsewhere, NOW, &moved.into()), Err(Fault::AuthFailed));
    assert!(open(&mut decryptor, &format, NOW, &datagram).is_ok());
}
