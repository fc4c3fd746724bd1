//! A limit on how often something is done: at once after a calm, and ever less often while the
//! reasons for it persist.

use base::Moment;
use std::time::Duration;

/// When the action was last done, and the wait before it may be done again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Throttle {
    last: Option<Moment>,
    wait: Duration,
}

impl Throttle {
    /// Records that the action is done now. `first` is the wait after a calm; it doubles up to
    /// `max`.
    pub(crate) fn done(&mut self, now: Moment, first: Duration, max: Duration) {
        let calm = self.last.is_none_or(|last| now.since(last) > 2 * self.wait.max(first));
        self.wait = if calm { first } else { (2 * self.wait).clamp(first, max.max(first)) };
        self.last = Some(now);
    }

    /// The earliest moment at which the action may be done again.
    pub(crate) fn next(&self) -> Moment {
        self.last.map_or(Moment::ZERO, |last| last + self.wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_while_it_goes_on_and_start_again_after_a_calm() {
        let mut throttle = Throttle::default();
        assert_eq!(throttle.next(), Moment::ZERO);
        let (first, max) = (Duration::from_millis(10), Duration::from_millis(50));
        let mut times = Vec::new();
        for _ in 0..6 {
            let now = throttle.next();
            throttle.done(now, first, max);
            times.push(now.as_nanos() / 1_000_000);
        }
        assert_eq!(times, [0, 10, 30, 70, 120, 170]);
        let later = Moment::from_millis(1_000);
        throttle.done(later, first, max);
        assert_eq!(throttle.next(), later + first);
    }
}
