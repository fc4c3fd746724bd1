//! One station, simulated customer by customer, to check the formulas.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use base::{Moment, Rng, Seed};

use super::formulas::{Load, QueueError, md1, mmc};
use super::sample::{Sample, exponential};
use super::sites::Sizes;
use netsim::EVENTS_OF_A_STEP;

/// The settings of a simulation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Station {
    /// Arrivals per second, a Poisson process.
    pub arrivals: f64,
    /// Services per second of one server.
    pub service: f64,
    /// Number of servers behind one queue.
    pub servers: u32,
    /// The distribution of service times.
    pub times: Sizes,
    /// Length of the run.
    pub run: Duration,
    /// Time at the beginning that is not measured.
    pub warm_up: Duration,
}

impl Station {
    /// The steady state by the formulas.
    ///
    /// # Errors
    /// [`QueueError`]: invalid numbers, an overload, or constant times with several servers, for
    /// which there is no formula.
    pub fn expected(&self) -> Result<Load, QueueError> {
        match (self.times, self.servers) {
            (Sizes::Exponential, _) => mmc(self.arrivals, self.service, self.servers),
            (Sizes::Constant, 1) => md1(self.arrivals, self.service),
            (Sizes::Constant, servers) => Err(QueueError::Value {
                station: 0,
                what: "the number of servers",
                value: f64::from(servers),
                expected: "1, with constant times",
            }),
        }
    }

    /// Runs the station. All randomness derives from `seed`. `go_on` is called every few hundred
    /// customers and stops the run by returning false.
    ///
    /// # Errors
    /// As for [`expected`](Self::expected); [`QueueError::Stopped`] if `go_on` stops the run.
    pub fn run(&self, seed: Seed, mut go_on: impl FnMut() -> bool) -> Result<Sample, QueueError> {
        self.expected()?;
        let mut arrivals: Rng = seed.split("arrivals").rng();
        let mut services: Rng = seed.split("services").rng();
        let mut free: BinaryHeap<Reverse<Moment>> =
            (0..self.servers).map(|_| Reverse(Moment::ZERO)).collect();
        let nanos = |seconds: f64| Duration::from_nanos((seconds * 1e9) as u64);
        let (begin, end) = (Moment::ZERO + self.warm_up, Moment::ZERO + self.warm_up + self.run);
        let mut sample = Sample::new(begin, self.run);
        let (mut now, mut customers) = (Moment::ZERO, 0_u64);
        loop {
            customers += 1;
            if customers.is_multiple_of(EVENTS_OF_A_STEP) && !go_on() {
                return Err(QueueError::Stopped);
            }
            now += nanos(exponential(&mut arrivals) / self.arrivals);
            let Some(mut server) = free.peek_mut().filter(|_| now < end) else { return Ok(sample) };
            let takes = match self.times {
                Sizes::Exponential => exponential(&mut services),
                Sizes::Constant => 1.0,
            };
            let done = server.0.max(now) + nanos(takes / self.service);
            server.0 = done;
            sample.add(now, done.since(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All means lie within four standard errors; the chance that one of them does not is below one
    /// in a thousand.
    #[test]
    fn stations_take_as_long_as_the_formulas_say() {
        for (number, (arrivals, servers, times)) in (0..).zip([
            (100.0, 1, Sizes::Exponential),
            (150.0, 1, Sizes::Exponential),
            (150.0, 1, Sizes::Constant),
            (300.0, 2, Sizes::Exponential),
            (900.0, 6, Sizes::Exponential),
        ]) {
            let (run, warm_up) = (Duration::from_secs(1_000), Duration::from_secs(20));
            let station = Station { arrivals, service: 192.0, servers, times, run, warm_up };
            let expected = station.expected().unwrap();
            let sample = station.run(Seed(number), || true).unwrap();
            let (mean, error) = (sample.mean(), sample.standard_error());
            assert!(
                (mean - expected.sojourn).abs() < 4.0 * error,
                "{station:?}: {mean} ± {error}, {expected:?}"
            );
            assert!(error < 0.05 * mean, "{station:?}: {error} of {mean}");
            assert!((sample.number() / expected.number - 1.0).abs() < 0.1, "{station:?}");
        }
    }

    #[test]
    fn the_times_of_one_server_are_exponential() {
        let (run, warm_up) = (Duration::from_secs(2_000), Duration::from_secs(20));
        let station =
            Station { arrivals: 120.0, service: 192.0, servers: 1, times: Sizes::Exponential, run, warm_up };
        let mut sample = station.run(Seed(5), || true).unwrap();
        for share in [0.5, 0.95, 0.99] {
            let expected = -libm::log(1.0 - share) / (192.0 - 120.0);
            let got = sample.percentile(share);
            assert!((got / expected - 1.0).abs() < 0.06, "{share}: {got}, not {expected}");
        }
    }

    #[test]
    fn a_run_ends_soon_when_its_caller_wants_no_more() {
        let (run, warm_up) = (Duration::from_secs(100), Duration::ZERO);
        let station =
            Station { arrivals: 100.0, service: 192.0, servers: 1, times: Sizes::Constant, run, warm_up };
        let mut asked = 0;
        let sample = station.run(Seed(1), || {
            asked += 1;
            true
        });
        // The customer who arrives after the end counts as well.
        assert_eq!(asked, (sample.unwrap().count() + 1) / EVENTS_OF_A_STEP);
        assert_eq!(station.run(Seed(1), || false), Err(QueueError::Stopped));
    }

    #[test]
    fn an_unknown_or_restless_chain_is_an_error() {
        let second = Duration::from_secs(1);
        let station = Station {
            arrivals: 1.0,
            service: 9.0,
            servers: 2,
            times: Sizes::Constant,
            run: second,
            warm_up: second,
        };
        assert!(
            station
                .run(Seed(1), || true)
                .unwrap_err()
                .to_string()
                .contains("expected 1, with constant times")
        );
        let station = Station { arrivals: 18.0, times: Sizes::Exponential, ..station };
        assert!(
            station.run(Seed(1), || true).unwrap_err().to_string().contains("the queue grows without end")
        );
    }
}
