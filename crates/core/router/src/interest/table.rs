//! The interests of all sinks, filed by key.

use crate::client::{ClientId, Level};
use crate::interest::interested::{Edge, Sinks};
use crate::message::Interest;
use indexmap::IndexMap;

/// Key to interests to sinks. Maps keep the order of insertion as far as it matters: nothing depends on hash order.
#[derive(Debug)]
pub(crate) struct Table<I: Interest> {
    by_key: IndexMap<Option<I::Key>, IndexMap<I, Sinks>>,
    /// Whether some interest is filed under "any": spares the second look-up.
    any_key: bool,
}

impl<I: Interest> Table<I> {
    pub(crate) fn new() -> Self {
        Self { by_key: IndexMap::new(), any_key: false }
    }

    /// Adds a sink to an interest.
    pub(crate) fn join(&mut self, interest: &I, sink: ClientId, level: Level) -> Edge {
        let key = interest.key();
        self.any_key |= key.is_none();
        let interests = self.by_key.entry(key).or_default();
        if !interests.contains_key(interest) {
            interests.insert(interest.clone(), Sinks::new());
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

    /// Calls `f` for each sink that wants a message about `topic` from `source`; several times for a sink with several
    /// matching interests. One or two look-ups, then one match per interest under the key. Allocates nothing.
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

    /// Every interest that a source has to be told.
    pub(crate) fn wanted_of(&self, source: ClientId, level: Level) -> impl Iterator<Item = &I> {
        let all = self.by_key.values().flatten();
        all.filter(move |(_, sinks)| sinks.reachable(source, level).next().is_some())
            .map(|(interest, _)| interest)
    }

    /// True when the source would have to be told `interest`.
    pub(crate) fn is_wanted_of(&self, interest: &I, source: ClientId, level: Level) -> bool {
        let sinks = self.by_key.get(&interest.key()).and_then(|interests| interests.get(interest));
        sinks.is_some_and(|sinks| sinks.reachable(source, level).next().is_some())
    }
}
