//! The report on a network that `meshrti status` shows. Any node supplies it, through the Federate
//! Protocol.
//!
//! A federate connects with the additional setting [`REPORT_SETTING`]. The message of the response
//! is then a [`NetworkReport`] as JSON instead of text. Servers that do not know the setting report
//! that in text, as the standard requires (1516.1-2025, 4.2).

mod access;
mod channel;
mod link;
mod memory;
mod ownership;
mod question;
mod regions;
mod why;

pub use access::{AccessReport, AccountReport};
pub use channel::ChannelReport;
pub use link::{DatagramReport, LinkEndReport};
pub use memory::{MemoryReport, MemoryUseReport};
pub use ownership::{OwnershipQuery, OwnershipReport};
pub use regions::{RegionsQuery, RegionsReport};
pub use rti::{
    AcquirerStatus, ApartStatus, AttributeOwnershipStatus, AttributeWhy, FederateRegions, FederationRegions,
    InstanceOwnership, OwnershipStatus, RangeStatus, RegionStatus, RegionsStatus, SeparatedRegions,
    SubscriptionStatus, TimeStatus, WhyStatus,
};
pub use why::{WhyQuery, WhyReport};

use crate::SlowTurns;
use crate::network::{GroupStatus, NetworkStatus};
use base::{Address, Moment, NodeKey};
use hla::api::call_request::CallRequest as Call;
use overlay::{LinkView, NodeView, TargetPhase};
use rti::{CallerId, FederationStatus, NodeId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The additional setting that asks for a report.
pub const REPORT_SETTING: &str = "MeshRTI.report=network";

/// A report as the text of the message of a response.
pub trait Report: Serialize + DeserializeOwned {
    /// The report as text.
    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers can be written")
    }

    /// Parses the message of a response; `None` when it is not such a report.
    #[must_use]
    fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// The report that a connect request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReportQuery {
    None,
    Network,
    Ownership(OwnershipQuery),
    Regions(RegionsQuery),
    Why(WhyQuery),
}

impl ReportQuery {
    pub(crate) fn of(request: &Call) -> Self {
        let configuration = match request {
            Call::ConnectWithConfigurationRequest(r) => r.rti_configuration.as_ref(),
            Call::ConnectWithConfigurationAndCredentialsRequest(r) => r.rti_configuration.as_ref(),
            _ => None,
        };
        // Most requests are updates: this must cost them nothing.
        let Some(configuration) = configuration else { return Self::None };
        let settings = &configuration.additional_settings;
        if let Some(query) = OwnershipQuery::from_settings(settings) {
            return Self::Ownership(query);
        }
        if let Some(query) = RegionsQuery::from_settings(settings) {
            return Self::Regions(query);
        }
        if let Some(query) = WhyQuery::from_settings(settings) {
            return Self::Why(query);
        }
        match settings.split(['\n', '\r', ',']).any(|setting| setting.trim() == REPORT_SETTING) {
            true => Self::Network,
            false => Self::None,
        }
    }
}

/// A network as one node knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkReport {
    /// The name of the node that was asked; empty for a node without a network.
    pub node: String,
    /// Its version.
    pub version: String,
    /// `none` for a node without a network; otherwise tree, mesh, hypercube or graph.
    pub topology: String,
    /// Whether the node is a member of its network: federates are served.
    pub member: bool,
    /// Whether the node is in contact with a majority of the network.
    pub quorum: bool,
    /// All nodes that it knows of.
    pub nodes: Vec<NodeReport>,
    /// All links.
    pub links: Vec<LinkReport>,
    /// The nodes that it connects to, with the state of each attempt.
    pub targets: Vec<TargetReport>,
    /// The federates that are joined at the node that was asked, with their queues there.
    #[serde(default)]
    pub federates: Vec<FederateReport>,
    /// The federates that are joined at other nodes.
    #[serde(default)]
    pub elsewhere: Vec<PlaceReport>,
    /// The federation executions in which the node that was asked takes part.
    #[serde(default)]
    pub federations: Vec<FederationReport>,
    /// Turns of the node that was asked that were long enough for federates to notice.
    #[serde(default)]
    pub slow_turns: SlowTurnsReport,
    /// Refusals of the node that was asked.
    #[serde(default)]
    pub refusals: RefusalReport,
    /// Memory of the node that was asked.
    #[serde(default)]
    pub memory: MemoryReport,
    /// Access control of the node that was asked.
    #[serde(default)]
    pub access: AccessReport,
}

/// Refusals of a node since it was started, and sessions ended because their place was needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalReport {
    /// Connections of clients that got no session: silent, malformed, or too many.
    pub connections: u64,
    /// Those of them that were told *out of resources*.
    pub sessions: u64,
    /// Sessions that were ended because they did not connect.
    pub unconnected: u64,
    /// Connect calls with a wrong password.
    pub wrong_passwords: u64,
    /// Connect calls refused because of earlier wrong passwords from their address.
    pub refused_passwords: u64,
}

/// See [`SlowTurns`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowTurnsReport {
    /// Number of slow turns.
    pub count: u64,
    /// Duration of the longest, in µs.
    pub longest_us: u64,
    /// Cause of the longest.
    pub cause: String,
}

impl SlowTurnsReport {
    pub(crate) fn of(turns: &SlowTurns) -> Self {
        let longest_us = u64::try_from(turns.longest.as_micros()).unwrap_or(u64::MAX);
        Self { count: turns.count, longest_us, cause: turns.cause.clone() }
    }
}

/// A federation execution, as one node sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FederationReport {
    /// Its name.
    pub name: String,
    /// Object instances whose home is the node.
    pub instances: usize,
    /// Those of them without an owner: federates that were lost or resigned have left them behind.
    pub unowned: usize,
}

/// The node that a federate is connected to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceReport {
    /// The federation execution.
    pub federation: String,
    /// The name of the federate.
    pub name: String,
    /// The name of the node.
    pub node: String,
}

/// A federate, as seen by the node that it is connected to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FederateReport {
    /// The federation execution.
    pub federation: String,
    /// Its name.
    pub name: String,
    /// The address of its client.
    #[serde(default)]
    pub address: String,
    /// How long its session is still kept, in ms, if its connection is lost. Then the federate
    /// resigns.
    #[serde(default)]
    pub lost_ms_left: Option<u64>,
    /// Callbacks that wait for it.
    pub waiting: usize,
    /// Bytes of callbacks that wait for it.
    pub waiting_bytes: usize,
    /// Best-effort callbacks dropped so far because the federate did not keep up.
    pub dropped: u64,
    /// Its logical time, if it has used time management.
    #[serde(default)]
    pub time: Option<TimeStatus>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeReport {
    /// Its name.
    pub name: String,
    /// Its incarnation.
    pub key: String,
    /// Its number in handles of object instances; 0 while it is not a member.
    pub number: u16,
    /// Whether a path leads to it.
    pub reachable: bool,
    /// Number of links on that path.
    pub hops: u32,
    /// Whether it votes in the replicated log.
    pub voter: bool,
    /// Whether it leads the replicated log.
    pub leader: bool,
    /// URLs at which other nodes can connect to it.
    pub addresses: Vec<String>,
    /// The summary that it last announced.
    pub summary: Option<NodeSummary>,
}

/// The summary that a node announces to all others, at most some seconds old.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeSummary {
    /// Federates joined through it.
    pub federates: usize,
    /// Sessions of federates.
    pub sessions: usize,
    /// Object instances known there, including replicas.
    pub instances: usize,
    /// Instances homed there that have no owner.
    #[serde(default)]
    pub unowned: usize,
    /// Federates paused because a link is congested.
    #[serde(alias = "held")]
    pub paused: usize,
    /// Messages that its routers have accepted from it so far.
    pub submitted_messages: u64,
    /// Reliable messages that it has requested again from others.
    pub asked_again: u64,
    /// For each federation execution in logical time, the federate there that holds up others most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<HolderReport>,
    /// The clients of its routers for its neighbours; empty when there are too many to announce.
    pub channels: Vec<ChannelReport>,
    /// The ends of its links; empty when there are too many to announce.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkEndReport>,
    /// The multicast groups that it takes part in; empty when there are too many to announce.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupStatus>,
}

/// The federate of a node that holds up others most in logical time: the one with the least time
/// stamp that it may still send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderReport {
    /// The federation execution.
    pub federation: String,
    /// Its name.
    pub name: String,
    /// Its logical time.
    pub time: TimeStatus,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    /// One end.
    pub a: String,
    /// The other.
    pub b: String,
    /// `active`, `standby` (up, but other links carry the messages), or `one-sided` (one end has
    /// given it up).
    pub state: String,
    /// Round-trip time in µs; 0 when not known yet.
    pub rtt_us: u64,
}

/// A node to which the node that was asked connects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetReport {
    /// Its URL.
    pub url: String,
    /// `linked`, `connecting`, `waiting`, or `covered` by a link in the other direction.
    pub state: String,
    /// Attempts since the link was last up.
    pub attempts: u32,
    /// The reason why the last attempt failed.
    pub last_error: Option<String>,
}

impl NetworkReport {
    /// The report of a node without a network.
    pub(crate) fn alone(federations: &[FederationStatus], presence: &Presence<'_>) -> Self {
        Self {
            node: String::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            topology: "none".to_owned(),
            member: true,
            quorum: true,
            nodes: Vec::new(),
            links: Vec::new(),
            targets: Vec::new(),
            federates: federates(federations, presence),
            elsewhere: Vec::new(),
            federations: federations.iter().map(federation).collect(),
            slow_turns: SlowTurnsReport::default(),
            refusals: RefusalReport::default(),
            memory: MemoryReport::default(),
            access: AccessReport::default(),
        }
    }

    pub(crate) fn of(
        now: Moment,
        status: &NetworkStatus,
        federations: &[FederationStatus],
        presence: &Presence<'_>,
    ) -> Self {
        let name = |key: NodeKey| {
            let node = status.map.nodes.iter().find(|node| node.key == key);
            node.map_or_else(|| key.to_string(), |node| node.name.clone())
        };
        let link = |link: &LinkView| LinkReport {
            a: name(link.a),
            b: name(link.b),
            state: match (link.confirmed, link.standby) {
                (false, _) => "one-sided",
                (true, true) => "standby",
                (true, false) => "active",
            }
            .to_owned(),
            rtt_us: u64::try_from(link.rtt.as_micros()).unwrap_or(u64::MAX),
        };
        let target = |target: &overlay::TargetView| TargetReport {
            url: target.url.clone(),
            state: match target.state {
                TargetPhase::Waiting => "waiting",
                TargetPhase::Connecting => "connecting",
                TargetPhase::Linked => "linked",
                TargetPhase::Covered => "covered",
            }
            .to_owned(),
            attempts: target.attempts,
            last_error: target.last_error.clone(),
        };
        Self {
            node: status.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            topology: status.topology.to_string(),
            member: status.member,
            quorum: status.quorum,
            nodes: status.map.nodes.iter().map(|node| node_report(now, status, node)).collect(),
            links: status.map.links.iter().map(link).collect(),
            targets: status.targets.iter().map(target).collect(),
            federates: federates(federations, presence),
            elsewhere: elsewhere(federations, |node| {
                let member = status.members.iter().find(|member| member.node == Some(node));
                member.map_or_else(|| node.to_string(), |member| name(member.key))
            }),
            federations: federations.iter().map(federation).collect(),
            slow_turns: SlowTurnsReport::default(),
            refusals: RefusalReport::default(),
            memory: MemoryReport::default(),
            access: AccessReport::default(),
        }
    }
}

impl Report for NetworkReport {}

fn federation(status: &FederationStatus) -> FederationReport {
    FederationReport { name: status.name.clone(), instances: status.instances, unowned: status.unowned }
}

/// The address of a caller and, if its connection is lost, how long it is still waited for.
pub(crate) type Presence<'a> = dyn Fn(CallerId) -> Option<(Address, Option<Duration>)> + 'a;

fn elsewhere(federations: &[FederationStatus], node_name: impl Fn(NodeId) -> String) -> Vec<PlaceReport> {
    let all = federations.iter().flat_map(|federation| {
        federation.elsewhere.iter().map(move |(name, node)| (federation.name.clone(), name.clone(), *node))
    });
    all.map(|(federation, name, node)| PlaceReport { federation, name, node: node_name(node) }).collect()
}

fn federates(federations: &[FederationStatus], presence: &Presence<'_>) -> Vec<FederateReport> {
    let all =
        federations.iter().flat_map(|federation| federation.federates.iter().map(move |f| (federation, f)));
    all.map(|(federation, federate)| {
        let (address, left) = presence(federate.caller).unzip();
        FederateReport {
            federation: federation.name.clone(),
            name: federate.name.clone(),
            address: address.map_or_else(String::new, |address| address.to_string()),
            lost_ms_left: left.flatten().map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            waiting: federate.waiting,
            waiting_bytes: federate.waiting_bytes,
            dropped: federate.dropped,
            time: federate.time.clone(),
        }
    })
    .collect()
}

fn node_report(now: Moment, status: &NetworkStatus, node: &NodeView) -> NodeReport {
    let member = status.members.iter().find(|member| member.key == node.key);
    let mut summary: Option<NodeSummary> = serde_json::from_slice(&node.info).ok();
    if let (Some(summary), true) = (&mut summary, node.key == status.key) {
        // A node knows more of its own links than it last announced, because announcements are
        // bounded.
        summary.links = LinkEndReport::all(&status.links, |link| status.traffic.get(&link).copied());
        summary.groups = status.groups.clone();
        // Its federates are in the report themselves.
        summary.holders.clear();
    }
    // The state that was announced has lasted longer by now.
    let age = u64::try_from(now.since(node.info_received).as_millis()).unwrap_or(u64::MAX);
    for holder in summary.iter_mut().flat_map(|summary| &mut summary.holders) {
        holder.time.lasts_ms = holder.time.lasts_ms.saturating_add(age);
    }
    NodeReport {
        name: node.name.clone(),
        key: node.key.to_string(),
        number: member.and_then(|member| member.node).map_or(0, |number| number.0),
        reachable: node.reachable,
        hops: node.hops,
        voter: member.is_some_and(|member| member.voter),
        leader: member.is_some_and(|member| member.leader),
        addresses: node.urls.clone(),
        summary,
    }
}

impl HolderReport {
    /// At most this many are announced.
    const MAX: usize = 16;

    /// The holders among the federates of this node.
    pub(crate) fn all(federations: &[FederationStatus]) -> Vec<Self> {
        let holder = |federation: &FederationStatus| {
            let name = federation.least.as_ref()?;
            let federate = federation.federates.iter().find(|federate| federate.name == *name)?;
            let time = federate.time.clone()?;
            Some(Self { federation: federation.name.clone(), name: name.clone(), time })
        };
        federations.iter().filter_map(holder).take(Self::MAX).collect()
    }

    fn news(&self) -> Self {
        Self { time: TimeStatus { lasts_ms: 0, ..self.time.clone() }, ..self.clone() }
    }
}

impl NodeSummary {
    /// The encoded summary to announce. If it is longer than `max` bytes, it omits links, groups
    /// and holders first, then channels.
    pub(crate) fn to_octets(&self, max: usize) -> Vec<u8> {
        let octets =
            |summary: &Self| serde_json::to_vec(summary).expect("strings and numbers can be written");
        let all = octets(self);
        if all.len() <= max {
            return all;
        }
        let mut short = Self { links: Vec::new(), groups: Vec::new(), holders: Vec::new(), ..self.clone() };
        let without_links = octets(&short);
        if without_links.len() <= max {
            return without_links;
        }
        short.channels.clear();
        octets(&short)
    }

    /// The part of the summary whose change is worth an announcement. The keep-alives of quiet
    /// links are not, or no network would ever be silent.
    pub(crate) fn news(&self) -> Self {
        Self {
            links: self.links.iter().map(LinkEndReport::news).collect(),
            holders: self.holders.iter().map(HolderReport::news).collect(),
            groups: self.groups.iter().map(GroupStatus::news).collect(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use channel::flags;
    use router::ClientFlags;
    use std::collections::BTreeMap;

    #[test]
    fn a_report_comes_back_as_it_went() {
        let federate = rti::FederateStatus {
            name: "f".to_owned(),
            federate_type: "t".to_owned(),
            caller: CallerId(7),
            waiting: 2,
            waiting_bytes: 30,
            dropped: 9,
            time: Some(rti::TimeStatus { queued: 4, ..rti::TimeStatus::default() }),
        };
        let federations = [FederationStatus {
            name: "F".to_owned(),
            time: "HLAfloat64Time",
            instances: 3,
            unowned: 1,
            federates: vec![federate],
            least: Some("f".to_owned()),
            elsewhere: vec![("g".to_owned(), NodeId(2))],
        }];
        let presence = |caller: CallerId| {
            let address = Address::from(std::net::IpAddr::from([192, 0, 2, 1]));
            (caller == CallerId(7)).then_some((address, Some(Duration::from_secs(3))))
        };
        let refusals = RefusalReport { connections: 5, ..RefusalReport::default() };
        let report =
            NetworkReport { node: "A".to_owned(), refusals, ..NetworkReport::alone(&federations, &presence) };
        assert_eq!((report.federations[0].instances, report.federations[0].unowned), (3, 1));
        assert_eq!((report.federates[0].waiting, report.federates[0].dropped), (2, 9));
        let (address, left) = (report.federates[0].address.as_str(), report.federates[0].lost_ms_left);
        assert_eq!((address, left), ("192.0.2.1", Some(3_000)));
        let places = elsewhere(&federations, |node| format!("N{}", node.0));
        assert_eq!((places[0].name.as_str(), places[0].node.as_str()), ("g", "N2"));
        assert_eq!(NetworkReport::from_json(&report.to_json()), Some(report));
        assert_eq!(NetworkReport::from_json("settings not known here: MeshRTI.report"), None);
    }

    #[test]
    fn a_summary_that_is_too_long_goes_without_its_links_and_then_its_channels() {
        let channel = ChannelReport {
            to: "x".repeat(100),
            role: "router".to_owned(),
            flags: flags(ClientFlags::SOURCE | ClientFlags::UPPER),
            interests: 1,
            waiting: 2,
            waiting_bytes: 3,
            congested: false,
            sent_messages: 4,
            sent_bytes: 5,
            received_messages: 6,
            sent_messages_per_s: 7.5,
            dropped: BTreeMap::new(),
        };
        assert_eq!(channel.flags, "source+upper");
        let summary = NodeSummary {
            federates: 3,
            channels: vec![channel; 9],
            links: vec![LinkEndReport::default(); 9],
            ..NodeSummary::default()
        };
        let read = |octets: &[u8]| serde_json::from_slice::<NodeSummary>(octets).unwrap();
        assert_eq!(read(&summary.to_octets(16 << 10)), summary);
        let short = read(&summary.to_octets(4 << 10));
        assert_eq!((short.channels.len(), short.links.len()), (9, 0));
        let short = read(&summary.to_octets(1 << 10));
        assert_eq!((short.federates, short.channels.len(), short.links.len()), (3, 0, 0));
    }
}
