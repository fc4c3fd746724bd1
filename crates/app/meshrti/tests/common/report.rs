//! Reports of benchmarks.

use std::process::{Command, Output};

use serde_json::Value;

pub(crate) fn meshrti(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_meshrti")).args(arguments).output().expect("the program starts")
}

/// The report of a benchmark that succeeds.
pub(crate) fn report(arguments: &[&str]) -> Value {
    let output = meshrti(&[&["bench"], arguments, &["--json"]].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    serde_json::from_slice(&output.stdout).expect("the standard output is one JSON object")
}

pub(crate) fn assert_numbers(row: &Value, keys: &[&str]) {
    for key in keys {
        assert!(row[key].is_number(), "{key} in {row}");
    }
}
