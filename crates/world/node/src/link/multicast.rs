//! Multicast groups as a link among all nodes of a site.
//!
//! A message that several neighbours want is sent once, to a group: best effort in mode 0 of SRMP,
//! reliable messages in mode 1, and messages directed at one neighbour in mode 2. The nodes report
//! to each other over their links which groups reach them. In mode 1 the group repairs recent
//! losses. The receiving node requests all others again, as it does for any lost message.
//! docs/decisions/0002-multicast-groups.md has the reasons. Everything else still travels over links.

use std::collections::VecDeque;
use std::rc::Rc;

use base::{Moment, NodeKey};
use kernel::{
    Delivery, GroupCounts, GroupFrame, GroupInput, GroupKeys, GroupOutput, GroupSecret, SECRET_BYTES,
};
use srmp::SendError;
use srmp::auth::{GroupKey, KeyError, Keyring};
use srmp::frames::{FRAME_BYTES, Frames};
use srmp::model::MemberId;
use tokio::sync::Notify;

use crate::machine::{Input, Machine};
use srmp_udp::SrmpHost;

/// Limit of the frames that wait in a host for the rate of its group. Frames that wait in the
/// machine can still be overtaken and dropped.
pub(crate) const WAITING_MAX: u64 = 128;

/// A group that this node takes part in.
pub(crate) struct Membership {
    pub(crate) host: Rc<SrmpHost>,
    /// Whether its frames wait until there is room.
    pub(crate) blocked: bool,
    /// Signalled when the membership becomes blocked.
    pub(crate) full: Rc<Notify>,
    pub(crate) frames: Frames,
}

/// The slot of a group.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) now: Option<Membership>,
    /// Number of memberships so far. Events of an earlier one are ignored.
    pub(crate) lives: u64,
    /// The epoch of the last membership.
    pub(crate) epoch: u32,
}

/// The multicast groups of a node.
#[derive(Default)]
pub(crate) struct Groups {
    places: Vec<Place>,
    /// Groups that the machine wants to join as this member, or (`None`) to leave.
    pub(crate) wanted: VecDeque<(usize, Option<NodeKey>)>,
    /// Signalled when there is something in `wanted`.
    pub(crate) asked: Rc<Notify>,
    /// The keys that the network has handed out.
    pub(crate) keys: Option<GroupKeys>,
}

impl Groups {
    /// Carries out a request of the machine.
    pub(crate) fn obey<M: Machine>(&mut self, machine: &mut M, now: Moment, output: GroupOutput) {
        let change = match output {
            GroupOutput::Join { group, member } => (group, Some(member)),
            GroupOutput::Leave { group } => (group, None),
            GroupOutput::Ready(group) => return self.pump(machine, now, group),
            GroupOutput::Keys(keys) => return self.use_keys(keys),
            GroupOutput::DrawSecret => return draw_secret(machine, now),
        };
        self.wanted.push_back(change);
        self.asked.notify_one();
    }

    /// Uses other keys in all groups.
    fn use_keys(&mut self, keys: GroupKeys) {
        for membership in self.places.iter().filter_map(|place| place.now.as_ref()) {
            if let Err(error) = membership.use_keys(&keys) {
                tracing::error!(%error, "a multicast group does not use its new key");
            }
        }
        self.keys = Some(keys);
    }

    /// Sends the machine's frames for a group while there is room.
    pub(crate) fn pump<M: Machine>(&mut self, machine: &mut M, now: Moment, group: usize) {
        let mut membership = self.places.get_mut(group).and_then(|place| place.now.as_mut());
        loop {
            if let Some(membership) = &mut membership
                && (membership.blocked || membership.host.waiting() >= WAITING_MAX)
            {
                membership.blocked = true;
                membership.full.notify_one();
                return;
            }
            let directed = membership.as_ref().is_none_or(|now| now.frames.has_room());
            let Some(next) = machine.poll_group_frame(now, group, FRAME_BYTES, directed) else { return };
            // Without a membership no neighbour is covered. The last frames for an earlier one are
            // requested again.
            if let Some(membership) = &mut membership
                && let Err(error) = membership.send(next)
            {
                tracing::debug!(group, %error, "a frame was not sent to its group");
            }
        }
    }

    pub(crate) fn place(&mut self, group: usize) -> &mut Place {
        if self.places.len() <= group {
            self.places.resize_with(group + 1, Place::default);
        }
        &mut self.places[group]
    }

    /// The present membership of a group, if it is the one numbered `life`.
    pub(crate) fn membership(&mut self, group: usize, life: u64) -> Option<&mut Membership> {
        let place = self.places.get_mut(group).filter(|place| place.lives == life)?;
        place.now.as_mut()
    }
}

impl Membership {
    pub(crate) fn new(host: Rc<SrmpHost>, full: Rc<Notify>) -> Self {
        Self { host, blocked: false, full, frames: Frames::new() }
    }

    fn send(&mut self, GroupFrame { delivery, frame }: GroupFrame) -> Result<(), SendError> {
        let (frames, by) = (&mut self.frames, &mut &*self.host);
        match delivery {
            Delivery::BestEffort => frames.send_best_effort(by, frame),
            Delivery::Reliable => frames.send_reliable(by, frame),
            Delivery::Directed(to) => frames.send_directed(by, MemberId(to.0), frame),
        }
    }

    fn use_keys(&self, keys: &GroupKeys) -> Result<(), KeyError> {
        let Keyring { current, other, .. } = keyring(keys)?;
        self.host.change(|endpoint| endpoint.set_keys(&current, other.as_ref()))
    }

    pub(crate) fn counts(&self) -> GroupCounts {
        let io = self.host.io();
        self.host.inspect(|endpoint| {
            let counters = endpoint.counters();
            let (sent, received) = (&counters.endpoint.sent, &counters.endpoint.received);
            GroupCounts {
                sent_frames: self.frames.sent(),
                reliable_frames: self.frames.reliable(),
                directed_frames: self.frames.directed(),
                repaired_frames: counters.send.messages_repaired,
                recovered_frames: counters.receive.wants_satisfied,
                sent_datagrams: sent.datagrams,
                sent_bytes: sent.bytes,
                received_frames: self.frames.received(),
                received_datagrams: received.datagrams,
                emulated_losses: io.emulated_losses,
                refused: counters.endpoint.faults.total(),
            }
        })
    }
}

/// Keys of the network, for a group. All groups of a site share their secrets: what SRMP derives from
/// them depends on the group.
pub(crate) fn keyring(keys: &GroupKeys) -> Result<Keyring, KeyError> {
    let key = |key: &kernel::GroupKey| GroupKey::new(key.name.id, key.secret.as_bytes());
    let other = keys.other.as_ref().map(key).transpose()?;
    Ok(Keyring { other, ..Keyring::new(key(&keys.sends)?) })
}

/// Draws a secret for the machine. It asks again if there is none.
fn draw_secret<M: Machine>(machine: &mut M, now: Moment) {
    let mut secret = [0; SECRET_BYTES];
    match getrandom::fill(&mut secret) {
        Ok(()) => machine.handle(now, Input::Group(GroupInput::Secret(GroupSecret::new(secret)))),
        Err(error) => tracing::error!(%error, "the system gives no random numbers for a key"),
    }
}

impl Drop for Membership {
    /// Wakes the task that waits for room, so that it ends.
    fn drop(&mut self) {
        self.full.notify_one();
    }
}
