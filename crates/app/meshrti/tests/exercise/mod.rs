//! Exercises: small ones give the figures that they always gave, whatever the jobs; what is overloaded is called so.

use std::path::PathBuf;

use serde_json::Value;

use super::golden::is_golden;
use super::via::csv;
use super::{file, meshrti, refusal, report};

/// The built-in exercises made small.
const SMALL: [&[&str]; 3] = [
    &["juo", "--nodes", "60", "--seconds", "1"],
    &["sfexpress", "--nodes", "84", "--seconds", "1"],
    &["million", "--nodes", "42", "--vehicles", "8000", "--seconds", "1"],
];

fn rows<'a>(report: &'a Value, table: &str) -> Vec<&'a Value> {
    report["rows"].as_array().expect("rows").iter().filter(|row| row["table"] == table).collect()
}

/// A report with the rows of one table alone.
fn only(report: &Value, table: &str) -> Value {
    serde_json::json!({ "rows": rows(report, table) })
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("no {key} in {row}"))
}

#[test]
fn small_exercises_are_what_they_were() {
    let reports = SMALL.map(report);
    let columns = [
        "topology",
        "nodes",
        "simulators",
        "routers",
        "entities",
        "updates_per_s",
        "client_sent_per_s",
        "client_received_per_s",
        "client_received_max_per_s",
        "router_messages_max_per_s",
        "busiest",
        "utilisation_percent",
        "queue_growth_s_per_s",
        "p50_ms",
        "p99_ms",
        "state",
    ];
    let runs: Vec<Value> = reports.iter().map(|report| only(report, "exercise")).collect();
    is_golden("exercises-small.csv", &csv(&columns, &runs));
    let digests = reports.iter().map(|report| report["summary"]["digest"].as_str().expect("a digest"));
    is_golden("exercises-small-digests.txt", &(digests.collect::<Vec<_>>().join("\n") + "\n"));
    let columns = [
        "entities",
        "from",
        "to",
        "tree_p50_ms",
        "mesh_of_sites_p50_ms",
        "mesh_p50_ms",
        "on_demand_p50_ms",
        "tree_p99_ms",
        "mesh_of_sites_p99_ms",
        "mesh_p99_ms",
        "on_demand_p99_ms",
    ];
    is_golden("juo-small-latency.csv", &csv(&columns, &[only(&reports[0], "latency")]));
    traffic_through_norfolk(&reports[0]);
    links_on_demand(&reports[0]);
}

/// Section 3 of the paper: from Maui to San Diego by Norfolk, or directly.
fn traffic_through_norfolk(report: &Value) {
    let find = |table: &str| {
        let row =
            rows(report, table).into_iter().find(|row| row["from"] == "MAUI" && row["to"] == "SAN-DIEGO");
        row.expect("there is such a way")
    };
    let latency = find("latency");
    assert!((88.0..90.0).contains(&number(latency, "tree_p50_ms")), "{latency}");
    assert!((25.0..26.5).contains(&number(latency, "mesh_of_sites_p50_ms")), "{latency}");
    let line = find("lines");
    assert_eq!(number(line, "tree_mbit_per_s"), 0.0, "nobody uses the direct line: {line}");
    assert!(number(line, "mesh_of_sites_mbit_per_s") > 0.0, "{line}");
    let norfolk = rows(report, "sites").into_iter().find(|row| row["site"] == "NORFOLK").expect("a site");
    assert!(number(norfolk, "tree_mbit_per_s") > number(norfolk, "mesh_of_sites_mbit_per_s"), "{norfolk}");
}

/// Section 5 of the paper: sites that link to each other by themselves do as well as those that are
/// linked by hand.
fn links_on_demand(report: &Value) {
    let links = rows(report, "cross-links");
    let [links] = links[..] else { panic!("one run is on demand: {links:?}") };
    let keys = ["opened", "closed", "up", "path_changes", "duplicates", "left"];
    assert_eq!(keys.map(|key| number(links, key)), [3.0, 0.0, 3.0, 0.0, 0.0, 0.0], "{links}");
    let ratios = rows(report, "ratios");
    assert_eq!(ratios.len(), 2 * 16 + 4, "latencies of all pairs of sites, and loads");
    assert!(ratios.iter().all(|row| (0.9..1.1).contains(&number(row, "ratio"))), "{ratios:?}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("within 10 % of the mesh that is wired by hand") && !notes.contains("NOT within"));
}

#[test]
fn figures_do_not_depend_on_the_jobs() {
    let run = |jobs: &str| {
        report(&["sfexpress", "--nodes", "42", "--seconds", "1", "--replications", "3", "--jobs", jobs])
    };
    let (one, three) = (run("1"), run("3"));
    assert_eq!(one["rows"], three["rows"]);
    assert_eq!(one["summary"]["digest"], three["summary"]["digest"]);
    let seeded = report(&["sfexpress", "--nodes", "42", "--seconds", "1", "--seed", "5"]);
    assert_ne!(one["summary"]["digest"], seeded["summary"]["digest"]);
}

/// `sfexpress` with routers that take seven times as long.
fn slow_routers(name: &str) -> PathBuf {
    let shown = meshrti(&["sim", "sfexpress", "--show"]);
    let text = String::from_utf8(shown.stdout).expect("it is text");
    let (before, routers) = text.split_once("[router]").expect("there are routers");
    let routers = routers.replacen("receive_us = 15.0", "receive_us = 100.0", 1);
    file(name, &format!("{before}[router]{}", routers.replacen("send_us = 15.0", "send_us = 100.0", 1)))
}

#[test]
fn an_overloaded_tree_is_called_so_and_has_no_latency() {
    let path = slow_routers("slow-routers.toml");
    let report = report(&[path.to_str().expect("plain"), "--nodes", "105", "--seconds", "1"]);
    let rows = rows(&report, "exercise");
    let (tree, mesh) = (rows[0], rows[1]);
    assert_eq!((&tree["state"], &mesh["state"]), (&"OVERLOADED".into(), &"holds".into()), "{tree} {mesh}");
    assert_eq!((&tree["p50_ms"], &tree["p99_ms"]), (&Value::Null, &Value::Null));
    assert!(number(tree, "utilisation_percent") > 98.0 && number(tree, "queue_growth_s_per_s") > 0.005);
    assert!(number(mesh, "p99_ms") > number(mesh, "p50_ms"));
    let notes = report["notes"].to_string();
    assert!(notes.contains("tree: breaks at") && notes.contains("mesh: holds"), "{notes}");
}

#[test]
fn exercises_have_tables_and_charts() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("exercises");
    let path = folder.to_str().expect("plain");
    let report = report(&["juo", "--nodes", "48", "--seconds", "1", "--csv", path, "--plots", path]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it was written");
    for table in ["exercise", "hosts", "lines", "sites", "latency", "cross-links", "ratios"] {
        assert_eq!(read(&format!("{table}.csv")).lines().count() - 1, rows(&report, table).len(), "{table}");
    }
    for chart in ["latency-cdf", "sites"] {
        assert!(read(&format!("{chart}.svg")).starts_with("<svg"), "{chart}");
    }
    assert!(!folder.join("busiest.svg").exists(), "there is one size");
}

#[cfg(unix)]
#[test]
fn ctrl_c_gives_what_is_counted_so_far() {
    let (status, said) = super::stopped(&["sfexpress", "--nodes", "210", "--seconds", "3600", "--jobs", "1"]);
    assert_eq!(status, Some(130), "{said}");
    assert!(said.contains("stopped by the user: 1 of 2 runs were begun"), "{said}");
}

#[test]
fn wrong_use_is_told_precisely() {
    for (words, status, why) in [
        (
            ["router-tree-vs-mesh", "--nodes", "9"],
            2,
            "hint: --nodes is an option of exercise, juo, sfexpress, million, interest-scale",
        ),
        (["router-tree-vs-mesh", "--seconds", "9"], 2, "hint: --seconds is an option of exercise, juo"),
        (["srmp-queueing", "--seconds", "9"], 2, "9 is not in 10..=86400"),
        (
            ["via-torus", "--vehicles", "9"],
            2,
            "hint: --vehicles is an option of exercise, juo, sfexpress, million",
        ),
        (["router-table1", "--replications", "2"], 2, "hint: --replications is an option of"),
        (["juo", "--nodes", "3"], 2, "the number of simulators of a site must be from 1 to 20000, not 0"),
        (
            ["sfexpress", "--seconds", "5000"],
            2,
            "the time that is counted in seconds must be from 0.001 to 3600, not 5000",
        ),
        (["sfexpress", "--trace", "t.json"], 2, "hint: --trace is an option of network, via-torus"),
    ] {
        let (code, error) = refusal(&words);
        assert_eq!((code, error.contains(why)), (Some(status), true), "{words:?}: {error}");
    }
}
