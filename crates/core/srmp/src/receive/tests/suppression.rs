use super::*;

#[test]
fn repeats_come_later_and_later_and_end_when_nothing_is_announced() {
    let mut rig = Rig::new(3, false);
    let start = rig.now;
    rig.announce(1, 0);
    let asked = rig.nacks_within(ms(200_000));
    let after: Vec<_> = asked.iter().map(|(at, _)| at.since(start).as_millis()).collect();
    let expected = [0, 160, 480, 1_120, 2_400, 4_960, 9_960, 14_960, 19_960];
    assert_eq!(after[..9], expected);
    assert!(*after.last().unwrap() < 60_000);
    assert_eq!(rig.shared.counters.wants_abandoned, 1);
    assert_eq!(rig.origin.deadline(), None);
}

#[test]
fn wants_of_a_sender_share_a_backoff() {
    let mut rig = Rig::new(1_000, false);
    let start = rig.now;
    rig.announce(1, 0);
    rig.pass(ms(1));
    rig.announce(2, 0);
    let asked = rig.nacks_within(ms(401));
    assert_eq!(asked.iter().map(|(_, wanted)| *wanted).collect::<Vec<_>>(), [whole(1, 0), whole(2, 0)]);
    assert_eq!(asked[0].0, asked[1].0);
    assert!(asked[0].0 > start + ms(1));
    assert_eq!(rig.shared.counters.nacks_scheduled, 1);
}

#[test]
fn a_member_that_hears_a_request_holds_off() {
    let mut rig = Rig::new(1_000, false);
    rig.announce(1, 4);
    rig.origin.hear_nack(rig.now, &mut rig.shared, whole(1, 3));
    assert_eq!(rig.shared.counters.nacks_suppressed_by_nack, 0, "an older one does not help");
    rig.origin.hear_nack(rig.now, &mut rig.shared, whole(1, 4));
    assert_eq!(rig.shared.counters.nacks_suppressed_by_nack, 1);
    let start = rig.now;
    let asked = rig.nacks_within(ms(800));
    assert!(asked[0].0 >= start + ms(160), "after the hold-off and a new backoff");
}

#[test]
fn a_wish_heard_before_the_loss_was_seen_counts() {
    let mut rig = Rig::new(3, false);
    rig.origin.hear_nack(rig.now, &mut rig.shared, whole(1, 4));
    rig.pass(ms(100));
    rig.announce(1, 4);
    let start = rig.now;
    let asked = rig.nacks_within(ms(100));
    assert_eq!(asked, [(start + ms(60), whole(1, 4))]);
}

#[test]
fn wishes_for_segments_are_suppressed_one_by_one() {
    let mut rig = Rig::new(1_000, false);
    for index in [0, 3, 4, 5] {
        rig.segment(1, 0, index, 6);
    }
    rig.origin.hear_nack(rig.now, &mut rig.shared, segment(1, 0, 1));
    let hush_ends = rig.now + ms(160);
    let asked = rig.nacks_within(ms(450));
    let first: Vec<_> = asked.iter().filter(|(at, _)| *at == asked[0].0).map(|(_, wanted)| *wanted).collect();
    let expected = if asked[0].0 < hush_ends {
        vec![segment(1, 0, 2)]
    } else {
        vec![segment(1, 0, 1), segment(1, 0, 2)]
    };
    assert_eq!(first, expected);

    let mut rig = Rig::new(1_000, false);
    for index in [0, 3, 4, 5] {
        rig.segment(1, 0, index, 6);
    }
    rig.origin.hear_nack(rig.now, &mut rig.shared, segment(1, 0, 1));
    rig.origin.hear_nack(rig.now, &mut rig.shared, segment(1, 0, 2));
    assert_eq!(rig.shared.counters.nacks_suppressed_by_nack, 1);
}

#[test]
fn strict_wishes_go_with_the_next_bundle() {
    let mut rig = Rig::new(1_000, true);
    rig.announce(1, 0);
    assert!(rig.origin.would_ask(&rig.shared) && !rig.origin.has_due());
    assert_eq!(rig.nacks(), [whole(1, 0)]);
    let mut silent = Rig::new(1_000, true);
    let start = silent.now;
    silent.announce(1, 0);
    silent.pass(silent.origin.deadline().unwrap().since(start));
    assert!(silent.now < start + ms(10) && silent.origin.has_due());
}

#[test]
fn a_joiner_spreads_its_first_wishes() {
    let mut waits = Vec::new();
    for seed in 0..50 {
        let mut rig = Rig::new(1, false);
        rig.shared.rng = Seed(seed).rng();
        rig.shared.joined = rig.now;
        rig.announce(1, 0);
        waits.push(rig.origin.deadline().unwrap().since(rig.now));
    }
    waits.sort();
    assert!(waits[0] < ms(20) && waits[49] > ms(180) && waits[49] <= ms(200), "{waits:?}");
}

#[test]
fn a_logger_that_asks_stands_for_all() {
    let mut rig = Rig::new(1_000, false);
    rig.announce(1, 4);
    rig.origin.pending(rig.now, &mut rig.shared, DataId(1), Sn(4), ms(300));
    assert!(rig.nacks_within(ms(299)).is_empty());
    assert!(!rig.nacks_within(ms(600)).is_empty());
}

#[test]
fn a_silent_sender_is_asked_for_nothing() {
    let mut rig = Rig::new(3, false);
    rig.announce(1, 0);
    rig.segment(2, 0, 0, 2);
    rig.origin.silence(&mut rig.shared);
    assert_eq!(rig.nacks_within(ms(10_000)), []);
    rig.announce(1, 0);
    assert_eq!(rig.nacks(), [whole(1, 0)]);
}
