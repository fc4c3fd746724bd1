//! The traffic of this node's links, as the world counts it, and its rates.

use base::Moment;
use std::time::Duration;

/// Readings closer together than this give no rate, because it would be random.
const SPAN_MIN: Duration = Duration::from_millis(200);

/// The activity of a link since it came up, as its world counts it. All counters only rise, except
/// `lost_datagrams`: a datagram that arrives late is no longer lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Frames written to the reliable stream.
    pub sent_frames: u64,
    /// Bytes written to the stream, including the length fields of frames.
    pub sent_bytes: u64,
    /// Frames received in the stream.
    pub received_frames: u64,
    /// Bytes received in the stream, including the length fields of frames.
    pub received_bytes: u64,
    /// Number of times that the stream could not accept more data.
    pub full: u64,
    /// Datagrams with frames that were handed to the network.
    pub sent_datagrams: u64,
    /// Datagrams that the operating system refused to send.
    pub refused_datagrams: u64,
    /// Datagrams that an emulated line at this end lost. The other end counts them as lost.
    pub emulated_losses: u64,
    /// Datagrams with frames that were received, without duplicates.
    pub received_datagrams: u64,
    /// Datagrams that were overtaken by higher numbers and have not arrived since.
    pub lost_datagrams: u64,
    /// Datagrams that arrived after a higher number.
    pub late_datagrams: u64,
    /// Datagrams that arrived again and were dropped.
    pub duplicate_datagrams: u64,
    /// Datagrams received that do not belong to this link.
    pub foreign_datagrams: u64,
}

/// The traffic of a link per second: the mean between the last two readings of its counters, about
/// a second apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkRates {
    /// Frames written to the stream.
    pub sent_frames: f64,
    /// Bytes written to the stream.
    pub sent_bytes: f64,
    /// Frames received in the stream.
    pub received_frames: f64,
    /// Bytes received in the stream.
    pub received_bytes: f64,
    /// Datagrams handed to the network.
    pub sent_datagrams: f64,
    /// Datagrams received.
    pub received_datagrams: f64,
}

/// The counters of a link and their rates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTraffic {
    /// When the counters were read; at first, when the link came up.
    pub at: Moment,
    /// The counters so far.
    pub counts: LinkCounts,
    /// The rates; `None` before the second reading.
    pub rates: Option<LinkRates>,
}

impl LinkTraffic {
    /// The traffic of a link that has just come up.
    pub(super) fn begin(now: Moment) -> Self {
        Self { at: now, ..Self::default() }
    }

    /// Takes a new reading of the counters.
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
        // Only one side continued.
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
        // A world whose counters start again from zero must not produce absurd rates.
        traffic.read(Moment::from_secs(1), counts(0));
        assert_eq!(traffic.rates.map(|rates| rates.sent_frames), Some(0.0));
    }
}
