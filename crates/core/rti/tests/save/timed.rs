//! Timed saves.

use crate::common::save::Saves;
use crate::common::{Fed, Refused, World};
use hla::Exception::*;
use hla::api::{EnableAsynchronousDeliveryRequest, OrderType, ResignAction};

/// Federates A to C and R. R regulates with lookahead 1 and sends interactions I in time-stamp order,
/// which the others subscribe. Those named in `constrained` are time-constrained.
fn federates(constrained: &str) -> Refused<(World, Saves, [Fed; 3], Fed)> {
    let saves = Saves::default();
    let (world, federates) = World::with_saves(&saves, &[]);
    let r = world.joined("R");
    for f in &federates {
        if constrained.contains(&f.name) {
            f.constrain()?;
        }
        f.subscribe_interaction("I")?;
        f.subscribe_interaction("B")?;
    }
    r.publish_interaction("I")?;
    r.publish_interaction("B")?;
    r.order_interaction("I", OrderType::Timestamp)?;
    r.regulate(1)?;
    federates.iter().chain([&r]).for_each(Fed::skip);
    Ok((world, saves, federates, r))
}

#[track_caller]
fn told<const N: usize>(federates: [&Fed; N], callbacks: &[&str]) {
    for federate in federates {
        assert_eq!(federate.callbacks(), callbacks, "told to {}", federate.name);
    }
}

fn save<const N: usize>(federates: [&Fed; N]) -> Refused {
    federates.into_iter().try_for_each(Fed::save)
}

/// [32]
#[test]
fn a_constrained_federate_is_told_between_its_messages_and_its_grant() -> Refused {
    let (world, _, [a, b, c], r) = federates("A")?;
    r.tar(8)?;
    a.tar(8)?;
    a.skip();
    r.skip();
    r.request_save_at("L", 10)?;
    a.tar(12)?;
    for (p, time) in [(1, 9), (2, 10), (3, 11), (4, 13)] {
        r.send_in_time("I", &format!("p={p}"), time)?;
    }
    told(
        [&b, &c],
        &[
            "receive(I, p=1, reliable, R, t=9, TSO as RO)",
            "receive(I, p=2, reliable, R, t=10, TSO as RO)",
            "receive(I, p=3, reliable, R, t=11, TSO as RO)",
            "receive(I, p=4, reliable, R, t=13, TSO as RO)",
        ],
    );
    r.tar(9)?;
    told([&a, &b, &c], &[]);
    told([&r], &["granted(9)"]);
    r.tar(10)?;
    world.settle();
    told([&r], &["granted(10)", "initiateSave(L, 10)"]);
    let early = ["receive(I, p=1, reliable, R, t=9, TSO)", "receive(I, p=2, reliable, R, t=10, TSO)"];
    told([&a], &[early[0], early[1], "initiateSave(L, 10)"]);
    told([&b, &c], &["initiateSave(L, 10)"]);
    save([&a, &b, &c, &r])?;
    told([&a, &b, &c, &r], &["federationSaved"]);
    r.tar(12)?;
    told([&a], &["receive(I, p=3, reliable, R, t=11, TSO)", "granted(12)"]);
    Ok(())
}

/// [32]: GALT passes the time of the request at once.
#[test]
fn a_grant_waits_for_the_end_of_a_timed_save() -> Refused {
    let (_, _, [a, b, c], r) = federates("A")?;
    r.request_save_at("L", 10)?;
    a.tar(12)?;
    r.tar(20)?;
    told([&a, &b, &c], &["initiateSave(L, 10)"]);
    assert_eq!(a.tar(13), Err(SaveInProgress));
    save([&a, &b, &c])?;
    told([&a, &b, &c], &[]);
    assert!(r.callbacks().contains(&"initiateSave(L, 10)".to_owned()));
    r.save()?;
    told([&a], &["federationSaved", "granted(12)"]);
    told([&b, &c], &["federationSaved"]);
    Ok(())
}

/// The grant also waits if the save fails.
#[test]
fn a_grant_comes_after_a_timed_save_that_failed() -> Refused {
    let (_, _, [a, b, c], r) = federates("A")?;
    r.request_save_at("L", 10)?;
    a.nmr(12)?;
    r.tar(20)?;
    told([&a], &["initiateSave(L, 10)"]);
    save([&a, &b, &c])?;
    b.abort_save()?;
    told([&a], &["federationNotSaved(SAVE_ABORTED)", "granted(12)"]);
    Ok(())
}

/// An advance to the time of the save, or less, is granted before.
#[test]
fn advances_up_to_the_time_of_a_save_are_granted() -> Refused {
    let (_, _, [a, ..], r) = federates("A")?;
    r.request_save_at("L", 10)?;
    a.tar(7)?;
    r.tar(15)?;
    told([&a], &["granted(7)"]);
    a.tar(10)?;
    told([&a], &["granted(10)"]);
    a.tar(11)?;
    told([&a], &["initiateSave(L, 10)"]);
    Ok(())
}

/// A message up to the time of the save is granted before, by Next Message Request.
#[test]
fn next_messages_up_to_the_time_of_a_save_are_granted() -> Refused {
    let (_, _, [a, ..], r) = federates("A")?;
    r.request_save_at("L", 10)?;
    r.send_in_time("I", "p=1", 9)?;
    r.send_in_time("I", "p=2", 11)?;
    a.nmr(20)?;
    r.tar(15)?;
    told([&a], &["receive(I, p=1, reliable, R, t=9, TSO)", "granted(9)"]);
    a.nmr(20)?;
    told([&a], &["initiateSave(L, 10)"]);
    Ok(())
}

/// Those that are not constrained are told when the last constrained one is told.
#[test]
fn others_are_told_with_the_last_constrained_federate() -> Refused {
    let (world, _, [a, b, c], r) = federates("A B")?;
    c.request_save_at("L", 10)?;
    a.tar(12)?;
    r.tar(15)?;
    r.skip();
    told([&a], &["initiateSave(L, 10)"]);
    told([&b, &c, &r], &[]);
    assert_eq!(c.request_save("M"), Err(SaveInProgress), "one has been told");
    assert_eq!(world.connected("D").join("F", &[]), Err(SaveInProgress));
    assert_eq!(b.save_begun(), Err(SaveNotInitiated));
    assert_eq!(a.publish("C", &["a"]), Err(SaveInProgress));
    a.save()?;
    b.query_save()?;
    let status = "A=FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE, B=NO_SAVE_IN_PROGRESS, C=NO_SAVE_IN_PROGRESS, \
                  R=NO_SAVE_IN_PROGRESS";
    told([&b], &[&format!("saveStatus({status})")]);
    b.tar(10)?;
    told([&b], &["granted(10)"]);
    told([&c, &r], &[]);
    b.tara(11)?;
    told([&b, &c, &r], &["initiateSave(L, 10)"]);
    save([&b, &c, &r])?;
    told([&a], &["federationSaved", "granted(12)"]);
    told([&b], &["federationSaved", "granted(11)"]);
    told([&c, &r], &["federationSaved"]);
    Ok(())
}

/// Messages that others still send to a federate in a save come after it, and after a restore.
#[test]
fn messages_to_a_federate_in_a_save_come_after_it() -> Refused {
    let (_, saves, [a, b, c], r) = federates("A B")?;
    a.ask(EnableAsynchronousDeliveryRequest {})?;
    b.ask(EnableAsynchronousDeliveryRequest {})?;
    r.request_save_at("L", 10)?;
    a.tar(12)?;
    r.tar(15)?;
    told([&a], &["initiateSave(L, 10)"]);
    r.skip();
    r.send("B", "r=1")?;
    r.send("B", "r=2")?;
    told([&a], &[]);
    told([&b, &c], &["receive(B, r=1, bestEffort, R)", "receive(B, r=2, bestEffort, R)"]);
    b.tar(13)?;
    save([&a, &b, &c, &r])?;
    let after = ["receive(B, r=1, bestEffort, R)", "receive(B, r=2, bestEffort, R)", "granted(12)"];
    told([&a], &["federationSaved", after[0], after[1], after[2]]);

    let world = World::with_config(saves.config(), &[]);
    let (r, c, b, a) = (world.joined("R"), world.joined("C"), world.joined("B"), world.joined("A"));
    r.request_restore("L")?;
    [&a, &b, &c, &r].into_iter().try_for_each(Fed::restore_complete)?;
    let names = ["A", "B", "C", "R"].map(|name| (a.federate_called(name).expect(name), name.to_owned()));
    world.name_federates(&names.into());
    assert_eq!(a.callbacks()[2..], ["federationRestored", after[0], after[1], after[2]]);
    assert_eq!(b.callbacks()[2..], ["federationRestored", "granted(13)"]);
    Ok(())
}

/// An abort concerns those that have been told.
#[test]
fn only_those_told_are_told_of_an_abort() -> Refused {
    let (_, _, [a, b, c], r) = federates("A B")?;
    c.request_save_at("L", 10)?;
    a.tar(12)?;
    r.tar(15)?;
    told([&a], &["initiateSave(L, 10)"]);
    r.skip();
    a.abort_save()?;
    told([&a], &["federationNotSaved(SAVE_ABORTED)", "granted(12)"]);
    told([&b, &c, &r], &[]);
    b.tar(12)?;
    told([&b], &["granted(12)"]);
    Ok(())
}

/// [33]
#[test]
fn a_request_replaces_one_that_nobody_was_told_of() -> Refused {
    let (_, _, [a, b, c], r) = federates("A")?;
    r.request_save_at("first", 10)?;
    c.request_save_at("second", 12)?;
    a.tar(11)?;
    r.tar(20)?;
    r.skip();
    told([&a], &["granted(11)"]);
    b.request_save("third")?;
    told([&a, &b, &c, &r], &["initiateSave(third)"]);
    save([&a, &b, &c, &r])?;
    told([&a, &b, &c, &r], &["federationSaved"]);
    a.tar(13)?;
    told([&a], &["granted(13)"]);
    told([&b, &c, &r], &[]);
    a.request_restore("second")?;
    told([&a], &["restoreRequestFailed(second)"]);
    Ok(())
}

/// Without constrained federates, everybody is told at once.
#[test]
fn without_constrained_federates_a_timed_save_begins_at_once() -> Refused {
    let (_, _, [a, b, c], r) = federates("")?;
    a.request_save_at("L", 10)?;
    told([&a, &b, &c, &r], &["initiateSave(L, 10)"]);
    save([&a, &b, &c, &r])?;
    told([&a, &b, &c, &r], &["federationSaved"]);
    Ok(())
}

/// The last constrained federate leaves.
#[test]
fn a_timed_save_begins_when_nobody_is_constrained_any_more() -> Refused {
    let (_, _, [a, b, c], r) = federates("A")?;
    r.request_save_at("L", 10)?;
    told([&a, &b, &c, &r], &[]);
    a.resign(ResignAction::NoAction)?;
    told([&b, &c, &r], &["initiateSave(L, 10)"]);
    save([&b, &c, &r])?;
    told([&b, &c, &r], &["federationSaved"]);
    Ok(())
}

#[test]
fn the_time_of_a_save_must_lie_ahead() -> Refused {
    let saves = Saves::default();
    let (_, [a]) = World::with_saves(&saves, &[]);
    assert_eq!(a.request_save_at("L", 10), Err(FederateUnableToUseTime), "nobody regulates");
    let (_, _, [a, b, ..], r) = federates("A")?;
    r.tar(5)?;
    a.tar(5)?;
    assert_eq!(r.request_save_at("L", 5), Err(LogicalTimeAlreadyPassed), "not after its own time");
    assert_eq!(b.request_save_at("L", 6), Err(LogicalTimeAlreadyPassed), "not after GALT");
    r.tar(8)?;
    b.request_save_at("L", 10)?;
    a.tar(7)?;
    r.regulate(1).expect_err("it is regulating");
    b.regulate(5)?;
    b.skip();
    assert_eq!(b.time(), Ok(2), "so that it cannot send to the constrained one's past");
    assert_eq!(b.request_save_at("L", 7), Err(LogicalTimeAlreadyPassed), "not after that of A");
    Ok(())
}
