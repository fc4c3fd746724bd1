use super::*;
use crate::send::Refused;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn versions_count_from_zero_and_wrap() {
    let mut rig = Rig::new(false);
    for sn in 0..1_030 {
        assert_eq!(rig.send(1, b"x").sn, Sn(sn % 512));
    }
    assert_eq!(rig.announce(32, &[]), [1]);
    assert_eq!(rig.sender.digest().active, 1);
}

#[test]
fn only_what_was_sent_is_announced() {
    let mut rig = Rig::new(false);
    let dsn = rig.sender.update(rig.now, DataId(1), Bytes::from(vec![0; 250])).unwrap();
    assert_eq!(dsn.segments, 3);
    rig.sender.sent(rig.now, dsn, 0, Why::New, R_MAX);
    rig.sender.sent(rig.now, dsn, 1, Why::New, R_MAX);
    assert_eq!(rig.announce(32, &[]), [] as [u32; 0]);
    rig.sender.sent(rig.now, dsn, 2, Why::New, R_MAX);
    assert_eq!(rig.announce(32, &[]), [1]);
    assert_eq!(rig.announce(32, &[1]), [] as [u32; 0], "not what the bundle carries");
    assert_eq!(rig.sender.take(dsn, 2).unwrap().body.len(), 50);
    let newer = rig.sender.update(rig.now, DataId(1), Bytes::from_static(b"x")).unwrap();
    assert_eq!(rig.sender.take(dsn, 2), None);
    assert_eq!(rig.sender.take(newer, 0).unwrap().body, Bytes::from_static(b"x"));
}

#[test]
fn a_data_element_has_one_mode_and_the_buffer_an_end() {
    let mut rig = Rig::new(false);
    rig.send(1, b"x");
    assert_eq!(rig.sender.claim_directed(DataId(1)), Err(Refused::OtherMode));
    assert_eq!(rig.sender.claim_directed(DataId(2)), Ok(()));
    assert_eq!(rig.sender.update(rig.now, DataId(2), Bytes::new()), Err(Refused::OtherMode));
    let long = Bytes::from(vec![0; 9_999]);
    assert!(rig.sender.update(rig.now, DataId(3), long.clone()).is_ok());
    assert_eq!(rig.sender.update(rig.now, DataId(4), Bytes::from_static(b"y")), Err(Refused::Full(10_000)));
    assert!(rig.sender.update(rig.now, DataId(3), long).is_ok(), "in the place of the old one");
}

#[test]
fn a_silent_sender_announces_at_doubling_intervals() {
    let mut rig = Rig::new(false);
    let start = rig.now;
    rig.send(1, b"x");
    let urged: Vec<_> = rig.trail(ms(5_000)).into_iter().map(|at| at.since(start).as_millis()).collect();
    assert_eq!(urged, [20, 60, 140, 300, 620]);
    assert_eq!(rig.sender.deadline(), None);
}

#[test]
fn bundles_that_leave_anyway_count() {
    let mut rig = Rig::new(false);
    rig.send(1, b"x");
    let mut urged = 0;
    for _ in 0..100 {
        urged += rig.trail(ms(10)).len();
        rig.announce(32, &[]);
    }
    assert_eq!(urged, 0);
    let mut strict = Rig::new(true);
    strict.send(1, b"x");
    assert_eq!(strict.trail(ms(5_000)), []);
}

#[test]
fn stale_data_is_not_announced_when_so_configured() {
    let mut rig = Rig::new(false);
    rig.sender.config.timing.data_timeout = Some(ms(1_000));
    rig.send(1, b"x");
    rig.send(2, b"x");
    rig.now += ms(1_000);
    rig.send(2, b"y");
    assert_eq!(rig.announce(32, &[]), [2]);
    assert_eq!(rig.sender.active(), 1);
    assert_eq!(rig.nack(1, 0), crate::send::Answer::Ignored);
    assert_eq!(rig.send(1, b"z").sn, Sn(1));
    assert_eq!(rig.announce(32, &[]), [1, 2]);
}

proptest! {
    /// Every data element is announced within one round of bundles, or two where fresh ones go
    /// first.
    #[test]
    fn turns_come_round(
        count in 2u32..200, max in 1usize..40, strict: bool,
        carried in proptest::collection::vec(0u32..200, 0..5), updates in proptest::collection::vec(0u32..200, 0..20),
    ) {
        let mut rig = Rig::new(strict);
        (0..count).for_each(|data| { rig.send(data, b"x"); });
        for data in updates {
            rig.send(data % count, b"y");
            rig.announce(max, &[]);
        }
        let bundles = (count as usize).div_ceil(max) * if strict { 1 } else { 2 };
        // With room for one announcement no fresh version is preferred.
        let mut seen = BTreeSet::new();
        for _ in 0..bundles {
            let announced = rig.announce(max, &carried);
            prop_assert!(announced.len() <= max && announced.iter().all(|data| !carried.contains(data)));
            let distinct: BTreeSet<_> = announced.iter().copied().collect();
            prop_assert_eq!(distinct.len(), announced.len());
            seen.extend(announced);
        }
        seen.extend(carried.iter().copied().filter(|data| *data < count));
        prop_assert_eq!(seen.len(), count as usize);
    }
}
