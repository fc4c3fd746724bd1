//! Runs `meshrti`, and turns what it prints into a block.

use super::list::Measurement;
use super::page::{FENCE, breaks_a_block};
use anyhow::{Context, ensure};
use serde::Deserialize;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Columns of the printed tables.
const COLUMNS: &str = "100";

/// The part of a JSON report that a block repeats.
#[derive(Deserialize)]
struct Report {
    /// RFC 3339, in UTC.
    started: String,
    machine: Machine,
}

/// Unknown properties are null.
#[derive(Deserialize)]
struct Machine {
    cpu: Option<String>,
    cores: u64,
    l3_bytes: Option<u64>,
    os: String,
    kernel: Option<String>,
}

/// The sources of the program.
pub(super) struct Sources {
    pub(super) commit: String,
    pub(super) is_clean: bool,
}

/// Runs a measurement with `program`, and returns its block. The JSON report goes to the file `json`.
pub(super) fn measure(
    program: &Path,
    measurement: &Measurement,
    json: &Path,
    sources: &Sources,
) -> anyhow::Result<String> {
    // A report of an earlier run must not be taken for that of this one.
    match std::fs::remove_file(json) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot remove {}", json.display()));
        }
        _ => {}
    }
    let mut command = Command::new(program);
    command.args(&measurement.arguments).arg("--json").arg(json).env("COLUMNS", COLUMNS);
    let begin = Instant::now();
    let printed = run(&mut command, measurement.limit)?;
    let took = begin.elapsed();
    let report = std::fs::read_to_string(json).context("it wrote no JSON report")?;
    block(measurement, sources, &report, &printed, took)
}

/// The standard output of `command`, which may take no longer than `limit`.
fn run(command: &mut Command, limit: Duration) -> anyhow::Result<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child =
        command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let mut stdout = child.stdout.take().context("its standard output is a pipe")?;
    let (sender, receiver) = mpsc::channel();
    // Detached: it would wait for a grandchild that keeps the pipe open.
    std::thread::spawn(move || {
        let mut octets = Vec::new();
        let read = stdout.read_to_end(&mut octets).map(|_| octets);
        // Nobody receives after the limit.
        let _ = sender.send(read);
    });
    let received = receiver.recv_timeout(limit);
    if matches!(received, Err(RecvTimeoutError::Timeout)) {
        child.kill().context("it exceeds its limit and cannot be ended")?;
        child.wait()?;
        anyhow::bail!("it took longer than its limit of {} s and was ended", limit.as_secs_f64());
    }
    let status = child.wait()?;
    ensure!(status.success(), "it ended with {status}");
    let octets = received.context("its output is lost")?.context("cannot read its output")?;
    String::from_utf8(octets).context("it printed octets that are not UTF-8")
}

fn block(
    measurement: &Measurement,
    sources: &Sources,
    report: &str,
    printed: &str,
    took: Duration,
) -> anyhow::Result<String> {
    let Report { started, machine } = serde_json::from_str(report).context("its JSON report")?;
    let day = started.get(..10).context("its JSON report has a `started` without a day")?;
    let lines: Vec<&str> = printed.trim_matches('\n').lines().map(str::trim_end).collect();
    ensure!(lines.iter().any(|line| !line.is_empty()), "it printed no tables");
    if let Some(line) = lines.iter().find(|line| breaks_a_block(line)) {
        anyhow::bail!("it printed {line:?}, which would end the block");
    }
    let commit = sources.commit.get(..12).unwrap_or(&sources.commit);
    let tree = if sources.is_clean { "clean tree" } else { "uncommitted changes" };
    let (machine, seconds) = (described(&machine), took.as_secs_f64());
    let command = measurement.command();
    let text = lines.join("\n");
    Ok(format!(
        "`{command}`\n{day}, commit `{commit}` ({tree}), in {seconds:.0} s. {machine}.\n\
         {FENCE}text\n{text}\n{FENCE}\n"
    ))
}

fn described(machine: &Machine) -> String {
    let cpu = machine.cpu.as_deref().unwrap_or("unknown processor");
    let cores = match machine.cores {
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    };
    let cache =
        machine.l3_bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("{} MiB of", bytes >> 20));
    let system = if machine.os == "linux" { "Linux" } else { &machine.os };
    let kernel = machine.kernel.as_deref().unwrap_or("of unknown version");
    format!("{cpu}, {cores}, {cache} third-level cache, {system} {kernel}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"started": "2026-11-28T23:59:59.999Z", "machine": {"os": "linux", "cores": 2,
        "cpu": "Xeon", "l3_bytes": 110100480, "kernel": "6.18"}}"#;
    const UNKNOWN: &str = r#"{"started": "2026-11-28T00:00:00Z", "machine": {"os": "plan9", "cores": 1,
        "cpu": null, "l3_bytes": null, "kernel": null}}"#;

    fn block_of(report: &str, printed: &str, is_clean: bool) -> anyhow::Result<String> {
        let measurement = Measurement {
            name: "ping".to_owned(),
            arguments: ["bench", "ping"].map(str::to_owned).to_vec(),
            limit: Duration::from_secs(1),
        };
        let sources = Sources { commit: "0123456789abcdef".to_owned(), is_clean };
        block(&measurement, &sources, report, printed, Duration::from_millis(12_400))
    }

    #[test]
    fn a_block_tells_command_date_commit_machine_and_tables() {
        let found = block_of(REPORT, "\n kind  p50 \nping    1\n\n", true).unwrap();
        let expected = "`meshrti bench ping`\n2026-11-28, commit `0123456789ab` (clean tree), in 12 s. Xeon, 2 cores, \
                        105 MiB of third-level cache, Linux 6.18.\n```text\n kind  p50\nping    1\n```\n";
        assert_eq!(found, expected);
        let found = block_of(UNKNOWN, "x", false).unwrap();
        let told = "(uncommitted changes), in 12 s. unknown processor, 1 core, unknown third-level cache, plan9 of unknown";
        assert!(found.contains(told), "{found}");
    }

    #[test]
    fn output_that_makes_no_block_is_refused() {
        for (report, printed, told) in [
            (REPORT, " \n", "it printed no tables"),
            (REPORT, "a\n```\n", "it printed \"```\", which would end the block"),
            (REPORT, "<!-- end ping -->", "which would end the block"),
            ("{}", "a", "its JSON report: missing field `started`"),
            (&REPORT.replace("2026-11-28T23:59:59.999Z", "x"), "a", "a `started` without a day"),
        ] {
            let error = format!("{:#}", block_of(report, printed, true).unwrap_err());
            assert!(error.contains(told), "{error}");
        }
    }

    fn sh(script: &str, limit: Duration) -> Result<String, String> {
        run(Command::new("sh").args(["-c", script]), limit).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_command_that_fails_or_exceeds_its_limit_is_an_error() {
        let minute = Duration::from_secs(60);
        assert_eq!(sh("echo a; echo b >&2", minute).unwrap(), "a\n");
        assert_eq!(sh("echo a; exit 3", minute).unwrap_err(), "it ended with exit status: 3");
        assert_eq!(
            sh("printf '\\377'", minute).unwrap_err().split(':').next(),
            Some("it printed octets that are not UTF-8")
        );
        let error = sh("exec sleep 1000", Duration::from_millis(20)).unwrap_err();
        assert_eq!(error, "it took longer than its limit of 0.02 s and was ended");
        let error = run(&mut Command::new("no-such-program"), minute).unwrap_err();
        assert!(error.to_string().contains("cannot start no-such-program"), "{error}");
    }
}
