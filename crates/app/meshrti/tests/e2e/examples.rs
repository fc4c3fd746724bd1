//! The examples of the guide, against `meshrti serve`.

#![allow(dead_code, unreachable_pub)] // their `main`, and what only it needs

use crate::common::{Server, soon};

#[path = "../../../../world/federate/examples/handover.rs"]
mod handover;
#[path = "../../../../world/federate/examples/publisher.rs"]
mod publisher;
#[path = "../../../../world/federate/examples/regions.rs"]
mod regions;
#[path = "../../../../world/federate/examples/subscriber.rs"]
mod subscriber;
#[path = "../../../../world/federate/examples/who.rs"]
mod who;

/// Both create the federation execution or join it, whoever comes first.
#[tokio::test]
async fn the_subscriber_sees_the_publisher() {
    let server = Server::start();
    let address = server.address().to_string();
    let (published, seen) =
        soon(async { tokio::join!(publisher::run(&address), subscriber::run(&address)) }).await;
    published.unwrap();
    let seen = seen.unwrap();
    assert!((1..=10).contains(&seen), "{seen} positions");
}

/// The pilot hands over to an instructor at another node.
#[tokio::test]
async fn control_is_handed_over_and_comes_back() {
    let a = Server::node("A", None, &[]);
    let b = Server::node("B", Some(&a), &[]);
    let (pilot, instructor) =
        soon(async { tokio::join!(handover::pilot(a.address()), handover::instructor(b.address())) }).await;
    pilot.unwrap();
    instructor.unwrap();
}

/// The aircraft flies through the area of a radar, and four of its positions lie there.
#[tokio::test]
async fn the_radar_sees_what_is_near() {
    let server = Server::start();
    let address = server.address().to_string();
    let (flown, seen) =
        soon(async { tokio::join!(regions::aircraft(&address), regions::radar(&address)) }).await;
    flown.unwrap();
    assert_eq!(seen.unwrap(), 4);
}

/// A federate sees itself, and one at another node that comes and goes.
#[tokio::test]
async fn the_watcher_sees_who_is_joined() {
    let a = Server::node("A", None, &[]);
    let b = Server::node("B", Some(&a), &[]);
    let (at_a, at_b) = (a.address().to_string(), b.address().to_string());
    let passing = async {
        // It reports positions, and leaves once it has done so.
        tokio::join!(publisher::run(&at_b), who::run(&at_a))
    };
    let (published, seen) = soon(passing).await;
    published.unwrap();
    let seen = seen.unwrap();
    for (name, kind) in [("Watcher", "Subscriber"), ("Pilot", "Publisher")] {
        assert!(seen.contains(&(name.to_owned(), kind.to_owned(), 1)), "{seen:?}");
    }
}

/// A program that ends with an error prints a sentence, not a Rust value.
#[tokio::test]
async fn an_error_of_main_is_a_sentence() {
    let error = soon(subscriber::run("localhost:1")).await.unwrap_err();
    let text = format!("{error:?}");
    assert!(text.starts_with("no session with `localhost:1`: "), "{text}");
}
