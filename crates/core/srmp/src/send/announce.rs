//! The choice of versions that a bundle announces.

use super::sender::Sender;
use super::table::{Element, Table};
use crate::model::{DataId, Dsn};
use base::Moment;
use std::collections::VecDeque;
use std::ops::Bound;

/// In the extended profile a version is fresh for this many announcements. Fresh versions go before
/// others.
const FRESH: u8 = 3;

/// The state of the announcements.
#[derive(Debug, Default)]
pub(super) struct Announcer {
    /// Data elements that are announced.
    pub(super) active: usize,
    /// The data element that was announced last when elements took turns.
    turn: Option<DataId>,
    /// Data elements with a fresh version, in the order in which these were sent.
    fresh: VecDeque<DataId>,
    /// To be announced with the next bundle, which must leave at once.
    urgent: Vec<DataId>,
    /// Bundles so far.
    bundles: u64,
}

impl Announcer {
    /// The last piece of a version has been sent.
    pub(super) fn now_announced(&mut self, element: &mut Element, data: DataId, first: bool) {
        self.active += usize::from(first);
        element.announcements = 0;
        if !std::mem::replace(&mut element.listed, true) {
            self.fresh.push_back(data);
        }
    }

    /// Announces a version at once.
    pub(super) fn urge(&mut self, data: DataId) {
        self.urgent.push(data);
    }

    pub(super) fn must(&self) -> bool {
        !self.urgent.is_empty()
    }
}

/// The announcements of one bundle, while they are chosen.
struct Choice<'a> {
    now: Moment,
    bundle: u64,
    max: usize,
    out: &'a mut Vec<Dsn>,
}

impl Choice<'_> {
    fn is_full(&self) -> bool {
        self.out.len() >= self.max
    }

    /// Announces the version of an element, unless this bundle already announces or carries it.
    fn announce(&mut self, element: &mut Element) -> bool {
        let Some(announced) = element.announced.filter(|_| element.bundle != self.bundle && !self.is_full())
        else {
            return false;
        };
        element.bundle = self.bundle;
        element.announced_at = self.now;
        element.announcements = element.announcements.saturating_add(1);
        self.out.push(announced);
        true
    }
}

impl Sender {
    /// Chooses the announcements of a bundle that leaves now: at most `max` versions, and none of
    /// the elements whose data it carries.
    pub(crate) fn announce(
        &mut self,
        now: Moment,
        max: usize,
        carried: impl Iterator<Item = DataId>,
        out: &mut Vec<Dsn>,
    ) {
        self.retire(now);
        let Self { config, table, announcer, .. } = self;
        announcer.bundles += 1;
        let mut choice = Choice { now, bundle: announcer.bundles, max, out };
        let begin = choice.out.len();
        choice.max += begin;
        for data in carried {
            if let Some(element) = table.elements.get_mut(&data) {
                // A bundle that carries a message announces it thereby.
                element.bundle = choice.bundle;
            }
        }
        // A receiver asked for these, and waits.
        for data in announcer.urgent.drain(..) {
            table.elements.get_mut(&data).map(|element| choice.announce(element));
        }
        // All fit into each bundle, so that no turns are needed.
        if announcer.active <= max {
            for element in table.elements.values_mut() {
                choice.announce(element);
            }
            announcer.forget_stale(table);
        } else {
            if !config.strict {
                // New versions first, since only they can be missing at many receivers. Half of the
                // room stays for the others, which late joiners wait for.
                announcer.announce_fresh(table, &mut choice, max / 2);
            }
            announcer.announce_in_turn(table, &mut choice);
        }
        self.counters.announced += (choice.out.len() - begin) as u64;
    }

    /// Stops announcing elements that have not been sent for `data_timeout`. The element stays,
    /// without its message, so that its numbers continue.
    fn retire(&mut self, now: Moment) {
        let Some(timeout) = self.config.timing.data_timeout else { return };
        while let Some((updated, data)) = self.by_age.front().copied() {
            if now.since(updated) < timeout {
                return;
            }
            self.by_age.pop_front();
            let Some(element) = self.table.elements.get_mut(&data) else { continue };
            if element.updated != updated {
                continue;
            }
            // It has not left completely. It lives on, because nobody could have got it.
            if element.unsent > 0 {
                element.updated = now;
                self.by_age.push_back((now, data));
            } else if let Some(announced) = element.announced.take() {
                self.digest.remove(data, announced.sn);
                self.announcer.active -= 1;
                self.table.bytes -= element.body.len();
                element.body = bytes::Bytes::new();
            }
        }
    }
}

impl Announcer {
    /// Announces up to `slots` versions that few bundles have announced so far, in the order in
    /// which they were sent.
    fn announce_fresh(&mut self, table: &mut Table, choice: &mut Choice<'_>, slots: usize) {
        let end = choice.out.len() + slots;
        for _ in 0..self.fresh.len() {
            if choice.out.len() >= end {
                return;
            }
            let Some(data) = self.fresh.pop_front() else { return };
            let Some(element) = table.elements.get_mut(&data) else { continue };
            if element.announcements < FRESH {
                choice.announce(element);
            }
            element.listed = element.announcements < FRESH;
            if element.listed {
                self.fresh.push_back(data);
            }
        }
    }

    /// Drops versions that are no longer fresh. While every bundle announces all versions, they
    /// stay fresh only for a few bundles.
    fn forget_stale(&mut self, table: &mut Table) {
        while let Some(data) = self.fresh.front().copied() {
            let Some(element) = table.elements.get_mut(&data) else { return };
            if element.announcements < FRESH {
                return;
            }
            element.listed = false;
            self.fresh.pop_front();
        }
    }

    /// Announces the other versions in turns.
    fn announce_in_turn(&mut self, table: &mut Table, choice: &mut Choice<'_>) {
        let start = self.turn.map_or(Bound::Unbounded, Bound::Excluded);
        let stop = self.turn.map_or(Bound::Unbounded, Bound::Included);
        let after = (start, Bound::Unbounded);
        for (data, element) in table.elements.range_mut(after) {
            if choice.is_full() {
                return;
            }
            choice.announce(element);
            self.turn = Some(*data);
        }
        for (data, element) in table.elements.range_mut((Bound::Unbounded, stop)) {
            if choice.is_full() {
                return;
            }
            choice.announce(element);
            self.turn = Some(*data);
        }
    }
}
