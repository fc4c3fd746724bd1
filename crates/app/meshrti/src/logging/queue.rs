//! Log lines on their way to the standard error.
//!
//! The standard error may be a full disk, a closed terminal, or a pipe without a reader. None of
//! this may affect the code that logs: a line waits in a bounded queue until the log's own thread
//! writes it, and is dropped if the queue has no room. Losses are counted, and the count is logged
//! when lines can be written again.

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::limit::RateLimit;

/// The maximum number of octets of waiting lines: some thousands of lines, enough for a burst on a
/// slow terminal.
const QUEUE_BYTES_MAX: usize = 1 << 20;

/// The pause after a failure to write. On a disk that stays full each batch fails at once, so that
/// without a pause the thread would spin.
const RETRY: Duration = Duration::from_millis(100);

/// The minimum interval between two reports of losses.
const LOSSES_EVERY: Duration = Duration::from_secs(1);

thread_local! {
    /// Whether this thread writes the log. Its own lines, which are few, are never dropped, because
    /// they report the losses.
    static WRITES: Cell<bool> = const { Cell::new(false) };
}

/// Lines that wait to be written.
#[derive(Default)]
pub(crate) struct LogQueue {
    state: Mutex<State>,
    /// Signalled when the writer has work.
    filled: Condvar,
    /// Signalled when all lines were written or given up.
    drained: Condvar,
}

#[derive(Default)]
struct State {
    /// Whole lines.
    waiting: Vec<u8>,
    /// Whether the writer is writing lines that it has taken.
    writing: bool,
    /// Whether the writer has to check its timers.
    nudged: bool,
    losses: Losses,
}

/// Lines that were not written.
#[derive(Default)]
struct Losses {
    /// Lines for which there was no room.
    dropped: u64,
    /// Lines that could not be written.
    failed: u64,
    /// The last error of writing.
    error: Option<io::Error>,
}

impl LogQueue {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic of a holder cannot leave the state inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line, or drops it.
    fn push(&self, line: &[u8]) {
        let mut state = self.state();
        if state.waiting.len() + line.len() > QUEUE_BYTES_MAX && !WRITES.get() {
            state.losses.dropped += 1;
            return;
        }
        state.waiting.extend_from_slice(line);
        drop(state);
        self.filled.notify_one();
    }

    /// Adds the last text of the process, for which there is always room.
    pub(super) fn push_last(&self, text: &[u8]) {
        self.state().waiting.extend_from_slice(text);
        self.filled.notify_one();
    }

    /// Makes the writer check its timers.
    pub(super) fn nudge(&self) {
        self.state().nudged = true;
        self.filled.notify_one();
    }

    /// Waits until all lines are written or given up, at most until `until`.
    pub(super) fn flush(&self, until: Instant) {
        let wait = until.saturating_duration_since(Instant::now());
        let busy = |state: &mut State| state.writing || !state.waiting.is_empty();
        drop(self.drained.wait_timeout_while(self.state(), wait, busy));
    }

    /// Takes all lines, and waits until `until` if there are none.
    fn take(&self, until: Option<Instant>) -> Vec<u8> {
        let idle = |state: &mut State| !state.nudged && state.waiting.is_empty();
        let mut state = match until {
            None => self.filled.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner),
            Some(until) => {
                let wait = until.saturating_duration_since(Instant::now());
                let waited = self.filled.wait_timeout_while(self.state(), wait, idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        state.nudged = false;
        state.writing = !state.waiting.is_empty();
        std::mem::take(&mut state.waiting)
    }

    /// Notes that the taken lines are written, except `failed` ones.
    fn done(&self, failed: u64, error: Option<io::Error>) {
        let mut state = self.state();
        state.writing = false;
        if let Some(error) = error {
            state.losses.failed += failed;
            state.losses.error = Some(error);
        }
        drop(state);
        self.drained.notify_all();
    }

    fn has_losses(&self) -> bool {
        let losses = &self.state().losses;
        losses.dropped > 0 || losses.failed > 0
    }

    fn take_losses(&self) -> Losses {
        std::mem::take(&mut self.state().losses)
    }
}

impl Write for &LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the lines of a queue, for as long as the process lives.
pub(super) struct Writer<W> {
    queue: Arc<LogQueue>,
    sink: W,
    limit: RateLimit,
    /// The earliest time of the next report of losses.
    losses_from: Instant,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(queue: Arc<LogQueue>, sink: W, limit: RateLimit) -> Self {
        Self { queue, sink, limit, losses_from: Instant::now() }
    }

    pub(super) fn run(mut self) {
        WRITES.set(true);
        loop {
            self.turn();
        }
    }

    /// Writes waiting lines, or makes the reports that are due.
    fn turn(&mut self) {
        let batch = self.queue.take(self.wake_at());
        if !batch.is_empty() {
            match write(&mut self.sink, &batch) {
                Ok(()) => self.queue.done(0, None),
                Err((written, error)) => {
                    let lost = batch[written..].iter().filter(|&&octet| octet == b'\n').count();
                    self.queue.done(lost as u64, Some(error));
                    std::thread::sleep(RETRY);
                    return;
                }
            }
        }
        let now = Instant::now();
        if now >= self.losses_from && self.queue.has_losses() {
            self.losses_from = now + LOSSES_EVERY;
            tell(&self.queue.take_losses());
        }
        self.limit.report(now);
    }

    /// The time of the next report, if there is one, even without new lines.
    fn wake_at(&self) -> Option<Instant> {
        let losses = self.queue.has_losses().then_some(self.losses_from.max(Instant::now()));
        [losses, self.limit.next_report()].into_iter().flatten().min()
    }
}

/// Logs the losses.
fn tell(losses: &Losses) {
    let Losses { dropped, failed, error } = losses;
    if *dropped > 0 {
        tracing::warn!(
            lines = dropped,
            "log lines were dropped: they came faster than they could be written"
        );
    }
    if *failed > 0 {
        let error = error.as_ref().map(ToString::to_string).unwrap_or_default();
        tracing::warn!(lines = failed, error, "log lines were lost: they could not be written");
    }
}

/// Writes all of `octets`.
///
/// # Errors
/// The number of octets that were written, and the error that stopped it.
fn write(sink: &mut impl Write, octets: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut written = 0;
    while written < octets.len() {
        match sink.write(&octets[written..]) {
            Ok(0) => return Err((written, io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Another program that shares the terminal or pipe has made it non-blocking.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(RETRY),
            Err(error) => return Err((written, error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// A sink that blocks or fails as the test sets it.
    struct Gate {
        steps: mpsc::Receiver<io::Result<()>>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Gate {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.steps.recv().unwrap_or(Ok(()))?;
            self.written.lock().unwrap().extend_from_slice(octets);
            Ok(octets.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Setup {
        queue: Arc<LogQueue>,
        steps: mpsc::Sender<io::Result<()>>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    /// A queue whose writer logs its losses to the queue itself.
    fn setup() -> Setup {
        let queue = Arc::new(LogQueue::default());
        let (steps, taken) = mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let sink = Gate { steps: taken, written: Arc::clone(&written) };
        let writer = Writer::new(Arc::clone(&queue), sink, RateLimit::new(Arc::clone(&queue)));
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(super::super::Lines(Arc::clone(&queue)))
            .with_ansi(false);
        let subscriber = tracing_subscriber::registry().with(lines);
        std::thread::spawn(move || tracing::subscriber::with_default(subscriber, || writer.run()));
        Setup { queue, steps, written }
    }

    impl Setup {
        fn text(&self) -> String {
            String::from_utf8(self.written.lock().unwrap().clone()).unwrap()
        }

        fn until(&self, text: &str) {
            let begun = Instant::now();
            while !self.text().contains(text) {
                assert!(begun.elapsed() < Duration::from_secs(20), "never `{text}`: {}", self.text());
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    #[test]
    fn a_sink_that_stands_still_holds_up_nobody_and_the_loss_is_counted() {
        let setup = setup();
        let line = vec![b'x'; 1023].into_iter().chain([b'\n']).collect::<Vec<_>>();
        // The writer takes the first line and blocks, a megabyte waits, and the rest is dropped.
        setup.queue.push(&line);
        while !setup.queue.state().writing {
            std::thread::yield_now();
        }
        (0..1024 + 7).for_each(|_| setup.queue.push(&line));
        assert_eq!(setup.queue.state().waiting.len(), QUEUE_BYTES_MAX);
        assert_eq!(setup.queue.state().losses.dropped, 7);
        let begun = Instant::now();
        setup.queue.flush(begun + Duration::from_millis(50));
        assert!(begun.elapsed() < Duration::from_secs(10), "an end of the process does not wait for ever");
        (0..9).for_each(|_| setup.steps.send(Ok(())).unwrap());
        setup.until("lines=7");
        assert_eq!(setup.text().matches("xxxx\n").count(), 1025, "what had room is written");
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted_and_later_ones_are_written() {
        let setup = setup();
        setup.steps.send(Err(io::ErrorKind::StorageFull.into())).unwrap();
        setup.queue.push(b"one\ntwo\n");
        while setup.queue.state().losses.failed == 0 {
            std::thread::yield_now();
        }
        setup.steps.send(Err(io::ErrorKind::BrokenPipe.into())).unwrap();
        setup.queue.push(b"three\n");
        while setup.queue.state().losses.failed < 3 {
            std::thread::yield_now();
        }
        (0..9).for_each(|_| setup.steps.send(Ok(())).unwrap());
        setup.queue.push(b"four\n");
        setup.until("lines=3");
        let text = setup.text();
        assert!(text.starts_with("four\n") && text.contains("broken pipe"), "{text}");
    }

    #[test]
    fn the_last_words_have_room_and_are_waited_for() {
        let setup = setup();
        setup.queue.push(&vec![b'\n'; QUEUE_BYTES_MAX]);
        setup.queue.push_last(b"error: the end\n");
        (0..9).for_each(|_| setup.steps.send(Ok(())).unwrap());
        setup.queue.flush(Instant::now() + Duration::from_secs(20));
        assert!(setup.text().ends_with("error: the end\n"));
    }
}
