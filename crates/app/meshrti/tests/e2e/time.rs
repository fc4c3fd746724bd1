//! Federates that advance in logical time.

use federate::hla::api::{JoinResult, OrderType};
use federate::hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};
use federate::{Callback, LogicalClock};

use crate::common::federates::{number, tag};
use crate::common::{Member, Server, create_and_join, options, soon};

const STEPS: u32 = 20;

fn interval(seconds: f64) -> LogicalTimeInterval {
    LogicalTimeInterval::float64(seconds).unwrap()
}

/// A member that regulates time and is constrained.
async fn timed(server: &Server, name: &str) -> (Member, LogicalClock) {
    let mut member = create_and_join(options(server.address()), "Steps", name).await;
    member.declare_all().await;
    let (federate, fire) = (&member.federate, member.model.fire);
    soon(federate.change_interaction_order_type(fire, OrderType::Timestamp)).await.unwrap();
    let joined = JoinResult {
        federate_handle: Some(member.handle),
        logical_time_implementation_name: TimeKind::Float64.name().to_owned(),
    };
    let mut clock = LogicalClock::new(federate, &joined).unwrap();
    soon(clock.regulate(interval(0.5), &mut member.callbacks, |_| {})).await.unwrap();
    soon(clock.constrain(&mut member.callbacks, |_| {})).await.unwrap();
    (member, clock)
}

/// Steps of one second. In each, an interaction is sent for half a second later. Returns what was
/// received: the time of the message, its number, and the logical time before.
async fn steps((mut member, mut clock): (Member, LogicalClock)) -> Vec<(LogicalTime, u32, LogicalTime)> {
    let mut received = Vec::new();
    for step in 1..=STEPS {
        let time = clock.now().add(interval(0.5)).unwrap();
        let values = [(member.model.event, "event".into())];
        let fire = member.federate.send_interaction_with_time(member.model.fire, values, tag(step), time);
        assert!(fire.await.unwrap().retraction_handle_is_valid);
        let (now, next) = (clock.now(), clock.now().add(interval(1.0)).unwrap());
        let receive = |callback| {
            if let Callback::ReceiveInteractionWithTime(message) = callback {
                assert_eq!(message.received_order_type, i32::from(OrderType::Timestamp));
                let time = TimeKind::Float64.decode_time(&message.time.unwrap().data).unwrap();
                received.push((time, number(&message.user_supplied_tag), now));
            }
        };
        assert_eq!(soon(clock.advance(next, &mut member.callbacks, receive)).await.unwrap(), next);
    }
    received
}

#[tokio::test]
async fn two_federates_advance_in_lock_step() {
    let server = Server::start();
    let (blue, red) = (timed(&server, "Blue").await, timed(&server, "Red").await);
    let (blue, red) = tokio::join!(steps(blue), steps(red));
    let expected: Vec<_> = (1..=STEPS)
        .map(|step| {
            let begin = LogicalTime::float64(f64::from(step - 1)).unwrap();
            (begin.add(interval(0.5)).unwrap(), step, begin)
        })
        .collect();
    assert_eq!(blue, expected, "each message comes in the step of its time");
    assert_eq!(red, expected);
}
