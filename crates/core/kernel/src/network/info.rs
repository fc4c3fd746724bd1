//! The summary that this node announces to all others. It is rebuilt at intervals while something
//! happens, and announced when it has changed.

use super::Network;
use crate::report::{ChannelReport, HolderReport, LinkEndReport, NodeSummary};
use base::{Moment, NodeKey};
use bytes::Bytes;
use overlay::INFO_BYTES_MAX;
use rti::Rti;
use std::collections::BTreeMap;
use std::time::Duration;

/// Shortest interval between two summaries.
const INTERVAL: Duration = Duration::from_secs(2);

/// The time of the next summary, and the contents of the last one.
#[derive(Default)]
pub(super) struct Info {
    built: Moment,
    due: Option<Moment>,
    /// Messages sent, by neighbour and channel.
    sent: BTreeMap<(NodeKey, u8), u64>,
    /// The part of the last announced summary that is worth announcing by itself.
    last: Vec<u8>,
}

impl Info {
    /// Marks the summary as outdated.
    pub(super) fn mark_dirty(&mut self) {
        if self.due.is_none() {
            self.due = Some(self.built + INTERVAL);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Moment> {
        self.due
    }
}

impl Network {
    /// Announces a new summary if it is due. `sessions` counts the sessions, and `paused` those
    /// paused because of congestion.
    pub(crate) fn publish_summary(&mut self, now: Moment, rti: &Rti, sessions: usize, paused: usize) {
        if self.info.due.is_none_or(|due| due > now) {
            return;
        }
        self.info.due = None;
        let elapsed = now.since(self.info.built).as_secs_f64();
        self.info.built = now;
        let federations = rti.status();
        let mut sent = BTreeMap::new();
        let mut channels = Vec::new();
        let names: BTreeMap<_, _> = self.overlay.map().nodes.into_iter().map(|n| (n.key, n.name)).collect();
        for key in self.routers.neighbours().collect::<Vec<_>>() {
            for status in self.routers.channels(key) {
                let before = self.info.sent.get(&(key, status.channel)).copied().unwrap_or(0);
                let more = status.stats.sent_messages.saturating_sub(before) as f64;
                let rate = if elapsed > 0.0 { (more / elapsed).round() } else { 0.0 };
                sent.insert((key, status.channel), status.stats.sent_messages);
                let to = names.get(&key).cloned().unwrap_or_else(|| key.to_string());
                channels.push(ChannelReport::of(to, &status, rate));
            }
        }
        let traffic = self.links.traffic();
        let links = LinkEndReport::all(&self.overlay.links(), |link| traffic.get(&link).copied());
        let moving = channels.iter().any(|channel| channel.sent_messages_per_s > 0.0)
            || links.iter().any(LinkEndReport::is_busy);
        self.info.sent = sent;
        let summary = NodeSummary {
            federates: federations.iter().map(|federation| federation.federates.len()).sum(),
            sessions,
            instances: federations.iter().map(|federation| federation.instances).sum(),
            unowned: federations.iter().map(|federation| federation.unowned).sum(),
            paused,
            submitted_messages: self.routers.stats().first().map_or(0, |(_, stats)| stats.submitted_messages),
            asked_again: rti.network_counters().asked,
            holders: HolderReport::all(&federations),
            channels,
            links,
            groups: self.group_status(),
        };
        let news = summary.news().to_octets(INFO_BYTES_MAX);
        if news != self.info.last {
            let octets = summary.to_octets(INFO_BYTES_MAX);
            if let Err(error) = self.overlay.set_info(now, Bytes::from(octets)) {
                tracing::debug!(%error, "this node tells nothing of itself");
            }
            self.info.last = news;
        }
        // Once more, so that the last announced rate is not that of a burst that is over.
        if moving {
            self.info.due = Some(now + INTERVAL);
        }
    }
}
