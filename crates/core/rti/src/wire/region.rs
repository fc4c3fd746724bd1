//! Regions as messages carry them: by value, so that a receiver needs to know nothing of the regions
//! of other nodes.

use super::{Reader, Writer};
use hla::api;
use hla::handle::{DimensionHandle, RegionHandle};
use router::WireError;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::sync::Arc;

/// The half-open range `[lower, upper)` of a region on one dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct DimensionRange {
    pub(crate) dimension: DimensionHandle,
    pub(crate) lower: u32,
    pub(crate) upper: u32,
}

impl DimensionRange {
    /// No values of a dimension: of a region whose place is not known here.
    pub(crate) fn nowhere(dimension: DimensionHandle) -> Self {
        Self { dimension, lower: u32::MAX, upper: u32::MAX }
    }

    /// Whether the two ranges have a value in common, whatever their dimensions.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.lower < other.upper && other.lower < self.upper
    }
}

/// The specification of a region (9.1.2): its committed ranges, in the order of their dimensions.
pub(crate) type Specification = SmallVec<[DimensionRange; 2]>;

/// A region with its specification.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Region {
    pub(crate) handle: RegionHandle,
    pub(crate) ranges: Specification,
}

/// The regions with which a message is sent, in the order of their handles; empty for the default
/// region. They narrow the set of its receivers (clause 9).
///
/// All messages of an instance share one copy.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<Region>", into = "Vec<Region>")]
pub(crate) struct RegionSet(Option<Arc<[Region]>>);

impl PartialEq for RegionSet {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            // Each update is compared with its instance, and nearly always they share the copy.
            (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own == other,
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}

impl Eq for RegionSet {}

impl RegionSet {
    /// The default region.
    pub(crate) const DEFAULT: &Self = &Self(None);

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Region> {
        self.0.as_deref().unwrap_or_default().iter()
    }

    /// Maximum octets of the set on the wire.
    pub(crate) fn wire_bytes_max(&self) -> usize {
        10 + self.iter().map(|region| 20 + 15 * region.ranges.len()).sum::<usize>()
    }

    pub(crate) fn write(&self, out: &mut impl Writer) {
        out.number(self.iter().len() as u64);
        for region in self.iter() {
            out.number(region.handle.0);
            out.number(region.ranges.len() as u64);
            for range in &region.ranges {
                out.number(range.dimension.0);
                out.number(range.lower);
                out.number(range.upper - range.lower);
            }
        }
    }

    pub(crate) fn read(r: &mut Reader) -> Result<Self, WireError> {
        let regions = r.list("the number of regions", |r| {
            let handle = RegionHandle(r.u64("a region")?);
            let ranges = r.list("the number of ranges", read_range)?.into();
            Ok::<_, WireError>(Region { handle, ranges })
        })?;
        Ok(regions.into_iter().collect())
    }

    /// The form in which callbacks convey regions.
    pub(crate) fn to_api(&self) -> api::ConveyedRegionSet {
        let range = |range: &DimensionRange| api::DimensionAndRange {
            dimension_handle: Some(range.dimension),
            range_bounds: Some(api::RangeBounds { lower: range.lower, upper: range.upper }),
        };
        let conveyed = |region: &Region| api::ConveyedRegion {
            dimension_and_range: region.ranges.iter().map(range).collect(),
        };
        api::ConveyedRegionSet { conveyed_regions: self.iter().map(conveyed).collect() }
    }
}

impl From<Vec<Region>> for RegionSet {
    fn from(regions: Vec<Region>) -> Self {
        regions.into_iter().collect()
    }
}

impl From<RegionSet> for Vec<Region> {
    fn from(set: RegionSet) -> Self {
        set.iter().cloned().collect()
    }
}

impl FromIterator<Region> for RegionSet {
    fn from_iter<Regions: IntoIterator<Item = Region>>(regions: Regions) -> Self {
        let regions: Arc<[Region]> = regions.into_iter().collect();
        Self((!regions.is_empty()).then_some(regions))
    }
}

fn read_range(r: &mut Reader) -> Result<DimensionRange, WireError> {
    let (dimension, lower) = (DimensionHandle(r.u32("a dimension")?), r.u32("a lower bound")?);
    let extent = r.u32("the extent of a range")?;
    let upper = lower.checked_add(extent).filter(|&upper| upper > lower || lower == u32::MAX);
    let upper = upper.ok_or_else(|| {
        WireError(format!("a range that begins at {lower} cannot have the extent {extent}"))
    })?;
    Ok(DimensionRange { dimension, lower, upper })
}
