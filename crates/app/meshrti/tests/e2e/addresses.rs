//! IPv4 and IPv6.

use std::net::TcpListener;

use federate::Federate;

use crate::common::server::run;
use crate::common::{Server, options, soon};

/// Machines without IPv6 exist.
fn has_ipv6() -> bool {
    TcpListener::bind("[::1]:0").is_ok()
}

async fn answers(address: &str) {
    let (federate, _callbacks) = soon(Federate::connect(options(address))).await.expect(address);
    soon(federate.disconnect()).await.unwrap();
    let output = run(&["ping", address, "--count", "2", "--interval", "0ms"]);
    assert!(output.status.success(), "{address}: {output:?}");
}

#[tokio::test]
async fn one_listener_takes_both_families() {
    let server = Server::with("", &["--listen", "tcp://*:0"]);
    let port = server.address().rsplit_once(':').unwrap().1;
    answers(&format!("127.0.0.1:{port}")).await;
    answers(&format!("localhost:{port}")).await;
    if has_ipv6() {
        answers(&format!("[::1]:{port}")).await;
    }
}

#[tokio::test]
async fn each_address_is_listened_on() {
    let mut flags = vec!["--listen", "tcp://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0"];
    if has_ipv6() {
        flags.extend(["--listen", "tcp://[::1]:0"]);
    }
    let server = Server::with("", &flags);
    assert_eq!(server.addresses().len(), flags.len() / 2);
    for address in server.addresses() {
        answers(address).await;
    }
}

#[test]
fn an_address_in_use_is_bad_news() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", taken.local_addr().unwrap());
    let output = run(&["serve", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&address) && said.contains("hint: "), "{said}");
}
