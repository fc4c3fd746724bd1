//! The network as a table, for status.

use super::Overlay;
use crate::LinkId;
use crate::link::{Link, Stage};
use crate::status::{LinkState, LinkView, NetworkMap, NodeView, OwnLink, TargetPhase, TargetView};
use crate::target;
use base::{Moment, NodeKey};
use std::collections::BTreeMap;
use std::time::Duration;

impl Overlay {
    /// The whole network as this node knows it.
    pub fn map(&self) -> NetworkMap {
        let own = self.config.key;
        let nodes = self.map.iter().map(|entry| {
            let route = self.routes.to.get(&entry.key);
            NodeView {
                key: entry.key,
                name: entry.name.clone(),
                urls: entry.urls.clone(),
                info: if entry.key == own { self.info.clone() } else { entry.info.clone() },
                info_received: self.info_received.get(&entry.key).copied().unwrap_or(Moment::ZERO),
                reachable: entry.key == own || route.is_some(),
                leaving: entry.leaving,
                hops: route.map_or(0, |route| route.hops),
                through: route.map(|route| route.next),
            }
        });
        NetworkMap { nodes: nodes.collect(), links: self.map_links() }
    }

    fn map_links(&self) -> Vec<LinkView> {
        let own = self.config.key;
        let mut reported: BTreeMap<(NodeKey, NodeKey), (u32, bool, bool)> = BTreeMap::new();
        let mut report = |from: NodeKey, to: NodeKey, rtt: u32| {
            let ends = reported.entry((from.min(to), from.max(to))).or_default();
            ends.0 = ends.0.max(rtt);
            if from < to { ends.1 = true } else { ends.2 = true }
        };
        for entry in self.map.iter().filter(|entry| entry.key != own) {
            entry.neighbours.iter().for_each(|(to, rtt)| report(entry.key, *to, *rtt));
        }
        for (to, id) in &self.neighbours {
            let rtt = |link: &Link| link.rtt_advertised.unwrap_or_else(|| link.rtt_micros());
            report(own, *to, self.links.get(id).map_or(0, rtt));
        }
        let all = self.config.topology.uses_all_links();
        let view = |(&(a, b), &(rtt, low, high)): (&(NodeKey, NodeKey), &(u32, bool, bool))| {
            let reachable = self.is_reachable(a) && self.is_reachable(b);
            let confirmed = low && high && reachable;
            LinkView {
                a,
                b,
                confirmed,
                standby: confirmed && !all && !self.routes.in_tree(a, b),
                rtt: Duration::from_micros(u64::from(rtt)),
            }
        };
        reported.iter().map(view).collect()
    }

    /// The links of this node.
    pub fn links(&self) -> Vec<OwnLink> {
        let view = |(id, link): (&LinkId, &Link)| OwnLink {
            link: *id,
            target: link.target,
            peer: link.peer.as_ref().map(|peer| (peer.key, peer.name.clone())),
            state: match link.stage {
                Stage::Called | Stage::Waiting | Stage::Answered => LinkState::Greeting,
                Stage::Up if link.path_reported => LinkState::Active,
                Stage::Up => LinkState::Standby,
                Stage::Closing => LinkState::Closing,
            },
            rtt: Duration::from_micros(u64::from(link.rtt_micros())),
            urgent_bytes: link.urgent.bytes(),
            bulk_bytes: link.bulk.bytes(),
            sent_frames: link.sent_frames,
            received_frames: link.received_frames,
        };
        self.links.iter().map(view).collect()
    }

    /// The targets of this node.
    pub fn targets(&self) -> Vec<TargetView> {
        let view = |(id, state): (crate::TargetId, &target::TargetState)| TargetView {
            target: id,
            url: state.target.url.clone(),
            peer: state.peer,
            learned: state.learned.is_some(),
            state: match state.stage {
                target::Stage::Waiting => TargetPhase::Waiting,
                target::Stage::Connecting => TargetPhase::Connecting,
                target::Stage::Linked(_) => TargetPhase::Linked,
                target::Stage::Covered(_) => TargetPhase::Covered,
            },
            attempts: state.attempts,
            last_error: state.last_error.clone(),
        };
        self.targets.iter().map(view).collect()
    }
}
