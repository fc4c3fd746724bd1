//! A world of nodes and links with delays, cuts, crashes and restarts. An application on each node
//! checks the events that it gets.
#![allow(dead_code, unreachable_pub)] // each test file uses its part

mod app;
mod check;

pub use app::App;

use base::{Deadlines, Moment, NodeKey, Seed};
use bytes::Bytes;
use overlay::{Config, Event, LinkId, Overlay, Target, TargetId, TopologyKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::time::Duration;

/// How a link or node fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Both ends of a link are told.
    Loud,
    /// Frames vanish; nobody is told.
    Silent,
    /// Frames in the direction of the node with the larger index vanish; nobody is told.
    OneWay,
}

pub struct Node {
    pub overlay: Overlay,
    pub app: App,
    config: Config,
}

/// A connection; end 0 initiated it.
#[derive(Clone, Debug)]
struct Wire {
    ends: [(usize, LinkId); 2],
    open: bool,
    /// When the last frame arrives at each end, since order is kept.
    busy: [Moment; 2],
    /// Frames that wait at each end until the way is healed: a link loses frames only with its end.
    held: [VecDeque<Happening>; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Connect {
        from: usize,
        key: NodeKey,
        target: TargetId,
        to: usize,
    },
    Frame {
        wire: usize,
        end: usize,
        frame: Bytes,
    },
    /// An end learns that the link is gone; `far`: the other end closed it.
    Down {
        wire: usize,
        end: usize,
        far: bool,
    },
}

pub struct Net {
    pub now: Moment,
    pub nodes: Vec<Option<Node>>,
    wires: Vec<Wire>,
    ends: BTreeMap<LinkId, (usize, usize)>,
    blocked: BTreeMap<(usize, usize), Failure>,
    queue: BinaryHeap<Reverse<(Moment, u64, Happening)>>,
    /// When nodes want to be woken up.
    timers: Deadlines<usize>,
    order: u64,
    seed: Seed,
    starts: u64,
    /// Frames of overlays that were delivered, without keep-alives.
    pub busy_frames: u64,
    /// Their octets.
    pub busy_bytes: u64,
    /// When the last of them was delivered.
    pub busy_last: Moment,
    pub delay: Duration,
    /// The names that nodes prove when they have a link; none: nobody proves anything.
    pub proven: BTreeMap<usize, Vec<String>>,
    tweak: fn(usize, &mut Config),
}

pub fn pair(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

pub fn url(node: usize) -> String {
    format!("n{node}")
}

impl Net {
    pub fn new(seed: Seed, tweak: fn(usize, &mut Config)) -> Self {
        Self {
            now: Moment::ZERO,
            nodes: Vec::new(),
            wires: Vec::new(),
            ends: BTreeMap::new(),
            blocked: BTreeMap::new(),
            queue: BinaryHeap::new(),
            timers: Deadlines::new(),
            order: 0,
            seed,
            starts: 0,
            busy_frames: 0,
            busy_bytes: 0,
            busy_last: Moment::ZERO,
            delay: Duration::from_micros(300),
            proven: BTreeMap::new(),
            tweak,
        }
    }

    /// Nodes joined by `edges`; the first end of each edge initiates.
    pub fn graph(
        seed: Seed,
        kind: TopologyKind,
        nodes: usize,
        edges: &[(usize, usize)],
        tweak: fn(usize, &mut Config),
    ) -> Self {
        let mut net = Self::new(seed, tweak);
        for node in 0..nodes {
            let targets = edges.iter().filter(|(from, _)| *from == node).map(|(_, to)| url(*to)).collect();
            net.add(kind, targets);
        }
        net
    }

    /// Adds a node that connects to `urls`.
    pub fn add(&mut self, kind: TopologyKind, urls: Vec<String>) -> usize {
        let index = self.nodes.len();
        let mut config = Config::new(NodeKey(0), format!("NODE-{index}"), kind, self.seed);
        config.urls = vec![url(index)];
        config.targets = urls.into_iter().map(|url| Target { url, ..Target::default() }).collect();
        (self.tweak)(index, &mut config);
        self.nodes.push(None);
        self.start(index, config);
        index
    }

    fn start(&mut self, index: usize, mut config: Config) {
        self.starts += 1;
        let seed = self.seed.split("node").split_index(self.starts);
        // Keys whose order does not follow time.
        config.key = NodeKey(seed.split("key").0);
        config.seed = seed;
        let overlay = Overlay::new(config.clone()).expect("a sound configuration");
        self.nodes[index] = Some(Node { overlay, app: App::default(), config });
        self.settle(index);
    }

    pub fn restart(&mut self, index: usize, config: Config) {
        self.start(index, config);
    }

    pub fn node(&self, index: usize) -> &Node {
        self.nodes[index].as_ref().expect("it runs")
    }

    pub fn node_mut(&mut self, index: usize) -> &mut Node {
        self.nodes[index].as_mut().expect("it runs")
    }

    pub fn key(&self, index: usize) -> NodeKey {
        self.node(index).overlay.key()
    }

    pub fn index(&self, key: NodeKey) -> Option<usize> {
        self.nodes.iter().position(|node| node.as_ref().is_some_and(|node| node.overlay.key() == key))
    }

    pub fn live(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|index| self.nodes[*index].is_some()).collect()
    }

    /// Ends the process of a node.
    pub fn crash(&mut self, index: usize, failure: Failure) -> Config {
        let node = self.nodes[index].take().expect("it runs");
        self.timers.clear(index);
        for wire in 0..self.wires.len() {
            for end in 0..2 {
                if self.wires[wire].open && self.wires[wire].ends[end].0 == index {
                    self.wires[wire].open = false;
                    if failure == Failure::Loud {
                        self.at(self.delay, Happening::Down { wire, end: 1 - end, far: true });
                    }
                }
            }
        }
        node.config
    }

    /// Makes the way between two nodes fail until it is healed.
    pub fn cut(&mut self, a: usize, b: usize, failure: Failure) {
        self.blocked.insert(pair(a, b), failure);
        if failure == Failure::Loud {
            for wire in 0..self.wires.len() {
                let [x, y] = self.wires[wire].ends;
                if self.wires[wire].open && pair(x.0, y.0) == pair(a, b) {
                    self.wires[wire].open = false;
                    self.at(self.delay, Happening::Down { wire, end: 0, far: false });
                    self.at(self.delay, Happening::Down { wire, end: 1, far: false });
                }
            }
        }
    }

    pub fn heal(&mut self, a: usize, b: usize) {
        self.blocked.remove(&pair(a, b));
        for wire in 0..self.wires.len() {
            let [x, y] = self.wires[wire].ends;
            if pair(x.0, y.0) == pair(a, b) {
                for end in 0..2 {
                    // At once, since frames that are still under way come after them.
                    for happening in std::mem::take(&mut self.wires[wire].held[end]) {
                        self.at(Duration::ZERO, happening);
                    }
                }
            }
        }
    }

    /// A node learns which names the other end of its new link has proven.
    fn prove(&mut self, node: usize, link: LinkId, peer: usize) {
        if let Some(names) = self.proven.get(&peer).cloned() {
            self.node_mut(node).overlay.handle_link_proven(link, names);
        }
    }

    /// Keeps a happening that cannot pass. Returns whether it was kept.
    fn hold(&mut self, wire: usize, end: usize, happening: &Happening) -> bool {
        let [x, y] = self.wires[wire].ends;
        let (from, to) = if end == 0 { (y.0, x.0) } else { (x.0, y.0) };
        let held = !self.passes(from, to) || !self.wires[wire].held[end].is_empty();
        if held {
            self.wires[wire].held[end].push_back(happening.clone());
        }
        held
    }

    fn passes(&self, from: usize, to: usize) -> bool {
        match self.blocked.get(&pair(from, to)) {
            None => true,
            Some(Failure::OneWay) => to < from,
            Some(_) => false,
        }
    }

    fn at(&mut self, wait: Duration, happening: Happening) {
        self.order += 1;
        self.queue.push(Reverse((self.now + wait, self.order, happening)));
    }

    /// A delay for one frame, between the least and twice the least.
    fn some_delay(&mut self) -> Duration {
        let share = self.seed.split("delay").split_index(self.order).0 & 0xff;
        self.delay + self.delay * u32::try_from(share).expect("a byte") / 256
    }

    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    pub fn run_until(&mut self, end: Moment) {
        loop {
            let timer = self.timers.next();
            let next = self.queue.peek().map(|Reverse((at, _, _))| *at);
            match (timer, next) {
                (Some(at), next) if at <= end && next.is_none_or(|next| at < next) => {
                    self.now = self.now.max(at);
                    let now = self.now;
                    let Some(index) = self.timers.pop_due(now) else { return };
                    self.node_mut(index).overlay.handle_timeout(now);
                    self.settle(index);
                }
                (_, Some(at)) if at <= end => {
                    self.now = self.now.max(at);
                    let Some(Reverse((_, _, happening))) = self.queue.pop() else { return };
                    self.happen(happening);
                }
                _ => {
                    self.now = end;
                    return;
                }
            }
        }
    }

    fn happen(&mut self, happening: Happening) {
        let now = self.now;
        match happening {
            Happening::Connect { from, key, target, to } => {
                let same = self.nodes[from].as_ref().is_some_and(|node| node.overlay.key() == key);
                if !same {
                    return;
                }
                let blocked = self.blocked.contains_key(&pair(from, to));
                if blocked || self.nodes.get(to).is_none_or(Option::is_none) {
                    self.node_mut(from).overlay.handle_link_failed(now, target, "connection refused");
                    return self.settle(from);
                }
                let wire = self.wires.len();
                let id = |end: usize| LinkId((wire * 2 + end) as u64);
                self.wires.push(Wire {
                    ends: [(from, id(0)), (to, id(1))],
                    open: true,
                    busy: [now; 2],
                    held: Default::default(),
                });
                self.ends.insert(id(0), (wire, 0));
                self.ends.insert(id(1), (wire, 1));
                self.node_mut(to).overlay.handle_link_up(now, id(1), None);
                self.prove(to, id(1), from);
                self.settle(to);
                self.node_mut(from).overlay.handle_link_up(now, id(0), Some(target));
                self.prove(from, id(0), to);
                self.settle(from);
            }
            Happening::Frame { wire, end, .. } if self.hold(wire, end, &happening) => {}
            Happening::Down { wire, end, far: true } if self.hold(wire, end, &happening) => {}
            Happening::Frame { wire, end, frame } => self.deliver(wire, end, &frame),
            Happening::Down { wire, end, .. } => {
                let (index, id) = self.wires[wire].ends[end];
                if let Some(node) = self.nodes[index].as_mut() {
                    node.overlay.handle_link_down(now, id, "connection reset");
                    self.settle(index);
                }
            }
        }
    }

    fn deliver(&mut self, wire: usize, end: usize, frame: &Bytes) {
        let now = self.now;
        let (index, id) = self.wires[wire].ends[end];
        let Some(node) = self.nodes[index].as_mut() else { return };
        if frame[0] == 0 {
            if !matches!(frame[1], 4 | 5) {
                self.busy_frames += 1;
                self.busy_bytes += frame.len() as u64;
                self.busy_last = now;
            }
            node.overlay.handle_frame(now, id, frame.slice(1..));
        } else {
            node.overlay.handle_heard(now, id);
            node.overlay.count_traffic(now, id, frame.len() - 1);
            let peer = node.overlay.channel_peer(id);
            node.app.channel_on_link(id, peer, &frame[1..]);
        }
        self.settle(index);
    }

    /// Carries out all outputs of a node.
    pub fn settle(&mut self, index: usize) {
        let now = self.now;
        loop {
            let Some(node) = self.nodes[index].as_mut() else { return };
            if let Some(event) = node.overlay.poll_event() {
                self.event(index, event);
                continue;
            }
            let Some(node) = self.nodes[index].as_mut() else { return };
            node.app.pump(now, &mut node.overlay);
            let Some(id) = node.overlay.poll_ready() else { break };
            while let Some(frame) = self.nodes[index].as_mut().and_then(|n| n.overlay.poll_frame(now, id)) {
                self.put(id, 0, &frame);
            }
        }
        let Some(node) = self.nodes[index].as_mut() else { return };
        let out = std::mem::take(&mut node.app.out);
        out.iter().for_each(|(id, frame)| node.overlay.count_traffic(now, *id, frame.len()));
        match node.overlay.poll_timeout() {
            Some(at) => self.timers.set(index, at),
            None => drop(self.timers.clear(index)),
        }
        for (id, frame) in out {
            self.put(id, 1, &frame);
        }
    }

    fn put(&mut self, id: LinkId, channel: u8, frame: &[u8]) {
        let (wire, end) = self.ends[&id];
        if !self.wires[wire].open {
            return;
        }
        let delay = self.some_delay();
        let at = self.wires[wire].busy[1 - end].max(self.now + delay);
        self.wires[wire].busy[1 - end] = at;
        let frame = Bytes::from([&[channel], frame].concat());
        self.order += 1;
        self.queue.push(Reverse((at, self.order, Happening::Frame { wire, end: 1 - end, frame })));
    }

    fn event(&mut self, index: usize, event: Event) {
        match event {
            Event::Connect { target, url } => {
                let to = url.trim_start_matches('n').parse().unwrap_or(usize::MAX);
                let (key, wait) = (self.key(index), 2 * self.delay);
                self.at(wait, Happening::Connect { from: index, key, target, to });
            }
            Event::Close { link, .. } => {
                let (wire, end) = self.ends[&link];
                if std::mem::replace(&mut self.wires[wire].open, false) {
                    // Frames that were sent earlier arrive first.
                    let at = self.wires[wire].busy[1 - end].max(self.now + self.delay);
                    self.order += 1;
                    self.queue.push(Reverse((
                        at,
                        self.order,
                        Happening::Down { wire, end: 1 - end, far: true },
                    )));
                }
            }
            event => {
                let now = self.now;
                let node = self.node_mut(index);
                node.app.event(now, event);
            }
        }
    }

    /// Pairs of nodes that have a wire and an open way.
    fn wired(&self) -> BTreeSet<(usize, usize)> {
        let open = self.wires.iter().filter(|wire| wire.open);
        let pairs = open.map(|wire| pair(wire.ends[0].0, wire.ends[1].0));
        pairs.filter(|pair| !self.blocked.contains_key(pair)).collect()
    }
}
