//! Interest: declared by sinks, announced to sources, only when it changes what a source sends.

use super::{Event, Router};
use crate::client::{ClientFlags, ClientId, Level};
use crate::interest::{Edge, Propagate};
use crate::message::{Interest, Message};
use crate::{ClientError, ClientKind};
use base::Moment;

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// Declares (`any`) or withdraws an interest of a local sink. A client's interests are a set:
    /// declaring twice is declaring once. A link carries the change only if it affects a sender
    /// behind that link; a [gated](Interest::gated) interest travels only towards sources that
    /// advertise it. True when the set changed.
    ///
    /// # Errors
    /// [`ClientError::Unknown`], [`ClientError::NotASink`], [`ClientError::WrongKind`] (not local),
    /// [`ClientError::TooManyInterests`].
    pub fn set_interest(
        &mut self,
        now: Moment,
        sink: ClientId,
        interest: I,
        any: bool,
    ) -> Result<bool, ClientError> {
        self.observe(now);
        let client = self.clients.get(sink).ok_or(ClientError::Unknown(sink))?;
        if !matches!(client.kind, ClientKind::Local { .. }) {
            return Err(ClientError::WrongKind(sink));
        }
        self.change_interest(sink, interest, any)
    }

    /// The interests of a client.
    pub fn interests(&self, client: ClientId) -> impl Iterator<Item = &I> {
        self.clients.get(client).into_iter().flat_map(|client| client.interests.iter())
    }

    pub(super) fn change_interest(
        &mut self,
        sink: ClientId,
        interest: I,
        any: bool,
    ) -> Result<bool, ClientError> {
        let client = self.clients.get_mut(sink).ok_or(ClientError::Unknown(sink))?;
        if !client.is(ClientFlags::SINK) {
            return Err(ClientError::NotASink(sink));
        }
        let level = client.level;
        let declared = client.interests.contains(&interest);
        if any == declared {
            return Ok(false);
        }
        let limit = client.pipe.config.interests_max;
        if any && client.interests.len() >= limit {
            return Err(ClientError::TooManyInterests { client: sink, limit });
        }
        self.stats.interest_changes += 1;
        if any {
            let edge = self.table.join(&interest, sink, level);
            self.propagate(&interest, edge, true);
            if let Some(client) = self.clients.get_mut(sink) {
                client.interests.insert(interest);
            }
        } else {
            client.interests.swap_remove(&interest);
            if let Some(edge) = self.table.leave(&interest, sink) {
                self.propagate(&interest, edge, false);
            }
        }
        Ok(true)
    }

    /// Withdraws all interests of a client, because it is gone or its link is down.
    pub(super) fn withdraw_all(&mut self, sink: ClientId) {
        let Some(client) = self.clients.get_mut(sink) else { return };
        for interest in std::mem::take(&mut client.interests) {
            if let Some(edge) = self.table.leave(&interest, sink) {
                self.propagate(&interest, edge, false);
            }
        }
    }

    /// Announces all interests to a new source, which has advertised nothing yet.
    pub(super) fn announce_all(&mut self, source: ClientId) {
        let Some(client) = self.clients.get(source) else { return };
        if !client.is(ClientFlags::SOURCE) {
            return;
        }
        let level = client.level;
        let wanted = self.table.wanted_of(source, level).filter(|interest| !interest.gated());
        let wanted: Vec<I> = wanted.cloned().collect();
        for interest in &wanted {
            self.announce(source, interest, true);
        }
    }

    fn propagate(&mut self, interest: &I, edge: Edge, any: bool) {
        if edge.is_nothing() {
            return;
        }
        if interest.gated() {
            self.propagate_gated(interest, edge, any);
            return;
        }
        if let Propagate::Only(only) = edge.lower
            && edge.upper.0 >= edge.upper.1
        {
            if self.announced_sources.contains(&only) && self.level_of(only) == Some(Level::LOWER) {
                self.announce(only, interest, any);
            }
            return;
        }
        let mut announced = std::mem::take(&mut self.scratch);
        announced.clear();
        let news = |id: &ClientId| self.level_of(*id).is_some_and(|level| edge.is_news_to(*id, level));
        announced.extend(self.announced_sources.iter().copied().filter(news));
        announced.iter().for_each(|id| self.announce(*id, interest, any));
        self.scratch = announced;
    }

    /// Announces a gated interest to the sources that advertise it, without a look at any others.
    fn propagate_gated(&mut self, interest: &I, edge: Edge, any: bool) {
        let mut announced = std::mem::take(&mut self.scratch);
        announced.clear();
        self.advertisements.each_offering(interest, |source| {
            let is_news = self.level_of(source).is_some_and(|level| edge.is_news_to(source, level));
            if is_news && self.announced_sources.contains(&source) {
                announced.push(source);
            }
        });
        announced.sort_unstable();
        announced.dedup();
        announced.iter().for_each(|id| self.announce(*id, interest, any));
        self.scratch = announced;
    }

    pub(super) fn announce(&mut self, source: ClientId, interest: &I, any: bool) {
        let Some(client) = self.clients.get_mut(source) else { return };
        match client.kind {
            ClientKind::Local { advise: false } | ClientKind::Group => {}
            ClientKind::Local { advise: true } => {
                let interest = interest.clone();
                self.events.push_back(Event::InterestChanged { client: source, interest, any });
            }
            ClientKind::Memory | ClientKind::Link => {
                let (pipe, up) = (&mut client.pipe, client.up);
                client.adverts.change(interest, any, |interest, any| {
                    if up {
                        pipe.queue_interest(interest, any);
                    }
                });
                self.wake(source);
            }
        }
    }
}
