//! Traffic that was recorded elsewhere, to be replayed: sources, times, destinations and sizes.

use crate::units::Picos;

/// A message of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The time at which it is sent.
    pub at: Picos,
    /// The destination host.
    pub to: u32,
    /// Its size, at least 1.
    pub bytes: u64,
}

/// The reason why a recording cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordingError {
    /// It names a host that does not exist.
    #[error("the recording has messages of or to host {host}, and there are {hosts} hosts, numbered from 0")]
    NoHost {
        /// The number of that host.
        host: u32,
        /// Number of hosts.
        hosts: u32,
    },
    /// It has a message of a host to itself.
    #[error("the recording has a message of host {host} to itself")]
    Home {
        /// The number of that host.
        host: u32,
    },
    /// It has no message in the window.
    #[error("the recording has no message from {from} to {to}")]
    Empty {
        /// The start of the window.
        from: Picos,
        /// The end of the window.
        to: Picos,
    },
}

/// Recorded messages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recording {
    /// By source, in the order of their times.
    by_source: Vec<Vec<Sent>>,
}

impl Recording {
    /// Messages with their sources, in any order. Messages of one source and moment keep their
    /// order.
    pub fn new(messages: impl IntoIterator<Item = (u32, Sent)>) -> Self {
        let mut by_source: Vec<Vec<Sent>> = Vec::new();
        for (source, sent) in messages {
            if by_source.len() <= source as usize {
                by_source.resize_with(source as usize + 1, Vec::new);
            }
            by_source[source as usize].push(sent);
        }
        by_source.iter_mut().for_each(|sent| sent.sort_by_key(|sent| sent.at));
        Self { by_source }
    }

    /// The messages of a host, by time.
    pub fn of(&self, source: u32) -> &[Sent] {
        self.by_source.get(source as usize).map_or(&[], Vec::as_slice)
    }

    /// All messages from one moment to before another, with their sources.
    pub fn within(&self, (from, to): (Picos, Picos)) -> impl Iterator<Item = (u32, Sent)> + '_ {
        let all = (0..).zip(&self.by_source);
        let all = all.flat_map(|(source, sent)| sent.iter().map(move |sent| (source, *sent)));
        all.filter(move |(_, sent)| (from..to).contains(&sent.at))
    }

    /// The time of the last message.
    pub fn last(&self) -> Option<Picos> {
        self.by_source.iter().filter_map(|sent| sent.last()).map(|sent| sent.at).max()
    }

    /// Checks that `hosts` hosts can send it in a window.
    ///
    /// # Errors
    /// [`RecordingError`].
    pub fn check(&self, hosts: u32, window: (Picos, Picos)) -> Result<(), RecordingError> {
        for (source, sent) in (0..).zip(&self.by_source).filter(|(_, sent)| !sent.is_empty()) {
            let unknown = sent.iter().map(|sent| sent.to).chain([source]).find(|host| *host >= hosts);
            if let Some(host) = unknown {
                return Err(RecordingError::NoHost { host, hosts });
            }
            if sent.iter().any(|sent| sent.to == source) {
                return Err(RecordingError::Home { host: source });
            }
        }
        match self.within(window).next() {
            Some(_) => Ok(()),
            None => Err(RecordingError::Empty { from: window.0, to: window.1 }),
        }
    }
}
