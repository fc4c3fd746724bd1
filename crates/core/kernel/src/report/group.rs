//! A multicast group, as one member of it counts.

use crate::network::GroupStatus;
use serde::{Deserialize, Serialize};

/// A multicast group that a node takes part in: what it did there since it joined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// Which of the groups of its site, from 0.
    pub group: usize,
    /// Nodes that it hears there.
    pub hears: usize,
    /// Neighbours that say that they hear it there: for them it sends once what several of them want.
    pub reaches: usize,
    /// Messages that wait to be sent to the group.
    pub waiting: usize,
    /// Messages sent to the group, once each.
    pub sent_messages: u64,
    /// Frames with these messages, and with those directed at one member.
    pub sent_frames: u64,
    /// Those of them that are repaired in the group.
    pub reliable_frames: u64,
    /// Those of them that went to one member.
    pub directed_frames: u64,
    /// Reliable frames sent again, because members asked.
    pub repaired_frames: u64,
    /// Frames of others that it missed and had from the group after all.
    pub recovered_frames: u64,
    /// Datagrams sent, those included that hold the group together.
    pub sent_datagrams: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Frames that came.
    pub received_frames: u64,
    /// Datagrams that came.
    pub received_datagrams: u64,
    /// Datagrams lost by an emulated line.
    pub emulated_losses: u64,
    /// Datagrams that are none of this group, or damaged, or forged.
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

    /// What is worth telling others for its own sake: not that a quiet group is alive.
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
