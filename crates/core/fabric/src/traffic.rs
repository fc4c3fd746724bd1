//! What sources send, and what became of it.

use crate::stats::Recorder;
use crate::units::Picos;

/// Who sends what, when and which way. Each source draws from streams of its own.
pub trait Traffic {
    /// When `source` sends for the first time; `None` when never, or not before it is [woken](Traffic::ended).
    fn first(&mut self, source: u32) -> Option<Picos>;

    /// The message that `source` sends now. `path` and `lanes` are empty; the links it crosses are put there, and the
    /// lanes it waits in (see [`crate::fluid::lanes`]; packets need none).
    fn message(&mut self, source: u32, path: &mut Vec<u32>, lanes: &mut Vec<u32>) -> Parcel;

    /// When `source`, which sends now, sends the next time; `None` when never again, or not before it is [woken](Traffic::ended).
    fn next(&mut self, source: u32, now: Picos) -> Option<Picos>;

    /// True when what a source sends and when depends on nothing that happens to messages, so that it can be asked before that moment
    /// comes: [`Traffic::message`] and [`Traffic::next`] in turn for each source.
    fn is_independent(&self) -> bool {
        false
    }

    /// Reads what the next message of `source` needs, so that it is near when that is asked for soon; changes nothing.
    fn look(&self, _source: u32) {}

    /// So many sources there are in a network of so many hosts: one for each, unless some have several.
    fn sources(&self, hosts: u32) -> u32 {
        hosts
    }

    /// The host of a source that has just sent.
    fn host(&self, source: u32) -> u32 {
        source
    }

    /// A later moment, if `source`, which is due now, is not ready to send.
    #[inline]
    fn put_off(&mut self, _source: u32, _now: Picos) -> Option<Picos> {
        None
    }

    /// A message has arrived, or was lost. Sources that send because of it are put into `woken`, with the moment, which is not before
    /// its end.
    #[inline]
    fn ended(&mut self, _message: &Delivered, _arrived: bool, _woken: &mut Vec<(Picos, u32)>) {}

    /// What became of messages there and back, where messages are answered.
    fn exchanges(&self) -> Option<&Exchanges> {
        None
    }
}

/// Requests and their responses.
#[derive(Clone, Debug, Default)]
pub struct Exchanges {
    /// From when a request was sent until its response was there.
    pub latency: Recorder,
    /// Exchanges of which a message was lost.
    pub failed: u64,
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
    /// The source that sent it,
    pub sender: u32,
    /// and the host of that.
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
