//! What is missing.

use super::origin::{Origin, Phase, Want};
use super::shared::Shared;
use crate::model::{DataId, Dsn, NackItem, Relation, Segment, Sn};
use crate::wire::Digest;
use base::Moment;

/// A difference of digests must last for this many announcements at least.
const MISMATCHES_MIN: u32 = 8;

impl Origin {
    /// The sender announces a version. Call it after all messages of the bundle, so that nothing is wanted that came with it.
    /// True when announcements show that the sender began again; all of its state is then forgotten.
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

    /// A bundle of the sender ended.
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

    /// The sender tells its digest, in a bundle that announced so many versions. True when ours stays different although
    /// all versions were announced twice over and nothing is being asked for: the state should then be had in another way.
    pub(crate) fn compare_digest(&mut self, shared: &mut Shared, theirs: Digest, announced: u32) -> bool {
        if theirs == self.digest || !shared.interest.covers_all_of(self.member) {
            self.announced_unequal = 0;
            return false;
        }
        self.announced_unequal = self.announced_unequal.saturating_add(announced.max(1));
        let twice = theirs.active.saturating_mul(2).max(MISMATCHES_MIN);
        if self.announced_unequal <= twice || !self.open.is_empty() || !self.parts.is_empty() {
            return false;
        }
        self.announced_unequal = 0;
        shared.counters.digest_mismatches += 1;
        true
    }

    /// Something of that version is missing.
    pub(super) fn want(&mut self, now: Moment, shared: &mut Shared, data: DataId, sn: Sn) {
        let space = shared.config.space;
        let Some(item) = self.items.get_mut(&data) else { return };
        if let Some(want) = item.want.take() {
            // What another member says to miss may not exist; what is announced does.
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

    /// Another member misses a version that this one, which should have it to give, does not know of. False when it is here.
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

    /// That version came.
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

    /// What is missing of a data element, as wishes: all of it, or those segments that nobody asked for before `now`.
    pub(super) fn wishes(&self, now: Moment, early: bool, data: DataId, out: &mut Vec<NackItem>) {
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
