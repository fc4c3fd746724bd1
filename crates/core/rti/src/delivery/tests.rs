//! An inbox withholds the arrivals that it must, and no others.

use super::*;
use base::Moment;

const NOW: Moment = Moment::ZERO;

fn delivery(bytes_max: usize) -> (Delivery, ClientId) {
    let mut delivery = Delivery::new(1, bytes_max, 100);
    let client = delivery.add(NOW, CallerId(7)).unwrap();
    (delivery, client)
}

fn message(text: &'static str, best_effort: bool) -> Arrival {
    Arrival::receive_order(Bytes::from_static(text.as_bytes()), best_effort)
}

fn drain(delivery: &mut Delivery, client: ClientId) -> Vec<Bytes> {
    std::iter::from_fn(|| delivery.poll_callback(client)).collect()
}

#[test]
fn a_federate_that_is_not_held_back_gets_everything_at_once() {
    let (mut delivery, client) = delivery(1 << 20);
    delivery.deliver(NOW, client, message("a", false));
    delivery.deliver(NOW, client, Arrival::notice(Bytes::from_static(b"b")));
    assert_eq!(drain(&mut delivery, client), ["a", "b"]);
}

#[test]
fn messages_in_receive_order_wait_and_other_callbacks_do_not() {
    let (mut delivery, client) = delivery(1 << 20);
    delivery.hold_receive_order(NOW, client, true);
    delivery.deliver(NOW, client, message("held", false));
    delivery.deliver(NOW, client, Arrival::notice(Bytes::from_static(b"notice")));
    delivery.deliver(NOW, client, message("held too", true));
    assert_eq!(drain(&mut delivery, client), ["notice"]);
    assert_eq!(delivery.queued(client).0, 2, "what is held back counts as waiting");
    delivery.hold_receive_order(NOW, client, false);
    delivery.deliver(NOW, client, message("later", false));
    assert_eq!(drain(&mut delivery, client), ["held", "held too", "later"]);
}

#[test]
fn held_messages_count_against_the_limit_of_their_federate() {
    let (mut delivery, client) = delivery(1000);
    delivery.hold_receive_order(NOW, client, true);
    for _ in 0..50 {
        delivery.deliver(NOW, client, message("best effort is dropped at the limit", true));
    }
    assert!(delivery.poll_overloaded().is_none());
    let before = delivery.queued(client);
    assert!(before.1 <= 1000, "{before:?}");
    for _ in 0..2 {
        delivery.deliver(NOW, client, message("reliable", false));
    }
    let _ = drain(&mut delivery, client);
    for _ in 0..50 {
        delivery.deliver(NOW, client, message("a federate that does not keep up is disconnected", false));
    }
    assert_eq!(delivery.poll_overloaded(), Some(CallerId(7)));
}

#[test]
fn nothing_that_is_held_back_outlives_its_federate() {
    let (mut delivery, mut client) = delivery(1 << 20);
    delivery.hold_receive_order(NOW, client, true);
    delivery.deliver(NOW, client, message("held", false));
    delivery.drop_waiting(NOW, CallerId(7), &mut client);
    delivery.hold_receive_order(NOW, client, false);
    assert_eq!(drain(&mut delivery, client), Vec::<Bytes>::new());
    assert_eq!(delivery.queued(client), (0, 0));
}
