//! Mode 1 messages that wait because more mode 1 is offered than the rate carries.

use crate::model::{DataId, Sn};
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};

/// The waiting segments of one message in order, with their sizes in bytes.
type Segments<M> = SmallVec<[(usize, M); 1]>;

/// The newest waiting version of each data element. Data elements go in the order in which they
/// started to wait.
#[derive(Clone, Debug)]
pub(super) struct Reliable<M> {
    waiting: BTreeMap<DataId, (Sn, Segments<M>)>,
    order: VecDeque<DataId>,
    /// The number of all waiting segments.
    len: usize,
}

impl<M> Reliable<M> {
    pub(super) fn new() -> Self {
        Self { waiting: BTreeMap::new(), order: VecDeque::new(), len: 0 }
    }

    /// Adds a segment or a whole message. Waiting segments of another version of the data element
    /// are superseded.
    pub(super) fn push(
        &mut self,
        data: DataId,
        sn: Sn,
        bytes: usize,
        message: M,
        mut superseded: impl FnMut(M),
    ) {
        let (current, segments) = self.waiting.entry(data).or_insert_with(|| {
            self.order.push_back(data);
            (sn, SmallVec::new())
        });
        if *current != sn {
            *current = sn;
            self.len -= segments.len();
            segments.drain(..).for_each(|(_, message)| superseded(message));
        }
        segments.push((bytes, message));
        self.len += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The next segment, of the data element that has waited longest.
    pub(super) fn pop(&mut self) -> Option<(usize, M)> {
        let data = *self.order.front()?;
        let (_, segments) = self.waiting.get_mut(&data)?;
        let next = segments.remove(0);
        self.len -= 1;
        if segments.is_empty() {
            self.waiting.remove(&data);
            self.order.pop_front();
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_version_takes_the_place_of_an_older_one() {
        let mut reliable = Reliable::new();
        let mut gone = Vec::new();
        for (data, sn, message) in [(1, 0, "a0"), (1, 0, "a1"), (2, 0, "b0"), (1, 1, "A0"), (1, 1, "A1")] {
            reliable.push(DataId(data), Sn(sn), 1, message, |message| gone.push(message));
        }
        assert_eq!(gone, ["a0", "a1"]);
        assert_eq!(reliable.len(), 3);
        let order: Vec<_> = std::iter::from_fn(|| reliable.pop()).map(|(_, message)| message).collect();
        assert_eq!(order, ["A0", "A1", "b0"]);
        assert!(reliable.is_empty() && reliable.pop().is_none());
    }
}
