//! Updates of many publishers to one subscriber, or of one publisher to many subscribers, beside as many of one
//! publisher to one subscriber.
//!
//! The process of the subscribers gets the same number of reflects in both cases. The difference is the cost of taking
//! updates from many sessions, or of one update for many. The rates of the publishers show how evenly the server
//! serves them while all of them send as fast as they can.

use workload::phases::Floods;

use crate::error::BenchError;
use crate::phases::Outcome;

/// The figures of floods. Pairs are those of many federates, and those of one publisher and one subscriber.
#[derive(Clone, PartialEq, Debug)]
pub struct Figures {
    /// Their settings.
    pub floods: Floods,
    /// Seconds for an update to reach everybody, while others are on their way.
    pub update_s: [f64; 2],
    /// Processor time of the server for an update, in seconds, if one knows it.
    pub server_cpu_s: [Option<f64>; 2],
    /// Updates per second of each publisher while all of them send, rising.
    pub of_each_per_s: Vec<f64>,
}

impl Figures {
    /// The figures in the phases of such a plan.
    ///
    /// # Errors
    /// An update was lost or came twice; the phases are not those of the plan.
    pub fn of(floods: Floods, outcomes: &[Outcome]) -> Result<Self, BenchError> {
        let phase = |name: &'static str| {
            let found = outcomes.iter().find(|outcome| outcome.name == name);
            found.ok_or_else(|| BenchError::Unusable(format!("there is no phase `{name}` of a flood")))
        };
        let many_and_one = [phase(Floods::MANY)?, phase(Floods::ONE)?];
        for outcome in many_and_one {
            let (sent, received) = (floods.singles(), outcome.counts.reflects);
            if received != sent {
                return Err(BenchError::Lossy { sent, received, failed: 0 });
            }
        }
        let [(many_s, many_cpu_s), (one_s, one_cpu_s)] = [0, 1].map(|at| {
            let updates = [f64::from(floods.updates), floods.singles() as f64][at];
            let (took, cpu) = (many_and_one[at].took, many_and_one[at].nodes_cpu);
            (took.as_secs_f64() / updates, cpu.map(|cpu| cpu.as_secs_f64() / updates))
        });
        let times = &phase(Floods::TAKEN)?.of_groups;
        let rate = |(updates, time): (u64, &std::time::Duration)| updates as f64 / time.as_secs_f64();
        let mut of_each_per_s: Vec<f64> = floods.updates_of_each().into_iter().zip(times).map(rate).collect();
        of_each_per_s.sort_by(f64::total_cmp);
        let (update_s, server_cpu_s) = ([many_s, one_s], [many_cpu_s, one_cpu_s]);
        Ok(Self { floods, update_s, server_cpu_s, of_each_per_s })
    }

    /// Updates per second.
    pub fn per_s(&self) -> [f64; 2] {
        self.update_s.map(f64::recip)
    }

    /// Time for the reflects of many federates, relative to that for as many of one publisher to one subscriber.
    pub fn time_ratio(&self) -> f64 {
        self.update_s[0] / (self.update_s[1] * self.singles_of_update())
    }

    /// The same ratio in processor time of the server.
    pub fn server_cpu_ratio(&self) -> Option<f64> {
        let [many, one] = self.server_cpu_s;
        let one = one.map(|one| one * self.singles_of_update()).filter(|one| *one > 0.0);
        many.zip(one).map(|(many, one)| many / one)
    }

    /// Reflects of an update.
    fn singles_of_update(&self) -> f64 {
        self.floods.singles() as f64 / f64::from(self.floods.updates)
    }

    /// Jain's fairness index of the publishers' rates: 1 if all are equal, 1 / n if one has
    /// everything (Jain, Chiu and Hawe, 1984).
    pub fn fairness(&self) -> f64 {
        let sum: f64 = self.of_each_per_s.iter().sum();
        let squares: f64 = self.of_each_per_s.iter().map(|rate| rate * rate).sum();
        sum * sum / (self.of_each_per_s.len() as f64 * squares)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use console::rounds::Rounds;
    use workload::phases::{Counts, Fan};

    use super::*;

    const OUT: Floods = Floods { fan: Fan::Out { subscribers: 100 }, updates: 10, slices: 2, size: 8 };
    const IN: Floods = Floods { fan: Fan::In { publishers: 2 }, updates: 1_000, slices: 2, size: 8 };

    fn outcomes(reflects: u64, millis: [u64; 2], of_groups: &[u64]) -> Vec<Outcome> {
        let [many, one] = millis.map(Duration::from_millis);
        let of_groups: Vec<_> = of_groups.iter().copied().map(Duration::from_millis).collect();
        let outcome = |(name, took): (&'static str, Duration)| Outcome {
            name,
            count: 1,
            took,
            each: Rounds::new(8),
            of_groups: of_groups.clone(),
            counts: Counts { reflects, ..Counts::default() },
            nodes_cpu: Some(took / 2),
            canary: Rounds::new(8),
        };
        let phases = [(Floods::MANY, many), (Floods::TAKEN, Duration::ZERO), (Floods::ONE, one)];
        phases.map(outcome).into()
    }

    #[test]
    fn ratios_are_against_as_many_single_sends() {
        let figures = Figures::of(OUT, &outcomes(1_000, [1, 10], &[5])).unwrap();
        assert!((figures.update_s[0] - 1e-4).abs() < 1e-9 && (figures.update_s[1] - 1e-5).abs() < 1e-9);
        assert!((figures.time_ratio() - 0.1).abs() < 1e-9);
        assert!((figures.server_cpu_ratio().unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(figures.of_each_per_s, [2_000.0]);
        let figures = Figures::of(IN, &outcomes(1_000, [20, 10], &[5, 10])).unwrap();
        assert!((figures.per_s()[0] - 50_000.0).abs() < 1e-6 && (figures.time_ratio() - 2.0).abs() < 1e-9);
        assert_eq!(figures.of_each_per_s, [50_000.0, 100_000.0]);
    }

    #[test]
    fn a_lost_update_is_an_error_and_so_is_one_that_came_twice() {
        for reflects in [999, 1_001] {
            let error = Figures::of(OUT, &outcomes(reflects, [1, 10], &[5])).unwrap_err();
            assert!(
                matches!(error, BenchError::Lossy { sent: 1_000, received, failed: 0 } if received == reflects)
            );
        }
        assert!(matches!(Figures::of(OUT, &[]), Err(BenchError::Unusable(_))));
    }

    #[test]
    fn fairness_is_one_where_all_are_equal() {
        let figures = |times: &[u64]| Figures::of(IN, &outcomes(1_000, [1, 1], times)).unwrap();
        assert!((figures(&[7, 7]).fairness() - 1.0).abs() < 1e-9);
        // Rates of 1 and 3.
        assert!((figures(&[30, 10]).fairness() - 0.8).abs() < 1e-9);
    }
}
