//! What `meshrti status` shows of a network: asked of any node, by way of the Federate Protocol.
//!
//! A federate connects with the additional setting [`REPORT_SETTING`]; the answer's message is then a [`NetworkReport`] as JSON
//! in place of words. Servers that do not know the setting say so in words, as the standard has it (1516.1-2025, 4.2).

use crate::network::{ChannelStatus, NetworkStatus};
use base::NodeKey;
use overlay::{LinkView, NodeView, TargetPhase};
use router::{ClientFlags, DropReason, Priority};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The additional setting that asks for a report.
pub const REPORT_SETTING: &str = "MeshRTI.report=network";

/// A network as one node knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkReport {
    /// The node that was asked; empty for one that is by itself.
    pub node: String,
    /// Its version.
    pub version: String,
    /// `none` for a node by itself, else tree, mesh, hypercube or graph.
    pub topology: String,
    /// It is a member of its network: federates are served.
    pub member: bool,
    /// It is in contact with a majority of the network.
    pub quorum: bool,
    /// All nodes that it knows of.
    pub nodes: Vec<NodeReport>,
    /// All links.
    pub links: Vec<LinkReport>,
    /// The nodes that it connects to, and how that goes.
    pub targets: Vec<TargetReport>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeReport {
    /// Its name.
    pub name: String,
    /// Which start of it.
    pub key: String,
    /// Its number in handles of object instances; 0 while it is no member.
    pub number: u16,
    /// A path leads there.
    pub reachable: bool,
    /// Links on that path.
    pub hops: u32,
    /// It votes.
    pub voter: bool,
    /// It leads.
    pub leader: bool,
    /// Where other nodes can connect to it.
    pub addresses: Vec<String>,
    /// What it says of itself.
    pub summary: Option<NodeSummary>,
}

/// What a node tells all others of itself, some seconds old at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeSummary {
    /// Federates joined through it.
    pub federates: usize,
    /// Sessions of federates.
    pub sessions: usize,
    /// Object instances known there: homed there, and replicas.
    pub instances: usize,
    /// Federates held back because a link is congested.
    pub held: usize,
    /// Messages that its routers took from it, so far.
    pub submitted_messages: u64,
    /// Reliable messages that it asked others to say again.
    pub asked_again: u64,
    /// The ends of its links; empty when there are too many to be told.
    pub channels: Vec<ChannelReport>,
}

/// One end of a link: a client of a router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChannelReport {
    /// The node at the other end.
    pub to: String,
    /// Which of the node's routers: router, Primary, PopUp, PullDown.
    pub role: String,
    /// Flags of the client: source, sink, persistent, upper.
    pub flags: String,
    /// Interests that the other end has declared.
    pub interests: usize,
    /// Messages and bytes that wait.
    pub waiting: usize,
    /// Bytes that wait.
    pub waiting_bytes: usize,
    /// More waits than is good: senders are held back.
    pub congested: bool,
    /// Messages sent so far.
    pub sent_messages: u64,
    /// Bytes sent so far.
    pub sent_bytes: u64,
    /// Messages received so far.
    pub received_messages: u64,
    /// Messages sent per second, lately.
    pub sent_messages_per_s: f64,
    /// Messages dropped so far, by class and reason; what is 0 is left out.
    pub dropped: BTreeMap<String, u64>,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    /// One end.
    pub a: String,
    /// The other.
    pub b: String,
    /// `active`, `standby` (up, other links do), or `one-sided` (one end has given it up).
    pub state: String,
    /// Round trip in µs; 0 when not known yet.
    pub rtt_us: u64,
}

/// A node that the one that was asked connects to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetReport {
    /// Where to.
    pub url: String,
    /// `linked`, `connecting`, `waiting`, or `covered` by a link the other way.
    pub state: String,
    /// Attempts since it was last up.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
}

impl NetworkReport {
    /// The report of a node that is by itself.
    pub(crate) fn alone() -> Self {
        Self {
            node: String::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            topology: "none".to_owned(),
            member: true,
            quorum: true,
            nodes: Vec::new(),
            links: Vec::new(),
            targets: Vec::new(),
        }
    }

    pub(crate) fn of(status: &NetworkStatus) -> Self {
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
            nodes: status.map.nodes.iter().map(|node| node_report(status, node)).collect(),
            links: status.map.links.iter().map(link).collect(),
            targets: status.targets.iter().map(target).collect(),
        }
    }

    /// As text for the message of an answer.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers can be written")
    }

    /// Reads the message of an answer; `None` when it is something else.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

fn node_report(status: &NetworkStatus, node: &NodeView) -> NodeReport {
    let member = status.members.iter().find(|member| member.key == node.key);
    NodeReport {
        name: node.name.clone(),
        key: node.key.to_string(),
        number: member.and_then(|member| member.node).map_or(0, |number| number.0),
        reachable: node.reachable,
        hops: node.hops,
        voter: member.is_some_and(|member| member.voter),
        leader: member.is_some_and(|member| member.leader),
        addresses: node.urls.clone(),
        summary: serde_json::from_slice(&node.info).ok(),
    }
}

impl NodeSummary {
    /// As octets to be told to all; without what makes it longer than `max`.
    pub(crate) fn to_octets(&self, max: usize) -> Vec<u8> {
        let octets =
            |summary: &Self| serde_json::to_vec(summary).expect("strings and numbers can be written");
        let all = octets(self);
        if all.len() <= max { all } else { octets(&Self { channels: Vec::new(), ..self.clone() }) }
    }
}

impl ChannelReport {
    /// Of a client towards the node called `to`; `rate` is what it lately sent.
    pub(crate) fn of(to: String, status: &ChannelStatus, rate: f64) -> Self {
        let mut dropped = BTreeMap::new();
        for class in Priority::ALL {
            for reason in [DropReason::Displaced, DropReason::Full, DropReason::Superseded, DropReason::Gone]
            {
                let count = status.stats.dropped(class, reason);
                if count > 0 {
                    dropped.insert(format!("{class:?} {reason:?}").to_lowercase(), count);
                }
            }
        }
        Self {
            to,
            role: status.role.to_owned(),
            flags: flags(status.flags),
            interests: status.interests,
            waiting: status.waiting,
            waiting_bytes: status.waiting_bytes,
            congested: status.congested,
            sent_messages: status.stats.sent_messages,
            sent_bytes: status.stats.sent_bytes,
            received_messages: status.stats.received_messages,
            sent_messages_per_s: rate,
            dropped,
        }
    }
}

fn flags(flags: ClientFlags) -> String {
    let names = flags.iter_names().map(|(name, _)| name.to_lowercase());
    names.collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_comes_back_as_it_went() {
        let report = NetworkReport { node: "A".to_owned(), ..NetworkReport::alone() };
        assert_eq!(NetworkReport::from_json(&report.to_json()), Some(report));
        assert_eq!(NetworkReport::from_json("settings not known here: MeshRTI.report"), None);
    }

    #[test]
    fn a_summary_that_is_too_long_goes_without_its_links() {
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
        let summary = NodeSummary { federates: 3, channels: vec![channel; 9], ..NodeSummary::default() };
        let read = |octets: &[u8]| serde_json::from_slice::<NodeSummary>(octets).unwrap();
        assert_eq!(read(&summary.to_octets(16 << 10)), summary);
        let short = read(&summary.to_octets(1 << 10));
        assert_eq!((short.federates, short.channels.len()), (3, 0));
    }
}
