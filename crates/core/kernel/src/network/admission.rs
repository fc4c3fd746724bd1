//! Admission of nodes, removal of dead ones, and the standing of this node.

use super::envelope::Unicast;
use super::membership::Hope;
use super::{Network, Verdict, Yielding};
use base::{Moment, NodeKey};
use bytes::Bytes;
use consensus::Role;
use rti::{Command, Rti};
use std::collections::BTreeSet;

impl Network {
    pub(super) fn received(&mut self, now: Moment, from: NodeKey, body: &Bytes, rti: &mut Rti) {
        match Unicast::decode(from, body) {
            Ok(Unicast::Consensus(message)) => self.take_log_message(now, from, message),
            Ok(Unicast::Services(body)) => {
                let node = self.nodes.iter().find(|(_, key)| **key == from).map(|(node, _)| *node);
                let Some(node) = node else { return };
                if let Err(error) = rti.handle_unicast(now, node, body) {
                    tracing::warn!(%from, %error, "a peer message of another node is malformed");
                }
            }
            Ok(Unicast::Join { name }) => self.admit(now, from, name, rti),
            Ok(Unicast::Refused(why)) => tracing::error!(%from, "not let into the network: {why}"),
            Ok(Unicast::Reformation(body)) => self.take_reformation(now, from, body),
            Err(why) => tracing::warn!("{why}"),
        }
    }

    /// Handles the request of a node to become a member.
    pub(super) fn admit(&mut self, now: Moment, key: NodeKey, name: String, rti: &Rti) {
        // A node that considers itself a member of another network would continue to announce that
        // network.
        if !self.is_member() || self.leaving || self.overlay.is_elsewhere(key) {
            return;
        }
        let twin = rti.control().nodes().find(|record| record.name == name && record.key != key);
        if let Some(twin) = twin.filter(|twin| self.overlay.is_reachable(twin.key)) {
            let why =
                format!("a node called `{name}` ({}) is a member; give this one another name", twin.key);
            return self.write(now, key, &Unicast::Refused(why), true);
        }
        self.commands.add(now, key);
        if twin.is_none() && rti.control().node_by_key(key).is_none() && self.asked.insert(key) {
            tracing::info!(%key, name, "let into the network");
            self.commands.command(now, &Command::AddNode { key, name });
        }
    }

    /// Removes a member that is dead or leaves.
    pub(super) fn remove(&mut self, now: Moment, key: NodeKey) {
        if self.nodes.values().any(|known| *known == key) && self.asked.insert(key) {
            self.commands.command(now, &Command::RemoveNode { key });
        }
        self.commands.remove(now, key);
        self.review_due = true;
    }

    /// Reviews the standing of this node and of the others.
    pub(super) fn review(&mut self, now: Moment, rti: &Rti) -> Verdict {
        self.overlay.set_quorum_size(now, self.quorum_size());
        if let Some(why) = self.rekey.take() {
            return rejoin(why);
        }
        if !self.leaving
            && let Some(to) = self.membership.ask(now, || self.overlay.admitting_member())
        {
            let name = self.config.overlay.name.clone();
            self.write(now, to, &Unicast::Join { name }, true);
        }
        // A leader that is cut off with a minority must not declare nodes dead. It cannot commit
        // the removal, but its proposal survives and would be committed when it is reconnected to
        // the others, who are alive.
        // A leader judges also before it is let in: it may be the next life of a member that nobody else
        // would remove, and in whose place it waits to come.
        let may_judge = self.commands.is_leader() && self.reaches_majority();
        if !may_judge || self.leaving {
            self.membership.look_away();
        } else {
            let overlay = &self.overlay;
            // A node that leaves may die when it is out of the control plane but still in the log.
            let mut members: BTreeSet<NodeKey> = self.nodes.values().copied().collect();
            members.extend(self.commands.log().members().keys());
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
            return rejoin(&format!("the network is a {}", shape.topology));
        }
        if let Some(Yielding { network, why, .. }) = self.yielding.take_if(|yielding| yielding.at <= now)
            && !self.leaving
        {
            self.given_up = Some(network);
            self.reformation.forget();
            return Verdict::Rejoin { why, may_create: true };
        }
        if self.membership.is_ignored(now) && !self.leaving {
            let why = "no member of the network that was found has let this node in".to_owned();
            return Verdict::Rejoin { why, may_create: true };
        }
        let hope = self.hope();
        if self.membership.is_forlorn(now, self.overlay.has_members(), hope) && !self.leaving {
            return rejoin("no member of the network that was found is there any more");
        }
        // The log notices the loss of a majority later than the links do, and each member at another
        // moment. Those that give up one after the other wait for each other.
        let in_contact = self.commands.has_quorum() && self.reaches_majority();
        let lost = self.membership.is_lost(now, in_contact || self.leaving);
        if self.leaving {
            if self.commands.is_removed() {
                self.overlay.leave(now);
                self.reformation.forget();
            }
            return Verdict::GoOn;
        }
        if self.commands.is_removed() {
            return rejoin("this node was taken for dead and removed from the network");
        }
        if lost {
            return rejoin("this node has no contact with a majority of the network");
        }
        if !self.commands.has_quorum() && self.is_beyond_recovery() {
            return rejoin("a majority of the nodes of the network that vote was started again");
        }
        Verdict::GoOn
    }

    /// The number of members, if this node is one; 0 when no majority of the voters can be reached.
    fn quorum_size(&self) -> Option<u32> {
        let count = u32::try_from(self.commands.log().members().len()).unwrap_or(u32::MAX);
        self.is_member().then_some(if self.reaches_majority() { count } else { 0 })
    }

    fn hope(&self) -> Hope {
        match (self.overlay.has_company(), self.commands.log().members().is_empty()) {
            (true, false) if self.reaches_majority() => Hope::Election,
            (false, true) => Hope::Alone,
            _ => Hope::Company,
        }
    }

    /// Whether a majority of the voters can be reached.
    fn reaches_majority(&self) -> bool {
        let members = self.commands.log().members();
        let voters = || members.iter().filter(|(_, role)| **role == Role::Voter).map(|(key, _)| *key);
        voters().filter(|key| self.overlay.is_reachable(*key)).count() > voters().count() / 2
    }

    /// Creates a network of its own.
    pub(super) fn bootstrap(&mut self, now: Moment) {
        let clock = self.config.overlay.clock_millis.unwrap_or(0);
        let millis = clock.saturating_add(now.as_nanos() / 1_000_000);
        let network = base::network_number(&self.config.creator, millis);
        tracing::debug!(network = format_args!("{network:016x}"), "begin a network");
        self.overlay.set_network(now, network);
        self.commands.bootstrap(now);
        self.membership.found(now);
        let name = self.config.overlay.name.clone();
        self.commands.command(now, &Command::AddNode { key: self.key, name });
    }
}

/// The verdict that this node rejoins the network that it knows of.
fn rejoin(why: &str) -> Verdict {
    Verdict::Rejoin { why: why.to_owned(), may_create: false }
}
