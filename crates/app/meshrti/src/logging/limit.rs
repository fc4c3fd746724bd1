//! Limits the number of lines that one cause may write.
//!
//! A client that is refused a thousand times a second would push everything else out of the log. So
//! one place in the code (a callsite, which stands for a cause) may log [`LINES_MAX`] lines in
//! [`WINDOW`]. The rest is counted, and one line reports the count when the window ends. `DEBUG`
//! and `TRACE` are not limited, because users who select them want all lines.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use super::queue::LogQueue;

/// Lines of one callsite in a window: enough for one line per joining federate in an ordinary
/// exercise, and 20 KiB at most.
const LINES_MAX: u32 = 100;

/// The length of a window.
const WINDOW: Duration = Duration::from_secs(10);

/// Octets of a message that a report quotes.
const QUOTED_MAX: usize = 120;

/// The layer that suppresses lines over the limit.
#[derive(Clone)]
pub(super) struct RateLimit {
    windows: Arc<Mutex<Windows>>,
    queue: Arc<LogQueue>,
}

impl RateLimit {
    /// A limit whose reports are made by the writer of `queue`.
    pub(super) fn new(queue: Arc<LogQueue>) -> Self {
        Self { windows: Arc::default(), queue }
    }

    fn windows(&self) -> MutexGuard<'_, Windows> {
        // A panic of a holder cannot leave the state inconsistent.
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next time at which [`RateLimit::report`] has something to report.
    pub(super) fn next_report(&self) -> Option<Instant> {
        self.windows().next_report()
    }

    /// Logs the numbers of lines suppressed in the windows that are over.
    pub(super) fn report(&self, now: Instant) {
        // The lock is released before the loop logs, because logging locks the windows, too.
        let over = self.windows().close(now);
        for Suppressed { level, target, message, times } in over {
            if level == Level::ERROR {
                tracing::error!(times, target, "suppressed more lines like `{message}`");
            } else if level == Level::WARN {
                tracing::warn!(times, target, "suppressed more lines like `{message}`");
            } else {
                tracing::info!(times, target, "suppressed more lines like `{message}`");
            }
        }
    }
}

impl<S: Subscriber> Layer<S> for RateLimit {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let cause = Cause::of(event.metadata());
        // The number of causes already limits the reports.
        if cause.level > Level::INFO || cause.target == module_path!() {
            return true;
        }
        let admitted = self.windows().admit(Instant::now(), cause);
        if matches!(admitted, Admitted::Suppressed { first: true }) {
            // Formatted without the lock: a value may log while it is formatted.
            let message = message(event);
            self.windows().name(cause, message);
            self.queue.nudge(); // the writer must set its timer
        }
        admitted == Admitted::Yes
    }
}

/// A callsite.
#[derive(Clone, Copy, Debug)]
struct Cause {
    /// The address of its metadata, which is static.
    key: usize,
    level: Level,
    target: &'static str,
}

impl Cause {
    fn of(metadata: &'static Metadata<'static>) -> Self {
        let key = std::ptr::from_ref(metadata).addr();
        Self { key, level: *metadata.level(), target: metadata.target() }
    }
}

/// The outcome for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Admitted {
    Yes,
    Suppressed {
        /// Whether it is the first suppressed line of its window.
        first: bool,
    },
}

/// The lines of every cause.
#[derive(Default)]
struct Windows {
    open: BTreeMap<usize, Window>,
    /// The suppressed lines of windows that a later line has closed.
    over: Vec<Suppressed>,
}

struct Window {
    until: Instant,
    lines: u32,
    suppressed: Option<Suppressed>,
}

/// Suppressed lines of one cause.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Suppressed {
    level: Level,
    target: &'static str,
    message: String,
    times: u64,
}

impl Windows {
    fn admit(&mut self, now: Instant, cause: Cause) -> Admitted {
        let fresh = || Window { until: now + WINDOW, lines: 0, suppressed: None };
        let window = self.open.entry(cause.key).or_insert_with(fresh);
        if window.until <= now {
            self.over.extend(window.suppressed.take());
            *window = fresh();
        }
        if window.lines < LINES_MAX {
            window.lines += 1;
            return Admitted::Yes;
        }
        let first = window.suppressed.is_none();
        let Cause { level, target, .. } = cause;
        let none = Suppressed { level, target, message: String::new(), times: 0 };
        window.suppressed.get_or_insert(none).times += 1;
        Admitted::Suppressed { first }
    }

    /// Notes `message` as an example of the lines that `cause` loses.
    fn name(&mut self, cause: Cause, message: String) {
        if let Some(suppressed) = self.open.get_mut(&cause.key).and_then(|window| window.suppressed.as_mut())
        {
            suppressed.message = message;
        }
    }

    fn next_report(&self) -> Option<Instant> {
        let until = |window: &Window| window.suppressed.as_ref().map(|_| window.until);
        self.open.values().filter_map(until).min()
    }

    /// Takes the counts of the windows that are over at `now`.
    fn close(&mut self, now: Instant) -> Vec<Suppressed> {
        let mut over = std::mem::take(&mut self.over);
        self.open.retain(|_, window| {
            let is_open = window.until > now;
            if !is_open {
                over.extend(window.suppressed.take());
            }
            is_open
        });
        over
    }
}

/// The message of an event without its fields, as far as a report quotes it.
fn message(event: &Event<'_>) -> String {
    let mut message = Message(String::new());
    event.record(&mut message);
    let Message(mut text) = message;
    text.truncate(text.floor_char_boundary(QUOTED_MAX));
    text
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// Collects the lines that pass the limit.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<String>>>);

    impl<S: Subscriber> Layer<S> for Lines {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            self.0.lock().unwrap().push(message(event));
        }
    }

    fn limited(log: impl FnOnce(&RateLimit)) -> Vec<String> {
        let limit = RateLimit::new(Arc::default());
        let lines = Lines::default();
        let subscriber = tracing_subscriber::registry().with(limit.clone()).with(lines.clone());
        tracing::subscriber::with_default(subscriber, || log(&limit));
        lines.0.lock().unwrap().clone()
    }

    #[test]
    fn one_cause_has_so_many_lines_and_the_rest_is_counted() {
        let max = LINES_MAX as usize;
        let lines = limited(|limit| {
            for n in 0..max + 31 {
                tracing::warn!(n, "refused");
            }
            tracing::warn!("another cause");
            assert!(limit.next_report().is_some());
            limit.report(Instant::now());
            limit.report(Instant::now() + WINDOW);
            assert_eq!(limit.next_report(), None);
        });
        assert_eq!(lines[..max], vec!["refused"; max]);
        assert_eq!(lines[max..], ["another cause", "suppressed more lines like `refused`"]);
    }

    #[test]
    fn at_the_limit_nothing_is_left_out_and_details_are_never() {
        let lines = limited(|limit| {
            (0..LINES_MAX).for_each(|_| tracing::info!("joined"));
            (0..2 * LINES_MAX).for_each(|_| tracing::debug!("read"));
            assert_eq!(limit.next_report(), None);
            limit.report(Instant::now() + WINDOW);
        });
        assert_eq!(lines.len(), 3 * LINES_MAX as usize);
    }

    #[test]
    fn a_later_line_opens_the_next_window_and_the_count_is_kept() {
        let mut windows = Windows::default();
        let now = Instant::now();
        let cause = Cause { key: 1, level: Level::WARN, target: "test" };
        (0..LINES_MAX).for_each(|_| assert_eq!(windows.admit(now, cause), Admitted::Yes));
        assert_eq!(windows.admit(now, cause), Admitted::Suppressed { first: true });
        windows.name(cause, "m".to_owned());
        assert_eq!(windows.admit(now, cause), Admitted::Suppressed { first: false });
        assert_eq!(windows.next_report(), Some(now + WINDOW));
        assert_eq!(windows.admit(now + WINDOW, cause), Admitted::Yes);
        let over = windows.close(now + WINDOW);
        let Cause { level, target, .. } = cause;
        assert_eq!(over, [Suppressed { level, target, message: "m".to_owned(), times: 2 }]);
        assert_eq!(windows.close(now + 3 * WINDOW), []);
    }
}
