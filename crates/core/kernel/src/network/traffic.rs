//! What passes over the links of this node, as the world counts it, and how fast.

use base::Moment;
use std::time::Duration;

/// Two readings that are closer than this give no rate: it would be chance.
const SPAN_MIN: Duration = Duration::from_millis(200);

/// What a link did since it came up, as its world counts it. All count up, but for `lost_datagrams`: one that comes late
/// is no longer lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Frames put into the reliable stream.
    pub sent_frames: u64,
    /// Bytes that the stream took, lengths of frames included.
    pub sent_bytes: u64,
    /// Frames that came in the stream.
    pub received_frames: u64,
    /// Bytes that came in the stream, lengths of frames included.
    pub received_bytes: u64,
    /// Times that the stream took no more.
    pub full: u64,
    /// Datagrams with frames given to the network.
    pub sent_datagrams: u64,
    /// Datagrams that the system refused to send.
    pub refused_datagrams: u64,
    /// Datagrams that an emulated line of this side lost; the other side misses them as lost.
    pub emulated_losses: u64,
    /// Datagrams with frames that came, without duplicates.
    pub received_datagrams: u64,
    /// Datagrams that others with higher numbers overtook, and that have not come since.
    pub lost_datagrams: u64,
    /// Datagrams that came after one with a higher number.
    pub late_datagrams: u64,
    /// Datagrams that came again, and were thrown away.
    pub duplicate_datagrams: u64,
    /// Datagrams that came and were none of this link.
    pub foreign_datagrams: u64,
}

/// What passes over a link per second: the mean between the last two readings of its counters, about a second apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkRates {
    /// Frames put into the stream.
    pub sent_frames: f64,
    /// Bytes that the stream took.
    pub sent_bytes: f64,
    /// Frames that came in the stream.
    pub received_frames: f64,
    /// Bytes that came in the stream.
    pub received_bytes: f64,
    /// Datagrams given to the network.
    pub sent_datagrams: f64,
    /// Datagrams that came.
    pub received_datagrams: f64,
}

/// The counters of a link and their rates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTraffic {
    /// When the counters were read; at first, when the link came up.
    pub at: Moment,
    /// What it did so far.
    pub counts: LinkCounts,
    /// What it lately did; `None` before the counters were read.
    pub rates: Option<LinkRates>,
}

impl LinkTraffic {
    /// Of a link that has just come up.
    pub(super) fn begin(now: Moment) -> Self {
        Self { at: now, ..Self::default() }
    }

    /// The counters were read again.
    pub(super) fn read(&mut self, now: Moment, counts: LinkCounts) {
        let span = now.since(self.at);
        if span < SPAN_MIN {
            return;
        }
        let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / span.as_secs_f64();
        let before = self.counts;
        self.rates = Some(LinkRates {
            sent_frames: rate(before.sent_frames, counts.sent_frames),
            sent_bytes: rate(before.sent_bytes, counts.sent_bytes),
            received_frames: rate(before.received_frames, counts.received_frames),
            received_bytes: rate(before.received_bytes, counts.received_bytes),
            sent_datagrams: rate(before.sent_datagrams, counts.sent_datagrams),
            received_datagrams: rate(before.received_datagrams, counts.received_datagrams),
        });
        self.at = now;
        self.counts = counts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_what_came_since_the_last_reading() {
        let mut traffic = LinkTraffic::begin(Moment::from_secs(10));
        assert_eq!(traffic.rates, None);
        let first = LinkCounts {
            sent_frames: 100,
            sent_bytes: 10_000,
            received_frames: 10,
            received_bytes: 1_000,
            sent_datagrams: 40,
            received_datagrams: 4,
            ..LinkCounts::default()
        };
        traffic.read(Moment::from_secs(12), first);
        let expected = LinkRates {
            sent_frames: 50.0,
            sent_bytes: 5_000.0,
            received_frames: 5.0,
            received_bytes: 500.0,
            sent_datagrams: 20.0,
            received_datagrams: 2.0,
        };
        assert_eq!((traffic.counts, traffic.rates), (first, Some(expected)));
        // Only one side went on.
        let second = LinkCounts { sent_frames: 101, sent_bytes: 10_100, ..first };
        traffic.read(Moment::from_millis(12_500), second);
        let expected = LinkRates { sent_frames: 2.0, sent_bytes: 200.0, ..LinkRates::default() };
        assert_eq!((traffic.counts, traffic.rates), (second, Some(expected)));
        traffic.read(Moment::from_secs(14), second);
        assert_eq!(traffic.rates, Some(LinkRates::default()), "it is silent");
    }

    #[test]
    fn readings_too_close_to_each_other_are_one() {
        let mut traffic = LinkTraffic::begin(Moment::ZERO);
        let counts = |sent_frames| LinkCounts { sent_frames, ..LinkCounts::default() };
        traffic.read(Moment::ZERO, counts(5));
        traffic.read(Moment::from_millis(199), counts(6));
        assert_eq!(traffic, LinkTraffic::begin(Moment::ZERO));
        traffic.read(Moment::from_millis(250), counts(7));
        assert_eq!(traffic.rates.map(|rates| rates.sent_frames), Some(28.0));
        // A world that counts from the start again is no reason for nonsense.
        traffic.read(Moment::from_secs(1), counts(0));
        assert_eq!(traffic.rates.map(|rates| rates.sent_frames), Some(0.0));
    }
}
