//! Mutations: deliberate mistakes, one in each patch, that the tests must notice.
//!
//! A patch begins with a description of its mistake and with the arguments of `cargo test` that run
//! the test which must fail, after the variables that it needs:
//!
//! ```text
//! Senders do not vouch for messages on their way.
//!
//! Test: MESHRTI_SEEDS=2000 -p meshrti-rti --lib nothing_comes_late_and_nobody_waits_for_ever
//! ```
//!
//! The mistakes are made in a copy of the last commit, in the target folder. The copy stays there,
//! so that the next run compiles only what has changed.

use crate::cargo::{self, call, cargo, spelled};
use crate::workspace::{files, metadata, root};
use anyhow::{Context, bail, ensure};
use clap::Args;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The folder of the patches.
const FOLDER: &str = "crates/world/testkit/mutations/";
/// The beginning of the line with the test that must fail.
const TEST: &str = "Test: ";

/// Which mutations, and whether they are tried.
#[derive(Args)]
pub(crate) struct Mutations {
    /// Only check that each patch still applies to the sources.
    #[arg(long)]
    check: bool,
    /// Only these, by the names of their patches.
    names: Vec<String>,
}

/// A mistake, and the test that must notice it.
#[derive(Debug, PartialEq)]
struct Mutation {
    name: String,
    /// Relative to the root.
    path: String,
    /// Variables, and the arguments of `cargo test`.
    test: Vec<String>,
}

/// The end of a test run.
#[derive(Debug, PartialEq)]
enum Outcome {
    Survived,
    /// With the tests that failed.
    Killed(Vec<String>),
    /// The run failed, but no test of it did.
    Broken,
}

/// Tries mutations, and fails if one survives.
pub(crate) fn run(Mutations { check: is_check, names }: &Mutations) -> anyhow::Result<()> {
    let mutations = select(read()?, names)?;
    if *is_check { applied(&mutations) } else { tried(&mutations) }
}

/// Checks that each patch still applies to the sources.
pub(crate) fn check() -> anyhow::Result<()> {
    applied(&read()?)
}

fn applied(mutations: &[Mutation]) -> anyhow::Result<()> {
    for mutation in mutations {
        let apply = call(&mut git(root(), &["apply", "--check", &mutation.path]));
        apply.with_context(|| format!("{} no longer fits the sources: make it anew", mutation.path))?;
    }
    println!("{} mutations apply", mutations.len());
    Ok(())
}

fn tried(mutations: &[Mutation]) -> anyhow::Result<()> {
    let copy = Copy::of_last_commit()?;
    // A test that fails anyway would seem to notice everything.
    for test in mutations.iter().map(|mutation| &mutation.test).collect::<BTreeSet<_>>() {
        println!("==> without a mutation: {}", test.join(" "));
        let (outcome, _) = copy.test(test)?;
        ensure!(outcome == Outcome::Survived, "this test fails without a mutation: {}", test.join(" "));
    }
    let (mut lines, mut survivors) = (Vec::new(), Vec::new());
    for Mutation { name, path, test } in mutations {
        println!("==> {name}");
        copy.reset()?;
        let patch = root().join(path);
        call(git(&copy.tree, &["apply"]).arg(&patch))?;
        let (outcome, times) = copy.test(test).with_context(|| path.clone())?;
        let line = match outcome {
            Outcome::Killed(by) => format!("KILLED    {name} by {} ({times})", by.join(", ")),
            Outcome::Survived => {
                survivors.push(name.as_str());
                format!("SURVIVED  {name} ({times})")
            }
            Outcome::Broken => bail!("{path}: `cargo test {}` ends without a failed test", test.join(" ")),
        };
        println!("{line}");
        lines.push(line);
    }
    copy.reset()?;
    println!("==> {} mutations\n{}", lines.len(), lines.join("\n"));
    ensure!(survivors.is_empty(), "no test notices: {}", survivors.join(", "));
    Ok(())
}

/// All mutations, by name.
fn read() -> anyhow::Result<Vec<Mutation>> {
    let mut mutations = Vec::new();
    for path in files()?.into_iter().filter(|path| path.starts_with(FOLDER) && path.ends_with(".patch")) {
        match std::fs::read_to_string(root().join(&path)) {
            Ok(text) => mutations.push(parse(path, &text)?),
            // Git lists a file that somebody has just deleted.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).context(path),
        }
    }
    Ok(mutations)
}

fn parse(path: String, text: &str) -> anyhow::Result<Mutation> {
    let head: Vec<&str> = text.lines().take_while(|line| !line.starts_with("--- ")).collect();
    let described = head.first().is_some_and(|line| !line.is_empty() && !line.starts_with(TEST));
    ensure!(described, "{path}: the first line tells which mistake it is");
    let test = head.iter().find_map(|line| line.strip_prefix(TEST));
    let test = test.with_context(|| format!("{path}: no line `{TEST}ARGUMENTS` before the patch"))?;
    let test = test.split_whitespace().map(str::to_owned).collect();
    let name = path.trim_start_matches(FOLDER).trim_end_matches(".patch").to_owned();
    Ok(Mutation { name, path, test })
}

/// The mutations with these names, or all.
fn select(mut mutations: Vec<Mutation>, names: &[String]) -> anyhow::Result<Vec<Mutation>> {
    if names.is_empty() {
        return Ok(mutations);
    }
    for name in names {
        let is_known = mutations.iter().any(|mutation| mutation.name == *name);
        ensure!(is_known, "there is no {FOLDER}{name}.patch");
    }
    mutations.retain(|mutation| names.contains(&mutation.name));
    Ok(mutations)
}

fn git(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder);
    command
}

/// A copy of the last commit, and what is compiled from it.
struct Copy {
    tree: PathBuf,
    target: PathBuf,
}

impl Copy {
    /// A clone, because a worktree would show in the user's repository. An earlier one is updated:
    /// cargo takes files that git writes for changed.
    fn of_last_commit() -> anyhow::Result<Self> {
        let folder = metadata("Cargo.toml")?.target_directory.join("mutations");
        let copy = Self { tree: folder.join("tree"), target: folder.join("target") };
        if !copy.tree.join(".git").exists() {
            call(git(root(), &["clone", "--quiet", "--shared", "--no-checkout", "."]).arg(&copy.tree))?;
        }
        call(git(&copy.tree, &["fetch", "--quiet"]).arg(root()).arg("HEAD"))?;
        call(&mut git(&copy.tree, &["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"]))?;
        copy.reset()?;
        Ok(copy)
    }

    /// Undoes a mutation.
    fn reset(&self) -> anyhow::Result<()> {
        call(&mut git(&self.tree, &["reset", "--quiet", "--hard"]))?;
        call(&mut git(&self.tree, &["clean", "--quiet", "--force", "-d"]))
    }

    /// Builds a test, which must succeed, and runs it. Returns the times of both as well.
    fn test(&self, test: &[String]) -> anyhow::Result<(Outcome, String)> {
        let begin = Instant::now();
        call(&mut self.cargo_test(&["--quiet", "--no-run"], test)).context("it does not compile")?;
        let built = begin.elapsed();
        let mut command = self.cargo_test(&[], test);
        let output = command.output().with_context(|| format!("cannot start {}", spelled(&command)))?;
        let times = format!(
            "build {:.0} s, test {:.1} s",
            built.as_secs_f64(),
            (begin.elapsed() - built).as_secs_f64()
        );
        let text = String::from_utf8_lossy(&output.stdout);
        Ok((outcome(output.status.success(), &text), times))
    }

    /// `cargo test` in the copy, always with the same seeds.
    fn cargo_test(&self, options: &[&str], test: &[String]) -> Command {
        let mut command = cargo(&[&["test", "--locked"], options].concat());
        command.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.target);
        command.env(cargo::SEED, "1").env(cargo::SEED_BASE, "1");
        // A mutation changes a line, and its test soon fails: to compile takes longer than to run.
        command.env("CARGO_INCREMENTAL", "1");
        command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.env_remove("MESHRTI_SEED").env_remove("MESHRTI_SEEDS");
        let (variables, arguments) = variables(test);
        command.args(arguments).envs(variables);
        command
    }
}

/// The variables before the arguments of a test, and the arguments.
fn variables(test: &[String]) -> (Vec<(&str, &str)>, &[String]) {
    let is_option = |word: &String| word.starts_with('-');
    let variables = test.iter().take_while(|word| !is_option(word)).map_while(|word| word.split_once('='));
    let variables: Vec<_> = variables.collect();
    let arguments = &test[variables.len()..];
    (variables, arguments)
}

/// Reads the output of `cargo test`.
fn outcome(succeeded: bool, output: &str) -> Outcome {
    if succeeded {
        return Outcome::Survived;
    }
    let of_test = |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    let failed: Vec<String> = output.lines().filter_map(of_test).collect();
    if failed.is_empty() { Outcome::Broken } else { Outcome::Killed(failed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "The floor is lost.\n\nTest: -p rti --lib floor\n--- a/x.rs\n+++ b/x.rs\n";

    fn path(name: &str) -> String {
        format!("{FOLDER}{name}.patch")
    }

    #[test]
    fn a_patch_names_its_mistake_and_its_test() {
        let mutation = parse(path("floor"), PATCH).unwrap();
        assert_eq!((&*mutation.name, mutation.test.join(" ")), ("floor", "-p rti --lib floor".to_owned()));
        let untested = parse(path("x"), "A mistake.\n--- a/x.rs\nTest: -p rti").unwrap_err();
        assert!(untested.to_string().contains("no line `Test: "), "{untested}");
        let nameless = parse(path("x"), "Test: -p rti\n--- a/x.rs").unwrap_err();
        assert!(nameless.to_string().contains("which mistake"), "{nameless}");
    }

    #[test]
    fn a_test_may_need_variables() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let test = words("A=1 B=x=y -p rti --features=a");
        assert_eq!(variables(&test), (vec![("A", "1"), ("B", "x=y")], &test[2..]));
        let test = words("--features=a b=c");
        assert_eq!(variables(&test), (Vec::new(), &test[..]));
    }

    #[test]
    fn unknown_names_are_refused() {
        let all = || vec![parse(path("a"), PATCH).unwrap(), parse(path("b"), PATCH).unwrap()];
        assert_eq!(select(all(), &[]).unwrap(), all());
        assert_eq!(select(all(), &["b".to_owned()]).unwrap(), all()[1..]);
        let error = select(all(), &["c".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("there is no crates/world/testkit/mutations/c.patch"), "{error}");
    }

    #[test]
    fn only_a_failed_test_kills() {
        assert_eq!(outcome(true, "test a ... ok\n"), Outcome::Survived);
        let killed = Outcome::Killed(vec!["b::c".to_owned()]);
        assert_eq!(outcome(false, "test a ... ok\ntest b::c ... FAILED\n"), killed);
        assert_eq!(outcome(false, "test a ... ok\nsignal: 6\n"), Outcome::Broken);
    }
}
