//! The timing of requests for missing data.
//!
//! In the extended profile a want waits for a truncated exponential time, which all wants of its
//! sender share. The next bundle then carries the request. In the strict one the request goes with
//! the first bundle that leaves, or, when none does, after a time within `Bundle_Timeout`. A
//! receiver that has sent a request, or overheard one, holds off.

use super::backoff::{spread, truncated_exponential};
use super::heard::covers;
use super::origin::{Origin, Phase, Want};
use super::path::{Path, Step};
use super::shared::Shared;
use crate::model::{DataId, MemberId, NackItem, Segment, Sn};
use base::Moment;
use std::time::Duration;

/// A logger's notice that it is fetching a version holds requests off for at most this long.
const PENDING_MAX: Duration = Duration::from_secs(5);

impl Origin {
    /// Sets the loggers to ask before the group.
    pub(crate) fn set_path(&mut self, path: &Path) {
        if self.path != *path {
            self.path.clone_from(path);
        }
    }

    /// Starts the backoff of a want, or its hold-off if another member requested the version
    /// recently.
    pub(super) fn back_off(&mut self, now: Moment, shared: &mut Shared, data: DataId) {
        let Some(item) = self.items.get_mut(&data) else { return };
        let Some(want) = &mut item.want else { return };
        // A transfer of the whole state is under way, which is likely to bring the version.
        if let Some(until) = shared.synchronizing.filter(|until| want.attempt == 0 && *until > now) {
            want.phase = Phase::Holdoff(until);
            self.watch(data);
            return;
        }
        // Loggers first: a repair within the site costs the source and its lines nothing.
        if let Some((step, _)) = self.path.at(want.attempt) {
            want.phase = Phase::Near;
            let at = now + near_spread(shared, step);
            self.near = Some(self.near.map_or(at, |near| near.min(at)));
            return;
        }
        let hold = shared.repeat(self.r_max, want.attempt.saturating_sub(self.path.tries()));
        let wanted = NackItem { data, sn: want.sn, segment: Segment::Whole };
        let heard = self.heard.last(shared.config.space, wanted).map(|at| at + hold);
        let waits = shared.config.timing.nack_hold_off;
        if let Some(until) = heard.filter(|until| waits && *until > now) {
            want.phase = Phase::Holdoff(until);
            shared.counters.nacks_suppressed_by_nack += 1;
            self.watch(data);
            return;
        }
        want.phase = Phase::Backoff;
        // Many may join at once, and all lack everything. Their first requests spread over a longer
        // time.
        let joining = want.attempt == 0 && item.done.is_none() && item.part.is_none();
        if self.backoff.is_none() {
            shared.counters.nacks_scheduled += 1;
            self.backoff = Some(now + self.draw(now, shared, joining));
        }
    }

    /// The backoff for the wants of this sender.
    fn draw(&self, now: Moment, shared: &mut Shared, joining: bool) -> Duration {
        let timing = &shared.config.timing;
        let join = timing.join_spread(self.r_max);
        if joining && now.since(shared.joined) < join {
            spread(&mut shared.rng, join)
        } else if shared.config.strict {
            spread(&mut shared.rng, timing.bundle_timeout)
        // So few members cannot send a flood, and a wait would only delay the repair.
        } else if shared.members <= timing.backoff_free_members {
            Duration::ZERO
        } else {
            let most = self.r_max * timing.backoff_factor;
            // As in NORM (RFC 5740, 5.2.3): few answer early, and their requests silence the
            // others.
            truncated_exponential(&mut shared.rng, shared.members, most, timing.backoff_max)
        }
    }

    /// Handles expired timers. Afterwards [`Origin::has_due`] tells whether requests are to be
    /// sent.
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

    /// The transfer of the whole state has ended: requests that were held back for it are started,
    /// including those for segments that did not come with it.
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

    /// Declares lost the segments whose time has passed.
    fn expire_part(&mut self, now: Moment, shared: &mut Shared, data: DataId) {
        let timeout = shared.config.timing.segment_timeout;
        let part = self.items.get_mut(&data).and_then(|item| item.part.as_mut());
        if let Some(part) = part.filter(|part| part.timer <= now) {
            part.give_up_waiting();
            // Not for ever: the request may be lost, and nothing else would set the timer again.
            part.timer = now + timeout;
            let sn = part.dsn.sn;
            self.want(now, shared, data, sn);
        }
    }

    /// Repeats a request whose answer did not come in time.
    fn expire_holdoff(&mut self, now: Moment, shared: &mut Shared, data: DataId) {
        let Some(item) = self.items.get_mut(&data) else { return };
        let Some(want) = &mut item.want else { return };
        if !matches!(want.phase, Phase::Holdoff(until) if until <= now) {
            return;
        }
        // The source has not announced the version for so long that one or the other must be gone.
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

    /// Whether repair requests are to be sent to the group at once.
    pub(crate) fn has_due(&self) -> bool {
        self.due > 0
    }

    /// Whether a bundle that leaves now would carry repair requests.
    pub(crate) fn would_ask(&self, shared: &Shared) -> bool {
        self.due > 0 || (shared.config.strict && self.backoff.is_some())
    }

    /// Whether repair requests are to be sent to a logger at once.
    pub(crate) fn has_near_due(&self) -> bool {
        self.near_due > 0
    }

    /// Takes up to about `max` of the repair requests that are due to one logger, and returns that
    /// logger; `None` when none are due. Requests that are taken count as sent.
    pub(crate) fn take_near_nacks(
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
                // All loggers of the path were asked; the group is next.
                self.near_due -= 1;
                self.rest(data);
                self.back_off(now, shared, data);
                continue;
            };
            // One packet goes to one member. Requests to other loggers leave with the next one.
            if *asked.get_or_insert(step.ask) != step.ask {
                continue;
            }
            let before = out.len();
            self.nacks(now, true, data, out);
            shared.counters.nacks_to_loggers += (out.len() - before) as u64;
            self.near_due -= 1;
            if let Some(want) = self.items.get_mut(&data).and_then(|item| item.want.as_mut()) {
                want.attempt += 1;
                // Doubled with each request to the same logger, which may be loaded or wait for a
                // repair itself.
                want.phase = Phase::Holdoff(now + step.wait * (1 << nth.min(8)));
                if step.ask == self.member {
                    want.asked = Some((want.asked.map_or(now, |(first, _)| first), now));
                }
            }
            self.watch(data);
        }
        asked
    }

    /// Takes a want back from the due ones.
    fn rest(&mut self, data: DataId) {
        if let Some(want) = self.items.get_mut(&data).and_then(|item| item.want.as_mut()) {
            want.phase = Phase::Backoff;
        }
    }

    /// Takes up to about `max` of the repair requests that are due to the group; all segments of a
    /// message stay together. Requests that are taken count as sent.
    pub(crate) fn take_nacks(
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
            // RFC 4410 lets requests that still back off travel along with those that are due.
            if !(phase == Some(Phase::Due) || (strict && phase == Some(Phase::Backoff))) {
                continue;
            }
            let before = out.len();
            self.nacks(now, !strict, data, out);
            shared.counters.nacks_sent += (out.len() - before) as u64;
            self.hold_off(now, shared, data);
        }
    }

    /// Holds a want off, since this member or another one has requested its version.
    fn hold_off(&mut self, now: Moment, shared: &mut Shared, data: DataId) {
        let Some(want) = self.items.get_mut(&data).and_then(|item| item.want.as_mut()) else { return };
        self.due -= usize::from(want.phase == Phase::Due);
        let hold = shared.repeat(self.r_max, want.attempt.saturating_sub(self.path.tries()));
        want.attempt += 1;
        want.phase = Phase::Holdoff(now + hold);
        self.watch(data);
    }

    /// Overhears a repair request of another member to this sender.
    pub(crate) fn hear_nack(&mut self, now: Moment, shared: &mut Shared, heard: NackItem) {
        shared.counters.nacks_heard += 1;
        self.heard.push(now, heard);
        let space = shared.config.space;
        // The answer to their request serves this member too. It asks itself if that answer does
        // not come.
        let quiet = now + shared.config.timing.nack_repeat(self.r_max, 0);
        let Some(item) = self.items.get_mut(&heard.data) else { return };
        // A want that goes to a logger does not wait for a repair by the source to the whole group.
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
        // All that is missing here was asked for: one request serves both members.
        if covered {
            shared.counters.nacks_suppressed_by_nack += 1;
            self.hold_off(now, shared, heard.data);
        }
    }

    /// A logger reports that it is fetching a version: holds its want off for `wait`.
    pub(crate) fn pending(&mut self, now: Moment, shared: &mut Shared, data: DataId, sn: Sn, wait: Duration) {
        let space = shared.config.space;
        let Some(item) = self.items.get_mut(&data) else { return };
        let Some(want) = item.want.as_mut().filter(|want| !space.is_newer(want.sn, sn)) else { return };
        let before = want.phase;
        // The wait is a claim of another member. It must not silence this one for long.
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

/// The backoff of a request to a logger.
fn near_spread(shared: &mut Shared, step: Step) -> Duration {
    match step.spread {
        (Duration::ZERO, _) => Duration::ZERO,
        (most, members) => truncated_exponential(&mut shared.rng, members, most, most),
    }
}
