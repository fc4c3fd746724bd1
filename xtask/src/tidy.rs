//! Checks of the sources as text, for rules that no compiler and no lint checks.

mod links;
mod prose;
#[cfg(test)]
mod tests;

use crate::performance;
use crate::workspace::{Package, files, is_generated, metadata, root};
use anyhow::{Context, bail};

/// A longer file is an error, unless it is generated.
const LINES_MAX: usize = 600;
/// A longer file is a warning, so that it is split before it must be.
const LINES_WARN: usize = 400;
/// Markers of unfinished work, which belongs in an issue. Spelled in halves, since this file is
/// checked too.
const MARKERS: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("todo", "!("), concat!("unimplemented", "!(")];
/// Folders that exist only on somebody's machine.
const PLACES: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/wo", "rk/"), concat!("C:", "\\Users")];
/// Kinds of files that people write. Corpora, snapshots and lock files are not among them.
const KINDS: [&str; 7] = [".rs", ".toml", ".md", ".proto", ".sh", ".yml", ".ci/run"];

/// A file of the project: path relative to the root, with `/`.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// Line `number`, counted from 0, as people write places.
    fn at(&self, number: usize) -> String {
        format!("{}:{}", self.path, number + 1)
    }
}

/// The findings of the checks; warnings do not fail the gate.
#[derive(Default)]
struct Findings {
    errors: Vec<String>,
    warnings: Vec<String>,
}

/// Fails with the list of everything untidy.
pub(crate) fn run() -> anyhow::Result<()> {
    let sources = read_sources()?;
    let metadata = metadata("Cargo.toml")?;
    let mut findings = Findings::default();
    for source in &sources {
        check_source(source, &mut findings);
    }
    for package in &metadata.packages {
        check_manifest(package, &sources, &mut findings);
    }
    check_changelog(&sources, &mut findings);
    findings.errors.extend(performance::differences()?);
    for warning in &findings.warnings {
        println!("warning: {warning}");
    }
    if !findings.errors.is_empty() {
        bail!("{} untidy place(s):\n  {}", findings.errors.len(), findings.errors.join("\n  "));
    }
    println!("{} files are tidy", sources.len());
    Ok(())
}

/// Every file that people write. A file that git lists and somebody has just deleted is left out.
fn read_sources() -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in files()?.into_iter().filter(|path| KINDS.iter().any(|kind| path.ends_with(kind))) {
        match std::fs::read_to_string(root().join(&path)) {
            Ok(text) => sources.push(Source { path, text }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
        }
    }
    Ok(sources)
}

fn check_source(source: &Source, findings: &mut Findings) {
    if !is_generated(&source.text) {
        check_length(source, findings);
        check_lines(source, findings);
        findings.errors.extend(prose::faults(source));
    }
    if source.path.ends_with(".md") {
        let exists = |path: &str| root().join(path).exists();
        findings.errors.extend(links::broken(source, exists));
    }
}

fn check_length(source: &Source, findings: &mut Findings) {
    let lines = source.text.lines().count();
    if !source.path.ends_with(".rs") || lines <= LINES_WARN {
        return;
    }
    let found = format!("{} has {lines} lines", source.path);
    if lines > LINES_MAX {
        findings.errors.push(format!("{found}, more than {LINES_MAX}: split it by concern"));
    } else {
        findings.warnings.push(format!("{found}; {LINES_MAX} is the limit"));
    }
}

fn check_lines(source: &Source, findings: &mut Findings) {
    let errors = &mut findings.errors;
    for (number, line) in source.text.lines().enumerate() {
        if line.ends_with([' ', '\t']) {
            errors.push(format!("{}: trailing whitespace", source.at(number)));
        }
        for marker in MARKERS.iter().filter(|marker| line.contains(*marker)) {
            errors.push(format!("{}: `{marker}` is left over", source.at(number)));
        }
        for place in PLACES.iter().filter(|place| line.contains(*place)) {
            errors.push(format!("{}: `{place}` is a place on one machine", source.at(number)));
        }
    }
    if !source.text.is_empty() && !source.text.ends_with('\n') {
        errors.push(format!("{}: no newline at the end", source.path));
    }
}

/// Checks that a crate has a licence and takes the lints of the workspace.
fn check_manifest(package: &Package, sources: &[Source], findings: &mut Findings) {
    let name = &package.name;
    if package.license.is_none() {
        findings.errors.push(format!("crate `{name}` has no licence: `license.workspace = true`"));
    }
    let manifest = sources.iter().find(|source| package.manifest_path == root().join(&source.path));
    if !manifest.is_some_and(|manifest| takes_workspace_lints(&manifest.text)) {
        findings.errors.push(format!("crate `{name}` has its own lints: `[lints] workspace = true`"));
    }
}

fn takes_workspace_lints(manifest: &str) -> bool {
    let Ok(manifest) = manifest.parse::<toml::Table>() else { return false };
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    lints.and_then(toml::Value::as_bool) == Some(true)
}

/// Checks that the changelog exists and has a section to write into.
fn check_changelog(sources: &[Source], findings: &mut Findings) {
    let changelog = sources.iter().find(|source| source.path == "CHANGELOG.md");
    if !changelog.is_some_and(|changelog| changelog.text.lines().any(is_release)) {
        findings.errors.push("CHANGELOG.md needs a section `## [Unreleased]` or `## [1.2.3]`".to_owned());
    }
}

fn is_release(line: &str) -> bool {
    line.strip_prefix("## [").and_then(|rest| rest.split_once(']')).is_some_and(|(name, _)| {
        name == "Unreleased"
            || (name.split('.').count() == 3 && name.starts_with(|c: char| c.is_ascii_digit()))
    })
}
