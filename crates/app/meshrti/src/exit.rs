//! Outcomes of subcommands and their exit statuses.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

use crate::logging;

/// The result of a subcommand.
pub(crate) type Outcome = Result<Status, Failure>;

/// The exit statuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// The subcommand did its work.
    Done = 0,
    /// The answer is bad news: errors found, server down, regression.
    BadNews = 1,
    /// The command was used wrongly.
    WrongUse = 2,
    /// The user stopped it.
    Interrupted = 130,
}

/// The reason why a subcommand could not do its work, with its place and a remedy.
#[derive(Debug)]
pub(crate) struct Failure {
    status: Status,
    what: String,
    hint: Option<String>,
}

impl Failure {
    /// A condition outside the program does not hold: a server is down, a file cannot be read.
    pub(crate) fn bad_news(what: impl fmt::Display) -> Self {
        Self { status: Status::BadNews, what: what.to_string(), hint: None }
    }

    /// The command line is wrong in a way that its grammar cannot express.
    #[allow(dead_code)] // for subcommands whose arguments have to agree
    pub(crate) fn wrong_use(what: impl fmt::Display) -> Self {
        Self { status: Status::WrongUse, what: what.to_string(), hint: None }
    }

    /// The user stopped it.
    pub(crate) fn interrupted() -> Self {
        Self { status: Status::Interrupted, what: "interrupted".to_owned(), hint: None }
    }

    /// Adds a remedy.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Reports a failure to the user, and the outcome to the shell.
pub(crate) fn report(outcome: Outcome) -> ExitCode {
    let (status, text) = match outcome {
        Ok(status) => (status, String::new()),
        Err(Failure { status, what, hint }) => {
            let hint = hint.map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
            (status, format!("error: {what}\n{hint}"))
        }
    };
    logging::finish(&text);
    ExitCode::from(status as u8)
}

/// Prints a line for the user on the standard output; a closed pipe is no reason to fail.
pub(crate) fn say(line: impl fmt::Display) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Runs `work` on a runtime of one thread until it is done or the user presses Ctrl-C.
pub(crate) fn block_on(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::bad_news(format_args!("the system gives no event queue: {e}")))?;
    runtime.block_on(async {
        tokio::select! {
            outcome = work => outcome,
            _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
        }
    })
}
