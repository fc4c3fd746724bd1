//! Connections that are cut, again and again, at any byte.

use bytes::Bytes;
use carrier::ClientTls;
use federate::{Callback, Callbacks, Federate, Options};

use crate::common::certificates::Certificates;
use crate::common::federates::{number, tag};
use crate::common::proxy::{Proxy, pause};
use crate::common::{Model, Server, create_and_join, eventually, join, options, soon};

/// Interactions each way.
const COUNT: u32 = 600;

/// Interactions that are under way together.
const BATCH: u32 = 10;

/// Sends numbered interactions, several at a time so that there is always something to cut.
async fn send_all(federate: &Federate, model: Model) {
    let values = [(model.event, Bytes::from_static(b"an interaction of some length, so that it is cut"))];
    for batch in 0..COUNT / BATCH {
        let numbers = batch * BATCH..(batch + 1) * BATCH;
        let calls: Vec<_> =
            numbers.map(|n| federate.send_interaction(model.fire, values.clone(), tag(n))).collect();
        for call in calls {
            soon(call).await.expect("the session goes on");
        }
        pause().await;
    }
}

/// Receives exactly the numbers from 0, in order: none lost, none twice.
async fn receive_all(callbacks: &mut Callbacks) {
    for expected in 0..COUNT {
        assert_eq!(receive(callbacks).await, expected);
    }
}

/// The number of the next interaction.
async fn receive(callbacks: &mut Callbacks) -> u32 {
    loop {
        match soon(callbacks.recv()).await.expect("the session goes on") {
            Callback::ReceiveInteraction(received) => return number(&received.user_supplied_tag),
            Callback::ConnectionLost(lost) => panic!("{lost:?}"),
            _ => {}
        }
    }
}

/// Two federates exchange interactions, one of them over connections of the carrier with this scheme
/// to `address`, each of which lives for `least` to `most` bytes.
pub(crate) async fn exchange(
    server: &Server,
    (scheme, address): (&str, &str),
    trust: Option<ClientTls>,
    (least, most): (u64, u64),
) {
    let federation = format!("Cut {scheme} {address} {least}");
    let proxy = Proxy::start(address.to_owned(), least, least, most).await;
    let mut near = create_and_join(options(server.address()), &federation, "Near").await;
    let url = format!("{scheme}://{}", proxy.address());
    let (federate, callbacks) =
        soon(Federate::connect(Options { tls: trust, ..options(&url) })).await.unwrap();
    let mut far = join(federate, callbacks, &federation, "Far").await.unwrap();
    near.declare_all().await;
    far.declare_all().await;
    tokio::join!(
        send_all(&far.federate, far.model),
        send_all(&near.federate, near.model),
        receive_all(&mut far.callbacks),
        receive_all(&mut near.callbacks),
    );
    assert!(proxy.cuts() > 5, "{federation}: {} cuts", proxy.cuts());
    proxy.heal();
    // All messages have arrived.
    far.fire(COUNT).await;
    near.fire(COUNT).await;
    assert_eq!(receive(&mut near.callbacks).await, COUNT);
    assert_eq!(receive(&mut far.callbacks).await, COUNT);
}

#[tokio::test]
async fn nothing_is_lost_and_nothing_doubled() {
    let server = Server::start();
    // Short lives, and longer ones in which much is under way.
    for lives in [(700, 2_500), (2_000, 20_000)] {
        exchange(&server, ("tcp", server.address()), None, lives).await;
    }
    eventually("it is logged", || server.log().contains("session resumed")).await;
}

#[tokio::test]
async fn nothing_is_lost_over_other_carriers() {
    let certificates = Certificates::new();
    let flags = ["--listen", "tcp://127.0.0.1:0", "--listen", "any://127.0.0.1:0"];
    let server = Server::with(&certificates.settings(), &flags);
    let address = server.addresses()[1].strip_prefix("any://").expect("it is the second").to_owned();
    // A handshake of TLS takes some 2,000 bytes.
    for scheme in ["tls", "ws", "wss"] {
        exchange(&server, (scheme, &address), Some(certificates.trust()), (4_000, 20_000)).await;
    }
}

#[tokio::test]
async fn whoever_comes_back_too_late_is_told() {
    let server = Server::configured("[session]\nclosed-window = \"100ms\"");
    let near = create_and_join(options(server.address()), "Late", "Near").await;
    near.declare_all().await;
    let proxy = Proxy::start(server.address().to_owned(), 3, 20_000, 20_001).await;
    let mut far = create_and_join(options(proxy.address()), "Late", "Far").await;
    far.declare_all().await;
    proxy.close(true);
    // More than its connection will live to see.
    let values = [(far.model.event, Bytes::from(vec![0; 30_000]))];
    let call = far.federate.send_interaction(far.model.fire, values, Bytes::new());
    eventually("the window closes", || server.log().contains("not resumed in time")).await;
    proxy.close(false);
    assert!(soon(call).await.unwrap_err().exception().is_none(), "there is no session any more");
    let fault = far.loses_connection().await;
    assert!(fault.contains("session"), "{fault}");
    eventually("it is resigned", || server.members().len() == 1).await;
}
