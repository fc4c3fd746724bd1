//! The demand for a link between this node and another one: the rate at which their channels
//! exchange bytes.

use crate::OnDemand;
use base::Moment;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// Bytes since the window began.
    bytes: u64,
    /// Number of windows up to the last one that have all reached [`OnDemand::above`].
    high: u32,
    /// Since when no window has reached [`OnDemand::below`].
    low_since: Moment,
}

impl Demand {
    pub(crate) fn new(now: Moment) -> Self {
        Self { bytes: 0, high: 0, low_since: now }
    }

    pub(crate) fn count(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// Ends the window that began at `from`.
    pub(crate) fn measure(&mut self, from: Moment, now: Moment, settings: &OnDemand) {
        let nanos = now.since(from).as_nanos().max(1);
        let rate = u128::from(std::mem::take(&mut self.bytes)) * 1_000_000_000 / nanos;
        self.high = if rate >= settings.above.max(1).into() { self.high.saturating_add(1) } else { 0 };
        if rate >= settings.below.into() {
            self.low_since = now;
        }
    }

    /// Whether the traffic calls for a link.
    pub(crate) fn is_high(&self, settings: &OnDemand) -> bool {
        self.high >= settings.windows.max(1)
    }

    /// Whether the traffic has needed no link for long enough.
    pub(crate) fn is_over(&self, now: Moment, settings: &OnDemand) -> bool {
        now.since(self.low_since) >= settings.idle_after
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_link_is_called_for_at_one_rate_and_given_up_below_another() {
        let settings = OnDemand::default();
        let mut demand = Demand::new(Moment::ZERO);
        let mut seconds = 0;
        let mut second = |demand: &mut Demand, bytes: usize| {
            demand.count(bytes);
            seconds += 1;
            let [from, now] = [seconds - 1, seconds].map(|s| Moment::ZERO + Duration::from_secs(s));
            demand.measure(from, now, &settings);
            (demand.is_high(&settings), demand.is_over(now, &settings))
        };
        assert_eq!(second(&mut demand, 31_999), (false, false));
        for _ in 0..2 {
            assert_eq!(second(&mut demand, 32_000), (false, false));
            assert_eq!(second(&mut demand, 1_000_000), (false, false), "a burst in two windows");
            assert_eq!(second(&mut demand, 31_999), (false, false));
        }
        for last in [false, false, true] {
            assert_eq!(second(&mut demand, 32_000), (last, false));
        }
        for _ in 0..100 {
            assert_eq!(second(&mut demand, 8_000), (false, false), "between the two rates nothing changes");
        }
        for _ in 1..30 {
            assert_eq!(second(&mut demand, 7_999), (false, false), "not yet");
        }
        assert_eq!(second(&mut demand, 7_999), (false, true));
        assert_eq!(second(&mut demand, 8_000), (false, false), "needed again");
    }
}
