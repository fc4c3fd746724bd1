//! The commands that ask: their exit statuses, and the keys of their reports.

use std::net::TcpListener;

use serde_json::Value;

use crate::access::hash;
use crate::common::server::{Folder, lasting_listener, run};
use crate::common::{RANGE, Server, create_and_join, options};

/// Runs a command with `--json` and checks what every report has.
fn report(arguments: &[&str], status: i32) -> Value {
    let output = run(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {output:?}");
    let report: Value =
        serde_json::from_slice(&output.stdout).expect("the standard output is one JSON object");
    for key in ["schema", "command", "version", "commit", "machine", "seed", "started", "rows", "notes"] {
        assert!(report.get(key).is_some(), "{arguments:?}: {key}");
    }
    let command = report["command"].as_str().expect("it is a string");
    assert!(
        report["schema"].as_str().unwrap().starts_with(&format!("meshrti.{}/", command.replace(' ', ".")))
    );
    for row in report["rows"].as_array().expect("rows are a list") {
        let row = row.as_object().expect("a row is an object");
        assert!(row.values().all(|value| !value.is_object() && !value.is_array()), "rows are flat");
    }
    assert!(report["notes"].as_array().unwrap().iter().all(Value::is_string));
    report
}

fn has_keys(row: &Value, keys: &[&str]) {
    for key in keys {
        assert!(row.get(key).is_some(), "`{key}` is missing in {row}");
    }
}

#[test]
fn ping_measures() {
    let server = Server::start();
    let report = report(&["ping", server.address(), "--count", "5", "--interval", "0ms"], 0);
    let row = &report["rows"][0];
    has_keys(
        row,
        &["size_bytes", "samples", "min_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us", "mean_us"],
    );
    has_keys(row, &["floor_p50_us", "floor_p99_us", "p50_ratio", "p99_ratio"]);
    assert_eq!(row["samples"], 5);
    assert!(row["min_us"].as_f64().unwrap() <= row["p50_us"].as_f64().unwrap());
    assert!(row["p50_us"].as_f64().unwrap() <= row["max_us"].as_f64().unwrap());
    let output = run(&["ping", server.address(), "--count", "1"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("1 round trips"));
}

#[test]
fn a_password_comes_from_a_file_or_the_environment() {
    let server = Server::configured(&format!("[access]\npassword = \"{}\"", hash("open sesame")));
    let folder = Folder::new();
    let (right, wrong) = (folder.write("right", "open sesame\n"), folder.write("wrong", "sesame"));
    for command in ["ping", "status"] {
        let ask = |flags: &[&str], variable: Option<&str>| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_meshrti"))
                .args([&[command, server.address()], flags].concat())
                .envs(variable.map(|password| ("MESHRTI_PASSWORD", password)))
                .output()
                .expect("the command starts");
            command.stderr.extend(command.stdout);
            (command.status.code(), String::from_utf8_lossy(&command.stderr).into_owned())
        };
        let (status, said) = ask(&[], None);
        assert!(status == Some(1) && said.contains("--password-file"), "{command}: {said}");
        assert_eq!(ask(&["--password-file", wrong.to_str().unwrap()], None).0, Some(1));
        let (status, said) = ask(&["--password-file", right.to_str().unwrap()], None);
        assert_eq!(status, Some(0), "{command}: {said}");
        assert_eq!(ask(&[], Some("open sesame")).0, Some(0), "{command}");
    }
}

/// A malformed address is wrong use. Failures with `--json` are JSON, too.
#[test]
fn failures_have_their_status_and_json() {
    for command in ["ping", "status"] {
        let output = run(&[command, "localhost:220010", "--json"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        let error = &report["error"];
        assert_eq!(error["exit_status"], 2);
        assert!(error["message"].as_str().unwrap().contains("`localhost:220010` is no address"), "{error}");
        assert!(error["hint"].is_null(), "no server is missing: {error}");
        assert!(run(&[command, "localhost:220010"]).stdout.is_empty());
    }
}

#[tokio::test]
async fn status_tells_who_is_there() {
    let server = Server::start();
    let empty = report(&["status", server.address()], 0);
    assert_eq!(empty["rows"].as_array().unwrap().len(), 0);
    let _one = create_and_join(options(server.address()), "North", "One").await;
    let _two = create_and_join(options(server.address()), "South", "Two").await;
    // A machine that does much else has slow turns, too.
    let federates = |report: &Value| -> Vec<Value> {
        let rows = report["rows"].as_array().unwrap().iter();
        rows.filter(|row| row["kind"] == "federate").cloned().collect()
    };
    let rows = federates(&report(&["status", server.address()], 0));
    assert_eq!(rows.len(), 2, "{rows:?}");
    for (row, federation, federate) in [(&rows[0], "North", "One"), (&rows[1], "South", "Two")] {
        has_keys(row, &["federation", "time", "federate", "type"]);
        assert_eq!((&row["federation"], &row["federate"]), (&federation.into(), &federate.into()));
    }
    let folder = Folder::new();
    let file = folder.path().join("status.json");
    let output = run(&["status", server.address(), "--json", file.to_str().unwrap()]);
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("North"));
    let written: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(federates(&written).len(), 2);
}

#[test]
fn nobody_there_is_bad_news() {
    let port = lasting_listener().local_addr().unwrap();
    for command in ["ping", "status"] {
        let output = run(&[command, &port.to_string()]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(&port.to_string()) && said.contains("hint: "), "{said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn somebody_else_there_is_bad_news() {
    // It accepts and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for command in ["ping", "status"] {
        let address = silent.local_addr().unwrap().to_string();
        let output = run(&[command, &address, "--timeout", "300ms"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
}

#[test]
fn wrong_use_is_told_apart() {
    let cases: [&[&str]; 9] = [
        &[],
        &["fly"],
        &["ping"],
        &["ping", "localhost", "--count", "0"],
        &["ping", "localhost", "--count", "many"],
        &["status", "--no-such-flag"],
        &["serve", "--listen", "udp://127.0.0.1:1"],
        &["fom", "check"],
        &["fom", "merge", "a.xml"],
    ];
    for arguments in cases {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(!output.stderr.is_empty());
    }
    for arguments in [&["--help"][..], &["--version"], &["ping", "--help"], &["fom", "check", "--help"]] {
        assert_eq!(run(arguments).status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn fom_check_points_at_what_is_wrong() {
    let folder = Folder::new();
    let good = folder.write("good.xml", RANGE);
    let bad = folder.write("bad.xml", RANGE.replace(">Receive<", ">Sideways<"));
    let fine = report(&["fom", "check", good.to_str().unwrap()], 0);
    has_keys(
        &fine["summary"],
        &["object_classes", "attributes", "interaction_classes", "parameters", "datatypes", "dimensions"],
    );
    assert!(fine["summary"]["object_classes"].as_u64().unwrap() > 4, "the MIM's and the module's");
    let wrong = report(&["fom", "check", bad.to_str().unwrap()], 1);
    let row =
        wrong["rows"].as_array().unwrap().iter().find(|row| row["severity"] == "error").expect("an error");
    has_keys(row, &["file", "line", "column", "severity", "message"]);
    assert_eq!(row["file"], bad.to_str().unwrap());
    assert!(row["line"].as_u64().unwrap() > 1 && row["message"].as_str().unwrap().contains("Sideways"));
    // A fault that leaves the module usable is a warning.
    let sloppy = folder.write("sloppy.xml", RANGE.replace("HLAopaqueData", "NoSuchType"));
    let usable = report(&["fom", "check", sloppy.to_str().unwrap()], 0);
    assert!(usable["rows"].as_array().unwrap().iter().all(|row| row["severity"] == "warning"));
    let missing = folder.path().join("missing.xml");
    report(&["fom", "check", missing.to_str().unwrap()], 1);
}

#[test]
fn fom_merge_writes_what_can_be_read() {
    let folder = Folder::new();
    let module = folder.write("range.xml", RANGE);
    let merged = folder.path().join("merged.xml");
    let (module, merged) = (module.to_str().unwrap(), merged.to_str().unwrap());
    assert_eq!(run(&["fom", "merge", module, "-o", merged]).status.code(), Some(0));
    let (before, after) = (report(&["fom", "check", module], 0), report(&["fom", "check", merged], 0));
    for key in ["object_classes", "attributes", "interaction_classes", "parameters", "datatypes"] {
        assert_eq!(before["summary"][key], after["summary"][key], "{key}");
    }
    let printed = run(&["fom", "merge", module, "-o", "-"]);
    assert_eq!(printed.stdout, std::fs::read(merged).unwrap());
    let bad = folder.write("bad.xml", "<objectModel>");
    let nothing = folder.path().join("nothing.xml");
    let output = run(&["fom", "merge", bad.to_str().unwrap(), "-o", nothing.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(!nothing.exists());
}
