//! The grid of cells, and the cells that a simulator subscribes.

use super::message::Area;
use std::collections::BTreeMap;

/// Cells on a side of a block. A block has 64 cells, one for each bit of a `u64`.
const BLOCK: u32 = 8;

/// A square grid of cells with periodic boundaries, so that no position is special. The upper 26
/// bits of a cell's number are the number of its block (8 by 8 cells), the lower 6 its position
/// there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grid {
    /// Cells on a side.
    side: u32,
}

/// A position, in cells from the corner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Grid {
    /// A grid of such a size that the mean number of entities per cell is `per_cell`, or close to
    /// it.
    pub(super) fn for_entities(entities: usize, per_cell: f64) -> Self {
        let side = libm::sqrt(entities as f64 / per_cell).round().max(1.0);
        Self { side: side as u32 }
    }

    /// Cells on a side.
    pub(super) fn side(self) -> u32 {
        self.side
    }

    /// The same position with both coordinates from 0 to below the side.
    pub(super) fn wrap(self, place: Place) -> Place {
        let side = f64::from(self.side);
        // A value just below zero may be rounded up to the side itself.
        let one = |value: f64| {
            let inside = value - libm::floor(value / side) * side;
            if inside < side { inside } else { 0.0 }
        };
        Place { x: one(place.x), y: one(place.y) }
    }

    /// The cell of a [wrapped](Grid::wrap) position.
    pub(super) fn cell(self, place: Place) -> u32 {
        self.number(place.x as u32, place.y as u32)
    }

    fn number(self, x: u32, y: u32) -> u32 {
        let block = y / BLOCK * self.side.div_ceil(BLOCK) + x / BLOCK;
        block * BLOCK * BLOCK + y % BLOCK * BLOCK + x % BLOCK
    }

    /// A cell and all cells up to `sight` cells from it in each direction. On a small grid some
    /// cells repeat.
    pub(super) fn around(self, cell: u32, sight: u32) -> impl Iterator<Item = u32> {
        let (block, place) = (cell / (BLOCK * BLOCK), cell % (BLOCK * BLOCK));
        let blocks = self.side.div_ceil(BLOCK);
        let (x, y) = (block % blocks * BLOCK + place % BLOCK, block / blocks * BLOCK + place / BLOCK);
        let (side, reach) = (u64::from(self.side), u64::from(sight));
        let near = move |at: u32| {
            // Add a multiple of the side, so that nothing is below zero.
            let from = u64::from(at) + (reach / side + 1) * side - reach;
            (from..=from + 2 * reach).map(move |at| (at % side) as u32)
        };
        near(y).flat_map(move |y| near(x).map(move |x| self.number(x, y)))
    }
}

/// Position on a curve that keeps neighbours close, with the bits of both coordinates interleaved
/// (Morton order).
pub(super) fn morton(place: Place) -> u64 {
    let spread = |value: f64| {
        let bits = (value.max(0.0) * 256.0) as u64 & 0xffff_ffff;
        (0..32).fold(0, |sum, bit| sum | (bits >> bit & 1) << (2 * bit))
    };
    spread(place.x) | spread(place.y) << 1
}

/// The interest in one block.
#[derive(Clone, Debug)]
struct Wanted {
    /// Number of entities that see each cell.
    by: [u32; 64],
    cells: u64,
}

/// The cells that the entities of one simulator see.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    blocks: BTreeMap<u32, Wanted>,
}

impl View {
    /// Whether a cell is seen.
    pub(super) fn sees(&self, cell: u32) -> bool {
        self.blocks.get(&(cell / 64)).is_some_and(|wanted| wanted.cells >> (cell % 64) & 1 == 1)
    }

    /// Moves an entity's view from the cells `old` to the cells `new`. Calls `changed` with the
    /// interest before and after for each block where it differs.
    pub(super) fn change(
        &mut self,
        old: impl Iterator<Item = u32>,
        new: impl Iterator<Item = u32>,
        mut changed: impl FnMut(Area, Area),
    ) {
        let mut before: BTreeMap<u32, u64> = BTreeMap::new();
        let steps = new.map(|cell| (cell, true)).chain(old.map(|cell| (cell, false)));
        for (cell, seen) in steps {
            let (block, place) = (cell / 64, cell % 64);
            let wanted = self.blocks.entry(block).or_insert(Wanted { by: [0; 64], cells: 0 });
            before.entry(block).or_insert(wanted.cells);
            let by = &mut wanted.by[place as usize];
            *by = if seen { *by + 1 } else { by.saturating_sub(1) };
            match *by {
                0 => wanted.cells &= !(1 << place),
                _ => wanted.cells |= 1 << place,
            }
        }
        for (block, cells) in before {
            let after = self.blocks.get(&block).map_or(0, |wanted| wanted.cells);
            if after != cells {
                changed(Area { block, cells }, Area { block, cells: after });
            }
            if after == 0 {
                self.blocks.remove(&block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn cells_around_one_are_those_of_a_square_over_the_edges() {
        let grid = Grid { side: 20 };
        let at = |x: u32, y: u32| grid.cell(Place { x: f64::from(x) + 0.5, y: f64::from(y) + 0.5 });
        let all: BTreeSet<u32> = (0..400).map(|n| at(n % 20, n / 20)).collect();
        assert_eq!(all.len(), 400, "each cell has a number of its own");
        let around: BTreeSet<u32> = grid.around(at(0, 19), 1).collect();
        let expected = [19, 0, 1].into_iter().flat_map(|x| [18, 19, 0].map(|y| at(x, y))).collect();
        assert_eq!(around, expected);
        assert_eq!(grid.around(at(7, 8), 2).collect::<BTreeSet<_>>().len(), 25);
        // A range beyond a small grid covers the whole grid.
        let small = Grid { side: 2 };
        assert_eq!(small.around(0, 5).collect::<BTreeSet<_>>().len(), 4);
    }

    #[test]
    fn places_are_wrapped_and_near_ones_stay_near() {
        let grid = Grid::for_entities(1_000, 2.5);
        assert_eq!(grid.side(), 20);
        assert_eq!(grid.wrap(Place { x: -0.5, y: 41.0 }), Place { x: 19.5, y: 1.0 });
        assert_eq!(grid.wrap(Place { x: -1e-18, y: 20.0 }), Place { x: 0.0, y: 0.0 });
        let order = |x, y| morton(Place { x, y });
        assert!(order(0.0, 0.0) < order(0.9, 0.9) && order(0.9, 0.9) < order(1.0, 0.0));
        assert!(order(1.9, 1.9) < order(0.0, 2.0) && order(3.9, 3.9) < order(4.0, 0.0));
    }

    proptest! {
        /// Compared with sets: the interest consists of the cells that some entity sees, and every
        /// change of a block is reported once.
        #[test]
        fn a_view_is_what_its_entities_see(steps in prop::collection::vec((0usize..4, 0u32..200), 1..40), sight in 0u32..3) {
            let grid = Grid { side: 14 };
            let cell = |n: u32| grid.cell(Place { x: f64::from(n % 14), y: f64::from(n / 14 % 14) });
            let mut entities = [None::<u32>; 4];
            let mut view = View::default();
            let mut told: BTreeMap<u32, u64> = BTreeMap::new();
            for (entity, at) in steps {
                let old = entities[entity].replace(cell(at));
                let mut news = Vec::new();
                view.change(
                    old.into_iter().flat_map(|old| grid.around(old, sight)),
                    grid.around(cell(at), sight),
                    |before, after| news.push((before, after)),
                );
                for (before, after) in news {
                    prop_assert_eq!(before.block, after.block);
                    prop_assert_eq!(told.insert(after.block, after.cells).unwrap_or(0), before.cells);
                }
                let seen: BTreeSet<u32> =
                    entities.into_iter().flatten().flat_map(|at| grid.around(at, sight)).collect();
                let wanted: BTreeSet<u32> = told
                    .iter()
                    .flat_map(|(&block, &cells)| (0..64).filter(move |at| cells >> at & 1 == 1).map(move |at| block * 64 + at))
                    .collect();
                prop_assert_eq!(&wanted, &seen);
                for number in 0..196 {
                    prop_assert_eq!(view.sees(cell(number)), seen.contains(&cell(number)));
                }
            }
        }
    }
}
