//! How a run went.

use crate::invariants::Violation;
use crate::observation::{Observation, Seen};
use base::Moment;
use netsim::Digest;
use std::collections::BTreeMap;
use std::fmt;

/// How a run went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The digest of everything that happened.
    pub digest: Digest,
    /// Answers that federates got.
    pub answers: u64,
    /// Callbacks that they got.
    pub callbacks: u64,
    /// Sessions that began.
    pub sessions: u64,
    /// Sessions that went on after their connection was lost, of runs that are tapped.
    pub resumes: u64,
    /// Federates that were killed.
    pub killed: u64,
    /// Best-effort callbacks left out for federates that did not keep up, of runs that are tapped.
    pub dropped: u64,
    /// Starts of nodes that were given up, or ended.
    pub lost_nodes: u64,
    /// Networks that served federates: two or more when a founder began one that gave way later.
    pub networks: usize,
    /// How often a node paused a federate.
    pub paused: u64,
    /// Messages that went through multicast groups, once each for several nodes, and to one node alone: of the nodes that
    /// lived to the end.
    pub multicast: (u64, u64),
    /// How often each property had something to look at.
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
            checked: BTreeMap::new(),
            ended: Moment::ZERO,
        }
    }
}

impl Outcome {
    /// Counts what was seen.
    pub(super) fn count(&mut self, what: &Observation) {
        match what {
            Observation::Established { .. } => self.sessions += 1,
            Observation::Got { .. } => self.answers += 1,
            Observation::Received { .. } => self.callbacks += 1,
            Observation::Resumed { .. } => self.resumes += 1,
            Observation::Killed { .. } => self.killed += 1,
            _ => {}
        }
    }
}

/// Why a run failed: what was wrong, and what had happened just before.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What was wrong.
    pub violation: Violation,
    /// The last observations, oldest first.
    pub trace: Vec<Seen>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for seen in &self.trace {
            let text = format!("{:?}", seen.what);
            let short: String = text.chars().take(600).collect();
            writeln!(f, "  {} {short}", seen.at)?;
        }
        write!(f, "{}", self.violation)
    }
}
