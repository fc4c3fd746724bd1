//! The backoff of NACKs, which makes most of them unnecessary.

use base::Rng;
use rand_core::RngCore;
use std::time::Duration;

/// The shortest backoff, where there is one.
const BACKOFF_MIN: Duration = Duration::from_millis(1);

/// A number in [0, 1).
pub(crate) fn uniform(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A duration in [0, `most`).
pub(crate) fn spread(rng: &mut Rng, most: Duration) -> Duration {
    most.mul_f64(uniform(rng))
}

/// The truncated exponential of RFC 5401, section 3.2.3.2, for a group of `members` and a backoff
/// up to `most`, which `limit` bounds: `t = most / λ · ln(1 + u·(e^λ - 1))`, with
/// `λ = ln(members) + 1` and u uniform in [0, 1).
///
/// When all members miss the same message, exp(1.2·λ·RTT / (2·most)) NACKs are to be expected.
pub(crate) fn truncated_exponential(
    rng: &mut Rng,
    members: u32,
    most: Duration,
    limit: Duration,
) -> Duration {
    let most = most.min(limit).max(BACKOFF_MIN);
    let lambda = f64::from(members.max(2)).ln() + 1.0;
    most.mul_f64((uniform(rng) * lambda.exp_m1()).ln_1p() / lambda)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Seed;

    /// The number of NACKs that `members` send when all miss the same message and hear each other
    /// after half a round-trip time, and the time of the first one in round-trip times.
    fn sent(rng: &mut Rng, members: u32, factor: u32) -> (f64, f64) {
        let rtt = Duration::from_millis(100);
        let draws: Vec<_> = (0..members)
            .map(|_| truncated_exponential(rng, members, rtt * factor, Duration::from_secs(9)))
            .collect();
        let first = draws.iter().min().copied().unwrap_or_default();
        let count = draws.iter().filter(|at| **at < first + rtt / 2).count();
        (count as f64, first.as_secs_f64() / rtt.as_secs_f64())
    }

    #[test]
    fn a_handful_of_a_thousand_sends() {
        let mut rng = Seed(1).rng();
        let rounds = 200;
        for (members, factor, most, wait) in [(10, 4, 2.0, 1.35), (100, 4, 2.9, 1.0), (1_000, 4, 4.0, 0.7)] {
            let (mut nacks, mut first) = (0.0, 0.0);
            for _ in 0..rounds {
                let (count, at) = sent(&mut rng, members, factor);
                nacks += count;
                first += at;
            }
            let (nacks, first) = (nacks / f64::from(rounds), first / f64::from(rounds));
            assert!(nacks <= most && first <= wait, "{members} members: {nacks} NACKs after {first} RTT");
        }
    }

    #[test]
    fn stays_below_its_limit() {
        let mut rng = Seed(2).rng();
        let limit = Duration::from_millis(500);
        for _ in 0..10_000 {
            assert!(truncated_exponential(&mut rng, 1_000, Duration::from_secs(4), limit) < limit);
        }
    }
}
