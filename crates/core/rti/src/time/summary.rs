//! The output bounds of any set of federates, in constant size.
//!
//! The closed form of GALT (see [`super::bounds`]) needs the two least bounds and the two shortest
//! delays only. Summaries of disjoint sets merge into that of their union, in any shape: federates
//! into a node, and nodes into a federation execution.
//!
//! A summary leaves out the floors of conditional federates. They raise a bound in rare cases, and
//! a federate that waits for a grant never needs the difference: its request is not above its own
//! bound, and that is what the closed form limits it to.

use super::bound::{Bound, Delay};
use hla::handle::FederateHandle;

/// The two least keys of different federates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LeastTwo<K> {
    first: Option<(K, FederateHandle)>,
    second: Option<(K, FederateHandle)>,
}

impl<K> Default for LeastTwo<K> {
    fn default() -> Self {
        Self { first: None, second: None }
    }
}

impl<K: Copy + Ord> LeastTwo<K> {
    /// Adds the key of a federate that has none here yet.
    pub(super) fn add(&mut self, key: K, federate: FederateHandle) {
        let new = Some((key, federate));
        if self.first.is_none_or(|first| (key, federate) < first) {
            self.second = std::mem::replace(&mut self.first, new);
        } else if self.second.is_none_or(|second| (key, federate) < second) {
            self.second = new;
        }
    }

    /// Both, the least first.
    pub(super) fn iter(self) -> impl Iterator<Item = (K, FederateHandle)> {
        self.first.into_iter().chain(self.second)
    }

    /// The least key of a federate other than `federate`.
    fn without(self, federate: FederateHandle) -> Option<(K, FederateHandle)> {
        self.iter().find(|&(_, other)| other != federate)
    }
}

/// The bounds of a set of regulating federates, for others.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Summary {
    /// The least time stamps that they may send if they receive nothing more.
    pub(super) bounds: LeastTwo<Bound>,
    /// The shortest delays of the conditional ones among them.
    pub(super) delays: LeastTwo<Delay>,
}

impl Summary {
    /// The summary of both sets, which have no federate in common.
    pub(super) fn merge(mut self, other: Self) -> Self {
        other.bounds.iter().for_each(|(bound, federate)| self.bounds.add(bound, federate));
        other.delays.iter().for_each(|(delay, federate)| self.delays.add(delay, federate));
        self
    }

    /// The least bound, and the federate that has it; `None` if no federate regulates time.
    pub(super) fn least(&self) -> Option<(Bound, FederateHandle)> {
        self.bounds.first
    }

    /// The shortest delay of a conditional federate.
    pub(super) fn shortest_delay(&self) -> Option<Delay> {
        self.delays.first.map(|(delay, _)| delay)
    }

    /// The federate that holds up `federate`: the one with the least bound among the others.
    pub(super) fn holder(&self, federate: FederateHandle) -> Option<FederateHandle> {
        self.bounds.without(federate).map(|(_, holder)| holder)
    }

    /// The greatest available logical time of a federate of this set, or of none.
    pub(super) fn galt(&self, federate: FederateHandle) -> Bound {
        let Some((least, holder)) = self.least() else { return Bound::INFINITE };
        if holder != federate {
            return least;
        }
        let second = self.bounds.second.map_or(Bound::INFINITE, |(bound, _)| bound);
        let conditional = self.delays.without(federate);
        second.min(conditional.map_or(Bound::INFINITE, |(delay, _)| least.after(delay)))
    }
}
