//! Strangers at the port for nodes, and nodes that are set up wrongly. Each of them gets a precise
//! sentence, and the others go on.

use crate::common::federates::heard_by;
use crate::common::server::{Folder, run};
use crate::common::stranger::{ACCEPT, Greeting, Stranger};
use crate::common::wire::{Way, Wire};
use crate::common::{Member, Server, eventually, member_of};

/// Two nodes with a federate each, which must not notice what happens beside them.
struct Network {
    a: Server,
    b: Server,
    at_a: Member,
    at_b: Member,
    count: u32,
}

impl Network {
    async fn start(settings: &str) -> Self {
        let toml = format!("[network]\n{settings}");
        let loopback = "tcp://127.0.0.1:0";
        let flags = |name| ["--name", name, "--listen", loopback, "--network-listen", loopback];
        let a = Server::with(&toml, &flags("A"));
        let b = Server::with(&toml, &[&flags("B")[..], &["--join", &a.links()[0]]].concat());
        eventually("they are one network", || a.nodes() == ["A", "B"] && b.nodes() == ["A", "B"]).await;
        let (mut at_a, mut at_b) = (member_of(&a, "Wide", "at A").await, member_of(&b, "Wide", "at B").await);
        heard_by(&at_a, &mut at_b).await;
        heard_by(&at_b, &mut at_a).await;
        Self { a, b, at_a, at_b, count: 0 }
    }

    /// Node A refuses who begins so, tells him and its log why, and the others go on.
    async fn refuses(&mut self, frame: &[u8], sentence: &str) {
        let mut stranger = Stranger::linked(&self.a).await;
        stranger.say(frame).await;
        let told = stranger.refusal().await;
        assert!(told.contains(sentence), "{told}");
        stranger.closed().await;
        logs(&self.a, &told).await;
        self.goes_on().await;
    }

    /// All is as it was.
    async fn goes_on(&mut self) {
        self.count += 1;
        self.at_a.fire(self.count).await;
        assert_eq!(self.at_b.receives().await, self.count);
        self.at_b.fire(self.count).await;
        assert_eq!(self.at_a.receives().await, self.count);
        assert!(self.a.is_running() && self.b.is_running());
    }

    /// All is as it was, and the network has the same two members.
    async fn is_whole(&mut self) {
        self.goes_on().await;
        assert_eq!((self.a.nodes(), self.b.nodes()), (names(&["A", "B"]), names(&["A", "B"])));
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

async fn logs(node: &Server, sentence: &str) {
    eventually(sentence, || node.log().contains(sentence)).await;
}

#[tokio::test]
async fn a_peer_that_is_no_node_is_closed_with_the_reason_in_the_log() {
    let mut network = Network::start("connect-timeout = \"500ms\"").await;
    let firsts: [(&[u8], &str); 6] = [
        (
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "the peer announced a frame of 1195725856 bytes; the limit is 512",
        ),
        (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS client's hello",
            "the peer is no node of MeshRTI",
        ),
        (b"\0\0\0\0", "the peer announced an empty frame"),
        (b"\0\0\0\x04ping", "the peer is no node of MeshRTI: it began with `ping`"),
        (
            b"\0\0\0\x06MRTL\x02\x00",
            "the peer speaks version 2 of the link protocol; this node speaks version 1",
        ),
        (b"\0\0\0\x07MRTL\x01\x01\xff", "the first record of the peer is malformed: field 1 has 0 octets"),
    ];
    for (first, sentence) in firsts {
        let mut stranger = Stranger::connect(&network.a).await;
        stranger.send(first).await;
        logs(&network.a, sentence).await;
        stranger.closed().await;
        network.goes_on().await;
    }
    // Nothing at all, and a record that never ends.
    for first in [&b""[..], b"\0\0\0\x09MRTL"] {
        let mut stranger = Stranger::connect(&network.b).await;
        stranger.send(first).await;
        stranger.closed().await;
        network.goes_on().await;
    }
    let sentence = "it did not say who it is within 500ms";
    eventually("both are logged", || network.b.log().matches(sentence).count() == 2).await;
    network.is_whole().await;
}

#[tokio::test]
async fn a_peer_that_does_not_greet_is_refused_with_a_sentence() {
    let mut network = Network::start("").await;
    let long = [&[0][..], &vec![7; 1 << 20]].concat();
    let frames: [(&[u8], &str); 7] = [
        (b"\0\x02", "an acceptance where a greeting is due"),
        (b"\0GET / HTTP/1.1", "a frame of unknown type 71"),
        (b"\0", "an empty frame"),
        (b"\0\x01MRTX", "the greeting starts with 0x4d525458, not 0x4d525449"),
        (b"\0\x01MRTI\x09", "key at byte 6 needs 8 bytes, 0 are left"),
        (&long, "entry of 117901063, the limit is 1048576"),
        (
            &Greeting { version: 8, ..Greeting::sound() }.frame(),
            "one node speaks version 8 of the node protocol, the other 9",
        ),
    ];
    for (frame, sentence) in frames {
        network.refuses(frame, sentence).await;
    }
    network.is_whole().await;
}

#[tokio::test]
async fn a_node_that_does_not_belong_is_told_why() {
    let mut network = Network::start("").await;
    let clock = Greeting::sound().clock_millis;
    let greetings = [
        (Greeting { network: 0x1234, ..Greeting::sound() }, "0000000000001234"),
        (Greeting { topology: 2, ..Greeting::sound() }, "give all nodes the same topology"),
        (Greeting { topology: 9, ..Greeting::sound() }, "there is no such topology"),
        (Greeting { redundancy: 1, ..Greeting::sound() }, "redundancy"),
        (Greeting { redundancy: 7, ..Greeting::sound() }, "redundancy"),
        (Greeting { name: "B", ..Greeting::sound() }, "two nodes with the name B"),
        (Greeting { name: "A", ..Greeting::sound() }, "two nodes with the name A"),
        (Greeting { name: "", ..Greeting::sound() }, "name"),
        (Greeting { name: "a\nb", ..Greeting::sound() }, "name"),
        (
            Greeting { clock_millis: clock - 120_000, ..Greeting::sound() },
            "ms behind that of node A, more than the 60000 ms that may be",
        ),
        (
            Greeting { clock_millis: clock + 120_000, ..Greeting::sound() },
            "ms ahead of that of node A, more than the 60000 ms that may be",
        ),
    ];
    for (greeting, sentence) in greetings {
        network.refuses(&greeting.frame(), sentence).await;
    }
    network.is_whole().await;
}

/// It greets as a node should, and then breaks the protocol in each of its parts.
#[tokio::test]
async fn a_neighbour_that_breaks_the_protocol_loses_its_link_only() {
    let mut network = Network::start("").await;
    let frames: [(&[u8], &str); 5] = [
        (b"\0\x63", "a frame of unknown type 99"),
        (b"\0\x01", "mark at byte 1 needs 4 bytes, 0 are left"),
        (b"\0\x07\xff\xff\xff\xff", "entry of 4294967295, the limit is 1048576"),
        (b"\0\x06\x01", "key at byte 1 needs 8 bytes, 1 are left"),
        (b"", "the peer announced an empty frame"),
    ];
    for (number, (frame, sentence)) in (0..).zip(frames) {
        let before = network.a.log().len();
        let mut stranger = Stranger::linked(&network.a).await;
        let greeting = Greeting { key: 0x7700 + number, ..Greeting::sound() };
        stranger.say(&greeting.frame()).await;
        let answer = stranger.hears().await.expect("it is greeted");
        assert_eq!(answer[..2], [0, 1], "a greeting");
        stranger.say(ACCEPT).await;
        eventually("it is a neighbour", || network.a.log()[before..].contains("STRANGER")).await;
        // No router listens to a neighbour that nobody has let into the network.
        for ignored in [&b"\x01\xff\xff"[..], b"\x02\0\0\0", b"\x03", b"\xfe\x01\x02"] {
            stranger.say(ignored).await;
        }
        stranger.say(frame).await;
        stranger.closed().await;
        let says = || network.a.log()[before..].contains(sentence);
        eventually(&format!("{frame:?}: {sentence}"), says).await;
        network.goes_on().await;
    }
    network.is_whole().await;
}

#[tokio::test]
async fn a_crowd_that_says_nothing_keeps_no_node_out() {
    let mut network = Network::start("silent-connections = 8\nconnect-timeout = \"1s\"").await;
    let mut crowd = Vec::new();
    for _ in 0..32 {
        crowd.push(Stranger::connect(&network.a).await);
    }
    logs(&network.a, "link refused: network.silent-connections are open").await;
    network.goes_on().await;
    // They are closed in time, and then there is room.
    let join = ["--name", "C", "--listen", "tcp://127.0.0.1:0", "--join", &network.a.links()[0]];
    let c = Server::with("", &join);
    eventually("it is let in", || c.nodes() == ["A", "B", "C"]).await;
    network.goes_on().await;
    for stranger in crowd {
        stranger.closed().await;
    }
}

#[tokio::test]
async fn a_second_node_of_one_name_is_refused_while_the_first_is_there() {
    let mut network = Network::start("").await;
    let twin = Server::node("B", Some(&network.a), &[]);
    logs(&twin, "two nodes with the name B").await;
    logs(&network.a, "two nodes with the name B").await;
    network.is_whole().await;
    // The name is free when the first is gone.
    network.b.kill();
    eventually("it is let in", || network.a.nodes() == ["A", "B"]).await;
    let mut at_twin = member_of(&twin, "Wide", "at the twin").await;
    heard_by(&network.at_a, &mut at_twin).await;
}

#[tokio::test]
async fn two_networks_do_not_mix() {
    let mut network = Network::start("").await;
    let wire = Wire::to(&network.a.links()[0]);
    wire.hold(&[Way::Up, Way::Down]);
    let other = Server::node("OTHER", None, &["--bootstrap", "--link", &wire.url()]);
    eventually("it has created a network", || other.nodes() == ["OTHER"]).await;
    wire.release();
    logs(&network.a, "--join").await;
    logs(&other, "--join").await;
    network.is_whole().await;
    assert_eq!(other.nodes(), ["OTHER"]);
    let alone = member_of(&other, "Wide", "alone").await;
    alone.fire(1).await;
    assert_eq!(network.a.rows("federate").len(), 2, "a federation of the same name, and another one");
}

#[tokio::test]
async fn a_node_of_another_shape_or_one_that_closes_a_loop_refusal() {
    let mut network = Network::start("").await;
    let mesh = Server::node("MESH", Some(&network.b), &["--topology", "mesh"]);
    logs(&mesh, "give all nodes the same topology").await;
    logs(&network.b, "give all nodes the same topology").await;
    network.is_whole().await;

    let wire = Wire::to(&network.b.links()[0]);
    wire.hold(&[Way::Up, Way::Down]);
    let c = Server::node("C", Some(&network.a), &["--link", &wire.url()]);
    eventually("it is let in", || c.nodes() == ["A", "B", "C"]).await;
    wire.release();
    logs(&c, "are connected by another path already").await;
    network.goes_on().await;
    let late = member_of(&c, "Wide", "at C").await;
    heard_by(&late, &mut network.at_a).await;
    heard_by(&late, &mut network.at_b).await;
}

#[test]
fn a_file_that_describes_no_network_is_pointed_at_before_anything_runs() {
    let node = |name: &str, port: u16| {
        format!("[[network.node]]\nname = \"{name}\"\naddress = \"tcp://127.0.0.1:{port}\"\n")
    };
    let edge = |a: &str, b: &str| format!("[[network.edge]]\na = \"{a}\"\nb = \"{b}\"\n");
    let three = node("A", 1) + &node("B", 2) + &node("C", 3);
    let cycle = three.clone() + &edge("A", "B") + &edge("B", "C") + &edge("C", "A");
    let graph = "[network]\ntopology = \"graph\"\n";
    let cases = [
        (node("A", 1) + &node("A", 2), "juo.toml:4", "two nodes are called `A`"),
        (node("A", 1) + &node("B", 1), "juo.toml:4", "have one address"),
        ("[network]\ntopolgy = \"tree\"\n".to_owned(), "juo.toml:2", "unknown field `topolgy`"),
        (node("A", 1) + "port = 5\n", "juo.toml:4", "unknown field `port`"),
        (
            graph.to_owned() + &cycle,
            "juo.toml:18",
            "a cycle: `C` and `A` are connected already, by C – B – A",
        ),
        (three + &edge("A", "B"), "juo.toml", "`C`"),
        (node("A", 1) + &edge("A", "Z"), "juo.toml:4", "no node is called `Z`"),
        ("[network]\ntopology = \"ring\"\n".to_owned(), "juo.toml:2", "ring"),
        (node("A", 1) + &node("B", 2) + &edge("A", "B"), "", "NOBODY"),
    ];
    let folder = Folder::new();
    for (text, place, sentence) in cases {
        let file = folder.write("juo.toml", &text);
        let name = if place.is_empty() { "NOBODY" } else { "A" };
        let output = run(&["serve", "--check", "--name", name, "--config", file.to_str().expect("UTF-8")]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}{said}");
        assert!(said.contains(place) && said.contains(sentence), "{text}{said}");
    }
    let sound = graph.to_owned() + "redundancy = true\n" + &cycle;
    let file = folder.write("juo.toml", sound);
    let output = run(&["serve", "--check", "--name", "A", "--config", file.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
