//! Classes of objects: their states, rates and sizes.

use std::fmt;
use std::time::Duration;

use crate::chain;
use crate::holding::Holding;
use crate::size::Size;

/// The state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Not part of the simulation.
    Off,
    /// Present and at rest.
    Idle,
    /// Moving.
    Moving,
    /// Being introduced to the others.
    Join,
}

impl State {
    /// All states, by number.
    pub const ALL: [State; 4] = [Self::Off, Self::Idle, Self::Moving, Self::Join];

    /// The name of the state in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Idle => "idle",
            Self::Moving => "moving",
            Self::Join => "join",
        }
    }

    /// The state with this number, which is below 4.
    pub(crate) const fn of(index: usize) -> Self {
        Self::ALL[index]
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The pattern in which messages of one mode are emitted in a state.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Emit {
    /// At the rate, at even intervals.
    #[default]
    Fixed,
    /// At the rate, at exponential intervals.
    Poisson,
    /// One message when the state is entered; the rate is ignored. For mode 1 only.
    PerTransition,
    /// A companion of each message of mode 0 with this probability; the rate is ignored. For mode 1
    /// only.
    Bernoulli(f64),
}

/// The effect of a change of state on the clock of a fixed rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// The clock continues: the remaining fraction of an interval is scaled to the new rate.
    #[default]
    Continuous,
    /// The clock restarts: the first message follows a whole interval after the change.
    Restart,
}

/// The initial condition of the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Start {
    /// The stationary distribution, as if the process had been running for ever: states, residual
    /// times and clocks are drawn from their long-run distributions.
    #[default]
    Stationary,
    /// All objects have just entered this state.
    In(State),
}

/// The behaviour of an object in one state.
#[derive(Clone, Debug, PartialEq)]
pub struct StateSpec {
    /// The mean stay.
    pub mean: Duration,
    /// The distribution of the stay around that mean.
    pub holding: Holding,
    /// The probability of each next state; 0 for the state itself.
    pub next: [f64; 4],
    /// Messages of mode 0 and mode 1 per second.
    pub rate: [f64; 2],
    /// The emission patterns of mode 0 and mode 1.
    pub emit: [Emit; 2],
}

/// The states of an object; `None` for states that it never enters.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// By number of the state.
    pub states: [Option<StateSpec>; 4],
}

/// A class of objects that behave alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name, from which the seeds of its objects derive.
    pub name: String,
    /// The number of objects.
    pub count: u32,
    /// The states of its objects.
    pub chain: Chain,
    /// The effect of a change of state on fixed rates.
    pub phase: Phase,
    /// The initial condition of its objects.
    pub start: Start,
    /// Sizes of the messages of mode 0 and mode 1.
    pub size: [Size; 2],
}

/// All classes of objects of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Classes with distinct names.
    pub classes: Vec<Class>,
}

impl Workload {
    /// The traffic of Table 1 of the SRMP paper, with `count` objects (60 in the paper). Objects
    /// are idle at 0.5 messages per second or moving at 5, with a mean stay of 50 s in each state,
    /// and send one message of mode 1 at each change.
    pub fn table1(count: u32) -> Self {
        Self::preset(include_str!("../presets/table1.toml"), count)
    }

    /// A preset with all four states, with `count` objects.
    pub fn full4(count: u32) -> Self {
        Self::preset(include_str!("../presets/full4.toml"), count)
    }

    fn preset(text: &str, count: u32) -> Self {
        let mut workload = Self::parse(text).expect("the presets are tested");
        workload.classes.iter_mut().for_each(|class| class.count = count);
        workload
    }

    /// The number of objects of all classes.
    pub fn objects(&self) -> u64 {
        self.classes.iter().map(|class| u64::from(class.count)).sum()
    }
}

impl Chain {
    /// The behaviour in `state`; `None` if an object never enters it.
    pub fn get(&self, state: State) -> Option<&StateSpec> {
        self.states[state as usize].as_ref()
    }

    /// The share of transitions into each state in the long run: the solution of `v = v P`.
    ///
    /// # Errors
    /// [`ChainError`](crate::ChainError): the states do not form an irreducible chain.
    pub fn embedded(&self) -> Result<[f64; 4], chain::ChainError> {
        chain::embedded(self)
    }

    /// The share of time in each state in the long run: `v_i m_i` divided by their sum, whatever
    /// the distributions.
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

    /// The mean stay in each state; zero for states that objects never enter.
    pub fn means(&self) -> [Duration; 4] {
        [0, 1, 2, 3].map(|state| self.states[state].as_ref().map_or(Duration::ZERO, |spec| spec.mean))
    }
}
