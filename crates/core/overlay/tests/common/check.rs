//! Conditions that must hold when nothing has changed for a while.

use super::{Net, pair};
use bytes::Bytes;
use overlay::{NetworkMap, Via};
use std::collections::BTreeSet;
use std::time::Duration;

impl Net {
    /// The nodes to which working links connect `from`.
    pub fn component(&self, from: usize) -> BTreeSet<usize> {
        let wired = self.wired();
        let mut seen = BTreeSet::from([from]);
        loop {
            let more: BTreeSet<usize> = wired
                .iter()
                .flat_map(|(a, b)| [(*a, *b), (*b, *a)])
                .filter(|(a, b)| seen.contains(a) && !seen.contains(b))
                .map(|(_, b)| b)
                .collect();
            if more.is_empty() {
                return seen;
            }
            seen.extend(more);
        }
    }

    /// Every node knows exactly its component, its links and one spanning tree. The paths are those
    /// of the tree, both ends agree on them, and every message arrives.
    pub fn check_trees(&mut self) {
        let wired = self.wired();
        for index in self.live() {
            let component = self.component(index);
            self.check_map(index, &component, &wired);
            let map = self.node(index).overlay.map();
            let up = map.links.iter().filter(|link| link.confirmed && !link.standby);
            let tree: BTreeSet<(usize, usize)> = up.map(|link| self.pair_of(link)).collect();
            assert_eq!(tree.len(), component.len() - 1, "a tree has one edge less than nodes: {tree:?}");
            assert!(tree.is_subset(&wired));
            for (key, session) in &self.node(index).app.sessions {
                let other = self.index(*key).expect("alive");
                assert!(matches!(session.via, Via::Link(_)));
                assert!(tree.contains(&pair(index, other)), "a path outside the tree");
            }
            let ends = tree.iter().filter(|(a, b)| *a == index || *b == index).count();
            assert_eq!(self.node(index).app.sessions.len(), ends, "a path for each edge of the tree");
            for other in component {
                let theirs = self.node(other).overlay.map();
                let confirmed =
                    |map: &NetworkMap| map.links.iter().filter(|l| l.confirmed).copied().collect::<Vec<_>>();
                assert_eq!(confirmed(&map), confirmed(&theirs), "all agree on the links");
            }
        }
        self.check_sessions();
        self.check_unicast();
    }

    /// As [`Net::check_trees`], where all pairs of a component have a path, by link or tunnel.
    pub fn check_mesh(&mut self) {
        let wired = self.wired();
        for index in self.live() {
            let component = self.component(index);
            self.check_map(index, &component, &wired);
            for other in component.iter().filter(|other| **other != index) {
                let session = self.node(index).app.sessions.get(&self.key(*other));
                let session = session.unwrap_or_else(|| panic!("{index} has no path to {other}"));
                let direct = wired.contains(&pair(index, *other));
                assert_eq!(session.via != Via::Tunnel, direct, "{index} to {other}: {session:?}");
            }
            assert_eq!(self.node(index).app.sessions.len(), component.len() - 1);
        }
        self.check_sessions();
        self.check_unicast();
    }

    fn pair_of(&self, link: &overlay::LinkView) -> (usize, usize) {
        pair(self.index(link.a).expect("alive"), self.index(link.b).expect("alive"))
    }

    fn check_map(&self, index: usize, component: &BTreeSet<usize>, wired: &BTreeSet<(usize, usize)>) {
        let node = self.node(index);
        let map = node.overlay.map();
        let known = map.nodes.iter().filter(|node| node.reachable).map(|node| self.index(node.key));
        let known: BTreeSet<usize> = known.map(|index| index.expect("it is alive")).collect();
        assert_eq!(known, *component, "what node {index} can reach");
        let reported: BTreeSet<usize> =
            node.app.reachable.iter().filter_map(|key| self.index(*key)).collect();
        assert_eq!(reported.len() + 1, component.len(), "what node {index} was told");
        let links = map.links.iter().filter(|link| link.confirmed).map(|link| self.pair_of(link));
        let truth = wired.iter().filter(|(a, _)| component.contains(a)).copied();
        assert_eq!(links.collect::<BTreeSet<_>>(), truth.collect(), "links that node {index} knows");
    }

    fn check_sessions(&self) {
        for index in self.live() {
            for (key, session) in &self.node(index).app.sessions {
                let other = self.index(*key).expect("alive");
                let theirs = &self.node(other).app.sessions[&self.key(index)];
                assert_eq!(session.received, theirs.sent, "all frames from {other} to {index} came");
                assert_ne!(session.initiator, theirs.initiator, "one end is the initiator");
            }
        }
    }

    /// Every node sends messages to every other one: short and long, urgent and not.
    pub fn check_unicast(&mut self) {
        let live = self.live();
        for index in &live {
            self.node_mut(*index).app.received.clear();
        }
        let body = |from: usize, len: usize| Bytes::from(vec![from as u8; len]);
        for from in &live {
            for to in self.component(*from) {
                let (now, key) = (self.now, self.key(to));
                for (len, urgent) in [(10, true), (100_000, false), (0, false)] {
                    let sent = self.node_mut(*from).overlay.send(now, key, body(*from, len), urgent);
                    sent.expect("reachable");
                }
            }
            self.settle(*from);
        }
        self.run_for(Duration::from_millis(200));
        for to in &live {
            let component = self.component(*to);
            let node = self.node(*to);
            for from in component {
                let key = self.key(from);
                let got = node.app.received.iter().filter(|(sender, _)| *sender == key);
                let mut lens: Vec<usize> = got.map(|(_, body)| body.len()).collect();
                lens.sort_unstable();
                assert_eq!(lens, [0, 10, 100_000], "from {from} to {to}");
            }
            assert_eq!(node.overlay.partial_bytes(), 0);
        }
    }

    /// Only keep-alives travel for ten seconds.
    pub fn check_silence(&mut self) {
        let before = self.busy_frames;
        self.run_for(Duration::from_secs(10));
        assert_eq!(self.busy_frames - before, 0, "frames when nothing happens");
    }
}
