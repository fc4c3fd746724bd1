//! The gate: all steps in order, cheap ones first, each with its time.

use crate::{cargo, deny, fuzz, generate, layers, mpi, mutations, pictures, ratchets, tidy, workspace};
use anyhow::{Context, bail};
use std::process::Command;
use std::time::{Duration, Instant};

type Step = (&'static str, fn() -> anyhow::Result<()>);

const STEPS: [Step; 15] = [
    ("fmt", cargo::fmt),
    ("layers", layers::run),
    ("tidy", tidy::run),
    ("ratchets", ratchets::run),
    ("deny", deny::run),
    ("gen --check", generate::check),
    ("pictures", pictures::check),
    ("mutations --check", mutations::check),
    ("clippy", cargo::clippy),
    ("clippy without mpi", mpi::without),
    ("doc", cargo::doc),
    ("test", cargo::test),
    ("doctest", cargo::doctest),
    ("fuzz-replay", fuzz::replay),
    ("unchanged", unchanged),
];

/// Runs every step. Stops at the first one that fails, unless `keep_going`.
pub(crate) fn run(keep_going: bool) -> anyhow::Result<()> {
    run_steps(&STEPS, keep_going)
}

fn run_steps(steps: &[Step], keep_going: bool) -> anyhow::Result<()> {
    let start = Instant::now();
    let (mut passed, mut failed) = (0, Vec::new());
    for &(name, step) in steps {
        println!("==> {name}");
        let begin = Instant::now();
        match step() {
            Ok(()) => {
                println!("==> {name}: ok in {}", seconds(begin.elapsed()));
                passed += 1;
            }
            Err(error) => {
                eprintln!("==> {name}: FAILED in {}: {error:#}", seconds(begin.elapsed()));
                failed.push(name);
                if !keep_going {
                    break;
                }
            }
        }
    }
    let skipped = steps.len() - passed - failed.len();
    println!(
        "==> ci: {passed} passed, {} failed, {skipped} not run, in {}",
        failed.len(),
        seconds(start.elapsed())
    );
    if !failed.is_empty() {
        bail!("the gate is closed by: {} (each can be repeated: `cargo xtask STEP`)", failed.join(", "));
    }
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// In a fresh clone (`CI` is set) no tracked file may differ after the steps: this reveals a stale
/// Cargo.lock, or a test that writes into the sources. Elsewhere local edits are expected.
fn unchanged() -> anyhow::Result<()> {
    if std::env::var_os("CI").is_none() {
        println!("skipped: only a fresh clone (CI set) has nothing to differ from");
        return Ok(());
    }
    let mut command = Command::new("git");
    command.args(["diff", "--stat", "--exit-code"]).current_dir(workspace::root());
    cargo::call(&mut command).context("the steps changed tracked files")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn pass() -> anyhow::Result<()> {
        Ok(())
    }

    fn fail() -> anyhow::Result<()> {
        bail!("made to fail")
    }

    #[test]
    fn a_failing_step_closes_the_gate_and_is_named() {
        let error = run_steps(&[("good", pass), ("bad", fail)], false).unwrap_err();
        assert!(error.to_string().contains("closed by: bad "), "{error}");
        assert!(run_steps(&[("good", pass)], false).is_ok());
    }

    #[test]
    fn steps_after_a_failure_run_only_when_asked() {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        fn count() -> anyhow::Result<()> {
            RUNS.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        let steps: [Step; 2] = [("bad", fail), ("count", count)];
        assert!(run_steps(&steps, false).is_err());
        assert_eq!(RUNS.load(Ordering::Relaxed), 0);
        assert!(run_steps(&steps, true).is_err());
        assert_eq!(RUNS.load(Ordering::Relaxed), 1);
    }
}
