//! The log of one member, in memory. A process that stops is gone for good and starts again under
//! another key, so no entry is written to a disk. The set of voters is written: see
//! [`crate::reformation`].

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};

use base::NodeKey;
use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Storage, StorageError};

/// Approximate memory of an entry besides its data, in bytes.
const ENTRY_OVERHEAD: usize = 96;
/// The index at which a creator starts. It is not 0, so that every joiner needs a snapshot first:
/// no entry contains the creator's own membership.
pub(crate) const FOUNDING_INDEX: u64 = 1;

/// The entries from `first` on, and the snapshot for members that are far behind.
#[derive(Debug, Default)]
pub(crate) struct Log {
    hard: HardState,
    conf: ConfState,
    entries: VecDeque<Entry>,
    /// Index and term of the entry before the first.
    base: (u64, u64),
    bytes: usize,
    snapshot: Option<Snapshot>,
    /// Peers that wait for a snapshot that does not exist yet.
    wanted_by: RefCell<BTreeSet<u64>>,
}

impl Log {
    /// The log of the first member of a group.
    pub(crate) fn of_creator(key: u64) -> Self {
        Self::of_group(&BTreeSet::from([NodeKey(key)]))
    }

    /// The log of each of the first voters of a group.
    pub(crate) fn of_group(voters: &BTreeSet<NodeKey>) -> Self {
        let mut log = Self { base: (FOUNDING_INDEX, 1), ..Self::default() };
        log.conf.mut_voters().extend(voters.iter().map(|key| key.0));
        log.hard.term = 1;
        log.hard.commit = FOUNDING_INDEX;
        log
    }

    pub(crate) fn last(&self) -> u64 {
        self.base.0 + self.entries.len() as u64
    }

    /// Index of the first entry that is kept.
    pub(crate) fn first(&self) -> u64 {
        self.base.0 + 1
    }

    /// Entries kept.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Memory of the entries kept, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn term_at(&self, index: u64) -> Option<u64> {
        if index == self.base.0 {
            return Some(self.base.1);
        }
        self.get(index).map(|entry| entry.term)
    }

    pub(crate) fn get(&self, index: u64) -> Option<&Entry> {
        let offset = usize::try_from(index.checked_sub(self.first())?).ok()?;
        self.entries.get(offset)
    }

    pub(crate) fn set_conf(&mut self, conf: ConfState) {
        self.conf = conf;
    }

    pub(crate) fn conf(&self) -> &ConfState {
        &self.conf
    }

    /// Appends entries. Existing entries at or after their first index are removed.
    pub(crate) fn append(&mut self, entries: Vec<Entry>) {
        let Some(first) = entries.first().map(|entry| entry.index) else { return };
        while self.last() >= first {
            let Some(gone) = self.entries.pop_back() else { break };
            self.bytes -= cost(&gone);
        }
        debug_assert_eq!(self.last() + 1, first, "the library appends without holes");
        for entry in entries {
            self.bytes += cost(&entry);
            self.entries.push_back(entry);
        }
    }

    /// Restarts the log at a snapshot.
    pub(crate) fn restore(&mut self, snapshot: Snapshot) {
        let meta = snapshot.get_metadata();
        self.entries.clear();
        self.bytes = 0;
        self.base = (meta.index, meta.term);
        self.conf = meta.get_conf_state().clone();
        self.snapshot = Some(snapshot);
    }

    /// Keeps a snapshot for members that are far behind, and drops entries that it covers until at
    /// most `entries` entries and `bytes` bytes are left.
    pub(crate) fn compact(&mut self, snapshot: Snapshot, entries: usize, bytes: usize) {
        let covered = snapshot.get_metadata().index;
        self.snapshot = Some(snapshot);
        while self.first() <= covered && (self.entries.len() > entries || self.bytes > bytes) {
            let Some(gone) = self.entries.pop_front() else { break };
            self.bytes -= cost(&gone);
            self.base = (gone.index, gone.term);
        }
    }

    pub(crate) fn snapshot_index(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |snapshot| snapshot.get_metadata().index)
    }

    /// Whether a peer waits for a snapshot that does not exist yet.
    pub(crate) fn is_snapshot_wanted(&self) -> bool {
        !self.wanted_by.borrow().is_empty()
    }

    /// Removes and returns the peers that waited for a snapshot.
    pub(crate) fn take_wanted_by(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.wanted_by.borrow_mut())
    }
}

fn cost(entry: &Entry) -> usize {
    entry.get_data().len() + ENTRY_OVERHEAD
}

impl Storage for Log {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(RaftState::new(self.hard.clone(), self.conf.clone()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        if low < self.first() {
            return Err(Error::Store(StorageError::Compacted));
        }
        let max = max_size.into().map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
        let mut size = 0usize;
        let mut some = Vec::new();
        for entry in (low..high).map_while(|index| self.get(index)) {
            size = size.saturating_add(cost(entry));
            if size > max && !some.is_empty() {
                break;
            }
            some.push(entry.clone());
        }
        Ok(some)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let missing = if index < self.base.0 { StorageError::Compacted } else { StorageError::Unavailable };
        self.term_at(index).ok_or(Error::Store(missing))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.first())
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last())
    }

    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<Snapshot> {
        // A node takes only a snapshot that contains it as a member; the present one may be older
        // than its joining.
        if let Some(snapshot) = &self.snapshot {
            let meta = snapshot.get_metadata();
            let conf = meta.get_conf_state();
            let holds = conf.get_voters().contains(&to) || conf.get_learners().contains(&to);
            if holds && meta.index >= request_index {
                return Ok(snapshot.clone());
            }
        }
        self.wanted_by.borrow_mut().insert(to);
        Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64, term: u64) -> Entry {
        let mut entry = Entry::default();
        (entry.index, entry.term, entry.data) = (index, term, vec![0; 4].into());
        entry
    }

    fn snapshot(index: u64, members: &[u64]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let meta = snapshot.mut_metadata();
        (meta.index, meta.term) = (index, 1);
        meta.mut_conf_state().set_voters(members.to_vec());
        snapshot
    }

    #[test]
    fn entries_are_replaced_counted_and_compacted() {
        let mut log = Log::of_creator(7);
        log.append((2..=6).map(|index| entry(index, 1)).collect());
        log.append(vec![entry(5, 2)]);
        assert_eq!((log.last(), log.term_at(5), log.term_at(6)), (5, Some(2), None));
        assert_eq!(log.bytes(), 4 * (ENTRY_OVERHEAD + 4));
        log.compact(snapshot(4, &[7]), 0, 0);
        assert_eq!((log.first(), log.last(), log.term_at(4)), (5, 5, Some(1)));
        assert!(matches!(
            log.entries(4, 6, None, GetEntriesContext::empty(false)),
            Err(Error::Store(StorageError::Compacted))
        ));
        assert_eq!(log.bytes(), ENTRY_OVERHEAD + 4);
    }

    #[test]
    fn a_snapshot_is_for_its_members_only() {
        let mut log = Log::of_creator(7);
        assert!(log.snapshot(0, 7).is_err());
        log.compact(snapshot(1, &[7]), 9, 9);
        assert!(log.snapshot(0, 7).is_ok());
        assert!(log.snapshot(0, 8).is_err());
        assert_eq!(log.take_wanted_by(), BTreeSet::from([7, 8]));
    }
}
