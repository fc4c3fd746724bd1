//! The time that the tests of each crate take, read from the output of `cargo test`.

use crate::cargo;
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Command;

/// Crates that are named, slowest first.
const NAMED: usize = 10;

/// Seconds by crate. Cargo runs the targets of one package after another, its own unit tests first,
/// and names the crate with these alone.
#[derive(Debug, Default, PartialEq)]
struct Times {
    of: BTreeMap<String, f64>,
    present: String,
}

impl Times {
    fn take(&mut self, line: &str) {
        if let Some((_, program)) = line.split_once("Running unittests ") {
            let file = program.rsplit('/').next().unwrap_or_default();
            self.present = file.rsplit_once('-').map_or(file, |(name, _)| name).to_owned();
        } else if line.starts_with("test result: ")
            && let Some((_, time)) = line.rsplit_once("finished in ")
            && let Ok(seconds) = time.trim_end_matches('s').parse::<f64>()
        {
            *self.of.entry(self.present.clone()).or_default() += seconds;
        }
    }

    /// The slowest crates, one a line.
    fn describe(&self) -> String {
        let mut all: Vec<_> = self.of.iter().collect();
        all.sort_by(|a, b| b.1.total_cmp(a.1));
        let sum: f64 = self.of.values().sum();
        let named = all.into_iter().take(NAMED).map(|(name, seconds)| format!("  {seconds:7.1} s  {name}"));
        let head = format!("tests took {sum:.1} s; by crate:");
        std::iter::once(head).chain(named).collect::<Vec<_>>().join("\n")
    }
}

/// Runs `cargo test`, shows its output, and then the time of each crate.
///
/// # Errors
/// A test fails, or its output cannot be read.
pub(crate) fn call(command: &mut Command) -> anyhow::Result<()> {
    // One pipe for both: results go to one output, and the names of what runs to the other.
    let (reader, writer) = std::io::pipe().context("a pipe for the output")?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let name = cargo::spelled(command);
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    // The command holds ends of the pipe, and reading would not end before they are closed.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let (mut times, mut out) = (Times::default(), std::io::stdout());
    let (mut line, mut reader) = (Vec::new(), BufReader::new(reader));
    while reader.read_until(b'\n', &mut line)? > 0 {
        out.write_all(&line)?;
        times.take(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    println!("{}", times.describe());
    let status = child.wait()?;
    if !status.success() {
        bail!("{name} ended with {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integration_tests_count_for_the_crate_before_them() {
        let output = "\
     Running unittests src/lib.rs (target/debug/deps/kernel-0123)
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.25s
     Running tests/memory.rs (target/debug/deps/memory-4567)
test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s
     Running unittests src/main.rs (target/debug/deps/link_mpi-89ab)
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 3.00s";
        let mut times = Times::default();
        output.lines().for_each(|line| times.take(line));
        assert_eq!(times.of, BTreeMap::from([("kernel".to_owned(), 1.75), ("link_mpi".to_owned(), 3.0)]));
        assert_eq!(
            times.describe(),
            "tests took 4.8 s; by crate:\n      3.0 s  link_mpi\n      1.8 s  kernel"
        );
    }

    #[test]
    fn a_failed_command_fails_and_its_output_is_read_to_the_end() {
        call(Command::new("sh").args(["-c", "echo out; echo err >&2"])).unwrap();
        let error = call(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert!(error.to_string().contains("exit status: 3"), "{error}");
    }
}
