//! Calls of other programs, and the steps that are one call of cargo.

use crate::workspace::root;
use anyhow::{Context, bail, ensure};
use std::process::Command;

/// The cargo that runs this program, so that one toolchain does everything.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Runs `command` with our own output, and fails when it does.
pub(crate) fn call(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", spelled(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", spelled(command));
    }
    Ok(())
}

/// What `cargo ARGUMENTS` prints.
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
    call(&mut cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
}

pub(crate) fn test() -> anyhow::Result<()> {
    call(&mut cargo(&["test", "--workspace", "--all-targets", "--locked", "--no-fail-fast"]))
}

pub(crate) fn doctest() -> anyhow::Result<()> {
    call(&mut cargo(&["test", "--workspace", "--doc", "--locked", "--no-fail-fast"]))
}

pub(crate) fn doc() -> anyhow::Result<()> {
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    call(command.env("RUSTDOCFLAGS", "-D warnings"))
}
