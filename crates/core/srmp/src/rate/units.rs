//! Rates, and the means from which they are computed.

use base::Moment;
use std::cmp::Ordering;
use std::fmt;
use std::time::Duration;

/// A rate in bit/s: never negative, never NaN, possibly without limit.
///
/// Every rate in a datagram passes [`Rate::new`], so that later code meets no number that it cannot
/// order.
#[derive(Clone, Copy, PartialEq, Default)]
pub struct Rate(f64);

impl Rate {
    /// No traffic.
    pub const ZERO: Rate = Rate(0.0);
    /// No limit: positive infinity.
    pub const UNLIMITED: Rate = Rate(f64::INFINITY);

    /// 10 Gbit/s.
    pub(crate) const TEN_GIGABIT: Rate = Rate(1e10);

    /// A rate in bit/s; `None` for NaN and for negative numbers.
    pub fn new(bits_per_second: f64) -> Option<Self> {
        // The sum turns a negative zero into a positive one.
        (bits_per_second >= 0.0).then_some(Self(bits_per_second + 0.0))
    }

    /// The rate that carries `bytes` in `time`; without limit when `time` is zero.
    pub fn of(bytes: f64, time: Duration) -> Self {
        Self::new(8.0 * bytes / time.as_secs_f64()).unwrap_or(Self::UNLIMITED)
    }

    /// The rate in bit/s.
    pub const fn bits_per_second(self) -> f64 {
        self.0
    }

    /// Whether there is no limit.
    pub const fn is_unlimited(self) -> bool {
        self.0 == f64::INFINITY
    }

    /// This rate times `factor`; zero when the product is negative or NaN.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self::new(self.0 * factor).unwrap_or(Self::ZERO)
    }

    /// The sum of two rates.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    /// The time that this rate takes for `bytes`; [`Duration::MAX`] at rate zero.
    pub fn time_of(self, bytes: f64) -> Duration {
        Duration::try_from_secs_f64(8.0 * bytes / self.0).unwrap_or(Duration::MAX)
    }
}

impl Eq for Rate {}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} bit/s", self.0)
    }
}

/// The number of recent bundles in the mean size (RFC 4410, section 4.6).
const SIZES: usize = 10;

/// The mean size of recent bundles: the `s` of the equation.
#[derive(Clone, Debug)]
pub(super) struct MeanSize {
    sizes: [u32; SIZES],
    used: usize,
    next: usize,
    initial: f64,
}

impl MeanSize {
    /// Creates a mean that is `initial` bytes until there is a bundle.
    pub(super) fn new(initial: usize) -> Self {
        Self { sizes: [0; SIZES], used: 0, next: 0, initial: initial.max(1) as f64 }
    }

    pub(super) fn record(&mut self, bytes: usize) {
        self.sizes[self.next] = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.next = (self.next + 1) % SIZES;
        self.used = (self.used + 1).min(SIZES);
    }

    /// The mean in bytes, at least 1.
    pub(super) fn bytes(&self) -> f64 {
        if self.used == 0 {
            return self.initial;
        }
        let sum: f64 = self.sizes[..self.used].iter().map(|&size| f64::from(size)).sum();
        (sum / self.used as f64).max(1.0)
    }
}

/// The least number of bundles in a measurement: fewer reflect chance rather than the rate.
const METER_BUNDLES_MIN: u32 = 4;

/// A rate measured over one to two spans. A span takes longer when there are few bundles.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    previous: Option<Span>,
    current: Option<Span>,
    last: Moment,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    /// The arrival of the bundle before the first of this span. Its bytes do not count, the time
    /// after it does.
    start: Moment,
    bytes: f64,
    bundles: u32,
}

impl Meter {
    pub(super) fn record(&mut self, now: Moment, bytes: usize, span: Duration) {
        self.last = now;
        let fresh = Span { start: now, bytes: 0.0, bundles: 0 };
        let Some(current) = &mut self.current else {
            self.current = Some(fresh);
            return;
        };
        current.bytes += bytes as f64;
        current.bundles += 1;
        if now - current.start >= span && current.bundles >= METER_BUNDLES_MIN {
            self.previous = self.current.replace(fresh);
        }
    }

    /// The rate up to the last bundle; `None` before there are two bundles.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.until(self.last)
    }

    /// The rate up to `now`, including the silence since the last bundle.
    pub(super) fn rate_at(&self, now: Moment) -> Option<Rate> {
        self.until(now.max(self.last))
    }

    fn until(&self, end: Moment) -> Option<Rate> {
        let current = self.current?;
        let bytes = current.bytes + self.previous.map_or(0.0, |span| span.bytes);
        let time = end - self.previous.unwrap_or(current).start;
        (bytes > 0.0 && !time.is_zero()).then(|| Rate::of(bytes, time))
    }

    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_ordered_and_never_nan() {
        assert_eq!(Rate::new(f64::NAN), None);
        assert_eq!(Rate::new(-1.0), None);
        assert_eq!(Rate::new(-0.0), Some(Rate::ZERO));
        assert_eq!(Rate::new(f64::INFINITY), Some(Rate::UNLIMITED));
        assert!(Rate::ZERO < Rate::of(1.0, Duration::from_secs(1)));
        assert_eq!(Rate::of(0.0, Duration::ZERO), Rate::UNLIMITED);
        assert_eq!(Rate::UNLIMITED.times(0.0), Rate::ZERO);
        assert_eq!(Rate::ZERO.time_of(1.0), Duration::MAX);
        assert_eq!(Rate::of(1_000.0, Duration::from_secs(1)).time_of(500.0), Duration::from_millis(500));
    }

    #[test]
    fn the_mean_is_that_of_the_last_ten() {
        let mut mean = MeanSize::new(1_454);
        assert_eq!(mean.bytes(), 1_454.0);
        for size in [100; 10].into_iter().chain([200; 5]) {
            mean.record(size);
        }
        assert_eq!(mean.bytes(), 150.0);
    }

    #[test]
    fn a_steady_flow_is_measured_exactly() {
        let mut meter = Meter::default();
        assert_eq!(meter.rate(), None);
        for i in 0..100 {
            meter.record(Moment::from_millis(10 * i), 125, Duration::from_millis(200));
            if i > 0 {
                assert_eq!(meter.rate().map(|rate| rate.bits_per_second().round()), Some(100_000.0));
            }
        }
        let silent = meter.rate_at(Moment::from_secs(60)).expect("measured");
        assert!(silent < Rate(1_000.0), "{silent}");
    }

    proptest! {
        #[test]
        fn whatever_is_measured_is_a_rate(bundles in prop::collection::vec((0u64..1_000_000, 0usize..70_000), 0..50)) {
            let mut meter = Meter::default();
            let mut now = Moment::ZERO;
            for (gap, bytes) in bundles {
                now += Duration::from_micros(gap);
                meter.record(now, bytes, Duration::from_millis(100));
                if let Some(rate) = meter.rate() {
                    prop_assert!(rate.bits_per_second() >= 0.0 && !rate.is_unlimited());
                }
            }
        }
    }
}
