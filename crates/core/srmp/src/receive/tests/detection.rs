use super::*;
use crate::receive::Interest;
use std::collections::BTreeSet;

#[test]
fn announced_and_missing_data_is_requested_at_once_in_a_small_group() {
    let mut rig = Rig::new(3, false);
    assert_eq!(rig.data(1, 4), message(&b"1:4"[..]));
    rig.announce(1, 4);
    assert_eq!(rig.nacks(), []);
    rig.announce(1, 5);
    rig.announce(2, 0);
    assert_eq!(rig.nacks(), [whole(1, 5), whole(2, 0)]);
    rig.announce(1, 5);
    assert_eq!(rig.nacks(), [], "asked for a moment ago");
    rig.data(1, 6);
    rig.data(2, 0);
    assert_eq!(rig.nacks_within(ms(60_000)), []);
    assert_eq!(rig.shared.counters.wants_satisfied, 2);
}

#[test]
fn only_newer_versions_are_handed_up() {
    let mut rig = Rig::new(3, false);
    rig.data(1, 510);
    assert_eq!(rig.data(1, 510), Received::Duplicate);
    assert_eq!(rig.data(1, 509), Received::Duplicate);
    assert_eq!(rig.data(1, 1), message(&b"1:1"[..]));
    assert_eq!(rig.data(1, 511), Received::Duplicate);
    assert_eq!(rig.shared.counters.duplicates, 3);
}

#[test]
fn an_old_announcement_does_not_satisfy_a_want() {
    let mut rig = Rig::new(3, false);
    rig.data(1, 4);
    rig.announce(1, 5);
    rig.announce(1, 4);
    assert_eq!(rig.nacks(), [whole(1, 5)]);
    rig.announce(1, 7);
    rig.announce(1, 6);
    assert_eq!(rig.nacks(), [whole(1, 7)]);
    rig.data(1, 6);
    assert_eq!(rig.shared.counters.wants_satisfied, 0);
    rig.data(1, 7);
    assert_eq!(rig.shared.counters.wants_superseded, 1);
    assert_eq!(rig.shared.counters.wants_satisfied, 1);
}

#[test]
fn segments_are_asked_for_after_their_time_in_strict() {
    let mut rig = Rig::new(3, true);
    for index in [0, 3, 4, 5] {
        rig.segment(1, 0, index, 8);
    }
    for _ in 0..5 {
        rig.announce(1, 0);
        rig.end_of_bundle();
    }
    rig.pass(ms(249));
    assert_eq!(rig.nacks(), []);
    let asked: Vec<_> = rig.nacks_within(ms(11)).into_iter().map(|(_, wanted)| wanted).collect();
    let expected: Vec<_> = [1, 2, 6, 7].map(|index| segment(1, 0, index)).into();
    assert_eq!(asked, expected);
}

#[test]
fn gaps_are_asked_for_early_when_allowed() {
    let mut rig = Rig::new(3, false);
    for index in [0, 2, 3, 4] {
        rig.segment(1, 0, index, 6);
    }
    rig.end_of_bundle();
    assert_eq!(rig.nacks(), [segment(1, 0, 1)]);
    assert_eq!(rig.segment(1, 0, 1, 6), Received::Segment);
    (0..4).for_each(|_| rig.end_of_bundle());
    rig.pass(ms(160));
    assert_eq!(rig.nacks(), [segment(1, 0, 5)], "three bundles later the rest is lost");
    assert_eq!(rig.segment(1, 0, 5, 6), message((0..6).flat_map(|n| [n; 4]).collect::<Vec<u8>>()));
    assert_eq!(rig.shared.counters.reassembled, 1);
    assert_eq!(rig.shared.counters.parts_discarded, 0);
    assert_eq!(rig.shared.bytes, 24);
}

#[test]
fn a_newer_version_takes_the_place_of_parts() {
    let mut rig = Rig::new(3, false);
    rig.segment(1, 0, 0, 2);
    rig.announce(1, 1);
    assert_eq!(rig.nacks(), [whole(1, 1)]);
    assert_eq!(rig.segment(1, 1, 0, 3), Received::Segment);
    assert_eq!(rig.segment(1, 0, 1, 2), Received::Refused);
    assert_eq!(rig.segment(1, 1, 1, 2), Received::Refused, "another number of segments");
    assert_eq!(rig.data(1, 2), message(&b"1:2"[..]));
    assert_eq!(rig.shared.bytes, 3);
    assert_eq!(rig.shared.counters.parts_discarded, 2);
    assert_eq!(rig.nacks_within(ms(10_000)), []);
}

#[test]
fn memory_is_bounded() {
    let mut rig = Rig::new(3, false);
    (0..100).for_each(|data| {
        rig.announce(data, 0);
    });
    assert_eq!(rig.shared.items, 20);
    assert_eq!(rig.shared.counters.refused, 80);
    assert_eq!(rig.data(20, 0), Received::Refused);
    let long = Bytes::from(vec![0; 9_000]);
    for data in 0..3 {
        let received = rig.origin.receive(rig.now, &mut rig.shared, dsn(data, 0), 0, &long, None);
        assert_eq!(plain(received), message(long.clone()), "handed up, but not kept");
    }
    assert_eq!(rig.shared.bytes, 9_000);
    assert_eq!(rig.origin.messages().count(), 3);
    assert_eq!(rig.segment(4, 0, 1, 128), Received::Refused);
    rig.segment(4, 0, 1, 127);
    rig.origin.reset(&mut rig.shared);
    assert_eq!((rig.shared.bytes, rig.shared.items), (0, 0));
}

#[test]
fn mode0_waits_for_state_where_some_is_announced() {
    let mut rig = Rig::new(3, false);
    assert!(rig.origin.admits_mode0(&rig.shared, || false));
    assert!(!rig.origin.admits_mode0(&rig.shared, || true));
    rig.shared.interest = Interest::Nothing;
    assert!(rig.origin.admits_mode0(&rig.shared, || true));
    rig.shared.interest = Interest::All;
    rig.data(1, 0);
    assert!(rig.origin.admits_mode0(&rig.shared, || true));

    let mut literal = Rig::new(3, true);
    literal.shared.config.literal_mode0_gate = true;
    assert!(!literal.origin.admits_mode0(&literal.shared, || false));
}

#[test]
fn interest_bounds_what_is_asked_for() {
    let mut rig = Rig::new(3, false);
    rig.data(1, 0);
    rig.announce(2, 0);
    rig.shared.interest = Interest::Elements(BTreeSet::from([(SENDER, DataId(3))]));
    rig.origin.apply_interest(&mut rig.shared);
    assert_eq!(rig.shared.items, 0);
    assert_eq!(rig.origin.digest(), crate::wire::Digest::default());
    rig.announce(2, 0);
    rig.announce(3, 0);
    assert_eq!(rig.data(1, 1), Received::Refused);
    assert_eq!(rig.nacks(), [whole(3, 0)]);
}

#[test]
fn a_sender_that_begins_again_is_told_by_old_numbers_after_a_jump() {
    let mut rig = Rig::new(3, false);
    rig.data(1, 200);
    for _ in 0..9 {
        assert!(!rig.announce(1, 0), "no jump");
        rig.pass(ms(400));
    }
    rig.origin.note_jump(rig.now);
    assert!(!rig.announce(1, 0));
    rig.pass(ms(600));
    assert!(!rig.announce(1, 0));
    rig.pass(ms(600));
    assert!(rig.announce(1, 0));
    assert_eq!(rig.nacks(), [whole(1, 0)]);
    assert_eq!(rig.data(1, 0), message(&b"1:0"[..]));
}

#[test]
fn digests_tell_what_announcements_do_not() {
    let mut rig = Rig::new(3, false);
    rig.data(1, 0);
    let mut theirs = rig.origin.digest();
    assert!(!rig.origin.compare_digest(&mut rig.shared, theirs, 5));
    theirs.replace(DataId(2), None, Sn(9));
    let reported = (0..20).filter(|_| rig.origin.compare_digest(&mut rig.shared, theirs, 1)).count();
    assert_eq!(reported, 2);
    rig.data(2, 9);
    assert!(!rig.origin.compare_digest(&mut rig.shared, theirs, 100));
}
