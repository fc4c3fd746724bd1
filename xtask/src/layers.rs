//! Compares the dependencies of the workspace with those written in `layers.toml`.

mod modules;
#[cfg(test)]
mod tests;

use crate::workspace::{Dependency, Kind, Metadata, Package, metadata, root};
use anyhow::{Context, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const RULES: &str = "layers.toml";

/// `layers.toml`; its head explains the keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    /// From the bottom up.
    layer: Vec<Layer>,
    #[serde(rename = "crate")]
    crates: BTreeMap<String, CrateRule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    name: String,
    folder: String,
    #[serde(default)]
    forbid: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CrateRule {
    may_use: Vec<String>,
    #[serde(default)]
    tests_may_use: Vec<String>,
    #[serde(default)]
    forbid: Vec<String>,
    /// Its top modules from the bottom up; their imports run down only. Without the key they are
    /// not checked.
    #[serde(default)]
    modules: Vec<String>,
}

/// Fails with the list of dependencies and crates that differ from the written ones.
pub(crate) fn run() -> anyhow::Result<()> {
    let text = std::fs::read_to_string(root().join(RULES)).with_context(|| format!("cannot read {RULES}"))?;
    let rules: Rules = toml::from_str(&text).with_context(|| RULES.to_owned())?;
    let metadata = metadata("Cargo.toml")?;
    let mut violations = check(&rules, &metadata, root());
    violations.extend(check_modules(&rules, &metadata)?);
    if !violations.is_empty() {
        bail!("{} violation(s) of {RULES}:\n  {}", violations.len(), violations.join("\n  "));
    }
    println!("{} crates keep to their arrows", metadata.packages.len());
    Ok(())
}

fn check(rules: &Rules, metadata: &Metadata, root: &Path) -> Vec<String> {
    let members: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (short(&package.name), package)).collect();
    let mut violations = check_rules(rules);
    for name in rules.crates.keys().filter(|name| !members.contains_key(name.as_str())) {
        violations.push(format!("[crate.{name}] is written, but the workspace has no such crate"));
    }
    let mut layer_of = BTreeMap::new();
    for (name, package) in &members {
        match (rules.crates.get(*name), layer(rules, package, root)) {
            (None, _) => violations.push(format!("crate `{name}` is not listed: add [crate.{name}]")),
            (_, None) => violations.push(format!("crate `{name}` lies in the folder of no layer")),
            (Some(rule), Some(rank)) => {
                layer_of.insert(*name, rank);
                check_crate(name, package, rule, &rules.layer[rank], &members, &mut violations);
            }
        }
    }
    check_direction(rules, &layer_of, &mut violations);
    violations
}

/// Imports between the top modules of a crate that do not run down.
fn check_modules(rules: &Rules, metadata: &Metadata) -> anyhow::Result<Vec<String>> {
    let mut violations = Vec::new();
    for package in &metadata.packages {
        let name = short(&package.name);
        let written = rules.crates.get(name).map(|rule| rule.modules.as_slice()).unwrap_or_default();
        if let Some(folder) = package.manifest_path.parent().filter(|_| !written.is_empty()) {
            violations.extend(modules::check(name, written, &modules::imports(&folder.join("src"))?));
        }
    }
    Ok(violations)
}

/// The errors in the rules themselves: unknown names, and circular dependencies.
fn check_rules(rules: &Rules) -> Vec<String> {
    let mut violations = Vec::new();
    for (name, rule) in &rules.crates {
        for used in rule.may_use.iter().chain(&rule.tests_may_use) {
            if !rules.crates.contains_key(used) {
                violations.push(format!("[crate.{name}] names `{used}`, which has no [crate.{used}]"));
            }
        }
    }
    if let Some(circle) = in_a_circle(rules) {
        violations.push(format!("the written arrows form a circle among: {circle}"));
    }
    violations
}

/// Removes crates that use no remaining crate, until none is left or none can be removed.
fn in_a_circle(rules: &Rules) -> Option<String> {
    let mut left: BTreeSet<&str> = rules.crates.keys().map(String::as_str).collect();
    loop {
        let uses_left =
            |name: &str| rules.crates[name].may_use.iter().any(|used| left.contains(used.as_str()));
        let kept: BTreeSet<&str> = left.iter().copied().filter(|name| uses_left(name)).collect();
        if kept.is_empty() {
            return None;
        }
        if kept.len() == left.len() {
            return Some(kept.into_iter().collect::<Vec<_>>().join(", "));
        }
        left = kept;
    }
}

fn check_crate(
    name: &str,
    package: &Package,
    rule: &CrateRule,
    layer: &Layer,
    members: &BTreeMap<&str, &Package>,
    violations: &mut Vec<String>,
) {
    for dependency in &package.dependencies {
        let used = short(&dependency.name);
        let is_member = members.get(used).is_some_and(|member| member.name == dependency.name);
        if is_member && used != name && !is_written(rule, used, dependency) {
            let key = if dependency.kind == Some(Kind::Dev) { "tests-may-use" } else { "may-use" };
            violations.push(format!("arrow `{name}` -> `{used}` is not written in {key} of [crate.{name}]"));
        }
        if layer.forbid.contains(&dependency.name) {
            violations.push(format!("crate `{name}` uses `{used}`, which layer `{}` forbids", layer.name));
        } else if rule.forbid.contains(&dependency.name) {
            violations.push(format!("crate `{name}` uses `{used}`, which [crate.{name}] forbids"));
        }
    }
}

fn is_written(rule: &CrateRule, used: &str, dependency: &Dependency) -> bool {
    let has = |names: &[String]| names.iter().any(|name| name == used);
    has(&rule.may_use) || (dependency.kind == Some(Kind::Dev) && has(&rule.tests_may_use))
}

/// Checks that no written dependency points to a higher layer.
fn check_direction(rules: &Rules, layer_of: &BTreeMap<&str, usize>, violations: &mut Vec<String>) {
    for (name, rule) in &rules.crates {
        for used in &rule.may_use {
            let ranks = (layer_of.get(name.as_str()), layer_of.get(used.as_str()));
            if let (Some(&from), Some(&to)) = ranks
                && to > from
            {
                let (from, to) = (&rules.layer[from].name, &rules.layer[to].name);
                violations.push(format!("written arrow `{name}` ({from}) -> `{used}` ({to}) points up"));
            }
        }
    }
}

/// Index of the layer in whose folder the package lies.
fn layer(rules: &Rules, package: &Package, root: &Path) -> Option<usize> {
    let place = package.manifest_path.strip_prefix(root).ok()?;
    rules.layer.iter().position(|layer| place.starts_with(&layer.folder))
}

/// The name by which crates of the workspace call each other: `base` for `meshrti-base`.
fn short(package: &str) -> &str {
    package.strip_prefix("meshrti-").unwrap_or(package)
}
