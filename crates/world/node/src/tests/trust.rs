//! Nodes prove to each other who they are, over TLS and QUIC alike.

use std::rc::Rc;

use super::certificates::{Authority, expired, for_clients};
use crate::config::Network;
use crate::config::network::LinkTls;
use crate::conformance::TestNode;
use crate::link::Plain;

const LISTEN: [&str; 2] = ["tls://127.0.0.1:0", "quic://127.0.0.1:0"];

fn listening(tls: LinkTls, at: &str) -> TestNode {
    let network = Network { tls, listen: vec![at.parse().unwrap()], ..Network::default() };
    TestNode::start_in(network, || Rc::new(Plain), None)
}

fn joining(tls: LinkTls, url: &str) -> TestNode {
    let network = Network { tls, join: Some(url.parse().unwrap()), ..Network::default() };
    let node = TestNode::start_in(network, || Rc::new(Plain), None);
    node.connect(url);
    node
}

#[test]
fn both_ends_learn_each_others_names() {
    let authority = Authority::new();
    for at in LISTEN {
        let a = listening(authority.node(&["A", "127.0.0.1"], 1), at);
        let b = joining(authority.node(&["B", "b.example"], 2), &a.urls[0]);
        b.wait("the link is up", |log| log.proven == ["A"]);
        a.wait("the link is up", |log| log.proven == ["B", "b.example"]);
        b.send(vec![7; 1 << 20]);
        a.wait("the frame", |log| log.frames.iter().any(|frame| frame.len() == 1 << 20));
    }
}

#[test]
fn a_node_without_a_right_is_refused_and_told_why() {
    let (authority, other) = (Authority::new(), Authority::new());
    for at in LISTEN {
        authority.revoke(&[4]);
        let a = listening(authority.node(&["A", "127.0.0.1"], 1), at);
        let foreign = LinkTls {
            authority: authority.node(&["X"], 9).authority,
            revocations: None,
            ..other.node(&["B"], 2)
        };
        for (tls, why) in [
            (foreign, "no trusted authority has signed it"),
            (authority.signed(&["B"], 3, expired), "it has expired"),
            (authority.node(&["B"], 4), "it is revoked"),
            (authority.signed(&["B"], 5, for_clients), "it is not for servers and clients both"),
        ] {
            // It does not notice its own defect.
            let tls = LinkTls { revocations: None, ..tls };
            let b = joining(tls, &a.urls[0]);
            b.wait(why, |log| log.failed.iter().any(|failed| failed.contains(why)));
            b.wait("all", |log| log.up.is_empty());
            let said = b.log().failed.last().cloned().unwrap_or_default();
            assert!(said.contains("the other node refuses the certificate of this node"), "{at}: {said}");
        }
        assert!(a.log().up.is_empty());
    }
}

#[test]
fn a_node_that_is_connected_to_is_checked_as_well() {
    let (authority, other) = (Authority::new(), Authority::new());
    for at in LISTEN {
        let b = authority.node(&["B"], 2);
        for (tls, why) in [
            (other.node(&["A", "127.0.0.1"], 1), "refused: no trusted authority has signed it"),
            (authority.signed(&["A", "127.0.0.1"], 3, expired), "refused: it has expired"),
            (authority.node(&["A", "elsewhere.example"], 4), "not valid for name \"127.0.0.1\""),
        ] {
            let a = listening(LinkTls { revocations: None, ..tls }, at);
            let b = joining(b.clone(), &a.urls[0]);
            b.wait(why, |log| log.failed.iter().any(|failed| failed.contains(why)));
            assert!(a.log().up.is_empty() && b.log().up.is_empty());
        }
    }
}

#[test]
fn a_revoked_node_is_cut_and_others_stay() {
    let authority = Authority::new();
    for at in LISTEN {
        authority.revoke(&[]);
        let a = listening(authority.node(&["A", "127.0.0.1"], 1), at);
        let b = joining(LinkTls { revocations: None, ..authority.node(&["B"], 2) }, &a.urls[0]);
        let c = joining(authority.node(&["C"], 3), &a.urls[0]);
        a.wait("both links are up", |log| log.up.len() == 2);
        authority.revoke(&[2]);
        a.wait("one is cut", |log| log.down.iter().any(|why| why.contains("it is revoked")));
        b.wait("it learns why", |log| log.failed.iter().any(|why| why.contains("it is revoked")));
        c.send(&b"still here"[..]);
        a.wait("the other stays", |log| log.frames == [&b"still here"[..]]);
        assert_eq!((a.log().down.len(), c.log().down.len()), (1, 0));
    }
}

#[test]
fn a_renewed_certificate_is_used_without_a_restart() {
    let authority = Authority::new();
    let a = listening(authority.signed(&["A", "127.0.0.1"], 1, expired), LISTEN[0]);
    let b = joining(authority.node(&["B"], 2), &a.urls[0]);
    b.wait("it is refused", |log| log.failed.iter().any(|why| why.contains("it has expired")));
    authority.node(&["A", "127.0.0.1"], 1);
    b.wait("the link is up", |log| log.proven == ["A"]);
}

#[test]
fn plain_and_encrypted_ends_say_what_is_wrong() {
    let authority = Authority::new();
    let plain = TestNode::start(&["tcp://127.0.0.1:0"]);
    let tls = listening(authority.node(&["A", "127.0.0.1"], 1), LISTEN[0]);
    let b = joining(authority.node(&["B"], 2), &plain.urls[0].replace("tcp", "tls"));
    b.wait("a plain end", |log| log.failed.iter().any(|why| why.contains("do both use `tls://`?")));
    plain.connect(tls.urls[0].replace("tls", "tcp"));
    plain.wait("an encrypted end", |log| log.failed.iter().any(|why| why.contains("it encrypts")));
    plain.connect(tls.urls[0].as_str());
    plain.wait("no keys", |log| log.failed.iter().any(|why| why.contains("`tls://` needs [network.tls]")));
    let c = joining(authority.node(&["C"], 3), &tls.urls[0]);
    c.connect(plain.urls[0].as_str());
    c.wait("a plain link", |log| log.failed.iter().any(|why| why.contains("plain TCP are refused")));
}
