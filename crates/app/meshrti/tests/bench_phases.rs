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

/// At one node, and at two that must tell each other how far their federates are.
#[test]
fn federates_advance_together() {
    for (nodes, service) in [("1", "advance"), ("2", "next-message")] {
        let settings = ["--federates", "4", "--steps", "20", "--messages", "2", "--nodes", nodes];
        let report = report(&[&["grants", "--service", service, "--live", "--sim"], &settings[..]].concat());
        let rows = report["rows"].as_array().unwrap();
        assert_same_keys(rows);
        let orders: Vec<_> = rows.iter().map(|row| row["order"].as_str().unwrap()).collect();
        assert_eq!(orders, ["timestamp", "receive"].repeat(2));
        for row in rows {
            let grants = ["grants_per_s", "grant_p50_us", "grant_p99_us", "grant_max_us"];
            assert_numbers(row, &grants);
            assert_numbers(row, &["server_cpu_us_per_update", "server_cpu_us_per_grant"]);
            assert_eq!(row["grants"], 80);
            // Two updates of each of four federates to three others, in all but the last steps.
            assert!(row["delivered"].as_u64() >= Some(19 * 4 * 2 * 3), "{row}");
        }
        rows[..2].iter().for_each(|row| assert_numbers(row, &["floor_p50_us", "grant_p50_ratio"]));
        // The system may count no processor time of so short a run; the simulator counts all.
        assert_numbers(&report["summary"], &["timestamp_cpu_ratio_simulated"]);
    }
}

/// At one node, and at two where objects and subscribers are at different ones.
#[test]
fn updates_reach_those_near_enough_and_nobody_else() {
    for nodes in ["1", "2"] {
        let walk = ["--objects", "40", "--subscribers", "6", "--side", "40", "--moves", "30", "--steps", "5"];
        let turns = ["--regions", "300", "--updates", "500", "--samples", "20", "--slices", "2"];
        let runs = ["region", "--live", "--sim", "--nodes", nodes];
        let report = report(&[&runs[..], &walk[..], &turns[..]].concat());
        let rows = report["rows"].as_array().unwrap();
        let modes: Vec<_> = rows.iter().map(|row| row["mode"].as_str().unwrap()).collect();
        assert_eq!(modes, ["off", "one_for_all", "one_each", "held", "in_use"]);
        for row in rows {
            assert_numbers(
                row,
                &["updates_per_s", "update_ratio", "p50_us", "p50_ratio", "p99_us", "p99_ratio"],
            );
            assert_numbers(row, &["floor_p50_us", "floor_p99_us"]);
            assert_eq!(row["samples"], 20);
        }
        let live = &report["summary"];
        assert_numbers(live, &["floor_p50_us"]);
        for walk in [live, &live["simulated"]] {
            assert_eq!(walk["updates"], 200);
            let moves = ["object_moves", "subscriber_moves"].map(|moves| walk[moves]["moves"].as_u64());
            assert_eq!(moves, [Some(150), Some(30)]);
            assert!(walk["expected"].as_u64() > Some(0), "{walk}");
            assert_eq!((&walk["reached"], &walk["surplus"]), (&walk["expected"], &0.into()), "{walk}");
        }
        assert_eq!(live["expected"], live["simulated"]["expected"], "it is the same square");
    }
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
    let words = ["region", "--objects", "20", "--subscribers", "3", "--steps", "4", "--sim", "--nodes", "3"];
    let of = || report(&words)["summary"].clone();
    let (once, again) = (of(), of());
    assert_eq!((once.as_object().map(serde_json::Map::len), &once), (Some(1), &again));
}
