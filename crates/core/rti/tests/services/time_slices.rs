//! Grants that deliver very many messages, in slices.

use crate::common::{Fed, Refused, World};
use hla::Exception::{InTimeAdvancingState, InvalidLogicalTime, RequestForTimeRegulationPending};
use hla::api::OrderType::Timestamp;
use hla::api::{DisableTimeConstrainedRequest, ResignAction};

/// More than are delivered in one turn.
const MANY: i64 = 7_001;
const SLICE_MAX: usize = 2_000;

/// Very many messages of `a`, at times from 1 on, wait for `b`, which is constrained.
fn queued() -> Refused<(World, [Fed; 3])> {
    let (world, [a, b, c]) = World::in_time();
    a.publish_interaction("I")?;
    a.order_interaction("I", Timestamp)?;
    b.subscribe_interaction("I")?;
    a.regulate(1)?;
    b.constrain()?;
    for time in 1..=MANY {
        a.send_at("I", "p=1", time)?;
    }
    a.tar(MANY)?;
    [&a, &b, &c].into_iter().for_each(Fed::skip);
    Ok((world, [a, b, c]))
}

/// One turn of the node: its timer has run off.
fn turn(world: &World) {
    let mut inner = world.0.borrow_mut();
    let now = inner.now;
    assert_eq!(inner.rti.poll_timeout(), Some(now), "there is work");
    inner.rti.handle_timeout(now);
    inner.take_callbacks();
}

/// The callbacks to `b` until no work is left. In no turn come more than a slice.
fn rest(world: &World, b: &Fed) -> Vec<String> {
    let mut all = b.callbacks();
    assert!(all.len() <= SLICE_MAX, "{} at once", all.len());
    while world.0.borrow().rti.poll_timeout() == Some(world.0.borrow().now) {
        turn(world);
        let more = b.callbacks();
        assert!(more.len() <= SLICE_MAX, "{} at once", more.len());
        all.extend(more);
    }
    all
}

fn message(time: i64) -> String {
    format!("receive(I, p=1, reliable, A, t={time}, TSO)")
}

#[test]
fn a_grant_with_very_many_messages_lets_others_be_served_in_between() -> Refused {
    let (world, [a, b, c]) = queued()?;
    b.tar(MANY)?;
    assert_eq!((b.time()?, c.time()?), (0, 0), "both are served");
    assert_eq!(b.tar(MANY), Err(InTimeAdvancingState));
    assert_eq!(c.galt()?, Some(MANY + 1));
    let mut expected: Vec<_> = (1..=MANY).map(message).collect();
    expected.push(format!("granted({MANY})"));
    assert_eq!(rest(&world, &b), expected);
    assert_eq!((b.time()?, a.time()?), (MANY, MANY));
    Ok(())
}

#[test]
fn a_federate_that_regulates_during_a_grant_in_slices_cannot_send_into_its_past() -> Refused {
    let (world, [_a, b, c]) = queued()?;
    b.tar(MANY)?;
    c.publish_interaction("I")?;
    c.order_interaction("I", Timestamp)?;
    c.regulate(5)?;
    assert_eq!(c.callbacks(), [format!("regulating({})", MANY - 5)]);
    assert_eq!(c.send_in_time("I", "p=1", MANY), Err(InvalidLogicalTime));
    c.send_at("I", "p=2", MANY + 1)?;
    let mut expected: Vec<_> = (1..=MANY).map(message).collect();
    expected.push(format!("granted({MANY})"));
    assert_eq!(rest(&world, &b), expected);
    Ok(())
}

/// Very many messages wait for `b`, which begins to regulate time. That takes it to five before
/// `MANY`, because `c` has advanced to `MANY`.
fn regulating() -> Refused<(World, [Fed; 3])> {
    let (world, [a, b, c]) = queued()?;
    c.constrain()?;
    c.tar(MANY)?;
    assert_eq!(c.callbacks(), ["constrained(0)".to_owned(), format!("granted({MANY})")]);
    b.regulate(5)?;
    Ok((world, [a, b, c]))
}

#[test]
fn a_constrained_federate_receives_its_past_in_slices_before_it_regulates() -> Refused {
    let (world, [a, b, c]) = regulating()?;
    assert_eq!((b.time()?, c.time()?), (0, MANY), "both are served");
    assert_eq!(
        (b.regulate(5), b.tar(MANY)),
        (Err(RequestForTimeRegulationPending), Err(RequestForTimeRegulationPending))
    );
    a.send_at("I", "p=1", MANY + 1)?;
    let mut expected: Vec<_> = (1..MANY - 5).map(message).collect();
    expected.push(format!("regulating({})", MANY - 5));
    assert_eq!(rest(&world, &b), expected);
    b.tar(MANY)?;
    let mut expected: Vec<_> = (MANY - 5..=MANY).map(message).collect();
    expected.push(format!("granted({MANY})"));
    assert_eq!(rest(&world, &b), expected);
    Ok(())
}

#[test]
fn a_federate_may_end_its_constraint_or_leave_while_it_receives_its_past() -> Refused {
    let (world, [_a, b, _c]) = regulating()?;
    let before = b.callbacks().len();
    b.ask(DisableTimeConstrainedRequest {})?;
    let after = rest(&world, &b);
    assert_eq!(after[0], format!("receive(I, p=1, reliable, A, t={}, TSO as RO)", before + 1));
    assert_eq!(after.last(), Some(&format!("regulating({})", MANY - 5)));
    assert_eq!(before + after.len(), MANY as usize + 1);
    let (world, [_a, b, _c]) = regulating()?;
    b.resign(ResignAction::NoAction)?;
    b.skip();
    assert_eq!(rest(&world, &b), Vec::<String>::new(), "nothing comes after it has left");
    Ok(())
}

#[test]
fn what_is_sent_while_a_queue_is_flushed_in_slices_comes_afterwards() -> Refused {
    let (world, [a, b, _c]) = queued()?;
    let gone = a.send_in_time("I", "p=1", MANY + 3)?;
    b.flush(MANY + 9)?;
    a.send_at("I", "p=2", MANY + 2)?;
    a.retract(gone)?;
    let mut expected: Vec<_> = (1..=MANY).map(message).collect();
    expected.push("flushed(1, 1)".to_owned());
    assert_eq!(rest(&world, &b), expected);
    b.flush(MANY + 9)?;
    let last = format!("receive(I, p=2, reliable, A, t={}, TSO)", MANY + 2);
    assert_eq!(b.callbacks(), [last, format!("flushed({}, {})", MANY + 1, MANY + 2)]);
    Ok(())
}

#[test]
fn a_federate_may_end_its_constraint_or_leave_while_it_is_granted_in_slices() -> Refused {
    for flushes in [false, true] {
        let (world, [_a, b, _c]) = queued()?;
        match flushes {
            true => b.flush(MANY)?,
            false => b.tar(MANY)?,
        }
        let before = b.callbacks().len();
        b.ask(DisableTimeConstrainedRequest {})?;
        let after = rest(&world, &b);
        assert_eq!(before + after.len(), MANY as usize + 1);
        assert_eq!(after[0], format!("receive(I, p=1, reliable, A, t={}, TSO as RO)", before + 1));
        let grant = if flushes { format!("flushed({MANY}, {MANY})") } else { format!("granted({MANY})") };
        assert_eq!(after.last(), Some(&grant));
    }
    let (world, [_a, b, c]) = queued()?;
    b.ask(DisableTimeConstrainedRequest {})?;
    assert_eq!((b.time()?, c.time()?), (0, 0), "both are served");
    b.constrain()?;
    let mut all = rest(&world, &b);
    // The new constraint begins only when nothing is left of the former one.
    assert_eq!(all.pop().as_deref(), Some("constrained(0)"));
    assert_eq!(all.len(), MANY as usize);
    assert!(all.iter().all(|text| text.ends_with("TSO as RO)")), "{}", all[0]);
    let (world, [_a, b, _c]) = queued()?;
    b.tar(MANY)?;
    b.resign(ResignAction::NoAction)?;
    b.skip();
    assert_eq!(rest(&world, &b), Vec::<String>::new(), "nothing comes after it has left");
    Ok(())
}
