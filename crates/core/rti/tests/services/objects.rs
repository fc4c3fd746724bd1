//! Registration, discovery, updates, deletion, requests for values (clause 6).

use crate::common::{NOBODY, Refused, World, fom};
use hla::Exception::*;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self};
use std::time::Duration;

const NOTHING: [&str; 0] = [];

#[test]
fn discovery_comes_at_the_most_specific_class_with_something_to_see() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C.S", &["a"])?;
    b.subscribe("C", &["a"])?;
    b.subscribe("C.S", &["c"])?;
    a.register("C.S")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)"], "nobody owns c");
    a.publish("C.S", &["c"])?;
    a.register("C.S")?;
    assert_eq!(b.callbacks(), ["discover(2, C.S, A)"]);
    Ok(())
}

#[test]
fn the_known_class_stays() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C.S", &["a", "c"])?;
    b.subscribe("C", &["a"])?;
    let x = a.register("C.S")?;
    b.subscribe("C.S", &["a", "c"])?;
    a.update(x, "a=1 c=1")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "reflect(1, a=1, reliable, A)"]);
    assert_eq!(b.known_class(x)?, "HLAobjectRoot.C");
    assert_eq!(a.known_class(x)?, "HLAobjectRoot.C.S");
    assert_eq!(b.request(x, &["c"], ""), Err(AttributeNotDefined), "c is not available at C");
    Ok(())
}

#[test]
fn no_discovery_without_an_owned_attribute_to_see() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    b.subscribe("C", &["b"])?;
    let x = a.register("C")?;
    assert_eq!(b.callbacks(), NOTHING);
    assert_eq!(b.instance_name(x), Err(ObjectInstanceNotKnown));
    b.subscribe("C", &["privilege"])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)"], "the privilege to delete is an attribute like others");
    Ok(())
}

#[test]
fn subscribing_discovers_what_is_there() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    a.publish("C.S", &["c"])?;
    a.publish("E", &["e"])?;
    a.register("C")?;
    a.register("C.S")?;
    a.register("E")?;
    b.subscribe("C", &["a"])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)"]);
    b.subscribe("C.S", &["c"])?;
    assert_eq!(b.callbacks(), ["discover(2, C.S, A)"]);
    b.subscribe("HLAobjectRoot", &["privilege"])?;
    assert_eq!(b.callbacks_of_federates(), ["discover(3, HLAobjectRoot, A)"]);
    Ok(())
}

#[test]
fn discovery_precedes_everything_else_about_an_instance() -> Refused {
    let (_, [a, b]) = World::join(&["attributeScopeAdvisory", "attributeRelevanceAdvisory", "autoProvide"]);
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let x = a.register("C")?;
    a.update(x, "a=1")?;
    a.delete(x)?;
    assert_eq!(
        b.callbacks(),
        ["discover(1, C, A)", "inScope(1, a)", "reflect(1, a=1, reliable, A)", "remove(1, A)"]
    );
    assert_eq!(a.callbacks(), ["updatesOn(1, a)", "provide(1, a)"]);
    Ok(())
}

#[test]
fn one_reflect_per_transportation() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a", "b", "t"])?;
    b.subscribe("C", &["a", "b", "t"])?;
    let x = a.register("C")?;
    b.skip();
    a.update_tagged(x, "a=1 b=2 t=3", "tag")?;
    assert_eq!(
        b.callbacks(),
        ["reflect(1, a=1 t=3, reliable, A, #tag)", "reflect(1, b=2, bestEffort, A, #tag)"]
    );
    Ok(())
}

#[test]
fn each_receiver_gets_its_share() -> Refused {
    let (_, [a, b, c, d]) = World::join(&[]);
    a.publish("C", &["a", "b", "t"])?;
    b.subscribe("C", &["a", "t"])?;
    c.subscribe("C", &["t"])?;
    d.subscribe("C", &["a", "t"])?;
    let x = a.register("C")?;
    for f in [&b, &c, &d] {
        f.skip();
    }
    a.update(x, "a=1 t=3")?;
    a.update(x, "a=2")?;
    a.update(x, "")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=1 t=3, reliable, A)", "reflect(1, a=2, reliable, A)"]);
    assert_eq!(c.callbacks(), ["reflect(1, t=3, reliable, A)"], "nothing in scope, nothing delivered");
    assert_eq!(d.callbacks().len(), 2);
    Ok(())
}

#[test]
fn a_time_is_passed_along_without_a_retraction_handle() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a", "t"])?;
    b.subscribe("C", &["a", "t"])?;
    let x = a.register("C")?;
    b.skip();
    assert!(!a.update_at(x, "a=1 t=2", 7)?);
    assert!(!a.delete_at(x, 9)?);
    assert_eq!(b.callbacks(), ["reflect(1, a=1 t=2, reliable, A, t=7)", "remove(1, A, t=9)"]);
    Ok(())
}

#[test]
fn times_of_another_implementation_are_refused() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.publish("C", &["a"])?;
    let x = a.register("C")?;
    let request = api::UpdateAttributeValuesWithTimeRequest {
        object_instance: a.instance(x),
        time: Some(api::LogicalTime { data: "abc".into() }),
        ..Default::default()
    };
    assert_eq!(a.plain(Call::UpdateAttributeValuesWithTimeRequest(request)), Err(InvalidLogicalTime));
    let request =
        api::DeleteObjectInstanceWithTimeRequest { object_instance: a.instance(x), ..Default::default() };
    assert_eq!(a.plain(Call::DeleteObjectInstanceWithTimeRequest(request)), Err(InvalidLogicalTime));
    a.update(x, "a=1")
}

#[test]
fn a_refused_update_sends_nothing() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a", "b"])?;
    b.subscribe("C", &["a", "b", "t"])?;
    let x = a.register("C")?;
    b.skip();
    assert_eq!(a.update(x, "a=1 b=2 t=3"), Err(AttributeNotOwned));
    assert_eq!(a.update(x, "a=1 nope=2"), Err(AttributeNotDefined));
    assert_eq!(a.update(x, "a=1 e=2"), Err(AttributeNotDefined));
    assert_eq!(b.update(x, "a=1"), Err(AttributeNotOwned));
    assert_eq!(a.update(NOBODY, "a=1"), Err(ObjectInstanceNotKnown));
    assert_eq!(b.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn an_attribute_given_twice_keeps_its_last_value() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let x = a.register("C")?;
    b.skip();
    a.update(x, "a=1 a=2")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=2, reliable, A)"]);
    Ok(())
}

#[test]
fn instances_not_discovered_are_not_known() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    let x = a.register("C")?;
    assert_eq!(b.update(x, "a=1"), Err(ObjectInstanceNotKnown));
    assert_eq!(b.delete(x), Err(ObjectInstanceNotKnown));
    assert_eq!(b.local_delete(x), Err(ObjectInstanceNotKnown));
    assert_eq!(b.request(x, &["a"], ""), Err(ObjectInstanceNotKnown));
    assert_eq!(b.known_class(x), Err(ObjectInstanceNotKnown));
    assert_eq!(b.instance_name(x), Err(ObjectInstanceNotKnown));
    assert_eq!(b.instance_called("HLAobj_1_1"), Err(ObjectInstanceNotKnown));
    assert_eq!(b.change_transportation(x, &["a"], "reliable"), Err(ObjectInstanceNotKnown));
    assert_eq!(b.query_transportation(x, "a"), Err(ObjectInstanceNotKnown));
    assert_eq!(b.change_order(x, &["a"], 0), Err(ObjectInstanceNotKnown));
    assert_eq!(b.rate_of(x, "a"), Err(ObjectInstanceNotKnown));
    a.update(x, "a=1")
}

#[test]
fn the_owner_sees_nothing_of_its_own() -> Refused {
    let (_, [a]) = World::join(&["attributeScopeAdvisory", "attributeRelevanceAdvisory", "autoProvide"]);
    a.publish("C", &["a"])?;
    a.subscribe("C", &["a"])?;
    let x = a.register("C")?;
    a.update(x, "a=1")?;
    a.request(x, &["a"], "")?;
    a.delete(x)?;
    assert_eq!(a.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn deletion_needs_the_privilege_and_is_told_to_all_who_know() -> Refused {
    let (_, [a, b, c]) = World::join(&[]);
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let x = a.register("C")?;
    assert_eq!(b.delete(x), Err(DeletePrivilegeNotHeld));
    assert_eq!(a.delete(NOBODY), Err(ObjectInstanceNotKnown));
    a.delete_tagged(x, "bye")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "remove(1, A, #bye)"]);
    assert_eq!((a.callbacks(), c.callbacks()), (vec![], vec![]));
    assert_eq!(a.update(x, "a=1"), Err(ObjectInstanceNotKnown));
    assert_eq!(a.delete(x), Err(ObjectInstanceNotKnown));
    assert_eq!(b.local_delete(x), Err(ObjectInstanceNotKnown));
    Ok(())
}

#[test]
fn handles_of_instances_are_not_used_again() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.publish("C", &["a"])?;
    let x = a.register("C")?;
    a.delete(x)?;
    assert_ne!(a.register("C")?, x);
    Ok(())
}

#[test]
fn local_deletion_leads_to_discovery_anew() -> Refused {
    let (_, [a, b]) = World::join(&["attributeScopeAdvisory"]);
    a.publish("C.S", &["a", "c"])?;
    b.subscribe("C", &["a"])?;
    let x = a.register("C.S")?;
    b.subscribe("C.S", &["c"])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a)"]);
    b.local_delete(x)?;
    assert_eq!(b.callbacks(), ["discover(1, C.S, A)", "inScope(1, c)"], "a more specific class now");
    b.unsubscribe_class("C")?;
    b.unsubscribe_class("C.S")?;
    b.local_delete(x)?;
    assert_eq!(b.callbacks(), NOTHING);
    assert_eq!(b.known_class(x), Err(ObjectInstanceNotKnown));
    a.delete(x)?;
    assert_eq!(b.callbacks(), NOTHING, "what is not known is not removed");
    Ok(())
}

#[test]
fn an_owner_cannot_delete_locally() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.publish("C", &["a"])?;
    let x = a.register("C")?;
    assert_eq!(a.local_delete(x), Err(FederateOwnsAttributes));
    a.unpublish_class("C")?;
    a.local_delete(x)?;
    assert_eq!(a.known_class(x), Err(ObjectInstanceNotKnown));
    Ok(())
}

#[test]
fn requests_go_to_owners_below_the_class_too() -> Refused {
    let (_, [a, b, c]) = World::join(&[]);
    a.publish("C", &["a", "b"])?;
    b.publish("C.S", &["a", "c"])?;
    let (x, y) = (a.register("C")?, b.register("C.S")?);
    c.request_of_class("C", &["a", "t"], "why")?;
    assert_eq!(a.callbacks(), [format!("provide({x}, a, #why)")]);
    assert_eq!(b.callbacks(), [format!("provide({y}, a, #why)")]);
    a.request_of_class("C", &["a", "b"], "")?;
    assert_eq!(a.callbacks(), NOTHING, "nobody is asked for its own");
    assert_eq!(b.callbacks(), [format!("provide({y}, a)")]);
    assert_eq!(c.request_of_class("C", &["c"], ""), Err(AttributeNotDefined));
    assert_eq!(c.request_of_class("Nope", &[], ""), Err(ObjectClassNotDefined));
    c.subscribe("C", &["a"])?;
    c.request(x, &["a", "t"], "")?;
    assert_eq!(a.callbacks(), [format!("provide({x}, a)")]);
    assert_eq!(c.request(x, &["a", "c"], ""), Err(AttributeNotDefined));
    assert_eq!((a.callbacks(), b.callbacks()), (vec![], vec![]));
    Ok(())
}

#[test]
fn auto_provide_asks_owners_for_what_comes_into_scope() -> Refused {
    let (_, [a, b]) = World::join(&["autoProvide"]);
    a.publish("C", &["a", "b"])?;
    let x = a.register("C")?;
    b.subscribe("C", &["a"])?;
    assert_eq!(a.callbacks(), [format!("provide({x}, a)")]);
    b.subscribe_passively("C", &["a", "b"])?;
    assert_eq!(a.callbacks(), [format!("provide({x}, b)")], "a was in scope before");
    Ok(())
}

#[test]
fn classes_that_come_later_are_seen_through_their_superclass() -> Refused {
    let (world, [a, b]) = World::join(&[]);
    b.subscribe("C", &["a"])?;
    b.subscribe_interaction("HLAinteractionRoot")?;
    a.publish("C", &["a"])?;
    let old = a.register("C")?;
    let late = world.connected("L");
    late.join("F", &[("more.xml", &*fom::more())])?;
    world.learn(&[("more.xml", &fom::more())]);
    late.publish("C.Z", &["a", "z", "d"])?;
    let new = late.register("C.Z")?;
    late.update(new, "a=1 z=2 d=3")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "discover(2, C, L)", "reflect(2, a=1, reliable, L)"]);
    a.publish("C", &["d"])?;
    b.subscribe("C", &["d"])?;
    late.update(new, "d=4")?;
    assert_eq!(b.callbacks(), ["reflect(2, d=4, bestEffort, L)"]);
    assert_eq!(a.update(old, "d=1"), Err(AttributeNotOwned), "the attribute came after the instance");
    a.query_transportation(old, "d")?;
    assert_eq!(a.callbacks(), ["reportTransportation(1, d, bestEffort)"]);
    let newer = a.register("C")?;
    a.update(newer, "a=1 d=2")?;
    assert_eq!(
        b.callbacks(),
        ["discover(3, C, A)", "reflect(3, a=1, reliable, A)", "reflect(3, d=2, bestEffort, A)"]
    );
    Ok(())
}

#[test]
fn best_effort_values_are_thinned_out_to_the_rate_asked_for() -> Refused {
    let (world, [a, b, c]) = World::join(&[]);
    a.publish("C", &["a", "b"])?;
    b.subscribe_at("C", &["a", "b"], "Low")?;
    c.subscribe("C", &["b"])?;
    let x = a.register("C")?;
    b.skip();
    assert_eq!((b.rate_of(x, "b")?, b.rate_of(x, "t")?, c.rate_of(x, "b")?), (1.0, 0.0, 0.0));
    for (value, wait) in [(1, 999), (2, 1), (3, 1000), (4, 500)] {
        a.update(x, &format!("a={value} b={value}"))?;
        world.pass(Duration::from_millis(wait));
    }
    let best_effort: Vec<_> = b.callbacks().into_iter().filter(|c| c.contains("bestEffort")).collect();
    assert_eq!(
        best_effort,
        [
            "reflect(1, b=1, bestEffort, A)",
            "reflect(1, b=3, bestEffort, A)",
            "reflect(1, b=4, bestEffort, A)"
        ]
    );
    assert_eq!(c.callbacks().len(), 5, "discovery and every update");
    a.update(x, "a=5 b=5")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=5, reliable, A)"], "reliable values are never dropped");
    b.subscribe("C", &["b"])?;
    a.update(x, "b=6")?;
    assert_eq!(b.callbacks(), ["reflect(1, b=6, bestEffort, A)"], "no rate, no reduction");
    Ok(())
}

#[test]
fn queued_callbacks_arrive_in_order_and_complete() -> Refused {
    let (world, [a, b]) = World::join(&[]);
    a.publish("C", &["a", "b"])?;
    a.publish_interaction("I")?;
    b.subscribe("C", &["a", "b"])?;
    b.subscribe_interaction("I")?;
    let x = a.register("C")?;
    b.skip();
    {
        let mut inner = world.0.borrow_mut();
        let now = inner.now;
        assert_eq!(inner.rti.poll_ready(), None);
        for value in 0..50u8 {
            let pair = |attribute| api::AttributeHandleValue {
                attribute_handle: Some(attribute),
                value: vec![b'0' + value % 10].into(),
            };
            let names = if value % 2 == 0 { "a" } else { "b" };
            let handle = inner.model.attributes().find(|attribute| attribute.name == names).unwrap().handle;
            let request = api::UpdateAttributeValuesRequest {
                object_instance: a.instance(x),
                attribute_values: Some(api::AttributeHandleValueMap {
                    attribute_handle_value: vec![pair(handle)],
                }),
                user_supplied_tag: value.to_string().into(),
            };
            let call = rti::CallId(1000 + u32::from(value));
            inner.rti.call(now, a.caller, call, Call::UpdateAttributeValuesRequest(request));
        }
    }
    a.send("I", "p=1")?;
    let notified = b.callbacks();
    assert_eq!(notified.len(), 51);
    for (value, callback) in notified[..50].iter().enumerate() {
        assert!(callback.ends_with(&format!("#{value})")), "{callback} is number {value}");
    }
    assert_eq!(notified[50], "receive(I, p=1, reliable, A)");
    Ok(())
}
