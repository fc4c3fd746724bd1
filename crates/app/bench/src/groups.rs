//! Multicast groups that nodes share on the loopback interface, and their counters.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use kernel::report::NodeSummary;
use kernel::{GroupCounts, GroupStatus};

use crate::error::BenchError;
use crate::joined::Joined;
use crate::member::stalled;
use crate::process::PATIENCE;
use crate::status::report;

/// Largest age of a node's report.
pub(crate) const STALE: Duration = Duration::from_millis(1_500);
/// Interval between two checks whether a node's groups reach all others.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The multicast groups of nodes on this machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Groups {
    /// Number of groups.
    pub count: u16,
    /// The lowest rate of congestion control, in bit/s; `None`: the default of nodes.
    pub rate_min: Option<u64>,
    /// The share of incoming datagrams that each node loses (0 to 1).
    pub loss: f64,
}

impl Groups {
    /// The URL of groups on the loopback interface that nobody else uses, with an emulated line to
    /// each node.
    pub(crate) fn url(&self) -> Result<String, BenchError> {
        let port = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.map_err(BenchError::system("a port for a multicast group"))?.port();
        let rate = self.rate_min.map_or(String::new(), |rate| format!(",rate-min={rate}bit/s"));
        // In steps of 10^-9, as lines count losses.
        let percent = (self.loss * 1e9).round() / 1e7;
        let loss = if percent > 0.0 { format!(",loss={percent}%") } else { String::new() };
        Ok(format!("srmp://239.255.44.42:{port},interface=lo,groups={}{rate}{loss}", self.count))
    }
}

/// The sums of the nodes' counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Frames sent to groups; each counts once.
    pub frames: u64,
    /// Datagrams sent to groups; each counts once.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Datagrams lost by emulated lines; each counts once for each node that missed it.
    pub lost_datagrams: u64,
    /// Frames that were sent to groups again.
    pub repaired_frames: u64,
    /// Frames that nodes missed and then received from a group.
    pub recovered_frames: u64,
    /// Messages that nodes requested over links.
    pub asked_again: u64,
    /// Bytes sent over links.
    pub link_bytes: u64,
}

impl Counts {
    /// Reads the present counters of the nodes.
    pub(crate) async fn read(addresses: &[String]) -> Result<Self, BenchError> {
        tokio::time::sleep(STALE).await;
        let mut counts = Self::default();
        for address in addresses {
            let summary = summary(address).await?;
            let sum = |count: fn(&GroupCounts) -> u64| {
                summary.groups.iter().map(|group| count(&group.counts)).sum::<u64>()
            };
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

    /// The increase since `before`.
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

/// Waits until the groups of each node reach all adjacent nodes that are in them.
pub(crate) async fn await_reach(addresses: &[String], joined: &Joined) -> Result<(), BenchError> {
    // A node that has just joined a group may not have reported it yet.
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

/// Whether the groups reach these nodes, according to each node's report of its groups.
fn all_reached(groups: &[Vec<GroupStatus>], joined: &Joined) -> bool {
    let is_in = |node: usize, group| groups[node].iter().any(|own| own.group == group);
    let reaches_all = |node: usize, own: &GroupStatus| {
        let near = (0..groups.len()).filter(|other| joined.are_next(node, *other));
        own.reaches == near.filter(|other| is_in(*other, own.group)).count()
    };
    groups.iter().any(|own| !own.is_empty())
        && (0..groups.len()).all(|node| groups[node].iter().all(|own| reaches_all(node, own)))
}

/// The summary in a node's own report.
pub(crate) async fn summary(address: &str) -> Result<NodeSummary, BenchError> {
    let begun = Instant::now();
    // A node that has just become a member does not have one yet.
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
        let group = |group, reaches| GroupStatus { group, reaches, ..GroupStatus::default() };
        let nodes = |reaches: [usize; 3]| reaches.map(|reaches| vec![group(0, reaches)]).to_vec();
        assert!(!all_reached(&[Vec::new(), Vec::new()], &Joined::Mesh), "nobody is in any yet");
        assert!(all_reached(&nodes([2, 2, 2]), &Joined::Mesh));
        assert!(!all_reached(&nodes([2, 1, 2]), &Joined::Mesh));
        assert!(all_reached(&nodes([1, 2, 1]), &Joined::Chain));
        assert!(all_reached(&nodes([2, 1, 1]), &Joined::Star));
        let some = [vec![group(3, 1)], vec![], vec![group(3, 1)]];
        assert!(all_reached(&some, &Joined::Mesh), "who is not in a group is not to be reached in it");
    }
}
