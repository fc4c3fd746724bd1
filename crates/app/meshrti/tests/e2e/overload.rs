//! A federate that does not read: what waits for it is bounded, and nobody else waits.

use bytes::Bytes;
use federate::Callback;

use crate::common::federates::{number, tag};
use crate::common::{Member, Server, create_and_join, eventually, options, soon};

/// Octets of one interaction.
const SIZE: usize = 16 << 10;

/// So much is more than the sockets and queues of a federate hold.
const ENOUGH: u32 = (48 << 20) / SIZE as u32;

/// A federate that takes callbacks, and one that leaves them in its socket.
async fn reader_and_sleeper(server: &Server) -> (Member, Member, Member) {
    let sender = create_and_join(options(server.address()), "Overload", "Sender").await;
    let reader = create_and_join(options(server.address()), "Overload", "Reader").await;
    let mut lazy = options(server.address());
    lazy.callbacks_high = 4;
    let sleeper = create_and_join(lazy, "Overload", "Sleeper").await;
    for member in [&sender, &reader, &sleeper] {
        member.declare_all().await;
    }
    (sender, reader, sleeper)
}

#[tokio::test]
async fn best_effort_is_dropped_and_counted() {
    let server = Server::configured("[limits]\nqueue = \"256KiB\"");
    let (sender, mut reader, mut sleeper) = reader_and_sleeper(&server).await;
    let values = [(sender.model.echo, Bytes::from(vec![1; SIZE]))];
    for n in 0..ENOUGH {
        let sent = sender.federate.send_interaction(sender.model.sweep, values.clone(), tag(n));
        soon(sent).await.expect("a slow federate is none of the sender's business");
        assert_eq!(reader.receives().await, n, "a slow federate is none of the reader's business");
    }
    eventually("it is logged", || server.log().contains("best-effort")).await;
    assert_eq!(server.members().len(), 3, "to lose best-effort messages is no reason to lose the federation");

    // Reliable messages still arrive, behind what is left of the others.
    sender.fire(ENOUGH).await;
    let mut seen = Vec::new();
    while seen.last() != Some(&ENOUGH) {
        match soon(sleeper.callbacks.recv()).await.expect("the session goes on") {
            Callback::ReceiveInteraction(received) => seen.push(number(&received.user_supplied_tag)),
            Callback::ConnectionLost(lost) => panic!("{lost:?}"),
            _ => {}
        }
    }
    assert!(seen.is_sorted_by(|a, b| a < b), "what arrives is in order, once");
    let lost = ENOUGH as usize + 1 - seen.len();
    assert!(lost > 0, "the sockets hold less than was sent");
    soon(sleeper.federate.resign_federation_execution(federate::hla::api::ResignAction::NoAction))
        .await
        .unwrap();
    eventually("the count is told", || server.log().contains(&format!("dropped={lost}"))).await;
}

#[tokio::test]
async fn reliable_is_kept_up_to_the_limit() {
    let server = Server::configured("[limits]\nqueue = \"256KiB\"");
    let (sender, mut reader, mut sleeper) = reader_and_sleeper(&server).await;
    let values = [(sender.model.event, Bytes::from(vec![1; SIZE]))];
    for n in 0..ENOUGH {
        let sent = sender.federate.send_interaction(sender.model.fire, values.clone(), tag(n));
        soon(sent).await.expect("a slow federate is none of the sender's business");
        assert_eq!(reader.receives().await, n, "a slow federate is none of the reader's business");
    }
    eventually("it is logged", || server.log().contains("does not keep up")).await;
    eventually("it is resigned", || server.members().len() == 2).await;

    // The kept callbacks arrive without a gap, and then the reason.
    let mut next = 0;
    let fault = loop {
        match soon(sleeper.callbacks.recv()).await.expect("the loss is told") {
            Callback::ReceiveInteraction(received) => {
                assert_eq!(number(&received.user_supplied_tag), next);
                next += 1;
            }
            Callback::ConnectionLost(lost) => break lost.fault_description,
            _ => {}
        }
    };
    assert!(next > 0 && next < ENOUGH, "{next}");
    assert!(fault.contains("keep up"), "{fault}");
    sender.fire(ENOUGH).await;
    assert_eq!(reader.receives().await, ENOUGH);
}
