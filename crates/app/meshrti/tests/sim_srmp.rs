//! `meshrti sim srmp-table1` and its like, and the experiments: the figures are those they always were, every limit holds, and wrong use
//! is told.

#[path = "common/golden.rs"]
mod golden;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use golden::is_golden;
use serde_json::Value;

/// The columns of the golden file.
const COLUMNS: [&str; 18] = [
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
    "ip_kbit_per_s",
    "recovery_p50_s",
    "recovery_p99_s",
    "passed",
];

fn sim(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_meshrti"));
    command.arg("sim").args(arguments).output().expect("the program starts")
}

fn csv(report: &Value, columns: &[&str]) -> String {
    let mut text = columns.join(",") + "\n";
    for row in report["rows"].as_array().expect("rows") {
        let cell = |column: &&str| match &row[*column] {
            Value::Null => panic!("no {column} in {row}"),
            Value::String(word) => word.replace(',', ""),
            value => value.to_string(),
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
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
    let fitted = report["summary"]["by_fitted_round_trip"].as_array().expect("the fitted round trip");
    let times: Vec<_> = fitted.iter().map(|line| line["round_trip_ms"].as_u64()).collect();
    assert_eq!(times, [Some(100), Some(150), Some(200)]);
    for line in fitted {
        let of = |key: &str| line[key].as_f64().expect("a figure");
        let ratio = of("retransmissions") / of("expected_retransmissions");
        assert!((0.8..1.2).contains(&ratio), "{line}");
    }
    let got = csv(&report, &COLUMNS);
    is_golden("srmp-table1.csv", &got);
}

/// Every *must* is met, and every figure is what it was.
#[test]
fn goals_are_what_they_were() {
    let output = sim(&["srmp-goals", "--receivers", "200", "--json"]);
    let report: Value =
        serde_json::from_slice(&output.stdout).expect("the standard output is one JSON object");
    assert!(output.status.success(), "{report}");
    is_golden("srmp-goals-200.csv", &csv(&report, &["goal", "what", "measured", "verdict"]));
}

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path); // of an earlier run, if there was one
    path
}

/// The tables that an experiment wrote as CSV, one after the other.
fn tables(path: &std::path::Path, names: &[&str]) -> String {
    let table = |name: &&str| {
        let file = path.join(format!("{name}.csv"));
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    names.iter().map(table).collect()
}

#[test]
fn queues_are_what_they_were_and_as_long_as_the_formulas_say() {
    let path = folder("queueing");
    let to = path.to_str().expect("a path of letters");
    let output = sim(&["srmp-queueing", "--seconds", "600", "--csv", to, "--plots", to]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    is_golden("srmp-queueing.csv", &tables(&path, &["queues", "headers", "tcp"]));
    let chart = std::fs::read_to_string(path.join("srmp-queueing-load.svg")).expect("a chart");
    assert!(chart.contains("M/M/6") && chart.ends_with("</svg>\n"), "{}", &chart[chart.len() - 20..]);
}

/// The figures of TCP and bare multicast must not change. Those of SRMP may get better: only the
/// ones that matter are compared.
#[test]
fn transports_are_compared_and_tcp_is_what_it_was() {
    let path = folder("tcp");
    let to = path.to_str().expect("a path of letters");
    let output = sim(&["srmp-tcp", "--seconds", "15", "--csv", to, "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all = tables(&path, &["loss", "rtt", "sites", "reliable"]);
    let others: Vec<&str> = all.lines().filter(|line| !line.contains("srmp")).collect();
    is_golden("srmp-tcp.csv", &(others.join("\n") + "\n"));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let rows = report["rows"].as_array().expect("rows");
    let figure = |transport: &str, loss: i64, key: &str| {
        let of = |row: &&Value| {
            row["table"] == "loss" && row["transport"] == transport && row["loss_percent"] == loss
        };
        rows.iter().find(of).and_then(|row| row[key].as_f64()).expect("a figure")
    };
    for loss in [0, 1, 5] {
        assert_eq!(figure("srmp", loss, "finals_percent"), 100.0);
        assert!(figure("srmp", loss, "up_kbit_per_s") < 0.8 * figure("tcp", loss, "up_kbit_per_s"));
        assert!(figure("srmp", loss, "mode0_p99_ms") < 80.0);
    }
}

#[test]
fn every_question_has_an_answer() {
    for (question, tables_of) in [
        ("srmp-q1", &["receivers"][..]),
        ("srmp-q2", &["elements", "senders"]),
        ("srmp-q3", &["congestion", "service"]),
        ("srmp-q4", &["losses", "partitions", "shares"]),
        ("srmp-q5", &["control"]),
    ] {
        let path = folder(question);
        let to = path.to_str().expect("a path of letters");
        let mut arguments = vec![question, "--seconds", "12", "--csv", to, "--plots", to];
        if question == "srmp-q1" {
            arguments.extend(["--receivers", "30"]);
        }
        let output = sim(&arguments);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("The paper asks: "), "{question}: {text}");
        assert!(tables(&path, tables_of).lines().count() > 2 * tables_of.len(), "{question}");
        let charts = std::fs::read_dir(&path).expect("the folder").filter_map(Result::ok);
        let charts = charts.filter(|file| file.path().extension().is_some_and(|kind| kind == "svg")).count();
        assert!(charts >= 1, "{question}");
    }
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
        (["table1", "--receivers", "5"], "hint: --receivers is an option of srmp-scale, srmp-goals, srmp-q1"),
        (
            ["router-tree-vs-mesh", "--receivers", "5"],
            "hint: --receivers is an option of srmp-scale, srmp-goals, srmp-q1",
        ),
        (["srmp-scale", "--receivers", "0"], "0 is not in 1.."),
        (
            ["srmp-tcp", "--receivers", "5"],
            "hint: --receivers is an option of srmp-scale, srmp-goals, srmp-q1",
        ),
        (
            ["table1", "--seconds", "100"],
            "hint: --seconds is an option of exercise, juo, sfexpress, million, srmp-consistency",
        ),
        (["srmp-q1", "--seconds", "5"], "5 is not in 10..=86400"),
    ] {
        let output = sim(&arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), error.contains(why)), (Some(2), true), "{error}");
    }
    assert_eq!(sim(&["table1", "--show"]).status.code(), Some(2));
}
