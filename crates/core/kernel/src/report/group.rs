//! The counters of one member of a multicast group.

use crate::network::GroupStatus;
use serde::{Deserialize, Serialize};

/// A multicast group that a node takes part in, with its activity there since it joined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// The group of its site, from 0.
    pub group: usize,
    /// Nodes that it hears there.
    pub hears: usize,
    /// Neighbours that report that they hear it there. The node sends once what several of them
    /// want.
    pub reaches: usize,
    /// Messages that wait to be sent to the group.
    pub waiting: usize,
    /// Messages sent to the group, once each.
    pub sent_messages: u64,
    /// Frames that carried these messages, or messages directed at one member.
    pub sent_frames: u64,
    /// Those of them that the group repairs.
    pub reliable_frames: u64,
    /// Those of them that were directed at one member.
    pub directed_frames: u64,
    /// Reliable frames sent again because members requested them.
    pub repaired_frames: u64,
    /// Frames of others that it missed and recovered from the group.
    pub recovered_frames: u64,
    /// Datagrams sent, including those that hold the group together.
    pub sent_datagrams: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Frames received.
    pub received_frames: u64,
    /// Datagrams received.
    pub received_datagrams: u64,
    /// Datagrams that an emulated line lost.
    pub emulated_losses: u64,
    /// Datagrams that belong to another group, or are damaged or forged.
    pub refused: u64,
}

impl GroupReport {
    pub(crate) fn of(status: &GroupStatus) -> Self {
        let counts = &status.counts;
        Self {
            group: status.group,
            hears: status.heard,
            reaches: status.reached,
            waiting: status.waiting,
            sent_messages: status.sent_messages,
            sent_frames: counts.sent_frames,
            reliable_frames: counts.reliable_frames,
            directed_frames: counts.directed_frames,
            repaired_frames: counts.repaired_frames,
            recovered_frames: counts.recovered_frames,
            sent_datagrams: counts.sent_datagrams,
            sent_bytes: counts.sent_bytes,
            received_frames: counts.received_frames,
            received_datagrams: counts.received_datagrams,
            emulated_losses: counts.emulated_losses,
            refused: counts.refused,
        }
    }

    /// The part of the report whose change is worth an announcement. The keep-alives of a quiet
    /// group are not.
    pub(crate) fn news(&self) -> Self {
        Self {
            group: self.group,
            hears: self.hears,
            reaches: self.reaches,
            sent_messages: self.sent_messages,
            received_frames: self.received_frames,
            ..Self::default()
        }
    }
}
