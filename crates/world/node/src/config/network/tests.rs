//! Accepted configurations, the plans they lead to, and the texts of errors.

use router::ClientFlags;

use super::*;
use crate::Config;

fn network(text: &str) -> Network {
    let config = Config::parse(text, "meshrti.toml").unwrap_or_else(|error| panic!("{error}"));
    config.network.expect("there is a [network]")
}

fn error(text: &str) -> String {
    Config::parse(text, "meshrti.toml").expect_err("the text is wrong").to_string()
}

/// The links of each node, with ranks.
fn links(network: &Network) -> Vec<String> {
    let mut links = Vec::new();
    for node in &network.node {
        for link in network.plan(&node.name).unwrap().links {
            links.push(format!("{}>{}:{}", node.name, link.name.unwrap(), link.rank));
        }
    }
    links
}

fn creators(network: &Network) -> Vec<&str> {
    let names = network.node.iter().map(|node| node.name.as_str());
    names.filter(|name| network.plan(name).unwrap().bootstrap).collect()
}

fn nodes(count: usize) -> String {
    let names = ["A", "B", "C", "D"];
    let node = |name: &&str| format!("[[network.node]]\nname = {name:?}\naddress = \"tcp://{name}:1\"\n");
    names[..count].iter().map(node).collect()
}

fn file(head: &str, count: usize, edges: &[&str]) -> String {
    let edges: String = edges
        .iter()
        .map(|edge| {
            let (a, rest) = edge.split_at(1);
            let (b, rest) = rest.split_at(1);
            format!("[[network.edge]]\na = {a:?}\nb = {b:?}\n{rest}\n")
        })
        .collect();
    format!("[network]\n{head}\n{}{edges}", nodes(count))
}

#[test]
fn links_are_read_with_their_options() {
    let network = network(
        r#"
        [network]
        listen = ["tcp://*:15160", "quic://*"]
        topology = "graph"
        keep-alive = "100ms"
        [[network.links]]
        to = "tcp://norfolk"
        name = "NORFOLK"
        delay = "20ms"
        back-delay = "30ms"
        loss = "0.5%"
        rate = "10Mbit/s"
        best-effort = "udp"
        mtu = 1200
        flags = "source+sink"
        back-flags = "source+sink+upper"
        "#,
    );
    let plan = network.plan("MAUI").unwrap();
    assert_eq!(
        plan.listen.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["tcp://*:15160", "quic://*:15160"]
    );
    assert!(!plan.bootstrap);
    let link = &plan.links[0];
    assert_eq!(
        link.url.to_string(),
        "tcp://norfolk:15160,delay=20ms,loss=0.5%,rate=10Mbit/s,back-delay=30ms,best-effort=udp,mtu=1200"
    );
    let both = ClientFlags::SOURCE | ClientFlags::SINK;
    assert_eq!(link.flags, Some((both | ClientFlags::PERSISTENT, both | ClientFlags::UPPER)));
    assert_eq!(network.plan("MAUI").unwrap().digest, 0);
}

#[test]
fn one_line_joins_and_none_founds() {
    let plan = network("network.join = \"norfolk\"").plan("x").unwrap();
    assert_eq!(plan.links[0].url.to_string(), "tcp://norfolk:15160");
    assert_eq!((plan.bootstrap, plan.topology), (false, None));
    let plan = network("[network]\nlisten = [\"tcp://*:15160\"]").plan("x").unwrap();
    assert_eq!((plan.bootstrap, plan.topology), (true, Some(Topology::Tree)));
}

#[test]
fn in_a_tree_the_lower_node_connects() {
    let network =
        network(&file("topology = \"tree\"", 4, &["BA", "BC", "CDdelay = '5ms'\nback-delay = '7ms'"]));
    assert_eq!(links(&network), ["A>B:0", "C>B:0", "D>C:0"]);
    assert_eq!(creators(&network), ["B"]);
    let plan = network.plan("D").unwrap();
    // The edge leads from C to D, and D connects. The frames that D sends travel back along the
    // edge.
    assert_eq!(plan.links[0].url.to_string(), "tcp://C:1,delay=7ms,back-delay=5ms");
    assert_eq!(plan.listen[0].to_string(), "tcp://*:1");
    assert_eq!(plan.advertise[0].to_string(), "tcp://D:1");
    assert_ne!(plan.digest, 0);
}

#[test]
fn in_a_mesh_every_pair_has_one_link() {
    let network = network(&file("topology = \"mesh\"", 3, &["CArate = '1Mbit/s'"]));
    assert_eq!(links(&network), ["A>B:0", "A>C:0", "B>C:0"]);
    assert_eq!(creators(&network), ["A"]);
    assert_eq!(network.plan("A").unwrap().links[1].url.to_string(), "tcp://C:1,rate=1Mbit/s");
    assert_eq!(network.plan("C").unwrap().awaited, ["A", "B"]);
}

#[test]
fn links_on_demand_are_those_of_the_edges() {
    let all = network(&file("topology = \"mesh\"\non-demand = {}", 3, &["BA", "BC"]));
    assert_eq!(links(&all), ["A>B:0", "B>C:0"]);
    assert_eq!(all.plan("C").unwrap().awaited, ["B"]);
    let OnDemand { above, below, idle_after } = all.on_demand.unwrap();
    assert_eq!((above, below, idle_after), (256_000, 64_000, Duration::from_secs(30)));
    let text = error(&file("topology = \"mesh\"\non-demand = {}", 3, &["AB"]));
    assert!(text.contains("no edges lead from `A` to `C`"), "{text}");
    let of = |settings: &str| format!("[network]\n{settings}");
    let some = network(&of("topology = 'mesh'\non-demand = { above = '8Mbit/s', idle-after = '5s' }"));
    let settings = some.on_demand.unwrap().settings();
    assert_eq!((settings.above, settings.below), (1_000_000, 8_000));
    assert_eq!(settings.idle_after, Duration::from_secs(5));
}

#[test]
fn in_a_hypercube_numbers_differ_in_one_bit() {
    let network = network(&file("topology = \"hypercube\"", 4, &[]));
    assert_eq!(links(&network), ["A>B:0", "A>C:1", "B>D:1", "C>D:0"]);
    assert!(error(&file("topology = \"hypercube\"", 3, &[])).contains("there are 3 [[network.node]]"));
    let text = error(&file("topology = \"hypercube\"", 4, &["AD"]));
    assert!(text.contains("no neighbours in a hypercube"), "{text}");
}

#[test]
fn in_a_graph_the_first_end_connects() {
    let text =
        file("topology = \"graph\"\nredundancy = true", 3, &["AB", "BC", "CAflags-a = 'source+sink+upper'"]);
    let network = network(&text);
    assert_eq!(links(&network), ["A>B:0", "B>C:0", "C>A:0"]);
    assert_eq!(creators(&network), ["A"]);
    let upper = ClientFlags::SOURCE | ClientFlags::SINK | ClientFlags::UPPER;
    let flags = network.plan("C").unwrap().links[0].flags;
    assert_eq!(flags, Some((upper | ClientFlags::PERSISTENT, upper)));
}

#[test]
fn the_digest_stands_for_the_network_and_not_for_the_site() {
    let digest = |text: &str| network(text).plan("A").unwrap().digest;
    let plain = digest(&file("", 2, &["AB"]));
    assert_eq!(plain, digest(&file("keep-alive = '1s'", 2, &["ABdelay = '1ms'"])));
    assert_ne!(plain, digest(&file("", 3, &["AB", "AC"])));
    assert_ne!(plain, digest(&file("", 2, &["BA"])));
}

#[test]
fn names_that_are_wrong_are_pointed_at() {
    let double = format!("[network]\n{0}{0}", nodes(1));
    let text = error(&double);
    assert!(text.starts_with("meshrti.toml:5:1\n5 | [[network.node]]"), "{text}");
    assert!(text.contains("two nodes are called `A`"), "{text}");
    let text = error(&file("", 2, &["AX"]));
    assert!(text.starts_with("meshrti.toml:9:1\n9 | [[network.edge]]"), "{text}");
    assert!(text.contains("no node is called `X` (there are: A, B)"), "{text}");
    assert!(error("[[network.edge]]\na = \"A\"\nb = \"B\"").contains("there are no nodes"));
    let network = network(&file("", 2, &["AB"]));
    let text = network.plan("C").unwrap_err().to_string();
    assert_eq!(
        text,
        "no [[network.node]] is called `C` (there are: A, B); say who this node is with `--name`"
    );
}

#[test]
fn shapes_that_are_none_are_refused() {
    let text = error(&file("", 3, &["AB", "BC", "AC"]));
    assert!(text.contains("meshrti.toml:20:1"), "{text}");
    assert!(text.contains("a cycle: `A` and `C` are connected already, by A – B – C"), "{text}");
    assert!(text.contains("`redundancy = true`"), "{text}");
    assert!(error(&file("", 3, &["AB"])).contains("no edges lead from `A` to `C`"));
    assert!(error(&file("", 3, &["AC", "BC"])).contains("`A` and `B` are both at the top"));
    let ring = error(&file("redundancy = true", 3, &["AB", "BC", "CA"]));
    assert!(ring.contains("no node is at the top"), "{ring}");
    assert!(error(&file("", 2, &["AA"])).contains("an edge from `A` to itself"));
    assert!(error(&file("", 2, &["AB", "BA"])).contains("a second edge between `B` and `A`"));
    let text = error(&file("topology = \"mesh\"", 2, &["ABflags-a = 'sink'"]));
    assert!(text.contains("flags are for `topology = \"graph\"`"), "{text}");
    let text = error(&file("topology = \"mesh\"\nredundancy = true", 2, &[]));
    assert!(text.contains("`network.redundancy` is for `tree` and `graph`"), "{text}");
}

#[test]
fn values_that_are_wrong_are_pointed_at() {
    for (text, place, what) in [
        ("[network]\nkeepalive = '1s'", "meshrti.toml:2:1", "unknown field `keepalive`"),
        ("[network]\ntopology = 'ring'", "meshrti.toml:2:12", "`ring` is no topology"),
        ("[network]\nlisten = ['http://x']", "meshrti.toml:2:10", "`http` is not in this build"),
        ("[network]\non-demand = {}", "meshrti.toml:2:13", "is for `topology = \"mesh\"`"),
        (
            "[network]\ntopology = 'mesh'\non-demand = { above = '9kbit/s' }",
            "meshrti.toml:3:13",
            "at a higher rate than it makes them",
        ),
        (
            "[network]\ntopology = 'mesh'\non-demand = {}\nmulticast = 'srmp://239.1.1.1:1'",
            "meshrti.toml:4:13",
            "`on-demand` gives them up",
        ),
        ("[network]\non-demand = { over = '1kbit/s' }", "meshrti.toml:2:15", "unknown field `over`"),
        ("[network]\nsilence = '600ms'", "meshrti.toml:2:11", "less than two times"),
        ("[network]\nbundle = '2MiB'", "meshrti.toml:2:10", "more than 1MiB"),
        (
            "[network]\ntopology = 'hypercube'\njoin = 'tcp://a:1'",
            "meshrti.toml:3:8",
            "is not for a hypercube",
        ),
        ("[network]\njoin = 'tcp://*:1'", "meshrti.toml:2:8", "`*` is for listening"),
        (
            "[network]\n\n[[network.links]]\nto = 'a'\nbest-effort = 'datagram'",
            "meshrti.toml:3:1",
            "`datagram` for quic",
        ),
        ("[[network.links]]\nto = 'a'\nloss = '200%'", "meshrti.toml:3:8", "expected 0% to 100%"),
        ("[[network.links]]\nto = 'a'\nmtu = 3", "meshrti.toml:3:7", "is no datagram size"),
        (
            "[[network.links]]\nto = 'a'\n[[network.links]]\nto = 'tcp://a'",
            "meshrti.toml:3:1",
            "a second link to",
        ),
        ("[[network.links]]\nto = 'a'\nflags = 'up'", "meshrti.toml:3:9", "`up` is no list of flags"),
        ("[[network.links]]\nto = 'a'\nflags = 'sink'", "meshrti.toml:1:1", "flags are for"),
        ("[network.tls]\nkey = 'k'", "meshrti.toml:1", "`key` without its `certificate`"),
        ("[network.tls]\nrevocations = 'r'", "meshrti.toml:1", "`revocations` but no `authority`"),
        ("[network.quic]\nkey = 'k'", "meshrti.toml:1:10", "`[network.quic]` is now `[network.tls]`"),
        ("[network]\njoin = 'tls://a'", "meshrti.toml:2:8", "`tls://a:15160` needs [network.tls]"),
        ("[[network.node]]\nname = 'A'\n", "meshrti.toml:1:1", "missing field `address`"),
    ] {
        let error = error(text);
        assert!(error.starts_with(place) && error.contains(what), "{text}:\n{error}");
    }
}

#[test]
fn a_node_settles_by_its_name() {
    let text = "[[network.node]]\nname = 'A'\naddress = 'tcp://a:7'\nfederates = ['tcp://*:99']";
    let mut config = Config::parse(text, "meshrti.toml").unwrap();
    assert!(config.settle(0x1234).unwrap_err().to_string().contains("-1234` (there are: A)"));
    config.name = "A".to_owned();
    config.settle(0x1234).unwrap();
    let network = config.network.unwrap();
    assert_eq!(network.name.as_deref(), Some("A"));
    assert_eq!(network.creator.as_deref(), Some("A"));
    assert_eq!(network.listen[0].to_string(), "tcp://*:7");
    assert_eq!(config.listen[0].to_string(), "tcp://*:99");
    // The random suffix of a start is not part of the creator's name.
    let creator = |suffix| {
        let mut config = Config { network: Some(Network::default()), ..Config::default() };
        config.settle(suffix).unwrap();
        config.settle(suffix).unwrap();
        config.network.unwrap()
    };
    let (first, second) = (creator(0x1234), creator(0x5678));
    assert!(network.is_named && !first.is_named, "it has the same name at each start");
    assert_ne!(first.name, second.name);
    assert_eq!(first.creator, second.creator);
    assert!(first.creator.is_some());
    let mut alone = Config::default();
    alone.settle(1).unwrap();
    assert_eq!(alone, Config::default());
}

#[test]
fn state_has_a_folder_or_none() {
    assert_eq!(network("[network]").state, StatePlace::Default);
    assert_eq!(network("[network]\nstate = 'none'").state, StatePlace::Nowhere);
    assert_eq!(network("[network]\nstate = 's'").state, StatePlace::Directory("s".into()));
}

#[test]
fn files_count_from_the_configuration() {
    let folder = std::env::temp_dir().join(format!("meshrti-network-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("meshrti.toml");
    let text = "[network]\nstate = 'kept'\n[network.tls]\ncertificate = 'c.pem'\nkey = 'k.pem'";
    std::fs::write(&path, text).unwrap();
    let network = Config::read(&path).unwrap().network.unwrap();
    assert_eq!(network.state.directory(), Some(&*folder.join("kept")));
    assert_eq!(network.tls.certificate, Some(folder.join("c.pem")));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_authority_refuses_links_that_prove_nothing() {
    let file = |links: &str, words: &str| {
        format!("[network]\n{links}\n[network.tls]\ncertificate = 'c'\nkey = 'k'\nauthority = 'a'\n{words}")
    };
    for (links, place, remedy) in [
        ("listen = ['tls://*', 'tcp://*:7']", "meshrti.toml:2:10", "write `tls://*:7`, or allow it"),
        ("join = 'a'", "meshrti.toml:2:8", "write `tls://a:15160`"),
        ("links = [{ to = 'tcp://a' }]", "meshrti.toml:2:10", "write `tls://a:15160`"),
        ("node = [{ name = 'A', address = 'tcp://a' }]", "meshrti.toml:2:9", "write `tls://a:15160`"),
        ("multicast = 'srmp://239.255.44.32:4420'", "meshrti.toml:2:13", "has no `key`, and"),
    ] {
        let error = error(&file(links, ""));
        assert!(error.starts_with(place) && error.contains(remedy), "{links}:\n{error}");
        network(&file(links, "plain-links = 'allowed'"));
    }
    network(&file("listen = ['tls://*', 'quic://*']\nmulticast = 'srmp://239.255.44.32:4420,key=k'", ""));
}
