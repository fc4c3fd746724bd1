//! Nodes of one site whose multicast groups use keys of the network: they are rotated while messages
//! pass, and nodes without a right to them read nothing.

use std::time::{Duration, Instant};

use crate::common::server::{Folder, run};
use crate::common::{Member, Server, eventually, member_of};
use crate::loopback::has_multicast;
use crate::multicast::{counted, groups, numbers, own};
use crate::trust::{authority, settings, trust};

/// The shortest interval at which keys are rotated.
const INTERVAL: Duration = Duration::from_secs(5);

fn start(toml: &str, name: &str, url: &str, join: Option<&Server>) -> Server {
    let mut flags = vec!["--name", name, "--network-listen", "tls://127.0.0.1:0", "--link", url];
    flags.extend(["--listen", "tcp://127.0.0.1:0"]);
    match join {
        Some(join) => flags.extend(["--join", &join.links()[0]]),
        None => flags.extend(["--topology", "mesh"]),
    }
    Server::with(toml, &flags)
}

/// Nodes with certificates that share groups, whose keys are those of the network, and a federate
/// at each.
struct Site {
    folder: Folder,
    url: String,
    nodes: Vec<Server>,
    members: Vec<Member>,
}

impl Site {
    async fn new(names: &[&str], interval: &str) -> Self {
        let folder = authority(names);
        let url = groups(&format!(",groups=1,key=network,key-interval={interval}"));
        let trusted = folder.path().join("trust/authority.pem");
        let mut nodes: Vec<Server> = Vec::new();
        for name in names {
            // A node that is cut off stays in the groups, for as long as it hopes for the others.
            let toml = "[network]\nminority-timeout = \"60s\"\n".to_owned();
            let toml = toml + &settings(&folder, name, &trusted, true);
            nodes.push(start(&toml, name, &url, nodes.first()));
        }
        for node in &nodes {
            eventually("all are members", || node.nodes() == names).await;
        }
        let mut members = Vec::new();
        for (node, name) in nodes.iter().zip(names) {
            members.push(member_of(node, "Site", name).await);
        }
        let site = Self { folder, url, nodes, members };
        for (node, name) in site.nodes.iter().zip(names) {
            let reached = || own(node, name, "group").iter().any(|group| group["reaches"] == names.len() - 1);
            eventually("groups reach all others", reached).await;
        }
        site
    }

    /// The epoch of the key under which a node sends.
    fn epoch(&self, node: usize, name: &str) -> u64 {
        let rows = own(&self.nodes[node], name, "group");
        rows.first().and_then(|group| group["key"]["epoch"].as_u64()).unwrap_or(0)
    }
}

#[tokio::test]
async fn keys_are_rotated_while_messages_pass() {
    if !has_multicast() {
        return;
    }
    let names = ["A", "B", "C"];
    let mut site = Site::new(&names, "5s").await;
    let rogue = {
        let foreign = authority(&["X"]);
        let toml = settings(&foreign, "X", &foreign.path().join("trust/authority.pem"), false);
        start(&toml, "X", &site.url, Some(&site.nodes[0]))
    };
    let instance = site.members[0].registers().await;
    for member in &mut site.members[1..] {
        assert_eq!(member.discovers().await.0, instance);
    }
    let refused = |site: &Site| -> Vec<u64> {
        site.nodes.iter().zip(names).map(|(node, name)| counted(node, name, "group", "refused")).collect()
    };
    let (before, first) = (refused(&site), site.epoch(0, "A"));
    let sent_before = counted(&site.nodes[0], "A", "group", "sent_messages");
    let (began, mut sent) = (Instant::now(), 0);
    // Every message is read before the next ones are sent, so that none is still unread at the end.
    while began.elapsed() < 4 * INTERVAL {
        for _ in 0..20 {
            sent += 1;
            site.members[0].update(instance, sent).await;
        }
        let expected: Vec<u32> = (sent - 19..=sent).collect();
        for member in &mut site.members[1..] {
            assert_eq!(numbers(member, 20).await.0, expected, "all, once, in order");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for (node, name) in names.into_iter().enumerate() {
        eventually("the key was rotated", || site.epoch(node, name) >= first + 3).await;
    }
    let grouped = counted(&site.nodes[0], "A", "group", "sent_messages") - sent_before;
    assert!(grouped >= u64::from(sent), "all {sent} went through the group, and not over links: {grouped}");
    let others = |counts: Vec<u64>| counts.into_iter().zip(&before).map(|(now, then)| now - then).collect();
    let forged: Vec<u64> = others(refused(&site));
    // Reports are made each second: that of the rogue, read later, is not older than those of the others.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let rogues = counted(&rogue, "X", "group", "sent_datagrams");
    assert!(
        forged.iter().all(|count| *count <= rogues),
        "of members nothing is refused: {forged:?}, {rogues}"
    );

    // The stranger on the same local network reads nothing.
    assert!(site.nodes[0].log().contains("no trusted authority has signed it"));
    let group = own(&rogue, "X", "group");
    assert_eq!((&group[0]["hears"], &group[0]["received_frames"]), (&0.into(), &0.into()), "{group:?}");
    assert!(counted(&rogue, "X", "group", "refused") >= u64::from(sent) / 20, "{group:?}");
}

#[tokio::test]
async fn a_revoked_node_does_not_get_the_next_key() {
    if !has_multicast() {
        return;
    }
    let names = ["A", "B", "C", "D"];
    let mut site = Site::new(&names, "1h").await;
    let instance = site.members[0].registers().await;
    for member in &mut site.members[1..3] {
        assert_eq!(member.discovers().await.0, instance);
    }
    site.members[0].update(instance, 1).await;
    for member in &mut site.members[1..3] {
        assert_eq!(numbers(member, 1).await.0, [1]);
    }
    let had = own(&site.nodes[3], "D", "group")[0]["key"].clone();
    trust(&site.folder, &["revoke", "D"]);
    eventually("the others go on without it", || site.nodes[0].nodes() == ["A", "B", "C"]).await;
    // Long before the interval is over, the key that it had is out of use.
    let is_new = |site: &Site, node| {
        let own = own(&site.nodes[node], names[node], "group");
        own.first().is_some_and(|group| group["key"] != had && group["reaches"] == 2)
    };
    for node in 0..3 {
        eventually("another key is in use", || is_new(&site, node)).await;
    }
    let read = counted(&site.nodes[3], "D", "group", "received_frames");
    let refused = counted(&site.nodes[3], "D", "group", "refused");
    for n in 2..=200 {
        site.members[0].update(instance, n).await;
    }
    for member in &mut site.members[1..3] {
        assert_eq!(numbers(member, 199).await.0, (2..=200).collect::<Vec<u32>>());
    }
    let more = || counted(&site.nodes[3], "D", "group", "refused") > refused;
    eventually("it hears what it cannot read", more).await;
    // Counters are reported every other second, so the first reading may lack what came before.
    let more = counted(&site.nodes[3], "D", "group", "received_frames") - read;
    assert!(more < 20, "it reads nothing of the 199 updates, but {more} frames");
}

/// A node that is killed and started again, with nothing but its files, gets the present key.
#[tokio::test]
async fn a_node_that_comes_later_gets_the_key() {
    if !has_multicast() {
        return;
    }
    let mut site = Site::new(&["A", "B", "C"], "1h").await;
    let trusted = site.folder.path().join("trust/authority.pem");
    site.nodes[2].kill();
    eventually("it is gone", || site.nodes[0].nodes() == ["A", "B"]).await;
    let c = start(&settings(&site.folder, "C", &trusted, true), "C", &site.url, site.nodes.first());
    let _member = member_of(&c, "Site", "C").await;
    let key = |node: &Server, name: &str| own(node, name, "group").first().map(|group| group["key"].clone());
    let agrees = || {
        let keys = [key(&site.nodes[0], "A"), key(&site.nodes[1], "B"), key(&c, "C")];
        keys[0].is_some() && keys.iter().all(|key| *key == keys[0])
    };
    eventually("all have one key", agrees).await;
    let reached = || own(&c, "C", "group").iter().any(|group| group["reaches"] == 2 && group["hears"] == 2);
    eventually("the group reaches all again", reached).await;
    assert!(site.epoch(0, "A") > 1, "the key that the killed process had is not in use any more");
}

#[test]
fn keys_of_the_network_need_proofs() {
    let listen = ["serve", "--check", "--listen", "tcp://127.0.0.1:0", "--name", "A"];
    let output = run(&[&listen[..], &["--link", &groups(",key=network")]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("nodes that prove who they are"), "{said}");
}
