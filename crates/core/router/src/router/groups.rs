//! Casts, which are one pipe for several clients, and pipes beside a link for messages directed at
//! one.

use super::Router;
use crate::client::{ClientFlags, ClientId};
use crate::config::FRAME_BYTES_MIN;
use crate::frame::{FRAME_HEAD_BYTES, message_record_bytes};
use crate::message::{Interest, Message};
use crate::{ClientConfig, ClientError, ClientKind, PipeConfig};
use base::Moment;

/// Limit of groups of one router, which have one bit each in a `u64`.
pub const GROUPS_MAX: usize = 64;

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// Adds a multicast group. Topics are [spread](Interest::shard_hash) over all groups of the
    /// router in the order in which they were added, so add all of them before the first message.
    ///
    /// A message takes the group if two or more of the clients that want it are
    /// [covered](Router::set_covered), and if it fits into one frame of
    /// [`PipeConfig::frame_bytes_max`]. Credit has no meaning here.
    ///
    /// # Errors
    /// [`ClientError::TooManyClients`], also for more than [`GROUPS_MAX`] groups.
    pub fn add_group(&mut self, now: Moment, pipe: PipeConfig) -> Result<ClientId, ClientError> {
        if self.groups.len() >= GROUPS_MAX {
            return Err(ClientError::TooManyClients(GROUPS_MAX));
        }
        let id = self.add_datagram(now, pipe)?;
        self.groups.push(id);
        Ok(id)
    }

    /// Adds a pipe for messages [directed](Message::directed) at one client. It carries the
    /// messages that must not be dropped, that no other [covered](Router::set_covered) client
    /// wants, and that fit into a frame. It replaces an earlier pipe of that client; the caller
    /// removes that one, and removes this one together with the client. Its frames are like those
    /// of a group.
    ///
    /// # Errors
    /// [`ClientError::Unknown`], [`ClientError::TooManyClients`].
    pub fn add_directed(
        &mut self,
        now: Moment,
        client: ClientId,
        pipe: PipeConfig,
    ) -> Result<ClientId, ClientError> {
        self.clients.get(client).ok_or(ClientError::Unknown(client))?;
        let id = self.add_datagram(now, pipe)?;
        if let Some(client) = self.clients.get_mut(client) {
            client.directed = Some(id);
        }
        Ok(id)
    }

    fn add_datagram(&mut self, now: Moment, mut pipe: PipeConfig) -> Result<ClientId, ClientError> {
        pipe.credit_bytes = None;
        let config = ClientConfig { flags: ClientFlags::empty(), rank: 0, kind: ClientKind::Group, pipe };
        let id = self.add_client(now, config)?;
        if let Some(client) = self.clients.get_mut(id) {
            client.pipe.is_group = true;
        }
        Ok(id)
    }

    /// Sets whether the group with this number (from 0, in the order of adding) reaches a client.
    /// That ends when the client is removed or its link goes down.
    pub fn set_covered(&mut self, client: ClientId, group: usize, covered: bool) {
        if group < self.groups.len()
            && let Some(client) = self.clients.get_mut(client)
        {
            let bit = 1 << group;
            client.covered = if covered { client.covered | bit } else { client.covered & !bit };
        }
    }

    /// The groups that reach a client, one bit each.
    pub fn covered(&self, client: ClientId) -> u64 {
        self.clients.get(client).map_or(0, |client| client.covered)
    }

    /// Replaces all targets that the group reaches by the group. If that is one target only,
    /// replaces it by its pipe for directed messages.
    pub(super) fn share(&mut self, message: &M, targets: &mut Vec<ClientId>) {
        if self.groups.is_empty() {
            return;
        }
        let shard_hash = (I::shard_hash(message.topic()) % self.groups.len() as u64) as usize;
        let clients = &self.clients;
        let reached =
            |id: &ClientId| clients.get(*id).is_some_and(|client| client.covered & 1 << shard_hash != 0);
        let mut covered = targets.iter().filter(|id| reached(id));
        let Some(first) = covered.next().copied() else { return };
        if covered.next().is_none() {
            return self.direct(message, first, targets);
        }
        let group = self.groups[shard_hash];
        if !self.takes(group, message) {
            return;
        }
        targets.retain(|id| !reached(id));
        targets.push(group);
        self.stats.group_messages += 1;
    }

    /// Replaces the link of a client by its pipe for directed messages.
    fn direct(&mut self, message: &M, to: ClientId, targets: &mut [ClientId]) {
        if message.droppable() || !message.directed() {
            return;
        }
        let own = self.clients.get(to).and_then(|client| client.directed);
        let Some(own) = own.filter(|own| self.takes(*own, message)) else { return };
        targets.iter_mut().filter(|id| **id == to).for_each(|id| *id = own);
        self.stats.directed_messages += 1;
    }

    /// True if the pipe exists, and the message fits into a frame of it.
    fn takes(&self, pipe: ClientId, message: &M) -> bool {
        let limit = self.clients.get(pipe).map(|client| client.pipe.config.frame_bytes_max);
        let needed = FRAME_HEAD_BYTES + message_record_bytes(message.wire_bytes());
        limit.is_some_and(|limit| needed <= limit.max(FRAME_BYTES_MIN))
    }
}
