//! Whether regions overlap (9.1.2).

use crate::wire::{DimensionRange, Region, RegionSet, Specification};
use hla::fom::{DefaultRange, Fdd};
use hla::handle::{AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle};
use std::collections::BTreeSet;

/// The use of regions with an attribute or an interaction class: the dimensions that are available
/// there. A region that lacks one of them has the dimension's default range, unless the object model
/// excludes it.
#[derive(Clone, Copy)]
pub(super) struct Usage<'a> {
    model: &'a Fdd,
    /// Dimensions of the class.
    of_class: &'a [DimensionHandle],
    /// Dimensions of the attribute itself (2010).
    of_attribute: &'a [DimensionHandle],
}

impl<'a> Usage<'a> {
    pub(super) fn of_attribute(model: &'a Fdd, class: ObjectClassHandle, attribute: AttributeHandle) -> Self {
        let of_class = model.object_class(class).map_or(&[][..], |class| &class.dimensions);
        let of_attribute = model.attribute(attribute).map_or(&[][..], |attribute| &attribute.dimensions);
        Self { model, of_class, of_attribute }
    }

    pub(super) fn of_interaction(model: &'a Fdd, class: InteractionClassHandle) -> Self {
        let of_class = model.interaction_class(class).map_or(&[][..], |class| &class.dimensions);
        Self { model, of_class, of_attribute: &[] }
    }

    /// The ranges of a region that overlaps no other.
    pub(super) fn nowhere(&self) -> Specification {
        let all: BTreeSet<_> = self.of_class.iter().chain(self.of_attribute).copied().collect();
        all.into_iter().map(DimensionRange::nowhere).collect()
    }

    /// Whether regions used here may have the dimension.
    pub(super) fn has(&self, dimension: DimensionHandle) -> bool {
        self.of_class.contains(&dimension) || self.of_attribute.contains(&dimension)
    }

    /// The range on a dimension of a region with these ranges: its own, or else the default range.
    pub(super) fn range_of(
        &self,
        ranges: &[DimensionRange],
        dimension: DimensionHandle,
    ) -> Option<DimensionRange> {
        range(ranges, dimension).or_else(|| self.default_of(dimension))
    }

    /// The range of a region that lacks the dimension.
    fn default_of(&self, dimension: DimensionHandle) -> Option<DimensionRange> {
        match self.model.dimension(dimension).filter(|_| self.has(dimension))?.default {
            DefaultRange::Excluded => None,
            DefaultRange::Range { lower, upper } => Some(DimensionRange { dimension, lower, upper }),
        }
    }

    /// Default ranges of all dimensions.
    fn defaults(&self) -> impl Iterator<Item = DimensionRange> {
        let all = self.of_class.iter().chain(self.of_attribute);
        all.filter_map(|&dimension| self.default_of(dimension))
    }
}

/// Whether a region with the ranges `a` overlaps one of the regions `all`.
pub(super) fn overlaps_any(
    a: &[DimensionRange],
    of_a: Usage<'_>,
    all: &RegionSet,
    of_all: Usage<'_>,
) -> bool {
    all.iter().any(|b| overlap(a, of_a, &b.ranges, of_all))
}

/// Whether two regions with these ranges, each with its usage, overlap: they have a common dimension,
/// and on each common dimension a common value.
fn overlap(a: &[DimensionRange], of_a: Usage<'_>, b: &[DimensionRange], of_b: Usage<'_>) -> bool {
    let mut common = named_in_common(a, of_a, b, of_b).peekable();
    let is_common = common.peek().is_some() || is_default_common(of_a, of_b);
    is_common && common.all(|(a, b)| a.overlaps(&b))
}

/// The reason why two regions do not overlap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Separation {
    /// They have no common dimension.
    NothingInCommon,
    /// The ranges of both, on each common dimension on which they have no common value.
    Apart(Vec<(DimensionRange, DimensionRange)>),
}

/// The reason why two regions, each with its usage, do not overlap; `None` if they do.
pub(super) fn separation(a: &Region, of_a: Usage<'_>, b: &Region, of_b: Usage<'_>) -> Option<Separation> {
    let mut common = named_in_common(&a.ranges, of_a, &b.ranges, of_b).peekable();
    if common.peek().is_none() && !is_default_common(of_a, of_b) {
        return Some(Separation::NothingInCommon);
    }
    let apart: Vec<_> = common.filter(|(a, b)| !a.overlaps(b)).collect();
    (!apart.is_empty()).then_some(Separation::Apart(apart))
}

/// The ranges of two regions on their common dimensions, as far as one of them was created with the
/// dimension.
fn named_in_common(
    a: &[DimensionRange],
    of_a: Usage<'_>,
    b: &[DimensionRange],
    of_b: Usage<'_>,
) -> impl Iterator<Item = (DimensionRange, DimensionRange)> {
    let named_by_a = a.iter().filter_map(move |&own| Some((own, of_b.range_of(b, own.dimension)?)));
    let only_by_b = b.iter().filter(|own| range(a, own.dimension).is_none());
    named_by_a.chain(only_by_b.filter_map(move |&own| Some((of_a.default_of(own.dimension)?, own))))
}

/// Whether both usages have a common dimension with a default range. Where both regions lack a
/// dimension, both have its default range, which overlaps itself.
fn is_default_common(of_a: Usage<'_>, of_b: Usage<'_>) -> bool {
    of_a.defaults().any(|default| of_b.default_of(default.dimension).is_some())
}

fn range(ranges: &[DimensionRange], dimension: DimensionHandle) -> Option<DimensionRange> {
    ranges.iter().find(|range| range.dimension == dimension).copied()
}
