//! Scenario files of whole federations: what is simulated repeats itself, depends on the host model, and wrong use is told.

use std::path::PathBuf;

use serde_json::Value;

use super::{file, refusal, report};

fn example() -> String {
    example_of("federation.toml")
}

fn example_of(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../examples/simulations").join(name);
    std::fs::read_to_string(path).expect("the example is there")
}

fn path(path: &std::path::Path) -> &str {
    path.to_str().expect("paths of this repository are UTF-8")
}

fn number(report: &Value, task: usize, key: &str) -> f64 {
    report["rows"][task][key].as_f64().unwrap_or_else(|| panic!("{key} in {report}"))
}

#[test]
fn the_example_repeats_itself_whatever_the_number_of_jobs() {
    let scenario = file("federation.toml", &example());
    let run = |jobs: &str| report(&[path(&scenario), "--replications", "2", "--jobs", jobs]);
    let (one, two) = (run("1"), run("2"));
    assert_eq!(one["schema"], "meshrti.sim.federation/1");
    assert_eq!(one["rows"], two["rows"]);
    assert_eq!(one["notes"], two["notes"], "digests are among them");
    assert_eq!(number(&one, 0, "samples"), 4_000.0);
    assert_eq!(
        number(&one, 1, "samples"),
        120_000.0,
        "each of three subscribers had each update, in each run"
    );
    for key in ["mean_us", "p50_us", "p90_us", "p99_us", "max_us", "reflects_per_s"] {
        assert!(number(&one, 0, key) > 0.0 && number(&one, 1, key) > 0.0, "{key}");
    }
}

#[test]
fn a_slower_computer_makes_it_slower() {
    let scenario = file("federation-model.toml", &example());
    let costs = |times: f64| {
        let cost = |(name, ns): (&str, f64)| format!("{name} = {}\n", ns * times);
        let costs: String = [
            ("wake_ns", 5e3),
            ("turn_ns", 4e3),
            ("refill_ns", 300.0),
            ("write_ns", 8e3),
            ("warm_byte_ns", 0.1),
            ("write_byte_ns", 0.3),
            ("read_byte_ns", 0.2),
            ("call_ns", 700.0),
            ("callback_ns", 400.0),
            ("link_message_ns", 500.0),
            ("remote_message_ns", 500.0),
            ("remote_byte_ns", 0.5),
            ("datagram_send_ns", 2e4),
            ("datagram_take_ns", 1e4),
            ("federate_call_ns", 450.0),
            ("federate_callback_ns", 450.0),
        ]
        .map(cost)
        .concat();
        format!("cores = 2\n\n[costs]\n{costs}")
    };
    let run = |name: &str, times: f64| {
        let model = file(name, &costs(times));
        report(&[path(&scenario), "--hosts", path(&model)])
    };
    let (fast, slow) = (run("fast.toml", 1.0), run("slow.toml", 3.0));
    let ratio = number(&slow, 0, "p50_us") / number(&fast, 0, "p50_us");
    assert!((2.5..3.5).contains(&ratio), "three times the costs are three times the time: {ratio}");
    assert!(number(&slow, 1, "reflects_per_s") < 0.5 * number(&fast, 1, "reflects_per_s"));
}

/// Groups carry what several nodes want, lose what they are told to, and what is reliable arrives all the same; without them the report
/// is as it always was.
#[test]
fn a_site_shares_multicast_groups() {
    let text = example_of("federation-multicast.toml").replace("\"30s\"", "\"10s\"");
    let scenario = file("federation-multicast.toml", &text);
    let run = |jobs: &str| report(&[path(&scenario), "--replications", "2", "--jobs", jobs]);
    let (one, two) = (run("1"), run("2"));
    assert_eq!(
        (&one["rows"], &one["notes"], &one["summary"]),
        (&two["rows"], &two["notes"], &two["summary"])
    );
    assert_eq!(one["rows"][1]["to"], serde_json::json!([0, 2, 3, 4, 5]));
    assert_eq!(number(&one, 1, "samples"), 2.0 * 5.0 * 20_000.0, "a flood is reliable");
    assert!(number(&one, 0, "samples") < number(&one, 0, "expected"), "best effort is not");
    let of_groups = &one["summary"]["multicast"];
    let count = |key: &str| of_groups[key].as_f64().unwrap_or_else(|| panic!("{key} in {of_groups}"));
    assert_eq!((count("groups"), count("rate_min_bit_per_s"), count("loss_ratio")), (8.0, 1e8, 0.01));
    for key in
        ["frames", "datagrams", "bytes", "lost_datagrams", "nacks", "repaired_frames", "recovered_frames"]
    {
        assert!(count(key) > 0.0, "{key} in {of_groups}");
    }
    let lost = count("lost_datagrams") / (count("lost_datagrams") + count("received_datagrams"));
    assert!((0.005..0.02).contains(&lost), "{lost}");

    let (before, after) = text.split_once("\n[multicast]").expect("it has groups");
    let (_, after) = after.split_once("\n[hosts]").expect("hosts come after them");
    let links = file("federation-links.toml", &format!("{before}\n[hosts]{after}"));
    let links = report(&[path(&links)]);
    assert!(links["summary"].get("multicast").is_none(), "{links}");
    assert_eq!(number(&links, 0, "samples"), number(&links, 0, "expected"));
    let (code, said) =
        refusal(&[path(&file("federation-alone.toml", &text.replace("count = 6", "count = 1")))]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("multicast groups are for two nodes or more, but there is one"), "{said}");
}

#[test]
fn mistakes_are_reported() {
    let text = example();
    let say = |name: &str, from: &str, to: &str, arguments: &[&str]| {
        let scenario = file(name, &text.replacen(from, to, 1));
        let (code, said) = refusal(&[&[path(&scenario)], arguments].concat());
        assert_eq!(code, Some(2), "{said}");
        said
    };
    let far = say("far.toml", "to = 2", "to = 7", &[]);
    assert!(far.contains("task 1 is at node 7, but nodes are numbered from 0 to 2"), "{far}");
    let unknown = say("unknown.toml", "joined", "jointed", &[]);
    assert!(unknown.contains("unknown field `jointed`"), "{unknown}");
    let none = say("none.toml", "count = 3", "count = 3", &["--hosts", "nowhere.toml"]);
    assert!(none.contains("host model nowhere.toml: it cannot be read"), "{none}");
    let rounds = say("rounds.toml", "count = 3", "count = 3", &["--rounds", "2"]);
    assert!(rounds.contains("hint: --rounds is an option of calibrate"), "{rounds}");
    for other in ["via-torus", "router-tree-vs-mesh", "srmp-table1", "interest-scale"] {
        let (code, said) = refusal(&[other, "--hosts", "x.toml"]);
        assert_eq!(code, Some(2));
        assert!(said.contains("hint: --hosts is an option of federation, calibrate"), "{other}: {said}");
    }
    let (code, said) = refusal(&["calibrate", "--replications", "2"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("hint: --replications is an option of network"), "{said}");
}
