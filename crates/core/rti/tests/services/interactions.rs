//! Interactions (6.12, 6.13).

use crate::common::{Refused, World, fom};
use hla::Exception::*;

const NOTHING: [&str; 0] = [];

#[test]
fn one_receive_at_the_most_specific_subscribed_class() -> Refused {
    let (_, [a, b, c, d]) = World::join(&[]);
    a.publish_interaction("I.J")?;
    b.subscribe_interaction("I")?;
    b.subscribe_interaction("I.J")?;
    c.subscribe_interaction("I")?;
    d.subscribe_interaction("HLAinteractionRoot")?;
    a.send_tagged("I.J", "p=1 q=2", "tag")?;
    a.send("I.J", "q=2")?;
    assert_eq!(b.callbacks(), ["receive(I.J, p=1 q=2, reliable, A, #tag)", "receive(I.J, q=2, reliable, A)"]);
    assert_eq!(c.callbacks(), ["receive(I, p=1, reliable, A, #tag)", "receive(I, , reliable, A)"]);
    let root = "receive(HLAinteractionRoot, , reliable, A";
    assert_eq!(d.callbacks(), [format!("{root}, #tag)"), format!("{root})")]);
    Ok(())
}

#[test]
fn sending_needs_the_exact_class_published() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    b.subscribe_interaction("I")?;
    a.publish_interaction("I.J")?;
    assert_eq!(a.send("I", "p=1"), Err(InteractionClassNotPublished));
    assert_eq!(a.send("Nope", ""), Err(InteractionClassNotDefined));
    assert_eq!(a.send("I.J", "p=1 r=2"), Err(InteractionParameterNotDefined));
    assert_eq!(a.send("I.J", "nope=2"), Err(InteractionParameterNotDefined));
    a.publish_interaction("I")?;
    assert_eq!(a.send("I", "q=1"), Err(InteractionParameterNotDefined), "q belongs to the subclass");
    a.unpublish_interaction("I.J")?;
    assert_eq!(a.send("I.J", ""), Err(InteractionClassNotPublished));
    assert_eq!(b.callbacks(), NOTHING);
    a.send("I", "")?;
    assert_eq!(b.callbacks(), ["receive(I, , reliable, A)"]);
    Ok(())
}

#[test]
fn a_sender_does_not_receive_its_own() -> Refused {
    let (_, [a]) = World::join(&[]);
    a.publish_interaction("I")?;
    a.subscribe_interaction("I")?;
    a.send("I", "p=1")?;
    assert_eq!(a.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn a_time_is_passed_along() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish_interaction("B")?;
    b.subscribe_interaction("B")?;
    assert_eq!(a.send_at("B", "r=1", -3), Err(InvalidLogicalTime), "before the initial time");
    assert!(!a.send_at("B", "r=1", 3)?);
    assert_eq!(b.callbacks(), ["receive(B, r=1, bestEffort, A, t=3)"]);
    Ok(())
}

#[test]
fn unsubscribing_one_class_leaves_the_other() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish_interaction("I.J")?;
    b.subscribe_interaction("I")?;
    b.subscribe_interaction("I.J")?;
    b.unsubscribe_interaction("I.J")?;
    a.send("I.J", "p=1 q=1")?;
    assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A)"]);
    b.subscribe_interaction("I.J")?;
    b.unsubscribe_interaction("I")?;
    a.send("I.J", "p=1 q=1")?;
    assert_eq!(b.callbacks(), ["receive(I.J, p=1 q=1, reliable, A)"]);
    b.unsubscribe_interaction("I.J")?;
    a.send("I.J", "")?;
    assert_eq!(b.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn classes_that_come_later_are_received_through_their_superclass() -> Refused {
    let (world, [b]) = World::join(&[]);
    b.subscribe_interaction("I")?;
    let late = world.connected("L");
    let more = fom::module(
        "<interactions><interactionClass><name>HLAinteractionRoot</name><interactionClass><name>I</name>\
         <interactionClass><name>N</name><transportation>HLAbestEffort</transportation><order>Receive</order>\
         </interactionClass></interactionClass></interactionClass></interactions>",
    );
    late.join("F", &[("n.xml", &*more)])?;
    world.learn(&[("n.xml", &*more)]);
    late.publish_interaction("I.N")?;
    late.send("I.N", "p=1")?;
    assert_eq!(b.callbacks(), ["receive(I, p=1, bestEffort, L)"]);
    Ok(())
}
