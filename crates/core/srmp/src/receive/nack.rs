//! When to ask for what is missing.
//!
//! In the extended profile a want waits for a truncated exponential time, which it shares with all other wants of its sender, and is
//! asked for with the bundle after that. In the strict one it goes with whatever bundle leaves first, or, when none does, after
//! a time within `Bundle_Timeout`. Who hears another's wish, or asked himself, holds off.

use super::backoff::{spread, truncated_exponential};
use super::heard::covers;
use super::origin::{Origin, Phase, Want};
use super::path::{Path, Step};
use super::shared::Shared;
use crate::model::{DataId, MemberId, NackItem, Segment, Sn};
use base::Moment;
use std::time::Duration;

/// A logger's word that it asks is good for so long at most.
const PENDING_MAX: Duration = Duration::from_secs(5);

impl Origin {
    /// Whom to ask before the group, from now on.
    pub(crate) fn set_path(&mut self, path: &Path) {
        if self.path != *path {
            self.path.clone_from(path);
        }
    }

    /// A want begins to wait, unless somebody asked for it a moment ago.
    pub(super) fn back_off(&mut self, now: Moment, shared: &mut Shared, data: DataId) {
        let Some(item) = self.items.get_mut(&data) else { return };
        let Some(want) = &mut item.want else { return };
        // The whole state is on its way.
        if let Some(until) = shared.synchronizing.filter(|until| want.attempt == 0 && *until > now) {
            want.phase = Phase::Holdoff(until);
            self.watch(data);
            return;
        }
        if let Some((step, _)) = self.path.at(want.attempt) {
            want.phase = Phase::Near;
            let at = now + near_spread(shared, step);
            self.near = Some(self.near.map_or(at, |near| near.min(at)));
            return;
        }
        let hold = shared.repeat(self.r_max, want.attempt.saturating_sub(self.path.tries()));
        let wish = NackItem { data, sn: want.sn, segment: Segment::Whole };
        let heard = self.heard.last(shared.config.space, wish).map(|at| at + hold);
        let waits = shared.config.timing.nack_hold_off;
        if let Some(until) = heard.filter(|until| waits && *until > now) {
            want.phase = Phase::Holdoff(until);
            shared.counters.nacks_suppressed_by_nack += 1;
            self.watch(data);
            return;
        }
        want.phase = Phase::Backoff;
        let joining = want.attempt == 0 && item.done.is_none() && item.part.is_none();
        if self.backoff.is_none() {
            shared.counters.nacks_scheduled += 1;
            self.backoff = Some(now + self.draw(now, shared, joining));
        }
    }

    /// How long wants of this sender wait.
    fn draw(&self, now: Moment, shared: &mut Shared, joining: bool) -> Duration {
        let timing = &shared.config.timing;
        let join = timing.join_spread(self.r_max);
        if joining && now.since(shared.joined) < join {
            spread(&mut shared.rng, join)
        } else if shared.config.strict {
            spread(&mut shared.rng, timing.bundle_timeout)
        } else if shared.members <= timing.backoff_free_members {
            Duration::ZERO
        } else {
            let most = self.r_max * timing.backoff_factor;
            truncated_exponential(&mut shared.rng, shared.members, most, timing.backoff_max)
        }
    }

    /// Something was due, or may be. Afterwards [`Origin::has_due`] says whether wishes are to be sent.
    pub(crate) fn expire(&mut self, now: Moment, shared: &mut Shared) {
        while let Some(data) = self.pop_wake(now) {
            self.expire_part(now, shared, data);
            self.expire_holdoff(now, shared, data);
            self.watch(data);
        }
        if self.backoff.is_some_and(|at| at <= now) {
            self.backoff = None;
            self.end_backoff(now, shared, Phase::Backoff);
        }
        if self.near.is_some_and(|at| at <= now) {
            self.near = None;
            self.end_backoff(now, shared, Phase::Near);
        }
    }

    /// What was held back until the whole state had come is asked for now, and so are segments that did not come with it.
    pub(crate) fn end_of_sync(&mut self, now: Moment, shared: &mut Shared) {
        for data in &self.parts {
            if let Some(part) = self.items.get_mut(data).and_then(|item| item.part.as_mut()) {
                part.give_up_waiting();
            }
        }
        for index in 0..self.open.len() {
            let data = self.open[index];
            let want = self.items.get(&data).and_then(|item| item.want);
            if want.is_some_and(|want| want.attempt == 0 && matches!(want.phase, Phase::Holdoff(_))) {
                self.back_off(now, shared, data);
            }
        }
    }

    /// Segments did not come in time.
    fn expire_part(&mut self, now: Moment, shared: &mut Shared, data: DataId) {
        let timeout = shared.config.timing.segment_timeout;
        let part = self.items.get_mut(&data).and_then(|item| item.part.as_mut());
        if let Some(part) = part.filter(|part| part.timer <= now) {
            part.give_up_waiting();
            part.timer = now + timeout;
            let sn = part.dsn.sn;
            self.want(now, shared, data, sn);
        }
    }

    /// What was asked for did not come in time.
    fn expire_holdoff(&mut self, now: Moment, shared: &mut Shared, data: DataId) {
        let Some(item) = self.items.get_mut(&data) else { return };
        let Some(want) = &mut item.want else { return };
        if !matches!(want.phase, Phase::Holdoff(until) if until <= now) {
            return;
        }
        if now.since(item.announced) >= shared.config.timing.data_lost {
            item.want = None;
            shared.counters.wants_abandoned += 1;
            self.drop_part(shared, data);
            return;
        }
        self.back_off(now, shared, data);
    }

    fn end_backoff(&mut self, now: Moment, shared: &mut Shared, ended: Phase) {
        let data_lost = shared.config.timing.data_lost;
        let Self { items, open, due, near_due, .. } = self;
        open.retain(|data| {
            let Some(item) = items.get_mut(data) else { return false };
            let lost = now.since(item.announced) >= data_lost;
            match &mut item.want {
                Some(want) if lost && want.phase == ended => {
                    item.want = None;
                    shared.counters.wants_abandoned += 1;
                }
                Some(want) if want.phase == ended && ended == Phase::Near => {
                    want.phase = Phase::NearDue;
                    *near_due += 1;
                }
                Some(want) if want.phase == ended => {
                    want.phase = Phase::Due;
                    *due += 1;
                }
                _ => {}
            }
            item.listed = item.want.is_some();
            item.listed
        });
    }

    /// Whether wishes are to be sent at once.
    pub(crate) fn has_due(&self) -> bool {
        self.due > 0
    }

    /// Whether wishes would go along with a bundle that leaves now.
    pub(crate) fn would_ask(&self, shared: &Shared) -> bool {
        self.due > 0 || (shared.config.strict && self.backoff.is_some())
    }

    /// Whether a logger is to be asked at once.
    pub(crate) fn has_near_due(&self) -> bool {
        self.near_due > 0
    }

    /// Takes the wishes to be sent now to one logger, up to about `max` of them, and says which; none when nobody is to be asked.
    /// What is taken counts as sent.
    pub(crate) fn take_near_wishes(
        &mut self,
        now: Moment,
        shared: &mut Shared,
        max: usize,
        out: &mut Vec<NackItem>,
    ) -> Option<MemberId> {
        let begin = out.len();
        let mut asked = None;
        for index in 0..self.open.len() {
            if self.near_due == 0 || out.len() - begin >= max {
                break;
            }
            let data = self.open[index];
            let Some(want) = self.items.get(&data).and_then(|item| item.want) else { continue };
            if want.phase != Phase::NearDue {
                continue;
            }
            let Some((step, nth)) = self.path.at(want.attempt) else {
                // Nobody is left to be asked but the group.
                self.near_due -= 1;
                self.rest(data);
                self.back_off(now, shared, data);
                continue;
            };
            if *asked.get_or_insert(step.ask) != step.ask {
                continue;
            }
            let before = out.len();
            self.wishes(now, true, data, out);
            shared.counters.nacks_to_loggers += (out.len() - before) as u64;
            self.near_due -= 1;
            if let Some(want) = self.items.get_mut(&data).and_then(|item| item.want.as_mut()) {
                want.attempt += 1;
                want.phase = Phase::Holdoff(now + step.wait * (1 << nth.min(8)));
                if step.ask == self.member {
                    want.asked = Some((want.asked.map_or(now, |(first, _)| first), now));
                }
            }
            self.watch(data);
        }
        asked
    }

    /// A want is not due any more.
    fn rest(&mut self, data: DataId) {
        if let Some(want) = self.items.get_mut(&data).and_then(|item| item.want.as_mut()) {
            want.phase = Phase::Backoff;
        }
    }

    /// Takes the wishes to be sent now, up to about `max` of them (all segments of a message stay together). What is taken
    /// counts as sent.
    pub(crate) fn take_wishes(
        &mut self,
        now: Moment,
        shared: &mut Shared,
        max: usize,
        out: &mut Vec<NackItem>,
    ) {
        let strict = shared.config.strict;
        let begin = out.len();
        for index in 0..self.open.len() {
            if out.len() - begin >= max {
                break;
            }
            let data = self.open[index];
            let phase = self.items.get(&data).and_then(|item| item.want).map(|want| want.phase);
            if !(phase == Some(Phase::Due) || (strict && phase == Some(Phase::Backoff))) {
                continue;
            }
            let before = out.len();
            self.wishes(now, !strict, data, out);
            shared.counters.nacks_sent += (out.len() - before) as u64;
            self.hold_off(now, shared, data);
        }
    }

    /// A want was asked for, by whom ever.
    fn hold_off(&mut self, now: Moment, shared: &mut Shared, data: DataId) {
        let Some(want) = self.items.get_mut(&data).and_then(|item| item.want.as_mut()) else { return };
        self.due -= usize::from(want.phase == Phase::Due);
        let hold = shared.repeat(self.r_max, want.attempt.saturating_sub(self.path.tries()));
        want.attempt += 1;
        want.phase = Phase::Holdoff(now + hold);
        self.watch(data);
    }

    /// Another member asked this sender.
    pub(crate) fn hear_nack(&mut self, now: Moment, shared: &mut Shared, heard: NackItem) {
        shared.counters.nacks_heard += 1;
        self.heard.push(now, heard);
        let space = shared.config.space;
        let quiet = now + shared.config.timing.nack_repeat(self.r_max, 0);
        let Some(item) = self.items.get_mut(&heard.data) else { return };
        // Who asks a logger need not wait for what the source tells the whole group.
        let asks = |want: &Want| matches!(want.phase, Phase::Backoff | Phase::Due);
        let Some(want) = item.want.filter(asks) else { return };
        let part = item.part.as_mut().filter(|part| part.dsn.sn == want.sn);
        let covered = match (part, heard.segment) {
            (Some(part), Segment::Index(index)) if heard.sn == want.sn => {
                part.hush(index, quiet);
                part.lost(true).all(|(_, quiet)| quiet > now)
            }
            _ => covers(space, heard, NackItem { data: heard.data, sn: want.sn, segment: Segment::Whole }),
        };
        if covered {
            shared.counters.nacks_suppressed_by_nack += 1;
            self.hold_off(now, shared, heard.data);
        }
    }

    /// A logger asks for it: no wish for `wait`.
    pub(crate) fn pending(&mut self, now: Moment, shared: &mut Shared, data: DataId, sn: Sn, wait: Duration) {
        let space = shared.config.space;
        let Some(item) = self.items.get_mut(&data) else { return };
        let Some(want) = item.want.as_mut().filter(|want| !space.is_newer(want.sn, sn)) else { return };
        let before = want.phase;
        let until = now + wait.min(PENDING_MAX);
        shared.counters.nacks_suppressed_by_pending += u64::from(!matches!(before, Phase::Holdoff(_)));
        want.phase = Phase::Holdoff(until);
        if let Some(part) = &mut item.part {
            part.hush_all(until);
        }
        self.leave_phase(before);
        self.watch(data);
    }
}

/// How long a wish waits before it goes to a logger.
fn near_spread(shared: &mut Shared, step: Step) -> Duration {
    match step.spread {
        (Duration::ZERO, _) => Duration::ZERO,
        (most, members) => truncated_exponential(&mut shared.rng, members, most, most),
    }
}
