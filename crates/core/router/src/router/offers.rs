//! Offers: made by sources, announced to sinks, only when they change something. They lead a gated
//! interest to the sources that matter.

use super::Router;
use crate::client::{ClientFlags, ClientId, Level};
use crate::interest::Edge;
use crate::message::{Interest, Message};
use crate::{ClientError, ClientKind};
use base::Moment;

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// Declares that a local source may (`any`), or no longer may, send what `offer` matches. A
    /// client's offers are a set: offering twice is offering once. An offer travels as messages do,
    /// to every client to which the source could send. [Gated](Interest::gated) interests that
    /// [want it](Interest::offered_by) then come back, and from then on the source's messages go to
    /// the clients that declared them. True when the set changed.
    ///
    /// # Errors
    /// [`ClientError::Unknown`], [`ClientError::NotASource`], [`ClientError::WrongKind`] (not
    /// local), [`ClientError::TooManyOffers`].
    pub fn set_offer(
        &mut self,
        now: Moment,
        source: ClientId,
        offer: I,
        any: bool,
    ) -> Result<bool, ClientError> {
        self.observe(now);
        let client = self.clients.get(source).ok_or(ClientError::Unknown(source))?;
        if !matches!(client.kind, ClientKind::Local { .. }) {
            return Err(ClientError::WrongKind(source));
        }
        self.change_offer(source, offer, any)
    }

    /// The offers of a client.
    pub fn offers(&self, client: ClientId) -> impl Iterator<Item = &I> {
        self.clients.get(client).into_iter().flat_map(|client| client.offers.iter())
    }

    pub(super) fn change_offer(
        &mut self,
        source: ClientId,
        offer: I,
        any: bool,
    ) -> Result<bool, ClientError> {
        let client = self.clients.get_mut(source).ok_or(ClientError::Unknown(source))?;
        if !client.is(ClientFlags::SOURCE) {
            return Err(ClientError::NotASource(source));
        }
        if any == client.offers.contains(&offer) {
            return Ok(false);
        }
        let (level, limit) = (client.level, client.pipe.config.offers_max);
        if any && client.offers.len() >= limit {
            return Err(ClientError::TooManyOffers { client: source, limit });
        }
        self.stats.offer_changes += 1;
        if any {
            let edge = self.offers.join(&offer, source, level.turned());
            self.announce(&offer, edge, true);
        } else {
            client.offers.swap_remove(&offer);
            self.drop_offer(&offer, source);
        }
        self.turn_gate(&offer, source, level, any);
        if any && let Some(client) = self.clients.get_mut(source) {
            client.offers.insert(offer);
        }
        Ok(true)
    }

    fn drop_offer(&mut self, offer: &I, source: ClientId) {
        if let Some(edge) = self.offers.leave(offer, source) {
            self.announce(offer, edge, false);
        }
    }

    /// Withdraws all offers of a client, because it is gone or its link is down.
    pub(super) fn withdraw_offers(&mut self, source: ClientId) {
        let Some(client) = self.clients.get_mut(source) else { return };
        let level = client.level;
        for offer in std::mem::take(&mut client.offers) {
            self.drop_offer(&offer, source);
            self.turn_gate(&offer, source, level, false);
        }
    }

    /// Announces, or withdraws, the gated interests that concern the source by this offer and no
    /// other.
    fn turn_gate(&mut self, offer: &I, source: ClientId, level: Level, any: bool) {
        if !self.told_sources.contains(&source) {
            return;
        }
        for interest in self.table.gated_by(offer, source, level) {
            if !self.offers.is_offered(&interest, source, Some(offer)) {
                self.tell(source, &interest, any);
            }
        }
    }

    /// Announces to a new sink everything that is offered to it.
    pub(super) fn tell_offers(&mut self, sink: ClientId) {
        if !self.told_sinks.contains(&sink) {
            return;
        }
        let Some(level) = self.level_of(sink) else { return };
        let offered: Vec<I> = self.offers.wanted_of(sink, level.turned()).cloned().collect();
        for offer in &offered {
            self.tell_offer(sink, offer, true);
        }
    }

    fn announce(&mut self, offer: &I, edge: Edge, any: bool) {
        if edge.is_nothing() {
            return;
        }
        let mut told = std::mem::take(&mut self.scratch);
        told.clear();
        let news =
            |id: &ClientId| self.level_of(*id).is_some_and(|level| edge.is_news_to(*id, level.turned()));
        told.extend(self.told_sinks.iter().copied().filter(news));
        told.iter().for_each(|id| self.tell_offer(*id, offer, any));
        self.scratch = told;
    }

    fn tell_offer(&mut self, sink: ClientId, offer: &I, any: bool) {
        let Some(client) = self.clients.get_mut(sink) else { return };
        let (pipe, up) = (&mut client.pipe, client.up);
        client.offered.change(offer, any, |offer, any| {
            if up {
                pipe.tell_offer(offer, any);
            }
        });
        self.wake(sink);
    }
}
