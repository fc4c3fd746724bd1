//! Which candidate of a site is its logger, and which stands by.
//!
//! Nobody counts votes: who hears no logger claims to be one, after a time drawn so that few claim together; a better one answers with a
//! claim of its own, and who hears a better claim falls silent. A logger that works is not replaced by one that is merely better.

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

/// Who starts listens for a logger as long as one may be silent, and up to this much longer, before it thinks of claiming.
const START_SPREAD: Duration = ms(1_000);
/// Claims are spread over this.
const CLAIM_SPREAD: Duration = ms(500);
/// A better candidate answers a claim within this.
const ANSWER_SPREAD: Duration = ms(200);
/// What lesser ones say is answered this often. Ranks change, and two may each think themselves better for a moment: answers that
/// draw answers must not multiply.
const ANSWERS_APART: Duration = ms(20);
/// A claim that no better one answers for this long holds.
const CLAIM_HOLDS: Duration = ms(600);
/// A logger may be overloaded for this long before it is replaced.
const OVERLOAD_HOLDS: Duration = ms(30_000);

/// What a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// One who listens, until then.
    Idle { until: Moment },
    /// One who will claim.
    Waiting { claim_at: Moment },
    /// One who has claimed.
    Claiming { until: Moment },
    /// The logger.
    Active { next: Moment },
    /// The next.
    Standby { next: Moment },
}

/// One candidate's part in the election of its site.
#[derive(Debug)]
pub(crate) struct Election {
    adv_interval: Duration,
    dead_after: Duration,
    state: State,
    rank: Rank,
    /// The logger that was heard: who, its rank, when, and since when it is overloaded.
    active: Option<(MemberId, Rank, Moment, Option<Moment>)>,
    /// Who stands by, and when it was heard.
    standby: Option<(MemberId, Rank, Moment)>,
    /// When a lesser one was answered last.
    answered: Option<Moment>,
    me: MemberId,
    rng: Rng,
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// This is to be advertised.
    Advertise(LoggerState),
    /// It is the logger now, which is to be advertised.
    Elected,
    /// Another is; with what is to be advertised.
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

    /// What the candidate is worth now.
    pub(crate) fn set_rank(&mut self, rank: Rank) {
        self.rank = rank;
    }

    /// A member gives state to the whole site, as only a logger does, or who stands by when there is none: nobody has to claim
    /// meanwhile, least of all who is being given it.
    pub(crate) fn hear_walk(&mut self, now: Moment, from: MemberId) {
        let knows_better = self.active.is_some_and(|(active, ..)| active != from) && self.has_active(now);
        if matches!(self.state, State::Active { .. } | State::Standby { .. }) || knows_better {
            return;
        }
        let since = self.active.filter(|(active, ..)| *active == from);
        let (rank, since) = since.map_or((Rank::default(), None), |(_, rank, _, since)| (rank, since));
        self.active = Some((from, rank, now, since));
        self.state = State::Idle { until: self.idle_until(now) };
    }

    /// What the candidate takes itself for, and is to say that it is.
    pub(crate) fn rank(&self) -> Rank {
        self.rank
    }

    /// A lesser one is told, unless it was a moment ago.
    fn answer(&mut self, now: Moment, said: LoggerState) -> Option<Outcome> {
        if self.answered.is_some_and(|at| now < at + ANSWERS_APART) {
            return None;
        }
        self.answered = Some(now);
        Some(Outcome::Advertise(said))
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

    /// A logger or claimant of this site was heard.
    pub(crate) fn hear(
        &mut self,
        now: Moment,
        (from, rank): (MemberId, Rank),
        said: LoggerState,
        overloaded: bool,
    ) -> Option<Outcome> {
        match said {
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
                // Who is preferred by the administrator takes over; to all others the logger says that there is one.
                let worn_out = self.rank.is_overloaded() && rank > self.rank;
                if rank.priority() > self.rank.priority() || worn_out {
                    self.active = Some((from, rank, now, None));
                    self.state = State::Idle { until: now + CLAIM_HOLDS + ANSWER_SPREAD };
                    return Some(Outcome::SteppedDown(LoggerState::Resign));
                }
                self.answer(now, LoggerState::Active)
            }
            _ if rank > self.rank => {
                // It will say that it is active, or somebody has to claim again.
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
            let said = if stands_by { LoggerState::Standby } else { LoggerState::Resign };
            return Some(Outcome::SteppedDown(said));
        }
        self.active = Some((from, rank, now, since));
        let is_done = since.is_some_and(|since| now.since(since) >= OVERLOAD_HOLDS);
        let preempts = self.rank.priority() > rank.priority() || (is_done && self.is_standby());
        match self.state {
            // It goes on claiming: the logger steps down when it hears that.
            State::Claiming { .. } | State::Waiting { .. } if preempts => {}
            _ if preempts => {
                self.state = State::Waiting { claim_at: now + spread(&mut self.rng, ANSWER_SPREAD) };
            }
            State::Standby { .. } => {}
            _ => self.state = State::Idle { until: self.idle_until(now) },
        }
        None
    }

    /// When one who listens has to think again: when the logger is dead, or nobody stands by.
    fn idle_until(&mut self, now: Moment) -> Moment {
        let dies = self.active_dies().max(now);
        if self.has_standby(now) {
            return dies;
        }
        // Kept if it was drawn already.
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

    /// There is no logger. Who stood by goes first.
    fn begin(&mut self, now: Moment) {
        let wait = if self.is_standby() {
            Duration::ZERO
        } else {
            // Eight of about as many as a site may have: the draw of a larger site is not much different.
            truncated_exponential(&mut self.rng, 8, CLAIM_SPREAD, CLAIM_SPREAD)
        };
        self.state = State::Waiting { claim_at: now + wait };
    }

    /// Something was due, or may be.
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
