//! Steps that need MPI. Lints and tests enable the feature `mpi` where there is an MPI library, so
//! that nothing is built twice; where there is none, they say so.

use crate::cargo::{call, cargo};
use crate::ratchets::findings;
use anyhow::bail;
use std::process::Command;

const FEATURES: &str = "--features=meshrti/mpi,meshrti-link-mpi/mpi";

/// `required`: the step fails without MPI, as in the gate, which installs it. `skip`: the step does
/// nothing.
const REQUIREMENT: &str = "MESHRTI_MPI";

/// Additional arguments of the workspace's `cargo clippy` and `cargo test`: the features, where
/// there is MPI.
///
/// # Errors
/// MPI is required and missing, or the variable has an unknown value.
pub(crate) fn features() -> anyhow::Result<Vec<&'static str>> {
    let requirement = std::env::var(REQUIREMENT).unwrap_or_default();
    Ok(match why_not(&requirement)? {
        None => vec![FEATURES],
        Some(why) => {
            println!("SKIPPED, links over MPI are NOT tested: {why}");
            Vec::new()
        }
    })
}

/// Runs the tests with MPI alone, for work on them.
pub(crate) fn run() -> anyhow::Result<()> {
    let features = features()?;
    if features.is_empty() {
        return Ok(());
    }
    let arguments =
        [&["test", "--workspace", "--locked"], &features[..], &["--test=ranks", "--test=e2e", "mpi::"]];
    call(&mut cargo(&arguments.concat()))
}

/// Lints the code without MPI, which is what most users build. Where there is no MPI, the previous
/// step has already done so.
pub(crate) fn without() -> anyhow::Result<()> {
    if features()?.is_empty() {
        return Ok(());
    }
    findings::clippy(&["clippy", "--workspace", "--all-targets", "--locked"])
}

/// The reason why there is nothing to do.
///
/// # Errors
/// MPI is required and missing, or the variable has an unknown value.
fn why_not(requirement: &str) -> anyhow::Result<Option<String>> {
    if !["", "required", "skip"].contains(&requirement) {
        bail!("{REQUIREMENT} is `{requirement}`; it may be `required` or `skip`");
    }
    if requirement == "skip" {
        return Ok(Some(format!("{REQUIREMENT} is `skip`")));
    }
    let missing: Vec<&str> = ["mpicc", "mpirun"].into_iter().filter(|program| !is_there(program)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let reason = format!(
        "{} not found (Debian: apt-get install openmpi-bin libopenmpi-dev libclang-dev)",
        missing.join(", ")
    );
    if requirement == "required" {
        bail!("MPI is required, and missing: {reason}");
    }
    Ok(Some(reason))
}

/// Whether a program can be started.
fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found() {
        assert!(is_there("cargo"));
        assert!(!is_there("no-such-program-of-mpi"));
    }

    #[test]
    fn wishes_are_heard() {
        assert!(why_not("skip").unwrap().unwrap().contains("MESHRTI_MPI"));
        assert!(why_not("requird").unwrap_err().to_string().contains("`required` or `skip`"));
        let is_here = is_there("mpicc") && is_there("mpirun");
        assert_eq!(why_not("required").is_ok(), is_here);
        assert_eq!(why_not("").unwrap().is_none(), is_here);
    }
}
