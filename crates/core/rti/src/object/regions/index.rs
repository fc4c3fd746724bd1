//! An index of instances by their update regions. It finds those that a subscription region may have
//! reached or left when it moved, so that nobody has to look at all instances of a class.

use super::super::objects::Objects;
use super::overlap::Usage;
use crate::wire::Region;
use base::HandleMap;
use ddm::{DIMENSIONS_MAX, Matching, Population, Range};
use hla::fom::Fdd;
use hla::handle::{AttributeHandle, DimensionHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};

/// Number of changes that wait before the tree applies them. Each takes a microsecond.
const WAITING_MAX: usize = 256;

/// The instances of one class that have update regions.
#[derive(Debug)]
struct OfClass {
    /// The dimensions by which they are told apart.
    dimensions: Vec<DimensionHandle>,
    matching: Matching,
    /// Their numbers in the matching.
    numbers: HandleMap<ObjectInstanceHandle, u32>,
    instances: Vec<ObjectInstanceHandle>,
    /// Numbers that are free again.
    free: Vec<u32>,
    /// Number of changes that the matching has not applied.
    waiting: usize,
}

/// See the module. By the class at which instances are registered.
#[derive(Debug, Default)]
pub(crate) struct RegionIndex(BTreeMap<ObjectClassHandle, OfClass>);

impl OfClass {
    /// `None`: regions with the class have no dimensions, so that none of them overlaps another.
    fn new(dimensions: Vec<DimensionHandle>) -> Option<Self> {
        let matching = Matching::new(dimensions.len()).ok()?;
        let (numbers, instances, free) = (HandleMap::default(), Vec::new(), Vec::new());
        Some(Self { dimensions, matching, numbers, instances, free, waiting: 0 })
    }

    fn put(&mut self, instance: ObjectInstanceHandle, bounds: &[Range]) {
        let result = match self.numbers.get(&instance) {
            Some(&number) => self.matching.modify(Population::Update, number, bounds),
            None => {
                let number = self.free.pop().unwrap_or_else(|| {
                    self.instances.push(instance);
                    u32::try_from(self.instances.len() - 1).unwrap_or(u32::MAX)
                });
                self.numbers.insert(instance, number);
                if let Some(place) = self.instances.get_mut(number as usize) {
                    *place = instance;
                }
                self.matching.insert(Population::Update, number, bounds)
            }
        };
        debug_assert!(result.is_ok(), "{instance:?}: {result:?}");
        self.note_change();
    }

    fn remove(&mut self, instance: ObjectInstanceHandle) {
        if let Some(number) = self.numbers.remove(&instance) {
            let result = self.matching.remove(Population::Update, number);
            debug_assert!(result.is_ok(), "{instance:?}: {result:?}");
            self.free.push(number);
            self.note_change();
        }
    }

    fn note_change(&mut self) {
        self.waiting += 1;
        if self.waiting >= WAITING_MAX {
            self.apply();
        }
    }

    fn apply(&mut self) {
        if std::mem::take(&mut self.waiting) > 0 {
            self.matching.commit(usize::MAX);
        }
    }

    fn find(&mut self, bounds: &[Range], found: &mut BTreeSet<ObjectInstanceHandle>) {
        self.apply();
        let mut numbers = Vec::new();
        let result = self.matching.overlapping(Population::Update, bounds, &mut numbers);
        debug_assert!(result.is_ok(), "{result:?}");
        found.extend(numbers.iter().filter_map(|&number| self.instances.get(number as usize)));
    }
}

impl RegionIndex {
    pub(crate) fn remove(&mut self, class: ObjectClassHandle, instance: ObjectInstanceHandle) {
        if let Some(of) = self.0.get_mut(&class) {
            of.remove(instance);
        }
    }
}

impl Objects {
    /// Notes that the update regions of an instance have changed.
    pub(crate) fn index_regions(&mut self, instance: ObjectInstanceHandle) {
        let Some(object) = self.instances.get(instance) else { return };
        let class = object.class;
        if object.all_regions().is_empty() {
            return self.instances.regions.remove(class, instance);
        }
        if !self.instances.regions.0.contains_key(&class) {
            let Some(of) = OfClass::new(dimensions_of(&self.model, class)) else { return };
            self.instances.regions.0.insert(class, of);
        }
        let Self { model, instances, .. } = self;
        let Some(object) = instances.get(instance) else { return };
        let Some(of) = instances.regions.0.get(&class) else { return };
        let mut around: Vec<Option<Range>> = vec![None; of.dimensions.len()];
        for (attribute, regions) in object.all_regions() {
            let usage = Usage::of_attribute(model, class, *attribute);
            for region in regions.iter() {
                for (bounds, &dimension) in around.iter_mut().zip(&of.dimensions) {
                    let range = range_on(region, usage, dimension);
                    *bounds = Some(bounds.map_or(range, |bounds| hull(bounds, range)));
                }
            }
        }
        let bounds: Vec<Range> = around.into_iter().map(|range| range.unwrap_or(Range::FULL)).collect();
        if let Some(of) = instances.regions.0.get_mut(&class) {
            of.put(instance, &bounds);
        }
    }

    /// The instances of `class` and below that have an update region that may overlap one of these
    /// subscription regions, used with an attribute at `class`. None that does is missing.
    pub(super) fn find_instances<'a>(
        &mut self,
        class: ObjectClassHandle,
        regions: impl Iterator<Item = (AttributeHandle, &'a Region)>,
    ) -> BTreeSet<ObjectInstanceHandle> {
        let Self { model, instances, .. } = self;
        let mut found = BTreeSet::new();
        let regions: Vec<_> = regions.collect();
        for (&below, of) in &mut instances.regions.0 {
            if !model.is_subclass(below, class) {
                continue;
            }
            let mut boxes: Vec<Vec<Range>> = Vec::new();
            for &(attribute, region) in &regions {
                let usage = Usage::of_attribute(model, class, attribute);
                let bounds =
                    of.dimensions.iter().map(|&dimension| range_on(region, usage, dimension)).collect();
                // Most regions are used with several attributes alike.
                if !boxes.contains(&bounds) {
                    of.find(&bounds, &mut found);
                    boxes.push(bounds);
                }
            }
        }
        found
    }
}

/// The range of a region on a dimension; all of it if the region has none, neither by default.
fn range_on(region: &Region, usage: Usage<'_>, dimension: DimensionHandle) -> Range {
    let range = usage.range_of(&region.ranges, dimension);
    // An empty range overlaps nothing, and there is no empty range in the index: the last value does.
    let range = range.map(|range| Range::new(range.lower.min(u32::MAX - 1), range.upper));
    range.and_then(Result::ok).unwrap_or(Range::FULL)
}

/// The least range that contains both.
fn hull(a: Range, b: Range) -> Range {
    Range::new(a.lower().min(b.lower()), a.upper().max(b.upper())).unwrap_or(Range::FULL)
}

/// The dimensions that regions used with a class can have. Of very many the first ones do: the index
/// only has to find all that overlap.
fn dimensions_of(model: &Fdd, class: ObjectClassHandle) -> Vec<DimensionHandle> {
    let Some(known) = model.object_class(class) else { return Vec::new() };
    let attributes = known.attributes.iter().filter_map(|&attribute| model.attribute(attribute));
    let all = attributes.flat_map(|attribute| &attribute.dimensions).chain(&known.dimensions);
    let all: BTreeSet<DimensionHandle> = all.copied().collect();
    all.into_iter().take(DIMENSIONS_MAX).collect()
}
