//! Counters: plain, monotonic, with the unit in the name. `each` is the only list of names.

use crate::Priority;

/// The reason for dropping a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// It waited, and had to make room for another message.
    Displaced,
    /// There was no room when it arrived.
    Full,
    /// A newer message with the same key made it obsolete.
    Superseded,
    /// The link went down, or the client went away, while it waited.
    Gone,
}

impl DropReason {
    /// Number of reasons.
    pub const COUNT: usize = 4;
}

/// Counters of one pipe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipeStats {
    /// Frames handed to the link.
    pub sent_frames: u64,
    /// Of these, frames that held nothing but a sign of life.
    pub sent_keep_alives: u64,
    /// Bytes of these frames.
    pub sent_bytes: u64,
    /// Messages handed on, in frames or whole.
    pub sent_messages: u64,
    /// Interest announcements handed on.
    pub sent_interests: u64,
    /// Advertisements, and withdrawals of advertisements, handed on.
    pub sent_advertisements: u64,
    /// Of the frames, best-effort ones (datagrams).
    pub sent_datagrams: u64,
    /// Grants of credit to the peer.
    pub sent_credits: u64,
    /// Of these, partial grants made while credit was withheld.
    pub sent_trickles: u64,
    /// Times that messages began to wait because the peer's credit was used up.
    pub credit_waits: u64,
    /// Frames taken in.
    pub received_frames: u64,
    /// Bytes of these frames.
    pub received_bytes: u64,
    /// Messages taken in.
    pub received_messages: u64,
    /// Of the frames, those that came as datagrams.
    pub received_datagrams: u64,
    /// Datagrams that were faulty and ignored, wholly or from some record on.
    pub faulty_datagrams: u64,
    /// Fragments that could not be used because another one is missing.
    pub lost_fragments: u64,
    /// Messages of the client that had to wait at the entrance because some pipe was full.
    pub stalled_messages: u64,
    /// Most bytes that ever waited at the entrance at a time.
    pub stalled_bytes_max: u64,
    /// Messages that must not be dropped and found no room.
    pub refused_messages: u64,
    /// Most bytes that ever waited in the pipe.
    pub queued_bytes_max: u64,
    /// Dropped messages, by class and reason.
    pub dropped: [[u64; DropReason::COUNT]; Priority::COUNT],
}

impl PipeStats {
    /// Messages of `class` dropped for `reason`.
    pub fn dropped(&self, class: Priority, reason: DropReason) -> u64 {
        self.dropped[class.index()][reason as usize]
    }

    /// All messages dropped.
    pub fn dropped_messages(&self) -> u64 {
        self.dropped.iter().flatten().sum()
    }

    pub(crate) fn drop(&mut self, class: Priority, reason: DropReason) {
        self.dropped[class.index()][reason as usize] += 1;
    }

    /// Calls `f` with the name and value of every counter.
    pub fn each(&self, mut f: impl FnMut(&'static str, u64)) {
        f("sent_frames", self.sent_frames);
        f("sent_keep_alives", self.sent_keep_alives);
        f("sent_bytes", self.sent_bytes);
        f("sent_messages", self.sent_messages);
        f("sent_interests", self.sent_interests);
        f("sent_offers", self.sent_advertisements);
        f("sent_datagrams", self.sent_datagrams);
        f("sent_credits", self.sent_credits);
        f("sent_trickles", self.sent_trickles);
        f("credit_waits", self.credit_waits);
        f("received_frames", self.received_frames);
        f("received_bytes", self.received_bytes);
        f("received_messages", self.received_messages);
        f("received_datagrams", self.received_datagrams);
        f("faulty_datagrams", self.faulty_datagrams);
        f("lost_fragments", self.lost_fragments);
        f("stalled_messages", self.stalled_messages);
        f("stalled_bytes_max", self.stalled_bytes_max);
        f("refused_messages", self.refused_messages);
        f("queued_bytes_max", self.queued_bytes_max);
        for (name, value) in DROPPED.iter().flatten().zip(self.dropped.iter().flatten()) {
            f(name, *value);
        }
    }
}

const DROPPED: [[&str; DropReason::COUNT]; Priority::COUNT] = [
    [
        "dropped_control_displaced",
        "dropped_control_full",
        "dropped_control_superseded",
        "dropped_control_gone",
    ],
    [
        "dropped_reliable_displaced",
        "dropped_reliable_full",
        "dropped_reliable_superseded",
        "dropped_reliable_gone",
    ],
    ["dropped_state_displaced", "dropped_state_full", "dropped_state_superseded", "dropped_state_gone"],
    ["dropped_bulk_displaced", "dropped_bulk_full", "dropped_bulk_superseded", "dropped_bulk_gone"],
];

/// Counters of one router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterStats {
    /// Messages that local clients submitted.
    pub submitted_messages: u64,
    /// Messages that came through pipes.
    pub received_messages: u64,
    /// Clones put into pipes.
    pub forwarded_messages: u64,
    /// Messages that went once into the pipe of a group instead of the pipes of several clients.
    pub group_messages: u64,
    /// Messages that went to one client through the pipe for messages directed at it.
    pub directed_messages: u64,
    /// Messages that no client here wanted.
    pub unwanted_messages: u64,
    /// Messages that arrived a second time.
    pub duplicate_messages: u64,
    /// Messages that had crossed too many links.
    pub hops_exceeded: u64,
    /// Interest announcements of clients that changed something.
    pub interest_changes: u64,
    /// Advertisements of clients, and withdrawals of advertisements, that changed something.
    pub advertisement_changes: u64,
}

impl RouterStats {
    /// Calls `f` with the name and value of every counter.
    pub fn each(&self, mut f: impl FnMut(&'static str, u64)) {
        f("submitted_messages", self.submitted_messages);
        f("received_messages", self.received_messages);
        f("forwarded_messages", self.forwarded_messages);
        f("cast_messages", self.group_messages);
        f("directed_messages", self.directed_messages);
        f("unwanted_messages", self.unwanted_messages);
        f("duplicate_messages", self.duplicate_messages);
        f("hops_exceeded", self.hops_exceeded);
        f("interest_changes", self.interest_changes);
        f("offer_changes", self.advertisement_changes);
    }
}
