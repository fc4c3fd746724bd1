//! Interactions with regions (9.10 to 9.12), requests for values (9.13), and the regions that updates
//! and interactions are sent with.

use crate::common::{Fed, Refused, World};
use hla::api::{OrderType, ResignAction};
use hla::handle::RegionHandle;

const NOTHING: [&str; 0] = [];
const CONVEY: &[&str] = &["conveyRegionDesignatorSets"];

/// The callbacks to a federate, in the order of their texts.
fn sorted(fed: &Fed) -> Vec<String> {
    let mut callbacks = fed.callbacks();
    callbacks.sort_unstable();
    callbacks
}

#[test]
fn an_interaction_comes_at_the_most_specific_class_whose_region_overlaps() -> Refused {
    let (_, [a, b, c, d, e]) = World::in_regions(&[]);
    a.publish_interaction("I.J")?;
    let of_a = a.region("X=10..20")?;
    let (here, there) = (|fed: &Fed| fed.region("X=15..16"), |fed: &Fed| fed.region("X=50..60"));
    b.subscribe_interaction("I")?;
    b.subscribe_interaction_with("I.J", &[there(&b)?])?;
    c.subscribe_interaction_with("I", &[here(&c)?])?;
    c.subscribe_interaction_with("I.J", &[there(&c)?, here(&c)?])?;
    d.subscribe_interaction_with("I", &[here(&d)?])?;
    d.subscribe_interaction_with("I.J", &[there(&d)?])?;
    e.subscribe_interaction_with("I", &[there(&e)?])?;
    e.subscribe_interaction_with("I.J", &[there(&e)?])?;
    a.send_with("I.J", "p=1 q=1", &[of_a])?;
    assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A)"]);
    assert_eq!(c.callbacks(), ["receive(I.J, p=1 q=1, reliable, A)"]);
    assert_eq!(d.callbacks(), ["receive(I, p=1, reliable, A)"]);
    assert_eq!(e.callbacks(), NOTHING);
    a.send("I.J", "p=2 q=2")?;
    for fed in [b, c, d, e] {
        assert_eq!(fed.callbacks(), ["receive(I.J, p=2 q=2, reliable, A)"], "to {}", fed.name);
    }
    Ok(())
}

#[test]
fn dimensions_of_the_sent_and_of_the_subscribed_class_count() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    a.publish_interaction("I.J")?;
    let (of_a, of_b) = (a.region("X=10..20 Z=0..5")?, b.region("X=15..16")?);
    b.subscribe_interaction_with("I", &[of_b])?;
    a.send_with("I.J", "p=1", &[of_a])?;
    assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A)"], "Z is not available at I");
    let in_z = b.region("X=15..16 Z=5..6")?;
    b.subscribe_interaction_with("I.J", &[in_z])?;
    a.send_with("I.J", "p=2", &[of_a])?;
    assert_eq!(b.callbacks(), ["receive(I, p=2, reliable, A)"], "they do not overlap in Z");
    let high = a.region("X=10..20 Y=10..20")?;
    a.send_with("I.J", "p=3", &[high])?;
    assert_eq!(b.callbacks(), NOTHING, "Y is 0 to 10 for B");
    Ok(())
}

#[test]
fn plain_and_regional_subscriptions_of_interactions_end_separately() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    a.publish_interaction("I")?;
    let (here, there) = (a.region("X=10..20")?, a.region("X=50..60")?);
    let (first, second) = (b.region("X=15..16")?, b.region("X=12..13")?);
    let receives = |place: &str, regions: &[RegionHandle]| -> Refused<bool> {
        a.send_with("I", "p=1", regions)?;
        let received = b.callbacks();
        assert!(received.is_empty() || received == ["receive(I, p=1, reliable, A)"], "{place}: {received:?}");
        Ok(!received.is_empty())
    };
    b.subscribe_interaction_with("I", &[first, second])?;
    assert!(receives("here", &[here])? && receives("both", &[here, there])? && receives("all", &[])?);
    assert!(!receives("there", &[there])?);
    b.subscribe_interaction("I")?;
    assert!(receives("here", &[here])? && receives("there", &[there])?);
    b.unsubscribe_interaction_with("I", &[first])?;
    b.unsubscribe_interaction("I")?;
    assert!(receives("here", &[here])? && !receives("there", &[there])?, "the second region is left");
    b.subscribe_interaction("I")?;
    b.unsubscribe_interaction_with("I", &[first, second])?;
    b.unsubscribe_interaction_with("I", &[second])?;
    assert!(receives("there", &[there])?, "the plain one is left");
    b.unsubscribe_interaction("I")?;
    assert!(!receives("here", &[here])? && !receives("all", &[])?);
    Ok(())
}

#[test]
fn regions_of_senders_and_receivers_of_interactions_move() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    a.publish_interaction("I")?;
    let (of_a, of_b) = (a.region("X=10..20")?, b.region("X=50..60")?);
    b.subscribe_interaction_with("I", &[of_b])?;
    a.send_with("I", "p=1", &[of_a])?;
    b.shift(of_b, "X=15..16")?;
    a.send_with("I", "p=2", &[of_a])?;
    a.set_range(of_a, "X", 0..1)?;
    a.send_with("I", "p=3", &[of_a])?;
    a.commit(&[of_a])?;
    a.send_with("I", "p=4", &[of_a])?;
    assert_eq!(b.callbacks(), ["receive(I, p=2, reliable, A)", "receive(I, p=3, reliable, A)"]);
    Ok(())
}

#[test]
fn a_time_without_regulation_is_passed_along_with_regions() -> Refused {
    let (_, [a, b]) = World::in_regions(CONVEY);
    a.publish_interaction("I")?;
    let of_a = a.region("X=10..20")?;
    b.subscribe_interaction("I")?;
    assert!(!a.send_with_at("I", "p=1", &[of_a], 3)?, "nothing can be retracted");
    assert!(!a.send_with_at("I", "p=2", &[], 3)?);
    assert_eq!(
        b.callbacks(),
        ["receive(I, p=1, reliable, A, t=3, [X=10..20])", "receive(I, p=2, reliable, A, t=3, [])"]
    );
    Ok(())
}

#[test]
fn a_region_may_go_while_a_message_is_on_its_way() -> Refused {
    let (_, [a, b, c]) = World::in_regions(&["nonRegulatedGrant", "conveyRegionDesignatorSets"]);
    a.publish_interaction("I")?;
    a.order_interaction("I", OrderType::Timestamp)?;
    b.subscribe_interaction_with("I", &[b.region("X=15..16")?])?;
    c.subscribe_interaction("I")?;
    a.regulate(1)?;
    b.constrain()?;
    b.skip();
    let of_a = a.region("X=10..20")?;
    a.send_with_at("I", "p=1", &[of_a], 3)?;
    a.delete_region(of_a)?;
    a.resign(ResignAction::NoAction)?;
    b.tar(5)?;
    assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A, t=3, TSO, [X=10..20])", "granted(5)"]);
    assert_eq!(c.callbacks(), ["receive(I, p=1, reliable, A, t=3, TSO as RO, [X=10..20])"]);
    Ok(())
}

#[test]
fn regions_are_conveyed_to_those_who_ask_for_them() -> Refused {
    let (_, [a, b, c]) = World::in_regions(CONVEY);
    c.set_convey_regions(false)?;
    a.publish("C", &["a"])?;
    a.publish_interaction("I")?;
    for fed in [&b, &c] {
        fed.subscribe("C", &["a"])?;
        fed.subscribe_interaction("I")?;
    }
    // Y comes after X, whatever the order in which they are given.
    let (first, second) = (a.region("Y=3..4 X=10..20")?, a.region("X=50..60")?);
    let x = a.register_with("C", &[("a", &[second])])?;
    a.associate(x, &[("a", &[first])])?;
    [&b, &c].into_iter().for_each(Fed::skip);
    a.set_range(first, "X", 0..1)?;
    a.update(x, "a=1")?;
    a.send_with("I", "p=1", &[second, first])?;
    a.unassociate(x, &[("a", &[second])])?;
    a.commit(&[first])?;
    a.update(x, "a=2")?;
    a.unassociate(x, &[("a", &[first])])?;
    a.update(x, "a=3")?;
    a.send("I", "p=2")?;
    assert_eq!(
        b.callbacks(),
        [
            "reflect(1, a=1, reliable, A, [X=10..20 Y=3..4; X=50..60])",
            "receive(I, p=1, reliable, A, [X=10..20 Y=3..4; X=50..60])",
            "reflect(1, a=2, reliable, A, [X=0..1 Y=3..4])",
            "reflect(1, a=3, reliable, A, [])",
            "receive(I, p=2, reliable, A, [])",
        ]
    );
    assert_eq!(
        c.callbacks(),
        [
            "reflect(1, a=1, reliable, A)",
            "receive(I, p=1, reliable, A)",
            "reflect(1, a=2, reliable, A)",
            "reflect(1, a=3, reliable, A)",
            "receive(I, p=2, reliable, A)",
        ]
    );
    c.set_convey_regions(true)?;
    b.set_convey_regions(false)?;
    a.update(x, "a=4")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=4, reliable, A)"]);
    assert_eq!(c.callbacks(), ["reflect(1, a=4, reliable, A, [])"]);
    Ok(())
}

#[test]
fn all_regions_of_an_update_are_conveyed_whether_they_overlap_or_not() -> Refused {
    let (_, [a, b]) = World::in_regions(CONVEY);
    a.publish("C", &["a"])?;
    let (here, there) = (a.region("X=10..20")?, a.region("X=50..60")?);
    b.subscribe_with("C", &[("a", &[b.region("X=15..16")?])])?;
    let x = a.register_with("C", &[("a", &[there, here])])?;
    a.update(x, "a=1")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "reflect(1, a=1, reliable, A, [X=10..20; X=50..60])"]);
    Ok(())
}

#[test]
fn attributes_with_other_sets_of_regions_come_in_other_passels() -> Refused {
    let (_, [a, b]) = World::in_regions(CONVEY);
    a.publish("C.S", &["a", "b", "c", "t"])?;
    b.subscribe("C.S", &["a", "b", "c", "t"])?;
    let (first, second) = (a.region("X=10..20")?, a.region("X=50..60")?);
    let x = a.register_with("C.S", &[("a b", &[first]), ("t", &[second])])?;
    a.associate(x, &[("t", &[first]), ("a b", &[second])])?;
    b.skip();
    a.update(x, "a=1 b=2 c=3 t=4")?;
    assert_eq!(
        sorted(&b),
        [
            "reflect(1, a=1 t=4, reliable, A, [X=10..20; X=50..60])",
            "reflect(1, b=2, bestEffort, A, [X=10..20; X=50..60])",
            "reflect(1, c=3, reliable, A, [])",
        ]
    );
    a.unassociate(x, &[("t", &[first])])?;
    a.update(x, "a=5 t=6")?;
    assert_eq!(
        sorted(&b),
        ["reflect(1, a=5, reliable, A, [X=10..20; X=50..60])", "reflect(1, t=6, reliable, A, [X=50..60])",]
    );
    Ok(())
}

#[test]
fn passels_are_split_for_those_who_see_no_regions_too() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    a.publish("C", &["a", "t"])?;
    b.subscribe("C", &["a", "t"])?;
    let x = a.register_with("C", &[("a", &[a.region("X=10..20")?])])?;
    b.skip();
    a.update(x, "a=1 t=2")?;
    assert_eq!(sorted(&b), ["reflect(1, a=1, reliable, A)", "reflect(1, t=2, reliable, A)"]);
    Ok(())
}

/// A has registered four instances with attributes a and b: a C (1) and a C.S (2) with a region at X 10
/// to 20, a C at 50 to 60 (3), and a C without regions (4).
fn four(a: &Fed) -> Refused {
    a.publish("C", &["a", "b"])?;
    a.publish("C.S", &["a", "b"])?;
    let (here, there) = (a.region("X=10..20")?, a.region("X=50..60")?);
    for (class, region) in [("C", here), ("C.S", here), ("C", there)] {
        a.register_with(class, &[("a b", &[region])])?;
    }
    a.register("C").map(drop)
}

#[test]
fn a_request_with_regions_is_for_what_overlaps() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    four(&a)?;
    let (here, there) = (b.region("X=15..16")?, b.region("X=55..56")?);
    b.request_with("C", &[("a", &[here])], "why")?;
    assert_eq!(
        sorted(&a),
        ["provide(1, a, #why)", "provide(2, a, #why)", "provide(4, a, #why)"],
        "what has no regions overlaps"
    );
    b.request_with("C.S", &[("a b", &[here, there])], "")?;
    assert_eq!(a.callbacks(), ["provide(2, a b)"]);
    b.request_with("C", &[("a", &[here]), ("a b", &[there])], "")?;
    assert_eq!(sorted(&a), ["provide(1, a)", "provide(2, a)", "provide(3, a b)", "provide(4, a b)"]);
    b.request_with("C", &[("a", &[]), ("", &[here])], "")?;
    b.request_with("C", &[], "")?;
    a.request_with("C", &[("a", &[a.region("X=0..100")?])], "")?;
    assert_eq!(a.callbacks(), NOTHING, "no regions, no attributes, or its own instances");
    assert_eq!(b.callbacks(), NOTHING, "a request needs no subscription and discovers nothing");
    Ok(())
}

#[test]
fn a_request_looks_at_the_committed_ranges() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    a.publish("C", &["a"])?;
    let (of_a, of_b) = (a.region("X=10..20")?, b.region("X=50..60 Y=10..20")?);
    a.register_with("C", &[("a", &[of_a])])?;
    b.set_range(of_b, "X", 10..20)?;
    b.request_with("C", &[("a", &[of_b])], "")?;
    b.commit(&[of_b])?;
    b.request_with("C", &[("a", &[of_b])], "")?;
    assert_eq!(a.callbacks(), NOTHING, "Y is 0 to 10 for A");
    b.shift(of_b, "Y=9..20")?;
    b.request_with("C", &[("a", &[of_b])], "")?;
    assert_eq!(a.callbacks(), ["provide(1, a)"]);
    Ok(())
}
