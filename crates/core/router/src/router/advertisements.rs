//! Advertisements: made by sources, announced to sinks, only when they change something. They lead
//! a gated interest to the sources that matter.

use super::Router;
use crate::client::{ClientFlags, ClientId, Level};
use crate::interest::Edge;
use crate::message::{Interest, Message};
use crate::{ClientError, ClientKind};
use base::Moment;

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// Declares that a local source may (`any`), or no longer may, send what `advertisement`
    /// matches. A client's advertisements are a set: advertising twice is advertising once. An
    /// advertisement travels as messages do, to every client to which the source could send.
    /// [Gated](Interest::gated) interests that [want it](Interest::advertised_by) then come back, and
    /// from then on the source's messages go to the clients that declared them. True when the set
    /// changed.
    ///
    /// # Errors
    /// [`ClientError::Unknown`], [`ClientError::NotASource`], [`ClientError::WrongKind`] (not
    /// local), [`ClientError::TooManyAdvertisements`].
    pub fn set_advertisement(
        &mut self,
        now: Moment,
        source: ClientId,
        advertisement: I,
        any: bool,
    ) -> Result<bool, ClientError> {
        self.observe(now);
        let client = self.clients.get(source).ok_or(ClientError::Unknown(source))?;
        if !matches!(client.kind, ClientKind::Local { .. }) {
            return Err(ClientError::WrongKind(source));
        }
        self.change_advertisement(source, advertisement, any)
    }

    /// The advertisements of a client.
    pub fn advertisements(&self, client: ClientId) -> impl Iterator<Item = &I> {
        self.clients.get(client).into_iter().flat_map(|client| client.advertisements.iter())
    }

    pub(super) fn change_advertisement(
        &mut self,
        source: ClientId,
        advertisement: I,
        any: bool,
    ) -> Result<bool, ClientError> {
        let client = self.clients.get_mut(source).ok_or(ClientError::Unknown(source))?;
        if !client.is(ClientFlags::SOURCE) {
            return Err(ClientError::NotASource(source));
        }
        if any == client.advertisements.contains(&advertisement) {
            return Ok(false);
        }
        let (level, limit) = (client.level, client.pipe.config.advertisements_max);
        if any && client.advertisements.len() >= limit {
            return Err(ClientError::TooManyAdvertisements { client: source, limit });
        }
        self.stats.advertisement_changes += 1;
        if any {
            let edge = self.advertisements.join(&advertisement, source, level.turned());
            self.propagate_advertisement(&advertisement, edge, true);
        } else {
            client.advertisements.swap_remove(&advertisement);
            self.drop_advertisement(&advertisement, source);
        }
        self.turn_gate(&advertisement, source, level, any);
        if any && let Some(client) = self.clients.get_mut(source) {
            client.advertisements.insert(advertisement);
        }
        Ok(true)
    }

    fn drop_advertisement(&mut self, advertisement: &I, source: ClientId) {
        if let Some(edge) = self.advertisements.leave(advertisement, source) {
            self.propagate_advertisement(advertisement, edge, false);
        }
    }

    /// Withdraws all advertisements of a client, because it is gone or its link is down.
    pub(super) fn withdraw_advertisements(&mut self, source: ClientId) {
        let Some(client) = self.clients.get_mut(source) else { return };
        let level = client.level;
        for advertisement in std::mem::take(&mut client.advertisements) {
            self.drop_advertisement(&advertisement, source);
            self.turn_gate(&advertisement, source, level, false);
        }
    }

    /// Announces, or withdraws, the gated interests that concern the source by this advertisement
    /// and no other.
    fn turn_gate(&mut self, advertisement: &I, source: ClientId, level: Level, any: bool) {
        if !self.announced_sources.contains(&source) {
            return;
        }
        for interest in self.table.gated_by(advertisement, source, level) {
            if !self.advertisements.is_advertised(&interest, source, Some(advertisement)) {
                self.announce(source, &interest, any);
            }
        }
    }

    /// Announces to a new sink everything that is advertised to it.
    pub(super) fn advertise_all(&mut self, sink: ClientId) {
        if !self.announced_sinks.contains(&sink) {
            return;
        }
        let Some(level) = self.level_of(sink) else { return };
        let advertised: Vec<I> = self.advertisements.wanted_of(sink, level.turned()).cloned().collect();
        for advertisement in &advertised {
            self.advertise(sink, advertisement, true);
        }
    }

    fn propagate_advertisement(&mut self, advertisement: &I, edge: Edge, any: bool) {
        if edge.is_nothing() {
            return;
        }
        let mut announced = std::mem::take(&mut self.scratch);
        announced.clear();
        let news =
            |id: &ClientId| self.level_of(*id).is_some_and(|level| edge.is_news_to(*id, level.turned()));
        announced.extend(self.announced_sinks.iter().copied().filter(news));
        announced.iter().for_each(|id| self.advertise(*id, advertisement, any));
        self.scratch = announced;
    }

    fn advertise(&mut self, sink: ClientId, advertisement: &I, any: bool) {
        let Some(client) = self.clients.get_mut(sink) else { return };
        let (pipe, up) = (&mut client.pipe, client.up);
        client.advertised.change(advertisement, any, |advertisement, any| {
            if up {
                pipe.advertise(advertisement, any);
            }
        });
        self.wake(sink);
    }
}
