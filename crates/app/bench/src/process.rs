//! Processes of a benchmark: started from its own program, controlled by lines of text, and ended
//! with it.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::cores::OnCore;
use crate::error::BenchError;

/// Longest silence of a process, or of the server, that may still mean work.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How the program starts itself in a role (`role.rs`).
#[derive(Clone, Debug)]
pub struct Launcher {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// The core of the processes; `None`: any core.
    core: Option<usize>,
}

impl Launcher {
    /// `program` with `arguments`, followed by the words of a role, must call
    /// [`play`](crate::play()).
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { program: program.into(), arguments, core: None }
    }

    /// The same, but processes are pinned to one core: a number among those that this process may
    /// use, counted modulo their number. `None`: any core.
    pub(crate) fn on_core(&self, core: Option<usize>) -> Self {
        Self { core, ..self.clone() }
    }

    /// The same, but inside a network namespace of this machine (`ip netns`), which takes
    /// administrator rights.
    pub(crate) fn inside(&self, namespace: &str) -> Self {
        let mut arguments: Vec<OsString> = ["netns", "exec", namespace].map(OsString::from).to_vec();
        arguments.push(self.program.clone().into_os_string());
        arguments.extend(self.arguments.iter().cloned());
        Self { program: "ip".into(), arguments, core: self.core }
    }

    /// Starts the role of `words` and waits until it is ready. Returns the words after `ready` too.
    pub(crate) async fn start(&self, words: &[String]) -> Result<(Process, Vec<String>), BenchError> {
        self.start_with(words, Stdio::inherit()).await
    }

    /// The same for a process whose log is appended to a file.
    pub(crate) async fn start_logging(
        &self,
        words: &[String],
        log: &Path,
    ) -> Result<(Process, Vec<String>), BenchError> {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(log);
        let file = file.map_err(BenchError::system(log.display().to_string()))?;
        self.start_with(words, file.into()).await
    }

    async fn start_with(
        &self,
        words: &[String],
        stderr: Stdio,
    ) -> Result<(Process, Vec<String>), BenchError> {
        let role = words.first().cloned().unwrap_or_default();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).kill_on_drop(true);
        let spawned = {
            // A process inherits the cores of the thread that starts it.
            let _here = self.core.and_then(OnCore::new);
            command.spawn()
        };
        let mut child = spawned
            .map_err(BenchError::system(format!("cannot start {} as `{role}`", self.program.display())))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(BenchError::Process { role, reason: "has no pipes".into() });
        };
        let mut process = Process { role, child, stdin, lines: BufReader::new(stdout).lines() };
        let ready = process.hear("ready").await?;
        Ok((process, ready))
    }
}

/// A running role. It is killed, by its own process id, when this is dropped, and ends by itself
/// when this process dies.
#[derive(Debug)]
pub(crate) struct Process {
    role: String,
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// The process id; 0 when it is gone.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().unwrap_or(0)
    }

    /// Kills it (SIGKILL on Unix) and waits until it is gone.
    pub(crate) async fn kill(mut self) -> Result<(), BenchError> {
        self.child
            .kill()
            .await
            .map_err(BenchError::system(format!("cannot kill the process `{}`", self.role)))
    }

    /// Sends an order.
    pub(crate) async fn send_line(&mut self, order: &str) -> Result<(), BenchError> {
        self.stdin
            .write_all(format!("{order}\n").as_bytes())
            .await
            .map_err(BenchError::system(format!("the process `{}` takes no orders", self.role)))
    }

    /// Waits for a line that begins with `word`, and returns the words after it.
    pub(crate) async fn hear(&mut self, word: &str) -> Result<Vec<String>, BenchError> {
        self.hear_within(word, PATIENCE).await
    }

    /// The same, for an answer that may take longer.
    pub(crate) async fn hear_within(
        &mut self,
        word: &str,
        patience: Duration,
    ) -> Result<Vec<String>, BenchError> {
        let line = tokio::time::timeout(patience, self.lines.next_line()).await.map_err(|_| {
            let reason = format!("`{word}` of the process `{}`", self.role);
            BenchError::Stalled { reason, seconds: patience.as_secs() }
        })?;
        let line = line.map_err(BenchError::system(format!("the process `{}`", self.role)))?;
        let fail = |reason: String| BenchError::Process { role: self.role.clone(), reason };
        let line = line.ok_or_else(|| fail("ended before its work was done".into()))?;
        let mut words = line.split_whitespace().map(str::to_owned);
        if words.next().as_deref() != Some(word) {
            let unexpected = || format!("said `{line}` where `{word}` was expected");
            return Err(fail(failure(&line).unwrap_or_else(unexpected)));
        }
        Ok(words.collect())
    }

    /// Waits until it says something unasked or ends. Returns that as the reason of its failure.
    pub(crate) async fn ended(&mut self) -> BenchError {
        let reason = match self.lines.next_line().await {
            Ok(Some(line)) => failure(&line).unwrap_or(line),
            Ok(None) => "ended before its work was done".to_owned(),
            Err(error) => error.to_string(),
        };
        BenchError::Process { role: self.role.clone(), reason }
    }

    /// Waits for a line of `word` and one number.
    pub(crate) async fn hear_number(&mut self, word: &str) -> Result<u64, BenchError> {
        let words = self.hear(word).await?;
        words.first().and_then(|text| text.parse().ok()).ok_or_else(|| BenchError::Process {
            role: self.role.clone(),
            reason: format!("said `{word}` without a number"),
        })
    }
}

/// The reason in a line of a process that cannot go on.
fn failure(line: &str) -> Option<String> {
    line.strip_prefix("failed ").map(|why| format!("failed: {why}"))
}

/// Sends a line to the process that started this one. A closed pipe means the end of the role,
/// which [`orders`] notices.
pub(crate) fn print_line(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// The orders of the process that started this one. When that process closes the pipe or dies, this
/// process ends.
pub(crate) fn orders() -> UnboundedReceiver<Vec<String>> {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let Ok(line) = line else { break };
            if sender.send(line.split_whitespace().map(str::to_owned).collect()).is_err() {
                break;
            }
        }
        std::process::exit(0);
    });
    receiver
}
