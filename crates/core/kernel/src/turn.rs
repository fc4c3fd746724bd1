//! Turns: what the kernel does between two looks at its sockets. While one lasts, everybody else waits.

use base::Moment;
use rti::CallerId;
use std::time::Duration;

/// The input that began a turn.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Nothing yet.
    #[default]
    Start,
    /// Octets from a connection of a federate, or its end.
    Connection,
    /// A frame from a link, or the state of one.
    Link,
    /// Frames from a multicast group.
    Group,
    /// Timers, and a slice of work.
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

/// Turns that took so long that federates may have noticed; told by the world, which has the clock.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct SlowTurns {
    /// How many.
    pub count: u64,
    /// The longest.
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
    /// The turn that has just ended took longer than federates should wait. Returns what it was about: the last service call
    /// in it and its federate, or what else it began with.
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
