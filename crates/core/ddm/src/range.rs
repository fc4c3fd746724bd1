//! Half-open ranges, and the form in which nodes hold them.

use crate::Error;
use std::fmt;

/// The values from a lower bound up to, but not including, an upper bound: [lower, upper).
///
/// It has at least one value. The greatest upper bound is 2³² − 1, as in HLA, so that the greatest
/// value that a range can have is 2³² − 2.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Range {
    lower: u32,
    upper: u32,
}

impl Range {
    /// All values: also the range of a dimension that a region leaves out.
    pub const FULL: Self = Self { lower: 0, upper: u32::MAX };

    /// The range [lower, upper).
    ///
    /// # Errors
    ///
    /// [`Error::EmptyRange`], unless `lower < upper`.
    pub const fn new(lower: u32, upper: u32) -> Result<Self, Error> {
        if lower < upper { Ok(Self { lower, upper }) } else { Err(Error::EmptyRange { lower, upper }) }
    }

    /// The least value in the range.
    pub const fn lower(self) -> u32 {
        self.lower
    }

    /// The least value above the range.
    pub const fn upper(self) -> u32 {
        self.upper
    }

    /// Whether a value is in both ranges.
    pub const fn overlaps(self, other: Self) -> bool {
        self.lower < other.upper && other.lower < self.upper
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.lower, self.upper)
    }
}

/// A bound as a signed number of the same order: the least vector instructions of x86-64 compare
/// signed numbers only.
const fn signed(bound: u32) -> i32 {
    (bound ^ 0x8000_0000).cast_signed()
}

/// Writes a region to `bounds`: lower and upper bound, dimension by dimension.
pub(crate) fn write(bounds: &mut [i32], region: &[Range]) {
    for (bounds, range) in bounds.chunks_exact_mut(2).zip(region) {
        bounds.copy_from_slice(&[signed(range.lower), signed(range.upper)]);
    }
}

/// The difference of two bounds, the greater of them first.
pub(crate) const fn extent(upper: i32, lower: i32) -> u32 {
    upper.wrapping_sub(lower).cast_unsigned()
}

/// The bound, of 2d, whose values are spread most, in units of `scales`, one for each dimension.
/// `ends` tells the least and the greatest value of a bound.
pub(crate) fn widest(scales: &[f32], ends: impl Fn(usize) -> (i32, i32)) -> usize {
    let spreads = (0..2 * scales.len()).map(|side| {
        let (least, greatest) = ends(side);
        (extent(greatest, least) as f32 * scales[side / 2], side)
    });
    spreads.max_by(|(one, _), (other, _)| one.total_cmp(other)).map_or(0, |(_, side)| side)
}

/// Whether both boxes are there, and a point is in both.
pub(crate) fn overlap(one: &[i32], other: &[i32]) -> bool {
    !one.is_empty()
        && one.len() == other.len()
        && one
            .chunks_exact(2)
            .zip(other.chunks_exact(2))
            .all(|(one, other)| one[0] < other[1] && other[0] < one[1])
}

/// Whether `inner` lies in `outer`; the borders may meet.
pub(crate) fn contains(outer: &[i32], inner: &[i32]) -> bool {
    outer
        .chunks_exact(2)
        .zip(inner.chunks_exact(2))
        .all(|(outer, inner)| outer[0] <= inner[0] && inner[1] <= outer[1])
}

/// Whether `inner` lies in `outer` and meets none of its borders.
pub(crate) fn is_inside(outer: &[i32], inner: &[i32]) -> bool {
    outer
        .chunks_exact(2)
        .zip(inner.chunks_exact(2))
        .all(|(outer, inner)| outer[0] < inner[0] && inner[1] < outer[1])
}

/// Extends `cover` to the least box that contains `region` too.
pub(crate) fn extend(cover: &mut [i32], region: &[i32]) {
    for (cover, region) in cover.chunks_exact_mut(2).zip(region.chunks_exact(2)) {
        cover[0] = cover[0].min(region[0]);
        cover[1] = cover[1].max(region[1]);
    }
}
