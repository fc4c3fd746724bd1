//! Directed interactions (5.6, 5.7, 5.12, 5.13, 6.14, 6.15).

use crate::common::{NOBODY, Refused, World};
use hla::Exception::*;

const NOTHING: [&str; 0] = [];

#[test]
fn owners_and_universal_subscribers_receive() -> Refused {
    let (_, [owner, universal, plain, sender]) = World::join(&[]);
    owner.publish("C", &["a"])?;
    let x = owner.register("C")?;
    for f in [&universal, &plain, &sender] {
        f.subscribe("C", &["a"])?;
        f.skip();
    }
    owner.subscribe_directed("C", &["D"])?;
    universal.subscribe_universally("C", &["D"])?;
    plain.subscribe_directed("C", &["D"])?;
    sender.publish_directed("C", &["D"])?;
    sender.direct("D", x, "x=1")?;
    assert_eq!(owner.callbacks(), ["directed(D, 1, x=1, reliable, D)"]);
    assert_eq!(universal.callbacks(), ["directed(D, 1, x=1, reliable, D)"]);
    assert_eq!(plain.callbacks(), NOTHING, "it owns nothing of the instance");
    assert!(!sender.direct_at("D", x, "", 5)?);
    assert_eq!(owner.callbacks(), ["directed(D, 1, , reliable, D, t=5)"]);
    Ok(())
}

#[test]
fn only_those_who_know_the_instance_receive_and_send() -> Refused {
    let (_, [owner, other]) = World::join(&[]);
    owner.publish("C", &["a"])?;
    let x = owner.register("C")?;
    other.subscribe_universally("C", &["D"])?;
    other.publish_directed("C", &["D"])?;
    assert_eq!(other.direct("D", x, ""), Err(ObjectInstanceNotKnown));
    owner.publish_directed("C", &["D"])?;
    owner.direct("D", x, "")?;
    assert_eq!(other.callbacks(), NOTHING);
    other.subscribe("C", &["a"])?;
    owner.direct("D", x, "")?;
    assert_eq!(other.callbacks(), ["discover(1, C, A)", "directed(D, 1, , reliable, A)"]);
    assert_eq!(owner.callbacks(), NOTHING, "never to the sender");
    Ok(())
}

#[test]
fn publications_and_subscriptions_cover_subclasses() -> Refused {
    let (_, [owner, other]) = World::join(&[]);
    owner.publish("C.S", &["a"])?;
    let x = owner.register("C.S")?;
    other.subscribe("C", &["a"])?;
    other.skip();
    owner.subscribe_directed("C", &["D"])?;
    other.publish_directed("C", &["D"])?;
    other.direct("D", x, "x=1")?;
    assert_eq!(owner.callbacks(), ["directed(D, 1, x=1, reliable, B)"]);
    other.publish_directed("C.S", &["D.K"])?;
    other.direct("D.K", x, "x=1 y=2")?;
    assert_eq!(owner.callbacks(), ["directed(D, 1, x=1, reliable, B)"], "received as the subscribed class");
    owner.subscribe_directed("C.S", &["D.K"])?;
    other.direct("D.K", x, "x=1 y=2")?;
    assert_eq!(owner.callbacks(), ["directed(D.K, 1, x=1 y=2, reliable, B)"]);
    Ok(())
}

#[test]
fn exceptions() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.publish("C", &["a"])?;
    let x = a.register("C")?;
    assert_eq!(a.publish_directed("Nope", &["D"]), Err(ObjectClassNotDefined));
    assert_eq!(
        a.publish_directed("C", &["D", "I"]),
        Err(InteractionClassNotDefined),
        "I is not directed at C"
    );
    assert_eq!(a.publish_directed("C", &["D.K"]), Err(InteractionClassNotDefined), "D.K only at C.S");
    assert_eq!(a.publish_directed("C", &["Nope"]), Err(InteractionClassNotDefined));
    assert_eq!(a.direct("D", x, ""), Err(InteractionClassNotPublished), "the refused set published nothing");
    assert_eq!(a.unpublish_directed("C", &["I"]), Err(InteractionClassNotDefined));
    assert_eq!(a.unpublish_all_directed("Nope"), Err(ObjectClassNotDefined));
    assert_eq!(a.subscribe_directed("C", &["I"]), Err(InteractionClassNotDefined));
    assert_eq!(a.subscribe_universally("Nope", &["D"]), Err(ObjectClassNotDefined));
    assert_eq!(a.unsubscribe_directed("C", &["I"]), Err(InteractionClassNotDefined));
    assert_eq!(a.unsubscribe_all_directed("Nope"), Err(ObjectClassNotDefined));
    a.publish_directed("C", &["D"])?;
    assert_eq!(a.direct("Nope", x, ""), Err(InteractionClassNotDefined));
    assert_eq!(a.direct("D", NOBODY, ""), Err(ObjectInstanceNotKnown));
    assert_eq!(a.direct("D", x, "y=1"), Err(InteractionParameterNotDefined));
    a.direct("D", x, "x=1")
}

#[test]
fn taking_declarations_back() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C.S", &["a"])?;
    let x = a.register("C.S")?;
    b.subscribe("C.S", &["a"])?;
    b.subscribe_universally("C.S", &["D", "D.K"])?;
    a.publish_directed("C.S", &["D", "D.K"])?;
    b.skip();
    b.unsubscribe_directed("C.S", &["D"])?;
    a.direct("D", x, "")?;
    a.direct("D.K", x, "")?;
    assert_eq!(b.callbacks(), ["directed(D.K, 1, , reliable, A)"]);
    b.subscribe_directed("C.S", &["D.K"])?;
    a.direct("D.K", x, "")?;
    assert_eq!(b.callbacks(), NOTHING, "a plain subscription replaces the universal one");
    b.subscribe_universally("C.S", &["D.K"])?;
    b.unsubscribe_all_directed("C.S")?;
    a.direct("D.K", x, "")?;
    assert_eq!(b.callbacks(), NOTHING);
    a.unpublish_directed("C.S", &["D"])?;
    assert_eq!(a.direct("D", x, ""), Err(InteractionClassNotPublished));
    a.direct("D.K", x, "")?;
    a.unpublish_all_directed("C.S")?;
    assert_eq!(a.direct("D.K", x, ""), Err(InteractionClassNotPublished));
    Ok(())
}
