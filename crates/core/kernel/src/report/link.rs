//! The traffic of a link, as one end of it counts.

use crate::network::{LinkCounts, LinkRates, LinkTraffic};
use overlay::{LinkId, OwnLink};
use serde::{Deserialize, Serialize};

/// A link with less traffic than this in each direction, in bytes per second, is quiet: it carries
/// only keep-alives, round trips and the heartbeats of the replicated log. Their continuation is
/// not announced.
const QUIET_BYTES_PER_S: f64 = 32_768.0;

/// One end of a link that is up: its counters since then, and its rates per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkEndReport {
    /// The node at the other end.
    pub to: String,
    /// Frames written to the reliable stream.
    pub sent_frames: u64,
    /// Bytes written to the stream.
    pub sent_bytes: u64,
    /// Frames received in the stream.
    pub received_frames: u64,
    /// Bytes received in the stream.
    pub received_bytes: u64,
    /// Number of times that the stream could not accept more data.
    pub full: u64,
    /// Frames written to the stream per second, recently.
    pub sent_frames_per_s: f64,
    /// Bytes written to the stream per second.
    pub sent_bytes_per_s: f64,
    /// Frames received in the stream per second.
    pub received_frames_per_s: f64,
    /// Bytes received in the stream per second.
    pub received_bytes_per_s: f64,
    /// Datagrams beside the stream, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramReport>,
}

/// Datagrams of one end of a link: best-effort messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatagramReport {
    /// Handed to the network.
    pub sent: u64,
    /// Refused by the operating system.
    pub refused: u64,
    /// Lost by the emulated line of this end. The other end counts them as lost.
    pub emulated_losses: u64,
    /// Received, without duplicates.
    pub received: u64,
    /// Overtaken by later ones and not received.
    pub lost: u64,
    /// Received after a later one.
    pub late: u64,
    /// Received again, and dropped.
    pub duplicate: u64,
    /// Received, but not part of this link.
    pub foreign: u64,
    /// Handed to the network per second, recently.
    pub sent_per_s: f64,
    /// Received per second.
    pub received_per_s: f64,
}

impl LinkEndReport {
    /// The reports of all links that have a known node at the other end and whose counters were
    /// read.
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

    /// Whether it carries more than the traffic that keeps the network together.
    pub(crate) fn is_busy(&self) -> bool {
        self.sent_bytes_per_s.max(self.received_bytes_per_s) > QUIET_BYTES_PER_S
            || self
                .datagrams
                .as_ref()
                .is_some_and(|datagrams| datagrams.sent_per_s + datagrams.received_per_s > 0.0)
    }

    /// The part of the report whose change is worth an announcement. The keep-alives of a quiet
    /// link are not.
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

/// Rounds to tenths. More digits mean nothing and are not announced to a whole network.
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
