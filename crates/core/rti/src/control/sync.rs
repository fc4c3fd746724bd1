//! Synchronization points (1516.1-2025, 4.14 to 4.18).

use hla::handle::FederateHandle;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Number of synchronized points whose outcome is kept, for nodes that were so far behind that they
/// missed it.
const FINISHED_MAX: usize = 256;

/// Limit on the octets of these points. The latest one is kept in any case.
const FINISHED_BYTES_MAX: usize = 1 << 20;

/// Memory of a point in addition to its label, its tag and its members: its place in a tree and
/// three allocations.
const POINT_OVERHEAD: usize = 192;

/// Memory of a member of a point's set.
const SET_MEMBER_BYTES: usize = 16;

/// The reason why a synchronization point was not registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncRefusal {
    /// The label is registered, and its point is not yet synchronized.
    LabelNotUnique,
    /// A federate of the given set is not joined.
    SetMemberNotJoined,
}

/// A synchronized point.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Synchronized {
    /// The label, which is free again.
    pub label: String,
    /// All members of the synchronization set. Each must be told.
    pub members: BTreeSet<FederateHandle>,
    /// The members that achieved the point without success.
    pub failed: BTreeSet<FederateHandle>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Point {
    /// Distinguishes successive points with the same label.
    number: u64,
    tag: Vec<u8>,
    /// Later joiners belong to the set as well.
    whole_federation: bool,
    /// Members of the set with their answers; `None` while an answer is awaited.
    members: BTreeMap<FederateHandle, Option<bool>>,
}

impl Point {
    fn is_complete(&self) -> bool {
        self.members.values().all(Option::is_some)
    }
}

/// The synchronization points of one federation execution that are not yet synchronized.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Points")]
pub struct SyncPoints {
    points: BTreeMap<String, Point>,
    /// The number that was assigned last.
    last: u64,
    /// The latest synchronized points, in order.
    finished: VecDeque<Finished>,
    /// Octets of labels and tags of the points that are not yet synchronized. Derived from them.
    #[serde(skip_serializing)]
    octets: usize,
}

/// The wire form of synchronization points.
#[derive(Deserialize)]
struct Points {
    points: BTreeMap<String, Point>,
    last: u64,
    finished: VecDeque<Finished>,
}

impl From<Points> for SyncPoints {
    fn from(Points { points, last, finished }: Points) -> Self {
        let octets = points.iter().map(|(label, point)| label.len() + point.tag.len()).sum();
        Self { points, last, finished, octets }
    }
}

/// The record of a synchronized point.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Finished {
    number: u64,
    tag: Vec<u8>,
    outcome: Synchronized,
}

impl Finished {
    fn bytes(&self) -> usize {
        let federates = self.outcome.members.len() + self.outcome.failed.len();
        self.tag.len() + self.outcome.label.len() + federates * size_of::<FederateHandle>()
    }
}

/// The events that a federate missed since an older state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Missed {
    /// Labels of points that it was a member of and whose outcome is no longer recorded.
    pub(super) unknown: Vec<String>,
    /// Points synchronized since then. Those that had not been announced to it carry their tag and
    /// must be announced first.
    pub(super) synchronized: Vec<(Option<Vec<u8>>, Synchronized)>,
    /// Labels and tags of pending points that it became a member of since then, in the order of
    /// registration.
    pub(super) announced: Vec<(String, Vec<u8>)>,
}

impl SyncPoints {
    /// The number of points that are not yet synchronized.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// An estimate, in bytes, of the memory of the points that are not yet synchronized, in a
    /// federation with this many members. Cost: O(1).
    pub(crate) fn bytes(&self, members: usize) -> usize {
        self.octets + self.points.len() * (POINT_OVERHEAD + members * SET_MEMBER_BYTES)
    }

    /// An estimate of the memory of one more point, in bytes.
    pub(crate) fn bytes_of(label: &str, tag: &[u8], members: usize) -> usize {
        POINT_OVERHEAD + label.len() + tag.len() + members * SET_MEMBER_BYTES
    }

    /// Whether all points are synchronized.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Registers `label` for `set`, or for the whole federation (`joined` and later joiners) when
    /// the set is empty.
    ///
    /// # Errors
    /// The label is taken, or a member of the set is not joined.
    pub fn register(
        &mut self,
        label: &str,
        tag: &[u8],
        set: &BTreeSet<FederateHandle>,
        joined: &BTreeSet<FederateHandle>,
    ) -> Result<BTreeSet<FederateHandle>, SyncRefusal> {
        if self.points.contains_key(label) {
            return Err(SyncRefusal::LabelNotUnique);
        }
        if !set.is_subset(joined) {
            return Err(SyncRefusal::SetMemberNotJoined);
        }
        let whole_federation = set.is_empty();
        let members = if whole_federation { joined.clone() } else { set.clone() };
        self.last = self.last.wrapping_add(1);
        let point = Point {
            number: self.last,
            tag: tag.to_vec(),
            whole_federation,
            members: members.iter().map(|&federate| (federate, None)).collect(),
        };
        self.octets += label.len() + tag.len();
        self.points.insert(label.to_owned(), point);
        Ok(members)
    }

    /// Whether `label` was announced to `federate` and its point is not yet synchronized.
    pub fn is_announced_to(&self, label: &str, federate: FederateHandle) -> bool {
        self.points.get(label).is_some_and(|point| point.members.contains_key(&federate))
    }

    /// Whether `federate` has answered the point with this label, or a recent one that had it.
    pub fn has_answered(&self, label: &str, federate: FederateHandle) -> bool {
        match self.points.get(label).and_then(|point| point.members.get(&federate)) {
            Some(answer) => answer.is_some(),
            None => {
                let mut lately = self.finished.iter().map(|finished| &finished.outcome);
                lately.any(|outcome| outcome.label == label && outcome.members.contains(&federate))
            }
        }
    }

    /// Takes the answer of `federate`; only its first answer counts. Returns the point if this was
    /// the last answer awaited.
    pub fn achieve(&mut self, label: &str, federate: FederateHandle, success: bool) -> Option<Synchronized> {
        let answer = self.points.get_mut(label)?.members.get_mut(&federate)?;
        answer.get_or_insert(success);
        self.take_if_complete(label)
    }

    /// Adds a late joiner to every point of the whole federation. Returns the labels and tags of
    /// those points, which must be announced to it.
    pub fn join(&mut self, federate: FederateHandle) -> Vec<(String, Vec<u8>)> {
        let mut announce = Vec::new();
        for (label, point) in &mut self.points {
            if point.whole_federation {
                point.members.insert(federate, None);
                announce.push((label.clone(), point.tag.clone()));
            }
        }
        announce
    }

    /// Removes a federate from every set. Returns the points that are complete without it. A point
    /// whose set is now empty disappears.
    pub fn resign(&mut self, federate: FederateHandle) -> Vec<Synchronized> {
        let mut concerned = Vec::new();
        for (label, point) in &mut self.points {
            if point.members.remove(&federate).is_some() {
                concerned.push(label.clone());
            }
        }
        let octets = &mut self.octets;
        self.points.retain(|label, point| {
            let stays = !point.members.is_empty();
            *octets -= if stays { 0 } else { label.len() + point.tag.len() };
            stays
        });
        concerned.iter().filter_map(|label| self.take_if_complete(label)).collect()
    }

    /// Labels of the points that are not yet synchronized.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.points.keys().map(String::as_str)
    }

    fn take_if_complete(&mut self, label: &str) -> Option<Synchronized> {
        if !self.points.get(label)?.is_complete() {
            return None;
        }
        let point = self.points.remove(label)?;
        self.octets -= label.len() + point.tag.len();
        let members: BTreeSet<_> = point.members.keys().copied().collect();
        let failed = point.members.iter().filter(|(_, answer)| **answer == Some(false)).map(|(&f, _)| f);
        let done = Synchronized { label: label.to_owned(), failed: failed.collect(), members };
        self.finished.push_back(Finished { number: point.number, tag: point.tag, outcome: done.clone() });
        let mut bytes: usize = self.finished.iter().map(Finished::bytes).sum();
        while self.finished.len() > FINISHED_MAX || (bytes > FINISHED_BYTES_MAX && self.finished.len() > 1) {
            bytes -= self.finished.pop_front().map_or(0, |oldest| oldest.bytes());
        }
        Some(done)
    }

    /// The events that `federate`, joined throughout since the older state `before`, has missed.
    pub(super) fn missed(&self, before: &SyncPoints, federate: FederateHandle) -> Missed {
        let of_it = |points: &BTreeMap<String, Point>| -> BTreeMap<u64, String> {
            let its = points.iter().filter(|(_, point)| point.members.contains_key(&federate));
            its.map(|(label, point)| (point.number, label.clone())).collect()
        };
        let (old, new) = (of_it(&before.points), of_it(&self.points));
        let mut missed = Missed::default();
        for finished in &self.finished {
            let is_known = old.contains_key(&finished.number);
            let is_new = finished.number > before.last && finished.outcome.members.contains(&federate);
            if is_known || is_new {
                let tag = (!is_known).then(|| finished.tag.clone());
                missed.synchronized.push((tag, finished.outcome.clone()));
            }
        }
        let is_finished = |number: u64| self.finished.iter().any(|finished| finished.number == number);
        let unknown = old.iter().filter(|&(&number, _)| !new.contains_key(&number) && !is_finished(number));
        missed.unknown = unknown.map(|(_, label)| label.clone()).collect();
        for label in new.iter().filter(|(number, _)| !old.contains_key(number)).map(|(_, label)| label) {
            missed.announced.push((label.clone(), self.points[label].tag.clone()));
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: FederateHandle = FederateHandle(1);
    const B: FederateHandle = FederateHandle(2);
    const C: FederateHandle = FederateHandle(3);

    fn set(members: &[FederateHandle]) -> BTreeSet<FederateHandle> {
        members.iter().copied().collect()
    }

    #[test]
    fn a_late_joiner_is_announced_and_awaited() {
        let mut points = SyncPoints::default();
        points.register("P", b"tag", &set(&[]), &set(&[A])).unwrap();
        assert_eq!(points.join(B), [("P".to_owned(), b"tag".to_vec())]);
        assert_eq!(points.achieve("P", A, true), None);
        let done = points.achieve("P", B, false).unwrap();
        assert_eq!((done.members, done.failed), (set(&[A, B]), set(&[B])));
        assert!(!points.is_announced_to("P", A), "the label is free again");
    }

    #[test]
    fn a_named_set_does_not_grow() {
        let mut points = SyncPoints::default();
        points.register("P", b"", &set(&[A, B]), &set(&[A, B])).unwrap();
        assert!(points.join(C).is_empty());
        assert!(!points.is_announced_to("P", C));
    }

    #[test]
    fn refusals() {
        let mut points = SyncPoints::default();
        points.register("P", b"", &set(&[]), &set(&[A])).unwrap();
        assert_eq!(points.register("P", b"", &set(&[]), &set(&[A])), Err(SyncRefusal::LabelNotUnique));
        assert_eq!(points.register("Q", b"", &set(&[B]), &set(&[A])), Err(SyncRefusal::SetMemberNotJoined));
    }

    #[test]
    fn the_last_one_missing_resigns() {
        let mut points = SyncPoints::default();
        points.register("P", b"", &set(&[]), &set(&[A, B])).unwrap();
        points.achieve("P", A, true);
        let done = points.resign(B);
        assert_eq!(done.len(), 1);
        assert_eq!(done[0].members, set(&[A]));
    }

    #[test]
    fn a_point_without_members_disappears() {
        let mut points = SyncPoints::default();
        points.register("P", b"", &set(&[A]), &set(&[A])).unwrap();
        assert!(points.resign(A).is_empty());
        assert_eq!(points.labels().count(), 0);
    }

    #[test]
    fn outcomes_are_remembered_within_bounds() {
        let mut points = SyncPoints::default();
        let big = vec![0; FINISHED_BYTES_MAX * 2 / 3];
        for label in ["P", "Q"] {
            points.register(label, &big, &set(&[]), &set(&[A])).unwrap();
            points.achieve(label, A, true);
        }
        assert!(!points.has_answered("P", A) && points.has_answered("Q", A));
        for _ in 0..2 * FINISHED_MAX {
            points.register("R", b"", &set(&[]), &set(&[A])).unwrap();
            points.achieve("R", A, true);
        }
        assert_eq!(points.finished.len(), FINISHED_MAX);
    }

    #[test]
    fn the_first_answer_counts() {
        let mut points = SyncPoints::default();
        points.register("P", b"", &set(&[]), &set(&[A, B])).unwrap();
        points.achieve("P", A, false);
        points.achieve("P", A, true);
        assert_eq!(points.achieve("P", B, true).unwrap().failed, set(&[A]));
    }
}
