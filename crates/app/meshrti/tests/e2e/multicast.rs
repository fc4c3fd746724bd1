//! Nodes of one site that share multicast groups on loopback, and the commands that speak to groups.

use std::net::{Ipv4Addr, UdpSocket};

use federate::Callback;

use crate::common::federates::{number, tag};
use crate::common::server::{Folder, meshrti, run, signal, wait};
use crate::common::{Member, Server, eventually, member_of, soon};
use crate::loopback::has_multicast;

/// Groups that nobody else has, as `--link` takes them.
pub(crate) fn groups(options: &str) -> String {
    let port = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| socket.local_addr());
    let port = port.expect("there is a port").port();
    format!("srmp://239.255.44.40:{port},interface=lo,rate-min=1Gbit/s{options}")
}

/// A full mesh of nodes that share groups, with a federate at each that has declared everything; the first one's groups reach
/// all others.
async fn site(names: &[&str], options_of_groups: &str) -> (Vec<Server>, Vec<Member>) {
    let url = groups(options_of_groups);
    let mut nodes: Vec<Server> = Vec::new();
    for name in names {
        let mut flags = vec!["--link", &url];
        if nodes.is_empty() {
            flags.extend(["--topology", "mesh"]);
        }
        nodes.push(Server::node(name, nodes.first(), &flags));
    }
    for node in &nodes {
        eventually("all are members", || node.nodes() == names).await;
    }
    let mut members = Vec::new();
    for (node, name) in nodes.iter().zip(names) {
        members.push(member_of(node, "Site", name).await);
    }
    for (node, name) in nodes.iter().zip(names) {
        let reached = || {
            let all = own(node, name, "group");
            !all.is_empty() && all.iter().all(|group| group["reaches"] == names.len() - 1)
        };
        eventually("groups reach all others", reached).await;
    }
    (nodes, members)
}

/// Rows of a kind that a node says of itself.
pub(crate) fn own(node: &Server, name: &str, kind: &str) -> Vec<serde_json::Value> {
    node.rows(kind).into_iter().filter(|row| row["node"] == name).collect()
}

/// The sum of a counter over rows of a kind that a node says of itself.
pub(crate) fn counted(node: &Server, name: &str, kind: &str, key: &str) -> u64 {
    own(node, name, kind).iter().filter_map(|row| row[key].as_u64()).sum()
}

/// Numbers of reflections and interactions, as they come, until there are so many.
pub(crate) async fn numbers(member: &mut Member, count: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut reflected, mut received) = (Vec::new(), Vec::new());
    while reflected.len() + received.len() < count {
        member
            .until("messages", |callback| match callback {
                Callback::ReflectAttributeValues(r) => {
                    reflected.push(number(&r.user_supplied_tag));
                    Some(())
                }
                Callback::ReceiveInteraction(r) => {
                    received.push(number(&r.user_supplied_tag));
                    Some(())
                }
                _ => None,
            })
            .await;
    }
    (reflected, received)
}

#[tokio::test]
async fn a_message_for_several_nodes_is_sent_once() {
    if !has_multicast() {
        return;
    }
    let names = ["A", "B", "C", "D"];
    let (mut nodes, mut members) = site(&names, ",groups=2").await;
    let instance = members[0].registers().await;
    for member in &mut members[1..] {
        assert_eq!(member.discovers().await.0, instance);
    }
    let before = counted(&nodes[0], "A", "group", "sent_messages");
    let links = counted(&nodes[0], "A", "channel", "sent_messages");
    for n in 1..=100 {
        members[0].update(instance, n).await;
        members[0].fire(n).await;
    }
    let expected: Vec<u32> = (1..=100).collect();
    for member in &mut members[1..] {
        assert_eq!(numbers(member, 200).await, (expected.clone(), expected.clone()), "all, once, in order");
    }
    let sent = counted(&nodes[0], "A", "group", "sent_messages") - before;
    assert!((200..220).contains(&sent), "once each for three nodes, and some tails: {sent}");
    let links = counted(&nodes[0], "A", "channel", "sent_messages") - links;
    assert!(links < 20, "nothing of it went over links: {links}");

    // A node dies: the others go on with the same groups.
    nodes[3].kill();
    for n in 101..=120 {
        members[0].update(instance, n).await;
    }
    for member in &mut members[1..3] {
        assert_eq!(numbers(member, 20).await.0, (101..=120).collect::<Vec<u32>>());
    }
    eventually("it is no member any more", || nodes[0].nodes() == ["A", "B", "C"]).await;
    let sent_to_three = counted(&nodes[0], "A", "group", "sent_messages");
    members[1].fire(7).await;
    assert_eq!([members[0].receives().await, members[2].receives().await], [7, 7]);
    members[0].update(instance, 121).await;
    assert_eq!(numbers(&mut members[1], 1).await.0, [121]);
    assert!(counted(&nodes[0], "A", "group", "sent_messages") > sent_to_three);
}

#[tokio::test]
async fn losses_of_a_group_are_requested_again() {
    if !has_multicast() {
        return;
    }
    let names = ["A", "B", "C"];
    let folder = Folder::new();
    let key = folder.write("key", [7_u8; 32]);
    let (nodes, mut members) = site(&names, &format!(",groups=1,loss=20%,key={}", key.display())).await;
    let instance = members[0].registers().await;
    for n in 1..=200 {
        members[0].update(instance, n).await;
        if n % 4 == 0 {
            members[1].fire(n).await;
        }
    }
    let updates: Vec<u32> = (1..=200).collect();
    let fired: Vec<u32> = (1..=50).map(|n| 4 * n).collect();
    assert_eq!(numbers(&mut members[2], 250).await, (updates.clone(), fired.clone()));
    assert_eq!(numbers(&mut members[1], 200).await.0, updates);
    assert_eq!(numbers(&mut members[0], 50).await.1, fired);
    let lost = || counted(&nodes[2], "C", "group", "emulated_losses");
    eventually("something was lost", || lost() > 0).await;
    assert!(counted(&nodes[0], "A", "group", "sent_messages") >= 200);
    let recovered = || counted(&nodes[2], "C", "group", "recovered_frames");
    eventually("the group repaired some of it", || recovered() > 0).await;
    eventually("since the sender was asked", || counted(&nodes[0], "A", "group", "repaired_frames") > 0)
        .await;
    assert!(counted(&nodes[0], "A", "group", "reliable_frames") > 0);
}

/// An interaction that is directed at an instance, and wanted at one node only, goes there by a
/// transaction of SRMP.
#[tokio::test]
async fn a_directed_message_reaches_its_node_alone() {
    if !has_multicast() {
        return;
    }
    let names = ["A", "B", "C"];
    let (nodes, mut members) = site(&names, ",groups=2,loss=10%").await;
    let model = members[1].model;
    let hears =
        members[1].federate.subscribe_object_class_directed_interactions(model.aircraft, [model.fire]);
    soon(hears).await.expect("the model has it");
    let speaks = members[0].federate.publish_object_class_directed_interactions(model.aircraft, [model.fire]);
    soon(speaks).await.expect("the model has it");
    let instance = members[1].registers().await;
    assert_eq!(members[0].discovers().await.0, instance);
    let mut sent = 0;
    let mut next = async |members: &[Member]| {
        sent += 1;
        let values = [(model.event, bytes::Bytes::from_static(b"event"))];
        let call = members[0].federate.send_directed_interaction(model.fire, instance, values, tag(sent));
        soon(call).await.expect("it is published");
        sent
    };
    let directed = |callback| match callback {
        Callback::ReceiveDirectedInteraction(received) => Some(number(&received.user_supplied_tag)),
        _ => None,
    };
    // Until what one node wants is known at the other, nothing is sent.
    let first = loop {
        next(&members).await;
        let heard = members[1].until("one of them", directed);
        if let Ok(first) = tokio::time::timeout(std::time::Duration::from_millis(200), heard).await {
            break first;
        }
    };
    for _ in 0..200 {
        next(&members).await;
    }
    for expected in first + 1..=sent {
        assert_eq!(members[1].until("the next", directed).await, expected, "all, once, in order");
    }
    let frames = || counted(&nodes[0], "A", "group", "directed_frames");
    eventually("they went to one member", || frames() > 0).await;
    assert_eq!(counted(&nodes[1], "B", "group", "directed_frames"), 0);
}

#[test]
fn groups_that_cannot_be_are_refused_at_the_start() {
    for (url, status, says) in [
        ("srmp://10.0.0.1:4420", 2, "10.0.0.1 is not a multicast address"),
        ("srmp://239.255.44.40:4420,groups=0", 2, "`0` is no number from 1 to 64"),
        ("srmp://239.255.44.40:4420,interface=nowhere", 1, "there is no interface `nowhere`"),
        ("srmp://239.255.44.40:4420,interface=lo,key=/nowhere/key", 1, "/nowhere/key: "),
    ] {
        let output = run(&["serve", "--listen", "tcp://127.0.0.1:0", "--link", url]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{url}: {said}");
        assert!(said.contains(says), "{url}: {said}");
    }
}

/// A group of its own, for `--group`.
fn group() -> String {
    let port = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| socket.local_addr());
    format!("239.255.44.41:{}", port.expect("there is a port").port())
}

/// `meshrti srmp` with these words, for a group on loopback.
fn srmp(group: &str, words: &[&str]) -> std::process::Command {
    let mut command = meshrti();
    command.args(["srmp", words[0], "--interface", "lo", "--group", group]).args(&words[1..]);
    command
}

/// The objects that a command printed, one on each line.
fn objects(output: &std::process::Output) -> Vec<serde_json::Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
}

#[test]
fn srmp_recv_hears_the_newest_values_that_srmp_send_says() {
    if !has_multicast() {
        return;
    }
    let folder = Folder::new();
    let key = folder.write("key", [9_u8; 32]);
    let key = key.to_str().expect("a name in Unicode");
    let group = group();
    // Fifteen versions of five elements; it stays to repair what late or lossy members miss.
    let send =
        ["send", "--mode", "1", "--objects", "5", "--count", "15", "--rate", "1000", "--linger", "60s"];
    let mut sends = srmp(&group, &[&send[..], &["--key", key, "--json", "--rate-min", "1Mbit/s"]].concat())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let lossy =
        srmp(&group, &["recv", "--key", key, "--json", "--count", "5", "--wan", "loss=20%", "--for", "50s"])
            .output()
            .expect("it runs");
    assert!(lossy.status.success(), "{lossy:?}");
    let stranger = srmp(&group, &["recv", "--json", "--for", "2s"]).output().expect("it runs");
    signal(sends.id(), "INT");
    let status = wait(&mut sends);
    assert_eq!(status.code(), Some(130));

    let heard: Vec<_> = objects(&lossy).into_iter().filter(|event| event["event"] == "message").collect();
    let elements: std::collections::BTreeSet<u64> =
        heard.iter().filter_map(|event| event["data"].as_u64()).collect();
    assert_eq!(heard.len(), 5, "{heard:?}");
    assert!(heard.iter().all(|event| event["mode"] == 1 && event["bytes"] == 100), "{heard:?}");
    assert!(elements.iter().all(|element| (1..=5).contains(element)), "{elements:?}");
    let stranger = objects(&stranger);
    assert!(stranger.iter().all(|event| event["event"] != "message"), "without the key nothing is believed");
    let counters = stranger.last().expect("counters come last");
    assert_eq!((&counters["event"], &counters["received_bundles"]), (&"counters".into(), &0.into()));
}

#[test]
fn srmp_send_copies_lines_and_says_what_is_wrong() {
    if !has_multicast() {
        return;
    }
    let group = group();
    let mut hears = srmp(&group, &["recv", "--member", "42", "--count", "1", "--for", "50s"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let text = loop {
        let mut sends = srmp(&group, &["send", "--mode", "2", "--to", "42", "--linger", "1s", "--json"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        std::io::Write::write_all(&mut sends.stdin.take().expect("it is piped"), b"open the door\n").unwrap();
        let output = sends.wait_with_output().expect("it ends");
        let delivered = objects(&output).iter().any(|event| event["event"] == "delivered");
        if delivered {
            wait(&mut hears);
            let mut text = String::new();
            let mut stdout = hears.stdout.take().expect("it is piped");
            std::io::Read::read_to_string(&mut stdout, &mut text).unwrap();
            break text;
        }
        // It was too early: nobody had been heard.
        assert!(hears.try_wait().unwrap().is_none());
    };
    assert!(text.contains("mode 2 d1: open the door") || text.contains(": open the door"), "{text}");
    for (words, says) in [
        (vec!["send", "--mode", "2", "--to", "nobody"], "neither a member's number nor an address"),
        (vec!["recv", "--key", "/nowhere/key"], "/nowhere/key"),
    ] {
        let output = srmp(&group, &words).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(says), "{said}");
    }
    let output = run(&["srmp", "recv", "--group", "10.0.0.1:4410"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("10.0.0.1 is not a multicast address"));
}

#[test]
fn the_program_of_the_guide_is_the_example() {
    let guide = include_str!("../../../../../docs/guide/srmp.md");
    let example = include_str!("../../../../world/srmp-udp/examples/member.rs");
    let program = example.split_once("\n\n").expect("its head comes first").1;
    assert!(guide.contains(program.trim_end()), "docs/guide/srmp.md shows another program");
}

#[test]
fn a_crowd_of_processes_ends_with_the_same_values() {
    if !has_multicast() {
        return;
    }
    let words = "bench srmp --members 8 --sources 2 --objects 4 --rate 20 --time 1s --wan loss=10% --json";
    let output = run(&words.split(' ').collect::<Vec<_>>());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let row = &report["rows"][0];
    assert!(output.status.success(), "{output:?}");
    assert_eq!((row["complete_members"].as_u64(), row["elements"].as_u64()), (Some(8), Some(8)), "{row}");
    assert!(row["emulated_losses"].as_u64() > Some(0), "{row}");
}

#[test]
fn a_site_is_measured_over_links_and_through_a_group() {
    if !has_multicast() {
        return;
    }
    let words = "bench site --nodes 3 --updates 100 --rate 500 --loss 10% --json";
    let output = run(&words.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let rows = report["rows"].as_array().expect("there are rows");
    let carriers: Vec<_> = rows.iter().map(|row| (row["carrier"].as_str(), row["loss"].as_f64())).collect();
    assert_eq!(carriers, [(Some("links"), None), (Some("group"), Some(0.1))]);
    for row in rows {
        assert_eq!(row["samples"], 200, "{row}");
        assert!(row["sent_bytes_per_update"].as_f64() > Some(250.0), "{row}");
    }
    assert!(rows[1]["recovered_frames"].as_u64() > Some(0), "{}", rows[1]);
}
