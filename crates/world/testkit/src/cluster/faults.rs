//! Events of a cluster: processes that die, start and leave, and faults of the network.

use super::{Cluster, Condition, Failure, Process};
use crate::federate::Federate;
use crate::node::{Node, Refuses};
use crate::options::{FaultKind, FederateFault};
use kernel::{LinkCounts, NetworkConfig};
use netsim::{Effect, Fault, HostId, Packet, RuleId, Scope, Verdict};
use std::collections::BTreeSet;
use std::time::Duration;

impl Cluster {
    /// Whether the process of a node runs.
    pub fn is_running(&self, node: usize) -> bool {
        matches!(self.starts[node].1, Condition::Up | Condition::Leaving)
    }

    /// Kills the process of a node.
    pub fn crash(&mut self, node: usize) {
        if self.is_running(node) {
            self.starts[node].1 = Condition::Down;
            self.outcome.lost_nodes += 1;
            self.sim.network_mut().kill(self.nodes[node]);
        }
    }

    /// Starts a process of a node, if none runs.
    pub fn launch(&mut self, node: usize) {
        self.launch_with(node, |_| {});
    }

    /// Like [`Cluster::launch`], but with other settings.
    pub fn launch_with(&mut self, node: usize, adjust: impl FnOnce(&mut NetworkConfig)) {
        if self.is_running(node) {
            return;
        }
        let (start, condition) = self.starts[node];
        let start = if condition == Condition::Absent { 0 } else { start + 1 };
        self.starts[node] = (start, Condition::Up);
        self.learn_served(node);
        self.outcome.paused += self.node(node).paused().1;
        let stored = self.node(node).stored();
        let now = self.sim.network().local_time(self.nodes[node]);
        let process = Node::new(&self.options, now, (node, start), &self.directory, stored, adjust);
        self.sim.restart(self.nodes[node], Process::Node(process));
        self.with_node(node, Node::begin);
    }

    /// Makes a node leave in order.
    pub fn leave(&mut self, node: usize) {
        if self.starts[node].1 == Condition::Up {
            self.starts[node].1 = Condition::Leaving;
            self.with_node(node, Node::leave);
        }
    }

    /// Suspends the process of a node, until [`Cluster::go_on`].
    pub fn pause(&mut self, node: usize) {
        if self.is_running(node) {
            self.with_node(node, Node::stop);
        }
    }

    /// Resumes the process of a node.
    pub fn go_on(&mut self, node: usize) {
        if self.is_running(node) {
            self.with_node(node, Node::go_on);
        }
    }

    /// Sends a frame from one node to another that its kernel did not make. Returns false if that
    /// ends their link.
    ///
    /// # Errors
    /// A property does not hold.
    pub fn forge(&mut self, from: usize, to: usize, frame: &[u8]) -> Result<bool, Failure> {
        let [from_host, to_host] = [from, to].map(|node| self.nodes[node]);
        self.with_node(from, |node, port| node.forge(to_host, frame, port));
        self.run_for(Duration::from_millis(5))?;
        Ok(self.node(to).is_linked(from_host))
    }

    /// Makes the clock of a node jump ahead. It continues from there when the node is restarted.
    pub fn advance_clock(&mut self, node: usize, by: Duration) {
        self.sim.network_mut().advance_clock(self.nodes[node], by);
    }

    /// Makes the disk of a node refuse operations, until the process that runs there is dead.
    pub(super) fn refuse(&mut self, node: usize, refuses: Refuses) {
        self.with_node(node, |node, _| node.refuse(refuses));
    }

    /// Reports counters to the kernel of a node for each of its links.
    pub fn count_links(&mut self, node: usize, counts: LinkCounts) {
        self.with_node(node, |node, port| node.count(counts, port));
    }

    /// Makes a federate stop reading, or read again.
    pub fn set_reading(&mut self, host: HostId, reading: bool) {
        if let Some(model) = &mut self.model {
            model.disturb(host);
        }
        self.with_federate(host, |federate, port| federate.set_reading(port, reading));
    }

    /// Kills the process of a federate.
    ///
    /// # Errors
    /// A property does not hold.
    pub fn kill_federate(&mut self, host: HostId) -> Result<(), Failure> {
        if !self.sim.network().is_up(host) {
            return Ok(());
        }
        self.sim.network_mut().kill(host);
        self.with_federate(host, |federate: &mut Federate, _| federate.die());
        self.watch(host)
    }

    /// Applies a fault to the network until its rule is removed.
    ///
    /// # Panics
    /// If it is a fault of processes.
    pub fn add_rule(&mut self, kind: FaultKind) -> RuleId {
        let node = |node: usize| self.nodes[node];
        let between = |a, b| Scope::Between(node(a), node(b));
        let fault = match kind {
            FaultKind::Cut(a, b) => Fault::new(between(a, b), Effect::Cut),
            FaultKind::Stall(a, b) => Fault::new(between(a, b), Effect::Stall),
            FaultKind::OneWay(a, b) => Fault::new(Scope::Link(node(a), node(b)), Effect::Stall),
            FaultKind::Slow(a, b, by) => Fault::new(between(a, b), Effect::Delay(by..=by)),
            FaultKind::Partition(side, cut) => {
                let side: BTreeSet<HostId> = side.into_iter().map(node).collect();
                return self.sim.network_mut().add_rule(parting(self.nodes.len(), side, cut));
            }
            FaultKind::Federate(number, fault) => {
                let scope = Scope::Host(self.federates[number]);
                match fault {
                    FederateFault::Delay(by) => Fault::new(scope, Effect::Delay(Duration::ZERO..=by)),
                    FederateFault::Fragment(size) => Fault::new(scope, Effect::Fragment(size)),
                    FederateFault::Cut(ppm) => Fault::new(scope, Effect::Cut).with_chance(ppm),
                    FederateFault::Stall => Fault::new(scope, Effect::Stall),
                    FederateFault::Kill | FederateFault::SlowReader => {
                        unreachable!("no fault of the network")
                    }
                }
            }
            kind => unreachable!("{kind:?} is no fault of the network"),
        };
        self.sim.network_mut().add_rule(fault)
    }
}

/// Nothing passes between the nodes of `side` and the other nodes. Federates reach the hosts that
/// they reached before.
fn parting(nodes: usize, side: BTreeSet<HostId>, cut: bool) -> impl netsim::Rule + 'static {
    move |packet: &Packet<'_>, _: &mut netsim::Draws<'_>| {
        let is_node = |host: HostId| (host.0 as usize) < nodes;
        let parted = side.contains(&packet.from) != side.contains(&packet.to);
        match (parted && is_node(packet.from) && is_node(packet.to), cut) {
            (false, _) => Verdict::Pass,
            (true, true) => Verdict::Cut,
            (true, false) => Verdict::Stall,
        }
    }
}
