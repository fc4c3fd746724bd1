//! A progress line of a benchmark, shown on terminals only, and only when the benchmark takes more
//! than a moment.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// The delay before the line appears, and the interval between its updates.
const QUIET: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(200);

/// A progress line on the standard error. Dropping it erases the line.
pub struct Progress {
    label: &'static str,
    begun: Instant,
    shown: Option<Instant>,
    terminal: bool,
}

impl Progress {
    /// Begins the progress of `label`.
    #[must_use]
    pub fn new(label: &'static str) -> Self {
        Self { label, begun: Instant::now(), shown: None, terminal: std::io::stderr().is_terminal() }
    }

    /// Shows that `done` of `all` steps are done.
    pub fn at(&mut self, done: u64, all: u64) {
        let spent = self.begun.elapsed();
        if !self.terminal || spent < QUIET || self.shown.is_some_and(|shown| shown.elapsed() < STEP) {
            return;
        }
        self.shown = Some(Instant::now());
        // A failure to write only means that the terminal shows no progress.
        let _ = write!(std::io::stderr(), "\r\x1b[K{}", line(self.label, done, all, spent));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(label: &str, done: u64, all: u64, spent: Duration) -> String {
    const WIDTH: usize = 30;
    let part = if all == 0 { 0.0 } else { (done as f64 / all as f64).clamp(0.0, 1.0) };
    let filled = (part * WIDTH as f64) as usize;
    let bar = format!("{}{}", "#".repeat(filled), ".".repeat(WIDTH - filled));
    let left = if part > 0.0 {
        format!("{:.0} s left", spent.as_secs_f64() * (1.0 / part - 1.0))
    } else {
        String::new()
    };
    format!("{label} [{bar}] {:>3.0} %  {left}", part * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_much_is_left() {
        let text = line("latency", 25, 100, Duration::from_secs(10));
        assert_eq!(text, format!("latency [{}{}]  25 %  30 s left", "#".repeat(7), ".".repeat(23)));
        assert!(line("x", 0, 0, Duration::ZERO).ends_with("  0 %  "));
        assert!(line("x", 9, 3, Duration::from_secs(1)).contains("100 %  0 s left"));
    }
}
