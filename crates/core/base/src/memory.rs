//! The memory of one process, divided among its uses.

use std::fmt;

/// A use of memory that grows with the activity of clients and other nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MemoryUse {
    /// Incomplete messages of clients, and calls that wait for their response.
    Input,
    /// Callbacks and responses that wait to be sent to clients.
    Queues,
    /// Messages already written to clients and kept for a resume.
    History,
    /// Object models of federation executions.
    Models,
    /// Object instances, names, synchronization points and members.
    Federations,
    /// Queues to other nodes, and messages kept for repairs.
    Links,
}

impl MemoryUse {
    /// All uses, in the order of the enum.
    pub const ALL: [Self; 6] =
        [Self::Input, Self::Queues, Self::History, Self::Models, Self::Federations, Self::Links];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Queues => "queues",
            Self::History => "history",
            Self::Models => "models",
            Self::Federations => "federations",
            Self::Links => "links",
        }
    }

    /// Sixteenths of the budget that no other use can take. They add up to one half of the budget;
    /// all uses share the other half.
    const fn guaranteed_parts(self) -> usize {
        match self {
            // Most of the memory that a federation needs at a time is in queues or in its objects.
            Self::Queues | Self::Federations => 2,
            Self::Input | Self::History | Self::Models | Self::Links => 1,
        }
    }
}

impl fmt::Display for MemoryUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a use may grow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Room {
    /// There is room.
    Fits,
    /// There is room, but little of it: pause the senders that can be paused.
    HoldBack,
    /// There is none: refuse the request, or end a session.
    Refuse,
}

/// Counters of one use. They never decrease.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryActions {
    /// Number of times that clients had to wait because little memory was left.
    pub paused: u64,
    /// Calls refused.
    pub refused: u64,
    /// Messages dropped from queues and histories.
    pub dropped: u64,
    /// Sessions and connections ended.
    pub ended: u64,
}

/// One use of a [`MemoryBudget`], in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryStatus {
    /// The use.
    pub of: MemoryUse,
    /// Used now.
    pub used: usize,
    /// Used at most so far.
    pub peak: usize,
    /// The bytes that it may use now. The bound changes with the memory of the other uses, and
    /// never falls below the guaranteed part.
    pub bound: usize,
    /// Actions taken so far to keep the use within its bound.
    pub actions: MemoryActions,
}

/// The memory that a process may use for its clients, in bytes, and how much of it is in use.
///
/// Each use has a guaranteed part, and all uses share the rest. A use that takes all it can get
/// therefore leaves the others their guaranteed parts. The budget counts what it is told and
/// allocates nothing. The owners of the growing structures keep running sums of their bytes; the
/// owner of the budget reports these sums and acts on the answer.
///
/// While each use grows only by what [fits](MemoryBudget::room), the sum of all uses stays within
/// the total. Growth within one step of the owner, before the sums are reported, comes on top.
///
/// Cost: a few additions per call.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    total: usize,
    used: [usize; MemoryUse::ALL.len()],
    /// The bytes of all uses beyond their guaranteed parts.
    common_used: usize,
    peak: [usize; MemoryUse::ALL.len()],
    actions: [MemoryActions; MemoryUse::ALL.len()],
}

impl MemoryBudget {
    /// A budget of `total` bytes, none of them in use.
    pub const fn new(total: usize) -> Self {
        const N: usize = MemoryUse::ALL.len();
        let none = MemoryActions { paused: 0, refused: 0, dropped: 0, ended: 0 };
        Self { total, used: [0; N], common_used: 0, peak: [0; N], actions: [none; N] }
    }

    /// The size of the budget in bytes.
    pub const fn total(&self) -> usize {
        self.total
    }

    /// Sets the bytes that `of` uses now.
    pub fn set_used(&mut self, of: MemoryUse, bytes: usize) {
        let guaranteed = self.guaranteed(of);
        let before = std::mem::replace(&mut self.used[of as usize], bytes);
        self.common_used -= before.saturating_sub(guaranteed);
        self.common_used += bytes.saturating_sub(guaranteed);
        let peak = &mut self.peak[of as usize];
        *peak = (*peak).max(bytes);
    }

    /// The bytes that `of` uses now.
    pub const fn used(&self, of: MemoryUse) -> usize {
        self.used[of as usize]
    }

    /// The bytes that `of` may use now: its guaranteed part, and whatever the others leave of the
    /// common part.
    pub const fn bound(&self, of: MemoryUse) -> usize {
        // One half is guaranteed. The remainder of the division by sixteen goes to the common part.
        let (guaranteed, common) = (self.guaranteed(of), self.total - self.total / 16 * 8);
        let of_others = self.common_used - self.used(of).saturating_sub(guaranteed);
        guaranteed + common.saturating_sub(of_others)
    }

    /// The bytes that `of` may use in any case.
    pub const fn guaranteed(&self, of: MemoryUse) -> usize {
        self.total / 16 * of.guaranteed_parts()
    }

    /// The bytes that `of` may still take before it reaches its bound.
    pub fn left(&self, of: MemoryUse) -> usize {
        self.bound(of).saturating_sub(self.used(of))
    }

    /// Whether `of` may grow by `more` bytes. The answer is [`Room::HoldBack`] when `of` would then
    /// use more than three quarters of its bound.
    pub fn room(&self, of: MemoryUse, more: usize) -> Room {
        let (bound, wanted) = (self.bound(of), self.used(of).saturating_add(more));
        match wanted {
            wanted if wanted > bound => Room::Refuse,
            wanted if wanted > bound / 4 * 3 => Room::HoldBack,
            _ => Room::Fits,
        }
    }

    /// Adds `more` to the counters of `of`.
    pub fn count(&mut self, of: MemoryUse, more: MemoryActions) {
        let actions = &mut self.actions[of as usize];
        actions.paused += more.paused;
        actions.refused += more.refused;
        actions.dropped += more.dropped;
        actions.ended += more.ended;
    }

    /// The status of each use, in the order of [`MemoryUse::ALL`].
    pub fn status(&self) -> impl Iterator<Item = MemoryStatus> + '_ {
        MemoryUse::ALL.into_iter().map(|of| MemoryStatus {
            of,
            used: self.used(of),
            peak: self.peak[of as usize],
            bound: self.bound(of),
            actions: self.actions[of as usize],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rng, Seed};
    use rand_core::RngCore;

    const MIB: usize = 1 << 20;

    #[test]
    fn one_use_may_take_its_part_and_all_that_is_common() {
        let mut budget = MemoryBudget::new(16 * MIB);
        assert_eq!(budget.bound(MemoryUse::Input), 9 * MIB);
        assert_eq!(budget.bound(MemoryUse::Queues), 10 * MIB);
        budget.set_used(MemoryUse::Input, 9 * MIB);
        assert_eq!(budget.room(MemoryUse::Input, 0), Room::HoldBack);
        assert_eq!(budget.room(MemoryUse::Input, 1), Room::Refuse);
        assert_eq!((budget.bound(MemoryUse::Queues), budget.bound(MemoryUse::Links)), (2 * MIB, MIB));
        assert_eq!(budget.room(MemoryUse::Queues, 2 * MIB), Room::HoldBack);
        assert_eq!(budget.room(MemoryUse::Queues, 3 * MIB / 2), Room::Fits);
        budget.set_used(MemoryUse::Input, MIB);
        assert_eq!(budget.left(MemoryUse::Queues), 10 * MIB);
        let input = budget.status().next().unwrap();
        assert_eq!((input.used, input.peak, input.bound), (MIB, 9 * MIB, 9 * MIB));
    }

    #[test]
    fn consequences_are_counted_by_use() {
        let mut budget = MemoryBudget::new(16 * MIB);
        budget.count(MemoryUse::Models, MemoryActions { refused: 2, ..MemoryActions::default() });
        budget.count(MemoryUse::Models, MemoryActions { refused: 1, ended: 1, ..MemoryActions::default() });
        let counted: Vec<_> = budget.status().filter(|status| status.actions.refused > 0).collect();
        assert_eq!((counted.len(), counted[0].of.to_string().as_str()), (1, "models"));
        assert_eq!((counted[0].actions.refused, counted[0].actions.ended), (3, 1));
    }

    #[test]
    fn accepted_sizes_never_exceed_the_total_and_guaranteed_parts_always_fit() {
        for seed in 0..200 {
            let mut rng = Seed(seed).rng();
            let total = 1 + draw(&mut rng, 1 << 24);
            let mut budget = MemoryBudget::new(total);
            for _ in 0..500 {
                let of = MemoryUse::ALL[draw(&mut rng, MemoryUse::ALL.len())];
                let (used, more) = (budget.used(of), draw(&mut rng, total / 2 + 1));
                if draw(&mut rng, 3) == 0 {
                    budget.set_used(of, used.saturating_sub(more));
                } else if budget.room(of, more) != Room::Refuse {
                    budget.set_used(of, used + more);
                } else {
                    assert!(used + more > budget.guaranteed(of), "its own part was refused");
                }
                let all: usize = budget.status().map(|status| status.used).sum();
                assert!(all <= total, "seed {seed}: {all} of {total}");
                assert!(budget.status().all(|status| status.bound >= budget.guaranteed(status.of)));
            }
            MemoryUse::ALL.into_iter().for_each(|of| budget.set_used(of, 0));
            assert!(budget.status().all(|status| status.used == 0 && status.bound > total / 2));
        }
    }

    fn draw(rng: &mut Rng, below: usize) -> usize {
        (rng.next_u64() % below as u64) as usize
    }
}
