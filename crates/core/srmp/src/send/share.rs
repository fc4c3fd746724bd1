//! The share of the rate that repairs may take.

use base::Moment;
use std::time::Duration;

/// Repairs per second that are always allowed, so that a low rate cannot stop repairs.
const REPAIRS_MIN: f64 = 10.0;

/// Two budgets of one second each: one of bytes, which follows the rate, and one of repairs, which
/// does not. A repair may leave when either of them allows it.
#[derive(Clone, Debug)]
pub(super) struct Share {
    at: Moment,
    bytes: f64,
    repairs: f64,
    fresh: bool,
}

impl Share {
    pub(super) fn new(now: Moment) -> Self {
        Self { at: now, bytes: 0.0, repairs: REPAIRS_MIN, fresh: true }
    }

    /// Whether `bytes` may leave now, at `rate` bytes per second.
    pub(super) fn allows(&mut self, now: Moment, rate: f64, bytes: usize) -> bool {
        let time = if self.fresh { 1.0 } else { now.since(self.at).as_secs_f64() };
        self.fresh = false;
        self.at = now;
        self.bytes = (self.bytes + time * rate).min(rate);
        self.repairs = (self.repairs + time * REPAIRS_MIN).min(REPAIRS_MIN);
        // A full budget allows one repair, however long.
        self.bytes >= (bytes as f64).min(rate) || self.repairs >= 1.0
    }

    /// Takes `bytes` and one repair from the budgets.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.bytes -= bytes as f64;
        if self.repairs >= 1.0 {
            self.repairs -= 1.0;
        }
    }

    /// The time at which `bytes` may leave.
    pub(super) fn ready(&self, rate: f64, bytes: usize) -> Moment {
        let by_bytes = ((bytes as f64).min(rate) - self.bytes).max(0.0) / rate.max(1.0);
        let by_repairs = (1.0 - self.repairs).max(0.0) / REPAIRS_MIN;
        let wait = Duration::from_secs_f64(by_bytes.min(by_repairs).min(60.0));
        // Rounded up, so that the budget is sufficient at that time.
        self.at + wait + Duration::from_nanos(1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_in(seconds: u64, rate: f64, bytes: usize) -> u64 {
        let mut share = Share::new(Moment::ZERO);
        let mut sent = 0;
        let mut now = Moment::ZERO;
        while now < Moment::from_secs(seconds) {
            if share.allows(now, rate, bytes) {
                share.spend(bytes);
                sent += 1;
            } else {
                let ready = share.ready(rate, bytes);
                assert!(ready > now);
                now = ready;
            }
        }
        sent
    }

    #[test]
    fn ten_repairs_a_second_are_always_allowed() {
        let sent = sent_in(10, 100.0, 1_000);
        assert!((100..=112).contains(&sent), "{sent}");
    }

    #[test]
    fn otherwise_the_rate_limits() {
        let sent = sent_in(10, 100_000.0, 1_000);
        assert!((1_000..=1_250).contains(&sent), "{sent}");
    }
}
