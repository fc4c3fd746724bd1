//! Outcomes of subcommands and their exit statuses.

use std::fmt;
use std::io::Write as _;

/// The result of a subcommand.
pub type Outcome = Result<Status, Failure>;

/// The exit statuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
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
pub struct Failure {
    status: Status,
    what: String,
    hint: Option<String>,
}

impl Failure {
    /// A condition outside the program does not hold: a server is down, a file cannot be read.
    pub fn bad_news(what: impl fmt::Display) -> Self {
        Self { status: Status::BadNews, what: what.to_string(), hint: None }
    }

    /// The command line is wrong in a way that its grammar cannot express.
    pub fn wrong_use(what: impl fmt::Display) -> Self {
        Self { status: Status::WrongUse, what: what.to_string(), hint: None }
    }

    /// The user stopped it.
    pub fn interrupted() -> Self {
        Self { status: Status::Interrupted, what: "interrupted".to_owned(), hint: None }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The failure as the JSON report of a command that has no other.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "error": { "message": self.what, "hint": self.hint, "exit_status": self.status as u8 },
        })
    }

    /// The exit status.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }
}

/// The text for the standard error: what went wrong, and the remedy if there is one.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.what)?;
        self.hint.iter().try_for_each(|hint| writeln!(f, "hint: {hint}"))
    }
}

/// Prints a line for the user on the standard output; a closed pipe is no reason to fail.
pub fn say(line: impl fmt::Display) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Runs `work` on a runtime of one thread until it is done or the user presses Ctrl-C.
///
/// # Errors
/// The failure of `work`, Ctrl-C, or a system that cannot create the runtime.
pub fn block_on(work: impl Future<Output = Outcome>) -> Outcome {
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
