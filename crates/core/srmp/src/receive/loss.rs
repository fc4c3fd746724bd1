//! The detection of missing data.

use super::origin::{Origin, Phase, Want};
use super::shared::Shared;
use crate::model::{DataId, Dsn, NackItem, Relation, Segment, Sn};
use crate::wire::Digest;
use base::Moment;

/// Digests must differ for at least this many announcements.
const MISMATCHES_MIN: u32 = 8;

impl Origin {
    /// Handles the announcement of a version. Call it after all messages of the bundle, so that
    /// their data is not requested.
    ///
    /// Returns true when announcements show that the sender has restarted; all of its state is
    /// forgotten then.
    pub(crate) fn announce(&mut self, now: Moment, shared: &mut Shared, dsn: Dsn) -> bool {
        if !shared.interest.covers(self.member, dsn.data) {
            return false;
        }
        let space = shared.config.space;
        let Some(item) = self.item(now, shared, dsn.data) else { return false };
        let to_done = item.done.map_or(Relation::Newer, |done| space.compare(dsn.sn, done));
        if to_done == Relation::Older {
            let restarted = self.restart.older(now, dsn.data);
            if restarted {
                self.reset(shared);
                shared.counters.restarts += 1;
                self.announce(now, shared, dsn);
            }
            return restarted;
        }
        // Only an announcement of the version that is wanted, or a newer one, shows that it can
        // still be had.
        if item.want.is_none_or(|want| !space.is_newer(want.sn, dsn.sn)) {
            item.announced = now;
        }
        let part = item.part.as_ref().map_or(Relation::Newer, |part| space.compare(dsn.sn, part.dsn.sn));
        self.restart.not_older(dsn.data);
        if to_done == Relation::Newer && part == Relation::Newer {
            self.drop_part(shared, dsn.data);
            self.want(now, shared, dsn.data, dsn.sn);
        }
        false
    }

    /// Handles the end of a bundle of the sender.
    pub(crate) fn end_of_bundle(&mut self, now: Moment, shared: &mut Shared) {
        if shared.config.strict {
            return;
        }
        for index in 0..self.parts.len() {
            let data = self.parts[index];
            let part = self.items.get_mut(&data).and_then(|item| item.part.as_mut());
            if let Some(part) = part
                && part.end_of_bundle()
            {
                let sn = part.dsn.sn;
                self.want(now, shared, data, sn);
            }
        }
    }

    /// Compares the sender's digest, which came in a bundle with `announced` versions, to ours.
    /// Returns true when they still differ after all versions were announced twice, although
    /// nothing is being requested. The state should then be transferred in another way.
    pub(crate) fn compare_digest(&mut self, shared: &mut Shared, theirs: Digest, announced: u32) -> bool {
        // A member that takes only a part of the messages cannot have the same digest.
        if theirs == self.digest || !shared.interest.covers_all_of(self.member) {
            self.announced_unequal = 0;
            return false;
        }
        self.announced_unequal = self.announced_unequal.saturating_add(announced.max(1));
        // By then each message has been announced about twice. A difference that remains is not a
        // message under way.
        let twice = theirs.active.saturating_mul(2).max(MISMATCHES_MIN);
        if self.announced_unequal <= twice || !self.open.is_empty() || !self.parts.is_empty() {
            return false;
        }
        self.announced_unequal = 0;
        shared.counters.digest_mismatches += 1;
        true
    }

    /// Opens a want for that version, part of which is missing.
    pub(super) fn want(&mut self, now: Moment, shared: &mut Shared, data: DataId, sn: Sn) {
        let space = shared.config.space;
        let Some(item) = self.items.get_mut(&data) else { return };
        if let Some(want) = item.want.take() {
            // A version that another member reports missing may not exist; an announced version
            // does.
            let replaces = space.is_newer(sn, want.sn) || (want.is_hearsay && sn != want.sn);
            if !replaces {
                item.want = Some(Want { is_hearsay: false, ..want });
                if !shared.config.timing.nack_hold_off && matches!(want.phase, Phase::Holdoff(_)) {
                    self.back_off(now, shared, data);
                }
                return;
            }
            shared.counters.wants_superseded += 1;
            self.leave_phase(want.phase);
        }
        let Some(item) = self.items.get_mut(&data) else { return };
        shared.counters.wants_opened += 1;
        item.want =
            Some(Want { sn, opened: now, attempt: 0, phase: Phase::Backoff, is_hearsay: false, asked: None });
        if !std::mem::replace(&mut item.listed, true) {
            self.open.push(data);
        }
        self.back_off(now, shared, data);
    }

    /// Another member misses a version that this one is expected to supply. Opens a want if the
    /// version is unknown here. Returns false when this member has it.
    pub(crate) fn hear_of(&mut self, now: Moment, shared: &mut Shared, data: DataId, sn: Sn) -> bool {
        let space = shared.config.space;
        let Some(item) = self.item(now, shared, data) else { return true };
        if item.done.is_some_and(|done| !space.is_newer(sn, done)) {
            return false;
        }
        let knows = item.want.is_some_and(|want| !space.is_newer(sn, want.sn))
            || item.part.as_ref().is_some_and(|part| !space.is_newer(sn, part.dsn.sn));
        if !knows {
            self.want(now, shared, data, sn);
            if let Some(want) = self.items.get_mut(&data).and_then(|item| item.want.as_mut()) {
                want.is_hearsay = true;
            }
        }
        true
    }

    /// Closes the want that this version satisfies.
    pub(super) fn satisfy(&mut self, now: Moment, shared: &mut Shared, dsn: Dsn) {
        let Some(item) = self.items.get_mut(&dsn.data) else { return };
        let Some(want) = item.want else { return };
        if shared.config.space.is_newer(want.sn, dsn.sn) {
            return;
        }
        item.want = None;
        self.leave_phase(want.phase);
        let counters = &mut shared.counters;
        counters.wants_satisfied += 1;
        counters.nacks_suppressed_by_data += u64::from(!matches!(want.phase, Phase::Holdoff(_)));
        counters.recovery.record(now.since(want.opened));
        if let Some((first, last)) = want.asked {
            self.answers.note(now.since(first), now.since(last));
        }
    }

    /// Appends the repair requests for a data element: one for the whole message, or one for each
    /// lost segment whose request by others is not pending at `now`.
    pub(super) fn nacks(&self, now: Moment, early: bool, data: DataId, out: &mut Vec<NackItem>) {
        let Some(item) = self.items.get(&data) else { return };
        let Some(want) = item.want else { return };
        let Some(part) = item.part.as_ref().filter(|part| part.dsn.sn == want.sn) else {
            out.push(NackItem { data, sn: want.sn, segment: Segment::Whole });
            return;
        };
        for (index, _) in part.lost(early).filter(|(_, quiet)| *quiet <= now) {
            out.push(NackItem { data, sn: want.sn, segment: Segment::Index(index) });
        }
    }
}
