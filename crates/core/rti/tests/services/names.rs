//! Object instance names (6.2 to 6.8).

use crate::common::{Refused, World};
use hla::Exception::*;
use hla::api::ResignAction;

#[test]
fn names_are_reserved_then_used() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    b.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    assert_eq!(a.register_as("C", "tank"), Err(ObjectInstanceNameNotReserved));
    a.reserve("tank")?;
    b.reserve("tank")?;
    assert_eq!(a.callbacks(), ["reserved(tank)"]);
    assert_eq!(b.callbacks(), ["notReserved(tank)"]);
    assert_eq!(b.register_as("C", "tank"), Err(ObjectInstanceNameNotReserved));
    let x = a.register_as("C", "tank")?;
    assert_eq!(b.callbacks(), ["discover(1, C tank, A)"]);
    assert_eq!(a.register_as("C", "tank"), Err(ObjectInstanceNameInUse));
    assert_eq!(b.instance_called("tank")?, x);
    assert_eq!(b.instance_name(x)?, "tank");
    assert_eq!(a.release("tank"), Err(ObjectInstanceNameNotReserved), "used up");
    b.reserve("tank")?;
    assert_eq!(b.callbacks(), ["notReserved(tank)"]);
    Ok(())
}

#[test]
fn a_name_is_free_again_after_deletion() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    a.reserve("tank")?;
    let x = a.register_as("C", "tank")?;
    a.delete(x)?;
    assert_eq!(a.register_as("C", "tank"), Err(ObjectInstanceNameNotReserved), "it takes a new reservation");
    b.reserve("tank")?;
    assert_eq!(b.callbacks(), ["reserved(tank)"]);
    assert_eq!(a.instance_called("tank"), Err(ObjectInstanceNotKnown));
    Ok(())
}

#[test]
fn a_failed_registration_keeps_the_reservation() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.reserve("tank")?;
    assert_eq!(a.register_as("C", "tank"), Err(ObjectClassNotPublished));
    assert_eq!(a.register_as("Nope", "tank"), Err(ObjectClassNotDefined));
    a.publish("C", &["a"])?;
    a.register_as("C", "tank").map(|_| ())
}

#[test]
fn illegal_names() {
    let (_, [a]) = World::join(&[]);
    for name in ["", "HLA", "HLAx", "HLA.x"] {
        assert_eq!(a.reserve(name), Err(IllegalName));
        assert_eq!(a.reserve_all(&["fine", name]), Err(IllegalName));
    }
    assert_eq!(a.reserve_all(&[]), Err(NameSetWasEmpty));
    assert!(a.callbacks().is_empty());
    assert_eq!(a.release("fine"), Err(ObjectInstanceNameNotReserved), "a refused set reserved nothing");
}

#[test]
fn several_names_are_reserved_all_or_none() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.reserve("taken")?;
    a.skip();
    b.reserve_all(&["free", "taken"])?;
    assert_eq!(b.callbacks(), ["notReservedAll(free taken)"]);
    a.reserve_all(&["free", "other"])?;
    assert_eq!(a.callbacks(), ["reservedAll(free other)"]);
    assert_eq!(a.release_all(&["free", "other", "never"]), Err(ObjectInstanceNameNotReserved));
    b.reserve("free")?;
    assert_eq!(b.callbacks(), ["notReserved(free)"], "a refused release released nothing");
    a.release_all(&["free", "other"])?;
    a.release("taken")?;
    b.reserve_all(&["free", "other", "taken"])?;
    assert_eq!(b.callbacks(), ["reservedAll(free other taken)"]);
    assert_eq!(a.release("taken"), Err(ObjectInstanceNameNotReserved), "it belongs to B now");
    Ok(())
}

#[test]
fn reservations_end_with_the_membership_but_names_in_use_stay() -> Refused {
    let (world, [a, b, c]) = World::join(&[]);
    a.publish("C", &["a"])?;
    a.reserve_all(&["idle", "used"])?;
    a.register_as("C", "used")?;
    a.resign(ResignAction::UnconditionallyDivestAttributes)?;
    c.reserve("lost")?;
    world.lose(&c);
    for name in ["idle", "used", "lost"] {
        b.reserve(name)?;
    }
    assert_eq!(b.callbacks(), ["reserved(idle)", "notReserved(used)", "reserved(lost)"]);
    Ok(())
}

#[test]
fn names_the_rti_makes_are_unique_and_reserved_to_it() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.publish("C", &["a"])?;
    let (x, y) = (a.register("C")?, a.register("C")?);
    let (first, second) = (a.instance_name(x)?, a.instance_name(y)?);
    assert!(first != second && first.starts_with("HLA"));
    assert_eq!(a.register_as("C", &first), Err(ObjectInstanceNameInUse));
    assert_eq!(a.instance_called(&second)?, y);
    Ok(())
}

#[test]
fn names_may_hold_any_unicode() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.publish("C", &["a"])?;
    let name = "Panzer № 7 🚜\u{0}";
    a.reserve(name)?;
    let x = a.register_as("C", name)?;
    assert_eq!(a.instance_name(x)?, name);
    Ok(())
}
