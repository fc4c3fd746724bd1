//! The software bill of materials (SBOM): the packages in the program `meshrti`, in the JSON form of
//! CycloneDX 1.5.

use crate::cargo::output;
use crate::workspace::{Lock, lock};
use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The package whose program is described.
const PACKAGE: &str = "meshrti";

/// The part of `cargo metadata` that is read.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    #[serde(default)]
    license: Option<String>,
    /// `None` for a package of the workspace.
    #[serde(default)]
    source: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Debug, Deserialize)]
struct Kind {
    /// `None` for a dependency of the program, else `build` or `dev`.
    kind: Option<String>,
}

/// Writes the bill of materials to `file`, or prints it.
pub(crate) fn run(file: Option<&Path>) -> anyhow::Result<()> {
    let metadata = output(&["metadata", "--format-version=1", "--locked", "--filter-platform", &host()?])?;
    let bill = bill(&serde_json::from_str(&metadata)?, &lock()?)?;
    let text = serde_json::to_string_pretty(&bill)? + "\n";
    match file {
        Some(file) => std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display())),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}

/// The platform of this compiler.
fn host() -> anyhow::Result<String> {
    let text = output(&["version", "--verbose"])?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("cargo names its host")?.to_owned())
}

fn bill(metadata: &Metadata, lock: &Lock) -> anyhow::Result<Value> {
    let packages: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let nodes: BTreeMap<&str, Vec<&str>> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), linked(node))).collect();
    let start = metadata.packages.iter().find(|package| package.name == PACKAGE && package.source.is_none());
    let start = start.with_context(|| format!("the workspace has no package {PACKAGE}"))?;
    let (mut reached, mut next) = (BTreeSet::from([start.id.as_str()]), vec![start.id.as_str()]);
    while let Some(id) = next.pop() {
        let on = nodes.get(id).with_context(|| format!("cargo resolves {id}"))?;
        next.extend(on.iter().filter(|id| reached.insert(id)));
    }
    ensure!(reached.len() > 1, "{PACKAGE} links no other package");
    let (mut components, mut dependencies) = (Vec::new(), Vec::new());
    for id in &reached {
        let package = packages.get(id).with_context(|| format!("cargo describes {id}"))?;
        let on: Vec<String> = nodes[id].iter().filter_map(|id| Some(purl(packages.get(id)?))).collect();
        dependencies.push(json!({ "ref": purl(package), "dependsOn": on }));
        if package.id != start.id {
            components.push(component("library", package, lock));
        }
    }
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component("application", start, lock) },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// The packages that a program with this one links.
fn linked(node: &Node) -> Vec<&str> {
    let is_linked = |dependency: &&Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
    node.deps.iter().filter(is_linked).map(|dependency| dependency.pkg.as_str()).collect()
}

/// The name of a package in all bills of materials: a package URL.
fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn component(kind: &str, package: &Package, lock: &Lock) -> Value {
    let Package { name, version, license, .. } = package;
    let mut component = json!({
        "type": kind,
        "bom-ref": purl(package),
        "name": name,
        "version": version,
        "purl": purl(package),
    });
    if let Some(license) = license {
        // The slash of old manifests means `OR`.
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    let locked = lock.package.iter().find(|locked| locked.name == *name && locked.version == *version);
    if let Some(checksum) = locked.and_then(|locked| locked.checksum.as_ref()) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_packages_are_listed_with_licence_and_digest() {
        let node = |id: &str, deps: &[(&str, Option<&str>)]| {
            let deps: Vec<_> = deps
                .iter()
                .map(|(pkg, kind)| json!({ "pkg": pkg, "dep_kinds": [{ "kind": kind }] }))
                .collect();
            json!({ "id": id, "deps": deps })
        };
        let package = |name: &str, source: Option<&str>| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source });
        let metadata = json!({
            "packages": [
                package(PACKAGE, None), package("used", Some("x")), package("built", Some("x")), package("far", Some("x")),
            ],
            "resolve": { "nodes": [
                node(PACKAGE, &[("used", None), ("built", Some("build"))]),
                node("used", &[("far", None)]),
                node("built", &[]),
                node("far", &[]),
            ] },
        });
        let lock = "[[package]]\nname = \"far\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n";
        let metadata = serde_json::from_value(metadata).unwrap();
        let bill = bill(&metadata, &toml::from_str(lock).unwrap()).unwrap();
        let names: Vec<_> = bill["components"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
        assert_eq!(names, ["far", "used"], "a build script is not in the program");
        assert_eq!(bill["components"][0]["hashes"][0]["content"], "abc");
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["metadata"]["component"]["purl"], "pkg:cargo/meshrti@1.0.0");
        assert_eq!(
            bill["dependencies"][1],
            json!({ "ref": "pkg:cargo/meshrti@1.0.0", "dependsOn": ["pkg:cargo/used@1.0.0"] })
        );
    }
}
