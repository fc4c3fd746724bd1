//! Expected counts of a class of objects, and their spread between runs.
//!
//! Means are exact for objects with a stationary start, whatever the distribution of holding times.
//! Standard deviations come from the central limit theorem of Markov renewal processes. Where all
//! holding times are exponential, the deviations of counts at a rate are exact for the length of
//! the run, and so are means after another start.

use std::fmt;
use std::time::Duration;

use crate::chain::{ChainError, probabilities};
use crate::class::{Class, Emit, Phase, Start, State, StateSpec};
use crate::counters::Counters;
use crate::holding::Holding;
use crate::matrix::{IDENTITY, Matrix, Vector, apply, dot, exponential, inverse, product, sum};

/// A mean, and the standard deviation between runs.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Expected {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// Expected counts of a class in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The length of the run.
    pub run: Duration,
    /// Messages of mode 0.
    pub mode0: Expected,
    /// Messages of mode 1.
    pub mode1: Expected,
    /// Changes of state.
    pub transitions: Expected,
    /// Seconds of all objects in each state.
    pub seconds_in: [Expected; 4],
}

/// The reward rates of a count: its growth per second in each state, its increment on entering each
/// state, and the variance per second that the count adds by itself (for a Poisson process, its
/// rate).
#[derive(Clone, Copy, Debug, Default)]
struct Reward {
    rate: Vector,
    entry: Vector,
    noise: Vector,
}

/// A class with its stationary distributions.
struct Solved<'a> {
    class: &'a Class,
    /// Share of visits, share of time, and mean stay, by state.
    visits: Vector,
    shares: Vector,
    means: Vector,
    /// Mean time between changes of state.
    between: f64,
    matrix: Matrix,
    is_markov: bool,
}

impl Forecast {
    /// Computes the forecast for a run of all objects of `class`.
    ///
    /// # Errors
    /// [`ChainError`]: its states do not form an irreducible chain.
    pub fn of(class: &Class, run: Duration) -> Result<Self, ChainError> {
        let solved = Solved::new(class)?;
        let (mode0, mode1) = (solved.mode0(), solved.mode1());
        let entries = Reward { entry: [1.0; 4], ..Reward::default() };
        let seconds_in = [0, 1, 2, 3].map(|state| {
            let mut rate = [0.0; 4];
            rate[state] = 1.0;
            solved.expect(&Reward { rate, ..Reward::default() }, run)
        });
        let mode0_expected = solved.expect(&mode0, run);
        let mut mode1_expected = solved.expect(&mode1, run);
        if let Some(share) = solved.companion_share() {
            // Companions are a thinned mode 0: their variance is that of the thinning and that of
            // mode 0.
            let mean = share * mode0_expected.mean;
            let variance = (share * mode0_expected.deviation).powi(2) + (1.0 - share) * mean;
            mode1_expected = Expected { mean, deviation: variance.sqrt() };
        }
        Ok(Self {
            run,
            mode0: mode0_expected,
            mode1: mode1_expected,
            transitions: solved.expect(&entries, run),
            seconds_in,
        })
    }

    /// A table that shows the forecast beside the generated counts.
    pub fn beside<'a>(&'a self, counters: &'a Counters) -> impl fmt::Display + 'a {
        Beside { forecast: self, counters }
    }

    /// Name, expectation and generated count of each quantity.
    pub fn rows(&self, counters: &Counters) -> Vec<(String, Expected, f64)> {
        let mut rows = vec![
            ("mode 0 messages".to_owned(), self.mode0, counters.messages[0] as f64),
            ("mode 1 messages".to_owned(), self.mode1, counters.messages[1] as f64),
            ("changes of state".to_owned(), self.transitions, counters.transitions() as f64),
        ];
        for state in State::ALL {
            let expected = self.seconds_in[state as usize];
            if expected.mean > 0.0 {
                rows.push((format!("seconds {state}"), expected, counters.seconds_in(state)));
            }
        }
        rows
    }
}

struct Beside<'a> {
    forecast: &'a Forecast,
    counters: &'a Counters,
}

impl fmt::Display for Beside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<18} {:>12} {:>10} {:>12} {:>8}", "", "expected", "sd", "generated", "off by")?;
        for (name, expected, got) in self.forecast.rows(self.counters) {
            let Expected { mean, deviation } = expected;
            let sigmas = (got - mean) / deviation.max(f64::MIN_POSITIVE);
            let off = if deviation > 0.0 { format!("{sigmas:+.2} sd") } else { String::new() };
            writeln!(f, "{name:<18} {mean:>12.0} {deviation:>10.1} {got:>12.0} {off:>8}")?;
        }
        Ok(())
    }
}

impl<'a> Solved<'a> {
    fn new(class: &'a Class) -> Result<Self, ChainError> {
        let visits = class.chain.embedded()?;
        let means = class.chain.means().map(|mean| mean.as_secs_f64());
        let is_exponential = |spec: &StateSpec| spec.holding == Holding::Exponential;
        Ok(Self {
            class,
            visits,
            shares: class.chain.stationary()?,
            means,
            between: dot(&visits, &means),
            matrix: probabilities(&class.chain),
            is_markov: class.chain.states.iter().flatten().all(is_exponential),
        })
    }

    fn spec(&self, state: usize) -> Option<&StateSpec> {
        self.class.chain.states[state].as_ref()
    }

    fn mode0(&self) -> Reward {
        self.at_rate(0)
    }

    fn mode1(&self) -> Reward {
        let mut reward = self.at_rate(1);
        for state in 0..4 {
            let tells = self.spec(state).is_some_and(|spec| spec.emit[1] == Emit::PerTransition);
            reward.entry[state] = f64::from(u8::from(tells));
        }
        reward
    }

    /// The reward of messages that are emitted at a rate.
    fn at_rate(&self, mode: usize) -> Reward {
        let mut reward = Reward::default();
        for state in 0..4 {
            let Some(spec) = self.spec(state) else { continue };
            let rate = spec.rate[mode];
            match spec.emit[mode] {
                Emit::Fixed => reward.rate[state] = self.fixed_rate(spec, rate),
                Emit::Poisson => (reward.rate[state], reward.noise[state]) = (rate, rate),
                Emit::PerTransition | Emit::Bernoulli(_) => {}
            }
        }
        reward
    }

    /// Messages per second at a fixed rate. With a clock that restarts, an interval that is cut
    /// short is lost. Exact for exponential holding times; otherwise half an interval is lost with
    /// each stay, which is about right if stays are long compared with intervals.
    fn fixed_rate(&self, spec: &StateSpec, rate: f64) -> f64 {
        let mean = spec.mean.as_secs_f64();
        match (self.class.phase, &spec.holding) {
            (Phase::Restart, Holding::Exponential) if rate > 0.0 => {
                1.0 / (libm::expm1(1.0 / (rate * mean)) * mean)
            }
            (Phase::Restart, _) => (rate - 0.5 / mean).max(0.0),
            _ => rate,
        }
    }

    /// The probability of companions, if mode 1 consists only of companions with one probability.
    fn companion_share(&self) -> Option<f64> {
        let mut shares = self.class.chain.states.iter().flatten().map(|spec| match spec.emit[1] {
            Emit::Bernoulli(share) => Some(share),
            _ => None,
        });
        let first = shares.next()??;
        shares.all(|share| share == Some(first)).then_some(first)
    }

    fn expect(&self, reward: &Reward, run: Duration) -> Expected {
        let objects = f64::from(self.class.count);
        let time = run.as_secs_f64();
        let entries = dot(&self.visits, &reward.entry) / self.between;
        let rate = dot(&self.shares, &reward.rate) + entries;
        let exact = self.is_markov && reward.entry == [0.0; 4];
        let transient = if exact { self.transient(reward, time) } else { 0.0 };
        let variance = if exact { self.variance(reward, time) } else { self.growth(reward, rate) * time };
        let noise = dot(&self.shares, &reward.noise) * time;
        Expected {
            mean: objects * (rate * time + transient),
            deviation: (objects * (variance + noise).max(0.0)).sqrt(),
        }
    }

    /// The growth of the variance per second: the variance of the excess reward of a visit over the
    /// mean, with its covariance with later visits, divided by the mean time between changes.
    fn growth(&self, reward: &Reward, rate: f64) -> f64 {
        let excess: Vector =
            std::array::from_fn(|i| reward.entry[i] + (reward.rate[i] - rate) * self.means[i]);
        let system: Matrix = std::array::from_fn(|i| {
            std::array::from_fn(|j| IDENTITY[i][j] - self.matrix[i][j] + self.visits[j])
        });
        let ahead = inverse(&system).map_or([0.0; 4], |inverse| apply(&inverse, &excess));
        let per_visit: f64 = (0..4)
            .map(|i| {
                let cv2 = self.spec(i).map_or(0.0, |spec| spec.holding.cv2());
                let own = (reward.rate[i] - rate).powi(2) * cv2 * self.means[i].powi(2);
                self.visits[i] * (own + 2.0 * ahead[i] * excess[i] - excess[i] * excess[i])
            })
            .sum();
        per_visit / self.between
    }

    /// The generator matrix of the Markov process. Absent states are left at rate 1 for no other
    /// state.
    fn generator(&self) -> Matrix {
        std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let change = self.matrix[i][j] - IDENTITY[i][j];
                if self.means[i] > 0.0 { change / self.means[i] } else { change }
            })
        })
    }

    /// The deviation matrix: the excess time spent in `j` after a start in `i`, compared with the
    /// long run.
    fn deviation_matrix(&self, generator: &Matrix) -> Matrix {
        let long_run = [self.shares; 4];
        let inverse = inverse(&sum(&long_run, -1.0, generator)).unwrap_or(IDENTITY);
        sum(&inverse, -1.0, &long_run)
    }

    /// `2 sum_i pi_i f_i ((t D - D^2 (I - e^(Qt))) f)_i`: twice the integral of the covariance.
    fn variance(&self, reward: &Reward, time: f64) -> f64 {
        let generator = self.generator();
        let deviation = self.deviation_matrix(&generator);
        let settled = sum(&IDENTITY, -1.0, &exponential(&generator, time));
        let lag = product(&product(&deviation, &deviation), &settled);
        let weights = sum(&deviation.map(|row| row.map(|entry| entry * time)), -1.0, &lag);
        let effect = apply(&weights, &reward.rate);
        2.0 * (0..4).map(|i| self.shares[i] * reward.rate[i] * effect[i]).sum::<f64>()
    }

    /// The excess of the mean that a start in a given state adds to the stationary mean.
    fn transient(&self, reward: &Reward, time: f64) -> f64 {
        let Start::In(state) = self.class.start else { return 0.0 };
        let generator = self.generator();
        let deviation = self.deviation_matrix(&generator);
        let settled = sum(&IDENTITY, -1.0, &exponential(&generator, time));
        apply(&product(&deviation, &settled), &reward.rate)[state as usize]
    }
}
