//! Connections that say nothing, and more connections than anybody needs.

use federate::Federate;
use tokio::net::TcpStream;

use crate::common::helper::{self, Helper};
use crate::common::raw::Raw;
use crate::common::server::run;
use crate::common::{Server, create_and_join, eventually, options, soon};

/// Connections of one helper. A process may have 1,024 files open on many machines.
const EACH: usize = 500;

/// Opens connections, says nothing on them, and holds them until the standard input ends.
pub(crate) async fn hold(server: &str, count: usize) {
    let mut held = Vec::new();
    for _ in 0..count {
        held.push(TcpStream::connect(server).await.expect("the system accepts it, whatever the server does"));
    }
    helper::say("holding");
    let ended = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    ended.await.expect("it does not panic").expect("a pipe can be read");
}

#[tokio::test]
async fn a_thousand_silent_connections_keep_nobody_out() {
    let server =
        Server::configured("[limits]\nsilent-connections = 256\n[session]\nhandshake-timeout = \"5min\"");
    let mut before = create_and_join(options(server.address()), "Crowd", "Before").await;
    before.declare_all().await;
    let mut crowd: Vec<Helper> =
        (0..2).map(|_| Helper::start(&["silent", server.address(), &EACH.to_string()])).collect();
    crowd.iter_mut().for_each(|helper| helper.heard("holding"));
    // Of one address, the silent ones have their time before they make room.
    tokio::time::sleep(fedpro::server::PENDING_AGE_MIN).await;
    // Their time begins when the server takes them, which may be later than the system says that they are connected.
    let newcomer = || Federate::connect(options(server.address()));
    soon(async { while newcomer().await.is_err() {} }).await;
    // Connected federates go on, and newcomers get in.
    let after = create_and_join(options(server.address()), "Crowd", "After").await;
    after.declare_all().await;
    for n in 0..50 {
        after.fire(n).await;
        assert_eq!(before.receives().await, n);
    }
    assert_eq!(server.members().len(), 2);
    crowd.iter_mut().for_each(Helper::release);
    crowd.iter_mut().for_each(|helper| assert!(helper.wait().success()));
}

#[tokio::test]
async fn silence_is_not_waited_for_for_ever() {
    let server = Server::configured("[session]\nhandshake-timeout = \"100ms\"");
    let silent = Raw::connect(&server).await;
    let mut slow = Raw::connect(&server).await;
    slow.send(&[0, 0, 0]).await;
    silent.closed().await;
    slow.closed().await;
    eventually("it is logged", || server.log().matches("no message in time").count() == 2).await;
}

#[tokio::test]
async fn connections_are_counted() {
    let server = Server::configured("[limits]\nconnections = 3");
    let _one = create_and_join(options(server.address()), "Few", "One").await;
    let two = Raw::with_session(&server).await;
    let _three = Raw::with_session(&server).await;
    Raw::connect(&server).await.closed().await;
    let output = run(&["ping", server.address(), "--timeout", "300ms"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    drop(two);
    eventually("there is room again", || run(&["ping", server.address(), "--count", "1"]).status.success())
        .await;
}
