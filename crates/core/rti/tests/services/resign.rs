//! Resign actions (4.12) and federates that are lost (4.4).

use crate::common::{Fed, Refused, World, fom};
use hla::Exception::*;
use hla::api::ResignAction::{self, *};
use hla::api::call_request::CallRequest as Call;
use hla::api::{self};
use rti::Config;

const NOTHING: [&str; 0] = [];

/// A owns an instance it may delete (1) and one whose privilege it gave up (2); B knows both.
fn owner_and_witness() -> Refused<(World, Fed, Fed)> {
    let (world, [a, b]) = World::join(&["attributeScopeAdvisory"]);
    a.publish("C", &["a"])?;
    a.register("C")?;
    a.publish("E", &["e"])?;
    a.unpublish("E", &["privilege"])?;
    a.register("E")?;
    b.subscribe("C", &["a"])?;
    b.subscribe("E", &["e"])?;
    b.skip();
    Ok((world, a, b))
}

#[test]
fn owning_anything_forbids_to_leave_without_an_action() -> Refused {
    let (_world, a, b) = owner_and_witness()?;
    for action in [NoAction, CancelPendingOwnershipAcquisitions] {
        assert_eq!(a.resign(action), Err(FederateOwnsAttributes));
    }
    a.update(1, "a=1")?;
    assert_eq!(
        b.callbacks(),
        ["reflect(1, a=1, reliable, A)"],
        "it is still joined, and nothing has changed"
    );
    Ok(())
}

#[test]
fn deleting_does_not_suffice_for_what_it_may_not_delete() -> Refused {
    let (_world, a, b) = owner_and_witness()?;
    assert_eq!(a.resign(DeleteObjects), Err(FederateOwnsAttributes));
    assert_eq!(b.callbacks(), NOTHING, "no instance was deleted");
    a.unpublish_class("E")?;
    b.skip();
    a.resign(DeleteObjects)?;
    assert_eq!(b.callbacks(), ["remove(1, A)"]);
    Ok(())
}

#[test]
fn divesting_leaves_the_instances() -> Refused {
    let (_world, a, b) = owner_and_witness()?;
    a.resign(UnconditionallyDivestAttributes)?;
    assert_eq!(b.callbacks(), ["outOfScope(1, a)", "outOfScope(2, e)"]);
    assert_eq!(b.known_class(1)?, "HLAobjectRoot.C");
    Ok(())
}

#[test]
fn deleting_and_divesting() -> Refused {
    for action in [DeleteObjectsThenDivest, CancelThenDeleteThenDivest] {
        let (_world, a, b) = owner_and_witness()?;
        a.resign(action)?;
        assert_eq!(b.callbacks(), ["remove(1, A)", "outOfScope(2, e)"]);
    }
    Ok(())
}

#[test]
fn unknown_actions_are_refused() {
    let (_, [a]) = World::join(&[]);
    for resign_action in [-1, 6, 99] {
        let request = api::ResignFederationExecutionRequest { resign_action };
        assert_eq!(a.plain(Call::ResignFederationExecutionRequest(request)), Err(InvalidResignAction));
        let request = api::SetAutomaticResignDirectiveRequest { value: resign_action };
        assert_eq!(a.plain(Call::SetAutomaticResignDirectiveRequest(request)), Err(InvalidResignAction));
    }
    assert_eq!(a.resign(NoAction), Ok(()));
    assert_eq!(a.resign(NoAction), Err(FederateNotExecutionMember));
}

/// The callbacks about an object whose owner is lost, in a federation of this module at a node that
/// chooses `DeleteObjectsThenDivest`, and the number of objects that are left, with and without an
/// owner.
fn lost_with_module(switches: &str) -> Refused<(ResignAction, Vec<String>, (usize, usize))> {
    let world = World::empty(Config { automatic_resign: DeleteObjectsThenDivest, ..Config::default() });
    let text = fom::main(&["attributeScopeAdvisory"]);
    let text = text.replace("<switches>", &format!("<switches>{switches}"));
    world.connected("creator").create("F", &[("main.xml", &text)], "HLAinteger64Time")?;
    world.learn(&[("main.xml", &text)]);
    let [a, b] = ["A", "B"].map(|name| world.joined(name));
    a.publish("C", &["a"])?;
    a.register("C")?;
    b.subscribe("C", &["a"])?;
    b.skip();
    let directive = a.resign_directive()?;
    world.lose(&a);
    let status = world.0.borrow().rti.status();
    Ok((directive, b.callbacks(), (status[0].instances, status[0].unowned)))
}

#[test]
fn a_node_chooses_the_directive_that_the_modules_leave_open() -> Refused {
    let (directive, notified, left) = lost_with_module("")?;
    assert_eq!(
        (directive, notified, left),
        (DeleteObjectsThenDivest, vec!["remove(1, A)".to_owned()], (0, 0))
    );
    let says_none = "<automaticResignAction resignAction=\"NoAction\"/>";
    let (directive, notified, left) = lost_with_module(says_none)?;
    assert_eq!((directive, notified, left), (NoAction, vec!["outOfScope(1, a)".to_owned()], (1, 1)));
    Ok(())
}

fn lost_with(directive: ResignAction) -> Refused<Vec<String>> {
    let (world, a, b) = owner_and_witness()?;
    a.set_resign_directive(directive)?;
    world.lose(&a);
    assert_eq!(b.federate_called("A"), Err(NameNotFound));
    world.joined("A");
    Ok(b.callbacks())
}

#[test]
fn a_lost_federate_resigns_by_its_directive() -> Refused {
    let divested = ["outOfScope(1, a)", "outOfScope(2, e)"];
    let deleted = ["remove(1, A)", "outOfScope(2, e)"];
    for (directive, expected) in [
        (UnconditionallyDivestAttributes, divested),
        (DeleteObjects, deleted),
        (CancelPendingOwnershipAcquisitions, divested),
        (DeleteObjectsThenDivest, deleted),
        (CancelThenDeleteThenDivest, deleted),
        (NoAction, divested),
    ] {
        assert_eq!(
            lost_with(directive)?,
            expected,
            "{directive:?}; what the directive leaves owned is unowned"
        );
    }
    Ok(())
}

#[test]
fn callbacks_that_waited_for_a_federate_are_dropped_when_it_resigns() -> Refused {
    let (world, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let mut inner = world.0.borrow_mut();
    let now = inner.now;
    let object_class = inner.model.object_class_by_name("C");
    let request = Call::RegisterObjectInstanceRequest(api::RegisterObjectInstanceRequest { object_class });
    assert!(matches!(inner.rti.call(now, a.caller, rti::CallId(500), request), Some(Ok(_))));
    let resign = api::ResignFederationExecutionRequest { resign_action: NoAction.into() };
    inner.rti.call(now, b.caller, rti::CallId(501), Call::ResignFederationExecutionRequest(resign));
    while let Some(proposal) = inner.rti.poll_proposal() {
        inner.rti.commit(now, proposal);
    }
    assert_eq!(inner.rti.poll_callback(b.caller), None);
    assert!(!inner.rti.is_joined(b.caller));
    Ok(())
}

#[test]
fn messages_sent_before_a_resignation_are_delivered() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish_interaction("I")?;
    b.subscribe_interaction("I")?;
    a.send("I", "p=1")?;
    let left = a.handle.get();
    a.resign(NoAction)?;
    assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A)"]);
    assert_eq!(b.federate_name(left), Err(FederateHandleNotKnown));
    Ok(())
}

#[test]
fn instances_nobody_owns_are_not_discovered() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    a.register("C")?;
    a.resign(UnconditionallyDivestAttributes)?;
    b.subscribe("C", &["a"])?;
    assert_eq!(b.callbacks(), NOTHING);
    Ok(())
}
