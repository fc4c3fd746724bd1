//! Advisories: registration, interactions (5.14 to 5.17), scope (6.19, 6.20), updates (6.23, 6.24).

use crate::common::{Refused, World};
use hla::api::ResignAction;

const NOTHING: [&str; 0] = [];
const CLASS: &[&str] = &["objectClassRelevanceAdvisory"];
const INTERACTION: &[&str] = &["interactionRelevanceAdvisory"];
const SCOPE: &[&str] = &["attributeScopeAdvisory"];
const UPDATES: &[&str] = &["attributeRelevanceAdvisory"];

#[test]
fn registration_starts_with_the_first_active_subscriber_and_stops_with_the_last() -> Refused {
    let (world, [a, b, c]) = World::join(CLASS);
    a.publish("C.S", &["a"])?;
    b.subscribe("C", &["a"])?;
    assert_eq!(a.callbacks(), ["startRegistration(C.S)"]);
    c.subscribe("C.S", &["a"])?;
    b.unsubscribe_class("C")?;
    assert_eq!(a.callbacks(), NOTHING);
    c.subscribe_passively("C.S", &["a"])?;
    assert_eq!(a.callbacks(), ["stopRegistration(C.S)"]);
    b.subscribe("C", &["a"])?;
    assert_eq!(a.callbacks(), ["startRegistration(C.S)"]);
    b.resign(ResignAction::NoAction)?;
    assert_eq!(a.callbacks(), ["stopRegistration(C.S)"]);
    c.subscribe("C.S", &["a"])?;
    world.lose(&c);
    assert_eq!(a.callbacks(), ["startRegistration(C.S)", "stopRegistration(C.S)"]);
    Ok(())
}

#[test]
fn registration_is_about_attributes_that_are_published() -> Refused {
    let (_, [a, b]) = World::join(CLASS);
    b.subscribe("C", &["b"])?;
    a.publish("C", &["a"])?;
    assert_eq!(a.callbacks(), NOTHING);
    a.publish("C", &["b"])?;
    assert_eq!(a.callbacks(), ["startRegistration(C)"], "the publish call itself may find subscribers");
    a.unpublish("C", &["b"])?;
    assert_eq!(a.callbacks(), ["stopRegistration(C)"], "the class is still published, and nobody wants a");
    a.publish("C", &["b"])?;
    a.skip();
    a.unpublish_class("C")?;
    b.unsubscribe_class("C")?;
    assert_eq!(a.callbacks(), NOTHING, "nothing is told of a class that is not published");
    Ok(())
}

#[test]
fn its_own_subscription_is_no_reason_to_register() -> Refused {
    let (_, [a]) = World::join(CLASS);
    a.publish("C", &["a"])?;
    a.subscribe("C", &["a"])?;
    assert_eq!(a.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn switched_off_nothing_is_told_and_nothing_is_told_again_later() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    a.publish_interaction("I")?;
    b.subscribe("C", &["a"])?;
    b.subscribe_interaction("I")?;
    a.set_class_relevance(true)?;
    a.set_interaction_relevance(true)?;
    assert_eq!(a.callbacks(), NOTHING);
    b.unsubscribe_class("C")?;
    b.unsubscribe_interaction("I")?;
    assert_eq!(a.callbacks(), ["stopRegistration(C)", "interactionsOff(I)"], "the state was tracked");
    Ok(())
}

#[test]
fn interactions_are_turned_on_and_off() -> Refused {
    let (_, [a, b, c]) = World::join(INTERACTION);
    a.publish_interaction("I.J")?;
    a.subscribe_interaction("I")?;
    assert_eq!(a.callbacks(), NOTHING);
    b.subscribe_interaction("I")?;
    assert_eq!(a.callbacks(), ["interactionsOn(I.J)"]);
    c.subscribe_interaction_passively("I.J")?;
    b.subscribe_interaction_passively("I")?;
    assert_eq!(a.callbacks(), ["interactionsOff(I.J)"]);
    b.subscribe_interaction("I")?;
    a.publish_interaction("I")?;
    assert_eq!(a.callbacks(), ["interactionsOn(I.J)", "interactionsOn(I)"]);
    a.unpublish_interaction("I")?;
    b.resign(ResignAction::NoAction)?;
    assert_eq!(a.callbacks(), ["interactionsOff(I.J)"]);
    Ok(())
}

#[test]
fn scope_follows_subscription_and_ownership() -> Refused {
    let (_, [a, b]) = World::join(SCOPE);
    a.publish("C", &["a", "b"])?;
    let x = a.register("C")?;
    b.subscribe("C", &["a"])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a)"]);
    b.subscribe("C", &["b", "t"])?;
    assert_eq!(b.callbacks(), ["inScope(1, b)"], "nobody owns t");
    b.unsubscribe("C", &["b"])?;
    assert_eq!(b.callbacks(), NOTHING, "it knows what it unsubscribed itself");
    a.unpublish("C", &["b"])?;
    assert_eq!(b.callbacks(), NOTHING);
    a.unpublish("C", &["a"])?;
    assert_eq!(b.callbacks(), ["outOfScope(1, a)"]);
    b.subscribe("C", &["b"])?;
    assert_eq!(b.callbacks(), NOTHING, "unowned");
    assert_eq!(b.known_class(x)?, "HLAobjectRoot.C");
    assert_eq!(a.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn scope_ends_when_the_owner_resigns() -> Refused {
    let (_, [a, b, c]) = World::join(SCOPE);
    a.publish("C", &["a", "b"])?;
    b.subscribe("C", &["a"])?;
    c.set_scope(false)?;
    c.subscribe("C", &["a"])?;
    a.register("C")?;
    a.resign(ResignAction::UnconditionallyDivestAttributes)?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a)", "outOfScope(1, a)"]);
    assert_eq!(c.callbacks(), ["discover(1, C, A)"]);
    Ok(())
}

#[test]
fn passive_subscriptions_bring_attributes_into_scope() -> Refused {
    let (_, [a, b]) = World::join(SCOPE);
    a.publish("C", &["a"])?;
    a.register("C")?;
    b.subscribe_passively("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    b.subscribe_passively("C", &["a"])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a)"]);
    Ok(())
}

#[test]
fn updates_are_wanted_while_an_active_subscriber_sees_the_attribute() -> Refused {
    let (_, [a, b, c]) = World::join(UPDATES);
    a.publish("C", &["a", "b", "t"])?;
    let x = a.register("C")?;
    b.subscribe("C", &["a", "b"])?;
    assert_eq!(a.callbacks(), ["updatesOn(1, a b)"]);
    c.subscribe("C", &["a"])?;
    assert_eq!(a.callbacks(), NOTHING);
    b.subscribe_passively("C", &["a", "b"])?;
    assert_eq!(a.callbacks(), ["updatesOff(1, b)"]);
    a.update(x, "b=1")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "reflect(1, b=1, bestEffort, A)"]);
    c.unsubscribe("C", &["a"])?;
    assert_eq!(a.callbacks(), ["updatesOff(1, a)"]);
    b.subscribe("C", &["a", "t"])?;
    assert_eq!(a.callbacks(), ["updatesOn(1, a t)"]);
    Ok(())
}

#[test]
fn a_new_instance_is_wanted_at_once() -> Refused {
    let (_, [a, b]) = World::join(UPDATES);
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a", "b"])?;
    a.register("C")?;
    assert_eq!(a.callbacks(), ["updatesOn(1, a)"]);
    Ok(())
}

#[test]
fn updates_are_not_wanted_by_those_who_left_or_forgot() -> Refused {
    let (world, [a, b, c]) = World::join(UPDATES);
    a.publish("C", &["a"])?;
    let x = a.register("C")?;
    b.subscribe("C", &["a"])?;
    b.resign(ResignAction::NoAction)?;
    assert_eq!(a.callbacks(), ["updatesOn(1, a)", "updatesOff(1, a)"]);
    c.subscribe("C", &["a"])?;
    a.skip();
    c.local_delete(x)?;
    assert_eq!(a.callbacks(), NOTHING, "forgotten and discovered again at once");
    world.lose(&c);
    assert_eq!(a.callbacks(), ["updatesOff(1, a)"]);
    Ok(())
}

#[test]
fn the_highest_rate_is_told_when_all_gave_one() -> Refused {
    let (_, [a, b, c]) = World::join(UPDATES);
    a.publish("C", &["b"])?;
    a.register("C")?;
    b.subscribe_at("C", &["b"], "Low")?;
    assert_eq!(a.callbacks(), ["updatesOn(1, b, Low)"]);
    c.subscribe_at("C", &["b"], "High")?;
    assert_eq!(a.callbacks(), ["updatesOn(1, b, High)"]);
    b.subscribe("C", &["b"])?;
    assert_eq!(a.callbacks(), ["updatesOn(1, b)"]);
    b.subscribe_passively_at("C", &["b"], "Low")?;
    assert_eq!(a.callbacks(), ["updatesOn(1, b, High)"]);
    c.unsubscribe_class("C")?;
    assert_eq!(a.callbacks(), ["updatesOff(1, b)"]);
    Ok(())
}

#[test]
fn relevance_switched_on_later_tells_changes_only() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a", "b"])?;
    a.register("C")?;
    b.subscribe("C", &["a"])?;
    a.set_relevance(true)?;
    b.subscribe("C", &["a", "b"])?;
    assert_eq!(a.callbacks(), ["updatesOn(1, b)"]);
    a.set_relevance(false)?;
    b.unsubscribe("C", &["b"])?;
    a.set_relevance(true)?;
    b.unsubscribe("C", &["a"])?;
    assert_eq!(a.callbacks(), ["updatesOff(1, a)"]);
    b.subscribe("C", &["b"])?;
    assert_eq!(a.callbacks(), ["updatesOn(1, b)"]);
    Ok(())
}
