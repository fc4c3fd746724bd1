//! The network identity of a node, and the rule by which one of two networks yields when
//! they meet.
//!
//! A node that created a network and starts again cannot know whether that network still exists, so
//! it creates a second one. The numbers of the two networks show that they have the same creator.
//! When they meet, one of them ends. Networks of different creators never yield: a wrong address
//! must not end anybody's work.

use base::{is_same_creator, network_since};

/// The network identity of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NetworkIdentity {
    /// Number of the network; 0: none.
    pub(crate) network: u64,
    /// See [`Overlay::set_quorum_size`](crate::Overlay::set_quorum_size).
    pub(crate) quorum_size: u32,
}

impl NetworkIdentity {
    /// Whether the two identities name different networks.
    pub(crate) fn conflicts(self, other: Self) -> bool {
        self.network != 0 && other.network != 0 && self.network != other.network
    }

    /// Whether the network of this identity yields to the other one. Never true in both directions.
    ///
    /// A network yields only to one of the same creator that has a majority of its members
    /// together: a network without a majority may come to nothing, and then ends by itself. A node
    /// that is alone yields to a network of several nodes; otherwise the younger network yields to
    /// the older one.
    pub(crate) fn yields_to(self, other: Self) -> bool {
        let same_creator = is_same_creator(self.network, other.network);
        if !self.conflicts(other) || !same_creator || other.quorum_size == 0 {
            return false;
        }
        match (self.quorum_size == 1, other.quorum_size == 1) {
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

    fn identities() -> Vec<NetworkIdentity> {
        let numbers = [("a", 5), ("a", 9), ("b", 5), ("b", 7)].map(|(name, at)| network_number(name, at));
        let networks = [0, 1].into_iter().chain(numbers);
        networks
            .flat_map(|network| (0..4).map(move |quorum_size| NetworkIdentity { network, quorum_size }))
            .collect()
    }

    #[test]
    fn of_two_networks_at_most_one_gives_way_and_only_to_a_majority_of_the_same_creator() {
        let mut yielded = 0;
        for a in identities() {
            for b in identities() {
                let yields = a.yields_to(b);
                assert!(!(yields && b.yields_to(a)), "{a:?} {b:?}");
                assert!(!yields || (is_same_creator(a.network, b.network) && b.quorum_size > 0));
                assert!(!yields || a.conflicts(b));
                yielded += u32::from(yields);
            }
        }
        assert!(yielded > 10, "{yielded}");
    }

    #[test]
    fn where_both_have_majorities_of_the_same_creator_exactly_one_gives_way() {
        for (s, t) in [(1, 1), (1, 5), (5, 1), (2, 3), (4, 4)] {
            let old = NetworkIdentity { network: network_number("a", 1_000), quorum_size: s };
            let young = NetworkIdentity { network: network_number("a", 2_000), quorum_size: t };
            assert_ne!(old.yields_to(young), young.yields_to(old), "{s} {t}");
            assert_eq!(old.yields_to(young), s == 1 && t > 1, "{s} {t}");
        }
    }
}
