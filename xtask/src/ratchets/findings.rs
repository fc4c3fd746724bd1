//! Findings of clippy that may only become fewer. They are counted in the run of clippy that the
//! gate makes anyway.

use super::{is_product_source, lines};
use crate::cargo;
use anyhow::{Context, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// Lints, and the number of findings that core may have outside two of its crates. An index or a
/// cast that is right stays right only as long as somebody remembers the reason.
const MOST: [(&str, usize); 2] =
    [("clippy::indexing_slicing", 334), ("clippy::cast_possible_truncation", 98)];

/// The folder whose findings are counted, and the parts of it that are left out: network models, and
/// the matching of regions. Their indices are places in tables of their own, which no message names.
const COUNTED: &str = "crates/core/";
const NOT_COUNTED: [&str; 2] = ["crates/core/netmodel/", "crates/core/ddm/"];

/// A line of `cargo --message-format=json`. Others than diagnostics lack the fields.
#[derive(Deserialize)]
struct Line {
    message: Option<Diagnostic>,
}

#[derive(Deserialize)]
struct Diagnostic {
    code: Option<Code>,
    rendered: Option<String>,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: usize,
    column_start: usize,
    is_primary: bool,
}

/// The places of findings, by lint. A file that is built twice, with its unit tests and without, has
/// each of them twice.
type Found = BTreeMap<&'static str, BTreeSet<(String, usize, usize)>>;

/// Runs `cargo clippy` with `arguments` and `-D warnings`, and checks the numbers of findings.
///
/// # Errors
/// Clippy fails, or core has more findings than it may have.
pub(crate) fn clippy(arguments: &[&str]) -> anyhow::Result<()> {
    let forced = MOST.iter().flat_map(|(lint, _)| ["--force-warn", *lint]);
    let json = ["--message-format=json", "--", "-D", "warnings"];
    let arguments: Vec<_> = arguments.iter().copied().chain(json).chain(forced).collect();
    let mut command = cargo::cargo(&arguments);
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo clippy")?;
    let mut found = Found::new();
    for line in BufReader::new(child.stdout.take().context("its output is piped")?).lines() {
        if let Some(text) = take(&mut found, &line?)? {
            eprintln!("{text}");
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{} ended with {status}", cargo::spelled(&command));
    }
    check(&found, |path| std::fs::read_to_string(crate::workspace::root().join(path)).unwrap_or_default())
}

/// Notes a finding that is counted. Returns the text of any other diagnostic.
fn take(found: &mut Found, line: &str) -> anyhow::Result<Option<String>> {
    let line: Line = serde_json::from_str(line).context("cargo prints JSON")?;
    let Some(diagnostic) = line.message else { return Ok(None) };
    let code = diagnostic.code.map(|code| code.code).unwrap_or_default();
    let Some((lint, _)) = MOST.iter().find(|(lint, _)| *lint == code) else {
        return Ok(diagnostic.rendered);
    };
    let places = diagnostic.spans.into_iter().filter(|span| span.is_primary);
    let places = places.map(|span| (span.file_name, span.line_start, span.column_start));
    found.entry(lint).or_default().extend(places);
    Ok(None)
}

/// Compares the findings in core with the numbers that it may have.
fn check(found: &Found, read: impl Fn(&str) -> String) -> anyhow::Result<()> {
    let mut faults = Vec::new();
    for (lint, most) in MOST {
        let places = found.get(lint).into_iter().flatten();
        let counted: Vec<_> =
            places.filter(|(path, line, _)| is_counted(path) && !is_in_tests(&read(path), *line)).collect();
        println!("{lint}: {} findings in {COUNTED}, of {most}", counted.len());
        if counted.len() > most {
            let all: Vec<_> = counted.iter().map(|(path, line, _)| format!("{path}:{line}")).collect();
            faults.push(format!("{lint} has {} findings, of {most}: {}", all.len(), all.join(" ")));
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

fn is_counted(path: &str) -> bool {
    let is_left_out = NOT_COUNTED.iter().any(|folder| path.starts_with(folder));
    path.starts_with(COUNTED) && !is_left_out && is_product_source(path)
}

/// Whether a line of a source belongs to its unit tests.
fn is_in_tests(text: &str, line: usize) -> bool {
    lines::outside_tests(text).iter().all(|&(number, _)| number != line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostic(code: &str, path: &str, line: usize) -> String {
        format!(
            r#"{{"reason":"compiler-message","message":{{"code":{{"code":"{code}"}},"rendered":"text","spans":
            [{{"file_name":"{path}","line_start":{line},"column_start":5,"is_primary":true}}]}}}}"#
        )
    }

    const LINT: &str = "clippy::indexing_slicing";

    #[test]
    fn a_finding_is_counted_once_and_other_diagnostics_are_shown() {
        let mut found = Found::new();
        for line in [3, 3, 4] {
            let text = diagnostic(LINT, "crates/core/a/src/b.rs", line);
            assert_eq!(take(&mut found, &text).unwrap(), None);
        }
        assert_eq!(found[LINT].len(), 2);
        let other = diagnostic("clippy::other", "crates/core/a/src/b.rs", 3);
        assert_eq!(take(&mut found, &other).unwrap().as_deref(), Some("text"));
        assert_eq!(take(&mut found, r#"{"reason":"build-finished"}"#).unwrap(), None);
        assert!(take(&mut found, "no JSON").is_err());
    }

    #[test]
    fn one_finding_too_many_is_named_and_tests_and_models_are_free() {
        let most = MOST[0].1;
        let code = "f();\n".repeat(most + 1);
        let sources = (1..=most + 1).map(|line| ("crates/core/a/src/b.rs".to_owned(), line, 1));
        let found = |places: Vec<_>| Found::from([(LINT, places.into_iter().collect())]);
        let error = check(&found(sources.collect()), |_| code.clone()).unwrap_err().to_string();
        assert!(error.contains(&format!("crates/core/a/src/b.rs:{most}")), "{error}");
        let free = ["crates/core/netmodel/src/a.rs", "crates/core/a/tests/b.rs", "crates/app/a/src/b.rs"];
        let free = (0..=most).flat_map(|line| free.map(|path| (path.to_owned(), line, 1)));
        check(&found(free.collect()), |_| String::new()).unwrap();
        let tests = (0..=most).map(|line| ("crates/core/a/src/b.rs".to_owned(), line + 3, 1));
        let text = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{code}}}\n");
        check(&found(tests.collect()), |_| text.clone()).unwrap();
    }
}
