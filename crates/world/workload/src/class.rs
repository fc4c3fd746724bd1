//! What objects do, class by class.

use std::fmt;
use std::time::Duration;

use crate::chain;
use crate::holding::Holding;
use crate::size::Size;

/// What an object is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Not there.
    Off,
    /// There, and still.
    Idle,
    /// Moving.
    Moving,
    /// Being introduced to the others.
    Join,
}

impl State {
    /// All of them, by number.
    pub const ALL: [State; 4] = [Self::Off, Self::Idle, Self::Moving, Self::Join];

    /// Its name in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Idle => "idle",
            Self::Moving => "moving",
            Self::Join => "join",
        }
    }

    /// The state of a number below 4.
    pub(crate) const fn of(index: usize) -> Self {
        Self::ALL[index]
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// When messages of one mode are emitted in a state.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Emit {
    /// At the rate, evenly.
    #[default]
    Fixed,
    /// At the rate, at exponential intervals.
    Poisson,
    /// One as the state is entered; the rate means nothing. For mode 1 only.
    PerTransition,
    /// With each message of mode 0, with this probability, one of mode 1 besides; the rate means nothing.
    Bernoulli(f64),
}

/// What becomes of the clock of a fixed rate when the state changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// It goes on: what was left of an interval is stretched or shrunk to the new rate.
    #[default]
    Continuous,
    /// It begins anew: the first message comes a whole interval after the change.
    Restart,
}

/// How objects begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Start {
    /// As if the process had been going on for ever: states as often as they are in the long run, times and clocks in
    /// their middle.
    #[default]
    Stationary,
    /// All have just entered this state.
    In(State),
}

/// What an object does in one state.
#[derive(Clone, Debug, PartialEq)]
pub struct StateSpec {
    /// How long it stays, in the mean.
    pub mean: Duration,
    /// The distribution around that mean.
    pub holding: Holding,
    /// The probability of each next state; this one's own is 0.
    pub next: [f64; 4],
    /// Messages of mode 0 and of mode 1 per second.
    pub rate: [f64; 2],
    /// When they are emitted, for mode 0 and mode 1.
    pub emit: [Emit; 2],
}

/// The states of an object. Those that it never is in are `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// By number of the state.
    pub states: [Option<StateSpec>; 4],
}

/// Objects that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name: part of the objects' seeds.
    pub name: String,
    /// How many objects.
    pub count: u32,
    /// What they do.
    pub chain: Chain,
    /// What happens to fixed rates at a change of state.
    pub phase: Phase,
    /// How they begin.
    pub start: Start,
    /// Sizes of the messages of mode 0 and mode 1.
    pub size: [Size; 2],
}

/// All objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Classes with different names.
    pub classes: Vec<Class>,
}

impl Workload {
    /// The traffic of Table 1 of the SRMP paper, with `count` objects (60 there): idle at 0.5 messages per second and
    /// moving at 5, 50 s each in the mean, with one message of mode 1 at each change.
    pub fn table1(count: u32) -> Self {
        Self::preset(include_str!("../presets/table1.toml"), count)
    }

    /// All four states, with `count` objects.
    pub fn full4(count: u32) -> Self {
        Self::preset(include_str!("../presets/full4.toml"), count)
    }

    fn preset(text: &str, count: u32) -> Self {
        let mut workload = Self::parse(text).expect("the presets are tested");
        workload.classes.iter_mut().for_each(|class| class.count = count);
        workload
    }

    /// All objects of all classes.
    pub fn objects(&self) -> u64 {
        self.classes.iter().map(|class| u64::from(class.count)).sum()
    }
}

impl Chain {
    /// What an object does in `state`.
    pub fn get(&self, state: State) -> Option<&StateSpec> {
        self.states[state as usize].as_ref()
    }

    /// The share of changes that lead into each state, in the long run: `v = v P`.
    ///
    /// # Errors
    /// The probabilities are none, or there is no single long run.
    pub fn embedded(&self) -> Result<[f64; 4], chain::ChainError> {
        chain::embedded(self)
    }

    /// The share of time in each state, in the long run: `v_i m_i` over their sum, whatever the distributions.
    ///
    /// # Errors
    /// As for [`Chain::embedded`].
    pub fn stationary(&self) -> Result<[f64; 4], chain::ChainError> {
        let visits = self.embedded()?;
        let weights = self.means().map(|mean| mean.as_secs_f64());
        let mut shares = [0, 1, 2, 3].map(|state| visits[state] * weights[state]);
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        Ok(shares)
    }

    /// The mean stay in each state; zero where objects never are.
    pub fn means(&self) -> [Duration; 4] {
        [0, 1, 2, 3].map(|state| self.states[state].as_ref().map_or(Duration::ZERO, |spec| spec.mean))
    }
}
