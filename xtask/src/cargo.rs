//! Calls of other programs, and the steps that are one call of cargo.

use crate::mpi;
use crate::ratchets::findings;
use crate::test_times;
use crate::workspace::root;
use anyhow::{Context, bail, ensure};
use std::process::Command;

/// The cargo that runs this program, so that one toolchain is used for everything.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    // Build scripts that look at these (that of `ring` does) would run again, and all that depends on
    // them would be built again, whenever a build with and one without `cargo xtask` take turns.
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| is_of_this_package(&name.to_string_lossy())).for_each(|name| {
        command.env_remove(name);
    });
    command
}

/// Whether `cargo run` sets a variable to describe the package of the program that it runs.
fn is_of_this_package(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Runs `command` with our own output, and fails if the command does.
pub(crate) fn call(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", spelled(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", spelled(command));
    }
    Ok(())
}

/// The output of `cargo ARGUMENTS`.
pub(crate) fn output(arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = cargo(arguments);
    let output = command.output().with_context(|| format!("cannot start {}", spelled(&command)))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}", spelled(&command), complaint.trim());
    String::from_utf8(output.stdout).context("cargo prints UTF-8")
}

/// The call as one would type it.
pub(crate) fn spelled(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn fmt() -> anyhow::Result<()> {
    call(&mut cargo(&["fmt", "--all", "--check"]))
}

pub(crate) fn clippy() -> anyhow::Result<()> {
    let features = mpi::features()?;
    findings::clippy(&[&["clippy", "--workspace", "--all-targets", "--locked"], &features[..]].concat())?;
    // The program of `cargo demo`, without benchmarks, simulators and studies.
    findings::clippy(&["clippy", "--package=meshrti", "--no-default-features", "--locked"])
}

/// The variable with the seed of proptest's cases.
pub(crate) const SEED: &str = "PROPTEST_RNG_SEED";
/// The variable with the base of the simulated runs' fresh seeds.
pub(crate) const SEED_BASE: &str = "MESHRTI_SEED_BASE";

/// The tests as the gate runs them. The property tests draw the same cases on every machine;
/// [`explore`] draws new ones. The simulated runs draw fresh seeds in addition to fixed ones, since
/// these find faults that no fixed set does.
pub(crate) fn test() -> anyhow::Result<()> {
    test_with(&std::env::var(SEED).unwrap_or_else(|_| "1".to_owned()))
}

/// Runs the tests `rounds` times, each time with new property cases, and prints the seed that
/// repeats each round.
pub(crate) fn explore(rounds: u32) -> anyhow::Result<()> {
    for round in 1..=rounds {
        let seed = number_of_now()?;
        println!("==> round {round} of {rounds}: {SEED}={seed} cargo xtask test");
        test_with(&seed.to_string()).with_context(|| format!("{SEED}={seed} repeats it"))?;
    }
    Ok(())
}

/// A different number each time.
fn number_of_now() -> anyhow::Result<u64> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    Ok(now.as_nanos() as u64)
}

fn test_with(seed: &str) -> anyhow::Result<()> {
    let features = mpi::features()?;
    let base = match std::env::var(SEED_BASE) {
        Ok(base) => base,
        Err(_) => format!("{:#x}", number_of_now()? >> 10 & 0xffff_ffff),
    };
    println!("fresh seeds of the simulated runs: {SEED_BASE}={base}");
    // Not `--all-targets`: the fuzz targets are no tests, and their own `main` would explore. All
    // packages are named in each step that builds programs, so that nothing is built again with
    // other features.
    let of_all = ["test", "--workspace", "--tests", "--examples", "--benches", "--locked", "--no-fail-fast"];
    let arguments = [&of_all[..], &features];
    test_times::call(cargo(&arguments.concat()).env(SEED, seed).env(SEED_BASE, base))
}

pub(crate) fn doctest() -> anyhow::Result<()> {
    call(&mut cargo(&["test", "--workspace", "--doc", "--locked", "--no-fail-fast"]))
}

pub(crate) fn doc() -> anyhow::Result<()> {
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    call(command.env("RUSTDOCFLAGS", "-D warnings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_gets_no_description_of_the_chores() {
        let removed: Vec<_> = cargo(&["build"])
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect();
        // `cargo test` sets them as `cargo run` does.
        for name in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION", "CARGO_MANIFEST_DIR"] {
            assert!(removed.iter().any(|removed| removed == name), "{name}: {removed:?}");
        }
        assert!(!is_of_this_package("CARGO_TARGET_DIR") && !is_of_this_package("CARGO"));
    }
}
