//! The pipes of multicast groups.

use super::Fabric;
use crate::network::Multicast;
use crate::network::groups::{Delivery, GroupFrame, GroupStatus};
use base::{Moment, NodeKey};
use bytes::Bytes;
use router::{ClientError, ClientId, FrameError, Lanes, PipeConfig};
use std::time::Duration;

impl Fabric {
    /// Adds multicast groups; to be called before anything else.
    ///
    /// # Errors
    /// Too many.
    pub(crate) fn add_groups(&mut self, now: Moment, multicast: Multicast) -> Result<(), ClientError> {
        let speaks = self.speaks();
        let frame_bytes_max = multicast.frame_bytes;
        // What waits may become old; so it waits no longer than it must, and is bundled by the group's protocol.
        self.group_pipe = PipeConfig { frame_bytes_max, bundle_wait: Duration::ZERO, ..self.pipe.clone() };
        for _ in 0..multicast.groups {
            self.groups.push(self.routers[speaks].add_cast(now, self.group_pipe.clone())?);
        }
        Ok(())
    }

    /// The groups, one bit each, that reach a neighbour.
    pub(crate) fn set_covered(&mut self, now: Moment, key: NodeKey, groups: u64) {
        let speaks = self.speaks();
        let Some(client) = self.port_at(key, speaks) else { return };
        for group in 0..self.groups.len() {
            self.routers[speaks].set_covered(client, group, groups & 1 << group != 0);
        }
        let covered = self.routers[speaks].covered(client) != 0;
        match self.directed_at(key) {
            Some(_) if !covered => self.end_directed(now, key),
            // What waits goes by a group that still reaches it.
            Some(own) => self.note_group_ready(own),
            None if covered => {
                match self.routers[speaks].add_directed(now, client, self.group_pipe.clone()) {
                    Ok(own) => drop(self.directed.insert(own, key)),
                    Err(error) => {
                        tracing::warn!(%key, %error, "what is directed at a node goes over its link");
                    }
                }
            }
            None => {}
        }
    }

    /// The pipe for what is directed at a neighbour.
    fn directed_at(&self, key: NodeKey) -> Option<ClientId> {
        self.directed.iter().find(|(_, other)| **other == key).map(|(own, _)| *own)
    }

    /// What is directed at a neighbour goes over its link, if there is one. What waits is asked for again.
    pub(super) fn end_directed(&mut self, now: Moment, key: NodeKey) {
        let speaks = self.speaks();
        let Some(own) = self.directed_at(key) else { return };
        self.directed.remove(&own);
        self.directed_ready.retain(|(_, client)| *client != own);
        self.routers[speaks].remove_client(now, own);
        self.relieved.push_back((speaks, own));
    }

    /// The pipe of a group, or for what is directed at one neighbour, has frames.
    pub(super) fn note_group_ready(&mut self, client: ClientId) {
        if let Some(group) = self.groups.iter().position(|pipe| *pipe == client) {
            return self.groups_ready.push_back(group);
        }
        let Some(to) = self.directed.get(&client).and_then(|key| self.port_at(*key, self.speaks())) else {
            return;
        };
        // The first group that reaches it.
        let group = self.routers[self.speaks()].covered(to).trailing_zeros() as usize;
        self.directed_ready.retain(|(_, other)| *other != client);
        self.directed_ready.insert((group, client));
        self.groups_ready.push_back(group);
    }

    /// A frame of a neighbour that came by a group.
    ///
    /// # Errors
    /// It is not understood, which harms nothing.
    pub(crate) fn handle_group_frame(
        &mut self,
        now: Moment,
        key: NodeKey,
        frame: Bytes,
    ) -> Result<(), FrameError> {
        let hears = self.hears();
        // Members that are no neighbours speak to others.
        let Some(client) = self.port_at(key, hears) else { return Ok(()) };
        let _received = self.routers[hears].handle_cast(now, client, frame)?;
        self.settle(now);
        Ok(())
    }

    /// A group with frames; named once until drained.
    pub(crate) fn poll_group_ready(&mut self) -> Option<usize> {
        self.groups_ready.pop_front()
    }

    /// The next frame for a group: what is directed at one member, if that may be sent now, before reliable messages, and those before best
    /// effort.
    pub(crate) fn poll_group_frame(
        &mut self,
        now: Moment,
        group: usize,
        max: usize,
        directed: bool,
    ) -> Option<GroupFrame> {
        let (speaks, client) = (self.speaks(), *self.groups.get(group)?);
        let mut next = if directed { self.poll_directed(now, group, max) } else { None };
        let router = &mut self.routers[speaks];
        for (lanes, delivery) in
            [(Lanes::RELIABLE, Delivery::Reliable), (Lanes::BEST_EFFORT, Delivery::BestEffort)]
        {
            next = next.or_else(|| {
                let frame = router.poll_frame_of(now, client, lanes, max)?;
                Some(GroupFrame { delivery, frame })
            });
        }
        self.settle(now);
        next
    }

    fn poll_directed(&mut self, now: Moment, group: usize, max: usize) -> Option<GroupFrame> {
        let speaks = self.speaks();
        while let Some((at, client)) = self.directed_ready.iter().find(|(at, _)| *at == group).copied() {
            if let Some(frame) = self.routers[speaks].poll_frame_of(now, client, Lanes::ALL, max) {
                let delivery = Delivery::Directed(*self.directed.get(&client)?);
                return Some(GroupFrame { delivery, frame });
            }
            self.directed_ready.remove(&(at, client));
        }
        None
    }

    /// Messages that went to groups, and those that were meant for one member of them.
    pub(crate) fn sent_to_groups(&self) -> u64 {
        let router = &self.routers[self.speaks()];
        let sent = |pipe: &ClientId| router.pipe_stats(*pipe).map_or(0, |stats| stats.sent_messages);
        self.groups.iter().map(sent).sum::<u64>() + router.stats().directed_messages
    }

    /// Adds what the routers know of a group.
    pub(crate) fn describe_group(&self, status: &mut GroupStatus) {
        let Some(pipe) = self.groups.get(status.group).copied() else { return };
        let router = &self.routers[self.speaks()];
        let covered = |key: &NodeKey| {
            self.port_at(*key, self.speaks())
                .is_some_and(|client| router.covered(client) & 1 << status.group != 0)
        };
        status.reached = self.neighbours.keys().filter(|key| covered(key)).count();
        status.waiting = router.queued(pipe).map_or(0, |(messages, _)| messages);
        status.sent_messages = router.pipe_stats(pipe).map_or(0, |stats| stats.sent_messages);
    }
}
