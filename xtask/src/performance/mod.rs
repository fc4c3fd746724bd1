//! The figures of `docs/performance.md`. Each block of the page is what one command of
//! `docs/performance.toml` printed, so that one chore writes all of them anew, and so that the gate
//! notices when page and list differ.

mod list;
mod page;
mod program;
#[cfg(test)]
mod tests;

use crate::cargo::{call, cargo};
use crate::workspace::{metadata, root};
use anyhow::{Context, bail, ensure};
use clap::Args;
use list::Measurement;
use page::Page;
use program::Sources;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const PAGE: &str = "docs/performance.md";
const LIST: &str = "docs/performance.toml";

/// Which measurements.
#[derive(Args)]
pub(crate) struct Performance {
    /// Only the measurement with this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Print names, limits and commands, and measure nothing.
    #[arg(long)]
    list: bool,
}

/// Measures, and writes the block of each measurement into the page.
pub(crate) fn run(arguments: &Performance) -> anyhow::Result<()> {
    let all = read_list()?;
    if arguments.list {
        for measurement in list::select(all, &arguments.only)? {
            let Measurement { name, limit, .. } = &measurement;
            println!("{name:24} {:4} s  {}", limit.as_secs(), measurement.command());
        }
        return Ok(());
    }
    let text = read_page()?;
    let faults = Page::parse(PAGE, &text).faults(PAGE, LIST, &all);
    let mut failures: Vec<String> = faults.iter().map(|fault| fault.message.clone()).collect();
    let mut selected = list::select(all, &arguments.only)?;
    // A block that cannot be written is not worth measuring.
    selected.retain(|measurement| !faults.iter().any(|fault| fault.name.as_ref() == Some(&measurement.name)));
    if !selected.is_empty() {
        let sources = sources()?;
        let (program, json) = build()?;
        let one = |measurement: &Measurement| {
            let block = program::measure(&program, measurement, &json, &sources)?;
            // Read again: a person may have edited the page meanwhile.
            store(&root().join(PAGE), &measurement.name, &block)
        };
        failures.extend(each(&selected, one));
    }
    if !failures.is_empty() {
        bail!("{} fault(s), whose blocks are as they were:\n  {}", failures.len(), failures.join("\n  "));
    }
    Ok(())
}

/// Does `one` for each measurement, and returns the faults.
fn each(list: &[Measurement], mut one: impl FnMut(&Measurement) -> anyhow::Result<()>) -> Vec<String> {
    let mut failures = Vec::new();
    for measurement in list {
        let (name, command) = (&measurement.name, measurement.command());
        println!("==> {name}: {command}");
        let begin = Instant::now();
        match one(measurement) {
            Ok(()) => println!("==> {name}: written after {:.1} s", begin.elapsed().as_secs_f64()),
            Err(error) => {
                eprintln!("==> {name}: FAILED: {error:#}");
                failures.push(format!("{name}: `{command}`: {error:#}"));
            }
        }
    }
    failures
}

/// Differences between the page and the list, which can be told without measuring.
pub(crate) fn differences() -> anyhow::Result<Vec<String>> {
    let (list, text) = (read_list()?, read_page()?);
    Ok(differences_of(&text, &list))
}

fn differences_of(text: &str, list: &[Measurement]) -> Vec<String> {
    let page = Page::parse(PAGE, text);
    let faults = page.faults(PAGE, LIST, list).into_iter().map(|fault| fault.message);
    faults.chain(page.stale(PAGE, list)).collect()
}

fn read_list() -> anyhow::Result<Vec<Measurement>> {
    let text = std::fs::read_to_string(root().join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
    list::parse(&text).context(LIST)
}

fn read_page() -> anyhow::Result<String> {
    std::fs::read_to_string(root().join(PAGE)).with_context(|| format!("cannot read {PAGE}"))
}

/// Writes a block into the page `path`: the whole page or nothing.
fn store(path: &Path, name: &str, block: &str) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let page = Page::parse(PAGE, &text).replaced(name, block);
    let page = page.with_context(|| format!("{PAGE} has lost the block `{name}` meanwhile"))?;
    let new = path.with_extension("md.new");
    let written = std::fs::write(&new, page).and_then(|()| std::fs::rename(&new, path));
    if written.is_err() {
        // It may not even exist.
        let _ = std::fs::remove_file(&new);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// The commit, and whether the tree is clean. The page does not count, since the program does not
/// depend on it, and each block changes it.
fn sources() -> anyhow::Result<Sources> {
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--", ".", &format!(":!{PAGE}")])?;
    Ok(Sources { commit, is_clean: changes.is_empty() })
}

fn git(arguments: &[&str]) -> anyhow::Result<String> {
    let output =
        Command::new("git").args(arguments).current_dir(root()).output().context("cannot start git")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {}: {}", arguments.join(" "), complaint.trim());
    Ok(String::from_utf8(output.stdout).context("git prints UTF-8")?.trim().to_owned())
}

/// Builds the program. Returns its path, and a place for JSON reports.
fn build() -> anyhow::Result<(PathBuf, PathBuf)> {
    call(&mut cargo(&["build", "--release", "--package", "meshrti", "--locked"]))?;
    let target = metadata("Cargo.toml")?.target_directory;
    let program = target.join("release").join(format!("meshrti{}", std::env::consts::EXE_SUFFIX));
    ensure!(program.is_file(), "{} is missing after the build", program.display());
    Ok((program, target.join("performance.json")))
}
