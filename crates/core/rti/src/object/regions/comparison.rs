//! The regions with which a federate subscribes an attribute, compared with the update regions of an
//! instance: for the explanation why it does or does not receive updates.

use super::super::federate::Federate;
use super::super::instance::Instance;
use super::super::objects::Objects;
use super::overlap::{Separation, Usage, separation};
use crate::wire::{Region, RegionSet};
use hla::fom::Fdd;
use hla::handle::{AttributeHandle, ObjectClassHandle, RegionHandle};

/// Maximum number of pairs of regions that one explanation compares. Each takes some ten
/// nanoseconds, and the node serves no other federate in the meantime.
pub(crate) const REGIONS_COMPARED_MAX: usize = 100_000;

/// Maximum number of pairs that are described for one attribute. No person reads more of them.
const SEPARATED_MAX: usize = 8;

/// The outcome.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Comparison {
    /// The first update region and subscribed region that overlap.
    pub(crate) overlapping: Option<(RegionHandle, RegionHandle)>,
    /// The first pairs that do not: the update region, the subscribed region, and the reason, in
    /// which the ranges of the update region come first.
    pub(crate) separated: Vec<(RegionHandle, RegionHandle, Separation)>,
    /// There are more pairs than could be compared.
    pub(crate) is_cut_short: bool,
}

impl Comparison {
    /// Compares regions until two of them overlap. Each comparison takes one of `left`.
    fn of(
        (update, of_update): (&RegionSet, Usage<'_>),
        (subscribed, of_subscribed): (impl Iterator<Item = Region>, Usage<'_>),
        left: &mut usize,
    ) -> Self {
        let mut comparison = Self::default();
        for subscribed in subscribed {
            for update in update.iter() {
                if *left == 0 {
                    comparison.is_cut_short = true;
                    return comparison;
                }
                *left -= 1;
                match separation(update, of_update, &subscribed, of_subscribed) {
                    None => {
                        comparison.overlapping = Some((update.handle, subscribed.handle));
                        return comparison;
                    }
                    Some(reason) if comparison.separated.len() < SEPARATED_MAX => {
                        comparison.separated.push((update.handle, subscribed.handle, reason));
                    }
                    Some(_) => {}
                }
            }
        }
        comparison
    }
}

impl Objects {
    /// Compares the regions with which `federate` subscribes an attribute at `class` with the update
    /// regions of the attribute of `object`.
    pub(crate) fn compare_regions(
        &self,
        federate: &Federate,
        class: ObjectClassHandle,
        (object, attribute): (&Instance, AttributeHandle),
        left: &mut usize,
    ) -> Comparison {
        let model: &Fdd = &self.model;
        let distribution = &federate.distribution;
        let subscriptions = distribution.attributes.get(&class);
        let subscribed = subscriptions.into_iter().flat_map(|subscriptions| subscriptions.of(attribute));
        let subscribed = subscribed.filter_map(|(region, _)| distribution.specified(region));
        Comparison::of(
            (object.regions_of(attribute), Usage::of_attribute(model, object.class, attribute)),
            (subscribed, Usage::of_attribute(model, class, attribute)),
            left,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::DimensionRange;
    use hla::fom::{Edition, Limits, Module};
    use hla::handle::DimensionHandle;

    /// A class C with an attribute a. It has the dimensions X, without a default range, and Y with
    /// the default range [0, 10).
    fn model() -> Fdd {
        let dimension = |name: &str, default: &str| {
            format!(
                "<dimension><name>{name}</name><upperBound>100</upperBound><value>{default}</value></dimension>"
            )
        };
        let text = format!(
            "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass>\
             <name>HLAobjectRoot</name><objectClass><name>C</name>\
             <dimensions><dimension>X</dimension><dimension>Y</dimension></dimensions>\
             <attribute><name>a</name><dataType>HLAcount</dataType><transportation>HLAreliable</transportation>\
             <order>Receive</order></attribute></objectClass></objectClass></objects>\
             <dimensions>{}{}</dimensions></objectModel>",
            dimension("X", "Excluded"),
            dimension("Y", "[0..10)")
        );
        let (module, _) = Module::read("C.xml", text.as_bytes(), &Limits::default()).unwrap();
        Fdd::standard(Edition::Hla2025).extend(&[module]).unwrap().0
    }

    fn range(model: &Fdd, (dimension, lower, upper): (&str, u32, u32)) -> DimensionRange {
        DimensionRange { dimension: model.dimension_by_name(dimension).unwrap(), lower, upper }
    }

    fn region(model: &Fdd, number: u64, ranges: &[(&str, u32, u32)]) -> Region {
        let mut ranges: Vec<_> = ranges.iter().map(|&of| range(model, of)).collect();
        ranges.sort_by_key(|range| range.dimension);
        Region { handle: RegionHandle(number), ranges: ranges.into() }
    }

    fn usage(model: &Fdd) -> Usage<'_> {
        let class = model.object_class_by_name("HLAobjectRoot.C").unwrap();
        Usage::of_attribute(model, class, model.attribute_by_name(class, "a").unwrap())
    }

    #[test]
    fn every_dimension_that_separates_two_regions_is_named() {
        let model = model();
        let usage = usage(&model);
        let between = |a: &[(&str, u32, u32)], b: &[(&str, u32, u32)]| {
            separation(&region(&model, 1, a), usage, &region(&model, 2, b), usage)
        };
        let apart = |pairs: &[[(&str, u32, u32); 2]]| {
            Some(Separation::Apart(
                pairs.iter().map(|&[a, b]| (range(&model, a), range(&model, b))).collect(),
            ))
        };
        assert_eq!(between(&[("X", 0, 5)], &[("X", 4, 9)]), None);
        assert_eq!(
            between(&[("X", 0, 5)], &[("X", 5, 9)]),
            apart(&[[("X", 0, 5), ("X", 5, 9)]]),
            "an upper bound does not belong to its range"
        );
        let both = [[("X", 0, 5), ("X", 7, 9)], [("Y", 0, 5), ("Y", 20, 30)]];
        assert_eq!(between(&[("X", 0, 5), ("Y", 0, 5)], &[("X", 7, 9), ("Y", 20, 30)]), apart(&both));
        assert_eq!(
            between(&[("X", 0, 5)], &[("Y", 20, 30)]),
            apart(&[[("Y", 0, 10), ("Y", 20, 30)]]),
            "a region without Y has its default range, and one without X none"
        );
        assert_eq!(between(&[("X", 0, 5)], &[]), None, "both have the default range of Y");
    }

    #[test]
    fn regions_without_a_common_dimension_are_told_from_those_apart() {
        let model = Fdd::standard(Edition::Hla2025);
        let usage = Usage::of_attribute(&model, ObjectClassHandle(1), AttributeHandle(1));
        let on = |number, dimension| Region {
            handle: RegionHandle(number),
            ranges: vec![DimensionRange { dimension: DimensionHandle(dimension), lower: 0, upper: 1 }].into(),
        };
        assert_eq!(
            separation(&on(1, 1), usage, &on(2, 2), usage),
            Some(Separation::NothingInCommon),
            "neither has a default range here"
        );
    }

    #[test]
    fn the_comparison_ends_at_the_first_overlap_or_when_it_has_become_too_long() {
        let model = model();
        let usage = usage(&model);
        let update: RegionSet =
            [region(&model, 1, &[("X", 0, 5)]), region(&model, 2, &[("X", 50, 60)])].into_iter().collect();
        let subscribed =
            || [region(&model, 3, &[("X", 70, 80)]), region(&model, 4, &[("X", 55, 56)])].into_iter();
        let mut left = 10;
        let all = Comparison::of((&update, usage), (subscribed(), usage), &mut left);
        assert_eq!(all.overlapping, Some((RegionHandle(2), RegionHandle(4))));
        assert_eq!((all.separated.len(), all.is_cut_short, left), (3, false, 6));
        let mut left = 2;
        let some = Comparison::of((&update, usage), (subscribed(), usage), &mut left);
        assert_eq!((some.overlapping, some.separated.len(), some.is_cut_short), (None, 2, true));
        let mut left = 1_000;
        let many = (0..100).map(|number| region(&model, number, &[("X", 90, 91)]));
        let many = Comparison::of((&update, usage), (many, usage), &mut left);
        assert_eq!((many.separated.len(), many.is_cut_short, left), (SEPARATED_MAX, false, 800));
    }
}
