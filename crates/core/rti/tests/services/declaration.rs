//! Publication and subscription (clause 5).

use crate::common::{Refused, World};
use hla::Exception::*;

const NOTHING: [&str; 0] = [];

#[test]
fn publications_add_up_and_bring_the_privilege_to_delete() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.publish("C", &["a"])?;
    let first = a.register("C")?;
    a.publish("C", &["b"])?;
    let second = a.register("C")?;
    assert_eq!(a.update(first, "b=1"), Err(AttributeNotOwned), "not published when it was registered");
    a.update(second, "a=1 b=1")?;
    assert_eq!(a.update(second, "t=1"), Err(AttributeNotOwned));
    a.delete(first)?;
    a.delete(second)
}

#[test]
fn unknown_classes_and_attributes_have_no_effect() -> Refused {
    let (_, [a]) = World::join(&[]);
    assert_eq!(a.publish("Nope", &["a"]), Err(ObjectClassNotDefined));
    assert_eq!(a.publish("C", &["a", "nope"]), Err(AttributeNotDefined));
    assert_eq!(a.register("C"), Err(ObjectClassNotPublished), "one bad member: nothing was published");
    assert_eq!(a.subscribe("Nope", &["a"]), Err(ObjectClassNotDefined));
    assert_eq!(a.subscribe("C", &["a", "nope"]), Err(AttributeNotDefined));
    assert_eq!(a.unpublish("Nope", &[]), Err(ObjectClassNotDefined));
    assert_eq!(a.unpublish("C", &["e"]), Err(AttributeNotDefined));
    assert_eq!(a.unpublish_class("Nope"), Err(ObjectClassNotDefined));
    assert_eq!(a.unsubscribe("Nope", &[]), Err(ObjectClassNotDefined));
    assert_eq!(a.unsubscribe("C", &["e"]), Err(AttributeNotDefined));
    assert_eq!(a.unsubscribe_class("Nope"), Err(ObjectClassNotDefined));
    assert_eq!(a.publish_interaction("Nope"), Err(InteractionClassNotDefined));
    assert_eq!(a.unpublish_interaction("Nope"), Err(InteractionClassNotDefined));
    assert_eq!(a.subscribe_interaction("Nope"), Err(InteractionClassNotDefined));
    assert_eq!(a.subscribe_interaction_passively("Nope"), Err(InteractionClassNotDefined));
    assert_eq!(a.unsubscribe_interaction("Nope"), Err(InteractionClassNotDefined));
    Ok(())
}

#[test]
fn a_refused_unpublish_keeps_everything() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.publish("C", &["a", "b"])?;
    let x = a.register("C")?;
    assert_eq!(a.unpublish("C", &["a", "nope"]), Err(AttributeNotDefined));
    a.update(x, "a=1")
}

#[test]
fn attributes_of_a_subclass_are_not_available_above() -> Refused {
    let (_, [a]) = World::join(&[]);
    assert_eq!(a.publish("C", &["c"]), Err(AttributeNotDefined));
    assert_eq!(a.subscribe("C", &["c"]), Err(AttributeNotDefined));
    a.publish("C.S", &["a", "c"])?;
    assert_eq!(a.attribute_handle("C", "a")?, a.attribute_handle("C.S", "a")?);
    Ok(())
}

#[test]
fn empty_sets_declare_nothing() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &[])?;
    assert_eq!(a.register("C"), Err(ObjectClassNotPublished));
    a.publish("C", &["a"])?;
    a.publish("C", &[])?;
    b.subscribe("C", &["a"])?;
    b.subscribe("C", &[])?;
    a.register("C")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)"]);
    Ok(())
}

#[test]
fn unpublishing_divests_what_is_known_as_that_class() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a", "b"])?;
    a.publish("C.S", &["a"])?;
    let (c, s) = (a.register("C")?, a.register("C.S")?);
    b.subscribe("C", &["a", "b"])?;
    b.skip();
    a.unpublish("C", &["a"])?;
    assert_eq!(a.update(c, "a=1"), Err(AttributeNotOwned));
    a.update(c, "b=1")?;
    a.update(s, "a=1")?;
    a.unpublish_class("C")?;
    assert_eq!(a.update(c, "b=1"), Err(AttributeNotOwned));
    assert_eq!(
        a.delete(c),
        Err(DeletePrivilegeNotHeld),
        "the implicit privilege went with the last attribute"
    );
    a.update(s, "a=2")?;
    assert_eq!(a.register("C"), Err(ObjectClassNotPublished));
    assert_eq!(
        b.callbacks(),
        ["reflect(1, b=1, bestEffort, A)", "reflect(2, a=1, reliable, A)", "reflect(2, a=2, reliable, A)"]
    );
    assert_eq!(a.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn unpublishing_what_is_not_published_changes_nothing() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.unpublish_class("C")?;
    a.unpublish("C", &["a"])?;
    a.publish("C", &["privilege"])?;
    let x = a.register("C")?;
    a.unpublish("C", &["a"])?;
    a.register("C")?;
    a.delete(x)
}

#[test]
fn the_privilege_can_be_unpublished_by_itself() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.publish("C", &["a"])?;
    a.unpublish("C", &["privilege"])?;
    let x = a.register("C")?;
    a.update(x, "a=1")?;
    assert_eq!(a.delete(x), Err(DeletePrivilegeNotHeld));
    Ok(())
}

#[test]
fn unsubscribing_what_is_not_subscribed_is_legal() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.unsubscribe_class("C")?;
    a.unsubscribe("C", &["a"])?;
    a.unsubscribe_interaction("I")?;
    a.unpublish_interaction("I")
}

#[test]
fn known_instances_outlive_the_subscription() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let x = a.register("C")?;
    b.unsubscribe_class("C")?;
    a.update(x, "a=1")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)"]);
    assert_eq!(b.known_class(x)?, "HLAobjectRoot.C");
    a.delete(x)?;
    assert_eq!(b.callbacks(), ["remove(1, A)"]);
    Ok(())
}

#[test]
fn subscriptions_below_and_above_are_withdrawn_one_by_one() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C.S", &["a", "c"])?;
    b.subscribe("C", &["a"])?;
    b.subscribe("C.S", &["c"])?;
    let x = a.register("C.S")?;
    assert_eq!(b.callbacks(), ["discover(1, C.S, A)"]);
    b.unsubscribe_class("C")?;
    a.update(x, "a=1 c=1")?;
    assert_eq!(b.callbacks(), ["reflect(1, c=1, reliable, A)"]);
    b.subscribe("C", &["a"])?;
    b.unsubscribe_class("C.S")?;
    a.update(x, "a=2 c=2")?;
    assert_eq!(b.callbacks(), NOTHING, "it is known as C.S, where nothing is subscribed now");
    let y = a.register("C.S")?;
    a.update(y, "a=3 c=3")?;
    assert_eq!(b.callbacks(), ["discover(2, C, A)", "reflect(2, a=3, reliable, A)"]);
    Ok(())
}

#[test]
fn passive_subscriptions_get_the_same_data() -> Refused {
    let (_, [a, b]) = World::join(&["objectClassRelevanceAdvisory", "interactionRelevanceAdvisory"]);
    a.publish("C", &["a"])?;
    a.publish_interaction("I")?;
    b.subscribe_passively("C", &["a"])?;
    b.subscribe_interaction_passively("I")?;
    let x = a.register("C")?;
    a.update(x, "a=1")?;
    a.send("I", "p=1")?;
    assert_eq!(
        b.callbacks(),
        ["discover(1, C, A)", "reflect(1, a=1, reliable, A)", "receive(I, p=1, reliable, A)"]
    );
    assert_eq!(a.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn update_rates_are_known_ones() -> Refused {
    let (_, [a]) = World::join(&[]);
    assert_eq!(a.subscribe_at("C", &["b"], "Sometimes"), Err(InvalidUpdateRateDesignator));
    assert_eq!(a.subscribe_passively_at("C", &["b"], "Sometimes"), Err(InvalidUpdateRateDesignator));
    a.subscribe_at("C", &["b"], "")?;
    a.subscribe_at("C", &["b"], "Low")
}
