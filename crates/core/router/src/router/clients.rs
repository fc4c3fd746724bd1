//! Adding and removing clients while the router runs.

use super::{Event, Gone, Router};
use crate::client::{Client, ClientFlags, ClientId, Ready};
use crate::connection::{LinkChange, Timer};
use crate::message::{Interest, Message};
use crate::{ClientConfig, ClientError, ClientKind};
use base::Moment;

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// Adds a client. A persistent link client leads to [`Event::Connect`] at the next timeout,
    /// which is due at once, unless its link is reported up before. A link client that is not
    /// persistent is removed if its link is not up within
    /// [`RouterConfig::silence_max`](crate::RouterConfig::silence_max).
    ///
    /// # Errors
    /// [`ClientError::TooManyClients`].
    pub fn add_client(&mut self, now: Moment, config: ClientConfig) -> Result<ClientId, ClientError> {
        self.observe(now);
        if self.clients.len() >= self.config.clients_max {
            return Err(ClientError::TooManyClients(self.config.clients_max));
        }
        let (kind, flags) = (config.kind, config.flags);
        let id = self.clients.insert(Client::new(self.now, config));
        if flags.contains(ClientFlags::SOURCE) && kind != (ClientKind::Local { advise: false }) {
            self.announced_sources.insert(id);
        }
        if flags.contains(ClientFlags::SINK) && !matches!(kind, ClientKind::Local { .. }) {
            self.announced_sinks.insert(id);
        }
        match kind {
            ClientKind::Link if flags.contains(ClientFlags::PERSISTENT) => {
                self.connections.connect_now(id, self.now);
            }
            ClientKind::Link => self.connections.set(Timer::Silence(id), self.now + self.config.silence_max),
            ClientKind::Memory => self.greet(id),
            ClientKind::Local { .. } | ClientKind::Group => {}
        }
        self.announce_all(id);
        self.advertise_all(id);
        Ok(id)
    }

    /// Removes a client with its interests, its advertisements and everything that waits for it,
    /// and returns its last counters. Removing a client that is gone already does nothing.
    pub fn remove_client(&mut self, now: Moment, id: ClientId) -> Option<crate::PipeStats> {
        self.observe(now);
        self.withdraw_advertisements(id);
        self.withdraw_all(id);
        self.unblock(id);
        self.connections.forget(id);
        self.announced_sources.remove(&id);
        self.announced_sinks.remove(&id);
        let mut client = self.clients.remove(id)?;
        self.release(id);
        self.queued_bytes -= client.pipe.queued_bytes();
        client.pipe.clear();
        Some(client.pipe.stats)
    }

    /// Reports that the link of a client came up, or went down, or could not be brought up.
    ///
    /// When it comes up, both sides announce their identity, their interests and their
    /// advertisements. When it goes down, messages that wait are dropped, and the peer's interest,
    /// advertisements and credit are void. A persistent client is then reached again after a wait;
    /// another one is removed.
    ///
    /// # Errors
    /// [`ClientError::Unknown`], [`ClientError::WrongKind`].
    pub fn handle_link(&mut self, now: Moment, id: ClientId, change: LinkChange) -> Result<(), ClientError> {
        self.observe(now);
        let client = self.clients.get(id).ok_or(ClientError::Unknown(id))?;
        if client.kind != ClientKind::Link {
            return Err(ClientError::WrongKind(id));
        }
        match change {
            LinkChange::Up if client.up => {}
            LinkChange::Up => self.link_up(id),
            LinkChange::Down => self.link_down(id, Gone::LinkDown),
        }
        Ok(())
    }

    fn link_up(&mut self, id: ClientId) {
        let now = self.now;
        let Some(client) = self.clients.get_mut(id) else { return };
        client.up = true;
        (client.last_heard, client.last_sent) = (now, now);
        for interest in client.adverts.announced() {
            client.pipe.queue_interest(interest.clone(), true);
        }
        for advertisement in client.advertised.announced() {
            client.pipe.advertise(advertisement.clone(), true);
        }
        self.connections.connected(id);
        self.connections.set(Timer::KeepAlive(id), now + self.config.keep_alive);
        self.connections.set(Timer::Silence(id), now + self.config.silence_max);
        self.greet(id);
    }

    fn greet(&mut self, id: ClientId) {
        let origin = self.config.origin;
        if let Some(client) = self.clients.get_mut(id) {
            let credit = client.window.begin();
            client.pipe.queue_hello(origin, credit);
        }
        self.wake(id);
    }

    fn link_down(&mut self, id: ClientId, why: Gone) {
        let now = self.now;
        let Some(client) = self.clients.get_mut(id) else { return };
        let persistent = client.is(ClientFlags::PERSISTENT);
        if !persistent {
            self.remove_client(now, id);
            self.events.push_back(Event::Removed { client: id, why });
            return;
        }
        let was_up = std::mem::replace(&mut client.up, false);
        client.peer = None;
        client.ready = Ready::Idle;
        self.queued_bytes -= client.pipe.queued_bytes();
        client.pipe.clear();
        client.reassembly.clear();
        client.best_effort_reassembly.clear();
        client.covered = 0;
        let relieved = std::mem::take(&mut client.pipe.congested);
        self.withdraw_advertisements(id);
        self.withdraw_all(id);
        self.unblock(id);
        self.release(id);
        self.connections.retry(id, now);
        if was_up {
            self.events.push_back(Event::Lost { client: id, why });
        }
        if relieved {
            self.events.push_back(Event::Relieved { client: id });
        }
    }

    /// Handles everything that is due: connection attempts, keep-alives, silent links, and bundles
    /// and credit that waited long enough.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.observe(now);
        while let Some(timer) = self.connections.pop_due(self.now) {
            match timer {
                Timer::Connect(client) => {
                    let attempt = self.connections.attempt(client);
                    self.events.push_back(Event::Connect { client, attempt });
                }
                Timer::Bundle(client) => self.wake(client),
                Timer::Credit(client) => self.trickle(client),
                Timer::KeepAlive(client) => self.keep_alive(client),
                Timer::Silence(client) => self.check_silence(client),
            }
        }
    }

    fn keep_alive(&mut self, id: ClientId) {
        let (now, interval) = (self.now, self.config.keep_alive);
        let Some(client) = self.clients.get_mut(id) else { return };
        let quiet = now.since(client.last_sent) >= interval;
        let from = if quiet { now } else { client.last_sent };
        self.connections.set(Timer::KeepAlive(id), from + interval.max(std::time::Duration::from_millis(1)));
        if quiet {
            client.pipe.queue_keep_alive();
            self.wake(id);
        }
    }

    fn check_silence(&mut self, id: ClientId) {
        let (now, limit) = (self.now, self.config.silence_max);
        let Some(client) = self.clients.get(id) else { return };
        if now.since(client.last_heard) >= limit {
            self.link_down(id, Gone::Silent);
        } else {
            self.connections.set(Timer::Silence(id), client.last_heard + limit);
        }
    }
}
