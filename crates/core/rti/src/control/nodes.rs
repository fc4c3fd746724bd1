//! The nodes of the network.

use super::{Event, NodeId};
use base::NodeKey;
use hla::RtiError;
use std::collections::{BTreeMap, BTreeSet};

/// A node that is part of the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeRecord {
    /// Its number, which handles of object instances carry.
    pub node: NodeId,
    /// Its incarnation.
    pub key: NodeKey,
    /// Its name.
    pub name: String,
}

/// The nodes that are part of the network, and the keys of those that were.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Nodes {
    pub(super) live: BTreeMap<NodeId, NodeRecord>,
    /// Keys of removed nodes, so that a late command cannot add one of them again. There are at
    /// most as many as numbers.
    pub(super) removed: BTreeSet<NodeKey>,
    /// The number that was assigned last.
    pub(super) last: u16,
}

impl Nodes {
    pub(super) fn by_key(&self, key: NodeKey) -> Option<&NodeRecord> {
        self.live.values().find(|record| record.key == key)
    }

    /// The name of a node; empty for one without a network.
    pub(super) fn name(&self, node: NodeId) -> &str {
        self.live.get(&node).map_or("", |record| &record.name)
    }

    /// Whether there ever was a node.
    pub(super) fn is_network(&self) -> bool {
        self.last > 0
    }

    /// Whether `node` may have federates: it is part of the network, or there is no network and it
    /// is the single node.
    pub(super) fn may_act(&self, node: NodeId) -> bool {
        if self.is_network() { self.live.contains_key(&node) } else { node == NodeId::SINGLE }
    }

    pub(super) fn add(&mut self, key: NodeKey, name: String) -> Result<Vec<Event>, RtiError> {
        if self.by_key(key).is_some() {
            return Ok(Vec::new());
        }
        if self.removed.contains(&key) {
            let text = format!(
                "node `{name}` ({key}) was removed from the network; restart it to let it join again"
            );
            return Err(RtiError::internal(text));
        }
        if let Some(twin) = self.live.values().find(|record| record.name == name) {
            let text = format!(
                "a node called `{name}` ({}, {}) is part of the network; a node with its name can join once it is removed",
                twin.node, twin.key
            );
            return Err(RtiError::internal(text));
        }
        let number = self.last.checked_add(1).ok_or_else(|| {
            RtiError::internal(format!("node `{name}` ({key}): all {} node numbers were given out", u16::MAX))
        })?;
        self.last = number;
        let node = NodeId(number);
        self.live.insert(node, NodeRecord { node, key, name: name.clone() });
        Ok(vec![Event::NodeAdded { node, key, name }])
    }

    /// Removes a node. Returns its record if it was part of the network.
    pub(super) fn remove(&mut self, key: NodeKey) -> Option<NodeRecord> {
        let node = self.by_key(key)?.node;
        self.removed.insert(key);
        self.live.remove(&node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_given_again_and_keys_do_not_come_back() {
        let mut nodes = Nodes::default();
        assert!(nodes.may_act(NodeId(1)) && !nodes.may_act(NodeId(2)), "a single node is number 1");
        nodes.add(NodeKey(10), "A".to_owned()).unwrap();
        nodes.add(NodeKey(20), "B".to_owned()).unwrap();
        assert_eq!(nodes.add(NodeKey(20), "B".to_owned()), Ok(Vec::new()), "said twice");
        assert_eq!(nodes.remove(NodeKey(20)).map(|record| record.node), Some(NodeId(2)));
        assert_eq!(nodes.remove(NodeKey(20)), None);
        assert!(!nodes.may_act(NodeId(2)));
        let late = nodes.add(NodeKey(20), "B".to_owned()).unwrap_err();
        assert!(late.details.contains("`B` (k20) was removed"), "{late}");
        let twin = nodes.add(NodeKey(30), "A".to_owned()).unwrap_err();
        assert!(twin.details.contains("`A` (n1, k10)"), "{twin}");
        nodes.add(NodeKey(30), "B".to_owned()).unwrap();
        assert_eq!(nodes.by_key(NodeKey(30)).map(|record| record.node), Some(NodeId(3)));
    }

    #[test]
    fn numbers_end() {
        let mut nodes = Nodes { last: u16::MAX, ..Nodes::default() };
        assert!(nodes.add(NodeKey(1), "A".to_owned()).unwrap_err().details.contains("65535"));
    }
}
