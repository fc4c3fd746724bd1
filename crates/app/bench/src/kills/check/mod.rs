//! The judge of a run: it looks at the logs only.
//!
//! The guide states the promises in prose (`docs/guide/failures.md`). The *grace* is the longest
//! time that anything may take, and a federate is *standing* as long as its node is not killed:
//!
//! - **sessions**: a session ends only when its node is killed, and then within the grace. Its
//!   federate is joined at another node within the grace. A node that has been up for the grace
//!   accepts every federate. No call of a standing federate is refused;
//! - **messages**: the messages of one federate to another arrive in the order of sending, each
//!   once, without a gap, and were sent. The former life of a federate is another federate, whose
//!   messages may reach its next life until it is resigned. A message whose call has its answer
//!   arrives within the grace, if both federates stand for so long and one of these holds: the
//!   receiver had discovered the object before the call (or got another interaction of the sender),
//!   or the grace had passed since both were ready;
//! - **objects**: every standing federate discovers every object of another one within the grace,
//!   before any reflect of it. The object of a federate whose node was killed is removed everywhere
//!   within the grace if the federate's directive deletes; otherwise it stays where it is known.
//!   Federates that come later discover neither (an object without owner is not discovered). No
//!   other object is ever removed.

mod messages;
mod objects;
mod sessions;

use super::log::Micros;
use super::timeline::{Timeline, Violation};

/// The verdict on a run.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The violations, in order of time.
    pub violations: Vec<Violation>,
    /// Number of promised deliveries that were made.
    pub promised: u64,
    /// Number of all deliveries.
    pub delivered: u64,
    /// Number of promised discoveries and removals that were made.
    pub objects: u64,
    /// Number of sessions.
    pub sessions: u64,
}

/// A run that is being judged.
struct Trial<'a> {
    timeline: &'a Timeline,
    grace: Micros,
    verdict: Verdict,
}

/// Judges a run.
pub fn judge(timeline: &Timeline, grace: Micros) -> Verdict {
    let verdict = Verdict { violations: timeline.nonsense.clone(), ..Verdict::default() };
    let mut trial = Trial { timeline, grace, verdict };
    trial.sessions();
    trial.messages();
    trial.objects();
    let mut verdict = trial.verdict;
    verdict.violations.sort_by_key(|violation| violation.at);
    verdict
}

impl Trial<'_> {
    fn wrong(&mut self, at: Micros, what: String) {
        self.verdict.violations.push(Violation { at, what });
    }
}

/// A number of microseconds in readable form.
fn seconds(time: Micros) -> String {
    format!("{:.3} s", time as f64 / 1e6)
}

#[cfg(test)]
mod tests;
