//! Nodes that are killed while federates talk: a short version of what `meshrti bench kills` does with more of everything.

use serde_json::Value;

use crate::common::server::run;

#[test]
fn nothing_that_is_promised_is_lost_when_nodes_are_killed() {
    let output = run(&[
        "bench",
        "kills",
        "--nodes",
        "3",
        "--federates",
        "6",
        "--kills",
        "3",
        "--seed",
        "5",
        "--grace",
        "6s",
        "--json",
    ]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.stdout.is_empty(), "{error}");
    let report: Value =
        serde_json::from_slice(&output.stdout).expect("the standard output is one JSON object");
    let summary = &report["summary"];
    assert_eq!(summary["violation_count"], 0, "{summary:#}\n{error}");
    assert!(output.status.success(), "{error}");
    assert_eq!(report["rows"].as_array().map(Vec::len), Some(3));
    assert!(summary["promised_messages"].as_u64() > Some(500), "{summary:#}");
    assert!(summary["sessions"].as_u64() >= Some(6), "{summary:#}");
    assert!(summary["max_delivered_ms"].is_number(), "{summary:#}");
}
