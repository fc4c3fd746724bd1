//! Ownership that passes from federate to federate (7.2 to 7.16): the edge cases by number, each
//! exception once, and what a transfer means for discovery, scope, advisories and updates.

use crate::common::{Fed, Refused, World};
use hla::Exception::*;
use hla::api::{OrderType, ResignAction};

const NOTHING: [&str; 0] = [];

/// A has registered a C with its attributes a and b (1). B and C publish and know it.
fn federation(switches: &[&str]) -> Refused<(World, Fed, Fed, Fed)> {
    let (world, [a, b, c]) = World::join(switches);
    for fed in [&a, &b, &c] {
        fed.publish("C", &["a", "b"])?;
        fed.subscribe("C", &["a", "b"])?;
    }
    a.register("C")?;
    [&a, &b, &c].into_iter().for_each(Fed::skip);
    Ok((world, a, b, c))
}

#[test]
fn case_69_an_unowned_attribute_is_acquired_at_once() -> Refused {
    let (_world, a, b, c) = federation(&[])?;
    a.divest(1, &["a"], "take it")?;
    assert_eq!(b.callbacks(), ["offered(1, a, #take it)"]);
    b.acquire(1, &["a"], "mine")?;
    assert_eq!(b.callbacks(), ["acquired(1, a)"]);
    assert!(b.owns(1, "a")? && !a.owns(1, "a")?);
    assert_eq!(a.callbacks(), NOTHING, "nobody asks the former owner");
    b.update(1, "a=1")?;
    assert_eq!(a.callbacks(), ["reflect(1, a=1, reliable, B)"], "the registrar has it in scope now");
    assert_eq!(a.update(1, "a=2"), Err(AttributeNotOwned));
    c.query_ownership(1, &["a"])?;
    assert_eq!(c.callbacks(), ["offered(1, a, #take it)", "reflect(1, a=1, reliable, B)", "owned(1, a, B)"]);
    Ok(())
}

#[test]
fn case_70_a_divesting_owner_owns_until_somebody_takes_it() -> Refused {
    let (world, a, b, c) = federation(&[])?;
    a.negotiate(1, &["a"], "offer")?;
    assert_eq!(b.callbacks(), ["offered(1, a, #offer)"]);
    a.update(1, "a=1")?;
    assert_eq!(c.callbacks(), ["offered(1, a, #offer)", "reflect(1, a=1, reliable, A)"]);
    let d = world.joined("D");
    d.subscribe("C", &["a"])?;
    d.skip();
    d.publish("C", &["a"])?;
    assert_eq!(d.callbacks(), ["offered(1, a, #offer)"], "it has become eligible");
    b.acquire_if_available(1, &["a"], "yes")?;
    assert_eq!(a.callbacks(), ["confirm(1, a, #yes)"]);
    a.confirm_divestiture(1, &["a"], "there you are")?;
    let told = b.callbacks();
    assert!(told.contains(&"acquired(1, a, #there you are)".to_owned()), "{told:?}");
    assert!(b.owns(1, "a")?);
    Ok(())
}

#[test]
fn case_71_an_acquirer_that_withdraws_leaves_the_offer_open() -> Refused {
    let (_world, a, b, c) = federation(&[])?;
    a.negotiate(1, &["a"], "")?;
    b.acquire(1, &["a"], "b")?;
    assert_eq!(a.callbacks(), ["confirm(1, a, #b)"]);
    b.cancel_acquisition(1, &["a"])?;
    assert_eq!(b.callbacks(), ["offered(1, a)", "cancelled(1, a)"]);
    assert_eq!(a.confirm_divestiture(1, &["a"], ""), Err(NoAcquisitionPending));
    c.acquire(1, &["a"], "c")?;
    assert_eq!(a.callbacks(), ["confirm(1, a, #c)"]);
    Ok(())
}

#[test]
fn cases_72_and_73_a_federate_that_only_asks_bothers_no_owner() -> Refused {
    let (_world, a, b, _c) = federation(&[])?;
    b.acquire_if_available(1, &["a"], "free?")?;
    assert_eq!(b.callbacks(), ["unavailable(1, a, #free?)"]);
    assert_eq!(a.callbacks(), NOTHING);
    b.acquire(1, &["a"], "please")?;
    assert_eq!(a.callbacks(), ["release(1, a, #please)"]);
    b.acquire(1, &["a"], "again")?;
    assert_eq!(a.callbacks(), NOTHING, "a second request changes nothing");
    assert_eq!(b.acquire_if_available(1, &["a"], ""), Err(AttributeAlreadyBeingAcquired));
    Ok(())
}

#[test]
fn case_74_a_cancellation_or_the_attribute_and_never_both() -> Refused {
    let (_world, a, b, c) = federation(&[])?;
    b.acquire(1, &["a"], "")?;
    a.divest(1, &["a"], "")?;
    assert_eq!(b.cancel_acquisition(1, &["a"]), Err(AttributeAlreadyOwned));
    assert_eq!(b.callbacks(), ["acquired(1, a)"]);
    assert_eq!(c.cancel_acquisition(1, &["a"]), Err(AttributeAcquisitionWasNotRequested));
    Ok(())
}

#[test]
fn case_75_an_acquirer_publishes_at_the_class_it_knows() -> Refused {
    let (world, a, _b, _c) = federation(&[])?;
    let d = world.joined("D");
    d.subscribe("C", &["a", "b"])?;
    d.skip();
    assert_eq!(d.acquire(1, &["a"], ""), Err(ObjectClassNotPublished));
    d.publish("C.S", &["a"])?;
    assert_eq!(d.acquire(1, &["a"], ""), Err(ObjectClassNotPublished), "not the class that it knows");
    d.publish("C", &["b"])?;
    assert_eq!(d.acquire_if_available(1, &["a"], ""), Err(AttributeNotPublished));
    assert_eq!(a.acquire(1, &["a"], ""), Err(FederateOwnsAttributes));
    assert_eq!(a.acquire_if_available(1, &["b"], ""), Err(FederateOwnsAttributes));
    assert_eq!(d.acquire(7, &["b"], ""), Err(ObjectInstanceNotKnown));
    assert_eq!(d.acquire(1, &["c"], ""), Err(AttributeNotDefined));
    assert_eq!(a.callbacks(), NOTHING, "a service that fails has no effect");
    Ok(())
}

#[test]
fn case_76_only_what_is_wanted_is_divested() -> Refused {
    let (_world, a, b, c) = federation(&[])?;
    b.acquire(1, &["a"], "")?;
    assert_eq!(a.divest_if_wanted(1, &["a", "b"], "yours")?, ["a"]);
    assert_eq!(b.callbacks(), ["acquired(1, a, #yours)"]);
    assert!(a.owns(1, "b")?);
    assert_eq!(c.callbacks(), NOTHING, "b is offered to nobody");
    Ok(())
}

#[test]
fn those_that_wait_ask_the_new_owner() -> Refused {
    let (_world, a, b, c) = federation(&[])?;
    b.acquire(1, &["a"], "b")?;
    c.acquire(1, &["a"], "c")?;
    a.divest(1, &["a"], "")?;
    assert_eq!(b.callbacks(), ["acquired(1, a)", "release(1, a, #c)"]);
    b.divest(1, &["a"], "")?;
    assert_eq!(c.callbacks(), ["acquired(1, a)"]);
    Ok(())
}

#[test]
fn an_attribute_with_a_new_owner_is_no_longer_offered() -> Refused {
    let (world, a, b, _c) = federation(&[])?;
    a.divest(1, &["a"], "")?;
    b.acquire(1, &["a"], "")?;
    let d = world.joined("D");
    d.subscribe("C", &["a"])?;
    d.skip();
    d.publish("C", &["a"])?;
    assert_eq!(d.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn case_77_a_denied_release_ends_all_acquisitions() -> Refused {
    let (_world, a, b, c) = federation(&[])?;
    b.acquire(1, &["a"], "")?;
    c.acquire(1, &["a"], "")?;
    a.deny_release(1, &["a"], "mine")?;
    for fed in [&b, &c] {
        assert_eq!(fed.callbacks(), ["unavailable(1, a, #mine)"]);
        assert_eq!(fed.cancel_acquisition(1, &["a"]), Err(AttributeAcquisitionWasNotRequested));
    }
    Ok(())
}

#[test]
fn case_78_the_owner_of_the_privilege_deletes() -> Refused {
    let (_world, a, b, c) = federation(&[])?;
    b.acquire(1, &["privilege"], "")?;
    a.divest_if_wanted(1, &["privilege"], "")?;
    assert_eq!(a.delete(1), Err(DeletePrivilegeNotHeld));
    b.delete(1)?;
    assert_eq!(a.callbacks(), ["release(1, privilege)", "remove(1, B)"]);
    assert_eq!(c.callbacks(), ["remove(1, B)"]);
    assert_eq!(a.owns(1, "a"), Err(ObjectInstanceNotKnown), "what it owned is gone (59)");
    Ok(())
}

#[test]
fn case_80_an_attribute_that_is_being_acquired_stays_published() -> Refused {
    let (_world, a, b, _c) = federation(&[])?;
    b.acquire(1, &["a"], "")?;
    assert_eq!(b.unpublish("C", &["a"]), Err(OwnershipAcquisitionPending));
    assert_eq!(b.unpublish_class("C"), Err(OwnershipAcquisitionPending));
    assert_eq!(b.local_delete(1), Err(OwnershipAcquisitionPending));
    b.unpublish("C", &["b"])?;
    a.unpublish("C", &["a"])?;
    assert_eq!(b.callbacks(), ["acquired(1, a)"], "the divested attribute goes to the one that waits");
    Ok(())
}

#[test]
fn cases_17_and_18_resign_actions_look_at_acquisitions() -> Refused {
    let (_world, a, b, c) = federation(&[])?;
    b.acquire(1, &["a"], "")?;
    for action in [ResignAction::NoAction, ResignAction::DeleteObjectsThenDivest] {
        assert_eq!(b.resign(action), Err(OwnershipAcquisitionPending));
    }
    c.acquire(1, &["a"], "")?;
    b.resign(ResignAction::CancelThenDeleteThenDivest)?;
    a.divest(1, &["a"], "")?;
    assert_eq!(c.callbacks(), ["acquired(1, a)"], "nobody else waits");
    assert_eq!(a.resign(ResignAction::DeleteObjects), Ok(()), "the instance goes with its privilege");
    assert_eq!(c.callbacks(), ["remove(1, A)"]);
    Ok(())
}

#[test]
fn services_of_owners_are_refused_to_others() -> Refused {
    let (_world, a, b, _c) = federation(&[])?;
    assert_eq!(b.divest(1, &["a"], ""), Err(AttributeNotOwned));
    assert_eq!(b.negotiate(1, &["a"], ""), Err(AttributeNotOwned));
    assert_eq!(b.confirm_divestiture(1, &["a"], ""), Err(AttributeNotOwned));
    assert_eq!(b.cancel_negotiated(1, &["a"]), Err(AttributeNotOwned));
    assert_eq!(b.deny_release(1, &["a"], ""), Err(AttributeNotOwned));
    assert_eq!(b.divest_if_wanted(1, &["a"], ""), Err(AttributeNotOwned));
    assert_eq!(a.confirm_divestiture(1, &["a"], ""), Err(AttributeDivestitureWasNotRequested));
    assert_eq!(a.cancel_negotiated(1, &["a"]), Err(AttributeDivestitureWasNotRequested));
    a.negotiate(1, &["a"], "")?;
    assert_eq!(a.negotiate(1, &["a", "b"], ""), Err(AttributeAlreadyBeingDivested));
    b.skip();
    a.cancel_negotiated(1, &["a"])?;
    a.negotiate(1, &["a", "b"], "")?;
    assert_eq!(b.callbacks(), ["offered(1, a b)"]);
    assert_eq!(a.divest(9, &["a"], ""), Err(ObjectInstanceNotKnown));
    assert_eq!(a.divest(1, &["c"], ""), Err(AttributeNotDefined));
    Ok(())
}

#[test]
fn a_tag_is_not_kept_if_it_is_too_long() -> Refused {
    let (_world, _a, b, _c) = federation(&[])?;
    let long = "x".repeat(rti::limits::OWNERSHIP_TAG_BYTES_MAX + 1);
    assert_eq!(b.acquire(1, &["a"], &long), Err(RTIinternalError));
    b.acquire(1, &["a"], &long[1..])
}

#[test]
fn case_50_an_instance_is_discovered_when_an_attribute_finds_an_owner() -> Refused {
    let (world, a, b, _c) = federation(&[])?;
    a.divest(1, &["b"], "")?;
    let d = world.joined("D");
    d.subscribe("C", &["b"])?;
    assert_eq!(d.callbacks(), NOTHING, "nobody owns what it subscribes");
    b.acquire(1, &["b"], "")?;
    assert_eq!(d.callbacks(), ["discover(1, C, A)"]);
    Ok(())
}

#[test]
fn scope_and_relevance_follow_the_owner() -> Refused {
    let (_world, a, b, c) = federation(&["attributeScopeAdvisory", "attributeRelevanceAdvisory"])?;
    b.acquire(1, &["a"], "")?;
    a.divest_if_wanted(1, &["a"], "")?;
    assert_eq!(a.callbacks(), ["release(1, a)", "inScope(1, a)"]);
    assert_eq!(b.callbacks(), ["acquired(1, a)", "outOfScope(1, a)", "updatesOn(1, a)"]);
    assert_eq!(c.callbacks(), NOTHING, "for the others nothing has changed");
    b.divest(1, &["a"], "")?;
    assert_eq!(a.callbacks(), ["outOfScope(1, a)", "offered(1, a)"]);
    c.skip();
    a.acquire(1, &["a"], "")?;
    assert_eq!(c.callbacks(), ["inScope(1, a)"]);
    Ok(())
}

#[test]
fn the_new_owner_sends_as_it_prefers() -> Refused {
    let (_world, a, b, c) = federation(&[])?;
    a.change_transportation(1, &["a"], "bestEffort")?;
    b.change_default_transportation("C", &["b"], "bestEffort")?;
    b.change_default_order("C", &["b"], OrderType::Timestamp.into())?;
    b.acquire(1, &["a", "b"], "")?;
    a.divest_if_wanted(1, &["a", "b"], "")?;
    c.skip();
    b.update(1, "a=1 b=2")?;
    let mut seen = c.callbacks();
    seen.sort_unstable();
    assert_eq!(seen, ["reflect(1, a=1, reliable, B)", "reflect(1, b=2, bestEffort, B)"]);
    Ok(())
}

#[test]
fn requests_for_values_go_to_the_present_owner() -> Refused {
    let (_world, a, b, c) = federation(&[])?;
    b.acquire(1, &["a"], "")?;
    a.divest_if_wanted(1, &["a"], "")?;
    [&a, &b].into_iter().for_each(Fed::skip);
    c.request(1, &["a", "b"], "now")?;
    assert_eq!(a.callbacks(), ["provide(1, b, #now)"]);
    assert_eq!(b.callbacks(), ["provide(1, a, #now)"]);
    Ok(())
}

#[test]
fn a_lost_owner_leaves_its_attributes_to_those_that_wait() -> Refused {
    let (world, a, b, c) = federation(&[])?;
    b.acquire(1, &["a"], "fail-over")?;
    world.lose(&a);
    assert_eq!(b.callbacks(), ["offered(1, privilege b)", "acquired(1, a)"]);
    assert_eq!(c.callbacks(), ["offered(1, privilege b)"]);
    b.acquire_if_available(1, &["b"], "")?;
    assert_eq!(b.callbacks(), ["acquired(1, b)"]);
    Ok(())
}
