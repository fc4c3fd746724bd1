use super::*;
use netmodel::arrivals::Gaps;
use netmodel::exchange::{Exchange, Span};
use netmodel::packet::ports;
use netmodel::pattern;
use netmodel::simulation::PacketModel;
use netmodel::sizes::Sizes;
use netmodel::study::network::Load;
use std::path::PathBuf;

fn example(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../examples/simulations").join(name);
    std::fs::read_to_string(path).expect("the example is in the repository")
}

/// The pattern and size of random messages.
fn drawn(network: &Network) -> (pattern::Pattern, u64) {
    match &network.load {
        Load::Drawn { pattern, sizes: Sizes::Constant(bytes), .. } => (*pattern, *bytes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn examples_are_read_whole() {
    let fat_tree = Scenario::parse(&example("fat-tree.toml")).unwrap().network(1, Path::new("")).unwrap();
    assert_eq!(fat_tree.shape, Shape::FatTree { ports: 8 });
    assert_eq!(fat_tree.model, Model::Fluid(fluid::Sharing::MaxMin));
    assert_eq!((drawn(&fat_tree).1, fat_tree.host_time), (65_536, Picos::from_micros(20)));
    let hot_spot = Scenario::parse(&example("hot-spot.toml")).unwrap().network(1, Path::new("")).unwrap();
    assert_eq!(drawn(&hot_spot).0, pattern::Pattern::HotSpot { host: 0, share: 0.1 });
    let packets = PacketModel { buffer: Some(131_072), ..PacketModel::new(1_500) };
    assert_eq!(hot_spot.model, Model::Packets(packets));
    assert_eq!(hot_spot.host_link.delay, Picos::from_nanos(4_500));
    let kind = |text: &str| crate::sim::kind_of(text).unwrap_or_default();
    assert_eq!([kind(&example("fat-tree.toml")), kind("kind = \"x\""), kind("kind")], ["network", "x", ""]);
}

#[test]
fn links_have_the_numbers_of_their_kind_and_their_own() {
    let read = |text: &str| Scenario::parse(text).unwrap().network(1, Path::new("")).unwrap();
    let cluster = read(&example("storage-cluster.toml"));
    assert_eq!(
        (cluster.host_link.rate, cluster.host_link.delay),
        (units::Rate::mbit(25_000), Picos::from_nanos(700))
    );
    assert_eq!(
        (cluster.cable.rate, cluster.cable.delay),
        (units::Rate::mbit(100_000), Picos::from_micros(1))
    );
    assert_eq!((cluster.cable.wire.overhead, cluster.cable.wire.payload), (66, Some(1_472)));
    let discipline = ports::Discipline::DeficitRoundRobin { quantum: 3_000, flows: ports::Flows::Pairs };
    let model = PacketModel {
        buffer: Some(256 << 10),
        full: ports::Full::Wait,
        discipline,
        mark_above: Some(64 << 10),
        ..PacketModel::new(1_472)
    };
    assert_eq!(cluster.model, Model::Packets(model));
    let wan = read(&example("lossy-wan.toml"));
    let Shape::Wan(sites) = &wan.shape else { panic!("it is one") };
    let [radio, leased] = &sites.lines[..] else { panic!("there are two") };
    assert_eq!(radio.wire.loss.as_f64(), 0.005);
    let bucket = leased.wire.bucket.expect("it has one");
    assert_eq!(
        (leased.rate, bucket.rate, bucket.depth),
        (units::Rate::mbit(100), units::Rate::mbit(10), 256 << 10)
    );
    // Headers of TCP are longer; without a quantum a turn is a packet on the wire.
    let text = example("storage-cluster.toml");
    let tcp = text.replacen(
        "\"25-gigabit-ethernet\"",
        "{ kind = \"gigabit-ethernet\", transport = \"tcp\", loss = 1e-5 }",
        1,
    );
    let tcp = read(&tcp.replacen("quantum = \"3kB\"", "subqueue = \"message\"", 1));
    assert_eq!((tcp.host_link.wire.overhead, tcp.host_link.wire.loss.to_string()), (90, "0.001%".to_owned()));
    let Model::Packets(model) = tcp.model else { panic!("they are packets") };
    assert_eq!(model.bytes, 1_448);
    let messages = ports::Discipline::DeficitRoundRobin { quantum: 1_538, flows: ports::Flows::Messages };
    assert_eq!(model.discipline, messages);
    // As fluid the same links carry the capacity without the headers.
    let fluid =
        text.split_once("[model]").map(|(head, _)| format!("{head}[model]\nkind = \"max-min\"")).unwrap();
    let fluid = read(&fluid);
    let goodput = fluid.goodput(&fluid.host_link).bits_per_s() as f64 / 25e9;
    assert!((goodput - 65_536.0 / (65_536.0 + 45.0 * 66.0)).abs() < 1e-6, "{goodput}");
}

#[test]
fn every_shape_and_pattern_can_be_written() {
    let text = example("fat-tree.toml");
    let shape = "shape = \"fat-tree\"\nports = 8";
    for other in [
        "shape = \"torus\"\nsides = [4, 4, 4]\nhosts_per_switch = 2",
        "shape = \"mesh\"\nsides = [4, 4]\nhosts_per_switch = 2",
        "shape = \"star\"\nhosts = 8",
        "shape = \"ring\"\nswitches = 8\nhosts_per_switch = 1",
        "shape = \"full-mesh\"\nswitches = 8\nhosts_per_switch = 1",
        "shape = \"tree\"\nfan_outs = [2, 4]\nhosts_per_leaf = 3",
        "shape = \"dragonfly\"\nhosts_per_switch = 2\ngroup = 4\nglobal = 2",
        "shape = \"random-regular\"\nswitches = 10\ndegree = 3\nhosts_per_switch = 3",
    ] {
        assert!(text.contains(shape));
        Scenario::parse(&text.replacen(shape, other, 1)).unwrap_or_else(|why| panic!("{other}: {why}"));
    }
    for (other, expected) in [
        ("\"permutation\"", pattern::Pattern::Permutation),
        ("\"bit-reversal\"", pattern::Pattern::BitReversal),
        ("\"all-to-all\"", pattern::Pattern::AllToAll),
        ("{ shift = 5 }", pattern::Pattern::Shift(5)),
        ("\"transpose\"", pattern::Pattern::Transpose),
        ("\"tornado\"", pattern::Pattern::Tornado),
        ("{ near = 3 }", pattern::Pattern::Near(3)),
    ] {
        let network = Scenario::parse(&text.replacen("\"uniform\"", other, 1))
            .unwrap()
            .network(1, Path::new(""))
            .unwrap();
        assert_eq!(drawn(&network).0, expected);
    }
}

#[test]
fn faults_are_told_precisely() {
    let text = example("fat-tree.toml");
    let say = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Scenario::parse(&text.replacen(from, to, 1)).unwrap_err()
    };
    for (from, to, why) in [
        ("\"64KiB\"", "65536", "`65536` is no size: the unit is missing"),
        ("\"100ms\"", "\"100\"", "`100` is no time: the unit is missing"),
        ("rate = \"25Gbit/s\"", "rate = \"0Gbit/s\"", "expected more than zero"),
        ("delay = \"500ns\"", "delay = \"-500ns\"", "is no time"),
        ("\"63us\"", "\"0us\"", "`mean_gap` is zero"),
        ("\"64KiB\"", "\"0B\"", "`message_size` is zero"),
        ("until = \"100ms\"", "until = \"0s\"", "not after `from`"),
        ("ports = 8", "port = 8", "unknown field `port`, expected `ports`"),
        ("shape = \"fat-tree\"", "shape = \"fat\"", "unknown variant `fat`"),
        ("message_size", "mesage_size", "unknown field `mesage_size`"),
        (
            "pattern = \"uniform\"",
            "pattern = \"unifrom\"",
            "unknown variant `unifrom`, expected one of `uniform`, `permutation`, `bit-reversal`, `all-to-all`, \
             `transpose`, `tornado`, `shift`, `near`, or { hot_spot = HOST, share = SHARE }",
        ),
        ("pattern = \"uniform\"", "pattern = { hot_spot = 1 }", "missing field `share`"),
        ("ports = 8", "ports = \"many\"", "expected a whole number"),
        ("per_message", "per_mesage", "unknown field `per_mesage`"),
        ("kind = \"max-min\"", "kind = \"fluid\"", "unknown variant `fluid`"),
        ("subqueue = \"flow\"", "subqueue = \"port\"", "unknown variant `port`"),
        ("until = \"100ms\"", "", "`until` is missing"),
    ] {
        let said = say(from, to);
        assert!(said.contains(why), "{to}: {said}");
    }
    let packets = example("hot-spot.toml");
    let hosts = "hosts = { rate = \"1Gbit/s\", delay = \"4500ns\" }";
    for (from, to, why) in [
        ("\"1500B\"", "\"0B\"", "`packet_size` is not from 1B"),
        ("packet_size = \"1500B\"", "", "`packet_size` is missing, and no link says"),
        (
            "packet_size",
            "quantum = \"2kB\"\npacket_size",
            "`quantum` is for `discipline = \"deficit-round-robin\"`",
        ),
        ("packet_size", "subqueue = \"flow\"\npacket_size", "`subqueue` is for `discipline"),
        ("packet_size", "discipline = \"lifo\"\npacket_size", "unknown variant `lifo`"),
        (
            "packet_size",
            "when_full = \"wait\"\npacket_size",
            "unknown variant `wait`, expected `drop` or `back-pressure`",
        ),
        ("buffer = \"128KiB\"", "when_full = \"drop\"", "`buffer` is missing"),
        ("packet_size", "mark_above = \"0B\"\npacket_size", "`mark_above` is zero"),
        (
            hosts,
            "hosts = \"ethernet\"",
            "`hosts`: there is no kind of links `ethernet` (there are: via-clan, gigabit-ethernet, 10-",
        ),
        (hosts, "hosts = 10", "the name of a kind of links, or a table"),
        (hosts, "hosts = { rate = \"1Gbit/s\" }", "`hosts`: `delay` is missing (or name a `kind` of links)"),
        (hosts, "hosts = { delay = \"1us\" }", "`hosts`: `rate` is missing"),
        (
            hosts,
            "hosts = { kind = \"via-clan\", transport = \"tcp\" }",
            "`transport` says which headers Ethernet carries",
        ),
        (hosts, "hosts = { kind = \"via-clan\", speed = 1 }", "unknown field `speed`"),
        (hosts, "hosts = { kind = \"via-clan\", loss = \"100%\" }", "`loss` is 100%"),
        (hosts, "hosts = { kind = \"via-clan\", loss = 2 }", "expected at most 100%"),
        (hosts, "hosts = { kind = \"via-clan\", overhead = \"1MB\" }", "`overhead` is not from 0B to 65535B"),
        (hosts, "hosts = { kind = \"via-clan\", payload = \"0B\" }", "`payload` is not from 1B"),
        (
            hosts,
            "hosts = { kind = \"via-clan\", sustained = \"1Gbit/s\", depth = \"1kB\" }",
            "`sustained` is 1Gbit/s, not below `rate`, 856Mbit/s",
        ),
        (hosts, "hosts = { kind = \"via-clan\", sustained = \"1Mbit/s\" }", "`depth` is missing"),
        (hosts, "hosts = { kind = \"via-clan\", depth = \"1kB\" }", "`sustained` is missing"),
        (
            hosts,
            "hosts = { kind = \"via-clan\", sustained = \"1Mbit/s\", depth = \"0B\" }",
            "`depth` is zero",
        ),
    ] {
        assert!(packets.contains(from), "{from}");
        let said = Scenario::parse(&packets.replacen(from, to, 1)).unwrap_err();
        assert!(said.contains(why), "{to}: {said}");
    }
    let wan =
        example("lossy-wan.toml").replacen("between = [\"HARBOUR\", \"SHIP\"]", "between = \"HARBOUR\"", 1);
    assert!(Scenario::parse(&wan).unwrap_err().contains("`between` is not the names of two sites"));
}

fn network(text: &str) -> Network {
    Scenario::parse(text).unwrap_or_else(|why| panic!("{why}")).network(1, Path::new("")).unwrap()
}

#[test]
fn every_model_of_fluid_can_be_written() {
    let text = example("fat-tree.toml");
    let kind = "kind = \"max-min\" # or min-share, hop-by-hop, store-and-forward, packets";
    assert!(text.contains(kind));
    for (other, model) in [
        ("kind = \"min-share\"", Model::Fluid(fluid::Sharing::MinShare)),
        ("kind = \"hop-by-hop\"", Model::HopByHop { buffer: None }),
        ("kind = \"hop-by-hop\"\nbuffer = \"4KiB\"", Model::HopByHop { buffer: Some(4_096) }),
        ("kind = \"store-and-forward\"", Model::StoreAndForward),
    ] {
        let text = text.replacen(kind, other, 1);
        assert_eq!((network(&text).model, network(&text).subqueue), (model, lanes::Subqueue::Flow));
        let by_message = text.replacen("subqueue = \"flow\"", "subqueue = \"message\"", 1);
        assert_eq!(network(&by_message).subqueue, lanes::Subqueue::Message);
    }
    let say = |other: &str| Scenario::parse(&text.replacen(kind, other, 1)).unwrap_err();
    assert!(say("kind = \"hop-by-hop\"\nbuffer = \"0B\"").contains("[model]: `buffer` is zero"));
    assert!(say("kind = \"store-and-forward\"\nbuffer = \"1B\"").contains("unknown field `buffer`"));
}

#[test]
fn sizes_and_exchanges_can_be_written() {
    let text = example("fat-tree.toml");
    let sized = |sizes: &str| text.replacen("\"64KiB\"", sizes, 1);
    for (written, expected) in [
        ("{ distribution = \"exponential\", mean = \"2kB\" }", Sizes::Exponential(2_000)),
        (
            "{ distribution = \"pareto\", mean = \"2kB\", alpha = 1.5 }",
            Sizes::Pareto { mean: 2_000, alpha: 1.5 },
        ),
        (
            "{ distribution = \"log-normal\", mean = \"2kB\", cv = 2.0 }",
            Sizes::LogNormal { mean: 2_000, cv: 2.0 },
        ),
        (
            "{ distribution = \"table\", sizes = [\"100B\", \"1kB\"], weights = [0.9, 0.1] }",
            Sizes::Table(vec![(100, 0.9), (1_000, 0.1)].into()),
        ),
    ] {
        match network(&sized(written)).load {
            Load::Drawn { sizes, gaps: Gaps::Poisson(_), .. } => assert_eq!(sizes, expected),
            other => panic!("{other:?}"),
        }
    }
    for (written, why) in [
        ("{ distribution = \"pareto\", mean = \"2kB\", alpha = 1 }", "alpha is 1; expected more than 1"),
        ("{ distribution = \"pareto\", mean = 2000, alpha = 1.5 }", "the unit is missing"),
        ("{ distribution = \"pareto\", mean = \"2kB\" }", "missing field `alpha`"),
        ("{ distribution = \"zipf\" }", "unknown variant `zipf`"),
        ("{ distribution = \"table\", sizes = [\"1B\"], weights = [1, 2] }", "1 `sizes` and 2 `weights`"),
    ] {
        let said = Scenario::parse(&sized(written)).unwrap_err();
        assert!(said.contains(why), "{written}: {said}");
    }

    let exchange = example("request-response.toml");
    let expected = Exchange {
        clients: Some(40),
        pattern: pattern::Pattern::HotSpot { host: 40, share: 1.0 },
        request: Sizes::Constant(400),
        response: Sizes::LogNormal { mean: 65_536, cv: 1.5 },
        service: Span::Exponential(Picos::from_micros(100)),
        think: Span::Exponential(Picos::from_millis(20)),
    };
    assert_eq!(network(&exchange).load, Load::Exchanged(expected));
    let constant = exchange.replacen("{ mean = \"20ms\" }", "\"20ms\"", 1);
    match network(&constant).load {
        Load::Exchanged(Exchange { think, .. }) => assert_eq!(think, Span::Constant(Picos::from_millis(20))),
        other => panic!("{other:?}"),
    }
    for (from, to, why) in [
        ("clients = 40", "clients = 0", "`clients` is zero"),
        ("{ mean = \"20ms\" }", "{ mean = 20 }", "the unit is missing"),
        ("{ mean = \"20ms\" }", "{ median = \"20ms\" }", "unknown field `median`"),
        ("cv = 1.5", "cv = 0", "`response_size`: cv is 0"),
        ("message_size = \"400B\"", "", "`message_size` is missing"),
    ] {
        assert!(exchange.contains(from), "{from}");
        let said = Scenario::parse(&exchange.replacen(from, to, 1)).unwrap_err();
        assert!(said.contains(why), "{to}: {said}");
    }
}

#[test]
fn objects_can_be_written() {
    let text = example("fat-tree.toml");
    let (arrivals, size) = ("{ process = \"poisson\", mean_gap = \"63us\" }", "message_size = \"64KiB\"");
    assert!(text.contains(arrivals) && text.contains(size));
    let with = |objects: &str, size_too: bool| {
        let text = text.replacen(arrivals, objects, 1);
        if size_too { text } else { text.replacen(size, "", 1) }
    };
    let preset = "{ process = \"objects\", workload = \"table1\", per_host = 20 }";
    let network = network(&with(preset, false));
    assert!(matches!(network.load, Load::Scripted { pattern: pattern::Pattern::Uniform, .. }));
    // Each object sends 2.75 and 0.02 messages a second, for a tenth of a second.
    let (messages, bytes) = network.load.expected(128, network.window);
    assert!(
        (messages / (128.0 * 20.0 * 2.77 * 0.1) - 1.0).abs() < 1e-6 && bytes == 250.0,
        "{messages} {bytes}"
    );
    assert!(Scenario::parse(&with(preset, true)).unwrap_err().contains("leave `message_size` out"));
    let missing = Scenario::parse(&with("{ process = \"objects\", workload = \"full4\" }", false)).unwrap();
    assert!(missing.network(1, Path::new("")).unwrap_err().contains("say in `per_host`"));
}

#[test]
fn hosts_are_a_constant_or_stages_by_name_or_in_full() {
    let read = |text: &str| Scenario::parse(text)?.network(1, Path::new(""));
    let text = example("host-stages.toml");
    let named = read(&text).unwrap();
    let profile = netmodel::host::Profile::named("100-gigabit-ethernet").unwrap();
    assert_eq!((named.host.as_ref(), named.host_time), (Some(&profile.host()), Picos::ZERO));
    let with = |stages: &str| read(&text.replace("stages = \"100-gigabit-ethernet\"", stages));
    let full = with(
        "stages.send = [{ name = \"post\", service = \"2us\" }, { name = \"fetch\", service = \"100ns\", latency = \"1us\" }]\n\
         stages.bus = { rate = \"8Gbit/s\", shared = true }\n\
         stages.receive = [{ name = \"reap\", service = \"3us\" }]",
    );
    let host = full.unwrap().host.unwrap();
    assert_eq!((host.constant(1), host.slowest()[1]), (Picos::from_nanos(6_100), Picos::from_micros(3)));
    assert_eq!((host.bus.shared, host.bus.into.sustained), (true, units::Rate::mbit(8_000)));
    for (stages, why) in [
        (
            "stages = \"token-ring\"",
            "there are no stages `token-ring`; there are `via-clan`, `gigabit-ethernet`",
        ),
        ("stages = 3", "`stages` is a name, or a table with `send`, `bus` and `receive`"),
        ("stages.send = []\nstages.receive = []", "missing field `bus`"),
        ("stages = \"via-clan\"\nper_message = \"1us\"", "leave one of them out"),
        (
            "stages.send = [{ name = \"post\", service = \"2\" }]\nstages.bus = { rate = \"1Gbit/s\" }\nstages.receive = []",
            "the unit is missing",
        ),
        (
            "stages.send = [{ name = \"post\", servce = \"2us\" }]\nstages.bus = { rate = \"1Gbit/s\" }\nstages.receive = []",
            "servce",
        ),
    ] {
        let error = with(stages).unwrap_err();
        assert!(error.contains(why), "{stages}: {error}");
    }
}
