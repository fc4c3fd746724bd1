//! Synchronization points (4.14 to 4.18).

use crate::common::{NOBODY, Refused, World};
use hla::Exception::*;
use hla::api::ResignAction;
use hla::handle::FederateHandle;

const NOTHING: [&str; 0] = [];

#[test]
fn all_are_told_and_all_are_awaited() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.register_sync("P", "tag")?;
    assert_eq!(a.callbacks(), ["registered(P)", "announce(P, #tag)"]);
    assert_eq!(b.callbacks(), ["announce(P, #tag)"]);
    a.achieve("P", true)?;
    assert_eq!((a.callbacks(), b.callbacks()), (vec![], vec![]));
    b.achieve("P", false)?;
    assert_eq!(a.callbacks(), ["synchronized(P, [B])"]);
    assert_eq!(b.callbacks(), ["synchronized(P, [B])"]);
    assert_eq!(a.achieve("P", true), Err(SynchronizationPointLabelNotAnnounced));
    Ok(())
}

#[test]
fn a_late_joiner_belongs_to_points_of_all() -> Refused {
    let (world, [a]) = World::join(&[]);
    a.register_sync("P", "x")?;
    a.register_sync_for("Q", &[a.handle.get()])?;
    a.skip();
    let late = world.joined("B");
    assert_eq!(late.callbacks(), ["announce(P, #x)"]);
    a.achieve("P", true)?;
    a.achieve("Q", true)?;
    assert_eq!(a.callbacks(), ["synchronized(Q, [])"]);
    assert_eq!(late.achieve("Q", true), Err(SynchronizationPointLabelNotAnnounced));
    late.achieve("P", true)?;
    assert_eq!(late.callbacks(), ["synchronized(P, [])"]);
    Ok(())
}

#[test]
fn an_achiever_who_joined_late_is_awaited_even_after_everybody_else() -> Refused {
    let (world, [a]) = World::join(&[]);
    a.register_sync("P", "")?;
    a.achieve("P", true)?;
    assert_eq!(a.callbacks(), ["registered(P)", "announce(P)", "synchronized(P, [])"]);
    assert_eq!(world.joined("B").callbacks(), NOTHING, "a synchronized point is over");
    Ok(())
}

#[test]
fn labels_are_unique_until_synchronized() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.register_sync("P", "")?;
    b.skip();
    b.register_sync("P", "")?;
    b.register_sync_for("P", &[b.handle.get()])?;
    let failed = "notRegistered(P, SYNCHRONIZATION_POINT_LABEL_NOT_UNIQUE)";
    assert_eq!(b.callbacks(), [failed, failed]);
    a.achieve("P", true)?;
    b.achieve("P", true)?;
    b.skip();
    b.register_sync("P", "")?;
    assert_eq!(b.callbacks(), ["registered(P)", "announce(P)"]);
    Ok(())
}

#[test]
fn a_set_holds_joined_federates_only() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    let gone = b.handle.get();
    b.resign(ResignAction::NoAction)?;
    a.register_sync_for("P", &[a.handle.get(), gone])?;
    assert_eq!(a.callbacks(), ["notRegistered(P, SYNCHRONIZATION_SET_MEMBER_NOT_JOINED)"]);
    assert_eq!(a.register_sync_for("P", &[FederateHandle(NOBODY)]), Err(InvalidFederateHandle));
    assert_eq!(a.register_sync_for("P", &[FederateHandle::INVALID]), Err(InvalidFederateHandle));
    a.register_sync_for("P", &[])?;
    assert_eq!(a.callbacks(), ["registered(P)", "announce(P)"], "an empty set means all");
    Ok(())
}

#[test]
fn a_registrant_outside_its_set_is_told_of_the_registration_only() -> Refused {
    let (_, [a, b, c]) = World::join(&[]);
    a.register_sync_for("P", &[b.handle.get()])?;
    assert_eq!(a.callbacks(), ["registered(P)"]);
    assert_eq!(a.achieve("P", true), Err(SynchronizationPointLabelNotAnnounced));
    b.achieve("P", true)?;
    assert_eq!(b.callbacks(), ["announce(P)", "synchronized(P, [])"]);
    assert_eq!((a.callbacks(), c.callbacks()), (vec![], vec![]));
    Ok(())
}

#[test]
fn the_last_one_missing_resigns_or_is_lost() -> Refused {
    let (world, [a, b, c]) = World::join(&[]);
    a.register_sync("P", "")?;
    a.skip();
    a.achieve("P", true)?;
    b.resign(ResignAction::NoAction)?;
    assert_eq!(a.callbacks(), NOTHING);
    world.lose(&c);
    assert_eq!(a.callbacks(), ["synchronized(P, [])"]);
    Ok(())
}

#[test]
fn a_point_whose_members_all_left_is_gone() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.register_sync_for("P", &[b.handle.get()])?;
    b.resign(ResignAction::NoAction)?;
    a.skip();
    a.register_sync("P", "")?;
    assert_eq!(a.callbacks(), ["registered(P)", "announce(P)"]);
    Ok(())
}

#[test]
fn the_first_of_two_achievements_counts() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.register_sync("P", "")?;
    a.achieve("P", false)?;
    a.achieve("P", true)?;
    a.skip();
    b.achieve("P", true)?;
    assert_eq!(a.callbacks(), ["synchronized(P, [A])"]);
    assert_eq!(a.achieve("R", true), Err(SynchronizationPointLabelNotAnnounced));
    Ok(())
}
