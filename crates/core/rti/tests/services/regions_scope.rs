//! The effects of regions on discovery, scope, advisories, update rates and ownership (9.5 to 9.9).

use crate::common::{Fed, Refused, World};
use crate::regions::apart;
use hla::Exception::*;
use hla::api::ResignAction;
use std::time::Duration;

const NOTHING: [&str; 0] = [];
const SCOPE: &[&str] = &["attributeScopeAdvisory"];
const UPDATES: &[&str] = &["attributeRelevanceAdvisory"];

#[test]
fn an_instance_is_discovered_at_the_most_specific_class_whose_region_overlaps() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    a.publish("C.S", &["a"])?;
    b.subscribe_with("C", &[("a", &[b.region("X=0..100")?])])?;
    b.subscribe_with("C.S", &[("a", &[b.region("X=50..60")?])])?;
    let (here, there) = (a.region("X=10..20")?, a.region("X=50..60")?);
    a.register_with("C.S", &[("a", &[here])])?;
    a.register_with("C.S", &[("a", &[there])])?;
    a.register("C.S")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "discover(2, C.S, A)", "discover(3, C.S, A)"]);
    a.shift(here, "X=50..60")?;
    a.update(1, "a=1")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=1, reliable, A)"]);
    assert_eq!(b.known_class(1)?, "HLAobjectRoot.C", "the known class stays");
    b.local_delete(1)?;
    assert_eq!(b.callbacks(), ["discover(1, C.S, A)"], "all is decided anew");
    Ok(())
}

#[test]
fn each_attribute_has_its_own_regions() -> Refused {
    let (_, [a, b]) = World::in_regions(SCOPE);
    a.publish("C", &["a", "b", "t"])?;
    let (here, there) = (a.region("X=10..20")?, a.region("X=50..60")?);
    let of_b = b.region("X=15..16")?;
    b.subscribe_with("C", &[("a b t", &[of_b])])?;
    let x = a.register_with("C", &[("a", &[here]), ("b", &[there])])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a t)"], "t has no regions");
    a.update(x, "a=1 b=1")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=1, reliable, A)"]);
    b.shift(of_b, "X=55..56")?;
    let mut told = b.callbacks();
    told.sort_unstable();
    assert_eq!(told, ["inScope(1, b)", "outOfScope(1, a)"]);
    Ok(())
}

#[test]
fn a_named_instance_is_registered_with_regions() -> Refused {
    let (_, [a, b, c]) = World::in_regions(&[]);
    a.publish("C", &["a"])?;
    a.reserve("tank")?;
    b.subscribe_with("C", &[("a", &[b.region("X=50..60")?])])?;
    c.subscribe_with("C", &[("a", &[c.region("X=10..20")?])])?;
    a.register_as_with("C", "tank", &[("a", &[a.region("X=10..20")?])])?;
    assert_eq!(b.callbacks(), NOTHING, "the region was there before the instance");
    assert_eq!(c.callbacks(), ["discover(1, C tank, A)"]);
    Ok(())
}

#[test]
fn associations_are_added_and_removed_one_by_one() -> Refused {
    let (_world, [a, b], of_a, _) = apart(SCOPE)?;
    let near = a.region("X=55..56")?;
    a.associate(1, &[("a", &[near])])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a)"]);
    a.associate(1, &[("a", &[near, of_a]), ("b", &[]), ("", &[near])])?;
    assert_eq!(b.callbacks(), NOTHING, "there is nothing new");
    a.unassociate(1, &[("a", &[near])])?;
    assert_eq!(b.callbacks(), ["outOfScope(1, a)"]);
    a.unassociate(1, &[("a b", &[near]), ("a", &[])])?;
    assert_eq!(b.callbacks(), NOTHING, "what is not associated is ignored");
    a.unassociate(1, &[("a b", &[of_a])])?;
    assert_eq!(b.callbacks(), ["inScope(1, a b)"], "without regions there is the default region");
    a.associate(1, &[("b", &[of_a])])?;
    assert_eq!(b.callbacks(), ["outOfScope(1, b)"]);
    Ok(())
}

#[test]
fn a_federate_knows_what_it_unsubscribed_itself() -> Refused {
    let (_world, [a, b], of_a, of_b) = apart(SCOPE)?;
    a.shift(of_a, "X=50..60")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a b)"]);
    b.unsubscribe_with("C", &[("a", &[of_b])])?;
    a.update(1, "a=1 b=1")?;
    assert_eq!(b.callbacks(), ["reflect(1, b=1, bestEffort, A)"], "it is not told that a left its scope");
    b.subscribe_with("C", &[("a", &[of_b])])?;
    assert_eq!(b.callbacks(), ["inScope(1, a)"]);
    b.shift(of_b, "X=0..5")?;
    assert_eq!(b.callbacks(), ["outOfScope(1, a b)"], "it is told what its commitment means");
    Ok(())
}

#[test]
fn plain_and_regional_subscriptions_of_attributes_end_separately() -> Refused {
    let (_world, [a, b], _, of_b) = apart(SCOPE)?;
    let both = ["reflect(1, a=1, reliable, A)", "reflect(1, b=1, bestEffort, A)"];
    b.subscribe("C", &["a"])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a)"]);
    b.shift(of_b, "X=10..20")?;
    assert_eq!(b.callbacks(), ["inScope(1, b)"], "a was in scope before");
    a.update(1, "a=1 b=1")?;
    assert_eq!(b.callbacks(), both, "once, for both subscriptions");
    b.unsubscribe("C", &["a", "b"])?;
    a.update(1, "a=1 b=1")?;
    assert_eq!(b.callbacks(), both, "the regional ones are left");
    b.subscribe("C", &["a"])?;
    b.unsubscribe_with("C", &[("a", &[of_b])])?;
    a.update(1, "a=1 b=1")?;
    assert_eq!(b.callbacks(), both, "the plain one of a is left");
    b.shift(of_b, "X=50..60")?;
    assert_eq!(b.callbacks(), ["outOfScope(1, b)"]);
    b.unsubscribe_class("C")?;
    b.shift(of_b, "X=10..20")?;
    assert_eq!(b.callbacks(), ["inScope(1, b)"], "the whole class is unsubscribed without the regions");
    for _ in 0..2 {
        b.unsubscribe_with("C", &[("a b", &[of_b])])?;
        a.update(1, "a=1 b=1")?;
        assert_eq!(b.callbacks(), NOTHING);
    }
    Ok(())
}

#[test]
fn each_pair_of_attribute_and_region_is_unsubscribed_alone() -> Refused {
    let (_world, [a, b], of_a, first) = apart(&[])?;
    a.shift(of_a, "X=50..60")?;
    let second = b.region("X=55..56")?;
    b.subscribe_with("C", &[("a b", &[second])])?;
    b.unsubscribe_with("C", &[("a", &[first]), ("b", &[second]), ("a b", &[]), ("", &[second])])?;
    b.skip();
    a.update(1, "a=1 b=1")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=1, reliable, A)", "reflect(1, b=1, bestEffort, A)"]);
    b.unsubscribe_with("C", &[("a", &[second])])?;
    a.update(1, "a=2 b=2")?;
    assert_eq!(b.callbacks(), ["reflect(1, b=2, bestEffort, A)"]);
    Ok(())
}

#[test]
fn registration_and_interactions_are_wanted_wherever_the_regions_are() -> Refused {
    let (_, [a, b]) = World::in_regions(&["objectClassRelevanceAdvisory", "interactionRelevanceAdvisory"]);
    a.publish("C", &["a"])?;
    a.publish_interaction("I")?;
    let (first, second) = (b.region("X=0..1")?, b.region("X=1..2")?);
    b.subscribe_passively_at_with("C", &[("a", &[first])], "Low")?;
    b.subscribe_interaction_passively_with("I", &[first])?;
    assert_eq!(a.callbacks(), NOTHING);
    b.subscribe_with("C", &[("a", &[first, second])])?;
    b.subscribe_interaction_with("I", &[first, second])?;
    assert_eq!(a.callbacks(), ["startRegistration(C)", "interactionsOn(I)"]);
    b.subscribe_passively_with("C", &[("a", &[first])])?;
    b.subscribe_interaction_passively_with("I", &[first])?;
    b.shift(second, "X=50..60")?;
    assert_eq!(a.callbacks(), NOTHING, "the second ones are active");
    b.unsubscribe_with("C", &[("a", &[second])])?;
    b.unsubscribe_interaction_with("I", &[second])?;
    assert_eq!(a.callbacks(), ["stopRegistration(C)", "interactionsOff(I)"], "the first ones are passive");
    b.subscribe_with("C", &[("a", &[])])?;
    b.subscribe_interaction_with("I", &[])?;
    assert_eq!(a.callbacks(), NOTHING, "no region, no subscription");
    Ok(())
}

#[test]
fn updates_are_wanted_while_an_active_subscription_applies() -> Refused {
    let (_world, [a, b], of_a, of_b) = apart(UPDATES)?;
    assert_eq!(a.callbacks(), NOTHING);
    b.shift(of_b, "X=10..20")?;
    assert_eq!(a.callbacks(), ["updatesOn(1, a b)"]);
    a.shift(of_a, "X=70..80")?;
    assert_eq!(a.callbacks(), ["updatesOff(1, a b)"], "its own commitment is no exception");
    b.subscribe_passively("C", &["a"])?;
    b.skip();
    a.update(1, "a=1")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=1, reliable, A)"]);
    assert_eq!(a.callbacks(), NOTHING, "a passive subscriber wants nothing");
    b.shift(of_b, "X=70..80")?;
    assert_eq!(a.callbacks(), ["updatesOn(1, a b)"], "one of two subscriptions of a is active");
    b.subscribe_passively_with("C", &[("a b", &[of_b])])?;
    assert_eq!(a.callbacks(), ["updatesOff(1, a b)"], "it has replaced the active one");
    Ok(())
}

#[test]
fn update_rates_are_those_of_the_subscriptions_that_apply() -> Refused {
    let (_, [a, b]) = World::in_regions(UPDATES);
    a.publish("C", &["b"])?;
    let x = a.register_with("C", &[("b", &[a.region("X=10..20")?])])?;
    let (high, unlimited) = (b.region("X=15..16")?, b.region("X=50..60")?);
    b.subscribe_at("C", &["b"], "Low")?;
    assert_eq!((a.callbacks(), b.rate_of(x, "b")?), (vec!["updatesOn(1, b, Low)".to_owned()], 1.0));
    b.subscribe_at_with("C", &[("b", &[high])], "High")?;
    assert_eq!((a.callbacks(), b.rate_of(x, "b")?), (vec!["updatesOn(1, b, High)".to_owned()], 10.0));
    b.subscribe_with("C", &[("b", &[unlimited])])?;
    assert_eq!((a.callbacks(), b.rate_of(x, "b")?), (vec![], 10.0), "it does not apply");
    b.shift(unlimited, "X=10..11")?;
    assert_eq!((a.callbacks(), b.rate_of(x, "b")?), (vec!["updatesOn(1, b)".to_owned()], 0.0));
    b.shift(unlimited, "X=50..60")?;
    assert_eq!((a.callbacks(), b.rate_of(x, "b")?), (vec!["updatesOn(1, b, High)".to_owned()], 10.0));
    b.subscribe_at_with("C", &[("b", &[high])], "Low")?;
    assert_eq!((a.callbacks(), b.rate_of(x, "b")?), (vec!["updatesOn(1, b, Low)".to_owned()], 1.0));
    b.unsubscribe("C", &["b"])?;
    b.shift(high, "X=50..60")?;
    assert_eq!(a.callbacks(), ["updatesOff(1, b)"], "the region alone wanted them");
    Ok(())
}

#[test]
fn values_are_thinned_out_to_the_rate_that_applies() -> Refused {
    let (world, [a, b]) = World::in_regions(&[]);
    a.publish("C", &["b"])?;
    let x = a.register_with("C", &[("b", &[a.region("X=10..20")?])])?;
    let high = b.region("X=15..16")?;
    b.subscribe_at("C", &["b"], "Low")?;
    b.subscribe_at_with("C", &[("b", &[high])], "High")?;
    b.skip();
    let update_after = |value: u32, wait: u64| -> Refused<Vec<String>> {
        world.pass(Duration::from_millis(wait));
        a.update(x, &format!("b={value}"))?;
        Ok(b.callbacks())
    };
    assert_eq!(update_after(1, 0)?, ["reflect(1, b=1, bestEffort, A)"]);
    assert_eq!(update_after(2, 100)?, ["reflect(1, b=2, bestEffort, A)"]);
    assert_eq!(update_after(3, 50)?, NOTHING);
    b.shift(high, "X=50..60")?;
    assert_eq!(update_after(4, 200)?, NOTHING, "less than a second after the last one");
    assert_eq!(update_after(5, 1_000)?, ["reflect(1, b=5, bestEffort, A)"]);
    Ok(())
}

#[test]
fn values_are_asked_for_when_a_region_brings_them_into_scope() -> Refused {
    let (_world, [a, b], of_a, of_b) = apart(&["autoProvide"])?;
    b.shift(of_b, "X=10..20")?;
    assert_eq!(a.callbacks(), ["provide(1, a b)"]);
    a.shift(of_a, "X=12..13")?;
    assert_eq!(a.callbacks(), NOTHING, "they were in scope before");
    a.shift(of_a, "X=70..80")?;
    assert_eq!(a.callbacks(), NOTHING);
    a.shift(of_a, "X=12..13")?;
    assert_eq!(a.callbacks(), ["provide(1, a b)"]);
    a.associate(1, &[("a", &[a.region("X=11..12")?])])?;
    assert_eq!(a.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn the_regions_of_the_owner_count_and_go_with_its_ownership() -> Refused {
    let (_, [a, b, c]) = World::in_regions(SCOPE);
    [&a, &c].into_iter().try_for_each(|fed| fed.publish("C", &["a"]))?;
    let (here, away) = (a.region("X=10..20")?, c.region("X=50..60")?);
    b.subscribe_with("C", &[("a", &[b.region("X=15..16")?])])?;
    c.subscribe("C", &["a"])?;
    a.register_with("C", &[("a", &[here])])?;
    c.associate(1, &[("a", &[away])])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a)"], "C does not own it yet");
    assert_eq!(c.delete_region(away), Err(RegionInUseForUpdateOrSubscription));
    c.acquire(1, &["a"], "")?;
    a.divest_if_wanted(1, &["a"], "")?;
    assert_eq!(b.callbacks(), ["outOfScope(1, a)"]);
    a.delete_region(here)?;
    c.update(1, "a=1")?;
    assert_eq!(b.callbacks(), NOTHING);
    c.divest(1, &["a"], "")?;
    c.delete_region(away)?;
    a.acquire(1, &["a"], "")?;
    a.update(1, "a=2")?;
    assert_eq!(b.callbacks(), ["inScope(1, a)", "reflect(1, a=2, reliable, A)"], "it has no regions now");
    Ok(())
}

#[test]
fn associations_end_with_the_instance_and_with_knowledge_of_it() -> Refused {
    let (_, [a, c]) = World::in_regions(&[]);
    a.publish("C", &["a", "b"])?;
    c.subscribe("C", &["a"])?;
    let associate = || -> Refused<_> {
        let (of_a, of_c) = (a.region("X=10..20")?, c.region("X=50..60")?);
        let x = a.register_with("C", &[("a", &[of_a])])?;
        c.associate(x, &[("b", &[of_c])])?;
        Ok((x, of_a, of_c))
    };
    let (x, of_a, of_c) = associate()?;
    c.local_delete(x)?;
    c.delete_region(of_c)?;
    assert_eq!(a.delete_region(of_a), Err(RegionInUseForUpdateOrSubscription));
    a.delete(x)?;
    a.delete_region(of_a)?;
    let (x, of_a, of_c) = associate()?;
    a.delete(x)?;
    a.delete_region(of_a)?;
    c.delete_region(of_c)?;
    let (_, of_a, of_c) = associate()?;
    a.unpublish("C", &["a"])?;
    a.delete_region(of_a)?;
    assert_eq!(c.delete_region(of_c), Err(RegionInUseForUpdateOrSubscription), "it still knows the instance");
    Ok(())
}

/// Ends the membership of a federate, in one of two ways.
fn leave(world: &World, fed: &Fed, lost: bool) -> Refused {
    match lost {
        true => world.lose(fed),
        false => fed.resign(ResignAction::UnconditionallyDivestAttributes)?,
    }
    world.work();
    Ok(())
}

#[test]
fn regions_of_a_federate_that_has_left_count_no_longer() -> Refused {
    for lost in [false, true] {
        let (world, [a, b], _, of_b) = apart(&["attributeScopeAdvisory", "attributeRelevanceAdvisory"])?;
        let c = world.joined("C");
        c.publish("C", &["a"])?;
        c.subscribe("C", &["a"])?;
        b.shift(of_b, "X=10..20")?;
        b.shift(of_b, "X=50..60")?;
        leave(&world, &a, lost)?;
        b.skip();
        c.acquire(1, &["a"], "")?;
        assert_eq!(b.callbacks(), ["inScope(1, a)"], "A took its region along, and C has none");
        c.skip();
        c.associate(1, &[("a", &[c.region("X=50..60")?])])?;
        assert_eq!(c.callbacks(), NOTHING);
        leave(&world, &b, lost)?;
        assert_eq!(c.callbacks(), ["updatesOff(1, a)"]);
    }
    Ok(())
}

#[test]
fn an_attribute_without_regions_is_discovered_beside_one_with_regions() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    let (of_a, of_b) = (a.region("X=10..20")?, b.region("X=50..60")?);
    a.publish("C", &["a", "b"])?;
    b.subscribe_with("C", &[("a b", &[of_b])])?;
    let x = a.register_with("C", &[("a", &[of_a])])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)"]);
    a.update(x, "a=1 b=1")?;
    assert_eq!(b.callbacks(), ["reflect(1, b=1, bestEffort, A)"]);
    Ok(())
}
