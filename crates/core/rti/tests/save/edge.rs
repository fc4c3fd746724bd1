//! Edge cases of saves and restores.

use crate::common::save::Saves;
use crate::common::{Fed, Refused, World};
use hla::Exception::*;
use hla::api::{self, ResignAction};

fn all<const N: usize>(federates: [&Fed; N], step: impl Fn(&Fed) -> Refused) -> Refused {
    federates.into_iter().try_for_each(step)
}

#[track_caller]
fn told<const N: usize>(federates: [&Fed; N], callbacks: &[&str]) {
    for federate in federates {
        assert_eq!(federate.callbacks(), callbacks, "told to {}", federate.name);
    }
}

/// [30]
#[test]
fn others_are_told_of_a_resignation_during_a_save() -> Refused {
    let (_, [a, b, c]) = World::with_saves(&Saves::default(), &[]);
    a.publish("C", &["a"])?;
    let instance = a.register("C")?;
    b.request_save("L")?;
    told([&a, &b, &c], &["initiateSave(L)"]);
    assert_eq!(a.update(instance, "a=1"), Err(SaveInProgress));
    b.save()?;
    a.resign(ResignAction::DeleteObjects)?;
    told([&b, &c], &[]);
    c.save()?;
    told([&b, &c], &["federationNotSaved(FEDERATE_RESIGNED_DURING_SAVE)"]);
    told([&a], &[]);
    b.publish("C", &["a"])?;
    b.register("C").map(|_| ())
}

/// A federate that is lost counts like one that resigns.
#[test]
fn others_are_told_of_a_lost_federate() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    a.request_save("L")?;
    b.save()?;
    world.lose(&a);
    world.settle();
    told([&b], &["initiateSave(L)", "federationNotSaved(FEDERATE_RESIGNED_DURING_SAVE)"]);
    b.request_restore("L")?;
    told([&b], &["restoreRequestFailed(L)"]);
    Ok(())
}

/// The consequences of a resignation come after the save.
#[test]
fn callbacks_wait_for_the_end_of_a_save() -> Refused {
    let (_, [a, b]) = World::with_saves(&Saves::default(), &[]);
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    a.register("C")?;
    a.register_sync("point", "")?;
    told([&b], &["discover(1, C, A)", "announce(point)"]);
    a.request_save("L")?;
    b.save_begun()?;
    a.resign(ResignAction::DeleteObjects)?;
    told([&b], &["initiateSave(L)"]);
    b.query_save()?;
    told([&b], &["saveStatus(B=FEDERATE_SAVING)"]);
    b.save_complete()?;
    told([&b], &["federationNotSaved(FEDERATE_RESIGNED_DURING_SAVE)", "remove(1, A)"]);
    Ok(())
}

/// [31]
#[test]
fn the_steps_of_a_save_come_in_order() -> Refused {
    let (_, [a, b]) = World::with_saves(&Saves::default(), &[]);
    assert_eq!(a.save_begun(), Err(SaveNotInitiated));
    assert_eq!(a.save_complete(), Err(FederateHasNotBegunSave));
    assert_eq!(a.save_not_complete(), Err(FederateHasNotBegunSave));
    a.request_save("L")?;
    assert_eq!(a.save_complete(), Err(FederateHasNotBegunSave));
    assert_eq!(a.save_not_complete(), Err(FederateHasNotBegunSave));
    b.save_begun()?;
    assert_eq!(a.save_complete(), Err(FederateHasNotBegunSave), "another one has begun");
    a.save()?;
    b.save_not_complete()?;
    told([&a, &b], &["initiateSave(L)", "federationNotSaved(FEDERATE_REPORTED_FAILURE_DURING_SAVE)"]);
    assert_eq!(a.save_begun(), Err(SaveNotInitiated));
    Ok(())
}

/// The first failure decides.
#[test]
fn federates_are_told_of_the_first_failure() -> Refused {
    let (_, [a, b, c]) = World::with_saves(&Saves::default(), &[]);
    a.request_save("L")?;
    b.save_begun()?;
    b.save_not_complete()?;
    c.resign(ResignAction::NoAction)?;
    a.save()?;
    let end = "federationNotSaved(FEDERATE_REPORTED_FAILURE_DURING_SAVE)";
    told([&a, &b], &["initiateSave(L)", end]);
    Ok(())
}

/// [34]
#[test]
fn an_unknown_label_concerns_the_requester_alone() -> Refused {
    let (_, [a, b]) = World::with_saves(&Saves::default(), &[]);
    a.request_restore("L")?;
    told([&a], &["restoreRequestFailed(L)"]);
    told([&b], &[]);
    all([&a, &b], |f| f.publish("C", &["a"]))?;
    b.query_restore()?;
    let [status] = &b.callbacks()[..] else { panic!("one callback") };
    assert_eq!(status.matches("=NO_RESTORE_IN_PROGRESS").count(), 2, "{status}");
    Ok(())
}

/// [35]
#[test]
fn federates_become_those_that_were_saved() -> Refused {
    let saves = Saves::default();
    let (_, [a, b]) = World::with_saves(&saves, &[]);
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    a.register("C")?;
    let (first, second) = (a.handle.get(), b.handle.get());
    a.request_save("L")?;
    all([&a, &b], Fed::save)?;

    let world = World::with_config(saves.config(), &[]);
    let (x, b, y) = (world.joined("X"), world.joined("B"), world.joined_as("Y", "U"));
    x.request_restore("L")?;
    told([&x], &["restoreRequestFailed(L)"]);
    y.resign(ResignAction::NoAction)?;
    x.request_restore("L")?;
    let initiate = format!("initiateRestore(L, A, {first:?})");
    told([&x], &["restoreRequestSucceeded(L)", "restoreBegun", &initiate]);
    told([&b], &["restoreBegun", &format!("initiateRestore(L, B, {second:?})")]);
    assert_eq!(x.federate_name(x.handle.get()), Ok("X".to_owned()), "before the restore has ended");
    all([&b, &x], Fed::restore_complete)?;
    told([&x, &b], &["federationRestored"]);
    assert_eq!(b.federate_name(first), Ok("A".to_owned()));
    assert_eq!(b.federate_called("B"), Ok(second));
    assert_eq!(b.federate_called("X"), Err(NameNotFound));
    world.name_federates(&[(first, "A".to_owned()), (second, "B".to_owned())].into());
    x.update(1, "a=1")?;
    told([&b], &["reflect(1, a=1, reliable, A)"]);
    let members = api::ListFederationExecutionMembersRequest { federation_name: "F".to_owned() };
    b.ask(members)?;
    told([&b], &["members(F, A:T B:T)"]);
    assert_eq!(world.connected("A").join_as("T", &[]), Err(FederateNameAlreadyInUse));
    world.connected("X").join_as("T", &[])
}

/// [36]
#[test]
fn nobody_joins_during_a_save_or_a_restore() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    let late = world.connected("C");
    a.request_save("L")?;
    assert_eq!(late.join("F", &[]), Err(SaveInProgress));
    all([&a, &b], Fed::save)?;
    a.request_restore("L")?;
    assert_eq!(late.join("F", &[]), Err(RestoreInProgress));
    all([&a, &b], Fed::restore_complete)?;
    late.join("F", &[])
}

/// [30], for restores: the state from before goes on.
#[test]
fn a_restore_that_fails_changes_nothing() -> Refused {
    let (world, [a, b, c]) = World::with_saves(&Saves::default(), &[]);
    let saved = |f: &Fed| f.request_save("L").and_then(|()| all([&a, &b, &c], Fed::save));
    saved(&a)?;
    all([&a, &b, &c], |f| {
        f.skip();
        Ok(())
    })?;
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let instance = a.register("C")?;
    b.skip();
    let begin = || {
        a.request_restore("L")?;
        assert_eq!(a.update(instance, "a=0"), Err(RestoreInProgress));
        b.restore_complete()
    };
    let end = |federates: &[&Fed], reason: &str| {
        let end = format!("federationNotRestored({reason})");
        for f in federates {
            assert_eq!(f.callbacks().pop().as_ref(), Some(&end), "told to {}", f.name);
        }
        a.update(instance, "a=1")?;
        assert_eq!(b.callbacks(), ["reflect(1, a=1, reliable, A)"]);
        assert_eq!(b.federate_name(a.handle.get()), Ok("A".to_owned()));
        Ok(())
    };
    begin()?;
    a.restore_not_complete()?;
    assert!(!b.callbacks().iter().any(|callback| callback.starts_with("federation")), "C is missing");
    c.restore_complete()?;
    end(&[&a, &b, &c], "FEDERATE_REPORTED_FAILURE_DURING_RESTORE")?;
    begin()?;
    c.abort_restore()?;
    end(&[&a, &b, &c], "RESTORE_ABORTED")?;
    begin()?;
    world.lose(&c);
    world.settle();
    a.restore_complete()?;
    end(&[&a, &b], "FEDERATE_RESIGNED_DURING_RESTORE")
}

#[test]
fn a_save_is_aborted_at_once() -> Refused {
    let (_, [a, b]) = World::with_saves(&Saves::default(), &[]);
    a.request_save("L")?;
    a.save()?;
    b.abort_save()?;
    told([&a, &b], &["initiateSave(L)", "federationNotSaved(SAVE_ABORTED)"]);
    a.request_restore("L")?;
    told([&a], &["restoreRequestFailed(L)"]);
    Ok(())
}

/// The handles of federates that joined after the save are not given to others.
#[test]
fn a_federate_that_joins_after_a_restore_has_a_handle_of_its_own() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    a.request_save("L")?;
    all([&a, &b], Fed::save)?;
    b.resign(ResignAction::NoAction)?;
    let c = world.joined("C");
    c.request_restore("L")?;
    all([&a, &c], Fed::restore_complete)?;
    assert_eq!(c.callbacks().pop().as_deref(), Some("federationRestored"));
    let d = world.joined("D");
    let known = [a.federate_called("A")?, a.federate_called("B")?];
    assert!(!known.contains(&d.handle.get()), "{known:?} {:?}", d.handle.get());
    Ok(())
}

/// Messages that a federate cannot take at the time of the save are part of it.
#[test]
fn undelivered_callbacks_are_restored() -> Refused {
    let saves = Saves::default();
    let (_, [a, b]) = World::with_saves(&saves, &["nonRegulatedGrant"]);
    a.publish_interaction("B")?;
    b.subscribe_interaction("B")?;
    b.constrain()?;
    b.skip();
    a.send("B", "r=1")?;
    a.send("B", "r=2")?;
    told([&b], &[]);
    a.request_save("L")?;
    all([&a, &b], Fed::save)?;
    told([&b], &["initiateSave(L)", "federationSaved"]);

    let world = World::with_config(saves.config(), &["nonRegulatedGrant"]);
    let (b, a) = (world.joined("B"), world.joined("A"));
    b.request_restore("L")?;
    all([&a, &b], Fed::restore_complete)?;
    assert_eq!(b.callbacks().pop().as_deref(), Some("federationRestored"));
    let (first, second) = (b.federate_called("A")?, b.federate_called("B")?);
    world.name_federates(&[(first, "A".to_owned()), (second, "B".to_owned())].into());
    b.tar(5)?;
    let received = ["receive(B, r=1, bestEffort, A)", "receive(B, r=2, bestEffort, A)", "granted(5)"];
    told([&b], &received);
    Ok(())
}
