//! The fuzz targets: replay of known inputs, and exploration.
//!
//! Replay needs no nightly compiler: libFuzzer's own `main` runs the given files one by one,
//! whether or not the code is instrumented. So the gate compiles every target and repeats every
//! input that ever mattered; only the search for new ones needs cargo-fuzz.

use crate::cargo::{call, cargo, spelled};
use crate::mpi;
use crate::workspace::{Metadata, metadata, root};
use anyhow::{Context, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "meshrti-fuzz";
const CORPUS: &str = "fuzz/corpus";
/// The folder of inputs found by exploring: thousands, kept for the next time and not committed.
const EXPLORED: &str = "fuzz/target/explored";
/// Number of files per call, well below every system's limit for arguments.
const BATCH: usize = 500;
/// An input that takes longer is a hang; most take well under a millisecond.
const TIMEOUT: &str = "-timeout=30";

/// Builds all targets with the compiler of the workspace, and runs each over its committed corpus.
/// All programs and tests of the workspace are requested, as in earlier steps, so that nothing is
/// built again with other features.
pub(crate) fn replay() -> anyhow::Result<()> {
    let features = mpi::features()?;
    call(&mut cargo(&[&["build", "--workspace", "--bins", "--tests", "--locked"], &features[..]].concat()))?;
    let metadata = metadata("Cargo.toml")?;
    let out = &metadata.target_directory;
    for target in targets(&metadata)? {
        let files = corpus(&root().join(CORPUS).join(&target))?;
        for batch in files.chunks(BATCH) {
            replay_batch(&out.join("debug").join(&target), batch)?;
        }
        println!("{target}: {} inputs replayed", files.len());
    }
    Ok(())
}

/// Runs every target, or those named, for `seconds` each, starting from its corpus. Failing inputs
/// go to fuzz/artifacts; commit them to the corpus with the repair, so that the fault does not come
/// back.
pub(crate) fn explore(seconds: u64, only: &[String]) -> anyhow::Result<()> {
    let mut probe = nightly_fuzz(&["--version"]);
    let installed = probe.output().is_ok_and(|output| output.status.success());
    ensure!(installed, "exploring needs `rustup toolchain install nightly` and `cargo install cargo-fuzz`");
    let all = targets(&metadata("Cargo.toml")?)?;
    if let Some(name) = only.iter().find(|name| !all.contains(name)) {
        bail!("no fuzz target `{name}`; there are: {}", all.join(", "));
    }
    for target in all.iter().filter(|target| only.is_empty() || only.contains(target)) {
        println!("==> fuzz {target}: {seconds} s");
        let limit = format!("-max_total_time={seconds}");
        let (explored, corpus) = (format!("{EXPLORED}/{target}"), format!("{CORPUS}/{target}"));
        std::fs::create_dir_all(root().join(&explored)).with_context(|| format!("cannot make {explored}"))?;
        // libFuzzer writes new inputs to the first folder, and only reads the others.
        let folders = [target, explored.as_str(), corpus.as_str()];
        let arguments = [&["run", "--fuzz-dir", "fuzz"], &folders[..], &["--", &limit, TIMEOUT]].concat();
        call(&mut nightly_fuzz(&arguments))?;
    }
    Ok(())
}

fn nightly_fuzz(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "fuzz"]).args(arguments).current_dir(root()).env_remove("CARGO");
    // The workspace's release profile optimises whole programs, which would take minutes for each
    // target.
    command.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    command
}

/// Names of the fuzz crate's programs, each one a target.
fn targets(metadata: &Metadata) -> anyhow::Result<Vec<String>> {
    let package = metadata.packages.iter().find(|package| package.name == PACKAGE);
    let all = package.into_iter().flat_map(|package| &package.targets);
    let mut names: Vec<String> =
        all.filter(|target| target.kind.iter().any(|kind| kind == "bin")).map(|t| t.name.clone()).collect();
    names.sort();
    ensure!(!names.is_empty(), "{PACKAGE} has no targets");
    Ok(names)
}

/// Files of a corpus in the order of their names. An empty corpus is an error: it would prove
/// nothing.
fn corpus(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("no corpus in {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    ensure!(!files.is_empty(), "the corpus in {} is empty", folder.display());
    Ok(files)
}

/// libFuzzer prints the name of each input as it runs it; this is shown only if one fails.
fn replay_batch(program: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    let output = command.arg(TIMEOUT).args(files).current_dir(root()).output();
    let output = output.with_context(|| format!("cannot start {}", program.display()))?;
    if !output.status.success() {
        let report = String::from_utf8_lossy(&output.stderr);
        let mut alone = Command::new(program);
        alone.args(last_input(&report));
        bail!("{report}\n{} in: {}", output.status, spelled(&alone));
    }
    Ok(())
}

/// The input that ran when the program ended.
fn last_input(report: &str) -> Option<&str> {
    report.lines().rev().find_map(|line| line.strip_prefix("Running: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_or_absent_corpus_is_an_error() {
        let folder = std::env::temp_dir().join(format!("meshrti-corpus-{}", std::process::id()));
        assert!(corpus(&folder).is_err());
        std::fs::create_dir_all(&folder).unwrap();
        assert!(corpus(&folder).unwrap_err().to_string().contains("is empty"));
        std::fs::write(folder.join("b"), "x").unwrap();
        std::fs::write(folder.join("a"), "x").unwrap();
        let names: Vec<_> = corpus(&folder).unwrap();
        assert_eq!(names, [folder.join("a"), folder.join("b")]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_failed_replay_is_an_error_that_names_the_input() {
        let error = replay_batch(Path::new("false"), &["x".into()]).unwrap_err();
        assert!(error.to_string().contains("exit status: 1"), "{error}");
        assert!(replay_batch(Path::new("true"), &["x".into()]).is_ok());
        assert_eq!(last_input("Running: a\nExecuted a\nRunning: b\nboom\n"), Some("b"));
    }
}
