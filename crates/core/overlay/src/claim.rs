//! The claim of a node about its network, and the rule by which one of two networks yields when
//! they meet.
//!
//! A node that founded a network and starts again cannot know whether that network still exists, so
//! it founds a second one. The numbers of the two networks show that they have the same founder.
//! When they meet, one of them ends. Networks of different founders never yield: a wrong address
//! must not end anybody's work.

use base::{is_same_founder, network_since};

/// The claim of a node about its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Number of the network; 0: none.
    pub(crate) network: u64,
    /// See [`Overlay::set_strength`](crate::Overlay::set_strength).
    pub(crate) strength: u32,
}

impl Claim {
    /// Whether the two claims name different networks.
    pub(crate) fn conflicts(self, other: Self) -> bool {
        self.network != 0 && other.network != 0 && self.network != other.network
    }

    /// Whether the network of this claim yields to the other one. Never true in both directions.
    ///
    /// A network yields only to one of the same founder that has a majority of its members
    /// together: a network without a majority may come to nothing, and then ends by itself. A node
    /// that is alone yields to a network of several nodes; otherwise the younger network yields to
    /// the older one.
    pub(crate) fn gives_way_to(self, other: Self) -> bool {
        let same_founder = is_same_founder(self.network, other.network);
        if !self.conflicts(other) || !same_founder || other.strength == 0 {
            return false;
        }
        match (self.strength == 1, other.strength == 1) {
            (true, false) => true,
            (false, true) => false,
            _ => network_since(self.network) > network_since(other.network),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::network_number;

    fn claims() -> Vec<Claim> {
        let numbers = [("a", 5), ("a", 9), ("b", 5), ("b", 7)].map(|(name, at)| network_number(name, at));
        let networks = [0, 1].into_iter().chain(numbers);
        networks.flat_map(|network| (0..4).map(move |strength| Claim { network, strength })).collect()
    }

    #[test]
    fn of_two_networks_at_most_one_gives_way_and_only_to_a_majority_of_the_same_founder() {
        let mut gave_way = 0;
        for a in claims() {
            for b in claims() {
                let gives = a.gives_way_to(b);
                assert!(!(gives && b.gives_way_to(a)), "{a:?} {b:?}");
                assert!(!gives || (is_same_founder(a.network, b.network) && b.strength > 0));
                assert!(!gives || a.conflicts(b));
                gave_way += u32::from(gives);
            }
        }
        assert!(gave_way > 10, "{gave_way}");
    }

    #[test]
    fn where_both_have_majorities_of_the_same_founder_exactly_one_gives_way() {
        for (s, t) in [(1, 1), (1, 5), (5, 1), (2, 3), (4, 4)] {
            let old = Claim { network: network_number("a", 1_000), strength: s };
            let young = Claim { network: network_number("a", 2_000), strength: t };
            assert_ne!(old.gives_way_to(young), young.gives_way_to(old), "{s} {t}");
            assert_eq!(old.gives_way_to(young), s == 1 && t > 1, "{s} {t}");
        }
    }
}
