//! The network as this node sees it, for people and tools.

use super::{ChannelStatus, GroupStatus, LinkTraffic, Network};
use base::NodeKey;
use overlay::{LinkId, NetworkMap, OverlayStats, OwnLink, TargetView, TopologyKind};
use router::RouterStats;
use rti::NetworkCounters;
use rti::Rti;
use std::collections::BTreeMap;

/// A node of the network.
#[derive(Clone, Debug)]
pub struct NodeStatus {
    /// The number that identifies it in handles; `None` before it is a member.
    pub node: Option<rti::NodeId>,
    /// Its incarnation.
    pub key: NodeKey,
    /// Whether it takes part in elections.
    pub voter: bool,
    /// Whether it leads the replicated log.
    pub leader: bool,
}

/// A node's view of its network.
#[derive(Clone, Debug)]
pub struct NetworkStatus {
    /// Its name.
    pub name: String,
    /// Its incarnation.
    pub key: NodeKey,
    /// The number of its network; 0 for none yet.
    pub network: u64,
    /// The topology of the network.
    pub topology: TopologyKind,
    /// Whether it is a member: federates can be served.
    pub member: bool,
    /// Whether it is in contact with a majority.
    pub quorum: bool,
    /// Members, by key.
    pub members: Vec<NodeStatus>,
    /// All nodes and links, as far as this node knows.
    pub map: NetworkMap,
    /// The links of this node.
    pub links: Vec<OwnLink>,
    /// The traffic of each link so far.
    pub traffic: BTreeMap<LinkId, LinkTraffic>,
    /// The multicast groups that it takes part in.
    pub groups: Vec<GroupStatus>,
    /// The nodes that it connects to.
    pub targets: Vec<TargetView>,
    /// The routers' clients for each neighbour.
    pub channels: Vec<(NodeKey, Vec<ChannelStatus>)>,
    /// Counters of the routers, by role.
    pub routers: Vec<(&'static str, RouterStats)>,
    /// Counters of the links.
    pub overlay: OverlayStats,
    /// Counters of the services.
    pub services: NetworkCounters,
    /// The replicated log.
    pub log: consensus::Status,
}

/// Messages over all links of a node together, no matter how they were packed into frames: those of
/// routers, and those of the services within them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkMessages {
    /// Router messages received.
    pub received: u64,
    /// Router messages sent to multicast groups, including those directed at one member. Each
    /// counts once.
    pub grouped: u64,
    /// Messages that this node's services sent to others. Those sent in one batch are one router
    /// message.
    pub services_sent: u64,
    /// Messages of other nodes' services that were accepted here.
    pub services_received: u64,
}

impl Network {
    pub(crate) fn link_messages(&self, rti: &Rti) -> LinkMessages {
        let services = rti.network_counters();
        LinkMessages {
            received: self.routers.received_messages(),
            grouped: self.routers.sent_to_groups(),
            services_sent: services.sent,
            services_received: services.delivered + services.best_effort_delivered,
        }
    }

    pub(crate) fn status(&self, rti: &Rti) -> NetworkStatus {
        let log = self.commands.log();
        let roles = log.members();
        let members = roles.iter().map(|(&key, role)| NodeStatus {
            node: rti.control().node_by_key(key).map(|record| record.node),
            key,
            voter: *role == consensus::Role::Voter,
            leader: log.leader() == Some(key),
        });
        NetworkStatus {
            name: self.overlay.name().to_owned(),
            key: self.key,
            network: self.overlay.network(),
            topology: self.config.overlay.topology,
            member: self.is_member(),
            quorum: log.has_quorum(),
            members: members.collect(),
            map: self.overlay.map(),
            links: self.overlay.links(),
            traffic: self.links.traffic().clone(),
            groups: self.group_status(),
            targets: self.overlay.targets(),
            channels: self.routers.neighbours().map(|key| (key, self.routers.channels(key))).collect(),
            routers: self.routers.stats(),
            overlay: self.overlay.stats().clone(),
            services: rti.network_counters(),
            log: log.status(),
        }
    }
}
