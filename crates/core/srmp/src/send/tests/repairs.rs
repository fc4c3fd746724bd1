use super::*;
use crate::send::Answer;

#[test]
fn a_wish_is_answered_with_the_newest_and_held_off_while_it_travels() {
    let mut rig = Rig::new(false);
    rig.send(1, b"a");
    rig.send(1, b"b");
    assert_eq!(rig.nack(1, 2), Answer::Ignored);
    assert_eq!(rig.sender.counters().nacks_future, 1);
    assert_eq!(rig.nack(2, 0), Answer::Ignored);
    assert_eq!(rig.sender.counters().nacks_unknown, 1);
    assert_eq!(rig.nack(1, 0), Answer::Ignored, "the newest has just been sent");
    rig.now += ms(5);
    assert_eq!(rig.nack(1, 1), Answer::Repair, "whoever knows of it missed it");
    assert_eq!(rig.nack(1, 1), Answer::Ignored, "it is queued");
    assert_eq!(rig.again(), [(1, 1, 0, Why::Repair)]);
    rig.now += ms(99);
    assert_eq!(rig.nack(1, 1), Answer::Ignored);
    rig.now += ms(1);
    assert_eq!(rig.nack(1, 0), Answer::Repair);
    assert_eq!(rig.again(), [(1, 1, 0, Why::Repair)]);
    assert_eq!(rig.sender.counters().nacks_held_off, 3);
    assert_eq!(rig.sender.counters().messages_repaired, 1);
}

#[test]
fn segments_are_repaired_one_by_one_the_newest_message_first() {
    let mut rig = Rig::new(false);
    rig.send(1, &[0; 450]);
    rig.now += ms(1);
    rig.send(2, b"x");
    rig.now += ms(200);
    for index in [3, 1, 4, 9] {
        let item = NackItem { segment: Segment::Index(index), ..wanted(1, 0) };
        rig.sender.handle_nack(rig.now, item, R_MAX);
    }
    rig.nack(2, 0);
    let sent: Vec<_> = rig.again().into_iter().map(|(data, _, index, _)| (data, index)).collect();
    assert_eq!(sent, [(2, 0), (1, 1), (1, 3), (1, 4)]);
    rig.nack(1, 0);
    let sent: Vec<_> = rig.again().into_iter().map(|(data, _, index, _)| (data, index)).collect();
    assert_eq!(sent, [(1, 0), (1, 2)], "the others were sent a moment ago");
}

#[test]
fn superseded_repairs_vanish() {
    let mut rig = Rig::new(false);
    rig.send(1, b"a");
    rig.now += ms(200);
    rig.nack(1, 0);
    rig.send(1, b"b");
    assert_eq!(rig.again(), []);
    assert_eq!(rig.sender.again_at(rig.now), None);
}

#[test]
fn repairs_have_their_share() {
    let mut rig = Rig::new(true);
    (0..100).for_each(|data| {
        rig.send(data, &[0; 100]);
    });
    rig.now += ms(200);
    let mut sent = 0;
    for _ in 0..1_000 {
        (0..100).for_each(|data| {
            rig.nack(data, 0);
        });
        while let Some((piece, why)) = rig.sender.next_again(rig.now, 20_000.0) {
            rig.sender.sent(rig.now, piece.dsn, piece.index, why, R_MAX);
            sent += 1;
        }
        assert!(rig.sender.again_at(rig.now).is_none_or(|at| at > rig.now));
        rig.now += ms(10);
    }
    // 5000 bytes a second for ten seconds, and one second's worth at the start.
    assert!((500..=561).contains(&sent), "{sent}");
}

#[test]
fn many_wishes_make_one_sweep() {
    let mut rig = Rig::new(false);
    (0..20).for_each(|data| {
        rig.send(data, b"x");
    });
    rig.now += ms(500);
    for _joiner in 0..50 {
        for data in 0..20 {
            rig.nack(data, 0);
        }
    }
    let sent = rig.again();
    assert_eq!(sent.len(), 20);
    let counters = rig.sender.counters();
    assert_eq!((counters.sweeps, counters.pieces_repaired), (1, 20));
    assert!(counters.nacks_swept > 900);
    rig.now += ms(500);
    assert_eq!(rig.nack(3, 0), Answer::Repair);
}

#[test]
fn abandoned_data_is_not_repaired_although_it_was_requested() {
    let mut rig = Rig::new(false);
    rig.sender.config.timing.data_timeout = Some(ms(250));
    for data in 0..10 {
        rig.send(data, b"x");
    }
    rig.now += ms(200);
    for data in 0..10 {
        assert_eq!(rig.nack(data, 0), Answer::Repair);
    }
    assert_eq!(rig.sender.counters().sweeps, 0, "what lasts for a moment is not swept");
    rig.now += ms(60);
    assert_eq!(rig.announce(6, &[]), [] as [u32; 0]);
    assert_eq!(rig.again(), [], "there is no message any more");
    assert_eq!(rig.nack(1, 0), Answer::Ignored);
}
