//! Update rate reduction (6.11): a federate receives values of an attribute that is sent best effort at
//! most at the rate at which it subscribes the attribute.

use base::Moment;
use hla::handle::{AttributeHandle, ObjectInstanceHandle};
use std::collections::BTreeMap;
use std::time::Duration;

/// So few entries are never reviewed: together they take less memory than one large message.
const ENTRIES_MIN: usize = 1024;

/// When values of instance attributes last passed to receivers with a reduced rate.
#[derive(Debug, Default)]
pub(crate) struct Reduction {
    last: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Moment>,
    /// The number of entries beyond which they are reviewed again.
    review_beyond: usize,
}

/// The image of a reduction in a saved federation execution: how long ago the values passed.
pub(crate) type ReductionImage = BTreeMap<(ObjectInstanceHandle, AttributeHandle), Duration>;

impl Reduction {
    pub(crate) fn image(&self, now: Moment) -> ReductionImage {
        self.last.iter().map(|(&attribute, &last)| (attribute, now.since(last))).collect()
    }

    /// The reduction of an image that is restored now.
    pub(crate) fn of_image(image: ReductionImage, now: Moment) -> Self {
        // A node that has just started knows no earlier moment than its start.
        let before = |ago| Moment::ZERO + now.since(Moment::ZERO).saturating_sub(ago);
        let last = image.into_iter().map(|(attribute, ago)| (attribute, before(ago)));
        Self { last: last.collect(), review_beyond: 0 }
    }

    /// Whether `interval` has passed since the last value of the attribute. If so, `now` becomes the
    /// time of the last one.
    ///
    /// A value may come earlier by up to `tolerance`, less than the interval. The interval until the
    /// next one is then longer, so that values do not pass more often in the long run.
    pub(crate) fn is_due(
        &mut self,
        attribute: (ObjectInstanceHandle, AttributeHandle),
        interval: Duration,
        tolerance: Duration,
        now: Moment,
    ) -> bool {
        let Some(last) = self.last.get_mut(&attribute) else {
            self.last.insert(attribute, now);
            return true;
        };
        let elapsed = now.since(*last);
        if elapsed + tolerance < interval {
            return false;
        }
        *last = if elapsed < interval { *last + interval } else { now };
        true
    }

    /// Forgets an instance.
    pub(crate) fn forget_instance(&mut self, instance: ObjectInstanceHandle) {
        if !self.last.is_empty() {
            let all = (instance, AttributeHandle(0))..=(instance, AttributeHandle(u32::MAX));
            let gone: Vec<_> = self.last.range(all).map(|(&key, _)| key).collect();
            for key in gone {
                self.last.remove(&key);
            }
        }
    }

    /// Forgets instances that are not `known`, once in a while: whenever the number of entries has
    /// doubled.
    pub(crate) fn review(&mut self, known: impl Fn(ObjectInstanceHandle) -> bool) {
        if self.last.len() > self.review_beyond.max(ENTRIES_MIN) {
            self.last.retain(|&(instance, _), _| known(instance));
            self.review_beyond = 2 * self.last.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: (ObjectInstanceHandle, AttributeHandle) = (ObjectInstanceHandle(1), AttributeHandle(1));
    const INTERVAL: Duration = Duration::from_millis(100);

    /// The moments, in milliseconds, of the values that pass.
    fn passing(reduction: &mut Reduction, tolerance: u64, moments: impl Iterator<Item = u64>) -> Vec<u64> {
        let tolerance = Duration::from_millis(tolerance);
        let due = |&at: &u64| reduction.is_due(A, INTERVAL, tolerance, Moment::from_millis(at));
        moments.filter(due).collect()
    }

    #[test]
    fn a_value_passes_once_the_interval_is_over() {
        let passed = passing(&mut Reduction::default(), 0, [5, 6, 104, 105, 204, 205, 300].into_iter());
        assert_eq!(passed, [5, 105, 205]);
    }

    /// Values that another node has already reduced, and that arrive a little early or late.
    #[test]
    fn jitter_costs_no_value() {
        let jitter = [0, 9, 3, 0, 7, 1, 0, 0, 9, 0];
        let sent = (0..10).map(|n| 1_000 + 100 * n);
        let arrived = sent.zip(jitter).map(|(at, late)| at + late);
        assert_eq!(passing(&mut Reduction::default(), 50, arrived.clone()).len(), 10);
        assert!(
            passing(&mut Reduction::default(), 0, arrived).len() < 8,
            "the tolerance makes the difference"
        );
    }

    #[test]
    fn tolerance_does_not_raise_the_rate_in_the_long_run() {
        for period in 1..100 {
            let moments = (0..10_000).step_by(period);
            let passed = passing(&mut Reduction::default(), 50, moments);
            assert!(passed.len() <= 101, "{} of values every {period} ms", passed.len());
        }
    }

    #[test]
    fn instances_are_forgotten() {
        let mut reduction = Reduction::default();
        let attribute = |n| (ObjectInstanceHandle(n), AttributeHandle(1));
        for n in 0..2_000 {
            assert!(reduction.is_due(attribute(n), INTERVAL, Duration::ZERO, Moment::from_secs(1)));
            reduction.review(|instance| instance.0 % 2 == 0);
        }
        assert!((1_000..1_600).contains(&reduction.last.len()), "{}", reduction.last.len());
        reduction.forget_instance(ObjectInstanceHandle(1_998));
        assert!(
            !reduction.last.contains_key(&attribute(1_998)) && reduction.last.contains_key(&attribute(1_996))
        );
    }
}
