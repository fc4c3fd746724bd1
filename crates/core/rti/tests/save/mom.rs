//! Saves and restores in the management object model.

use crate::common::mom::{FEDERATE, FEDERATION, handle_of, instance_of};
use crate::common::save::Saves;
use crate::common::{Fed, Refused, World};
use hla::api::EnableAsynchronousDeliveryRequest;

const SAVES: [&str; 4] = ["lastSaveName", "lastSaveTime", "nextSaveName", "nextSaveTime"];

/// The answer to a request about the federation execution.
fn saves(f: &Fed) -> Refused<Vec<String>> {
    f.skip();
    f.request_all_managed(FEDERATION, &SAVES)?;
    f.world.settle();
    Ok(f.managed())
}

fn state(f: &Fed, of: &Fed) -> Refused<Vec<String>> {
    f.skip();
    f.request_managed(FEDERATE, instance_of(of), &["federateState"])?;
    f.world.settle();
    Ok(f.managed())
}

#[test]
fn the_last_and_the_next_save_are_told() -> Refused {
    let (_, [a, b, c]) = World::with_saves(&Saves::default(), &[]);
    a.watch(FEDERATION, &SAVES)?;
    b.regulate(1)?;
    c.constrain()?;
    let none = "reflect(federation, lastSaveName= lastSaveTime=- nextSaveName= nextSaveTime=-)";
    assert_eq!(saves(&a)?, [none]);
    b.request_save_at("L", 10)?;
    let next = "reflect(federation, lastSaveName= lastSaveTime=- nextSaveName=L nextSaveTime=10)";
    assert_eq!(a.managed().len(), 1, "the change is told");
    assert_eq!(saves(&a)?, [next]);
    c.tar(12)?;
    b.tar(15)?;
    assert_eq!(a.managed().last().map(String::as_str), Some("initiateSave(L, 10)"));
    [&a, &b, &c].into_iter().try_for_each(Fed::save)?;
    let told = a.managed();
    assert_eq!(told[0], "federationSaved");
    assert!(told[1..].iter().any(|told| told.contains("lastSaveName=L")), "{told:?}");
    let last = "reflect(federation, lastSaveName=L lastSaveTime=10 nextSaveName= nextSaveTime=-)";
    assert_eq!(saves(&a)?, [last]);
    a.request_save("M")?;
    [&a, &b, &c].into_iter().try_for_each(Fed::save)?;
    let last = "reflect(federation, lastSaveName=M lastSaveTime=- nextSaveName= nextSaveTime=-)";
    assert_eq!(saves(&a)?, [last]);
    a.request_save("N")?;
    a.abort_save()?;
    assert_eq!(saves(&a)?, [last], "only those that succeeded");
    Ok(())
}

#[test]
fn the_state_of_a_federate_is_told() -> Refused {
    let (_, [a, b, c]) = World::with_saves(&Saves::default(), &[]);
    a.watch(FEDERATE, &["federateState"])?;
    a.ask(EnableAsynchronousDeliveryRequest {})?;
    [&a, &c].into_iter().try_for_each(Fed::constrain)?;
    b.regulate(1)?;
    assert_eq!(state(&a, &c)?, ["reflect(C, federateState=1)"]);
    b.request_save_at("L", 10)?;
    c.tar(12)?;
    b.tar(15)?;
    assert_eq!(c.callbacks().pop().as_deref(), Some("initiateSave(L, 10)"));
    assert_eq!(a.managed(), ["reflect(C, federateState=3)"]);
    assert_eq!(state(&a, &c)?, ["reflect(C, federateState=3)"]);
    assert_eq!(state(&a, &b)?, ["reflect(B, federateState=1)"]);
    a.tar(12)?;
    [&a, &b, &c].into_iter().try_for_each(Fed::save)?;
    let told = a.managed();
    let initiated = told.iter().position(|told| told == "initiateSave(L, 10)").expect("a save");
    assert_eq!(told[initiated + 1], "federationSaved", "{told:?}");
    for f in [&a, &b, &c] {
        assert_eq!(state(&a, f)?, [format!("reflect({}, federateState=1)", f.name)]);
    }
    a.request_restore("L")?;
    [&a, &b, &c].into_iter().try_for_each(Fed::restore_complete)?;
    for f in [&a, &b, &c] {
        assert_eq!(state(&a, f)?, [format!("reflect({}, federateState=1)", f.name)]);
    }
    Ok(())
}

/// A federate that is not told yet can take the steps of another one through the management object
/// model.
#[test]
fn the_steps_of_a_save_can_be_taken_for_others() -> Refused {
    let (_, [a, b, c]) = World::with_saves(&Saves::default(), &[]);
    [&a, &c].into_iter().try_for_each(Fed::constrain)?;
    b.regulate(1)?;
    b.request_save_at("L", 10)?;
    c.tar(12)?;
    b.tar(15)?;
    let about = || ("federate", handle_of(&c));
    a.ask_rti("HLAfederate.HLAservice.HLAfederateSaveBegun", &[about()])?;
    [&a, &b, &c].into_iter().for_each(Fed::skip);
    a.query_save()?;
    let status = "saveStatus(A=NO_SAVE_IN_PROGRESS, B=NO_SAVE_IN_PROGRESS, C=FEDERATE_SAVING)";
    assert_eq!(a.callbacks(), [status]);
    a.tar(12)?;
    [&a, &b].into_iter().try_for_each(Fed::save)?;
    c.save_complete()?;
    assert_eq!(c.callbacks()[0], "federationSaved");
    Ok(())
}

/// A message that a federate cannot take yet counts, before and after a save, and after a restore.
#[test]
fn messages_that_wait_are_counted() -> Refused {
    let (_, [a, b]) = World::with_saves(&Saves::default(), &[]);
    a.watch(FEDERATE, &["ROlength"])?;
    a.publish_interaction("I")?;
    b.subscribe_interaction("I")?;
    b.constrain()?;
    let length = || {
        a.skip();
        a.request_managed(FEDERATE, instance_of(&b), &["ROlength"])?;
        Ok(a.managed().concat())
    };
    a.send("I", "p=1")?;
    assert_eq!(length()?, "reflect(B, ROlength=1)");
    a.request_save("L")?;
    [&a, &b].into_iter().try_for_each(Fed::save)?;
    assert_eq!(length()?, "reflect(B, ROlength=1)", "after a save");
    a.request_restore("L")?;
    [&a, &b].into_iter().try_for_each(Fed::restore_complete)?;
    assert_eq!(length()?, "reflect(B, ROlength=1)", "after a restore");
    Ok(())
}

/// Those with a time count as well, if they are in receive order.
#[test]
fn messages_with_a_time_that_wait_are_counted() -> Refused {
    let (_, [a, b]) = World::with_saves(&Saves::default(), &[]);
    a.watch(FEDERATE, &["ROlength", "TSOlength"])?;
    a.publish("C", &["a", "t"])?;
    a.regulate(1)?;
    b.subscribe("C", &["a", "t"])?;
    b.constrain()?;
    a.register("C")?;
    a.update_at(1, "a=1 t=1", 1)?;
    let lengths = || {
        a.skip();
        a.request_managed(FEDERATE, instance_of(&b), &["ROlength", "TSOlength"])?;
        Ok(a.managed().concat())
    };
    let expected = "reflect(B, ROlength=1 TSOlength=1)";
    assert_eq!(lengths()?, expected);
    a.request_save("L")?;
    [&a, &b].into_iter().try_for_each(Fed::save)?;
    assert_eq!(lengths()?, expected, "after a save");
    a.request_restore("L")?;
    [&a, &b].into_iter().try_for_each(Fed::restore_complete)?;
    assert_eq!(lengths()?, expected, "after a restore");
    Ok(())
}
