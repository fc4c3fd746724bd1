//! What a router moves: messages, described by topics, wanted by interests.

use bytes::{Bytes, BytesMut};
use std::fmt;
use std::hash::Hash;

bitflags::bitflags! {
    /// Which messages a frame may carry: see [`Router::poll_frame_of`](crate::Router::poll_frame_of).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Lanes: u8 {
        /// Messages that must not be dropped, and all that routers say to each other.
        const RELIABLE = 1;
        /// Messages that may be dropped.
        const BEST_EFFORT = 2;
        /// Everything.
        const ALL = 3;
    }
}

/// The class of a message, highest first. It decides who goes first and who is dropped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Coordination; never waits for a bundle to fill, nor for credit.
    Control,
    /// Data that must arrive; never waits for a bundle to fill.
    Reliable,
    /// State that a newer state makes worthless.
    State,
    /// Everything that can wait.
    Bulk,
}

impl Priority {
    /// Number of classes.
    pub const COUNT: usize = 4;
    /// All classes, highest first.
    pub const ALL: [Priority; Self::COUNT] =
        [Priority::Control, Priority::Reliable, Priority::State, Priority::Bulk];

    /// Position in [`Priority::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Lower-case name, for counters.
    pub const fn name(self) -> &'static str {
        match self {
            Priority::Control => "control",
            Priority::Reliable => "reliable",
            Priority::State => "state",
            Priority::Bulk => "bulk",
        }
    }

    /// True for the classes that do not wait for a bundle to fill.
    pub const fn urgent(self) -> bool {
        matches!(self, Priority::Control | Priority::Reliable)
    }
}

/// Bytes that do not hold what they should. The text says what and where, without the position in the
/// frame, which the router adds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WireError(pub String);

/// How a value travels between processes. Encoding never fails; decoding checks everything.
pub trait Wire: Sized {
    /// Appends the value to `out`.
    fn encode(&self, out: &mut BytesMut);

    /// Reads a value that fills `body` exactly. `body` may be kept: it shares an allocation of
    /// `pinned` bytes (the frame it came in), which [`Message::bytes`] must then account for.
    ///
    /// # Errors
    /// [`WireError`] when `body` is too short, too long or not a value.
    fn decode(body: Bytes, pinned: usize) -> Result<Self, WireError>;
}

/// A message. Cloning must be cheap (a shared body): one clone is made per receiving client.
pub trait Message: Clone + Wire {
    /// What interests are matched with.
    type Topic;

    /// The topic of this message.
    fn topic(&self) -> &Self::Topic;

    /// Its class. The same at every router.
    fn priority(&self) -> Priority;

    /// True for best effort: it may be dropped when a queue overflows. The same at every router.
    fn droppable(&self) -> bool;

    /// True for what is usually meant for one receiver, which may then have it by a [pipe of its own](crate::Router::add_directed).
    /// The same at every router.
    fn directed(&self) -> bool {
        false
    }

    /// Bytes of memory that a queue holding this message answers for, including everything that a
    /// shared body keeps alive. At least the encoded length.
    fn bytes(&self) -> usize;

    /// An upper bound of the encoded length, as close as is cheap. The default is [`bytes`](Message::bytes).
    fn wire_bytes(&self) -> usize {
        self.bytes()
    }

    /// Two droppable messages with the same key in one pipe: the newer makes the older worthless.
    /// `None` (the default) for messages that all count. Used by pipes with
    /// [`PipeConfig::newest_wins`](crate::PipeConfig::newest_wins).
    fn supersedes(&self) -> Option<u128> {
        None
    }
}

/// One declared interest. A client has a set of them and wants what any of them matches.
pub trait Interest: Clone + Eq + Hash + fmt::Debug + Wire {
    /// The topic it is matched with.
    type Topic;
    /// Interests are filed under keys, so that a message meets only those that could match.
    type Key: Clone + Eq + Hash + fmt::Debug;

    /// The key under which this interest is filed; `None` files it under "any", which every message meets.
    fn key(&self) -> Option<Self::Key>;

    /// The key of a topic. An interest with another key never matches the topic.
    fn topic_key(topic: &Self::Topic) -> Self::Key;

    /// Spreads topics over [casts](crate::Router::add_cast): those of one topic go by the same one, everywhere.
    fn lot(_topic: &Self::Topic) -> u64 {
        0
    }

    /// True when a message about `topic` is wanted.
    fn matches(&self, topic: &Self::Topic) -> bool;

    /// Widens `self`, whose key is equal, so that it matches at least what either matched: the summary told to
    /// neighbours. It may be too wide, never too narrow, and keeps its key.
    fn merge(&mut self, other: &Self);

    /// True when it is told only to sources that have [offered](crate::Router::set_offer) something that it wants, so that
    /// a change costs messages on the way to those sources alone. False (the default): told to every source.
    /// A [merged](Interest::merge) interest is gated only if all of its parts are.
    fn gated(&self) -> bool {
        false
    }

    /// True when something that `offer`, an offer, promises may be wanted by `self`: some topic matches both. May be true
    /// too often, never too seldom; asked only of values with the same key, or with a key of `None`.
    /// The default, equality, is for interests whose [merge](Interest::merge) changes nothing, such as exact topics.
    fn offered_by(&self, offer: &Self) -> bool {
        self == offer
    }
}

/// Classes, each once of messages that must stay and once of droppable ones.
pub(crate) const KINDS: usize = Priority::COUNT * 2;

/// Below [`KINDS`]. Within a kind messages keep their order on every path.
pub(crate) fn kind_of(class: Priority, droppable: bool) -> usize {
    class.index() * 2 + usize::from(droppable)
}

base::id! {
    /// A router of a network. Unique in that network.
    pub struct RouterId(u32) as "r";
}

/// Where a message entered the network of routers: a router, and which start of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The router.
    pub router: RouterId,
    /// Differs for each start of a router with this id, so that a restarted router, whose numbers start
    /// again, is not taken for a repetition.
    pub epoch: u32,
}

/// Identity of a message in the network, for suppressing duplicates: numbers count per origin and class, and apart for
/// messages that may be dropped, which may take another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// Where it entered.
    pub origin: Origin,
    /// Its number there, among those of its class that may, or may not, be dropped. Gaps are normal: a sink sees only what it is interested in.
    pub sequence: u64,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope<M> {
    /// Its identity.
    pub id: MessageId,
    /// Links between routers crossed so far; memory pipes do not count.
    pub hops: u8,
    /// The message.
    pub message: M,
}

/// What passes through a pipe. A frame is a bundle of these in bytes; a memory pipe hands them over as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parcel<M, I> {
    /// The first parcel after a link came up: who is there.
    Hello(Origin),
    /// Nothing but a sign of life.
    KeepAlive,
    /// The sender of this parcel wants (`any`), or no longer wants, what `interest` matches.
    Interest {
        /// What is wanted.
        interest: I,
        /// True: wanted. False: no longer.
        any: bool,
    },
    /// The sender of this parcel may (`any`), or no longer may, send what `offer` matches.
    Offer {
        /// What is offered.
        offer: I,
        /// True: offered. False: no longer.
        any: bool,
    },
    /// A message.
    Message(Envelope<M>),
}
