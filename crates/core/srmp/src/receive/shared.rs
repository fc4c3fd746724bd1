//! What all senders' states at one receiver have in common.

use crate::Histogram;
use crate::model::{DataId, MemberId, SnSpace};
use crate::timing::Timing;
use base::{Moment, Rng, Seed};
use std::collections::BTreeSet;
use std::time::Duration;

/// Which data elements this receiver wants. Data elements are named by their sender.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Interest {
    /// Every one.
    #[default]
    All,
    /// Those of some senders.
    Members(BTreeSet<MemberId>),
    /// Some of some senders.
    Elements(BTreeSet<(MemberId, DataId)>),
    /// None: mode 0 and mode 2 only.
    Nothing,
}

impl Interest {
    /// Whether that data element is wanted.
    pub fn covers(&self, member: MemberId, data: DataId) -> bool {
        match self {
            Self::All => true,
            Self::Members(members) => members.contains(&member),
            Self::Elements(elements) => elements.contains(&(member, data)),
            Self::Nothing => false,
        }
    }

    /// Whether every data element of the sender is wanted, so that digests can be compared.
    pub(crate) fn covers_all_of(&self, member: MemberId) -> bool {
        match self {
            Self::All => true,
            Self::Members(members) => members.contains(&member),
            Self::Elements(_) | Self::Nothing => false,
        }
    }

    /// Whether anything of the sender is wanted.
    pub(crate) fn covers_some_of(&self, member: MemberId) -> bool {
        match self {
            Self::All => true,
            Self::Members(members) => members.contains(&member),
            Self::Elements(elements) => {
                elements.range((member, DataId(0))..=(member, DataId(u32::MAX))).next().is_some()
            }
            Self::Nothing => false,
        }
    }
}

/// What a receiver counts of mode 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveCounters {
    /// Messages handed up.
    pub delivered: u64,
    /// Data of a version that was complete, or older than one that was.
    pub duplicates: u64,
    /// Messages and announcements beyond what memory is for, or that contradict others.
    pub refused: u64,
    /// Wants: something is missing.
    pub wants_opened: u64,
    /// Wants that data satisfied.
    pub wants_satisfied: u64,
    /// Wants for a version that a newer one made useless.
    pub wants_superseded: u64,
    /// Wants given up: nobody announces the data element any more, or nobody wants it.
    pub wants_abandoned: u64,
    /// Backoffs started.
    pub nacks_scheduled: u64,
    /// Wishes sent to the group.
    pub nacks_sent: u64,
    /// Wishes sent to loggers.
    pub nacks_to_loggers: u64,
    /// Wishes not sent because another member sent them.
    pub nacks_suppressed_by_nack: u64,
    /// Wishes not sent because the data came first.
    pub nacks_suppressed_by_data: u64,
    /// Wishes not sent because a logger said that it asks.
    pub nacks_suppressed_by_pending: u64,
    /// Wishes of other members heard.
    pub nacks_heard: u64,
    /// Segmented messages put together.
    pub reassembled: u64,
    /// Segmented messages given up: a newer one came, or memory was short.
    pub parts_discarded: u64,
    /// Senders that began again.
    pub restarts: u64,
    /// Times that a sender's digest stayed different from ours.
    pub digest_mismatches: u64,
    /// From the want to the data.
    pub recovery: Histogram,
}

/// What does not change.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveConfig {
    pub(crate) timing: Timing,
    pub(crate) space: SnSpace,
    /// RFC 4410 only.
    pub(crate) strict: bool,
    /// Messages are kept after they were handed up, and digests compared.
    pub(crate) keeps_state: bool,
    /// Mode 0 of a sender that announces data of which none came is held back.
    pub(crate) require_mode1_first: bool,
    /// Mode 0 of a sender that sent no mode 1 is held back.
    pub(crate) literal_mode0_gate: bool,
    /// Bytes of messages and parts of all senders.
    pub(crate) bytes_max: usize,
    /// Data elements per sender.
    pub(crate) items_per_origin_max: usize,
    /// Data elements of all senders.
    pub(crate) items_max: usize,
    /// Segments of a message.
    pub(crate) segments_max: u16,
}

/// What all [`Origin`](super::Origin)s of a receiver share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: ReceiveConfig,
    pub(crate) interest: Interest,
    /// G: members heard of late.
    pub(crate) members: u32,
    /// When this receiver joined the group.
    pub(crate) joined: Moment,
    /// Until when the whole state is under way, so that nothing is asked for.
    pub(crate) synchronizing: Option<Moment>,
    pub(crate) rng: Rng,
    /// Bytes held.
    pub(crate) bytes: usize,
    /// Data elements known.
    pub(crate) items: usize,
    pub(crate) counters: ReceiveCounters,
}

impl Shared {
    pub(crate) fn new(config: ReceiveConfig, seed: Seed, now: Moment) -> Self {
        Self {
            config,
            interest: Interest::All,
            members: 0,
            joined: now,
            synchronizing: None,
            rng: seed.rng(),
            bytes: 0,
            items: 0,
            counters: ReceiveCounters::default(),
        }
    }

    /// How long to hold off after a wish: in the extended profile longer with each attempt.
    pub(super) fn repeat(&self, r_max: Duration, attempt: u32) -> Duration {
        self.config.timing.nack_repeat(r_max, if self.config.strict { 0 } else { attempt })
    }

    /// Memory is short.
    pub(crate) fn is_over(&self) -> bool {
        self.bytes > self.config.bytes_max
    }
}
