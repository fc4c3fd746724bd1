//! Federates that know TCP alone, through `meshrti tunnel`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use federate::Federate;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::common::certificates::Certificates;
use crate::common::server::{collect, meshrti, run};
use crate::common::{Server, create_and_join, eventually, options, soon};
use crate::resume::exchange;

/// A running `meshrti tunnel`, killed when this is dropped.
struct Tunnel {
    child: Child,
    address: String,
    log: Arc<Mutex<String>>,
}

impl Tunnel {
    fn start(url: &str, certificates: &Certificates, flags: &[&str]) -> Self {
        let mut child = meshrti()
            .args(["tunnel", "127.0.0.1:0", "--to", url, "--authority"])
            .arg(&certificates.authority)
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let log = Arc::default();
        collect(child.stderr.take().expect("it is piped"), Arc::clone(&log));
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening on tcp://").expect("it listens").to_owned();
        Self { child, address, log }
    }

    fn log(&self) -> String {
        self.log.lock().expect("nobody panics with the log").clone()
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the tunnel ---\n{}", self.log());
        }
    }
}

/// A server with an address over TCP, and one for all carriers.
fn server(certificates: &Certificates) -> (Server, String) {
    let flags = ["--listen", "tcp://127.0.0.1:0", "--listen", "any://127.0.0.1:0"];
    let server = Server::with(&certificates.settings(), &flags);
    let any = server.addresses()[1].strip_prefix("any://").expect("it is the second").to_owned();
    (server, any)
}

#[tokio::test]
async fn federates_of_all_tunnels_are_in_one_federation() {
    let certificates = Certificates::new();
    let (server, any) = server(&certificates);
    let tunnels = ["tls", "ws", "wss", "tcp"]
        .map(|scheme| Tunnel::start(&format!("{scheme}://{any}"), &certificates, &[]));
    let mut members = vec![create_and_join(options(server.address()), "Range", "Near").await];
    for (at, tunnel) in tunnels.iter().enumerate() {
        members.push(create_and_join(options(&tunnel.address), "Range", &format!("F{at}")).await);
    }
    for member in &members {
        member.declare_all().await;
    }
    for sender in 0..members.len() {
        members[sender].fire(sender as u32).await;
        for (at, member) in members.iter_mut().enumerate().filter(|(at, _)| *at != sender) {
            assert_eq!(member.receives().await, sender as u32, "{at}");
        }
    }
    // A federate that ends without a word has left at once, through a tunnel as well.
    drop(members);
    eventually("the tunnels know", || {
        tunnels.iter().all(|tunnel| tunnel.log().contains("connection closed"))
    })
    .await;
}

#[tokio::test]
async fn nothing_is_lost_through_a_tunnel() {
    let certificates = Certificates::new();
    let (server, any) = server(&certificates);
    for scheme in ["tls", "wss"] {
        let tunnel = Tunnel::start(&format!("{scheme}://{any}"), &certificates, &[]);
        exchange(&server, ("tcp", &tunnel.address), None, (2_000, 20_000)).await;
    }
}

/// An HTTP proxy that answers every request with `status`, and connects if that is 200. Returns its
/// address.
async fn proxy(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be listened on");
    let address = listener.local_addr().expect("it is bound").to_string();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(client.read_u8().await.expect("a request"));
            }
            let request = String::from_utf8(request).expect("a text");
            let target =
                request.strip_prefix("CONNECT ").expect("a tunnel").split(' ').next().expect("a host");
            let answer = format!("HTTP/1.1 {status}\r\nVia: test\r\n\r\n");
            client.write_all(answer.as_bytes()).await.expect("it reads");
            if status.starts_with("200") {
                let mut server = TcpStream::connect(target).await.expect("it listens");
                tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
            }
        }
    });
    address
}

#[tokio::test]
async fn a_tunnel_goes_through_a_proxy() {
    let certificates = Certificates::new();
    let (_server, any) = server(&certificates);
    let url = format!("wss://{any}");
    let tunnel = Tunnel::start(&url, &certificates, &["--proxy", &proxy("200 OK").await]);
    soon(Federate::connect(options(&tunnel.address))).await.expect("it is let through");
    let refused = Tunnel::start(&url, &certificates, &["--proxy", &proxy("407 Who are you?").await]);
    soon(Federate::connect(options(&refused.address))).await.err().expect("it is not let through");
    eventually("it is said", || refused.log().contains("answers `HTTP/1.1 407 Who are you?`")).await;
}

#[tokio::test]
async fn a_tunnel_trusts_no_other_authority() {
    let certificates = Certificates::new();
    let (_server, any) = server(&certificates);
    let url = format!("tls://{any}");
    let tunnel = Tunnel::start(&url, &Certificates::new(), &[]);
    soon(Federate::connect(options(&tunnel.address))).await.err().expect("it leads nowhere");
    eventually("it is said", || tunnel.log().contains("invalid peer certificate")).await;
    let output = run(&["tunnel", "127.0.0.1:0", "--to", &url]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("it is not known which authorities to trust"), "{said}");
}
