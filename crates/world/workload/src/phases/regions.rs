//! The regions (clause 9) of a federate on a square: those of all objects, or that of one subscriber.

use std::collections::BTreeSet;

use hla::api::call_request::CallRequest as Call;
use hla::api::{self, RangeBounds};
use hla::handle::{AttributeHandle, DimensionHandle, RegionHandle};

use super::square::{Rectangle, Square};

/// The dimensions of the square in the FOM module of the benchmarks.
pub(super) const DIMENSIONS: [&str; 2] = ["X", "Y"];
/// Regions of one Commit Region Modifications (9.3), at most.
const TOGETHER: u32 = 1_000;
/// The least octets of a value: the number of the object and that of the step.
pub(super) const VALUE_BYTES_MIN: usize = 8;

/// The state of such a federate.
#[derive(Debug)]
pub(super) struct Regions {
    square: Square,
    /// The number of the subscriber; `None` for the owner of the objects.
    subscriber: Option<u32>,
    dimensions: [Option<DimensionHandle>; 2],
    regions: Vec<RegionHandle>,
    /// Bounds that have been set, two for each place of a region.
    bounds_set: u64,
    /// Places that have been committed.
    committed: u64,
    /// Objects that have been registered with the region of the same number.
    registered: usize,
    /// Steps that have begun.
    steps: u32,
    /// The object that is updated next.
    next: u32,
    /// Number of objects near the subscriber in this step, once somebody has asked.
    expected: Option<u32>,
    /// Those of them whose update in this step has come.
    reached: BTreeSet<u32>,
    /// Reflects that should not have come, or came again.
    surplus: u64,
}

/// The subscriber's reflects of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    pub(super) expected: u64,
    pub(super) reached: u64,
    pub(super) surplus: u64,
}

impl Regions {
    pub(super) fn new(square: Square, subscriber: Option<u32>) -> Self {
        Self {
            square,
            subscriber,
            dimensions: [None; 2],
            regions: Vec::new(),
            bounds_set: 0,
            committed: 0,
            registered: 0,
            steps: 0,
            next: 0,
            expected: None,
            reached: BTreeSet::new(),
            surplus: 0,
        }
    }

    /// Number of commitments in which so many new regions are committed.
    pub(super) fn commitments(regions: u32) -> u32 {
        regions.div_ceil(TOGETHER)
    }

    pub(super) fn learn_dimension(&mut self, index: usize, handle: Option<DimensionHandle>) {
        self.dimensions.get_mut(index).into_iter().for_each(|own| *own = handle);
    }

    pub(super) fn created(&mut self, region: Option<RegionHandle>) {
        self.regions.extend(region);
    }

    /// The region that gets a place after so many other places, and the number of its moves by then.
    fn region(&self, places: u64) -> (usize, u64) {
        let count = self.regions.len().max(1) as u64;
        (usize::try_from(places % count).unwrap_or(usize::MAX), places / count)
    }

    pub(super) fn create(&self) -> Call {
        let dimensions = Some(self.dimensions.iter().copied().flatten().collect());
        Call::CreateRegionRequest(api::CreateRegionRequest { dimensions })
    }

    /// The next bounds: those of all regions in turn, at one place after the other.
    pub(super) fn set_bounds(&mut self) -> Call {
        let (index, moves) = self.region(self.bounds_set / 2);
        let axis = usize::from(self.bounds_set % 2 == 1);
        self.bounds_set += 1;
        let place = match self.subscriber {
            Some(subscriber) => self.square.subscriber(subscriber, moves),
            None => self.square.object(u32::try_from(index).unwrap_or(u32::MAX), moves),
        };
        let Rectangle([x, y]) = place.unwrap_or(Rectangle::ALL);
        let (lower, upper) = if axis == 0 { x } else { y };
        let [on_x, on_y] = self.dimensions;
        Call::SetRangeBoundsRequest(api::SetRangeBoundsRequest {
            region: self.regions.get(index).copied(),
            dimension: if axis == 0 { on_x } else { on_y },
            range_bounds: Some(RangeBounds { lower, upper }),
        })
    }

    /// Commits the places whose bounds have been set, the oldest ones first.
    pub(super) fn commit(&mut self) -> Call {
        let until = (self.bounds_set / 2).min(self.committed + u64::from(TOGETHER));
        let indices = (self.committed..until).map(|place| self.region(place).0);
        let regions = Some(indices.filter_map(|index| self.regions.get(index).copied()).collect());
        self.committed = until;
        Call::CommitRegionModificationsRequest(api::CommitRegionModificationsRequest { regions })
    }

    /// The number of the object that is registered next, and of its region.
    pub(super) fn next_to_register(&mut self) -> usize {
        self.registered += 1;
        self.registered - 1
    }

    /// The attribute with the region of an object, or that of the subscriber.
    pub(super) fn with_region(
        &self,
        attribute: Option<AttributeHandle>,
        index: usize,
    ) -> api::AttributeSetRegionSetPairList {
        let pair = api::AttributeSetRegionSetPair {
            attribute_set: Some(attribute.into_iter().collect()),
            region_set: Some(self.regions.get(index).copied().into_iter().collect()),
        };
        api::AttributeSetRegionSetPairList { attribute_set_region_set_pair: vec![pair] }
    }

    pub(super) fn begin_step(&mut self) {
        self.steps += 1;
        self.expected = None;
        self.reached.clear();
    }

    /// The object whose turn it is to be updated, and its value.
    pub(super) fn next_value(&mut self, size: usize) -> (usize, Vec<u8>) {
        let object = self.next;
        self.next = (object + 1) % self.square.scene().objects.max(1);
        let mut value = vec![3; size.max(VALUE_BYTES_MIN)];
        let words = [object, self.steps].map(u32::to_be_bytes);
        value.iter_mut().zip(words.as_flattened()).for_each(|(octet, of_word)| *octet = *of_word);
        (object as usize, value)
    }

    /// Takes a value that has come to the subscriber.
    pub(super) fn take(&mut self, value: &[u8]) {
        let is_new = Self::read(value).is_some_and(|[object, step]| {
            let near = |subscriber| self.square.is_near(object, subscriber, self.steps);
            step == self.steps && self.subscriber.is_some_and(near) && self.reached.insert(object)
        });
        self.surplus += u64::from(!is_new);
    }

    fn read(value: &[u8]) -> Option<[u32; 2]> {
        let (object, rest) = value.split_first_chunk()?;
        let (step, _) = rest.split_first_chunk()?;
        Some([*object, *step].map(u32::from_be_bytes))
    }

    /// Number of objects near the subscriber in this step.
    pub(super) fn expected(&mut self) -> u32 {
        let near = || self.subscriber.map_or(0, |subscriber| self.square.near(subscriber, self.steps));
        *self.expected.get_or_insert_with(near)
    }

    /// All updates of this step that should come have come.
    pub(super) fn sees_all(&mut self) -> bool {
        self.reached.len() >= self.expected() as usize
    }

    /// The reflects of this step, which is over.
    pub(super) fn seen(&mut self) -> Seen {
        let surplus = std::mem::take(&mut self.surplus);
        Seen { expected: self.expected().into(), reached: self.reached.len() as u64, surplus }
    }
}

#[cfg(test)]
mod tests {
    use super::super::square::Scene;
    use super::*;

    const SCENE: Scene = Scene { objects: 3, subscribers: 1, side: 2_000_000, moves: 2 };

    fn with_regions(count: u8, subscriber: Option<u32>) -> Regions {
        let mut regions = Regions::new(Square::new(SCENE), subscriber);
        (0..count).for_each(|index| regions.created(Some(RegionHandle::from_octets(&[index]))));
        regions
    }

    fn moved(call: &Call) -> (RegionHandle, RangeBounds) {
        let Call::SetRangeBoundsRequest(set) = call else { panic!("{call:?}") };
        (set.region.unwrap(), set.range_bounds.unwrap())
    }

    fn committed(call: &Call) -> Vec<RegionHandle> {
        let Call::CommitRegionModificationsRequest(commit) = call else { panic!("{call:?}") };
        commit.regions.clone().unwrap().region_handle
    }

    /// After all have their first place, they move in turns, and one commitment takes what was set.
    #[test]
    fn regions_move_in_turns() {
        let mut regions = with_regions(3, None);
        let handles = [0, 1, 2].map(|index| RegionHandle::from_octets(&[index]));
        let first: Vec<_> = (0..6).map(|_| moved(&regions.set_bounds())).collect();
        let order: Vec<_> = first.iter().map(|(region, _)| *region).collect();
        assert_eq!(order, [0, 0, 1, 1, 2, 2].map(|index| handles[index]));
        assert_eq!(committed(&regions.commit()), handles);
        let second = moved(&regions.set_bounds());
        assert_eq!(second.0, handles[0]);
        assert_ne!(second.1, first[0].1, "it has moved");
        regions.set_bounds();
        assert_eq!(committed(&regions.commit()), [handles[0]]);
        assert_eq!(committed(&regions.commit()), []);
    }

    #[test]
    fn a_commitment_has_a_thousand_regions_at_most() {
        assert_eq!([0, 1, 1_000, 1_001].map(Regions::commitments), [0, 1, 1, 2]);
    }

    /// Its box is the whole square.
    #[test]
    fn a_subscriber_counts_what_it_should_see_and_the_rest() {
        let (mut owner, mut subscriber) = (with_regions(3, None), with_regions(1, Some(0)));
        assert_eq!(subscriber.expected(), 3);
        let values: Vec<_> = (0..4).map(|_| owner.next_value(10).1).collect();
        for value in &values[..2] {
            assert!(!subscriber.sees_all());
            subscriber.take(value);
        }
        subscriber.take(&values[3]); // the first object again
        subscriber.take(&[1, 2]);
        assert_eq!(subscriber.seen(), Seen { expected: 3, reached: 2, surplus: 2 });
        subscriber.begin_step();
        subscriber.take(&values[2]); // late
        assert_eq!(subscriber.seen(), Seen { expected: 3, reached: 0, surplus: 1 });
    }
}
