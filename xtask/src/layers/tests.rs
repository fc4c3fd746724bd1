//! The checker on made-up workspaces: it must find each kind of violation, and nothing else.

use super::*;
use serde_json::{Value, json};

const RULES_TEXT: &str = r#"
[[layer]]
name = "core"
folder = "crates/core"
forbid = ["tokio"]

[[layer]]
name = "world"
folder = "crates/world"

[crate.base]
may-use = []

[crate.router]
may-use = ["base"]

[crate.node]
may-use = ["router", "base"]
tests-may-use = ["testkit"]
forbid = ["smol"]

[crate.testkit]
may-use = ["router"]
"#;

fn package(folder: &str, name: &str, dependencies: &[(&str, Value)]) -> Value {
    let dependencies: Vec<Value> =
        dependencies.iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect();
    json!({
        "name": format!("meshrti-{name}"),
        "manifest_path": format!("/repo/crates/{folder}/{name}/Cargo.toml"),
        "license": "Apache-2.0",
        "dependencies": dependencies,
    })
}

/// A workspace that keeps the rules, with `replaced` in place of the package of the same name.
fn workspace(replaced: &Value) -> Metadata {
    let mut packages = vec![
        package("core", "base", &[]),
        package("core", "router", &[("meshrti-base", Value::Null), ("bytes", Value::Null)]),
        package("world", "node", &[("meshrti-router", Value::Null), ("tokio", Value::Null)]),
        package("world", "testkit", &[("meshrti-router", Value::Null)]),
    ];
    packages.retain(|package| package["name"] != replaced["name"]);
    packages.push(replaced.clone());
    serde_json::from_value(json!({ "packages": packages, "target_directory": "/repo/target" }))
        .expect("made-up metadata has the shape of cargo's")
}

fn violations(rules: &str, replaced: &Value) -> Vec<String> {
    let rules: Rules = toml::from_str(rules).expect("made-up rules parse");
    check(&rules, &workspace(replaced), Path::new("/repo"))
}

fn only_violation(replaced: &Value) -> String {
    let found = violations(RULES_TEXT, replaced);
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().expect("there is one")
}

#[test]
fn a_workspace_that_keeps_the_rules_passes() {
    assert_eq!(violations(RULES_TEXT, &package("core", "base", &[])), [""; 0]);
}

#[test]
fn an_unwritten_arrow_is_found_whether_normal_or_build() {
    for kind in [Value::Null, json!("build")] {
        let found = only_violation(&package("world", "testkit", &[("meshrti-base", kind)]));
        assert!(found.contains("`testkit` -> `base`") && found.contains(" may-use"), "{found}");
    }
}

#[test]
fn tests_may_use_counts_for_tests_only() {
    let dev = package("world", "node", &[("meshrti-testkit", json!("dev"))]);
    assert_eq!(violations(RULES_TEXT, &dev), [""; 0]);
    let normal = package("world", "node", &[("meshrti-testkit", Value::Null)]);
    assert!(only_violation(&normal).contains("`node` -> `testkit`"));
    let unwritten = package("core", "router", &[("meshrti-testkit", json!("dev"))]);
    assert!(only_violation(&unwritten).contains("tests-may-use of [crate.router]"));
}

#[test]
fn a_forbidden_package_is_found_in_layer_and_crate_and_in_tests() {
    for kind in [Value::Null, json!("build"), json!("dev")] {
        let found = only_violation(&package("core", "base", &[("tokio", kind)]));
        assert_eq!(found, "crate `base` uses `tokio`, which layer `core` forbids");
    }
    let found = only_violation(&package("world", "node", &[("smol", Value::Null)]));
    assert_eq!(found, "crate `node` uses `smol`, which [crate.node] forbids");
}

#[test]
fn an_unlisted_crate_is_found() {
    let found = only_violation(&package("core", "srmp", &[]));
    assert!(found.contains("`srmp` is not listed"), "{found}");
}

#[test]
fn a_crate_in_no_layers_folder_is_found() {
    let found = only_violation(&package("elsewhere", "base", &[]));
    assert!(found.contains("`base` lies in the folder of no layer"), "{found}");
}

#[test]
fn a_rule_for_an_absent_crate_is_found() {
    let rules = format!("{RULES_TEXT}\n[crate.ghost]\nmay-use = []\n");
    let found = violations(&rules, &package("core", "base", &[]));
    assert_eq!(found, ["[crate.ghost] is written, but the workspace has no such crate"]);
}

#[test]
fn rules_that_point_up_in_a_circle_or_nowhere_are_found() {
    let rules =
        RULES_TEXT.replace("[crate.base]\nmay-use = []", "[crate.base]\nmay-use = [\"node\", \"gone\"]");
    let found = violations(&rules, &package("core", "base", &[])).join("\n");
    assert!(found.contains("names `gone`, which has no [crate.gone]"), "{found}");
    assert!(found.contains("circle among: base, node, router"), "{found}");
    assert!(found.contains("`base` (core) -> `node` (world) points up"), "{found}");
}

#[test]
fn a_misspelt_key_is_an_error() {
    let rules = RULES_TEXT.replace("tests-may-use", "test-may-use");
    assert!(toml::from_str::<Rules>(&rules).is_err());
}
