use super::*;
use fabric::simulation::PacketModel;
use std::path::PathBuf;

fn example(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../examples/simulations").join(name);
    std::fs::read_to_string(path).expect("the example is in the repository")
}

/// The pattern and size of messages that are drawn.
fn drawn(network: &Network) -> (pattern::Pattern, u64) {
    match network.load {
        Load::Drawn { pattern, bytes, .. } => (pattern, bytes),
        Load::Recorded(_) => panic!("they are recorded"),
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
    let kind = |text: &str| kind_of(text).unwrap_or_default();
    assert_eq!([kind(&example("fat-tree.toml")), kind("kind = \"x\""), kind("kind")], ["network", "x", ""]);
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
        ("per_message", "per_mesage", "unknown field `per_mesage`"),
        ("kind = \"max-min\"", "kind = \"fluid\"", "unknown variant `fluid`"),
        ("subqueue = \"flow\"", "subqueue = \"port\"", "unknown variant `port`"),
        ("until = \"100ms\"", "", "`until` is missing"),
    ] {
        let said = say(from, to);
        assert!(said.contains(why), "{to}: {said}");
    }
    let packets = example("hot-spot.toml").replacen("\"1500B\"", "\"0B\"", 1);
    assert!(Scenario::parse(&packets).unwrap_err().contains("`packet_size` is not from 1B"));
}
