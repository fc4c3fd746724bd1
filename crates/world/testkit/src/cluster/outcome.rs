//! The outcome of a run.

use crate::invariants::Violation;
use crate::observation::{Observation, Seen};
use base::Moment;
use netsim::Digest;
use std::collections::BTreeMap;
use std::fmt;

/// The outcome of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The digest of all events.
    pub digest: Digest,
    /// Number of answers that federates received.
    pub answers: u64,
    /// Number of callbacks that they received.
    pub callbacks: u64,
    /// Number of sessions that began.
    pub sessions: u64,
    /// Number of sessions that resumed after a loss of their connection, in runs that are tapped.
    pub resumes: u64,
    /// Number of federates that were killed.
    pub killed: u64,
    /// Number of best-effort callbacks dropped for federates that did not keep up, in runs that are
    /// tapped.
    pub dropped: u64,
    /// Number of starts of nodes that were given up or ended.
    pub lost_nodes: u64,
    /// Number of networks that served federates: two or more if a creator began one that later
    /// yielded.
    pub networks: usize,
    /// Number of times that a node paused a federate.
    pub paused: u64,
    /// Messages sent through multicast groups, once for several nodes, and messages sent to one
    /// node alone; counted at the nodes that lived until the end.
    pub multicast: (u64, u64),
    /// Number of times that the path to a neighbour moved between a tunnel and a link, counted at the
    /// nodes that lived until the end.
    pub moved_paths: u64,
    /// Number of checks of each property that had something to check.
    pub checked: BTreeMap<&'static str, u64>,
    /// When the run ended.
    pub ended: Moment,
}

impl Default for Outcome {
    fn default() -> Self {
        Self {
            digest: Digest::EMPTY,
            answers: 0,
            callbacks: 0,
            sessions: 0,
            resumes: 0,
            killed: 0,
            dropped: 0,
            lost_nodes: 0,
            networks: 0,
            paused: 0,
            multicast: (0, 0),
            moved_paths: 0,
            checked: BTreeMap::new(),
            ended: Moment::ZERO,
        }
    }
}

impl Outcome {
    /// Counts an observation.
    pub(super) fn count(&mut self, observation: &Observation) {
        match observation {
            Observation::Established { .. } => self.sessions += 1,
            Observation::Got { .. } => self.answers += 1,
            Observation::Received { .. } => self.callbacks += 1,
            Observation::Resumed { .. } => self.resumes += 1,
            Observation::Killed { .. } => self.killed += 1,
            _ => {}
        }
    }
}

/// The reason why a run failed, and the preceding events.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The property that did not hold.
    pub violation: Violation,
    /// The last observations, oldest first.
    pub trace: Vec<Seen>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for seen in &self.trace {
            let text = format!("{:?}", seen.observation);
            let short: String = text.chars().take(600).collect();
            writeln!(f, "  {} {short}", seen.at)?;
        }
        write!(f, "{}", self.violation)
    }
}
