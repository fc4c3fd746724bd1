//! Two populations, their queued changes, and the pairs that a commit gains and loses.

use crate::population::Population as Side;
use crate::range::extent;
use crate::{Error, REGIONS_MAX, Range, range};

/// Dimensions that a matching can have.
pub const DIMENSIONS_MAX: usize = 32;

/// One of the two sets of regions. Regions of the same population are not compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Population {
    /// Regions that senders attach to what they send.
    Update,
    /// Regions of which receivers want to hear.
    Subscription,
}

/// An update region and a subscription region, by their ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pair {
    /// The update region.
    pub update: u32,
    /// The subscription region.
    pub subscription: u32,
}

/// The difference that a [commit](Matching::commit) made. Pairs are in ascending order; none is
/// both gained and lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Commit<'a> {
    /// Pairs that overlap now, and did not before.
    pub gained: &'a [Pair],
    /// Pairs that overlapped before, and do not now.
    pub lost: &'a [Pair],
    /// Whether all queued changes have been applied. If not, the next commit goes on.
    pub is_complete: bool,
}

/// Update regions and subscription regions, and which of them overlap.
///
/// Regions have d ranges each. Ids are the caller's, and each population has its own; they are small
/// numbers, because memory is proportional to the greatest of them. Changes are queued until a
/// [commit](Self::commit). The results depend on the queued changes and on nothing else; only where
/// the commits of slices end depends on their order.
///
/// Memory per region, with half a million of them: about 37 bytes in two dimensions, and 15 for each
/// further one ([`bytes`](Self::bytes)).
#[derive(Debug)]
pub struct Matching {
    dimensions: usize,
    updates: Side,
    subscriptions: Side,
    typical: Typical,
    gained: Vec<Pair>,
    lost: Vec<Pair>,
    /// The box before a change, and after it.
    old: Vec<i32>,
    new: Vec<i32>,
}

impl Matching {
    /// A matching without regions.
    ///
    /// # Errors
    ///
    /// [`Error::Dimensions`], unless there are 1 to [`DIMENSIONS_MAX`].
    pub fn new(dimensions: usize) -> Result<Self, Error> {
        if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
            return Err(Error::Dimensions { asked: dimensions });
        }
        Ok(Self {
            dimensions,
            updates: Side::new(dimensions),
            subscriptions: Side::new(dimensions),
            typical: Typical::new(dimensions),
            gained: Vec::new(),
            lost: Vec::new(),
            old: Vec::new(),
            new: Vec::new(),
        })
    }

    /// The number of ranges of each region.
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The number of regions of a population, as it will be when all queued changes are applied.
    pub const fn regions(&self, population: Population) -> usize {
        self.side(population).len()
    }

    /// Bytes of heap memory in use, with room that is kept for the next commits.
    pub fn bytes(&self) -> usize {
        self.updates.bytes()
            + self.subscriptions.bytes()
            + (self.gained.capacity() + self.lost.capacity()) * size_of::<Pair>()
    }

    /// Queues a new region.
    ///
    /// # Errors
    ///
    /// [`Error::Present`], [`Error::Ranges`], and [`Error::Id`] unless the id is below [`REGIONS_MAX`].
    pub fn insert(&mut self, population: Population, id: u32, region: &[Range]) -> Result<(), Error> {
        self.check_ranges(region)?;
        if id as usize >= REGIONS_MAX {
            return Err(Error::Id { id });
        }
        let side = self.side_mut(population);
        if side.has(id) {
            return Err(Error::Present { population, id });
        }
        side.put(id, region);
        Ok(())
    }

    /// Queues other ranges for a region. The last ones before a commit count.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] and [`Error::Ranges`].
    pub fn modify(&mut self, population: Population, id: u32, region: &[Range]) -> Result<(), Error> {
        self.check_ranges(region)?;
        let side = self.side_mut(population);
        if !side.has(id) {
            return Err(Error::Unknown { population, id });
        }
        side.put(id, region);
        Ok(())
    }

    /// Queues the removal of a region. Its id is free at once.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`].
    pub fn remove(&mut self, population: Population, id: u32) -> Result<(), Error> {
        let side = self.side_mut(population);
        if !side.has(id) {
            return Err(Error::Unknown { population, id });
        }
        side.take(id);
        Ok(())
    }

    /// Applies the queued changes, those of update regions first, and answers with the pairs gained
    /// and lost.
    ///
    /// The commit is a slice when it has come to `pairs_max` gains and losses: it ends with the
    /// region that passed this limit, and the next commit goes on from there. Memory for pairs is thus
    /// bounded by `pairs_max` and the number of pairs of one region. `usize::MAX` makes a commit one
    /// step. The pairs of slices, one after the other, add up to those of one step; but a pair of two
    /// changed regions may be gained in one slice and lost in a later one.
    pub fn commit(&mut self, pairs_max: usize) -> Commit<'_> {
        self.gained.shrink_to(2 * self.gained.len());
        self.lost.shrink_to(2 * self.lost.len());
        self.gained.clear();
        self.lost.clear();
        let mut scales = [0.0; DIMENSIONS_MAX];
        self.typical.write_scales(&mut scales);
        let scales = &scales[..self.dimensions];
        for population in [Population::Update, Population::Subscription] {
            self.side_mut(population).arrange();
            while self.gained.len() + self.lost.len() < pairs_max && self.apply_next(population, scales) {}
            self.side_mut(population).end_slice(scales);
        }
        let is_complete = self.updates.finish() & self.subscriptions.finish();
        self.gained.sort_unstable_by_key(|pair| pair.key());
        self.lost.sort_unstable_by_key(|pair| pair.key());
        cancel(&mut self.gained, &mut self.lost);
        Commit { gained: &self.gained, lost: &self.lost, is_complete }
    }

    /// Applies the next change of a population, if there is one, and notes the pairs.
    fn apply_next(&mut self, population: Population, scales: &[f32]) -> bool {
        let Self { updates, subscriptions, typical, gained, lost, old, new, .. } = self;
        let (own, other) = match population {
            Population::Update => (updates, subscriptions),
            Population::Subscription => (subscriptions, updates),
        };
        let Some(change) = own.next(old, new) else { return false };
        let pair = |found| match population {
            Population::Update => Pair { update: change.id, subscription: found },
            Population::Subscription => Pair { update: found, subscription: change.id },
        };
        other.tree.changes(
            old,
            new,
            |found, is_gain| {
                if is_gain { gained.push(pair(found)) } else { lost.push(pair(found)) }
            },
        );
        typical.replace(old, new);
        own.apply(change, old, new, scales);
        true
    }

    /// Writes the ids of the regions of `population` that overlap `region` to `found`, in ascending
    /// order, as of the last commit.
    ///
    /// # Errors
    ///
    /// [`Error::Ranges`].
    pub fn overlapping(
        &self,
        population: Population,
        region: &[Range],
        found: &mut Vec<u32>,
    ) -> Result<(), Error> {
        self.check_ranges(region)?;
        let mut bounds = [0; 2 * DIMENSIONS_MAX];
        let bounds = &mut bounds[..2 * self.dimensions];
        range::write(bounds, region);
        found.clear();
        self.side(population).tree.overlapping(bounds, |id| found.push(id));
        found.sort_unstable();
        Ok(())
    }

    const fn check_ranges(&self, region: &[Range]) -> Result<(), Error> {
        if region.len() == self.dimensions {
            Ok(())
        } else {
            Err(Error::Ranges { given: region.len(), expected: self.dimensions })
        }
    }

    const fn side(&self, population: Population) -> &Side {
        match population {
            Population::Update => &self.updates,
            Population::Subscription => &self.subscriptions,
        }
    }

    const fn side_mut(&mut self, population: Population) -> &mut Side {
        match population {
            Population::Update => &mut self.updates,
            Population::Subscription => &mut self.subscriptions,
        }
    }
}

impl Pair {
    /// A number of the same order, which sorts faster.
    const fn key(self) -> u64 {
        (self.update as u64) << 32 | self.subscription as u64
    }
}

/// Removes from two ascending lists what both have. A pair of two changed regions may be gained by
/// the change of the one and lost by that of the other, or the reverse.
fn cancel(gained: &mut Vec<Pair>, lost: &mut Vec<Pair>) {
    let mut common = Vec::new();
    let mut rest = lost.iter().peekable();
    gained.retain(|pair| {
        while rest.next_if(|other| *other < pair).is_some() {}
        let is_common = rest.next_if_eq(&pair).is_some();
        if is_common {
            common.push(*pair);
        }
        !is_common
    });
    lost.retain(|pair| common.binary_search(pair).is_err());
}

/// The typical extent of a region in each dimension: the geometric mean, rounded to a power of two.
/// A few regions that span a whole dimension do not change it much.
#[derive(Debug)]
struct Typical {
    /// Sums of the logarithms of all extents, without fractions.
    logarithms: Vec<u64>,
    regions: u64,
}

impl Typical {
    fn new(dimensions: usize) -> Self {
        Self { logarithms: vec![0; dimensions], regions: 0 }
    }

    /// Counts a region with the box `new` in place of one with the box `old`. Either may be empty.
    fn replace(&mut self, old: &[i32], new: &[i32]) {
        self.regions += u64::from(!new.is_empty());
        self.regions -= u64::from(!old.is_empty());
        let logarithm = |range: &[i32]| u64::from(extent(range[1], range[0]).ilog2());
        for (sum, range) in self.logarithms.iter_mut().zip(new.chunks_exact(2)) {
            *sum += logarithm(range);
        }
        for (sum, range) in self.logarithms.iter_mut().zip(old.chunks_exact(2)) {
            *sum -= logarithm(range);
        }
    }

    /// Writes the reciprocal of each extent.
    fn write_scales(&self, scales: &mut [f32]) {
        for (scale, sum) in scales.iter_mut().zip(&self.logarithms) {
            *scale = 1.0 / (1_u64 << (sum / self.regions.max(1))) as f32;
        }
    }
}
