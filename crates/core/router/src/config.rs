//! Limits and intervals, each with its unit and default.

use crate::message::Origin;
use crate::{ClientFlags, RouterId};
use base::Seed;
use std::time::Duration;

/// Default of [`PipeConfig::bytes_max`]: 32 MiB.
pub const QUEUE_BYTES_MAX: usize = 32 << 20;
/// Default of [`PipeConfig::messages_max`].
pub const QUEUE_MESSAGES_MAX: usize = 65_536;
/// Default of [`PipeConfig::frame_bytes_max`]: 16 KiB.
pub const FRAME_BYTES_DEFAULT: usize = 16 << 10;
/// Smallest frame limit that a pipe accepts; smaller values are raised to it.
pub const FRAME_BYTES_MIN: usize = 128;
/// Largest frame that any router accepts: 1 MiB. Larger configured limits are lowered to it.
pub const FRAME_BYTES_MAX: usize = 1 << 20;
/// Default of [`PipeConfig::message_bytes_max`]: 16 MiB.
pub const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Default of [`PipeConfig::interests_max`].
pub const INTERESTS_MAX: usize = 1 << 20;
/// Default of [`PipeConfig::advertisements_max`].
pub const ADVERTISEMENTS_MAX: usize = 1 << 20;
/// Default of [`PipeConfig::interests_per_key_max`].
pub const INTERESTS_PER_KEY_MAX: usize = 64;
/// Smallest window of [`PipeConfig::credit_bytes`]; smaller values are raised to it.
pub const CREDIT_BYTES_MIN: usize = 1 << 10;
/// Largest window of [`PipeConfig::credit_bytes`]: 1 GiB. Larger values are lowered to it.
pub const CREDIT_BYTES_MAX: usize = 1 << 30;
/// A message that crossed this many links is dropped: no sound topology is that wide.
pub const HOPS_MAX: u8 = 64;
/// Origins whose message numbers a router remembers. Above this, each new one evicts another.
pub const ORIGINS_MAX: usize = 65_536;
/// Message numbers remembered per origin and class, and separately for droppable messages.
pub const DUPLICATE_WINDOW: u64 = 1_024;
/// Default of [`RouterConfig::clients_max`].
pub const CLIENTS_MAX: usize = 65_536;

const _: () = assert!(MESSAGE_BYTES_MAX <= QUEUE_BYTES_MAX, "a queue must hold the largest message");
const _: () = assert!(FRAME_BYTES_DEFAULT <= FRAME_BYTES_MAX && FRAME_BYTES_MIN < FRAME_BYTES_DEFAULT);

/// The droppable message of a class that is dropped first when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DropFirst {
    /// The one that waited longest (default): newer state is worth more.
    #[default]
    Oldest,
    /// The one that arrived last, which may be the newcomer itself.
    Newest,
}

/// Settings of one pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipeConfig {
    /// Bytes that may wait, as [`Message::bytes`](crate::Message::bytes) counts them.
    pub bytes_max: usize,
    /// Messages that may wait.
    pub messages_max: usize,
    /// Above this many waiting bytes, or half of [`PipeConfig::messages_max`], the pipe is
    /// congested. Default: half of [`QUEUE_BYTES_MAX`].
    pub high_water: usize,
    /// At or below this many waiting bytes, and a quarter of [`PipeConfig::messages_max`], the pipe
    /// is no longer congested. Default: a quarter of [`QUEUE_BYTES_MAX`].
    pub low_water: usize,
    /// One FIFO order over all classes; the class then decides only the order of dropping. Default
    /// false.
    pub ordered: bool,
    /// A droppable message replaces a waiting droppable one with the same
    /// [`supersedes`](crate::Message::supersedes) key. Without `ordered` it takes the position (and
    /// number) of the one it replaces, so that no key starves; with `ordered` it queues at the end.
    /// Default false.
    pub newest_wins: bool,
    /// The droppable message of a class that is dropped first.
    pub drop_first: DropFirst,
    /// Longest frame, in bytes. It limits bundles and the fragments of longer messages.
    pub frame_bytes_max: usize,
    /// Longest wait to fill a frame. With zero (the default) a frame takes whatever waits when the
    /// link can take it. [Urgent](crate::Priority::urgent) messages never wait.
    pub bundle_wait: Duration,
    /// Longest message sent or reassembled, in encoded bytes; also bounds the memory of each
    /// reassembly. Both ends of a link need the same limit. At most 1 GiB.
    pub message_bytes_max: usize,
    /// Interests that the client may declare.
    pub interests_max: usize,
    /// Advertisements that the client may make.
    pub advertisements_max: usize,
    /// Interests, or advertisements, under one key that are announced to the client one by one.
    /// Above this number their summary is announced instead.
    pub interests_per_key_max: usize,
    /// For a link: bytes, without messages of the class `Control`, that the peer may send ahead of
    /// the bytes that this router has taken in and passed on. The greeting announces it to the
    /// peer. `None` (the default): no limit, and a message that finds no room in a pipe is lost.
    /// With credit a sixteenth of the pipe's limits is kept for the class `Control`. See the
    /// crate's section on flow control.
    pub credit_bytes: Option<usize>,
    /// Longest time for which credit is withheld. After it, and again each time that it passes, a
    /// quarter of the window is granted if there is room, so that routers that wait for each other
    /// in a circle make progress. Default 1 s.
    pub credit_hold_max: Duration,
}

impl Default for PipeConfig {
    fn default() -> Self {
        Self {
            bytes_max: QUEUE_BYTES_MAX,
            messages_max: QUEUE_MESSAGES_MAX,
            high_water: QUEUE_BYTES_MAX / 2,
            low_water: QUEUE_BYTES_MAX / 4,
            ordered: false,
            newest_wins: false,
            drop_first: DropFirst::Oldest,
            frame_bytes_max: FRAME_BYTES_DEFAULT,
            bundle_wait: Duration::ZERO,
            message_bytes_max: MESSAGE_BYTES_MAX,
            interests_max: INTERESTS_MAX,
            advertisements_max: ADVERTISEMENTS_MAX,
            interests_per_key_max: INTERESTS_PER_KEY_MAX,
            credit_bytes: None,
            credit_hold_max: Duration::from_secs(1),
        }
    }
}

impl PipeConfig {
    /// The defaults with one FIFO order over all classes, for a client that takes whole messages.
    /// On a link with credit nothing overtakes: the class `Control` then waits for credit like all
    /// others.
    pub fn ordered() -> Self {
        Self { ordered: true, ..Self::default() }
    }

    /// Sets the byte limit, and the water marks to a half and a quarter of it.
    #[must_use]
    pub fn with_bytes_max(mut self, bytes: usize) -> Self {
        self.bytes_max = bytes;
        self.high_water = bytes / 2;
        self.low_water = bytes / 4;
        self
    }
}

/// The receiver behind a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// A part of this process that takes whole messages with `poll_message` and submits with
    /// `submit`.
    Local {
        /// Report changes of the interest in this source by
        /// [`Event::InterestChanged`](crate::Event::InterestChanged).
        advise: bool,
    },
    /// Another router in this process, joined by a memory pipe: `poll_parcel` and `handle_parcel`.
    Memory,
    /// Another router behind a link: `poll_frame`, `handle_frame` and `handle_link`.
    Link,
    /// Several link clients reached at once, as by a multicast group, or one of them beside its
    /// link: `poll_frame`. See [`Router::add_group`](crate::Router::add_group) and
    /// [`Router::add_directed`](crate::Router::add_directed).
    Group,
}

/// A client to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// Source, sink, persistent, upper.
    pub flags: ClientFlags,
    /// Order among upper clients: a message from an upper client also goes to upper clients of a
    /// smaller rank. With equal ranks (default 0) it goes only to lower ones. Both ends of a link
    /// have the same rank. At most 254; meaningless for lower clients.
    pub rank: u8,
    /// The receiver behind it.
    pub kind: ClientKind,
    /// Its pipe.
    pub pipe: PipeConfig,
}

impl ClientConfig {
    /// A local client: source and sink, lower, one FIFO order, not advised.
    pub fn local() -> Self {
        Self {
            flags: ClientFlags::SOURCE | ClientFlags::SINK,
            rank: 0,
            kind: ClientKind::Local { advise: false },
            pipe: PipeConfig::ordered(),
        }
    }

    /// A local client as [`ClientConfig::local`] that is notified of changes of the interest in it.
    pub fn advised() -> Self {
        Self { kind: ClientKind::Local { advise: true }, ..Self::local() }
    }

    /// A router behind a link.
    pub fn link(flags: ClientFlags) -> Self {
        Self { flags, rank: 0, kind: ClientKind::Link, pipe: PipeConfig::default() }
    }

    /// A router in this process.
    pub fn memory(flags: ClientFlags) -> Self {
        Self { flags, rank: 0, kind: ClientKind::Memory, pipe: PipeConfig::default() }
    }
}

/// The schedule of attempts to reach a persistent client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Wait after the first failure. Default 100 ms.
    pub first: Duration,
    /// Each further wait is the previous one times this factor. Default 2.
    pub factor: u32,
    /// Longest wait, before jitter. Default 10 s.
    pub max: Duration,
    /// Up to this share of the wait, in percent, is added at random. Default 20.
    pub jitter_percent: u8,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(100),
            factor: 2,
            max: Duration::from_secs(10),
            jitter_percent: 20,
        }
    }
}

/// Settings of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterConfig {
    /// The identity of this router. Unique in the network.
    pub origin: Origin,
    /// The seed of its random numbers (jitter).
    pub seed: Seed,
    /// The schedule of attempts to reach a persistent client.
    pub backoff: Backoff,
    /// A link on which nothing else was sent for this long carries a keep-alive. Default 1 s.
    pub keep_alive: Duration,
    /// A link on which nothing was heard for this long is dead. Default 5 s.
    pub silence_max: Duration,
    /// Limit of simultaneous clients.
    pub clients_max: usize,
}

impl RouterConfig {
    /// The defaults for the router `id`, first start.
    pub fn new(id: RouterId, seed: Seed) -> Self {
        Self {
            origin: Origin { router: id, epoch: 0 },
            seed,
            backoff: Backoff::default(),
            keep_alive: Duration::from_secs(1),
            silence_max: Duration::from_secs(5),
            clients_max: CLIENTS_MAX,
        }
    }
}
