//! Other ways to the same pairs.

use crate::worlds::{Move, Region, World};
use ddm::Population;
use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};

type Entry<const R: usize> = GeomWithData<Rectangle<[f64; R]>, u32>;

/// An R*-tree for each population, of R dimensions: rstar takes two at least, and those that a region
/// does not have are 0.
pub(crate) struct RStar<const D: usize, const R: usize> {
    trees: [RTree<Entry<R>>; 2],
    regions: [Vec<Region<D>>; 2],
}

impl<const D: usize, const R: usize> RStar<D, R> {
    pub(crate) fn new(world: &World<D>) -> Self {
        let regions = [Population::Update, Population::Subscription].map(|side| world.regions(side).to_vec());
        let load = |regions: &Vec<Region<D>>| {
            let entries = regions.iter().zip(0..).map(|(region, id)| entry(region, id));
            RTree::bulk_load(entries.collect())
        };
        Self { trees: [load(&regions[0]), load(&regions[1])], regions }
    }

    /// Moves regions. Returns the numbers of pairs gained and lost.
    pub(crate) fn step(&mut self, moves: &[Move<D>]) -> (usize, usize) {
        let (mut gained, mut lost) = (Vec::new(), Vec::new());
        for (population, id, region) in moves {
            let side = *population as usize;
            let old = std::mem::replace(&mut self.regions[side][*id as usize], *region);
            let other = 1 - side;
            let pair = |found: u32| if side == 0 { (*id, found) } else { (found, *id) };
            for (here, there, pairs) in [(&old, region, &mut lost), (region, &old, &mut gained)] {
                let found = self.trees[other].locate_in_envelope_intersecting(envelope(here));
                let found = found.map(|entry| entry.data);
                pairs
                    .extend(found.filter(|id| !overlap(&self.regions[other][*id as usize], there)).map(pair));
            }
            self.trees[side].remove(&entry(&old, *id)).expect("it is there");
            self.trees[side].insert(entry(region, *id));
        }
        gained.sort_unstable();
        lost.sort_unstable();
        let both = gained.iter().filter(|pair| lost.binary_search(pair).is_ok()).count();
        (gained.len() - both, lost.len() - both)
    }
}

/// Borders that meet count as an intersection there, so the last value stands for the bound. Areas
/// of u32 extents overflow an i64; f64 holds each bound exactly.
fn envelope<const D: usize, const R: usize>(region: &Region<D>) -> AABB<[f64; R]> {
    let corner = |value: fn(&[u32; 2]) -> f64| std::array::from_fn(|k| region.get(k).map_or(0.0, value));
    AABB::from_corners(corner(|range| range[0].into()), corner(|range| f64::from(range[1]) - 1.0))
}

fn entry<const D: usize, const R: usize>(region: &Region<D>, id: u32) -> Entry<R> {
    GeomWithData::new(Rectangle::from_aabb(envelope(region)), id)
}

fn overlap<const D: usize>(one: &Region<D>, other: &Region<D>) -> bool {
    one.iter().zip(other).all(|(one, other)| one[0] < other[1] && other[0] < one[1])
}

/// The number of all pairs, from scratch. None if more than `pairs_max` overlap in the first
/// dimension.
pub(crate) fn sweep<const D: usize>(world: &World<D>, pairs_max: u64) -> Option<usize> {
    let sides = [world.regions(Population::Update), world.regions(Population::Subscription)];
    if overlaps_of_first(sides) > pairs_max {
        return None;
    }
    // Bound, whether it is a lower one, population, and region: upper bounds come before lower ones.
    let mut bounds: Vec<(u32, bool, usize, u32)> = Vec::new();
    for (side, regions) in sides.into_iter().enumerate() {
        for (region, id) in regions.iter().zip(0..) {
            bounds.extend([(region[0][0], true, side, id), (region[0][1], false, side, id)]);
        }
    }
    bounds.sort_unstable();
    let mut active: [Vec<(u32, Region<D>)>; 2] = [vec![], vec![]];
    let mut places: [Vec<u32>; 2] = sides.map(|regions| vec![0; regions.len()]);
    let mut pairs = 0;
    for (_, is_lower, side, id) in bounds {
        if is_lower {
            let region = sides[side][id as usize];
            pairs += active[1 - side].iter().filter(|(_, other)| overlap(&region, other)).count();
            places[side][id as usize] = active[side].len() as u32;
            active[side].push((id, region));
        } else {
            let place = places[side][id as usize];
            active[side].swap_remove(place as usize);
            if let Some((moved, _)) = active[side].get(place as usize) {
                places[side][*moved as usize] = place;
            }
        }
    }
    Some(pairs)
}

/// Pairs that overlap in the first dimension: all, but for those of which one ends before the other
/// begins.
fn overlaps_of_first<const D: usize>(sides: [&[Region<D>]; 2]) -> u64 {
    let sorted = |side: usize, bound: usize| {
        let mut bounds: Vec<u32> = sides[side].iter().map(|region| region[0][bound]).collect();
        bounds.sort_unstable();
        bounds
    };
    let apart = |one: usize| {
        let (lowers, uppers) = (sorted(one, 0), sorted(1 - one, 1));
        lowers.iter().map(|lower| uppers.partition_point(|upper| upper <= lower) as u64).sum::<u64>()
    };
    sides[0].len() as u64 * sides[1].len() as u64 - apart(0) - apart(1)
}
