//! Traffic: the messages of sources, and their fates.

use crate::application::ApplicationResults;
use crate::stats::Recorder;
use crate::units::Picos;

/// A model of traffic: sources, times, sizes, destinations and paths. Each source draws from random
/// streams of its own.
pub trait Traffic {
    /// The first sending time of `source`; `None` when it never sends, or not before it is
    /// [woken](Traffic::ended).
    fn first(&mut self, source: u32) -> Option<Picos>;

    /// The time of the next [message](Traffic::message), which is never before that of the previous
    /// one.
    #[inline]
    fn advance(&mut self, _now: Picos) {}

    /// The message that `source` sends now. `path` and `lanes` are empty; the call appends the
    /// links that the message crosses (none: it is lost at once), and the lanes in which it waits (see
    /// [`crate::fluid::lanes`]; packets need none).
    fn message(&mut self, source: u32, path: &mut Vec<u32>, lanes: &mut Vec<u32>) -> Parcel;

    /// The next sending time of `source`, which sends now; `None` when it never sends again, or not
    /// before it is [woken](Traffic::ended).
    fn next(&mut self, source: u32, now: Picos) -> Option<Picos>;

    /// True when the messages of a source and their times depend on nothing that happens to
    /// messages. The source can then be asked before the moment comes: [`Traffic::message`] and
    /// [`Traffic::next`] in turn.
    fn is_independent(&self) -> bool {
        false
    }

    /// Touches the data of the next message of `source`, so that it is in a near cache when that is
    /// asked for soon; changes nothing.
    fn look(&self, _source: u32) {}

    /// The number of sources in a network of `hosts` hosts: one for each, unless some have several.
    fn sources(&self, hosts: u32) -> u32 {
        hosts
    }

    /// The host of a source that has just sent.
    fn host(&self, source: u32) -> u32 {
        source
    }

    /// A later time, if `source`, which is due now, is not ready to send.
    #[inline]
    fn put_off(&mut self, _source: u32, _now: Picos) -> Option<Picos> {
        None
    }

    /// Handles a message that has arrived, or was lost. The call adds the sources that send because
    /// of it to `woken`, with their times, which are not before its end.
    #[inline]
    fn ended(&mut self, _message: &Delivered, _arrived: bool, _woken: &mut Vec<(Picos, u32)>) {}

    /// The results of exchanges, if messages are answered.
    fn exchanges(&self) -> Option<&Exchanges> {
        None
    }

    /// The results of programs, if hosts run some.
    fn application(&self) -> Option<ApplicationResults> {
        None
    }

    /// Of traffic that ends by itself, the share that is done, and the latest time of anything that
    /// has happened.
    fn progress(&self) -> Option<(f64, Picos)> {
        None
    }
}

/// Requests and their responses.
#[derive(Clone, Debug, Default)]
pub struct Exchanges {
    /// Times from the sending of a request until the arrival of its response.
    pub latency: Recorder,
    /// Number of exchanges of which a message was lost.
    pub failed: u64,
}

/// A message to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parcel {
    /// The destination host.
    pub destination: u32,
    /// Its size in bytes.
    pub bytes: u64,
    /// Time spent outside of the links, for example in hosts. It counts for the latency, and for
    /// nothing else.
    pub outside: Picos,
}

/// A message that has passed its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivered {
    /// Its number among the messages of all sources, in the order of birth.
    pub number: u64,
    /// The source that sent it.
    pub sender: u32,
    /// The host of that source.
    pub source: u32,
    /// The message itself.
    pub parcel: Parcel,
    /// The time at which it was sent.
    pub born: Picos,
    /// The time at which its last byte arrived.
    pub ended: Picos,
}

impl Delivered {
    /// Time in the network, including waiting.
    pub fn sojourn(&self) -> Picos {
        self.ended.since(self.born)
    }
}
