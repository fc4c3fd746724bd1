//! Properties of particular kinds of links.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;

use crate::conformance::TestNode;
use crate::link::{BoxRead, BoxWrite, StreamLayer, Wrapping};

fn pair(options: &str) -> (TestNode, TestNode) {
    let server = TestNode::start(&["tcp://127.0.0.1:0"]);
    let client = TestNode::start(&[]);
    client.connect(format!("{}{options}", server.urls[0]));
    client.wait("up", |log| log.up.len() == 1);
    server.wait("up", |log| log.up.len() == 1);
    (client, server)
}

/// The travel time of a frame from one node to the other.
fn travel(from: &TestNode, to: &TestNode) -> Duration {
    let before = to.log().frames.len();
    let start = Instant::now();
    from.send(&b"x"[..]);
    to.wait("the frame", |log| log.frames.len() > before);
    start.elapsed()
}

#[test]
fn each_direction_has_its_own_delay() {
    let (client, server) = pair(",delay=150ms,back-delay=0s");
    for _ in 0..3 {
        let there = travel(&client, &server);
        assert!(there >= Duration::from_millis(150), "{there:?}");
    }
    // The least of several, because a busy machine delays everything now and then.
    let back = (0..10).map(|_| travel(&server, &client)).min();
    assert!(back.is_some_and(|back| back < Duration::from_millis(140)), "{back:?}");
}

#[test]
fn a_rate_is_kept() {
    let (client, server) = pair(",rate=8Mbit/s");
    let start = Instant::now();
    client.log().send.extend((0..40).map(|_| Bytes::from(vec![0; 10_000])));
    std::thread::sleep(Duration::from_millis(100));
    assert!(client.log().taken < 300_000, "what the line does not take stays in the machine");
    server.wait("all", |log| log.frames.len() == 40);
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(390) && took < Duration::from_secs(3), "400 kB took {took:?}");
}

#[test]
fn emulated_loss_concerns_datagrams_and_is_counted() {
    let (client, server) = pair(",best-effort=udp,loss=50%,back-loss=0%");
    client.wait("datagrams", |log| log.datagram_max.is_some_and(|max| max > 0));
    for _ in 0..20 {
        client.log().send_datagrams.extend((0..10).map(|_| Bytes::from_static(b"d")));
        std::thread::sleep(Duration::from_millis(4));
    }
    server.wait("some", |log| log.datagrams.len() > 50);
    std::thread::sleep(Duration::from_millis(50));
    assert!(server.log().datagrams.len() < 150, "{} of 200", server.log().datagrams.len());
    // The counters are reported with frames of the stream, at most once a second.
    std::thread::sleep(Duration::from_secs(1));
    client.log().send.extend((0..10).map(|_| Bytes::from_static(b"f")));
    server.wait("the stream loses nothing", |log| log.frames.len() == 10);
    server.wait("counters", |log| log.counters.received_datagrams > 50);
}

#[test]
fn something_else_on_the_port_is_told_apart() {
    let server = TestNode::start(&["tcp://127.0.0.1:0"]);
    let address = server.urls[0].trim_start_matches("tcp://").to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for octets in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\0\0\0\x05MRTL\x09", b"\0\0\0\x04oops"] {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            stream.write_all(octets).await.unwrap();
            let mut rest = Vec::new();
            let end = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await;
            assert!(end.is_ok(), "the connection is closed");
            // A node of another version is told the version of this one.
            assert_eq!(rest.starts_with(b"\0\0\0\x05MRTL\x01"), octets.ends_with(b"\x09"), "{rest:?}");
        }
    });
    assert_eq!(server.stop().refused_links, 3);
}

#[test]
fn reasons_of_failures_name_the_cause() {
    let client = TestNode::start(&[]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    client.connect("tcp://127.0.0.1:1");
    client.wait("refused", |log| log.failed.iter().any(|why| why.contains("refused")));
    client.connect("memory://nobody");
    client.wait("nobody", |log| log.failed.iter().any(|why| why.contains("nobody in this process")));
    client.connect("mpi://1");
    client.wait("no job", |log| log.failed.iter().any(|why| why.contains("no rank of an MPI job")));
    client.connect("pigeon://x");
    client.wait("scheme", |log| log.failed.iter().any(|why| why.contains("`pigeon` is not in this build")));
    client.connect(format!("tcp://{}", listener.local_addr().unwrap()));
    client.wait("silence", |log| log.failed.iter().any(|why| why.contains("no answer within 2s")));
    // The thread ends with the test process.
    std::thread::spawn(move || listener.incoming().for_each(drop));
    client.wait("early", |log| log.failed.iter().any(|why| why.contains("is this the port for nodes")));
}

#[test]
fn a_node_that_listens_everywhere_learns_its_address() {
    let server = TestNode::start(&["tcp://*:0"]);
    let port = server.urls[0].rsplit(':').next().unwrap().to_owned();
    assert!(server.log().addresses.is_empty());
    let client = TestNode::start(&["tcp://127.0.0.1:0"]);
    assert_eq!(client.log().addresses, client.urls, "what is known is told at once");
    client.connect(format!("tcp://127.0.0.1:{port}"));
    server.wait("its address", |log| log.addresses == [format!("tcp://127.0.0.1:{port}")]);
}

/// Silent connections to `url` from an address of the loopback network.
#[cfg(target_os = "linux")] // others have one such address only
fn silent(url: &str, from: &str, count: usize) -> Vec<socket2::Socket> {
    let to: std::net::SocketAddr = url.trim_start_matches("tcp://").parse().unwrap();
    let from = std::net::SocketAddr::new(from.parse().unwrap(), 0);
    let connect = |_| {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.bind(&from.into()).unwrap();
        socket.connect(&to.into()).unwrap();
        socket
    };
    (0..count).map(connect).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn silent_connections_make_room_for_nodes() {
    let server = TestNode::start(&["tcp://127.0.0.1:0"]);
    let silent = silent(&server.urls[0], "127.0.0.2", 300);
    let client = TestNode::start(&[]);
    client.connect(server.urls[0].as_str());
    client.wait("up", |log| log.up.len() == 1);
    assert!(client.log().failed.is_empty(), "{:?}", client.log().failed);
    drop(silent);
    // The silent ones beyond the limit, the one that made room, and those that never identified
    // themselves.
    assert!(server.stop().refused_links > 300 - 256);
}

/// A stand-in for TLS: the octets on the wire differ from those written.
struct Xor(u8);

struct XorHalf<T>(T, u8);

impl StreamLayer for Xor {
    fn connect<'a>(&'a self, host: &'a str, stream: TcpStream) -> Wrapping<'a> {
        assert_eq!(host, "127.0.0.1");
        self.accept(stream)
    }

    fn accept(&self, stream: TcpStream) -> Wrapping<'_> {
        Box::pin(async {
            let (read, write) = stream.into_split();
            Ok((Box::new(XorHalf(read, self.0)) as BoxRead, Box::new(XorHalf(write, self.0)) as BoxWrite))
        })
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for XorHalf<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let start = buf.filled().len();
        let result = Pin::new(&mut self.0).poll_read(cx, buf);
        let key = self.1;
        buf.filled_mut()[start..].iter_mut().for_each(|octet| *octet ^= key);
        result
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for XorHalf<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        let secret: Vec<u8> = octets.iter().map(|octet| octet ^ self.1).collect();
        Pin::new(&mut self.0).poll_write(cx, &secret)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[test]
fn streams_can_be_wrapped() {
    let server = TestNode::start_with(&["tcp://127.0.0.1:0"], || Rc::new(Xor(0x5a)), None);
    let client = TestNode::start_with(&[], || Rc::new(Xor(0x5a)), None);
    client.connect(server.urls[0].as_str());
    client.wait("up", |log| log.up.len() == 1);
    client.send(&b"secret"[..]);
    server.wait("the frame", |log| log.frames == [&b"secret"[..]]);
    let plain = TestNode::start(&[]);
    plain.connect(server.urls[0].as_str());
    plain.wait("no link", |log| !log.failed.is_empty() && log.up.is_empty());
}
