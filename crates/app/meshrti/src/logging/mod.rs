//! Logs on the standard error.
//!
//! Logging never blocks: a line is formatted where it is logged and written by a separate thread
//! ([`queue`]), and the number of lines of one cause is limited ([`limit`]). A panic ends the
//! process ([`panics`]).

mod limit;
mod panics;
mod queue;

use std::io::IsTerminal as _;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clap::ArgAction;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::limit::RateLimit;
use self::queue::{LogQueue, Writer};
use console::exit::Failure;

/// The environment variables that set the filter. The first one that is set counts.
const VARIABLES: [&str; 2] = ["MESHRTI_LOG", "RUST_LOG"];

/// The directives that are levels, without a module.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Longest wait at the end of the process for the last lines to be written. With a stalled reader
/// the process waits this long.
const FLUSH_MAX: Duration = Duration::from_secs(1);

/// The queue of this process, once logging has begun.
static QUEUE: OnceLock<Arc<LogQueue>> = OnceLock::new();

/// How much is logged.
#[derive(clap::Args)]
pub(crate) struct Verbosity {
    /// Log more; twice for everything
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 100)]
    verbose: u8,
    /// Log errors only
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 101)]
    quiet: bool,
}

impl Verbosity {
    /// Whether the user wants as little output as possible.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.quiet
    }
}

/// Starts logging, at level `default` if there are no flags. The environment variables
/// `MESHRTI_LOG` and `RUST_LOG` (such as `node=debug,kernel=trace`) overrule the flags.
///
/// # Errors
/// A variable does not contain a valid filter, or the system cannot create a thread.
pub(crate) fn init(verbosity: &Verbosity, default: &'static str) -> Result<(), Failure> {
    let level = match (verbosity.quiet, verbosity.verbose) {
        (true, _) => "error",
        (false, 0) => default,
        (false, 1) => "debug",
        (false, _) => "trace",
    };
    let filter = filter(|name| std::env::var(name).ok(), level)?;
    let queue = Arc::new(LogQueue::default());
    let limit = RateLimit::new(Arc::clone(&queue));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(Lines(Arc::clone(&queue)))
        .with_ansi(has_colors())
        // The layer would write its own failures to the standard error, and panic if that fails.
        .log_internal_errors(false);
    tracing_subscriber::registry().with(filter).with(limit.clone()).with(lines).init();
    let writer = Writer::new(Arc::clone(&queue), std::io::stderr(), limit);
    std::thread::Builder::new().name("log".to_owned()).spawn(move || writer.run()).map_err(|error| {
        Failure::bad_news(format_args!("the system gives no thread for the log: {error}"))
    })?;
    drop(QUEUE.set(queue));
    panics::end_the_process();
    Ok(())
}

/// Writes `text` after all logged lines, and waits until it is written, or for a second. For the
/// end of the process.
pub(crate) fn finish(text: &str) {
    match QUEUE.get() {
        Some(queue) => {
            queue.push_last(text.as_bytes());
            queue.flush(Instant::now() + FLUSH_MAX);
        }
        None => {
            use std::io::Write as _;
            // A failure is ignored: with the standard error closed, no output can report it.
            let _ = std::io::stderr().lock().write_all(text.as_bytes());
        }
    }
}

/// Whether lines have colors: on terminals, unless `NO_COLOR` is set (<https://no-color.org>).
fn has_colors() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The filter of the first variable that is set, or of `level`.
fn filter(variable: impl Fn(&str) -> Option<String>, level: &str) -> Result<EnvFilter, Failure> {
    let set = |name| Some((name, variable(name).filter(|text| !text.trim().is_empty())?));
    let Some((name, text)) = VARIABLES.into_iter().find_map(set) else { return Ok(EnvFilter::new(level)) };
    let wrong = |why: String| {
        Failure::wrong_use(format_args!("{name}: {why}, in `{text}`"))
            .hint(format!("{name}=info, or for single modules {name}=warn,node=debug,kernel=trace"))
    };
    for directive in text.split(',').map(str::trim).filter(|directive| !directive.is_empty()) {
        // The library interprets a word that is not a level as a module, so that a misspelt level
        // would silence everything.
        let is_level = LEVELS.iter().any(|level| level.eq_ignore_ascii_case(directive));
        if !is_level && !directive.contains(['=', '[']) {
            return Err(wrong(format!(
                "`{directive}` is no level (expected {}), and a module needs one (`{directive}=debug`)",
                LEVELS.join(", ")
            )));
        }
    }
    EnvFilter::builder().parse(&text).map_err(|error| wrong(error.to_string()))
}

/// The destination of formatted lines.
struct Lines(Arc<LogQueue>);

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Lines {
    type Writer = &'a LogQueue;

    fn make_writer(&'a self) -> Self::Writer {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(variables: &[(&str, &str)]) -> Result<String, String> {
        let value = |name: &str| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
        };
        filter(value, "info").map(|filter| filter.to_string()).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn the_first_variable_that_is_set_overrules_the_level() {
        assert_eq!(filtered(&[]).unwrap(), "info");
        assert_eq!(filtered(&[("RUST_LOG", "debug")]).unwrap(), "debug");
        assert_eq!(filtered(&[("RUST_LOG", "debug"), ("MESHRTI_LOG", "warn")]).unwrap(), "warn");
        assert_eq!(filtered(&[("RUST_LOG", "debug"), ("MESHRTI_LOG", " ")]).unwrap(), "debug");
        assert!(filtered(&[("MESHRTI_LOG", "WARN,node=debug")]).unwrap().contains("node=debug"));
    }

    #[test]
    fn a_malformed_filter_is_an_error_that_names_the_variable() {
        for (variable, text) in [
            ("MESHRTI_LOG", "debgu"),
            ("RUST_LOG", "node=lots"),
            ("RUST_LOG", "info,node"),
            ("MESHRTI_LOG", "node=debug=x"),
        ] {
            let error = filtered(&[(variable, text)]).unwrap_err();
            assert!(error.contains(variable) && error.contains(text), "{error}");
            assert!(error.contains("WrongUse"), "{error}");
        }
    }
}
