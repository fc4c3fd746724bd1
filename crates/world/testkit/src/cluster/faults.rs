//! What happens to a cluster: processes that die, start and leave, and troubles of the network.

use super::node::Node;
use super::trouble::TroubleKind;
use super::world::{Cluster, Condition, fresh};
use crate::world::Failure;
use netsim::{Effect, Fault, HostId, Packet, RuleId, Scope, Verdict};
use std::collections::BTreeSet;

impl Cluster {
    pub(super) fn is_running(&self, node: usize) -> bool {
        matches!(self.starts[node].1, Condition::Up | Condition::Leaving)
    }

    /// The process of a node dies.
    pub fn crash(&mut self, node: usize) {
        if self.is_running(node) {
            self.starts[node].1 = Condition::Down;
            self.outcome.lost_nodes += 1;
            self.sim.network_mut().kill(self.nodes[node]);
        }
    }

    /// A process of a node starts where there is none.
    pub fn launch(&mut self, node: usize) {
        if self.is_running(node) {
            return;
        }
        let (start, condition) = self.starts[node];
        let start = if condition == Condition::Absent { 0 } else { start + 1 };
        self.starts[node] = (start, Condition::Up);
        self.learn_served(node);
        self.outcome.held_back += self.held(node).1;
        let process = fresh(&self.options, self.now(), node, start, &self.directory);
        self.sim.restart(self.nodes[node], process);
        self.with_node(node, Node::begin);
    }

    /// A node leaves in order.
    pub fn leave(&mut self, node: usize) {
        if self.starts[node].1 == Condition::Up {
            self.starts[node].1 = Condition::Leaving;
            self.with_node(node, Node::leave);
        }
    }

    /// The process of a node stands still, until [`Cluster::go_on`].
    pub fn pause(&mut self, node: usize) {
        if self.is_running(node) {
            self.with_node(node, Node::stop);
        }
    }

    /// The process of a node goes on.
    pub fn go_on(&mut self, node: usize) {
        if self.is_running(node) {
            self.with_node(node, Node::go_on);
        }
    }

    /// A federate reads nothing any more, or again.
    pub fn set_reading(&mut self, host: HostId, reading: bool) {
        self.with_federate(host, |federate, port| federate.set_reading(port, reading));
    }

    /// The process of a federate dies.
    ///
    /// # Errors
    /// A property does not hold.
    pub fn kill_federate(&mut self, host: HostId) -> Result<(), Failure> {
        if !self.sim.network().is_up(host) {
            return Ok(());
        }
        self.sim.network_mut().kill(host);
        self.with_federate(host, |federate, _| federate.die());
        self.watch(host)
    }

    /// Puts a trouble of the network into force until its rule is removed.
    pub fn add_rule(&mut self, kind: TroubleKind) -> RuleId {
        let node = |node: usize| self.nodes[node];
        let federate = |number: usize| Scope::Host(self.federates[number]);
        let fault = match kind {
            TroubleKind::Cut(a, b) => Fault::new(Scope::Between(node(a), node(b)), Effect::Cut),
            TroubleKind::Stall(a, b) => Fault::new(Scope::Between(node(a), node(b)), Effect::Stall),
            TroubleKind::OneWay(a, b) => Fault::new(Scope::Link(node(a), node(b)), Effect::Stall),
            TroubleKind::Slow(a, b, by) => {
                Fault::new(Scope::Between(node(a), node(b)), Effect::Delay(by..=by))
            }
            TroubleKind::CutFederate(number, ppm) => {
                Fault::new(federate(number), Effect::Cut).with_chance(ppm)
            }
            TroubleKind::Partition(side, cut) => {
                let side: BTreeSet<HostId> = side.into_iter().map(node).collect();
                return self.sim.network_mut().add_rule(parting(self.nodes.len(), side, cut));
            }
            TroubleKind::StallFederate(number) => Fault::new(federate(number), Effect::Stall),
            // Of processes, not of the network.
            TroubleKind::Crash(_)
            | TroubleKind::Restart(_)
            | TroubleKind::Leave(_)
            | TroubleKind::Join(_)
            | TroubleKind::Pause(_)
            | TroubleKind::KillFederate(_) => Fault::new(Scope::All, Effect::Drop).with_chance(0),
        };
        self.sim.network_mut().add_rule(fault)
    }
}

/// Between the nodes of `side` and the other nodes nothing passes. Federates reach whom they reached.
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
