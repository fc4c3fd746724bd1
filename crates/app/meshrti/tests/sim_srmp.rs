//! `meshrti sim srmp-table1` and its like: the figures are those they always were, every limit holds, and wrong use is told.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// Set to anything to write the golden file anew.
const BLESS: &str = "MESHRTI_BLESS";

/// The columns of the golden file.
const COLUMNS: [&str; 17] = [
    "preset",
    "mode0_sent",
    "paper_mode0_sent",
    "expected_mode0_sent",
    "mode1_sent",
    "paper_mode1_sent",
    "expected_mode1_sent",
    "retransmissions",
    "paper_retransmissions",
    "expected_retransmissions",
    "nacks",
    "delivered_ratio",
    "mode0_delivered_ratio",
    "kbit_per_s",
    "recovery_p50_s",
    "recovery_p99_s",
    "passed",
];

fn sim(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_meshrti"));
    command.arg("sim").args(arguments).output().expect("the program starts")
}

fn csv(report: &Value) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for row in report["rows"].as_array().expect("rows") {
        let cells = COLUMNS.map(|column| match &row[column] {
            Value::Null => panic!("no {column} in {row}"),
            Value::String(word) => word.clone(),
            value => value.to_string(),
        });
        writeln!(text, "{}", cells.join(",")).expect("a string takes everything");
    }
    text
}

#[test]
fn table_1_is_what_it_was_and_within_its_limits() {
    let output = sim(&["srmp-table1", "--json"]);
    let report: Value =
        serde_json::from_slice(&output.stdout).expect("the standard output is one JSON object");
    assert_eq!(report["schema"], "meshrti.sim.table1/1");
    for check in report["summary"]["checks"].as_array().expect("checks") {
        assert_eq!(check["passed"], true, "{check}");
    }
    assert!(output.status.success());
    let got = csv(&report);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/srmp-table1.csv");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&path, &got).expect("the sources can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file is in the repository");
    for (number, (got, golden)) in got.lines().zip(golden.lines()).enumerate() {
        assert_eq!(got, golden, "line {} changed; if that is meant, run with {BLESS}=1", number + 1);
    }
    assert_eq!(got.lines().count(), golden.lines().count());
}

#[test]
fn a_few_receivers_as_a_table_and_wrong_use() {
    let output = sim(&["srmp-scale", "--receivers", "3"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("100.0 %") && text.contains("NACKs at source"),
        "{text}"
    );
    for (arguments, why) in [
        (["table1", "--receivers", "5"], "Table 1 has four hosts"),
        (["router-tree-vs-mesh", "--receivers", "5"], "only srmp-scale and srmp-goals have receivers"),
        (["srmp-scale", "--receivers", "0"], "0 is not in 1.."),
    ] {
        let output = sim(&arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), error.contains(why)), (Some(2), true), "{error}");
    }
    assert_eq!(sim(&["table1", "--show"]).status.code(), Some(2));
}
