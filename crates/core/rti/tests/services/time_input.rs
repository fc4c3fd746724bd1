//! Times and lookaheads that are no numbers, of a federation execution with float time.

use crate::common::{Fed, Refused, World, fom};
use bytes::Bytes;
use hla::Exception::{InvalidLogicalTime, InvalidLookahead};
use hla::api::{self, OrderType::Timestamp};
use hla::time::TimeKind;
use rti::Config;

/// `N` federates that may advance without regulating ones.
fn in_float_time<const N: usize>() -> (World, [Fed; N]) {
    let world = World::empty(Config::default());
    let text = fom::main(&["nonRegulatedGrant"]);
    let creator = world.connected("creator");
    creator.create("F", &[("main.xml", &text)], TimeKind::Float64.name()).expect("a sound object model");
    world.learn(&[("main.xml", &text)]);
    let federates = std::array::from_fn(|at| world.joined(&char::from(b'A' + at as u8).to_string()));
    (world, federates)
}

fn time(time: f64) -> Option<api::LogicalTime> {
    Some(api::LogicalTime { data: Bytes::copy_from_slice(&time.to_be_bytes()) })
}

fn interval(lookahead: f64) -> Option<api::LogicalTimeInterval> {
    Some(api::LogicalTimeInterval { data: Bytes::copy_from_slice(&lookahead.to_be_bytes()) })
}

fn advance(fed: &Fed, to: f64) -> Refused {
    fed.ask(api::TimeAdvanceRequestRequest { time: time(to) })
}

/// Whether the message is in time-stamp order.
fn send(fed: &Fed, at: f64) -> Refused<bool> {
    let sent = fed.ask(api::SendInteractionWithTimeRequest {
        interaction_class: fed.interaction("I"),
        parameter_values: None,
        user_supplied_tag: Bytes::new(),
        time: time(at),
    })?;
    Ok(sent.retraction_handle_is_valid)
}

const NO_NUMBERS: [f64; 6] =
    [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -f64::MIN_POSITIVE];

#[test]
fn what_is_no_number_from_zero_on_is_neither_a_time_nor_a_lookahead() -> Refused {
    let (world, [a, b]) = in_float_time();
    a.publish_interaction("I")?;
    a.order_interaction("I", Timestamp)?;
    b.subscribe_interaction("I")?;
    a.ask(api::EnableTimeRegulationRequest { lookahead: interval(0.5) })?;
    b.constrain()?;
    [&a, &b].into_iter().for_each(Fed::skip);
    let before = world.0.borrow().rti.status();
    for number in NO_NUMBERS {
        assert_eq!(advance(&a, number), Err(InvalidLogicalTime), "{number}");
        assert_eq!(send(&a, number), Err(InvalidLogicalTime), "{number}");
        let lookahead = interval(number);
        let modify = api::ModifyLookaheadRequest { lookahead: lookahead.clone() };
        assert_eq!(a.ask(modify), Err(InvalidLookahead), "{number}");
        let regulate = api::EnableTimeRegulationRequest { lookahead };
        assert_eq!(b.ask(regulate), Err(InvalidLookahead), "{number}");
    }
    assert_eq!((a.callbacks(), b.callbacks()), (vec![], vec![]));
    assert_eq!(world.0.borrow().rti.status(), before);
    advance(&a, -0.0)?;
    assert_eq!(a.callbacks().len(), 1, "minus zero is zero");
    Ok(())
}

#[test]
fn case_99_an_epsilon_advances_where_doubles_are_coarse() -> Refused {
    let (_, [a, b]) = in_float_time();
    a.publish_interaction("I")?;
    a.order_interaction("I", Timestamp)?;
    b.subscribe_interaction("I")?;
    let epsilon = TimeKind::Float64.epsilon().as_float64().expect("a float interval");
    a.ask(api::EnableTimeRegulationRequest { lookahead: interval(epsilon) })?;
    b.constrain()?;
    advance(&a, 1e17)?;
    assert_eq!(send(&a, 1e17), Err(InvalidLogicalTime), "1e17 plus epsilon is more");
    assert!(send(&a, 1e17_f64.next_up())?);
    b.skip();
    advance(&b, 1e17)?;
    assert_eq!(b.callbacks().len(), 1, "nothing can come at 1e17 any more");
    advance(&b, 1e17_f64.next_up())?;
    assert_eq!(b.callbacks(), Vec::<String>::new(), "more may come there");
    Ok(())
}
