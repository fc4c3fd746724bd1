//! The loggers of a member's own site, as the member hears and measures them.

use super::config::LoggerConfig;
use super::rank::Rank;
use super::region::SITE;
use crate::model::MemberId;
use crate::receive::spread;
use crate::wire::{Advertisement, LoggerFlags, LoggerState};
use base::{Moment, Rng};
use std::time::Duration;

/// A member that first hears of a logger measures the round-trip time within this range, so that
/// the members do not all do so at once.
const PROBE_SPREAD: Duration = Duration::from_millis(100);
/// The interval between measurements.
const PROBE_EVERY: Duration = Duration::from_secs(10);
/// The time after which a probe without an answer is repeated.
const PROBE_AGAIN: Duration = Duration::from_millis(500);
/// A logger counts as dead after more than this many requests without any answer, the first of
/// which is this many waits old.
const UNANSWERED_MAX: u32 = 3;
/// The least round-trip time of a site.
const RTT_MIN: Duration = Duration::from_micros(500);

/// A logger of the site.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) member: MemberId,
    rank: Rank,
    pub(crate) advertisement: Advertisement,
    heard: Moment,
    /// It did not answer, and is not asked before this time.
    shunned: Option<Moment>,
    rtt: Option<Duration>,
    probe_at: Moment,
    nonce: u32,
    /// The number of requests since it last sent anything. `asked` is the time of the first one.
    unanswered: u32,
    asked: Moment,
}

/// The logger of a site and its standby.
#[derive(Debug)]
pub(crate) struct View {
    config: LoggerConfig,
    active: Option<Seen>,
    standby: Option<Seen>,
    nonce: u32,
    rng: Rng,
}

impl View {
    pub(crate) fn new(config: LoggerConfig, rng: Rng) -> Self {
        Self { config, active: None, standby: None, nonce: 0, rng }
    }

    /// Handles an advertisement of a logger of the site. Returns true when it changes the members
    /// to ask.
    pub(crate) fn hear(&mut self, now: Moment, from: MemberId, advertisement: Advertisement) -> bool {
        let before = self.asked(now);
        match advertisement.state {
            LoggerState::Claim => return false,
            LoggerState::Active => {
                self.standby.take_if(|seen| seen.member == from);
                self.note(now, from, advertisement, true);
            }
            LoggerState::Standby => {
                self.active.take_if(|seen| seen.member == from);
                self.note(now, from, advertisement, false);
            }
            LoggerState::Resign => self.forget(from),
        }
        before != self.asked(now)
    }

    /// A member sends state to the whole site. Only the logger does that; nothing else is known
    /// about it yet. Returns true when that changes the members to ask.
    pub(crate) fn hear_transfer(&mut self, now: Moment, from: MemberId) -> bool {
        if self.usable(now).0.is_some() {
            return false;
        }
        let (parent, parent_rtt) = (MemberId::NOBODY, Duration::ZERO);
        let (tier, flags) = (SITE, LoggerFlags::empty());
        // The least of all ranks, so that any advertisement takes precedence.
        let advertisement = Advertisement {
            state: LoggerState::Active,
            tier,
            rank: 0,
            children: 0,
            flags,
            parent,
            parent_rtt,
        };
        self.hear(now, from, advertisement)
    }

    fn note(&mut self, now: Moment, from: MemberId, advertisement: Advertisement, is_active: bool) {
        let first = now + spread(&mut self.rng, PROBE_SPREAD);
        let dies = self.config.dead_after;
        let slot = if is_active { &mut self.active } else { &mut self.standby };
        let rank = Rank(advertisement.rank);
        match slot {
            Some(seen) if seen.member == from => {
                (seen.rank, seen.advertisement, seen.heard) = (rank, advertisement, now);
            }
            // The better of two stays, as they will find out themselves.
            Some(seen) if now < seen.heard + dies && seen.rank > rank && seen.shunned.is_none() => {}
            _ => {
                let shunned = None;
                *slot = Some(Seen {
                    member: from,
                    rank,
                    advertisement,
                    heard: now,
                    shunned,
                    rtt: None,
                    probe_at: first,
                    nonce: 0,
                    unanswered: 0,
                    asked: now,
                });
            }
        }
    }

    fn forget(&mut self, member: MemberId) {
        self.active.take_if(|seen| seen.member == member);
        self.standby.take_if(|seen| seen.member == member);
    }

    /// The member to ask now, and the next one.
    pub(crate) fn asked(&self, now: Moment) -> (Option<MemberId>, Option<MemberId>) {
        let (first, second) = self.usable(now);
        (first.map(|seen| seen.member), second.map(|seen| seen.member))
    }

    /// The loggers that seem to be alive; the one to ask first comes first.
    pub(crate) fn usable(&self, now: Moment) -> (Option<&Seen>, Option<&Seen>) {
        let (dies, rests) = (self.config.dead_after, self.config.adv_interval * 5);
        let alive = |seen: &&Seen, dies: Duration| {
            now < seen.heard + dies && seen.shunned.is_none_or(|until| now >= until)
        };
        let active = self.active.as_ref().filter(|seen| alive(seen, dies));
        let standby = self.standby.as_ref().filter(|seen| alive(seen, rests));
        if active.is_some() { (active, standby) } else { (standby, None) }
    }

    /// The logger that advertises itself as active.
    pub(crate) fn active(&self) -> Option<&Seen> {
        self.active.as_ref()
    }

    /// The standby.
    pub(crate) fn standby(&self) -> Option<&Seen> {
        self.standby.as_ref()
    }

    fn find(&mut self, member: MemberId) -> Option<&mut Seen> {
        let all = self.active.iter_mut().chain(&mut self.standby);
        all.into_iter().find(|seen| seen.member == member)
    }

    /// Notes any datagram of a logger.
    pub(crate) fn answered(&mut self, member: MemberId) {
        if let Some(seen) = self.find(member) {
            seen.unanswered = 0;
        }
    }

    /// Counts a request to a logger that should answer within `wait`. Returns true when the logger
    /// counts as dead, since it has not answered for a long time.
    pub(crate) fn note_ask(&mut self, now: Moment, member: MemberId, wait: Duration) -> bool {
        let blacklist = self.config.blacklist;
        let Some(seen) = self.find(member) else { return false };
        if seen.unanswered == 0 {
            seen.asked = now;
        }
        seen.unanswered += 1;
        let is_dead = seen.unanswered > UNANSWERED_MAX && now >= seen.asked + wait * UNANSWERED_MAX;
        if is_dead {
            seen.unanswered = 0;
            seen.shunned = Some(now + blacklist);
        }
        is_dead
    }

    /// The round-trip time within the site: that to the logger, or an assumed one.
    pub(crate) fn site_rtt(&self) -> Duration {
        let seen = self.active.as_ref().or(self.standby.as_ref());
        seen.and_then(|seen| seen.rtt).unwrap_or(self.config.site_rtt_initial).max(RTT_MIN)
    }

    /// The next logger to ask for its round-trip time, and the nonce of the request.
    pub(crate) fn poll_probe(&mut self, now: Moment) -> Option<(MemberId, u32)> {
        let Self { active, standby, nonce, .. } = self;
        let all = active.iter_mut().chain(standby);
        let seen = all.into_iter().find(|seen| seen.probe_at <= now)?;
        *nonce = nonce.wrapping_add(1);
        seen.nonce = *nonce;
        seen.probe_at = now + if seen.rtt.is_some() { PROBE_EVERY } else { PROBE_AGAIN };
        Some((seen.member, *nonce))
    }

    /// Handles a probe's answer, which took `rtt`. Returns true when the nonce is right.
    pub(crate) fn measured(&mut self, member: MemberId, nonce: u32, rtt: Duration) -> bool {
        let Some(seen) = self.find(member).filter(|seen| seen.nonce == nonce && nonce != 0) else {
            return false;
        };
        seen.nonce = 0;
        let rtt = rtt.max(RTT_MIN);
        seen.rtt = Some(seen.rtt.map_or(rtt, |old| (old * 3 + rtt) / 4));
        true
    }

    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.active.iter().chain(&self.standby).map(|seen| seen.probe_at).min()
    }
}

impl Seen {
    /// The round-trip time to it, or `initial` if it has not been measured.
    pub(crate) fn rtt(&self, initial: Duration) -> Duration {
        self.rtt.unwrap_or(initial).max(RTT_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Seed;

    fn advertisement(state: LoggerState, rank: u128) -> Advertisement {
        let flags = LoggerFlags::empty();
        let (parent, parent_rtt) = (MemberId::NOBODY, Duration::ZERO);
        Advertisement { state, tier: 2, rank, children: 0, flags, parent, parent_rtt }
    }

    fn view() -> View {
        View::new(LoggerConfig::default(), Seed(1).rng())
    }

    const A: MemberId = MemberId(1);
    const B: MemberId = MemberId(2);

    #[test]
    fn the_standby_is_asked_when_the_logger_is_silent_or_does_not_answer() {
        let mut view = view();
        let at = Moment::from_millis;
        assert!(view.hear(at(0), A, advertisement(LoggerState::Active, 9)));
        assert!(view.hear(at(10), B, advertisement(LoggerState::Standby, 8)));
        assert_eq!(view.asked(at(20)), (Some(A), Some(B)));
        assert_eq!(view.asked(at(3_600)), (Some(B), None), "silent");
        view.hear(at(4_000), A, advertisement(LoggerState::Active, 9));
        let wait = Duration::from_millis(2);
        for ask in 0..3 {
            assert!(!view.note_ask(at(4_000 + ask), A, wait));
        }
        assert!(!view.note_ask(at(4_003), A, wait), "its answers may be under way");
        assert!(view.note_ask(at(4_010), A, wait));
        view.hear(at(4_100), A, advertisement(LoggerState::Active, 9));
        view.hear(at(4_100), B, advertisement(LoggerState::Standby, 8));
        assert_eq!(view.asked(at(4_200)), (Some(B), None));
        view.hear(at(34_000), A, advertisement(LoggerState::Active, 9));
        assert_eq!(view.asked(at(34_011)).0, Some(A), "after half a minute it gets another chance");
        view.hear(at(34_020), A, advertisement(LoggerState::Resign, 9));
        assert_eq!(view.asked(at(34_021)).0, None);
    }

    #[test]
    fn a_provider_of_state_is_the_logger_until_told_otherwise() {
        let mut view = view();
        let at = Moment::from_millis;
        assert!(view.hear_transfer(at(0), A));
        assert_eq!(view.asked(at(1)), (Some(A), None));
        assert!(!view.hear_transfer(at(2), B), "one is known");
        assert!(view.hear(at(3), B, advertisement(LoggerState::Active, 1)));
        assert_eq!(view.asked(at(4)), (Some(B), None));
    }

    #[test]
    fn round_trips_are_measured_by_who_was_asked() {
        let mut view = view();
        view.hear(Moment::ZERO, A, advertisement(LoggerState::Active, 9));
        assert_eq!(view.site_rtt(), Duration::from_millis(10));
        let at = view.deadline().expect("a probe");
        let (member, nonce) = view.poll_probe(at).expect("it is due");
        assert_eq!(member, A);
        assert!(
            !view.measured(B, nonce, Duration::from_micros(1))
                && !view.measured(A, nonce + 1, Duration::ZERO)
        );
        assert!(view.measured(A, nonce, Duration::from_micros(900)));
        assert!(!view.measured(A, nonce, Duration::from_secs(9)), "once");
        assert_eq!(view.site_rtt(), Duration::from_micros(900));
    }
}
