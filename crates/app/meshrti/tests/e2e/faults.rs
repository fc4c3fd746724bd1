//! The behaviour of nodes when one is paused, when the network falls into parts, and when a link carries one
//! way only: each row of the table in `docs/guide/network.md`, on real processes. Nodes that are
//! killed are in `network.rs`, links that are slow or lossy in `slow.rs`.
#![cfg(unix)]

use federate::hla::Exception;
use federate::hla::api::ResignAction;
use serde_json::Value;

use crate::common::federates::heard_by;
use crate::common::server::settled;
use crate::common::wire::{Way, Wire};
use crate::common::{Member, Server, eventually, member_of, range, soon};

/// Nodes that take none for dead while a test lasts, and notice within a second that a link is
/// silent.
const PATIENT: &str =
    "silence = \"800ms\"\nkeep-alive = \"200ms\"\nnode-timeout = \"300s\"\nminority-timeout = \"600s\"";
/// Nodes that do not even notice silence.
const STOIC: &str = "silence = \"300s\"\nnode-timeout = \"300s\"\nminority-timeout = \"600s\"";
/// Nodes that give up soon.
const HASTY: &str = "silence = \"800ms\"\nkeep-alive = \"200ms\"\nminority-timeout = \"3s\"";

const NAMES: [&str; 3] = ["A", "B", "C"];
const BOTH: [Way; 2] = [Way::Up, Way::Down];

/// A node with these settings, which others reach by links that are made for it alone: nobody is
/// told where it listens.
fn node(name: &str, settings: &str, flags: &[&str]) -> Server {
    let toml = format!("[network]\nadvertise = [\"tcp://127.0.0.1:9\"]\n{settings}");
    let loopback = "tcp://127.0.0.1:0";
    let mut all = vec!["--name", name, "--listen", loopback, "--network-listen", loopback];
    all.extend(flags);
    Server::with(&toml, &all)
}

/// A mesh in which everybody finds everybody.
fn mesh(settings: &str) -> [Server; 3] {
    let toml = format!("[network]\n{settings}");
    let loopback = "tcp://127.0.0.1:0";
    let flags = |name| ["--name", name, "--listen", loopback, "--network-listen", loopback];
    let a = Server::with(&toml, &[&flags("A")[..], &["--topology", "mesh"]].concat());
    let [b, c] =
        ["B", "C"].map(|name| Server::with(&toml, &[&flags(name)[..], &["--join", &a.links()[0]]].concat()));
    [a, b, c]
}

async fn all_settled(nodes: &[Server; 3]) {
    settled(&nodes.each_ref(), &NAMES).await;
}

/// A federate at each node. Each hears the others: what they subscribe is known everywhere.
async fn members(nodes: &[Server; 3]) -> [Member; 3] {
    let [a, b, c] = nodes;
    let mut members = [
        member_of(a, "Wide", "at A").await,
        member_of(b, "Wide", "at B").await,
        member_of(c, "Wide", "at C").await,
    ];
    let [a, b, c] = &mut members;
    heard_by(a, b).await;
    heard_by(a, c).await;
    heard_by(b, a).await;
    heard_by(b, c).await;
    heard_by(c, a).await;
    heard_by(c, b).await;
    members
}

/// The number of the next interaction that is no greeting.
async fn hears(member: &mut Member) -> u32 {
    loop {
        let number = member.receives().await;
        if number < 1_000 {
            return number;
        }
    }
}

/// These interactions come next, each once.
async fn hears_all(member: &mut Member, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        assert_eq!(hears(member).await, number);
    }
}

/// Everybody hears what everybody says.
async fn all_hear_all(members: &mut [Member; 3], number: u32) {
    for speaker in 0..3 {
        members[speaker].fire(number).await;
        for listener in (0..3).filter(|listener| *listener != speaker) {
            assert_eq!(hears(&mut members[listener]).await, number, "{speaker} to {listener}");
        }
    }
}

/// The keys of the nodes of the network, as the asked node knows them. A node that has rejoined has
/// another key.
fn keys(asked: &Server) -> Vec<Value> {
    let mut rows = asked.rows("node");
    rows.sort_by_key(|row| row["node"].as_str().map(str::to_owned));
    rows.into_iter().map(|row| row["key"].clone()).collect()
}

#[tokio::test]
async fn a_pause_shorter_than_the_timeouts_misses_nothing() {
    let nodes = mesh(STOIC);
    all_settled(&nodes).await;
    let mut members = members(&nodes).await;
    all_hear_all(&mut members, 1).await;
    let before = keys(&nodes[1]);
    // The last to come, and the one that created the network and leads it.
    for paused in [2, 0] {
        let (speaker, listener) = (1, 2 - paused);
        nodes[paused].signal("STOP");
        for number in 1..=20 {
            members[speaker].fire(number).await;
            assert_eq!(hears(&mut members[listener]).await, number, "the others go on");
        }
        // And decide: for that they may need another leader.
        let late = member_of(&nodes[speaker], "Wide", &format!("late {paused}")).await;
        let ((), ()) = tokio::join!(members[paused].fire(77), async { nodes[paused].signal("CONT") });
        hears_all(&mut members[paused], 1..=20).await;
        assert_eq!(hears(&mut members[speaker]).await, 77);
        assert_eq!(hears(&mut members[listener]).await, 77);
        soon(late.federate.resign_federation_execution(ResignAction::NoAction)).await.expect("it is joined");
    }
    all_hear_all(&mut members, 2).await;
    assert_eq!(keys(&nodes[1]), before, "nobody was taken for dead");
}

#[tokio::test]
async fn a_node_that_pauses_longer_is_declared_dead_and_rejoins() {
    for paused in [2, 0] {
        let nodes = mesh("");
        all_settled(&nodes).await;
        let [a, b, c] = members(&nodes).await;
        let (mut at_paused, mut at_other, mut at_third) = if paused == 2 { (c, a, b) } else { (a, c, b) };
        let others = [&nodes[2 - paused], &nodes[1]];
        soon(at_paused.federate.set_automatic_resign_directive(ResignAction::DeleteObjects)).await.unwrap();
        let (lost, kept) = (at_paused.registers().await, at_other.registers().await);
        for _ in [lost, kept] {
            at_third.discovers().await;
        }
        let before = keys(others[0]);

        nodes[paused].signal("STOP");
        at_third.sees_removal(lost).await;
        at_other.sees_removal(lost).await;
        for other in others {
            eventually("it is no member any more", || other.nodes().len() == 2).await;
        }
        at_other.update(kept, 1).await;
        assert_eq!(at_third.reflects(kept).await, 1);

        nodes[paused].signal("CONT");
        let why = at_paused.loses_connection().await;
        assert!(why.contains("taken for dead"), "{why}");
        eventually("it is back", || nodes.iter().all(|node| node.nodes() == NAMES)).await;
        assert_ne!(keys(others[0]), before, "as a new node");
        let mut again = member_of(&nodes[paused], "Wide", "again").await;
        assert_eq!(again.discovers().await.0, kept, "in the federation that went on");
        heard_by(&again, &mut at_other).await;
        heard_by(&again, &mut at_third).await;
    }
}

/// A tree: B is below A, and C below B, over a wire.
fn chain(settings: &str) -> ([Server; 3], Wire) {
    let a = node("A", settings, &[]);
    let b = node("B", settings, &["--join", &a.links()[0]]);
    let wire = Wire::to(&b.links()[0]);
    let c = node("C", settings, &["--join", &wire.url()]);
    ([a, b, c], wire)
}

/// Waits until neither node of the ends of the wire has contact to the other.
async fn apart(nodes: &[Server; 3]) {
    let reaches = |asked: &Server, other: &str| {
        asked.rows("node").iter().any(|row| row["node"] == other && row["reachable"] == true)
    };
    eventually("they are apart", || !reaches(&nodes[1], "C") && !reaches(&nodes[2], "B")).await;
}

#[tokio::test]
async fn a_network_that_is_whole_again_in_time_has_lost_nothing() {
    for ways in [&BOTH[..], &[Way::Up], &[Way::Down]] {
        let (nodes, wire) = chain(PATIENT);
        all_settled(&nodes).await;
        let mut members = members(&nodes).await;
        all_hear_all(&mut members, 9).await;
        let before = keys(&nodes[0]);
        wire.hold(ways);
        apart(&nodes).await;
        for number in 1..=20 {
            members[0].fire(number).await;
            members[2].fire(100 + number).await;
            assert_eq!(hears(&mut members[1]).await, number);
        }
        wire.release();
        hears_all(&mut members[2], 1..=20).await;
        hears_all(&mut members[0], 101..=120).await;
        hears_all(&mut members[1], 101..=120).await;
        all_hear_all(&mut members, 8).await;
        assert_eq!(keys(&nodes[0]), before, "nobody was taken for dead");
    }
}

#[tokio::test]
async fn the_smaller_part_of_a_network_gives_up_and_comes_back() {
    for ways in [&BOTH[..], &[Way::Up], &[Way::Down]] {
        let (nodes, wire) = chain(HASTY);
        all_settled(&nodes).await;
        let [at_a, mut at_b, mut at_c] = members(&nodes).await;
        soon(at_c.federate.set_automatic_resign_directive(ResignAction::DeleteObjects)).await.unwrap();
        let (kept, lost) = (at_a.registers().await, at_c.registers().await);
        for _ in [kept, lost] {
            at_b.discovers().await;
        }
        wire.hold(ways);

        // The larger part goes on, and decides.
        at_b.sees_removal(lost).await;
        at_a.update(kept, 1).await;
        assert_eq!(at_b.reflects(kept).await, 1);
        eventually("it is no member any more", || nodes[0].nodes() == ["A", "B"]).await;
        let late = member_of(&nodes[0], "Wide", "late").await;
        late.fire(1).await;
        assert_eq!(hears(&mut at_b).await, 1);
        // In the smaller one nothing is decided, until it gives up.
        let created = soon(at_c.federate.create_federation_execution("Of one", range())).await;
        assert!(created.is_err(), "a minority decides nothing");
        let why = at_c.loses_connection().await;
        assert!(why.contains("majority") || why.contains("taken for dead"), "{why}");

        wire.release();
        eventually("it is back", || nodes.iter().all(|node| node.nodes() == NAMES)).await;
        let mut again = member_of(&nodes[2], "Wide", "again").await;
        assert_eq!(again.discovers().await.0, kept, "in the federation that went on");
        heard_by(&again, &mut at_b).await;
        let none = soon(again.federate.destroy_federation_execution("Of one")).await.unwrap_err();
        assert!(none.is(Exception::FederationExecutionDoesNotExist), "{none}");
    }
}

#[tokio::test]
async fn without_any_majority_nothing_is_decided_until_parts_meet_again() {
    let a = node("A", PATIENT, &[]);
    let upper = Wire::to(&a.links()[0]);
    let b = node("B", PATIENT, &["--join", &upper.url()]);
    let lower = Wire::to(&b.links()[0]);
    let c = node("C", PATIENT, &["--join", &lower.url()]);
    let nodes = [a, b, c];
    all_settled(&nodes).await;
    let mut members = members(&nodes).await;
    upper.hold(&BOTH);
    lower.hold(&BOTH);
    let alone =
        |asked: &Server| asked.rows("node").iter().filter(|row| row["reachable"] == true).count() == 1;
    eventually("each is alone", || nodes.iter().all(alone)).await;
    let federate = members[0].federate.clone();
    let asked = tokio::spawn(async move { federate.create_federation_execution("Later", range()).await });
    // Services that need no decision go on at each node: local federates hear each other.
    members[0].fire(1).await;
    assert!(!asked.is_finished(), "nobody can decide that");
    upper.release();
    soon(asked).await.expect("it does not panic").expect("two of three decide it");
    lower.release();
    hears_all(&mut members[1], 1..=1).await;
    hears_all(&mut members[2], 1..=1).await;
    all_hear_all(&mut members, 2).await;
}

/// A triangle whose every side is a wire: of A and B, of A and C, of B and C.
fn triangle(settings: &str, flags: &[&str]) -> ([Server; 3], [Wire; 3]) {
    let a = node("A", settings, flags);
    let a_b = Wire::to(&a.links()[0]);
    let b = node("B", settings, &[flags, &["--link", &a_b.url()]].concat());
    let (a_c, b_c) = (Wire::to(&a.links()[0]), Wire::to(&b.links()[0]));
    let c = node("C", settings, &[flags, &["--link", &a_c.url(), "--link", &b_c.url()]].concat());
    ([a, b, c], [a_b, a_c, b_c])
}

fn links_up(asked: &Server) -> usize {
    asked.rows("link").len()
}

#[tokio::test]
async fn messages_take_another_way_when_there_is_one() {
    for flags in [&["--topology", "graph", "--redundancy"][..], &["--topology", "mesh"]] {
        let (nodes, wires) = triangle(PATIENT, flags);
        all_settled(&nodes).await;
        eventually("all links are up", || nodes.iter().all(|node| links_up(node) == 3)).await;
        let mut members = members(&nodes).await;
        let before = keys(&nodes[0]);
        all_hear_all(&mut members, 9).await;
        for (wire, ways) in wires.iter().zip([&BOTH[..], &[Way::Up], &[Way::Down]]) {
            wire.hold(ways);
            // Nothing of what is said before anybody has noticed, and nothing of what is said then,
            // is lost or comes twice.
            for number in 1..=10 {
                for member in &members {
                    member.fire(number).await;
                }
            }
            for member in &mut members {
                let mut got = Vec::new();
                while got.len() < 20 {
                    got.push(hears(member).await);
                }
                got.sort_unstable();
                let expected: Vec<u32> = (1..=10).flat_map(|number| [number; 2]).collect();
                assert_eq!(got, expected, "{flags:?} {ways:?}");
            }
            all_hear_all(&mut members, 11).await;
            wire.release();
            eventually("the link is back", || nodes.iter().all(|node| links_up(node) == 3)).await;
        }
        assert_eq!(keys(&nodes[0]), before, "nobody was taken for dead");
    }
}
