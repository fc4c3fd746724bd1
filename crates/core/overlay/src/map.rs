//! The link-state map: the newest announcement of every node.

use base::NodeKey;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Largest sequence number. No node counts this far, so an entry with a larger one is hostile.
pub(crate) const SEQUENCE_MAX: u64 = 1 << 62;

/// The announcement of a node about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: NodeKey,
    /// Sequence number, greater with every change.
    pub(crate) sequence: u64,
    pub(crate) network: u64,
    /// The node is a member of that network and not only joining it, so others may adopt the
    /// network.
    pub(crate) member: bool,
    /// The node leaves for good.
    pub(crate) leaving: bool,
    pub(crate) name: String,
    pub(crate) urls: Vec<String>,
    /// Keys in order, each with the round trip in microseconds.
    pub(crate) neighbours: Vec<(NodeKey, u32)>,
    pub(crate) info: Bytes,
}

impl Entry {
    /// Memory that the entry takes, in bytes; about the length of its wire form.
    pub(crate) fn bytes(&self) -> usize {
        let urls: usize = self.urls.iter().map(|url| url.len() + 8).sum();
        64 + self.name.len() + urls + 16 * self.neighbours.len() + self.info.len()
    }

    /// The round trip to a neighbour, in microseconds; `None`: that node is not a neighbour.
    pub(crate) fn rtt_to(&self, neighbour: NodeKey) -> Option<u32> {
        let at = self.neighbours.binary_search_by_key(&neighbour, |known| known.0).ok()?;
        Some(self.neighbours[at].1)
    }

    /// Whether the entry equals the other one, sequence number aside.
    pub(crate) fn has_same_content(&self, other: &Entry) -> bool {
        self.key == other.key
            && self.network == other.network
            && self.member == other.member
            && self.leaving == other.leaving
            && self.name == other.name
            && self.urls == other.urls
            && self.neighbours == other.neighbours
            && self.info == other.info
    }
}

/// The outcome of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    Newer,
    /// The same or a newer entry is here.
    Known,
    /// There is no room for the entry.
    Full,
}

/// The newest entry of every known node, this one included.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    entries: BTreeMap<NodeKey, Entry>,
    /// Nodes by name. After a restart a node has another key and the same name.
    names: BTreeMap<String, BTreeSet<NodeKey>>,
    bytes: usize,
    nodes_max: usize,
    bytes_max: usize,
}

impl Map {
    pub(crate) fn new(nodes_max: usize, bytes_max: usize) -> Self {
        Self { entries: BTreeMap::new(), names: BTreeMap::new(), bytes: 0, nodes_max, bytes_max }
    }

    pub(crate) fn insert(&mut self, entry: Entry) -> Inserted {
        let known = self.entries.get(&entry.key);
        if known.is_some_and(|known| known.sequence >= entry.sequence) {
            return Inserted::Known;
        }
        if !self.has_room(&entry) {
            return Inserted::Full;
        }
        self.insert_always(entry);
        Inserted::Newer
    }

    /// Whether there is room for the entry.
    pub(crate) fn has_room(&self, entry: &Entry) -> bool {
        let known = self.entries.get(&entry.key);
        let nodes = self.entries.len() + usize::from(known.is_none());
        let bytes = self.bytes - known.map_or(0, Entry::bytes) + entry.bytes();
        nodes <= self.nodes_max && bytes <= self.bytes_max
    }

    /// Inserts the entry of this node itself, whether there is room or not.
    pub(crate) fn insert_always(&mut self, entry: Entry) {
        self.remove(entry.key);
        self.bytes += entry.bytes();
        self.names.entry(entry.name.clone()).or_default().insert(entry.key);
        self.entries.insert(entry.key, entry);
    }

    pub(crate) fn remove(&mut self, key: NodeKey) {
        if let Some(entry) = self.entries.remove(&key) {
            self.bytes -= entry.bytes();
            if let Some(keys) = self.names.get_mut(&entry.name) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.names.remove(&entry.name);
                }
            }
        }
    }

    pub(crate) fn get(&self, key: NodeKey) -> Option<&Entry> {
        self.entries.get(&key)
    }

    pub(crate) fn sequence(&self, key: NodeKey) -> u64 {
        self.get(key).map_or(0, |entry| entry.sequence)
    }

    /// Nodes of that name, in order of their keys.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = NodeKey> + '_ {
        self.names.get(name).into_iter().flatten().copied()
    }

    /// The name of a node, or its key.
    pub(crate) fn name(&self, key: NodeKey) -> String {
        self.get(key).map_or_else(|| key.to_string(), |entry| entry.name.clone())
    }

    /// All entries, in order of their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn entry(key: u64, sequence: u64, neighbours: &[u64]) -> Entry {
        Entry {
            key: NodeKey(key),
            sequence,
            network: 0,
            member: true,
            leaving: false,
            name: format!("N{key}"),
            urls: Vec::new(),
            neighbours: neighbours.iter().map(|n| (NodeKey(*n), 0)).collect(),
            info: Bytes::new(),
        }
    }

    #[test]
    fn the_newest_stays_whatever_the_order() {
        let mut map = Map::new(10, 10_000);
        assert_eq!(map.insert(entry(1, 2, &[5])), Inserted::Newer);
        assert_eq!(map.insert(entry(1, 1, &[])), Inserted::Known);
        assert_eq!(map.insert(entry(1, 2, &[])), Inserted::Known);
        assert_eq!(map.get(NodeKey(1)).unwrap().rtt_to(NodeKey(5)), Some(0));
        assert_eq!(map.insert(entry(1, 3, &[])), Inserted::Newer);
        assert_eq!(map.get(NodeKey(1)).unwrap().rtt_to(NodeKey(5)), None);
    }

    #[test]
    fn neither_nodes_nor_bytes_exceed_their_limits() {
        let mut map = Map::new(2, 1_000);
        assert_eq!(map.insert(entry(1, 1, &[])), Inserted::Newer);
        assert_eq!(map.insert(entry(2, 1, &[])), Inserted::Newer);
        assert_eq!(map.insert(entry(3, 1, &[])), Inserted::Full);
        assert_eq!(map.insert(entry(2, 2, &(10..90).collect::<Vec<_>>())), Inserted::Full);
        assert_eq!((map.len(), map.sequence(NodeKey(2))), (2, 1));
        map.remove(NodeKey(1));
        assert_eq!(map.insert(entry(3, 1, &[])), Inserted::Newer);
        map.remove(NodeKey(2));
        map.remove(NodeKey(3));
        assert_eq!(map.bytes, 0);
    }
}
