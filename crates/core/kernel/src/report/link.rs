//! What passes over a link, as one end of it counts.

use crate::network::{LinkCounts, LinkRates, LinkTraffic};
use overlay::{LinkId, OwnLink};
use serde::{Deserialize, Serialize};

/// A link with less traffic, in bytes per second one way, is quiet: keep-alives, round trips and the heartbeats of the
/// replicated log. Nobody is told that they go on.
const QUIET_BYTES_PER_S: f64 = 32_768.0;

/// One end of a link that is up: what it counted since then, and what passes per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkEndReport {
    /// The node at the other end.
    pub to: String,
    /// Frames put into the reliable stream.
    pub sent_frames: u64,
    /// Bytes that the stream took.
    pub sent_bytes: u64,
    /// Frames that came in the stream.
    pub received_frames: u64,
    /// Bytes that came in the stream.
    pub received_bytes: u64,
    /// Times that the stream took no more.
    pub full: u64,
    /// Frames put into the stream per second, lately.
    pub sent_frames_per_s: f64,
    /// Bytes that the stream took per second.
    pub sent_bytes_per_s: f64,
    /// Frames that came in the stream per second.
    pub received_frames_per_s: f64,
    /// Bytes that came in the stream per second.
    pub received_bytes_per_s: f64,
    /// What went beside the stream, if anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramReport>,
}

/// Datagrams of one end of a link: best-effort messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatagramReport {
    /// Given to the network.
    pub sent: u64,
    /// Refused by the system.
    pub refused: u64,
    /// Lost by the emulated line of this end; the other end counts them as lost.
    pub emulated_losses: u64,
    /// Came, without duplicates.
    pub received: u64,
    /// Did not come, although later ones did.
    pub lost: u64,
    /// Came after a later one.
    pub late: u64,
    /// Came again, and were thrown away.
    pub duplicate: u64,
    /// Came and were none of this link.
    pub foreign: u64,
    /// Given to the network per second, lately.
    pub sent_per_s: f64,
    /// Came per second.
    pub received_per_s: f64,
}

impl LinkEndReport {
    /// Of all links with a known node at the other end whose counters were read.
    pub(crate) fn all(links: &[OwnLink], traffic: impl Fn(LinkId) -> Option<LinkTraffic>) -> Vec<Self> {
        let end = |link: &OwnLink| {
            let (_, name) = link.peer.as_ref()?;
            let traffic = traffic(link.link)?;
            Some(Self::of(name.clone(), &traffic.counts, &traffic.rates?))
        };
        links.iter().filter_map(end).collect()
    }

    fn of(to: String, counts: &LinkCounts, rates: &LinkRates) -> Self {
        Self {
            to,
            sent_frames: counts.sent_frames,
            sent_bytes: counts.sent_bytes,
            received_frames: counts.received_frames,
            received_bytes: counts.received_bytes,
            full: counts.full,
            sent_frames_per_s: tenths(rates.sent_frames),
            sent_bytes_per_s: tenths(rates.sent_bytes),
            received_frames_per_s: tenths(rates.received_frames),
            received_bytes_per_s: tenths(rates.received_bytes),
            datagrams: Some(DatagramReport::of(counts, rates))
                .filter(|datagrams| *datagrams != DatagramReport::default()),
        }
    }

    /// More passes than what keeps the network together.
    pub(crate) fn is_busy(&self) -> bool {
        self.sent_bytes_per_s.max(self.received_bytes_per_s) > QUIET_BYTES_PER_S
            || self
                .datagrams
                .as_ref()
                .is_some_and(|datagrams| datagrams.sent_per_s + datagrams.received_per_s > 0.0)
    }

    /// What is worth telling others for its own sake: not that a quiet link is alive.
    pub(crate) fn news(&self) -> Self {
        match self.is_busy() {
            true => self.clone(),
            false => Self {
                to: self.to.clone(),
                full: self.full,
                datagrams: self.datagrams.clone(),
                ..Self::default()
            },
        }
    }
}

impl DatagramReport {
    fn of(counts: &LinkCounts, rates: &LinkRates) -> Self {
        Self {
            sent: counts.sent_datagrams,
            refused: counts.refused_datagrams,
            emulated_losses: counts.emulated_losses,
            received: counts.received_datagrams,
            lost: counts.lost_datagrams,
            late: counts.late_datagrams,
            duplicate: counts.duplicate_datagrams,
            foreign: counts.foreign_datagrams,
            sent_per_s: tenths(rates.sent_datagrams),
            received_per_s: tenths(rates.received_datagrams),
        }
    }
}

/// Digits that mean nothing are not told to a whole network.
fn tenths(rate: f64) -> f64 {
    (rate * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(counts: LinkCounts, rates: LinkRates) -> LinkEndReport {
        LinkEndReport::of("B".to_owned(), &counts, &rates)
    }

    #[test]
    fn a_link_without_datagrams_says_nothing_of_them() {
        let counts = LinkCounts { sent_frames: 3, ..LinkCounts::default() };
        let rates = LinkRates { sent_frames: 1.0 / 3.0, ..LinkRates::default() };
        let report = end(counts, rates);
        assert_eq!((report.sent_frames, report.sent_frames_per_s, &report.datagrams), (3, 0.3, &None));
        let counts = LinkCounts { lost_datagrams: 1, ..counts };
        assert_eq!(end(counts, rates).datagrams.map(|datagrams| datagrams.lost), Some(1));
    }

    #[test]
    fn that_a_quiet_link_is_alive_is_no_news() {
        let rates = LinkRates { sent_bytes: 500.0, received_frames: 4.0, ..LinkRates::default() };
        let at = |sent_bytes| end(LinkCounts { sent_bytes, ..LinkCounts::default() }, rates);
        assert_eq!(at(1_000).news(), at(2_000).news());
        let lossy = end(LinkCounts { lost_datagrams: 1, ..LinkCounts::default() }, rates);
        assert_ne!(lossy.news(), at(1_000).news(), "a loss is");
        let busy = LinkRates { received_bytes: 1e6, ..rates };
        let at = |received_bytes| end(LinkCounts { received_bytes, ..LinkCounts::default() }, busy);
        assert_ne!(at(1_000).news(), at(2_000).news(), "traffic is");
        let busy = LinkRates { sent_datagrams: 0.1, ..rates };
        assert!(end(LinkCounts::default(), busy).is_busy());
    }
}
