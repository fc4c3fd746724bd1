//! Benchmarks whose federates go through phases, live and simulated, with tiny counts. Nothing here looks at how long
//! anything takes.

#[path = "common/report.rs"]
mod report;

use report::{assert_numbers, report};
use serde_json::Value;

/// More objects than one slice has.
#[test]
fn everybody_goes_on_while_one_federate_has_very_many_objects() {
    let report = report(&["objects", "--objects", "2500", "--live", "--sim"]);
    let rows = report["rows"].as_array().unwrap();
    let phases: Vec<_> = rows.iter().map(|row| row["phase"].as_str().unwrap()).collect();
    let expected = [
        "undisturbed",
        "register",
        "discover late",
        "request values",
        "resign and delete",
        "register and discover",
        "owner lost",
        "unpublish",
    ];
    assert_eq!(phases, expected.repeat(2));
    assert_same_keys(rows);
    rows.iter().for_each(|row| assert_numbers(row, &["seconds", "canary_samples"]));
    // A simulated phase may be shorter than the pause of the canary.
    for row in rows.iter().filter(|row| row["canary_samples"].as_u64() > Some(0)) {
        assert_numbers(row, &["canary_p50_us", "canary_p99_us", "canary_max_us"]);
    }
}

/// Live rows come first, and simulated ones have the same keys.
fn assert_same_keys(rows: &[Value]) {
    let (live, simulated) = rows.split_at(rows.len() / 2);
    let keys = |row: &Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for (live, simulated) in live.iter().zip(simulated) {
        assert_eq!((&live["live"], &simulated["live"]), (&true.into(), &false.into()));
        assert_eq!(keys(live), keys(simulated));
        assert_eq!(live["phase"], simulated["phase"]);
    }
}

#[test]
fn federates_join_and_leave_at_once() {
    for nodes in ["1", "2"] {
        let settings = ["--federates", "30", "--within", "20ms", "--nodes", nodes, "--live", "--sim"];
        let report = report(&[&["joins"], &settings[..]].concat());
        let rows = report["rows"].as_array().unwrap();
        let phases: Vec<_> = rows.iter().map(|row| row["phase"].as_str().unwrap()).collect();
        assert_eq!(phases, ["undisturbed", "join", "leave", "join again", "leave again"].repeat(2));
        assert_same_keys(rows);
        for row in rows.iter().filter(|row| row["phase"] != "undisturbed") {
            assert_eq!(row["federates"], 30);
            assert_numbers(row, &["seconds", "each_p50_ms", "each_p99_ms", "each_max_ms"]);
        }
    }
}

/// At one node, and at two where taker and holder are at different ones.
#[test]
fn attributes_pass_from_federate_to_federate() {
    for nodes in ["1", "2"] {
        let settings = ["--transfers", "20", "--objects", "50", "--nodes", nodes, "--live", "--sim"];
        let report = report(&[&["ownership"], &settings[..]].concat());
        let rows = report["rows"].as_array().unwrap();
        assert_same_keys(rows);
        for row in rows {
            assert_eq!((&row["transfers"], &row["reassigned"]), (&20.into(), &50.into()));
            assert_numbers(row, &["transfer_p50_us", "transfer_max_us", "reassigned_s"]);
        }
        assert_numbers(&rows[0], &["floor_p50_us", "transfer_p50_ratio"]);
        assert!(rows[1]["floor_p50_us"].is_null(), "{}", rows[1]);
    }
}

#[test]
fn a_federation_is_saved_and_restored() {
    let report = report(&["save", "--objects", "300", "--live", "--sim"]);
    let rows = report["rows"].as_array().unwrap();
    let phases: Vec<_> = rows.iter().map(|row| row["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["undisturbed", "save", "restore"].repeat(2));
    assert_same_keys(rows);
    rows.iter().for_each(|row| assert_numbers(row, &["seconds", "image_bytes", "canary_samples"]));
    assert_numbers(&rows[0], &["floor_s"]);
}

/// Under their other names, and without a server.
#[test]
fn simulated_phases_depend_on_the_seed_only() {
    for words in [&["join", "--federates", "40", "--within", "10ms"][..], &["discover", "--objects", "100"]] {
        let of = |seed| report(&[words, &["--sim", "--seed", seed]].concat());
        let (once, again) = (of("3"), of("3"));
        assert_eq!((&once["rows"], &once["seed"]), (&again["rows"], &3.into()), "{words:?}");
        let rows = once["rows"].as_array().unwrap();
        assert!(!rows.is_empty() && rows.iter().all(|row| row["live"] == false), "{words:?}");
    }
}
