//! The judge of a run: looks at nothing but the logs.
//!
//! What is promised (the guide says it in words, `docs/guide/failures.md`), with the *grace* as the longest time that anything may
//! take, and a federate *standing* as long as its node is not killed:
//!
//! - **sessions**: a session ends only when its node is killed, and then within the grace; its federate is joined at another node
//!   within the grace. A node that has been up for the grace takes every federate in. No call of a standing federate is refused;
//! - **messages**: what a federate gets of another comes in the order of sending, each once, without a hole, and was sent. The
//!   former life of a federate is another one, which its next life may hear until it is resigned. A
//!   message whose call has its answer arrives, within the grace, when both federates stand for so long, and the receiver had
//!   before the call discovered the object (or got another interaction of the sender), or the grace had passed since both
//!   were ready;
//! - **objects**: every standing federate discovers every object of another one within the grace, before any reflect of it. The
//!   object of a federate whose node was killed is removed everywhere within the grace when the federate's directive deletes; else it
//!   stays where it is known. Who comes later discovers neither (an object without owner is not discovered). No other object
//!   is ever removed.

mod messages;
mod objects;
mod sessions;

use super::log::Micros;
use super::story::{Story, Violation};

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What is wrong, in order of time.
    pub violations: Vec<Violation>,
    /// Deliveries that were promised, and made.
    pub promised: u64,
    /// All deliveries.
    pub delivered: u64,
    /// Discoveries and removals that were promised, and made.
    pub objects: u64,
    /// Sessions.
    pub sessions: u64,
}

/// A run under judgement.
struct Trial<'a> {
    story: &'a Story,
    grace: Micros,
    verdict: Verdict,
}

/// Judges a run.
pub fn judge(story: &Story, grace: Micros) -> Verdict {
    let verdict = Verdict { violations: story.nonsense.clone(), ..Verdict::default() };
    let mut trial = Trial { story, grace, verdict };
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

/// Microseconds as people read them.
fn seconds(time: Micros) -> String {
    format!("{:.3} s", time as f64 / 1e6)
}

#[cfg(test)]
mod tests;
