//! The statements of the router paper on its figures 13 to 19, and what the runs say of each.

use crate::routers::Shape;

use super::file::Scenario;
use super::output::{Results, Row};
use base::stats::median;
use console::table::figure;

/// A statement of the paper.
pub(super) struct Claim {
    /// Its figures.
    pub(super) figure: &'static str,
    /// The statement, in short.
    pub(super) says: &'static str,
    /// The number that is compared, and the one of the paper.
    pub(super) measure: &'static str,
    pub(super) paper: &'static str,
    /// The same number of the runs of a reading, if it has such runs.
    pub(super) ours: fn(&Runs<'_>) -> Option<Ours>,
    /// The reason for the difference, or for the agreement.
    pub(super) why: &'static str,
}

/// The finding of the runs on a statement.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Ours {
    pub(super) text: String,
    pub(super) holds: bool,
}

/// The results of a reading.
pub(super) struct Runs<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) results: &'a Results,
}

/// The sizes of which the paper says that they are typical, in bytes.
const TYPICAL: std::ops::RangeInclusive<usize> = 1_024..=10_240;
/// The least size that counts as very large, in bytes.
const LARGE: usize = 1_000_000;
/// The size of figure 18, in bytes.
const FIGURE_18: usize = 8_192;
/// The distances that the paper measured.
const HOPS: [usize; 3] = [0, 2, 3];

// The paper gives words; these are our limits for them.

/// Curves are "common", "similar" or "nearly coincident" if the slowest takes at most so many times as
/// long as the fastest.
const ALIKE: f64 = 1.25;
/// A ratio is "essentially one" if it is no farther away.
const ONE: f64 = 0.05;
/// "Significantly" more is so many times as much.
const SIGNIFICANT: f64 = 1.5;
/// "Typically 2-4 times", of the median.
const TYPICALLY: std::ops::RangeInclusive<f64> = 2.0..=4.0;
/// "About 20 %" of the pairs.
const ABOUT_A_FIFTH: std::ops::RangeInclusive<f64> = 0.1..=0.3;
/// "Much longer": the paper's groups are 0.05 s to 0.006 s apart; half of that counts.
const MUCH_LONGER: f64 = 4.0;
/// A "rather narrow" distribution: standard deviation over mean.
const NARROW: f64 = 0.25;

impl Runs<'_> {
    /// The row of pairs that are all at the same size.
    fn row(&self, shape: Shape, hops: usize, size: usize) -> Option<&Row> {
        self.in_step().find(|row| (row.shape, row.hops, row.size) == (shape, hops, size))
    }

    fn in_step(&self) -> impl Iterator<Item = &Row> {
        self.results.rows.iter().filter(|row| self.scenario.studies[row.study].in_step())
    }

    fn mean(&self, shape: Shape, hops: usize, size: usize) -> Option<f64> {
        Some(self.row(shape, hops, size)?.times.mean)
    }

    /// The sizes of rows in step.
    fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.in_step().map(|row| row.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// A number for each size, as far as it has the rows.
    fn over<'a>(
        &'a self,
        is_of: impl Fn(usize) -> bool + 'a,
        number: impl Fn(usize) -> Option<f64> + 'a,
    ) -> Vec<f64> {
        self.sizes().into_iter().filter(|size| is_of(*size)).filter_map(number).collect()
    }

    /// The slowest over the fastest of some curves at a size.
    fn apart(&self, curves: &[(Shape, usize)], size: usize) -> Option<f64> {
        let means: Option<Vec<f64>> =
            curves.iter().map(|(shape, hops)| self.mean(*shape, *hops, size)).collect();
        let ends = means?.into_iter().fold((f64::MAX, 0.0f64), |(min, max), m| (min.min(m), max.max(m)));
        Some(ends.1 / ends.0)
    }

    /// The row of pairs that go through all sizes by themselves, at the size of figure 18.
    fn late(&self, shape: Shape, hops: usize) -> Option<&Row> {
        let is_it = |row: &&Row| (row.shape, row.hops, row.size) == (shape, hops, FIGURE_18);
        self.results.rows.iter().filter(|row| !self.scenario.studies[row.study].in_step()).find(is_it)
    }
}

/// The least and the greatest of some numbers, with a judgement of both.
fn ends(numbers: &[f64], holds: impl Fn(f64, f64) -> bool) -> Option<Ours> {
    let (min, max) = numbers.iter().fold((f64::MAX, 0.0f64), |(min, max), n| (min.min(*n), max.max(*n)));
    let text =
        if figure(min) == figure(max) { figure(min) } else { format!("{} to {}", figure(min), figure(max)) };
    (!numbers.is_empty()).then(|| Ours { text, holds: holds(min, max) })
}

/// All six curves, and those of one topology.
fn curves(shapes: &[Shape]) -> Vec<(Shape, usize)> {
    shapes.iter().flat_map(|shape| HOPS.map(|hops| (*shape, hops))).collect()
}

/// The statements, in the order of the paper.
pub(super) const CLAIMS: [Claim; 9] = [
    Claim {
        figure: "13, 14",
        says: "all six curves meet for very large messages",
        measure: "slowest / fastest, 1 MB",
        paper: "about 1",
        ours: |runs| {
            let apart = runs
                .over(|size| size >= LARGE, |size| runs.apart(&curves(&[Shape::Tree, Shape::Mesh]), size));
            ends(&apart, |_, max| max <= ALIKE)
        },
        why: "48 pairs at once share the root's links at any size. Curves meet if pairs have the links to themselves and routers forward \
              pieces (alone), or if bytes cost federates more than the network (per-byte: 600 cycles for a byte, more than any host of 2005 needed)",
    },
    Claim {
        figure: "14",
        says: "mesh: 0, 2 and 3 hops are remarkably similar",
        measure: "slowest / fastest, 1 to 10 KB",
        paper: "about 1",
        ours: |runs| {
            let apart =
                runs.over(|size| TYPICAL.contains(&size), |size| runs.apart(&curves(&[Shape::Mesh]), size));
            ends(&apart, |_, max| max <= ALIKE)
        },
        why: "2 and 3 hops are equal, but 0 hops have one link and one router less; the RTI in the federates hides them (rti)",
    },
    Claim {
        figure: "13",
        says: "tree: 2 and 3 hops are significantly slower",
        measure: "over 0 hops, 1 to 10 KB",
        paper: "more than 1",
        ours: |runs| {
            let over = |hops| {
                move |size| Some(runs.mean(Shape::Tree, hops, size)? / runs.mean(Shape::Tree, 0, size)?)
            };
            let mut all = runs.over(|size| TYPICAL.contains(&size), over(2));
            all.extend(runs.over(|size| TYPICAL.contains(&size), over(3)));
            ends(&all, |min, _| min >= SIGNIFICANT)
        },
        why: "more links, and with 48 pairs the queues of upper routers. A cost of bytes in the federates hides both (per-byte)",
    },
    Claim {
        figure: "15",
        says: "at 0 hops tree and mesh are equal",
        measure: "R, all sizes",
        paper: "about 1",
        ours: |runs| {
            let ratio = |size| runs.row(Shape::Mesh, 0, size)?.speedup;
            ends(&runs.over(|_| true, ratio), |min, max| min >= 1.0 - ONE && max <= 1.0 + ONE)
        },
        why: "one leaf router or one Primary, the same machine",
    },
    Claim {
        figure: "15, 16",
        says: "at 2 and 3 hops the mesh is typically 2 to 4 times as fast",
        measure: "median R, 1 to 10 KB",
        paper: "2 to 4",
        ours: typical_ratio,
        why: "at 3 hops all 96 messages cross the root, which is full: R is 5 to 7 with TCP alone. The more a message costs its federates, the \
              nearer R is to 1 (rti); pairs that are alone wait for nobody (alone)",
    },
    Claim {
        figure: "18",
        says: "mesh, 8 KB: three nearly coincident, narrow distributions",
        measure: "slowest / fastest; std / mean",
        paper: "about 1; small",
        ours: |runs| {
            let rows: Option<Vec<&Row>> = HOPS.iter().map(|hops| runs.late(Shape::Mesh, *hops)).collect();
            let rows = rows?;
            let means = rows.iter().map(|row| row.times.mean);
            let (min, max) = means.fold((f64::MAX, 0.0f64), |(min, max), m| (min.min(m), max.max(m)));
            let wide = rows.iter().map(|row| row.times.std / row.times.mean).fold(0.0, f64::max);
            let holds = max / min <= ALIKE && wide <= NARROW;
            Some(Ours { text: format!("{}; {wide:.2}", figure(max / min)), holds })
        },
        why: "each distribution is narrow; 0 hops are apart as in figure 14, unless the RTI in the federates hides them (rti)",
    },
    Claim {
        figure: "18",
        says: "tree, 8 KB: the fastest pairs at 2 and 3 hops take longer",
        measure: "fastest over that of 0 hops",
        paper: "more than 1",
        ours: |runs| {
            let least = runs.late(Shape::Tree, 0)?.times.min;
            let over = |hops| Some(runs.late(Shape::Tree, hops)?.times.min / least);
            ends(&[over(2)?, over(3)?], |min, _| min >= SIGNIFICANT)
        },
        why: "more links",
    },
    Claim {
        figure: "18",
        says: "tree, 8 KB, 2 and 3 hops: a fifth of the pairs takes much longer",
        measure: "their share; times as long",
        paper: "20 %; 8",
        ours: |runs| {
            let splits = [runs.late(Shape::Tree, 2)?, runs.late(Shape::Tree, 3)?].map(|row| row.times.split);
            let is_so = |split: &experiment::stats::Split| {
                ABOUT_A_FIFTH.contains(&split.slow_share) && split.slow_over_fast >= MUCH_LONGER
            };
            let text =
                splits.map(|split| format!("{:.0} %; {:.1}", split.slow_share * 100.0, split.slow_over_fast));
            Some(Ours { text: text.join(", "), holds: splits.iter().all(is_so) })
        },
        why: "not by contention alone: queues are first come, first served, and delay all pairs alike. Pairs at a quarter of the leaf routers \
              start 0.3 s late, and meet long messages at their 8 KB (our choice; the paper does not say when pairs start)",
    },
    Claim {
        figure: "19",
        says: "bandwidth falls with the path on the tree, not on the mesh",
        measure: "B of 0 over 3 hops: tree; mesh",
        paper: "more than 1; about 1",
        ours: |runs| {
            let over = |shape| move |size| Some(runs.mean(shape, 3, size)? / runs.mean(shape, 0, size)?);
            let tree = ends(&runs.over(|size| TYPICAL.contains(&size), over(Shape::Tree)), |min, _| {
                min >= SIGNIFICANT
            })?;
            let mesh =
                ends(&runs.over(|size| TYPICAL.contains(&size), over(Shape::Mesh)), |_, max| max <= ALIKE)?;
            Some(Ours { text: format!("{}; {}", tree.text, mesh.text), holds: tree.holds && mesh.holds })
        },
        why: "figures 13 and 14 once more",
    },
];

/// R at typical sizes and both distances: the median, and the range.
fn typical_ratio(runs: &Runs<'_>) -> Option<Ours> {
    let of = |hops| {
        runs.over(|size| TYPICAL.contains(&size), move |size| runs.row(Shape::Mesh, hops, size)?.speedup)
    };
    let ratios = [of(2), of(3)].concat();
    let middle = median(ratios.clone())?;
    let range = ends(&ratios, |_, _| TYPICALLY.contains(&middle))?;
    Some(Ours { text: format!("{} ({})", figure(middle), range.text), holds: range.holds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_judged_by_its_ends_and_nothing_is_not_judged() {
        let two = ends(&[2.5, 1.5], |min, max| min > 1.0 && max < 3.0);
        assert_eq!(two, Some(Ours { text: "1.50 to 2.50".to_owned(), holds: true }));
        assert_eq!(ends(&[1.0, 1.001], |_, max| max < 1.0).map(|ours| ours.holds), Some(false));
        assert_eq!(ends(&[], |_, _| true), None);
    }
}
