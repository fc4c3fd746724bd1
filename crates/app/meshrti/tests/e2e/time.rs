//! Federates that advance in logical time.

use federate::hla::api::{JoinResult, OrderType};
use federate::hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};
use federate::{Callback, LogicalClock};

use crate::common::federates::{number, tag};
use crate::common::server::run;
use crate::common::{Member, Server, create_and_join, eventually, options, soon};

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

/// Lets both federates advance, and checks that each gets each message in the step of its time.
async fn advance_in_lock_step(blue: (Member, LogicalClock), red: (Member, LogicalClock)) {
    let (blue, red) = tokio::join!(steps(blue), steps(red));
    let expected: Vec<_> = (1..=STEPS)
        .map(|step| {
            let begin = LogicalTime::float64(f64::from(step - 1)).unwrap();
            (begin.add(interval(0.5)).unwrap(), step, begin)
        })
        .collect();
    assert_eq!(blue, expected);
    assert_eq!(red, expected);
}

#[tokio::test]
async fn two_federates_advance_in_lock_step() {
    let server = Server::start();
    let (blue, red) = (timed(&server, "Blue").await, timed(&server, "Red").await);
    advance_in_lock_step(blue, red).await;
}

/// The first federate regulates time while its node is alone in the network.
#[tokio::test]
async fn federates_at_two_nodes_advance_in_lock_step() {
    let a = Server::node("A", None, &[]);
    let blue = timed(&a, "Blue").await;
    let b = Server::node("B", Some(&a), &[]);
    let red = timed(&b, "Red").await;
    advance_in_lock_step(blue, red).await;
}

/// The row of a federate, as the status of `asked` gives it.
fn row(asked: &Server, name: &str) -> serde_json::Value {
    asked.rows("federate").into_iter().find(|row| row["federate"] == name).unwrap_or_default()
}

/// Blue waits for Red, which is connected to another node and does not advance. The node of Blue
/// tells the logical time of Red, and since when it has it.
#[tokio::test]
async fn the_status_tells_of_a_holder_at_another_node() {
    let a = Server::node("A", None, &[]);
    let (blue, _blue_clock) = timed(&a, "Blue").await;
    let b = Server::node("B", Some(&a), &[]);
    let _red = timed(&b, "Red").await;
    soon(blue.federate.time_advance_request(LogicalTime::float64(5.0).unwrap())).await.unwrap();
    eventually("the time of Red is announced", || row(&a, "Red")["logical_time"].is_object()).await;
    let (blue, red) = (row(&a, "Blue"), row(&a, "Red"));
    assert_eq!(blue["logical_time"]["pending"], "Time Advance Request to 5", "{blue}");
    assert_eq!(blue["logical_time"]["waits_for"], serde_json::json!(["Red (node B)"]), "{blue}");
    assert_eq!((&red["node"], &red["logical_time"]["time"]), (&"B".into(), &"0".into()), "{red}");
    assert!(red["logical_time"]["pending"].is_null(), "{red}");
    let lasts = |row: &serde_json::Value| row["logical_time"]["lasts_ms"].as_u64().unwrap();
    let before = lasts(&red);
    eventually("it lasts longer", || lasts(&row(&a, "Red")) > before).await;
    let text = String::from_utf8(run(&["status", a.address(), "--time"]).stdout).unwrap();
    assert!(text.contains("at 0 (regulating with lookahead 0.5, constrained), granted for "), "{text}");
}
