//! A network of endpoints in virtual time. The seed decides whether a multicast datagram arrives
//! late, twice, out of order, or not at all.
#![allow(dead_code, reason = "every test binary uses its own part")]

use base::{Moment, Rng, Seed};
use bytes::Bytes;
use rand_core::RngCore;
use srmp::model::{DataId, MemberId, Sn};
use srmp::{Channel, Config, Destination, Endpoint, Event};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::SocketAddr;
use std::time::Duration;

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The address of a node.
pub(crate) fn address(node: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, (node / 250) as u8, (node % 250) as u8 + 1], 5_000))
}

/// The behaviour of lines.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    /// The one-way delay.
    pub(crate) delay: Duration,
    /// The most additional delay, which lets datagrams overtake each other.
    pub(crate) jitter: Duration,
    pub(crate) loss: f64,
    pub(crate) duplicate: f64,
}

impl Lines {
    pub(crate) fn perfect(delay: Duration) -> Self {
        Self { delay, jitter: Duration::ZERO, loss: 0.0, duplicate: 0.0 }
    }

    pub(crate) fn lossy(delay: Duration, loss: f64) -> Self {
        Self { loss, ..Self::perfect(delay) }
    }
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) endpoint: Endpoint,
    pub(crate) events: Vec<(Moment, Event)>,
    /// The newest message of every data element.
    pub(crate) newest: BTreeMap<(MemberId, DataId), (Sn, Bytes)>,
}

type Flying = Reverse<(Moment, u64, usize, SocketAddr, u8, Bytes)>;

/// The channels, by an index that has an order.
const CHANNELS: [Channel; 3] = [Channel::Group, Channel::Site, Channel::Unicast];

pub(crate) struct Net {
    pub(crate) now: Moment,
    pub(crate) nodes: Vec<Option<Node>>,
    pub(crate) lines: Lines,
    /// The site of each node, 0 by default.
    pub(crate) site: Vec<u32>,
    /// Lines within a site, if they differ from the others.
    pub(crate) near: Option<Lines>,
    /// Nodes with different numbers do not hear each other.
    pub(crate) island: Vec<u32>,
    /// Every datagram sent: time, node, destination, and bytes.
    pub(crate) sent: Vec<(Moment, usize, Destination, Bytes)>,
    flying: BinaryHeap<Flying>,
    order: u64,
    rng: Rng,
    seed: Seed,
}

impl Net {
    pub(crate) fn new(seed: u64, lines: Lines) -> Self {
        Self {
            now: Moment::from_secs(1),
            nodes: Vec::new(),
            lines,
            site: Vec::new(),
            near: None,
            island: Vec::new(),
            sent: Vec::new(),
            flying: BinaryHeap::new(),
            order: 0,
            rng: Seed(seed).split("lines").rng(),
            seed: Seed(seed),
        }
    }

    /// Adds a node. Returns its number.
    pub(crate) fn join(&mut self, config: Config) -> usize {
        self.join_at(0, config)
    }

    /// Adds a node at a site. Returns its number.
    pub(crate) fn join_at(&mut self, site: u32, config: Config) -> usize {
        self.nodes.push(None);
        self.island.push(0);
        self.site.push(site);
        let node = self.nodes.len() - 1;
        self.start(node, config);
        node
    }

    /// Starts a node, in place of the previous one if there was one.
    pub(crate) fn start(&mut self, node: usize, config: Config) {
        self.order += 1;
        let seed = self.seed.split_index(self.order);
        let endpoint = Endpoint::new(config, seed, self.now).expect("the test's settings can be");
        self.nodes[node] = Some(Node { endpoint, events: Vec::new(), newest: BTreeMap::new() });
        self.drain(node);
    }

    pub(crate) fn crash(&mut self, node: usize) {
        self.nodes[node] = None;
    }

    pub(crate) fn node(&self, node: usize) -> &Node {
        self.nodes[node].as_ref().expect("the node lives")
    }

    /// Acts on an endpoint at the current time.
    pub(crate) fn with<T>(&mut self, node: usize, act: impl FnOnce(&mut Endpoint, Moment) -> T) -> T {
        let now = self.now;
        let result = act(&mut self.nodes[node].as_mut().expect("the node lives").endpoint, now);
        self.drain(node);
        result
    }

    pub(crate) fn send_mode1(&mut self, node: usize, data: u32, body: impl Into<Bytes>) {
        let body = body.into();
        self.with(node, |endpoint, now| endpoint.send_mode1(now, DataId(data), body, false))
            .expect("the message can be sent");
    }

    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let arrival = self.flying.peek().map(|Reverse(next)| next.0);
            let due = self.nodes.iter().flatten().filter_map(|node| node.endpoint.poll_timeout()).min();
            let Some(next) = arrival.into_iter().chain(due).min().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            self.arrive();
            for node in 0..self.nodes.len() {
                let Some(there) = &mut self.nodes[node] else { continue };
                if there.endpoint.poll_timeout().is_some_and(|at| at <= self.now) {
                    there.endpoint.handle_timeout(self.now);
                    self.drain(node);
                }
            }
        }
        self.now = end;
    }

    fn arrive(&mut self) {
        while self.flying.peek().is_some_and(|Reverse(next)| next.0 <= self.now) {
            let Some(Reverse((_, _, to, from, channel, datagram))) = self.flying.pop() else { return };
            let Some(node) = &mut self.nodes[to] else { continue };
            let via = CHANNELS[usize::from(channel)];
            node.endpoint.handle_datagram(self.now, from, via, &datagram);
            self.drain(to);
        }
    }

    fn drain(&mut self, node: usize) {
        let now = self.now;
        let Some(there) = &mut self.nodes[node] else { return };
        let mut out = Vec::new();
        while let Some(transmit) = there.endpoint.poll_transmit(now) {
            out.push(transmit);
            assert!(out.len() < 100_000, "node {node} does not stop sending at {now}");
        }
        while let Some(event) = there.endpoint.poll_event() {
            note(&mut there.newest, &event);
            there.events.push((now, event));
        }
        for transmit in out {
            self.sent.push((now, node, transmit.to, transmit.datagram.clone()));
            for to in 0..self.nodes.len() {
                let (meant, channel) = match transmit.to {
                    Destination::Unicast(peer) => (peer == address(to), 2),
                    Destination::Site => (to != node && self.site[to] == self.site[node], 1),
                    Destination::Group => (to != node, 0),
                };
                if meant && self.island[node] == self.island[to] {
                    self.fly(node, to, channel, &transmit.datagram);
                }
            }
        }
    }

    fn fly(&mut self, from: usize, to: usize, channel: u8, datagram: &Bytes) {
        let near = self.near.as_ref().filter(|_| self.site[from] == self.site[to]);
        let lines = near.unwrap_or(&self.lines).clone();
        let copies = 1 + u32::from(self.chance(lines.duplicate));
        for _ in 0..copies {
            if self.chance(lines.loss) {
                continue;
            }
            let late = lines.jitter.mul_f64(self.uniform());
            self.order += 1;
            let at = self.now + lines.delay + late;
            self.flying.push(Reverse((at, self.order, to, address(from), channel, datagram.clone())));
        }
    }

    fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && self.uniform() < share
    }

    /// The number of matching events at a node.
    pub(crate) fn count(&self, node: usize, happening: impl Fn(&Event) -> bool) -> usize {
        self.node(node).events.iter().filter(|(_, event)| happening(event)).count()
    }
}

/// The numbers of a data element only grow within an epoch of its sender.
fn note(newest: &mut BTreeMap<(MemberId, DataId), (Sn, Bytes)>, event: &Event) {
    match event {
        Event::Mode1 { from, data, sn, body } => {
            let before = newest.insert((*from, *data), (*sn, body.clone()));
            if let Some((before, _)) = before {
                let ahead = sn.0.wrapping_sub(before.0) & 0x1ff;
                assert!((1..=256).contains(&ahead), "{data:?} of {from:?}: {sn} after {before}");
            }
        }
        Event::Restarted { member, .. } => newest.retain(|(from, _), _| from != member),
        _ => {}
    }
}
