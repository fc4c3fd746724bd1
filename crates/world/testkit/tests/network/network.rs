//! A cluster whose nodes have names and are started one by one.

use base::{Moment, NodeKey, Seed};
use kernel::report::NodeSummary;
use kernel::{LinkCounts, LinkTarget, NetworkConfig, NetworkStatus, Record};
use netsim::RuleId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use testkit::{Cluster, Failure, FaultKind, Kind, Options, Shape, node};

/// More nodes than any test uses.
const NODES: usize = 8;

pub(crate) struct Network {
    cluster: Cluster,
    names: Vec<String>,
    cut: BTreeMap<usize, RuleId>,
}

fn done<T>(outcome: Result<T, Failure>) -> T {
    outcome.unwrap_or_else(|failure| panic!("{failure}"))
}

impl Network {
    /// A network without nodes.
    pub(crate) fn new(kind: Kind) -> Self {
        Self::with(kind, None)
    }

    /// The same, with nodes that keep the voters on disks which need up to `sync_max` to sync.
    pub(crate) fn with_disks(kind: Kind, sync_max: Duration) -> Self {
        Self::with(kind, Some(sync_max))
    }

    fn with(kind: Kind, disk: Option<Duration>) -> Self {
        let mut options = Options::quiet(Seed(7), Shape { kind, nodes: 0, edges: Vec::new() }, 0);
        options.spares = NODES;
        options.disk = disk;
        options.sites = vec![Duration::from_micros(500); NODES];
        Self { cluster: Cluster::new(options), names: Vec::new(), cut: BTreeMap::new() }
    }

    /// The number of the host with this name, which is assigned at its first use.
    fn host(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    fn node(&self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).expect("a node that was started")
    }

    /// Starts a node that connects to others; a node that connects to none begins the network.
    pub(crate) fn start(&mut self, name: &str, joins: &[&str]) {
        self.start_with(name, joins, |_| {});
    }

    /// Starts a node with other settings.
    pub(crate) fn start_with(&mut self, name: &str, joins: &[&str], adjust: impl Fn(&mut NetworkConfig)) {
        let host = self.host(name);
        let target = |to: usize| LinkTarget { name: None, ..node::target(to, 0) };
        let targets: Vec<_> = joins.iter().map(|to| target(self.host(to))).collect();
        self.cluster.launch_with(host, |config| {
            config.bootstrap = targets.is_empty().then_some(Duration::ZERO);
            config.targets = targets;
            name.clone_into(&mut config.overlay.name);
            adjust(config);
        });
    }

    pub(crate) fn now(&self) -> Moment {
        self.cluster.now()
    }

    /// Whether its process runs.
    pub(crate) fn is_up(&self, name: &str) -> bool {
        self.names.iter().position(|known| known == name).is_some_and(|node| self.cluster.is_running(node))
    }

    /// The record on its disk.
    fn stored(&self, name: &str) -> Option<Record> {
        self.cluster.node(self.node(name)).record()
    }

    /// The record that a node has now. A process knows of voters that its disk has not stored yet,
    /// and the network depends on those: a disk alone may name a majority that is none any more.
    fn record(&self, name: &str) -> Option<Record> {
        match self.is_up(name) {
            true => self.cluster.kernel(self.node(name)).network_record().cloned(),
            false => self.stored(name),
        }
    }

    /// Whether a crash would leave a record.
    pub(crate) fn has_record(&self, name: &str) -> bool {
        self.stored(name).is_some()
    }

    /// Whether these nodes have the votes of a majority in the latest network that one of them knows of.
    /// A later one that only others know of was never in force: a majority of its voters would have
    /// stored it, and one of these nodes would be among them.
    pub(crate) fn has_majority(&self, names: &[&str]) -> bool {
        let records: Vec<_> = names.iter().filter_map(|name| self.record(name)).collect();
        let latest = records.iter().map(|record| &record.head).max_by_key(|head| head.version());
        tracing::debug!(?names, ?latest, "the latest network of these nodes");
        let claims = |key: NodeKey| records.iter().any(|record| record.keys.contains(&key));
        latest.is_some_and(|latest| latest.configuration.is_majority(claims))
    }

    pub(crate) fn crash(&mut self, name: &str) {
        self.cluster.crash(self.node(name));
    }

    /// Cuts a host off from the network, or reconnects it.
    pub(crate) fn cut(&mut self, name: &str, cut: bool) {
        let node = self.node(name);
        if cut == self.cut.contains_key(&node) {
            return;
        }
        if cut {
            let rule = self.cluster.add_rule(FaultKind::Partition(BTreeSet::from([node]), true));
            self.cut.insert(node, rule);
        } else if let Some(rule) = self.cut.remove(&node) {
            self.cluster.network_mut().remove_rule(rule);
        }
    }

    pub(crate) fn leave(&mut self, name: &str) {
        self.cluster.leave(self.node(name));
    }

    pub(crate) fn has_left(&self, name: &str) -> bool {
        self.cluster.kernel(self.node(name)).has_left()
    }

    pub(crate) fn status(&self, name: &str) -> NetworkStatus {
        self.cluster.kernel(self.node(name)).network().expect("a node of a network")
    }

    /// Reports counters of all links to a node.
    pub(crate) fn count_links(&mut self, name: &str, counts: LinkCounts) {
        self.cluster.count_links(self.node(name), counts);
    }

    /// Sends a frame that the kernel of the sender did not make. Returns false if that ends the
    /// link.
    pub(crate) fn forge(&mut self, from: &str, to: &str, frame: &[u8]) -> bool {
        done(self.cluster.forge(self.node(from), self.node(to), frame))
    }

    /// The summary that `of` announces of itself, as `name` knows it.
    pub(crate) fn summary(&self, name: &str, of: &str) -> NodeSummary {
        let (map, key) = (self.status(name).map, self.key(of));
        let node = map.nodes.iter().find(|node| node.key == key).expect("it is known");
        serde_json::from_slice(&node.info).expect("a summary")
    }

    fn key(&self, name: &str) -> NodeKey {
        self.status(name).key
    }

    /// Checks that these nodes are members and know each other, each other's numbers, and no other
    /// nodes.
    pub(crate) fn expect_members(&self, names: &[&str]) {
        let now = self.cluster.now();
        let expected: BTreeSet<_> = names.iter().map(|name| self.key(name)).collect();
        for name in names {
            let status = self.status(name);
            assert!(status.member, "{name} is no member at {now}: {status:#?}");
            let known: BTreeSet<_> = status.members.iter().map(|member| member.key).collect();
            assert_eq!(known, expected, "members as {name} knows them at {now}");
            let numbers: BTreeSet<_> = status.members.iter().filter_map(|member| member.node).collect();
            assert_eq!(numbers.len(), names.len(), "numbers as {name} knows them at {now}");
        }
    }

    /// Checks that only keep-alives are sent.
    pub(crate) fn expect_silence(&mut self, names: &[&str], lasts: Duration) {
        let before = self.cluster.sent_frames();
        self.run(lasts);
        let nodes = names.len() as u64;
        let links = names.iter().map(|name| self.status(name).links.len() as u64).sum::<u64>() / 2;
        // Two keep-alives a second and their answers on each link; heartbeats of the log, ten a
        // second for each member, over at most as many links as there are nodes.
        let most = lasts.as_secs() * (links * 2 * 2 * 2 + nodes * 10 * 2 * nodes) + 10;
        let sent = self.cluster.sent_frames().since(&before).frames();
        assert!(sent <= most, "{sent} frames in {lasts:?}, more than {most}");
    }

    pub(crate) fn run(&mut self, lasts: Duration) {
        done(self.cluster.run_for(lasts));
    }
}
