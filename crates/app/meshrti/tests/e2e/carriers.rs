//! Federates that reach a server over TLS and WebSocket.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use federate::{ConnectError, Federate, Options};
use hla::api::ResignAction;

use crate::common::certificates::Certificates;
use crate::common::server::{Folder, meshrti, run};
use crate::common::{PATIENCE, Server, create_and_join, eventually, options, soon};

/// One address for each carrier, and one for all of them.
const EACH: [&str; 5] = ["tcp", "tls", "ws", "wss", "any"];

/// A server that listens for all carriers.
fn server(certificates: &Certificates, settings: &str) -> Server {
    let listen: Vec<String> = EACH.iter().map(|scheme| format!("{scheme}://127.0.0.1:0")).collect();
    let flags: Vec<&str> = listen.iter().flat_map(|url| ["--listen", url]).collect();
    Server::with(&format!("{}{settings}", certificates.settings()), &flags)
}

fn encrypted(url: &str, certificates: &Certificates) -> Options {
    Options { tls: Some(certificates.trust()), ..options(url) }
}

/// The URLs of all carriers at a server, those of the address for all included.
fn urls(server: &Server) -> Vec<String> {
    let (any, others) = server.addresses().split_last().expect("it listens");
    let any = any.strip_prefix("any://").expect("it is the last");
    let of_any = EACH[..4].iter().map(|scheme| format!("{scheme}://{any}"));
    others.iter().cloned().chain(of_any).collect()
}

#[tokio::test]
async fn federates_of_all_carriers_are_in_one_federation() {
    let certificates = Certificates::new();
    let server = server(&certificates, "");
    let mut members = Vec::new();
    for (at, url) in urls(&server).iter().enumerate() {
        let member = create_and_join(encrypted(url, &certificates), "Range", &format!("F{at}")).await;
        member.declare_all().await;
        members.push(member);
    }
    assert_eq!(members.len(), 8);
    for sender in 0..members.len() {
        members[sender].fire(sender as u32).await;
        for (at, member) in members.iter_mut().enumerate().filter(|(at, _)| *at != sender) {
            assert_eq!(member.receives().await, sender as u32, "F{at}");
        }
    }
    for member in members {
        soon(member.federate.resign_federation_execution(ResignAction::NoAction))
            .await
            .expect("it has joined");
        soon(member.federate.disconnect()).await.expect("it leaves in order");
    }
    eventually("all have left", || server.log().matches("terminated by the client").count() >= 8).await;
    // A machine that does much else makes turns slow.
    let warnings = server.log();
    let mut warnings = warnings.lines().filter(|line| line.contains("WARN") && !line.contains("slow turn"));
    assert_eq!(warnings.next(), None);
}

#[tokio::test]
async fn who_may_not_connect_is_told_why() {
    let certificates = Certificates::new();
    let server = server(&certificates, "");
    let [tls, web_socket] = [1, 2].map(|at| server.addresses()[at].clone());
    // A federate that trusts nobody, or somebody else.
    let error = soon(Federate::connect(options(&tls))).await.err().expect("it trusts nobody");
    assert!(matches!(error, ConnectError::Tls { .. }), "{error}");
    let error = soon(Federate::connect(encrypted(&tls, &Certificates::new()))).await.err();
    let error = error.expect("it does not trust the server").to_string();
    assert!(error.contains("invalid peer certificate"), "{error}");
    // One that does not encrypt where it must.
    let address = tls.strip_prefix("tls://").expect("it is that one").to_owned();
    let mut plain = options(&address);
    plain.session.connect_timeout = Duration::from_secs(2);
    soon(Federate::connect(plain)).await.err().expect("it is refused");
    eventually("it is said", || server.log().contains("the peer does not encrypt")).await;
    // A web page of a browser, and a client of something else.
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\n\r\n", "HTTP/1.1 403 Forbidden"),
        ("GET /index.html HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 Bad Request"),
    ] {
        let address = web_socket.strip_prefix("ws://").expect("it is that one");
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it is closed in order");
        assert!(answer.starts_with(status), "{answer}");
    }
    eventually("that, too", || server.log().contains("Origin: https://evil.example")).await;
}

#[tokio::test]
async fn a_server_may_want_certificates() {
    let certificates = Certificates::new();
    let wanted =
        format!("client-authority = {:?}\nclient-certificates = \"required\"\n", certificates.authority);
    let server = server(&certificates, &wanted);
    let url = &server.addresses()[1];
    let error = soon(Federate::connect(encrypted(url, &certificates))).await.err();
    error.expect("it has no certificate");
    eventually("it is said", || server.log().contains("peer sent no certificates")).await;
    let known = Options { tls: Some(certificates.identity()), ..options(url) };
    soon(Federate::connect(known)).await.expect("it has one");
}

#[test]
fn commands_reach_a_server_that_encrypts() {
    let certificates = Certificates::new();
    let server = server(&certificates, "");
    let authority = certificates.authority.to_str().expect("a path");
    for url in &urls(&server) {
        let output = run(&["ping", url, "--count", "2", "--authority", authority]);
        assert!(output.status.success(), "{url}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let url = server.addresses()[3].as_str();
    let output =
        meshrti().args(["status", url]).env("MESHRTI_AUTHORITY", authority).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = run(&["ping", url]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("it is not known which authorities to trust"), "{said}");
    assert!(said.contains("--authority FILE"), "{said}");
}

#[test]
fn a_server_without_its_certificate_does_not_start() {
    for (settings, why) in [
        ("", "`tls://127.0.0.1:0` encrypts, and [tls] has no certificate and key for it"),
        ("[tls]\ncertificate = \"none.pem\"\nkey = \"none.key\"\n", "none.pem: No such file or directory"),
    ] {
        let folder = Folder::new();
        let config = folder.write("meshrti.toml", settings);
        let mut command = meshrti();
        command.arg("serve").arg("--config").arg(config).args(["--listen", "tls://127.0.0.1:0"]);
        let output = command.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{said}");
    }
}
