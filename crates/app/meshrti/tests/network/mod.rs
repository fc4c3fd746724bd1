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

#[test]
fn files_tell_the_course_over_time_and_links() {
    let text = std::fs::read_to_string(example("fat-tree.toml")).expect("the example is there");
    let scenario = file("course.toml", &text.replacen("until = \"100ms\"", "until = \"5ms\"", 1));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("course");
    let trace = folder.with_extension("json");
    let words = [path(&scenario), "--csv", path(&folder), "--plots", path(&folder), "--trace", path(&trace)];
    let report = report(&words);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it was written");
    let rows = |name: &str| read(name).lines().count() - 1;
    assert_eq!(rows("timeline.csv"), 100);
    assert_eq!(rows("links.csv") as u64, report["rows"][0]["links"].as_u64().expect("a number"));
    assert!(read("latency.csv").trim_end().ends_with(",1"), "all of them up to the last");
    for chart in ["latency-over-time", "load-over-time", "latency-histogram", "latency-cdf", "links"] {
        assert!(read(&format!("{chart}.svg")).starts_with("<svg"));
    }
    assert!(!folder.join("links-heat.svg").exists(), "a fat tree has no plane");
    let trace = std::fs::read_to_string(trace).expect("it was written");
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("it is JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count() as u64;
    let messages = report["rows"][0]["messages"].as_u64().expect("a number");
    assert_eq!((of("b"), of("e"), of("C")), (messages, messages, 200));
    for (scenario, words) in
        [("router-tree-vs-mesh", ["--trace", "t.json"]), ("via-four-hop", ["--csv", "t"])]
    {
        let (status, said) = refusal(&[scenario, words[0], words[1]]);
        assert!(status == Some(2) && said.contains("via-torus"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_gives_what_is_known_so_far() {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::{Command, Stdio};
    let text = std::fs::read_to_string(example("fat-tree.toml")).expect("the example is there");
    // Long enough that nobody sees its end.
    let scenario = file("long.toml", &text.replacen("until = \"100ms\"", "until = \"9999s\"", 1));
    let mut child = Command::new(env!("CARGO_BIN_EXE_meshrti"))
        .args(["sim", path(&scenario), "--verbose", "--replications", "3", "--jobs", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    // Before it listens to signals Ctrl-C would end it without a word.
    while !line.contains("Ctrl-C") {
        line.clear();
        assert!(log.read_line(&mut line).expect("it can be read") > 0, "it ended early");
    }
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(told.expect("there is such a command").success());
    let status = child.wait().expect("it ends");
    let mut said = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut said).expect("it can be read");
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("stopped by the user: 1 of 3 runs"), "{said}");
    assert!(said.contains("mean µs"), "{said}");
}
