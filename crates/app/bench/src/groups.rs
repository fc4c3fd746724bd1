//! Multicast groups that nodes share on the loopback interface, and what they say of them.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use kernel::report::{GroupReport, NodeSummary};

use crate::BenchError;
use crate::member::stalled;
use crate::process::PATIENCE;
use crate::server::Joined;
use crate::status::report;

/// How old what a node says of itself can be.
pub(crate) const STALE: Duration = Duration::from_millis(1_500);
/// How often a node is asked whether its groups reach all.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The groups of nodes on this machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Groups {
    /// How many.
    pub count: u16,
    /// Congestion control does not send slower than this, in bit/s; without, as nodes do unless they are told otherwise.
    pub rate_min: Option<u64>,
    /// The share of datagrams that each node loses of what comes to it (0 to 1).
    pub loss: f64,
}

impl Groups {
    /// Groups on the loopback interface that nobody else has, with an emulated line to each node, as nodes take them.
    pub(crate) fn url(&self) -> Result<String, BenchError> {
        let port = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.map_err(BenchError::system("a port for a multicast group"))?.port();
        let rate = self.rate_min.map_or(String::new(), |rate| format!(",rate-min={rate}bit/s"));
        // In steps of 10^-9, as lines have them.
        let percent = (self.loss * 1e9).round() / 1e7;
        let loss = if percent > 0.0 { format!(",loss={percent}%") } else { String::new() };
        Ok(format!("srmp://239.255.44.42:{port},interface=lo,groups={}{rate}{loss}", self.count))
    }
}

/// What nodes counted, all together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Frames sent to groups, once each.
    pub frames: u64,
    /// Datagrams sent to groups, once each.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Datagrams that emulated lines lost, once for each node that missed one.
    pub lost_datagrams: u64,
    /// Frames that groups were given again.
    pub repaired_frames: u64,
    /// Frames that nodes missed and had from a group after all.
    pub recovered_frames: u64,
    /// Messages that nodes asked for over links.
    pub asked_again: u64,
    /// Bytes sent over links.
    pub link_bytes: u64,
}

impl Counts {
    /// What nodes have counted so far.
    pub(crate) async fn read(addresses: &[String]) -> Result<Self, BenchError> {
        tokio::time::sleep(STALE).await;
        let mut counts = Self::default();
        for address in addresses {
            let summary = summary(address).await?;
            let sum = |count: fn(&GroupReport) -> u64| summary.groups.iter().map(count).sum::<u64>();
            counts.frames += sum(|group| group.sent_frames);
            counts.datagrams += sum(|group| group.sent_datagrams);
            counts.bytes += sum(|group| group.sent_bytes);
            counts.lost_datagrams += sum(|group| group.emulated_losses);
            counts.repaired_frames += sum(|group| group.repaired_frames);
            counts.recovered_frames += sum(|group| group.recovered_frames);
            counts.asked_again += summary.asked_again;
            counts.link_bytes += summary.links.iter().map(|link| link.sent_bytes).sum::<u64>();
        }
        Ok(counts)
    }

    /// What came since.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            frames: self.frames.saturating_sub(before.frames),
            datagrams: self.datagrams.saturating_sub(before.datagrams),
            bytes: self.bytes.saturating_sub(before.bytes),
            lost_datagrams: self.lost_datagrams.saturating_sub(before.lost_datagrams),
            repaired_frames: self.repaired_frames.saturating_sub(before.repaired_frames),
            recovered_frames: self.recovered_frames.saturating_sub(before.recovered_frames),
            asked_again: self.asked_again.saturating_sub(before.asked_again),
            link_bytes: self.link_bytes.saturating_sub(before.link_bytes),
        }
    }
}

/// Waits until the groups of each node reach all nodes next to it that are in them.
pub(crate) async fn await_reach(addresses: &[String], joined: Joined) -> Result<(), BenchError> {
    // Who has just joined a group may not have said so.
    tokio::time::sleep(STALE).await;
    let begun = Instant::now();
    loop {
        let mut groups = Vec::new();
        for address in addresses {
            groups.push(summary(address).await?.groups);
        }
        if all_reached(&groups, joined) {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err(stalled("multicast on the loopback interface"));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Whether that is so, by what each node says of its groups.
fn all_reached(groups: &[Vec<GroupReport>], joined: Joined) -> bool {
    let is_in = |node: usize, group| groups[node].iter().any(|own| own.group == group);
    let reaches_all = |node: usize, own: &GroupReport| {
        let near = (0..groups.len()).filter(|other| joined.are_next(node, *other));
        own.reaches == near.filter(|other| is_in(*other, own.group)).count()
    };
    groups.iter().any(|own| !own.is_empty())
        && (0..groups.len()).all(|node| groups[node].iter().all(|own| reaches_all(node, own)))
}

/// What a node says of itself.
pub(crate) async fn summary(address: &str) -> Result<NodeSummary, BenchError> {
    let begun = Instant::now();
    // A node that has just become a member has yet to make one.
    while begun.elapsed() < PATIENCE {
        let report = report(address, PATIENCE).await.ok_or_else(|| stalled("the report of a node"))?;
        let own = report.nodes.into_iter().find(|node| node.name == report.node);
        if let Some(summary) = own.and_then(|node| node.summary) {
            return Ok(summary);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(stalled("a node's report of itself"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_as_they_are_told_to_be() {
        let groups = Groups { count: 1, rate_min: None, loss: 0.05 };
        assert!(groups.url().unwrap().ends_with(",interface=lo,groups=1,loss=5%"));
        let groups = Groups { count: 8, rate_min: Some(20_000_000), loss: 0.07 };
        assert!(groups.url().unwrap().ends_with(",groups=8,rate-min=20000000bit/s,loss=7%"));
    }

    #[test]
    fn groups_reach_who_is_next_and_in_them() {
        let group = |group, reaches| GroupReport { group, reaches, ..GroupReport::default() };
        let nodes = |reaches: [usize; 3]| reaches.map(|reaches| vec![group(0, reaches)]).to_vec();
        assert!(!all_reached(&[Vec::new(), Vec::new()], Joined::Mesh), "nobody is in any yet");
        assert!(all_reached(&nodes([2, 2, 2]), Joined::Mesh));
        assert!(!all_reached(&nodes([2, 1, 2]), Joined::Mesh));
        assert!(all_reached(&nodes([1, 2, 1]), Joined::Chain));
        assert!(all_reached(&nodes([2, 1, 1]), Joined::Star));
        let some = [vec![group(3, 1)], vec![], vec![group(3, 1)]];
        assert!(all_reached(&some, Joined::Mesh), "who is not in a group is not to be reached in it");
    }
}
