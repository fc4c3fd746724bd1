//! The limits of `meshrti.toml`, and keys that it does not have.

use bytes::Bytes;
use federate::hla::Exception;
use federate::hla::api::Credentials;
use federate::{Callback, ConnectError, Federate, plain_text_password};

use crate::access::hash;
use crate::common::server::{Folder, run};
use crate::common::{Server, connect, create_and_join, eventually, options, soon};

#[tokio::test]
async fn sessions_are_counted() {
    let server = Server::configured("[limits]\nsessions = 2\n[session]\nunjoined-window = \"100ms\"");
    let first = connect(&server).await;
    let second = connect(&server).await;
    let refused = soon(Federate::connect(options(server.address()))).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("out of resources"), "{refused}");
    eventually("it is logged", || server.log().contains("all 2 sessions are taken")).await;
    soon(second.0.disconnect()).await.unwrap();
    let third = connect(&server).await;
    // A session that nobody ended is free after its window.
    let (raw, _) = {
        drop(third);
        eventually("the third is gone", || server.log().matches("terminated by the client").count() >= 2)
            .await;
        crate::common::raw::Raw::with_session(&server).await
    };
    drop(raw);
    eventually("the silent one is gone", || server.log().contains("not resumed in time")).await;
    let fourth = connect(&server).await;
    soon(fourth.0.list_federation_executions()).await.unwrap();
    soon(first.0.list_federation_executions()).await.unwrap();
}

#[tokio::test]
async fn a_message_over_the_limit_ends_its_session_only() {
    let server = Server::configured("[limits]\nmessage = \"64KiB\"");
    let mut good = create_and_join(options(server.address()), "Long", "Good").await;
    let mut bad = create_and_join(options(server.address()), "Long", "Bad").await;
    good.declare_all().await;
    bad.declare_all().await;
    let long = |count: usize| [(bad.model.event, Bytes::from(vec![7; count]))];
    soon(bad.federate.send_interaction(bad.model.fire, long(65_000), crate::common::federates::tag(1)))
        .await
        .expect("it is under the limit");
    assert_eq!(good.receives().await, 1);
    let refused = soon(bad.federate.send_interaction(bad.model.fire, long(66_000), Bytes::new())).await;
    assert!(refused.unwrap_err().exception().is_none(), "there is no session any more");
    bad.until("loss", |callback| matches!(callback, Callback::ConnectionLost(_)).then_some(())).await;
    eventually("it is logged", || server.log().contains("65536")).await;
    good.fire(2).await;
    eventually("it is resigned", || server.members().len() == 1).await;
}

#[tokio::test]
async fn a_password_is_asked_for() {
    let server = Server::configured(&format!("[access]\npassword = \"{}\"", hash("pässword")));
    let credentials = |r#type: &str, data: &[u8]| Credentials {
        r#type: r#type.to_owned(),
        data: Bytes::copy_from_slice(data),
    };
    let cases = [
        (None, Exception::Unauthorized),
        (Some(credentials("HLAnoCredentials", b"")), Exception::Unauthorized),
        (Some(credentials("HLAnoCredentials", b"x")), Exception::InvalidCredentials),
        (Some(plain_text_password("").unwrap()), Exception::Unauthorized),
        (Some(plain_text_password("password").unwrap()), Exception::Unauthorized),
        (Some(plain_text_password("pässword ").unwrap()), Exception::Unauthorized),
        (Some(credentials("HLAplainTextPassword", b"")), Exception::InvalidCredentials),
        (Some(credentials("HLAplainTextPassword", b"p\xc3\xa4ssword")), Exception::InvalidCredentials),
        (Some(credentials("HLAplainTextPassword", &[0xff; 6])), Exception::InvalidCredentials),
        (Some(credentials("HLAplainTextPassword", &[0, 0, 0, 1, 0xd8, 0])), Exception::InvalidCredentials),
        (Some(credentials("Badge", b"7")), Exception::InvalidCredentials),
    ];
    for (credentials, exception) in cases {
        let what = format!("{credentials:?}");
        let mut options = options(server.address());
        options.credentials = credentials;
        match soon(Federate::connect(options)).await.map(drop) {
            Err(ConnectError::Service { source, .. }) => assert!(source.is(exception), "{what}: {source}"),
            other => panic!("{what}: {other:?}"),
        }
    }
    let mut options = options(server.address());
    options.credentials = Some(plain_text_password("pässword").unwrap());
    let (federate, _callbacks) = soon(Federate::connect(options)).await.expect("it is the password");
    soon(federate.list_federation_executions()).await.unwrap();
    eventually("refusals are logged", || server.log().contains("reason=wrong account or password")).await;
    let log = server.log().replace("wrong account or password", "");
    let log = log.replace("HLAplainTextPassword", "");
    assert!(!log.contains("ssword"), "no password is ever logged: {log}");
}

#[test]
fn invalid_configurations() {
    let cases = [
        ("[limits]\nsesions = 3\n", "meshrti.toml:2:1", "unknown field `sesions`"),
        ("lisen = []\n", "meshrti.toml:1:1", "unknown field `lisen`"),
        ("[sesion]\n", "meshrti.toml:1:2", "unknown field `sesion`"),
        ("[limits]\nqueue = \"much\"\n", "meshrti.toml:2:9", "`much` is no size"),
        ("[session]\nclosed-window = 3\n", "meshrti.toml:2:17", "expected"),
        ("listen = [\"carrier-pigeon://coop\"]\n", "meshrti.toml:1:", "carrier-pigeon"),
        ("name = \n", "meshrti.toml:1:", ""),
        ("[limits]\nsessions = 0\n", "meshrti.toml", "`limits.sessions` is 0"),
    ];
    for (text, place, what) in cases {
        let folder = Folder::new();
        let file = folder.write("meshrti.toml", text);
        let output = run(&["serve", "--check", "--config", file.to_str().unwrap()]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(place) && said.contains(what), "{text}: {said}");
        if what.starts_with("unknown field") {
            assert!(said.contains("expected one of"), "the keys that exist are named: {said}");
        }
    }
}

#[test]
fn valid_configurations() {
    let folder = Folder::new();
    let text = "name = \"west\"\nlisten = [\"tcp://127.0.0.1:0\"]\n[limits]\nqueue = \"1MiB\"\nsessions = 9\n\
                [session]\nresume-window = \"1min\"\n[shutdown]\ngrace = \"1s\"\n[fom]\ndirectories = [\".\"]\n";
    let file = folder.write("meshrti.toml", text);
    let output = run(&["serve", "--check", "--config", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = run(&["serve", "--check", "--config", "/no/such/meshrti.toml"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
