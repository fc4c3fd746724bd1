//! What needs MPI: the feature `mpi`, its lints, and its tests under `mpirun -n 4`.
//!
//! The features are named for the whole workspace, so that all that does not depend on them is what the other steps
//! have built.

use crate::cargo::{call, cargo};
use anyhow::bail;
use std::process::Command;

const FEATURES: &str = "--features=meshrti/mpi,meshrti-link-mpi/mpi";

/// Set to `required` where the step must not be skipped: where the gate has installed MPI.
const REQUIRED: &str = "MESHRTI_MPI";

/// Lints and tests with MPI. Without MPI on this machine that is skipped, in clear words, unless it is required.
pub(crate) fn run() -> anyhow::Result<()> {
    let missing: Vec<&str> = ["mpicc", "mpirun"].into_iter().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        let what = format!(
            "{} not found (Debian: apt-get install openmpi-bin libopenmpi-dev libclang-dev)",
            missing.join(", ")
        );
        if std::env::var(REQUIRED).is_ok_and(|value| value == "required") {
            bail!("MPI is required, and missing: {what}");
        }
        println!("SKIPPED, links over MPI are NOT tested: {what}");
        return Ok(());
    }
    call(&mut cargo(&[
        "clippy",
        "--package=meshrti",
        "--package=meshrti-link-mpi",
        "--all-targets",
        "--locked",
        FEATURES,
        "--",
        "-D",
        "warnings",
    ]))?;
    call(&mut cargo(&["test", "--workspace", "--locked", FEATURES, "--test=ranks", "--test=e2e", "mpi::"]))
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
}
