//! Images take time to be stored and read. Things that happen meanwhile.

use crate::common::save::Saves;
use crate::common::{Fed, Refused, World};
use hla::Exception::*;
use hla::api::{FederateSaveCompleteRequest, RequestFederationRestoreRequest, ResignAction};

#[track_caller]
fn told<const N: usize>(federates: [&Fed; N], callbacks: &[&str]) {
    for federate in federates {
        assert_eq!(federate.callbacks(), callbacks, "told to {}", federate.name);
    }
}

/// Both federates have completed their save, and the image is being stored.
fn storing(world: &World, [a, b]: [&Fed; 2]) -> Refused {
    a.request_save("L")?;
    a.save()?;
    b.save_begun()?;
    world.hold_jobs(true);
    b.start(FederateSaveCompleteRequest {});
    told([a, b], &["initiateSave(L)"]);
    Ok(())
}

#[test]
fn nobody_is_told_of_a_save_before_it_is_stored() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    storing(&world, [&a, &b])?;
    assert_eq!(a.publish("C", &["a"]), Err(SaveInProgress));
    a.query_save()?;
    let waits = "FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE";
    told([&a], &[&format!("saveStatus(A={waits}, B={waits})")]);
    world.hold_jobs(false);
    told([&a, &b], &["federationSaved"]);
    Ok(())
}

#[test]
fn a_save_is_aborted_while_it_is_stored() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    storing(&world, [&a, &b])?;
    a.abort_save()?;
    told([&a, &b], &["federationNotSaved(SAVE_ABORTED)"]);
    a.publish("C", &["a"])?;
    world.hold_jobs(false);
    told([&a, &b], &[]);
    a.request_save("M")?;
    [&a, &b].into_iter().try_for_each(Fed::save)?;
    told([&a, &b], &["initiateSave(M)", "federationSaved"]);
    Ok(())
}

/// Another save of the same label begins before the first one is stored.
#[test]
fn a_save_that_was_aborted_does_not_end_the_next_one() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    storing(&world, [&a, &b])?;
    b.abort_save()?;
    a.request_save("L")?;
    told([&a, &b], &["federationNotSaved(SAVE_ABORTED)", "initiateSave(L)"]);
    a.save()?;
    world.hold_jobs(false);
    told([&a, &b], &[]);
    b.save()?;
    told([&a, &b], &["federationSaved"]);
    Ok(())
}

/// There is one end of a save, either way.
#[test]
fn a_federate_leaves_while_a_save_is_stored() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    storing(&world, [&a, &b])?;
    b.resign(ResignAction::NoAction)?;
    world.hold_jobs(false);
    let ends = a.callbacks();
    let [end] = &ends[..] else { panic!("{ends:?}") };
    assert!(["federationSaved", "federationNotSaved(FEDERATE_RESIGNED_DURING_SAVE)"].contains(&end.as_str()));
    a.publish("C", &["a"])
}

/// A federate has requested a restore, and the image is being read.
fn reading(world: &World, [a, b]: [&Fed; 2]) -> Refused {
    a.request_save("L")?;
    [a, b].into_iter().try_for_each(Fed::save)?;
    [a, b].into_iter().for_each(Fed::skip);
    world.hold_jobs(true);
    a.start(RequestFederationRestoreRequest { label: "L".to_owned() });
    told([a, b], &[]);
    Ok(())
}

#[test]
fn others_go_on_while_an_image_is_read() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    reading(&world, [&a, &b])?;
    b.query_restore()?;
    let [status] = &b.callbacks()[..] else { panic!("one callback") };
    let (of_a, of_b) = status.split_once(", ").expect("two federates");
    assert!(of_a.ends_with("=FEDERATE_RESTORE_REQUEST_PENDING"), "{status}");
    let of_others = ["=NO_RESTORE_IN_PROGRESS)", "=FEDERATE_WAITING_FOR_RESTORE_TO_BEGIN)"];
    assert!(of_others.iter().any(|end| of_b.ends_with(end)), "{status}");
    b.publish("C", &["a"])?;
    assert_eq!(b.request_restore("L"), Err(RestoreInProgress), "one request at a time");
    world.hold_jobs(false);
    assert_eq!(a.callbacks()[..2], ["restoreRequestSucceeded(L)", "restoreBegun"]);
    assert_eq!(b.callbacks()[0], "restoreBegun");
    [&a, &b].into_iter().try_for_each(Fed::restore_complete)?;
    told([&a, &b], &["federationRestored"]);
    assert_eq!(b.register("C"), Err(ObjectClassNotPublished), "the state is that of the image");
    Ok(())
}

#[test]
fn federates_must_match_after_an_image_was_read() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    reading(&world, [&a, &b])?;
    b.resign(ResignAction::NoAction)?;
    world.hold_jobs(false);
    told([&a], &["restoreRequestFailed(L)"]);
    a.publish("C", &["a"])
}

/// Nobody is there to be answered.
#[test]
fn the_requester_leaves_while_an_image_is_read() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    reading(&world, [&a, &b])?;
    world.lose(&a);
    world.hold_jobs(false);
    told([&b], &[]);
    b.publish("C", &["a"])?;
    b.request_save("M")?;
    b.save()?;
    told([&b], &["initiateSave(M)", "federationSaved"]);
    Ok(())
}

/// The log does not take commands of any length.
#[test]
fn a_restore_that_the_log_does_not_take_is_refused() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    reading(&world, [&a, &b])?;
    {
        let mut inner = world.0.borrow_mut();
        let now = inner.now;
        let job = inner.rti.poll_job().expect("the image is to be read");
        inner.rti.finish_job(now, job.run());
        let image = inner.rti.poll_proposal().expect("the image is for all nodes");
        assert!(inner.rti.give_up(now, image, "too long").is_none(), "no call waits for it");
    }
    world.hold_jobs(false);
    told([&a], &["restoreRequestFailed(L)"]);
    told([&b], &[]);
    a.request_save("M")?;
    [&a, &b].into_iter().try_for_each(Fed::save)?;
    told([&a, &b], &["initiateSave(M)", "federationSaved"]);
    Ok(())
}
