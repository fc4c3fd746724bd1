//! Messages that somebody else thinks up as the run goes on: who sends, when, and how much, but not to whom.

use std::fmt::Debug;
use std::sync::Arc;

use base::Seed;

use crate::units::Picos;

/// A message of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// When it is sent.
    pub at: Picos,
    /// By which host.
    pub source: u32,
    /// Its size, at least 1.
    pub bytes: u64,
}

/// A script as it is read, line by line, in the order of times.
pub trait Reading: Send {
    /// The next message; `None` when there is none before the end of the window.
    fn next(&mut self) -> Option<Line>;
}

/// A source of messages for all hosts of a network. A host more changes nothing in what the others send.
pub trait Script: Debug + Send + Sync {
    /// Messages of so many hosts from the one moment to the other: how many are expected, and their bytes on average.
    fn expected(&self, hosts: u32, window: (Picos, Picos)) -> (f64, f64);

    /// The messages of the hosts 0 to `hosts` - 1 from the one moment to before the other, with the chance of `seed`.
    ///
    /// # Errors
    /// There are too many of them.
    fn read(&self, hosts: u32, window: (Picos, Picos), seed: Seed) -> Result<Box<dyn Reading>, String>;
}

/// A script that several runs read. It is the same as another if it is that one.
#[derive(Clone, Debug)]
pub struct Shared(pub Arc<dyn Script>);

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A script being read.
pub(crate) struct Reader {
    reading: Box<dyn Reading>,
    next: Option<Line>,
    /// Who sent last.
    host: u32,
}

impl Reader {
    /// Before the first line.
    pub(crate) fn new(reading: Box<dyn Reading>) -> Self {
        Self { reading, next: None, host: 0 }
    }

    /// Goes on to the next line of a host that is not silent.
    pub(crate) fn advance(&mut self, is_silent: impl Fn(u32) -> bool) {
        self.next = std::iter::from_fn(|| self.reading.next()).find(|line| !is_silent(line.source));
    }

    /// When the line where it is is due.
    pub(crate) fn next_at(&self) -> Option<Picos> {
        self.next.map(|line| line.at)
    }

    /// Who sends now, and how much.
    pub(crate) fn take(&mut self) -> (u32, u64) {
        let (host, bytes) = self.next.map_or((self.host, 1), |line| (line.source, line.bytes.max(1)));
        self.host = host;
        (host, bytes)
    }

    /// Who sent last.
    pub(crate) fn host(&self) -> u32 {
        self.host
    }
}
