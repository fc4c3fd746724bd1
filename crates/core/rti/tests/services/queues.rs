//! Federates that do not take their callbacks, and calls that cross the end of a session.

use crate::common::{Fed, Refused, World, fom};
use bytes::Bytes;
use hla::Exception::*;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, ResignAction};
use rti::{CallId, CallerId, Config};

const ROOM: usize = 4;

/// Two federates whose queues hold four callbacks. B knows an instance of A, and then takes no more
/// callbacks.
fn slow_receiver() -> Refused<(World, Fed, Fed)> {
    let world = World::empty(Config { queue_callbacks_max: ROOM, ..Config::default() });
    let text = fom::main(&[]);
    world.connected("creator").create("F", &[("main.xml", &*text)], "HLAinteger64Time")?;
    world.learn(&[("main.xml", &*text)]);
    let (a, b) = (world.joined("A"), world.joined("B"));
    a.publish("C", &["a", "b"])?;
    b.subscribe("C", &["a", "b"])?;
    a.register("C")?;
    b.skip();
    Ok((world, a, b))
}

/// Sends updates while nobody takes callbacks.
fn update(world: &World, f: &Fed, attribute: &str, values: std::ops::Range<u8>) {
    let handle = f.attribute(attribute);
    let mut inner = world.0.borrow_mut();
    for value in values {
        let pair =
            api::AttributeHandleValue { attribute_handle: Some(handle), value: vec![b'0' + value].into() };
        let request = api::UpdateAttributeValuesRequest {
            object_instance: f.instance(1),
            attribute_values: Some(api::AttributeHandleValueMap { attribute_handle_value: vec![pair] }),
            user_supplied_tag: Bytes::new(),
        };
        let now = inner.now;
        let answer = inner.rti.call(now, f.caller, CallId(1), Call::UpdateAttributeValuesRequest(request));
        assert!(matches!(answer, Some(Ok(_))), "a slow receiver is not the sender's fault");
    }
}

fn overloaded(world: &World) -> Vec<CallerId> {
    let mut inner = world.0.borrow_mut();
    std::iter::from_fn(|| inner.rti.poll_overloaded()).collect()
}

#[test]
fn best_effort_values_that_find_no_room_are_dropped_and_counted() -> Refused {
    let (world, a, b) = slow_receiver()?;
    update(&world, &a, "b", 0..9);
    assert_eq!(overloaded(&world), []);
    let status = &world.0.borrow().rti.status()[0].federates[1];
    assert_eq!((status.name.as_str(), status.waiting, status.dropped), ("B", ROOM, 5));
    drop(b);
    Ok(())
}

#[test]
fn when_memory_is_short_best_effort_values_go_and_reliable_ones_stay() -> Refused {
    let (world, a, b) = slow_receiver()?;
    update(&world, &a, "b", 0..2);
    update(&world, &a, "a", 0..2);
    let queues = || world.0.borrow().rti.memory().queues;
    let before = queues();
    assert_eq!(world.0.borrow().rti.queued_bytes(b.caller), before, "nothing waits for anybody else");
    assert_eq!(world.0.borrow_mut().rti.drop_best_effort(b.caller), 2);
    assert_eq!(world.0.borrow().rti.status()[0].federates[1].dropped, 2, "they are counted");
    assert!(queues() < before && queues() > 0);
    a.update(1, "a=2")?;
    assert_eq!(b.callbacks(), (0..3).map(|n| format!("reflect(1, a={n}, reliable, A)")).collect::<Vec<_>>());
    assert_eq!(queues(), 0);
    update(&world, &a, "a", 0..3);
    assert!(queues() > 0);
    world.lose(&b);
    assert_eq!(queues(), 0, "what waited for it is gone");
    Ok(())
}

#[test]
fn reliable_values_displace_best_effort_ones() -> Refused {
    let (world, a, b) = slow_receiver()?;
    update(&world, &a, "b", 0..4);
    update(&world, &a, "a", 0..3);
    assert_eq!(overloaded(&world), []);
    a.update(1, "a=3")?;
    let notified = b.callbacks();
    let expected: Vec<_> = (0..4).map(|value| format!("reflect(1, a={value}, reliable, A)")).collect();
    assert_eq!(notified, expected);
    Ok(())
}

#[test]
fn a_federate_without_room_for_reliable_values_is_named() -> Refused {
    let (world, a, b) = slow_receiver()?;
    update(&world, &a, "a", 0..9);
    assert_eq!(overloaded(&world), [b.caller]);
    assert_eq!(overloaded(&world), []);
    world.lose(&b);
    assert_eq!(a.federate_called("B"), Err(NameNotFound));
    a.update(1, "a=1")
}

#[test]
fn status_says_what_runs_here() -> Refused {
    let (world, [a, _b]) = World::join(&[]);
    a.publish("C", &["a"])?;
    a.register("C")?;
    let status = world.0.borrow().rti.status();
    assert_eq!((status.len(), status[0].name.as_str(), status[0].time), (1, "F", "HLAinteger64Time"));
    assert_eq!(status[0].instances, 1);
    let names: Vec<_> =
        status[0].federates.iter().map(|f| (f.name.as_str(), f.federate_type.as_str())).collect();
    assert_eq!(names, [("A", "T"), ("B", "T")]);
    Ok(())
}

/// Starts a call, ends the session, and only then lets proposals through.
fn end_during(world: &World, f: &Fed, request: Call) -> usize {
    let mut inner = world.0.borrow_mut();
    let now = inner.now;
    assert!(inner.rti.call(now, f.caller, CallId(9), request).is_none(), "it waits");
    inner.rti.close(now, f.caller);
    let mut completions = 0;
    while let Some(proposal) = inner.rti.poll_proposal() {
        completions += inner.rti.commit(now, proposal).iter().count();
    }
    while let Some(caller) = inner.rti.poll_ready() {
        assert_ne!(caller, f.caller, "nothing is told to a session that ended");
        while inner.rti.poll_callback(caller).is_some() {}
    }
    completions
}

#[test]
fn sessions_that_end_during_a_call_leave_nothing_behind() -> Refused {
    let resign = api::ResignFederationExecutionRequest { resign_action: ResignAction::DeleteObjects.into() };
    let register = api::RegisterFederationSynchronizationPointRequest {
        synchronization_point_label: "P".to_owned(),
        ..Default::default()
    };
    let reserve = api::ReserveObjectInstanceNameRequest { object_instance_name: "tank".to_owned() };
    for request in [
        Call::ResignFederationExecutionRequest(resign),
        Call::RegisterFederationSynchronizationPointRequest(register),
        Call::ReserveObjectInstanceNameRequest(reserve),
    ] {
        let (world, [a, b]) = World::join(&[]);
        a.publish("C", &["a"])?;
        a.register("C")?;
        assert_eq!(end_during(&world, &a, request), 0, "nobody waits for the outcome");
        assert_eq!(b.federate_called("A"), Err(NameNotFound));
        b.skip();
        b.reserve("tank")?;
        assert_eq!(b.callbacks(), ["reserved(tank)"]);
        b.resign(ResignAction::NoAction)?;
        b.destroy("F")?;
    }
    Ok(())
}

#[test]
fn unknown_callers_and_repeated_ends_are_harmless() {
    let world = World::new(&[]);
    let a = world.joined("A");
    world.lose(&a);
    world.lose(&a);
    let mut inner = world.0.borrow_mut();
    let now = inner.now;
    inner.rti.close(now, CallerId(4711));
    assert_eq!(inner.rti.poll_callback(CallerId(4711)), None);
    assert!(!inner.rti.is_joined(CallerId(4711)) && !inner.rti.is_evolved(CallerId(4711)));
}

#[test]
fn a_call_whose_command_the_log_does_not_take_is_answered() -> Refused {
    let (world, [a, _b]) = World::join(&[]);
    let reserve = api::ReserveObjectInstanceNameRequest { object_instance_name: "tank".to_owned() };
    {
        let mut inner = world.0.borrow_mut();
        let now = inner.now;
        let call = Call::ReserveObjectInstanceNameRequest(reserve);
        assert!(inner.rti.call(now, a.caller, CallId(9), call).is_none(), "it waits");
        let proposal = inner.rti.poll_proposal().expect("names are reserved in a common order");
        let completion = inner.rti.give_up(now, proposal, "65536 proposals wait").expect("the call ends");
        assert_eq!((completion.caller, completion.call), (a.caller, CallId(9)));
        let error = completion.answer.expect_err("nothing was reserved");
        assert_eq!(error.exception, RTIinternalError);
        assert!(error.to_string().contains("65536 proposals wait"), "{error}");
    }
    a.reserve("tank")?;
    assert_eq!(a.callbacks(), ["reserved(tank)"]);
    Ok(())
}
