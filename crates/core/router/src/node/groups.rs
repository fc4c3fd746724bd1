//! The pipes of multicast groups.

use super::NodeRouters;
use crate::message::{Fifos, Interest, Message};
use crate::{ClientError, ClientId, FrameError, PipeConfig};
use base::{Moment, NodeKey};
use bytes::Bytes;
use std::time::Duration;

/// The way in which a frame is delivered in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// To all members; it may be lost.
    BestEffort,
    /// To all members. They should repair losses among themselves.
    Reliable,
    /// To this member, repeated until it acknowledges the frame.
    Directed(NodeKey),
}

/// A frame for a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFrame {
    /// The recipients, and how reliably they get it.
    pub delivery: Delivery,
    /// The frame.
    pub frame: Bytes,
}

/// The state of the pipe of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupPipeStatus {
    /// Number of neighbours that the group reaches.
    pub reaches: usize,
    /// Messages that wait.
    pub waiting: usize,
    /// Messages sent so far.
    pub sent_messages: u64,
}

impl<M: Message, I: Interest<Topic = M::Topic>> NodeRouters<M, I> {
    /// Adds multicast groups, whose frames have at most `frame_bytes_max` bytes. Must be called before
    /// any other method.
    ///
    /// # Errors
    /// There are too many groups.
    pub fn add_groups(
        &mut self,
        now: Moment,
        groups: usize,
        frame_bytes_max: usize,
    ) -> Result<(), ClientError> {
        let sender = self.sender();
        // Waiting messages may become obsolete. They wait no longer than they must, and the group's
        // protocol bundles them.
        self.group_pipe = PipeConfig { frame_bytes_max, bundle_wait: Duration::ZERO, ..self.pipe.clone() };
        for _ in 0..groups {
            self.groups.push(self.routers[sender].add_group(now, self.group_pipe.clone())?);
        }
        Ok(())
    }

    /// Sets the groups, one bit each, that reach a neighbour.
    pub fn set_covered(&mut self, now: Moment, key: NodeKey, groups: u64) {
        let sender = self.sender();
        let Some(client) = self.client_at(key, sender) else { return };
        for group in 0..self.groups.len() {
            self.routers[sender].set_covered(client, group, groups & 1 << group != 0);
        }
        let covered = self.routers[sender].covered(client) != 0;
        match self.directed_at(key) {
            Some(_) if !covered => self.end_directed(now, key),
            // Waiting frames go by a group that still reaches the neighbour.
            Some(own) => self.note_group_ready(own),
            None if covered => {
                match self.routers[sender].add_directed(now, client, self.group_pipe.clone()) {
                    Ok(own) => drop(self.directed.insert(own, key)),
                    Err(error) => {
                        tracing::warn!(%key, %error, "what is directed at a node goes over its link");
                    }
                }
            }
            None => {}
        }
    }

    /// The pipe for frames directed at a neighbour.
    fn directed_at(&self, key: NodeKey) -> Option<ClientId> {
        self.directed.iter().find(|(_, other)| **other == key).map(|(own, _)| *own)
    }

    /// From now on frames directed at a neighbour go over its link, if there is one. Frames that
    /// still wait are requested again.
    pub(super) fn end_directed(&mut self, now: Moment, key: NodeKey) {
        let sender = self.sender();
        let Some(own) = self.directed_at(key) else { return };
        self.directed.remove(&own);
        self.directed_ready.retain(|(_, client)| *client != own);
        self.routers[sender].remove_client(now, own);
        self.relieved.push_back((sender, own));
    }

    /// Notes that the pipe of a group, or the pipe directed at one neighbour, has frames.
    pub(super) fn note_group_ready(&mut self, client: ClientId) {
        if let Some(group) = self.groups.iter().position(|pipe| *pipe == client) {
            return self.groups_ready.push_back(group);
        }
        let Some(to) = self.directed.get(&client).and_then(|key| self.client_at(*key, self.sender())) else {
            return;
        };
        // The first group that reaches the neighbour.
        let group = self.routers[self.sender()].covered(to).trailing_zeros() as usize;
        self.directed_ready.retain(|(_, other)| *other != client);
        self.directed_ready.insert((group, client));
        self.groups_ready.push_back(group);
    }

    /// Handles a frame of a neighbour that arrived by a group.
    ///
    /// # Errors
    /// The frame cannot be decoded. It has no effect.
    pub fn handle_group_frame(&mut self, now: Moment, key: NodeKey, frame: Bytes) -> Result<(), FrameError> {
        let receiver = self.receiver();
        // Members that are not neighbours address others.
        let Some(client) = self.client_at(key, receiver) else { return Ok(()) };
        let _received = self.routers[receiver].handle_group_frame(now, client, frame)?;
        self.settle(now);
        Ok(())
    }

    /// A group with frames to send. It is named once until drained.
    pub fn poll_group_ready(&mut self) -> Option<usize> {
        self.groups_ready.pop_front()
    }

    /// The next frame for a group: first frames directed at one member, if `directed` allows them,
    /// then reliable messages, then best effort.
    pub fn poll_group_frame(
        &mut self,
        now: Moment,
        group: usize,
        max: usize,
        directed: bool,
    ) -> Option<GroupFrame> {
        let (sender, client) = (self.sender(), *self.groups.get(group)?);
        let mut next = if directed { self.poll_directed(now, group, max) } else { None };
        let router = &mut self.routers[sender];
        for (fifos, delivery) in
            [(Fifos::RELIABLE, Delivery::Reliable), (Fifos::BEST_EFFORT, Delivery::BestEffort)]
        {
            next = next.or_else(|| {
                let frame = router.poll_frame_of(now, client, fifos, max)?;
                Some(GroupFrame { delivery, frame })
            });
        }
        self.settle(now);
        next
    }

    fn poll_directed(&mut self, now: Moment, group: usize, max: usize) -> Option<GroupFrame> {
        let sender = self.sender();
        while let Some((at, client)) = self.directed_ready.iter().find(|(at, _)| *at == group).copied() {
            if let Some(frame) = self.routers[sender].poll_frame_of(now, client, Fifos::ALL, max) {
                let delivery = Delivery::Directed(*self.directed.get(&client)?);
                return Some(GroupFrame { delivery, frame });
            }
            self.directed_ready.remove(&(at, client));
        }
        None
    }

    /// Messages sent to groups, including those directed at one member.
    pub fn sent_to_groups(&self) -> u64 {
        let router = &self.routers[self.sender()];
        let sent = |pipe: &ClientId| router.pipe_stats(*pipe).map_or(0, |stats| stats.sent_messages);
        self.groups.iter().map(sent).sum::<u64>() + router.stats().directed_messages
    }

    /// The state of a group's pipe; `None` if there is no such group.
    pub fn group_status(&self, group: usize) -> Option<GroupPipeStatus> {
        let pipe = *self.groups.get(group)?;
        let router = &self.routers[self.sender()];
        let covered = |key: &NodeKey| {
            self.client_at(*key, self.sender()).is_some_and(|client| router.covered(client) & 1 << group != 0)
        };
        Some(GroupPipeStatus {
            reaches: self.neighbours.keys().filter(|key| covered(key)).count(),
            waiting: router.queued(pipe).map_or(0, |(messages, _)| messages),
            sent_messages: router.pipe_stats(pipe).map_or(0, |stats| stats.sent_messages),
        })
    }
}
