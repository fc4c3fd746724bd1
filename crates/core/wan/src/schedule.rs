//! Lines that change in time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use base::Moment;

use crate::spec::{LineSpec, SpecError, no_files};
use crate::units::{Time, parse_duration};

/// Largest number of phases in a schedule.
pub const PHASES_MAX: usize = 10_000;

/// A phase: the behaviour of a line from some time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Start of the phase, since [`Moment::ZERO`].
    pub from: Duration,
    /// The behaviour of the line until the next phase.
    pub spec: LineSpec,
}

/// The behaviour of a line over time. It has at least one phase, and the first begins at the start.
///
/// As a text: phases separated by `;`. Each but the first begins with `at=`, followed by the
/// changes: `delay=5ms,rate=2Mbit/s;at=60s,rate=100kbit/s;at=120s,rate=2Mbit/s`.
///
/// A datagram taken before a change keeps the delay and the rate at which it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    phases: Vec<Phase>,
}

impl Schedule {
    /// A schedule of one phase.
    pub fn constant(spec: LineSpec) -> Self {
        Self { phases: vec![Phase { from: Duration::ZERO, spec }] }
    }

    /// Adds a phase.
    ///
    /// # Errors
    /// The phase does not come after all others, or there are [`PHASES_MAX`] already.
    pub fn then(mut self, from: Duration, spec: LineSpec) -> Result<Self, SpecError> {
        let number = self.phases.len() + 1;
        let fail = |why: String| SpecError::Phase { number, why };
        let last = self.last().from;
        if from <= last {
            return Err(fail(format!("it is to begin at {}, not after {}", Time(from), Time(last))));
        }
        if self.phases.len() >= PHASES_MAX {
            return Err(fail(format!("a schedule has at most {PHASES_MAX} phases")));
        }
        self.phases.push(Phase { from, spec });
        Ok(self)
    }

    /// Reads the text form. `read` returns the content of a trace file.
    ///
    /// # Errors
    /// A line is not valid, or the times of the phases are not.
    pub fn parse(text: &str, read: &dyn Fn(&str) -> Result<String, String>) -> Result<Self, SpecError> {
        let mut texts = text.split(';');
        let mut spec = LineSpec::default();
        spec.read(texts.next().unwrap_or(""), read)?;
        let mut schedule = Self::constant(spec);
        for (index, text) in texts.enumerate() {
            let fail = |why: String| SpecError::Phase { number: index + 2, why };
            let (at, changes) = text.split_once(',').unwrap_or((text, ""));
            let at = at.trim().strip_prefix("at=").ok_or_else(|| {
                fail(format!("it begins with `{}`, not with a time such as `at=60s`", at.trim()))
            })?;
            let from = parse_duration(at.trim()).map_err(fail)?;
            let mut spec = schedule.last().spec.clone();
            spec.read(changes, read).map_err(|error| fail(error.to_string()))?;
            schedule = schedule.then(from, spec)?;
        }
        Ok(schedule)
    }

    /// All phases, in order.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    fn last(&self) -> &Phase {
        self.phases.last().expect("there is always a first phase")
    }
}

impl From<LineSpec> for Schedule {
    fn from(spec: LineSpec) -> Self {
        Self::constant(spec)
    }
}

impl FromStr for Schedule {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text, &no_files)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.phases[0].spec)?;
        for pair in self.phases.windows(2) {
            write!(f, ";at={}", Time(pair[1].from))?;
            for difference in pair[1].spec.differences(&pair[0].spec) {
                write!(f, ",{difference}")?;
            }
        }
        Ok(())
    }
}

/// A schedule and the current position in it.
#[derive(Clone, Debug)]
pub struct Phases {
    schedule: Schedule,
    index: usize,
}

impl Phases {
    /// The position at the start of `schedule`.
    pub fn new(schedule: Schedule) -> Self {
        Self { schedule, index: 0 }
    }

    /// The present behaviour of the line.
    pub fn spec(&self) -> &LineSpec {
        &self.schedule.phases[self.index].spec
    }

    /// Moves on to `now`. True when that changed the behaviour of the line.
    pub fn advance(&mut self, now: Moment) -> bool {
        let before = self.index;
        while self.schedule.phases.get(self.index + 1).is_some_and(|next| Moment::ZERO + next.from <= now) {
            self.index += 1;
        }
        self.index != before
    }
}
