//! Kernels and queues between them.

use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use kernel::report::NodeSummary;
use kernel::{
    Config, Kernel, LinkCounts, LinkId, LinkInput, LinkOutput, LinkTarget, LinkTerms, NetworkConfig,
    NetworkStatus, NoFoms, TargetId, TopologyKind,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(1);

enum What {
    Up(Option<TargetId>),
    Frame(Bytes),
    Down,
    Failed(TargetId),
}

struct Node {
    kernel: Kernel,
    name: String,
    down: bool,
}

/// Nodes by the name of their host.
pub(crate) struct World {
    kind: TopologyKind,
    any_shape: bool,
    now: Moment,
    nodes: BTreeMap<String, Node>,
    starts: u64,
    last_link: u64,
    /// The two ends of a link: even numbers are the connecting end.
    ends: BTreeMap<LinkId, (String, LinkId)>,
    queue: BTreeMap<Moment, VecDeque<(String, LinkId, What)>>,
    cut: BTreeSet<String>,
    frames: u64,
}

impl World {
    pub(crate) fn new(kind: TopologyKind) -> Self {
        Self {
            kind,
            any_shape: false,
            now: Moment::ZERO,
            nodes: BTreeMap::new(),
            starts: 0,
            last_link: 0,
            ends: BTreeMap::new(),
            queue: BTreeMap::new(),
            cut: BTreeSet::new(),
            frames: 0,
        }
    }

    /// Starts a node that connects to others; one that connects to nobody begins the network.
    pub(crate) fn start(&mut self, name: &str, joins: &[&str]) {
        self.start_as(name, name, joins);
    }

    /// Starts a node that takes any shape of network.
    pub(crate) fn start_anyhow(&mut self, name: &str, joins: &[&str]) {
        let kind = std::mem::replace(&mut self.kind, TopologyKind::Tree);
        self.any_shape = true;
        self.start(name, joins);
        self.any_shape = false;
        self.kind = kind;
    }

    pub(crate) fn start_as(&mut self, host: &str, name: &str, joins: &[&str]) {
        self.starts += 1;
        let seed = Seed(7).split_index(self.starts);
        let mut network = NetworkConfig::new(NodeKey(seed.0.max(1)), seed, name, self.kind);
        network.overlay.urls = vec![host.to_owned()];
        network.any_shape = self.any_shape;
        network.bootstrap = joins.is_empty().then_some(Duration::ZERO);
        let target =
            |to: &&str| LinkTarget { url: (*to).to_owned(), name: None, terms: LinkTerms::default() };
        network.targets = joins.iter().map(target).collect();
        let kernel = Kernel::in_network(self.now, Config::default(), network, Box::new(NoFoms))
            .expect("sound settings");
        self.nodes.insert(host.to_owned(), Node { kernel, name: name.to_owned(), down: false });
        self.settle(host);
    }

    /// The process of a node ends: its links break.
    pub(crate) fn crash(&mut self, host: &str) {
        self.nodes.get_mut(host).expect("a node").down = true;
        let mine: Vec<_> =
            self.ends.iter().filter(|(_, (owner, _))| owner == host).map(|(l, _)| *l).collect();
        for link in mine {
            self.break_link(link);
        }
        self.nodes.remove(host);
    }

    /// Takes the network from a host, or gives it back; everybody notices at once.
    pub(crate) fn cut(&mut self, host: &str, cut: bool) {
        if !cut {
            self.cut.remove(host);
            return;
        }
        self.cut.insert(host.to_owned());
        let mine: Vec<_> =
            self.ends.iter().filter(|(_, (owner, _))| owner == host).map(|(l, _)| *l).collect();
        for link in mine {
            self.break_link(link);
            self.tell(host.to_owned(), link, What::Down);
        }
    }

    pub(crate) fn leave(&mut self, host: &str) {
        let now = self.now;
        self.nodes.get_mut(host).expect("a node").kernel.begin_shutdown(now);
        self.settle(host);
    }

    pub(crate) fn has_left(&self, host: &str) -> bool {
        self.nodes[host].kernel.has_left()
    }

    pub(crate) fn status(&self, host: &str) -> NetworkStatus {
        self.nodes[host].kernel.network().expect("a node of a network")
    }

    /// The world reads the counters of all links of a host.
    pub(crate) fn read_counters(&mut self, host: &str, counts: LinkCounts) {
        let kernel = &mut self.nodes.get_mut(host).expect("a node").kernel;
        for (link, _) in self.ends.iter().filter(|(_, (owner, _))| owner == host) {
            kernel.handle_link(self.now, LinkInput::Counts { link: *link, counts });
        }
    }

    /// A node says something over its link to another one. False when that ends the link.
    pub(crate) fn say(&mut self, from: &str, to: &str, frame: &'static [u8]) -> bool {
        let owner = |link: &LinkId| self.ends.get(link).map(|(owner, _)| owner.as_str());
        let between = |(link, (owner_of_it, far)): (&LinkId, &(String, LinkId))| {
            (owner_of_it == to && owner(far) == Some(from)).then_some(*link)
        };
        let link = self.ends.iter().find_map(between).expect("they are neighbours");
        self.deliver(to, link, What::Frame(Bytes::from_static(frame)));
        self.run(5 * DELAY);
        self.ends.contains_key(&link)
    }

    /// What the node called `name` has told all others of itself, as `host` knows it.
    pub(crate) fn told(&self, host: &str, name: &str) -> NodeSummary {
        let map = self.status(host).map;
        let node = map.nodes.iter().find(|node| node.name == name).expect("it is known");
        serde_json::from_slice(&node.info).expect("a summary")
    }

    /// All these are members, know each other, and nobody else.
    pub(crate) fn expect_members(&self, names: &[&str]) {
        for name in names {
            let status = self.status(name);
            assert!(status.member, "{name} is no member at {}: {status:#?}", self.now);
            let known: BTreeSet<String> = status
                .members
                .iter()
                .map(|member| {
                    assert!(member.node.is_some(), "{name} does not know the number of {}", member.key);
                    let node = self
                        .nodes
                        .values()
                        .find(|node| node.kernel.network().is_some_and(|network| network.key == member.key));
                    node.map_or_else(|| member.key.to_string(), |node| node.name.clone())
                })
                .collect();
            let numbers = status.members.iter().filter_map(|member| member.node).collect::<BTreeSet<_>>();
            assert_eq!(numbers.len(), names.len(), "numbers as {name} knows them at {}", self.now);
            let expected: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(known, expected, "members as {name} knows them at {}", self.now);
        }
    }

    /// Nothing is said but signs of life.
    pub(crate) fn expect_silence(&mut self, lasts: Duration) {
        let before = self.frames;
        self.run(lasts);
        let links = self.ends.len() as u64 / 2;
        let nodes = self.nodes.len() as u64;
        // Two signs of life a second and their answers on each link; heartbeats of the log, ten a second and member,
        // over at most so many links as there are nodes.
        let most = lasts.as_secs() * (links * 2 * 2 * 2 + nodes * 10 * 2 * nodes) + 10;
        let said = self.frames - before;
        assert!(said <= most, "{said} frames in {lasts:?}, more than {most}");
    }

    pub(crate) fn run(&mut self, lasts: Duration) {
        let until = self.now + lasts;
        loop {
            let timer = self.nodes.values().filter_map(|node| node.kernel.poll_timeout()).min();
            let event = self.queue.keys().next().copied();
            let Some(next) = timer.into_iter().chain(event).min().filter(|at| *at <= until) else { break };
            self.now = self.now.max(next);
            let now = self.now;
            let due = |at: &Moment| *at <= now;
            while let Some(at) = self.queue.keys().next().copied().filter(due) {
                let batch = self.queue.remove(&at).unwrap_or_default();
                for (host, link, what) in batch {
                    self.deliver(&host, link, what);
                }
            }
            let hosts: Vec<_> = self.nodes.keys().cloned().collect();
            for host in hosts {
                let node = self.nodes.get_mut(&host).expect("listed");
                if node.kernel.poll_timeout().is_some_and(|at| at <= now) {
                    node.kernel.handle_timeout(now);
                    self.settle(&host);
                }
            }
        }
        self.now = until;
    }

    fn deliver(&mut self, host: &str, link: LinkId, what: What) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(host).filter(|node| !node.down) else { return };
        let input = match what {
            What::Up(_) if !self.ends.contains_key(&link) => return,
            What::Up(target) => LinkInput::Up { link, target },
            What::Frame(frame) => LinkInput::Frame { link, frame },
            What::Down => LinkInput::Down { link, reason: "gone" },
            What::Failed(target) => LinkInput::Failed { target, reason: "refused" },
        };
        node.kernel.handle_link(now, input);
        self.settle(host);
    }

    fn tell(&mut self, host: String, link: LinkId, what: What) {
        self.queue.entry(self.now + DELAY).or_default().push_back((host, link, what));
    }

    /// The far end of `link` learns that it is gone.
    fn break_link(&mut self, link: LinkId) {
        let Some((_, far)) = self.ends.remove(&link) else { return };
        if let Some((owner, _)) = self.ends.remove(&far) {
            self.tell(owner, far, What::Down);
        }
    }

    /// Does all that the kernel's contract asks for.
    fn settle(&mut self, host: &str) {
        let now = self.now;
        while let Some(output) = self.nodes.get_mut(host).and_then(|node| node.kernel.poll_link()) {
            match output {
                LinkOutput::Connect { target, url } => self.connect(host, target, &url),
                LinkOutput::Close { link, .. } => self.break_link(link),
                LinkOutput::Ready(link) => {
                    while let Some(node) = self.nodes.get_mut(host)
                        && let Some(frame) = node.kernel.poll_link_frame(now, link)
                    {
                        self.frames += 1;
                        if let Some((_, far)) = self.ends.get(&link).cloned() {
                            let owner = self.ends[&far].0.clone();
                            self.tell(owner, far, What::Frame(frame));
                        }
                    }
                }
            }
        }
    }

    fn connect(&mut self, host: &str, target: TargetId, url: &str) {
        let cut = self.cut.contains(host) || self.cut.contains(url);
        if cut || !self.nodes.contains_key(url) {
            return self.tell(host.to_owned(), LinkId(0), What::Failed(target));
        }
        self.last_link += 2;
        let (near, far) = (LinkId(self.last_link), LinkId(self.last_link + 1));
        self.ends.insert(near, (host.to_owned(), far));
        self.ends.insert(far, (url.to_owned(), near));
        self.tell(url.to_owned(), far, What::Up(None));
        self.tell(host.to_owned(), near, What::Up(Some(target)));
    }
}
