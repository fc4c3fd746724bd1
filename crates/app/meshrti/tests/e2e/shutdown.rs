//! The end of a server, and of commands that are interrupted.
#![cfg(unix)]

use std::io::Read as _;
use std::process::Stdio;

use crate::common::server::{signal, wait};
use crate::common::{Server, eventually, member_of, meshrti, soon};

#[tokio::test]
async fn federates_are_told_that_the_server_stops() {
    for name in ["TERM", "INT"] {
        let mut server = Server::start();
        let mut members = Vec::new();
        for number in 0..3 {
            members.push(member_of(&server, "Stopping", &format!("M{number}")).await);
        }
        // Messages sent before the end arrive before the end.
        members[0].fire(1).await;
        server.signal(name);
        for (number, member) in members.iter_mut().enumerate() {
            if number > 0 {
                assert_eq!(member.receives().await, 1);
            }
            let fault = member.loses_connection().await;
            assert!(fault.contains("shutting down"), "{fault}");
            assert!(soon(member.callbacks.recv()).await.is_none(), "nothing comes after the end");
        }
        assert_eq!(server.wait().code(), Some(0), "{name}");
        eventually("its last words", || server.log().contains("node stopped")).await;
    }
}

#[tokio::test]
async fn a_client_that_ignores_the_end_is_cut_off() {
    let mut server = Server::configured("[shutdown]\ngrace = \"200ms\"");
    let _silent = crate::common::raw::Raw::with_session(&server).await;
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn an_interrupted_command_says_so() {
    let server = Server::start();
    let mut ping = meshrti()
        .args(["-v", "ping", server.address(), "--count", "1000000", "--interval", "1ms"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its log begins when it does, and its session is open when it pings.
    let mut log = ping.stderr.take().unwrap();
    while server.log().matches("session opened").count() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    signal(ping.id(), "INT");
    assert_eq!(wait(&mut ping).code(), Some(130));
    let mut said = String::new();
    log.read_to_string(&mut said).unwrap();
    assert!(said.contains("error: interrupted"), "{said}");
}
