//! The election of a site's logger and of its standby among the candidates.
//!
//! Candidates do not count votes. A candidate that hears no logger claims the role, after a random
//! delay that lets few of them claim together. A better candidate answers with a claim of its own,
//! and a candidate that hears a better claim falls silent. A working logger is not replaced only
//! because another candidate is better.

use super::config::LoggerConfig;
use super::rank::Rank;
use crate::model::MemberId;
use crate::receive::{spread, truncated_exponential};
use crate::wire::LoggerState;
use base::{Moment, Rng};
use std::time::Duration;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A new candidate listens for one interval of advertisements, and up to this much longer, before
/// it considers claiming.
const START_SPREAD: Duration = ms(1_000);
/// The range of the delay before a claim.
const CLAIM_SPREAD: Duration = ms(500);
/// A better candidate answers a claim within this time.
const ANSWER_SPREAD: Duration = ms(200);
/// The least interval between answers to lesser candidates. Ranks change, and each of two
/// candidates may consider itself the better one for a moment: answers that draw answers must not
/// multiply.
const ANSWERS_APART: Duration = ms(20);
/// A claim stands if no better candidate answers it for this long.
const CLAIM_HOLDS: Duration = ms(600);
/// A logger may be overloaded for this long before it is replaced.
const OVERLOAD_HOLDS: Duration = ms(30_000);

/// The state of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Listens until this time.
    Idle { until: Moment },
    /// Will claim at this time.
    Waiting { claim_at: Moment },
    /// Has claimed, and becomes the logger at this time.
    Claiming { until: Moment },
    /// Is the logger, and advertises itself at this time.
    Active { next: Moment },
    /// Is the standby, and advertises itself at this time.
    Standby { next: Moment },
}

/// One candidate's side of the election in its site.
#[derive(Debug)]
pub(crate) struct Election {
    adv_interval: Duration,
    dead_after: Duration,
    state: State,
    rank: Rank,
    /// The logger that was heard: the member, its rank, the time it was last heard, and the time
    /// since which it has been overloaded.
    active: Option<(MemberId, Rank, Moment, Option<Moment>)>,
    /// The standby that was heard: the member, its rank, and the time it was last heard.
    standby: Option<(MemberId, Rank, Moment)>,
    /// The time of the last answer to a lesser candidate.
    answered: Option<Moment>,
    me: MemberId,
    rng: Rng,
}

/// The action that follows from an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Advertise this state.
    Advertise(LoggerState),
    /// The candidate is the logger now, and has to advertise that.
    Elected,
    /// Another candidate is the logger now; advertise this state.
    SteppedDown(LoggerState),
}

impl Election {
    pub(crate) fn new(now: Moment, me: MemberId, rank: Rank, config: &LoggerConfig, mut rng: Rng) -> Self {
        let until = now + config.adv_interval + spread(&mut rng, START_SPREAD);
        Self {
            adv_interval: config.adv_interval,
            dead_after: config.dead_after,
            state: State::Idle { until },
            rank,
            active: None,
            standby: None,
            answered: None,
            me,
            rng,
        }
    }

    /// Sets the current rank of the candidate.
    pub(crate) fn set_rank(&mut self, rank: Rank) {
        self.rank = rank;
    }

    /// A member sends state to the whole site. Only a logger does that, or a standby without a
    /// logger. No candidate has to claim meanwhile, least of all the one that receives the state.
    pub(crate) fn hear_transfer(&mut self, now: Moment, from: MemberId) {
        let knows_better = self.active.is_some_and(|(active, ..)| active != from) && self.has_active(now);
        if matches!(self.state, State::Active { .. } | State::Standby { .. }) || knows_better {
            return;
        }
        let since = self.active.filter(|(active, ..)| *active == from);
        let (rank, since) = since.map_or((Rank::default(), None), |(_, rank, _, since)| (rank, since));
        self.active = Some((from, rank, now, since));
        self.state = State::Idle { until: self.idle_until(now) };
    }

    /// The rank of the candidate, which it advertises.
    pub(crate) fn rank(&self) -> Rank {
        self.rank
    }

    /// Answers a lesser candidate, unless one was answered a moment ago.
    fn answer(&mut self, now: Moment, state: LoggerState) -> Option<Outcome> {
        if self.answered.is_some_and(|at| now < at + ANSWERS_APART) {
            return None;
        }
        self.answered = Some(now);
        Some(Outcome::Advertise(state))
    }

    pub(crate) fn is_active(&self) -> bool {
        matches!(self.state, State::Active { .. })
    }

    pub(crate) fn is_standby(&self) -> bool {
        matches!(self.state, State::Standby { .. })
    }

    pub(crate) fn deadline(&self) -> Moment {
        match self.state {
            State::Idle { until } | State::Claiming { until } => until,
            State::Waiting { claim_at } => claim_at,
            State::Active { next } => next,
            State::Standby { next } => next.min(self.active_dies()),
        }
    }

    fn active_dies(&self) -> Moment {
        self.active.map_or(Moment::ZERO, |(_, _, heard, _)| heard + self.dead_after)
    }

    /// Handles an advertisement of a logger, standby or claimant of this site.
    pub(crate) fn hear(
        &mut self,
        now: Moment,
        (from, rank): (MemberId, Rank),
        state: LoggerState,
        overloaded: bool,
    ) -> Option<Outcome> {
        match state {
            LoggerState::Claim => self.hear_claim(now, from, rank),
            LoggerState::Active => self.hear_active(now, from, rank, overloaded),
            LoggerState::Standby => {
                self.standby = Some((from, rank, now));
                if self.is_standby() && rank > self.rank {
                    self.state = State::Idle { until: self.active_dies().max(now) };
                }
                None
            }
            LoggerState::Resign => {
                if self.active.is_some_and(|(active, ..)| active == from) {
                    self.active = None;
                    self.begin(now);
                }
                self.standby.take_if(|(standby, ..)| *standby == from);
                None
            }
        }
    }

    fn hear_claim(&mut self, now: Moment, from: MemberId, rank: Rank) -> Option<Outcome> {
        match self.state {
            State::Active { .. } => {
                // A candidate that the administrator prefers takes over. To all others the logger
                // answers that the role is taken.
                let worn_out = self.rank.is_overloaded() && rank > self.rank;
                if rank.priority() > self.rank.priority() || worn_out {
                    self.active = Some((from, rank, now, None));
                    self.state = State::Idle { until: now + CLAIM_HOLDS + ANSWER_SPREAD };
                    return Some(Outcome::SteppedDown(LoggerState::Resign));
                }
                self.answer(now, LoggerState::Active)
            }
            _ if rank > self.rank => {
                // The claimant will advertise that it is active, or another candidate has to claim
                // again.
                self.state = State::Idle { until: now + CLAIM_HOLDS + ANSWER_SPREAD * 2 };
                None
            }
            State::Claiming { .. } => self.answer(now, LoggerState::Claim),
            _ if self.has_active(now) => None,
            State::Waiting { claim_at } => {
                let at = now + spread(&mut self.rng, ANSWER_SPREAD);
                self.state = State::Waiting { claim_at: claim_at.min(at) };
                None
            }
            State::Idle { .. } | State::Standby { .. } => {
                self.state = State::Waiting { claim_at: now + spread(&mut self.rng, ANSWER_SPREAD) };
                None
            }
        }
    }

    fn hear_active(&mut self, now: Moment, from: MemberId, rank: Rank, overloaded: bool) -> Option<Outcome> {
        let since = self.active.filter(|(active, ..)| *active == from).and_then(|(_, _, _, since)| since);
        let since = overloaded.then(|| since.unwrap_or(now));
        if self.is_active() {
            if rank < self.rank {
                return self.answer(now, LoggerState::Active);
            }
            self.active = Some((from, rank, now, since));
            let stands_by = self.stand_by_if_nobody_does(now);
            let state = if stands_by { LoggerState::Standby } else { LoggerState::Resign };
            return Some(Outcome::SteppedDown(state));
        }
        self.active = Some((from, rank, now, since));
        let is_done = since.is_some_and(|since| now.since(since) >= OVERLOAD_HOLDS);
        let preempts = self.rank.priority() > rank.priority() || (is_done && self.is_standby());
        match self.state {
            // It goes on claiming; the logger steps down when it hears that.
            State::Claiming { .. } | State::Waiting { .. } if preempts => {}
            _ if preempts => {
                self.state = State::Waiting { claim_at: now + spread(&mut self.rng, ANSWER_SPREAD) };
            }
            State::Standby { .. } => {}
            _ => self.state = State::Idle { until: self.idle_until(now) },
        }
        None
    }

    /// The time at which an idle candidate has to act: when the logger is dead, or when there is no
    /// standby.
    fn idle_until(&mut self, now: Moment) -> Moment {
        let dies = self.active_dies().max(now);
        if self.has_standby(now) {
            return dies;
        }
        // A delay that was drawn already is kept.
        match self.state {
            State::Idle { until } if until > now && until < dies => until,
            _ => {
                let wait = truncated_exponential(&mut self.rng, 8, CLAIM_SPREAD, CLAIM_SPREAD);
                (now + ANSWER_SPREAD + wait).min(dies)
            }
        }
    }

    fn has_active(&self, now: Moment) -> bool {
        self.active.is_some_and(|(_, _, heard, _)| now < heard + self.dead_after)
    }

    fn has_standby(&self, now: Moment) -> bool {
        self.standby.is_some_and(|(_, _, heard)| now < heard + self.adv_interval * 5)
    }

    fn stand_by_if_nobody_does(&mut self, now: Moment) -> bool {
        if self.has_standby(now) {
            self.state = State::Idle { until: self.active_dies().max(now) };
            return false;
        }
        self.standby = Some((self.me, self.rank, now));
        self.state = State::Standby { next: now + self.adv_interval * 2 };
        true
    }

    /// Starts an election, since there is no logger. The standby claims first.
    fn begin(&mut self, now: Moment) {
        let wait = if self.is_standby() {
            Duration::ZERO
        } else {
            // The delay is drawn as for eight candidates, about as many as a site may have. For a
            // larger site the draw would not differ much.
            truncated_exponential(&mut self.rng, 8, CLAIM_SPREAD, CLAIM_SPREAD)
        };
        self.state = State::Waiting { claim_at: now + wait };
    }

    /// Handles an expired timer.
    pub(crate) fn expire(&mut self, now: Moment) -> Option<Outcome> {
        if self.deadline() > now {
            return None;
        }
        match self.state {
            State::Idle { .. } if self.has_active(now) => {
                let stands_by = self.stand_by_if_nobody_does(now);
                stands_by.then_some(Outcome::Advertise(LoggerState::Standby))
            }
            State::Idle { .. } => {
                self.begin(now);
                None
            }
            State::Waiting { .. } => {
                self.state = State::Claiming { until: now + CLAIM_HOLDS };
                Some(Outcome::Advertise(LoggerState::Claim))
            }
            State::Claiming { .. } => {
                self.state = State::Active { next: now + self.adv_interval };
                self.active = None;
                Some(Outcome::Elected)
            }
            State::Active { .. } => {
                self.state = State::Active { next: now + self.adv_interval };
                Some(Outcome::Advertise(LoggerState::Active))
            }
            State::Standby { .. } if !self.has_active(now) => {
                self.begin(now);
                None
            }
            State::Standby { .. } => {
                self.standby = Some((self.me, self.rank, now));
                self.state = State::Standby { next: now + self.adv_interval * 2 };
                Some(Outcome::Advertise(LoggerState::Standby))
            }
        }
    }
}

#[cfg(test)]
mod tests;
