//! The multicast groups of a site: which members hear each other, and which groups this node takes
//! part in.
//!
//! If several covered neighbours want a message, the routers put it once into the pipe of a group
//! (a multicast group in the crate `router`). The world carries its frames to the group. A
//! neighbour is covered in a group when it has reported, over its link, that it hears this node
//! there. So nothing is entrusted to a group before the group is known to deliver. Messages that a
//! group cannot deliver go over links as before.

use super::Network;
use super::group_keys::{GroupKeys, GroupSecret, KeyMessage, KeyName, KeyRotation};
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
    /// A secret from the system's random source, as [`GroupOutput::DrawSecret`] asked for.
    Secret(GroupSecret),
}

/// A request to the world about the multicast groups of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroupOutput {
    /// Join a group as this member, in place of an earlier one. If the network hands out the keys
    /// ([`NetworkConfig::group_keys`](crate::NetworkConfig::group_keys)), with those of the last
    /// [`GroupOutput::Keys`], which comes first.
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
    /// Use these keys in all groups, in place of earlier ones, from the next datagram on.
    Keys(GroupKeys),
    /// Draw a secret from the system's random source, and answer with [`GroupInput::Secret`].
    DrawSecret,
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
    /// The groups in which each neighbour hears this node, as it reports, one bit each.
    heard_by: BTreeMap<NodeKey, u64>,
    /// The keys of the groups, if the network hands them out.
    pub(super) keys: Option<KeyRotation>,
    /// Pending requests other than to send: never [`GroupOutput::Ready`].
    orders: VecDeque<GroupOutput>,
}

impl Groups {
    /// The state of `groups` groups. `everywhere`: join all of them, because this node relays
    /// topics that it does not want itself.
    pub(super) fn new(member: NodeKey, groups: usize, everywhere: bool, keys: Option<KeyRotation>) -> Self {
        let mut all = Self {
            member,
            groups: vec![Group::default(); groups],
            everywhere,
            hears: BTreeMap::new(),
            unreported: BTreeSet::new(),
            heard_by: BTreeMap::new(),
            keys,
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
                key: self.keys.as_ref().and_then(KeyRotation::sends),
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
    /// The key under which it sends, if the network hands out the keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyName>,
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
            GroupInput::Secret(secret) => self.change_keys(now, |keys| keys.handle_secret(now, secret)),
        }
    }

    /// Makes an input to the keys of the groups, and carries out what follows for this node.
    pub(super) fn change_keys(&mut self, now: Moment, change: impl FnOnce(&mut KeyRotation)) {
        let Some(keys) = &mut self.groups.keys else { return };
        change(keys);
        let addressees: Vec<_> = keys.addressees().collect();
        for node in addressees {
            self.wake_neighbour(node);
        }
        for (neighbour, hears) in self.groups.heard_by.clone() {
            self.cover(now, neighbour, hears);
        }
    }

    /// The next message about keys for a neighbour.
    pub(super) fn poll_key_message(&mut self, now: Moment, neighbour: NodeKey) -> Option<Bytes> {
        self.groups.keys.as_mut()?.poll_message(now, neighbour).map(|message| message.encode())
    }

    /// Entrusts the messages for a neighbour to the groups in which it hears this node, as long as
    /// it has the key.
    pub(super) fn cover(&mut self, now: Moment, neighbour: NodeKey, hears: u64) {
        let has_key = self.groups.keys.as_ref().is_none_or(|keys| keys.covers(neighbour));
        self.routers.set_covered(now, neighbour, if has_key { hears } else { 0 });
    }

    /// Begins to exchange keys with a neighbour, if its link proves who it is.
    pub(super) fn exchange_keys(&mut self, now: Moment, neighbour: NodeKey) {
        if self.links.is_proven(neighbour) {
            self.change_keys(now, |keys| keys.handle_up(now, neighbour));
        } else if self.groups.keys.is_some() {
            tracing::warn!(%neighbour, "its link proves nothing: it gets no key of the multicast groups");
        }
    }

    /// Forgets what a neighbour has said of the groups over a link that is down.
    pub(super) fn lose_member(&mut self, now: Moment, neighbour: NodeKey) {
        self.groups.heard_by.remove(&neighbour);
        self.change_keys(now, |keys| keys.handle_down(now, neighbour));
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
        let Groups { keys, orders, .. } = &mut self.groups;
        if let Some(output) = keys.as_mut().and_then(KeyRotation::poll_output) {
            return Some(output);
        }
        // A group is joined under its key.
        let has_key = keys.as_ref().is_none_or(|keys| keys.sends().is_some());
        let order = if has_key { orders.pop_front() } else { None };
        order.or_else(|| self.routers.poll_group_ready().map(GroupOutput::Ready))
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

    /// Handles what a neighbour says about groups: in which of them it hears this node (eight
    /// octets), or their keys.
    pub(super) fn handle_group_news(&mut self, now: Moment, neighbour: NodeKey, frame: Bytes) {
        match frame.first_chunk() {
            Some(hears) if frame.len() == 8 => {
                let hears = u64::from_be_bytes(*hears);
                if self.groups.keys.is_some() {
                    self.groups.heard_by.insert(neighbour, hears);
                }
                self.cover(now, neighbour, hears);
            }
            _ => match KeyMessage::decode(frame) {
                Ok(message) => self.change_keys(now, |keys| keys.handle_message(now, neighbour, message)),
                Err(error) => tracing::debug!(%neighbour, %error, "what it says of multicast groups"),
            },
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
        let mut groups = Groups::new(member, 4, false, None);
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
        let mut groups = Groups::new(NodeKey(5), 2, true, None);
        assert_eq!(orders(&mut groups).len(), 2);
        groups.hear(1, NodeKey(9), true);
        assert!(groups.take_news(NodeKey(9)).is_some());
        groups.greet(NodeKey(9));
        assert_eq!(groups.take_news(NodeKey(9)).unwrap()[..], 2_u64.to_be_bytes());
        assert_eq!(groups.status().iter().map(|status| status.hears).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(orders(&mut Groups::new(NodeKey(5), 0, true, None)), []);
    }
}
