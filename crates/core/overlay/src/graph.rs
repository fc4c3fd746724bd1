//! Routes and the spanning tree, computed from the map. Pure functions: nodes with the same map
//! agree.

use crate::map::Map;
use base::NodeKey;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// How to get to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The next hop: the neighbour on the way, or the node itself.
    pub(crate) next: NodeKey,
    /// Number of links on the way.
    pub(crate) hops: u32,
    /// Sum of the costs of these links.
    pub(crate) cost: u64,
}

/// A connection that both its ends confirm; `low` is the smaller key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) cost: u32,
    pub(crate) low: NodeKey,
    pub(crate) high: NodeKey,
}

/// Routes, spanning tree and edges, computed from the map for one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Routes {
    /// Routes to all other nodes that can be reached.
    pub(crate) to: BTreeMap<NodeKey, Route>,
    /// The edges of the spanning tree, the smaller key first.
    pub(crate) tree: BTreeSet<(NodeKey, NodeKey)>,
    /// All edges between nodes that can be reached, in order of cost and keys.
    pub(crate) edges: Vec<Edge>,
}

impl Routes {
    pub(crate) fn reaches(&self, key: NodeKey) -> bool {
        self.to.contains_key(&key)
    }

    pub(crate) fn next(&self, key: NodeKey) -> Option<NodeKey> {
        self.to.get(&key).map(|route| route.next)
    }

    /// Whether an edge of `other` is missing here.
    pub(crate) fn lack_edge_of(&self, other: &Self) -> bool {
        let here: BTreeSet<_> = self.edges.iter().map(|edge| (edge.low, edge.high)).collect();
        other.edges.iter().any(|edge| !here.contains(&(edge.low, edge.high)))
    }

    /// Whether a path leads from `a` to `b` without a link between the two.
    pub(crate) fn has_detour(&self, a: NodeKey, b: NodeKey) -> bool {
        let (mut seen, mut next) = (BTreeSet::from([a]), vec![a]);
        while let Some(at) = next.pop() {
            for edge in self.edges.iter().filter(|edge| (edge.low, edge.high) != (a.min(b), a.max(b))) {
                let far = if edge.low == at { edge.high } else { edge.low };
                if (edge.low == at || edge.high == at) && seen.insert(far) {
                    next.push(far);
                }
            }
        }
        seen.contains(&b)
    }

    pub(crate) fn in_tree(&self, a: NodeKey, b: NodeKey) -> bool {
        self.tree.contains(&(a.min(b), a.max(b)))
    }
}

/// Cost of a link by its round trip: 1 below a millisecond, otherwise one plus the largest power of
/// two that is not above the milliseconds. The steps are coarse so that small changes in the round
/// trip move no path.
pub(crate) fn cost(rtt_micros: u32) -> u32 {
    match rtt_micros / 1_000 {
        // Links within a site are equal: below a millisecond, hops count.
        0 => 1,
        // Powers of two, so that measurements that differ by a little give the same tree.
        millis => 1 + (1 << millis.ilog2()),
    }
}

/// Computes the routes from `own` and the spanning tree. The links of `own` are `links`, whatever
/// its entry in the map says.
///
/// O(E log E) for E connections; every node pays it once for each change of the map.
pub(crate) fn compute(own: NodeKey, links: &BTreeMap<NodeKey, u32>, map: &Map) -> Routes {
    // Nodes are represented by their index among the sorted keys, so that their order is the same
    // and their state fits into arrays.
    let keys: Vec<NodeKey> = map.iter().map(|entry| entry.key).collect();
    let Ok(own) = keys.binary_search(&own) else { return Routes::default() };
    let mut edges = edges(own, links, map, &keys);
    let routes = shortest(own, &edges, keys.len());
    edges.retain(|edge| edge.1 == own || routes[edge.1].is_some());
    edges.sort_unstable();
    let named = |&(cost, low, high): &Step| Edge { cost, low: keys[low], high: keys[high] };
    let tree = spanning_tree(&edges, keys.len());
    let to = routes.iter().enumerate().filter_map(|(at, route)| {
        let (cost, hops, next) = (*route)?;
        (at != own).then(|| (keys[at], Route { next: keys[next], hops, cost }))
    });
    Routes {
        to: to.collect(),
        tree: tree.into_iter().map(|(low, high)| (keys[low], keys[high])).collect(),
        edges: edges.iter().map(named).collect(),
    }
}

/// A connection: its cost and the indices of its ends, the smaller one first.
type Step = (u32, usize, usize);

fn edges(own: usize, links: &BTreeMap<NodeKey, u32>, map: &Map, keys: &[NodeKey]) -> Vec<Step> {
    let own_entry = map.get(keys[own]);
    let entries: Vec<_> = map.iter().collect();
    let mut edges = Vec::new();
    for (at, entry) in entries.iter().enumerate().filter(|(at, entry)| *at != own && !entry.leaving) {
        for &(other, rtt) in &entry.neighbours {
            // A link counts when both ends name it. Each is seen once, from the lower key.
            let rtt_back = if other == keys[own] {
                // The advertised value comes first: all nodes must see the same cost.
                let advertised = || own_entry.and_then(|own| own.rtt_to(entry.key));
                links.get(&entry.key).map(|live| advertised().unwrap_or(*live))
            } else if entry.key < other {
                let back = keys.binary_search(&other).ok().map(|other| entries[other]);
                back.filter(|back| !back.leaving).and_then(|back| back.rtt_to(entry.key))
            } else {
                None
            };
            if let (Some(rtt_back), Ok(other)) = (rtt_back, keys.binary_search(&other)) {
                // The worse of two measurements: the ends may measure differently, and all nodes
                // must agree.
                edges.push((cost(rtt.max(rtt_back)), at.min(other), at.max(other)));
            }
        }
    }
    edges
}

/// Cost, hops and next node of a path.
type Cost = (u64, u32, usize);

/// Dijkstra's algorithm. Of two paths with equal costs, the one with fewer hops wins, then the one
/// through the smaller neighbour.
fn shortest(own: usize, edges: &[Step], nodes: usize) -> Vec<Option<Cost>> {
    let mut around: Vec<Vec<(usize, u32)>> = vec![Vec::new(); nodes];
    for &(cost, low, high) in edges {
        around[low].push((high, cost));
        around[high].push((low, cost));
    }
    let mut best: Vec<Option<Cost>> = vec![None; nodes];
    let mut done = vec![false; nodes];
    best[own] = Some((0, 0, own));
    let mut queue = BinaryHeap::from([Reverse((0u64, 0u32, own, own))]);
    while let Some(Reverse((cost, hops, next, at))) = queue.pop() {
        if std::mem::replace(&mut done[at], true) {
            continue;
        }
        for &(other, step) in &around[at] {
            // Ties go to fewer hops, then to the lower key: the order is total, and every node
            // chooses alike.
            let route = (cost + u64::from(step), hops + 1, if at == own { other } else { next });
            if !done[other] && best[other].is_none_or(|known| route < known) {
                best[other] = Some(route);
                queue.push(Reverse((route.0, route.1, route.2, other)));
            }
        }
    }
    best
}

/// Kruskal's algorithm: takes the smallest edges, by cost and keys, that close no loop. `edges`
/// must be sorted.
fn spanning_tree(edges: &[Step], nodes: usize) -> Vec<(usize, usize)> {
    fn root(parent: &mut [usize], mut at: usize) -> usize {
        while parent[at] != at {
            parent[at] = parent[parent[at]];
            at = parent[at];
        }
        at
    }
    let mut parent: Vec<usize> = (0..nodes).collect();
    let mut tree = Vec::new();
    for &(_, low, high) in edges {
        let (a, b) = (root(&mut parent, low), root(&mut parent, high));
        if a != b {
            parent[a] = b;
            tree.push((low, high));
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Entry;
    use bytes::Bytes;
    use proptest::prelude::*;

    fn map_of(nodes: u64, edges: &[(u64, u64, u32)]) -> Map {
        let mut map = Map::new(100, 1 << 20);
        for key in 0..nodes {
            let ends = edges.iter().filter(|e| e.0 != e.1);
            let around = ends.filter_map(|(a, b, rtt)| match key {
                key if key == *a => Some((NodeKey(*b), *rtt)),
                key if key == *b => Some((NodeKey(*a), *rtt)),
                _ => None,
            });
            let around: BTreeMap<NodeKey, u32> = around.collect();
            map.insert(Entry {
                key: NodeKey(key),
                sequence: 1,
                network: 0,
                member: true,
                leaving: false,
                name: format!("N{key}"),
                urls: Vec::new(),
                neighbours: around.into_iter().collect(),
                info: Bytes::new(),
            });
        }
        map
    }

    fn seen_from(own: u64, map: &Map) -> Routes {
        let links = map.get(NodeKey(own)).expect("in the map").neighbours.iter().copied().collect();
        compute(NodeKey(own), &links, map)
    }

    /// Costs of all shortest paths, by the algorithm of Floyd and Warshall.
    fn distances(nodes: u64, map: &Map) -> Vec<Vec<Option<u64>>> {
        let all = 0..nodes as usize;
        let mut d = vec![vec![None; nodes as usize]; nodes as usize];
        for a in all.clone() {
            d[a][a] = Some(0);
            for (b, rtt) in &map.get(NodeKey(a as u64)).expect("in the map").neighbours {
                d[a][b.0 as usize] = Some(u64::from(cost(*rtt)));
            }
        }
        for k in all.clone() {
            for a in all.clone() {
                for b in all.clone() {
                    if let (Some(x), Some(y)) = (d[a][k], d[k][b]) {
                        d[a][b] = Some(d[a][b].map_or(x + y, |old: u64| old.min(x + y)));
                    }
                }
            }
        }
        d
    }

    proptest! {
        #[test]
        fn paths_are_the_shortest_and_lead_there(
            nodes in 1u64..9,
            edges in prop::collection::vec((0u64..9, 0u64..9, 0u32..20_000), 0..20),
        ) {
            let mut unique = BTreeMap::new();
            for (a, b, rtt) in edges {
                if a != b && a < nodes && b < nodes {
                    unique.insert((a.min(b), a.max(b)), rtt);
                }
            }
            let edges: Vec<(u64, u64, u32)> = unique.into_iter().map(|((a, b), rtt)| (a, b, rtt)).collect();
            let map = map_of(nodes, &edges);
            let expected = distances(nodes, &map);
            let all: Vec<Routes> = (0..nodes).map(|own| seen_from(own, &map)).collect();
            for a in 0..nodes {
                for b in (0..nodes).filter(|b| *b != a) {
                    let route = all[a as usize].to.get(&NodeKey(b));
                    prop_assert_eq!(route.map(|r| r.cost), expected[a as usize][b as usize]);
                    if route.is_none() {
                        continue;
                    }
                    // Each relay decides alone, and their decisions lead to the destination.
                    let (mut at, mut hops) = (a, 0);
                    while at != b {
                        at = all[at as usize].next(NodeKey(b)).expect("the relay knows the way").0;
                        hops += 1;
                        prop_assert!(hops <= nodes);
                    }
                }
                let reached = all[a as usize].to.len();
                prop_assert_eq!(all[a as usize].tree.len(), reached, "a tree has one edge less than nodes");
                for edge in &all[a as usize].tree {
                    prop_assert!(all[edge.0.0 as usize].tree.contains(edge), "all agree on the tree");
                }
            }
        }
    }

    #[test]
    fn an_edge_counts_when_both_ends_confirm_it() {
        let mut map = map_of(3, &[(0, 1, 0), (1, 2, 0)]);
        assert_eq!(seen_from(0, &map).to.len(), 2);
        let mut silent = map.get(NodeKey(2)).expect("in the map").clone();
        silent.neighbours.clear();
        silent.sequence = 2;
        map.insert(silent);
        assert_eq!(seen_from(0, &map).to.len(), 1);
    }

    #[test]
    fn small_differences_of_round_trips_cost_the_same() {
        assert_eq!([0, 999, 1_000, 1_999, 2_000, 3_999, 80_000].map(cost), [1, 1, 2, 2, 3, 3, 65]);
    }
}
