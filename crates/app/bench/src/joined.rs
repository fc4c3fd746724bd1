//! How the nodes of one network are joined.

use std::sync::Arc;

/// The links between the nodes of one network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Joined {
    /// Each node to the one before it.
    Chain,
    /// Each node to the first one.
    Star,
    /// Each node but the first to its parent, a node before it: that of node `n` is at `n - 1`.
    Tree(Arc<[usize]>),
    /// Each node to every other one.
    Mesh,
}

impl Joined {
    /// The node that a node joins by configuration. In a mesh it learns of the others. `None` for the
    /// first node, and for one without a parent.
    pub(crate) fn target(&self, node: usize) -> Option<usize> {
        match self {
            Joined::Chain => node.checked_sub(1),
            Joined::Star | Joined::Mesh => (node > 0).then_some(0),
            Joined::Tree(parents) => parents.get(node.checked_sub(1)?).copied(),
        }
    }

    /// Whether two nodes have a link to each other.
    pub(crate) fn are_next(&self, node: usize, other: usize) -> bool {
        match self {
            Joined::Mesh => node != other,
            _ => self.target(node) == Some(other) || self.target(other) == Some(node),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_with_a_link_are_next_to_each_other() {
        let tree = Joined::Tree([0, 0, 1].into());
        let pairs = |joined: &Joined| {
            let all = (0..4).flat_map(|a| (a + 1..4).map(move |b| (a, b)));
            all.filter(|(a, b)| joined.are_next(*a, *b)).collect::<Vec<_>>()
        };
        assert_eq!(pairs(&tree), [(0, 1), (0, 2), (1, 3)]);
        assert_eq!(pairs(&Joined::Chain), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(pairs(&Joined::Star), [(0, 1), (0, 2), (0, 3)]);
        assert_eq!(pairs(&Joined::Mesh).len(), 6);
        assert_eq!([0, 3, 4].map(|node| tree.target(node)), [None, Some(1), None]);
    }
}
