//! Conformance tests for every kind of link.
//!
//! The tests of this crate run them over the kinds of links that it provides. Other crates run
//! [`TESTS`] over theirs.

mod peer;

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

pub(crate) use self::peer::TestNode;
use crate::config::Network;
use crate::config::network::LinkTls;
use crate::link::{Greetings, LINK_FRAME_BYTES_MAX, LinkContext, LinkProvider, LinkUrl, Plain, Quic, Trust};
use crate::link_tasks::connect::{raw, reach};

/// A kind of link: the address on which its nodes listen, and the options in its URLs.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The URL on which nodes listen. A bare `memory://` is given a name.
    pub listen: &'static str,
    /// The URL to which nodes connect, if it differs from the listener's, for example to use a
    /// relay.
    pub via: Option<&'static str>,
    /// Options of the links, such as `,delay=3ms`.
    pub options: &'static str,
    /// Whether its links have datagrams.
    pub has_datagrams: bool,
    /// The carrier of its links, if that is not a socket. Every node requests one.
    pub provider: Option<fn() -> Rc<dyn LinkProvider>>,
    /// The certificates of all nodes, if they need some.
    pub tls: Option<fn() -> LinkTls>,
}

/// The name of a test, and the test, which panics if the kind of link fails.
pub type Test = (&'static str, fn(Kind));

/// All requirements on a kind of link.
pub const TESTS: [Test; 11] = [
    ("frames keep their order", frames_keep_their_order),
    ("the largest frame passes", the_largest_frame_passes),
    ("an over-limit frame ends its link only", an_over_limit_frame_ends_its_link_only),
    ("a hostile length ends its link only", a_hostile_length_ends_its_link_only),
    ("a peer that restarts is found again", a_peer_that_restarts_is_found_again),
    ("a peer that says nothing is closed", a_peer_that_says_nothing_is_closed),
    ("a peer that stops reading is closed", a_peer_that_stops_reading_is_closed),
    ("a slow peer delays nobody and loses nothing", a_slow_peer_delays_nobody_and_loses_nothing),
    ("a closed link says its last words", a_closed_link_says_its_last_words),
    ("a node that stops says its last words", a_node_that_stops_says_its_last_words),
    ("datagrams pass where there are some", datagrams_pass_where_there_are_some),
];

impl Kind {
    /// The URL on which a node of a test listens. Names in memory must be unique among the tests of
    /// the process.
    fn listen(self) -> String {
        static NAMES: AtomicU32 = AtomicU32::new(0);
        match self.listen {
            "memory://" => format!("memory://conformance-{}", NAMES.fetch_add(1, Ordering::Relaxed)),
            other => other.to_owned(),
        }
    }

    /// The settings of its nodes.
    fn network(self) -> Network {
        Network { tls: self.tls.map(|tls| tls()).unwrap_or_default(), ..Network::default() }
    }

    /// A node that listens.
    fn server(self, listen: &str) -> TestNode {
        let network = Network { listen: vec![listen.parse().expect("it is a URL")], ..self.network() };
        TestNode::start_in(network, || Rc::new(Plain), self.provider)
    }

    /// The URL to which others connect.
    fn url(self, server: &TestNode) -> String {
        format!("{}{}", self.via.unwrap_or(&server.urls[0]), self.options)
    }

    /// A listening node, and one that is connected to it.
    fn pair(self) -> (TestNode, TestNode) {
        let server = self.server(&self.listen());
        let client = TestNode::start_in(self.network(), || Rc::new(Plain), self.provider);
        client.connect(self.url(&server));
        client.wait("the link is up here", |log| log.up.len() == 1);
        server.wait("the link is up there", |log| log.up.len() == 1);
        (client, server)
    }

    /// Runs `test` as a peer without a machine.
    fn bare<F: Future>(self, test: impl FnOnce(Rc<LinkContext>) -> F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let context = LinkContext {
            layer: Rc::new(Plain),
            provider: self.provider.map(|provider| provider()),
            trust: Trust::new(&self.network()),
            quic: Quic::default(),
            connect_timeout: Duration::from_secs(5),
            accepted_max: 1,
            greetings: RefCell::new(Greetings::new(1)),
        };
        tokio::task::LocalSet::new().block_on(&runtime, test(Rc::new(context)))
    }
}

/// Frame number `number`, of a length that depends on it.
fn frame(number: u32) -> Bytes {
    let mut frame = number.to_be_bytes().to_vec();
    frame.resize(4 + (number as usize * 37) % 3000, number as u8);
    Bytes::from(frame)
}

fn send_and_expect(from: &TestNode, to: &TestNode, numbers: std::ops::Range<u32>) {
    to.log().frames.clear();
    from.log().send.extend(numbers.clone().map(frame));
    to.wait("all frames", |log| log.frames.len() >= numbers.len());
    assert!(to.log().frames.iter().cloned().eq(numbers.map(frame)), "in order and whole");
}

pub(crate) fn frames_keep_their_order(kind: Kind) {
    let (client, server) = kind.pair();
    send_and_expect(&client, &server, 0..2000);
    send_and_expect(&server, &client, 0..2000);
}

pub(crate) fn the_largest_frame_passes(kind: Kind) {
    let (client, server) = kind.pair();
    let largest: Bytes = (0..LINK_FRAME_BYTES_MAX).map(|index| (index % 251) as u8).collect();
    for (from, to) in [(&client, &server), (&server, &client)] {
        from.send(largest.clone());
        to.wait("the frame", |log| log.frames.len() == 1);
        assert!(to.log().frames[0] == largest);
    }
}

pub(crate) fn an_over_limit_frame_ends_its_link_only(kind: Kind) {
    let (client, server) = kind.pair();
    client.send(vec![0; LINK_FRAME_BYTES_MAX + 1]);
    client.wait("the end of the link", |log| log.down.len() == 1);
    let why = client.log().down[0].clone();
    assert!(why.contains("a frame of 1048641 bytes for the link; the limit is 1048640"), "{why}");
    client.wait("another link", |log| log.up.len() == 2);
    server.wait("another link", |log| log.up.len() == 2 && log.down.len() == 1);
    send_and_expect(&client, &server, 0..10);
}

pub(crate) fn a_hostile_length_ends_its_link_only(kind: Kind) {
    let (client, server) = kind.pair();
    let url: LinkUrl = kind.url(&server).parse().unwrap();
    for (octets, what) in [
        (&[0x7f, 0xff, 0xff, 0xff, 1][..], "announced a frame of 2147483647 bytes; the limit is 1048640"),
        (&[0, 0, 0, 0][..], "announced an empty frame"),
    ] {
        kind.bare(async |context| {
            let mut link = reach(&context, &url).await.unwrap();
            link.write.write_all(octets).await.unwrap();
            link.write.flush().await.unwrap();
            let mut rest = Vec::new();
            let end = tokio::time::timeout(Duration::from_secs(5), link.read.read_to_end(&mut rest)).await;
            assert!(end.is_ok(), "the link is closed");
        });
        server.wait("its end", |log| log.down.pop().is_some_and(|why| why.contains(what)));
    }
    send_and_expect(&client, &server, 0..10);
    assert!(client.log().down.is_empty());
}

pub(crate) fn a_peer_that_restarts_is_found_again(kind: Kind) {
    let (client, server) = kind.pair();
    send_and_expect(&client, &server, 0..10);
    let url = server.urls[0].clone();
    server.stop();
    client.wait("the end of the link", |log| log.down.len() == 1);
    client.wait("a failure", |log| !log.failed.is_empty());
    let server = kind.server(&url);
    client.wait("another link", |log| log.up.len() == 2);
    server.wait("another link", |log| log.up.len() == 1);
    send_and_expect(&client, &server, 10..20);
    send_and_expect(&server, &client, 20..30);
}

pub(crate) fn a_peer_that_says_nothing_is_closed(kind: Kind) {
    let (client, server) = kind.pair();
    let url: LinkUrl = kind.url(&server).parse().unwrap();
    let start = Instant::now();
    kind.bare(async |context| {
        // A QUIC stream exists for the other side only once something was written.
        let silent = raw(&context, &url).await.unwrap();
        let mut read = silent.read;
        let end = tokio::time::timeout(Duration::from_secs(5), read.read(&mut [0; 8])).await;
        assert!(matches!(end, Ok(Ok(0) | Err(_))), "the connection is closed");
    });
    assert!(start.elapsed() >= Duration::from_millis(1900), "it has some time");
    send_and_expect(&client, &server, 0..10);
    drop(client);
    assert_eq!(server.stop().refused_links, 1);
}

pub(crate) fn a_peer_that_stops_reading_is_closed(kind: Kind) {
    let server = kind.server(&kind.listen());
    let url: LinkUrl = kind.url(&server).parse().unwrap();
    kind.bare(async |context| {
        let deaf = reach(&context, &url).await.unwrap();
        server.wait("the link", |log| log.up.len() == 1);
        server.log().send.extend((0..64).map(|_| Bytes::from(vec![1; 1 << 20])));
        // Its connection lives (QUIC needs a running peer for that), but nobody reads from it.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(server.log().taken < 40 << 20, "what cannot be sent stays in the machine");
        server.log().close = Some("too slow".to_owned());
        let start = Instant::now();
        while server.log().down.is_empty() {
            assert!(start.elapsed() < Duration::from_secs(5), "the link is given up");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(server.log().down, ["too slow"]);
        drop(deaf);
    });
}

pub(crate) fn a_slow_peer_delays_nobody_and_loses_nothing(kind: Kind) {
    let (client, server) = kind.pair();
    let total = 32_u32;
    let big = |number: u32| Bytes::from(vec![number as u8; 1 << 20]);
    server.log().stall = Some(Duration::from_secs(2));
    server.wait("the stall", |log| log.stall.is_none());
    let (ticks, theirs) = (client.log().ticks, server.log().ticks);
    client.log().send.extend((0..total).map(big));
    std::thread::sleep(Duration::from_millis(500));
    let taken = client.log().taken;
    let went_on = client.log().ticks - ticks;
    if server.log().ticks == theirs {
        // The peer still does nothing. A node that waits for it gets no turn itself.
        assert!(taken < 28 << 20, "{taken} bytes were taken for a peer that does not read");
        assert!(went_on > 3, "the node goes on: {went_on} ticks");
    }
    server.wait("everything", |log| log.frames.len() == total as usize);
    assert!(server.log().frames.iter().cloned().eq((0..total).map(big)));
}

pub(crate) fn a_closed_link_says_its_last_words(kind: Kind) {
    let (client, server) = kind.pair();
    {
        let mut log = server.log();
        log.send.extend((0..20).map(frame));
        log.close = Some("for a test".to_owned());
    }
    server.wait("the end", |log| log.down == ["for a test"]);
    client.wait("the end", |log| log.down.len() == 1);
    assert!(client.log().frames.iter().cloned().eq((0..20).map(frame)), "the last words came first");
    client.wait("another link", |log| log.up.len() == 2);
    server.wait("another link", |log| log.up.len() == 2);
    send_and_expect(&client, &server, 0..10);
}

pub(crate) fn a_node_that_stops_says_its_last_words(kind: Kind) {
    let (client, server) = kind.pair();
    client.log().stall = Some(Duration::from_millis(500));
    client.wait("the stall", |log| log.stall.is_none());
    // The client writes before it reads, and must not find the server gone.
    client.log().send.extend((0..20).map(frame));
    server.log().send.extend((0..20).map(frame));
    server.wait("the last words", |log| log.taken >= (0..20).map(|number| frame(number).len()).sum());
    server.stop();
    client.wait("the end", |log| log.down.len() == 1);
    assert!(client.log().frames.iter().cloned().eq((0..20).map(frame)), "the last words came first");
}

pub(crate) fn datagrams_pass_where_there_are_some(kind: Kind) {
    let (client, server) = kind.pair();
    if !kind.has_datagrams {
        send_and_expect(&client, &server, 0..500);
        assert_eq!((client.log().datagram_max, server.log().datagram_max), (None, None));
        return;
    }
    for node in [&client, &server] {
        node.wait("datagrams", |log| log.datagram_max.is_some_and(|max| max >= 1000));
    }
    for (from, to) in [(&client, &server), (&server, &client)] {
        let max = from.log().datagram_max.unwrap();
        for round in 0..10_u8 {
            from.log().send_datagrams.extend((0..10).map(|_| Bytes::from(vec![round; max])));
            std::thread::sleep(Duration::from_millis(5));
        }
        to.wait("datagrams", |log| log.datagrams.len() >= 90);
        assert!(to.log().datagrams.iter().all(|datagram| datagram.len() == max));
        from.send(frame(1));
        to.wait("the stream goes on", |log| log.frames.len() == 1);
    }
}
