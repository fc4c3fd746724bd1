//! What sources send, and what became of it.

use crate::units::Picos;

/// Who sends what, when and which way. Each source draws from streams of its own.
pub trait Traffic {
    /// When `source` sends for the first time; `None` when never.
    fn first(&mut self, source: u32) -> Option<Picos>;

    /// The message that `source` sends now. `path` and `lanes` are empty; the links it crosses are put there, and the
    /// lanes it waits in (see [`crate::fluid::lanes`]; packets need none).
    fn message(&mut self, source: u32, path: &mut Vec<u32>, lanes: &mut Vec<u32>) -> Parcel;

    /// When `source`, which sends now, sends the next time; `None` when never again.
    fn next(&mut self, source: u32, now: Picos) -> Option<Picos>;

    /// True when what a source sends and when depends on nothing that happens to messages, so that it can be asked before that moment
    /// comes: [`Traffic::message`] and [`Traffic::next`] in turn for each source.
    fn is_independent(&self) -> bool {
        false
    }

    /// Reads what the next message of `source` needs, so that it is near when that is asked for soon; changes nothing.
    fn look(&self, _source: u32) {}
}

/// A message to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parcel {
    /// Where it goes.
    pub destination: u32,
    /// Its size.
    pub bytes: u64,
    /// Time that it takes outside of the links, in hosts for example: counts for its latency, and for nothing else.
    pub outside: Picos,
}

/// A message that has passed its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivered {
    /// Its number among those of all sources, by birth.
    pub number: u64,
    /// Who sent it.
    pub source: u32,
    /// What was sent.
    pub parcel: Parcel,
    /// When it was sent.
    pub born: Picos,
    /// When its last byte was there.
    pub ended: Picos,
}

impl Delivered {
    /// Time in the network, waiting included.
    pub fn sojourn(&self) -> Picos {
        self.ended.since(self.born)
    }
}
