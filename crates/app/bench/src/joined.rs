//! How the nodes of one network are joined.

/// The links between the nodes of one network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joined {
    /// Each node to the one before it.
    Chain,
    /// Each node to the first one.
    Star,
    /// Each node to every other one.
    Mesh,
}

impl Joined {
    /// Whether two nodes have a link to each other.
    pub(crate) fn are_next(self, node: usize, other: usize) -> bool {
        match self {
            Joined::Chain => node.abs_diff(other) == 1,
            Joined::Star => node != other && (node == 0 || other == 0),
            Joined::Mesh => node != other,
        }
    }
}
