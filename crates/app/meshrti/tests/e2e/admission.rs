//! Floods of one address beside honest federates of another one. Where the system has more than one loopback address.
#![cfg(target_os = "linux")]

use bytes::Bytes;
use federate::hla::api::{self, Credentials, Message as _, call_request, call_response};
use federate::{Federate, plain_text_password};
use fedpro::frame::{Control, Message, NewSessionReason};

use crate::access::hash;
use crate::common::helper::Helper;
use crate::common::raw::{Raw, call, control};
use crate::common::server::run;
use crate::common::{Server, connect, create_and_join, eventually, options, soon};

/// The source address of the floods; federates come from 127.0.0.1.
const ELSEWHERE: &str = "127.0.0.2";

/// Asks for a session from elsewhere, and keeps the connection.
async fn bare(server: &Server) -> (Raw, NewSessionReason) {
    let mut raw = Raw::connect_from(ELSEWHERE, server).await;
    raw.send(&control(0, 0, Control::NewSession { version: 1 })).await;
    match raw.message().await {
        Some(Message::Control(Control::NewSessionStatus(reason))) => (raw, reason),
        other => panic!("a status is due: {other:?}"),
    }
}

#[tokio::test]
async fn bare_sessions_of_one_address_lock_nobody_out() {
    let server =
        Server::configured("[limits]\nsessions = 64\nsessions-per-address = 16\nreserved-sessions = 4");
    let canary = create_and_join(options(server.address()), "Crowd", "Canary").await;
    let (mut held, mut refused) = (Vec::new(), 0);
    for _ in 0..300 {
        let (raw, reason) = bare(&server).await;
        match reason {
            NewSessionReason::Success => held.push(raw),
            reason => {
                assert_eq!(reason, NewSessionReason::OutOfResources);
                refused += 1;
            }
        }
        if (held.len() + refused) % 60 == 0 {
            soon(canary.federate.list_federation_executions()).await.expect("it is served");
            soon(connect(&server).await.0.disconnect()).await.expect("newcomers are served");
        }
    }
    assert!(refused > 0, "it has its share and no more");
    eventually("it is logged", || {
        server.log().contains("out of resources") && server.log().contains("its address has 16 sessions")
    })
    .await;
    let said = String::from_utf8(run(&["status", server.address()]).stdout).expect("it is UTF-8");
    assert!(said.contains(&format!("out of resources: {refused}")), "{said}");
}

#[tokio::test]
async fn a_session_that_does_not_connect_is_ended() {
    let server = Server::configured("[session]\nconnect-timeout = \"200ms\"");
    let (bare, reason) = bare(&server).await;
    assert_eq!(reason, NewSessionReason::Success);
    let (federate, _callbacks) = connect(&server).await;
    bare.closed().await;
    eventually("it is logged", || server.log().contains("no connect call within 200ms")).await;
    soon(federate.list_federation_executions()).await.expect("it has connected");
}

/// Tries a password in a session of its own; whether it was right, or what the exception says.
async fn guess(server: &Server, password: &str) -> Result<(), String> {
    let mut raw = Raw::connect_from(ELSEWHERE, server).await;
    raw.send(&control(0, 0, Control::NewSession { version: 1 })).await;
    let session = raw.frame().await.expect("a session is opened").header.session;
    let credentials: Credentials = plain_text_password(password).expect("it can be encoded");
    let request = api::ConnectWithCredentialsRequest { credentials: Some(credentials) };
    let request = call_request::CallRequest::ConnectWithCredentialsRequest(request);
    let body: Bytes = api::CallRequest { call_request: Some(request) }.encode_to_vec().into();
    raw.send(&call(session, 1, &body)).await;
    let Some(Message::CallResponse { body, .. }) = raw.message().await else { panic!("an answer is due") };
    match api::CallResponse::decode(body).expect("it can be read").call_response {
        Some(call_response::CallResponse::ExceptionData(raised)) => {
            assert_eq!(raised.exception_name, "Unauthorized");
            Err(raised.details)
        }
        other => {
            assert!(other.is_some());
            Ok(())
        }
    }
}

#[tokio::test]
async fn passwords_are_not_guessed_by_the_thousand() {
    let server = Server::configured(&format!(
        "[access]\npassword = \"{}\"\nwrong-passwords = 5\npassword-window = \"10s\"",
        hash("right")
    ));
    for number in 0..5 {
        assert_eq!(
            guess(&server, &format!("wrong {number}")).await,
            Err("wrong account or password".to_owned())
        );
    }
    for password in ["wrong", "right"] {
        let details = guess(&server, password).await.unwrap_err();
        assert!(details.contains("too many wrong passwords from this address"), "{details}");
    }
    let mut honest = options(server.address());
    honest.credentials = Some(plain_text_password("right").unwrap());
    let (federate, _callbacks) =
        soon(Federate::connect(honest)).await.expect("another address is not concerned");
    soon(federate.list_federation_executions()).await.unwrap();
    eventually("it is logged", || {
        let log = server.log();
        log.matches("wrong account or password").count() >= 5 && log.contains("too many wrong passwords")
    })
    .await;
    assert!(!server.log().contains("wrong 3"), "no password is ever logged");
    // The window ends, whatever was tried in it.
    soon(async {
        while guess(&server, "right").await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn silent_connections_to_the_port_for_nodes_keep_no_node_out() {
    let a = Server::node("A", None, &[]);
    let port = a.links()[0].trim_start_matches("tcp://").to_owned();
    let mut crowd: Vec<Helper> = (0..3).map(|_| Helper::start(&["silent", &port, "500"])).collect();
    crowd.iter_mut().for_each(|helper| helper.heard("holding"));
    let b = Server::node("B", Some(&a), &[]);
    eventually("it is a member", || a.nodes() == ["A", "B"] && b.nodes() == ["A", "B"]).await;
    crowd.iter_mut().for_each(Helper::release);
    crowd.iter_mut().for_each(|helper| assert!(helper.wait().success()));
}

#[tokio::test]
async fn churn_from_elsewhere_evicts_no_slow_client() {
    use std::time::Duration;

    let server = Server::configured("[limits]\nsilent-connections = 32");
    let flood = async {
        loop {
            let mut held: Vec<Raw> = Vec::new();
            for _ in 0..200 {
                held.push(Raw::connect_from(ELSEWHERE, &server).await);
            }
        }
    };
    let honest = async {
        for _ in 0..10 {
            let mut slow: Vec<Raw> = Vec::new();
            for _ in 0..8 {
                slow.push(Raw::connect(&server).await);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            for raw in &mut slow {
                raw.send(&control(0, 0, Control::NewSession { version: 1 })).await;
                let status = raw.message().await;
                let success = Control::NewSessionStatus(NewSessionReason::Success);
                assert_eq!(status, Some(Message::Control(success)), "it was there in time");
            }
        }
    };
    tokio::select! {
        () = flood => {}
        () = soon(honest) => {}
    }
    assert!(server.log().contains("silent connection closed"), "the flood was one");
}
