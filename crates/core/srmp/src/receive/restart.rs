//! Senders that restart, fall silent, or are no longer wanted.

use super::origin::{Origin, Phase};
use super::shared::Shared;
use crate::model::DataId;
use crate::wire::Digest;
use base::Moment;
use std::time::Duration;

/// Announcements must be older than our version for at least this long to show a restart.
const OLDER_FOR: Duration = Duration::from_secs(1);
/// They must be older in at least this many bundles.
const OLDER_BUNDLES: u32 = 3;
/// They must follow a jump of the bundles' numbers within this time.
const JUMPED_WITHIN: Duration = Duration::from_secs(5);

/// Looks for signs that a sender without epochs (profile v2) has restarted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    jumped: Option<Moment>,
    /// A data element whose announcements are older than our version: the start, and the number of
    /// bundles.
    suspect: Option<(DataId, Moment, u32)>,
}

impl Watch {
    /// Notes the announcement of a version older than ours. Returns true when that proves a
    /// restart.
    pub(super) fn older(&mut self, now: Moment, data: DataId) -> bool {
        let Some(jumped) = self.jumped.filter(|at| now.since(*at) <= JUMPED_WITHIN) else { return false };
        let (suspect, since, bundles) = self.suspect.get_or_insert((data, now.max(jumped), 0));
        if *suspect != data {
            return false;
        }
        *bundles += 1;
        *bundles >= OLDER_BUNDLES && now.since(*since) >= OLDER_FOR
    }

    /// Notes the announcement of our version or a newer one.
    pub(super) fn not_older(&mut self, data: DataId) {
        if self.suspect.is_some_and(|(suspect, ..)| suspect == data) {
            self.suspect = None;
        }
    }
}

impl Origin {
    /// Notes a jump in the numbers of the sender's bundles.
    pub(crate) fn note_jump(&mut self, now: Moment) {
        self.restart.jumped = Some(now);
        self.restart.suspect = None;
    }

    /// Forgets all state of the sender, which has restarted or is no longer a member.
    pub(crate) fn reset(&mut self, shared: &mut Shared) {
        for (_, item) in std::mem::take(&mut self.items) {
            shared.items -= 1;
            shared.bytes -= item.body.len() + item.part.as_ref().map_or(0, |part| part.cost());
            shared.counters.parts_discarded += u64::from(item.part.is_some());
            shared.counters.wants_abandoned += u64::from(item.want.is_some());
        }
        self.open.clear();
        self.parts.clear();
        self.heard.clear();
        self.wakes.clear();
        self.backoff = None;
        self.due = 0;
        self.near = None;
        self.near_due = 0;
        self.held = 0;
        self.digest = Digest::default();
        self.restart = Watch::default();
    }

    /// The sender is silent: requests nothing from it until it announces again. Received messages
    /// stay.
    pub(crate) fn silence(&mut self, shared: &mut Shared) {
        self.abandon(shared, |_| true);
        self.backoff = None;
        self.near = None;
    }

    /// Forgets data elements that are no longer wanted, so that they come again when they are
    /// wanted again.
    pub(crate) fn apply_interest(&mut self, shared: &mut Shared) {
        let interest = std::mem::take(&mut shared.interest);
        let member = self.member;
        self.abandon(shared, |data| !interest.covers(member, data));
        let (held, digest) = (&mut self.held, &mut self.digest);
        self.items.retain(|data, item| {
            let wanted = interest.covers(member, *data);
            if !wanted {
                shared.items -= 1;
                shared.bytes -= item.body.len();
                if let Some(sn) = item.done {
                    *held -= 1;
                    digest.remove(*data, sn);
                }
            }
            wanted
        });
        shared.interest = interest;
    }

    /// Gives up the wants and incomplete messages of unwanted data elements.
    fn abandon(&mut self, shared: &mut Shared, unwanted: impl Fn(DataId) -> bool) {
        for index in 0..self.open.len() {
            let data = self.open[index];
            let Some(item) = self.items.get_mut(&data).filter(|_| unwanted(data)) else { continue };
            item.listed = false;
            if let Some(want) = item.want.take() {
                match want.phase {
                    Phase::Due => self.due -= 1,
                    Phase::NearDue => self.near_due -= 1,
                    _ => {}
                }
                shared.counters.wants_abandoned += 1;
            }
        }
        let items = &self.items;
        self.open.retain(|data| items.get(data).is_some_and(|item| item.listed));
        let parts: Vec<_> = self.parts.iter().copied().filter(|data| unwanted(*data)).collect();
        parts.into_iter().for_each(|data| self.drop_part(shared, data));
    }
}
