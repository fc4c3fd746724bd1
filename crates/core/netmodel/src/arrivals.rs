//! The sending times of sources. Each source has a random stream of its own: one more source
//! changes nothing in the others.

use std::hint::black_box;

use base::{Rng, Seed};
use rand_core::RngCore;

use crate::units::Picos;

/// The gaps between the messages of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gaps {
    /// Exponential with this mean: a Poisson process.
    Poisson(Picos),
    /// A constant gap. The first message of each source comes at a random moment of the first gap.
    Constant(Picos),
    /// Bursts: messages at this gap for an exponentially distributed time of mean `on`, then
    /// silence for one of mean `off`. Each source begins with silence.
    OnOff {
        /// Between the messages of a burst.
        gap: Picos,
        /// Mean length of a burst.
        on: Picos,
        /// Mean length of a silence.
        off: Picos,
    },
}

impl Gaps {
    /// Messages per second in the long run.
    pub fn per_s(self) -> f64 {
        match self {
            Gaps::Poisson(mean) | Gaps::Constant(mean) => 1.0 / mean.as_secs(),
            // A burst has a message at its beginning and one for each whole gap in it: 1 / (1 -
            // exp(-gap / on)) messages on average.
            Gaps::OnOff { gap, on, off } => {
                let messages = 1.0 / (1.0 - libm::exp(-gap.as_secs() / on.as_secs()));
                messages / (on.as_secs() + off.as_secs())
            }
        }
    }

    /// The number of messages that so many sources are expected to send between two moments.
    pub fn expected(self, sources: u32, (from, to): (Picos, Picos)) -> f64 {
        f64::from(sources) * self.per_s() * to.since(from).as_secs()
    }
}

/// The sources of a run, with their next sending times.
#[derive(Clone, Debug)]
pub struct Sources {
    gaps: Gaps,
    streams: Vec<Rng>,
    /// By source, with bursts: the end of the present one. Empty otherwise.
    burst_ends: Vec<Picos>,
}

impl Sources {
    /// `count` sources.
    pub fn new(gaps: Gaps, count: u32, seed: Seed) -> Self {
        let seed = seed.split("gaps");
        let bursts = if matches!(gaps, Gaps::OnOff { .. }) { count as usize } else { 0 };
        Self {
            gaps,
            streams: (0..count).map(|source| seed.split_index(u64::from(source)).rng()).collect(),
            burst_ends: vec![Picos::ZERO; bursts],
        }
    }

    /// The first sending time of a source that begins at `begin`.
    pub fn first(&mut self, source: u32, begin: Picos) -> Picos {
        match self.gaps {
            Gaps::Poisson(_) => self.next(source, begin),
            Gaps::Constant(gap) => {
                let phase = unit(&mut self.streams[source as usize]) * gap.0 as f64;
                begin + Picos(phase as u64)
            }
            Gaps::OnOff { on, off, .. } => self.burst(source, begin, on, off),
        }
    }

    /// The next sending time of a source that sends now.
    #[inline]
    pub fn next(&mut self, source: u32, now: Picos) -> Picos {
        match self.gaps {
            Gaps::Poisson(mean) => now + exponential(&mut self.streams[source as usize], mean),
            Gaps::Constant(gap) => now + gap,
            Gaps::OnOff { gap, on, off } => {
                let end = self.burst_ends[source as usize];
                if now + gap < end { now + gap } else { self.burst(source, end, on, off) }
            }
        }
    }

    /// Touches the state of a source that sends soon, so that it is in a near cache by then.
    #[inline]
    pub fn look(&self, source: u32) {
        black_box(self.streams[source as usize].clone());
    }

    /// Begins a burst after a silence that begins at `silent`.
    fn burst(&mut self, source: u32, silent: Picos, on: Picos, off: Picos) -> Picos {
        let stream = &mut self.streams[source as usize];
        let begin = silent + exponential(stream, off);
        self.burst_ends[source as usize] = begin + exponential(stream, on);
        begin
    }
}

/// A number from 0 to below 1, with 53 bits.
#[inline]
pub fn unit(stream: &mut Rng) -> f64 {
    (stream.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A number from 0 to below `bound`, uniform to one part in 2^32.
#[inline]
pub fn below(stream: &mut Rng, bound: u32) -> u32 {
    ((u64::from(stream.next_u32()) * u64::from(bound)) >> 32) as u32
}

/// An exponentially distributed time, by inversion. The logarithm is the same on every machine.
#[inline]
pub fn exponential(stream: &mut Rng, mean: Picos) -> Picos {
    let gap = -libm::log(1.0 - unit(stream)) * mean.0 as f64;
    Picos(gap as u64) // at most 37 means
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_their_mean_and_sources_their_own_streams() {
        let mean = Picos::from_millis(10);
        let mut sources = Sources::new(Gaps::Poisson(mean), 3, Seed(1));
        let mut now = Picos::ZERO;
        for _ in 0..20_000 {
            now = sources.next(1, now);
        }
        assert!((now.as_secs() / 200.0 - 1.0).abs() < 0.03, "{now}");
        let mut others = Sources::new(Gaps::Poisson(mean), 9, Seed(1));
        let mut fewer = Sources::new(Gaps::Poisson(mean), 3, Seed(1));
        assert_eq!(others.first(2, Picos::ZERO), fewer.first(2, Picos::ZERO));
        assert_ne!(others.first(0, Picos::ZERO), others.first(1, Picos::ZERO));
    }

    #[test]
    fn constant_gaps_begin_anywhere() {
        let gap = Picos::from_millis(1);
        let mut sources = Sources::new(Gaps::Constant(gap), 2, Seed(4));
        let first = [0, 1].map(|source| sources.first(source, gap));
        assert!(first.iter().all(|at| (gap..gap + gap).contains(at)) && first[0] != first[1]);
        assert_eq!(sources.next(0, first[0]), first[0] + gap);
    }

    #[test]
    fn bursts_have_their_rate() {
        let gaps = Gaps::OnOff {
            gap: Picos::from_millis(1),
            on: Picos::from_millis(5),
            off: Picos::from_millis(20),
        };
        let mut sources = Sources::new(gaps, 1, Seed(6));
        let mut now = sources.first(0, Picos::ZERO);
        for _ in 0..50_000 {
            now = sources.next(0, now);
        }
        let per_s = 50_000.0 / now.as_secs();
        assert!((per_s / gaps.per_s() - 1.0).abs() < 0.03, "{per_s} instead of {}", gaps.per_s());
    }

    #[test]
    fn bounded_draws_stay_below_and_reach_all() {
        let mut stream = Seed(3).rng();
        let mut seen = [0; 4];
        (0..4_000).for_each(|_| seen[below(&mut stream, 4) as usize] += 1);
        assert!(seen.iter().all(|count| (850..1_150).contains(count)), "{seen:?}");
    }
}
