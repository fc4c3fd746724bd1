//! The interests of all sinks, or the advertisements of all sources, filed by key.

use crate::client::{ClientId, Level};
use crate::interest::interested::{Edge, Parties};
use crate::message::Interest;
use base::HandleState;
use indexmap::IndexMap;

/// A map from keys to interests to sinks; or from keys to advertisements to sources. The levels of
/// these sources are [turned](Level::turned), so that everything said of sinks holds for sources
/// and the other way round. The maps keep insertion order where it matters: nothing depends on hash
/// order.
#[derive(Debug)]
pub(crate) struct Table<I: Interest> {
    by_key: IndexMap<Option<I::Key>, IndexMap<I, Parties, HandleState>, HandleState>,
    /// True if some interest is filed under "any"; otherwise the second look-up is skipped.
    any_key: bool,
}

impl<I: Interest> Table<I> {
    pub(crate) fn new() -> Self {
        Self { by_key: IndexMap::default(), any_key: false }
    }

    /// Adds a sink to an interest.
    pub(crate) fn join(&mut self, interest: &I, sink: ClientId, level: Level) -> Edge {
        let key = interest.key();
        self.any_key |= key.is_none();
        let interests = self.by_key.entry(key).or_default();
        if !interests.contains_key(interest) {
            interests.insert(interest.clone(), Parties::new());
        }
        interests.get_mut(interest).expect("inserted above").join(sink, level)
    }

    /// Removes a sink from an interest.
    pub(crate) fn leave(&mut self, interest: &I, sink: ClientId) -> Option<Edge> {
        let key = interest.key();
        let interests = self.by_key.get_mut(&key)?;
        let sinks = interests.get_mut(interest)?;
        let edge = sinks.leave(sink);
        if sinks.is_empty() {
            interests.swap_remove(interest);
        }
        if interests.is_empty() {
            self.any_key &= key.is_some();
            self.by_key.swap_remove(&key);
        }
        Some(edge)
    }

    /// Calls `f` for each sink that wants a message about `topic` from `source`, several times for
    /// a sink with several matching interests. Does one or two look-ups, then one match per
    /// interest under the key. Allocates nothing.
    pub(crate) fn each_sink(
        &self,
        topic: &I::Topic,
        source: ClientId,
        from: Level,
        mut f: impl FnMut(ClientId),
    ) {
        if self.by_key.is_empty() {
            return;
        }
        let of_key = self.by_key.get(&Some(I::topic_key(topic)));
        let of_any = if self.any_key { self.by_key.get(&None) } else { None };
        for (interest, sinks) in of_key.into_iter().chain(of_any).flatten() {
            if interest.matches(topic) {
                sinks.reachable(source, from).for_each(&mut f);
            }
        }
    }

    /// Every interest that a source has to be told of.
    pub(crate) fn wanted_of(&self, source: ClientId, level: Level) -> impl Iterator<Item = &I> {
        let all = self.by_key.values().flatten();
        all.filter(move |(_, sinks)| sinks.reachable(source, level).next().is_some())
            .map(|(interest, _)| interest)
    }

    /// Calls `f` for each interest, with its sinks, that could match something with the key `key`:
    /// those under that key and under "any"; all of them if `key` is `None`.
    fn each_beside(&self, key: Option<&I::Key>, mut f: impl FnMut(&I, &Parties)) {
        let Some(key) = key else {
            self.by_key.values().flatten().for_each(|(interest, parties)| f(interest, parties));
            return;
        };
        let of_key = self.by_key.get(&Some(key.clone()));
        let of_any = if self.any_key { self.by_key.get(&None) } else { None };
        of_key.into_iter().chain(of_any).flatten().for_each(|(interest, parties)| f(interest, parties));
    }

    /// In a table of advertisements: calls `f` for each source that advertises something `interest`
    /// wants, several times for a source with several such advertisements.
    pub(crate) fn each_offering(&self, interest: &I, mut f: impl FnMut(ClientId)) {
        self.each_beside(interest.key().as_ref(), |advertisement, parties| {
            if interest.advertised_by(advertisement) {
                parties.members().iter().copied().for_each(&mut f);
            }
        });
    }

    /// In a table of advertisements: true if `source` advertises something `interest` wants, by an
    /// advertisement other than `except`.
    pub(crate) fn is_advertised(&self, interest: &I, source: ClientId, except: Option<&I>) -> bool {
        let mut advertised = false;
        self.each_beside(interest.key().as_ref(), |advertisement, parties| {
            advertised |= Some(advertisement) != except
                && parties.contains(source)
                && interest.advertised_by(advertisement);
        });
        advertised
    }

    /// In a table of interests: the gated ones that want something `advertisement` promises, and of
    /// which `source` has to be told if it makes that advertisement.
    pub(crate) fn gated_by(&self, advertisement: &I, source: ClientId, level: Level) -> Vec<I> {
        let mut gated = Vec::new();
        self.each_beside(advertisement.key().as_ref(), |interest, sinks| {
            let wants = interest.gated() && interest.advertised_by(advertisement);
            if wants && sinks.reachable(source, level).next().is_some() {
                gated.push(interest.clone());
            }
        });
        gated
    }

    /// True when the source would have to be told of `interest`.
    pub(crate) fn is_wanted_of(&self, interest: &I, source: ClientId, level: Level) -> bool {
        let sinks = self.by_key.get(&interest.key()).and_then(|interests| interests.get(interest));
        sinks.is_some_and(|sinks| sinks.reachable(source, level).next().is_some())
    }
}
