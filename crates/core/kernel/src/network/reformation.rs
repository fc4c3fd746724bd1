//! Founding the successor of a lost network: the connection of [`consensus::reformation`] with the
//! log, the links and the disk.

use super::envelope::Unicast;
use super::membership::Standing;
use super::{Network, NetworkConfig};
use base::{Moment, NodeKey};
use bytes::Bytes;
use consensus::reformation::{Contact, Head, Message, Persist, Proposal, Recipient, Record, Reformation};
use overlay::{Target, TopologyKind};
use rti::Command;
use std::collections::{BTreeSet, VecDeque};

/// Limit on the log's messages that wait for a disk, in each direction. Messages beyond it are
/// dropped; Raft sends them again.
const WITHHELD_MAX: usize = 4_096;
/// Largest number of members whose addresses are stored besides those of the voters.
const MEMBERS_KEPT: usize = 16;

/// Messages of the log that wait until the log's configuration is stored.
#[derive(Default)]
pub(crate) struct Withheld {
    outgoing: VecDeque<(NodeKey, Bytes)>,
    incoming: VecDeque<(NodeKey, Bytes)>,
    /// The version of the configuration that was last handed over to be stored.
    noted: (u64, u64),
}

/// The machine that looks for a successor of the node's network.
pub(super) fn machine(config: &NetworkConfig, key: NodeKey) -> Reformation {
    let overlay = &config.overlay;
    let contact = Contact { name: overlay.name.clone(), urls: overlay.urls.clone() };
    let clock = overlay.clock_millis.unwrap_or(0);
    Reformation::new(key, contact, overlay.seed.split("reformation"), clock, config.kept.clone())
}

/// Link targets for the voters of a mesh that this node was a member of, because the node through
/// which it joined may be gone. In other shapes links are configured by hand, and voters have no
/// URLs.
pub(super) fn targets(head: Option<&Head>, config: &NetworkConfig) -> Vec<Target> {
    let Some(head) = head.filter(|_| config.overlay.topology == TopologyKind::Mesh) else {
        return Vec::new();
    };
    let planned = |name: &str, url: &str| {
        let same = |target: &super::LinkTarget| target.url == url || target.name.as_deref() == Some(name);
        config.targets.iter().any(same) || config.overlay.awaited.contains(name)
    };
    let others = head.contacts.values().filter(|contact| contact.name != config.overlay.name);
    let target = |contact: &Contact| {
        let url = contact.urls.first().filter(|url| !planned(&contact.name, url))?;
        Some(Target { url: url.clone(), name: Some(contact.name.clone()), terms: Bytes::new() })
    };
    others.filter_map(target).collect()
}

impl Network {
    /// Handles a message of the log. A node that is in no network ignores it, because it is in no
    /// log either.
    pub(super) fn take_log_message(&mut self, now: Moment, from: NodeKey, message: Bytes) {
        if matches!(self.membership.standing, Standing::Searching(_)) {
            return;
        }
        if self.reformation.is_persisted() {
            self.commands.handle_message(now, from, message);
        } else if self.withheld.incoming.len() < WITHHELD_MAX {
            self.withheld.incoming.push_back((from, message));
        }
    }

    /// Sends the log's messages to other members. A new configuration is stored first, so that no
    /// other node learns of an entry of this node that the node might forget. Returns true if
    /// anything moved.
    pub(super) fn send_log_messages(&mut self, now: Moment) -> bool {
        self.note_configuration();
        let mut any = false;
        while let Some(message) = self.commands.poll_message() {
            any = true;
            if self.withheld.outgoing.len() < WITHHELD_MAX {
                self.withheld.outgoing.push_back(message);
            }
        }
        if !self.reformation.is_persisted() {
            return any;
        }
        while let Some((to, body)) = self.withheld.outgoing.pop_front() {
            self.write(now, to, &Unicast::Consensus(body), true);
        }
        while let Some((from, message)) = self.withheld.incoming.pop_front() {
            self.commands.handle_message(now, from, message);
            any = true;
        }
        any
    }

    fn note_configuration(&mut self) {
        let configuration = self.commands.log().configuration();
        let network = self.overlay.network();
        let parted = self.leaving && self.reformation.head().is_none();
        if configuration.version() == self.withheld.noted || network == 0 || parted {
            return;
        }
        self.withheld.noted = configuration.version();
        let configuration = configuration.clone();
        let voters = configuration.voters.union(&configuration.outgoing);
        let contacts = voters.filter_map(|key| Some((*key, self.contact_of(*key)?))).collect();
        self.reformation.observe(network, configuration, contacts);
        self.note_members();
    }

    /// A node has become known: its address is to be stored if it votes or is a member.
    pub(super) fn note_contact(&mut self, key: NodeKey) {
        let unknown = |head: &Head| head.configuration.is_voter(key) && !head.contacts.contains_key(&key);
        if self.reformation.head().is_some_and(unknown) {
            self.withheld.noted = Withheld::default().noted;
        }
        self.note_members();
    }

    /// Where all joined through one node, the others find each other without it only if they remember
    /// each other. Those that do not vote today may be the ones that are left.
    pub(super) fn note_members(&mut self) {
        let members = self.nodes.values().filter_map(|key| Some((*key, self.contact_of(*key)?)));
        let contacts = members.filter(|(_, contact)| !contact.urls.is_empty()).take(MEMBERS_KEPT).collect();
        self.reformation.remember(contacts);
    }

    fn contact_of(&self, key: NodeKey) -> Option<Contact> {
        let mesh = self.config.overlay.topology == TopologyKind::Mesh;
        if let Some((name, urls)) = self.overlay.contact(key) {
            let urls = if mesh { urls.to_vec() } else { Vec::new() };
            return Some(Contact { name: name.to_owned(), urls });
        }
        self.reformation.head()?.contacts.get(&key).cloned()
    }

    /// Tells the machine the standing of this node, and carries out the machine's requests. Returns
    /// true if there were any.
    pub(super) fn drive_reformation(&mut self, now: Moment) -> bool {
        let outside = matches!(self.membership.standing, Standing::Searching(_)) && !self.leaving;
        self.reformation.set_outside(now, outside);
        let mut any = false;
        loop {
            if let Some(proposal) = self.reformation.poll_formed() {
                self.begin_successor(now, &proposal);
            } else if let Some((to, message)) = self.reformation.poll_message() {
                self.send_reformation(now, to, &message);
            } else {
                return any;
            }
            any = true;
        }
    }

    fn send_reformation(&mut self, now: Moment, to: Recipient, message: &Message) {
        let message = Unicast::Reformation(message.encode());
        match to {
            Recipient::One(key) => self.write(now, key, &message, true),
            Recipient::All => {
                for key in self.overlay.reachable().collect::<Vec<_>>() {
                    self.write(now, key, &message, true);
                }
            }
        }
    }

    pub(super) fn take_reformation(&mut self, now: Moment, from: NodeKey, body: Bytes) {
        match Message::decode(body) {
            Ok(message) => self.reformation.handle_message(now, from, message),
            Err(error) => tracing::warn!(%from, %error, "a message about a lost network is not understood"),
        }
    }

    /// The voters of the lost network have agreed on its successor.
    fn begin_successor(&mut self, now: Moment, proposal: &Proposal) {
        let (lost, network) = (proposal.replaces, proposal.network);
        let names: Vec<&str> = proposal.voters.values().map(|contact| contact.name.as_str()).collect();
        tracing::info!(
            "network {lost:016x} is lost; network {network:016x} takes its place, with the votes of {}",
            names.join(", ")
        );
        let searching = matches!(self.membership.standing, Standing::Searching(_));
        if !searching || !proposal.voters.contains_key(&self.key) {
            return;
        }
        self.overlay.set_network(now, network);
        let voters: BTreeSet<NodeKey> = proposal.voters.keys().copied().collect();
        self.commands.begin_group(now, proposal.creator, voters);
        // The machine stored this configuration before it reported it.
        self.withheld.noted = self.commands.log().configuration().version();
        self.membership.found(now);
        let name = self.config.overlay.name.clone();
        self.commands.command(now, &Command::AddNode { key: self.key, name });
        self.reformation.set_outside(now, false);
    }

    /// Whether so many voters have restarted that the network can never have a majority again.
    pub(super) fn is_beyond_recovery(&self) -> bool {
        // A voter whose name is taken from the control plane alone would be forgotten with its removal
        // from there, which comes before that from the log.
        let restarted = |key: NodeKey| {
            self.contact_of(key).is_some_and(|contact| self.overlay.is_restarted(key, &contact.name))
        };
        let configuration = self.commands.log().configuration();
        !configuration.voters.is_empty() && !configuration.is_majority(|key| !restarted(key))
    }

    /// See [`Kernel::network_record`](crate::Kernel::network_record).
    pub(crate) fn record(&self) -> Option<&Record> {
        self.reformation.record()
    }

    /// See [`Kernel::poll_persist`](crate::Kernel::poll_persist).
    pub(crate) fn poll_persist(&mut self) -> Option<Persist> {
        self.reformation.poll_persist()
    }

    /// See [`Kernel::handle_persisted`](crate::Kernel::handle_persisted).
    pub(crate) fn handle_persisted(&mut self, now: Moment, revision: u64) {
        self.reformation.handle_persisted(now, revision);
        self.review_due = true;
    }

    /// The voters of this node's last network, while the node is in none and waits for a majority
    /// of them.
    pub(crate) fn awaited_voters(&self) -> Option<Vec<String>> {
        let head = self.reformation.head()?;
        matches!(self.membership.standing, Standing::Searching(_)).then(|| head.voter_names())
    }
}
