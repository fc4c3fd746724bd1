//! The state machine of one object.

use std::time::Duration;

use base::{Moment, Rng, Seed};

use crate::class::{Class, Emit, Phase, Start, State, StateSpec};
use crate::holding::{exponential, unit};

/// An object: its state and the clocks of its messages.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) class: u32,
    pub(crate) number: u32,
    pub(crate) state: State,
    /// Start of the stay that is not counted yet: the start of the run, or the last change of
    /// state.
    pub(crate) since: Moment,
    leaves: Moment,
    clocks: [Clock; 2],
    holding: Rng,
    next: Rng,
    pub(crate) sizes: [Rng; 2],
}

/// The emission clock of one mode.
#[derive(Clone, Debug)]
struct Clock {
    /// Remaining fraction of the current interval at `since`; for fixed rates only.
    left: f64,
    since: Moment,
    /// Moment of the next message; `Moment::MAX` without one.
    due: Moment,
    rng: Rng,
}

/// An event of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A message in this mode (0 or 1).
    Emit(usize),
    /// A change of state; holds the state that was left.
    Left(State),
}

impl Object {
    /// Creates an object of `class` that starts at `start`. `shares` are the shares of time in each
    /// state in the long run.
    pub(crate) fn new(class: &Class, ids: (u32, u32), shares: &[f64; 4], seed: Seed, start: Moment) -> Self {
        let mut first = seed.split("start").rng();
        let state = match class.start {
            Start::In(state) => state,
            Start::Stationary => pick(shares, &mut first),
        };
        let clock = |label| Clock { left: 1.0, since: start, due: Moment::MAX, rng: seed.split(label).rng() };
        let mut object = Self {
            class: ids.0,
            number: ids.1,
            state,
            since: start,
            leaves: Moment::MAX,
            clocks: [clock("mode 0"), clock("mode 1")],
            holding: seed.split("holding").rng(),
            next: seed.split("next").rng(),
            sizes: [seed.split("size 0").rng(), seed.split("size 1").rng()],
        };
        object.begin(class, start, &mut first);
        object
    }

    fn begin(&mut self, class: &Class, start: Moment, first: &mut Rng) {
        let spec = spec(class, self.state);
        let mean = spec.mean.as_secs_f64();
        let mut age = 0.0;
        let mut stay = mean * spec.holding.sample(&mut self.holding);
        if class.start == Start::Stationary {
            let whole = mean * spec.holding.sample_biased(first);
            stay = whole * unit(first);
            age = whole - stay;
        }
        self.leaves = after(start, stay);
        for mode in 0..2 {
            self.clocks[mode].left = match class.phase {
                Phase::Continuous => unit(first),
                Phase::Restart => 1.0 - libm::fmod(age * spec.rate[mode], 1.0),
            };
            self.clocks[mode].set(start, spec.rate[mode], spec.emit[mode]);
        }
    }

    /// Moment of the next event.
    pub(crate) fn due(&self) -> Moment {
        self.clocks[0].due.min(self.clocks[1].due).min(self.leaves)
    }

    /// Executes the event that is due. A message precedes a change of state at the same moment: it
    /// still belongs to the old state.
    pub(crate) fn step(&mut self, class: &Class) -> Event {
        let due = self.due();
        let emitting = (0..2).find(|&mode| self.clocks[mode].due == due);
        let Some(mode) = emitting.filter(|_| due < Moment::MAX) else {
            return self.leave(class);
        };
        let spec = spec(class, self.state);
        self.clocks[mode].left = 1.0;
        self.clocks[mode].set(due, spec.rate[mode], spec.emit[mode]);
        Event::Emit(mode)
    }

    /// Draws whether a message of mode 1 accompanies the message of mode 0 that was just emitted.
    pub(crate) fn draws_companion(&mut self, class: &Class) -> bool {
        match spec(class, self.state).emit[1] {
            Emit::Bernoulli(share) => unit(&mut self.clocks[1].rng) <= share,
            _ => false,
        }
    }

    fn leave(&mut self, class: &Class) -> Event {
        let now = self.leaves;
        let left = self.state;
        let old = spec(class, left);
        self.state = pick(&old.next, &mut self.next);
        self.since = now;
        let new = spec(class, self.state);
        self.leaves = after(now, new.mean.as_secs_f64() * new.holding.sample(&mut self.holding));
        for mode in 0..2 {
            let clock = &mut self.clocks[mode];
            clock.left = match class.phase {
                Phase::Continuous if old.emit[mode] == Emit::Fixed => clock.rest(now, old.rate[mode]),
                Phase::Continuous => clock.left,
                Phase::Restart => 1.0,
            };
            clock.set(now, new.rate[mode], new.emit[mode]);
        }
        Event::Left(left)
    }
}

impl Clock {
    /// Remaining fraction of the interval at `now`.
    fn rest(&self, now: Moment, rate: f64) -> f64 {
        (self.left - now.since(self.since).as_secs_f64() * rate).clamp(0.0, 1.0)
    }

    /// Continues at `now` with the remaining fraction of the interval.
    fn set(&mut self, now: Moment, rate: f64, emit: Emit) {
        self.since = now;
        self.due = match emit {
            _ if rate <= 0.0 => Moment::MAX,
            Emit::Fixed => after(now, self.left / rate),
            Emit::Poisson => after(now, exponential(&mut self.rng) / rate),
            Emit::PerTransition | Emit::Bernoulli(_) => Moment::MAX,
        };
    }
}

fn spec(class: &Class, state: State) -> &StateSpec {
    class.chain.get(state).expect("a checked chain leads to no state that is not there")
}

/// Draws a state with these probabilities.
fn pick(shares: &[f64; 4], rng: &mut Rng) -> State {
    let mut rest = unit(rng);
    let mut last = 0;
    for (index, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        rest -= share;
        last = index;
        if rest <= 0.0 {
            break;
        }
    }
    State::of(last)
}

/// `seconds` after `start`, rounded to the nearest nanosecond; saturates.
fn after(start: Moment, seconds: f64) -> Moment {
    start + Duration::from_nanos((seconds * 1e9).round() as u64)
}
