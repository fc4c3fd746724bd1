//! The order in which a commit applies its changes: regions that are near each other in space follow
//! each other, so that the nodes around them are still in the processor's caches.
//!
//! With half a million regions of each population, a tree is larger than any cache. In the order of
//! the caller, each change would wait for memory at every leaf that it meets.

/// Bits of a place on the curve: a number of cells that is far greater than that of the leaves which
/// a cache holds.
const BITS: u32 = 30;

/// The numbers of boxes, each of `sides` bounds, along a Z-order curve (Morton 1966) through their
/// lower bounds. Boxes in one cell keep their order.
pub(crate) fn along_curve(boxes: &[i32], sides: usize) -> impl Iterator<Item = usize> + use<> {
    let dimensions = sides / 2;
    // With more dimensions than bits, the first ones decide.
    let used = dimensions.min(BITS as usize);
    let levels = BITS / used as u32;
    let axes: Vec<Axis> = (0..used).map(|dimension| Axis::new(boxes, sides, dimension, levels)).collect();
    let mut places: Vec<(u32, u32)> = boxes
        .chunks_exact(sides)
        .zip(0..)
        .map(|(bounds, number)| (place(&axes, levels, bounds), number))
        .collect();
    places.sort_unstable();
    places.into_iter().map(|(_, number)| number as usize)
}

/// The cells of a dimension: between the least and the greatest lower bound, whatever part of all
/// values a world uses.
struct Axis {
    dimension: usize,
    least: i32,
    /// Bits of an offset that do not tell cells apart.
    shift: u32,
}

impl Axis {
    fn new(boxes: &[i32], sides: usize, dimension: usize, levels: u32) -> Self {
        let lowers = || boxes.chunks_exact(sides).map(|bounds| bounds[2 * dimension]);
        let least = lowers().min().unwrap_or_default();
        let greatest = lowers().max().unwrap_or_default();
        let width = u32::BITS - greatest.abs_diff(least).leading_zeros();
        Self { dimension, least, shift: width.saturating_sub(levels) }
    }

    fn cell(&self, bounds: &[i32]) -> u32 {
        bounds[2 * self.dimension].abs_diff(self.least) >> self.shift
    }
}

/// The bits of the cells of all dimensions, the greatest first.
fn place(axes: &[Axis], levels: u32, bounds: &[i32]) -> u32 {
    let mut place = 0;
    for level in (0..levels).rev() {
        for axis in axes {
            place = place << 1 | axis.cell(bounds) >> level & 1;
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_of_a_square_follow_each_other() {
        let at = |x, y| [x, x + 9, y, y + 9];
        let boxes = [at(900, 900), at(0, 0), at(910, -20), at(0, 910), at(30, 20), at(900, 0)].concat();
        assert_eq!(along_curve(&boxes, 4).collect::<Vec<_>>(), [1, 4, 3, 2, 5, 0]);
    }

    #[test]
    fn every_box_is_named_once_in_any_number_of_dimensions() {
        for dimensions in [1, 2, 3, 4, 31, 32] {
            let boxes: Vec<i32> = (0..2 * dimensions * 50).map(|n| (n * 7919 % 613) as i32 - 300).collect();
            let mut order: Vec<_> = along_curve(&boxes, 2 * dimensions).collect();
            order.sort_unstable();
            assert!(order.into_iter().eq(0..50), "{dimensions} dimensions");
        }
        assert_eq!(along_curve(&[], 4).count(), 0);
        assert_eq!(along_curve(&[i32::MAX, i32::MAX, i32::MIN, 0], 2).collect::<Vec<_>>(), [1, 0]);
    }
}
