//! Scenario files of networks by themselves: the examples give what they gave, and what is wrong or too much is told.

use std::path::PathBuf;

use super::golden::is_golden;
use super::via::csv;
use super::{file, refusal, report};

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../examples/simulations").join(name)
}

fn path(path: &std::path::Path) -> &str {
    path.to_str().expect("paths of this repository are UTF-8")
}

#[test]
fn the_examples_give_what_they_gave() {
    let columns = [
        "scenario",
        "shape",
        "hosts",
        "switches",
        "links",
        "messages",
        "mean_us",
        "std_us",
        "min_us",
        "p50_us",
        "p99_us",
        "utilisation",
        "utilisation_max",
        "host_utilisation_max",
        "lost",
        "left_over",
        "events",
        "digest",
    ];
    // A tenth of the time is enough to see a change.
    let short = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(example(name)).expect("the example is there");
        assert!(text.contains(from));
        let scenario = file(name, &text.replacen(from, to, 1));
        report(&[path(&scenario)])
    };
    let reports = [
        short("fat-tree.toml", "until = \"100ms\"", "until = \"10ms\""),
        short("hot-spot.toml", "until = \"2s\"", "until = \"200ms\""),
    ];
    assert!(reports.iter().all(|report| report["schema"] == "meshrti.sim.network/1"));
    is_golden("networks-small.csv", &csv(&columns, &reports));
}

#[test]
fn what_is_wrong_is_told_and_too_much_is_warned_of() {
    let text = std::fs::read_to_string(example("fat-tree.toml")).expect("the example is there");
    let say = |from: &str, to: &str| {
        let scenario = file("wrong.toml", &text.replacen(from, to, 1));
        refusal(&[path(&scenario)])
    };
    for (from, to, why) in [
        ("\"64KiB\"", "65536", "the unit is missing"),
        ("ports = 8", "ports = 7", "the number of ports is 7; expected an even number"),
        ("\"uniform\"", "{ shift = 128 }", "leads each of the 128 hosts to itself"),
        ("ports = 8", "ports = 100000", "too many"),
        ("ports = 8", "ports = 96", "too many for shortest paths"),
        ("kind = \"network\"", "kind = \"net\"", "unknown kind `net`, expected `network` or"),
    ] {
        let (status, error) = say(from, to);
        assert_eq!((status, error.contains(why)), (Some(2), true), "{to}: {error}");
    }
    let hot =
        file("hot.toml", &text.replacen("\"63us\"", "\"10us\"", 1).replacen("\"100ms\"", "\"50us\"", 1));
    let notes = report(&[path(&hot)])["notes"].to_string();
    assert!(notes.contains("warning: a host sends 2.10 times what its link can carry"), "{notes}");
}
