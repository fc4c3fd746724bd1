//! The clients that share one interest or one advertisement, and the clients to whom a change is
//! news.

use crate::client::{ClientId, Level};
use smallvec::SmallVec;

/// The clients that have to be told of a change, among those that may send to everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagate<P> {
    /// Nobody: the change affects no sender.
    Nothing,
    /// Everybody but this one.
    AllExcept(P),
    /// This one alone.
    Only(P),
}

/// A set in which each member matters to all others. The first member is news to all others, the
/// second is news to the first, the third is news to nobody. Leaving is the reverse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interested<P> {
    members: SmallVec<[P; 4]>,
}

impl<P> Default for Interested<P> {
    fn default() -> Self {
        Self { members: SmallVec::new() }
    }
}

impl<P: Copy + Ord> Interested<P> {
    /// Adds a member and returns the clients to whom it is news.
    pub fn join(&mut self, member: P) -> Propagate<P> {
        let Err(place) = self.members.binary_search(&member) else { return Propagate::Nothing };
        let news = match self.members.as_slice() {
            [] => Propagate::AllExcept(member),
            [only] => Propagate::Only(*only),
            _ => Propagate::Nothing,
        };
        self.members.insert(place, member);
        news
    }

    /// Removes a member and returns the clients to whom it is news.
    pub fn leave(&mut self, member: P) -> Propagate<P> {
        let Ok(place) = self.members.binary_search(&member) else { return Propagate::Nothing };
        self.members.remove(place);
        match self.members.as_slice() {
            [] => Propagate::AllExcept(member),
            [only] => Propagate::Only(*only),
            _ => Propagate::Nothing,
        }
    }

    /// The members, in order.
    pub fn members(&self) -> &[P] {
        &self.members
    }
}

/// The sources to whom a change is news: lower ones by [`Propagate`], upper ones by level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) lower: Propagate<ClientId>,
    /// Upper sources whose level is above the first and at most the second. An upper source may
    /// send to a sink below it, so only the lowest level among the sinks matters to it.
    pub(crate) upper: (Level, Level),
}

impl Edge {
    pub(crate) fn is_news_to(&self, source: ClientId, level: Level) -> bool {
        if level == Level::LOWER {
            match self.lower {
                Propagate::Nothing => false,
                Propagate::AllExcept(except) => source != except,
                Propagate::Only(only) => source == only,
            }
        } else {
            self.upper.0 < level && level <= self.upper.1
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.lower == Propagate::Nothing && self.upper.0 >= self.upper.1
    }
}

/// The sinks that share one interest, with their levels. Or the sources that share one
/// advertisement, with their levels [turned](Level::turned): then read "sink" for "source" and
/// "source" for "sink".
#[derive(Clone, Debug)]
pub(crate) struct Parties {
    clients: Interested<ClientId>,
    /// Parallel to the members of `clients`.
    levels: SmallVec<[Level; 4]>,
}

impl Parties {
    pub(crate) fn new() -> Self {
        Self { clients: Interested::default(), levels: SmallVec::new() }
    }

    fn lowest(&self) -> Level {
        self.levels.iter().copied().min().unwrap_or(Level(u8::MAX))
    }

    pub(crate) fn join(&mut self, client: ClientId, level: Level) -> Edge {
        let before = self.lowest();
        if let Err(place) = self.clients.members().binary_search(&client) {
            self.levels.insert(place, level);
        }
        let lower = self.clients.join(client);
        Edge { lower, upper: (self.lowest(), before) }
    }

    pub(crate) fn leave(&mut self, client: ClientId) -> Edge {
        let before = self.lowest();
        if let Ok(place) = self.clients.members().binary_search(&client) {
            self.levels.remove(place);
        }
        let lower = self.clients.leave(client);
        Edge { lower, upper: (before, self.lowest()) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// The members, in order.
    pub(crate) fn members(&self) -> &[ClientId] {
        self.clients.members()
    }

    pub(crate) fn contains(&self, client: ClientId) -> bool {
        self.members().binary_search(&client).is_ok()
    }

    /// The parties to which a message from `source` may go.
    pub(crate) fn reachable(&self, source: ClientId, from: Level) -> impl Iterator<Item = ClientId> + '_ {
        let members = self.clients.members().iter().zip(&self.levels);
        members
            .filter(move |(client, level)| **client != source && from.may_send_to(**level))
            .map(|(client, _)| *client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn id(slot: u8) -> ClientId {
        ClientId { slot: u32::from(slot), generation: 0 }
    }

    /// The rule itself: true if this source has to know of the interest.
    fn wanted_of(sinks: &BTreeMap<u8, Level>, source: u8, level: Level) -> bool {
        sinks.iter().any(|(sink, at)| *sink != source && level.may_send_to(*at))
    }

    proptest! {
        /// A change is news to a source exactly if it changes the source's sending, for every
        /// level.
        #[test]
        fn edges_agree_with_a_naive_model(
            levels in prop::collection::vec(0u8..4, 8),
            steps in prop::collection::vec((0u8..8, any::<bool>()), 1..60),
        ) {
            let level = |client: u8| Level(levels[usize::from(client)]);
            let (mut sinks, mut model) = (Parties::new(), BTreeMap::new());
            for (client, join) in steps {
                let before: Vec<_> = (0..8).map(|source| wanted_of(&model, source, level(source))).collect();
                let edge = if join {
                    model.insert(client, level(client));
                    sinks.join(id(client), level(client))
                } else {
                    model.remove(&client);
                    sinks.leave(id(client))
                };
                for source in 0..8u8 {
                    let after = wanted_of(&model, source, level(source));
                    let news = after != before[usize::from(source)];
                    prop_assert_eq!(edge.is_news_to(id(source), level(source)), news, "source {} {:?}", source, edge);
                    prop_assert_eq!(sinks.reachable(id(source), level(source)).next().is_some(), after);
                }
            }
        }
    }

    #[test]
    fn first_second_and_third() {
        let mut interested = Interested::default();
        assert_eq!(interested.join('b'), Propagate::AllExcept('b'));
        assert_eq!(interested.join('a'), Propagate::Only('b'));
        assert_eq!(interested.join('c'), Propagate::Nothing);
        assert_eq!(interested.join('c'), Propagate::Nothing);
        assert_eq!(interested.leave('b'), Propagate::Nothing);
        assert_eq!(interested.leave('a'), Propagate::Only('c'));
        assert_eq!(interested.leave('c'), Propagate::AllExcept('c'));
        assert_eq!(interested.leave('c'), Propagate::Nothing);
    }
}
