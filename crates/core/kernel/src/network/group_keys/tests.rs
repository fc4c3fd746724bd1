//! Sites whose nodes come, go, die and are cut off from each other.

use super::*;
use proptest::prelude::*;
use rand_core::RngCore;
use std::collections::BTreeSet;

/// The longest way of a message over a link, in milliseconds.
const LINK_MILLIS: u64 = 100;
/// The longest way of a datagram, in milliseconds: less than [`LINGER`].
const DATAGRAM_MILLIS: u64 = 1_500;
const STEP: Duration = Duration::from_millis(25);
const INTERVAL: Duration = Duration::from_secs(20);

/// A node with what its world knows.
struct Node {
    machine: KeyRotation,
    keys: Option<GroupKeys>,
    /// All keys that it ever had.
    knew: BTreeSet<KeyName>,
    secrets: u64,
}

impl Node {
    fn new(now: Moment, key: NodeKey, site: &str) -> Self {
        let config = GroupKeyConfig { site: site.to_owned(), interval: INTERVAL };
        let machine = KeyRotation::new(now, key, config);
        let mut node = Self { machine, keys: None, knew: BTreeSet::new(), secrets: 0 };
        node.settle(now);
        node
    }

    fn accepts(&self) -> Vec<KeyName> {
        let keys = self.keys.iter();
        keys.flat_map(|keys| [Some(&keys.sends), keys.other.as_ref()]).flatten().map(|key| key.name).collect()
    }

    /// Does what the world does.
    fn settle(&mut self, now: Moment) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                GroupOutput::DrawSecret => {
                    self.secrets += 1;
                    let mut secret = [0; SECRET_BYTES];
                    secret[..8].copy_from_slice(&self.machine.own.0.to_be_bytes());
                    secret[8..16].copy_from_slice(&self.secrets.to_be_bytes());
                    self.machine.handle_secret(now, GroupSecret::new(secret));
                }
                GroupOutput::Keys(keys) => {
                    let ids: BTreeSet<u8> = [Some(&keys.sends), keys.other.as_ref()]
                        .into_iter()
                        .flatten()
                        .map(|key| key.name.id)
                        .collect();
                    assert_eq!(ids.len(), 1 + usize::from(keys.other.is_some()), "numbers differ: {keys:?}");
                    self.keys = Some(keys);
                    self.knew.extend(self.accepts());
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// A datagram on its way, between two nodes whose link has been up all the time.
struct Datagram {
    from: NodeKey,
    to: NodeKey,
    at: Moment,
    key: KeyName,
}

#[derive(Default)]
struct Site {
    now: Moment,
    nodes: BTreeMap<NodeKey, Node>,
    /// Messages on their way, by direction, for the links that are up.
    links: BTreeMap<(NodeKey, NodeKey), VecDeque<(Moment, KeyMessage)>>,
    datagrams: Vec<Datagram>,
    sent: usize,
    names: u64,
    /// The keys that nodes knew that are gone, and since when they are.
    gone: Vec<(Moment, BTreeSet<KeyName>)>,
}

impl Site {
    fn add(&mut self, rng: &mut base::Rng) -> NodeKey {
        self.names += 1;
        let key = NodeKey(rng.next_u64() >> 16 << 8 | self.names);
        self.nodes.insert(key, Node::new(self.now, key, "here"));
        key
    }

    fn connect(&mut self, a: NodeKey, b: NodeKey) {
        if a == b || self.links.contains_key(&(a, b)) {
            return;
        }
        let now = self.now;
        for (from, to) in [(a, b), (b, a)] {
            self.links.insert((from, to), VecDeque::new());
            self.node(from).machine.handle_up(now, to);
        }
    }

    fn cut(&mut self, a: NodeKey, b: NodeKey) {
        let now = self.now;
        for (from, to) in [(a, b), (b, a)] {
            if self.links.remove(&(from, to)).is_some() {
                self.node(from).machine.handle_down(now, to);
            }
        }
        self.datagrams.retain(|d| (d.from, d.to) != (a, b) && (d.from, d.to) != (b, a));
    }

    fn kill(&mut self, key: NodeKey) {
        for other in self.keys() {
            self.cut(key, other);
        }
        let node = self.nodes.remove(&key).expect("it is there");
        self.gone.push((self.now, node.knew));
        for node in self.nodes.values_mut() {
            node.machine.handle_removed(self.now, key);
        }
    }

    fn keys(&self) -> Vec<NodeKey> {
        self.nodes.keys().copied().collect()
    }

    fn node(&mut self, key: NodeKey) -> &mut Node {
        self.nodes.get_mut(&key).expect("it is there")
    }

    fn step(&mut self, rng: &mut base::Rng) {
        self.now += STEP;
        let now = self.now;
        for ((from, to), queue) in &mut self.links {
            while let Some((_, message)) = queue.pop_front_if(|(at, _)| *at <= now) {
                // Each message survives its way over the wire.
                let message = KeyMessage::decode(message.encode()).expect("it is sound");
                let node = self.nodes.get_mut(to).expect("it is there");
                node.machine.handle_message(now, *from, message.clone());
                // Repeated messages change nothing.
                if rng.next_u32().is_multiple_of(4) {
                    node.machine.handle_message(now, *from, message);
                }
            }
        }
        for node in self.nodes.values_mut() {
            if node.machine.poll_timeout().is_some_and(|at| at <= now) {
                node.machine.handle_timeout(now);
                node.settle(now);
                assert!(node.machine.poll_timeout().is_none_or(|at| at > now), "{:?}", node.machine);
            }
            node.settle(now);
        }
        self.carry(rng);
        self.exchange(rng);
    }

    /// Takes messages of the nodes.
    fn carry(&mut self, rng: &mut base::Rng) {
        for ((from, to), queue) in &mut self.links {
            let node = self.nodes.get_mut(from).expect("it is there");
            while let Some(message) = node.machine.poll_message(self.now, *to) {
                let earliest = queue.back().map_or(Moment::ZERO, |(at, _)| *at);
                let at = self.now + Duration::from_millis(u64::from(rng.next_u32()) % LINK_MILLIS);
                queue.push_back((at.max(earliest), message));
            }
        }
    }

    /// Every node sends something to the neighbours that its groups cover.
    fn exchange(&mut self, rng: &mut base::Rng) {
        let now = self.now;
        for (from, to) in self.links.keys() {
            let node = &self.nodes[from];
            if node.machine.covers(*to) {
                let delay = Duration::from_millis(u64::from(rng.next_u32()) % DATAGRAM_MILLIS);
                let key = node.keys.as_ref().expect("it covers somebody").sends.name;
                self.datagrams.push(Datagram { from: *from, to: *to, at: now + delay, key });
                self.sent += 1;
            }
        }
        let nodes = &self.nodes;
        self.datagrams.retain(|datagram| {
            let arrives = datagram.at <= now;
            if arrives {
                let accepts = nodes[&datagram.to].accepts();
                assert!(
                    accepts.contains(&datagram.key),
                    "{now:?} {}: {:?} of {}, but it accepts {accepts:?}",
                    datagram.to,
                    datagram.key,
                    datagram.from
                );
            }
            !arrives
        });
    }

    fn run(&mut self, time: Duration, rng: &mut base::Rng) {
        let end = self.now + time;
        while self.now < end {
            self.step(rng);
        }
    }

    /// The nodes that a node reaches over links, itself included.
    fn component(&self, of: NodeKey) -> BTreeSet<NodeKey> {
        let (mut found, mut open) = (BTreeSet::from([of]), vec![of]);
        while let Some(node) = open.pop() {
            let ends = self.links.keys().filter(|(from, _)| *from == node).map(|(_, to)| *to);
            open.extend(ends.filter(|to| found.insert(*to)).collect::<Vec<_>>());
        }
        found
    }

    /// Whether all nodes that reach each other send under one key and cover their neighbours.
    fn check_agreement(&self) {
        for (key, node) in &self.nodes {
            let keys = node.keys.as_ref().expect("it has a key");
            for other in self.component(*key) {
                let others = self.nodes[&other].keys.as_ref().expect("it has a key");
                assert_eq!(keys.sends, others.sends, "of {key} and {other}");
            }
        }
        for (from, to) in self.links.keys() {
            assert!(self.nodes[from].machine.covers(*to), "{from} covers {to}");
        }
    }

    /// No node uses a key that a node knew that has been gone for this long.
    fn check_gone(&self, for_long: Duration) {
        for (_, knew) in self.gone.iter().filter(|(since, _)| *since + for_long <= self.now) {
            for (key, node) in &self.nodes {
                let used = node.accepts();
                assert!(!used.iter().any(|name| knew.contains(name)), "{key} still uses {used:?}");
            }
        }
    }
}

/// One random thing that happens to a site.
fn disturb(site: &mut Site, rng: &mut base::Rng) {
    let keys = site.keys();
    let mut any = || keys[rng.next_u64() as usize % keys.len()];
    let (a, b) = (any(), any());
    match rng.next_u32() % 8 {
        0 if keys.len() < 7 => {
            let new = site.add(rng);
            site.connect(new, a);
            site.connect(new, b);
        }
        1 if keys.len() > 2 => site.kill(a),
        2 | 3 if a != b => site.cut(a, b),
        4 => {
            for other in keys {
                site.cut(a, other);
            }
        }
        _ => site.connect(a, b),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever happens to a site, datagrams can be read by those for whom they were sent, and when it
    /// is quiet, all share one key that nobody knows who is gone.
    #[test]
    fn a_site_shares_its_keys(seed: u64, first in 1usize..5, disturbances in 1usize..25) {
        let mut rng = Seed(seed).rng();
        let mut site = Site::default();
        for _ in 0..first {
            let new = site.add(&mut rng);
            site.keys().into_iter().for_each(|other| site.connect(new, other));
        }
        for _ in 0..disturbances {
            disturb(&mut site, &mut rng);
            let time = Duration::from_millis(u64::from(rng.next_u32()) % 9_000);
            site.run(time, &mut rng);
            site.check_gone(SPREAD_MAX + DRAIN_MAX + GONE_AFTER);
        }
        // Without disturbances, agreement comes and stays, whatever the shape; halves that meet agree, too.
        site.run(SPREAD_MAX + DRAIN_MAX, &mut rng);
        let keys = site.keys();
        keys.windows(2).for_each(|pair| site.connect(pair[0], pair[1]));
        site.run(SPREAD_MAX + DRAIN_MAX + GONE_AFTER, &mut rng);
        let before = site.nodes.values().filter_map(|node| node.machine.sends()).max();
        for _ in 0..3 {
            while site.nodes.values().any(|node| node.machine.keys.as_ref().is_none_or(|k| k.change.is_some())) {
                site.step(&mut rng);
            }
            site.check_agreement();
            site.check_gone(Duration::ZERO);
            site.run(INTERVAL + MAKE_WAIT, &mut rng);
        }
        let after = site.nodes.values().filter_map(|node| node.machine.sends()).max();
        prop_assert!(after > before, "keys rotate at intervals");
    }
}

/// Two nodes, linked, with the same key.
fn pair() -> (Site, base::Rng, NodeKey, NodeKey) {
    let (mut site, mut rng) = (Site::default(), Seed(7).rng());
    let (a, b) = (site.add(&mut rng), site.add(&mut rng));
    site.connect(a, b);
    site.run(Duration::from_secs(5), &mut rng);
    site.check_agreement();
    let (a, b) = (a.min(b), a.max(b));
    (site, rng, a, b)
}

#[test]
fn the_least_node_rotates_the_key_and_others_do_when_it_is_silent() {
    let (mut site, mut rng, a, _) = pair();
    site.run(INTERVAL, &mut rng);
    let name = site.node(a).machine.sends().expect("it has a key");
    assert_eq!(name.maker, a);
    assert!(site.sent > 500, "{}", site.sent);
    let before = name;
    site.kill(a);
    site.run(INTERVAL + MAKE_WAIT, &mut rng);
    let node = site.nodes.values().next().expect("one is left");
    let keys = node.keys.as_ref().expect("it has a key");
    assert!(keys.sends.name.epoch > before.epoch && keys.sends.name.maker == node.machine.own);
}

#[test]
fn a_key_is_rotated_at_once_when_a_node_is_removed() {
    let (mut site, mut rng, a, b) = pair();
    let c = site.add(&mut rng);
    site.connect(c, a);
    site.connect(c, b);
    site.run(Duration::from_secs(4), &mut rng);
    site.check_agreement();
    site.kill(c);
    site.run(LINGER + Duration::from_secs(1), &mut rng);
    site.check_gone(Duration::ZERO);
    site.check_agreement();
}

/// While a key is rotated in a quiet site, the groups go on carrying everything.
#[test]
fn a_rotation_leaves_no_gap() {
    let (mut site, mut rng, a, b) = pair();
    let c = site.add(&mut rng);
    site.connect(c, a);
    site.connect(c, b);
    site.run(Duration::from_secs(5), &mut rng);
    let before = site.node(a).machine.sends();
    for _ in 0..3 * INTERVAL.as_millis() / STEP.as_millis() {
        site.step(&mut rng);
        for (from, to) in site.links.keys() {
            assert!(site.nodes[from].machine.covers(*to), "{from} covers {to}");
        }
    }
    assert!(site.node(a).machine.sends().map(|name| name.epoch) > before.map(|name| name.epoch + 1));
}

/// A node of another site, or without a proof, gets no key.
#[test]
fn no_key_goes_to_strangers() {
    let (mut site, mut rng, a, _) = pair();
    let stranger = NodeKey(u64::MAX);
    site.nodes.insert(stranger, Node::new(site.now, stranger, "there"));
    site.connect(a, stranger);
    for _ in 0..400 {
        site.step(&mut rng);
        let queue = site.links.get(&(a, stranger)).expect("it is up");
        assert!(queue.iter().all(|(_, message)| matches!(message, KeyMessage::State(_))));
    }
    assert!(!site.node(a).machine.covers(stranger));
    let secret = GroupSecret::new([1; SECRET_BYTES]);
    let name = KeyName { epoch: 1_000, maker: stranger, id: 1 };
    for from in [stranger, NodeKey(12)] {
        let key = GroupKey { name, secret: secret.clone() };
        let now = site.now;
        site.node(a).machine.handle_message(now, from, KeyMessage::Key(key, INTERVAL));
        assert!(site.node(a).machine.pending.is_none(), "a key of somebody who is not of the site");
        assert!(site.node(a).machine.poll_message(now, NodeKey(12)).is_none());
    }
}

/// Two halves made keys of one number: both give way to a third key.
#[test]
fn keys_of_one_number_give_way() {
    let (mut site, mut rng, a, b) = pair();
    let now = site.now;
    let own = site.node(a).machine.sends().expect("it has a key");
    let name = KeyName { epoch: own.epoch + 5, maker: b, ..own };
    let key = GroupKey { name, secret: GroupSecret::new([1; SECRET_BYTES]) };
    site.node(a).machine.handle_message(now, b, KeyMessage::Key(key, INTERVAL));
    site.run(Duration::from_secs(8), &mut rng);
    site.check_agreement();
    let new = site.node(a).machine.sends().expect("it has a key");
    assert!(new.epoch > own.epoch + 5 && new.id != own.id, "{new:?}");
}
