//! Parts of a test that need a process of their own: this test program, started again.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use super::server;

/// The environment variable with the task of a helper.
const ROLE: &str = "MESHRTI_E2E_ROLE";

/// Says something to whoever started this process.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "helper: {line}").expect("the test listens");
    out.flush().expect("the test listens");
}

/// The role of this process and its words; none in the test itself.
pub(crate) fn role() -> Option<Vec<String>> {
    std::env::var(ROLE).ok().map(|role| role.split('\t').map(str::to_owned).collect())
}

/// This program again, in a role.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a program knows itself"));
    command.args(["--exact", "processes::helper", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, words.join("\t"));
    command
}

/// A running helper, killed when this is dropped.
pub(crate) struct Helper {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    stdin: Option<ChildStdin>,
}

impl Helper {
    /// Starts this program again, in a role.
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut child =
            command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the helper starts");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let stdin = child.stdin.take();
        Self { child, lines, stdin }
    }

    /// Waits until it has said `line`.
    pub(crate) fn heard(&mut self, line: &str) {
        let wanted = format!("helper: {line}");
        for said in self.lines.by_ref() {
            // The test harness writes `test … ... ` before the first line.
            if said.expect("it speaks UTF-8").ends_with(&wanted) {
                return;
            }
        }
        panic!("the helper ended without saying `{line}`");
    }

    /// Lets it go: its standard input ends.
    pub(crate) fn release(&mut self) {
        drop(self.stdin.take());
    }

    /// Ends it as the system would: without any chance to say goodbye.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is our child");
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        server::wait(&mut self.child)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
