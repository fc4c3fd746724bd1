//! The workspace: its root, its packages as reported by `cargo metadata`, and its files.

use anyhow::{Context, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The part of `cargo metadata --no-deps` that the chores read.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    #[serde(default)]
    pub(crate) license: Option<String>,
    #[serde(default)]
    pub(crate) dependencies: Vec<Dependency>,
    #[serde(default)]
    pub(crate) targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// The package's own name, whatever name the dependent gives it.
    pub(crate) name: String,
    /// `None` for a normal dependency.
    #[serde(default)]
    pub(crate) kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Build,
    Dev,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
}

/// The part of `Cargo.lock` that the chores read.
#[derive(Debug, Deserialize)]
pub(crate) struct Lock {
    pub(crate) package: Vec<Locked>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Locked {
    pub(crate) name: String,
    pub(crate) version: String,
    /// `None` for a crate of the workspace.
    pub(crate) source: Option<String>,
    /// Its SHA-256 in hexadecimal digits; `None` for a crate of the workspace.
    pub(crate) checksum: Option<String>,
}

/// Reads `Cargo.lock`.
pub(crate) fn lock() -> anyhow::Result<Lock> {
    let text = std::fs::read_to_string(root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    toml::from_str(&text).context("Cargo.lock")
}

/// The folder of the workspace this program was built from.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

/// Packages of the workspace whose manifest is `manifest`, relative to the root.
pub(crate) fn metadata(manifest: &str) -> anyhow::Result<Metadata> {
    let arguments = ["metadata", "--no-deps", "--format-version=1", "--manifest-path", manifest];
    let text = crate::cargo::output(&arguments)?;
    serde_json::from_str(&text).with_context(|| format!("cargo metadata of {manifest}"))
}

/// Every file that belongs to the project, relative to the root: files that git tracks, and new
/// ones that it does not ignore.
pub(crate) fn files() -> anyhow::Result<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = std::process::Command::new("git")
        .args(arguments)
        .current_dir(root())
        .output()
        .context("git lists the project's files")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
    let text = String::from_utf8(output.stdout).context("file names are UTF-8")?;
    let mut files: Vec<String> =
        text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// Whether a file says in its first lines that a tool has written it.
pub(crate) fn is_generated(text: &str) -> bool {
    text.lines().take(3).any(|line| line.contains(concat!("@gener", "ated")))
}
