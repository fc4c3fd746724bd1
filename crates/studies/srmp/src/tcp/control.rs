//! The congestion window, in segments.

use std::time::Duration;

use base::Moment;

/// CUBIC's constants (RFC 9438, section 5).
const CUBIC_C: f64 = 0.4;
const CUBIC_BETA: f64 = 0.7;
/// Minimum slow-start threshold (RFC 5681).
const THRESHOLD_MIN: f64 = 2.0;

/// The congestion control algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// RFC 5681 and 6582: one more segment per round trip, half the window on loss.
    NewReno,
    /// RFC 9438.
    Cubic,
}

#[derive(Clone, Debug)]
pub(super) struct Window {
    control: Control,
    pub(super) size: f64,
    threshold: f64,
    /// CUBIC: the window before the last reduction, and the moment at which it began to grow again.
    before: f64,
    since: Option<Moment>,
    /// CUBIC: the window at that moment, and the window that Reno would have by now.
    from: f64,
    reno: f64,
}

impl Window {
    pub(super) fn new(control: Control, initial: u32) -> Self {
        let size = f64::from(initial);
        Self { control, size, threshold: f64::INFINITY, before: 0.0, since: None, from: size, reno: size }
    }

    /// Grows the window after the acknowledgement of `segments` segments. Call it only if the
    /// window was the limit.
    pub(super) fn grow(&mut self, now: Moment, segments: f64, rtt: Duration) {
        if self.size < self.threshold {
            self.size = (self.size + segments).min(self.threshold.max(self.size + segments / self.size));
            return;
        }
        match self.control {
            Control::NewReno => self.size += segments / self.size,
            Control::Cubic => self.grow_cubic(now, segments, rtt),
        }
    }

    fn grow_cubic(&mut self, now: Moment, segments: f64, rtt: Duration) {
        let since = *self.since.get_or_insert_with(|| {
            (self.from, self.reno) = (self.size, self.size);
            self.before = self.before.max(self.size);
            now
        });
        let passed = (now.since(since) + rtt).as_secs_f64();
        let turn = libm::cbrt((self.before - self.from) / CUBIC_C);
        let offset = passed - turn;
        let target = CUBIC_C * offset * offset * offset + self.before;
        let target = target.clamp(self.size, 1.5 * self.size);
        self.size += segments * (target - self.size) / self.size;
        let alpha = if self.reno < self.before { 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA) } else { 1.0 };
        self.reno += alpha * segments / self.size;
        self.size = self.size.max(self.reno);
    }

    /// Reduces the window after a loss; `flight` is the number of segments in flight.
    pub(super) fn shrink(&mut self, flight: f64) {
        self.since = None;
        match self.control {
            Control::NewReno => self.threshold = (flight / 2.0).max(THRESHOLD_MIN),
            Control::Cubic => {
                // Fast convergence: a loss at a smaller window than the last one leaves room for
                // other flows.
                let yields = self.size < self.before;
                self.before = if yields { self.size * (1.0 + CUBIC_BETA) / 2.0 } else { self.size };
                self.threshold = (flight.min(self.size) * CUBIC_BETA).max(THRESHOLD_MIN);
            }
        }
        self.size = self.threshold;
    }

    /// Collapses the window after a retransmission timeout; `flight` is the number of segments in
    /// flight.
    pub(super) fn collapse(&mut self, flight: f64) {
        self.shrink(flight);
        self.size = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn windows_grow_and_shrink_as_written() {
        let mut reno = Window::new(Control::NewReno, 10);
        reno.grow(Moment::ZERO, 10.0, RTT);
        assert_eq!(reno.size, 20.0, "slow start doubles");
        reno.shrink(20.0);
        assert_eq!(reno.size, 10.0);
        (0..10).for_each(|_| reno.grow(Moment::ZERO, 1.0, RTT));
        assert!((reno.size - 11.0).abs() < 0.05, "one more per round trip: {}", reno.size);
        reno.collapse(2.0);
        assert_eq!((reno.size, reno.threshold), (1.0, 2.0));
    }

    #[test]
    fn cubic_is_back_at_its_old_window_when_the_formula_says() {
        let mut cubic = Window::new(Control::Cubic, 100);
        cubic.shrink(100.0);
        assert!((cubic.size - 70.0).abs() < 1e-9);
        let turn = (30.0f64 / CUBIC_C).cbrt(); // 4.2 s
        let mut now = Moment::ZERO;
        while now < Moment::ZERO + Duration::from_secs_f64(turn) {
            cubic.grow(now, cubic.size, RTT);
            now += RTT;
        }
        assert!((cubic.size - 100.0).abs() < 3.0, "{}", cubic.size);
    }
}
