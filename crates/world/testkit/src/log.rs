//! Logs of the nodes of a simulated cluster, with time and node, for examining a run.

use base::Moment;
use std::cell::Cell;
use std::fmt::{self, Write as _};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

thread_local! {
    /// The current time, and the node that runs.
    static PRESENT: Cell<(Moment, usize)> = const { Cell::new((Moment::ZERO, 0)) };
}

/// The variable with the lowest level at which the nodes' logs are printed: `warn`, `info`,
/// `debug`.
const LEVEL: &str = "MESHRTI_LOG";

/// Sets the time and the node of the log lines that follow.
pub(crate) fn set_present(now: Moment, node: usize) {
    PRESENT.with(|present| present.set((now, node)));
}

/// Prints the logs of this thread's nodes while `run` runs, if the environment asks for it.
pub fn with_log<R>(run: impl FnOnce() -> R) -> R {
    match std::env::var(LEVEL).ok().and_then(|level| level.parse().ok()) {
        Some(level) => tracing::subscriber::with_default(Log(level), run),
        None => run(),
    }
}

struct Log(Level);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.0
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    #[allow(clippy::print_stderr)] // printing is the purpose
    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let (now, node) = PRESENT.with(Cell::get);
        let metadata = event.metadata();
        eprintln!("{now} node {node} {} {}:{}", metadata.level(), metadata.target(), text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
