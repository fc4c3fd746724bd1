//! The authorizer of the site: a program that is asked over its standard input, a line of JSON for each
//! question, and answers on its standard output.
//!
//! It is started once, and again when it ends. While it does not run, questions are answered at once: nobody
//! could decide. An answer that makes no sense ends it, since nobody knows what its next one would mean.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use kernel::{AuthorizerRequest, AuthorizerResult};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::config::Authorizer;
use crate::hub::Hub;
use crate::machine::{Input, Machine};

/// The longest line of an answer, in bytes.
const LINE_MAX: usize = 16 << 10;
/// The pause before a program that has ended is started again, and the longest one; each is twice the one
/// before.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Questions without an answer at most, those that the kernel no longer waits for among them.
const OPEN_MAX: usize = 10_000;
/// A program that runs so long is in order: the next pause is the first one again.
const SETTLED: Duration = Duration::from_mins(1);

/// An answer of the program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    number: u64,
    result: Word,
    #[serde(default)]
    reason: String,
}

/// The results of the standard's Authorizer.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Authorized,
    Unauthorized,
    InvalidCredentials,
    Error,
}

impl Answer {
    fn result(self) -> AuthorizerResult {
        let reason = if self.reason.is_empty() { "it gives no reason".to_owned() } else { self.reason };
        match self.result {
            Word::Authorized => AuthorizerResult::Authorized,
            Word::Unauthorized => AuthorizerResult::Unauthorized { reason },
            Word::InvalidCredentials => AuthorizerResult::InvalidCredentials { reason },
            Word::Error => AuthorizerResult::Error { reason },
        }
    }
}

/// Asks the program, and starts it again when it ends. Never ends.
pub(crate) async fn keep_asking<M: Machine>(
    hub: Rc<Hub<M>>,
    program: Authorizer,
    mut requests: UnboundedReceiver<AuthorizerRequest>,
) {
    let mut pause = PAUSE.0;
    loop {
        let began = Instant::now();
        let mut open = BTreeSet::new();
        let why = match start(&program.command) {
            Ok(child) => ask(&hub, child, program.timeout, &mut requests, &mut open).await,
            Err(why) => why,
        };
        if began.elapsed() >= SETTLED {
            pause = PAUSE.0;
        }
        error!(program = program.command.first(), why, again_in = ?pause, "the authorizer of the site does not run: calls are refused");
        open.into_iter().for_each(|number| fail(&hub, number, &why));
        let again = tokio::time::sleep(pause);
        tokio::pin!(again);
        loop {
            tokio::select! {
                () = &mut again => break,
                Some(request) = requests.recv() => fail(&hub, request.number, &why),
            }
        }
        pause = (pause * 2).min(PAUSE.1);
    }
}

fn fail<M: Machine>(hub: &Hub<M>, number: u64, why: &str) {
    let reason = format!("it does not run: {why}");
    hub.handle(Input::AuthorizerResult(number, AuthorizerResult::Error { reason }));
}

fn start(command: &[String]) -> Result<Child, String> {
    let [program, arguments @ ..] = command else { return Err("no program is named".to_owned()) };
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let child = child.map_err(|error| format!("{program}: {error}"))?;
    info!(program, "the authorizer of the site runs");
    Ok(child)
}

/// Asks a running program until it ends. Returns why it did. `open` has the questions without an answer.
async fn ask<M: Machine>(
    hub: &Hub<M>,
    mut child: Child,
    timeout: Duration,
    requests: &mut UnboundedReceiver<AuthorizerRequest>,
    open: &mut BTreeSet<u64>,
) -> String {
    let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
        return "it has no standard input and output".to_owned();
    };
    let (sent, mut taken) = tokio::sync::mpsc::unbounded_channel();
    let why = {
        let writing = write(questions, timeout, requests, sent);
        let reading = read(hub, answers, &mut taken, open);
        tokio::select! {
            why = writing => why,
            why = reading => why,
            _ = child.wait() => None,
        }
    };
    let why = match why {
        Some(why) => why,
        None => match tokio::time::timeout(PAUSE.0, child.wait()).await {
            Ok(Ok(status)) => format!("it has ended ({status})"),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it has closed its standard input or output".to_owned(),
        },
    };
    // Its end may have been faster than the reading of a first answer.
    while let Ok(number) = taken.try_recv() {
        open.insert(number);
    }
    why
}

/// Writes questions until the program can no longer be asked. Returns the reason, or `None` if the program
/// no longer reads.
async fn write(
    mut to: ChildStdin,
    timeout: Duration,
    requests: &mut UnboundedReceiver<AuthorizerRequest>,
    sent: tokio::sync::mpsc::UnboundedSender<u64>,
) -> Option<String> {
    loop {
        let Some(request) = requests.recv().await else { return std::future::pending().await };
        // Noted first: the answer may be faster than the return of the write.
        let _ = sent.send(request.number);
        let mut line = match serde_json::to_vec(&request) {
            Ok(line) => line,
            Err(error) => return Some(error.to_string()),
        };
        line.push(b'\n');
        match tokio::time::timeout(timeout, to.write_all(&line)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return None,
            Err(_) => return Some(format!("it has taken no question for {} s", timeout.as_secs_f64())),
        }
    }
}

/// Reads answers until the program stops writing, which is `None`, or until one cannot be used, which is
/// the reason.
async fn read<M: Machine>(
    hub: &Hub<M>,
    from: ChildStdout,
    sent: &mut UnboundedReceiver<u64>,
    open: &mut BTreeSet<u64>,
) -> Option<String> {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = LINE_MAX as u64 + 1;
        let read = (&mut from).take(limit).read_until(b'\n', &mut line).await;
        while let Ok(number) = sent.try_recv() {
            open.insert(number);
        }
        if open.len() > OPEN_MAX {
            return Some(format!("it leaves over {OPEN_MAX} questions without an answer"));
        }
        match read {
            Ok(0) => return None,
            Ok(_) if line.len() > LINE_MAX => return Some(format!("its answer has over {LINE_MAX} bytes")),
            Ok(_) => {}
            Err(error) => return Some(error.to_string()),
        }
        let answer: Answer = match serde_json::from_slice(&line) {
            Ok(answer) => answer,
            Err(error) => {
                let start = String::from_utf8_lossy(line.get(..80).unwrap_or(&line)).trim_end().to_owned();
                return Some(format!("its answer makes no sense: {error}: {start}"));
            }
        };
        if !open.remove(&answer.number) {
            // A flood of these must not hold up others.
            warn!(number = answer.number, "the authorizer answers a question that is not open");
            tokio::task::yield_now().await;
            continue;
        }
        hub.handle(Input::AuthorizerResult(answer.number, answer.result()));
    }
}
