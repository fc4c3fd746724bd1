//! Nodes joined by a network that delays, loses, repeats and reorders.
//!
//! Commands of all nodes have one order. A node applies its own at once, and those of others when
//! the cluster tells it to. Packets go to nodes that have declared an interest, unicasts to the
//! node that they name.

use crate::common::{Fed, Inner, Log, Refused, World, fom};
use base::{Moment, NodeKey, Rng, Seed};
use bytes::{Bytes, BytesMut};
use hla::handle::FederateHandle;
use rand_core::RngCore;
use router::{Message as _, Wire};
use rti::{Command, Config, ExecutionId, InstanceStatus, NodeId};
use rti::{NetTopic, Outgoing, Packet};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

/// The faults of the network, in percent and milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faults {
    pub(crate) lost: u32,
    pub(crate) repeated: u32,
    pub(crate) delay_ms: (u64, u64),
    /// Messages of one sender overtake each other. Otherwise only losses arrive out of order.
    pub(crate) reordered: bool,
}

/// Messages are only delayed, by 1 ms.
pub(crate) const SOUND: Faults = Faults { lost: 0, repeated: 0, delay_ms: (1, 1), reordered: false };
/// A bad network.
pub(crate) const BAD: Faults = Faults { lost: 15, repeated: 10, delay_ms: (1, 40), reordered: true };

/// A test under a sound network and a few bad ones.
pub(crate) fn under_faults(test: impl Fn(Faults, u64) -> Refused) -> Refused {
    test(SOUND, 0)?;
    (1..6).try_for_each(|seed| test(BAD, seed))
}

enum Cargo {
    Packet(Bytes),
    Unicast(usize, Bytes),
    Wanted(NetTopic, bool),
}

pub(crate) struct Cluster {
    pub(crate) worlds: Vec<World>,
    log: Log,
    pub(crate) now: Moment,
    rng: Rng,
    pub(crate) faults: Faults,
    air: BTreeMap<(Moment, u64), (usize, Cargo)>,
    sent: u64,
    /// When the last message between a pair of nodes arrives.
    last: BTreeMap<(usize, usize), Moment>,
    interests: BTreeSet<(NetTopic, usize)>,
    advertisements: BTreeSet<(NetTopic, usize)>,
    wanted: BTreeSet<(NetTopic, usize)>,
    pub(crate) dead: BTreeSet<usize>,
    /// Pairs of nodes between which nothing passes.
    pub(crate) cut: BTreeSet<(usize, usize)>,
    /// Nodes that apply no commands of others for now.
    pub(crate) behind: BTreeSet<usize>,
    pub(crate) traffic: u64,
    /// Packets that were sent to a node, and their octets.
    pub(crate) packets: u64,
    pub(crate) packet_octets: u64,
    /// In percent: messages of which an octet is changed on the way.
    pub(crate) corrupt: u32,
    /// The federation execution `F`.
    pub(crate) execution: ExecutionId,
    /// The names of federates in a federation execution that is going to be restored.
    pub(crate) saved_names: BTreeMap<FederateHandle, String>,
}

fn key(node: usize) -> NodeKey {
    NodeKey(100 + node as u64)
}

impl Cluster {
    /// A cluster of `nodes` nodes with the federation execution `F`, in whose object model these
    /// switches are on.
    pub(crate) fn new(nodes: usize, switches: &[&str], faults: Faults, seed: u64) -> Self {
        Self::with(nodes, switches, faults, seed, |_| {})
    }

    pub(crate) fn with(
        nodes: usize,
        switches: &[&str],
        faults: Faults,
        seed: u64,
        configure: impl Fn(&mut Config),
    ) -> Self {
        let mut cluster = Self::apart(nodes, switches, faults, seed, configure);
        cluster.connect();
        cluster.settle();
        cluster
    }

    /// Makes each node one of many.
    pub(crate) fn connect(&mut self) {
        for world in &self.worlds {
            world.0.borrow_mut().rti.set_networked(self.now, true);
        }
    }

    /// Nodes that are not networked yet.
    pub(crate) fn apart(
        nodes: usize,
        switches: &[&str],
        faults: Faults,
        seed: u64,
        configure: impl Fn(&mut Config),
    ) -> Self {
        let names: Vec<usize> = (0..nodes).collect();
        Self::apart_with_model(&names, &fom::main(switches), (faults, seed), |_, config| configure(config))
    }

    /// A cluster whose nodes have other names than `N0`, `N1` and so on in the order of their numbers, and
    /// settings that depend on them.
    pub(crate) fn named(
        names: &[usize],
        model: &str,
        faults: (Faults, u64),
        configure: impl Fn(usize, &mut Config),
    ) -> Self {
        let mut cluster = Self::apart_with_model(names, model, faults, configure);
        cluster.connect();
        cluster.settle();
        cluster
    }

    /// A cluster whose federation execution has another object model.
    pub(crate) fn with_model(nodes: usize, model: &str, faults: Faults, seed: u64) -> Self {
        let names: Vec<usize> = (0..nodes).collect();
        let mut cluster = Self::apart_with_model(&names, model, (faults, seed), |_, _| {});
        cluster.connect();
        cluster.settle();
        cluster
    }

    fn apart_with_model(
        names: &[usize],
        model: &str,
        (faults, seed): (Faults, u64),
        configure: impl Fn(usize, &mut Config),
    ) -> Self {
        let log: Log = Rc::default();
        for (node, name) in names.iter().enumerate() {
            let command = Command::AddNode { key: key(node), name: format!("N{name}") };
            log.borrow_mut().push((key(node), command.to_bytes()));
        }
        let worlds = names.iter().enumerate().map(|(node, &name)| {
            let mut config = Config { key: Some(key(node)), ..Config::default() };
            // Followers are filtered soon, since tests are short.
            config.network.filter_window = 4;
            configure(name, &mut config);
            let world = World::empty(config);
            {
                let mut inner = world.0.borrow_mut();
                inner.log = Some((key(node), log.clone()));
                inner.catch_up(usize::MAX);
            }
            world
        });
        let mut cluster = Self {
            worlds: worlds.collect(),
            log,
            now: Moment::from_secs(1),
            rng: Seed(seed).rng(),
            faults,
            air: BTreeMap::new(),
            sent: 0,
            last: BTreeMap::new(),
            interests: BTreeSet::new(),
            advertisements: BTreeSet::new(),
            wanted: BTreeSet::new(),
            dead: BTreeSet::new(),
            cut: BTreeSet::new(),
            behind: BTreeSet::new(),
            traffic: 0,
            packets: 0,
            packet_octets: 0,
            corrupt: 0,
            execution: ExecutionId(1),
            saved_names: BTreeMap::new(),
        };
        let creator = cluster.worlds[0].connected("creator");
        creator.create("F", &[("main.xml", model)], "HLAinteger64Time").expect("a sound object model");
        cluster.worlds.iter().for_each(|world| world.learn(&[("main.xml", model)]));
        cluster.align();
        cluster
    }

    /// Joins a federate at a node. All names are known everywhere at once.
    pub(crate) fn join(&mut self, node: usize, name: &str) -> Fed {
        self.align();
        let fed = self.worlds[node].joined(name);
        let handle = fed.handle.get();
        for world in &self.worlds {
            world.0.borrow_mut().federates.insert(handle, name.to_owned());
        }
        self.align();
        fed
    }

    /// One federate per node: A at node 0, B at node 1…
    pub(crate) fn join_all<const N: usize>(&mut self) -> [Fed; N] {
        std::array::from_fn(|at| self.join(at, &char::from(b'A' + at as u8).to_string()))
    }

    /// Makes all nodes apply all commands and deliver the consequences to their callers.
    pub(crate) fn align(&mut self) {
        loop {
            let before = self.log.borrow().len();
            for node in self.live() {
                if !self.behind.contains(&node) {
                    let mut inner = self.worlds[node].0.borrow_mut();
                    inner.now = self.now;
                    inner.catch_up(usize::MAX);
                    finish(&mut inner);
                }
            }
            if self.log.borrow().len() == before {
                break;
            }
        }
        for node in self.live() {
            self.drain(node);
        }
    }

    /// Number of commands proposed so far.
    pub(crate) fn commands(&self) -> usize {
        self.log.borrow().len()
    }

    pub(crate) fn live(&self) -> Vec<usize> {
        (0..self.worlds.len()).filter(|node| !self.dead.contains(node)).collect()
    }

    /// Lets time pass until all messages are delivered and nothing happens any more.
    /// Requests for missing messages so far.
    pub(crate) fn asked(&self) -> u64 {
        self.worlds.iter().map(|world| world.0.borrow().rti.network_counters().asked).sum()
    }

    /// Messages that were sent again so far.
    pub(crate) fn repaired(&self) -> u64 {
        self.worlds.iter().map(|world| world.0.borrow().rti.network_counters().repaired).sum()
    }

    pub(crate) fn settle(&mut self) {
        self.run(Duration::from_secs(12));
    }

    pub(crate) fn run(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            self.align();
            let timeouts = self.live().into_iter().filter_map(|node| self.timeout(node));
            let next = timeouts.chain(self.air.keys().next().map(|(at, _)| *at)).min();
            let Some(next) = next.filter(|&next| next <= until) else { break };
            self.now = self.now.max(next);
            while let Some(entry) = self.air.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (to, cargo) = entry.remove();
                self.deliver(to, cargo);
            }
            for node in self.live() {
                if self.timeout(node).is_some_and(|at| at <= self.now) {
                    let mut inner = self.worlds[node].0.borrow_mut();
                    inner.now = self.now;
                    inner.rti.handle_timeout(self.now);
                    finish(&mut inner);
                }
            }
        }
        self.now = until;
        self.align();
    }

    fn timeout(&self, node: usize) -> Option<Moment> {
        self.worlds[node].0.borrow().rti.poll_timeout()
    }

    fn deliver(&mut self, to: usize, cargo: Cargo) {
        if self.dead.contains(&to) {
            return;
        }
        let mut inner = self.worlds[to].0.borrow_mut();
        inner.now = self.now;
        match cargo {
            Cargo::Packet(body) => {
                let pinned = body.len();
                let taken =
                    Packet::decode(body, pinned).and_then(|packet| inner.rti.handle_packet(self.now, packet));
                assert!(self.corrupt > 0 || taken.is_ok(), "{taken:?}");
            }
            Cargo::Unicast(from, body) => {
                let from = NodeId(from as u16 + 1);
                let taken = inner.rti.handle_unicast(self.now, from, body);
                assert!(self.corrupt > 0 || taken.is_ok(), "{taken:?}");
            }
            Cargo::Wanted(topic, any) => inner.rti.handle_wanted(self.now, topic, any),
        }
        finish(&mut inner);
    }

    /// Takes the requests of a node to its network.
    fn drain(&mut self, node: usize) {
        loop {
            let outgoing = self.worlds[node].0.borrow_mut().rti.poll_outgoing();
            match outgoing {
                None => break,
                Some(Outgoing::Publish(packet)) => {
                    let topic = *packet.topic();
                    let mut body = BytesMut::new();
                    packet.encode(&mut body);
                    let body = body.freeze();
                    let to: Vec<_> =
                        self.interests.iter().filter(|(t, _)| *t == topic).map(|(_, n)| *n).collect();
                    for to in to.into_iter().filter(|&to| to != node) {
                        self.packets += 1;
                        self.packet_octets += body.len() as u64;
                        self.send(node, to, || Cargo::Packet(body.clone()));
                    }
                }
                Some(Outgoing::Unicast { to, body, .. }) => {
                    self.send(node, usize::from(to.0) - 1, || Cargo::Unicast(node, body.clone()));
                }
                Some(Outgoing::Interest { topic, any }) => {
                    set_edge(&mut self.interests, (topic, node), any);
                    self.refresh_wanted(topic);
                }
                Some(Outgoing::Advertise { topic, any }) => {
                    set_edge(&mut self.advertisements, (topic, node), any);
                    self.refresh_wanted(topic);
                }
            }
        }
    }

    fn refresh_wanted(&mut self, topic: NetTopic) {
        for node in 0..self.worlds.len() {
            let wants = |other: usize| other != node && self.interests.contains(&(topic, other));
            let any = self.advertisements.contains(&(topic, node)) && (0..self.worlds.len()).any(wants);
            let changed =
                if any { self.wanted.insert((topic, node)) } else { self.wanted.remove(&(topic, node)) };
            if changed {
                let at = self.now + Duration::from_millis(5);
                self.sent += 1;
                self.air.insert((at, self.sent), (node, Cargo::Wanted(topic, any)));
            }
        }
    }

    fn send(&mut self, from: usize, to: usize, cargo: impl Fn() -> Cargo) {
        self.traffic += 1;
        if self.cut.contains(&(from.min(to), from.max(to))) || self.roll(self.faults.lost) {
            return;
        }
        let copies = if self.roll(self.faults.repeated) { 2 } else { 1 };
        for _ in 0..copies {
            let (least, most) = self.faults.delay_ms;
            let delay = least + u64::from(self.rng.next_u32()) % (most - least + 1);
            let mut at = self.now + Duration::from_millis(delay);
            if !self.faults.reordered {
                let last = self.last.entry((from, to)).or_default();
                at = at.max(*last);
                *last = at;
            }
            self.sent += 1;
            let mut cargo = cargo();
            if self.roll(self.corrupt) {
                self.change_octet(&mut cargo);
            }
            self.air.insert((at, self.sent), (to, cargo));
        }
    }

    fn change_octet(&mut self, cargo: &mut Cargo) {
        let (Cargo::Packet(body) | Cargo::Unicast(_, body)) = cargo else { return };
        let mut octets = body.to_vec();
        let at = self.rng.next_u32() as usize % octets.len().max(1);
        if let Some(octet) = octets.get_mut(at) {
            *octet = self.rng.next_u32() as u8;
        }
        *body = octets.into();
    }

    fn roll(&mut self, percent: u32) -> bool {
        self.rng.next_u32() % 100 < percent
    }

    /// Stops a node at once. The others agree that it is gone.
    pub(crate) fn kill(&mut self, node: usize) {
        self.align();
        self.dead.insert(node);
        self.interests.retain(|(_, at)| *at != node);
        self.advertisements.retain(|(_, at)| *at != node);
        let proposer = self.live()[0];
        let command = Command::RemoveNode { key: key(node) };
        self.log.borrow_mut().push((key(proposer), command.to_bytes()));
        self.align();
    }

    /// Tells the nodes that the network has changed its shape.
    pub(crate) fn changed(&mut self) {
        for node in self.live() {
            let mut inner = self.worlds[node].0.borrow_mut();
            inner.now = self.now;
            inner.rti.handle_network_changed(self.now);
        }
        self.align();
    }

    /// The instances of a node, including replicas.
    pub(crate) fn instances(&self, node: usize) -> Vec<InstanceStatus> {
        self.worlds[node].0.borrow().rti.instances(self.execution)
    }

    /// Asserts that every replica equals the instance at its home, and that the home is alive.
    pub(crate) fn assert_converged(&self) {
        for node in self.live() {
            for replica in self.instances(node) {
                let home = usize::from(replica.home.0) - 1;
                assert!(self.live().contains(&home), "{replica:?} at node {node}");
                let there = self.instances(home);
                let original = there.iter().find(|object| object.instance == replica.instance);
                let original =
                    original.unwrap_or_else(|| panic!("{replica:?} at node {node} has no original"));
                let known = replica.known.clone();
                assert_eq!(replica, InstanceStatus { known, ..original.clone() }, "at node {node}");
            }
        }
    }

    /// Asserts that nothing is sent any more and no timer is set.
    pub(crate) fn assert_silent(&mut self) {
        self.run(Duration::from_secs(60));
        let before = self.traffic;
        self.run(Duration::from_secs(600));
        assert_eq!(self.traffic, before, "messages although nothing happens");
        assert!(
            self.live().into_iter().all(|node| self.timeout(node).is_none()),
            "timers although nothing happens"
        );
    }
}

/// Commits, and takes callbacks.
fn finish(inner: &mut Inner) {
    let completed = inner.commit_all();
    assert!(completed.is_empty() || inner.patience.is_some(), "nobody waits");
    inner.completed.extend(completed);
    inner.take_callbacks();
}

/// Notes what a node tells its routers about a topic. Only changes may be told.
fn set_edge(notified: &mut BTreeSet<(NetTopic, usize)>, edge: (NetTopic, usize), any: bool) {
    let changed = if any { notified.insert(edge) } else { notified.remove(&edge) };
    assert!(changed, "told at edges only");
}
