//! State that a receiver shares among all its senders.

use crate::Histogram;
use crate::model::{DataId, MemberId, SnSpace};
use crate::timing::Timing;
use base::{Moment, Rng, Seed};
use std::collections::BTreeSet;
use std::time::Duration;

/// The data elements that this receiver wants, each named together with its sender.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Interest {
    /// All.
    #[default]
    All,
    /// All data elements of these senders.
    Members(BTreeSet<MemberId>),
    /// These data elements of these senders.
    Elements(BTreeSet<(MemberId, DataId)>),
    /// None: only mode 0 and mode 2.
    Nothing,
}

impl Interest {
    /// Whether the data element is wanted.
    pub fn covers(&self, member: MemberId, data: DataId) -> bool {
        match self {
            Self::All => true,
            Self::Members(members) => members.contains(&member),
            Self::Elements(elements) => elements.contains(&(member, data)),
            Self::Nothing => false,
        }
    }

    /// Whether all data elements of the sender are wanted, so that digests can be compared.
    pub(crate) fn covers_all_of(&self, member: MemberId) -> bool {
        match self {
            Self::All => true,
            Self::Members(members) => members.contains(&member),
            Self::Elements(_) | Self::Nothing => false,
        }
    }

    /// Whether any data element of the sender is wanted.
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

/// The counters of a receiver in mode 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveCounters {
    /// Messages delivered to the application.
    pub delivered: u64,
    /// Data of a version that was complete already, or older than the complete one.
    pub duplicates: u64,
    /// Messages and announcements that exceed a limit or contradict earlier ones.
    pub refused: u64,
    /// Wants opened: versions found missing.
    pub wants_opened: u64,
    /// Wants satisfied by data.
    pub wants_satisfied: u64,
    /// Wants for a version that a newer one replaced.
    pub wants_superseded: u64,
    /// Wants given up, because the data element is no longer announced or no longer wanted.
    pub wants_abandoned: u64,
    /// Backoffs started.
    pub nacks_scheduled: u64,
    /// Repair requests sent to the group.
    pub nacks_sent: u64,
    /// Repair requests sent to loggers.
    pub nacks_to_loggers: u64,
    /// Repair requests not sent because another member sent them.
    pub nacks_suppressed_by_nack: u64,
    /// Repair requests not sent because the data came first.
    pub nacks_suppressed_by_data: u64,
    /// Repair requests not sent because a logger reported that it is fetching the data.
    pub nacks_suppressed_by_pending: u64,
    /// Repair requests of other members overheard.
    pub nacks_heard: u64,
    /// Segmented messages reassembled.
    pub reassembled: u64,
    /// Segmented messages given up, because a newer one came or memory was short.
    pub parts_discarded: u64,
    /// Restarts of senders, as detected.
    pub restarts: u64,
    /// Persistent differences between a sender's digest and ours.
    pub digest_mismatches: u64,
    /// The times from opening a want to the arrival of its data.
    pub recovery: Histogram,
}

/// The settings of a receiver.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveConfig {
    pub(crate) timing: Timing,
    pub(crate) space: SnSpace,
    /// RFC 4410 only, without this library's extensions.
    pub(crate) strict: bool,
    /// Keep messages after their delivery, and compare digests.
    pub(crate) keeps_state: bool,
    /// Hold back mode 0 of a sender that announces data of which this receiver has none.
    pub(crate) require_mode1_first: bool,
    /// Hold back mode 0 of a sender that has sent no mode 1.
    pub(crate) literal_mode0_gate: bool,
    /// The most bytes of messages and parts of all senders.
    pub(crate) bytes_max: usize,
    /// The most data elements of one sender.
    pub(crate) items_per_origin_max: usize,
    /// The most data elements of all senders.
    pub(crate) items_max: usize,
    /// The most segments of a message.
    pub(crate) segments_max: u16,
}

/// State that all [`Origin`](super::Origin)s of a receiver share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: ReceiveConfig,
    pub(crate) interest: Interest,
    /// The number of members heard of recently: the group size G of RFC 5401.
    pub(crate) members: u32,
    /// The time at which this receiver joined the group.
    pub(crate) joined: Moment,
    /// The end of the transfer of the whole state that is under way; until then nothing is
    /// requested.
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

    /// The hold-off after a request. In the extended profile it grows with each attempt.
    pub(super) fn repeat(&self, r_max: Duration, attempt: u32) -> Duration {
        self.config.timing.nack_repeat(r_max, if self.config.strict { 0 } else { attempt })
    }

    /// Whether more memory is in use than allowed.
    pub(crate) fn is_over(&self) -> bool {
        self.bytes > self.config.bytes_max
    }
}
