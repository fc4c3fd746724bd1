//! The multicast groups of a site: which members hear each other, and which groups this node takes
//! part in.
//!
//! If several covered neighbours want a message, the routers put it once into the pipe of a group
//! (a multicast group in the crate `router`). The world carries its frames to the group. A
//! neighbour is covered in a group when it has reported, over its link, that it hears this node
//! there. So nothing is entrusted to a group before the group is known to deliver. Messages that a
//! group cannot deliver go over links as before.

use super::Network;
use base::{Moment, NodeKey};
use bytes::Bytes;
pub use router::{Delivery, GroupFrame};
use rti::NetTopic;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The channel of a link on which a node reports the groups in which it hears the other one.
pub(super) const CHANNEL: u8 = 3;

/// An input from the multicast groups of a node.
#[derive(PartialEq, Eq, Debug)]
pub enum GroupInput<'a> {
    /// Frames of members arrived. Some may have been lost, repeated or overtaken. The list is
    /// emptied for reuse.
    Frames(&'a mut Vec<(NodeKey, Bytes)>),
    /// A member has become audible in a group, or has ceased to be.
    Member {
        /// The group, from 0.
        group: usize,
        /// The member.
        member: NodeKey,
        /// Whether it is heard.
        heard: bool,
    },
    /// The counters of a group were read.
    Counts {
        /// The group, from 0.
        group: usize,
        /// The activity of this node there since it joined.
        counts: GroupCounts,
    },
}

/// A request to the world about the multicast groups of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupOutput {
    /// Join a group as this member, in place of an earlier one.
    Join {
        /// The group, from 0.
        group: usize,
        /// The identity of this node in the group.
        member: NodeKey,
    },
    /// Leave a group.
    Leave {
        /// The group, from 0.
        group: usize,
    },
    /// Frames wait for this group: pull them whenever it can take one, until there are none. Not
    /// repeated until then.
    Ready(usize),
}

/// The activity of a group member since it joined, as its world counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupCounts {
    /// Router frames sent to the group, or to one of its members. Each counts once, however many
    /// members hear it.
    pub sent_frames: u64,
    /// Those of them that the group repairs (mode 1 of SRMP).
    pub reliable_frames: u64,
    /// Those of them that were sent to one member until it acknowledged them (mode 2).
    pub directed_frames: u64,
    /// Reliable frames sent again because members requested them.
    pub repaired_frames: u64,
    /// Frames of others that this node missed and recovered from the group.
    pub recovered_frames: u64,
    /// Datagrams sent, including those of the protocol itself.
    pub sent_datagrams: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Router frames received.
    pub received_frames: u64,
    /// Datagrams received and authenticated.
    pub received_datagrams: u64,
    /// Datagrams that an emulated line lost.
    pub emulated_losses: u64,
    /// Datagrams refused because they belong to other groups, are forged, or cannot be decoded.
    pub refused: u64,
}

/// The state of one group.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Topics that this node wants or advertises and that the group carries. A node that relays for
    /// others joins all groups regardless.
    reasons: BTreeSet<(NetTopic, bool)>,
    joined: bool,
    counts: GroupCounts,
}

/// All groups of the site.
#[derive(Debug)]
pub(super) struct Groups {
    member: NodeKey,
    groups: Vec<Group>,
    /// This node joins all groups, whatever it wants.
    everywhere: bool,
    /// The groups in which each node is heard, one bit each.
    hears: BTreeMap<NodeKey, u64>,
    /// Neighbours that must be told in which groups they are heard.
    unreported: BTreeSet<NodeKey>,
    /// Pending requests other than to send: never [`GroupOutput::Ready`].
    orders: VecDeque<GroupOutput>,
}

impl Groups {
    /// The state of `groups` groups. `everywhere`: join all of them, because this node relays
    /// topics that it does not want itself.
    pub(super) fn new(member: NodeKey, groups: usize, everywhere: bool) -> Self {
        let mut all = Self {
            member,
            groups: vec![Group::default(); groups],
            everywhere,
            hears: BTreeMap::new(),
            unreported: BTreeSet::new(),
            orders: VecDeque::new(),
        };
        for group in 0..groups {
            all.settle(group);
        }
        all
    }

    /// Notes a change in what this node wants (or, with `advertises`, advertises) of a topic.
    pub(super) fn note(&mut self, topic: NetTopic, advertises: bool, any: bool) {
        if self.groups.is_empty() {
            return;
        }
        let group = group_of(&topic, self.groups.len());
        let reasons = &mut self.groups[group].reasons;
        if any {
            reasons.insert((topic, advertises));
        } else {
            reasons.remove(&(topic, advertises));
        }
        self.settle(group);
    }

    fn settle(&mut self, at: usize) {
        let group = &mut self.groups[at];
        let wanted = self.everywhere || !group.reasons.is_empty();
        if wanted && !group.joined {
            group.joined = true;
            self.orders.push_back(GroupOutput::Join { group: at, member: self.member });
        } else if !wanted && group.joined {
            group.joined = false;
            self.orders.push_back(GroupOutput::Leave { group: at });
            for (node, hears) in &mut self.hears {
                if *hears & 1 << at != 0 {
                    *hears &= !(1 << at);
                    self.unreported.insert(*node);
                }
            }
        }
    }

    /// Notes whether this node hears a member of a group.
    pub(super) fn hear(&mut self, group: usize, node: NodeKey, heard: bool) {
        if self.groups.get(group).is_none_or(|group| !group.joined && heard) {
            return;
        }
        let hears = self.hears.entry(node).or_default();
        let before = *hears;
        *hears = if heard { before | 1 << group } else { before & !(1 << group) };
        if *hears != before {
            self.unreported.insert(node);
        }
    }

    /// A new neighbour has not been told anything yet.
    pub(super) fn greet(&mut self, node: NodeKey) {
        if self.hears.get(&node).is_some_and(|hears| *hears != 0) {
            self.unreported.insert(node);
        }
    }

    /// The report that a neighbour must get now: the groups in which it is heard.
    pub(super) fn take_news(&mut self, node: NodeKey) -> Option<Bytes> {
        let unreported = self.unreported.remove(&node);
        let hears = self.hears.get(&node).copied().unwrap_or_default();
        if hears == 0 {
            self.hears.remove(&node);
        }
        unreported.then(|| Bytes::copy_from_slice(&hears.to_be_bytes()))
    }

    pub(super) fn unreported(&self) -> impl Iterator<Item = NodeKey> + '_ {
        self.unreported.iter().copied()
    }

    /// The groups that this node is in, without the counters of the routers.
    pub(super) fn status(&self) -> Vec<GroupStatus> {
        let status = |(group, state): (usize, &Group)| {
            state.joined.then(|| GroupStatus {
                group,
                hears: self.hears.values().filter(|hears| **hears & 1 << group != 0).count(),
                counts: state.counts,
                ..GroupStatus::default()
            })
        };
        self.groups.iter().enumerate().filter_map(status).collect()
    }

    /// The requests to leave all groups, so that the next incarnation of the node can join them.
    pub(super) fn leave_all(&self) -> Vec<GroupOutput> {
        let leave = |(group, state): (usize, &Group)| state.joined.then_some(GroupOutput::Leave { group });
        self.groups.iter().enumerate().filter_map(leave).collect()
    }

    /// Puts requests before all others.
    pub(super) fn begin_with(&mut self, orders: Vec<GroupOutput>) {
        for order in orders.into_iter().rev() {
            self.orders.push_front(order);
        }
    }
}

/// A multicast group that a node takes part in, with its activity there since it joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupStatus {
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
    /// The counters that the world last reported.
    #[serde(flatten)]
    pub counts: GroupCounts,
}

impl GroupStatus {
    /// The part whose change is worth an announcement. The keep-alives of a quiet group are not.
    pub(crate) fn news(&self) -> Self {
        let counts = GroupCounts { received_frames: self.counts.received_frames, ..GroupCounts::default() };
        Self { waiting: 0, counts, ..*self }
    }
}

/// The group to which a topic belongs. It is the same at all nodes.
fn group_of(topic: &NetTopic, groups: usize) -> usize {
    (<NetTopic as router::Interest>::shard_hash(topic) % groups.max(1) as u64) as usize
}

impl Network {
    /// See [`Kernel::handle_group`](crate::Kernel::handle_group).
    pub(crate) fn handle_group(&mut self, now: Moment, input: GroupInput<'_>) {
        match input {
            GroupInput::Frames(frames) => {
                for (from, frame) in frames.drain(..) {
                    if let Err(error) = self.routers.handle_group_frame(now, from, frame) {
                        tracing::debug!(%from, %error, "a multicast frame is not understood");
                    }
                }
            }
            GroupInput::Member { group, member, heard } => {
                self.groups.hear(group, member, heard);
                self.report_receivers();
            }
            GroupInput::Counts { group, counts } => {
                if let Some(group) = self.groups.groups.get_mut(group) {
                    group.counts = counts;
                }
            }
        }
    }

    /// The groups that this node is in.
    pub(super) fn group_status(&self) -> Vec<GroupStatus> {
        let mut all = self.groups.status();
        for status in &mut all {
            if let Some(pipe) = self.routers.group_status(status.group) {
                (status.reaches, status.waiting) = (pipe.reaches, pipe.waiting);
                status.sent_messages = pipe.sent_messages;
            }
        }
        all
    }

    /// See [`Kernel::poll_group`](crate::Kernel::poll_group).
    pub(crate) fn poll_group(&mut self) -> Option<GroupOutput> {
        self.groups.orders.pop_front().or_else(|| self.routers.poll_group_ready().map(GroupOutput::Ready))
    }

    /// See [`Kernel::poll_group_frame`](crate::Kernel::poll_group_frame).
    pub(crate) fn poll_group_frame(
        &mut self,
        now: Moment,
        group: usize,
        max: usize,
        directed: bool,
    ) -> Option<GroupFrame> {
        self.routers.poll_group_frame(now, group, max, directed)
    }

    /// Wakes the links of neighbours that must be told in which groups they are heard.
    pub(super) fn report_receivers(&mut self) {
        let unreported: Vec<_> = self.groups.unreported().collect();
        for node in unreported {
            if !self.wake_neighbour(node) {
                // It is told when it becomes a neighbour.
                self.groups.unreported.remove(&node);
            }
        }
    }

    /// Handles the report of a neighbour about the groups in which it hears this node.
    pub(super) fn handle_hearing(&mut self, now: Moment, neighbour: NodeKey, frame: &[u8]) {
        match frame.first_chunk() {
            Some(hears) if frame.len() == 8 => {
                self.routers.set_covered(now, neighbour, u64::from_be_bytes(*hears));
            }
            _ => tracing::debug!(%neighbour, "what it says of multicast groups is not understood"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hla::handle::InteractionClassHandle;
    use rti::ExecutionId;

    fn topic(class: u32) -> NetTopic {
        NetTopic::Interactions(ExecutionId(1), InteractionClassHandle(class))
    }

    fn orders(groups: &mut Groups) -> Vec<GroupOutput> {
        groups.orders.drain(..).collect()
    }

    #[test]
    fn a_group_is_joined_while_something_of_it_is_wanted_or_offered() {
        let member = NodeKey(5);
        let mut groups = Groups::new(member, 4, false);
        assert_eq!(orders(&mut groups), []);
        let group = group_of(&topic(7), 4);
        groups.note(topic(7), false, true);
        groups.note(topic(7), true, true);
        assert_eq!(orders(&mut groups), [GroupOutput::Join { group, member }]);
        groups.hear(group, NodeKey(9), true);
        assert_eq!(groups.take_news(NodeKey(9)).unwrap()[..], (1_u64 << group).to_be_bytes());
        assert_eq!(groups.take_news(NodeKey(9)), None);
        groups.note(topic(7), false, false);
        assert_eq!(orders(&mut groups), [], "it still advertises something");
        groups.note(topic(7), true, false);
        assert_eq!(orders(&mut groups), [GroupOutput::Leave { group }]);
        assert_eq!(groups.take_news(NodeKey(9)).unwrap()[..], 0_u64.to_be_bytes(), "it is heard no more");
        groups.hear(group, NodeKey(9), true);
        assert_eq!(groups.take_news(NodeKey(9)), None, "a word of a group that was left");
    }

    #[test]
    fn a_relay_is_everywhere_and_tells_a_later_neighbour() {
        let mut groups = Groups::new(NodeKey(5), 2, true);
        assert_eq!(orders(&mut groups).len(), 2);
        groups.hear(1, NodeKey(9), true);
        assert!(groups.take_news(NodeKey(9)).is_some());
        groups.greet(NodeKey(9));
        assert_eq!(groups.take_news(NodeKey(9)).unwrap()[..], 2_u64.to_be_bytes());
        assert_eq!(groups.status().iter().map(|status| status.hears).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(orders(&mut Groups::new(NodeKey(5), 0, true)), []);
    }
}
