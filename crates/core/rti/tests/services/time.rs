//! Time management (clause 8) at a single node. Edge cases carry the numbers that the reference model
//! gives them.

use crate::common::Fed;
use crate::common::{Refused, World};
use hla::Exception::*;
use hla::api::OrderType::{Receive, Timestamp};
use hla::api::{
    self, DisableAsynchronousDeliveryRequest, DisableTimeConstrainedRequest, DisableTimeRegulationRequest,
    EnableAsynchronousDeliveryRequest, ResignAction,
};
use hla::handle::MessageRetractionHandle;

#[test]
fn asynchronous_delivery_is_off_at_first_and_belongs_to_the_federate() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    assert_eq!(a.ask(DisableAsynchronousDeliveryRequest {}), Err(AsynchronousDeliveryAlreadyDisabled));
    a.ask(EnableAsynchronousDeliveryRequest {})?;
    assert_eq!(a.ask(EnableAsynchronousDeliveryRequest {}), Err(AsynchronousDeliveryAlreadyEnabled));
    assert_eq!(b.ask(DisableAsynchronousDeliveryRequest {}), Err(AsynchronousDeliveryAlreadyDisabled));
    a.ask(DisableAsynchronousDeliveryRequest {})?;
    a.ask(EnableAsynchronousDeliveryRequest {})?;
    a.resign(ResignAction::NoAction)?;
    assert_eq!(a.ask(EnableAsynchronousDeliveryRequest {}), Err(FederateNotExecutionMember));
    a.join("F", &[])?;
    a.ask(EnableAsynchronousDeliveryRequest {})
}

#[test]
fn a_federate_that_is_not_constrained_gets_everything_at_once() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish_interaction("I")?;
    b.subscribe_interaction("I")?;
    for on in [false, true] {
        if on {
            b.ask(EnableAsynchronousDeliveryRequest {})?;
        }
        a.send("I", "p=1")?;
        assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A)"]);
    }
    Ok(())
}

/// Lets `a` send the interaction I in time-stamp order to all others.
fn talk<const N: usize>(a: &Fed, others: [&Fed; N]) -> Refused {
    a.publish_interaction("I")?;
    a.order_interaction("I", Timestamp)?;
    others.into_iter().try_for_each(|other| other.subscribe_interaction("I"))
}

#[test]
fn case_81_without_regulation_a_grant_depends_on_the_switch() -> Refused {
    let (_, [a]) = World::in_time();
    a.constrain()?;
    a.tar(100)?;
    assert_eq!(a.callbacks(), ["constrained(0)", "granted(100)"]);
    let (_, [a, b]) = World::join(&[]);
    a.constrain()?;
    a.tar(100)?;
    assert_eq!(a.callbacks(), ["constrained(0)"]);
    // Federates that are not constrained, and advances by nothing, do not depend on it.
    b.tar(100)?;
    assert_eq!(b.callbacks(), ["granted(100)"]);
    b.regulate(1)?;
    assert_eq!(a.callbacks(), ["granted(100)"]);
    Ok(())
}

#[test]
fn case_82_a_message_at_the_bound_may_come() -> Refused {
    let (_, [a, b]) = World::in_time();
    a.regulate(2)?;
    a.tar(10)?;
    b.constrain()?;
    b.skip();
    b.tara(12)?;
    assert_eq!(b.callbacks(), ["granted(12)"]);
    b.tar(12)?;
    assert_eq!((b.callbacks().len(), b.galt()?, b.lits()?), (0, Some(12), Some(12)));
    Ok(())
}

#[test]
fn cases_83_and_84_zero_lookahead() -> Refused {
    let (_, [a, b]) = World::in_time();
    talk(&a, [&b])?;
    a.regulate(0)?;
    b.constrain()?;
    a.tara(10)?;
    b.skip();
    b.tar(10)?;
    assert_eq!(b.callbacks(), Vec::<String>::new());
    a.send_at("I", "p=1", 10)?;
    a.tar(10)?;
    assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A, t=10, TSO)", "granted(10)"]);
    a.tara(10)?;
    assert_eq!(a.send_at("I", "p=1", 10), Err(InvalidLogicalTime), "10 stays closed");
    Ok(())
}

#[test]
fn cases_85_and_86_what_a_pending_advance_means_to_others() -> Refused {
    let (_, [a, b, c]) = World::in_time();
    talk(&b, [&a])?;
    a.regulate(5)?;
    a.constrain()?;
    b.regulate(1)?;
    c.constrain()?;
    a.tar(20)?;
    assert_eq!(a.send_at("I", "p=1", 24), Err(InvalidLogicalTime));
    b.tar(50)?;
    assert_eq!((a.time()?, c.galt()?), (20, Some(25)));
    b.send_at("I", "p=1", 52)?;
    a.nmr(60)?;
    assert_eq!(c.galt()?, Some(51), "b is first");
    b.tar(70)?;
    assert_eq!((a.time()?, c.galt()?), (52, Some(57)));
    Ok(())
}

#[test]
fn cases_87_and_88_advances_that_are_refused() -> Refused {
    let (_, [a, b]) = World::in_time();
    b.tar(7)?;
    b.regulate(1)?;
    a.constrain()?;
    a.tar(9)?;
    assert_eq!(
        (a.tar(9), a.nmra(9), a.flush(9)),
        (Err(InTimeAdvancingState), Err(InTimeAdvancingState), Err(InTimeAdvancingState),)
    );
    assert_eq!(
        (a.constrain(), a.regulate(1)),
        (Err(TimeConstrainedAlreadyEnabled), Err(InTimeAdvancingState))
    );
    assert_eq!((b.regulate(1), b.tar(6)), (Err(TimeRegulationAlreadyEnabled), Err(LogicalTimeAlreadyPassed)));
    b.tar(7)?;
    assert_eq!(b.callbacks(), ["granted(7)", "regulating(7)", "granted(7)"]);
    assert_eq!((b.tar(-1), b.regulate(-1)), (Err(InvalidLogicalTime), Err(InvalidLookahead)));
    let none = api::TimeAdvanceRequestRequest { time: None };
    assert_eq!(b.ask(none), Err(InvalidLogicalTime));
    let (_world, [c]) = World::join(&[]);
    assert_eq!(
        (c.regulate(-1), c.modify_lookahead(1)),
        (Err(InvalidLookahead), Err(TimeRegulationIsNotEnabled))
    );
    assert_eq!(c.lookahead(), Err(TimeRegulationIsNotEnabled));
    assert_eq!(c.ask(DisableTimeRegulationRequest {}), Err(TimeRegulationIsNotEnabled));
    assert_eq!(c.ask(DisableTimeConstrainedRequest {}), Err(TimeConstrainedIsNotEnabled));
    assert_eq!(c.retract(MessageRetractionHandle(1)), Err(TimeRegulationIsNotEnabled));
    assert_eq!(c.callbacks(), Vec::<String>::new());
    Ok(())
}

#[test]
fn cases_88_and_90_a_constraint_is_pending_until_the_past_is_closed() -> Refused {
    let (_, [a, b]) = World::in_time();
    b.regulate(5)?;
    a.tar(100)?;
    a.constrain()?;
    assert_eq!(
        (a.tar(101), a.constrain()),
        (Err(RequestForTimeConstrainedPending), Err(RequestForTimeConstrainedPending),)
    );
    b.tar(94)?;
    assert_eq!(a.callbacks(), ["granted(100)"]);
    b.tar(95)?;
    assert_eq!(a.callbacks(), ["constrained(100)"]);
    Ok(())
}

#[test]
fn case_89_regulation_begins_where_no_constrained_federate_has_been() -> Refused {
    let (_, [a, b]) = World::in_time();
    b.constrain()?;
    b.tar(50)?;
    a.regulate(5)?;
    assert_eq!((a.callbacks(), a.time()?), (vec!["regulating(45)".to_owned()], 45));
    Ok(())
}

#[test]
fn case_91_receive_order_waits_while_a_constrained_federate_is_idle() -> Refused {
    let (_, [a, b]) = World::in_time();
    a.publish_interaction("I")?;
    b.subscribe_interaction("I")?;
    b.constrain()?;
    b.skip();
    a.send("I", "p=1")?;
    assert_eq!(b.callbacks(), Vec::<String>::new());
    b.tar(1)?;
    assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A)", "granted(1)"]);
    a.send("I", "p=2")?;
    b.ask(EnableAsynchronousDeliveryRequest {})?;
    a.send("I", "p=3")?;
    assert_eq!(b.callbacks(), ["receive(I, p=2, reliable, A)", "receive(I, p=3, reliable, A)"]);
    Ok(())
}

#[test]
fn cases_92_and_93_the_order_of_messages() -> Refused {
    for next_message in [false, true] {
        let (_, [a, b]) = World::in_time();
        talk(&a, [&b])?;
        a.regulate(1)?;
        b.constrain()?;
        for (value, time) in [("p=1", 5), ("p=2", 5), ("p=3", 3), ("p=4", 10), ("p=5", 11)] {
            a.send_at("I", value, time)?;
        }
        a.tar(20)?;
        b.skip();
        let receive = |value, time| format!("receive(I, p={value}, reliable, A, t={time}, TSO)");
        if next_message {
            b.nmr(10)?;
            assert_eq!(b.callbacks(), [receive(3, 3), "granted(3)".to_owned()]);
            b.nmra(10)?;
            assert_eq!(b.callbacks(), [receive(1, 5), receive(2, 5), "granted(5)".to_owned()]);
            b.nmr(9)?;
            assert_eq!(b.callbacks(), ["granted(9)"], "no message is left up to 9");
        } else {
            b.tar(10)?;
            let expected =
                [receive(3, 3), receive(1, 5), receive(2, 5), receive(4, 10), "granted(10)".to_owned()];
            assert_eq!(b.callbacks(), expected);
        }
    }
    Ok(())
}

#[test]
fn case_94_flush_queue_request() -> Refused {
    let (world, [a, b]) = World::in_time();
    let c = world.opened("C");
    let additional_settings = "API.version=IEEE 1516-2010".to_owned();
    let configuration = api::RtiConfiguration { additional_settings, ..Default::default() };
    c.ask(api::ConnectWithConfigurationRequest { rti_configuration: Some(configuration) })?;
    c.join("F", &[])?;
    talk(&a, [&b, &c])?;
    a.regulate(1)?;
    b.constrain()?;
    c.constrain()?;
    a.send_at("I", "p=1", 5)?;
    a.send_at("I", "p=2", 30)?;
    a.tar(7)?;
    b.skip();
    c.skip();
    b.flush(20)?;
    c.flush(20)?;
    let messages = ["receive(I, p=1, reliable, A, t=5, TSO)", "receive(I, p=2, reliable, A, t=30, TSO)"];
    assert_eq!(b.callbacks(), [messages[0], messages[1], "flushed(5, 5)"]);
    assert_eq!(c.callbacks(), [messages[0], messages[1], "granted(5)"], "the 2010 edition has one grant");
    Ok(())
}

#[test]
fn case_95_a_lower_lookahead_comes_with_time() -> Refused {
    let (_, [a]) = World::in_time();
    talk(&a, [])?;
    a.tar(100)?;
    a.regulate(10)?;
    a.modify_lookahead(0)?;
    assert_eq!(a.lookahead()?, 10);
    a.tar(104)?;
    assert_eq!((a.lookahead()?, a.send_at("I", "", 109)), (6, Err(InvalidLogicalTime)));
    assert!(a.send_at("I", "", 110)?);
    a.modify_lookahead(20)?;
    assert_eq!((a.lookahead()?, a.send_at("I", "", 123)), (20, Err(InvalidLogicalTime)));
    Ok(())
}

#[test]
fn case_96_without_constraint_the_queue_is_receive_order() -> Refused {
    let (_, [a, b]) = World::in_time();
    talk(&a, [&b])?;
    a.publish("C", &["t"])?;
    b.subscribe("C", &["t"])?;
    let x = a.register("C")?;
    a.regulate(1)?;
    b.constrain()?;
    a.send_at("I", "p=9", 9)?;
    a.update_at(x, "t=5", 5)?;
    a.delete_in_time(x, 12)?;
    b.tar(3)?;
    b.skip();
    b.ask(DisableTimeConstrainedRequest {})?;
    let expected = [
        "reflect(1, t=5, reliable, A, t=5, TSO as RO)",
        "receive(I, p=9, reliable, A, t=9, TSO as RO)",
        "remove(1, A, t=12, TSO as RO)",
        "granted(3)",
    ];
    assert_eq!(b.callbacks(), expected);
    Ok(())
}

#[test]
fn case_97_the_last_regulator_leaves() -> Refused {
    for lost in [false, true] {
        let (world, [a, b]) = World::in_time();
        talk(&a, [&b])?;
        a.regulate(1)?;
        b.constrain()?;
        a.send_at("I", "p=1", 20)?;
        b.tar(50)?;
        b.skip();
        match lost {
            true => world.lose(&a),
            false => a.resign(ResignAction::NoAction)?,
        }
        let late = b.callbacks();
        assert!(late[0].starts_with("receive(I, p=1"), "{late:?}");
        assert_eq!(late[1..], ["granted(50)"]);
    }
    Ok(())
}

#[test]
fn case_98_retraction() -> Refused {
    let (_, [a, b, c]) = World::in_time();
    talk(&a, [&b, &c])?;
    a.regulate(1)?;
    b.constrain()?;
    let message = a.send_in_time("I", "p=1", 9)?;
    assert_eq!(c.callbacks(), ["receive(I, p=1, reliable, A, t=9, TSO as RO)"]);
    assert_eq!(b.lits()?, Some(1));
    assert_eq!(b.retract(message), Err(TimeRegulationIsNotEnabled));
    c.regulate(1)?;
    assert_eq!(c.retract(message), Err(InvalidMessageRetractionHandle), "not its own");
    c.skip();
    a.retract(message)?;
    assert_eq!(c.callbacks(), ["requestRetraction"]);
    assert_eq!(a.retract(message), Err(MessageCanNoLongerBeRetracted));
    assert_eq!(a.retract(MessageRetractionHandle(message.0 + 1)), Err(InvalidMessageRetractionHandle));
    a.tar(30)?;
    c.tar(30)?;
    b.skip();
    b.tar(20)?;
    assert_eq!(b.callbacks(), ["granted(20)"]);
    Ok(())
}

#[test]
fn case_98_a_deletion_that_is_retracted_has_not_happened() -> Refused {
    let (_, [a, b, c]) = World::in_time();
    a.publish("C", &["a", "t"])?;
    for f in [&b, &c] {
        f.subscribe("C", &["a", "t"])?;
    }
    a.regulate(1)?;
    b.constrain()?;
    let x = a.register("C")?;
    b.skip();
    c.skip();
    let deletion = a.delete_in_time(x, 9)?;
    assert_eq!(c.callbacks(), ["remove(1, A, t=9, TSO as RO)"]);
    assert_eq!((a.update(x, "a=1"), a.delete(x)), (Err(ObjectInstanceNotKnown), Err(ObjectInstanceNotKnown)));
    assert_eq!(c.local_delete(x), Err(ObjectInstanceNotKnown));
    // B knows it until the deletion is due. A newcomer does not discover it.
    b.request(x, &["a"], "")?;
    assert_eq!(a.callbacks(), ["regulating(0)"], "nobody owns it");
    a.retract(deletion)?;
    assert_eq!(c.callbacks(), ["requestRetraction"]);
    assert!(a.owns(x, "a")? && a.owns(x, "t")?);
    a.update(x, "a=1")?;
    assert_eq!(c.callbacks(), ["reflect(1, a=1, reliable, A)"]);
    b.tar(1)?;
    assert_eq!(b.callbacks(), ["reflect(1, a=1, reliable, A)"], "time 1 is not closed yet");
    Ok(())
}

#[test]
fn case_100_an_update_before_the_deletion_at_the_same_time() -> Refused {
    let (world, [a, b]) = World::in_time();
    a.publish("C", &["t"])?;
    b.subscribe("C", &["t"])?;
    a.reserve("Name")?;
    let x = a.register_as("C", "Name")?;
    a.regulate(1)?;
    b.constrain()?;
    a.update_at(x, "t=1", 5)?;
    a.delete_in_time(x, 5)?;
    let late = world.joined("C");
    late.subscribe("C", &["t"])?;
    assert_eq!(late.callbacks(), Vec::<String>::new(), "it is deleted");
    b.skip();
    b.tar(5)?;
    a.tar(5)?;
    let expected = ["reflect(1, t=1, reliable, A, t=5, TSO)", "remove(1, A, t=5, TSO)", "granted(5)"];
    assert_eq!(b.callbacks(), expected);
    a.skip();
    a.reserve("Name")?;
    assert_eq!(a.callbacks(), ["reserved(Name)"], "nothing is left of it");
    Ok(())
}

#[test]
fn a_call_with_attributes_of_both_orders_is_two_passels() -> Refused {
    let (_, [a, b]) = World::in_time();
    a.publish("C", &["a", "b", "t"])?;
    b.subscribe("C", &["a", "b", "t"])?;
    let x = a.register("C")?;
    assert!(!a.update_at(x, "a=1 t=1", 5)?, "A does not regulate time");
    a.regulate(1)?;
    b.constrain()?;
    b.ask(EnableAsynchronousDeliveryRequest {})?;
    b.skip();
    assert!(!a.update_at(x, "a=2 b=2", 7)?);
    assert!(a.update_at(x, "a=3 t=3", 7)?);
    a.order_attribute(x, "b", Timestamp)?;
    assert!(a.update_at(x, "b=4", 7)?);
    a.order_attribute(x, "t", Receive)?;
    assert!(!a.update_at(x, "t=5", 7)?);
    let at_once = [
        "reflect(1, a=2, reliable, A, t=7)",
        "reflect(1, b=2, bestEffort, A, t=7)",
        "reflect(1, a=3, reliable, A, t=7)",
        "reflect(1, t=5, reliable, A, t=7)",
    ];
    assert_eq!(b.callbacks(), at_once);
    b.tar(7)?;
    a.tar(7)?;
    let in_time =
        ["reflect(1, t=3, reliable, A, t=7, TSO)", "reflect(1, b=4, bestEffort, A, t=7, TSO)", "granted(7)"];
    assert_eq!(b.callbacks(), in_time);
    Ok(())
}

#[test]
fn directed_interactions_come_in_time_too() -> Refused {
    let (_, [a, b]) = World::in_time();
    a.publish("C", &["t"])?;
    b.subscribe("C", &["t"])?;
    let x = a.register("C")?;
    b.publish_directed("C", &["D"])?;
    b.publish_interaction("D")?;
    b.order_interaction("D", Timestamp)?;
    a.subscribe_directed("C", &["D"])?;
    b.regulate(2)?;
    a.constrain()?;
    a.skip();
    assert!(b.direct_at("D", x, "x=1", 2)?);
    a.tar(2)?;
    assert_eq!(a.callbacks(), Vec::<String>::new());
    b.tar(1)?;
    assert_eq!(a.callbacks(), ["directed(D, 1, x=1, reliable, B, t=2, TSO)", "granted(2)"]);
    Ok(())
}

#[test]
fn a_queued_message_that_is_no_longer_wanted_is_not_delivered() -> Refused {
    let (_, [a, b]) = World::in_time();
    talk(&a, [&b])?;
    a.publish("C", &["a", "t"])?;
    b.subscribe("C", &["a", "t"])?;
    let x = a.register("C")?;
    a.order_attribute(x, "a", Timestamp)?;
    a.regulate(1)?;
    b.constrain()?;
    a.update_at(x, "a=1 t=1", 5)?;
    a.send_at("I", "p=1", 5)?;
    b.unsubscribe("C", &["a"])?;
    b.unsubscribe_interaction("I")?;
    b.skip();
    a.tar(5)?;
    b.tar(5)?;
    assert_eq!(b.callbacks(), ["reflect(1, t=1, reliable, A, t=5, TSO)", "granted(5)"]);
    Ok(())
}

#[test]
fn the_status_tells_which_federate_holds_up_another() -> Refused {
    let (world, [a, b, c]) = World::in_time();
    talk(&b, [&a])?;
    for f in [&a, &b] {
        f.regulate(1)?;
        f.constrain()?;
    }
    b.send_at("I", "p=1", 4)?;
    a.tar(5)?;
    let status = world.0.borrow().rti.status();
    let of = |name: &str| {
        let federate = status[0].federates.iter().find(|federate| federate.name == name);
        federate.expect("it is joined").time.clone()
    };
    let waiting = of("A").expect("it uses time management");
    assert_eq!(waiting.pending.as_deref(), Some("Time Advance Request to 5"));
    assert_eq!((waiting.waits_for, waiting.queued), (vec!["B".to_owned()], 1));
    let times = (waiting.time.as_str(), waiting.galt.as_deref(), waiting.lits.as_deref());
    assert_eq!(times, ("0", Some("1"), Some("1")));
    assert_eq!((waiting.constrained, waiting.lookahead.as_deref()), (true, Some("1")));
    let granted = of("B").expect("it uses time management");
    assert_eq!((granted.pending, granted.waits_for), (None, Vec::new()));
    assert_eq!(of("C"), None);
    assert_eq!(c.time()?, 0);
    Ok(())
}

#[test]
fn a_federate_whose_queue_is_too_long_is_disconnected_with_the_reason() -> Refused {
    let config = rti::Config { queue_bytes_max: 20_000, ..rti::Config::default() };
    let world = World::with_config(config, &["nonRegulatedGrant"]);
    let (a, b) = (world.joined("A"), world.joined("B"));
    talk(&a, [&b])?;
    a.regulate(1)?;
    b.constrain()?;
    let why = (1..1_000).find_map(|time| {
        a.send_at("I", "p=1", time).expect("it regulates time");
        world.0.borrow_mut().rti.poll_lost()
    });
    let (caller, why) = why.expect("the queue has a limit");
    assert_eq!(caller, b.caller);
    assert!(why.contains("in time-stamp order"), "{why}");
    Ok(())
}
