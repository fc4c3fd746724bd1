//! Transportation types (6.25 to 6.33) and order types (8.24 to 8.26).

use crate::common::{NOBODY, Refused, World};
use hla::Exception::*;
use hla::handle::FederateHandle;

const NOTHING: [&str; 0] = [];

#[test]
fn a_change_is_confirmed_and_takes_effect() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a", "b"])?;
    b.subscribe("C", &["a", "b"])?;
    let x = a.register("C")?;
    b.skip();
    a.change_transportation(x, &["a", "b"], "bestEffort")?;
    assert_eq!(a.callbacks(), ["confirmTransportation(1, a b, bestEffort)"]);
    a.update(x, "a=1 b=2")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=1 b=2, bestEffort, A)"]);
    b.query_transportation(x, "a")?;
    assert_eq!(b.callbacks(), ["reportTransportation(1, a, bestEffort)"]);
    b.query_transportation(x, "t")?;
    assert_eq!(b.callbacks(), ["reportTransportation(1, t, reliable)"]);
    a.change_transportation(x, &["a"], "reliable")?;
    a.update(x, "a=1 b=2")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=1, reliable, A)", "reflect(1, b=2, bestEffort, A)"]);
    Ok(())
}

#[test]
fn only_the_owner_changes_and_only_to_what_there_is() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let x = a.register("C")?;
    assert_eq!(b.change_transportation(x, &["a"], "bestEffort"), Err(AttributeNotOwned));
    assert_eq!(a.change_transportation(x, &["a", "b"], "bestEffort"), Err(AttributeNotOwned));
    assert_eq!(a.change_transportation(x, &["a", "e"], "bestEffort"), Err(AttributeNotDefined));
    assert_eq!(a.change_transportation(x, &["a"], "pigeon"), Err(InvalidTransportationTypeHandle));
    assert_eq!(a.change_transportation(NOBODY, &["a"], "bestEffort"), Err(ObjectInstanceNotKnown));
    assert_eq!(a.query_transportation(x, "e"), Err(AttributeNotDefined));
    assert_eq!(b.change_order(x, &["a"], 1), Err(AttributeNotOwned));
    assert_eq!(a.change_order(x, &["a", "b"], 1), Err(AttributeNotOwned));
    assert_eq!(a.change_order(x, &["nope"], 1), Err(AttributeNotDefined));
    assert_eq!(a.change_order(x, &["a"], 2), Err(InvalidOrderType));
    assert_eq!(a.callbacks(), NOTHING);
    a.query_transportation(x, "a")?;
    assert_eq!(a.callbacks(), ["reportTransportation(1, a, reliable)"]);
    a.change_order(x, &["a"], 1)
}

#[test]
fn defaults_count_for_instances_registered_later() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    b.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let before = a.register("C")?;
    a.change_default_transportation("C", &["a"], "bestEffort")?;
    let after = a.register("C")?;
    let of_b = b.register("C")?;
    for x in [before, after] {
        b.query_transportation(x, "a")?;
    }
    b.query_transportation(of_b, "a")?;
    let reported: Vec<_> = b.callbacks().into_iter().filter(|c| c.starts_with("report")).collect();
    assert_eq!(
        reported,
        [
            "reportTransportation(1, a, reliable)",
            "reportTransportation(2, a, bestEffort)",
            "reportTransportation(3, a, reliable)"
        ]
    );
    assert_eq!(a.change_default_transportation("Nope", &[], "reliable"), Err(ObjectClassNotDefined));
    assert_eq!(a.change_default_transportation("C", &["e"], "reliable"), Err(AttributeNotDefined));
    assert_eq!(a.change_default_transportation("C", &["a"], "pigeon"), Err(InvalidTransportationTypeHandle));
    assert_eq!(a.change_default_order("Nope", &[], 0), Err(ObjectClassNotDefined));
    assert_eq!(a.change_default_order("C", &["e"], 0), Err(AttributeNotDefined));
    assert_eq!(a.change_default_order("C", &["a"], 7), Err(InvalidOrderType));
    a.change_default_order("C", &["a"], 1)
}

#[test]
fn interactions_change_for_the_federate_that_asks() -> Refused {
    let (_, [a, b, c]) = World::join(&[]);
    a.publish_interaction("I")?;
    b.publish_interaction("I")?;
    c.subscribe_interaction("I")?;
    a.change_interaction_transportation("I", "bestEffort")?;
    assert_eq!(a.callbacks(), ["confirmTransportation(I, bestEffort)"]);
    a.send("I", "")?;
    b.send("I", "")?;
    assert_eq!(c.callbacks(), ["receive(I, , bestEffort, A)", "receive(I, , reliable, B)"]);
    c.query_interaction_transportation(a.handle.get(), "I")?;
    c.query_interaction_transportation(b.handle.get(), "I")?;
    assert_eq!(
        c.callbacks(),
        ["reportTransportation(A, I, bestEffort)", "reportTransportation(B, I, reliable)"]
    );
    assert_eq!(
        c.query_interaction_transportation(FederateHandle(NOBODY), "I"),
        Err(FederateNotExecutionMember)
    );
    assert_eq!(c.query_interaction_transportation(a.handle.get(), "Nope"), Err(InteractionClassNotDefined));
    assert_eq!(c.change_interaction_transportation("I", "reliable"), Err(InteractionClassNotPublished));
    assert_eq!(c.change_interaction_transportation("Nope", "reliable"), Err(InteractionClassNotDefined));
    assert_eq!(a.change_interaction_transportation("I", "pigeon"), Err(InvalidTransportationTypeHandle));
    assert_eq!(c.change_interaction_order("I", 0), Err(InteractionClassNotPublished));
    assert_eq!(a.change_interaction_order("Nope", 0), Err(InteractionClassNotDefined));
    assert_eq!(a.change_interaction_order("I", 3), Err(InvalidOrderType));
    a.change_interaction_order("I", 1)
}
