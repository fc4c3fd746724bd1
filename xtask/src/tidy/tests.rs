//! Each check on a source that is made to fail it, and on one that passes.

use super::*;
use std::path::PathBuf;

fn findings(path: &str, text: &str) -> Findings {
    let mut findings = Findings::default();
    check_source(&Source { path: path.to_owned(), text: text.to_owned() }, &mut findings);
    findings
}

#[test]
fn long_files_are_warned_about_then_refused() {
    let of = |lines: usize| findings("a.rs", &"x\n".repeat(lines));
    assert!(of(LINES_WARN).warnings.is_empty() && of(LINES_MAX).errors.is_empty());
    assert_eq!(of(LINES_WARN + 1).warnings.len(), 1);
    assert_eq!(of(LINES_MAX + 1).errors.len(), 1);
}

#[test]
fn generated_files_are_as_long_as_they_are() {
    let head = concat!("// This file is @gener", "ated by a tool.\n");
    assert!(findings("a.rs", &format!("{head}{}", "x\n".repeat(LINES_MAX))).errors.is_empty());
}

#[test]
fn markers_and_places_are_named_with_their_line() {
    for word in MARKERS.iter().chain(&PLACES) {
        let found = findings("a.rs", &format!("fine\nlet x = \"{word}\";\n")).errors;
        assert_eq!(found.len(), 1, "{word}: {found:?}");
        assert!(found[0].starts_with("a.rs:2: ") && found[0].contains(word), "{found:?}");
    }
}

#[test]
fn whitespace_at_the_end_is_found() {
    assert_eq!(findings("a.md", "a \nb\t\nc\n").errors.len(), 2);
    assert_eq!(findings("a.md", "a\r\n").errors.len(), 0, "`lines` takes CRLF for an end");
    assert_eq!(findings("a.md", "a").errors, ["a.md: no newline at the end"]);
}

#[test]
fn a_manifest_takes_the_workspace_lints_or_does_not() {
    assert!(takes_workspace_lints("[lints]\nworkspace = true\n"));
    assert!(takes_workspace_lints("lints.workspace = true\n"));
    for other in ["", "[lints]\nworkspace = false\n", "[lints.rust]\nunsafe_code = \"deny\"\n", "[lints"] {
        assert!(!takes_workspace_lints(other), "{other}");
    }
}

#[test]
fn a_crate_without_licence_or_lints_is_named() {
    let check = |license: Option<&str>, lints: &str| {
        let package = Package {
            name: "meshrti-x".to_owned(),
            manifest_path: root().join("x/Cargo.toml"),
            license: license.map(str::to_owned),
            dependencies: Vec::new(),
            targets: Vec::new(),
        };
        let sources = [Source { path: "x/Cargo.toml".to_owned(), text: lints.to_owned() }];
        let mut findings = Findings::default();
        check_manifest(&package, &sources, &mut findings);
        findings.errors.len()
    };
    assert_eq!(check(Some("Apache-2.0"), "[lints]\nworkspace = true"), 0);
    assert_eq!(check(None, "[lints]\nworkspace = true"), 1);
    assert_eq!(check(None, ""), 2);
}

#[test]
fn a_changelog_has_a_section() {
    let check = |text: &str| {
        let sources = [Source { path: "CHANGELOG.md".to_owned(), text: text.to_owned() }];
        let mut findings = Findings::default();
        check_changelog(&sources, &mut findings);
        findings.errors.is_empty()
    };
    assert!(check("# Changelog\n\n## [Unreleased]\n"));
    assert!(check("## [0.1.0] - 2026-11-21\n"));
    assert!(!check("# Changelog\n## Soon\n## [later]\n"));
}

#[test]
fn the_projects_own_files_are_listed() {
    let files: Vec<PathBuf> = files().expect("git lists files").into_iter().map(PathBuf::from).collect();
    assert!(files.contains(&PathBuf::from("xtask/src/main.rs")));
}

#[test]
fn bare_clauses_at_the_start_of_a_sentence_are_found() {
    for text in [
        "/// What a node says of itself.\n",
        "//! Whoever means ill loses its session.\n",
        "x; // Who comes late learns it.\n",
        "// It is sent. What is lost\n// is sent again.\n",
        "/// - Whose turn it is.\n",
    ] {
        let found = findings("a.rs", text).errors;
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].contains("bare clause"), "{found:?}");
    }
    let found = findings("a.rs", "// It is sent. It may\n// be lost. What is lost is sent again.\n").errors;
    assert!(found[0].starts_with("a.rs:2: "), "{found:?}");
    for text in [
        "// What may come here? Anything.\n",
        "/// Whatever the order, all arrives.\n",
        "/// The part of a federate, and what it has\n/// measured.\n",
        "/// ```\n/// // What is this?\n/// What\n/// ```\n",
        "let text = \"see https://example.org // What\";\n",
    ] {
        assert_eq!(findings("a.rs", text).errors, [""; 0], "{text}");
    }
    assert_eq!(findings("a.md", "What a node says.\n").errors, [""; 0], "prose may ask");
}

#[test]
fn no_more_for_no_longer_is_found() {
    for text in [
        "// The node is no more part of it.\n",
        "// I follow no more.\n",
        "// a node that is not, or no more, part of it\n",
        "/// It is\n/// no more known.\n",
    ] {
        let found = findings("a.rs", text).errors;
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].contains("no longer"), "{found:?}");
    }
    for text in [
        "// until there is no more data\n",
        "// The stream accepts no more.\n",
        "// It costs no more than one.\n",
        "// It is no more than a hint.\n",
        "// It makes no more calls.\n",
        "let text = \"it is no more\";\n",
    ] {
        assert_eq!(findings("a.rs", text).errors, [""; 0], "{text}");
    }
}
