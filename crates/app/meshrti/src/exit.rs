//! How a subcommand ends.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

use crate::logging;

/// What a subcommand returns.
pub(crate) type Outcome = Result<Status, Failure>;

/// The exit statuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// It was done.
    Done = 0,
    /// The answer is bad news: errors found, server down, regression.
    BadNews = 1,
    /// The command was used wrongly.
    WrongUse = 2,
    /// The user stopped it.
    Interrupted = 130,
}

/// Why a subcommand could not do its work: what and where, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    status: Status,
    what: String,
    hint: Option<String>,
}

impl Failure {
    /// The world is not as it must be: a server is down, a file cannot be read.
    pub(crate) fn bad_news(what: impl fmt::Display) -> Self {
        Self { status: Status::BadNews, what: what.to_string(), hint: None }
    }

    /// The command cannot be understood, in a way that its grammar does not say.
    #[allow(dead_code)] // for subcommands whose arguments have to agree
    pub(crate) fn wrong_use(what: impl fmt::Display) -> Self {
        Self { status: Status::WrongUse, what: what.to_string(), hint: None }
    }

    /// The user stopped it.
    pub(crate) fn interrupted() -> Self {
        Self { status: Status::Interrupted, what: "interrupted".to_owned(), hint: None }
    }

    /// Says what to do.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Tells the user of a failure, and the shell of the outcome.
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
