//! The channels between the nodes of a federation execution, and when nothing is on its way.
//!
//! Once all federates have answered a save, a node changes what an image holds only because of a
//! message of another node. Each node of the network therefore reports, whenever it has nothing left to do, how
//! much it has sent and received. Every channel keeps the order of its messages: if as much was
//! received as was sent, on each of them, no message crosses the line that the reports draw through
//! the nodes, and none is sent after it. (F. Mattern, "Algorithms for distributed termination
//! detection", 1987, section 6, with a vector of counters for each node.)

use super::{NodeId, PublishedClass};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of messages in each of the two lanes to, or from, another node.
pub(crate) type InLanes = [u64; 2];

/// How much a node without work has sent and received.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Channels {
    pub(crate) sent: BTreeMap<NodeId, InLanes>,
    pub(crate) received: BTreeMap<NodeId, InLanes>,
    /// The number of the last message of each stream that others follow.
    pub(crate) streams: BTreeMap<PublishedClass, u64>,
    /// The number of the last message that it has delivered of each stream that it follows.
    pub(crate) followed: BTreeMap<(PublishedClass, NodeId), u64>,
    /// The number of the last instance that it has registered.
    pub(crate) last_instance: u32,
}

impl Channels {
    fn of(lanes: &BTreeMap<NodeId, InLanes>, node: NodeId) -> InLanes {
        lanes.get(&node).copied().unwrap_or_default()
    }
}

/// Whether nothing is on its way between these nodes.
pub(super) fn are_empty(nodes: &BTreeMap<NodeId, Channels>) -> bool {
    let is_empty = |from: NodeId, to: NodeId| {
        let (sender, receiver) = (nodes.get(&from), nodes.get(&to));
        let sent = sender.map(|channels| Channels::of(&channels.sent, to));
        sent == receiver.map(|channels| Channels::of(&channels.received, from))
    };
    let pairs = nodes.keys().flat_map(|&from| nodes.keys().map(move |&to| (from, to)));
    let mut streams = nodes.values().flat_map(|channels| &channels.followed);
    pairs.filter(|(from, to)| from != to).all(|(from, to)| is_empty(from, to))
        && streams.all(|(&(class, node), delivered)| {
            nodes.get(&node).and_then(|sender| sender.streams.get(&class)) == Some(delivered)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(1);
    const B: NodeId = NodeId(2);
    const CLASS: PublishedClass = PublishedClass::Directed;

    /// Node B follows a stream of A, and each has sent the other a message.
    fn settled() -> BTreeMap<NodeId, Channels> {
        let mut a = Channels::default();
        a.sent.insert(B, [1, 0]);
        a.received.insert(B, [0, 1]);
        a.streams.insert(CLASS, 7);
        let mut b = Channels::default();
        b.sent.insert(A, [0, 1]);
        b.received.insert(A, [1, 0]);
        b.followed.insert((CLASS, A), 7);
        BTreeMap::from([(A, a), (B, b)])
    }

    #[test]
    fn nothing_is_on_its_way_once_all_was_received() {
        assert!(are_empty(&BTreeMap::new()));
        assert!(are_empty(&settled()));
        let changed = |change: fn(&mut Channels, &mut Channels)| {
            let mut nodes = settled();
            let mut each = nodes.values_mut();
            let (a, b) = (each.next().unwrap(), each.next().unwrap());
            change(a, b);
            are_empty(&nodes)
        };
        assert!(!changed(|a, _| a.sent.entry(B).or_default()[0] += 1));
        assert!(!changed(|a, _| a.sent.insert(B, [0, 1]).map_or((), drop)), "lanes do not make up");
        assert!(!changed(|a, b| {
            // A message of the one on its way does not make up for one of the other that came early.
            a.sent.entry(B).or_default()[0] += 1;
            b.sent.entry(A).or_default()[1] -= 1;
        }));
        assert!(!changed(|_, b| *b.received.entry(A).or_default() = [0, 0]));
        assert!(!changed(|a, _| a.streams.insert(CLASS, 8).map_or((), drop)));
        assert!(!changed(|a, _| a.streams.clear()), "B follows a stream that A does not publish");
        assert!(changed(|a, _| a.sent.insert(NodeId(3), [5, 5]).map_or((), drop)), "it has been removed");
    }
}
