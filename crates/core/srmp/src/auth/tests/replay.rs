//! No datagram is accepted twice.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn a_new_life_ends_the_old_one() {
    let (mut peer, mut decryptor) = pair(Protection::Mac);
    let format = *peer.writer.format();
    let keyring = Keyring::new(group_key(5));
    let mut reborn = Peer::new(format, &keyring, SENDER, Epoch(8));
    assert!(open(&mut decryptor, &format, NOW, &peer.message(500)).is_ok());
    assert!(open(&mut decryptor, &format, NOW, &reborn.message(3)).is_ok());
    assert!(open(&mut decryptor, &format, NOW, &reborn.message(4)).is_ok());
    assert_eq!(open(&mut decryptor, &format, NOW, &peer.message(501)), Err(Fault::OldEpoch));
    assert_eq!(decryptor.senders(), 1);
    // A forged greater epoch changes nothing.
    let mut forged = reborn.message(5).to_vec();
    forged[16] = 0xff;
    assert_eq!(open(&mut decryptor, &format, NOW, &forged.into()), Err(Fault::AuthFailed));
    assert!(open(&mut decryptor, &format, NOW, &reborn.message(6)).is_ok());
}

#[test]
fn forgotten_senders_come_back_in_a_new_life_too() {
    let (mut peer, mut decryptor) = pair(Protection::Mac);
    let format = *peer.writer.format();
    let old = peer.message(500);
    assert!(open(&mut decryptor, &format, NOW, &old).is_ok());
    decryptor.forget(SENDER);
    decryptor.forget(SENDER);
    assert_eq!(decryptor.senders(), 0);
    assert_eq!(open(&mut decryptor, &format, NOW, &old), Err(Fault::Replayed));
    let mut reborn = Peer::new(format, &Keyring::new(group_key(5)), SENDER, Epoch(9));
    assert!(open(&mut decryptor, &format, NOW, &reborn.message(2)).is_ok());
    assert_eq!(open(&mut decryptor, &format, NOW, &peer.message(501)), Err(Fault::OldEpoch));
}

proptest! {
    /// Datagrams arrive in any order with any repetitions. Each is accepted at most once, and
    /// always unless it is far behind.
    #[test]
    fn each_once(order in proptest::collection::vec(0usize..1500, 1..300)) {
        let (mut peer, mut decryptor) = pair(Protection::Mac);
        let format = *peer.writer.format();
        let last = order.iter().copied().max().unwrap_or(0);
        let datagrams: Vec<Bytes> = (0..=last).map(|seq| peer.message(seq as u32)).collect();
        let (mut heard, mut newest) = (BTreeSet::new(), 0);
        for seq in order {
            let is_fresh = !heard.contains(&seq) && seq + (REPLAY_WINDOW as usize) > newest;
            let got = open(&mut decryptor, &format, NOW, &datagrams[seq]);
            prop_assert_eq!(got.is_ok(), is_fresh);
            if is_fresh {
                heard.insert(seq);
                newest = newest.max(seq);
            }
        }
    }
}
