//! The driver, with small machines, over real loopback sockets.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use base::Moment;
use bytes::{Bytes, BytesMut};
use fedpro::server::{ConnId, Transmit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;
use crate::Config;

/// Sends the input of each connection to every connection, itself included. `Q` closes the
/// connection that sends it. `F` floods all others with a megabyte each time. `T` is answered a
/// little later with `t`.
#[derive(Default)]
struct Chorus {
    queues: BTreeMap<ConnId, (VecDeque<Bytes>, bool)>,
    ready: VecDeque<ConnId>,
    alarm: Option<(Moment, ConnId)>,
}

impl Chorus {
    fn queue(&mut self, conn: ConnId, bytes: &Bytes) {
        if let Some((queue, _)) = self.queues.get_mut(&conn) {
            queue.push_back(bytes.clone());
            self.ready.push_back(conn);
        }
    }

    fn all(&self) -> Vec<ConnId> {
        self.queues.keys().copied().collect()
    }

    fn take(&mut self, now: Moment, conn: ConnId, bytes: &Bytes) {
        match &bytes[..] {
            b"Q" => {
                self.queue(conn, &Bytes::from_static(b"bye"));
                self.queues.get_mut(&conn).expect("it is open").1 = true;
            }
            b"F" => {
                let megabyte = Bytes::from(vec![0; 1 << 20]);
                for other in self.all().into_iter().filter(|&other| other != conn) {
                    self.queue(other, &megabyte);
                }
                self.queue(conn, &Bytes::from_static(b"f"));
            }
            b"T" => self.alarm = Some((now + Duration::from_millis(20), conn)),
            _ => self.all().into_iter().for_each(|other| self.queue(other, bytes)),
        }
    }

    fn ring(&mut self, now: Moment) {
        if let Some((at, conn)) = self.alarm
            && at <= now
        {
            self.alarm = None;
            self.queue(conn, &Bytes::from_static(b"t"));
        }
    }

    fn say_goodbye(&mut self) {
        for conn in self.all() {
            self.queue(conn, &Bytes::from_static(b"end"));
            self.queues.get_mut(&conn).expect("it is open").1 = true;
        }
    }
}

impl Machine for Chorus {
    fn handle(&mut self, now: Moment, input: Input<'_>) {
        match input {
            Input::Opened { conn, session_id, .. } => {
                assert_ne!(session_id, 0);
                self.queues.insert(conn, (VecDeque::new(), false));
            }
            Input::Bytes { conn, bytes } => self.take(now, conn, &bytes),
            Input::Closed { conn } => assert!(self.queues.remove(&conn).is_some(), "closed once"),
            Input::Timeout => self.ring(now),
            Input::Shutdown => self.say_goodbye(),
            _ => {}
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.ready.pop_front().map(Output::Ready)
    }

    fn poll_transmit(&mut self, _: Moment, conn: ConnId, out: &mut BytesMut, budget: usize) -> Transmit {
        let Some((queue, close)) = self.queues.get_mut(&conn) else { return Transmit::default() };
        while let Some(bytes) = queue.pop_front_if(|_| out.len() < budget) {
            out.extend_from_slice(&bytes);
        }
        let more = !queue.is_empty();
        Transmit { bytes: out.len(), more, close_after: *close && !more, discard: false }
    }

    fn poll_timeout(&self) -> Option<Moment> {
        self.alarm.map(|(at, _)| at)
    }
}

fn start(settings: &str) -> (Background, SocketAddr) {
    let mut config = Config::parse(settings, "test").unwrap();
    config.listen = vec!["tcp://127.0.0.1:0".parse().unwrap()];
    let node = Background::start(config, |_| Chorus::default()).unwrap();
    let address = node.addresses()[0];
    (node, address)
}

async fn expect(stream: &mut TcpStream, text: &str) {
    let mut got = vec![0; text.len()];
    tokio::time::timeout(Duration::from_secs(5), stream.read_exact(&mut got))
        .await
        .expect("in time")
        .unwrap();
    assert_eq!(got, text.as_bytes());
}

async fn expect_eof(stream: &mut TcpStream) {
    let got = tokio::time::timeout(Duration::from_secs(5), stream.read(&mut [0; 8])).await.expect("in time");
    assert!(matches!(got, Ok(0)), "{got:?}");
}

#[tokio::test]
async fn bytes_reach_everybody_and_departures_are_noticed() {
    let (node, address) = start("");
    let mut a = TcpStream::connect(address).await.unwrap();
    let mut b = TcpStream::connect(address).await.unwrap();
    b.write_all(b"x").await.unwrap(); // b is open once it hears itself
    expect(&mut b, "x").await;
    expect(&mut a, "x").await;
    a.write_all(b"hello").await.unwrap();
    expect(&mut a, "hello").await;
    expect(&mut b, "hello").await;
    drop(b);
    a.write_all(b"Q").await.unwrap();
    expect(&mut a, "bye").await;
    expect_eof(&mut a).await;
    drop(a);
    let stats = node.stop();
    assert_eq!((stats.accepted_connections, stats.open_connections), (2, 0));
}

#[tokio::test]
async fn the_machine_is_woken_in_time() {
    let (_node, address) = start("");
    let mut a = TcpStream::connect(address).await.unwrap();
    a.write_all(b"T").await.unwrap();
    expect(&mut a, "t").await;
}

/// A peer with Nagle's algorithm holds `x` back until the message before it is acknowledged. That
/// message has no answer, but makes the machine send `t` 20 ms later. So `x` comes first if the
/// acknowledgement is sent at once, and `t` if the system delays it, by 40 ms or more. The orders
/// are counted, because a busy machine may swap some.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[tokio::test]
async fn small_messages_of_a_peer_with_nagle_are_not_held_back() {
    const EXCHANGES: usize = 500;
    let (_node, address) = start("");
    let mut a = TcpStream::connect(address).await.unwrap();
    a.set_nodelay(false).unwrap();
    let mut overtaken = 0;
    for _ in 0..EXCHANGES {
        a.write_all(b"T").await.unwrap();
        a.write_all(b"x").await.unwrap();
        let mut got = [0];
        while got != *b"x" {
            tokio::time::timeout(Duration::from_secs(5), a.read_exact(&mut got))
                .await
                .expect("in time")
                .unwrap();
            overtaken += usize::from(got == *b"t");
        }
    }
    assert!(overtaken < EXCHANGES / 10, "{overtaken} of {EXCHANGES} waited for a delayed acknowledgement");
}

#[tokio::test]
async fn a_peer_that_does_not_read_delays_nobody() {
    let (node, address) = start("");
    let mut stuck = TcpStream::connect(address).await.unwrap();
    stuck.write_all(b"x").await.unwrap();
    expect(&mut stuck, "x").await;
    let mut lively = TcpStream::connect(address).await.unwrap();
    for _ in 0..32 {
        lively.write_all(b"F").await.unwrap();
        expect(&mut lively, "f").await;
    }
    // The stuck peer continues, and has lost nothing.
    let mut rest = vec![1; 32 << 20];
    tokio::time::timeout(Duration::from_secs(20), stuck.read_exact(&mut rest))
        .await
        .expect("in time")
        .unwrap();
    assert!(rest.iter().all(|&byte| byte == 0));
    drop((stuck, lively));
    assert!(node.stop().full_sockets > 0);
}

#[tokio::test]
async fn too_many_connections_are_closed_at_once() {
    let (node, address) = start("limits.connections = 1");
    let mut first = TcpStream::connect(address).await.unwrap();
    first.write_all(b"x").await.unwrap();
    expect(&mut first, "x").await;
    let mut second = TcpStream::connect(address).await.unwrap();
    expect_eof(&mut second).await;
    drop(first);
    assert_eq!(node.stop().refused_connections, 1);
}

#[tokio::test]
async fn shutdown_says_goodbye() {
    let (node, address) = start("");
    let mut a = TcpStream::connect(address).await.unwrap();
    a.write_all(b"x").await.unwrap();
    expect(&mut a, "x").await;
    let stopping = tokio::task::spawn_blocking(move || node.stop());
    expect(&mut a, "end").await;
    expect_eof(&mut a).await;
    drop(a);
    assert_eq!(stopping.await.unwrap().open_connections, 0);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn every_address_means_both_families() {
    let config = Config { listen: vec!["tcp://*:0".parse().unwrap()], ..Config::default() };
    let node = Background::start(config, |_| Chorus::default()).unwrap();
    let port = node.addresses()[0].port();
    let mut v4 = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    v4.write_all(b"x").await.unwrap();
    expect(&mut v4, "x").await;
    if node.addresses()[0].is_ipv6() {
        let mut v6 = TcpStream::connect(("::1", port)).await.unwrap();
        v6.write_all(b"y").await.unwrap();
        expect(&mut v6, "y").await;
    }
}

#[test]
fn a_port_in_use_is_an_error_that_names_it() {
    let (_node, address) = start("");
    let config = Config { listen: vec![format!("tcp://{address}").parse().unwrap()], ..Config::default() };
    let error =
        Background::start(config, |_| Chorus::default()).err().expect("the port is taken").to_string();
    assert!(error.contains(&format!("cannot listen on tcp://{address}")), "{error}");
}
