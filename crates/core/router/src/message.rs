//! The units that a router moves: messages, with the topics that describe them and the interests
//! that match them.

use bytes::{Bytes, BytesMut};
use std::fmt;
use std::hash::Hash;

bitflags::bitflags! {
    /// The kinds of messages that a frame may carry: see
    /// [`Router::poll_frame_of`](crate::Router::poll_frame_of).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Fifos: u8 {
        /// Messages that must not be dropped, and all control records between routers.
        const RELIABLE = 1;
        /// Messages that may be dropped.
        const BEST_EFFORT = 2;
        /// Everything.
        const ALL = 3;
    }
}

/// The class of a message, highest first. It decides the order of sending and of dropping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Coordination; never waits for a bundle to fill, nor for credit.
    Control,
    /// Data that must arrive; never waits for a bundle to fill.
    Reliable,
    /// State that a newer state makes obsolete.
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

/// A decoding error. The text says which part is wrong and where, without the position in the
/// frame, which the router adds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WireError(pub String);

impl From<base::ReadError> for WireError {
    fn from(error: base::ReadError) -> Self {
        Self(error.to_string())
    }
}

/// The encoding of a value between processes. Encoding never fails; decoding checks everything.
pub trait Wire: Sized {
    /// Appends the value to `out`.
    fn encode(&self, out: &mut BytesMut);

    /// Reads a value that fills `body` exactly. The value may keep `body`, which shares an
    /// allocation of `pinned` bytes (the received frame); [`Message::bytes`] must then account for
    /// these.
    ///
    /// # Errors
    /// [`WireError`] when `body` is too short, too long or not a value.
    fn decode(body: Bytes, pinned: usize) -> Result<Self, WireError>;
}

/// A message. Cloning must be cheap (a shared body): the router makes one clone for each receiving
/// client.
pub trait Message: Clone + Wire {
    /// The type that interests are matched against.
    type Topic;

    /// The topic of this message.
    fn topic(&self) -> &Self::Topic;

    /// Its class. The same at every router.
    fn priority(&self) -> Priority;

    /// True for best effort: a queue that overflows may drop it. The same at every router.
    fn droppable(&self) -> bool;

    /// True for a message usually meant for one receiver. It may then travel in a [pipe for that
    /// receiver](crate::Router::add_directed). The same at every router.
    fn directed(&self) -> bool {
        false
    }

    /// Bytes of memory that a queue accounts for while it holds this message, including everything
    /// that a shared body keeps alive. At least the encoded length.
    fn bytes(&self) -> usize;

    /// An upper bound of the encoded length, as tight as is cheap to compute. The default is
    /// [`bytes`](Message::bytes).
    fn wire_bytes(&self) -> usize {
        self.bytes()
    }

    /// The key of the state that the message describes. Of two droppable messages with one key in
    /// one pipe the newer makes the older obsolete. `None` (the default) for messages that all
    /// count. Only pipes with [`PipeConfig::newest_wins`](crate::PipeConfig::newest_wins) use it.
    fn supersedes(&self) -> Option<u128> {
        None
    }
}

/// One declared interest. A client has a set of them and wants every message that any of them
/// matches.
pub trait Interest: Clone + Eq + Hash + fmt::Debug + Wire {
    /// The topic type that it is matched against.
    type Topic;
    /// The key under which interests are filed, so that a message is compared only with those that
    /// could match.
    type Key: Clone + Eq + Hash + fmt::Debug;

    /// The key under which this interest is filed; `None` files it under "any", which every message
    /// is compared with.
    fn key(&self) -> Option<Self::Key>;

    /// The key of a topic. An interest with another key never matches the topic.
    fn topic_key(topic: &Self::Topic) -> Self::Key;

    /// A shard hash that spreads topics over [multicast groups](crate::Router::add_group). Messages
    /// of one topic use the same group at every router.
    fn shard_hash(_topic: &Self::Topic) -> u64 {
        0
    }

    /// True when a message about `topic` is wanted.
    fn matches(&self, topic: &Self::Topic) -> bool;

    /// Widens `self`, whose key is equal, so that it matches at least the topics that either
    /// matched. The result is the summary announced to neighbours. It may be too wide, never too
    /// narrow, and keeps its key.
    fn merge(&mut self, other: &Self);

    /// True if the interest is announced only to sources that have
    /// [advertised](crate::Router::set_advertisement) something that it wants, so that a change costs
    /// messages only on the way to those sources. False (the default) if it is announced to every
    /// source. A [merged](Interest::merge) interest is gated only if all of its parts are.
    fn gated(&self) -> bool {
        false
    }

    /// True when `self` may want something that `advertisement` promises: some topic matches both.
    /// False positives are allowed, false negatives are not. The router calls it only for values
    /// with the same key, or with a key of `None`. The default, equality, suits interests whose
    /// [merge](Interest::merge) changes nothing, such as exact topics.
    fn advertised_by(&self, advertisement: &Self) -> bool {
        self == advertisement
    }
}

/// Number of kinds: each class has one kind for messages that must not be dropped and one for
/// droppable ones.
pub(crate) const KINDS: usize = Priority::COUNT * 2;

/// The kind of a message, below [`KINDS`]. Messages of one kind keep their order on every path.
pub(crate) fn kind_of(class: Priority, droppable: bool) -> usize {
    class.index() * 2 + usize::from(droppable)
}

base::id! {
    /// A router of a network. Unique in that network.
    pub struct RouterId(u32) as "r";
}

/// The place where a message entered the network of routers: a router, and one of its starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The router.
    pub router: RouterId,
    /// Differs for each start of a router with this id. A restarted router numbers from the
    /// beginning, and its new messages must not be taken for duplicates.
    pub epoch: u32,
}

/// Identity of a message in the network, for suppressing duplicates. Numbers count per origin and
/// class, and separately for droppable messages, which may take another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The place where it entered.
    pub origin: Origin,
    /// Its number there, among the messages of its class that may, or may not, be dropped. Gaps are
    /// normal: a sink sees only messages that match its interest.
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

/// A unit in a pipe. A frame is a bundle of parcels in bytes; a memory pipe hands them over as they
/// are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parcel<M, I> {
    /// The first parcel after a link came up: the identity of the sender.
    Hello(Origin),
    /// A sign of life and nothing else.
    KeepAlive,
    /// The sender of this parcel wants (`any`), or no longer wants, what `interest` matches.
    Interest {
        /// The interest.
        interest: I,
        /// True: wanted. False: no longer.
        any: bool,
    },
    /// The sender of this parcel may (`any`), or no longer may, send what `advertisement` matches.
    Advertisement {
        /// The advertisement.
        advertisement: I,
        /// True: advertised. False: no longer.
        any: bool,
    },
    /// A message.
    Message(Envelope<M>),
}
