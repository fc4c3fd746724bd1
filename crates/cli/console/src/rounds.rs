//! Round trips as numbers, with the same keys wherever round trips are reported.

use std::time::Duration;

use base::stats::Histogram;
use serde_json::{Value, json};

/// Longest round trip that is distinguished from longer ones: a minute, in nanoseconds.
const LONGEST_NS: u64 = 60_000_000_000;

/// Round-trip times of messages of one size: exact to a nanosecond where they are short, otherwise
/// to 0.1 %, up to a minute; a longer one counts as a minute.
#[derive(Clone, Debug)]
pub struct Rounds {
    size_bytes: usize,
    nanos: Histogram<1024>,
}

impl Rounds {
    /// No round trips yet, for messages with `size_bytes` of payload.
    #[must_use]
    pub fn new(size_bytes: usize) -> Self {
        Self { size_bytes, nanos: Histogram::default() }
    }

    /// Adds one round trip.
    pub fn record(&mut self, round: Duration) {
        self.nanos.add(u64::try_from(round.as_nanos()).unwrap_or(u64::MAX).min(LONGEST_NS));
    }

    /// Adds all round trips of `other`.
    pub fn add(&mut self, other: &Rounds) {
        self.nanos.merge(&other.nanos);
    }

    /// Adds a round trip of `nanos` nanoseconds `count` times.
    pub fn add_many(&mut self, nanos: u64, count: u64) {
        self.nanos.add_many(LONGEST_NS.min(nanos), count);
    }

    /// All of them: the least nanoseconds of each bin that is not empty, and its count.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.nanos.bins().map(|(least, _, count)| (least, count))
    }

    /// The mean, in microseconds; 0 if there are none.
    pub fn mean_us(&self) -> f64 {
        micros(self.nanos.mean())
    }

    /// All of them as words for another process: nanoseconds and count.
    pub fn words(&self) -> impl Iterator<Item = String> + '_ {
        self.bins().map(|(least, count)| format!("{least}:{count}"))
    }

    /// Adds a word of another process. Returns whether the word is well-formed.
    pub fn add_word(&mut self, word: &str) -> bool {
        let numbers =
            word.split_once(':').and_then(|(nanos, count)| Some((nanos.parse().ok()?, count.parse().ok()?)));
        if let Some((nanos, count)) = numbers {
            self.add_many(nanos, count);
        }
        numbers.is_some()
    }

    /// Payload of the messages, in bytes.
    pub const fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Number of round trips.
    pub fn samples(&self) -> u64 {
        self.nanos.count()
    }

    /// The value below which `quantile` (0 to 1) of the round trips lie, in microseconds; 0 if
    /// there are none.
    pub fn quantile_us(&self, quantile: f64) -> f64 {
        micros(self.nanos.upper_quantile(quantile) as f64)
    }

    /// The longest round trip, in microseconds; 0 if there are none.
    pub fn max_us(&self) -> f64 {
        self.quantile_us(1.0)
    }

    /// The row of a report, a flat JSON object. With `floor`, the round trips of the bare network,
    /// it has ratios; otherwise these are null.
    pub fn row(&self, floor: Option<&Rounds>) -> Value {
        let ratio = |quantile| floor.map(|floor| self.quantile_us(quantile) / floor.quantile_us(quantile));
        json!({
            "size_bytes": self.size_bytes,
            "samples": self.samples(),
            "min_us": micros(self.nanos.bins().next().map_or(0, |(least, ..)| least) as f64),
            "p50_us": self.quantile_us(0.5),
            "p90_us": self.quantile_us(0.9),
            "p99_us": self.quantile_us(0.99),
            "p999_us": self.quantile_us(0.999),
            "max_us": self.max_us(),
            "mean_us": self.mean_us(),
            "floor_p50_us": floor.map(|floor| floor.quantile_us(0.5)),
            "floor_p99_us": floor.map(|floor| floor.quantile_us(0.99)),
            "p50_ratio": ratio(0.5),
            "p99_ratio": ratio(0.99),
        })
    }
}

/// Nanoseconds as microseconds.
fn micros(nanos: f64) -> f64 {
    nanos / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(scale: u64) -> Rounds {
        let mut rounds = Rounds::new(16);
        (1..=100).for_each(|us| rounds.record(Duration::from_micros(scale * us)));
        rounds
    }

    #[test]
    fn a_row_has_every_promised_key() {
        let row = rounds(2).row(Some(&rounds(1)));
        for key in [
            "size_bytes",
            "samples",
            "min_us",
            "p50_us",
            "p90_us",
            "p99_us",
            "p999_us",
            "max_us",
            "mean_us",
            "floor_p50_us",
            "floor_p99_us",
            "p50_ratio",
            "p99_ratio",
        ] {
            assert!(row[key].is_number(), "{key}");
        }
        assert!((row["p50_ratio"].as_f64().unwrap() - 2.0).abs() < 0.01);
        assert!(rounds(1).row(None)["p50_ratio"].is_null());
    }

    #[test]
    fn quantiles_are_those_of_the_samples() {
        let mut all = rounds(1);
        assert!((all.quantile_us(0.5) - 50.0).abs() < 0.1);
        assert!((all.quantile_us(0.99) - 99.0).abs() < 0.1);
        all.add(&rounds(10));
        assert_eq!(all.samples(), 200);
        assert!((all.max_us() - 1_000.0).abs() < 1.0);
    }

    #[test]
    fn round_trips_pass_from_process_to_process() {
        let (told, mut heard) = (rounds(7), Rounds::new(16));
        assert!(told.words().all(|word| heard.add_word(&word)));
        assert_eq!(heard.samples(), 100);
        for quantile in [0.0, 0.5, 0.99, 1.0] {
            assert_eq!(heard.quantile_us(quantile), told.quantile_us(quantile));
        }
        assert!(!heard.add_word("7") && !heard.add_word("a:1"));
    }

    #[test]
    fn excessive_round_trips_count_as_the_longest() {
        let mut rounds = Rounds::new(1);
        rounds.record(Duration::MAX);
        assert!((rounds.max_us() / 60e6 - 1.0).abs() < 0.001);
    }
}
