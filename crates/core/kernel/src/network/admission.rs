//! Letting nodes in, taking dead ones out, and finding out where this one stands.

use super::envelope::Unicast;
use super::{Network, Verdict};
use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use rti::{Command, Rti};
use std::collections::BTreeSet;

impl Network {
    pub(super) fn received(&mut self, now: Moment, from: NodeKey, body: &Bytes, rti: &mut Rti) {
        match Unicast::decode(from, body) {
            Ok(Unicast::Consensus(message)) => self.order.handle_message(now, from, message),
            Ok(Unicast::Services(body)) => {
                let node = self.nodes.iter().find(|(_, key)| **key == from).map(|(node, _)| *node);
                let Some(node) = node else { return };
                if let Err(error) = rti.handle_unicast(now, node, body) {
                    tracing::warn!(%from, %error, "a letter of another node is not understood");
                }
            }
            Ok(Unicast::Join { name }) => self.admit(now, from, name, rti),
            Ok(Unicast::Refused(why)) => tracing::error!(%from, "not let into the network: {why}"),
            Err(why) => tracing::warn!("{why}"),
        }
    }

    /// A node asks to be a member.
    pub(super) fn admit(&mut self, now: Moment, key: NodeKey, name: String, rti: &Rti) {
        if !self.is_member() || self.leaving {
            return;
        }
        let twin = rti.control().nodes().find(|record| record.name == name && record.key != key);
        if let Some(twin) = twin.filter(|twin| self.overlay.is_reachable(twin.key)) {
            let why =
                format!("a node called `{name}` ({}) is a member; give this one another name", twin.key);
            return self.write(now, key, &Unicast::Refused(why), true);
        }
        self.order.add(now, key);
        if twin.is_none() && rti.control().node_by_key(key).is_none() && self.asked.insert(key) {
            tracing::info!(%key, name, "let into the network");
            self.order.command(now, &Command::AddNode { key, name });
        }
    }

    /// A member is dead or leaves.
    pub(super) fn remove(&mut self, now: Moment, key: NodeKey) {
        if self.nodes.values().any(|known| *known == key) && self.asked.insert(key) {
            self.order.command(now, &Command::RemoveNode { key });
        }
        self.order.remove(now, key);
        self.review_due = true;
    }

    /// Looks at where this node and the others stand.
    pub(super) fn review(&mut self, now: Moment, rti: &Rti) -> Verdict {
        let nodes: Vec<NodeKey> = self.overlay.reachable().collect();
        if let Some(to) = self.membership.ask(now, &nodes) {
            let name = self.config.overlay.name.clone();
            self.write(now, to, &Unicast::Join { name }, true);
        }
        if !self.order.is_leader() || self.leaving {
            self.membership.look_away();
        } else {
            let overlay = &self.overlay;
            // One that left may be out of the control plane and die before it is out of the log.
            let mut members: BTreeSet<NodeKey> = self.nodes.values().copied().collect();
            members.extend(self.order.log().members().keys());
            members.remove(&self.key);
            let members = members.into_iter();
            for key in self.membership.dead(now, members, |key| overlay.is_reachable(key)) {
                if !self.asked.contains(&key) {
                    let name = rti.control().node_by_key(key).map_or("?", |record| &record.name);
                    tracing::warn!(%key, name, "dead: removed from the network");
                }
                self.remove(now, key);
            }
        }
        if let Some(shape) = self.other_shape {
            return Verdict::BeginAnew(format!("the network is a {}", shape.topology));
        }
        let lost = self.membership.is_lost(now, self.order.has_quorum() || self.leaving);
        if self.leaving {
            if self.order.is_removed() {
                self.overlay.leave(now);
            }
            return Verdict::GoOn;
        }
        if self.order.is_removed() {
            return Verdict::BeginAnew(
                "this node was taken for dead and removed from the network".to_owned(),
            );
        }
        if lost {
            return Verdict::BeginAnew("this node has no contact with a majority of the network".to_owned());
        }
        Verdict::GoOn
    }

    /// Begins a network of its own.
    pub(super) fn bootstrap(&mut self, now: Moment) {
        let network = Seed(self.key.0).split("network").0.max(1);
        tracing::debug!(network = format_args!("{network:016x}"), "begin a network");
        self.overlay.set_network(now, network);
        self.order.bootstrap(now);
        self.membership.found(now);
        let name = self.config.overlay.name.clone();
        self.order.command(now, &Command::AddNode { key: self.key, name });
    }
}
