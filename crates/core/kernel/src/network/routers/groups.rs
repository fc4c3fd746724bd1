//! The pipes of multicast groups.

use super::Routers;
use crate::network::Multicast;
use crate::network::groups::{Delivery, GroupFrame, GroupStatus};
use base::{Moment, NodeKey};
use bytes::Bytes;
use router::{ClientError, ClientId, Fifos, FrameError, PipeConfig};
use std::time::Duration;

impl Routers {
    /// Adds multicast groups. Must be called before any other method.
    ///
    /// # Errors
    /// There are too many groups.
    pub(crate) fn add_groups(&mut self, now: Moment, multicast: Multicast) -> Result<(), ClientError> {
        let sender = self.sender();
        let frame_bytes_max = multicast.frame_bytes;
        // Waiting messages may become obsolete. They wait no longer than they must, and the group's
        // protocol bundles them.
        self.group_pipe = PipeConfig { frame_bytes_max, bundle_wait: Duration::ZERO, ..self.pipe.clone() };
        for _ in 0..multicast.groups {
            self.groups.push(self.routers[sender].add_group(now, self.group_pipe.clone())?);
        }
        Ok(())
    }

    /// Sets the groups, one bit each, that reach a neighbour.
    pub(crate) fn set_covered(&mut self, now: Moment, key: NodeKey, groups: u64) {
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
    pub(crate) fn handle_group_frame(
        &mut self,
        now: Moment,
        key: NodeKey,
        frame: Bytes,
    ) -> Result<(), FrameError> {
        let receiver = self.receiver();
        // Members that are not neighbours address others.
        let Some(client) = self.client_at(key, receiver) else { return Ok(()) };
        let _received = self.routers[receiver].handle_group_frame(now, client, frame)?;
        self.settle(now);
        Ok(())
    }

    /// A group with frames to send. It is named once until drained.
    pub(crate) fn poll_group_ready(&mut self) -> Option<usize> {
        self.groups_ready.pop_front()
    }

    /// The next frame for a group: first frames directed at one member, if `directed` allows them,
    /// then reliable messages, then best effort.
    pub(crate) fn poll_group_frame(
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
    pub(crate) fn sent_to_groups(&self) -> u64 {
        let router = &self.routers[self.sender()];
        let sent = |pipe: &ClientId| router.pipe_stats(*pipe).map_or(0, |stats| stats.sent_messages);
        self.groups.iter().map(sent).sum::<u64>() + router.stats().directed_messages
    }

    /// Adds the routers' counters of a group.
    pub(crate) fn describe_group(&self, status: &mut GroupStatus) {
        let Some(pipe) = self.groups.get(status.group).copied() else { return };
        let router = &self.routers[self.sender()];
        let covered = |key: &NodeKey| {
            self.client_at(*key, self.sender())
                .is_some_and(|client| router.covered(client) & 1 << status.group != 0)
        };
        status.reaches = self.neighbours.keys().filter(|key| covered(key)).count();
        status.waiting = router.queued(pipe).map_or(0, |(messages, _)| messages);
        status.sent_messages = router.pipe_stats(pipe).map_or(0, |stats| stats.sent_messages);
    }
}
