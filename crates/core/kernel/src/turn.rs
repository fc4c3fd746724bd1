//! Turns: the kernel's work between two looks at its sockets. While a turn lasts, everybody else
//! waits.

use base::Moment;
use rti::CallerId;
use std::time::Duration;

/// The input that began a turn.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// None yet.
    #[default]
    Start,
    /// Octets from a connection of a federate, or the end of one.
    Connection,
    /// A frame from a link, or a change of its state.
    Link,
    /// Frames from a multicast group.
    Group,
    /// Timers, and slices of long work.
    Timer,
    /// The outcome of a job.
    Job,
}

impl Turn {
    fn name(self) -> &'static str {
        match self {
            Turn::Start => "start",
            Turn::Connection => "a connection",
            Turn::Link => "a link to another node",
            Turn::Group => "a multicast group",
            Turn::Timer => "timers",
            Turn::Job => "FOM modules that have been read",
        }
    }
}

/// Turns long enough for federates to notice. The world reports them, because it has the clock.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct SlowTurns {
    /// Number of slow turns.
    pub count: u64,
    /// Duration of the longest.
    pub longest: Duration,
    /// Cause of the longest.
    pub cause: String,
}

impl SlowTurns {
    pub(crate) fn note(&mut self, took: Duration, cause: &str) {
        self.count += 1;
        if took > self.longest {
            self.longest = took;
            cause.clone_into(&mut self.cause);
        }
    }
}

impl crate::Kernel {
    /// Notes that the turn that has just ended lasted longer than federates should wait. Returns
    /// its cause: the last service call in it with its federate, or else the input that began it.
    pub fn note_slow_turn(&mut self, _now: Moment, took: Duration) -> String {
        let cause = match self.rti.last_call() {
            Some((caller, service)) => format!("{} by {}", service.name, self.federate_name(caller)),
            None => self.turn.name().to_owned(),
        };
        self.slow_turns.note(took, &cause);
        cause
    }

    /// Begins a turn.
    pub(crate) fn begin_turn(&mut self, turn: Turn) {
        self.turn = turn;
        self.rti.forget_last_call();
    }

    fn federate_name(&self, caller: CallerId) -> String {
        self.rti.federate_name(caller).unwrap_or_else(|| format!("session {caller}, which is not joined"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_turn_is_the_one_that_is_explained() {
        let mut turns = SlowTurns::default();
        turns.note(Duration::from_millis(30), "timers");
        turns.note(Duration::from_millis(50), "createFederationExecution by session s1");
        turns.note(Duration::from_millis(40), "a link to another node");
        assert_eq!((turns.count, turns.longest), (3, Duration::from_millis(50)));
        assert_eq!(turns.cause, "createFederationExecution by session s1");
    }
}
